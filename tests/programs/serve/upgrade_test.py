"""Nodes of two versions over one database: an upgrade under load, and what is refused."""
import os
import random
import subprocess
import time
import unittest

from kit import beanstalk_client, postgresql_server
from kit.program_case import main
from kit.serve_case import put
from nodes_test import NODES, NodesCase
from workload import Workload

SEED = int(os.environ.get("FOLIOT_UPGRADE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
NEXT = os.environ.get("FOLIOT_NEXT", "")
ADMITS_NONE = {"FOLIOT_NEXT_ADMITS_NONE": "1"}


class UpgradeCase(NodesCase):
    seed_variable = "FOLIOT_UPGRADE_SEED"

    def setUp(self):
        if not NEXT:
            self.skipTest("this build has no program of another version")
        super().setUp()

    def migrate(self, **environment):
        """The next version migrates. Returns its exit code and what it says."""
        done = subprocess.run([NEXT, "serve", "--store", self.database.database, "--migrate"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | environment,
                              timeout=beanstalk_client.PATIENCE)
        return done.returncode, done.stdout

    def start_next(self, name):
        self.nodes[name] = beanstalk_client.Server(
            lambda port: [NEXT, "serve", "--quiet", "--beanstalk", f"127.0.0.1:{port}", "--store", self.database.database,
                          "--node", name, "--node-timeout", f"{self.node_timeout}s"])
        return self.nodes[name]

    def refusal(self, *command):
        done = subprocess.run([*command, "--store", self.database.database], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=beanstalk_client.PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class MixedVersions(UpgradeCase):
    def test_nodes_are_upgraded_one_by_one_under_load(self):
        print(f"FOLIOT_UPGRADE_SEED={SEED}")
        draw = random.Random(SEED)
        work = Workload(draw, clients=2)
        servers = self.start_all()
        for server in servers:
            work.start(server)
        work.await_answers(servers[0])
        time.sleep(draw.random() * 0.5)  # any moment
        work.history.begin(0, "disturbed")
        code, said = self.migrate()
        self.assertEqual(code, 0, said)
        self.assertIn("from version 7 to 8", said)
        for number in range(NODES):
            self.start_clients(work)
            time.sleep(draw.random() * 0.5)
            name = f"n{number}"
            self.note_fault(work, "disturbed", name)
            code, log = self.nodes[name].stop()
            self.assertEqual(code, 0, f"{name} goes on over the newer schema: {log}")
            self.start_next(name)
        self.start_clients(work)
        time.sleep(draw.random() * 0.5)
        self.judge(work, SEED)  # by nodes of the old version

    def start_clients(self, work):
        for server in self.nodes.values():
            work.start(server)


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Refused(UpgradeCase):
    def test_a_newer_program_asks_for_a_migration(self):
        self.assertIn("has version 7, and this program needs version 8: bring it up to date",
                      self.refusal(NEXT, "serve", "--beanstalk", "off", "--node", "n2"))

    def test_an_older_program_does_not_migrate_back(self):
        self.assertEqual(self.migrate()[0], 0)
        self.assertIn("has version 8, which is newer than this program's 7: use a newer program",
                      self.refusal(beanstalk_client.FOLIOT, "serve", "--migrate"))

    def test_a_node_that_is_not_admitted_any_more_ends(self):
        old = self.start_node("n0")
        connection = self.connect(old)
        connection.ask(put(b"a"))
        self.expect_reserved(connection, b"a")
        self.assertEqual(self.migrate(**ADMITS_NONE)[0], 0)
        old.process.wait(beanstalk_client.PATIENCE)
        self.assertNotEqual(old.process.returncode, 0)
        sentence = "has version 8, which is for programs of version 8 or later, and this one has version 7"
        self.assertIn(sentence, old.process.stderr.read().decode())
        self.assertIn(sentence, self.refusal(beanstalk_client.FOLIOT, "serve", "--beanstalk", "off", "--node", "n2"))
        job = self.expect_reserved(self.connect(self.start_next("n1")), b"a")
        self.assertGreater(job, 0)

    def test_a_migration_does_not_wait_for_long_transactions(self):
        connection = self.connect(self.start_node("n0"))
        application = subprocess.Popen(["psql", "-qXAt", "-d", self.database.database], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.addCleanup(application.stdout.close)
        application.stdin.write("BEGIN;\nSELECT foliot.put('mails', 'hello');\n")
        application.stdin.flush()
        self.assertTrue(application.stdout.readline())
        code, said = self.migrate()
        self.assertNotEqual(code, 0)
        self.assertIn("nothing has changed. End the transactions", said)
        self.expect_work(connection)
        application.communicate("COMMIT;\n")
        self.assertEqual(self.migrate()[0], 0)
        self.expect_work(connection)


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
