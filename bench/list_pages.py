#!/usr/bin/env python3
"""What a page of each list takes over PostgreSQL, with so many jobs in so many tubes.

    bench/list_pages.py --tubes 100000 --jobs 1000000

Uses a private server on this machine, and one node. The jobs are those of `foliot bench serve --only lists`, which measures the
same pages of a server with a folder: half of them in one tube, the others spread evenly; of each tube half are due within a day.
They are put over one connection. Each page is asked for 20 times, and the first does not count. Prints the median of the time,
and of the processor time of the node and of the database, each in ms."""
import random
import statistics
import tempfile
import time
from pathlib import Path

from harness import Arguments, Report, positive, postgresql
from server_usage import ServerUsage, seconds_of
from sizes import put_all, serving

LARGE = "foliot-bench"
HOUR, DAY = 3600, 86_400
RESERVED, RESERVED_SHARE, RESERVED_AT_ONCE = 3000, 8, 100
PAGES = 20


def small(number):
    return f"t{number:07}"


def all_jobs(count, tubes):
    """As a batch names them."""
    chosen = random.Random(1)
    for number in range(count):
        half = number // 2
        is_large = number % 2 == 0
        place = half if is_large else half // (tubes - 1)
        delay = 0 if place % 2 == 0 else HOUR + chosen.randrange(DAY)
        yield {"tube": LARGE if is_large else small(half % (tubes - 1)), "delay": f"{delay}s", "ttr": "1h", "text": "0123456789"}


def reserve_some(connection, jobs):
    wanted = min(RESERVED, jobs // RESERVED_SHARE)
    for _ in range(0, wanted, RESERVED_AT_ONCE):
        connection.ask("POST", "/v1/reserve", {"tube": LARGE, "count": min(wanted, RESERVED_AT_ONCE)})


def lists(tubes):
    large, one = f"/v1/tubes/{LARGE}/jobs", f"/v1/tubes/{small(0)}/jobs"
    return {"100 tubes": "/v1/tubes?count=100",
            "100 tubes from the middle on": f"/v1/tubes?count=100&cursor={small(tubes // 2 - 1)}",
            "1,000 tubes": "/v1/tubes?count=1000",
            "100 jobs of what is due next": "/v1/due?count=100",
            "100 delayed jobs of the large tube": f"{large}?count=100&state=delayed",
            "100 ready jobs of it": f"{large}?count=100&state=ready",
            "100 reserved jobs": "/v1/reservations?count=100",
            "100 jobs of all tubes": "/v1/jobs?count=100",
            "1,000 jobs of all tubes": "/v1/jobs?count=1000",
            "the jobs of a small tube": f"{one}?count=100",
            "its ready jobs": f"{one}?count=100&state=ready",
            "the jobs of ten tubes": f"/v1/jobs?count=100&prefix={small(0)[:-1]}"}


def measure(server, connection, usage, target):
    """The medians of the time and of the database's processor time in ms, and the mean of the node's."""
    times, costs, node = [], [], 0.0
    for i in range(PAGES):
        processes, used, began = usage.processes(), seconds_of(server.process.pid), time.monotonic()
        got = connection.ask("GET", target)
        took = time.monotonic() - began
        if not next(iter(got.values())):
            raise RuntimeError(f"GET {target} has no entry")
        if i > 0:
            times.append(took * 1e3)
            costs.append(usage.backends_since(processes) / 1e3)
            node += seconds_of(server.process.pid) - used
    return statistics.median(times), node * 1e3 / (PAGES - 1), statistics.median(costs)


def main():
    parser = Arguments(__doc__)
    parser.add("--tubes", positive, 10_000)
    parser.add("--jobs", positive, 100_000)
    options = parser.parse_args()
    if options.tubes < 3 or options.jobs < max(16, 2 * options.tubes):
        parser.error("at least 3 tubes, and 2 jobs for each")
    lines = Report(ms=">10.1f", node=">9.1f", database=">10.1f", page="")
    with postgresql(options.program) as database, tempfile.TemporaryDirectory() as folder, \
            serving(options.program, Path(folder), "--store", database.database, "--node", "web1") as server:
        connection = server.connect()
        put_all(connection, all_jobs(options.jobs, options.tubes))
        reserve_some(connection, options.jobs)
        database.sql(database.folder, "VACUUM ANALYZE")
        usage = ServerUsage(database)
        lines.head(page="   a page of")
        for name, target in lists(options.tubes).items():
            took, node, cost = measure(server, connection, usage, target)
            lines.add(ms=took, node=node, database=cost, page=f"   {name}")


if __name__ == "__main__":
    main()
