#!/usr/bin/env python3
"""What jobs and connections take of memory and of disk, at a server of its own that listens at a socket file.

    bench/sizes.py --jobs 200000 --connections 1000

Prints a line for each figure. Memory is what the process has written (Private_Dirty of smaps_rollup): whether a page of
the program is its own depends on who else uses it. Disk is what the folder holds after an orderly end."""
import contextlib
import itertools
import random
import resource
import string
import tempfile
import time
from pathlib import Path

from harness import PATIENCE, Arguments, Report, killed_on_failure, positive, start
from kit.http_client import SingleConnection

BATCH = 1000  # jobs of a request at the most, and so many bytes of bodies
BATCH_BYTES = 500_000
LETTERS = string.ascii_letters + string.digits  # of bodies that a disk cannot make much smaller
MOST_STREAMS = 100  # of a server


class AskingConnection(SingleConnection):
    """One whose requests must succeed."""

    def ask(self, method, target, value=None, fields=None):
        status, got = super().ask(method, target, value, fields)
        if status >= 300:
            raise RuntimeError(f"{method} {target}: {status} {got}")
        return got


class Server:
    def __init__(self, program, folder, *arguments):
        self.path = folder / "http"
        _, self.process = start([program, "serve", "--quiet", "--http", f"unix:{self.path}", *arguments],
                                str(folder / "beanstalk"), log=None)
        with killed_on_failure(self.process):
            self.wait_until_ready()

    def wait_until_ready(self):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with contextlib.closing(self.connect()) as asking:
                    asking.ask("GET", "/ready")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def connect(self):
        return AskingConnection(self.path)

    def memory(self):
        """In bytes, when it has been the same for half a second."""
        before = None
        while True:
            text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text(encoding="ascii")
            now = sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_Dirty")) * 1024
            if now == before:
                return now
            before = now
            time.sleep(0.5)

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def serving(program, folder, *arguments):
    server = Server(program, folder, *arguments)
    try:
        yield server
    finally:
        server.end()


def put_all(connection, jobs, batch=BATCH):
    """Puts these jobs, as a batch names them, so many in a request."""
    jobs = iter(jobs)
    while some := list(itertools.islice(jobs, batch)):
        got = connection.ask("POST", "/v1/batch", {"jobs": some})
        refused = [each for each in got["results"] if each["status"] >= 300]
        if refused:
            raise RuntimeError(f"a put is refused: {refused[0]}")


def put_far(server, count, body):
    chosen = random.Random(1)
    jobs = ({"tube": "far", "text": "".join(chosen.choices(LETTERS, k=body)), "delay": f"{86_400 + number}s"}
            for number in range(count))
    with contextlib.closing(server.connect()) as connection:
        put_all(connection, jobs, max(1, min(BATCH, BATCH_BYTES // body)))


def jobs_on_disk(options, folder):
    with serving(options.program, folder, "--data", folder / "jobs") as server:
        yield "memory of a server without jobs", server.memory()
        put_far(server, options.jobs, options.body)
        yield f"memory with {options.jobs} jobs on disk", server.memory()
    disk = sum(each.stat().st_blocks * 512 for each in (folder / "jobs").rglob("*"))
    yield "disk of a job", disk / options.jobs


def jobs_in_memory(options, folder):
    with serving(options.program, folder, "--memory") as server:
        before = server.memory()
        put_far(server, options.jobs, options.body)
        yield "memory of a job with --memory", (server.memory() - before) / options.jobs


def connections(options, folder):
    kinds = [("an idle connection", options.connections, "GET", "/health"),
             ("a reserve that waits", options.connections, "POST", "/v1/reserve?tube=none&timeout=1h"),
             ("a stream of events", min(options.connections, MOST_STREAMS), "GET", "/v1/events")]
    for name, count, method, target in kinds:
        with serving(options.program, folder, "--memory") as server:
            before = server.memory()
            opened = [server.connect() for _ in range(count)]
            for each in opened:
                each.request(method, target)
                if method == "GET":
                    answer = each.getresponse()
                    answer.read() if target == "/health" else answer.readline()
            look = server.connect()
            while method == "POST" and look.ask("GET", "/v1/statistics")["server"]["waiting"] < count:
                time.sleep(0.01)
            yield f"memory of {name}", (server.memory() - before) / count
            for each in opened:
                each.close()


def main():
    parser = Arguments(__doc__)
    parser.add("--jobs", positive, 200_000)
    parser.add("--body", positive, 100, "bytes")
    parser.add("--connections", positive, 1000)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    lines = Report(bytes=">14,.0f", what="")
    for part in (jobs_on_disk, jobs_in_memory, connections):
        with tempfile.TemporaryDirectory() as name:
            for figure, value in part(options, Path(name)):
                lines.add(bytes=value, what=f" bytes  {figure}")


if __name__ == "__main__":
    main()
