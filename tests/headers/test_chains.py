"""Canaries for chains.py: no header stands behind one that it would not see when it is compiled alone."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "chains.py"
CODE = "\nint a;\n"


def including(*names):
    return "#pragma once\n" + "".join(f"#include <foliot/{name}.hpp>\n" for name in names)


class Chains(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = Path(folder.name)

    def run_script(self, headers, *more, alone=None, sources=()):
        (self.here / "include/foliot").mkdir(parents=True, exist_ok=True)
        (self.here / "src").mkdir(exist_ok=True)
        for number, text in enumerate(sources):
            (self.here / f"src/{number}.cpp").write_text(text)
        for name, text in headers.items():
            (self.here / f"include/foliot/{name}.hpp").write_text(text)
        return subprocess.run([sys.executable, "-B", SCRIPT, "--include", self.here / "include", "--sources", self.here / "src",
                               "--into", self.here / "units", *more, *(f"foliot/{name}.hpp" for name in alone or headers)],
                              text=True, capture_output=True, check=False)

    def chains(self, headers, **more):
        """The headers of each unit."""
        done = self.run_script(headers, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        made = []
        for path in done.stdout.split():
            lines = Path(path).read_text().splitlines()
            self.assertEqual(lines[::2], lines[1::2], "each stands there twice")
            made.append([line.removeprefix("#include <foliot/").removesuffix(".hpp>") for line in lines[::2]])
        return sorted(made)

    def test_a_header_stands_behind_one_that_it_includes(self):
        self.assertEqual(self.chains({"a": CODE, "b": including("a") + CODE, "c": including("b") + CODE}), [["a", "b", "c"]])

    def test_each_header_is_in_one_unit_and_there_are_few(self):
        found = self.chains({"a": CODE, "b": including("a"), "c": including("a"), "d": including("b", "c"), "e": including("d")})
        self.assertEqual(sorted(name for chain in found for name in chain), ["a", "b", "c", "d", "e"])
        self.assertEqual(len(found), 2)

    def test_what_is_not_certainly_there_is_not_in_front(self):
        for text in ["", "#if defined(B)\n#include <foliot/a.hpp>\n#endif\n", CODE + "#include <foliot/a.hpp>\n",
                     "// #include <foliot/a.hpp>\n", "#include <vector>\n"]:
            self.assertEqual(self.chains({"a": CODE, "b": text + CODE}), [["a"], ["b"]], text)

    def test_a_header_that_need_not_compile_alone_is_in_between(self):
        headers = {"a": CODE, "part": CODE, "b": including("part", "a"), "c": including("a", "part")}
        self.assertEqual(self.chains(headers, alone=["a", "b"]), [["a"], ["b"]])
        self.assertEqual(self.chains(headers, alone=["a", "c"]), [["a", "c"]])

    def test_a_header_that_a_source_includes_first_has_no_unit(self):
        headers = {"a": CODE, "b": including("a") + CODE, "c": including("b") + CODE}
        self.assertEqual(self.chains(headers, sources=["// A comment.\n#include <foliot/b.hpp>\n"]), [["a", "c"]])

    def test_a_source_that_includes_something_else_first_shows_nothing(self):
        for text in ["#include <vector>\n#include <foliot/a.hpp>\n", "#if 1\n#include <foliot/a.hpp>\n#endif\n",
                     "int a;\n#include <foliot/a.hpp>\n", "// #include <foliot/a.hpp>\n", ""]:
            self.assertEqual(self.chains({"a": CODE}, sources=[text]), [["a"]], text)

    def test_changed_includes_are_found(self):
        headers = {"a": CODE, "b": including("a")}
        self.chains(headers)
        self.assertEqual(self.run_script(headers, "--check").returncode, 0)
        done = self.run_script(headers | {"b": CODE}, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("configure again", done.stderr)


if __name__ == "__main__":
    unittest.main()
