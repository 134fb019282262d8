"""bench/sizes.py, whose figures are on the page docs/serve/sizing.md, prints each of them."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

from kit.program_case import FOLIOT, main

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300


class Sizes(unittest.TestCase):
    def test_each_figure_is_printed_and_on_the_page(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "bench" / "sizes.py", "--program", FOLIOT, "--jobs", "2000",
                               "--connections", "20"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = re.findall(r"^ *-?[\d,]+ bytes  (.+)$", done.stdout, re.M)
        self.assertEqual(len(figures), 7, done.stdout)
        page = (ROOT / "docs" / "serve" / "sizing.md").read_text(encoding="utf-8")
        for each in figures:
            self.assertIn(f"bytes  {each.replace('2000', '200000')}\n", page)


if __name__ == "__main__":
    main()
