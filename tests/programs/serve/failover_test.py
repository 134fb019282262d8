"""Three servers over a database with a synchronous standby: the primary dies or is cut off under load, and the standby
takes its place."""
import os
import random
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts" / "lib"))
import postgresql_server
from nodes_test import NodesCase
from program_case import main
from workload import LOST, Client, Workload

SEED = int(os.environ.get("FOLIOT_FAILOVER_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Failover(NodesCase):
    def setUp(self):
        super().setUp()
        self.database.add_standby()

    def put_until_acknowledged(self, work, server):
        client = Client(1000, server.address, work.history, 0)
        client.connection = self.connect(server)
        while True:
            try:
                client.put()
            except LOST:  # in doubt
                client.connection = self.connect(server)
            if work.history.events_of(1000)[-1].answer == "INSERTED":
                return

    def work_through(self, fail):
        """Clients work at all nodes before, while and after `fail` takes the primary away and the standby is promoted."""
        print(f"FOLIOT_FAILOVER_SEED={SEED}")
        draw = random.Random(SEED)
        work = Workload(draw, clients=2)
        servers = self.start_all()
        for server in servers:
            work.start(server.address)
        time.sleep(draw.random())  # any moment
        work.history.begin(0, "disturbed")
        began = time.monotonic()
        fail()
        time.sleep(draw.choice([0, 0.5]))
        self.database.promote_standby()
        self.put_until_acknowledged(work, servers[0])
        print(f"no job moved for {time.monotonic() - began:.2f} s")
        for server in servers:
            work.start(server.address)
        time.sleep(draw.random())
        return servers, work

    def test_the_primary_crashes(self):
        _, work = self.work_through(self.database.stop_at_once)
        self.judge(work, SEED)

    def test_the_primary_is_cut_off_and_comes_back(self):
        servers, work = self.work_through(self.database.hang)
        # The old primary answers again, and believes that it is one. No node may go back to it.
        self.database.go_on()
        for _ in range(3):  # the nodes try the hosts in turn
            self.database.sql(self.database.standby, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                              "WHERE application_name = 'foliot'")
            for server in servers:
                self.put_until_acknowledged(work, server)
        self.database.stop_at_once()
        self.judge(work, SEED)  # finds in the new primary all that was acknowledged


if __name__ == "__main__":
    main()
