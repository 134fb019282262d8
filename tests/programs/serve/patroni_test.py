"""Three servers over a database under Patroni: the primary is lost, hangs or is switched under load, and Patroni makes its
synchronous standby the primary. Nobody else does anything."""
import contextlib
import itertools
import os
import random
import threading
import time
import unittest

from failover_test import SEED, FailoverCase
from kit.program_case import main
from patroni_cluster import Member
import patroni_cluster

ROUNDS = int(os.environ.get("FOLIOT_PATRONI_ROUNDS", "1"))
CLIENTS = 2


@contextlib.contextmanager
def busy(work, servers):
    """Clients work at one server after the other: new ones begin when few are left."""
    has_ended = threading.Event()

    def start_clients():
        for server in itertools.cycle(servers):
            if has_ended.wait(0.1):
                return
            if sum(client.is_alive() for client in work.clients) < CLIENTS:
                work.start(server)

    starter = threading.Thread(target=start_clients)
    starter.start()
    try:
        yield
    finally:
        has_ended.set()
        starter.join()


@unittest.skipUnless(patroni_cluster.is_installed(), "Patroni, its etcd or PostgreSQL's server is not installed (Debian: "
                     "patroni, python3-etcd, etcd-server, postgresql)")
class Patroni(FailoverCase):
    rounds = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = patroni_cluster.PatroniCluster()
        cls.addClassCleanup(cls.cluster.remove)

    def make_database(self):
        self.addCleanup(self.cluster.start_all)  # each round makes a database of its own

    def start_node(self, name, *more):
        try:
            return super().start_node(name, *more)
        except RuntimeError:  # without a primary a node ends: on a machine that stood still, the members have changed roles
            self.cluster.primary_and_standby()
            return super().start_node(name, *more)

    def timeline(self):
        """A number that each promotion makes larger."""
        ask = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
        return self.cluster.wait_for("a timeline", lambda: self.cluster.primary_and_standby()[0].sql(ask))

    def in_each_round(self, replace_primary, bring_back):
        """Does one fault after the other, each in a database of its own, and looks at what all clients saw."""
        for number in range(ROUNDS):
            Patroni.rounds += 1
            self.database = self.cluster.create(f"jobs{Patroni.rounds}")
            self.expect_done("serve", "--store", self.database.database, "--migrate")
            timeline = self.timeline()
            print(f"FOLIOT_FAILOVER_SEED={SEED + number}", flush=True)
            try:
                servers, work = self.work_through(random.Random(SEED + number), replace_primary)
                bring_back(work, servers)
                self.assertGreater(self.timeline(), timeline, "another server was promoted")
                self.judge(work, SEED + number)
            except Exception:
                self.cluster.print_logs()
                raise
            self.end_all()
            self.nodes = {}

    def fail_primary(self, work, servers, fault):
        """Does this to the primary while clients work, and returns when its standby has been promoted."""
        with busy(work, servers):
            while True:
                self.failed, standby = self.cluster.primary_and_standby()
                fault(self.failed)
                if standby.roles().get(standby.name) in ("sync_standby", "leader"):
                    break
                # The primary has just gone on alone, so that nothing can take its place.
                self.failed.start_again()
            self.cluster.wait_for("a new primary", standby.is_primary)

    def bring_back(self, work, servers):
        """Clients work before, while and after the old primary comes back."""
        with busy(work, servers):
            self.failed.start_again()
            time.sleep(0.5)
        self.cluster.primary_and_standby()
        for server in servers:
            work.start(server)

    def test_the_primary_is_lost_and_comes_back(self):
        self.in_each_round(lambda work, servers: self.fail_primary(work, servers, Member.kill), self.bring_back)

    def test_the_primary_hangs_and_comes_back(self):
        def bring_back(work, servers):
            # The old primary answers again, and believes that it is one. No node may go back to it.
            self.failed.start_again()
            for _ in range(3):  # the nodes try the hosts in turn
                for member in self.cluster.members:
                    member.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'foliot'")
                for server in servers:
                    self.put_until_acknowledged(work, server)
            self.bring_back(work, servers)

        self.in_each_round(lambda work, servers: self.fail_primary(work, servers, Member.hang), bring_back)

    def test_a_switchover(self):
        def switch_over(work, servers):
            self.failed, standby = self.cluster.primary_and_standby()
            roles = {"leader": self.failed.name, "candidate": standby.name}
            with busy(work, servers):
                # Patroni refuses it while the standby is not synchronous.
                self.cluster.wait_for("a switchover", lambda: self.failed.ask("POST", "/switchover", roles)[0] == 200
                                      or standby.is_primary())

        self.in_each_round(switch_over, self.bring_back)


if __name__ == "__main__":
    main()
