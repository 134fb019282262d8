#!/usr/bin/env python3
"""Makes the site of foliot: the pages in Markdown, a reference from the headers, and a search.

usage: site/build.py [--into FOLDER] [--plain-text] [--program FOLIOT]

FOLDER is build/site unless it is named; the site is FOLDER/html/index.html. With a program the site has the pages that
`foliot explain` writes, and links to them. Needs doxygen, sphinx, breathe, myst-parser
and furo: `scripts/run site` installs them on Debian 12. Warnings and broken
links are errors. With --plain-text the pages that show files of the repository have no colours.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from check_links import Site
from header_filter import filtered
from reference_xml import Reference
from search_index import write_index

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent


def make_empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def filter_headers(into: Path) -> None:
    """All at once: doxygen would start a program for each of them, which takes longer than doxygen itself."""
    headers = make_empty(into / "include")
    for path in sorted((ROOT / "include/foliot").rglob("*.h*")):
        filtered_path = headers / path.relative_to(ROOT / "include")
        filtered_path.parent.mkdir(parents=True, exist_ok=True)
        filtered_path.write_text(filtered(path), encoding="utf-8")


def run_doxygen(into: Path) -> None:
    filter_headers(into)
    make_empty(into / "xml")
    environment = {**os.environ, "FOLIOT_OUTPUT": str(into)}
    subprocess.run(["doxygen", SITE / "Doxyfile"], cwd=ROOT, env=environment, check=True)
    Reference(into / "xml").tidy()


def gather_pages(into: Path) -> None:
    """Sphinx wants all pages in one folder, with their pictures: they are links to the files of the repository."""
    pages = make_empty(into / "pages")
    for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.png"), *ROOT.glob("docs/**/*.svg"),
                 ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]:
        link(pages / path.relative_to(ROOT), path)
    for path in SITE.glob("reference/*.rst"):
        link(pages / path.relative_to(SITE), path)
    link(pages / "index.md", ROOT / "README.md")


def link(page: Path, path: Path) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.symlink_to(path)


def sphinx_command(into: Path, *options: str) -> list[str]:
    return ["sphinx-build", "-b", "html", "-j", "auto", "-W", "--keep-going", "-q", "-c", str(SITE),
            "-d", str(into / "doctrees"), "-D", f"breathe_projects.foliot={into / 'xml'}",
            *options, str(into / "pages"), str(into / "html")]


def run_sphinx(into: Path, *options: str) -> None:
    make_empty(into / "html")
    make_empty(into / "doctrees")
    subprocess.run(sphinx_command(into, *options), env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=True)


def add_moving_pages(into: Path, program: Path) -> None:
    """Those of `foliot explain`, for the engines that the table of docs/explain.md names."""
    make_empty(into / "html/explain")
    table = into / "html/docs/explain.html"
    text = table.read_text(encoding="utf-8")
    linked = re.sub(r'(<td><p>)(<code[^>]*><span class="pre">([a-z-]+)</span></code>)(</p></td>)',
                    r'\1<a href="../explain/\3.html">\2</a>\4', text)
    engines = re.findall(r'href="../explain/([a-z-]+)\.html"', linked)
    if not engines:
        sys.exit("site: docs/explain.md names no engine in its table")
    for engine in engines:
        subprocess.run([program, "explain", engine, "-o", into / f"html/explain/{engine}.html"], check=True)
    table.write_text(linked, encoding="utf-8")


def make_search(into: Path) -> None:
    write_index(into / "html", SITE / "navigation.md")
    (into / "html/searchindex.js").unlink()  # of the search of sphinx, whose page is not there


def check_links(into: Path) -> None:
    broken = Site(into / "html").broken()
    if broken:
        print("\n".join(broken), file=sys.stderr)
        sys.exit("site: links are broken; see above")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "build/site", metavar="FOLDER")
    parser.add_argument("--plain-text", action="store_true")
    parser.add_argument("--program", type=Path, metavar="FOLIOT")
    arguments = parser.parse_args()
    into = arguments.into.resolve()
    try:
        run_doxygen(into)
        gather_pages(into)
        run_sphinx(into, *(["-D", "foliot_colours=0"] if arguments.plain_text else []))
        make_search(into)
        if arguments.program is not None:
            add_moving_pages(into, arguments.program.resolve())
        check_links(into)
    except FileNotFoundError as missing:
        sys.exit(f"site: cannot run {missing.filename}: is it installed?")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"site: {Path(failed.cmd[0]).name} failed ({failed.returncode}); see above")
    return 0


if __name__ == "__main__":
    sys.exit(main())
