"""A client that is generated from /openapi.json does the quick start. The generator is openapi-python-client (pip); without
it, or what its clients need, the test is skipped."""
import json
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE
from kit.program_case import main
from kit.serve_case import ServeCase

QUICK_START = """
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


class GeneratedClient(ServeCase):
    def test_openapi_python_client_does_the_quick_start(self):
        generator = shutil.which("openapi-python-client")
        if generator is None:
            self.skipTest("openapi-python-client is not installed: pip install openapi-python-client")
        # What its clients need, httpx and attrs, is where the generator is.
        python = Path(generator).resolve().parent / "python3"
        python = python if python.exists() else Path(sys.executable)
        while True:
            port = beanstalk_client.free_port()
            try:
                self.serve("--memory", "--http", f"127.0.0.1:{port}")
                break
            except RuntimeError as error:  # another process was quicker
                self.assertIn("in use", str(error))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/openapi.json", timeout=PATIENCE) as answer:
            document = json.load(answer)
        (self.here / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
        made = subprocess.run([generator, "generate", "--path", "openapi.json", "--meta", "none", "--output-path", "generated"],
                              cwd=self.here, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        self.assertNotIn("will not be generated", made.stdout + made.stderr)
        (self.here / "quick_start.py").write_text(QUICK_START, encoding="utf-8")
        done = subprocess.run([python, "quick_start.py", f"http://127.0.0.1:{port}"], cwd=self.here, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout, "inserted True hello\nfinished\ndelayed cancelled\ngone\n")


if __name__ == "__main__":
    main()
