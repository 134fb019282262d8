"""The figures of the database for monitoring, read by a role that may do nothing else. The schema's owner is no superuser."""
import contextlib
import subprocess
import time
import unittest
from pathlib import Path

import documented_sql
from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from kit.serve_case import ServeCase, put
from nodes_test import NodesCase


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Metrics(NodesCase):
    def setUp(self):
        ServeCase.setUp(self)
        self.database = postgresql_server.PostgresqlServer()
        self.addCleanup(self.database.remove)
        self.nodes = {}
        self.addCleanup(self.end_all)
        self.superuser = self.database.database
        self.sql("CREATE ROLE owner LOGIN; GRANT CREATE ON DATABASE jobs TO owner; CREATE ROLE shop LOGIN", "postgres")
        self.database.database = self.as_role("owner")
        self.expect_done("serve", "--store", self.database.database, "--migrate")
        of_the_superuser, of_the_owner = documented_sql.all_grants("serve/monitoring.md", "monitor")
        self.sql(of_the_superuser, "postgres")
        self.sql(of_the_owner, "owner")
        self.sql(documented_sql.grants("serve/sql.md", "shop"), "owner")

    def as_role(self, role):
        return self.superuser.replace("user=postgres", f"user={role}")

    def psql(self, statement, role, **options):
        return subprocess.run([postgresql_server.PSQL, "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", self.as_role(role), "-c",
                               statement], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=beanstalk_client.PATIENCE, **options)

    def sql(self, statement, role):
        return self.psql(statement, role, check=True).stdout

    def metrics(self):
        lines = self.sql("SELECT * FROM foliot.metrics()", "monitor").splitlines()
        return {(name, label): float(value) for name, label, value in (line.split("|") for line in lines)}

    def test_the_figures_are_those_of_the_jobs(self):
        connection = self.connect(self.start_node("n0"))
        connection.ask(b"use mails\r\n")
        connection.ask(b"watch mails\r\n")
        began = time.time()
        for _ in range(3):
            connection.ask(put(b"a"))
        connection.ask(b"put 0 3600 60 1\r\nd\r\n")
        self.expect_reserved(connection, b"a")
        buried = self.expect_reserved(connection, b"a")
        connection.ask(b"bury %d 0\r\n" % buried)
        connection.ask(b"pause-tube mails 600\r\n")
        time.sleep(0.05)  # so that ages are not zero
        seen = self.metrics()
        longest = time.time() - began + 1
        for state in ["ready", "delayed", "reserved", "buried"]:
            self.assertEqual(seen[f"jobs_{state}", "mails"], 1, state)
        self.assertGreaterEqual(seen["ready_overdue_seconds", "mails"], 0.05)
        self.assertLess(seen["ready_overdue_seconds", "mails"], longest)
        self.assertEqual(seen["delayed_overdue_seconds", "mails"], 0)
        self.assertEqual(seen["reserved_overdue_seconds", "mails"], 0)
        self.assertGreater(seen["paused_seconds_left", "mails"], 600 - longest)
        self.assertEqual(seen["nodes", ""], 1)
        self.assertEqual(seen["sessions", ""], 2)
        self.assertLess(seen["node_silent_seconds", "n0"], longest)
        self.assertGreater(seen["table_bytes", "ready"], 0)
        self.assertIn(("table_dead_rows", "reserved"), seen)
        self.assertNotIn(("jobs_ready", "default"), seen)

    def test_a_dead_node_and_what_it_had_are_seen(self):
        connection = self.connect(self.start_node("n0"))
        connection.ask(b"put 0 0 600 1\r\na\r\n")
        self.expect_reserved(connection, b"a")
        self.kill_node("n0")
        self.sql("UPDATE foliot.reserved SET expires = 1", "postgres")
        time.sleep(1.1)
        seen = self.metrics()
        self.assertGreater(seen["reserved_overdue_seconds", "default"], 0)
        self.assertGreaterEqual(seen["node_silent_seconds", "n0"], 1)

    @contextlib.contextmanager
    def open_transaction(self, begin, database=None):
        """Another connection has begun a transaction, and its first statement has been executed."""
        with subprocess.Popen(["psql", "-qXAt", "-d", database or self.superuser], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as other:
            other.stdin.write(f"{begin};\nSELECT 1;\n")
            other.stdin.flush()
            other.stdout.readline()
            yield

    def test_a_transaction_that_stays_open_is_seen(self):
        with self.open_transaction("BEGIN"):
            time.sleep(0.2)
            self.assertGreaterEqual(self.metrics()["oldest_transaction_seconds", ""], 0.2)

    def test_a_prepared_transaction_is_seen(self):
        with (Path(self.database.folder) / "data" / "postgresql.conf").open("a") as settings:
            settings.write("max_prepared_transactions = 1\n")
        self.database.restart()
        with subprocess.Popen(["psql", "-qXAt", "-d", self.superuser], stdin=subprocess.PIPE, text=True) as other:
            other.communicate("BEGIN;\nSELECT pg_sleep(0.2);\nPREPARE TRANSACTION 'forgotten';\n")
        time.sleep(0.2)
        self.assertGreaterEqual(self.metrics()["oldest_transaction_seconds", ""], 0.2)

    def use_transactions(self, count):
        self.sql(f"DO $$ BEGIN FOR i IN 1..{count} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$", "postgres")

    def expect_snapshot_of(self, count):
        """The figure reaches it: what a standby tells comes at most a second later."""
        until = time.monotonic() + beanstalk_client.PATIENCE
        while self.metrics()["oldest_snapshot_transactions", ""] < count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)

    def test_a_snapshot_that_is_kept_is_seen(self):
        self.use_transactions(500)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while self.metrics()["oldest_snapshot_transactions", ""] >= 500:  # autovacuum may keep one for a while
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        with self.open_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ"):
            self.use_transactions(500)
            self.expect_snapshot_of(500)

    def test_a_standby_that_keeps_rows_is_seen_also_when_it_is_lost(self):
        self.database.add_standby()
        standby = f"host={self.database.standby} user=postgres dbname=jobs"
        for statement in ["ALTER SYSTEM SET hot_standby_feedback = on", "ALTER SYSTEM SET wal_receiver_status_interval = '1s'",
                          "SELECT pg_reload_conf()"]:
            postgresql_server.PostgresqlServer.ask(standby, statement)
        with self.open_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ", standby):
            self.use_transactions(500)
            self.expect_snapshot_of(500)
            self.database.stop_standby()
        self.database.do_without_standby()
        self.use_transactions(500)
        self.expect_snapshot_of(1000)  # its slot has it
        self.assertLess(self.metrics()["oldest_transaction_seconds", ""], 10)

    def test_the_role_can_ask_what_the_page_asks_of_the_server(self):
        block = documented_sql.block("serve/monitoring.md", "pg_stat_archiver")
        for statement in block.split(";")[:-1]:
            self.sql(statement, "monitor")
        self.assertEqual(block.count(";"), 4)
        left = int(self.sql(block.split(";")[3], "monitor"))
        self.assertGreater(left, 0)
        self.assertLess(left, int(self.sql("SHOW max_connections", "monitor")))

    def test_a_node_shows_an_outage_of_its_database(self):
        connection = self.connect(self.start_node("n0"))
        connection.ask(put(b"a"))
        before = connection.numbers(b"stats\r\n")
        self.assertEqual(before["current-jobs-ready"], 1)
        self.assertGreaterEqual(before["foliot-store-batches"], 2)
        self.assertGreaterEqual(before["foliot-store-operations"], 2)
        self.assertEqual(before["foliot-store-refused-batches"], 0)
        self.assertEqual(before["foliot-store-unavailable"], 0)
        self.database.stop_at_once()
        self.assertEqual(connection.ask(b"peek 1\r\n"), b"INTERNAL_ERROR\r\n")
        seen = connection.numbers(b"stats\r\n")
        self.assertGreaterEqual(seen["foliot-store-refused-batches"], 1)
        self.assertEqual(seen["foliot-store-unavailable"], 1)
        self.assertEqual(seen["cmd-put"], 1, "what the node itself knows")
        self.assertNotIn("current-jobs-ready", seen)
        self.assertNotIn("current-tubes", seen)
        self.database.start()
        self.wait_until(connection, foliot_store_unavailable=0)
        after = connection.numbers(b"stats\r\n")
        self.assertEqual(after["current-jobs-ready"], 1)
        self.assertGreaterEqual(after["foliot-store-refused-batches"], seen["foliot-store-refused-batches"])

    def expect_refused(self, role, statement):
        done = self.psql(statement, role, check=False)
        self.assertNotEqual(done.returncode, 0, statement)
        self.assertIn("permission denied", done.stderr)

    def test_other_roles_see_nothing(self):
        self.expect_refused("shop", "SELECT * FROM foliot.metrics()")

    def test_the_role_can_do_nothing_else(self):
        job = self.sql("SELECT foliot.put('mails', 'x', key => 'k')", "shop").strip()
        for statement in ["SELECT * FROM foliot.job", f"SELECT foliot.peek({job}, '', '')", "SELECT foliot.restored()"]:
            self.expect_refused("monitor", statement)
        for call in ["put('mails', 'y')", "put('mails', 'y'::bytea)", f"cancel({job})", "cancel_by_key('mails', 'k')",
                     f"reschedule({job}, '1 h')", "reschedule_by_key('mails', 'k', '1 h')", "tell('mails')"]:
            self.expect_refused("monitor", f"SELECT foliot.{call}")
        self.assertEqual(self.metrics()["jobs_ready", "mails"], 1)
        self.assertEqual(self.sql(f"SELECT foliot.cancel({job})", "shop"), "t\n")


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
