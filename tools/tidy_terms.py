"""Terms that are retired, as the glossary's table says."""
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tidy_source import File

GLOSSARY = "docs/glossary.md"
BACKQUOTED = re.compile(r"`([^`\n]+)`")


def retired_terms(glossary: str) -> dict[str, str]:
    """The table `| not | but |` of the glossary: each term in backquotes in its first column, and its second column."""
    table = re.search(r"^\|\s*not\s*\|\s*but\s*\|[^\n]*\n((?:\|[^\n]*\n?)*)", glossary, re.M)
    terms = {}
    for row in table[1].splitlines() if table else ():
        cells = re.split(r"(?<!\\)\|", row.strip("|"))
        if len(cells) > 1:
            terms.update((term, cells[1].strip()) for term in BACKQUOTED.findall(cells[0]))
    return terms


@cache
def retired_pattern(root: Path) -> tuple[re.Pattern, dict[str, str]]:
    path = root / GLOSSARY
    terms = retired_terms(path.read_text()) if path.is_file() else {}

    def pattern(term: str) -> str:
        word, end = (term[:-2], r"(?=\s*\()") if term.endswith("()") else (term, r"(?!\w)")
        return f"[{word[0]}{word[0].upper()}]" + re.escape(word[1:]).replace(r"\ ", r"\s+") + end

    longest_first = sorted(terms, key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(pattern, longest_first)) + ")" if terms else r"(?!)"), terms


def check_retired(file: File) -> Iterable[tuple[int, str]]:
    pattern, terms = retired_pattern(file.root)
    for match in pattern.finditer(file.text):
        found = re.sub(r"\s+", " ", match[0])
        same = found, found[0].lower() + found[1:]
        instead = next(terms[term] for name in same for term in (name, name + "()") if term in terms)
        yield file.line_at(match.start()), f"{found} is a retired term ({GLOSSARY}): write {instead}"
