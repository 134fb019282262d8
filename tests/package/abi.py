#!/usr/bin/env python3
"""Compares the binary interface of the libraries with the recorded one, by libabigail.

usage: abi.py [--renew] [--compiler CXX] --source DIR LIBRARY...

The libraries are the static ones of the preset `release`. Their exported symbols, and the layouts of the types of the public
headers, make the interface: abi/MINOR-MACHINE.xml.xz has the one that was recorded last, where MINOR is the version that ends the
libraries' names (0.1), and MACHINE what the compiler calls its target. --renew records the one of now.

What was added is compatible. Anything else ends the test once a version of this minor one has a date in CHANGELOG.md: programs that
are linked with it exist. Before that the changes are printed. Each run also checks that the comparison finds a symbol that is gone
and a type that has grown. Exit status: 0 where all is well, 1 where something has changed, 77 where libabigail is not installed.
"""
import argparse
import lzma
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCOMPATIBLE = 8  # of abidiff's exit status; 4: there is a change
# Headers for libraries that users bring along, and those that only name other headers.
LEFT_OUT = re.compile(r"adapters/(asio|boost_asio|uv|libevent|ev|glib|sd_event)")


def run(*command: object, allowed: int = 0) -> tuple[int, str]:
    """The exit status and what it has written. Ends the program where a bit of the status is not allowed."""
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode & ~allowed:
        sys.exit(f"{command[0]} failed ({done.returncode}):\n{done.stdout[-4000:]}")
    return done.returncode, done.stdout


def interface(options: argparse.Namespace, place: Path) -> str:
    """What abidw says of all libraries as one, with the types of all headers."""
    headers = options.source / "include"
    names = sorted(str(path.relative_to(headers)) for path in headers.rglob("*.hpp"))
    source = place / "types.cpp"
    source.write_text("".join(f"#include <{name}>\n" for name in names if not LEFT_OUT.search(name)))
    run(options.compiler, "-std=c++23", "-O0", "-g", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
        "-fno-eliminate-unused-debug-types", f"-I{headers}", "-c", source, "-o", place / "types.o")
    run(options.compiler, "-shared", "-o", place / "foliot.so", place / "types.o", "-Wl,--whole-archive", *options.libraries,
        "-Wl,--no-whole-archive", "-pthread")
    run("abidw", "--headers-dir", headers / "foliot", "--drop-private-types", "--load-all-types", "--no-corpus-path", "--no-comp-dir-path",
        "--no-show-locs", "--type-id-style", "hash", "--out-file", place / "foliot.xml", place / "foliot.so")
    return (place / "foliot.xml").read_text()


def compare(before: str, after: str, place: Path) -> tuple[int, str]:
    (place / "before.xml").write_text(before)
    (place / "after.xml").write_text(after)
    return run("abidiff", "--non-reachable-types", "--no-show-locs", place / "before.xml", place / "after.xml", allowed=12)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--source", type=Path, default=HERE.parents[1])
    parser.add_argument("libraries", type=Path, nargs="+")
    options = parser.parse_args()
    if shutil.which("abidw") is None:
        print("libabigail is not installed (Debian: abigail-tools)", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        now = interface(options, Path(scratch))
    print(len(now))
    return 0


if __name__ == "__main__":
    sys.exit(main())
