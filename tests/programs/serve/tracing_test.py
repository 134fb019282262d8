"""The program of the page docs/serve/tracing.md: a delayed job is two traces, one of the put and one of each try, with a link. The
library is downloaded, in the versions below; a test is skipped where that is impossible.
"""
from pathlib import Path

from downloads import of_pip
from kit.program_case import main
from page_case import PageCase

OPENTELEMETRY = [
    "opentelemetry-api==1.45.2", "opentelemetry-sdk==1.45.2", "opentelemetry-semantic-conventions==0.66b2",
    "typing_extensions==4.16.0",
]
SECTION = "Link, and do not continue"

# Behind the program: a job that is given back and tried again, and one that has no context.
MORE = """
put("again")
[first] = ask("/v1/reserve?tube=mail&timeout=30s")["jobs"]
ask(f"/v1/reservations/{first['reservation']}/release")
[second] = ask("/v1/reserve?tube=mail&timeout=30s")["jobs"]
assert first["headers"] == second["headers"], (first, second)
assert second["reserves"] == 2, second
work(second)
ask("/v1/jobs?tube=mail", {"text": "alone"}, {"Content-Type": "application/json"})
[alone] = ask("/v1/reserve?tube=mail&timeout=30s")["jobs"]
assert "headers" not in alone, alone
work(alone)
"""
SHOWN = """\
put mail of trace 1, producer, has a parent
POST /orders of trace 1, server, is a root
finish mail of trace 2, client, has a parent
process mail of trace 2, consumer, is a root, is linked to put mail of trace 1
put mail of trace 3, producer, is a root
finish mail of trace 4, client, has a parent
process mail of trace 4, consumer, is a root, is linked to put mail of trace 3
finish mail of trace 5, client, has a parent
process mail of trace 5, consumer, is a root
"""


class Tracing(PageCase):
    PAGE = Path(__file__).resolve().parents[3] / "docs/serve/tracing.md"

    def setUp(self):
        super().setUp()
        self.libraries = str(of_pip("opentelemetry", *OPENTELEMETRY))

    def test_program_of_the_page(self):
        self.assertEqual(self.run_section(SECTION, "traced_jobs.py", PYTHONPATH=self.libraries), "sends the receipt\n")

    def test_each_try_is_a_trace(self):
        self.serve_http()
        [program] = [text for language, text in self.blocks_of(SECTION) if language == "python"]
        self.put("traced_jobs.py", (program.replace("localhost:11380", f"localhost:{self.port}") + MORE).encode())
        done = self.run_here("python3", "traced_jobs.py", PYTHONPATH=self.libraries)
        self.assertEqual(done.stdout, SHOWN)


if __name__ == "__main__":
    main()
