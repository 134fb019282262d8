"""bench/lasting_jobs.py says what has not stayed level, and it and bench/drain_backlog.py run; no speed is measured."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from harness import rate_of
from kit import postgresql_server
from kit.program_case import main
from lasting_jobs import not_level

BENCH = Path(__file__).resolve().parents[3] / "bench"


def samples(rates=(800,), opens=(100,), megabytes=(20,)):
    count = max(map(len, (rates, opens, megabytes)))
    return [{"rate": rates[i % len(rates)], "open": opens[i % len(opens)], "megabytes": megabytes[i % len(megabytes)]}
            for i in range(max(count, 6))]


class LastingJobs(unittest.TestCase):
    def test_what_swings_is_level(self):
        self.assertEqual(not_level(samples(rates=(790, 810), opens=(80, 300), megabytes=(15, 31))), [])
        self.assertEqual(not_level(samples()[:2]), [])  # too few to tell

    def test_what_grows_is_not(self):
        self.assertEqual(not_level(samples(rates=(800, 800, 790, 780, 700, 690))),
                         ["the rate has fallen from 800 to 695 jobs/s"])
        self.assertEqual(not_level(samples(opens=(100, 100, 200, 300, 400, 500))),
                         ["the jobs that are not finished have grown from 100 to 450"])
        self.assertEqual(not_level(samples(megabytes=(20, 20, 30, 40, 50, 60))),
                         ["the database has grown from 20 to 60 MB"])

    def test_a_span_without_seconds_has_a_rate(self):
        self.assertEqual((rate_of(0, 0.0), rate_of(5, 0.5)), (0, 10))

    def run_bench(self, *arguments):
        if not postgresql_server.is_installed():
            self.skipTest("PostgreSQL's server is not installed (Debian: postgresql)")
        script, *options = arguments
        done = subprocess.run([sys.executable, BENCH / script, "--program", os.environ["FOLIOT"], *options], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_a_load_lasts_for_a_moment(self):
        said = self.run_bench("lasting_jobs.py", "--seconds", "2", "--rate", "50", "--delayed", "0.5", "--delay", "1", "--pin")
        self.assertRegex(said, r"\d+ jobs, 0 not finished")

    def test_a_small_backlog_drains(self):
        said = self.run_bench("drain_backlog.py", "--jobs", "200", "--rest", "0", "--workers", "4", "--most", "1000000")
        self.assertEqual(len(re.findall(r"(?m)^ +[\d.]+ s +[\d.]+/s  left 0 ", said)), 2, said)  # the last interval of each
        self.assertRegex(said, "200 jobs: .* beside an open transaction .* times")


if __name__ == "__main__":
    main()
