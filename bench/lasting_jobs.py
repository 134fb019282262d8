#!/usr/bin/env python3
"""Full cycles of jobs at a fixed rate over PostgreSQL, beside a transaction that stays open: what accumulates shows.

    bench/lasting_jobs.py --seconds 3600 --pin

Each job is put, reserved and deleted; a part of them is due a second later. Prints a line each minute: jobs finished in a
second, how many are not finished, how late they were reserved, and the tables that are larger than a megabyte, with the
dead rows that PostgreSQL estimates. At the end the rest must drain, and the last third of the lines must be as the first:
the rate, the jobs that are not finished, and the size of the database. Else the exit status is 1."""
import contextlib
import statistics
import sys

from harness import PATIENCE, Arguments, ask, positive, postgresql, psql, queue_load, rate_of, serving_nodes

TABLES = """SELECT string_agg(name || ' ' || dead || ' dead, ' || mb || ' MB', '; ' ORDER BY name) ||
  '; in all ' || pg_database_size(current_database()) / 1048576 || ' MB'
FROM (SELECT regexp_replace(relname, '_[0-9]$', '') AS name, sum(n_dead_tup) AS dead,
             sum(pg_total_relation_size(relid))::bigint / 1048576 AS mb
      FROM pg_stat_user_tables WHERE schemaname = 'foliot' GROUP BY 1) t WHERE mb > 0"""


@contextlib.contextmanager
def pinned(database, is_pinned=True):
    """Keeps a transaction with a snapshot open meanwhile."""
    if not is_pinned:
        yield
        return
    with psql(database) as pin:
        ask(pin, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;")  # it has its snapshot
        try:
            yield
        finally:
            pin.kill()


def not_level(samples):
    """What the last third of the samples has otherwise than the first, in sentences."""
    third = len(samples) // 3
    if third == 0:
        return []
    first, last = samples[:third], samples[-third:]

    def median(of, name):
        return statistics.median(each[name] for each in of)
    found = []
    if median(last, "rate") < 0.95 * median(first, "rate"):
        found.append(f"the rate has fallen from {median(first, 'rate'):.0f} to {median(last, 'rate'):.0f} jobs/s")
    if median(last, "open") > 1.5 * median(first, "open") + 200:
        found.append(f"the jobs that are not finished have grown from {median(first, 'open'):.0f} to {median(last, 'open'):.0f}")
    before, after = (max(each["megabytes"] for each in of) for of in (first, last))
    if after > 1.5 * before + 16:
        found.append(f"the database has grown from {before:.0f} to {after:.0f} MB")
    return found


def late(got, before=""):
    if f"{before}p50" not in got:
        return "no job"
    return " ".join(f"{each} {got[before + each]:.1f}" for each in ("p50", "p99")) + " ms"


def run(options, server, nodes):
    samples = []
    with queue_load(options.program, nodes, "steady", rate=options.rate, seconds=options.seconds, every=options.every,
                    delayed=options.delayed, delay=options.delay, workers=options.workers) as load:
        load.next()
        load.go_on()
        at = 0
        while "unfinished" not in (got := load.next(PATIENCE + max(options.every, 600))):
            at, rate = at + got["seconds"], rate_of(got["jobs"], got["seconds"])
            print(f"{at:6.0f} s  {rate:7.1f}/s  open {got['open']}  ready {late(got)}  delayed {late(got, 'delayed_')}"
                  f"  {server.sql(server.folder, TABLES)}", flush=True)
            size = int(server.sql(server.folder, "SELECT pg_database_size(current_database())"))
            samples.append({"rate": rate, "open": got["open"], "megabytes": size / 1048576})
            load.go_on()
    print(f"{got['jobs']} jobs, {got['unfinished']} not finished {got['seconds']:.1f} s after the last put")
    for each in (grown := not_level(samples)):
        print(f"not level: {each}")
    return got["unfinished"] == 0 and not grown


def main():
    parser = Arguments(__doc__)
    parser.add("--seconds", float, 60)
    parser.add("--every", float, 60, "seconds between two lines")
    parser.add("--rate", positive, 800, "jobs in a second")
    parser.add("--delayed", float, 0.25, "the share of jobs that are due later")
    parser.add("--delay", int, 1, "how many seconds later they are due")
    parser.add("--workers", positive, 32)
    parser.add("--nodes", positive, 1)
    parser.add_argument("--pin", action="store_true", help="keep a transaction with a snapshot open")
    options = parser.parse_args()
    with postgresql(options.program) as server, serving_nodes(options.program, server.database, options.nodes) as nodes, \
            pinned(server.database, options.pin):
        return 0 if run(options, server, nodes) else 1


if __name__ == "__main__":
    sys.exit(main())
