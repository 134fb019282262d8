"""bench/scrapes.py, whose figures are on the pages docs/serve/metrics.md and page.md."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

from kit.program_case import FOLIOT, main

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300
FIGURE = r" +median +([\d.]+) ms  greatest +([\d.]+) ms  first +([\d.]+) ms"


class Scrapes(unittest.TestCase):
    def test_what_it_prints(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "bench" / "scrapes.py", "--program", FOLIOT, "--memory", "--tubes", "70",
                               "--jobs", "500", "--scrapes", "3", "--rest", "1"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("500 jobs in 70 tubes", done.stderr)
        *looks, nobody, page = done.stdout.splitlines()
        begins = ["a scrape, without RocksDB's threads", "a scrape, with them", "a look of the page, without them",
                  "a look of the page, with them"]
        for line, begin in zip(looks, begins, strict=True):
            figures = re.fullmatch(re.escape(begin) + FIGURE, line)
            self.assertIsNotNone(figures, line)
            median, greatest, first = map(float, figures.groups())
            self.assertTrue(0 <= median <= greatest >= first >= 0, line)
        self.assertRegex(nobody, r"\Anobody asks: \d+\.\d+ % of a core without RocksDB's threads, for 1 s\Z")
        self.assertGreater(int(re.fullmatch(r"a scrape has at most (\d+) bytes", page)[1]), 5000)


if __name__ == "__main__":
    main()
