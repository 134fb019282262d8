#!/usr/bin/env python3
"""`foliot serve` over PostgreSQL beside other queues over PostgreSQL: River, Graphile Worker and pg-boss.

    bench/compare_queues.py --json queues.json
    bench/compare_queues.py --only foliot,river --workloads backlog --turns 1

All use one private server on this machine, with synced commits, in turns; each turn has a new database. A figure is the
median of the turns. Fetches what the peers need from the registries of Go and npm, at the versions in
bench/peers/queues. docs/serve/peers.md describes the workloads and the settings."""
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import (ROOT, Arguments, LineProgram, migrate, names, positive, postgresql, queue_load, serving_nodes,
                     write_json)
from server_usage import ServerUsage, seconds_of, spent

WORKLOADS = ("backlog", "flow", "lateness", "far")
SETTINGS = """max_connections = 400
shared_buffers = 512MB
max_wal_size = 4GB
checkpoint_timeout = 15min
"""
WITH_STATEMENTS = "shared_preload_libraries = 'pg_stat_statements'\n"
FAR_TARGET, LATENESS_TARGET = 0.9, 20
PEERS = ROOT / "bench" / "peers" / "queues"


# ---------------------------------------------------------------- contestants

@dataclass
class Contestant:
    name: str
    what: str  # for readers
    kind: str  # river, npm, foliot (workers of a server), or library (workers in a process with foliot's store)
    workers: int  # jobs that may be under way at once, of all processes
    settings: dict = field(default_factory=dict)  # of peer.js
    nodes: int = 0
    sessions: int | None = None  # of each node, or of the library's program
    in_flight: int = 1
    tcp: bool = False  # else workers and nodes speak over local sockets, as all do with the database
    prefetches: bool = False
    workloads: tuple = ("backlog", "flow", "lateness")

    @property
    def is_foliot(self):
        return self.kind in ("foliot", "library")

    @property
    def is_variant(self):
        """A server that has not the number of sessions that it would have by default: it has no targets but one."""
        return self.kind == "foliot" and self.sessions is not None


STATEMENTS = """SELECT round(total_exec_time * 1000 / {jobs}, 2), round(calls / {jobs}, 3), regexp_replace(query, '\\s+', ' ', 'g')
FROM (SELECT total_exec_time::numeric, calls::numeric, query FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
      WHERE datname = '{database}' ORDER BY total_exec_time DESC LIMIT 20) s"""
SAME = 96  # as 4 processes of 24 jobs, the setting of Graphile Worker's performance test


def graphile(name, what, prefetch=0, poll=2000, **more):
    settings = {"module": "graphile", "processes": 4, "workers": SAME // 4, "prefetch": prefetch, "poll": poll}
    return Contestant(name, what, "npm", SAME, settings, prefetches=prefetch > 0, **more)


CONTESTANTS = [
    Contestant("river", "River, 96 workers", "river", SAME),
    Contestant("river-2000", "River, 2,000 workers as in its own benchmark", "river", 2000),
    graphile("graphile", "Graphile Worker, 4 processes of 24"),
    graphile("graphile-prefetch", "the same with a local queue of 500 and batched completion", prefetch=500),
    graphile("graphile-10ms", "as graphile, polls each 10 ms", poll=10, workloads=("lateness",)),
    Contestant("pgboss", "pg-boss, 4 processes with batches of 24", "npm", SAME,
               {"module": "pgboss", "processes": 4, "workers": 1, "batch": SAME // 4},
               workloads=("backlog", "flow")),  # it polls each 0.5 s, so 192 jobs a second can become due
    Contestant("pgboss-500", "pg-boss, 4 processes with batches of 500", "npm", 2000,
               {"module": "pgboss", "processes": 4, "workers": 1, "batch": 500}, prefetches=True),
    Contestant("foliot", "one node, 96 connections", "foliot", SAME, nodes=1),
    Contestant("foliot-3", "three nodes, 96 connections", "foliot", SAME, nodes=3),
    Contestant("foliot-2000", "one node, 2,000 connections", "foliot", 2000, nodes=1),
    Contestant("foliot-3-2000", "three nodes, 2,000 connections", "foliot", 2000, nodes=3, workloads=("backlog", "flow")),
    Contestant("foliot-both", "one node, 96 connections that send delete and reserve at once", "foliot", SAME, nodes=1, in_flight=2,
               workloads=("backlog", "flow")),
    Contestant("foliot-both-2000", "one node, 2,000 connections that send delete and reserve at once", "foliot", 2000, nodes=1, in_flight=2,
               workloads=("backlog", "flow")),
    Contestant("foliot-session-both-2000", "as foliot-both-2000, with one session", "foliot", 2000, nodes=1, sessions=1, in_flight=2,
               workloads=("backlog", "flow")),
    Contestant("foliot-2-both-2000", "two such nodes", "foliot", 2000, nodes=2, in_flight=2, workloads=("backlog", "flow")),
    Contestant("foliot-3-both-2000", "three such nodes", "foliot", 2000, nodes=3, in_flight=2, workloads=("backlog", "flow")),
    Contestant("foliot-3-session-both-2000", "the same with one session each", "foliot", 2000, nodes=3, sessions=1, in_flight=2,
               workloads=("backlog", "flow")),
    Contestant("foliot-tcp-2000", "as foliot-both-2000, but by TCP", "foliot", 2000, nodes=1, in_flight=2, tcp=True,
               workloads=("backlog", "flow")),
    Contestant("foliot-library", "96 workers in a process with the library foliot::jobs, two sessions", "library", SAME, sessions=2),
    Contestant("foliot-library-both", "the same, but they finish and reserve at once", "library", SAME, sessions=2, in_flight=2,
               workloads=("backlog", "flow")),
    Contestant("foliot-library-2000", "as foliot-library, 2,000 workers", "library", 2000, sessions=2),
    Contestant("foliot-library-both-2000", "as foliot-library-both, 2,000 workers", "library", 2000, sessions=2, in_flight=2,
               workloads=("backlog", "flow")),
]


class Turn:
    """The database of one turn, the nodes if there are any, and the program that puts and works."""

    def __init__(self, options, server, usage):
        self.options, self.server, self.usage = options, server, usage
        self.sockets = tempfile.TemporaryDirectory(prefix="foliot-queues-")

    def sql(self, statement):
        return self.server.sql(self.server.folder, statement)

    def make_database(self, name):
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self.sql(f"CREATE DATABASE {name}")

    def store(self, database):
        return f"host={self.server.folder} user=postgres dbname={database}"

    def run(self, contestant, workload, database="turn"):
        """The figures of the program, with processor time and WAL for each job."""
        is_new = database == "turn"
        if is_new:
            self.make_database(database)
            if contestant.is_foliot:
                migrate(self.options.program, self.store(database))
        numbers = {"jobs": self.options.stock if workload == "flow" else self.options.jobs, "rate": self.options.rate,
                   "seconds": self.options.late_seconds if workload == "lateness" else self.options.seconds}
        folder = None if contestant.tcp else self.sockets.name
        with serving_nodes(self.options.program, self.store(database), contestant.nodes, folder, contestant.sessions) as nodes, \
                self._start(contestant, workload, numbers, nodes, database) as program:
            return self._steps(program, [process for _, process in nodes], database)

    def put_far(self, database, count):
        """Jobs that are due in a day."""
        with serving_nodes(self.options.program, self.store(database), 1, self.sockets.name) as nodes, \
                queue_load(self.options.program, nodes, "far", jobs=count, workers=1) as program:
            program.next(patience=1200)
            program.go_on()

    def _start(self, contestant, workload, numbers, nodes, database):
        environment = {"PGHOST": self.server.folder, "PGUSER": "postgres", "PGDATABASE": database}
        if contestant.is_foliot:
            library = {} if contestant.kind == "foliot" else {"library": self.store(database), "sessions": contestant.sessions}
            return queue_load(self.options.program, nodes or None, workload, **numbers, workers=contestant.workers,
                              both=contestant.in_flight > 1, **library)
        if contestant.kind == "river":
            return LineProgram(self.options.built / "river", workload, *numbers.values(), contestant.workers,
                               environment=environment)
        settings = contestant.settings | {"workload": workload} | numbers
        return LineProgram("node", PEERS / "node" / "peer.js", json.dumps(settings), environment=environment)

    def _used(self, program, nodes):
        return self.usage.processes(), tree_seconds([program.pid]), tree_seconds([each.pid for each in nodes]), self.usage.wal()

    def _steps(self, program, nodes, database):
        program.next()
        self.sql("CHECKPOINT")
        if self.options.statements:
            self.sql("SELECT pg_stat_statements_reset()")
        before = self._used(program, nodes)
        begin = time.monotonic()
        program.go_on()
        got = program.next()
        after = self._used(program, nodes)
        took = time.monotonic() - begin
        if self.options.statements:  # before the workers finish what is left
            print(self.sql(STATEMENTS.format(jobs=got["jobs"], database=database)), flush=True)
        program.go_on()
        program.end()
        # A flow works some seconds more than it counts.
        each_job = 1e6 * got["seconds"] / took / got["jobs"]
        database, waited = spent(before[0], after[0], backends_only=False)
        return got | {"rate": got["jobs"] / got["seconds"], "database_us": database * each_job,
                      "database_waited_us": waited * each_job,
                      "program_us": (after[1] - before[1]) * each_job, "nodes_us": (after[2] - before[2]) * each_job,
                      "wal_bytes": (after[3][0] - before[3][0]) * each_job / 1e6}


def tree_seconds(processes):
    """Seconds on a processor of these processes and all that descend from them."""
    total = 0.0
    for process in processes:
        try:
            total += seconds_of(process)
            for task in Path(f"/proc/{process}/task").iterdir():
                total += tree_seconds((task / "children").read_text().split())
        except OSError:  # it has ended
            pass
    return total


# ---------------------------------------------------------------- the command


def prepare(options, contestants):
    """Builds what is missing. Says what to install."""
    kinds = {each.kind for each in contestants}
    options.built.mkdir(parents=True, exist_ok=True)
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if "river" in kinds:
        if go is None:
            sys.exit("compare_queues.py: River needs Go, https://go.dev/dl, 1.26 or later; or leave it out with --only")
        print("building the program with River", file=sys.stderr)
        subprocess.run([go, "build", "-o", options.built / "river", "."], cwd=PEERS / "river", check=True)
    if "npm" in kinds:
        if shutil.which("npm") is None:
            sys.exit("compare_queues.py: Graphile Worker and pg-boss need Node 20 and npm (Debian: nodejs, npm); or leave"
                     " them out with --only")
        if not (PEERS / "node" / "node_modules" / ".package-lock.json").exists():
            print("fetching the packages of npm", file=sys.stderr)
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=PEERS / "node", check=True)


def count_statements(server):
    server.sql(server.folder, "CREATE EXTENSION pg_stat_statements")
    server.sql(server.folder, "ALTER SYSTEM SET pg_stat_statements.track = 'all'")
    server.sql(server.folder, "SELECT pg_reload_conf()")


class Results:
    def __init__(self, options):
        self.options = options
        self.turns = []

    def add(self, workload, name, number, got):
        self.turns.append({"workload": workload, "contestant": name, "turn": number, "load": os.getloadavg()[0]} | got)
        late = f", late p50 {got['p50']:.1f} p99 {got['p99']:.1f} max {got['max']:.1f} ms" if "p50" in got else ""
        print(f"{workload} {number} {name}: {got['rate']:.0f} jobs/s{late}; of each job, us: database {got['database_us']:.0f},"
              f" nodes {got['nodes_us']:.0f}, program {got['program_us']:.0f}", file=sys.stderr, flush=True)

    def median(self, workload, name, figure):
        values = [each[figure] for each in self.turns if (each["workload"], each["contestant"]) == (workload, name)]
        return statistics.median(values) if values else None

    def span(self, workload, name, figure):
        values = [each[figure] for each in self.turns if (each["workload"], each["contestant"]) == (workload, name)]
        return f"{min(values):.0f}-{max(values):.0f}"

    def measured(self, workload):
        return list(dict.fromkeys(each["contestant"] for each in self.turns if each["workload"] == workload))

    def targets(self):
        rate = {name: self.median("backlog", name, "rate") for name in self.measured("backlog")}
        result = []

        def add(what, measured, at_least=None, at_most=None):
            reached = measured >= at_least if at_least is not None else measured < at_most
            result.append({"what": what, "measured": measured, "reached": reached}
                          | ({"at_least": at_least} if at_least is not None else {"at_most": at_most}))

        waiting = {each.name: rate[each.name] for each in CONTESTANTS
                   if each.name in rate and not each.is_foliot and not each.prefetches}
        ours = {each.name: rate.get(each.name) for each in CONTESTANTS if each.is_foliot and not each.is_variant}
        for name, value in [each for each in ours.items() if each[1]]:
            if waiting:
                best = max(waiting, key=waiting.get)
                add(f"backlog, {name} against {best}, the best that does not prefetch", value / waiting[best], 2)
            if "graphile-prefetch" in rate:
                add(f"backlog, {name} against graphile-prefetch", value / rate["graphile-prefetch"], 1)
        for three, one in (("foliot-3", "foliot"), ("foliot-3-2000", "foliot-2000"), ("foliot-3-both-2000", "foliot-both-2000"),
                           ("foliot-3-session-both-2000", "foliot-both-2000")):
            if three in rate and one in rate:
                add(f"backlog, {three} against {one}", rate[three] / rate[one], 1)
        for name in self.measured("lateness"):
            if name in ours:
                add(f"lateness, {name}, p99 in ms", self.median("lateness", name, "p99"), at_most=LATENESS_TARGET)
        if self.measured("far"):
            add("backlog beside a million far jobs, against none",
                self.median("far", "with", "rate") / self.median("far", "without", "rate"), FAR_TARGET)
        return result

    def show(self):
        what = {each.name: each.what for each in CONTESTANTS}
        for workload in [each for each in WORKLOADS if self.measured(each)]:
            late = workload == "lateness"
            print(f"\n{workload}\n" + f"{'':25}" + ("  p50 ms    p99 ms    max ms" if late else
                  "  jobs/s   least-most  database us  nodes us  program us  WAL B"))
            for name in self.measured(workload):
                def get(figure, name=name, workload=workload):
                    return self.median(workload, name, figure)
                if late:
                    text = f"{get('p50'):8.1f} {get('p99'):9.1f} {get('max'):9.1f}"
                else:
                    text = (f"{get('rate'):8.0f} {self.span(workload, name, 'rate'):>12} {get('database_us'):12.0f}"
                            f" {get('nodes_us'):9.0f} {get('program_us'):11.0f} {get('wal_bytes'):6.0f}")
                print(f"{name:25}{text}  {what.get(name, name + ' a million jobs that are due in a day')}")
        print("\ntargets")
        for each in self.targets():
            bound = f">= {each['at_least']}" if "at_least" in each else f"< {each['at_most']}"
            print(f"{'reached' if each['reached'] else 'MISSED':8}{each['measured']:8.2f} {bound:8} {each['what']}")

    def write(self, path):
        medians = [{"workload": workload, "contestant": name}
                   | {figure: self.median(workload, name, figure) for figure in self.turns[0] if figure in
                      ("rate", "database_us", "database_waited_us", "nodes_us", "program_us", "wal_bytes")}
                   | ({figure: self.median(workload, name, figure) for figure in ("p50", "p99", "max", "early")}
                      if workload == "lateness" else {})
                   for workload in WORKLOADS for name in self.measured(workload)]
        versions = sorted({each["version"] for each in self.turns if "version" in each})
        write_json(path, {
            "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()},
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "versions": versions,
            "settings": {each.name: each.what for each in CONTESTANTS},
            "jobs": self.options.jobs, "stock": self.options.stock, "rate": self.options.rate,
            "far_jobs": self.options.far_jobs, "medians": medians, "targets": self.targets(), "turns": self.turns})


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def measure(options, turn, results, contestants):
    for workload in [each for each in WORKLOADS[:3] if each in options.workloads]:
        for number in range(1, options.turns + 1):
            for each in contestants:
                if workload in each.workloads:
                    results.add(workload, each.name, number, turn.run(each, workload))
    if "far" in options.workloads:
        measure_far(options, turn, results)


def measure_far(options, turn, results):
    """Of two databases, one has far jobs. They stay, so both are used again, and vacuumed before."""
    one = next(each for each in CONTESTANTS if each.name == "foliot")
    for name in ("far_with", "far_without"):
        turn.make_database(name)
        migrate(options.program, turn.store(name))
    print(f"putting {options.far_jobs} far jobs", file=sys.stderr)
    turn.put_far("far_with", options.far_jobs)
    for number in range(1, options.turns + 1):
        for name in ("without", "with"):
            subprocess.run(["psql", "-qX", "-d", turn.store(f"far_{name}"), "-c", "VACUUM ANALYZE"], check=True)
            results.add("far", name, number, turn.run(one, "backlog", f"far_{name}"))


def parse():
    known = [each.name for each in CONTESTANTS]
    parser = Arguments(__doc__, epilog="contestants: " + "; ".join(f"{each.name}: {each.what}" for each in CONTESTANTS))
    parser.add("--built", Path, ROOT / "build" / "peers", "where the peers are built")
    parser.add_argument("--only", type=names(known), default=known, metavar="NAMES", help="contestants, with commas")
    parser.add_argument("--workloads", type=names(WORKLOADS), default=list(WORKLOADS), metavar="NAMES",
                        help=", ".join(WORKLOADS))
    parser.add("--turns", positive, 3)
    parser.add("--jobs", positive, 20_000, "of backlog")
    parser.add("--stock", positive, 10_000, "of flow: the most unfinished jobs")
    parser.add("--seconds", positive, 6, "of flow")
    parser.add("--rate", positive, 1000, "of lateness: jobs due in a second")
    parser.add("--late-seconds", positive, 15, "of lateness")
    parser.add("--connections", positive, what="of foliot's contestants, instead of their own")
    parser.add("--sessions", positive, what="of each of foliot's nodes, instead of their own")
    parser.add("--far-jobs", positive, 1_000_000)
    parser.add_argument("--statements", action="store_true",
                        help="print the us and the calls of the longest statements for each job, after each turn; those of"
                        " functions are in those of their callers, too. This slows all down.")
    parser.add_json()
    return parser.parse_args()


def main():
    options = parse()
    contestants = [each for each in CONTESTANTS if each.name in options.only]
    for each in contestants:
        if each.is_foliot:
            each.workers = options.connections or each.workers
            each.sessions = options.sessions or each.sessions
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536), most))  # of sockets
    prepare(options, contestants)
    results = Results(options)
    try:
        with postgresql(settings=SETTINGS + (WITH_STATEMENTS if options.statements else "")) as server:
            if options.statements:
                count_statements(server)
            measure(options, Turn(options, server, ServerUsage(server)), results, contestants)
    finally:
        if results.turns:
            results.show()
            results.write(options.json)


if __name__ == "__main__":
    sys.exit(main())
