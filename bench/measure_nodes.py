#!/usr/bin/env python3
"""Nodes of `foliot serve` under a fixed load over a private PostgreSQL server, beside what bench/simulate_nodes.py
predicts for it.

    bench/measure_nodes.py costs.json --nodes 1,3 --rates 200,1000,10000

Each job is put, reserved and deleted; database, nodes and clients share this machine's processors, and those of a
prediction: as many as this command may use, or --cores. The processor time of clients and nodes for a job, and the time
of a sync, are those of the same run; the rest of a prediction is computed from the costs."""
import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import arguments
from kit import postgresql_server
from lasting_jobs import MOST_UNANSWERED, Load, Producer, Worker, start_nodes
from server_usage import ServerUsage, cpu_of, spent
from simulate_nodes import simulate
import simulate_nodes

ROOT = Path(__file__).resolve().parent.parent
BODY = 85  # bytes, about, of the jobs of lasting_jobs.py


class Counts:
    def __init__(self, load, usage, nodes):
        self.finished, self.answered = load.finished, load.answered
        self.database = usage.processes()
        self.nodes = sum(cpu_of_threads(process.pid) for _, process in nodes)
        self.clients = time.process_time()
        self.at = time.monotonic()


def cpu_of_threads(process):
    return sum(cpu_of(each.name)[0] for each in Path(f"/proc/{process}/task").iterdir())


def press(load, producers, rate, seconds):
    begin, first, turn = time.monotonic(), load.put, 0
    while (now := time.monotonic()) < begin + seconds:
        due = first + int((now - begin) * rate)
        while load.put < due and load.put - load.answered < MOST_UNANSWERED:
            producers[turn % len(producers)].put(min(due - load.put, 20))
            turn += 1
        load.turn(0.001)


def measure(options, server, usage, count, rate):
    nodes = start_nodes(options.program, server.database, count, sessions=1)
    try:
        load = Load()
        producers = [Producer(load, port) for port, _ in nodes for _ in range(8)]
        for number in range(options.workers):
            Worker(load, nodes[number % count][0])
        press(load, producers, rate, options.seconds / 4)
        wal = usage.wal()
        load.late[b"0"].clear()
        before = Counts(load, usage, nodes)
        press(load, producers, rate, options.seconds)
        after = Counts(load, usage, nodes)
        late = sorted(load.late[b"0"])
        last = usage.wal()
        seconds = after.at - before.at
        used, waited = spent(before.database, after.database, backends_only=False)
        end = time.monotonic() + 60
        while load.finished < load.put and time.monotonic() < end:
            load.turn(0.1)
        return {
            "nodes": count, "rate": rate, "finished": (after.finished - before.finished) / seconds,
            "put": (after.answered - before.answered) / seconds, "database": used / seconds,
            "stretch": 1 + waited / used,
            "node_cpu": (after.nodes - before.nodes) / seconds, "client_cpu": (after.clients - before.clients) / seconds,
            "writes": (last[5] - wal[5]) / seconds, "syncs": (last[1] - wal[1]) / seconds,
            "sync": (last[2] - wal[2]) / max(last[1] - wal[1], 1) * 1000, "wal": (last[0] - wal[0]) / seconds,
            "p50": late[len(late) // 2] * 1e6, "p99": late[len(late) * 99 // 100] * 1e6}
    finally:
        for _, process in nodes:
            process.kill()
            process.wait()


def predict(parameters, options, got):
    """What the simulation gives for a measurement. It plays the waiting for cores, so it is not given got["stretch"]."""
    # A job is four commands: put, reserve, delete, and the job that is handed over.
    client = (got["node_cpu"] + got["client_cpu"]) / got["finished"] / 4 * 1e6
    nothing = {"batch": 0, "write": 0} | dict.fromkeys(("put", "claim", "finish"), {"first": 0, "job": 0, "pair": 0, "byte": 0})
    parameters = parameters | {"node": nothing, "commit": got["sync"]}  # the nodes are in the clients' share
    return simulate(parameters, simulate_nodes.Load(
        nodes=got["nodes"], rate=got["rate"], workers=options.workers, body=BODY, seconds=options.seconds,
        cores=options.cores, shared=True, most_unanswered=MOST_UNANSWERED, client=client))


def show(what, got, database):
    print(f"{what:9} {got['nodes']:5} {got.get('rate', 0):6} {got['put']:8.0f} {got['finished']:10.0f} {got['p50'] / 1000:8.1f}"
          f" {got['p99'] / 1000:8.1f} {database:9.2f} {got['writes']:9.0f} {got['syncs']:8.0f} {got['wal'] / 1e6:8.2f}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("costs", type=arguments.costs, help="the file of bench/database_costs.py --json")
    parser.add_argument("--program", type=arguments.built, default=str(ROOT / "build" / "release" / "bin" / "foliot"))
    parser.add_argument("--nodes", type=arguments.positives, default="1,3")
    parser.add_argument("--rates", type=arguments.positives, default="200,1000,10000", help="jobs in a second, of all nodes")
    parser.add_argument("--workers", type=arguments.positive, default=32)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--cores", type=arguments.positive, default=len(os.sched_getaffinity(0)),
                        help="processors of this machine, for the prediction; else as many as this command may use")
    options = parser.parse_args()
    parameters = options.costs
    server = postgresql_server.PostgresqlServer()
    try:
        subprocess.run([options.program, "serve", "--store", server.database, "--migrate"], check=True)
        usage = ServerUsage(server)
        print("          nodes   rate   puts/s finished/s   p50 ms   p99 ms  database  writes/s  syncs/s WAL MB/s")
        for rate in options.rates:
            for count in options.nodes:
                got = measure(options, server, usage, count, rate)
                predicted = predict(parameters, options, got)
                predicted["rate"] = rate
                show("measured", got, got["database"])
                show("predicted", predicted, predicted["database"] * options.cores)
                print(f"          (nodes {got['node_cpu']:.2f} and clients {got['client_cpu']:.2f} processors; a sync took"
                      f" {got['sync']:.0f} us; work of 1 s took the database {got['stretch']:.1f} s)")
    finally:
        server.remove()


if __name__ == "__main__":
    sys.exit(main())
