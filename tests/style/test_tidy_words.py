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


if __name__ == "__main__":
    unittest.main()
