"""The declarations of a file, with their scopes, and the awaiters among them.

This reads braces and a few words, no C++: enough for declarations as the formatter lays them out.
"""
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tidy_source import File, blank

CLASS = re.compile(r"\b(class|struct|union)\s+(?:[A-Z_]{3,}(?:\([^()]*\))?\s+|\[\[.*?\]\]\s*|alignas\([^()]*\)\s*)*"
                   r"([A-Za-z_]\w*)[^()=]*$", re.S)
NAMESPACE = re.compile(r"\bnamespace\b(?:\s+(?P<name>[\w:\s]+?))?\s*$|\bextern\b[^()\w]*$")
FUNCTION = re.compile(r"((?:\b\w+(?:<[^()]*>)?::)*"
                      r"(?:operator\s*(?:\(\)|\[\]|co_await\b|[^\s\w(]+|[\w:&*<>\s]+?)|~?\b[A-Za-z_]\w*))\s*\(")
TEMPLATE = re.compile(r"^\s*template\s*<")


@dataclass
class Scope:
    kind: str              # namespace, class, or other: what is in there is no declaration of interest
    name: str = ""
    is_public: bool = True  # whether what is declared next is for users
    head: str = ""


@dataclass
class Declaration:
    kind: str       # class, enum or function
    name: str
    position: int   # of its first character, `template` included
    head: str
    scope: Scope


def without_directives(code: str) -> str:
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda line: blank(line[0]), code, flags=re.M)


def without_template(head: str) -> str:
    """A declaration without its leading template<...>."""
    while TEMPLATE.match(head):
        depth, position = 0, head.index("<")
        for position in range(position, len(head)):
            depth += {"<": 1, ">": -1}.get(head[position], 0)
            if depth == 0:
                break
        head = head[position + 1:]
    return head


def function_name(head: str) -> str | None:
    """The name that a head declares as a function; None for variables, aliases and the like."""
    plain = re.sub(r"\[\[.*?\]\]|\b(?:requires|noexcept|explicit|decltype|alignas)\s*\((?:[^()]|\([^()]*\))*\)|"
                   r"\b[A-Z_]{3,}\([^()]*\)", " ", without_template(head), flags=re.S)
    plain = re.sub(r"^\s*requires\b(?:[^(]*?(?=\b(?:constexpr|inline|static|auto|void|bool)\b))?", "", plain)
    match = FUNCTION.search(plain)
    if not match or re.match(r"\s*(?:friend|using|typedef|static_assert|extern\s+template|concept)\b|\s*[,:]", plain):
        return None
    if "=" in plain[:match.start()] and "operator" not in plain[:match.end()]:
        return None
    name = re.sub(r"\s+", " ", match[1]).strip()
    return None if re.fullmatch(r"[A-Z][A-Z_0-9]+|if|for|while|switch|return|sizeof|defined", name) else name


def declarations(code: str) -> Iterable[Declaration]:
    """Each class, enumeration and function of a file, in its order, with the scope that it is in."""
    code = without_directives(code)
    scopes, start, parentheses = [Scope("namespace")], 0, 0
    for token in re.finditer(r"[{}();]|\b(?:public|protected|private)\s*:(?!:)", code):
        here, head = scopes[-1], code[start:token.start()]
        if token[0] in "()":
            parentheses = max(0, parentheses + (1 if token[0] == "(" else -1))
            continue
        if parentheses and token[0] in "{}":
            scopes.append(Scope("braces")) if token[0] == "{" else scopes.pop() if here.kind == "braces" else None
            continue
        if parentheses:
            continue
        if token[0] == "}":
            if len(scopes) > 1:
                scopes.pop()
            if here.kind != "requires" and here.kind != "initialiser":
                start = token.end()
        elif here.kind not in ("namespace", "class"):
            if token[0] == "{":
                scopes.append(Scope("other"))
        elif token[0] == ";":
            yield from declared(code, start, head, here, False)
            start = token.end()
        elif token[0] == "{":
            new = opened(head)
            if new.kind not in ("requires", "initialiser"):
                yield from declared(code, start, head, here, True)
                start = token.end()
            if new.kind in ("namespace", "class"):
                new.is_public = new.is_public and here.is_public
            scopes.append(new)
        else:
            here.is_public = token[0].startswith("public") and (len(scopes) < 2 or outer_is_public(scopes))
            start = token.end()


def outer_is_public(scopes: list[Scope]) -> bool:
    return all(scope.is_public for scope in scopes[:-1])


def opened(head: str) -> Scope:
    """The scope that a brace opens after this head."""
    if re.search(r"\brequires\s*(?:\([^()]*\))?\s*$", head):
        return Scope("requires")
    match = NAMESPACE.search(head)
    if match:
        name = (match["name"] or "").strip() if "namespace" in head else "extern"
        hidden = not name or re.search(r"\bdetail\b|^std\b", name)
        return Scope("namespace", name, not hidden)
    plain = without_template(head)
    match = CLASS.search(plain)
    if match and not re.search(r"\benum\b", plain):
        return Scope("class", match[2], match[1] != "class", head)
    if re.search(r":\s*[\w<>]+$|,\s*[\w<>]+$", head) and function_name(head):
        return Scope("initialiser")
    return Scope("other")


def declared(code: str, start: int, head: str, scope: Scope, is_open: bool) -> Iterable[Declaration]:
    position = start + len(head) - len(head.lstrip())
    plain = without_template(head)
    enum = re.search(r"^\s*enum\s+(?:class\s+|struct\s+)?(?:\[\[.*?\]\]\s*)?(\w+)", plain)
    if NAMESPACE.search(head):
        return
    if enum and is_open:
        yield Declaration("enum", enum[1], position, head, scope)
    elif CLASS.search(plain):
        if is_open:
            yield Declaration("class", CLASS.search(plain)[2], position, head, scope)
    elif name := function_name(head):
        yield Declaration("function", name, position, head, scope)


# ---------------------------------------------------------------- awaiters

# Awaiters that do not derive from detail::task_awaiter, each with the reason.
OTHER_AWAITERS = {
    "final_awaiter": "the language awaits it at the end of a task, past await_transform",
    "call_awaiter": "await_transform recognises it by its type: it calls another task",
    "ends_wait": "no task awaits it: it ends the coroutine that a foreign awaiter resumes",
    "step": "wraps the awaiter that a task awaits",
}


def check_awaiters(file: File) -> Iterable[tuple[int, str]]:
    if "await_suspend" not in file.code:
        return
    for declaration in declarations(file.code):
        scope = declaration.scope
        if declaration.name == "await_suspend" and scope.kind == "class" and scope.name not in OTHER_AWAITERS \
                and not re.search(r":[^{]*\btask_awaiter\b", scope.head):
            yield (file.line_at(declaration.position), f"{scope.name} must derive from detail::task_awaiter: "
                   "a task takes any other awaiter for a foreign one")
