"""The examples with curl and with foliot job in the pages about the server: each is run, in its order, and answers as the page
says. Each page has a new server.

A block of `sh` with one of them is followed by a block that has what it prints. There `…` stands for any text, a time for
any time, and a token for the one that the server has given, which the later examples use. In the pages about TLS and access
tokens all commands of the first section are run, the start of the server among them; elsewhere examples with $TOKEN are not.
"""
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE
from kit.program_case import FOLIOT, main
from kit.serve_case import ServeCase

DOCS = Path(__file__).resolve().parents[3] / "docs" / "serve"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z"
TOKEN = r"(?<=\"reservation\":\")\d+-[0-9a-f]+-\d+"
ACCESS_TOKEN = r"foliot_[a-z0-9]{8}_[0-9A-Za-z]{49}"
PLACE = "localhost:11380"


def examples(page):
    """The commands with curl or foliot job of a page, and what each prints by the page."""
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    for (language, text), (next_language, shown) in zip(blocks, [*blocks[1:], ("end", "")]):
        if language == "sh" and re.search(r"^(curl|foliot job) ", text, re.M) and "$TOKEN" not in text:
            if next_language:
                raise AssertionError(f"{page} does not show what this prints: {text}")
            yield text, shown


class PageCase(ServeCase):
    """Runs commands of a page. `self.real` has what the page calls otherwise: tokens."""

    def setUp(self):
        super().setUp()
        self.real = {}
        self.port = self.beanstalk_port = 0  # of the server, once there is one
        if shutil.which("curl") is None:
            self.skipTest("curl is not installed (Debian: curl)")

    def run_example(self, commands, environment=None):
        environment = (environment or self.with_foliot()) | {"FOLIOT_SERVER": f"http://localhost:{self.port}"}
        for shown, real in self.real.items():
            commands = commands.replace(shown, real)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands.replace(PLACE, f"localhost:{self.port}")],
                              cwd=self.here, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, f"{commands}\n{done.stderr.decode()}")
        return done.stdout.decode().replace("\r\n", "\n")  # as a terminal shows the lines of beanstalk

    @staticmethod
    def has_job():
        program = shutil.which(FOLIOT)
        return program is not None and Path(program).resolve().with_name("foliot-job").exists()

    def with_foliot(self):
        """The environment, with the program under the name that pages have."""
        link = self.here / "foliot"
        if not link.is_symlink():
            link.symlink_to(shutil.which(FOLIOT))
        return os.environ | {"PATH": f"{self.here}:{os.environ['PATH']}"}

    def compare(self, commands, shown, printed):
        """Keeps the tokens that are shown."""
        for other, real in self.real.items():
            shown = shown.replace(other, real)
        expression, tokens = "", []
        for piece in re.split(f"(…|{TIME}|{TOKEN}|{ACCESS_TOKEN})", shown):
            if piece == "…":
                expression += ".*?"
            elif re.fullmatch(TIME, piece):
                expression += TIME
            elif re.fullmatch(ACCESS_TOKEN, piece):
                tokens.append(piece)
                expression += f"({ACCESS_TOKEN})"
            elif expression.endswith('"reservation":"'):
                tokens.append(piece)
                expression += r"(\d+-[0-9a-f]+-\d+)"
            else:
                expression += re.escape(piece.replace(PLACE, f"localhost:{self.port}")).replace('\\"', '"')
        found = re.fullmatch(expression, printed, re.S)
        self.assertIsNotNone(found, f"{commands}\nprints\n{printed}\nand by the page\n{shown}")
        for token, real in zip(tokens, found.groups()):
            if re.fullmatch(ACCESS_TOKEN, token):
                self.real |= {token: real, token.split("_")[1]: real.split("_")[1]}
            else:
                self.real[f"/reservations/{token}/"] = f"/reservations/{real}/"


class Pages(PageCase):
    def run_page(self, page, least):
        self.real = {}
        if any("foliot job" in commands for commands, _ in examples(page)) and not self.has_job():
            self.skipTest(f"{page} has examples with foliot job, and there is no foliot-job beside foliot")
        self.serve_http()
        count = 0
        for commands, shown in examples(page):
            self.compare(commands, shown, self.run_example(commands))
            count += 1
        self.assertGreaterEqual(count, least)

    def test_http(self):
        self.run_page("http.md", 6)

    def test_batches(self):
        self.run_page("batches.md", 3)

    def test_workers(self):
        self.run_page("workers.md", 4)

    def test_jobs_at_a_terminal(self):
        self.run_page("job.md", 5)

    def test_looking_at_jobs(self):
        self.run_page("looking.md", 6)

    def test_events(self):
        self.run_page("events.md", 1)

    def test_conditional_requests(self):
        self.run_page("conditions.md", 1)

    def test_requests_that_happen_once(self):
        self.run_page("idempotency.md", 3)

    def test_heartbeats(self):
        self.run_page("heartbeats.md", 1)

    def test_actions(self):
        self.run_page("actions.md", 2)

    def test_schedules(self):
        self.run_page("schedules.md", 6)

    def test_policies(self):
        self.run_page("policies.md", 8)

    def test_monitoring(self):
        self.run_page("monitoring.md", 1)

    def test_metrics(self):
        self.run_page("metrics.md", 1)

    def test_coming_from_elsewhere(self):
        for page in ("redis", "celery", "sqs", "schedules"):
            with self.subTest(page=page):
                self.run_page(f"../migrating/{page}.md", 1)

    def test_the_begin_of_the_server(self):
        self.run_page("README.md", 4)


class FirstSteps(PageCase):
    """The first section of the pages about TLS and access tokens, word by word."""

    def begin(self, command):
        """The server, as a page starts it, at ports that are free."""
        while True:
            self.port, self.beanstalk_port = beanstalk_client.free_port(), beanstalk_client.free_port()
            server = self.start(*shlex.split(command)[1:], "--memory", "--http", f"127.0.0.1:{self.port}", "--beanstalk",
                                f"127.0.0.1:{self.beanstalk_port}", stdout=subprocess.DEVNULL)
            self.addCleanup(server.stderr.close)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            log = b""
            for line in server.stderr:
                log += line
                if b"HTTP clients connect" in line:
                    return
            self.assertIn(b"in use", log)  # another process was quicker

    def run_section(self, page):
        """Returns how many blocks of commands were run."""
        environment = self.with_foliot()
        section = (DOCS / page).read_text(encoding="utf-8").split("\n## ")[1]
        blocks = BLOCK.findall(section)
        variables = ""
        count = 0
        for (language, text), (next_language, shown) in zip(blocks, [*blocks[1:], ("end", "")]):
            if language == "python":
                self.put("program.py", self.at_our_ports(text).encode())
                self.assertEqual(self.run_example("python3 program.py"), "b'INSERTED 2\\r\\n'\n")
            if language != "sh":
                continue
            count += 1
            if text.startswith("foliot serve"):
                self.begin(text)
                continue
            printed = self.run_example(variables + self.at_our_ports(text), environment)
            if not next_language:
                self.compare(text, shown, printed)
            variables += "".join(re.findall(r"^[A-Z]+=.*\n", text, re.M))
        return count

    def at_our_ports(self, text):
        for form in ("127.0.0.1 {}", '"127.0.0.1", {}'):
            text = text.replace(form.format(11300), form.format(self.beanstalk_port))
        return text

    def test_access_tokens(self):
        if shutil.which("nc") is None:
            self.skipTest("nc is not installed (Debian: netcat-openbsd)")
        self.assertEqual(self.run_section("access.md"), 5)
        self.assertEqual(self.expect_done("token", "list", "tokens").count("\n"), 1, "the token was revoked")

    def test_tls(self):
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed (Debian: openssl)")
        self.assertEqual(self.run_section("tls.md"), 3)
        by_hand = re.search(r"`(openssl s_client [^`]+)`", (DOCS / "tls.md").read_text(encoding="utf-8"))[1]
        by_hand = by_hand.replace("\n", " ").replace("127.0.0.1:11300", f"127.0.0.1:{self.beanstalk_port}")
        self.assertRegex(self.run_example(f"printf 'stats\\nquit\\n' | {by_hand}"), r"\AOK \d+\n---\n")


if __name__ == "__main__":
    main()
