"""The programs of the page docs/serve/clients.md: one with Python's standard library, and clients that are generated from
/openapi.json. The generators are downloaded, in the versions below; a test is skipped where that is impossible.
"""
import os
import sys
from pathlib import Path

from downloads import need, of_npm, of_pip
from kit.program_case import main
from page_case import PageCase

PAGE = Path(__file__).resolve().parents[3] / "docs/serve/clients.md"

# The generator, and what it and its clients import.
OPENAPI_PYTHON_CLIENT = [
    "openapi-python-client==0.29.1", "annotated-doc==0.0.7", "annotated-types==0.8.0", "anyio==4.16.0", "attrs==26.1.0",
    "certifi==2026.10.19.post1", "h11==0.16.0", "httpcore==1.0.9", "httpx==0.28.1", "idna==3.20", "Jinja2==3.1.6",
    "markdown-it-py==4.3.0", "MarkupSafe==3.0.4", "mdurl==0.1.2", "pydantic==2.14.4", "pydantic_core==2.50.5",
    "Pygments==2.21.0", "rich==15.0.0", "ruamel.yaml==0.19.1", "ruff==0.17.6", "shellingham==1.5.4", "typer==0.27.3",
    "typing-inspection==0.4.5", "typing_extensions==4.16.0",
]
OPENAPI_TYPESCRIPT = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3"]

# The end of the quick start in TypeScript, for its compiler.
WRONG_REQUEST = """
// @ts-expect-error: the description has no such parameter
await client.GET("/v1/jobs/{id}", { params: { path: { number: order.id } } });
"""


class StandardLibrary(PageCase):
    PAGE = PAGE

    def test_worker(self):
        self.assertEqual(self.run_section("Python, with its standard library", "worker.py"), "")


class GeneratedPython(PageCase):
    """By openapi-python-client, of PyPI."""
    PAGE = PAGE

    def test_quick_start(self):
        libraries = of_pip("openapi-python-client", *OPENAPI_PYTHON_CLIENT)
        (self.here / "python3").symlink_to(sys.executable)  # for which the libraries are
        path = f"{self.here}:{libraries / 'bin'}:{os.environ['PATH']}"
        complaints = self.run_section("Python, with a generated client", "quick_start.py", PYTHONPATH=str(libraries), PATH=path)
        self.assertEqual(complaints, "", "the generator warns of what it does not understand")


class GeneratedTypeScript(PageCase):
    """By openapi-typescript, of npm. Its compiler compares the quick start with the description."""
    PAGE = PAGE

    def test_quick_start(self):
        need("node")
        libraries = of_npm("openapi-typescript", *OPENAPI_TYPESCRIPT) / "node_modules"
        (self.here / "node_modules").symlink_to(libraries)
        self.run_section("TypeScript", "quick_start.ts", WRONG_REQUEST)


if __name__ == "__main__":
    main()
