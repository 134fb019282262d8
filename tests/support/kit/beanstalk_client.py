"""A client of the beanstalk protocol that keeps every byte of the answers, and servers to talk to."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

FOLIOT = os.environ.get("FOLIOT", "foliot")
PATIENCE = 120  # seconds, for an answer that must come

# These answers carry a body, whose length is their last word.
WITH_BODY = re.compile(rb"(RESERVED|FOUND|OK)(?: \d+)? (\d+)\r\n\Z")


class Connection:
    def __init__(self, address, tls=None):
        """With `tls`, an ssl.SSLContext, to a server whose certificate is for localhost."""
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        self.unread = b""
        try:
            self.socket.connect(address)
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        except OSError:
            self.socket.close()
            raise

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError("the server has closed the connection")
        self.unread += data

    def line(self):
        while b"\r\n" not in self.unread:
            self._more()
        end = self.unread.index(b"\r\n") + 2
        line, self.unread = self.unread[:end], self.unread[end:]
        return line

    def answer(self):
        """One answer with its body, as the bytes that came."""
        line = self.line()
        with_body = WITH_BODY.match(line)
        if not with_body:
            return line
        length = int(with_body[2]) + 2
        while len(self.unread) < length:
            self._more()
        body, self.unread = self.unread[:length], self.unread[length:]
        return line + body

    def ask(self, data):
        self.send(data)
        return self.answer()

    def arrived(self):
        """Reads once, and returns the answers that are whole then."""
        self._more()
        answers, begin = [], 0
        while (end := self.unread.find(b"\r\n", begin) + 2) >= 2:
            with_body = WITH_BODY.match(self.unread, begin, end)
            if with_body:
                end += int(with_body[2]) + 2
            if len(self.unread) < end:
                break
            answers.append(self.unread[begin:end])
            begin = end
        self.unread = self.unread[begin:]
        return answers

    def rest(self):
        """All bytes until the server closes the connection."""
        while True:
            try:
                self._more()
            except (EOFError, ConnectionResetError):
                rest, self.unread = self.unread, b""
                return rest

    def numbers(self, command):
        """The numbers of a statistics answer."""
        text = self.ask(command).decode()
        return {key: int(value) for key, value in re.findall(r"^([a-z-]+): (\d+)$", text, re.M)}

    def close(self):
        self.socket.close()


def need_space(test, folder, more=1 << 28):
    """Skips the test unless a store in the folder takes `more` bytes of jobs: it refuses them on a nearly full disk."""
    if shutil.disk_usage(folder).free < (1 << 28) + more:
        test.skipTest(f"the disk of {folder} is nearly full, so a store on it refuses jobs")


def without_slow_disk(log):
    """A server's log without warnings of a slow disk, which a busy machine may cause."""
    return re.sub(r"^\S+ warning the job store took .*\n", "", log, flags=re.M)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server in a process of its own; made again where another process has taken the port meanwhile. Its clients use
    `tls`, an ssl.SSLContext, if there is one. `http` is the socket file for HTTP, or None."""

    def __init__(self, command_for, environment=None, tls=None, http=None):
        self.tls = tls
        self.http = http
        for _ in range(20):
            port = free_port()
            self.process = subprocess.Popen(command_for(port), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, env=environment)
            self.address = ("127.0.0.1", port)
            if self._answers():
                return
            self.process.kill()
            self.process.wait()
            said = self.process.stderr.read().decode()
            self.process.stderr.close()
        raise RuntimeError(f"{command_for(0)[0]} does not answer: {said}")

    def _answers(self):
        while self.process.poll() is None:
            try:
                probe = Connection(self.address, self.tls)
            except OSError:
                time.sleep(0.01)
                continue
            # Another program may have got this port.
            try:
                return probe.numbers(b"stats\r\n").get("pid") == self.process.pid
            except (OSError, EOFError):
                return False
            finally:
                probe.close()
        return False

    def connect(self):
        return Connection(self.address, self.tls)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def stop(self, number=signal.SIGTERM):
        """The exit code and the log, without warnings of a slow disk."""
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        log = self.process.stderr.read().decode()
        self.process.stderr.close()
        return self.process.returncode, without_slow_disk(log)


def beanstalkd(*arguments):
    """Debian's beanstalkd, or None where it is not installed."""
    path = shutil.which("beanstalkd") or shutil.which("/usr/bin/beanstalkd")
    if path is None:
        return None
    return Server(lambda port: [path, "-l", "127.0.0.1", "-p", str(port), *map(str, arguments)])


def foliot(*arguments, tls=None, http=None):
    """A server. `http`: a socket file at which it also speaks HTTP. Without that, and without --http among the arguments,
    it has no HTTP, whose default port servers would contend for."""
    if http is not None:
        arguments = (*arguments, "--http", f"unix:{http}")
    elif "--http" not in arguments:
        arguments = (*arguments, "--http", "off")
    return Server(lambda port: [FOLIOT, "serve", "--quiet", "--beanstalk", f"127.0.0.1:{port}", *map(str, arguments)],
                  tls=tls, http=http)
