"""docs/mechanisms.md names functions, members and files that the source has, and each engine's page links to a section."""
import functools
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/mechanisms.md"


def words_of(text):
    return set(re.findall(r"[A-Za-z_]\w*", text))


@functools.cache
def sources():
    """The sources by their paths, without comments, which may name what is no more."""
    return {path: re.sub(r"//.*", "", path.read_text(encoding="utf-8")) for folder in ("include", "src")
            for path in (ROOT / folder).rglob("*") if path.suffix in (".hpp", ".cpp", ".h")}


@functools.cache
def source_words():
    return {path: words_of(text) for path, text in sources().items()}


def without_blocks(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def counterparts(text):
    """The cells of the tables that name what foliot has: the second of each row."""
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [row[1] for row in rows if len(row) > 1]


def names_in(cell):
    """The names in the code of a cell, with their class if it is there: ("shard", "run_turn"), ("", "run_turn")."""
    found = []
    for code in re.findall(r"`([^`]+)`", cell):
        for name in re.findall(r"\b[A-Za-z_]\w*(?:::\w+)*", code):
            *scope, member = name.split("::")
            found.append((scope[-1] if scope else "", member))
    return found


def is_there(scope, member):
    """Whether a file has the name; with a class, one that defines the class, or the member by its whole name."""
    having = [path for path, words in source_words().items() if member in words]
    if not scope:
        return bool(having)
    named_so = rf"\b(?:class|struct|namespace)\b[^;{{}}]*\b{scope}\b|\busing {scope}\b|\b{scope}::{member}\b"
    return any(re.search(named_so, sources()[path]) for path in having)


def missing(cell, page=PAGE):
    """The names of the cell that no source has, and its links to sources that have none of the names."""
    names = names_in(cell)
    found = ["::".join(filter(None, name)) for name in names if not is_there(*name)]
    for link in re.findall(r"\]\(([^)#]+\.[ch]pp)\)", cell):
        words = source_words().get((page.parent / link).resolve())
        if words is None or names and not any({scope, member} & words for scope, member in names):
            found.append(link)
    return found


def anchors_of(text):
    heads = re.findall(r"^#+ (.*)$", without_blocks(text), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


class Mechanisms(unittest.TestCase):
    def test_counterparts_are_in_the_source(self):
        cells = counterparts(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(cells), 200)
        self.assertEqual([(cell, missing(cell)) for cell in cells if missing(cell)], [])

    def test_each_engine_links_to_its_section(self):
        anchors = anchors_of(PAGE.read_text(encoding="utf-8"))
        for page in sorted((ROOT / "docs/engines").glob("*.md")):
            links = re.findall(r"\]\(\.\./mechanisms\.md#([^)]+)\)", page.read_text(encoding="utf-8"))
            self.assertTrue(links, page.name)
            self.assertEqual(set(links) - anchors, set(), page.name)


class Canaries(unittest.TestCase):
    HEAP = "[quad_heap.hpp](../include/foliot/queue/quad_heap.hpp)"

    def test_what_is_there(self):
        self.assertEqual(missing(f"`quad_heap::start`, `shard::run_turn`, `std::bit_ceil`, in {self.HEAP}"), [])

    def test_what_is_not(self):
        self.assertEqual(missing("`shard::run_turm`"), ["shard::run_turm"])
        self.assertEqual(missing("`quad_heap::timerproc`"), ["quad_heap::timerproc"])
        self.assertEqual(missing(f"`timerproc` in {self.HEAP}"), ["../include/foliot/queue/quad_heap.hpp"])
        self.assertEqual(missing("[shard.hpp](../src/service/shards.hpp)"), ["../src/service/shards.hpp"])

    def test_anchors(self):
        self.assertEqual(anchors_of("# Go's, up to 1.9\n```\n# no\n```\n"), {"gos-up-to-19"})


if __name__ == "__main__":
    unittest.main()
