#!/usr/bin/env python3
"""Builds the site, checks its links, and opens its search in a browser.

usage: site_test.py     with FOLIOT_SITE_SCRATCH=folder and PYTHONPATH=site in the environment

Skipped, exit code 77, where a package is missing that makes the site. Without chromium the search is not opened.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True  # the modules below are in the source tree
import build
from check_links import Site

BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
EXTENSIONS = "myst_parser,breathe"


def missing_tool():
    """What the site needs and is not installed; None if it has all."""
    for tool in ("doxygen", "sphinx-build"):
        if shutil.which(tool) is None:
            return tool
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index.rst").write_text("Title\n=====\n")
        trial = subprocess.run(["sphinx-build", "-C", "-q", "-D", f"extensions={EXTENSIONS}", "-D", "html_theme=furo", folder,
                                folder + "/out"], capture_output=True, text=True)
    return None if trial.returncode == 0 else f"{EXTENSIONS} or furo: {trial.stderr.strip()}"


class TheSite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.into = Path(os.environ["FOLIOT_SITE_SCRATCH"])
        cls.made = subprocess.run([sys.executable, ROOT / "site/build.py", "--into", cls.into], capture_output=True,
                                  text=True)
        cls.html = cls.into / "html"

    def setUp(self):
        self.assertEqual((self.made.returncode, self.made.stdout, self.made.stderr), (0, "", ""))

    def text_of(self, page):
        return (self.html / page).read_text(encoding="utf-8")

    def test_has_every_page(self):
        for path in [*ROOT.glob("docs/**/*.md"), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
            page = path.relative_to(ROOT).with_suffix(".html")
            self.assertTrue((self.html / page).is_file(), page)
        self.assertIn("Read this before your first timer", self.text_of("index.html"))

    def test_reference_has_declarations_with_their_contracts(self):
        for page, words in [("core", "The upper end: a deadline that far away never comes."),
                            ("queue", 'id="_CPPv4I0EN6foliot11timer_queueE"'),
                            ("service", 'id="_CPPv4N6foliot5timer5resetE'), ("service", "after_func"),
                            ("runtime", 'id="_CPPv4I0EN6foliot7runtime7channelE"'), ("runtime", "context_end"),
                            ("net", "set_read_deadline"),  # from a base class that has no place of its own
                            ("jobs", 'id="_CPPv4N6foliot4jobs3putE"'), ("c", "foliot_timer_reset"),
                            ("c", "Starts the timer, or gives a pending timer a new deadline")]:
            self.assertIn(words, self.text_of(f"reference/{page}.html"), page)

    def test_reference_has_no_details(self):
        for page in (self.html / "reference").glob("*.html"):
            found = re.search(r'id="_CPPv4N?(6foliot)?(7runtime|4jobs)?6detail[^"]*"|class="sig-name[^"]*">[^<]*_</', page.read_text())
            self.assertIsNone(found, page.name)

    def test_has_text_of_sources(self):
        self.assertIn("timer_service", re.sub("<[^>]*>", "", self.text_of("repository/src/service/timer_service.cpp.html")))

    def test_finds_a_link_to_a_page_that_is_gone(self):
        page = self.html / "docs/traps.html"
        kept = page.read_bytes()
        page.unlink()
        self.addCleanup(page.write_bytes, kept)
        broken = Site(self.html).broken()
        self.assertTrue(any(line.startswith("index.html: docs/traps.html: no such file") for line in broken), broken[:5])

    def test_refuses_links_that_lead_nowhere(self):
        with tempfile.TemporaryDirectory() as folder:
            into = Path(folder)
            (into / "xml").symlink_to(self.into / "xml")
            (into / "pages").mkdir()
            (into / "pages/index.md").write_text("# Title\n\n[page](docs/gone.md), [heading](#gone-heading), "
                                                 "[source](src/gone.cpp), [header](include/foliot/gone.hpp)\n")
            made = subprocess.run(build.sphinx_command(into), capture_output=True, text=True)
        self.assertNotEqual(made.returncode, 0)
        for words in ("docs/gone.md", "gone-heading", "no file src/gone.cpp", "no file include/foliot/gone.hpp"):
            self.assertIn(words, made.stderr)

    def test_sidebar_has_engines_of_the_past_behind_what_users_look_for(self):
        sidebar = self.text_of("index.html").partition('class="sidebar-tree"')[2]
        history = sidebar.index('href="docs/engines/')
        for page in ("docs/adapters.html", "docs/runtime/README.html", "docs/serve/README.html", "docs/replay.html",
                     "reference/service.html", "docs/migrating/go.html"):
            self.assertLess(sidebar.index(f'href="{page}"'), history, page)

    @unittest.skipIf(BROWSER is None, "there is no chromium to search in")
    def test_search_finds_what_users_ask_for(self):
        for words, page in [("ABI", "docs/building.html#shared-libraries"), ("thread safe", "docs/promises/threads.html"),
                            ("memory per timer", "docs/promises/cost.html"), ("fork", "docs/promises/threads.html"),
                            ("stop_and_wait", "reference/service.html"), ("backoff", "docs/cookbook.html"),
                            ("don't fire", "docs/traps.html"), ("a timer doesn\u2019t fire", "docs/traps.html"),
                            ("the server's memory", "docs/serve/README.html#memory")]:
            with self.subTest(words):
                first = self.results_of(words)[0]
                self.assertEqual(first[0], "For users")
                pages = [link for link, _ in first[1]]
                self.assertTrue(any(link.startswith(page) for link in pages[:6]), pages)
                for link, excerpt in first[1]:
                    self.assertIn("<mark>", excerpt, link)

    @unittest.skipIf(BROWSER is None, "there is no chromium to search in")
    def test_search_shows_pages_for_users_before_internals(self):
        for words in ("wheel", "memory"):  # many pages for users have the second one
            with self.subTest(words):
                results = self.results_of(words)
                self.assertEqual([title for title, _ in results][:2], ["For users", "How foliot works inside"])
                self.assertFalse([link for link, _ in results[0][1] if link.startswith(("docs/engines/", "docs/decisions/"))])
                self.assertTrue([link for link, _ in results[1][1] if link.startswith("docs/engines/")])

    @unittest.skipIf(BROWSER is None, "there is no chromium to search in")
    def test_search_says_that_it_finds_nothing(self):
        self.assertEqual(self.results_of("xylophone"), [])

    def results_of(self, words):
        """The titles of the results' lists, each with the links and items of its list. The site is opened as files."""
        with tempfile.TemporaryDirectory() as profile:
            page = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                                   "--virtual-time-budget=60000", "--dump-dom",
                                   f"{(self.html / 'search.html').as_uri()}?q={quote(words)}"],
                                  capture_output=True, text=True, timeout=300).stdout
        results = re.search(r'<div id="search-results">(.*?)</div>', page, re.S)
        self.assertIsNotNone(results, page[:500])
        self.assertRegex(results[1], "<h2>|No page has all of these words")
        return [(title, re.findall(r'<li><a href="([^"]*)">(.*?)</li>', items, re.S))
                for title, items in re.findall(r"<h2>(.*?)</h2><ul>(.*?)</ul>", results[1], re.S)]


def main():
    missing = missing_tool()
    if missing is not None:
        print(f"[  SKIPPED ] the site cannot be made: not installed: {missing}")
        return 77
    return 0 if unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
