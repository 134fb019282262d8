"""Each defence on the page docs/serve/security.md names tests that exist, by suite and name."""
import re
import unittest
from pathlib import Path

from kit.program_case import main

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


class SecurityPage(unittest.TestCase):
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
