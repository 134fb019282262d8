#!/usr/bin/env python3
"""Reports the broken links of a site: to files that are not there, and to anchors that a page does not have.

usage: site/check_links.py FOLDER

Prints `page: link: what is wrong` for each. Links to other sites are not followed, but a page must not load anything
from there: the site works without a network. Exit status: 0 without a broken link, 1 with some.
"""
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


# An element with an attribute that counts. Most have none, such as the coloured words of a source, and take the parser most
# of its time. Scripts, styles and comments have no elements. A value in quotes may hold any character.
PART = r"""(?:[^<>"']|"[^"]*"|'[^']*')*"""
ELEMENT = re.compile(rf"<[a-zA-Z]{PART}\s(?:id|name|href|src)\s*={PART}>", re.I)
NO_ELEMENTS = re.compile(r"<!--.*?-->|(<(script|style)\b[^>]*>).*?(?=</\2)", re.S | re.I)


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed("".join(ELEMENT.findall(NO_ELEMENTS.sub(r"\1", path.read_text(encoding="utf-8")))))

    def set_cdata_mode(self, elem: str, **_: object) -> None:
        """What follows the start of a script is the next element."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name == "href" and tag in ("a", "area"):
                self.links.add(value or "")
            elif name == "src" or (name == "href" and tag == "link"):
                self.loads.add(value or "")


class Site:
    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.pages = {path: Page(path) for path in sorted(self.folder.rglob("*.html"))}

    def broken(self) -> list[str]:
        found = [] if self.folder / "index.html" in self.pages else ["no page index.html"]
        for path, page in self.pages.items():
            name = path.relative_to(self.folder)
            for link in sorted(page.links | page.loads):
                wrong = self.fault(path, link, link in page.loads)
                if wrong:
                    found.append(f"{name}: {link}: {wrong}")
        return found

    def fault(self, path: Path, link: str, is_loaded: bool) -> str | None:
        """What is wrong with this link of this page; None if nothing is."""
        parts = urlsplit(link)
        if parts.scheme == "data" or parts.scheme == "mailto":
            return None
        if parts.scheme == "file":
            return "is a path of this machine"
        if parts.scheme or parts.netloc:
            return "is loaded from another site" if is_loaded else None
        target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
        if not target.is_relative_to(self.folder):
            return "is outside of the site"
        if not target.is_file():
            return "no such file"
        anchor = unquote(parts.fragment)
        if anchor and target in self.pages and anchor not in self.pages[target].anchors:
            return "no such anchor"
        return None


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: site/check_links.py FOLDER")
    broken = Site(Path(sys.argv[1])).broken()
    print("".join(line + "\n" for line in broken), end="")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
