"""Three servers over a database with a synchronous standby: the primary crashes or hangs under load, and the standby takes
its place; or the standby is lost."""
import itertools
import os
import random
import time
import unittest

from kit import postgresql_server
from kit.program_case import main
from nodes_test import NodesCase
from workload import LOST, Client, Workload

SEED = int(os.environ.get("FOLIOT_FAILOVER_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
ROUNDS = int(os.environ.get("FOLIOT_FAILOVER_ROUNDS", "1"))
SESSIONS = 2  # of a node
LONGEST_OUTAGE = 300  # seconds: what lasts longer will not end


class Putting(Client):
    """A client of one connection after the other."""

    def put_until_acknowledged(self, connect):
        self.connection = connect()
        until = time.monotonic() + LONGEST_OUTAGE
        while time.monotonic() < until:
            try:
                self.put()
            except LOST:  # in doubt
                self.connection = connect()
            else:
                if self.last.answer == "INSERTED":
                    return
                time.sleep(0.01)  # the processors are for those who change their roles
        raise TimeoutError(f"no put was executed for {LONGEST_OUTAGE} s")

    def ask(self, event, data, **more):
        self.last = super().ask(event, data, **more)
        return self.last


def longest_pause(history, began):
    """The longest time from this instant on, in seconds, in which no client put, got or ended a job."""
    moves = [event.end for event in list(history.events) if event.answer in ("INSERTED", "RESERVED", "DELETED")]
    times = [began, *sorted(end for end in moves if end > began)]
    return max(after - before for before, after in itertools.pairwise(times))


class FailoverCase(NodesCase):
    """Nodes over a database whose primary goes away under load."""
    seed_variable = "FOLIOT_FAILOVER_SEED"

    def put_until_acknowledged(self, work, server):
        work.started += 1
        Putting(work.started, server.address, work.history, 0).put_until_acknowledged(lambda: self.connect(server))

    def work_through(self, draw, replace_primary):
        """Clients work at all nodes before, while and after replace_primary(work, servers) takes the primary away. Then
        another server is the primary, or becomes it."""
        work = Workload(draw, clients=2)
        servers = self.start_all()
        for server in servers:
            work.start(server)
        work.await_answers(servers[0])
        time.sleep(draw.random())  # any moment
        work.history.begin(0, "disturbed")
        began = time.monotonic()
        replace_primary(work, servers)
        self.put_until_acknowledged(work, servers[0])
        print(f"no job moved for {longest_pause(work.history, began):.2f} s")
        for server in servers:
            work.start(server)
        time.sleep(draw.random())
        return servers, work


class StandbyCase(FailoverCase):
    """The same over a primary and its standby, which the test itself promotes."""

    def in_each_round(self, do_round):
        """Calls do_round(draw, seed) with a new database and its standby."""
        for number in range(ROUNDS):
            print(f"FOLIOT_FAILOVER_SEED={SEED + number}", flush=True)
            if number > 0:
                self.end_all()
                self.nodes = {}
                self.database.remove()
                self.make_database()
            self.add_standby()
            do_round(random.Random(SEED + number), SEED + number)

    def add_standby(self):
        self.database.add_standby()

    def stay_at_promoted(self, work, servers):
        """The nodes connect again, and try the hosts in turn, while the old primary works."""
        for _ in range(3):
            self.database.sql(self.database.standby, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                              "WHERE application_name = 'foliot'")
            for server in servers:
                self.put_until_acknowledged(work, server)


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Failover(StandbyCase):
    def work_through_promotion(self, draw, fail):
        def replace_primary(*_):
            fail()
            time.sleep(draw.choice([0, 0.5]))
            self.database.promote_standby()

        return self.work_through(draw, replace_primary)

    def test_the_primary_crashes(self):
        def do_round(draw, seed):
            _, work = self.work_through_promotion(draw, self.database.stop_at_once)
            self.judge(work, seed)

        self.in_each_round(do_round)

    def test_the_primary_hangs_and_comes_back(self):
        def do_round(draw, seed):
            servers, work = self.work_through_promotion(draw, self.database.hang)
            for server in servers:  # each has found the new primary
                self.put_until_acknowledged(work, server)
            # The old primary answers again, believes that it is one, and commits by itself. No node may go back to it.
            self.database.go_on()
            self.database.do_without_standby()
            self.stay_at_promoted(work, servers)
            self.database.stop_at_once()
            self.judge(work, seed)  # finds in the new primary all that was acknowledged

        self.in_each_round(do_round)


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class LostStandby(FailoverCase):
    """No commit is acknowledged without the standby, so all that change something wait for it."""

    def setUp(self):
        super().setUp()
        self.database.add_standby()

    def work_through_loss(self, end_loss):
        def lose_standby(work, servers):
            self.database.stop_standby()
            for server in servers:
                self.expect_errors(work, server)
            # Commits that wait keep connections: one of each session, and one of its question what has become of it.
            waiting = int(self.database.sql(self.database.folder, "SELECT count(*) FROM pg_stat_activity "
                                            "WHERE wait_event = 'SyncRep'"))
            print(f"{waiting} commits wait")
            self.assertLessEqual(waiting, 2 * SESSIONS * len(servers))
            end_loss()

        _, work = self.work_through(random.Random(SEED), lose_standby)
        self.judge(work, SEED)

    def expect_errors(self, work, server):
        """The connection of a put that is in doubt is closed, and the following puts are refused."""
        refused = 0
        until = time.monotonic() + LONGEST_OUTAGE
        while refused < 5:
            self.assertLess(time.monotonic(), until, "puts are not refused")
            work.started += 1
            client = Putting(work.started, server.address, work.history, 0)
            client.connection = self.connect(server)
            try:
                client.put()
            except LOST:
                continue
            self.assertEqual(client.last.answer, "INTERNAL_ERROR")
            refused += 1

    def test_the_standby_is_lost_and_comes_back(self):
        self.work_through_loss(self.database.start_standby)

    def test_the_standby_is_lost_and_the_primary_goes_on_alone(self):
        self.work_through_loss(self.database.do_without_standby)


if __name__ == "__main__":
    main()
