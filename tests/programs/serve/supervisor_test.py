"""A supervisor that does not read, neither messages of the server nor its log: the server still does what signals ask."""
import os
import re
import resource
import signal
import socket
import subprocess
import time

from kit import beanstalk_client
from kit.program_case import main
from kit.serve_case import ServeCase, put


class Supervisor(ServeCase):
    def launch(self, **options):
        """A server in memory at a path, when it serves clients."""
        self.address = str(self.here / "socket")
        self.process = self.start("serve", "--memory", "--beanstalk", f"unix:{self.address}", stdout=subprocess.DEVNULL,
                                  **options)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            self.assertIsNone(self.process.poll())
            self.assertLess(time.monotonic(), until)
            try:
                client = beanstalk_client.Connection(self.address)
                self.addCleanup(client.close)
                return client
            except OSError:
                time.sleep(0.005)

    def drain(self, client):
        self.process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not re.search(rb"^draining: true$", client.ask(b"stats\r\n"), re.M):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(beanstalk_client.PATIENCE), 0)

    def expect_signals_to_work(self, client):
        self.assertEqual(client.ask(put(b"before")), b"INSERTED 1\r\n")
        self.drain(client)
        self.end()

    def full_manager(self):
        """A manager's socket without room, and the environment of a server that it starts."""
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        path = str(self.here / "manager")
        manager.bind(path)
        manager.settimeout(beanstalk_client.PATIENCE)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            try:
                while True:
                    other.sendto(b"other", path)
            except BlockingIOError:
                pass
        environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="200000")
        environment.pop("WATCHDOG_PID", None)
        return manager, environment

    def test_signals_while_the_socket_of_the_manager_is_full(self):
        _, environment = self.full_manager()
        self.expect_signals_to_work(self.launch(env=environment, stderr=subprocess.DEVNULL))

    def test_ready_is_told_when_the_socket_of_the_manager_has_room_again(self):
        manager, environment = self.full_manager()
        client = self.launch(env=environment, stderr=subprocess.DEVNULL)
        self.assertEqual(client.ask(put(b"served")), b"INSERTED 1\r\n")
        while (message := manager.recv(100)) in [b"other", b"WATCHDOG=1"]:
            pass
        self.assertEqual(message, b"READY=1")

    def test_the_watchdog_is_fed_without_a_descriptor_left(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        path = str(self.here / "manager")
        manager.bind(path)
        manager.settimeout(beanstalk_client.PATIENCE)
        environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="200000")
        environment.pop("WATCHDOG_PID", None)
        client = self.launch(env=environment, stderr=subprocess.DEVNULL)
        self.assertEqual(manager.recv(100), b"READY=1")
        self.assertEqual(client.ask(b"list-tube-used\r\n"), b"USING default\r\n")  # it is accepted
        most = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (3, most))
        manager.setblocking(False)
        try:
            while True:
                manager.recv(100)
        except BlockingIOError:
            manager.settimeout(beanstalk_client.PATIENCE)
        self.assertEqual([manager.recv(100) for _ in range(3)], 3 * [b"WATCHDOG=1"])
        self.expect_signals_to_work(client)
        while (message := manager.recv(100)) == b"WATCHDOG=1":
            pass
        self.assertEqual(message, b"STOPPING=1")

    def full_pipe(self):
        """Both ends of a pipe without room."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        filler = os.open(f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK)  # the server's end stays blocking
        try:
            while True:
                os.write(filler, b"." * 65536)
        except BlockingIOError:
            pass
        os.close(filler)
        return reader, writer

    def test_signals_while_no_one_reads_the_log(self):
        _, writer = self.full_pipe()
        client = self.launch(stderr=writer)
        os.close(writer)
        self.expect_signals_to_work(client)

    def test_signals_while_no_one_reads_the_log_in_a_socket(self):
        """As the journal of systemd has it."""
        reader, writer = socket.socketpair()
        self.addCleanup(reader.close)
        writer.setblocking(False)
        try:
            while True:
                writer.send(b"." * 65536)
        except BlockingIOError:
            pass
        writer.setblocking(True)
        client = self.launch(stderr=writer)
        writer.close()
        self.expect_signals_to_work(client)

    def test_an_end_while_no_one_reads_why(self):
        _, writer = self.full_pipe()
        self.put("notes", b"no socket")
        process = self.start("serve", "--memory", "--beanstalk", "unix:notes", stdout=subprocess.DEVNULL, stderr=writer)
        self.addCleanup(process.kill)
        os.close(writer)
        self.assertEqual(process.wait(beanstalk_client.PATIENCE), 2)

    def test_the_log_says_how_many_lines_found_no_reader(self):
        reader, writer = self.full_pipe()
        client = self.launch(stderr=writer)
        os.close(writer)
        self.drain(client)  # after the lines of the start
        self.assertEqual(set(os.read(reader, 1 << 20)), {ord(".")})
        self.process.send_signal(signal.SIGHUP)
        self.end()
        with open(reader, "rb", closefd=False) as rest:
            text = rest.read().decode().lstrip(".")
        self.assertRegex(text, r"\Afoliot: [45] lines of the log found no reader in time\n")  # that of the drain may be late
        self.assertRegex(text, r"\n\S+ info SIGHUP: [^\n]+\n\S+ info end, because of SIGTERM\n\Z")


if __name__ == "__main__":
    main()
