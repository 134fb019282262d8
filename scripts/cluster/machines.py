"""The machines of the cluster: nodes of `foliot serve`, each a process that ends with this one, and the database's two
servers."""
import os
import signal
import socket
import subprocess
import tempfile
import time

from kit.beanstalk_client import Connection
from kit.postgresql_server import PostgresqlServer

PATIENCE = 120  # seconds, for what must happen, also on a busy machine
HOST = "127.0.0.1"


class ClusterError(Exception):
    """What the cluster cannot do; the message is for the user."""


def free_ports(first, count):
    """The first free ports from there on. They are below those that the system gives to connections, so that nobody
    takes the port of a node that is killed and starts again."""
    ports = []
    for port in range(first, 32768):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise ClusterError(f"no {count} free ports from {first} to 32767 on {HOST}: name a lower --port")


class Node:
    """Start it from the main thread: its process ends with the thread that started it."""

    def __init__(self, program, name, port, database, timeout):
        self.name, self.port = name, port
        self.command = ["setpriv", "--pdeathsig", "KILL", "--", program, "serve", "--quiet", "--store", database,
                        "--node", name, "--node-timeout", f"{timeout}s", "--beanstalk", f"{HOST}:{port}"]
        self.log = tempfile.TemporaryFile()
        self.process = None
        self.state = "down"

    def start(self):
        # In a session of its own: Ctrl-C is not for the node.
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.log, start_new_session=True)
        until = time.monotonic() + PATIENCE
        while not self.answers():
            if self.process.poll() is not None:
                raise ClusterError(f"{self.name} does not start: {self.last_words()}")
            if time.monotonic() > until:
                raise ClusterError(f"{self.name} does not answer for {PATIENCE} s: {self.last_words()}")
            time.sleep(0.02)
        self.state = "up"

    def connect(self):
        connection = Connection((HOST, self.port))
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def answers(self):
        """Whether this process listens at the port, and reaches the database."""
        try:
            connection = self.connect()
        except OSError:
            return False
        try:
            connection.socket.settimeout(5)
            return connection.numbers(b"stats\r\n").get("pid") == self.process.pid
        except (OSError, EOFError):
            return False
        finally:
            connection.close()

    def has_died(self):
        return self.state == "up" and self.process.poll() is not None

    def kill(self):
        self.state = "killed"
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.state = "stopped"
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        self.state = "up"

    def end_in_order(self):
        """The exit code."""
        self.state = "down"
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()  # a process that is stopped ends, too
            self.process.wait()
        self.log.close()

    def last_words(self):
        length = os.fstat(self.log.fileno()).st_size
        text = os.pread(self.log.fileno(), 2000, max(0, length - 2000)).decode(errors="replace").strip()
        return text or "its log is empty"


class Database:
    """Two servers, of which one is the primary, and the other one its synchronous standby or away."""

    def __init__(self):
        self.servers = PostgresqlServer()
        self.names = {}

    def add_standby(self):
        self.servers.add_standby()
        self.names = {self.servers.folder: "db1", self.servers.standby: "db2"}
        self.primary, self.standby = "db1", "db2"

    @property
    def connection(self):
        return self.servers.database

    def is_in_memory(self):
        kind = subprocess.run(["stat", "--file-system", "--format=%T", self.servers.folder], stdout=subprocess.PIPE, text=True,
                              check=False)
        return kind.stdout.strip() == "tmpfs"

    def crash_primary(self):
        self.primary = None
        self.servers.stop_at_once()

    def promote_standby(self):
        self.servers.promote_standby()
        self.primary, self.standby = self.standby, None

    def bring_back(self):
        """The crashed server follows the new primary, which commits nothing without it from then on."""
        self.servers.follow_promoted()
        self.standby = self.names[self.servers.standby]

    def sql(self, statement):
        return self.servers.sql(self.servers.folder, statement)

    def remove(self):
        self.servers.remove()

    def __str__(self):
        if self.primary is None:
            return f"none; standby {self.standby}"
        return self.primary + (f", standby {self.standby}" if self.standby else "")
