"""Where a coroutine awaits in a way that g++ 12 miscompiles.

A full expression may have one co_await, which stands neither inside ?:, && or || nor inside an
initialiser's braces. This reads brackets and a few words, no C++: && and || are operators if white
space is on both sides, as the formatter leaves them, and the text before a brace decides whether it
begins a block.
"""
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

COROUTINE_TOKEN = re.compile(
    r"\boperator\s+co_await|\bco_await\b|\b(?:if|while|for|switch)\s*(?:constexpr\s*)?(?=\()"
    r"|[(){}\[\];?]|(?<=\s)(?:&&|\|\||and|or)(?=\s)")
OPENS_BLOCK = re.compile(
    r"(?:^|[;{})\]:&]|\b(?:else|do|try|const|noexcept|override|final|mutable)"
    r"|(?:[)\]&]|\b(?:const|noexcept|mutable))\s*->[^;{}()=]+"
    r"|\b(?:class|struct|union|enum|namespace|extern)\b[^;{}=]*)$")


@dataclass
class Statement:
    """The full expression being read, and the brackets that are open in it."""
    open: list[str] = field(default_factory=list)
    awaits: list[tuple[int, int, bool]] = field(default_factory=list)  # position, depth, in braces
    branches: list[int] = field(default_factory=list)  # the depth of each ?, &&, ||

    def end(self) -> Iterable[tuple[int, str]]:
        awaits, branches = self.awaits, self.branches
        self.awaits, self.branches = [], []
        if len(awaits) > 1:
            yield awaits[1][0], "one co_await in a full expression: give the first result a name"
        for position, depth, in_braces in awaits:
            if any(branch <= depth for branch in branches):
                yield position, "no co_await inside ?:, && or ||: give the result a name, or use if"
            if in_braces:
                yield position, "no co_await inside an initialiser's braces: give the result a name"


def await_breaches(code: str) -> Iterable[tuple[int, str]]:
    statements, after_keyword = [Statement()], -1  # one statement for each block that is open
    for token in COROUTINE_TOKEN.finditer(code):
        word, here = token[0], statements[-1]
        if word == "co_await":
            here.awaits.append((token.start(), len(here.open), "{" in here.open))
        elif word in ("?", "&&", "||", "and", "or"):
            here.branches.append(len(here.open))
        elif word in ("(", "["):
            here.open.append("if(" if token.start() == after_keyword else word)
        elif word == "{":
            before = code[max(0, token.start() - 400):token.start()].rstrip()
            nested = here.open[-1:] == ["{"] and before.endswith("{")
            if nested or not OPENS_BLOCK.search(before):
                here.open.append("{")
                continue
            if not here.open:  # otherwise a lambda in the middle of an expression
                yield from here.end()
            statements.append(Statement())
        elif word == ";":
            yield from here.end()
        elif word in (")", "]", "}") and here.open:
            if here.open.pop() == "if(":
                yield from here.end()
        elif word == "}" and len(statements) > 1:
            yield from statements.pop().end()
        elif word[0] in "iwfs":
            after_keyword = token.end()
