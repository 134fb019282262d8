#!/usr/bin/env python3
"""Builds the site, checks its links, and opens its search in a browser.

usage: site_test.py     with FOLIOT_SITE_SCRATCH=folder, FOLIOT=path of the program, or nothing, and PYTHONPATH=site in
                        the environment

Skipped, exit code 77, where a package is missing that makes the site. Without chromium the search is not opened.
"""
import json
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
# What is looked for, and where the first results must lead.
WANTED = [("ABI", "docs/building.html#shared-libraries"), ("thread safe", "docs/promises/threads.html"),
          ("memory per timer", "docs/promises/cost.html"), ("fork", "docs/promises/threads.html"),
          ("stop_and_wait", "reference/service.html"), ("backoff", "docs/cookbook.html"),
          ("don't fire", "docs/traps.html"), ("a timer doesn\u2019t fire", "docs/traps.html"),
          ("the server's memory", "docs/serve/README.html#memory")]
IN_BOTH = ("wheel", "memory")  # many pages for users have the second one
NOWHERE = "xylophone"
# Added to the page of the search, which a browser opens once: keeps what the page shows for the words of its address, and
# then for those that are written into its field.
ASK = """<script>
addEventListener("load", () => {
  const field = document.getElementById("search-words"), results = document.getElementById("search-results");
  for (const words of [null, ...WORDS]) {
    if (words !== null) {
      field.value = words;
      field.dispatchEvent(new Event("input"));
    }
    const kept = document.createElement("div");
    kept.className = "kept";
    kept.append(...[...results.children].map((each) => each.cloneNode(true)));
    document.body.append(kept);
  }
});
</script>"""


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
    answers = None  # of the search: the browser opens its page once

    @classmethod
    def setUpClass(cls):
        cls.into = Path(os.environ["FOLIOT_SITE_SCRATCH"])
        cls.program = os.environ.get("FOLIOT")
        cls.made = subprocess.run([sys.executable, ROOT / "site/build.py", "--into", cls.into, "--plain-text",
                                   *(["--program", cls.program] if cls.program else [])], capture_output=True, text=True)
        cls.html = cls.into / "html"

    def setUp(self):
        self.assertEqual((self.made.returncode, self.made.stdout, self.made.stderr), (0, "", ""))

    def text_of(self, page):
        return (self.html / page).read_text(encoding="utf-8")

    def test_has_every_page(self):
        for path in [*ROOT.glob("docs/**/*.md"), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
            page = path.relative_to(ROOT).with_suffix(".html")
            self.assertTrue((self.html / page).is_file(), page)
        self.assertIn("Before you write your first timer", self.text_of("index.html"))

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

    def test_has_a_page_that_moves_for_each_engine(self):
        if not self.program:
            self.skipTest("the program is not built here")
        linked = re.findall(r'href="../explain/([a-z-]+)\.html"', self.text_of("docs/explain.html"))
        told = subprocess.run([self.program, "explain", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(set(linked), set(re.search(r"\{([a-z,-]+)\}", told)[1].split(",")))
        for engine in linked:
            self.assertIn(f"<title>{engine}: ", self.text_of(f"explain/{engine}.html"))

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
        for words, page in WANTED:
            with self.subTest(words):
                first = self.results_of(words)[0]
                self.assertEqual(first[0], "For users")
                pages = [link for link, _ in first[1]]
                self.assertTrue(any(link.startswith(page) for link in pages[:6]), pages)
                for link, excerpt in first[1]:
                    self.assertIn("<mark>", excerpt, link)

    @unittest.skipIf(BROWSER is None, "there is no chromium to search in")
    def test_search_shows_pages_for_users_before_internals(self):
        for words in IN_BOTH:
            with self.subTest(words):
                results = self.results_of(words)
                self.assertEqual([title for title, _ in results][:2], ["For users", "How foliot works inside"])
                self.assertFalse([link for link, _ in results[0][1] if link.startswith(("docs/engines/", "docs/decisions/"))])
                self.assertTrue([link for link, _ in results[1][1] if link.startswith("docs/engines/")])

    @unittest.skipIf(BROWSER is None, "there is no chromium to search in")
    def test_search_says_that_it_finds_nothing(self):
        self.assertEqual(self.results_of(NOWHERE), [])

    @classmethod
    def ask_all(cls):
        """What the page shows for all words that the tests look for. The site is opened as files."""
        asked = [*(words for words, _ in WANTED), *IN_BOTH, NOWHERE]
        search = cls.html / "search.html"
        page = cls.html / "search_asked.html"
        page.write_text(search.read_text(encoding="utf-8").replace(
            "</body>", ASK.replace("WORDS", json.dumps(asked[1:])) + "</body>"), encoding="utf-8")
        try:
            with tempfile.TemporaryDirectory() as profile:
                shown = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                                        "--virtual-time-budget=60000", "--dump-dom", f"{page.as_uri()}?q={quote(asked[0])}"],
                                       capture_output=True, text=True, timeout=300).stdout
        finally:
            page.unlink()
        kept = re.findall(r'<div class="kept">(.*?)</div>', shown, re.S)
        if len(kept) != len(asked):
            raise AssertionError(f"the page shows {len(kept)} results for {len(asked)} questions: {shown[:500]}")
        return dict(zip(asked, kept))

    def results_of(self, words):
        """The titles of the results' lists, each with the links and items of its list."""
        if TheSite.answers is None:
            TheSite.answers = self.ask_all()
        results = TheSite.answers[words]
        self.assertRegex(results, "<h2>|No page has all of these words")
        return [(title, re.findall(r'<li><a href="([^"]*)">(.*?)</li>', items, re.S))
                for title, items in re.findall(r"<h2>(.*?)</h2><ul>(.*?)</ul>", results, re.S)]


def main():
    missing = missing_tool()
    if missing is not None:
        print(f"[  SKIPPED ] the site cannot be made: not installed: {missing}")
        return 77
    return 0 if unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
