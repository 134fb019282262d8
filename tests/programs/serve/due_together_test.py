"""bench/due_together.py, whose figures are on the page docs/serve/schedules.md. No speed is measured."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

from kit.program_case import FOLIOT, main

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300


class DueTogether(unittest.TestCase):
    def expect_figures(self, *store):
        done = subprocess.run([sys.executable, "-B", ROOT / "bench" / "due_together.py", "--program", FOLIOT, "--schedules", "300", *store],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("300 schedules, put in ", done.stderr)
        occurrences, commits, before, meanwhile = done.stdout.splitlines()
        parts = re.fullmatch(r"300 occurrences of one second with their workers: 50 % after ([\d.]+) s, 90 % after ([\d.]+) s, "
                             r"99 % after ([\d.]+) s, 100 % after ([\d.]+) s", occurrences)
        self.assertIsNotNone(parts, occurrences)
        self.assertEqual(list(map(float, parts.groups())), sorted(map(float, parts.groups())))
        self.assertRegex(commits, r"\A300 commits, none later than [\d.]+ s\Z")
        self.assertRegex(before, r"\Abeside, before: \d+ jobs, median -?[\d.]+ ms, 99 % [\d.]+ ms, greatest [\d.]+ ms\Z")
        self.assertTrue(meanwhile.startswith("beside, from that second to the last occurrence: "), meanwhile)

    def test_in_memory(self):
        self.expect_figures("--memory")

    def test_in_a_folder(self):
        self.expect_figures()


if __name__ == "__main__":
    main()
