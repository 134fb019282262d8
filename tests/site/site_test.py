#!/usr/bin/env python3
"""Builds the site, checks its links, and opens its search in a browser.

usage: site_test.py     with FOLIOT_SITE_SCRATCH=folder in the environment

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

ROOT = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True  # the modules below are in the source tree
sys.path.insert(0, str(ROOT / "site"))
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

    @unittest.skipIf(BROWSER is None, "there is no chromium to search in")
    def test_search_finds_functions_and_pages(self):
        for words, page in [("stop_and_wait", "reference/service.html"), ("backoff", "docs/cookbook.html")]:
            with self.subTest(words), tempfile.TemporaryDirectory() as profile:
                found = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                                        f"--user-data-dir={profile}", "--allow-file-access-from-files",
                                        "--virtual-time-budget=60000", "--dump-dom",
                                        f"{(self.html / 'search.html').as_uri()}?q={words}"],
                                       capture_output=True, text=True, timeout=300).stdout
                results = found.partition('id="search-results"')[2]
                self.assertIn(f'href="{page}', results)


def main():
    missing = missing_tool()
    if missing is not None:
        print(f"[  SKIPPED ] the site cannot be made: not installed: {missing}")
        return 77
    return 0 if unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
