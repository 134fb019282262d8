"""Three servers over one PostgreSQL database: what clients of all of them see while servers are killed and stopped, the
database is started again, and the lines to it are cut."""
import os
import random
import signal
import time
import unittest

import documented_sql
from history import check, events_around, priorities_of
from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from kit.serve_case import SANITIZED, ServeCase, put
from line import Line
from workload import Workload, drain

SEED = int(os.environ.get("FOLIOT_NODES_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
ROUNDS = int(os.environ.get("FOLIOT_NODES_ROUNDS", "6" if SANITIZED else "12"))
NODES = 3
CONNECTIONS_OF_FIRST_SESSION = 100  # server/core/brokers.hpp
NODE_TIMEOUT = 2  # seconds, a whole number
# Under load no node is to be taken for dead that only waits for a processor: the clients certainly have what they have
# reserved. With a short time, on an idle machine, stopped nodes lose their jobs while others work.
LOAD_TIMEOUT = int(os.environ.get("FOLIOT_NODES_TIMEOUT", "60"))
GRACE = LOAD_TIMEOUT + 60  # seconds: an outage is shorter


class NodesCase(ServeCase):
    """A database, and nodes that are started by name."""
    shares_server = False  # whether the tests of the class have one server of PostgreSQL, with a new database for each
    node_timeout = LOAD_TIMEOUT
    seed_variable = "FOLIOT_NODES_SEED"

    def setUp(self):
        super().setUp()
        self.nodes = {}
        self.make_database()
        self.addCleanup(self.end_all)

    def make_database(self):
        if not postgresql_server.is_installed():
            self.skipTest("PostgreSQL's server is not installed (Debian: postgresql)")
        self.database = postgresql_server.shared_server() if self.shares_server else postgresql_server.PostgresqlServer()
        self.addCleanup(self.database.remove)
        self.expect_done("serve", "--store", self.database.database, "--migrate")

    def end_all(self):
        for server in self.nodes.values():
            if server.process.poll() is None:
                server.process.kill()  # a process that is stopped ends, too
                server.process.wait()
            server.process.stderr.close()

    def start_node(self, name, *more):
        server = beanstalk_client.foliot("--store", self.database.database, "--node", name, "--node-timeout",
                                         f"{self.node_timeout}s", *more, http=self.here / f"{name}.http")
        self.nodes[name] = server
        return server

    def start_all(self):
        return [self.start_node(f"n{number}") for number in range(NODES)]

    def kill_node(self, name):
        self.nodes[name].kill()

    def note_fault(self, work, kind, name):
        """For the checker, before this happens to a node: see history.Event."""
        work.history.begin(0, kind, node=self.nodes[name].address, timeout=self.node_timeout)

    def expect_reserved(self, connection, body):
        """The job that a reserve gets."""
        line = connection.ask(b"reserve-with-timeout %d\r\n" % beanstalk_client.PATIENCE)
        self.assertRegex(line, rb"\ARESERVED \d+ %d\r\n%s\r\n\Z" % (len(body), body))
        return int(line.split()[1])

    def expect_no_connection(self):
        """The database has noticed that the nodes are gone: what they have left open would be passed over."""
        ask = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'foliot' AND datname = current_database()"
        primary = f"{self.database.database} target_session_attrs=read-write"
        until = time.monotonic() + beanstalk_client.PATIENCE
        while (count := postgresql_server.PostgresqlServer.ask(primary, ask)) != "0":
            self.assertLess(time.monotonic(), until, f"{count} connections of nodes that are gone")
            time.sleep(0.05)

    def primaries(self):
        """The connection string of each database, where it accepts changes."""
        return [f"{self.database.database} target_session_attrs=read-write"]

    def judge(self, work, seed, one_database=True):
        """Ends the clients, and looks at what is there at the end. Over several databases a tube that moves has no order."""
        for server in self.nodes.values():
            server.process.kill()
            server.process.wait()
            server.process.stderr.close()
        work.server_has_ended()
        self.nodes = {}
        for name in [f"n{number}" for number in range(NODES)]:  # each ends what it had reserved
            self.assertEqual(self.start_node(name).stop()[0], 0)
            del self.nodes[name]
        self.expect_no_connection()
        for each in self.primaries():
            postgresql_server.PostgresqlServer.end_reservations(each)
        # With one session, nothing else is done to the jobs meanwhile.
        judge = self.start_node("judge", "--sessions", "1")
        self.wait_until(self.connect(judge), current_jobs_reserved=0)
        left = drain(judge)
        events = work.history.events
        breaches = check(events, left, list(left) if one_database else (), priorities_of(events), grace=GRACE)
        for line in events_around(events, breaches):
            print(line)
        self.assertEqual(breaches, [], f"{self.seed_variable}={seed}")
        self.expect_done("serve", "--store", self.database.database, "--check")
        done = sum(event.answer not in (None, "INTERNAL_ERROR") for event in events)
        refused = sum(event.answer == "INTERNAL_ERROR" for event in events)
        print(f"{len(events)} requests, {done} executed, {refused} refused, {len(left)} jobs at the end")
        self.assertGreater(done, 0, "the clients have done something")


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Nodes(NodesCase):
    shares_server = True
    node_timeout = NODE_TIMEOUT

    def test_a_job_put_at_one_node_is_reserved_at_another(self):
        one, two, three = [self.connect(server) for server in self.start_all()]
        self.assertRegex(one.ask(put(b"a")), rb"\AINSERTED \d+\r\n\Z")
        line = two.ask(b"reserve-with-timeout 0\r\n")  # looks once: what was acknowledged is there
        self.assertRegex(line, rb"\ARESERVED \d+ 1\r\na\r\n\Z")
        job = int(line.split()[1])
        self.assertEqual(one.ask(b"delete %d\r\n" % job), b"NOT_FOUND\r\n", "another node has it")
        self.assertEqual(two.ask(b"delete %d\r\n" % job), b"DELETED\r\n")
        self.assertEqual(three.ask(b"peek %d\r\n" % job), b"NOT_FOUND\r\n")

    def test_a_waiting_reserve_hears_of_a_put_at_another_node(self):
        one, two, _ = [self.connect(server) for server in self.start_all()]
        two.send(b"reserve\r\n")
        self.wait_until(one, current_jobs_ready=0)
        began = time.monotonic()
        self.assertRegex(one.ask(put(b"a")), rb"\AINSERTED \d+\r\n\Z")
        self.assertRegex(two.answer(), rb"\ARESERVED \d+ 1\r\na\r\n\Z")
        print(f"put at one node, reserved at another: {1000 * (time.monotonic() - began):.1f} ms")

    def test_a_delayed_job_comes_at_another_node_and_not_early(self):
        one, two, _ = [self.connect(server) for server in self.start_all()]
        for delay in [0.3, 1.2]:
            due = time.time() + delay  # before the server knows it
            line = one.ask(b"x-put refuse - 0 %d 60000 1\r\nd\r\n" % (1000 * delay))
            self.assertRegex(line, rb"\AINSERTED \d+\r\n\Z")
            job = self.expect_reserved(two, b"d")
            self.assertGreaterEqual(time.time(), due - 0.001)
            self.assertEqual(two.ask(b"delete %d\r\n" % job), b"DELETED\r\n")

    def test_the_jobs_of_a_killed_node_come_to_another_one(self):
        servers = self.start_all()
        one, two, _ = map(self.connect, servers)
        one.ask(put(b"a"))
        self.expect_reserved(one, b"a")
        self.kill_node("n0")
        began = time.monotonic()
        job = self.expect_reserved(two, b"a")
        print(f"a killed node's job came after {time.monotonic() - began:.2f} s, its timeout is {NODE_TIMEOUT} s")
        self.assertEqual(two.ask(b"delete %d\r\n" % job), b"DELETED\r\n")

    def test_a_node_that_starts_again_gives_back_what_it_had(self):
        # No other node ends what this one had so soon: it is alone.
        one = self.connect(self.start_node("n0"))
        one.ask(put(b"a"))
        job = self.expect_reserved(one, b"a")
        self.kill_node("n0")
        again = self.connect(self.start_node("n0"))
        self.assertEqual(again.ask(b"delete %d\r\n" % self.expect_reserved(again, b"a")), b"DELETED\r\n")
        self.assertEqual(again.ask(b"peek %d\r\n" % job), b"NOT_FOUND\r\n")

    def connect_many(self, server):
        """Connections of which half belong to each of the two sessions of the server."""
        connections = []
        for _ in range(2 * CONNECTIONS_OF_FIRST_SESSION):
            connections.append(self.connect(server))
            self.assertEqual(connections[-1].ask(b"watch default\r\n"), b"WATCHING 1\r\n")  # so it has its session
        return connections

    def reservations(self):
        """By session, how many jobs are reserved."""
        return self.database.sql(self.database.folder, "SELECT convert_from(n.name, 'UTF8'), count(*) FROM foliot.reserved r "
                                 "JOIN foliot.node n ON n.session = r.session GROUP BY 1 ORDER BY 1").splitlines()

    def test_the_connections_of_a_node_are_divided_among_its_sessions(self):
        connections = self.connect_many(self.start_node("n0"))
        for connection in connections:
            connection.ask(put(b"a"))
        for connection in connections:
            self.expect_reserved(connection, b"a")
        half = len(connections) // 2
        self.assertEqual(self.reservations(), [f"n0|{half}", f"n0 (session 2)|{half}"])
        seen = connections[0].numbers(b"stats\r\n")
        self.assertEqual(seen["current-jobs-reserved"], len(connections))
        self.assertEqual(seen["current-workers"], len(connections))
        self.assertEqual(connections[0].numbers(b"stats-tube default\r\n")["current-watching"], len(connections))
        self.kill_node("n0")
        again = self.connect(self.start_node("n0"))  # gives back what both had
        for _ in connections:
            self.expect_reserved(again, b"a")

    def test_a_client_of_one_session_hears_of_a_put_by_a_client_of_another(self):
        connections = self.connect_many(self.start_node("n0"))
        for waits, puts in [(connections[0], connections[-1]), (connections[-1], connections[0])]:
            waits.send(b"reserve\r\n")
            self.wait_until(puts, current_waiting=1)
            self.assertRegex(puts.ask(put(b"a")), rb"\AINSERTED \d+\r\n\Z")
            line = waits.answer()
            self.assertRegex(line, rb"\ARESERVED \d+ 1\r\na\r\n\Z")
            self.assertEqual(self.reservations(), ["n0|1" if waits is connections[0] else "n0 (session 2)|1"])
            job = int(line.split()[1])
            self.assertEqual(puts.ask(b"delete %d\r\n" % job), b"NOT_FOUND\r\n", "the other one has it")
            self.assertEqual(waits.ask(b"delete %d\r\n" % job), b"DELETED\r\n")

    def test_a_tube_lives_while_a_client_of_any_session_uses_it(self):
        first, *_, last = self.connect_many(self.start_node("n0"))
        for leaves, stays in [(first, last), (last, first)]:
            for each in (leaves, stays):
                self.assertEqual(each.ask(b"use some\r\n"), b"USING some\r\n")
            self.assertEqual(leaves.ask(b"use default\r\n"), b"USING default\r\n")
            self.assertIn(b"- some\n", leaves.ask(b"list-tubes\r\n"))
            self.assertEqual(leaves.numbers(b"stats-tube some\r\n")["current-using"], 1)
            self.assertEqual(stays.ask(b"use default\r\n"), b"USING default\r\n")
            self.assertNotIn(b"- some\n", leaves.ask(b"list-tubes\r\n"))

    def test_a_session_without_a_connection_left_is_named(self):
        """Four sessions want four connections to begin with, and the database allows three."""
        run = lambda statement: self.database.sql(self.database.folder, statement)
        run("CREATE ROLE narrow LOGIN CONNECTION LIMIT 3; " + documented_sql.grants("serve/nodes.md", "foliot_node", "narrow"))
        database = f"host={self.database.folder} user=narrow dbname=jobs"
        code, _, told = self.run_foliot("serve", "--store", database, "--node", "n", "--sessions", "4", "--beanstalk", "off")
        self.assertEqual(code, 2, told)
        self.assertRegex(told, r"too many connections for role.*; this was session [234]: if the database allows too few "
                               "connections, lower --sessions")

    def test_its_jobs_in_foliot_top(self):
        """All nodes' jobs; in an outage they are not known, and looks do not keep the node from its end."""
        path = str(self.here / "top")
        node, other = self.start_node("n0", "--statistics", path), self.connect(self.start_node("n1"))
        other.ask(b"use mail\r\n")
        for delay in (0, 1000):
            self.assertRegex(other.ask(b"put 0 %d 60 1\r\na\r\n" % delay), rb"INSERTED")
        self.look(path, r"\ntubes with jobs +1\njobs ready +1\n  delayed +1\n  reserved +0\n  buried +0\n"
                        r"next is due in +\d+\.\d+ s\n")
        self.database.stop_at_once()
        self.look(path, r"\njobs ready +-\n(.+\n)+\nthe store does not answer, or its jobs cannot be counted quickly\n")
        self.assertEqual(node.stop()[0], 0)

    def test_a_node_may_have_one_session(self):
        connections = self.connect_many(self.start_node("n0", "--sessions", "1"))
        for connection in connections:
            connection.ask(put(b"a"))
        for connection in connections:
            self.expect_reserved(connection, b"a")
        self.assertEqual(self.reservations(), [f"n0|{len(connections)}"])

    def test_a_stopped_node_loses_its_jobs_and_is_told_so(self):
        servers = self.start_all()
        one, two, _ = map(self.connect, servers)
        one.ask(put(b"a"))
        job = self.expect_reserved(one, b"a")
        servers[0].process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.expect_reserved(two, b"a"), job)
        servers[0].process.send_signal(signal.SIGCONT)
        self.assertEqual(one.ask(b"delete %d\r\n" % job), b"NOT_FOUND\r\n")
        self.assertEqual(two.ask(b"peek %d\r\n" % job), b"FOUND %d 1\r\na\r\n" % job)
        self.assertEqual(two.ask(b"delete %d\r\n" % job), b"DELETED\r\n")


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class NodesBehindLines(NodesCase):
    def start_behind(self, lines, name, *more):
        """A node that reaches the database over these lines, one to each of its servers."""
        database = self.database.database
        hosts, ports = ",".join("127.0.0.1" for _ in lines), ",".join(str(line.port) for line in lines)
        self.database.database = f"host={hosts} port={ports} user=postgres dbname=jobs"
        try:
            return self.start_node(name, *more)
        finally:
            self.database.database = database

    def line(self, *options, to=None):
        made = Line(f"{to or self.database.folder}/.s.PGSQL.5432", *options)
        self.addCleanup(made.close)
        return made


class NodeBehindASlowLine(NodesBehindLines):
    def test_large_bodies_take_their_time(self):
        """The bodies of one batch need longer than an answer is waited for."""
        node = self.start_behind([self.line(16384, 0.01)], "slow", "--sessions", "1")  # at most 1.6 MB/s
        other = self.start_node("other")
        workers = [self.connect(node) for _ in range(120)]
        for worker in workers:
            worker.send(b"reserve\r\n")
        putting = self.connect(other)
        body = b"x" * 60000
        putting.send(put(body) * len(workers))
        for _ in workers:
            self.assertRegex(putting.line(), rb"\AINSERTED \d+\r\n\Z")
        for worker in workers:
            self.assertRegex(worker.line(), rb"\ARESERVED \d+ 60000\r\n\Z")


class NodeBehindACutLine(NodesBehindLines):
    node_timeout = NODE_TIMEOUT

    def test_a_node_that_is_cut_off_loses_its_jobs_and_is_told_so(self):
        line = self.line()
        one = self.connect(self.start_behind([line], "cut-off"))
        two = self.connect(self.start_node("other"))
        one.ask(put(b"a"))
        job = self.expect_reserved(one, b"a")
        line.cut()
        one.send(b"delete %d\r\n" % job)  # what the node sends for it comes to the database when another one has the job
        self.assertEqual(self.expect_reserved(two, b"a"), job)
        line.mend()
        until = time.monotonic() + beanstalk_client.PATIENCE
        while (answer := one.answer()) == b"INTERNAL_ERROR\r\n":  # the node had given it up
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
            one.send(b"delete %d\r\n" % job)
        self.assertEqual(answer, b"NOT_FOUND\r\n")
        self.assertEqual(two.ask(b"peek %d\r\n" % job), b"FOUND %d 1\r\na\r\n" % job)
        self.assertEqual(two.ask(b"delete %d\r\n" % job), b"DELETED\r\n")


class NodesBehindCutLines(NodesBehindLines):
    def test_lines_to_the_database_are_cut_at_random(self):
        """What a node has sent comes late, when it has long connected again; also a commit that it has asked about."""
        print(f"FOLIOT_NODES_SEED={SEED} FOLIOT_NODES_ROUNDS={ROUNDS}")
        draw = random.Random(SEED)
        work = Workload(draw, clients=2)
        lines = {f"n{number}": self.line() for number in range(NODES)}
        for name, line in lines.items():
            self.start_behind([line], name)
        work.await_answers(self.nodes["n0"])
        for _ in range(ROUNDS):
            for name, line in lines.items():
                if line.whole.is_set():
                    work.start(self.nodes[name])
            time.sleep(draw.random() * 0.7)
            name = draw.choice(list(lines))
            if lines[name].whole.is_set():
                self.note_fault(work, "silent", name)
                lines[name].cut()
            else:
                self.note_fault(work, "heard", name)
                lines[name].mend()
            time.sleep(draw.choice([0, 0, 1, 4]) * draw.random())
        for line in lines.values():
            line.mend()
        self.judge(work, SEED)


class NodesUnderLoad(NodesCase):
    def setUp(self):
        super().setUp()
        self.idle = []
        self.addCleanup(lambda: [each.close() for each in self.idle])

    def start_node(self, name, *more):
        """The clients of the node `n1` belong to both of its sessions, in turn."""
        server = super().start_node(name, *more)
        if name == "n1":
            for each in self.idle:
                each.close()
            self.idle = [server.connect() for _ in range(CONNECTIONS_OF_FIRST_SESSION - 1)]
            for each in self.idle:
                self.assertEqual(each.ask(b"list-tube-used\r\n"), b"USING default\r\n")
        return server

    def test_the_database_crashes_and_starts_again(self):
        print(f"FOLIOT_NODES_SEED={SEED}")
        draw = random.Random(SEED)
        work = Workload(draw, clients=3)
        servers = self.start_all()
        for _ in range(3):
            for server in servers:
                work.start(server)
            work.await_answers(servers[0])
            time.sleep(draw.random())  # any moment
            work.history.begin(0, "disturbed")
            self.database.restart(draw.choice([0, 0.5]))
            time.sleep(draw.random())
        self.judge(work, SEED)

    def test_nodes_and_the_database_fail_at_random(self):
        print(f"FOLIOT_NODES_SEED={SEED} FOLIOT_NODES_ROUNDS={ROUNDS}")
        draw = random.Random(SEED)
        work = Workload(draw, clients=2)
        work.await_answers(self.start_all()[0])
        stopped = set()
        for _ in range(ROUNDS):
            for name, server in self.nodes.items():
                if name not in stopped:
                    work.start(server)
            time.sleep(draw.random() * 0.7)
            name = f"n{draw.randrange(NODES)}"
            what = draw.choice(["kill", "stop", "continue", "continue", "stop database", "kill database", "hang database"])
            if what == "kill":
                self.note_fault(work, "disturbed", name)
                self.kill_node(name)
                stopped.discard(name)
                time.sleep(draw.random() * 2)
                self.start_node(name)
            elif what == "stop":
                self.note_fault(work, "silent", name)
                self.nodes[name].process.send_signal(signal.SIGSTOP)
                stopped.add(name)
            elif what == "continue" and stopped:
                name = draw.choice(sorted(stopped))
                self.note_fault(work, "heard", name)
                self.nodes[name].process.send_signal(signal.SIGCONT)
                stopped.discard(name)
            elif what in ("stop database", "kill database"):
                work.history.begin(0, "disturbed")
                fail = self.database.kill if what == "kill database" else self.database.stop_at_once
                fail()
                time.sleep(draw.choice([0, 0.5]))
                self.database.start()
            elif what == "hang database":
                work.history.begin(0, "disturbed")
                self.database.hang()
                time.sleep(draw.choice([0.5, 8]) * draw.random())  # some are longer than a node waits for an answer
                self.database.go_on()
        self.judge(work, SEED)


if __name__ == "__main__":
    main()
