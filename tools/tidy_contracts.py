"""Public declarations without a contract."""
import re
from collections.abc import Iterable

from tidy_scopes import Declaration, declarations, without_template
from tidy_source import File

# Functions that need no contract: the language defines what they do, or another declaration has it. The
# definition of a member outside its class, and a specialisation for std, have a name with `::`.
LANGUAGE_DEFINED = re.compile(r"~|await_(?:ready|suspend|resume)$|operator\s*(?:==|!=|<=>|co_await)|.*::")
DECLARED_ELSEWHERE = re.compile(r"=\s*(?:default|delete)\s*$|\boverride\b")
QUALIFIED_CLASS = re.compile(r"\b(?:class|struct|union|enum)\b[^:]*::")


def needs_contract(declaration: Declaration) -> bool:
    name, head, scope = declaration.name, declaration.head, declaration.scope
    if not scope.is_public:
        return False
    if declaration.kind != "function":
        return not QUALIFIED_CLASS.search(without_template(head))
    moves_or_copies = name in (scope.name, "operator=") and re.search(rf"\(\s*(?:const\s+)?{scope.name}\s*&", head)
    return not (LANGUAGE_DEFINED.match(name) or DECLARED_ELSEWHERE.search(head) or moves_or_copies)


def check_contracts(file: File) -> Iterable[tuple[int, str]]:
    """Overloads and operators share a contract if no blank line is between them."""
    documented = {}  # for each scope the function that was declared last, if it has a contract
    for declaration in declarations(file.code):
        if not needs_contract(declaration):
            continue
        line, scope = file.line_at(declaration.position), id(declaration.scope)
        before = file.lines[line - 2].strip() if line > 1 else ""
        first = line - 1  # of the comments before, among which reasons (//) may follow the contract
        while first > 0 and file.lines[first - 1].lstrip().startswith("//"):
            first -= 1
        contracts = [text for text in file.lines[first:line - 1] if text.lstrip().startswith("///")]
        group = "operator" if declaration.name.startswith("operator") else declaration.name
        has_contract = bool(contracts or before.endswith("*/") or "///<" in file.lines[line - 1]
                            or before and documented.get(scope) == group)
        documented[scope] = group if has_contract else None
        if not has_contract:
            yield line, f"{declaration.kind} {declaration.name} has no contract: write /// directly before it"
