"""The index of the site's search: the text of every section, in a script that the page of the search loads.

The search scans all of it, in some milliseconds. So it needs no server, works where a browser opens the site as files
and may fetch nothing, and can show an excerpt of each section that it finds.
"""
import json
import re
from html.parser import HTMLParser
from pathlib import Path

# Captions of the navigation whose pages the search shows behind the others. Those under all other captions are for
# users.
REFERENCE = "Reference, layer by layer"
INTERNALS = ("Engines and their history", "Changing foliot", "Decisions")
SEAMS = "reference/seam"  # users name nothing of it

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
INLINE = {"a", "abbr", "b", "cite", "code", "em", "i", "kbd", "small", "span", "strong", "sub", "sup", "tt", "u"}
SILENT = {"script", "style", "svg"}


class Sections(HTMLParser):
    """The sections of a page, each with its anchor, its heading, its text, and what is bold in that, as the subjects of
    paragraphs are; in the reference also the declarations.

    The heading of the first one is the title of the page."""

    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, str, str, str]] = []
        self._anchor = ""
        self._heading: list[str] = []
        self._text: list[str] = []
        self._bold: list[str] = []
        self._inside = self._silent = self._strong = 0  # how deep in the article, in what is not text, in bold
        self._until: str | None = None   # the tag that ends the heading
        self.feed(text)
        self._end_section()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        if tag == "article":
            self._inside += 1
        if tag in SILENT or self._silent or (tag == "a" and "headerlink" in classes):
            self._silent += tag in SILENT or tag == "a"
        if not self._inside:
            return
        self._strong += tag == "strong"
        if tag == "section" and attributes.get("id"):
            self._end_section()
            self._anchor = attributes["id"]
        elif tag in HEADINGS:
            self._until = tag
        elif tag == "dt" and "sig-object" in classes and attributes.get("id"):
            self._end_section()
            self._anchor, self._until = attributes["id"], "dt"
        if tag not in INLINE:
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self._silent and (tag in SILENT or tag == "a"):
            self._silent -= 1
        if tag == "article":
            self._inside -= 1
        if tag == "strong" and self._strong:
            self._strong -= 1
            self._bold.append(" ")
        if tag == self._until:
            self._until = None
        if tag not in INLINE:
            self._text.append(" ")

    def handle_data(self, data: str) -> None:
        if self._inside and not self._silent:
            (self._heading if self._until else self._text).append(data)
            if self._strong and not self._until:
                self._bold.append(data)

    def _end_section(self) -> None:
        heading, text, bold = (re.sub(r"\s+", " ", "".join(parts)).strip()
                               for parts in (self._heading, self._text, self._bold))
        if heading or text:
            self.found.append((self._anchor, heading, text, bold))
        self._heading, self._text, self._bold = [], [], []


def captions(navigation: str) -> list[tuple[str, str]]:
    """The caption and the name, or the pattern, of each page of the navigation."""
    found = []
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", navigation, re.M | re.S):
        caption = re.search(r"^:caption: (.*)$", block, re.M)[1]
        found += [(caption, line) for line in block.splitlines() if line and not line.startswith(":")]
    return found


def kind_of(page: str, navigation: list[tuple[str, str]]) -> str:
    """Of a page by its name, such as docs/traps."""
    if page == "CHANGELOG":
        return "changes"
    caption = next((caption for caption, name in navigation if Path(page).match(name)), "")
    if caption in INTERNALS or page == SEAMS:
        return "internals"
    return "reference" if caption == REFERENCE else "user"


def entries(html: Path, navigation: str) -> list[dict[str, object]]:
    named = captions(navigation)
    for caption in (REFERENCE, *INTERNALS):
        if caption not in {each for each, _ in named}:
            raise ValueError(f"site: the navigation has no caption {caption!r}, which the search knows")
    found = []
    for path in sorted(html.rglob("*.html")):
        name = str(path.relative_to(html).with_suffix(""))
        if name.startswith("repository/") or name in ("genindex", "search"):
            continue
        sections = Sections(path.read_text(encoding="utf-8")).found
        if sections:
            found.append({"page": name + ".html", "title": sections[0][1], "kind": kind_of(name, named), "sections": sections})
    return found


def write_index(html: Path, navigation: Path) -> None:
    index = entries(html, navigation.read_text(encoding="utf-8"))
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    (html / "_static/search_index.js").write_text(f"const searchIndex = {text};\n", encoding="utf-8")
