"""The queues that bench/compare_queues.py measures, and one turn of one of them."""
import json
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import ROOT, LineProgram, migrate, queue_load, serving_nodes
from server_usage import spent

PEERS = ROOT / "bench" / "peers" / "queues"


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
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            for task in Path(f"/proc/{process}/task").iterdir():
                total += tree_seconds((task / "children").read_text().split())
        except OSError:  # it has ended
            pass
    return total
