#!/usr/bin/env python3
"""What the batches of a node cost a PostgreSQL database: the parameters of docs/serve/capacity.md.

    bench/database_costs.py --json costs.json
    bench/simulate_nodes.py costs.json --rate 500

Uses a private server on this machine. Each kind of batch is executed in several
sizes, in turns; a row of the table is the median of the rounds. A curve through the sizes, by the least squares of the
relative errors, gives what a batch of each kind costs and what each job in it adds. The last two columns say how far the
curves are off."""
import itertools
import os
import platform
import statistics
import subprocess
import sys
import time

from harness import HOST, Arguments, ask, positive, postgresql, psql, serving_nodes, write_json
from kit.beanstalk_client import Connection
from server_usage import ServerUsage
from simulate_nodes import BETWEEN_BEATS, SECOND, cost

SIZES = {1: 200, 8: 120, 64: 30, 256: 10}  # jobs in a batch, and how many batches
BODIES = (100, 10_000)
STATEMENTS = ("put", "claim", "finish")
KINDS = (*STATEMENTS, "cycle")  # of which a cycle has all three
LISTENERS = 8
NODES = 4


class Batches:
    """The program `foliot-bench batches`, with one connection to the database."""

    def __init__(self, program, usage, database):
        self.usage = usage
        self.process = subprocess.Popen([program.with_name("foliot-bench"), "batches", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what, size=0, body=0, count=1):
        self.process.stdin.write(f"{what} {size} {body} {count}\n")
        self.process.stdin.flush()
        held, took, cpu, median = map(float, self.process.stdout.readline().split())
        return {"held": int(held), "wall": took / count * 1e6, "node": cpu / count * 1e6, "median": median * 1e6}

    def measure(self, what, size=0, body=0, count=1):
        """The same per batch, with the server's share: us of CPU of its backends, and bytes of WAL."""
        wal, processes = self.usage.wal()[0], self.usage.processes()
        got = self.ask(what, size, body, count)
        got["cpu"] = self.usage.backends_since(processes) / count
        got["wal"] = (self.usage.wal()[0] - wal) / count
        return got

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


def solved(matrix):
    """The solution of linear equations, of which each row has the right side last; None if there is not just one."""
    rows = [list(row) for row in matrix]
    for i, _ in enumerate(rows):
        best = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        if abs(rows[i][i]) < 1e-12:
            return None
        for k, row in enumerate(rows):
            if k != i:
                factor = row[i] / rows[i][i]
                rows[k] = [x - factor * y for x, y in zip(row, rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def curve(points, terms):
    """[a, b, c] of a + b n + c n^2 through (n, y), by the least squares of relative errors; none is negative. With two
    terms c is 0."""
    best = (float("inf"), [0.0, 0.0, 0.0])
    for used in (each for count in range(1, terms + 1)
                 for each in itertools.combinations(range(terms), count)):
        found = solved([[sum(n ** (i + j) / y**2 for n, y in points) for j in used] + [sum(n**i / y for n, y in points)]
                        for i in used])
        if found is None or min(found) < 0:
            continue
        error = sum((sum(f * n**i for f, i in zip(found, used)) / y - 1) ** 2 for n, y in points)
        if error < best[0]:
            best = (error, [dict(zip(used, found)).get(i, 0.0) for i in range(3)])
    return best[1]


def rounds(batches, count):
    """{(kind, size, body): medians of the rounds; of the WAL the least, which is without full pages and vacuums}."""
    seen = {}
    for _ in range(count):
        for body in BODIES:
            for size, times in SIZES.items():
                if body * size > 1 << 20:  # a batch of a node takes no more
                    continue
                for kind in KINDS:
                    if kind == "cycle":
                        batches.ask("put", size, body, 1)
                        batches.ask("claim", size, 0, 1)
                    seen.setdefault((kind, size, body), []).append(batches.measure(kind, size, body, times))
                    if kind == "cycle":
                        while batches.ask("finish", size)["held"] > 0:
                            pass
        seen.setdefault(("empty", 0, 0), []).append(batches.measure("empty", count=300))
        seen.setdefault(("scan", 0, 0), []).append(batches.measure("claim", 1, count=300))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return {key: {name: (min if name == "wal" else statistics.median)(each[name] for each in several) for name in several[0]}
            for key, several in seen.items()}


def fitted(seen, figure):
    """The parameters of one figure: for a batch at all, for one that writes, and for each kind of statement and its jobs.
    What all kinds have in common follows from the batches that have three kinds at once."""
    empty = seen["empty", 0, 0][figure]
    small, large = BODIES

    def points(kind, body):
        return [(size, got[figure]) for (k, size, b), got in seen.items() if (k, b) == (kind, body)]

    # Only processor time of the database grows by more than the number of jobs.
    curves = {kind: curve(points(kind, small), 3 if figure == "cpu" else 2) for kind in KINDS}
    firsts = {kind: max(curves[kind][0] - empty, 0) for kind in KINDS}
    writes = min(max(sum(firsts[kind] for kind in STATEMENTS) - firsts["cycle"], 0) / 2,
                 *(firsts[kind] for kind in STATEMENTS))
    result = {"batch": empty, "write": writes}
    for kind in STATEMENTS:
        first, job, pair = curves[kind]
        # Of the large bodies, only what grows with them.
        byte = statistics.median((y - first - job * n - pair * n * n) / n / (large - small) for n, y in points(kind, large))
        byte = max(byte, 0)
        result[kind] = {"first": firsts[kind] - writes, "job": max(job - byte * small, 0), "pair": pair, "byte": byte}
    return result


def syncs(batches, usage):
    """Syncs of a batch that writes, and the time of one in us."""
    before = usage.wal()
    batches.ask("put", 1, 100, 300)
    time.sleep(1.1)
    batches.ask("empty")
    after = usage.wal()
    count = after[1] - before[1]
    drain(batches, 300)
    return count / 300, (after[2] - before[2]) / count * 1000


def rotation(usage, database, turns):
    """us of CPU of a turn that finds nothing to do; without `turns`, of a call that comes too soon after one."""
    calls = "SELECT foliot.rotate();\n"
    if turns:
        calls = "SELECT setval('foliot.last_turn', 1);\n" + calls
    with psql(database) as session:
        ask(session, calls * 5)
        before = usage.processes()
        ask(session, calls * 200)
        took = usage.backends_since(before)
        session.stdin.close()
    return took / 200


def news(batches, usage, database):
    """us of CPU of the database: for telling once, with one node that listens, and for each further one."""
    def tell():
        before = usage.processes()
        for _ in range(200):
            batches.ask("tell")
            time.sleep(0.01)  # news of less than 5 ms are told together
        return usage.backends_since(before) / 200

    alone = tell()
    sessions = [psql(database) for _ in range(LISTENERS)]
    for each in sessions:
        ask(each, "LISTEN foliot;\n")
    together = tell()
    for each in sessions:
        each.stdin.close()
        each.wait()
    return alone, max(together - alone, 0) / LISTENERS


def idle(program, usage, database, seconds):
    """What a node costs in a second, in us of CPU and bytes of WAL: without clients, and with one that waits."""
    def over():
        wal, before = usage.wal()[0], usage.processes()
        time.sleep(seconds)
        return usage.backends_since(before) / seconds / NODES, (usage.wal()[0] - wal) / seconds / NODES

    with serving_nodes(program, database, NODES, sessions=1) as nodes:
        time.sleep(12)  # the first vacuum of the new tables is over
        quiet = over()
        waiting = [Connection((HOST, port)) for port, _ in nodes]
        for each in waiting:
            each.send(b"reserve\r\n")
        return quiet, over()


def pending(batches, usage):
    """Bytes of tables and indexes for each job that waits, with a body of 100 bytes: delayed, and ready. Of new tables,
    because others have gaps."""
    result = []
    for kind in ("delay", "put"):
        before = usage.table_bytes()
        batches.ask(kind, 256, 100, 80)
        result.append((usage.table_bytes() - before) / (256 * 80))
    drain(batches, 256 * 80)
    return result


def drain(batches, ready):
    while batches.ask("claim", 64)["held"] < ready:
        pass
    while batches.ask("finish", 64)["held"] > 0:
        pass


def show(seen, parameters):
    print("batch               jobs   body   server CPU     WAL bytes       batch takes   node CPU   model: CPU    WAL")
    for (kind, size, body), got in sorted(seen.items(), key=lambda each: (each[0][2], each[0][0], each[0][1])):
        errors = ""
        if kind in KINDS:
            counts = {each: size for each in (STATEMENTS if kind == "cycle" else (kind,))}
            errors = "".join(f"{cost(parameters[figure], counts, body) / got[figure] - 1:+9.0%}" for figure in ("cpu", "wal"))
        print(f"{kind:18} {size:5} {body:6} {got['cpu']:9.0f} us {got['wal']:12.0f} {got['median']:14.0f} us"
              f" {got['node']:7.0f} us  {errors}")
    for figure, unit in (("cpu", "us of the database's CPU"), ("wal", "bytes of WAL"), ("node", "us of the node's CPU")):
        p = parameters[figure]
        print(f"{unit}: {p['batch']:.0f} a batch, {p['write']:.0f} if it writes; "
              + "; ".join(f"{kind} {p[kind]['first']:.0f} + {p[kind]['job']:.1f} n + {p[kind]['pair']:.3f} n^2 + {p[kind]['byte']:.4f} a byte"
                          for kind in STATEMENTS))
    for name, value in parameters.items():
        if not isinstance(value, dict):
            print(f"{name}: {value if isinstance(value, str) else format(value, '.6g')}")


def main():
    parser = Arguments(__doc__)
    parser.add("--rounds", positive, 3)
    parser.add("--idle", float, 15, "seconds for which nodes without work are watched")
    parser.add_json("a file for the parameters")
    options = parser.parse_args()
    with postgresql(options.program) as server:
        usage = ServerUsage(server)
        parameters = {}
        (parameters["quiet_cpu"], parameters["quiet_wal"]), (parameters["waiting_cpu"], parameters["waiting_wal"]) = idle(
            options.program, usage, server.database, options.idle)
        batches = Batches(options.program, usage, server.database)
        parameters["delayed_bytes"], parameters["ready_bytes"] = pending(batches, usage)
        for kind in STATEMENTS:  # pages, plans and caches
            batches.ask(kind, 64, 100, 20)
        seen = rounds(batches, options.rounds)
        parameters |= {figure: fitted(seen, figure) for figure in ("cpu", "wal", "node")}
        parameters["scan"] = seen["scan", 0, 0]["cpu"]
        parameters["syncs"], parameters["sync"] = syncs(batches, usage)
        # What a batch takes beside the processors of both sides: two round trips; and the sync, if it writes.
        rest = {kind: max(each["median"] - each["cpu"] - each["node"], 0) for kind, each in
                (("empty", seen["empty", 0, 0]), ("put", seen["put", 1, BODIES[0]]))}
        parameters["way"] = rest["empty"] / 4
        parameters["commit"] = max(rest["put"] - rest["empty"], parameters["sync"])
        parameters["no_rotation"] = rotation(usage, server.database, False)
        parameters["rotation"] = rotation(usage, server.database, True)
        parameters["tell"], parameters["listen"] = news(batches, usage, server.database)
        batches.end()
        # A quiet node executes an empty batch with each beat, and then a turn of the rotation.
        parameters["beat"] = max(parameters["quiet_cpu"] * BETWEEN_BEATS / SECOND - parameters["cpu"]["batch"]
                                 - parameters["rotation"], 0)
        parameters["machine"] = f"{platform.machine()}, {len(os.sched_getaffinity(0))} processors"
        show(seen, parameters)
        write_json(options.json, parameters)


if __name__ == "__main__":
    sys.exit(main())
