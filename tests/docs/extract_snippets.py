#!/usr/bin/env python3
"""Writes each C++ block of the Markdown files given into a source file of its own, and prints their paths.

Every block must be a whole program: what a page shows is what a reader can compile. A file is only
written when its text changed, so that nothing is rebuilt for nothing.
"""

import argparse
import pathlib
import re
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--into", type=pathlib.Path, required=True)
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    for page in options.pages:
        relative = page.relative_to(options.root).with_suffix("")
        stem = "snippet_" + re.sub(r"\W+", "_", str(relative)).lower()
        text = page.read_text(encoding="utf-8")
        for number, block in enumerate(BLOCK.finditer(text), start=1):
            line = text.count("\n", 0, block.start()) + 2
            if "int main(" not in block[1]:
                sys.exit(f"{page}:{line}: a C++ block must be a whole program, with a main")
            source = options.into / f"{stem}_{number}.cpp"
            code = f'#line {line} "{page}"\n{block[1]}'
            if not source.exists() or source.read_text(encoding="utf-8") != code:
                source.write_text(code, encoding="utf-8")
            print(source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
