#!/usr/bin/env python3
"""Reports where the tree breaks foliot's rules of style, and what to write instead.

usage: tools/tidy.py [--root DIR] [--report]

Prints `path:line: rule: message` for each breach. Exit status: 0 without any, 1 with some, 2 for
wrong arguments. A line that has to break a rule says so, with a reason, in a comment at its end:
`tidy: allow(rule) reason`. The rules are the list RULES near the end.
"""
import argparse
import os
import re
import re._constants as sre_constants  # Debian 12 has Python 3.11
import re._parser as sre_parse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote

sys.dont_write_bytecode = True  # the modules below lie beside this file, in the source tree
from tidy_contracts import check_contracts
from tidy_coroutines import Classes, await_breaches, classes_of
from tidy_names import check_names
from tidy_scopes import check_awaiters
from tidy_source import File, blank, functions, read_files
from tidy_terms import check_retired

Finding = tuple[int, str]  # a line and a message

# ---------------------------------------------------------------- checks that take more than a pattern

LAYERS = {"core": ["core"], "schedule": ["core", "schedule"], "queue": ["core", "queue"], "service": ["core", "queue", "service"],
          "lineage": ["core", "queue", "service", "lineage"],
          "runtime": ["core", "queue", "runtime"], "adapters": ["core", "queue", "adapters"],
          "tls": ["core", "queue", "runtime", "tls"], "jobs": ["core", "queue", "runtime", "jobs"],
          "client": ["core", "queue", "runtime", "tls", "jobs", "client"],
          "c": ["core", "queue", "service", "adapters", "c"], "text": ["core", "queue", "runtime", "jobs", "text"],
          "server": ["core", "schedule", "queue", "runtime", "tls", "jobs", "text", "server"]}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
SEAM = r"(?:include/foliot|src)/core/seam/"
STANDARD_HEADER = r"[a-z_0-9]+"
SYSTEM_HEADER = r"(?:(?:linux|sys|asm|net|netinet|arpa|sanitizer|foliot_simulation|foliot_model)/)?\w+(?:\.h|\.hpp)?"
PROGRAM_LIBRARY = r"CLI/|fmt/|nlohmann/|(?:bzlib|lzma|zlib|zstd|zstd_errors)\.h$"
TEST_LIBRARY = r"(?:gtest|gmock|rapidcheck|benchmark)/|rapidcheck\.h$"


def layer_of(path: str) -> str | None:
    if path == "include/foliot/foliot.h":
        return "c"
    match = re.match(r"(?:include/foliot/|src/|(?=server/))(\w+)(?:/|\.[hc]pp$)", path)
    return match[1] if match and match[1] in LAYERS else None


def included_path(file: File, quote: str, name: str) -> str | None:
    """Where in the tree an include points to; None for a header from outside."""
    if name.startswith("foliot/") or name == "foliot.hpp":
        return "include/" + name
    if quote == "<":
        return None
    beside = os.path.normpath(os.path.join(os.path.dirname(file.path), name))
    if (file.root / beside).exists():
        return beside
    first = name.split("/")[0]
    return name if first == "server" else "src/" + name if first in LAYERS else None


def include_breach(file: File, quote: str, name: str) -> str | None:
    if file.path.startswith("include/") and quote == '"' and not name.startswith("foliot/"):
        return f"a public header includes only installed headers: {name} is not one"
    if name.startswith("../"):
        return f"name {name} from its root (src/, programs/foliot/, tests/, or the tree's for server/ and bench/)"
    if re.match(PROGRAM_LIBRARY, name) and not re.match(
            "(?:programs|server|src/text|tests|bench)/|include/foliot/adapters/", file.path):
        return f"<{name}> belongs to programs/, server/, tests/, bench/ and adapters: take it out of the library"
    if re.match(TEST_LIBRARY, name) and not re.match("(?:tests|bench)/", file.path):
        return f"<{name}> belongs to tests/ and bench/"
    layer = layer_of(file.path)
    if layer is None:
        return None
    target = included_path(file, quote, name)
    if target == "include/foliot/version.hpp":
        return None  # every layer may use it
    if target is not None and layer_of(target) not in LAYERS[layer]:
        return f"{layer} may include only {', '.join(LAYERS[layer])}, and {name} is not there"
    allowed = SYSTEM_HEADER if re.match(SEAM, file.path) else STANDARD_HEADER
    if target is None and layer == "core" and not re.fullmatch(allowed, name):
        return f"core may use only the standard library: move what needs <{name}> behind <foliot/core/seam/...>"
    return None


def check_includes(file: File) -> Iterable[Finding]:
    for match in INCLUDE.finditer(file.uncommented):
        in_a_string = "include" not in file.code[match.start():match.end()]
        message = None if in_a_string else include_breach(file, match[1], match[2])
        if message:
            yield file.line_at(match.start(2)), message


def check_file_head(file: File) -> Iterable[Finding]:
    lines = [(number, line.strip()) for number, line in enumerate(file.lines, 1) if line.strip()]
    if not lines or not lines[0][1].startswith("//"):
        yield 1, "begin with a comment that is the header's contract: purpose, threads, invariants"
    number, first = next(((n, line) for n, line in lines if not line.startswith("//")), (1, ""))
    if first != "#pragma once":
        yield number, "#pragma once must follow the opening comment"


LANGUAGE = "#include <foliot/core/language.hpp>"


def check_language(file: File) -> Iterable[Finding]:
    """With a wrong -std the first error is in a header that includes no other of foliot, or in <coroutine>: such a
    header includes the check of the language first."""
    includes = [(match.start(), match[0].strip()) for match in INCLUDE.finditer(file.uncommented)]
    if not includes and not re.search(r"^namespace ", file.code, re.M):
        return
    names = [name for _, name in includes]
    others = [name for name in names if re.match(r"#include <foliot/.*\.hpp>", name) and name != LANGUAGE]
    if (not others or "#include <coroutine>" in names) and names[:1] != [LANGUAGE]:
        line = file.line_at(includes[0][0]) if includes else 1
        yield line, f"{LANGUAGE} must be the first include here: it reports a compiler without C++23"


TODO_WORDS = "|".join(["TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"])


def check_todo(file: File) -> Iterable[Finding]:
    for match in re.finditer(rf"\b({TODO_WORDS})\b(\((?:[^\s()]+\s+){{2,}}[^()]+\):)?", file.text):
        if not match[2]:
            yield file.line_at(match.start()), f"give a reason: {match[1]}(three words or more): what to do"


def check_whitespace(file: File) -> Iterable[Finding]:
    for number, line in enumerate(file.lines, 1):
        if "\t" in line:
            yield number, "a tab: use spaces, or \\t in a string"
        if line != line.rstrip():
            yield number, "white space at the end of the line: remove it"


def check_links(file: File) -> Iterable[Finding]:
    prose = re.sub(r"^ *(```|~~~).*?^ *\1|`[^`\n]*`", lambda code: blank(code[0]), file.text, flags=re.M | re.S)
    for match in re.finditer(r"\]\(\s*(<[^>\n]*>|[^)\s]*)[^)\n]*\)|^ {0,3}\[[^\]\n]+\]:\s*(\S+)", prose, re.M):
        link = (match[1] or match[2] or "").strip("<>")
        path = unquote(link.split("#")[0])
        if not path or re.match(r"[a-zA-Z][\w+.-]*:|//", link):
            continue
        base = file.root if path.startswith("/") else (file.root / file.path).parent
        target = Path(os.path.normpath(base / path.lstrip("/")))
        if not target.exists() or not target.is_relative_to(file.root):
            yield file.line_at(match.start()), f"no file {path}: correct the link or remove it"


@cache
def tree(root: Path) -> list[File]:
    return read_files(root)


@cache
def known_classes(root: Path) -> Classes:
    """The classes of the tree, whose temporaries in coroutines may be safe."""
    return classes_of(file.code for file in tree(root) if file.kind == "cpp")


def check_coroutines(file: File) -> Iterable[Finding]:
    for position, message in await_breaches(file.code, known_classes(file.root)) if "co_await" in file.code else ():
        yield file.line_at(position), message


# ---------------------------------------------------------------- the rules

@dataclass
class Rule:
    name: str
    check: Callable[[File], Iterable[Finding]]
    kinds: str = "cpp"    # separated by spaces; empty for every text file
    where: str = ""       # the beginning of the paths it applies to, a regular expression
    unless: str = "(?!)"  # the beginning of those it does not

    def applies(self, file: File) -> bool:
        return ((not self.kinds or file.kind in self.kinds.split())
                and bool(re.match(self.where, file.path)) and not re.match(self.unless, file.path))


def literals(parsed: Iterable) -> frozenset[str]:
    """Texts of which each match of a parsed pattern has one; empty if none is sure."""
    best: frozenset[str] = frozenset()
    run = ""
    for kind, argument in parsed:
        run = run + chr(argument) if kind is sre_constants.LITERAL else ""
        found = frozenset([run] if run else [])
        if kind is sre_constants.SUBPATTERN:
            found = literals(argument[-1])
        elif kind is sre_constants.BRANCH:
            branches = [literals(branch) for branch in argument[1]]
            found = frozenset().union(*branches) if all(branches) else found
        if min(map(len, found), default=0) > min(map(len, best), default=0):
            best = found
    return best


def ban(name: str, pattern: str, message: str, **scope: str) -> Rule:
    """No C++ code that matches the pattern. To look for a text takes a hundredth of the time, and most files have none."""
    needed = literals(sre_parse.parse(pattern))

    def check(file: File) -> Iterable[Finding]:
        if needed and not any(text in file.code for text in needed):
            return
        for match in re.finditer(pattern, file.code):
            yield file.line_at(match.start()), message
    return Rule(name, check, **scope)


def call(names: str) -> str:
    """A pattern for calls of system functions, which leaves members and other namespaces alone."""
    return rf"(?<![\w.>:])(?:(?:std)?::)?(?:{names})\s*\("


MACHINE_PATH = r"(?<![\w.~}])(?:/wo" r"rk/|/fa" r"rm/|/tmp/bash" r"_jobs|/ho" r"me/[a-z]\w*)"
SEAMS = SEAM + "|tests/simulation/"
# Tests and micro-benchmarks press on the library from real threads; examples are users' code.
PRODUCT = {"unless": SEAMS + "|tests/|bench/micro/|examples/"}
EVERYWHERE = {"unless": SEAMS}
LONG_FILE, LONG_FUNCTION = 300, 70  # lines; long files are reported, long functions are a breach

RULES = [
    Rule("includes", check_includes),
    ban("seam-atomic", r"\bstd::atomic\w*|\b__(?:atomic|sync)_\w+",
        "use foliot::seam::atomic (<foliot/core/seam/sync.hpp>)", **PRODUCT),
    ban("seam-mutex", r"\bstd::(?:(?:recursive_|shared_)?(?:timed_)?mutex|(?:lock_guard|unique_lock|scoped_lock"
        r"|shared_lock|call_once|once_flag)\b)|\bpthread_mutex_\w+",
        "use foliot::mutex and foliot::lock (<foliot/core/sync/mutex.hpp>)", **PRODUCT),
    ban("seam-note", r"\bstd::(?:condition_variable\w*|counting_semaphore|binary_semaphore|latch|barrier)\b"
        r"|\bpthread_cond_\w+", "use foliot::note or foliot::condition (<foliot/core/sync/...>)", **PRODUCT),
    ban("seam-thread", r"\bstd::(?:j?thread|async)\b|\bthis_thread::(?!sleep_)|\bpthread_create\b",
        "use foliot::seam::thread (<foliot/core/seam/sync.hpp>)", **PRODUCT),
    ban("seam-sleep", r"\bthis_thread::sleep_\w+|" + call("usleep|(?:clock_)?nanosleep")
        + r"|(?<![\w.>:])::sleep\s*\(|(?<![\w.>:])sleep\s*\(\s*\d+\s*\)",
        "sleeping is not allowed: wait on a foliot::note, and in a test move the virtual clock", **EVERYWHERE),
    # An example has such a wait where a user's loop has its descriptors.
    ban("seam-sleep", call("p?poll") + r"\s*nullptr\s*,|" + call("p?select") + r"\s*0\s*,",
        "a wait for no descriptor is a sleep: wait on a foliot::note, and in a test move the virtual clock",
        unless=SEAMS + "|examples/"),
    ban("seam-clock", r"\b(?:steady|high_resolution)_clock\b|" + call("clock_gettime"),
        "use foliot::monotonic_clock (<foliot/core/clock.hpp>)", **PRODUCT),
    ban("seam-clock", r"\bsystem_clock\b|" + call("gettimeofday") + "|"
        + call("time") + r"\s*(?:nullptr|NULL|0|&\w+)\s*\)",
        "use a clock of <foliot/core/clock.hpp>, and in a test the virtual one", **EVERYWHERE),
    ban("seam-system", r"\bSYS_futex\b|\bFUTEX_\w+|" + call(
        r"syscall|futex\w*|epoll_(?:create1?|ctl|p?wait2?)|timerfd_\w+|eventfd\w*|io_uring_\w+"),
        "system calls go behind <foliot/core/seam/...>", **PRODUCT),
    ban("seam-random", r"\bstd::random_device\b|" + call("s?rand|getrandom|getentropy")
        + r"|\bmt19937(?:_64)?\b[^;]*(?:\btime\s*\(|\bnow\s*\()",
        "use foliot::random_stream (<foliot/core/seam/random.hpp>), with a seed that a message can show", **EVERYWHERE),
    Rule("file-head", check_file_head, where=r"(?:include|src|server|programs|bench)/.*\.hpp$"),
    Rule("language", check_language, where=r"include/foliot/.*\.hpp$",
         unless=r"include/foliot/(?:version|core/language)\.hpp$"),
    Rule("todo", check_todo, kinds="cpp py sh cmake"),
    ban("disabled-test", r"\bDISABLED_\w*", "repair the test, or remove it"),
    Rule("machine-path", lambda file: [
        (file.line_at(match.start()), f"{match[0]} is a path of one machine: use a path inside the tree, or a variable")
        for match in re.finditer(MACHINE_PATH, file.text)], kinds=""),
    Rule("coroutine", check_coroutines, unless=r"tests/style/coroutine_forms\.cpp$"),
    Rule("awaiter", check_awaiters, where=r"(?:include/foliot|src)/|server/|programs/|bench/"),
    Rule("name", check_names, where="(?:include|src|server|programs|bench)/"),
    Rule("retired", check_retired, kinds="cpp py sh cmake md",
         where=r"(?:include|src|server|programs|bench|tests|tools|scripts|docs)/|(?:README|CONTRIBUTING)\.md$",
         unless=r"docs/glossary\.md$"),
    Rule("contract", check_contracts, where="include/foliot/", unless=r"include/foliot/(?:.*/)?(?:detail|seam)/"),
    ban("using-namespace", r"\busing\s+namespace\b", "name what you use: this is a header", where=r".*\.h(?:pp)?$"),
    ban("assert", r"(?<!\w)assert\s*\(", "use FOLIOT_ASSERT (<foliot/core/contract.hpp>)",
        unless=r"include/foliot/core/contract\.hpp$"),
    ban("build-type", r"\bNDEBUG\b", "an application and the library may differ in it: test FOLIOT_ASSERTIONS, "
        "and only where no state depends on it (<foliot/core/contract.hpp>)"),
    ban("console", r"\bstd::(?:cout|cerr|clog)\b", "the library does not print: report through a handler",
        unless="programs/|server/|examples/|tests/|bench/"),
    ban("null", r"\bNULL\b", "use nullptr", unless=r"include/foliot/foliot\.h$"),
    Rule("python-path", lambda file: [
        (number, "import from the package kit in tests/support: ctest and the scripts set PYTHONPATH")
        for number, line in enumerate(file.lines, 1) if re.match(r"\s*sys\.path\b", line)],
        kinds="py", where="(?:bench|scripts|tests|tools)/"),
    Rule("long-function", lambda file: [
        (line, f"{name} has {length} lines, and {LONG_FUNCTION} fit a screen: give its parts names")
        for length, line, name in functions(file) if length > LONG_FUNCTION], kinds="cpp py"),
    Rule("whitespace", check_whitespace, kinds="cpp py sh"),
    Rule("final-newline", lambda file: [(len(file.lines), "end the last line with a newline")]
         if file.lines[-1] else [], kinds="cpp py sh cmake md"),
    Rule("link", check_links, kinds="md"),
]


COMMENT = {"cpp": "//", "py": "#", "sh": "#", "cmake": "#"}


def allowances(file: File) -> dict[int, tuple[str, str]]:
    """For each line with a comment `tidy: allow`: the rule and the reason."""
    if file.kind not in COMMENT:
        return {}
    pattern = re.compile(COMMENT[file.kind] + r"\s*tidy: allow\(([\w-]+)\)\s*(.*)")
    found = ((number, pattern.search(line)) for number, line in enumerate(file.lines, 1))
    return {number: (match[1], match[2]) for number, match in found if match}


def check_file(file: File) -> list[tuple[int, str, str]]:
    findings = {(line, rule.name, message) for rule in RULES if rule.applies(file)
                for line, message in rule.check(file)}
    for number, (rule, reason) in allowances(file).items():
        excused = {finding for finding in findings if finding[:2] == (number, rule)}
        if not reason:
            findings.add((number, "allow", f"a reason is missing: tidy: allow({rule}) reason"))
        elif not excused:
            findings.add((number, "allow", f"nothing here breaks a rule {rule}: remove the comment"))
        else:
            findings -= excused
    return sorted(findings)


# ---------------------------------------------------------------- the report

def print_report(files: list[File]) -> None:
    cpp = [file for file in files if file.kind == "cpp"]
    lengths = [(file.length, file.path) for file in cpp]
    spans = [(length, f"{file.path}:{line}: {name}") for file in cpp for length, line, name in functions(file)]
    for title, limit, items in (("files", LONG_FILE, lengths), ("functions", LONG_FUNCTION, spans)):
        items.sort(reverse=True)
        print(f"the longest {title} (past {limit} lines: {sum(length > limit for length, _ in items)})")
        for rank, (length, what) in enumerate(items):
            if rank < 5 or length > limit:
                print(f"{length:6} {what}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Reports where the tree breaks foliot's style.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--report", action="store_true", help="also print the longest files and functions")
    options = parser.parse_args()
    if not options.root.is_dir():
        parser.error(f"{options.root} is not a directory")
    files = tree(options.root.resolve())
    breaches = 0
    for file in files:
        for line, rule, message in check_file(file):
            print(f"{file.path}:{line}: {rule}: {message}")
            breaches += 1
    if options.report:
        print_report(files)
    print(f"tidy: {len(files)} files, {breaches} breaches", file=sys.stderr)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
