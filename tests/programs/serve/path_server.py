"""A server of a test at a path, which no other process can have taken, whose system calls or memory the test controls."""
import signal
import subprocess
import time

import where_it_stands
from kit.beanstalk_client import FOLIOT, PATIENCE, Connection, without_slow_disk


class PathServer:
    """`here` is the folder of its sockets and its log."""

    def __init__(self, here, environment, *arguments):
        self.tells_calls = "FOLIOT_FAILING_MEMORY" in environment
        self.log_path = here / "log"
        self.address = str(here / "socket")
        self.http = str(here / "http")
        self.log = open(self.log_path, "w+b")
        self.process = subprocess.Popen(
            [FOLIOT, "serve", "--quiet", "--beanstalk", f"unix:{self.address}", "--http", f"unix:{self.http}",
             *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, env=environment)

    def connect(self):
        return Connection(self.address)

    def answers(self):
        """Whether it serves clients; if not, it has ended."""
        while self.process.poll() is None:
            try:
                connection = self.connect()
            except OSError:
                time.sleep(0.005)
                continue
            # Before a node connects to its database, it listens for a moment, to see whether it can.
            try:
                connection.ask(b"list-tube-used\r\n")
                return True
            except (OSError, EOFError):
                time.sleep(0.005)
            finally:
                connection.close()
        return False

    def wait(self, patience=PATIENCE):
        """Its exit code and what it has logged, when it has ended. If it does not, it is killed, and the error tells where
        it stood."""
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"the server does not end: {self.end()}") from error
        self.log.seek(0)
        text = without_slow_disk(self.log.read().decode())
        self.log.close()
        return code, text

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def end(self):
        """Kills it if it lives. Returns where its threads stood, or an empty text."""
        if self.process.poll() is not None:
            return ""
        stood = where_it_stands.report(self.process.pid, self.log_path, self.tells_calls)
        self.kill()
        return stood

    def kill(self):
        self.process.kill()
        return self.wait()
