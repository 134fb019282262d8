"""Tests of the server `foliot serve` as its clients see it."""
import os
import re
import resource
import socket
import time
from pathlib import Path

from kit import beanstalk_client
from kit.program_case import ProgramCase

SANITIZED = os.environ.get("FOLIOT_SANITIZED") == "1"


def put(body, ttr=600):
    return b"put 0 0 %d %d\r\n%s\r\n" % (ttr, len(body), body)


class ServeCase(ProgramCase):
    def serve(self, *arguments, tls=None):
        if "--memory" not in arguments:
            beanstalk_client.need_space(self, self.here)
        server = beanstalk_client.foliot(*arguments or ["--data", self.here / "jobs"], tls=tls)
        self.addCleanup(self.end, server)
        return server

    def serve_http(self):
        """A server with HTTP at a port that is free, of 127.0.0.1: `self.port`."""
        while True:
            self.port = beanstalk_client.free_port()
            try:
                return self.serve("--memory", "--http", f"127.0.0.1:{self.port}")
            except RuntimeError as error:  # another process was quicker
                self.assertIn("in use", str(error))

    def allow(self, connections):
        """So many connections, in this process and in servers that it starts."""
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = before[1]
        if most != resource.RLIM_INFINITY and most < connections + 1300:
            self.skipTest(f"{most} open files are allowed, too few for {connections} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)

    @staticmethod
    def end(server):
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        server.process.stderr.close()

    def connect(self, server):
        connection = server.connect()
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.addCleanup(connection.close)
        return connection

    def wait_until(self, connection, **wanted):
        """Returns when the statistics have these numbers."""
        wanted = {key.replace("_", "-"): value for key, value in wanted.items()}
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            seen = connection.numbers(b"stats\r\n")
            if all(seen[key] == value for key, value in wanted.items()):
                return
            self.assertLess(time.monotonic(), until, f"wanted {wanted}, but there is {seen}")
            time.sleep(0.002)

    def connect_accepted(self, server):
        """A connection below the limit. The server may need a moment to end the connections that were closed."""
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            connection = self.connect(server)
            try:
                if connection.ask(b"list-tube-used\r\n") == b"USING default\r\n":
                    return connection
            except (OSError, EOFError):
                pass  # it was refused
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)

    def connect_alone(self, server):
        """A connection, returned when the server has no other one."""
        connection = self.connect(server)
        self.wait_until(connection, current_connections=1)
        return connection

    def look(self, path, wanted):
        """What `foliot top` shows of the jobs, once that is it: a look goes without them where the server is slow."""
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not re.search(wanted, seen := self.expect_done("top", path, "--once")):
            self.assertLess(time.monotonic(), until, seen)
        return seen

    def resident(self, server):
        """Bytes of the server's memory."""
        text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()  # statm is inexact from Linux 6.2 on
        return int(re.search(r"^Rss: +(\d+) kB$", text, re.M)[1]) * 1024

    def expect_little_memory(self, server, before, more):
        if not SANITIZED:  # sanitizers keep freed memory
            self.assertLess(self.resident(server) - before, more)

    def expect_work(self, connection):
        """The server still serves."""
        head = connection.ask(put(b"still here"))
        self.assertRegex(head, rb"\AINSERTED \d+\r\n\Z")
        job = head.split()[1]
        self.assertEqual(connection.ask(b"reserve-job %s\r\n" % job), b"RESERVED %s 10\r\nstill here\r\n" % job)
        self.assertEqual(connection.ask(b"delete %s\r\n" % job), b"DELETED\r\n")
