"""examples/database_workers.cpp: processes send all mails over one database, also when one of them is killed."""
import argparse
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from kit import postgresql_server
from kit.program_case import main

ROOT = Path(__file__).resolve().parents[2]
COUNT = 200
HOPELESS = COUNT // 20
PATIENCE = 120  # seconds


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class DatabaseWorkers(unittest.TestCase):
    def setUp(self):
        self.server = postgresql_server.PostgresqlServer()
        self.addCleanup(self.server.remove)

    def sql(self, statement):
        return self.server.sql(self.server.folder, statement)

    def put(self):
        subprocess.run([PROGRAM, self.server.database, "put", str(COUNT)], check=True, timeout=PATIENCE)
        self.assertEqual(int(self.sql("SELECT count(*) FROM foliot.job")), COUNT)

    def start_worker(self):
        started = subprocess.Popen([PROGRAM, self.server.database, "work"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(started.stdout.close)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started

    def test_all_are_sent_and_the_hopeless_are_buried(self):
        self.put()
        self.put()  # again, as after an answer that was lost: nothing is doubled
        killed = self.start_worker()
        lines = [killed.stdout.readline().strip() for _ in range(20)]
        killed.kill()
        lines += killed.stdout.read().splitlines()  # communicate() would miss what is in its buffer
        other = self.start_worker()
        self.sql(f"""DO $$ BEGIN
            WHILE (SELECT count(*) FROM foliot.job) > {HOPELESS} OR (SELECT count(*) FROM foliot.buried) < {HOPELESS} LOOP
              PERFORM pg_sleep(0.01);
              COMMIT;
            END LOOP; END $$""")
        other.send_signal(signal.SIGTERM)
        lines += other.communicate(timeout=PATIENCE)[0].splitlines()
        self.assertEqual(other.returncode, 0)
        self.assertEqual(set(lines), {f"sent mail {i}" for i in range(1, COUNT + 1) if i % 20 != 0})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    given, sys.argv[1:] = parser.parse_known_args()
    PROGRAM = given.program
    main()
