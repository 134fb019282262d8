"""Three servers over a database with a synchronous standby, in a network that is divided: the primary works on, and one
server with its clients still reaches it, while its standby takes its place for the two other servers."""
import concurrent.futures
import time
import unittest

from failover_test import StandbyCase
from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from nodes_test import NODES, NodesBehindLines
from workload import Workload

CHANGES = ("INSERTED", "RESERVED", "DELETED", "RELEASED", "BURIED", "CANCELLED", "RESCHEDULED", "FIRED")


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Partition(NodesBehindLines, StandbyCase):
    def add_standby(self):
        self.replication = self.line()
        self.database.add_standby(self.replication.port)

    def wait_for_waiting_commit(self):
        """Until a commit at the old primary waits for the standby: it works, and a node reaches it."""
        until = time.monotonic() + beanstalk_client.PATIENCE
        ask = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'foliot' AND wait_event = 'SyncRep'"
        while self.database.sql(self.database.folder, ask) == "0":
            self.assertLess(time.monotonic(), until, "no commit waits for the standby")
            time.sleep(0.05)

    def test_the_primary_works_on_without_its_standby(self):
        self.in_each_round(self.do_round)

    def do_round(self, draw, seed):
        lines = {f"n{number}": [self.line(), self.line(to=self.database.standby)] for number in range(NODES)}
        alone, *others = [self.start_behind(both, name) for name, both in lines.items()]
        work = Workload(draw, clients=2)
        for server in (alone, *others):
            work.start(server)
        work.await_answers(alone)
        time.sleep(draw.random())  # any moment
        cut = [self.replication, lines["n0"][1], lines["n1"][0], lines["n2"][0]]
        draw.shuffle(cut)
        work.history.begin(0, "disturbed")
        self.note_fault(work, "silent", "n0")
        for line in cut:
            line.cut()
        began = time.monotonic()
        work.start(alone)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            put = pool.submit(self.put_until_acknowledged, work, alone)
            try:
                self.wait_for_waiting_commit()
                self.database.promote_standby()
                for server in others:
                    self.put_until_acknowledged(work, server)
                    work.start(server)
                time.sleep(draw.choice([0.5, 8]) * draw.random())  # some are longer than a node waits for an answer
                self.expect_no_change_at(alone, work, began)
                self.note_fault(work, "heard", "n0")
            finally:
                for line in cut:
                    line.mend()
            put.result()
        print(f"the server that was alone works {time.monotonic() - began:.2f} s after the cut")
        self.stay_at_promoted(work, (alone, *others))
        for server in (alone, *others):
            work.start(server)
        time.sleep(draw.random())
        self.database.stop_at_once()
        self.judge(work, seed)  # finds in the new primary all that was acknowledged

    def expect_no_change_at(self, server, work, began):
        """No request that came to the server since then is acknowledged: its commit waits for the standby."""
        now = time.monotonic()
        events = [event for event in list(work.history.events) if event.node == server.address and event.begin > began]
        self.assertTrue(any(event.kind == "put" for event in events), "clients have asked the server")
        self.assertEqual([event for event in events if event.answer in CHANGES and event.end < now], [])

    def test_what_the_primary_does_not_know_is_not_told(self):
        self.node_timeout = 3600  # no node writes by itself, so none is refused because of an earlier commit that waits
        self.add_standby()
        lines = {name: [self.line(), self.line(to=self.database.standby)] for name in ("alone", "other")}
        alone, other = [self.start_behind(both, name) for name, both in lines.items()]
        ended = self.put_job(self.connect(other))
        for line in (self.replication, lines["alone"][1], lines["other"][0]):
            line.cut()
        self.database.promote_standby()
        connection = self.connect_to_promoted(other)
        self.assertEqual(connection.ask(b"delete %d\r\n" % ended), b"DELETED\r\n")
        made = self.put_job(connection)
        asks = [command % ended for command in (b"peek %d", b"stats-job %d", b"x-stats-job %d")]
        asks += [command % made for command in (b"peek %d", b"stats-job %d", b"delete %d", b"kick-job %d", b"x-cancel %d",
                                                b"x-fire %d", b"x-reschedule %d 0", b"reserve-job %d")]
        asks += [b"peek-ready", b"stats-tube default", b"list-tubes"]
        asked = [(ask, self.connect(alone)) for ask in asks]
        for ask, client in asked:
            client.send(ask + b"\r\n")
        for ask, client in asked:
            self.assertEqual(client.answer(), b"INTERNAL_ERROR\r\n", ask)

    def put_job(self, connection):
        reply = connection.ask(b"put 0 0 60 1\r\nx\r\n")
        self.assertRegex(reply, rb"\AINSERTED \d+\r\n\Z")
        return int(reply.split()[1])

    def connect_to_promoted(self, server):
        """A connection to a node that has found the new primary."""
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            connection = self.connect(server)
            if connection.ask(b"peek-buried\r\n") == b"NOT_FOUND\r\n":
                return connection
            self.assertLess(time.monotonic(), until, "the node does not find the new primary")


if __name__ == "__main__":
    main()
