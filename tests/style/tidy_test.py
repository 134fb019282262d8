"""What the canaries of tools/tidy.py share: a tree of files, and assertions about what tidy finds in it."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import tidy
import tidy_terms
import tidy_names

TOOLS = Path(__file__).resolve().parents[2] / "tools"
HEAD = "// What it is for.\n#pragma once\n"


def write_tree(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text if isinstance(text, bytes) else text.encode())


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def findings(self, path, text, others=None):
        """What tidy reports for one file: a set of (line, rule)."""
        write_tree(self.root, {path: text} | (others or {}))
        tidy.tree.cache_clear()  # the tree before
        tidy.known_classes.cache_clear()
        tidy_names.known_words.cache_clear()  # of the tree before
        tidy_terms.retired_pattern.cache_clear()  # of the tree before
        file = tidy.File(self.root, path, text)
        return {(line, rule) for line, rule, _ in tidy.check_file(file)}

    def breaks(self, rule, path, text, line=1, others=None):
        with self.subTest(rule, path=path, text=text[:200]):
            self.assertEqual(self.findings(path, text + "\n", others), {(line, rule)})

    def keeps(self, path, text, others=None):
        with self.subTest("clean", path=path, text=text[:200]):
            self.assertEqual(self.findings(path, text + "\n", others), set())
