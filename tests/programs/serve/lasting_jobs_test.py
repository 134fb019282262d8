"""bench/lasting_jobs.py says what has not stayed level; no speed is measured."""
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parents[3] / "bench")]
from lasting_jobs import not_level
from program_case import main


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


if __name__ == "__main__":
    main()
