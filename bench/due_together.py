#!/usr/bin/env python3
"""How soon the occurrences of so many schedules are with their workers that are all due at the same second, and how late the
jobs of another tube are meanwhile.

    bench/due_together.py --schedules 100000

Each schedule is due once. The workers reserve what comes, a hundred jobs in a request, and keep it. In the tube beside a job
is due every 20 ms, from ten seconds before that second on, and a worker of its own reserves what is ready. The jobs are in a
folder, where a commit is on the disk before it is answered, or with --memory in memory.

Prints when a part of the occurrences was with a worker, in seconds behind that second; how late the commits of their jobs
were, which is the server's part, by its histogram; and how late the jobs beside were with their worker, before the second and
from it on, in ms. With --within the exit status is 1 if the last occurrence comes later than that."""
import contextlib
import datetime
import json
import re
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import Arguments, positive
from sizes import put_all, serving

AT_ONCE = 100  # requests that are sent together, and jobs of a reserve
FILLERS = 32
FIRST = 1600  # schedules by which the time for the others is estimated
BESIDE_EVERY = 20  # ms
BESIDE_BEFORE = 10  # s
BESIDE_BEHIND = 15
PARTS = (50, 90, 99, 100)


def text_of(second):
    return datetime.datetime.fromtimestamp(second, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def put_schedules(path, names, second):
    """Schedules that are due once, at this second."""
    plan = json.dumps({"rules": ["once " + text_of(second)], "job": {"body": {"of": "all"}, "ttr": "1h"}}).encode()
    with socket.socket(socket.AF_UNIX) as to:
        to.connect(str(path))
        answers = to.makefile("rb")
        for first in range(0, len(names), AT_ONCE):
            some = names[first:first + AT_ONCE]
            to.sendall(b"".join(b"PUT /v1/tubes/due/schedules/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                b"Content-Length: %d\r\n\r\n%s" % (name.encode(), len(plan), plan) for name in some))
            for _ in some:
                status = answers.readline()
                length = 0
                while (line := answers.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                body = answers.read(length)
                if b" 201 " not in status:
                    raise RuntimeError(f"a schedule is refused: {status} {body}")


def in_threads(calls):
    """Calls them all at once. Throws what one has thrown."""
    failures = []

    def run(call):
        try:
            call()
        except Exception as failure:  # it is thrown again
            failures.append(failure)
    threads = [threading.Thread(target=run, args=(each,), daemon=True) for each in calls]
    for each in threads:
        each.start()
    for each in threads:
        while each.is_alive() and not failures:
            each.join(0.1)
    if failures:
        raise failures[0]


def fill(path, count):
    """Puts the schedules, and returns the second at which all are due: soon after the last one is there."""
    names = [f"s{number:07}" for number in range(count)]
    trial = min(FIRST, count)

    def put_shares(all_names, second):
        in_threads([lambda share=all_names[filler::FILLERS]: put_schedules(path, share, second) for filler in range(FILLERS)])
    began = time.time()
    put_shares([f"trial{number}" for number in range(trial)], int(began) + 86_400)
    one = (time.time() - began) / trial
    second = int(time.time() + 1.5 * one * count + BESIDE_BEFORE + 5)
    put_shares(names, second)
    if time.time() > second - BESIDE_BEFORE - 1:
        raise RuntimeError("the schedules were not there in time: the machine is busy; try again")
    return second


class Work:
    """What the workers have got. Times are seconds since 1970."""

    def __init__(self, server, second, count):
        self.server = server
        self.second = second
        self.count = count
        self.lock = threading.Lock()
        self.got = {}     # key of a job → when it was there
        self.beside = []  # (when it was due, when it was there)
        self.ends = threading.Event()

    def reserve(self):
        with contextlib.closing(self.server.connect()) as connection:
            while not self.ends.is_set():
                jobs = connection.ask("POST", "/v1/reserve", {"tube": "due", "count": AT_ONCE, "timeout": "1s"})["jobs"]
                now = time.time()
                with self.lock:
                    for job in jobs:
                        if job["key"] in self.got:
                            raise RuntimeError(f"an occurrence has come twice: {job['key']}")
                        self.got[job["key"]] = now
                    if len(self.got) >= self.count:
                        self.ends.set()

    def reserve_beside(self):
        with contextlib.closing(self.server.connect()) as connection:
            while not self.ends.is_set():
                jobs = connection.ask("POST", "/v1/reserve", {"tube": "beside", "count": AT_ONCE, "timeout": "1s"})["jobs"]
                now = time.time()
                self.beside += [(float(job["text"]), now) for job in jobs]

    def put_beside(self):
        with contextlib.closing(self.server.connect()) as connection:
            first, last = (1000 * (self.second + each) for each in (-BESIDE_BEFORE, BESIDE_BEHIND))
            jobs = [{"tube": "beside", "text": f"{due / 1000:.3f}", "due": f"{text_of(due // 1000)[:-1]}.{due % 1000:03}Z", "ttr": "1h"}
                    for due in range(first, last, BESIDE_EVERY)]
            put_all(connection, jobs)


def lateness_by_server(server):
    """The upper bound of the bucket of the greatest lateness of a commit, in seconds, and how many there were."""
    with contextlib.closing(server.connect()) as connection:
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode()
    buckets = re.findall(r'^foliot_schedule_lateness_seconds_bucket\{le="([^"]+)"\} (\d+)$', page, re.M)
    count = int(buckets[-1][1])
    return next(bound for bound, so_far in buckets if int(so_far) == count), count


def tell_beside(title, late):
    late = sorted(late)
    figures = [statistics.median(late), late[int(0.99 * (len(late) - 1))], late[-1]] if late else []
    told = [f"{name} {1e3 * value:.1f} ms" for name, value in zip(("median", "99 %", "greatest"), figures)]
    print(f"beside, {title}: " + ", ".join([f"{len(late)} jobs", *told]))


def main():
    parser = Arguments(__doc__)
    parser.add("--schedules", positive, 100_000)
    parser.add("--workers", positive, 4)
    parser.add("--within", positive, what="seconds")
    parser.add_argument("--memory", action="store_true", help="the jobs are in memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = ["--memory"] if options.memory else ["--data", f"{folder}/jobs"]
        with serving(options.program, Path(folder), *store) as server:
            began = time.monotonic()
            second = fill(server.path, options.schedules)
            print(f"{options.schedules} schedules, put in {time.monotonic() - began:.0f} s", file=sys.stderr)
            work = Work(server, second, options.schedules)
            work.put_beside()
            in_threads([work.reserve] * options.workers + [work.reserve_beside])
            bound, counted = lateness_by_server(server)
    times = sorted(when - second for when in work.got.values())
    if times[0] < 0:
        raise RuntimeError(f"an occurrence has come {-times[0]:.3f} s early")
    reached = ", ".join(f"{part} % after {times[max(0, len(times) * part // 100 - 1)]:.2f} s" for part in PARTS)
    print(f"{len(times)} occurrences of one second with their workers: {reached}")
    print(f"{counted} commits, none later than {bound} s")
    tell_beside("before", [got - due for due, got in work.beside if due < second])
    tell_beside("from that second to the last occurrence", [got - due for due, got in work.beside if second <= due <= second + times[-1]])
    if options.within and times[-1] > options.within:
        sys.exit(f"the last occurrence came after {times[-1]:.2f} s")


if __name__ == "__main__":
    main()
