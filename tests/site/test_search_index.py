"""site/search_index.py: the sections of a page, and the order of pages."""
import json
import tempfile
import unittest
from pathlib import Path

from search_index import Sections, entries, kind_of, captions, write_index

PAGE = """<body><nav>Elsewhere</nav><article role="main"><section id="title">
<h1>The <code>title</code><a class="headerlink" href="#title">#</a></h1><p>First,
 <strong>bo</strong>ld.</p><script>never();</script>
<section id="part"><h2>A part</h2><table><tr><td>one</td><td>two</td></tr></table>
<dl><dt class="sig sig-object cpp" id="_CPPv4"><span>void </span><span>f</span>()<a class="headerlink" href="#f">#</a></dt>
<dd>Does it.</dd></dl></section></section></article><footer>Made by</footer></body>"""
NAVIGATION = """```{toctree}
:hidden:
:caption: For all

docs/traps
```
""" + "".join(f"""```{{toctree}}
:caption: {caption}
:glob:

{name}
```
""" for caption, name in (("Reference, layer by layer", "reference/core"), ("Engines and their history", "docs/engines/*"),
                          ("Changing foliot", "docs/architecture"), ("Decisions", "docs/decisions/*")))


class SearchIndex(unittest.TestCase):
    def test_sections_have_their_anchor_heading_and_text(self):
        self.assertEqual(Sections(PAGE).found, [
            ("title", "The title", "First, bold.", "bo"), ("part", "A part", "one two", ""),
            ("_CPPv4", "void f()", "Does it.", "")])

    def test_pages_have_the_kind_of_their_caption(self):
        named = captions(NAVIGATION)
        for page, kind in (("docs/traps", "user"), ("index", "user"), ("reference/core", "reference"), ("reference/seam", "internals"),
                           ("docs/engines/goim", "internals"), ("docs/decisions/0001-x", "internals"),
                           ("docs/architecture", "internals"), ("CHANGELOG", "changes")):
            self.assertEqual(kind_of(page, named), kind, page)

    def test_a_caption_that_is_gone_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "no caption 'Decisions'"):
            entries(Path(folder), NAVIGATION.replace("Decisions", "Choices"))

    def test_the_index_is_a_script_with_all_pages_but_those_of_the_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            html = Path(folder)
            for name in ("docs/traps", "repository/src/a.cpp", "genindex", "search", "_static/x"):
                (html / name).parent.mkdir(parents=True, exist_ok=True)
                (html / f"{name}.html").write_text(PAGE)
            (html / "navigation.md").write_text(NAVIGATION)
            (html / "_static/x.html").unlink()
            write_index(html, html / "navigation.md")
            script = (html / "_static/search_index.js").read_text()
        index = json.loads(script.removeprefix("const searchIndex = ").removesuffix(";\n"))
        self.assertEqual([(each["page"], each["title"], each["kind"]) for each in index], [("docs/traps.html", "The title", "user")])


if __name__ == "__main__":
    unittest.main()
