#!/usr/bin/env python3
"""How many webhooks a second a server delivers on one core, and what each costs it: from a job that is ready to its finish.

    bench/deliver_webhooks.py --deliveries 100000 --store data

The jobs, of 200 bytes, are put before the targets are enabled. From then on the server, which is bound to the first core,
reserves each, signs it, POSTs it over plain HTTP that is kept alive to the receiver of webhook-bench on the last core, and
finishes it. The jobs are in memory, or (--store data) in a folder.

Prints one line of JSON: deliveries a second, from the enabling to the last finish, and microseconds of the server's processor
for a delivery, those of the kernel among them. --dead N adds N targets that accept connections and never answer, each with
jobs of its own."""
import argparse
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from harness import PROGRAM, free_port, positive

BODY = 200
IN_FLIGHT = 500  # puts that are sent together
TICKS = os.sysconf("SC_CLK_TCK")


def ask(port, method, path, body=None):
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method,
                                   data=None if body is None else json.dumps(body).encode(),
                                   headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def put_jobs(path, tube, count):
    """Through beanstalk, many at once."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as to:
        to.connect(path)
        answers = to.makefile("rb")
        to.sendall(f"use {tube}\r\n".encode())
        assert answers.readline().startswith(b"USING")
        one = b"put 0 0 60 %d\r\n%s\r\n" % (BODY, b"x" * BODY)
        for first in range(0, count, IN_FLIGHT):
            some = min(IN_FLIGHT, count - first)
            to.sendall(one * some)
            for _ in range(some):
                answer = answers.readline()
                assert answer.startswith(b"INSERTED"), answer


def processor_time(pid):
    """Of the process so far, in seconds: all of it, and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    user, kernel = int(fields[11]), int(fields[12])
    return (user + kernel) / TICKS, kernel / TICKS


@contextlib.contextmanager
def running(command, **how):
    process = subprocess.Popen(command, text=True, **how)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_for(port):
    until = time.monotonic() + 60
    while True:
        try:
            return ask(port, "GET", "/v1/statistics")
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def measure(options, folder):
    os.umask(0o077)
    (folder / "secrets").write_text("[secret one]\npresent = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=\n")
    last = max(os.cpu_count() - 1, 0)
    sink = [str(options.sink), "--sink", str(BODY)]
    port = free_port()
    serves = [str(options.program), "serve", "--quiet", "--http", f"127.0.0.1:{port}", "--beanstalk", f"unix:{folder}/b",
              "--webhook-secrets", str(folder / "secrets"), "--webhook-allow-http",
              *(["--memory"] if options.store == "memory" else ["--data", str(folder / "jobs")])]
    dead = [socket.create_server(("127.0.0.1", 0), backlog=1000) for _ in range(options.dead)]
    with running(["taskset", "-c", str(last), *sink], stdout=subprocess.PIPE) as receiving:
        at = int(receiving.stdout.readline())
        allowed = [f"127.0.0.1/32:{each}" for each in [at, *(one.getsockname()[1] for one in dead)]]
        for each in allowed:
            serves += ["--webhook-allow", each]
        with running([*options.wrap.split(), "taskset", "-c", "0", *serves]) as server:
            wait_for(port)
            tubes = [f"hook{i}" for i in range(options.targets)]
            plans = {tube: {"url": f"http://127.0.0.1:{at}/in", "secret": "one",
                            "at_once": max(options.at_once // options.targets, 1)} for tube in tubes}
            for i, one in enumerate(dead):
                plans[f"dead{i}"] = {"url": f"http://127.0.0.1:{one.getsockname()[1]}/in", "secret": "one", "failures_to_open": 0}
            for tube, plan in plans.items():
                ask(port, "PUT", f"/v1/tubes/{tube}/webhook", plan)
                ask(port, "POST", f"/v1/tubes/{tube}/webhook/disable", {})
            for i in range(options.dead):
                put_jobs(f"{folder}/b", f"dead{i}", 20)
            each = options.deliveries // options.targets
            for tube in tubes:
                put_jobs(f"{folder}/b", tube, each)
            for i in range(options.dead):
                ask(port, "POST", f"/v1/tubes/dead{i}/webhook/enable", {})
            time.sleep(1 if options.dead else 0)
            before = processor_time(server.pid)
            begin = time.monotonic()
            for tube in tubes:
                ask(port, "POST", f"/v1/tubes/{tube}/webhook/enable", {})
            wanted = each * options.targets
            while True:
                seen = ask(port, "GET", "/v1/statistics")
                if seen["flow"]["finished"] >= wanted:
                    break
                time.sleep(0.05)
            took = time.monotonic() - begin
            after = processor_time(server.pid)
    return {"store": options.store, "deliveries": wanted, "targets": options.targets, "at_once": options.at_once,
            "dead": options.dead, "per_second": round(wanted / took),
            "microseconds": round((after[0] - before[0]) / wanted * 1e6, 1),
            "kernel_microseconds": round((after[1] - before[1]) / wanted * 1e6, 1),
            "failed": sum(seen.get("webhooks", {}).get(each, 0) for each in ("rejected", "unknown", "not_sent"))}


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--program", type=Path, default=PROGRAM)
    asked.add_argument("--sink", type=Path, default=PROGRAM.parent / "webhook-bench", help="the program that receives")
    asked.add_argument("--deliveries", type=positive, default=100_000)
    asked.add_argument("--targets", type=positive, default=4)
    asked.add_argument("--at-once", type=positive, default=64, help="deliveries under way of all targets")
    asked.add_argument("--dead", type=int, default=0)
    asked.add_argument("--store", choices=["memory", "data"], default="memory")
    asked.add_argument("--wrap", default="", help="a command that starts the server, such as valgrind with its options")
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(options, Path(folder))))


if __name__ == "__main__":
    main()
