"""The examples with curl in the pages about the server: each is run, in its order, and answers as the page says.

A block of `sh` with curl is followed by a block that has what it prints. There `…` stands for any text, a time for any
time, and a reservation token for the one that the server has given, which the later examples use. Examples with $TOKEN are
for servers that ask for access tokens, and are not run here.
"""
import re
import shutil
import subprocess
from pathlib import Path

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE
from kit.program_case import main
from kit.serve_case import ServeCase

DOCS = Path(__file__).resolve().parents[3] / "docs" / "serve"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
TOKEN = r"(?<=\"reservation\":\")\d+-[0-9a-f]+-\d+"
PLACE = "localhost:11380"


def examples(page):
    """The commands with curl of a page, and what each prints by the page."""
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    for (language, text), (next_language, shown) in zip(blocks, [*blocks[1:], ("end", "")]):
        if language == "sh" and re.search(r"^curl ", text, re.M) and "$TOKEN" not in text:
            if next_language:
                raise AssertionError(f"{page} does not show what this prints: {text}")
            yield text, shown


class Pages(ServeCase):
    def setUp(self):
        super().setUp()
        if shutil.which("curl") is None:
            self.skipTest("curl is not installed (Debian: curl)")

    def begin(self):
        """A server with HTTP at a port that is free."""
        while True:
            self.port = beanstalk_client.free_port()
            try:
                return self.serve("--memory", "--http", f"127.0.0.1:{self.port}")
            except RuntimeError as error:  # another process was quicker
                self.assertIn("in use", str(error))

    def run_example(self, commands):
        for shown, real in self.tokens.items():
            commands = commands.replace(f"/reservations/{shown}/", f"/reservations/{real}/")
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands.replace(PLACE, f"localhost:{self.port}")],
                              cwd=self.here, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, f"{commands}\n{done.stderr.decode()}")
        return done.stdout.decode()

    def compare(self, commands, shown, printed):
        """Keeps the tokens that are shown."""
        expression, tokens = "", []
        for piece in re.split(f"(…|{TIME}|{TOKEN})", shown):
            if piece == "…":
                expression += ".*?"
            elif re.fullmatch(TIME, piece):
                expression += TIME
            elif expression.endswith('"reservation":"'):
                tokens.append(piece)
                expression += r"(\d+-[0-9a-f]+-\d+)"
            else:
                expression += re.escape(piece.replace(PLACE, f"localhost:{self.port}")).replace('\\"', '"')
        found = re.fullmatch(expression, printed, re.S)
        self.assertIsNotNone(found, f"{commands}\nprints\n{printed}\nand by the page\n{shown}")
        self.tokens |= dict(zip(tokens, found.groups()))

    def run_page(self, page, least):
        self.tokens = {}
        self.begin()
        count = 0
        for commands, shown in examples(page):
            self.compare(commands, shown, self.run_example(commands))
            count += 1
        self.assertGreaterEqual(count, least)

    def test_http(self):
        self.run_page("http.md", 10)

    def test_heartbeats(self):
        self.run_page("heartbeats.md", 1)

    def test_actions(self):
        self.run_page("actions.md", 2)

    def test_coming_from_elsewhere(self):
        for page in ("redis", "celery", "sqs"):
            with self.subTest(page=page):
                self.run_page(f"../migrating/{page}.md", 1)

    def test_the_begin_of_the_server(self):
        self.run_page("README.md", 3)


if __name__ == "__main__":
    main()
