#!/usr/bin/env python3
"""Full cycles of jobs at a fixed rate over PostgreSQL, beside a transaction that stays open: what accumulates shows.

    bench/lasting_jobs.py --seconds 3600 --pin

Each job is put, reserved and deleted; a part of them is due a second later. Prints a line each minute: jobs finished in a
second, how many are not finished, how late they were reserved, and the tables that are larger than a megabyte, with the
dead rows that PostgreSQL estimates. At the end the rest must drain, and the last third of the lines must be as the first:
the rate, the jobs that are not finished, and the size of the database. Else the exit status is 1."""
import argparse
import contextlib
import selectors
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from kit import postgresql_server
from kit.beanstalk_client import Connection, free_port

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
ATTEMPTS = 20  # to start a node
MOST_UNANSWERED = 4000  # puts
BODY = b"%.6f %d %-60s"
TABLES = """SELECT string_agg(name || ' ' || dead || ' dead, ' || mb || ' MB', '; ' ORDER BY name) ||
  '; in all ' || pg_database_size(current_database()) / 1048576 || ' MB'
FROM (SELECT regexp_replace(relname, '_[0-9]$', '') AS name, sum(n_dead_tup) AS dead,
             sum(pg_total_relation_size(relid))::bigint / 1048576 AS mb
      FROM pg_stat_user_tables WHERE schemaname = 'foliot' GROUP BY 1) t WHERE mb > 0"""


class Load:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.put = self.answered = self.finished = 0
        self.late = {b"0": [], b"1": []}  # seconds; by whether the job was delayed

    def turn(self, patience):
        for key, _ in self.selector.select(patience):
            key.data.read()


class LoadConnection(Connection):
    def __init__(self, load, port):
        super().__init__((HOST, port))
        self.load = load
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        load.selector.register(self.socket, selectors.EVENT_READ, self)


class Producer(LoadConnection):
    def put(self, count, delayed_share=0, later=1):
        """Puts so many jobs, of which this share is due so many seconds later."""
        commands = []
        for number in range(self.load.put, self.load.put + count):
            is_delayed = number * 37 % 100 < delayed_share * 100
            delay = later if is_delayed else 0
            body = BODY % (time.time() + delay, is_delayed, b"x")
            commands.append(b"put 0 %d 60 %d\r\n%s\r\n" % (delay, len(body), body))
        self.load.put += count
        self.send(b"".join(commands))

    def read(self):
        for answer in self.arrived():
            if not answer.startswith(b"INSERTED"):
                raise ValueError(f"a put was answered by {answer}")
            self.load.answered += 1


class Worker(LoadConnection):
    def __init__(self, load, port):
        super().__init__(load, port)
        self.send(b"reserve\r\n")

    def read(self):
        for answer in self.arrived():
            words = answer.split()
            if words[0] == b"RESERVED":
                due, delayed = words[3:5]
                self.load.late[delayed].append(time.time() - float(due))
                self.send(b"delete %s\r\n" % words[1])
            elif words[0] == b"DELETED":
                self.load.finished += 1
                self.send(b"reserve\r\n")
            else:
                raise ValueError(f"a worker was answered by {answer}")


def quantiles(seconds):
    if not seconds:
        return "no job"
    seconds.sort()
    return " ".join(f"p{q} {seconds[len(seconds) * q // 100] * 1000:.1f}" for q in (50, 99)) + " ms"


def answers(host, where, process):
    """Whether the node answers at this place, and no other program. False if its process has ended."""
    while process.poll() is None:
        try:  # a connect is not enough: at its start a node listens for a moment, to see whether it can
            with contextlib.closing(Connection(where if host is None else (host, where))) as made:
                if made.numbers(b"stats\r\n").get("pid") == process.pid:
                    return True
        except (OSError, EOFError):
            pass
        time.sleep(0.05)
    return False


def start_nodes(program, database, count, folder=None, sessions=None):
    """Pairs of port and process; with a folder, pairs of the path of a local socket in it and process. Without `sessions`
    a node has as many as it has by itself."""
    nodes = []
    more = [] if sessions is None else ["--sessions", str(sessions)]

    def start(number):
        where = free_port() if folder is None else f"{folder}/n{number}"
        return where, subprocess.Popen([program, "serve", "--store", database, "--node", f"n{number}", "--beanstalk",
                                        f"{HOST}:{where}" if folder is None else f"unix:{where}", *more],
                                       stderr=subprocess.DEVNULL)

    begun = [start(number) for number in range(count)]
    for number, (where, process) in enumerate(begun):
        for _ in range(ATTEMPTS):  # another program may take the port first
            if answers(HOST if folder is None else None, where, process):
                break
            process.wait()
            where, process = start(number)
        nodes.append((where, process))
    return nodes


@contextlib.contextmanager
def pinned(database, is_pinned=True):
    """Keeps a transaction with a snapshot open meanwhile."""
    if not is_pinned:
        yield
        return
    pin = subprocess.Popen(["psql", "-qXAt", "-d", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        pin.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;\n")
        pin.stdin.flush()
        pin.stdout.readline()  # it has its snapshot
        yield
    finally:
        pin.kill()
        pin.wait()


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


def run(options, server, nodes):
    load = Load()
    samples = []
    producers = [Producer(load, port) for port, _ in nodes for _ in range(8)]
    for number in range(options.workers):
        Worker(load, nodes[number % len(nodes)][0])
    begin = time.monotonic()
    shown_at, finished, turn = begin, 0, 0
    while (now := time.monotonic()) < begin + options.seconds:
        due = int((now - begin) * options.rate)
        while load.put < due and load.put - load.answered < MOST_UNANSWERED:
            producers[turn % len(producers)].put(min(due - load.put, 20), options.delayed, options.delay)
            turn += 1
        load.turn(0.002)
        if now >= shown_at + options.every:
            rate = (load.finished - finished) / (now - shown_at)
            print(f"{now - begin:6.0f} s  {rate:7.1f}/s  open {load.answered - load.finished}  ready {quantiles(load.late[b'0'])}"
                  f"  delayed {quantiles(load.late[b'1'])}  {server.sql(server.folder, TABLES)}", flush=True)
            size = int(server.sql(server.folder, "SELECT pg_database_size(current_database())"))
            samples.append({"rate": rate, "open": load.answered - load.finished, "megabytes": size / 1048576})
            shown_at, finished = now, load.finished
            for each in load.late.values():
                each.clear()
    end = time.monotonic()
    while load.finished < load.put and time.monotonic() < end + 600:
        load.turn(0.1)
    print(f"{load.put} jobs, {load.put - load.finished} not finished {time.monotonic() - end:.1f} s after the last put")
    for each in (grown := not_level(samples)):
        print(f"not level: {each}")
    return load.put == load.finished and not grown


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build" / "release" / "bin" / "foliot")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--every", type=float, default=60, help="seconds between two lines")
    parser.add_argument("--rate", type=int, default=800, help="jobs in a second")
    parser.add_argument("--delayed", type=float, default=0.25, help="the share of jobs that are due later")
    parser.add_argument("--delay", type=int, default=1, help="how many seconds later they are due")
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--pin", action="store_true", help="keep a transaction with a snapshot open")
    options = parser.parse_args()
    server = postgresql_server.PostgresqlServer()
    nodes = []
    try:
        subprocess.run([options.program, "serve", "--store", server.database, "--migrate"], check=True)
        nodes = start_nodes(options.program, server.database, options.nodes)
        with pinned(server.database, options.pin):
            return 0 if run(options, server, nodes) else 1
    finally:
        for _, process in nodes:
            process.kill()
            process.wait()
        server.remove()


if __name__ == "__main__":
    sys.exit(main())
