#!/usr/bin/env python3
"""Writes the translation units that show that each header compiles alone, as few as that needs.

usage: chains.py --include DIR --sources DIR --into DIR HEADER...     writes the units and prints their paths
       chains.py --check ...                            instead says whether the units are those of today's headers

A header that includes another one sees it in any case, so the other one may stand in front of it in its unit. The headers of
a unit are such a chain: each includes the one before it, and ahead of that one nothing but headers that have to compile
alone, too. Each header stands there twice. Only what is included ahead of all code, in no #if, counts.

A header that a source of these folders includes first needs no unit: release compiles each of their sources by itself and
without precompiled headers. --sources may stand several times.
"""
import argparse
import re
import sys
from functools import cache
from pathlib import Path

INCLUDE = re.compile(r"#\s*include\s*<(foliot[^>]*)>")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def first_include(source: str) -> str | None:
    """The header of foliot that a source includes ahead of everything else."""
    for line in COMMENT.sub("", source).splitlines():
        if line.strip():
            found = INCLUDE.match(line.strip())
            return found[1] if found else None
    return None


class Headers:
    def __init__(self, include: Path, folders: list[Path], names: list[str]):
        self.include, self.names = include, set(names)
        self.shown = {first for folder in folders for source in folder.rglob("*.cpp")
                      if (first := first_include(source.read_text())) in self.names}

    @cache
    def includes(self, name: str) -> tuple[list[str], list[str]]:
        """The headers of foliot that are included ahead of all code, and all others that are."""
        certain, others, depth, is_ahead = [], [], 0, True
        for line in COMMENT.sub("", (self.include / name).read_text()).splitlines():
            line = line.strip()
            if found := INCLUDE.match(line):
                (certain if is_ahead and depth == 0 else others).append(found[1])
            elif re.match(r"#\s*if", line):
                depth += 1
            elif re.match(r"#\s*endif", line):
                depth -= 1
            elif line and not line.startswith("#"):
                is_ahead = False
        return certain, others

    def may_be_in_front(self, name: str) -> list[str]:
        """The headers that this one has included before its code, and before any header that is not to compile alone."""
        seen, found = {name}, []

        def visit(header: str) -> bool:
            """False if such a header comes."""
            certain, others = self.includes(header)
            for each in certain:
                if each not in seen:
                    seen.add(each)
                    if each not in self.names or not visit(each):
                        return False
                    found.append(each)
            return all(each in self.names for each in others)
        visit(name)
        return found

    def chains(self) -> list[list[str]]:
        """As few as possible: a cover of the graph with paths, by a matching."""
        alone = sorted(self.names - self.shown)
        in_front = {name: [each for each in self.may_be_in_front(name) if each not in self.shown] for name in alone}
        behind = {}  # by a header, the one behind it

        def place(name: str, tried: set[str]) -> bool:
            for each in in_front[name]:
                if each not in tried:
                    tried.add(each)
                    if each not in behind or place(behind[each], tried):
                        behind[each] = name
                        return True
            return False
        has_one_in_front = {name for name in alone if place(name, set())}
        made = []
        for name in alone:
            if name not in has_one_in_front:
                made.append([name])
                while made[-1][-1] in behind:
                    made[-1].append(behind[made[-1][-1]])
        return made


def unit_of(chain: list[str]) -> str:
    return "".join(f"#include <{name}>\n#include <{name}>\n" for name in chain)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", type=Path, required=True)
    parser.add_argument("--sources", type=Path, action="append", required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("headers", nargs="+")
    options = parser.parse_args()
    units = {options.into / (chain[-1] + ".cpp"): unit_of(chain)
             for chain in Headers(options.include, options.sources, options.headers).chains()}
    changed = {path: text for path, text in units.items() if not path.exists() or path.read_text() != text}
    if options.check:
        if changed:
            print(f"the includes of the headers have changed: configure again, for {min(changed)}", file=sys.stderr)
        return 1 if changed else 0
    for path, text in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print("\n".join(map(str, sorted(units))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
