"""Canaries for the rules of tools/tidy.py about words: the names and terms of comments, and contracts.

Run: python3 tests/style/test_tidy_words.py
"""
import unittest

from tidy_test import TidyTest


class Names(TidyTest):
    def test_names_in_comments(self):
        for comment in ["Calls `made_up`.", "See `queue::made_up(node)`.", "made_up() does it.", "The rest is made_up.",
                        "`made_up` and `expire`."]:
            for path in ["include/foliot/queue/detail/a.h", "src/queue/a.cpp", "programs/a.cpp"]:
                self.breaks("name", path, f"void expire();\n// {comment}", 2)
            self.breaks("name", "src/queue/a.cpp", f"void expire();\n/* One.\n * {comment} */", 3)
        self.keeps("tests/a.cpp", "// `made_up`")

    def test_names_that_exist(self):
        others = {"src/queue/b.cpp": 'auto engine = "quad-heap";', "tools/run_all.py": "", "scripts/all": "--dry-run"}
        for comment in ["`expire(node)`, `expire()` and expire() are one.", "`quad-heap`, src/queue/b.cpp",
                        "`scripts/all --dry-run`", "`std::made_up`, std::made::up()", "after io_uring",
                        "   made_up(an_example);", "/*made_up=*/"]:
            self.keeps("src/queue/a.cpp", f"void expire(int node);\n// {comment}", others)
        self.keeps("src/queue/a.cpp", 'auto a = "`made_up`";')


class Terms(TidyTest):
    GLOSSARY = ("# Words\n\nA `handle` is retired nowhere.\n\n## Retired terms\n\n| not | but |\n|---|---|\n"
                "| `hand_over()`, `give_in` | `release` |\n| `put away` | postpone |\n| `own_` | the owner |\n"
                "\n| term | meaning |\n|---|---|\n| `kept` | a word |\n")

    def test_retired_terms(self):
        others = {"docs/glossary.md": self.GLOSSARY}
        for text in ["hand_over(1);", "// It will hand_over () all.", "give_in = 1;", "// Put away.", "// is put away",
                     "a.own_ = 1;"]:
            for path in ["include/foliot/queue/detail/a.h", "src/queue/a.cpp", "programs/a.cpp", "tests/a.cpp",
                         "tools/a.py", "scripts/a.sh", "docs/a.md", "README.md"]:
                self.breaks("retired", path, text, 1, others)
        self.breaks("retired", "docs/a.md", "The timer is put\naway.", 1, others)
        self.keeps("src/queue/a.cpp", "int hand_over, my_give_in, down_, own, kept;  // put it away", others)
        self.keeps("docs/glossary.md", self.GLOSSARY + "give_in")
        self.keeps("CHANGELOG.md", "give_in", others)

    def test_no_glossary(self):
        self.keeps("src/queue/a.cpp", "give_in")


if __name__ == "__main__":
    unittest.main()
