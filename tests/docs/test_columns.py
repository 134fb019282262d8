"""The code of the pages that are read first fits into 88 columns, so that nothing scrolls sideways."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = ["README.md", "docs/first-timer.md", "docs/cookbook.md", "docs/adapters.md", "docs/runtime/README.md"]
MOST_COLUMNS = 88


def wide_lines(text):
    blocks = re.findall(r"^```.*?\n(.*?)^```$", text, re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if len(line) > MOST_COLUMNS]


class Columns(unittest.TestCase):
    def test_of_the_first_pages(self):
        for page in FIRST:
            self.assertEqual(wide_lines((ROOT / page).read_text(encoding="utf-8")), [], page)

    def test_a_wide_line_is_found_in_code_alone(self):
        text = f"{'t' * 89}\n```cpp\n{'a' * 88}\n{'b' * 89}\n```\n{'c' * 89}\n"
        self.assertEqual(wide_lines(text), ["b" * 89])


if __name__ == "__main__":
    unittest.main()
