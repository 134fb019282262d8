"""A server over PostgreSQL whose disk is full to the last byte: puts are refused, all jobs are worked off, and then puts are
taken again."""
import subprocess
import time
import unittest
from pathlib import Path

from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from kit.serve_case import put
from nodes_test import NodesCase

ROOM = "48m"  # of which 16 MB are kept for reservations
BODY = b"x" * 5000
WORKERS = 50
# Only the processes of the server see this file system, and it is gone with them.
MOUNT = 'mount -t tmpfs -o "size=$2,uid=$(stat -c %u "$1/data")" none "$1/small"'


def can_mount():
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class SmallServer(postgresql_server.PostgresqlServer):
    """Its database is on a small file system of its own. The log (WAL) is not: without room for that a server ends."""

    def start(self):
        small = Path(self.folder) / "small"
        small.mkdir()
        subprocess.run(["unshare", "--mount", "sh", "-c", f'{MOUNT} && bash "$0" start "$1"', postgresql_server.SCRIPT,
                        self.folder, ROOM], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        self.ask(f"host={self.folder} user=postgres dbname=postgres", f"CREATE TABLESPACE small LOCATION '{small}'")

    def move(self):
        """Moves the database there."""
        self.ask(f"host={self.folder} user=postgres dbname=postgres", "ALTER DATABASE jobs SET TABLESPACE small")


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
@unittest.skipUnless(can_mount(), "to mount a small file system is not allowed here")
class FullDisk(NodesCase):
    node_timeout = 4  # so it beats each second, and has the tables looked after

    def make_database(self):
        self.database = SmallServer()
        self.addCleanup(self.database.remove)
        self.database.move()
        self.expect_done("serve", "--store", self.database.database, "--migrate")

    def sql(self, statement):
        return self.database.sql(self.database.folder, statement)

    def wait_for(self, what, condition):
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.05)

    def has_ballast(self):
        return self.sql("SELECT pg_relation_size('foliot.ballast')") != "0"

    def fill_until_refused(self, client):
        """How many puts were acknowledged."""
        done = 0
        while True:
            client.send(put(BODY) * WORKERS)
            answers = [client.answer() for _ in range(WORKERS)]
            done += sum(each.startswith(b"INSERTED") for each in answers)
            if b"OUT_OF_MEMORY\r\n" in answers:
                return done

    def work_off(self, clients):
        """The ids of the jobs that the clients got and deleted until there was none left."""
        got = []
        while True:
            for each in clients:
                each.send(b"reserve-with-timeout 0\r\n")
            answers = [each.answer() for each in clients]
            jobs = [(each, answer.split()[1]) for each, answer in zip(clients, answers) if answer != b"TIMED_OUT\r\n"]
            if not jobs:
                return got
            for each, job in jobs:
                each.send(b"delete " + job + b"\r\n")
            for each, job in jobs:
                self.assertEqual(each.answer(), b"DELETED\r\n")
                got.append(job)

    def test_all_jobs_are_worked_off(self):
        server = self.start_node("a", "--sessions", "1")
        client = self.connect(server)
        self.sql("SELECT setval('foliot.ballast_tried', 1)")  # its minute is over
        self.wait_for("the ballast is not made", self.has_ballast)
        done = self.fill_until_refused(client)

        def is_given_up():
            """A node that did not get the lock for it tries again when it finds no room the next time."""
            nonlocal done
            done += client.ask(put(BODY)).startswith(b"INSERTED")
            try:
                return not self.has_ballast()
            except RuntimeError:  # without any room a new connection may fail
                return False

        self.wait_for("the ballast is not given up", is_given_up)
        self.assertEqual(client.ask(put(b"x")), b"OUT_OF_MEMORY\r\n")
        self.assertEqual(self.sql("SELECT value FROM foliot.metrics() WHERE name = 'refuses_puts'"), "1")
        got = self.work_off([self.connect(server) for _ in range(WORKERS)])
        print(f"{done} jobs")
        self.assertEqual(len(set(got)), done)
        self.assertEqual(len(got), done)
        self.sql("SELECT setval('foliot.ballast_tried', 1)")
        self.wait_for("puts are refused", lambda: client.ask(put(b"x")) != b"OUT_OF_MEMORY\r\n")
        self.assertTrue(self.has_ballast())
        self.expect_done("serve", "--store", self.database.database, "--check")
        status, log = server.stop()
        self.assertEqual(status, 0)
        self.assertIn("has no room: what needs some is refused", log)
        del self.nodes["a"]


if __name__ == "__main__":
    main()
