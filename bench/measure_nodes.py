#!/usr/bin/env python3
"""Nodes of `foliot serve` under a fixed load over a private PostgreSQL server, beside what bench/simulate_nodes.py
predicts for it.

    bench/measure_nodes.py costs.json --nodes 1,3 --rates 200,1000,10000

Each job is put, reserved and deleted; database, nodes and clients share this machine's processors, and those of a
prediction: as many as this command may use, or --cores. The processor time of clients and nodes for a job, and the time
of a sync, are those of the same run; the rest of a prediction is computed from the costs."""
import os
import sys
import time

import simulate_nodes
from harness import Arguments, Report, costs, positive, positives, postgresql, queue_load, serving_nodes
from server_usage import ServerUsage, spent, threads_of
from simulate_nodes import simulate

BODY = 85  # bytes of a job
MOST_UNANSWERED = 4000  # puts, of `foliot-bench queue`


def cpu_of_threads(process):
    return sum(used for _, used in threads_of(process).values())


class Counts:
    def __init__(self, usage, nodes, load):
        self.database, self.wal = usage.processes(), usage.wal()
        self.nodes = sum(cpu_of_threads(process.pid) for _, process in nodes)
        self.clients = cpu_of_threads(load.pid)
        self.at = time.monotonic()


def measure(options, server, usage, count, rate):
    with serving_nodes(options.program, server.database, count, sessions=1) as nodes, \
            queue_load(options.program, nodes, "steady", rate=rate, seconds=options.seconds, warm_up=options.seconds / 4,
                       workers=options.workers) as load:
        load.next()
        before = Counts(usage, nodes, load)
        load.go_on()
        got = load.next(300 + options.seconds)
        after = Counts(usage, nodes, load)
        load.go_on()
        load.next(700)  # the rest is finished
    seconds = after.at - before.at
    used, waited = spent(before.database, after.database, backends_only=False)
    last, wal = after.wal, before.wal
    return {
        "nodes": count, "rate": rate, "finished": got["jobs"] / got["seconds"], "put": got["put"] / got["seconds"],
        "database": used / seconds, "stretch": 1 + waited / used,
        "node_cpu": (after.nodes - before.nodes) / seconds, "client_cpu": (after.clients - before.clients) / seconds,
        "writes": (last[5] - wal[5]) / seconds, "syncs": (last[1] - wal[1]) / seconds,
        "sync": (last[2] - wal[2]) / max(last[1] - wal[1], 1) * 1000, "wal": (last[0] - wal[0]) / seconds,
        "p50": got["p50"] * 1e3, "p99": got["p99"] * 1e3}


def predict(parameters, options, got):
    """What the simulation gives for a measurement. It plays the waiting for cores, so it is not given got["stretch"]."""
    # A job is four commands: put, reserve, delete, and the job that is handed over.
    client = (got["node_cpu"] + got["client_cpu"]) / got["finished"] / 4 * 1e6
    nothing = {"batch": 0, "write": 0} | dict.fromkeys(("put", "claim", "finish"), {"first": 0, "job": 0, "pair": 0, "byte": 0})
    parameters = parameters | {"node": nothing, "commit": got["sync"]}  # the nodes are in the clients' share
    return simulate(parameters, simulate_nodes.Load(
        nodes=got["nodes"], rate=got["rate"], workers=options.workers, body=BODY, seconds=options.seconds,
        cores=options.cores, shared=True, most_unanswered=MOST_UNANSWERED, client=client))


def show(lines, what, got, database):
    lines.add(**got | {"what": what, "database": database, "p50": got["p50"] / 1000, "p99": got["p99"] / 1000,
                       "wal": got["wal"] / 1e6})


def main():
    parser = Arguments(__doc__)
    parser.add_argument("costs", type=costs, help="the file of bench/database_costs.py --json")
    parser.add("--nodes", positives, "1,3")
    parser.add("--rates", positives, "200,1000,10000", "jobs in a second, of all nodes")
    parser.add("--workers", positive, 32)
    parser.add("--seconds", float, 20)
    parser.add("--cores", positive, len(os.sched_getaffinity(0)),
               "processors of this machine, for the prediction: as many as this command may use")
    options = parser.parse_args()
    lines = Report(what="9", nodes=">6", rate=">7", put=">9.0f", finished=">11.0f", p50=">9.1f", p99=">9.1f", database=">10.2f",
                   writes=">10.0f", syncs=">9.0f", wal=">9.2f")
    with postgresql(options.program) as server:
        usage = ServerUsage(server)
        lines.head(what="", put="puts/s", finished="finished/s", p50="p50 ms", p99="p99 ms", writes="writes/s", syncs="syncs/s",
                   wal="WAL MB/s")
        for rate in options.rates:
            for count in options.nodes:
                got = measure(options, server, usage, count, rate)
                predicted = predict(options.costs, options, got) | {"rate": rate}
                show(lines, "measured", got, got["database"])
                show(lines, "predicted", predicted, predicted["database"] * options.cores)
                print(f"          (nodes {got['node_cpu']:.2f} and clients {got['client_cpu']:.2f} processors; a sync took"
                      f" {got['sync']:.0f} us; work of 1 s took the database {got['stretch']:.1f} s)")


if __name__ == "__main__":
    sys.exit(main())
