"""Jobs that applications put in transactions of their own, by psql and by an ORM, and the clients of the servers."""
import json
import subprocess
import time
import unittest
from pathlib import Path

from kit import beanstalk_client
from kit.http_client import LocalConnection
from kit.program_case import main
from nodes_test import NodesCase

DEBIANS_PYTHON = "/usr/bin/python3"
SHOP = Path(__file__).resolve().parent / "clients" / "shop.py"


class ApplicationCase(NodesCase):
    def client(self, server, tube):
        connection = self.connect(server)
        connection.ask(b"use %s\r\n" % tube)
        connection.ask(b"watch %s\r\n" % tube)
        return connection


class Psql(ApplicationCase):
    """psql, for as long as a transaction lasts."""
    shares_server = True

    def setUp(self):
        super().setUp()
        self.psql = subprocess.Popen(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", self.database.database],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end_psql)

    def end_psql(self):
        self.psql.stdin.close()
        self.psql.wait()
        self.psql.stdout.close()

    def sql(self, statements):
        """What a line of statements prints last."""
        self.psql.stdin.write(statements + "\n\\echo\n\\echo --\n")
        self.psql.stdin.flush()
        lines = []
        while not lines or lines[-1] != "--":
            line = self.psql.stdout.readline()
            self.assertTrue(line, "psql has ended")
            lines.append(line.rstrip("\n"))
        return ([each for each in lines[:-1] if each] or [""])[-1]

    def test_a_job_comes_with_its_transaction(self):
        server = self.start_node("n0")
        worker = self.client(server, b"mails")
        self.sql("CREATE TABLE orders (id int);")
        self.sql("BEGIN; INSERT INTO orders VALUES (1); SELECT foliot.put('mails', 'lost'); ROLLBACK;")
        self.sql("BEGIN; INSERT INTO orders VALUES (2);")
        job = int(self.sql("SELECT foliot.put('mails', 'hello');"))
        self.assertEqual(worker.ask(b"reserve-with-timeout 0\r\n"), b"TIMED_OUT\r\n")
        self.assertEqual(worker.ask(b"peek %d\r\n" % job), b"NOT_FOUND\r\n")
        self.sql("COMMIT;")
        self.sql("SELECT foliot.tell('mails');")
        self.assertEqual(self.expect_reserved(worker, b"hello"), job)
        self.assertEqual(self.sql(f"SELECT foliot.cancel({job});"), "f")
        self.assertEqual(worker.ask(b"delete %d\r\n" % job), b"DELETED\r\n")

    def test_each_key_is_one_that_clients_can_name(self):
        client = self.client(self.start_node("n0"), b"mails")
        visible = "".join(map(chr, range(0x21, 0x7f)))
        for key in ["--", "=", visible, "k" * 128]:
            quoted = key.replace("'", "''")
            job = int(self.sql(f"SELECT foliot.put('mails', 'x', delay => '1 h', key => '{quoted}');"))
            self.assertEqual(client.ask(b"x-cancel =%s\r\n" % key.encode()), b"CANCELLED %d\r\n" % job)

    def test_a_body_above_the_limit_of_a_node_is_delivered(self):
        client = self.client(self.start_node("n0"), b"mails")  # its --max-job-size is 65535
        self.sql("SELECT foliot.put('mails', repeat('x', 100000));")
        self.expect_reserved(client, b"x" * 100000)

    def schedule(self, node, name):
        """What a node tells of a schedule of the tube `mails`; None: there is none."""
        connection = LocalConnection(self.here / f"{node}.http")
        try:
            connection.request("GET", f"/v1/tubes/mails/schedules/{name}")
            answer = connection.getresponse()
            seen = json.loads(answer.read())
        finally:
            connection.close()
        self.assertIn(answer.status, [200, 404], seen)
        return seen if answer.status == 200 else None

    def put_schedule(self, name, plan):
        return self.sql(f"SELECT foliot.put_schedule('mails', '{name}', '{json.dumps(plan)}');")

    def wait_for_schedule(self, name, condition):
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            seen = self.schedule("n0", name)
            if seen is not None and condition(seen):
                return seen
            self.assertLess(time.monotonic(), until, seen)
            time.sleep(0.05)

    def test_a_schedule_comes_with_its_transaction(self):
        worker = self.client(self.start_node("n0"), b"mails")
        plan = {"rules": ["every 1s"], "note": "by SQL", "job": {"text": "tick"}}
        self.sql("BEGIN;")
        self.assertEqual(self.put_schedule("lost", plan), "made")
        self.sql("ROLLBACK;")
        self.sql("BEGIN;")
        self.assertEqual(self.put_schedule("ticks", plan), "made")
        self.assertIsNone(self.schedule("n0", "ticks"))
        self.sql("COMMIT;")
        self.expect_reserved(worker, b"tick")
        seen = self.wait_for_schedule("ticks", lambda seen: seen["counts"]["made"]["regular"] > 0)
        self.assertEqual((seen["state"], seen["plan"]["note"]), ("active", "by SQL"))
        self.assertIsNone(self.schedule("n0", "lost"))
        # A change keeps what it has done. A turn may have it at this moment.
        until = time.monotonic() + beanstalk_client.PATIENCE
        while (done := self.put_schedule("ticks", {"rules": ["0 9 * * *"]})) != "changed":
            self.assertEqual(done, "")
            self.assertLess(time.monotonic(), until)
        after = self.wait_for_schedule("ticks", lambda seen: seen["plan"]["rules"] == ["0 9 * * *"] and seen["version"] > 1)
        self.assertEqual(after["incarnation"], seen["incarnation"])
        self.assertGreaterEqual(after["counts"]["made"]["regular"], seen["counts"]["made"]["regular"])

    def test_a_wrong_plan_is_refused_by_the_node(self):
        self.start_node("n0")
        self.assertEqual(self.put_schedule("wrong", {"rules": ["0 25 * * *"]}), "made")
        seen = self.wait_for_schedule("wrong", lambda seen: seen["state"] == "refused")
        self.assertIn("25 is not within 0 to 23", seen["refused"])
        self.assertEqual(self.put_schedule("wrong", {"rules": ["0 23 * * *"]}), "changed")
        seen = self.wait_for_schedule("wrong", lambda seen: seen["state"] == "active")
        self.assertEqual(len(seen["next"]), 10)

    def test_an_open_transaction_holds_up_only_what_needs_its_jobs(self):
        server = self.start_node("n0")
        first, second = self.client(server, b"mails"), self.client(server, b"mails")
        head = first.ask(b"put 0 3600 60 4\r\nlate\r\n")
        job = int(head.split()[1])
        self.sql("BEGIN;")
        self.assertEqual(self.sql(f"SELECT foliot.cancel({job});"), "t")
        self.assertEqual(first.ask(b"kick-job %d\r\n" % job), b"INTERNAL_ERROR\r\n")
        self.assertEqual(first.ask(b"kick 10\r\n"), b"KICKED 0\r\n")
        self.expect_work(second)
        self.sql("ROLLBACK;")
        self.assertEqual(first.ask(b"kick-job %d\r\n" % job), b"KICKED\r\n")
        self.assertEqual(self.expect_reserved(second, b"late"), job)


class Orm(ApplicationCase):
    """SQLAlchemy, over psycopg2."""

    def setUp(self):
        super().setUp()
        try:
            subprocess.run([DEBIANS_PYTHON, "-c", "import sqlalchemy, psycopg2"], check=True, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("SQLAlchemy is not installed (Debian: python3-sqlalchemy python3-psycopg2)")

    def shop(self, *arguments):
        done = subprocess.run([DEBIANS_PYTHON, SHOP, self.database.database, *arguments], check=True, text=True,
                              stdout=subprocess.PIPE, timeout=beanstalk_client.PATIENCE)
        return done.stdout.strip()

    def test_an_order_and_its_job_are_there_or_neither(self):
        worker = self.client(self.start_node("n0"), b"shipping")
        self.assertEqual(self.shop("order", "sold", "fail"), "out of stock")
        job = int(self.shop("order", "book"))
        self.assertEqual(self.expect_reserved(worker, b"book"), job)
        self.assertEqual(self.shop("cancel", str(job)), "False")
        self.assertEqual(worker.ask(b"release %d 0 3600\r\n" % job), b"RELEASED\r\n")
        self.assertEqual(self.shop("cancel", str(job)), "True")
        self.assertEqual(worker.ask(b"peek %d\r\n" % job), b"NOT_FOUND\r\n")
        self.assertEqual(self.shop("orders"), "book")
        self.assertEqual(worker.ask(b"reserve-with-timeout 0\r\n"), b"TIMED_OUT\r\n")


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
