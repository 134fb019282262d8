"""Finds functions that public headers declare and shared libraries do not export: programs that link these miss them. And
those that one library uses of another, which hides them: a shared library has them as undefined, and no program links.

usage: exports.py [--readelf PROGRAM] --include DIR LIBRARY...

The libraries are static ones, compiled with hidden visibility. Of their hidden symbols none may be a member of a class
that a public header defines, nor a function or a variable that one declares: those want FOLIOT_EXPORT
(<foliot/core/export.h>). No library may refer to a hidden symbol of another. Exit status: 0 where nothing is missing, 1 where something is.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

IDENTIFIER = r"[A-Za-z_]\w*"
# At the beginning of a line: what is indented is a member.
CLASS = re.compile(rf"^(?:class|struct)\b[^;{{()]*?(?:\([^)]*\)[^;{{()]*?)?\b({IDENTIFIER})(?:<[^;{{]*>)?(?: final)?"
                   rf"\s*(?::[^;{{]*)?{{", re.M)
FUNCTION = re.compile(rf"^(?!inline|//|#|constexpr|template|using|friend)[^\s/#][^;{{=()]*?\b({IDENTIFIER})\(", re.M)
VARIABLE = re.compile(rf"^[^\s/#][^;(]*\bextern [^;(]*\b({IDENTIFIER});|^extern [^;(]*\b({IDENTIFIER});", re.M)
NAMESPACE = re.compile(r"^namespace ([\w: ]+) \{", re.M)


def declared(headers: list[str]) -> tuple[set[str], set[str], set[str]]:
    """The names of the classes that are defined, those of functions and variables that are not, and of namespaces."""
    classes, others, namespaces = set(), set(), set()
    for text in headers:
        for match in NAMESPACE.finditer(text):
            namespaces |= {name.removeprefix("inline ") for name in match[1].split("::")}
        classes |= {match[1] for match in CLASS.finditer(text)}
        others |= {match[1] for match in FUNCTION.finditer(text)}
        others |= {match[1] or match[2] for match in VARIABLE.finditer(text)}
    return classes, others, namespaces


def hidden(table: str) -> set[str]:
    """The demangled names of the hidden symbols that are defined and strong, from readelf's table."""
    pattern = re.compile(r"(?:FUNC|OBJECT|TLS)\s+GLOBAL\s+HIDDEN\s+(?:\[.*?\]\s+)?\d+\s+(.+)$", re.M)
    return {match[1].strip() for match in pattern.finditer(table)}


def used(table: str) -> set[str]:
    """The demangled names of the symbols that are used and not defined in one of the library's objects."""
    return {match[1].strip() for match in re.finditer(r"NOTYPE\s+GLOBAL\s+DEFAULT\s+UND\s+(\S.*)$", table, re.M)}


def crossing(tables: dict[str, str]) -> list[str]:
    """A line for each hidden symbol that another library uses."""
    return [f"{symbol}: hidden in {owner}, and {user} uses it: put FOLIOT_EXPORT before its declaration, or its class"
            for owner, table in tables.items() for user, other in tables.items() if user != owner
            for symbol in sorted(hidden(table) & used(other))]


def missing(symbols: set[str], classes: set[str], others: set[str], namespaces: set[str]) -> list[str]:
    found = []
    for symbol in sorted(symbols):
        path = re.sub(r"\[abi:\w+\]", "", symbol).split("(")[0].split("::")
        if path[0] != "foliot" and not path[-1].startswith("foliot_"):
            continue
        scopes = {scope.split("<")[0] for scope in path[:-1]}
        if scopes & classes or (scopes <= namespaces and path[-1] in others):
            found.append(symbol)
    return found


def check_itself() -> None:
    header = ("namespace foliot::inline core {\nclass lost final : base {\n  void f();\n};\n"
              "class FOLIOT_CAPABILITY(\"x\") odd {\n};\nclass told;\n"
              "[[nodiscard]] int gone(int a);\nextern thread_local int value;\ninline int kept() { return 1; }\n"
              "  int indented();\nclass outer {\n  class inner {\n  };\n};\n")
    table = "\n".join(f" 1: 0000 8 {kind} GLOBAL {seen} 4 {name}" for kind, seen, name in [
        ("FUNC", "HIDDEN", "foliot::core::lost::f() const"), ("FUNC", "HIDDEN", "foliot::odd::odd()"),
        ("FUNC", "HIDDEN", "foliot::core::gone[abi:cxx11](int)"), ("TLS", "HIDDEN", "foliot::value"),
        ("FUNC", "HIDDEN", "foliot::told::f()"), ("FUNC", "HIDDEN", "foliot::inner::gone()"),
        ("FUNC", "HIDDEN", "foliot::indented()"),
        ("FUNC", "DEFAULT", "foliot::lost::g()"), ("FUNC", "HIDDEN", "std::gone(int)")])
    found = missing(hidden(table), *declared([header]))
    if len(found) != 4 or any(re.search("told|inner|std", each) for each in found):
        sys.exit(f"exports.py does not find what it must: {found}")
    user = " 2: 0000 0 NOTYPE GLOBAL DEFAULT UND foliot::core::gone[abi:cxx11](int)\n 3: 0 0 NOTYPE GLOBAL DEFAULT UND foliot::x()"
    if len(crossing({"a": table, "b": user})) != 1 or crossing({"a": table + "\n" + user}):
        sys.exit("exports.py does not find what one library uses of another")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("--include", type=Path, required=True)
    parser.add_argument("libraries", type=Path, nargs="+")
    options = parser.parse_args()
    check_itself()
    headers = [path.read_text() for path in sorted(options.include.rglob("*.h*"))]
    names = declared(headers)
    symbols, tables = set(), {}
    for library in options.libraries:
        table = subprocess.run([options.readelf, "-sWC", library], capture_output=True, text=True, check=True).stdout
        tables[library.name] = table
        symbols |= hidden(table)
    if not symbols:
        print("there is no hidden symbol: were the libraries compiled with hidden visibility?")
        return 1
    found = [f"{symbol}: declared in a public header and hidden: put FOLIOT_EXPORT before its declaration, or its class"
             for symbol in missing(symbols, *names)] + crossing(tables)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
