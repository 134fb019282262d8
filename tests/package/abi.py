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
CHANGED = 4  # a bit of abidiff's exit status
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


def machine(compiler: str) -> str:
    return run(compiler, "-dumpmachine")[1].strip()


def compare(before: str, after: str, place: Path) -> tuple[bool, str]:
    """Whether programs that are linked with the one work with the other, and what abidiff says."""
    (place / "before.xml").write_text(before)
    (place / "after.xml").write_text(after)
    status, report = run("abidiff", "--non-reachable-types", "--no-show-locs", place / "before.xml", place / "after.xml", allowed=12)
    counts = re.findall(r"^.*?summary: (\d+) removed.*?, (\d+) changed.*?, (\d+) added", report, re.M | re.I)
    symbols = re.findall(r"^.*?symbol.*?summary: (\d+) removed.*?, (\d+) added", report, re.M | re.I)
    if status & CHANGED and not counts:
        sys.exit(f"abidiff's report is not understood:\n{report}")
    broken = any(int(each[0]) or int(each[1]) for each in counts) or any(int(each[0]) for each in symbols)
    return not broken, report


def check_itself(now: str, place: Path) -> None:
    """A symbol that is gone, and a type that has grown, must be found."""
    gone, count = re.subn(r"^ *<elf-symbol name='foliot_timer_reset' .*\n", "", now, count=1, flags=re.M)
    grown, other = re.subn(r"(<class-decl name='timer' size-in-bits=')(\d+)'", lambda m: f"{m[1]}{int(m[2]) + 64}'", now, count=1)
    if not count or not other:
        sys.exit("abidw does not show foliot_timer_reset() or the size of foliot::timer")
    for changed, what in [(gone, "a symbol that is gone"), (grown, "a type that has grown")]:
        if compare(now, changed, place)[0]:
            sys.exit(f"abidiff does not find {what}")


def is_released(minor: str, source: Path) -> bool:
    return re.search(rf"^## {re.escape(minor)}\.\d+, \d", (source / "CHANGELOG.md").read_text(), re.M) is not None


def judge(now: str, recorded: Path, minor: str, options: argparse.Namespace, place: Path) -> int:
    renew = f"record it by {Path(sys.argv[0]).name} --renew: docs/packages.md, The binary interface"
    if not recorded.exists():
        print(f"{recorded.name} is missing, the interface of {minor}: {renew}")
        return 1
    with lzma.open(recorded, "rt") as text:
        compatible, report = compare(text.read(), now, place)
    print(report)
    check_itself(now, place)
    if compatible:
        return 0
    if not is_released(minor, options.source):
        print(f"the interface is not the recorded one; no {minor} is released, so it may change. To have less of this, {renew}")
        return 0
    print(f"programs that are linked with a released {minor} break: keep its interface, or begin a new minor version, and {renew}")
    return 1


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
    version = (options.source / "include/foliot/version.hpp").read_text()
    minor = re.search(r'FOLIOT_VERSION "(\d+\.\d+)\.', version)[1]
    recorded = HERE / "abi" / f"{minor}-{machine(options.compiler)}.xml.xz"
    with tempfile.TemporaryDirectory() as scratch:
        now = interface(options, Path(scratch))
        if not options.renew:
            return judge(now, recorded, minor, options, Path(scratch))
    recorded.parent.mkdir(exist_ok=True)
    with lzma.open(recorded, "wt", preset=9) as text:
        text.write(now)
    print(f"{recorded} has the interface of now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
