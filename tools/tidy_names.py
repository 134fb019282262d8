"""Names in comments that are in no code."""
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tidy_source import CPP_TOKEN, File, blank, read_files

WORD = re.compile(r"[A-Za-z_]\w*")
CODE_LIKE = re.compile(r"(?<![\w/.<-])(?:\w+\(\)|[A-Za-z]\w*_\w+)(?![\w/=]|\.\w)")
BACKQUOTED = re.compile(r"`([^`\n]+)`")

# Names that comments may use although no code of the tree has them, each with its owner.
FOREIGN_NAMES = {
    "ADJ_TICK": "Linux, adjtimex",
    "CNTFRQ_EL0": "a register of aarch64",
    "CNTVCTSS_EL0": "a register of aarch64",
    "CNTVCT_EL0": "a register of aarch64",
    "ERTS_TWHEEL_BUMP_YIELD_LIMIT": "Erlang",
    "ERR_LIB_OFFSET": "OpenSSL",
    "PF_EXITING": "Linux",
    "SSL_CERT_DIR": "OpenSSL, an environment variable",
    "SSL_CERT_FILE": "OpenSSL, an environment variable",
    "SSL_select_next_proto": "OpenSSL",
    "TLS_AES_256_GCM_SHA384": "RFC 8446",
    "io_uring": "Linux",
    "isb": "an instruction of aarch64",
    "lW": "an option of readelf",
    "lea": "an instruction of x86-64",
    "lfence": "an instruction of x86-64",
    "proc_pid_stat": "a manual page of Linux",
    "rdtsc": "an instruction of x86-64",
    "rdtscp": "an instruction of x86-64",
    "run_one": "Asio",
}

LANGUAGE_WORDS = frozenset("""await_ready await_resume await_suspend co_await co_return co_yield const_cast
    dynamic_cast reinterpret_cast static_assert static_cast thread_local""".split())


@cache
def known_words(root: Path) -> frozenset[str]:
    """Every word of the tree's code, strings included and C++ comments left out, and of its paths. The style check and
    its canaries name things that do not exist, so their words do not count."""
    words = set(LANGUAGE_WORDS)
    for file in read_files(root):
        if file.path.startswith(("tools/", "tests/style/")):
            continue
        words.update(WORD.findall(file.path))
        if file.kind == "cpp":
            words.update(WORD.findall(file.uncommented))
        elif file.kind != "md":
            words.update(WORD.findall(file.text))
    return frozenset(words)


def check_names(file: File) -> Iterable[tuple[int, str]]:
    """Each name in a comment must be somewhere in the code, or belong to std. Names are all words in backquotes,
    and outside of them what looks like code: snake_case and calls(). Indented lines are examples, with names of
    their own."""
    for token in CPP_TOKEN.finditer(file.text):
        comment = re.sub(r"\bstd(?:::\w+)+", lambda name: blank(name[0]), token[1] or "")
        prose = re.sub(r"`[^`\n]+`|^(?://[/!]?| \*)   .*", lambda other: blank(other[0]), comment, flags=re.M)
        names = [(match.start(), match[1]) for match in BACKQUOTED.finditer(comment)]
        names += [(match.start(), match[0]) for match in CODE_LIKE.finditer(prose)]
        for position, name in names:
            unknown = [word for word in WORD.findall(name)
                       if word not in known_words(file.root) and word not in FOREIGN_NAMES]
            if unknown:
                yield (file.line_at(token.start() + position),
                       f"the comment names {name}, but no code has {unknown[0]}: correct or remove the name")
