"""The queues that bench/compare_queues.py measures, and one turn of one of them."""
import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from lasting_jobs import start_nodes
from server_usage import spent

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers" / "queues"
PATIENCE = 300  # seconds for a step of a program


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

    def migrate(self, database):
        subprocess.run([self.options.program, "serve", "--store", self.store(database), "--migrate"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, contestant, workload, database="turn"):
        """The figures of the program, with processor time and WAL for each job."""
        if database == "turn":
            self.make_database(database)
        numbers = [self.options.stock if workload == "flow" else self.options.jobs, self.options.rate,
                   self.options.late_seconds if workload == "lateness" else self.options.seconds]
        nodes = []
        try:
            if contestant.is_foliot and database == "turn":
                self.migrate(database)
            if contestant.kind == "foliot":
                folder = None if contestant.tcp else self.sockets.name
                nodes = start_nodes(self.options.program, self.store(database), contestant.nodes, folder, contestant.sessions)
            with self._start(contestant, workload, numbers, nodes, database) as program:
                try:
                    return self._steps(program, [process for _, process in nodes], database)
                finally:
                    program.kill()
        finally:
            for _, process in nodes:
                process.kill()
                process.wait()

    def put_far(self, database, count):
        """Jobs that are due in a day."""
        nodes = start_nodes(self.options.program, self.store(database), 1, self.sockets.name)
        try:
            far = Contestant("far", "", "foliot", 0, nodes=1)
            with self._start(far, "far", [count, 0, 0], nodes, database) as program:
                self._next_line(program, patience=1200)
                program.stdin.write("\n")
        finally:
            nodes[0][1].kill()
            nodes[0][1].wait()

    def _start(self, contestant, workload, numbers, nodes, database):
        numbers = [str(each) for each in numbers]
        if contestant.kind == "foliot":
            where = ",".join(str(each) if contestant.tcp else f"unix:{each}" for each, _ in nodes)
            command = [self.options.clients, where, workload, *numbers, str(contestant.workers), str(contestant.in_flight)]
        elif contestant.kind == "library":
            command = [self.options.workers, self.store(database), str(contestant.sessions), workload, *numbers,
                       str(contestant.workers), str(contestant.in_flight)]
        elif contestant.kind == "river":
            command = [self.options.built / "river", workload, *numbers, str(contestant.workers)]
        else:
            jobs, rate, seconds = map(int, numbers)
            settings = contestant.settings | {"workload": workload, "jobs": jobs, "rate": rate, "seconds": seconds}
            command = ["node", PEERS / "node" / "peer.js", json.dumps(settings)]
        environment = os.environ | {"PGHOST": self.server.folder, "PGUSER": "postgres", "PGDATABASE": database}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    @staticmethod
    def _next_line(program, patience=PATIENCE):
        timer = threading.Timer(patience, program.kill)
        timer.start()
        line = program.stdout.readline()
        timer.cancel()
        if not line:
            status = program.wait()
            raise RuntimeError(f"{Path(str(program.args[0])).name} ended with the status {status}"
                               + (f" after {patience} s" if status < 0 else ""))
        return json.loads(line)

    def _used(self, program, nodes):
        return self.usage.processes(), tree_seconds([program.pid]), tree_seconds([each.pid for each in nodes]), self.usage.wal()

    def _steps(self, program, nodes, database):
        self._next_line(program)
        self.sql("CHECKPOINT")
        if self.options.statements:
            self.sql("SELECT pg_stat_statements_reset()")
        before = self._used(program, nodes)
        begin = time.monotonic()
        program.stdin.write("\n")
        program.stdin.flush()
        got = self._next_line(program)
        after = self._used(program, nodes)
        took = time.monotonic() - begin
        if self.options.statements:  # before the workers finish what is left
            print(self.sql(STATEMENTS.format(jobs=got["jobs"], database=database)), flush=True)
        program.stdin.write("\n")
        program.stdin.flush()
        timer = threading.Timer(30, program.kill)  # its workers may still finish what is left
        timer.start()
        program.wait()
        timer.cancel()
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
