"""A source with switches does what the source does, and with a switch on what its mutant does."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from mutations import mutations_of, switched, switched_edits

HEADER = Path(__file__).resolve().parent / "switches.hpp"
COMPILER = os.environ.get("CXX", "c++")
SOURCE = """#include <cstdio>
int f(int a, int b) {
  int sum = 0;
  sum = 1;
  if (a < b && b >= 3) {
    sum = 2;
  }
  while (a != b) {
    ++a;
  }
  if (a > b || a <= 0) return 7;
  std::printf("%d ", a == b);
  return sum;
}
constexpr int g(int a) {
  if (a > 1) return 2;
  return 3;
}
static_assert(g(1) == 3);
int main() {
  std::printf("%d %d %d", f(1, 3), f(1, 2), g(2));
}
"""


class Switches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = Path(folder.name)

    def compiled(self, source, name):
        (self.here / f"{name}.cpp").write_text(source)
        subprocess.run([COMPILER, "-std=c++23", "-w", self.here / f"{name}.cpp", "-o", self.here / name], check=True)
        return self.here / name

    def printed(self, program, number=None):
        variables = {**os.environ} if number is None else {**os.environ, "FOLIOT_MUTANT": str(number)}
        try:
            return subprocess.run([program], capture_output=True, text=True, check=False, env=variables, timeout=10).stdout
        except subprocess.TimeoutExpired:
            return "never ends"

    def test_each_switch_does_what_its_mutant_does(self):
        numbered = [each for each in enumerate(mutations_of(SOURCE)) if switched_edits(SOURCE, *each)]
        self.assertGreater(len(numbered), 12)
        program = self.compiled(switched(SOURCE, numbered, HEADER), "switched")
        self.assertEqual(self.printed(program), self.printed(self.compiled(SOURCE, "source")))
        # One of each kind, since a compilation takes a fifth of a second.
        kinds = {(each.kind, SOURCE[each.begin:each.end] if each.kind == "operator" else ""): (number, each)
                 for number, each in numbered if each.line < 15}  # behind that is a constant expression
        for number, each in kinds.values():
            with self.subTest(change=each.key):
                self.assertEqual(self.printed(program, number), self.printed(self.compiled(each.applied(SOURCE), "mutant")))


if __name__ == "__main__":
    unittest.main()
