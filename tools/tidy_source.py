"""The files of the tree: their list, their code without comments and strings, and the lengths of their functions."""
import ast
import os
import re
import subprocess
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from tidy_coroutines import CPP_TOKEN, blank, without_comments_and_strings

KINDS = {".hpp": "cpp", ".cpp": "cpp", ".h": "cpp", ".ipp": "cpp",
         ".py": "py", ".sh": "sh", ".md": "md", ".cmake": "cmake"}


class File:
    def __init__(self, root: Path, path: str, text: str):
        self.root, self.path, self.text = root, path, text
        self.lines = text.split("\n")

    @property
    def length(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def kind(self) -> str:
        if self.path.endswith("CMakeLists.txt"):
            return "cmake"
        shebang = re.match(r"#!.*\b(?:(python)|(?:ba)?sh\b)", self.lines[0])
        return KINDS.get(Path(self.path).suffix) or (shebang and ("py" if shebang[1] else "sh")) or "text"

    @cached_property
    def uncommented(self) -> str:
        """The text of a C++ file with comments blanked; lines and columns stay."""
        return CPP_TOKEN.sub(lambda token: blank(token[0]) if token[1] else token[0], self.text)

    @cached_property
    def code(self) -> str:
        """The same with strings blanked too, but for their quotes."""
        return without_comments_and_strings(self.text)

    def line_at(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1


def list_files(root: Path) -> list[str]:
    """The files that git tracks or does not ignore; without git, every file."""
    try:
        listing = subprocess.run(["git", "-C", root, "ls-files", "-coz", "--exclude-standard"],
                                 capture_output=True, text=True, check=True).stdout
        return sorted(set(listing.split("\0")) - {""})
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in (".git", "build")]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        return sorted(found)


def read_files(root: Path) -> list[File]:
    files = []
    for path in list_files(root):
        if (root / path).is_file():
            data = (root / path).read_bytes()
            try:
                files.append(File(root, path, data.decode()))
            except UnicodeDecodeError:
                pass  # not text
    return files


# What stands before the brace of a namespace or a type, in which functions may be; before a function's brace stands a
# parenthesis, or nothing if its constructor's last member was initialised with braces.
SCOPE = re.compile(r"\s*(?:(?:public|protected|private)\s*:\s*)?(?:template\s*<.*>\s*)?(?:typedef\s+|inline\s+)*"
                   r"(?:requires\b.*?[\s)])?(?:namespace|class|struct|union|enum|extern)\b"
                   r"|.*\b(?:namespace|class|struct|union|enum)\b[^()]*\Z", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.M)


def functions(file: File) -> Iterable[tuple[int, int, str]]:
    """The length of each function, its first line and its name; of functions in functions only the outer ones."""
    return python_functions(file) if file.kind == "py" else cpp_functions(file)


def python_functions(file: File) -> Iterable[tuple[int, int, str]]:
    try:
        nodes = [*ast.parse(file.text).body]
    except SyntaxError:
        return
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            nodes += node.body
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.end_lineno - node.lineno + 1, node.lineno, node.name


def cpp_functions(file: File) -> Iterable[tuple[int, int, str]]:
    code = DIRECTIVE.sub(lambda directive: blank(directive[0]), file.code)
    depth, start = 0, None  # start: the position, depth and name of the open function; no name for an initializer
    for brace in re.finditer("[{}]", code):
        if brace[0] == "}":
            depth -= 1
            if start and start[1] == depth:
                first, last = file.line_at(start[0]), file.line_at(brace.start())
                if start[2]:
                    yield last - first + 1, first, start[2]
                start = None
            continue
        if not start:
            head = re.split("[;{}]", code[max(0, brace.start() - 400):brace.start()])[-1]
            if not SCOPE.match(head):
                is_function = ")" in head or not head.strip()
                name = re.search(r"([\w:~]+)\s*\(", head)
                start = (brace.start() - len(head.lstrip()), depth, (name[1] if name else "function") if is_function else "")
        depth += 1
