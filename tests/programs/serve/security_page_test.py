"""Each defence on the page docs/serve/security.md names tests that exist, by suite and name; and those of programs are run."""
import ast
import re
import unittest
from pathlib import Path

from kit.program_case import main

PROGRAMS = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).resolve().parents[3] / "docs/serve/security.md"
LINK = re.compile(r"\[`(\w+)(?:\.(\w+))?`\]\(([^)#]+)\)")


def has_test(text, suite, name):
    """Whether the source of tests has this one; without a name, any of the suite."""
    of_suite = rf"^(?:TYPED_)?TEST(?:_F|_P)?\({suite}, {name or ''}" + (r"\)" if name else "")
    if re.search(of_suite, text, re.M):
        return True
    of_class = re.search(rf"^class {suite}\(.*?(?=^class |\Z)", text, re.M | re.S)
    return of_class is not None and (f"    def {name}(" if name else "    def test_") in of_class[0]


def defences(page):
    """The items of the page before what is not defended."""
    defended = page[:page.index("\n## What is not defended\n")]
    return [item.split("\n\n")[0] for item in re.split(r"^- ", defended, flags=re.M)[1:]]


def classes_with_tests(text):
    """The classes of a test in Python that are no bases of others there."""
    classes = [each for each in ast.parse(text).body if isinstance(each, ast.ClassDef)]
    bases = {base.id for each in classes for base in each.bases if isinstance(base, ast.Name)}
    return {each.name for each in classes if each.name not in bases and any(
        isinstance(member, ast.FunctionDef) and member.name.startswith("test_") for member in each.body)}


def classes_that_run(text):
    """What a CMakeLists.txt gives to program_tests(): the classes of each file."""
    all_of = {}
    for file, classes in re.findall(r"^\s*program_tests\((\S+)\s+([^)]*)\)", text, re.M):
        all_of.setdefault(file, set()).update(classes.split())
    return all_of


class SecurityPage(unittest.TestCase):
    def test_ctest_runs_each_class_of_the_tests_of_programs(self):
        run = classes_that_run((PROGRAMS / "CMakeLists.txt").read_text())
        self.assertGreater(len(run), 50)
        for path in sorted(PROGRAMS.rglob("*_test.py")):
            file = str(path.relative_to(PROGRAMS).with_suffix(""))
            self.assertEqual(classes_with_tests(path.read_text()) - run.get(file, set()), set(),
                             f"program_tests() of tests/programs/CMakeLists.txt leaves out classes of {file}")

    def test_a_class_that_does_not_run_is_found(self):
        text = "class Base:\n    def test_a(self): pass\nclass One(Base):\n    def test_b(self): pass\nclass Kit:\n    def help(self): pass\n"
        self.assertEqual(classes_with_tests(text), {"One"})
        self.assertEqual(classes_that_run("  program_tests(serve/a_test One Two)\nprogram_tests(serve/a_test Three)"),
                         {"serve/a_test": {"One", "Two", "Three"}})

    def test_each_defence_names_tests_that_exist(self):
        items = defences(PAGE.read_text())
        self.assertGreater(len(items), 60)
        for item in items:
            _, tests, named = item.partition("\n  *Tests:*")
            links = LINK.findall(named)
            self.assertTrue(tests and links, f"no test: {item}")
            for suite, name, path in links:
                with self.subTest(suite=suite, name=name):
                    self.assertTrue(has_test((PAGE.parent / path).read_text(), suite, name), f"{path} has no such test")

    def test_items_are_told_apart(self):
        page = "# A\n\n- **One.** It is so.\n  *Tests:* [`A.B`](c)\n- **Two.**\n\n## B\n\n- **Three.**\n\nText.\n\n## What is not defended\n\n- **Four.**\n"
        self.assertEqual(defences(page), ["**One.** It is so.\n  *Tests:* [`A.B`](c)\n", "**Two.**", "**Three.**"])

    def test_what_is_missing_is_found(self):
        text = "TEST_F(Suite, Name) {\n}\nTYPED_TEST(Each, Has) {\n}\nclass One(Case):\n    def test_a(self):\nclass Two(Case):\n    def test_b(self):\n"
        for suite, name in [("Suite", "Name"), ("Suite", ""), ("Each", "Has"), ("One", "test_a"), ("Two", "test_b"), ("Two", "")]:
            self.assertTrue(has_test(text, suite, name), (suite, name))
        for suite, name in [("Suite", "Nam"), ("Suit", "Name"), ("One", "test_b"), ("One", "test_"), ("Three", ""), ("Suite", "Other")]:
            self.assertFalse(has_test(text, suite, name), (suite, name))


if __name__ == "__main__":
    main()
