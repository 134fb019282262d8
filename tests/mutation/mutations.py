"""The mutations of a source: small changes, each of which a test should notice.

It works on characters, not on a syntax tree: comments, strings, preprocessor lines and what is named in PASSED_OVER are
passed over, and a blank on each side tells an operator from the brackets of a template, as clang-format writes them. A
change that means nothing to the compiler does not compile, which the command counts for itself.
"""
import re
from dataclasses import dataclass

ORDERS = ("acquire", "release", "acq_rel", "seq_cst")

# Lines that decide nothing which a test could see: contracts, messages of errors, hints to the compiler, declarations.
PASSED_OVER = re.compile(
    r"FOLIOT_ASSERT|static_assert|\brequires\b|^\s*template\b|^\s*using\b|\bnamespace\b|^\s*friend\b|prefetch|operator<<|"
    r"\bthrow\b|__attribute__|^\s*explicit\b.*\bnoexcept;|=\s*(default|delete)\s*;|assert_held|\breserve\(|^\s*case\b.*:$")

# Functions of checks and of reports: a test calls them to look, so a change in them is a change of the test.
FUNCTIONS_PASSED_OVER = re.compile(r"^\s*(?:\[\[nodiscard\]\]\s*)?(?:static\s+|inline\s+|friend\s+)*[\w:<>]*check_result\b[^;]*\{\s*$")

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" += ", " -= "), (" -= ", " += "),
         (" & ", " | "), (" | ", " & "), (" << ", " >> "), (" >> ", " << ")]
WORDS = [("true", "false"), ("false", "true"), ("break", "continue"), ("min", "max"), ("max", "min")]

CALL = re.compile(r"^\s*(?!return\b|co_return\b|delete\b|if\b|for\b|while\b|switch\b|else\b|throw\b|do\b)"
                  r"(?:co_await\s+|static_cast<void>\()?[\w:.\->*\[\]]+\(.*\)\)?;\s*$")
DECLARATION = re.compile(r"^\s*(?!co_await\b)(?:const|static|auto|constexpr|explicit|virtual|friend|void|bool|int|std::\w+|\w+)\s+[\w*&]")
ASSIGNMENT = re.compile(r"^\s*[\w.\->*\[\]()]+\s=\s[^=].*;\s*$")
RETURN = re.compile(r"^\s*return;\s*$")
NUMBER = re.compile(r"(?<![\w.'])(\d+)(?![\w.'])")


@dataclass(frozen=True)
class Mutation:
    begin: int      # in the text
    end: int
    text: str       # what stands there instead
    kind: str
    line: int       # from 1
    before: str     # the line, without the blanks around it
    after: str

    def applied(self, source):
        return source[:self.begin] + self.text + source[self.end:]

    @property
    def key(self):
        """What stays the same when lines move."""
        return f"{self.before} -> {self.after}"


# How an operator is written so that a switch decides (switches.hpp).
SWITCHED_OPERATORS = {" < ": ("<", "less", ">"), " <= ": ("<=", "less_equal", ">="), " > ": (">", "greater", ">"),
                      " >= ": (">=", "greater_equal", ">="), " == ": ("==", "equal", "=="), " != ": ("!=", "not_equal", "!=")}


def switched_edits(source, number, mutation):
    """The edits (begin, end, text) by which the source has this mutation behind a switch, or None if it cannot have one."""
    begin, end, was = mutation.begin, mutation.end, source[mutation.begin:mutation.end]
    if mutation.kind == "negated condition":
        return [(begin, begin, f"foliot_mutant::flip({number}, static_cast<bool>("), (end, end, "))")]
    if mutation.kind in ("removed call", "removed assignment") and "co_await" not in was and was.endswith(";"):
        return [(begin, begin, f"foliot_mutant::keep({number}) ? static_cast<void>("), (end - 1, end, ") : static_cast<void>(0);")]
    if mutation.kind == "removed return":
        return [(begin, begin, f"if (foliot_mutant::keep({number})) ")]
    if was in SWITCHED_OPERATORS:
        first, name, second = SWITCHED_OPERATORS[was]
        return [(begin, end, f" {first} foliot_mutant::{name}<{number}>{{}} {second} ")]
    if mutation.kind == "word" and was in ("true", "false"):
        return [(begin, end, f"foliot_mutant::flip({number}, {was})")]
    return None


def switched(source, mutations, header):
    """The source with these mutations, a number and a mutation each, behind switches."""
    edits = [edit for number, each in mutations for edit in switched_edits(source, number, each)]
    # From the back; of two that begin at one place the inner one first. An end comes before a begin at the same place.
    for begin, end, text in sorted(edits, key=lambda edit: (edit[0], edit[1]), reverse=True):
        source = source[:begin] + text + source[end:]
    return f'#include "{header}"\n#line 1\n' + source


def blanked(source):
    """The source with comments, strings and preprocessor lines as blanks, so that offsets stay."""
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
                         re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def closing(text, opening):
    """Where the bracket that opens at `opening` closes, or -1."""
    depth = 0
    for at in range(opening, len(text)):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at
    return -1


def lines_passed_over(lines):
    """The numbers, from 0, of lines that are not changed."""
    found, depth, is_inside = set(), 0, False
    for number, line in enumerate(lines):
        if not is_inside and FUNCTIONS_PASSED_OVER.match(line):
            is_inside, depth = True, 0
        if is_inside:
            found.add(number)
            depth += line.count("{") - line.count("}")
            is_inside = depth > 0
        if PASSED_OVER.search(line):
            found.add(number)
    return found


class Finder:
    def __init__(self, source):
        self.source, self.text = source, blanked(source)
        self.lines = self.text.split("\n")
        self.passed_over = lines_passed_over(self.lines)
        self.found = []

    def add(self, begin, end, text, kind):
        line = self.source.count("\n", 0, begin)
        if line in self.passed_over:
            return
        first = self.source.rfind("\n", 0, begin) + 1
        last = self.source.find("\n", end)
        last = len(self.source) if last < 0 else last
        after = self.source[first:begin] + text + self.source[end:last]
        flat = lambda words: re.sub(r"\s+", " ", words).strip()
        self.found.append(Mutation(begin, end, text, kind, line + 1, flat(self.source[first:last]), flat(after)))

    def operators(self):
        for was, now in SWAPS:
            for place in re.finditer(re.escape(was), self.text):
                self.add(place.start(), place.end(), now, "operator")
        for was, now in WORDS:
            for place in re.finditer(rf"\b{was}\b(?=[;,)\s(])", self.text):
                self.add(place.start(), place.end(), now, "word")
        for place in re.finditer(r"(?<=[\s(])(\+\+|--)(?=[\w*(])|(?<=[\w)\]])(\+\+|--)(?=[;)\s\]])", self.text):
            self.add(place.start(), place.end(), "--" if place.group() == "++" else "++", "operator")

    def orders(self):
        for place in re.finditer(rf"\b(?:seam::)?({'|'.join(ORDERS)})\b(?=[,)])", self.text):
            begin = place.start(1)
            self.add(begin, place.end(), "relaxed", "memory order")

    def conditions(self):
        for place in re.finditer(r"\b(?:if|while) \(", self.text):
            opening = place.end() - 1
            end = closing(self.text, opening)
            inside = self.text[opening + 1:end]
            if end < 0 or ";" in inside or re.match(r"\s*(?:const\s+)?auto\b|.*[^=!<>]=[^=]", inside, re.DOTALL):
                continue
            self.add(opening + 1, end, f"!({self.source[opening + 1:end]})", "negated condition")

    def numbers(self):
        for place in NUMBER.finditer(self.text):
            value = int(place.group())
            self.add(place.start(), place.end(), str(value + 1), "constant")
            if value > 0:
                self.add(place.start(), place.end(), str(value - 1), "constant")

    def statements(self):
        begin = 0
        for line in self.lines:
            code = line.strip()
            is_whole = code.count("(") == code.count(")") and code.count("{") == code.count("}")
            at = begin + len(line) - len(line.lstrip())
            if is_whole and CALL.match(line) and not DECLARATION.match(line):
                self.add(at, at + len(code), ";", "removed call")
            elif is_whole and ASSIGNMENT.match(line) and not DECLARATION.match(line):
                self.add(at, at + len(code), ";", "removed assignment")
            elif RETURN.match(line):
                self.add(at, at + len(code), ";", "removed return")
            begin += len(line) + 1


def mutations_of(source):
    """In the order of the source; each of them changes the text."""
    finder = Finder(source)
    finder.operators()
    finder.orders()
    finder.conditions()
    finder.numbers()
    finder.statements()
    return sorted(finder.found, key=lambda each: (each.begin, each.end, each.text))
