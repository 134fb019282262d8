"""The directive `header`: a section of the reference about one public header.

    .. header:: foliot/service/timer.hpp

The section has the contract at the head of the header, its classes, functions and concepts, and a link to the header's
source. The build warns of a public header that is in no page.
"""
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.nodes import nested_parse_with_titles

LOGGER = logging.getLogger(__name__)
SECTION = """\
.. _{label}:

.. _{file}:

{title}
{line}

``#include <{header}>`` · :repository:`the header's text <include/{header}>`

.. doxygenfile:: {header}

"""
CONCEPT = """\
.. doxygenconcept:: {name}

"""


def label_of(header: str) -> str:
    return f"header-{header}"


def is_public(header: str) -> bool:
    return header.endswith((".h", ".hpp")) and "/detail/" not in header


class Doxygen:
    """What doxygen has found in each header: the name of the file's XML, and the concepts."""

    def __init__(self, folder: Path):
        self.files: dict[str, str] = {}
        self.concepts: dict[str, list[str]] = {}
        for kind in ("*_8h", "*_8hpp", "concept*"):
            for path in sorted(folder.glob(kind + ".xml")):
                compound = ElementTree.parse(path).getroot().find("compounddef")
                header = compound.find("location").get("file")
                if compound.get("kind") == "file":
                    self.files[header] = compound.get("id")
                elif "detail::" not in compound.findtext("compoundname"):
                    self.concepts.setdefault(header, []).append(compound.findtext("compoundname"))


class Header(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        doxygen = env.app.foliot_doxygen
        header = self.arguments[0]
        if header not in doxygen.files:
            raise self.error(f"no header {header} in what doxygen has read")
        shown_headers(env).setdefault(env.docname, []).append(header)
        title = header.removeprefix("foliot/")
        text = SECTION.format(label=label_of(header), file=doxygen.files[header], header=header, title=title,
                              line="~" * len(title))
        text += "".join(CONCEPT.format(name=name) for name in doxygen.concepts.get(header, []))
        section = nodes.section()
        section.document = self.state.document
        nested_parse_with_titles(self.state, StringList(text.splitlines(), self.state_machine.document.current_source),
                                 section)
        return section.children


def shown_headers(env: BuildEnvironment) -> dict[str, list[str]]:
    if not hasattr(env, "foliot_headers"):
        env.foliot_headers = {}
    return env.foliot_headers


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    shown_headers(env).pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment) -> None:
    shown_headers(env).update((name, headers) for name, headers in shown_headers(other).items() if name in docnames)


def read_doxygen(app: Sphinx) -> None:
    app.foliot_doxygen = Doxygen(Path(app.config.breathe_projects["foliot"]))


def check_all_shown(app: Sphinx, env: BuildEnvironment) -> None:
    shown = [header for headers in shown_headers(env).values() for header in headers]
    for header in sorted(set(app.foliot_doxygen.files) - set(shown)):
        if is_public(header):
            LOGGER.warning("the header %s is in no page: add it to one in site/reference", header)
    for header in sorted(set(shown)):
        if shown.count(header) > 1:
            LOGGER.warning("the header %s is in several pages", header)


def setup(app: Sphinx) -> dict[str, object]:
    app.add_directive("header", Header)
    app.connect("builder-inited", read_doxygen)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-check-consistency", check_all_shown)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
