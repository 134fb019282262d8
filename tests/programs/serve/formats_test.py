"""Stores that earlier versions have written: this version opens each, finds every job as it was, and works with it."""
import time
import unittest

from format_fixtures import FORMATS, TUBES, WRITER, job_facts, read_facts, restore_schema, statistics, unpack_folder
from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from kit.serve_case import ServeCase, put
from nodes_test import NodesCase

URGENT = 1024  # priorities below this
SHORTEST = 60_000  # milliseconds: a shorter reservation may end before a slow machine uses it


def fixtures(ending):
    found = sorted(FORMATS.glob(f"*{ending}"))
    if not found:
        raise RuntimeError(f"there is no {FORMATS}/*{ending}")
    return found


class FormatCase(ServeCase):
    """What each store must show, whichever version has written it."""
    keeps_fields = False  # as far as clients of the server see it

    def expect_facts(self, connection, facts):
        for number, both in facts.get("fields", {}).items():  # of versions whose clients could not see them
            shown = dict(zip(["fields", "history"], both))
            facts["jobs"][number].update({name: value for name, value in shown.items() if value})
        for number, wanted in facts["jobs"].items():
            if wanted["state"] == "delayed" and wanted["due-ms"] <= time.time() * 1000:
                wanted["state"] = "ready"
                self.wait_for_state(connection, number, "ready")
            self.assertEqual(job_facts(connection, number), wanted, f"job {number}")
        for number in facts["gone"]:
            self.assertIsNone(job_facts(connection, number), f"job {number}")
        for tube in TUBES:
            seen = statistics(connection, b"stats-tube %s" % tube.encode())
            self.assertEqual(int(seen["pause"]), facts["pauses"][tube])
            in_tube = [job for job in facts["jobs"].values() if job["tube"] == tube]
            for state in ["ready", "delayed", "buried", "reserved"]:
                self.assertEqual(int(seen[f"current-jobs-{state}"]), sum(job["state"] == state for job in in_tube), state)
            self.assertEqual(int(seen["current-jobs-urgent"]),
                             sum(job["state"] == "ready" and job["pri"] < URGENT for job in in_tube))

    def wait_for_state(self, connection, number, state):
        until = time.monotonic() + beanstalk_client.PATIENCE
        while (seen := statistics(connection, b"stats-job %d" % number)["state"]) != state:
            self.assertLess(time.monotonic(), until, f"job {number} is {seen}, not {state}")
            time.sleep(0.01)

    def ask(self, connection, command, answer):
        self.assertEqual(connection.ask(command + b"\r\n"), answer + b"\r\n", command)

    def expect_kicks(self, connection, facts):
        """In the order of the burials of each tube. The jobs are ready then."""
        for tube in TUBES:
            self.ask(connection, b"use %s" % tube.encode(), b"USING %s" % tube.encode())
            for number in facts["buried"]:
                if facts["jobs"][number]["tube"] == tube:
                    self.ask(connection, b"kick 1", b"KICKED 1")
                    self.assertEqual(statistics(connection, b"stats-job %d" % number)["state"], "ready")
                    facts["jobs"][number]["state"] = "ready"

    def expect_order(self, connection, facts):
        """All ready jobs come in their order, and are finished. The last ones are released, touched and buried before."""
        for tube in TUBES:
            self.assertRegex(connection.ask(b"watch %s\r\n" % tube.encode()), rb"WATCHING \d\r\n")
            self.ask(connection, b"pause-tube %s 0" % tube.encode(), b"PAUSED")
        for number, job in list(facts["jobs"].items()):
            if job["state"] == "ready" and job["ttr-ms"] < SHORTEST:
                self.ask(connection, b"delete %d" % number, b"DELETED")
                del facts["jobs"][number]
        ready = sorted((job["pri"], number) for number, job in facts["jobs"].items() if job["state"] == "ready")
        for _, number in ready:
            body = facts["jobs"][number]["body"].encode("latin-1")
            self.ask(connection, b"reserve-with-timeout 0", b"RESERVED %d %d\r\n%s" % (number, len(body), body))
            if number == ready[-1][1]:
                self.ask(connection, b"touch %d" % number, b"TOUCHED")
                self.ask(connection, b"release %d 0 0" % number, b"RELEASED")
                self.ask(connection, b"reserve-job %d" % number, b"RESERVED %d %d\r\n%s" % (number, len(body), body))
                self.ask(connection, b"bury %d 0" % number, b"BURIED")
            self.ask(connection, b"delete %d" % number, b"DELETED")
            del facts["jobs"][number]
        self.ask(connection, b"reserve-with-timeout 0", b"TIMED_OUT")

    def expect_keys(self, connection, facts):
        """The delayed jobs with keys are found by them, and cancelled."""
        self.ask(connection, b"use mail", b"USING mail")
        for number, job in list(facts["jobs"].items()):
            if job["key"]:
                self.ask(connection, b"x-cancel =%s" % job["key"].encode(), b"CANCELLED %d" % number)
                del facts["jobs"][number]
        self.ask(connection, b"x-cancel =again", b"GONE")

    def expect_new_job(self, connection, facts, known):
        """Its id was never given before."""
        line = connection.ask(put(b"new"))
        self.assertRegex(line, rb"\AINSERTED \d+\r\n\Z")
        number = int(line.split()[1])
        self.assertGreater(number, max(known))
        facts["jobs"][number] = job_facts(connection, number)

    def expect_fields(self, connection, facts):
        """A new job may have fields, also in a store of a version that had none."""
        fields = bytes([0, 1, 0, 1]) + b"f" + bytes([0xff, 0xff, 0, 0])
        line = connection.ask(b"x-put keep - 0 0 60000 1 %d %d\r\nb%s%s\r\n" % (len(fields), len(fields), fields, fields))
        self.assertRegex(line, rb"\AINSERTED \d+\r\n\Z")
        number = int(line.split()[1])
        facts["jobs"][number] = job_facts(connection, number)
        if self.keeps_fields:
            self.assertEqual(facts["jobs"][number].get("fields"), fields.hex())
            self.assertEqual(facts["jobs"][number].get("history"), fields.hex())

    def expect_store(self, start, check, facts):
        """`start` starts a server over the store, `check` checks it."""
        known = [*facts["jobs"], *facts["gone"]]
        check()
        server = start()
        connection = self.connect(server)
        self.expect_facts(connection, facts)
        self.expect_kicks(connection, facts)
        self.expect_order(connection, facts)
        self.expect_keys(connection, facts)
        self.expect_new_job(connection, facts, known)
        self.expect_fields(connection, facts)
        self.assertEqual(server.stop()[0], 0)
        check()
        again = start()
        connection = self.connect(again)
        for number in known + list(facts["jobs"]):
            self.assertEqual(job_facts(connection, number), facts["jobs"].get(number), f"job {number}")
        self.assertEqual(again.stop()[0], 0)
        check()


class EarlierFolders(FormatCase):
    keeps_fields = True

    def test_each_folder_opens_and_works(self):
        for archive in fixtures(".tar.xz"):
            name = archive.name.removesuffix(".tar.xz")
            with self.subTest(name):
                (self.here / name).mkdir()
                folder = unpack_folder(archive, self.here / name)
                self.expect_store(lambda: self.serve("--data", folder),
                                  lambda: self.assertIn("no damage found", self.expect_done("serve", "--check", folder)),
                                  read_facts(archive.with_name(f"{name}.json")))


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class EarlierSchemas(FormatCase, NodesCase):
    def make_database(self):
        self.database = postgresql_server.PostgresqlServer()
        self.addCleanup(self.database.remove)
        self.jobs = self.database.database

    def sql(self, statement):
        return self.database.ask(self.database.database, statement)

    def check(self):
        self.assertIn("no damage found", self.expect_done("serve", "--store", self.database.database, "--check"))

    def test_each_schema_is_migrated_and_works(self):
        for number, archive in enumerate(fixtures(".sql.xz")):
            name = archive.name.removesuffix(".sql.xz")
            with self.subTest(name):
                self.database.sql(self.database.folder, f"CREATE DATABASE earlier_{number}")
                self.database.database = self.jobs.replace("dbname=jobs", f"dbname=earlier_{number}")
                restore_schema(archive, self.database.database)
                self.expect_done("serve", "--store", self.database.database, "--migrate")
                facts = read_facts(archive.with_name(f"{name}.json"))
                held = self.sql("SELECT sum(value) FROM foliot.metrics() WHERE name = 'jobs_reserved'")
                self.assertEqual(int(held), len(facts["held"]), "until a node starts, what was held is reserved")
                self.expect_store(lambda: self.start_node(WRITER), self.check, facts)


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
