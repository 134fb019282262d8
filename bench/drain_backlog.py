#!/usr/bin/env python3
"""How long a backlog of ready jobs takes to drain over PostgreSQL, without and beside a transaction that stays open.

    bench/drain_backlog.py --jobs 250000 --rest 20

Puts the jobs, waits, and has workers reserve and delete them one by one. Prints the rate while that lasts. The exit
status is 1 if the drain beside the transaction takes more than --most times as long as the one without."""
import sys
import time

from harness import Arguments, positive, postgresql, queue_load, rate_of, serving_nodes
from lasting_jobs import TABLES, pinned


def drain(options, server, nodes):
    """In seconds."""
    with queue_load(options.program, nodes, "backlog", jobs=options.jobs, workers=options.workers,
                    every=options.every) as load:
        load.next(options.give_up)
        time.sleep(options.rest)
        begin = last = time.monotonic()
        left = options.jobs
        load.go_on()

        def show(took, rate):
            print(f"{took:6.1f} s  {rate:7.1f}/s  left {left}  {server.sql(server.folder, TABLES)}", flush=True)
        while "open" in (got := load.next(options.give_up + options.every)):
            took, left = time.monotonic() - begin, got["open"]
            show(took, rate_of(got["jobs"], got["seconds"]))
            if took > options.give_up:
                print(f"given up: {left} jobs are left")
                return took
            last = time.monotonic()
            load.go_on()
        now = time.monotonic()
        rate, left = rate_of(left, now - last), 0
        show(now - begin, rate)  # of the last interval, which is shorter
        return now - begin


def measure(options, is_pinned):
    with postgresql(options.program) as server, serving_nodes(options.program, server.database, 1) as nodes, \
            pinned(server.database, is_pinned):
        return drain(options, server, nodes)


def main():
    parser = Arguments(__doc__)
    parser.add("--jobs", positive, 250_000)
    parser.add("--rest", float, 20, "seconds between the last put and the first reserve")
    parser.add("--workers", positive, 32)
    parser.add("--every", float, 5, "seconds between two lines")
    parser.add("--most", float, 1.5)
    parser.add("--give-up", float, 600, "seconds of one drain")
    options = parser.parse_args()
    took = []
    for is_pinned in (False, True):
        print("beside an open transaction" if is_pinned else "no open transaction")
        took.append(measure(options, is_pinned))
    print(f"{options.jobs} jobs: {took[0]:.1f} s, beside an open transaction {took[1]:.1f} s, {took[1] / took[0]:.2f} times")
    return 0 if took[1] <= options.most * took[0] else 1


if __name__ == "__main__":
    sys.exit(main())
