"""Links to files and folders of the repository.

Where a page in Markdown has a link to a file, the reader of the site gets: a page of the site; the section of the
reference, for a public header; else the text of the file, on a page that is made for it. A link to a folder leads to a
page with the list of its files. The role `repository` makes such a link in reStructuredText.
"""
import html
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from docutils import nodes
from headers import is_public, label_of
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

LOGGER = logging.getLogger(__name__)
FOLDER = "repository"
START = "README.md"


def page_of(app: Sphinx, path: str) -> str | None:
    """The page of the site that shows this file."""
    name = "index" if path == START else path.removesuffix(".md")
    return name if path.endswith(".md") and name in app.env.found_docs else None


def file_of(docname: str) -> str:
    return START if docname == "index" else docname + ".md"


def text_page(root: Path, path: str) -> str:
    return f"{FOLDER}/{path}/index" if (root / path).is_dir() else f"{FOLDER}/{path}"


def linked_paths(env: BuildEnvironment) -> dict[str, set[str]]:
    if not hasattr(env, "foliot_paths"):
        env.foliot_paths = {}
    return env.foliot_paths


def link_to(app: Sphinx, path: str, content: list[nodes.Node]) -> nodes.Node:
    env = app.env
    linked_paths(env).setdefault(env.docname, set()).add(path)
    uri = app.builder.get_relative_uri(env.docname, text_page(Path(app.config.foliot_root), path))
    return nodes.reference("", "", *content, internal=True, refuri=uri)


class Repository(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        title, _, path = self.text.removesuffix(">").rpartition(" <")
        return [link_to(self.env.app, path, [nodes.Text(title)])], []


def resolve(app: Sphinx, doctree: nodes.document) -> None:
    for node in list(doctree.findall(addnodes.pending_xref)) + list(doctree.findall(addnodes.download_reference)):
        if node.get("reftype") == "myst":
            resolve_link(app, node)
    for block in doctree.findall(nodes.literal_block):
        if app.env.docname.startswith("reference/"):
            block.setdefault("language", "cpp")
        block["force"] = True  # colours also code with `…` for what is left out


def resolve_link(app: Sphinx, node: nodes.Element) -> None:
    target, _, anchor = node["reftarget"].partition("#")
    if not target:
        return
    docname = app.env.docname
    path = os.path.normpath(os.path.join(os.path.dirname(file_of(docname)), target))
    page = page_of(app, path)
    if page is not None:
        beside = os.path.relpath(page + ".md", os.path.dirname(docname) or ".")
        node["reftarget"] = beside + ("#" + anchor if anchor else "")
    elif not (Path(app.config.foliot_root) / path).exists():
        LOGGER.warning("no file %s", path, location=node)
    elif path.startswith("include/foliot/") and is_public(path):
        node.replace_self(addnodes.pending_xref("", *node.children, refdoc=docname, refdomain=None, reftype="myst",
                                                reftarget=label_of(path.removeprefix("include/")), refexplicit=True,
                                                refwarn=True))
    else:
        node.replace_self(link_to(app, path, node.children))


def shown_paths(root: Path, env: BuildEnvironment) -> list[str]:
    """What the pages have links to, and the files of the folders among it."""
    paths = set().union(*linked_paths(env).values())
    for path in list(paths):
        if (root / path).is_dir():
            paths.update(str(child.relative_to(root)) for child in children(root / path) if child.is_file())
    return sorted(paths)


def children(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if not child.name.startswith((".", "__pycache__")))


def write_text_pages(app: Sphinx) -> list[tuple[str, dict[str, object], str]]:
    """Writes the pages itself: furo takes longer to make its navigation than all else, and they are a thousand."""
    root = Path(app.config.foliot_root)
    paths = [path for path in shown_paths(root, app.env) if page_of(app, path) is None]
    for path in paths:
        name = text_page(root, path)
        body = folder_listing(app, root, path, set(paths)) if (root / path).is_dir() else file_text(app, root, path)
        output = Path(app.builder.get_outfilename(name))
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(app.builder.templates.render("repository.html", {
            "path": path, "body": body, "site": app.config.html_title, "top": "../" * name.count("/")}), encoding="utf-8")
    return []


def file_text(app: Sphinx, root: Path, path: str) -> str:
    data = (root / path).read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:  # the store of an earlier version, packed
        return f"<p>{len(data):,} bytes, which are no text.</p>"
    if not app.config.foliot_colours:
        return f'<div class="highlight"><pre>{html.escape(text)}</pre></div>'
    name = Path(path)
    lexer = lexer_of(name.name if name.name == "CMakeLists.txt" else "file" + name.suffix)
    return app.builder.highlighter.highlight_block(text, lexer, force=True)


@cache
def lexer_of(name: str) -> str:
    """Pygments looks through all that is installed for each name."""
    try:
        return get_lexer_for_filename(name).aliases[0]
    except ClassNotFound:
        return "text"


def folder_listing(app: Sphinx, root: Path, path: str, shown: set[str]) -> str:
    items = []
    here = text_page(root, path)
    for child in children(root / path):
        name = child.name + ("/" if child.is_dir() else "")
        inside = str(child.relative_to(root))
        page = page_of(app, inside) or (text_page(root, inside) if inside in shown else None)
        text = html.escape(name)
        if page is not None:
            text = f'<a class="reference internal" href="{app.builder.get_relative_uri(here, page)}">{text}</a>'
        items.append(f"<li>{text}</li>")
    return "<ul>\n" + "\n".join(items) + "\n</ul>"


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    linked_paths(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    linked_paths(env).update((name, paths) for name, paths in linked_paths(other).items() if name in docnames)


def setup(app: Sphinx) -> dict[str, object]:
    app.add_config_value("foliot_root", None, "env")
    app.add_config_value("foliot_colours", True, "html")  # of the text of files; they take a third of the time
    app.add_role("repository", Repository())
    app.connect("doctree-read", resolve, priority=400)
    app.connect("html-collect-pages", write_text_pages)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
