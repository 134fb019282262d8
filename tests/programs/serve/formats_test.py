"""Stores that earlier versions have written: this version opens each, finds every job as it was, and works with it. And what
earlier programs call in a database is there after a migration."""
import lzma
import re
import subprocess
import time
import unittest
from pathlib import Path

from format_fixtures import (FORMATS, TUBES, WRITER, fields_facts, job_facts, once_facts, read_facts, restore_schema,
                             statistics, unpack_folder, version_facts)
from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from kit.serve_case import ServeCase, put
from nodes_test import NodesCase

ROOT = Path(__file__).resolve().parents[3]
URGENT = 1024  # priorities below this
SHORTEST = 60_000  # milliseconds: a shorter reservation may end before a slow machine uses it


def fixtures(ending):
    found = sorted(FORMATS.glob(f"*{ending}"))
    if not found:
        raise RuntimeError(f"there is no {FORMATS}/*{ending}")
    return found


class FormatCase(ServeCase):
    """What each store must show, whichever version has written it."""

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
        facts["fields"][number] = [fields.hex(), fields.hex()]
        self.assertEqual(facts["jobs"][number].get("fields"), fields.hex())
        self.assertEqual(facts["jobs"][number].get("history"), fields.hex())

    def expect_once(self, server, facts):
        """What has happened once does not happen again, also if its job has gone."""
        if facts["once"]:
            self.assertEqual(once_facts(server), facts["once"])

    def expect_store(self, start, check, facts):
        """`start` starts a server over the store, `check` checks it."""
        known = [*facts["jobs"], *facts["gone"]]
        check()
        server = start()
        connection = self.connect(server)
        self.expect_once(server, facts)
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
        self.expect_once(again, facts)
        for number in known + list(facts["jobs"]):
            self.assertEqual(job_facts(connection, number), facts["jobs"].get(number), f"job {number}")
        self.assertEqual(again.stop()[0], 0)
        check()


class Fixtures(unittest.TestCase):
    """Each version of a format has fixtures: a format that changes without some is found here."""

    def number_in(self, source, pattern):
        return int(re.search(pattern, (ROOT / "src/jobs" / source).read_text())[1])

    def test_each_version_of_the_schema(self):
        now = self.number_in("postgresql/schema_history.cpp", r"\{\.version = (\d+),")
        found = set()
        for archive in fixtures(".sql.xz"):
            with lzma.open(archive, "rt") as text:
                found.add(int(re.search(r"FUNCTION foliot\.schema_version\(\).*?\$\$SELECT (\d+)\$\$", text.read(), re.S)[1]))
        self.assertEqual(sorted(found), list(range(1, now + 1)), "see docs/testing.md, Formats of earlier versions")

    def test_each_version_of_the_folder(self):
        header = "embedded/folder_format.hpp"
        first = self.number_in(header, r"first_format = (\d+);")
        numbers = [int(each) for each in re.findall(r"constexpr std::uint64_t format_\w+ = (\d+);",
                                                    (ROOT / "src/jobs" / header).read_text())]
        rows = re.findall(r"^\| `(\w+)` \| (version .*) \|$", (ROOT / "docs/testing.md").read_text(), re.M)
        of_folders = {int(number): name for name, text in rows for number in re.findall(r"version (\d+) of the folder", text)}
        self.assertEqual(sorted(of_folders), [first, *numbers], "docs/testing.md names the fixtures of each version")
        for name in of_folders.values():
            for end in ["closed", "killed"]:
                self.assertTrue((FORMATS / f"{name}-{end}.tar.xz").exists(), f"{name}-{end}")


class EarlierFolders(FormatCase):
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
class SchemaCase(FormatCase, NodesCase):
    def make_database(self):
        self.database = postgresql_server.PostgresqlServer()
        self.addCleanup(self.database.remove)
        self.jobs = self.database.database

    def sql(self, statement):
        return self.database.ask(self.database.database, statement)

    def check(self):
        self.assertIn("no damage found", self.expect_done("serve", "--store", self.database.database, "--check"))

    def migrate(self):
        self.expect_done("serve", "--store", self.database.database, "--migrate")


# A statement for each function of the schema that a program can call, with arguments of its types.
CALLS = """
SELECT format('PREPARE call_%s AS SELECT foliot.%I(%s)', row_number() OVER (ORDER BY p.oid), p.proname,
              (SELECT coalesce(string_agg(format('NULL::%s', format_type(t, NULL)), ', ' ORDER BY n), '')
               FROM unnest(p.proargtypes) WITH ORDINALITY AS of(t, n)))
FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
WHERE s.nspname = 'foliot' AND p.prokind = 'f' AND p.prorettype <> 'trigger'::regtype
"""


class EarlierSchemas(SchemaCase):
    def expect_calls(self, calls):
        """What a program of an earlier version calls has the same arguments, or more with defaults: PREPARE looks them up."""
        self.assertGreater(len(calls), 100)
        for first in range(0, len(calls), 100):
            self.sql("; ".join(calls[first:first + 100]))

    def test_each_schema_is_migrated_and_works(self):
        for number, archive in enumerate(fixtures(".sql.xz")):
            name = archive.name.removesuffix(".sql.xz")
            with self.subTest(name):
                self.database.sql(self.database.folder, f"CREATE DATABASE earlier_{number}")
                self.database.database = self.jobs.replace("dbname=jobs", f"dbname=earlier_{number}")
                restore_schema(archive, self.database.database)
                calls = self.sql(CALLS).splitlines()
                self.migrate()
                self.expect_calls(calls)
                facts = read_facts(archive.with_name(f"{name}.json"))
                self.assertEqual(fields_facts(self.sql, facts["jobs"]), facts["fields"])
                self.assertEqual(version_facts(self.sql, facts["versions"]), facts["versions"])
                held = self.sql("SELECT sum(value) FROM foliot.metrics() WHERE name = 'jobs_reserved'")
                self.assertEqual(int(held), len(facts["held"]), "until a node starts, what was held is reserved")
                self.expect_store(lambda: self.start_node(WRITER), self.check, facts)
                left = {number: fields for number, fields in facts["fields"].items() if number in facts["jobs"]}
                self.assertEqual(fields_facts(self.sql, facts["jobs"]), left)


# The statements of a node of version 1, by the names of its connection: the types of the arguments, and the text.
VERSION_1 = {
    "put_plain": ("int8[],bytea[],bytea[],int8[],int8[],int8[],int8[]", "SELECT foliot.put_plain($1, $2, $3, $4, $5, $6, $7)"),
    "put_keyed": ("int8[],bytea[],bytea[],bytea[],int8[],int8[],int8[],int8[],int8[]",
                  "SELECT foliot.put_keyed($1, $2, $3, $4, $5, $6, $7, $8, $9)"),
    "put_or_pass": ("int8[],bytea[],bytea[],bytea[],int8[],int8[],int8[],int8[],int8[]",
                    "SELECT foliot.put_or_pass($1, $2, $3, $4, $5, $6, $7, $8, $9)"),
    "claim": ("int8,int8,int8[],bytea[],int8,int8", "SELECT * FROM foliot.claim($1, $2, $3, $4, $5, $6)"),
    "claim_or_pass": ("int8,int8,int8[],bytea[],int8,int8", "SELECT * FROM foliot.claim_or_pass($1, $2, $3, $4, $5, $6)"),
    "claim_job": ("int8,int8,int8[],int8", "SELECT * FROM foliot.claim_job($1, $2, $3, $4)"),
    "claim_job_or_pass": ("int8,int8,int8[],int8", "SELECT * FROM foliot.claim_job_or_pass($1, $2, $3, $4)"),
    "change_held": ("int8[],int8[],int8[],int8[],int8[],int8[],int8[],int8[]",
                    "SELECT foliot.change_held($1, $2, $3, $4, $5, $6, $7, $8)"),
    "change_held_or_pass": ("int8[],int8[],int8[],int8[],int8[],int8[],int8[],int8[]",
                            "SELECT foliot.change_held_or_pass($1, $2, $3, $4, $5, $6, $7, $8)"),
    "peek": ("int8,bytea,bytea,int8", "SELECT state, (shown).* FROM foliot.peek($1, $2, $3, $4 <> 0)"),
    "peek_first": ("bytea,int8", "SELECT state, (shown).* FROM foliot.peek_first($1, $2)"),
    "send_piece": ("bytea,int8,int8", "SELECT piece, is_left::integer::bigint FROM foliot.send_piece($1, $2, $3)"),
    "sent_piece": ("", "SELECT * FROM foliot.sent_piece()"),
    "take_piece": ("int8,int8,bytea,bytea[],bytea[],int8[]",
                   "SELECT 0::bigint FROM foliot.take_piece($1, $2, $3, $4, $5, $6)"),
}
OF_SCHEMA_1 = FORMATS / "5e22f583-schema.sql.xz"


class Psql:
    """A connection that stays open."""

    def __init__(self, case, database):
        self.process = subprocess.Popen(["psql", "-qXAt", "-d", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.stdout.close)
        case.addCleanup(self.process.stdin.close)

    def ask(self, statement):
        """All that it prints."""
        self.process.stdin.write(f"{statement};\n\\echo THE END\n")
        self.process.stdin.flush()
        said = ""
        while (line := self.process.stdout.readline()) != "THE END\n":
            if not line:
                raise RuntimeError(f"psql has ended: {said}")
            said += line
        return said.rstrip("\n")


class MigratedSchema(SchemaCase):
    def setUp(self):
        super().setUp()
        restore_schema(OF_SCHEMA_1, self.database.database)
        self.facts = read_facts(FORMATS / "5e22f583-schema.json")

    # Its statements are prepared before the migration, and executed behind it.
    def test_a_connection_of_version_1_goes_on(self):
        node = Psql(self, self.database.database)
        for name, (types, text) in VERSION_1.items():
            self.assertEqual(node.ask(f"PREPARE {name}{f'({types})' if types else ''} AS {text}"), "")
        session = node.ask("SELECT max(session) FROM foliot.node")
        put = "EXECUTE put_plain(NULL, '{late}', '{hello}', '{1}', '{0}', '{0}', '{60000}')"
        before = node.ask(put).strip("{}")
        claimed = rf"{before}|\x6c617465||\x68656c6c6f|1|"
        answer = node.ask(f"EXECUTE claim({session}, 1, NULL, '{{late}}', 1, NULL)")
        self.assertTrue(answer.startswith(claimed), answer)
        release = f"NULL, '{{1}}', '{{{before}}}', '{{1}}', '{{%d}}', '{{NULL}}', '{{0}}', '{{0}}'"
        self.assertEqual(node.ask(f"EXECUTE change_held({release % 1})"), "{0}")
        self.migrate()
        number = 1
        for claim in [f"claim({session}, 1, NULL, '{{late}}', 1, NULL)", f"claim_job({session}, 1, NULL, {before})",
                      f"claim_or_pass({session}, 1, NULL, '{{late}}', 1, 100)",
                      f"claim_job_or_pass({session}, 1, NULL, {before})"]:
            number += 1
            answer = node.ask(f"EXECUTE {claim}")
            self.assertTrue(answer.startswith(claimed), f"{claim}: {answer}")
            self.assertEqual(answer.count("|"), 14)
            change = ["change_held", "change_held_or_pass"][number % 2]
            self.assertEqual(node.ask(f"EXECUTE {change}({release % number})"), "{0}")
        for look in [f"peek({before}, '', '', 1)", "peek_first('late', 1)"]:
            answer = node.ask(f"EXECUTE {look}")
            self.assertTrue(answer.startswith(f"1|{claimed}"), f"{look}: {answer}")
            self.assertEqual(answer.count("|"), 15)
        after = node.ask(put).strip("{}")
        self.assertGreater(int(after), int(before))
        for name in ["put_keyed", "put_or_pass"]:
            answer = node.ask(f"EXECUTE {name}(NULL, '{{late}}', '{{{name}}}', '{{x}}', '{{1}}', '{{0}}', '{{0}}', '{{9}}', "
                              "'{0}')")
            self.assertRegex(answer, r"\A\{0,\d+\}\Z")
        piece = node.ask("EXECUTE send_piece('late', 1, 1000)")
        self.assertRegex(piece, r"\A\d+\|1\Z")
        self.assertRegex(node.ask("EXECUTE sent_piece"), rf"\A\\x6c617465\|\\x\|\\x68656c6c6f\|\{{{before},")
        self.assertEqual(node.ask("EXECUTE take_piece(0, 1, 'late', '{}', '{}', '{}')"), "0")

    # Its last statements wait for a transaction that has changed a function, and the server crashes meanwhile.
    def test_a_migration_that_is_killed_has_changed_nothing(self):
        beside, other = (Psql(self, self.database.database) for _ in range(2))
        columns = "SELECT count(*) FROM pg_attribute WHERE attrelid = 'foliot.job'::regclass AND attnum > 0"
        self.assertEqual(beside.ask(columns), "7")
        other.ask("BEGIN; ALTER FUNCTION foliot.tell(text) COST 101")
        migration = self.begin_migration()
        halfway = ("SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid WHERE a.wait_event_type = 'Lock' "
                   "AND l.relation = 'foliot.job'::regclass AND l.mode = 'AccessExclusiveLock' AND l.granted")
        until = time.monotonic() + beanstalk_client.PATIENCE
        while beside.ask(halfway) == "0":
            self.assertLess(time.monotonic(), until)
            if migration.poll() is not None:  # it waits for ten seconds
                migration = self.begin_migration()
            time.sleep(0.01)
        self.database.kill()
        self.assertNotEqual(migration.wait(beanstalk_client.PATIENCE), 0)
        self.database.start()
        self.assertEqual(self.sql("SELECT foliot.schema_version()"), "1")
        self.assertEqual(self.sql(columns), "7")
        self.assertEqual(self.sql("SELECT count(*) FROM foliot.job"), str(len(self.facts["jobs"])))
        self.assertIn("has version 1, and this program needs version 7", self.refusal())
        self.migrate()
        self.assertEqual(self.sql("SELECT foliot.schema_version()"), "7")
        self.assertEqual(self.sql(columns), "8")
        self.expect_store(lambda: self.start_node(WRITER), self.check, self.facts)

    def begin_migration(self):
        begun = subprocess.Popen([beanstalk_client.FOLIOT, "serve", "--store", self.database.database, "--migrate"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(begun.wait)
        return begun

    def refusal(self):
        done = subprocess.run([beanstalk_client.FOLIOT, "serve", "--beanstalk", "off", "--store", self.database.database,
                               "--node", "n"], text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=beanstalk_client.PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        return done.stdout


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
