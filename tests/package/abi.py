#!/usr/bin/env python3
"""Compares the binary interface of the libraries with the recorded one.

usage: abi.py [--renew] [--compiler CXX] [--source DIR] LIBRARY...

The libraries are the static ones of a build by g++ without assertions, as those of the preset `release`. Their interface is a list of
lines, in the file abi/MINOR-MACHINE.txt, where MINOR is the version that ends the libraries' names (0.1) and MACHINE the
compiler's target:

  symbol   each name that a library exports of its own, and the size of an object (of a vtable: how many functions it has)
  type     each type of foliot in the public headers, with its size, and the places of its bases, members and virtual functions;
           libabigail's abidw reads them from the debugging information of a source that includes all headers

--renew records the interface of now. What is only added is compatible. Anything else ends the test once a version of this minor
one has a date in CHANGELOG.md, because programs that are linked with it exist. Before that it is printed. Each run checks that it would
find a symbol that is gone, a type that has grown and a member that has moved. Exit status: 0 where all is well, 1 where something is
not, 77 where libabigail is not installed.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Headers for libraries that users bring along.
LEFT_OUT = re.compile(r"adapters/(asio|boost_asio|uv|libevent|ev|glib|sd_event)_")
SYMBOL = re.compile(r"^ *\d+: \w+ +(\d+) (FUNC|OBJECT|TLS) +(GLOBAL|WEAK) +DEFAULT +(?!UND)\w+ (\S+)", re.M)


def run(*command: object) -> str:
    """What the command has written; ends the program where it fails."""
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed ({done.returncode}):\n{done.stdout[-4000:]}")
    return done.stdout


def symbols(library: Path) -> Iterator[str]:
    """The functions that are defined in the library alone, and its objects. Inline functions are in each program that uses them."""
    for size, kind, binding, name in SYMBOL.findall(run("readelf", "-sW", library)):
        if "foliot" in name and (kind != "FUNC" or binding == "GLOBAL"):
            yield f"symbol {library.stem} {name}" + (f" {size}" if kind != "FUNC" else "")


def headers_as_xml(compiler: str, include: Path, place: Path) -> ElementTree.Element:
    names = ["foliot/foliot.h", *sorted(str(path.relative_to(include)) for path in include.rglob("*.hpp"))]
    source = place / "types.cpp"
    # abidw wants an exported symbol.
    source.write_text("".join(f"#include <{name}>\n" for name in names if not LEFT_OUT.search(name)) + "FOLIOT_EXPORT int one;\n")
    run(compiler, "-std=c++23", "-O0", "-g", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
        "-fno-eliminate-unused-debug-types", f"-I{include}", "-shared", source, "-o", place / "types.so")
    run("abidw", "--load-all-types", "--no-show-locs", "--no-parameter-names", "--out-file", place / "types.xml", place / "types.so")
    return ElementTree.parse(place / "types.xml").getroot()


def types_in(within: ElementTree.Element, path: str = "") -> Iterator[tuple[str, ElementTree.Element]]:
    """Each class, union and enumeration that is complete, with its whole name."""
    for each in within:
        if each.tag in ("abi-instr", "member-type"):
            yield from types_in(each, path)
        elif each.tag == "namespace-decl":
            yield from types_in(each, f"{path}{each.get('name')}::")
        elif each.tag in ("class-decl", "union-decl", "enum-decl"):
            if each.get("is-declaration-only") != "yes":
                yield path + each.get("name", ""), each
            yield from types_in(each, f"{path}{each.get('name')}::")


def layout(of: ElementTree.Element, names: dict[str, str]) -> str:
    """What compiled code relies on. Places are in bits."""
    if of.tag == "enum-decl":
        return "enum " + " ".join(f"{each.get('name')}={each.get('value')}" for each in of.findall("enumerator"))
    parts = [f"bits={of.get('size-in-bits', '0')}"]
    for each in of.findall("base-class"):
        parts.append(f"base:{names.get(each.get('type-id', ''), '?')}@{each.get('layout-offset-in-bits')}")
    for each in of.findall("data-member"):
        if each.get("static") != "yes":
            parts.append(f"{each[0].get('name')}@{each.get('layout-offset-in-bits', '0')}")
    for each in of.findall("member-function"):
        if each.get("vtable-offset") is not None:
            parts.append(f"virtual:{each[0].get('name')}@{each.get('vtable-offset')}")
    return " ".join(parts)


def interface(options: argparse.Namespace, place: Path) -> list[str]:
    lines = {line for library in options.libraries for line in symbols(library)}
    root = headers_as_xml(options.compiler, options.source / "include", place)
    found = [(name, each) for name, each in types_in(root) if name.startswith(("foliot::", "foliot_"))]
    names = {each.get("id", ""): name for name, each in types_in(root)}
    # The frames of coroutines and what is local to a function are of no matter to anybody else.
    lines |= {f"type {name}: {layout(each, names)}" for name, each in found if not re.search(r"__anonymous|::_Z|\.Frame", name)}
    return sorted(lines)


def name_of(line: str) -> str:
    """What the line is about: all of it, but a size or a layout."""
    if line.startswith("type "):
        return re.split(r": (?=bits=|enum )", line)[0]
    return " ".join(line.split()[:3])


def changes(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """What breaks programs, and what has been added."""
    here, names = set(after), {name_of(line): line for line in after}
    broken = []
    for line in before:
        if line not in here:
            now = names.get(name_of(line))
            broken.append(f"gone: {line}" if now is None else f"changed: {line}\n    now: {now}")
    known = {name_of(line) for line in before}
    return broken, [f"added: {line}" for line in after if name_of(line) not in known]


def check_itself(now: list[str]) -> None:
    """A symbol that is gone, a type that has grown and a member that has moved must be found; what is added breaks nothing."""
    text = "\n".join(now)
    for pattern, to in [(r"^symbol libfoliot_service foliot_timer_reset$\n", ""), (r"^(type foliot::\S*\btimer: bits=)\d+", r"\g<1>1"),
                        (r"^(type foliot::\S*\bloop_timers: .* \w+@)\d+", r"\g<1>1")]:
        other, count = re.subn(pattern, to, text, count=1, flags=re.M)
        if not count or len(changes(now, other.split("\n"))[0]) != 1:
            sys.exit(f"the comparison finds nothing where {pattern} has changed")
        if not to and changes(other.split("\n"), now)[0]:
            sys.exit("the comparison takes something that was added for a breach")


def is_released(minor: str, source: Path) -> bool:
    return re.search(rf"^## {re.escape(minor)}\.\d+, \d", (source / "CHANGELOG.md").read_text(), re.M) is not None


def judge(now: list[str], recorded: Path, minor: str, options: argparse.Namespace) -> int:
    check_itself(now)
    renew = "record it with --renew (docs/packages.md, The binary interface)"
    if not recorded.exists():
        print(f"{recorded.name}, the interface of {minor}, is missing: {renew}")
        return 1
    broken, added = changes([line for line in recorded.read_text().splitlines() if not line.startswith("#")], now)
    print("\n".join(broken + added))
    print(f"{len(now)} lines, {len(broken)} gone or changed, {len(added)} added")
    if not broken:
        return 0
    if not is_released(minor, options.source):
        print(f"no {minor} is released yet, so its interface may change: {renew}")
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
    machine = run(options.compiler, "-dumpmachine").strip()
    recorded = HERE / "abi" / f"{minor}-{machine}.txt"
    with tempfile.TemporaryDirectory() as scratch:
        now = interface(options, Path(scratch))
    if not options.renew:
        return judge(now, recorded, minor, options)
    check_itself(now)
    recorded.parent.mkdir(exist_ok=True)
    recorded.write_text(f"# The binary interface of foliot {minor} on {machine}: see abi.py.\n" + "\n".join(now) + "\n")
    print(f"{recorded} has the interface of now: {len(now)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
