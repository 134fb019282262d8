"""Terms that are retired, as the glossary's table says."""
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tidy_source import File

GLOSSARY = "docs/glossary.md"
BACKQUOTED = re.compile(r"`([^`\n]+)`")


@dataclass
class Term:
    instead: str
    where: tuple[str, ...]  # the beginnings of the paths in which it is retired; empty: in all

    def applies(self, path: str) -> bool:
        return not self.where or path.startswith(self.where)


def retired_terms(glossary: str) -> dict[str, Term]:
    """The table `| not | but | where |` of the glossary: each term in backquotes in its first column, its second
    column, and the paths in backquotes in its third one, which may be missing."""
    table = re.search(r"^\|\s*not\s*\|\s*but\s*\|[^\n]*\n((?:\|[^\n]*\n?)*)", glossary, re.M)
    terms = {}
    for row in table[1].splitlines() if table else ():
        cells = re.split(r"(?<!\\)\|", row.strip("|"))
        if len(cells) > 1:
            term = Term(cells[1].strip(), tuple(BACKQUOTED.findall(cells[2])) if len(cells) > 2 else ())
            terms.update((name, term) for name in BACKQUOTED.findall(cells[0]))
    return terms


def pattern_of(term: str) -> str:
    """The term as a word of its own, and between the underscores of a longer name. One that ends with an underscore is
    the whole name of a member. No letter stands before it, which retired_pattern sees to for all of them at once: most
    places of a text are within a word."""
    if term.endswith("()"):
        word, begin, end = term[:-2], "(?<!_)", r"(?=\s*\()"
    elif term.endswith("_"):
        word, begin, end = term, "(?<!_)", r"(?!\w)"
    else:
        word, begin, end = term, "", r"(?![^\W_])"
    return begin + f"[{word[0]}{word[0].upper()}]" + re.escape(word[1:]).replace(r"\ ", r"\s+") + end


@cache
def retired_pattern(root: Path) -> tuple[re.Pattern, dict[str, Term]]:
    path = root / GLOSSARY
    terms = retired_terms(path.read_text()) if path.is_file() else {}
    longest_first = sorted(terms, key=len, reverse=True)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(pattern_of, longest_first))})" if terms else r"(?!)"), terms


def check_retired(file: File) -> Iterable[tuple[int, str]]:
    pattern, terms = retired_pattern(file.root)
    for match in pattern.finditer(file.text):
        found = re.sub(r"\s+", " ", match[0])
        same = found, found[0].lower() + found[1:]
        term = next(terms[term] for name in same for term in (name, name + "()") if term in terms)
        if term.applies(file.path):
            yield file.line_at(match.start()), f"{found} is a retired term ({GLOSSARY}): write {term.instead}"
