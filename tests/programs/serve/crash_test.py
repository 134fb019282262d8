"""The server is killed at random moments under load, over beanstalk and HTTP, and started again on the same folder: what
it has acknowledged is there, what was finished is not, nothing comes early, nothing is held by two."""
import os
import random
import shutil
import tempfile
import time
import unittest
from pathlib import Path

from history import check, priorities_of
from kit import beanstalk_client
from kit.program_case import main
from workload import Workload, drain

SANITIZED = os.environ.get("FOLIOT_SANITIZED") == "1"
ROUNDS = int(os.environ.get("FOLIOT_CRASH_ROUNDS", "15" if SANITIZED else "100"))
SEED = int(os.environ.get("FOLIOT_CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)


class Crash(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        beanstalk_client.need_space(self, folder)
        self.folder = Path(folder) / "jobs"

    def start(self):
        return beanstalk_client.foliot("--data", self.folder, http=self.folder.parent / "http")

    def round(self, draw, work, until=lambda server: None):
        """Clients at work; the server is killed in the middle of it."""
        server = self.start()
        try:
            work.start(server)
            time.sleep(draw.random() * draw.choice([0.05, 0.3]))  # any moment: nothing relies on how much was done by then
            until(server)
        finally:
            server.kill()
        work.server_has_ended()

    def test_killed_at_random_moments(self):
        print(f"FOLIOT_CRASH_SEED={SEED} FOLIOT_CRASH_ROUNDS={ROUNDS}")
        draw = random.Random(SEED)
        work = Workload(draw)
        for _ in range(ROUNDS):
            self.round(draw, work)
        # On a slow machine the server may not have answered anything so far, above all not over HTTP.
        self.round(draw, work, until=work.await_answers)
        server = self.start()
        left = drain(server)
        self.assertEqual(server.stop(), (0, ""))
        events = work.history.events
        self.assertEqual(check(events, left, list(left), priorities_of(events)), [])
        done = sum(event.answer is not None for event in events)
        print(f"{len(events)} requests, {done} answered, {len(left)} jobs at the end")


if __name__ == "__main__":
    main()
