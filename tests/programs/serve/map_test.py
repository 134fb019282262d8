"""Three servers over two PostgreSQL databases: what their clients see while a tube moves from one to the other, moves are
broken off, and nodes and databases fail."""
import os
import random
import signal
import subprocess
import time
import unittest.mock

import documented_sql
from kit import postgresql_server
from kit.beanstalk_client import PATIENCE
from kit.http_client import SingleConnection
from kit.program_case import FOLIOT, main
from kit.serve_case import SANITIZED, put
from nodes_test import NodesCase
from workload import Workload

SEED = int(os.environ.get("FOLIOT_MAP_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
ROUNDS = int(os.environ.get("FOLIOT_MAP_ROUNDS", "4" if SANITIZED else "8"))


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class TwoDatabases(NodesCase):
    seed_variable = "FOLIOT_MAP_SEED"
    shares_server = True

    def setUp(self):
        super().setUp()
        self.other = postgresql_server.shared_server("other")
        self.addCleanup(self.other.remove)
        self.expect_done("serve", "--store", self.other.database, "--migrate")
        # The nodes have a role of their own. No name of a database has one, so each program uses that of its environment.
        for server in (self.database, self.other):
            server.sql(server.folder, "DROP ROLE IF EXISTS foliot_node; CREATE ROLE foliot_node LOGIN; " +
                       documented_sql.grants("serve/nodes.md", "foliot_node"))
            server.database = f"host={server.folder} dbname=jobs"
        operator = unittest.mock.patch.dict(os.environ, PGUSER="postgres")
        operator.start()
        self.addCleanup(operator.stop)

    def start_node(self, name, *more):
        with unittest.mock.patch.dict(os.environ, PGUSER="foliot_node"):
            return super().start_node(name, *more)

    def map(self, *arguments):
        return self.expect_done("map", self.database.database, *arguments)

    def primaries(self):
        return [*super().primaries(), self.other.database]

    def test_the_map_is_shown_and_changed(self):
        node = self.connect(self.start_node("n0"))
        node.ask(b"use mails\r\n")
        self.assertRegex(node.ask(put(b"a")), rb"\AINSERTED 1\r\n\Z")
        self.assertIn("added database 1\n", self.map("--add", self.other.database))
        out = self.map("--move", "mails", "1")
        self.assertIn("moved 1 job of the tube mails to database 1\n", out)
        self.assertIn("tube mails is in database 1\nall other tubes are in database 0\n", out)
        self.assertRegex(node.ask(put(b"b")), rb"\AINSERTED \d+\r\n\Z")
        self.assertEqual(self.other.sql(self.other.folder, "SELECT count(*) FROM foliot.job"), "2")
        self.assertEqual(node.numbers(b"stats\r\n")["current-jobs-ready"], 2)
        node.ask(b"watch mails\r\n")
        job = self.expect_reserved(node, b"a")
        self.assertEqual(node.ask(b"delete %d\r\n" % job), b"DELETED\r\n")

    def test_a_database_under_a_second_name_is_refused_and_may_be_renamed(self):
        node = self.connect(self.start_node("n0"))
        self.map("--add", self.other.database)
        self.assertRegex(node.ask(put(b"a")), rb"\AINSERTED \d+\r\n\Z")
        first, renamed = self.database.database, self.other.database + " connect_timeout=3"
        shown = self.map()
        self.expect_error("is in the map already: it is the database 1, ", "map", first, "--add", renamed)
        self.assertEqual(self.map(), shown)
        # What a node reads with its first batch after a change of the map.
        self.map("--move", "mails", "1")
        node.ask(b"use mails\r\n")
        self.assertRegex(node.ask(put(b"b")), rb"\AINSERTED \d+\r\n\Z")
        self.expect_error("is not the database 1 of this map", "map", first, "--rename", "1", first)
        self.assertIn("renamed database 1: nodes that are running use the new string for their next connection\n",
                      self.map("--rename", "1", renamed))
        self.assertEqual(self.database.sql(self.database.folder, "SELECT connection FROM foliot.database"), renamed)
        self.assertRegex(node.ask(put(b"c")), rb"\AINSERTED \d+\r\n\Z")
        self.kill_node("n0")
        node = self.connect(self.start_node("n0"))
        node.ask(b"use mails\r\n")
        self.assertRegex(node.ask(put(b"d")), rb"\AINSERTED \d+\r\n\Z")
        self.assertEqual(node.numbers(b"stats\r\n")["current-jobs-ready"], 4)
        self.assertEqual(self.other.sql(self.other.folder, "SELECT count(*) FROM foliot.job"), "3")

    def test_a_database_is_removed(self):
        node = self.connect(self.start_node("n0"))
        first = self.database.database
        self.map("--add", self.other.database)
        self.map("--move", "mails", "1")
        node.ask(b"use mails\r\n")
        self.assertRegex(node.ask(put(b"a")), rb"\AINSERTED \d+\r\n\Z")
        self.expect_error("has jobs: move its tubes to another one first", "map", first, "--remove", "1")
        self.expect_error("the database 0 has the map", "map", first, "--remove", "0")
        self.map("--move", "mails", "0")
        self.assertEqual(self.map("--remove", "1"), f"removed database 1\ndatabase 0: {self.database.folder}/jobs\n")
        self.assertRegex(node.ask(put(b"b")), rb"\AINSERTED \d+\r\n\Z")
        self.other.stop_at_once()
        self.assertEqual(node.numbers(b"stats\r\n")["current-jobs-ready"], 2)
        self.expect_error("there is no database with the number 1", "map", first, "--remove", "1", "--lost")

    def test_a_move_ends_where_no_job_is_on_its_way(self):
        node = self.connect(self.start_node("n0"))
        for body in [b"a", b"b"]:
            self.assertRegex(node.ask(put(body)), rb"\AINSERTED \d+\r\n\Z")
        job = self.expect_reserved(node, b"a")
        self.map("--add", self.other.database)
        moving = subprocess.Popen([FOLIOT, "map", self.database.database, "--move", "default", "1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(moving.stderr.readline(),
                         "foliot: the rest moves when its workers have given it back; this may be ended, and repeated\n")
        moving.send_signal(signal.SIGINT)
        out, err = moving.communicate()
        self.assertEqual((moving.returncode, out, err),
                         (-signal.SIGINT, "", "foliot: interrupted; to move the rest, repeat the command\n"))
        self.assertIn("tube default moves from database 0 to 1: to go on, repeat --move\n", self.map())
        self.assertEqual(node.ask(b"delete %d\r\n" % job), b"DELETED\r\n")
        self.assertIn("moved 0 jobs", self.map("--move", "default", "1"))
        self.assertEqual(self.other.sql(self.other.folder, "SELECT count(*) FROM foliot.job"), "1")

    def test_a_move_can_be_ended_while_a_database_does_not_answer(self):
        node = self.connect(self.start_node("n0"))
        for body in [b"a", b"b"]:
            self.assertRegex(node.ask(put(body)), rb"\AINSERTED \d+\r\n\Z")
        self.expect_reserved(node, b"a")
        self.map("--add", self.other.database)
        moving = subprocess.Popen([FOLIOT, "map", self.database.database, "--move", "default", "1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(moving.kill)
        self.assertIn("the rest moves when its workers have given it back", moving.stderr.readline())
        self.other.stop_at_once()
        moving.send_signal(signal.SIGINT)
        out, err = moving.communicate()
        self.assertEqual((moving.returncode, out), (-signal.SIGINT, ""), err)
        self.assertRegex(err, r"\Afoliot: interrupted( in a step that took longer than 2 seconds)?; to move the rest, repeat the command\n\Z")

    def test_policies_of_tubes_need_database_0_alone(self):
        def ask(method, target, value=None):
            client = SingleConnection(self.here / "n0.http")
            try:
                return client.ask(method, target, value)
            finally:
                client.close()

        def expect_one_try(node, tube):
            node.ask(b"use %s\r\n" % tube)
            node.ask(b"watch %s\r\n" % tube)
            self.assertRegex(node.ask(put(b"a")), rb"\AINSERTED \d+\r\n\Z")
            job = self.expect_reserved(node, b"a")
            self.assertEqual(node.ask(b"release %d 0 0\r\n" % job), b"RELEASED\r\n")
            self.assertEqual(node.ask(b"peek-buried\r\n"), b"FOUND %d 1\r\na\r\n" % job)

        node = self.connect(self.start_node("n0"))
        self.map("--add", self.other.database)
        self.assertEqual(ask("PUT", "/v1/policies/mails", {"tries": 1})[0], 201)
        self.other.stop_at_once()
        self.assertEqual(ask("PUT", "/v1/policies/bills", {"tries": 1})[0], 201)
        expect_one_try(node, b"bills")  # in force with the answer
        self.kill_node("n0")
        expect_one_try(self.connect(self.start_node("n0")), b"mails")

    def test_a_check_reads_all_databases(self):
        self.map("--add", self.other.database)
        self.map("--move", "mails", "1")
        node = self.connect(self.start_node("n0"))
        node.ask(b"use mails\r\n")
        self.assertRegex(node.ask(put(b"a")), rb"\AINSERTED \d+\r\n\Z")
        check = ["serve", "--store", self.database.database, "--check"]
        both = f"{self.database.folder}/jobs: no damage found\n{self.other.folder}/jobs: no damage found\n"
        self.assertEqual(self.expect_done(*check), both)
        self.other.stop_at_once()
        self.expect_error(f"the database 1 of the map was not checked: the database {self.other.folder}", *check, code=1)
        self.other.start()
        self.assertEqual(self.expect_done(*check), both)
        self.other.sql(self.other.folder, "DELETE FROM foliot.ready")
        self.expect_error("is damaged: in the database 1 of the map, ", *check, code=1)

    def test_the_role_of_the_nodes_moves_no_tube(self):
        self.map("--add", self.other.database)
        with unittest.mock.patch.dict(os.environ, PGUSER="foliot_node"):
            self.assertIn("database 1", self.map())
            self.expect_error("permission denied", "map", self.database.database, "--move", "mails", "1")
        self.map("--move", "mails", "1")

    def test_the_other_databases_go_on_while_the_first_one_is_stopped(self):
        self.go_on_without_first(self.database.stop_at_once, self.database.start)

    def test_the_other_databases_go_on_while_the_first_one_hangs(self):
        self.go_on_without_first(self.database.hang, self.database.go_on)

    def go_on_without_first(self, stop, start):
        self.map("--add", self.other.database)
        self.map("--move", "mails", "1")
        node = self.start_node("n0")
        first, other = self.connect(node), self.connect(node)
        for command in b"use mails", b"watch mails", b"ignore default":
            other.ask(command + b"\r\n")
        # A job becomes due there meanwhile, so that no batch is without something to do in the first database.
        self.assertRegex(first.ask(b"put 0 3 600 5\r\nlater\r\n"), rb"\AINSERTED \d+\r\n\Z")
        stop()
        # Until the node knows of it, its clients wait. A peek changes nothing, so its answer is never in doubt.
        self.assertEqual(first.ask(b"peek-ready\r\n"), b"INTERNAL_ERROR\r\n")
        for number in range(40):
            body = b"%d" % number
            self.assertRegex(other.ask(put(body)), rb"\AINSERTED \d+\r\n\Z")
            reserved = other.ask(b"reserve-with-timeout 0\r\n")
            self.assertRegex(reserved, rb"\ARESERVED \d+ \d+\r\n%s\r\n\Z" % body)
            self.assertEqual(other.ask(b"delete %s\r\n" % reserved.split()[1]), b"DELETED\r\n")
            self.assertEqual(first.ask(b"reserve-with-timeout 0\r\n"), b"INTERNAL_ERROR\r\n")
            time.sleep(0.05)  # long enough for some tries to reach the first database
        start()
        until = time.monotonic() + PATIENCE
        while (line := first.ask(put(b"again"))) == b"INTERNAL_ERROR\r\n":
            self.assertLess(time.monotonic(), until)
        self.assertRegex(line, rb"\AINSERTED \d+\r\n\Z")
        self.expect_reserved(first, b"later")
        self.expect_reserved(first, b"again")
        self.assertRegex(other.ask(put(b"x")), rb"\AINSERTED \d+\r\n\Z")
        _, log = node.stop()
        self.assertRegex(log, r" warning session 1: the database 0 of the map does not answer, its tubes are not available: the database ")
        self.assertRegex(log, r" warning session 1: the database 0 of the map answers again\n")

    def test_what_is_wrong_is_named(self):
        self.expect_error("--move: 'x' is not the number of a database", "map", self.database.database, "--move", "t", "x")
        for tube in ["a b", "-a", "a" * 201, ""]:
            self.expect_error(f"--move: '{tube}' is not the name of a tube", "map", self.database.database, "--move", tube, "0")
        self.expect_error("--rename: '-1' is not the number of a", "map", self.database.database, "--rename", "-1", "x")
        for argument, words in [("DATABASE", [""]), ("--add", [self.database.database, "--add", ""]),
                                ("--rename", [self.database.database, "--rename", "1", ""])]:
            self.expect_error(f"{argument} '' is no database: write postgresql://HOST/NAME", "map", *words)
        self.expect_error("--remove: '' is not the number of a database", "map", self.database.database, "--remove", "")
        self.expect_error("there is no database with the number 7", "map", self.database.database, "--move", "t", "7")
        self.expect_error("is the first database itself", "map", self.database.database, "--add", self.database.database)

    def test_nothing_is_lost_while_a_tube_moves_and_things_fail(self):
        print(f"FOLIOT_MAP_SEED={SEED} FOLIOT_MAP_ROUNDS={ROUNDS}")
        draw = random.Random(SEED)
        work = Workload(draw, clients=2)
        self.start_all()
        self.map("--add", self.other.database)
        work.await_answers(self.nodes["n0"])
        to = 1
        for _ in range(ROUNDS):
            for server in self.nodes.values():
                work.start(server)
            moving = subprocess.Popen([FOLIOT, "map", self.database.database, "--move", "default", str(to)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.random())
            what = draw.choice(["nothing", "break off", "break off", "kill", "first", "other"])
            if what == "kill":
                name = f"n{draw.randrange(3)}"
                self.note_fault(work, "disturbed", name)
                self.kill_node(name)
                self.start_node(name)
            elif what in ("first", "other"):
                work.history.begin(0, "disturbed")
                {"first": self.database, "other": self.other}[what].restart(draw.choice([0, 0.5]))
            time.sleep(draw.random())
            moving.kill()
            if moving.wait() == 0:
                to = 1 - to
        # What a move that was killed had on its way is in neither database until the move goes on. The clients still have
        # jobs: the tube stays in both, and everything is found.
        self.map("--move", "default", str(to), "--no-wait")
        self.judge(work, SEED, one_database=False)
        self.assertIn("database 1", self.map("--move", "default", str(to), "--no-wait"))


if __name__ == "__main__":
    main()
