"""Canaries for check_excerpts.py: excerpts that it must refuse, and excerpts that it must accept."""
import tempfile
import unittest
from pathlib import Path

from check_excerpts import breaches

PROGRAM = "int one() {\n  return 1;\n}\n\nint main() {\n  one();\n  return 0;\n}\n"


class Excerpts(unittest.TestCase):
    def found(self, excerpt, file="a.cpp"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "a.cpp").write_text(PROGRAM)
            page = root / "page.md"
            page.write_text(f"# Page\n\n```cpp from {file}\n{excerpt}```\n")
            return [breach.removeprefix(f"{page}:") for breach in breaches(page, root)]

    def test_accepts_lines_of_the_program(self):
        for excerpt in ["int one() {\n  return 1;\n}\n", "return 1;\n", "one();\nreturn 0;\n",
                        "int one() {\n  // …\n}\n", "return 1;\n// …\nint main() {\n"]:
            self.assertEqual(self.found(excerpt), [], excerpt)

    def test_refuses_other_lines(self):
        for excerpt, begin in [("return 2;\n", "return 2;"), ("int one() {\n}\n", "int one() {"),
                               ("  one();\nreturn 0;\n", "one();"), ("int main() {\n// …\nreturn 1;\n", "return 1;"),
                               ("int one() {\n// …\n", "// …")]:
            self.assertEqual(self.found(excerpt), [f"3: a.cpp does not have the part that begins with: {begin}"])

    def test_refuses_a_file_that_is_not_there(self):
        self.assertEqual(self.found("int one() {\n", "b.cpp"), ["3: no file b.cpp"])


if __name__ == "__main__":
    unittest.main()
