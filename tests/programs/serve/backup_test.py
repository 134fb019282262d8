"""Backups of the database of two servers, and what a restore brings back: to a point in time, of a base backup alone, and
of a dump. Tokens, sessions and ids that are given after it were never given before."""
import subprocess
import time
import unittest
from pathlib import Path

import documented_sql
from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from nodes_test import NodesCase

POINT = "before-the-mistake"
# More than a sequence is ahead of its numbers in the log.
MANY = 100


class RestoreCase(NodesCase):
    def sql(self, statement):
        return subprocess.run([postgresql_server.PSQL, "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", self.database.database, "-c",
                               statement], check=True, text=True, stdout=subprocess.PIPE,
                              timeout=beanstalk_client.PATIENCE).stdout.strip()

    def rows(self, query):
        """All rows, as tuples of numbers."""
        return {tuple(map(int, line.split("|"))) for line in self.sql(query).splitlines()}

    def tokens(self):
        """The tokens of all reservations: id, opening, attempt."""
        return self.rows("SELECT id, opening, reserves FROM foliot.reserved")

    def sessions(self):
        return self.rows("SELECT session FROM foliot.node WHERE name IS NOT NULL")

    def put(self, connection, body, delay=0, ttr=600, key=b"-"):
        head = b"x-put refuse %s 0 %d %d %d\r\n" % (key, delay, 1000 * ttr, len(body))
        line = self.answer_of(connection, head + body + b"\r\n")
        self.assertRegex(line, rb"\AINSERTED \d+\r\n\Z")
        return int(line.split()[1])

    def answer_of(self, connection, command):
        """The answer when the database is there again."""
        while True:
            line = connection.ask(command)
            if line != b"INTERNAL_ERROR\r\n":
                return line

    def reserve(self, connection, job):
        self.assertRegex(self.answer_of(connection, b"reserve-job %d\r\n" % job), rb"\ARESERVED %d " % job)

    def finish(self, connection, job):
        self.assertEqual(self.answer_of(connection, b"delete %d\r\n" % job), b"DELETED\r\n")

    def state(self, connection, job):
        text = self.answer_of(connection, b"stats-job %d\r\n" % job).decode()
        return text.split("state: ")[1].split()[0] if "state: " in text else text.strip()

    def wait_for(self, connection, job, state):
        until = time.monotonic() + beanstalk_client.PATIENCE
        while self.state(connection, job) != state:
            self.assertLess(time.monotonic(), until, f"job {job} is {self.state(connection, job)}, not {state}")
            time.sleep(0.01)

    def give_many(self, connection):
        """Jobs, tokens and sessions that the restored database does not know. Returns them."""
        connection.send(b"use many\r\n" + b"put 0 0 600 1\r\nm\r\n" * MANY)
        self.assertEqual(connection.line(), b"USING many\r\n")
        jobs = [int(connection.line().split()[1]) for _ in range(MANY)]
        for job in jobs:
            self.reserve(connection, job)
        # As so many nodes that have been started.
        sessions = self.rows(f"SELECT nextval('foliot.session') FROM generate_series(1, {MANY})")
        return set(jobs), self.tokens(), sessions | self.sessions()

    def expect_new(self, connection, jobs, tokens, sessions, kept=frozenset()):
        """What the restored database gives was not given before, but for the tokens of reservations that it has kept."""
        self.assertEqual(self.tokens() & tokens, set(kept))
        self.assertEqual(self.sessions() & sessions, set())
        new_jobs, new_tokens, new_sessions = self.give_many(connection)
        self.assertEqual(new_jobs & jobs, set(), "ids")
        self.assertEqual(new_tokens & tokens, set(kept), "tokens")
        self.assertEqual(new_sessions & sessions, set(), "sessions")
        self.expect_done("serve", "--store", self.database.database, "--check")


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class PointInTime(RestoreCase):
    def test_jobs_are_as_they_were_at_the_point(self):
        self.expect_restored_jobs(lambda: None)

    def test_with_the_configuration_beside_the_data(self):
        """As Debian's packages have it: the server reads no postgresql.conf in the data folder."""
        def configure():
            self.database.stop_at_once()
            self.database.configure_beside_data()
            self.database.start()
        self.expect_restored_jobs(configure)

    def go_back(self):
        """What the page says, in the folder of this server instead of /backup."""
        script = documented_sql.commands("serve/backup.md", "recovery.signal")
        self.assertIn(f"'{POINT}'", script)
        self.database.as_owner(script.replace("/backup/", f"{self.database.folder}/"))
        self.database.start()
        until = time.monotonic() + beanstalk_client.PATIENCE
        while self.sql("SELECT pg_is_in_recovery()") != "f":
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        for line in documented_sql.commands("serve/backup.md", "ALTER SYSTEM RESET").splitlines():
            self.sql(line.split('"')[1])
        self.assertEqual(self.sql("SELECT count(*) FROM pg_file_settings WHERE name ~ '^(recovery_target|restore_command)'"), "0")

    def expect_restored_jobs(self, configure):
        self.database.archive()
        configure()
        stays, ends = self.start_node("stays"), self.start_node("ends")
        one, two = self.connect(stays), self.connect(ends)
        old = self.put(one, b"finished before")
        jobs = {name: self.put(one, name.encode()) for name in ["ready", "finished", "held", "held and finished", "lost hold"]}
        jobs |= {"delayed": self.put(one, b"delayed", delay=1000), "cancelled": self.put(one, b"c", 1000_000, key=b"c")}
        self.database.back_up()
        self.finish(one, old)
        for name in ["held", "held and finished"]:
            self.reserve(one, jobs[name])
        self.reserve(two, jobs["lost hold"])
        short = self.put(one, b"short", ttr=2)
        self.reserve(one, short)
        kept = {token for token in self.tokens() if token[0] != jobs["lost hold"]}
        self.sql(f"SELECT pg_create_restore_point('{POINT}')")
        # After the point: this did not happen.
        self.reserve(two, jobs["finished"])
        self.finish(two, jobs["finished"])
        self.finish(one, jobs["held and finished"])
        one.ask(b"delete %d\r\n" % short)  # on a slow machine its TTR may be over
        self.assertRegex(one.ask(b"x-cancel =c\r\n"), rb"\ACANCELLED ")
        late = self.put(two, b"late")
        self.reserve(two, jobs["ready"])
        self.wait_for(one, jobs["delayed"], "ready")
        known = self.give_many(two)
        before = known[0] | {late}, known[1] | kept, known[2]
        segment = self.sql("SELECT pg_walfile_name(pg_switch_wal())")
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not (Path(self.database.folder) / "archive" / segment).exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        self.kill_node("ends")
        self.database.stop_at_once()
        self.go_back()
        # One node has gone on all the time. What it held at the point it holds.
        self.assertEqual(self.state(one, old), "NOT_FOUND")
        self.assertEqual(self.state(one, late), "NOT_FOUND")
        self.assertEqual(self.state(one, jobs["ready"]), "ready")
        self.assertEqual(self.state(one, jobs["finished"]), "ready")
        self.assertEqual(self.state(one, jobs["cancelled"]), "delayed")
        self.assertEqual(self.state(one, jobs["delayed"]), "ready", "it was due meanwhile")
        self.assertEqual(self.state(one, jobs["held"]), "reserved")
        self.wait_for(one, short, "ready")  # its TTR is over, and its node had forgotten it
        self.start_node("ends")
        self.wait_for(one, jobs["lost hold"], "ready")
        kept = {token for token in kept if token[0] in (jobs["held"], jobs["held and finished"])}
        staying = self.rows("SELECT session FROM foliot.node WHERE name IN ('stays', 'stays (session 2)')")
        self.expect_new(self.connect(self.nodes["ends"]), *before[:2], before[2] - staying, kept=kept)
        self.finish(one, jobs["held"])


class WholeCopies(RestoreCase):
    """Copies of the whole database, from which nothing can be brought forward to a later point."""

    def work(self):
        """Jobs of which one is reserved, a backup, and what happened after it. Returns the ids and what was given."""
        connection = self.connect(self.start_node("n0"))
        jobs = {name: self.put(connection, name.encode()) for name in ["ready", "finished", "held"]}
        self.reserve(connection, jobs["held"])
        held = self.tokens()
        self.back_up()
        self.reserve(connection, jobs["finished"])
        given = self.tokens()
        self.finish(connection, jobs["finished"])
        late = self.put(connection, b"late")
        known = self.give_many(connection)
        return connection, jobs, late, (known[0] | {late}, known[1] | given | held, known[2])

    def expect_backup(self, jobs, late, given):
        """The nodes were started anew, so nobody holds a job."""
        connection = self.connect(self.start_node("n0"))
        for name in jobs:
            self.wait_for(connection, jobs[name], "ready")
        self.assertEqual(self.state(connection, late), "NOT_FOUND")
        for job in jobs.values():
            self.reserve(connection, job)
        self.expect_new(connection, *given)
        return connection


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class BaseBackup(WholeCopies):
    def test_a_base_backup_alone(self):
        """It goes on as if the server had crashed, which the database cannot see: the operator says so."""
        self.back_up = self.database.back_up
        _, jobs, late, given = self.work()
        self.database.stop_at_once()
        self.database.restore()
        self.sql("SELECT foliot.restored()")
        self.kill_node("n0")
        self.expect_backup(jobs, late, given)

    def test_a_base_backup_alone_under_a_node_that_goes_on(self):
        self.back_up = self.database.back_up
        connection, jobs, late, given = self.work()
        self.database.stop_at_once()
        self.database.restore()
        self.sql("SELECT foliot.restored()")
        for job in jobs.values():
            self.wait_for(connection, job, "ready")
            self.reserve(connection, job)
        self.assertEqual(self.state(connection, late), "NOT_FOUND")
        self.expect_new(connection, *given)


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Dump(WholeCopies):
    def test_a_dump(self):
        dump = self.here / "jobs.dump"
        self.back_up = lambda: subprocess.run(["pg_dump", "-Fc", "-f", dump, "-d", self.database.database], check=True)
        _, jobs, late, given = self.work()
        self.kill_node("n0")
        self.sql("CREATE DATABASE restored")
        self.database.database = self.database.database.replace("dbname=jobs", "dbname=restored")
        subprocess.run(["pg_restore", "--exit-on-error", "-d", self.database.database, dump], check=True)
        self.expect_backup(jobs, late, given)


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
