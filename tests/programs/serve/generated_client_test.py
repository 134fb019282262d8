"""Clients that are generated from /openapi.json do the quick start. Their generators are downloaded, in the versions below;
a test is skipped where that is impossible."""
import os
import subprocess
import sys
import urllib.request

from downloads import need, of_npm, of_pip
from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE
from kit.program_case import main
from kit.serve_case import ServeCase

# The generator, and what it and its clients import.
OPENAPI_PYTHON_CLIENT = [
    "openapi-python-client==0.29.1", "annotated-doc==0.0.7", "annotated-types==0.8.0", "anyio==4.16.0", "attrs==26.1.0",
    "certifi==2026.10.19.post1", "h11==0.16.0", "httpcore==1.0.9", "httpx==0.28.1", "idna==3.20", "Jinja2==3.1.6",
    "markdown-it-py==4.3.0", "MarkupSafe==3.0.4", "mdurl==0.1.2", "pydantic==2.14.4", "pydantic_core==2.50.5",
    "Pygments==2.21.0", "rich==15.0.0", "ruamel.yaml==0.19.1", "shellingham==1.5.4", "typer==0.27.3",
    "typing-inspection==0.4.5", "typing_extensions==4.16.0",
]
OPENAPI_TYPESCRIPT = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3"]

PYTHON_QUICK_START = """
import sys
from generated import Client
from generated.api.jobs import cancel_job, put_job, put_or_replace_job_by_name, show_job
from generated.api.work import finish_job, reserve_jobs
from generated.models import Put, Reserve

client = Client(base_url=sys.argv[1])
put = put_job.sync(client=client, body=Put(tube="mail", text="hello", delay="200ms"))
got = reserve_jobs.sync(client=client, body=Reserve(tube="mail", timeout="60s")).jobs[0]
print(put.outcome, got.id == put.id, got.text)
print(finish_job.sync(got.reservation, client=client).outcome)
kept = put_or_replace_job_by_name.sync(client=client, body=Put(tube="orders", key="17", text="order", delay="30m"))
print(show_job.sync(kept.id, client=client).state, cancel_job.sync(kept.id, client=client).outcome)
print(show_job.sync(kept.id, client=client).outcome)
"""

TYPESCRIPT_QUICK_START = """
import createClient from "openapi-fetch";
import type { paths } from "./generated";
declare const process: { argv: string[] };

/** What was asked for; the quick start ends where there is none. */
function of<Answer>(got: { data?: Answer; error?: { outcome?: string } }): Answer {
  if (got.data === undefined) throw new Error(got.error?.outcome);
  return got.data;
}

const client = createClient<paths>({ baseUrl: process.argv[2] });
const put = of(await client.POST("/v1/jobs", { body: { tube: "mail", text: "hello", delay: "200ms" } }));
const got = of(await client.POST("/v1/reserve", { body: { tube: "mail", timeout: "60s" } })).jobs[0];
console.log(put.outcome, got.id === put.id, got.text);
const by = { params: { path: { reservation: got.reservation } } };
console.log(of(await client.POST("/v1/reservations/{reservation}/finish", by)).outcome);
const kept = of(await client.PUT("/v1/job", { body: { tube: "orders", key: "17", text: "order", delay: "30m" } }));
const order = { params: { path: { id: kept.id } } };
const state: string = of(await client.GET("/v1/jobs/{id}", order)).state;
console.log(state, of(await client.DELETE("/v1/jobs/{id}", order)).outcome);
console.log((await client.GET("/v1/jobs/{id}", order)).error?.outcome);
// @ts-expect-error: the description has no such parameter
await client.GET("/v1/jobs/{id}", { params: { path: { number: kept.id } } });
"""

PRINTED = "inserted True hello\nfinished\ndelayed cancelled\ngone\n"


class GeneratedCase(ServeCase):
    def begin(self):
        """A server, whose description is in the file openapi.json. Returns its address."""
        while True:
            port = beanstalk_client.free_port()
            try:
                self.serve("--memory", "--http", f"127.0.0.1:{port}")
                break
            except RuntimeError as error:  # another process was quicker
                self.assertIn("in use", str(error))
        address = f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(f"{address}/openapi.json", timeout=PATIENCE) as answer:
            self.put("openapi.json", answer.read())
        return address

    def run_here(self, *command, **environment):
        """The output of a command that succeeds without a word on the standard error."""
        done = subprocess.run(list(map(str, command)), cwd=self.here, capture_output=True, text=True, timeout=PATIENCE,
                              check=False, env=os.environ | environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout


class GeneratedPython(GeneratedCase):
    """By openapi-python-client, of PyPI."""

    def test_quick_start(self):
        libraries = of_pip("openapi-python-client", *OPENAPI_PYTHON_CLIENT)
        address = self.begin()
        self.put("settings.yaml", b"post_hooks: []\n")  # it need not be formatted
        said = self.run_here(sys.executable, "-Bm", "openapi_python_client", "generate", "--path", "openapi.json", "--meta",
                             "none", "--output-path", "generated", "--config", "settings.yaml", PYTHONPATH=str(libraries))
        self.assertEqual(said, "Generating generated\n", "it warns of what it does not understand")
        self.put("quick_start.py", PYTHON_QUICK_START.encode())
        self.assertEqual(self.run_here(sys.executable, "-B", "quick_start.py", address, PYTHONPATH=str(libraries)), PRINTED)


class GeneratedTypeScript(GeneratedCase):
    """By openapi-typescript, of npm. Its compiler compares the quick start with the description."""

    def test_quick_start(self):
        node = need("node")
        libraries = of_npm("openapi-typescript", *OPENAPI_TYPESCRIPT) / "node_modules"
        address = self.begin()
        (self.here / "node_modules").symlink_to(libraries)
        self.run_here(node, "node_modules/openapi-typescript/bin/cli.js", "openapi.json", "--output", "generated.ts")
        self.put("package.json", b'{"type": "module"}')
        self.put("quick_start.ts", TYPESCRIPT_QUICK_START.encode())
        self.run_here(node, "node_modules/typescript/bin/tsc", "--strict", "--target", "es2022", "--module", "esnext",
                      "--moduleResolution", "bundler", "--skipLibCheck", "quick_start.ts")
        self.assertEqual(self.run_here(node, "quick_start.js", address), PRINTED.replace("True", "true"))


if __name__ == "__main__":
    main()
