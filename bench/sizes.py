#!/usr/bin/env python3
"""What jobs and connections take of memory and of disk, at a server of its own that listens at a socket file.

    bench/sizes.py --jobs 200000 --connections 1000

Prints a line for each figure. Memory is what the process has for itself (Private of smaps_rollup), disk what the folder
holds after an orderly end."""
import argparse
import contextlib
import http.client
import json
import random
import resource
import socket
import string
import subprocess
import tempfile
import time
from pathlib import Path

from arguments import built, positive

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 300
BATCH = 1000  # jobs of a request at the most, and so many bytes of bodies
BATCH_BYTES = 500_000
LETTERS = string.ascii_letters + string.digits  # of bodies that a disk cannot make much smaller
MOST_STREAMS = 100  # of a server


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(self.path))

    def ask(self, method, target, value=None):
        body = None if value is None else json.dumps(value)
        self.request(method, target, body=body, headers={"Content-Type": "application/json"} if body else {})
        answer = self.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {target}: {answer.status} {text.decode()}")
        return json.loads(text)


class Server:
    def __init__(self, program, folder, *arguments):
        self.path = folder / "http"
        self.process = subprocess.Popen([program, "serve", "--quiet", "--beanstalk", f"unix:{folder / 'beanstalk'}", "--http",
                                         f"unix:{self.path}", *arguments], cwd=folder)
        try:
            self.wait_until_ready()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def wait_until_ready(self):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.connect().ask("GET", "/ready")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def connect(self):
        connection = Connection(self.path)
        connection.connect()
        return connection

    def memory(self):
        """In bytes, when it has been the same for half a second."""
        before = None
        while True:
            text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text(encoding="ascii")
            now = sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")) * 1024
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


def put_all(server, jobs, body):
    connection, chosen = server.connect(), random.Random(1)
    batch = max(1, min(BATCH, BATCH_BYTES // body))
    for begin in range(0, jobs, batch):
        some = [{"tube": "far", "text": "".join(chosen.choices(LETTERS, k=body)), "delay": f"{86_400 + number}s"}
                for number in range(begin, min(begin + batch, jobs))]
        connection.ask("POST", "/v1/batch", {"jobs": some})
    connection.close()


def jobs_on_disk(options, folder):
    with serving(options.program, folder, "--data", "jobs") as server:
        yield "memory of a server without jobs", server.memory()
        put_all(server, options.jobs, options.body)
        yield f"memory with {options.jobs} jobs on disk", server.memory()
    disk = sum(each.stat().st_blocks * 512 for each in (folder / "jobs").rglob("*"))
    yield "disk of a job", disk / options.jobs


def jobs_in_memory(options, folder):
    with serving(options.program, folder, "--memory") as server:
        before = server.memory()
        put_all(server, options.jobs, options.body)
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=built, default=ROOT / "build/release/bin/foliot")
    parser.add_argument("--jobs", type=positive, default=200_000)
    parser.add_argument("--body", type=positive, default=100, help="bytes")
    parser.add_argument("--connections", type=positive, default=1000)
    options = parser.parse_args()
    options.program = options.program.resolve()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for part in (jobs_on_disk, jobs_in_memory, connections):
        with tempfile.TemporaryDirectory() as name:
            for figure, value in part(options, Path(name)):
                print(f"{value:14,.0f} bytes  {figure}", flush=True)


if __name__ == "__main__":
    main()
