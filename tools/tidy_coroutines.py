#!/usr/bin/env python3
"""Finds the coroutines that g++ 12 miscompiles: it destroys some temporaries of a co_await expression twice.

usage: foliot-check-coroutines [--quiet] [--skip-missing] [-I FOLDER]... [FILE | FOLDER]...

Reads the C++ sources that are named, or below the folders that are named, the present one by default, and prints
`path:line: what is wrong, and what to write instead` for each breach. Exit status: 0 without any, 1 with some, 2 for
wrong arguments. A line that is right all the same ends with a comment, with a reason:
`foliot-check-coroutines: allow this class has a constructor`.

A full expression may have one co_await, which stands neither inside ?:, && or || nor inside an initialiser's braces. In
the same expression no object is made with braces, or by an aggregate's parentheses, and no closure that captures by
copy: these are what is destroyed twice.

This reads brackets and a few words, no C++: && and || are operators if white space is on both sides, as formatters
leave them, and the text before a brace decides whether it begins a block. Classes with constructors are safe, and so are
structs of plain numbers, pointers and references, and the standard library's classes, but std::array. Of other classes it
knows what the files declare that it reads; if that is not enough, it also reads the headers that these include, beside
the file or below a folder of -I. What is made of a class that it still does not know is reported, with the words
`unless` and what was not found.
"""
import argparse
import bisect
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# The tokens of C++ text. The first group is a comment, the second a string. Numbers and words match
# so that a quote inside a number (1'000) does not begin a string.
CPP_TOKEN = re.compile(
    r"""(//(?:\\\n|[^\n])*|/\*.*?\*/)"""
    r"""|((?<!\w)(?:u8|[uUL])?R"([^()\\\s]*)\(.*?\)\3"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?<!\w)\d(?:'?[\w.])*|\w+""", re.S)


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def without_comments_and_strings(text: str) -> str:
    """C++ code with its comments and strings blanked, but for the quotes; lines and columns stay."""
    def blanked(token: re.Match) -> str:
        if token[1]:
            return blank(token[0])
        return token[2][0] + blank(token[2][1:-1]) + token[2][-1] if token[2] else token[0]
    return CPP_TOKEN.sub(blanked, text)


# ---------------------------------------------------------------- which classes are safe

CLASS_HEAD = re.compile(r"(?<!enum )\b(struct|class|union)\s+(?:(?:[A-Z][A-Z_]{2,}(?:\([^()]*\))?|\[\[[^\]]*\]\]"
                        r"|alignas\([^()]*\))\s+)*([A-Za-z_]\w*)(?:<[^;{}()]*>)?(?:\s+final)?\s*(:(?!:)[^;{}()]*)?\{")
OTHER_NAME = re.compile(r"\benum\s+(?:class\s+|struct\s+)?([A-Za-z_]\w*)|\busing\s+([A-Za-z_]\w*)\s*=\s*([^;]*);")
PLAIN = re.compile(
    r"(?:(?:const|mutable|unsigned|signed|long|short|volatile)\s+)*"
    r"(?:bool|char|int|unsigned|long|short|float|double|std::byte|(?:std::)?(?:string_view|nullptr_t)"
    r"|(?:std::)?(?:u?int(?:_fast|_least)?\d+|size|ssize|ptrdiff|u?intptr)_t|std::chrono::\w+|std::span<[^;]*>"
    r"|(?:foliot::)?(?:duration|instant)|.*[*&])\s*(?:const)?", re.S)
NO_MEMBER = re.compile(r"(?:static|using|friend|typedef|template|enum|struct|class|union|public|private|protected)\b")


@dataclass(frozen=True)
class Class:
    """What the text of a class, an enumeration or an alias shows."""
    is_aggregate: bool = False
    members: tuple[str, ...] = ()  # the types of an aggregate's
    has_destructor: bool = False   # an aggregate that has declared one
    alias_of: str = ""
    scopes: tuple[str, ...] = ()   # the namespaces and classes that it is in, as scopes_at() has them


Classes = Mapping[str, list[Class]]  # by name: several classes may have the same
ELSEWHERE = "::"  # before the name of a class of another file, if the file has one with the same name


def body_of(code: str, opening: int) -> str:
    """The text between a brace and the one that closes it, without what is in braces inside of it."""
    depth, kept, since = 1, [], opening + 1
    for brace in re.finditer("[{}]", code[opening + 1:]):
        at = opening + 1 + brace.start()
        if brace[0] == "{":
            if depth == 1:
                kept.append(code[since:at])
            depth += 1
        else:
            depth -= 1
            if depth == 1:
                since = at + 1
            elif depth == 0:
                return ";".join([*kept, code[since:at]])
    return ""


def without_angles(text: str) -> str:
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text


def class_of(kind: str, name: str, base: str | None, body: str, scopes: tuple[str, ...]) -> Class:
    if kind != "struct" or re.search(r"\b(?:virtual|private|protected)\b|\busing\s+[\w:]+::(\w+)\s*;", body):
        return Class(scopes=scopes)
    if re.search(rf"(?<![~\w:]){name}\s*\(", body):
        return Class(scopes=scopes)
    members = [base] if base else []
    for statement in body.split(";"):
        statement = re.sub(r"\[\[[^\]]*\]\]|^[\s\w]*:(?!:)", "", statement.strip()).strip()
        plain = without_angles(statement)
        if statement and not NO_MEMBER.match(statement) and "(" not in plain and "operator" not in plain:
            of = re.sub(r"\s*=.*|\s*\[.*", "", statement, flags=re.S)
            members.append(re.sub(r"(?<![\w:])\w+\s*$", "", of).strip())
    return Class(True, tuple(members), re.search(rf"~{name}\s*\((?![^;]*=\s*default)", body) is not None, scopes=scopes)


NAMESPACE = re.compile(r"\b(inline\s+)?namespace\s*([\w:\s]*)\{")
OF_CLASS, OF_INLINE = ".", "~"  # before the name of a scope that is a class, or an inline namespace


def scopes_at(code: str) -> dict[int, tuple[str, ...]]:
    """For the position of each brace: the names of the namespaces and classes that surround what follows it."""
    names = {head.end() - 1: [OF_CLASS + head[2]] for head in CLASS_HEAD.finditer(code)}
    for head in NAMESPACE.finditer(code):
        parts_ = re.findall(r"(inline\s+)?\b(?!inline\b)(\w+)", (head[1] or "") + head[2])
        names[head.end() - 1] = [(OF_INLINE if is_inline else "") + name for is_inline, name in parts_]
    found: dict[int, tuple[str, ...]] = {-1: ()}
    open_: list[tuple[str, ...]] = [()]
    for brace in re.finditer("[{}]", code):
        if brace[0] == "{":
            open_.append(open_[-1] + tuple(names.get(brace.start(), [])))
        elif len(open_) > 1:
            open_.pop()
        found[brace.start()] = open_[-1]
    return found


def namespaces_of(scopes: tuple[str, ...]) -> tuple[str, ...]:
    """Those that a name in these scopes must show to be found from outside."""
    return tuple(scope for scope in scopes if scope[0] not in (OF_CLASS, OF_INLINE))


@dataclass
class Place:
    """Where a name is used that has no scope of its own."""
    scopes: tuple[str, ...] = ()
    uses_others: bool = False  # the file has a using directive or a using declaration


def classes_of(codes: Iterable[str]) -> Classes:
    """The classes, enumerations and aliases that this code declares."""
    found: dict[str, list[Class]] = {}
    for code in codes:
        scopes = scopes_at(code)
        braces = list(scopes)
        for head in CLASS_HEAD.finditer(code):
            found.setdefault(head[2], []).append(
                class_of(head[1], head[2], head[3], body_of(code, head.end() - 1), scopes_of(head.start(), scopes, braces)))
        for other in OTHER_NAME.finditer(code):
            found.setdefault(other[1] or other[2], []).append(
                Class(alias_of=(other[3] or "int").strip(), scopes=scopes_of(other.start(), scopes, braces)))
    return found


def scopes_of(position: int, scopes: Mapping[int, tuple[str, ...]], braces: list[int]) -> tuple[str, ...]:
    """The scopes of a position, by scopes_at() and its keys."""
    return scopes[braces[bisect.bisect_left(braces, position) - 1]]


def named(name: str, classes: Classes, at: Place = Place()) -> list[Class]:
    """What is known of the classes that this name may mean."""
    *scopes, last = (part.strip() for part in without_angles(name).strip().removeprefix("::").split("::"))

    def is_meant(one: Class) -> bool:
        outer = (scope.lstrip(OF_CLASS + OF_INLINE) for scope in one.scopes)
        return all(scope in outer for scope in scopes)  # the name may leave out an inline namespace

    found = (list(filter(is_meant, classes.get(last, []))) or
             (list(filter(is_meant, classes.get(ELSEWHERE + last, []))) if scopes else []))
    return found if scopes else nearest(found, at)


def nearest(found: list[Class], at: Place) -> list[Class]:
    """Of classes with the same name, those that a name without a scope means: those of the innermost namespace around
    it, and those of classes, from which it may inherit; all if none is around it, or if names of others are used."""
    around = namespaces_of(at.scopes)
    near = [one for one in found if namespaces_of(one.scopes) == around[:len(namespaces_of(one.scopes))]]
    if at.uses_others or not near:
        return found
    depth = max((len(namespaces_of(one.scopes)) for one in near if not is_in_class(one)), default=0)
    return [one for one in near if is_in_class(one) or len(namespaces_of(one.scopes)) == depth]


def is_in_class(one: Class) -> bool:
    return any(scope[0] == OF_CLASS for scope in one.scopes)


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """True if one is; None if none is and one is not known."""
    result: bool | None = False
    for each in answers:
        if each:
            return True
        if each is None:
            result = None
    return result


Answers = dict[str, bool | None]  # of the types that were asked for already; None while one is being looked at


def does_something_at_its_end(kind: str, classes: Classes, seen: Answers, at: Place) -> bool | None:
    """Whether objects of this type have a destructor that does something; None if it is not known."""
    kind = re.sub(r"\b(?:const|mutable)\s+", "", kind).strip()
    if PLAIN.fullmatch(kind):
        return False
    if kind in seen:
        return seen[kind]
    seen[kind] = None
    if of := OF_ITS_ARGUMENTS.fullmatch(kind):
        seen[kind] = any_of(not each.isdigit() and does_something_at_its_end(each, classes, seen, at)
                            for each in parts(of[1], "(){}[]<>"))
    elif OWNER.match(kind):
        seen[kind] = True
    elif known := named(kind, classes, at):
        seen[kind] = any_of(
            does_something_at_its_end(one.alias_of, classes, seen, in_scope_of(one, at)) if one.alias_of else
            not one.is_aggregate or one.has_destructor or
            any_of(does_something_at_its_end(member, classes, seen, in_scope_of(one, at)) for member in one.members)
            for one in known)
    return seen[kind]


def in_scope_of(one: Class, at: Place) -> Place:
    return Place(one.scopes, at.uses_others)


def is_destroyed_twice(name: str, classes: Classes, at: Place, depth: int = 0) -> bool | None:
    """Whether temporaries of that class are; None if it is not known."""
    if SAFE_NAME.fullmatch(without_angles(name).strip()) or PLAIN.fullmatch(name):
        return False
    known = named(name, classes, at)
    if not known or depth > 3:
        return None
    seen: Answers = {}
    return any_of(is_destroyed_twice(one.alias_of, classes, in_scope_of(one, at), depth + 1) if one.alias_of else
                  one.is_aggregate and (one.has_destructor or any_of(
                      does_something_at_its_end(member, classes, seen, in_scope_of(one, at)) for member in one.members))
                  for one in known)


def unless(name: str, classes: Classes) -> str:
    """What makes temporaries of a class safe that is not known well enough."""
    if not named(name, classes):
        return ", unless its class has a constructor: no file that was read declares it"
    return ", unless all its members are plain: no file that was read declares their classes"


OF_ITS_ARGUMENTS = re.compile(r"std::(?:array|optional|pair|tuple|variant|expected)<(.*)>", re.S)
OWNER = re.compile(
    r"std::(?:(?:pmr::)?(?:basic_)?(?:w|u8|u16|u32)?string\b(?!_)|(?:pmr::)?(?:vector|deque|list|forward_list|map|set"
    r"|multimap|multiset|unordered_\w+)\b|function\b|move_only_function\b|any\b|shared_ptr\b|unique_ptr\b|weak_ptr\b"
    r"|exception_ptr\b|thread\b|jthread\b|promise\b|future\b|shared_future\b|filesystem::path\b|unique_lock\b"
    r"|lock_guard\b|stop_token\b|stop_source\b)")
SAFE_NAME = re.compile(
    r"(?:::)?std::(?!array\b).*|(?:::)?(?:bool|char|int|unsigned|long|short|float|double|u?int\d+_t|size_t|auto)"
    r"|(?:[\w:]*::)?(?:seconds|milliseconds|microseconds|nanoseconds|minutes|hours|duration|instant)")

# ---------------------------------------------------------------- full expressions

USES_OTHERS = re.compile(r"\busing\s+(?:namespace\b|[\w:]+::\w+\s*;)")
COROUTINE_TOKEN = re.compile(
    r"\boperator\s+co_await|\bco_await\b|\b(?:if|while|for|switch)\s*(?:constexpr\s*)?(?=\()"
    r"|[(){}\[\];?]|(?<=\s)(?:&&|\|\||and|or)(?=\s)")
OPENS_BLOCK = re.compile(
    r"(?:^|[;{})\]:&]|\b(?:else|do|try|const|noexcept|override|final|mutable)"
    r"|(?:[)\]&]|\b(?:const|noexcept|mutable))\s*->[^;{}()=]+"
    r"|\b(?:class|struct|union|enum|namespace|extern)\b[^;{}=]*)$")
NAME_BEFORE = re.compile(r"(?<![\w:])((?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)\s*(?:<[^;{}()]*>)?$")
NO_CLASS = re.compile(r"(?:co_await|co_return|co_yield|return|and|or|not|sizeof|alignof|decltype|noexcept|throw|new|if"
                      r"|while|for|switch|catch|case)$")
CLOSURE_BEFORE = re.compile(r"(?:^|[(,{=&|?:;<>!]|\b(?:co_await|co_return|return|and|or|not))$")
GIVE_A_NAME = ("give the object a name in a statement of its own, and pass std::move(name); instead of a send,"
               " emplace(std::move(name))")


@dataclass
class Statement:
    """The full expression being read, and the brackets that are open in it."""
    open: list[str] = field(default_factory=list)
    awaits: list[tuple[int, int, bool]] = field(default_factory=list)  # position, depth, in braces
    branches: list[int] = field(default_factory=list)  # the depth of each ?, &&, ||
    twice: list[tuple[int, str]] = field(default_factory=list)  # what would be destroyed twice beside a co_await

    def end(self) -> Iterable[tuple[int, str]]:
        awaits, branches, twice = self.awaits, self.branches, self.twice
        self.awaits, self.branches, self.twice = [], [], []
        if len(awaits) > 1:
            yield awaits[1][0], "one co_await in a full expression: give the first result a name"
        for position, depth, in_braces in awaits:
            if any(branch <= depth for branch in branches):
                yield position, "no co_await inside ?:, && or ||: give the result a name, or use if"
            if in_braces:
                yield position, "no co_await inside an initialiser's braces: give the result a name"
        if awaits and not any(in_braces for _, _, in_braces in awaits):
            yield from twice


def until_closed(code: str, opening: int) -> str:
    """The text from behind a bracket to the one that closes it."""
    depth = 1
    for bracket in re.finditer(r"[(){}\[\]]", code[opening + 1:opening + 4000]):
        depth += 1 if bracket[0] in "({[" else -1
        if depth == 0:
            return code[opening + 1:opening + 1 + bracket.start()]
    return ""


def parts(list_: str, brackets: str = "(){}[]") -> list[str]:
    """What stands between the commas of a list, if they are not inside brackets."""
    depth, found, since = 0, [], 0
    for token in re.finditer(f"[{re.escape(brackets)},]", list_):
        if token[0] == ",":
            if depth == 0:
                found.append(list_[since:token.start()])
                since = token.end()
        else:
            depth += 1 if token[0] in "({[<" else -1
    return [part.strip() for part in [*found, list_[since:]] if part.strip()]


def made_with_braces(before: str, in_argument: bool, classes: Classes, at: Place) -> str | None:
    """What is wrong with the object that these braces make, if something is. Braces that have no name before them are
    those of an argument; others initialise a variable or a member."""
    if re.search(r"[(,]$", before):
        return (f"no braces as an argument beside a co_await, which g++ 12 destroys twice: {GIVE_A_NAME}"
                if in_argument else None)
    name = NAME_BEFORE.search(before)
    if name is None or NO_CLASS.match(name[1]) or SAFE_NAME.fullmatch(name[1]):
        return None
    if not in_argument and not re.search(r"\bco_await\b[^;{}]*$", before[:name.start()]):
        return None  # a variable with this initialiser
    twice = is_destroyed_twice(name[1], classes, at)
    if twice is False:
        return None
    but = "" if twice else unless(name[1], classes)
    return f"g++ 12 destroys this {name[1]}, which is made beside a co_await, twice{but}: {GIVE_A_NAME}"


def made_with_parentheses(before: str, inside: str, classes: Classes, at: Place) -> str | None:
    """The same of parentheses: `classes` are those of the same file, as functions of others may have their names."""
    name = NAME_BEFORE.search(before)
    if name is None or not is_destroyed_twice(name[1], classes, at) or len(parts(inside)) < 2:
        return None
    if re.search(r"[\w>*&.]\s*$", before[:name.start()]) and not re.search(
            r"\b(?:co_await|co_return|return)\s*$", before[:name.start()]):
        return None  # a declaration, or a member function of that name
    return f"g++ 12 destroys this {name[1]}, which is made beside a co_await, twice: {GIVE_A_NAME}"


def captures_by_copy(captures: str) -> bool:
    return any(not re.match(r"&|this$", capture) for capture in parts(captures))


def await_breaches(code: str, classes: Classes | None = None) -> Iterable[tuple[int, str]]:
    """The breaches of code without comments and strings. `classes`: those that other files declare."""
    own = classes_of([code])
    classes = {**(classes or {}), **own, **{ELSEWHERE + name: classes[name] for name in own if name in (classes or {})}}
    scopes, uses_others = scopes_at(code), USES_OTHERS.search(code) is not None
    braces = list(scopes)
    statements, after_keyword = [Statement()], -1  # one statement for each block that is open
    for token in COROUTINE_TOKEN.finditer(code):
        word, here = token[0], statements[-1]
        before = code[max(0, token.start() - 400):token.start()].rstrip() if word in ("{", "(", "[") else ""
        at = Place(scopes_of(token.start(), scopes, braces), uses_others) if before else Place()
        if word == "co_await":
            here.awaits.append((token.start(), len(here.open), "{" in here.open))
        elif word in ("?", "&&", "||", "and", "or"):
            here.branches.append(len(here.open))
        elif word in ("(", "["):
            if word == "(":
                wrong = made_with_parentheses(before, until_closed(code, token.start()), own, at)
            else:
                is_closure = CLOSURE_BEFORE.search(before) and code[token.start():token.start() + 2] != "[["
                wrong = None
                if is_closure and captures_by_copy(until_closed(code, token.start())):
                    wrong = ("g++ 12 destroys this closure, which captures by copy beside a co_await, twice: "
                             + GIVE_A_NAME)
            if wrong:
                here.twice.append((token.start(), wrong))
            here.open.append("if(" if token.start() == after_keyword else word)
        elif word == "{":
            nested = here.open[-1:] == ["{"] and before.endswith("{")
            if nested or not OPENS_BLOCK.search(before):
                wrong = None if nested else made_with_braces(before, bool(here.open), classes, at)
                if wrong:
                    here.twice.append((token.start(), wrong))
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


# ---------------------------------------------------------------- the program

SUFFIXES = {".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".h", ".ipp", ".inl", ".tpp"}
ALLOW = re.compile(r"//.*foliot-check-coroutines: allow\b[ \t]*(.*)")


def sources(places: Iterable[Path]) -> Iterable[Path]:
    for place in places:
        if not place.is_dir():
            yield place
            continue
        for folder, folders, names in os.walk(place):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            files = (Path(folder) / name for name in sorted(names) if Path(name).suffix in SUFFIXES)
            yield from (file for file in files if file.is_file())  # an editor's lock is a link to nothing


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)


def with_included(texts: Mapping[Path, str], folders: Iterable[Path]) -> dict[Path, str]:
    """These files, and all headers that they include, as far as they are beside them or below the folders."""
    found, waiting = {path.resolve(): text for path, text in texts.items()}, [*texts.items()]
    while waiting:
        path, text = waiting.pop()
        for include in INCLUDE.finditer(text):
            places = [*([path.parent] if include[1] else []), *folders]
            header = next((file for place in places if (file := place / (include[1] or include[2])).is_file()), None)
            if header is not None and header.resolve() not in found:
                found[header.resolve()] = header.read_text(encoding="utf-8", errors="replace")
                waiting.append((header, found[header.resolve()]))
    return found


def breaches_of(text: str, code: str, classes: Classes) -> list[tuple[int, str]]:
    """The lines with a breach, without those that a comment allows."""
    found = sorted({(text.count("\n", 0, position) + 1, message)
                    for position, message in await_breaches(code, classes)})
    if not found and "foliot-check-coroutines" not in text:
        return found
    for number, line in enumerate(text.split("\n"), 1):
        allowed = ALLOW.search(line)
        if not allowed:
            continue
        excused = [finding for finding in found if finding[0] == number]
        found = [finding for finding in found if finding[0] != number]
        if not allowed[1]:
            found.append((number, "a reason is missing: foliot-check-coroutines: allow and a reason"))
        elif not excused:
            found.append((number, "nothing is wrong here: remove the comment"))
    return sorted(found)


def all_breaches(texts: Mapping[Path, str], codes: Mapping[Path, str], classes: Classes) -> list[tuple[Path, int, str]]:
    return [(path, line, message) for path, text in texts.items() if "co_await" in text
            for line, message in breaches_of(text, codes[path], classes)]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="foliot-check-coroutines", formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="foliot-check-coroutines [--quiet] [--skip-missing] [-I FOLDER]... [FILE | FOLDER]...", description=__doc__.split("\n\n", 2)[0] + "\n\n"
        + __doc__.split("\n\n", 2)[2])
    parser.add_argument("places", nargs="*", type=Path, metavar="FILE | FOLDER")
    parser.add_argument("--quiet", action="store_true", help="print nothing if nothing is wrong")
    parser.add_argument("--skip-missing", action="store_true",
                        help="leave out files that are not there, such as generated ones; read nothing by default")
    parser.add_argument("-I", action="append", type=Path, default=[], dest="folders", metavar="FOLDER",
                        help="where headers are that the files include; what is wrong in them is not reported")
    options = parser.parse_intermixed_args()
    places = options.places or ([] if options.skip_missing else [Path(".")])
    if options.skip_missing:
        places = [place for place in places if place.exists()]
    for place in places:
        if not place.exists():
            parser.error(f"{place}: no such file or folder")
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in sources(places)}
    codes = {path: without_comments_and_strings(text) for path, text in texts.items()}
    found = all_breaches(texts, codes, classes_of(codes.values()))
    if any(" unless " in message for _, _, message in found):
        more = with_included(texts, options.folders)
        found = all_breaches(texts, codes, classes_of(map(without_comments_and_strings, more.values())))
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    count = len(found)
    if options.quiet and count == 0:
        return 0
    print(f"foliot-check-coroutines: {len(texts)} {'file' if len(texts) == 1 else 'files'}, "
          f"{count} {'breach' if count == 1 else 'breaches'}", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
