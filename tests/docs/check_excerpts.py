#!/usr/bin/env python3
"""Checks that each excerpt in the Markdown files given stands in the program that it names.

An excerpt is a block that begins with ```cpp from examples/debounce.cpp (or ```c from …): lines of
that file, in their order. A line `// …` stands for lines that are left out; the lines between two
of them may be indented less than in the file. So what a page shows is compiled and run, although it
is no whole program. Prints `page:line: message` for each breach.
"""

import argparse
import pathlib
import re
import sys
import textwrap

EXCERPT = re.compile(r"^```\w+ from (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GAP = re.compile(r"^ *// …\n", re.MULTILINE)


def dedented(lines: list[str]) -> list[str]:
    return textwrap.dedent("\n".join(lines)).splitlines()


def first_missing(excerpt: str, program: list[str]) -> str | None:
    """The first line of the first part that the program does not have after the parts before it; None if it has all."""
    begin = 0
    for text in GAP.split(excerpt):
        part = dedented(text.strip("\n").splitlines())
        ends = (at + len(part) for at in range(begin, len(program) - len(part) + 1)
                if dedented(program[at:at + len(part)]) == part)
        end = next(ends, None)
        if end is None or not part:
            return part[0] if part else "// …"
        begin = end
    return None


def breaches(page: pathlib.Path, root: pathlib.Path) -> list[str]:
    text, found = page.read_text(encoding="utf-8"), []
    for block in EXCERPT.finditer(text):
        where = f"{page}:{text.count(chr(10), 0, block.start()) + 1}"
        source = root / block[1]
        if not source.is_file():
            found.append(f"{where}: no file {block[1]}")
            continue
        missing = first_missing(block[2], source.read_text(encoding="utf-8").splitlines())
        if missing is not None:
            found.append(f"{where}: {block[1]} does not have the part that begins with: {missing.strip()}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    found = [breach for page in options.pages for breach in breaches(page, options.root)]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
