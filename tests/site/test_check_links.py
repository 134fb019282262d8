"""Canaries for check_links.py: links that it must find broken, and links that it must accept."""
import tempfile
import unittest
from pathlib import Path

from check_links import Site

OTHER = '<h1 id="here">Other</h1>'


class Links(unittest.TestCase):
    def broken(self, page):
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder) / "site"
            (site / "docs").mkdir(parents=True)
            (Path(folder) / "outside.html").write_text("")
            (site / "index.html").write_text(page)
            (site / "docs/other.html").write_text(OTHER)
            (site / "style.css").write_text("")
            return Site(site).broken()

    def test_accepts_what_is_there(self):
        for page in ('<a href="docs/other.html">', '<a href="docs/other.html#here">', '<a href="#">',
                     '<p id="mine"><a href="#mine">', '<a name="mine" href="#mine">', '<link href="style.css">',
                     '<a href="https://example.com/gone#gone">', '<a href="docs/../index.html">',
                     '<p id="ü"><a href="#%C3%BC">', '<img src="data:image/png;base64,aaaa">'):
            self.assertEqual(self.broken(page), [], page)

    def test_finds_what_is_not_there(self):
        for page, link, wrong in [('<a href="gone.html">', "gone.html", "no such file"),
                                  ('<a href="docs">', "docs", "no such file"),
                                  ('<a href="docs/other.html#gone">', "docs/other.html#gone", "no such anchor"),
                                  ('<a href="#gone">', "#gone", "no such anchor"),
                                  ('<img src="gone.png">', "gone.png", "no such file"),
                                  ('<link href="gone.css">', "gone.css", "no such file"),
                                  ('<a href="../outside.html">', "../outside.html", "is outside of the site"),
                                  ('<script src="https://example.com/a.js"></script>', "https://example.com/a.js",
                                   "is loaded from another site"),
                                  ('<a href="file:///etc/passwd">', "file:///etc/passwd", "is a path of this machine")]:
            self.assertEqual(self.broken(page), [f"index.html: {link}: {wrong}"])

    def test_reads_no_links_in_scripts_and_comments(self):
        page = """<!-- <a href="gone.html"> --><script>const text = '<a href="gone.html">';</script>
                  <style>a[href="gone.html"] {}</style>"""
        self.assertEqual(self.broken(page), [])
        self.assertEqual(self.broken(page + '<script src="gone.js"></script><p>text</p><a href="#gone">'),
                         ["index.html: #gone: no such anchor", "index.html: gone.js: no such file"])

    def test_reads_elements_of_several_lines_and_of_either_quotes(self):
        self.assertEqual(self.broken("<a class='x'\n href='gone.html'\n>"), ["index.html: gone.html: no such file"])

    def test_wants_a_start_page(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(Site(Path(folder)).broken(), ["no page index.html"])


if __name__ == "__main__":
    unittest.main()
