#!/usr/bin/env python3
"""How long a backlog of ready jobs takes to drain over PostgreSQL, without and beside a transaction that stays open.

    bench/drain_backlog.py --jobs 250000 --rest 20

Puts the jobs, waits, and has workers reserve and delete them one by one. Prints the rate while that lasts. The exit
status is 1 if the drain beside the transaction takes more than --most times as long as the one without."""
import argparse
import contextlib
import subprocess
import sys
import time
from pathlib import Path

from kit import postgresql_server
from lasting_jobs import MOST_UNANSWERED, TABLES, Load, Producer, Worker, pinned, start_nodes

ROOT = Path(__file__).resolve().parent.parent


def put_all(load, producers, jobs):
    while load.answered < jobs:
        while load.put < jobs and load.put - load.answered < MOST_UNANSWERED:
            producers[load.put // 20 % len(producers)].put(min(jobs - load.put, 20))
        load.turn(0.01)


def drain(options, server, port):
    """In seconds."""
    load = Load()
    put_all(load, [Producer(load, port) for _ in range(8)], options.jobs)
    time.sleep(options.rest)
    begin = time.monotonic()
    for _ in range(options.workers):
        Worker(load, port)
    shown_at, finished = begin, 0
    while load.finished < options.jobs:
        load.turn(0.1)
        now = time.monotonic()
        if now >= shown_at + options.every or load.finished == options.jobs:
            print(f"{now - begin:6.1f} s  {(load.finished - finished) / (now - shown_at):7.1f}/s  "
                  f"left {options.jobs - load.finished}  {server.sql(server.folder, TABLES)}", flush=True)
            shown_at, finished = now, load.finished
        if now > begin + options.give_up:
            print(f"given up: {options.jobs - load.finished} jobs are left")
            break
    return time.monotonic() - begin


def measure(options, is_pinned):
    server = postgresql_server.PostgresqlServer()
    with contextlib.ExitStack() as at_end:
        at_end.callback(server.remove)
        subprocess.run([options.program, "serve", "--store", server.database, "--migrate"], check=True)
        (port, process), = start_nodes(options.program, server.database, 1)
        at_end.callback(process.wait)
        at_end.callback(process.kill)
        at_end.enter_context(pinned(server.database, is_pinned))
        return drain(options, server, port)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build" / "release" / "bin" / "foliot")
    parser.add_argument("--jobs", type=int, default=250_000)
    parser.add_argument("--rest", type=float, default=20, help="seconds between the last put and the first reserve")
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--every", type=float, default=5, help="seconds between two lines")
    parser.add_argument("--most", type=float, default=1.5)
    parser.add_argument("--give-up", type=float, default=600, help="seconds of one drain")
    options = parser.parse_args()
    took = []
    for is_pinned in (False, True):
        print("beside an open transaction" if is_pinned else "no open transaction")
        took.append(measure(options, is_pinned))
    print(f"{options.jobs} jobs: {took[0]:.1f} s, beside an open transaction {took[1]:.1f} s, {took[1] / took[0]:.2f} times")
    return 0 if took[1] <= options.most * took[0] else 1


if __name__ == "__main__":
    sys.exit(main())
