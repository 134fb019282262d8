#!/usr/bin/env python3
"""Prints a header of foliot as doxygen can read it.

usage: header_filter.py HEADER

The comment at the head of a header becomes the description of the file. Inline namespaces are left out, as users leave
them out: `foliot::timer`. The part that a header shares with another (.ipp) stands where the header includes it.
site/build.py writes all headers so for doxygen. Lines stay where they are, but for one more at the head, and for those
of parts.
"""
import re
import sys
from itertools import groupby
from pathlib import Path

HEAD = re.compile(r"(?://(?!/).*\n)+")
C_HEAD = re.compile(r"/\*.*?\*/\n", re.S)
C_NOT_FOR_READERS = re.compile(r"^/\* (?:-{10,}|clang-format) .* \*/$", re.M)
CONTRACT = re.compile(r"^ *///.*$|///<.*$", re.M)
# Doxygen 1.9.4 looks for the namespaces of these specialisations, and reports that they are not there.
FOREIGN = re.compile(r"^template <>\nstruct (?:std|fmt)::.*?\};?$\n", re.M | re.S)
FRIEND_CLASS = re.compile(r"^ *(?:template <[^;{}]*>\n *)?friend (?:class|struct) [^;]*;$", re.M)
PART = re.compile(r"^#include <(foliot/\S+\.ipp)>$", re.M)
NAMESPACE_ALIAS = re.compile(r"^namespace \w+ = .*;$", re.M)
TERM = r"[\w.,()\[\] ]*"
LEAST_COLUMN = 12  # of the explanations in a list of terms
DIGIT_SEPARATOR = re.compile(r"(?<=[0-9])'(?=[0-9])")


def described(lines: list[str]) -> str:
    """The lines of a comment as a description of the file. What is indented is code, for which Markdown wants four
    spaces, or a list of terms."""
    text = ["/** @file"]
    for is_indented, block in groupby(lines, lambda line: line.startswith("  ")):
        block = list(block)
        if is_indented:
            block = list_of_terms(block) or ["   " + line for line in block]
        else:
            block = [escaped(line) for line in block]
        text += [" * " + line for line in block]
    return "\n".join(text) + "\n */\n"


def list_of_terms(block: list[str]) -> list[str]:
    """Lines that explain terms, all in one column on the right of the terms, as a list; nothing for other lines."""
    columns = {len(line) - len(line.lstrip()) for line in block if line.startswith(" " * LEAST_COLUMN)}
    if len(columns) != 1:
        return []
    column = columns.pop()
    items: list[str] = []
    for line in block:
        has_text = len(line) > column and line[column - 1] == " "
        term, text = (line[:column].strip(), escaped(line[column:])) if has_text else (line.strip(), "")
        if not re.fullmatch(TERM, term) or "  " in text:  # code; a table
            return []
        items.append(f"- `{term}`: {text}".rstrip() if term else "  " + text)
    return items


def escaped(prose: str) -> str:
    """No contract has commands of doxygen."""
    return re.sub(r"[\\@]", r"\\\g<0>", prose)


def blank_lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def with_parts(text: str, include: Path) -> str:
    return PART.sub(lambda part: (include / part[1]).read_text(encoding="utf-8").rstrip("\n"), text)


def cpp_header(text: str) -> str:
    text = NAMESPACE_ALIAS.sub("", text)
    text = FOREIGN.sub(blank_lines, text)
    text = FRIEND_CLASS.sub(blank_lines, text)
    text = re.sub(r"^namespace foliot::inline \w+", "namespace foliot", text, flags=re.M)
    text = CONTRACT.sub(lambda contract: escaped(contract[0]), text)
    text = DIGIT_SEPARATOR.sub("", text)
    head = HEAD.match(text)
    if head is None:
        return text
    return described([line[2:].removeprefix(" ") for line in head[0].splitlines()]) + text[head.end():]


def c_header(text: str) -> str:
    """A header in C has ordinary comments as its contracts, and names each enumeration twice."""
    head = C_HEAD.match(text)
    lines = [re.sub(r"^(/\*| \*/?) ?", "", line).removesuffix("*/") for line in head[0].splitlines()] if head else []
    text = C_NOT_FOR_READERS.sub("", text[head.end() if head else 0:])
    text = re.sub(r"^typedef (enum|struct) (\w+) \{(.*?)\} \2;$", r"\1 \2 {\3};", text, flags=re.M | re.S)
    text = re.sub(r"(?<=\S)( +)/\* ", r"\1/**< ", text)
    text = re.sub(r"^/\* ", "/** ", text, flags=re.M)
    return described(lines) + text


def filtered(header: Path) -> str:
    text = with_parts(header.read_text(encoding="utf-8"), Path(__file__).resolve().parent.parent / "include")
    return c_header(text) if header.suffix == ".h" else cpp_header(text)


def main() -> int:
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(filtered(Path(sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
