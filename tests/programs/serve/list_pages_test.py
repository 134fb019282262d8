"""bench/list_pages.py, whose figures are on the page docs/serve/looking.md, measures each of its pages."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

from kit.postgresql_server import is_installed
from kit.program_case import FOLIOT, main

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300


class ListPages(unittest.TestCase):
    def run_with(self, *arguments):
        return subprocess.run([sys.executable, "-B", ROOT / "bench" / "list_pages.py", "--program", FOLIOT, *arguments],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)

    @unittest.skipUnless(is_installed(), "PostgreSQL is not installed (Debian: postgresql)")
    def test_each_page_is_measured_and_in_the_table(self):
        done = self.run_with("--tubes", "30", "--jobs", "2000")
        self.assertEqual(done.returncode, 0, done.stderr)
        head, *lines = done.stdout.splitlines()
        self.assertEqual(head.split(), ["ms", "node", "database", "a", "page", "of"])
        pages = [re.fullmatch(r" *[\d.]+ +[\d.]+ +[\d.]+   (.+)", line)[1] for line in lines]
        self.assertEqual(len(pages), 12)
        shown = (ROOT / "docs" / "serve" / "bench.md").read_text(encoding="utf-8")
        for each in pages:
            self.assertIn(f"| {each} |", shown)

    def test_too_few_jobs_are_refused(self):
        done = self.run_with("--tubes", "30", "--jobs", "50")
        self.assertEqual(done.returncode, 2)
        self.assertIn("2 jobs for each", done.stderr)


if __name__ == "__main__":
    main()
