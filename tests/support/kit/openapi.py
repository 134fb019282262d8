"""Answers of the HTTP interface, compared with its description in OpenAPI."""
import json
import re
from pathlib import Path

try:
    import jsonschema  # Debian: python3-jsonschema
except ImportError:
    jsonschema = None

DOCUMENT = Path(__file__).resolve().parents[3] / "server" / "http" / "openapi.json"


def closed(value):
    """The schemas, with no members but those that they name."""
    if isinstance(value, list):
        return [closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: closed(each) for key, each in value.items()}
    if value.get("type") == "object" and "properties" in value:
        made.setdefault("additionalProperties", False)
    return made


class Interface:
    def __init__(self):
        self.document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
        self.components = closed(self.document["components"])

    def operation(self, method, target):
        """What the description has for a request; None: nothing."""
        path = target.partition("?")[0]
        method = "get" if method == "HEAD" else method.lower()
        for pattern, operations in self.document["paths"].items():
            expression = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(pattern))
            if method in operations and re.fullmatch(expression, path):
                return operations[method]
        return None

    def wrong_with(self, method, target, status, content_type, value):
        """What the description does not allow in this answer; None: nothing, or the request is not described."""
        operation = self.operation(method, target)
        if operation is None:
            return None
        answer = operation["responses"].get(str(status), operation["responses"]["default"])
        if "$ref" in answer:
            answer = self.components["responses"][answer["$ref"].rpartition("/")[2]]
        if content_type not in answer["content"]:
            return f"{method} {target}: {status} has the content type {content_type}"
        if jsonschema is None:
            return None
        schema = {**answer["content"][content_type]["schema"], "components": self.components}
        wrong = next(jsonschema.Draft202012Validator(schema).iter_errors(value), None)
        return wrong and f"{method} {target}: {status} {value}: {wrong.message} at {list(wrong.absolute_path)}"
