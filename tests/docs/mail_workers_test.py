"""examples/mail_workers.cpp: all mails are sent, also when the server is killed and started again meanwhile."""
import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kit.program_case import main

COUNT = 200
PATIENCE = 120  # seconds


class MailWorkers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.address = f"unix:{self.folder}/jobs.sock"

    def start(self):
        server = subprocess.Popen(
            [SERVER, "serve", "--quiet", "--data", self.folder / "jobs", "--beanstalk", self.address],
            stdin=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server

    def put(self):
        subprocess.run([PROGRAM, self.address, "put", str(COUNT)], check=True, timeout=PATIENCE)

    def test_all_are_sent_over_two_lives_of_the_server(self):
        first = self.start()
        self.put()
        self.put()  # again: they keep their keys
        worker = subprocess.Popen([PROGRAM, self.address, "work", str(COUNT)], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(worker.stdout.close)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        lines = [worker.stdout.readline().strip() for _ in range(COUNT // 10)]
        first.kill()
        first.wait()
        self.start()
        lines += worker.stdout.read().splitlines()
        self.assertEqual(worker.wait(timeout=PATIENCE), 0)
        self.assertEqual(sorted(lines), sorted(f"sent mail {i}" for i in range(1, COUNT + 1)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--server", required=True)
    given, sys.argv[1:] = parser.parse_known_args()
    PROGRAM = given.program
    SERVER = given.server
    main()
