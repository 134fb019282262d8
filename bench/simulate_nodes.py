#!/usr/bin/env python3
"""Simulates nodes of `foliot serve` that share one PostgreSQL database, with the costs that bench/database_costs.py has
measured: docs/serve/capacity.md has the model and what it was checked against.

    bench/simulate_nodes.py costs.json --rate 500 --nodes 1,3,10,50 --cores 2

Jobs come at random to the nodes, and each is put, reserved by a worker of any node, and deleted. A node has one batch
under way; the next one has all that has come meanwhile, and waits for up to a millisecond until most of the clients
that the last one has answered have come again. The database executes batches on its cores, first come first served. One
sync is under way at a time, and serves all commits that had come when it began. Times are microseconds."""
import heapq
import itertools
import random
import sys
from collections import deque
from dataclasses import dataclass, field

from harness import Arguments, Report, costs, positive, positives

SECOND = 1_000_000.0
BETWEEN_BEATS = 2.5 * SECOND  # a quarter of --node-timeout
BETWEEN_NEWS = 5_000.0
MOST_REQUESTS = 1024
MOST_CLAIMED = 512
ENOUGH = 256  # operations and waiting workers; with so many a batch waits for no more


def cost(parameters, counts, body):
    """Of a batch with these counts of jobs by kind."""
    result = parameters["batch"]
    if any(counts.values()):
        result += parameters["write"]
    for kind, n in counts.items():
        p = parameters[kind]
        if n:
            result += p["first"] + n * (p["job"] + p["byte"] * body) + n * n * p["pair"]
    return result


@dataclass
class Load:
    nodes: int = 1
    rate: float = 500.0  # jobs in a second, of all nodes
    workers: int = 32  # of all nodes
    work: float = 0.0  # us that a worker takes for a job
    body: int = 100
    seconds: float = 20.0
    cores: int = 2
    shared: bool = False  # the nodes' programs run on the database's cores
    stretch: float = 1.0  # work takes so much longer than its processor time, because other programs use the cores
    most_requests: int = MOST_REQUESTS
    gathering: float = 1000.0  # us for which a batch waits for the clients that the one before has answered
    most_unanswered: float = float("inf")  # puts
    client: float = 0.0  # us of a client for each command, on the nodes' cores
    seed: int = 1


class Clock:
    def __init__(self):
        self.now = 0.0
        self.events = []
        self.order = itertools.count()

    def after(self, delay, call):
        heapq.heappush(self.events, (self.now + delay, next(self.order), call))

    def run(self, until):
        while self.events and self.events[0][0] <= until:
            self.now, _, call = heapq.heappop(self.events)
            call()
        self.now = until


class Cores:
    """Cores that execute work in the order of its arrival."""

    def __init__(self, clock, count):
        self.clock = clock
        self.free = count
        self.queue = deque()

    def execute(self, work, then):
        self.queue.append((work, then))
        self.start()

    def start(self):
        while self.free and self.queue:
            work, then = self.queue.popleft()
            self.free -= 1
            self.clock.after(work, lambda then=then: self.end(then))

    def end(self, then):
        self.free += 1
        then()
        self.start()


class Wal:
    """One sync at a time; it serves those who had come when it began."""

    def __init__(self, clock, takes):
        self.clock = clock
        self.takes = takes
        self.next_ = []
        self.busy = False
        self.syncs = 0

    def sync(self, then):
        self.next_.append(then)
        if not self.busy:
            self.begin()

    def begin(self):
        served, self.next_ = self.next_, []
        self.busy = True
        self.syncs += 1
        self.clock.after(self.takes, lambda: self.end(served))

    def end(self, served):
        self.busy = False
        for then in served:
            then()
        if self.next_ and not self.busy:
            self.begin()


@dataclass
class Node:
    number: int
    requests: deque = field(default_factory=deque)  # (kind, when the job's put was sent)
    waiting: int = 0  # workers
    untried: int = 0  # of them, those that have come since the last batch
    may_have_ready: bool = True
    has_news: bool = False  # of jobs for the workers that wait
    served: int = 0  # operations of the last batch, and workers for which it claimed
    ended: float = float("-inf")  # when it did
    busy: bool = False
    next_beat: float = 0.0
    next_rotation: float = 0.0
    next_news: float = 0.0
    must_tell: bool = False
    batches: int = 0


class Simulation:
    def __init__(self, parameters, load):
        self.p = parameters
        self.load = load
        self.clock = Clock()
        self.database = Cores(self.clock, load.cores)
        self.wal = Wal(self.clock, parameters["commit"])
        self.random = random.Random(load.seed)
        self.nodes = [Node(i) for i in range(load.nodes)]
        self.own_cores = [self.database if load.shared else Cores(self.clock, 1) for _ in self.nodes]
        self.ready = deque()  # when each was put
        self.late = []  # from a put until its worker has it
        self.put = self.unanswered = self.finished = self.batches = self.writes = self.told = 0
        self.wal_bytes = self.used = 0.0
        self.next_turn = 0.0  # of the rotation, for all nodes

    def use(self, work, then):
        """The database works."""
        self.used += work
        self.database.execute(work * self.load.stretch, then)

    # What a client does.

    def arrive(self):
        if self.unanswered < self.load.most_unanswered:
            self.unanswered += 1
            self.request(self.nodes[self.put % len(self.nodes)], "put")
            self.put += 1
        self.clock.after(self.random.expovariate(self.load.rate) * SECOND, self.arrive)

    def request(self, node, kind):
        at = self.clock.now
        self.work_of_client(node, lambda: self.come(node, kind, at))

    def work_of_client(self, node, then):
        self.own_cores[node.number].execute(self.load.client * self.load.stretch, then)

    def come(self, node, kind, at):
        node.requests.append((kind, at))
        self.begin_batch(node)

    def begin_to_wait(self, node):
        node.waiting += 1
        node.untried += 1
        node.may_have_ready = True
        self.begin_batch(node)

    # What a node does.

    def scan(self, node):
        if node.waiting:
            node.may_have_ready = True
            self.begin_batch(node)
        self.clock.after(SECOND, lambda: self.scan(node))

    def beat(self, node):
        self.begin_batch(node)
        self.clock.after(BETWEEN_BEATS, lambda: self.beat(node))

    def begin_batch(self, node):
        beats = node.next_beat <= self.clock.now
        if node.busy or not (node.requests or beats or (node.may_have_ready and node.waiting)):
            return
        if not beats and self.waits_for_more(node):
            return
        node.busy = True
        node.has_news = False
        node.untried = 0
        node.batches += 1
        self.batches += 1
        taken = [node.requests.popleft() for _ in range(min(len(node.requests), self.load.most_requests))]
        puts = [at for kind, at in taken if kind == "put"]
        most = 0
        if node.waiting and (node.may_have_ready or puts):
            most = min(node.waiting, MOST_CLAIMED)
        node.served = len(taken) + most
        if beats:
            node.next_beat = self.clock.now + BETWEEN_BEATS
        counts = {"put": len(puts), "claim": most, "finish": len(taken) - len(puts)}
        own = cost(self.p["node"], counts, self.load.body)
        self.own_cores[node.number].execute(
            own * self.load.stretch, lambda: self.clock.after(2 * self.p["way"], lambda: self.execute(node, puts, counts, beats)))

    def waits_for_more(self, node):
        if node.has_news or node.ended + self.load.gathering <= self.clock.now:
            return False
        return len(node.requests) + node.untried < min(ENOUGH, node.served - node.served // 10)

    def execute(self, node, puts, counts, beats):
        # The rows that a claim gets are known when it begins, its cost with them.
        claimed = min(counts["claim"], len(self.ready) + len(puts))
        mine = list(itertools.islice(itertools.chain(self.ready, puts), claimed))
        own = puts[max(claimed - len(self.ready), 0):]
        for _ in range(min(claimed, len(self.ready))):
            self.ready.popleft()
        asked = counts["claim"]
        counts = counts | {"claim": claimed}
        work = cost(self.p["cpu"], counts, self.load.body)
        if asked and not claimed:
            work += self.p["scan"] - self.p["cpu"]["batch"]
        if beats:
            work += self.p["beat"]
        writes = beats or any(counts.values())
        if writes:
            self.writes += 1
            self.wal_bytes += cost(self.p["wal"], counts, self.load.body)

        def commit():
            if writes:
                self.wal.sync(lambda: self.clock.after(2 * self.p["way"], committed))
            else:
                self.clock.after(2 * self.p["way"], committed)

        def committed():
            self.ready.extend(own)
            self.conclude(node, counts, mine, asked)

        self.use(max(work, 0.0), commit)

    def conclude(self, node, counts, mine, asked):
        self.unanswered -= counts["put"]
        self.finished += counts["finish"]
        if asked:
            node.may_have_ready = len(mine) == asked
        elif counts["put"]:
            node.may_have_ready = True
            node.has_news = node.waiting > 0
        node.waiting -= len(mine)
        for at in mine:
            self.work_of_client(node, lambda at=at: self.work(node, at))
        if counts["put"] and not node.waiting and len(mine) == asked:  # else its own claim has shown that none is left
            self.tell(node)
        for _ in range(counts["finish"]):
            self.work_of_client(node, lambda: self.begin_to_wait(node))
        if node.next_rotation <= self.clock.now:
            node.next_rotation = self.clock.now + SECOND
            has_turn = self.next_turn <= self.clock.now
            if has_turn:
                self.next_turn = self.clock.now + SECOND / 2
            self.use(self.p["rotation" if has_turn else "no_rotation"], lambda: self.end_batch(node))
        else:
            self.end_batch(node)

    def work(self, node, at):
        self.late.append(self.clock.now - at)
        self.clock.after(self.load.work, lambda: self.request(node, "finish"))

    def end_batch(self, node):
        node.busy = False
        node.ended = self.clock.now
        self.begin_batch(node)
        if not node.busy:
            self.clock.after(self.load.gathering, lambda: self.begin_batch(node))

    def tell(self, node):
        if node.must_tell:
            return
        node.must_tell = True
        self.clock.after(max(node.next_news - self.clock.now, 0), lambda: self.send_news(node))

    def send_news(self, node):
        node.must_tell = False
        node.next_news = self.clock.now + BETWEEN_NEWS
        self.told += 1

        def heard():
            for each in self.nodes:
                if each.waiting:
                    each.may_have_ready = True
                    each.has_news = True
                    self.begin_batch(each)

        self.use(self.p["tell"] + self.p["listen"] * (len(self.nodes) - 1), heard)

    def run(self):
        """Figures of the time after the first fifth, in which the queues fill."""
        for node in self.nodes:
            phase = (node.number + 1) / len(self.nodes)
            node.next_rotation = phase * SECOND
            node.next_beat = phase * BETWEEN_BEATS
            self.clock.after(phase * SECOND, lambda node=node: self.scan(node))
            self.clock.after(phase * BETWEEN_BEATS, lambda node=node: self.beat(node))
        for i in range(self.load.workers):
            self.nodes[i % len(self.nodes)].waiting += 1
        if self.load.rate > 0:
            self.arrive()
        begin = self.load.seconds / 5 * SECOND
        self.clock.run(begin)
        before = self.counts()
        self.late.clear()
        self.clock.run(self.load.seconds * SECOND)
        seconds = self.load.seconds * 0.8
        grown = {name: (value - before[name]) / seconds for name, value in self.counts().items()}
        late = sorted(self.late)
        return grown | {
            "nodes": len(self.nodes), "database": grown["used"] / SECOND / self.load.cores,
            "p50": late[len(late) // 2] if late else None, "p99": late[len(late) * 99 // 100] if late else None}

    def counts(self):
        return {"finished": self.finished, "put": self.put - self.unanswered, "used": self.used, "batches": self.batches,
                "writes": self.writes, "syncs": self.wal.syncs, "told": self.told, "wal": self.wal_bytes}


def simulate(parameters, load):
    return Simulation(parameters, load).run()


def main():
    parser = Arguments(__doc__, measures=False)
    parser.add_argument("costs", type=costs, help="the file of bench/database_costs.py --json")
    parser.add("--nodes", positives, "1,3,10,50", "several counts, with commas")
    parser.add("--rate", positives, "500", "jobs in a second, of all nodes; several, with commas")
    parser.add("--workers", positive, 32, "of all nodes")
    parser.add("--work", float, 0.0, "us that a worker takes for a job")
    parser.add("--body", int, 100)
    parser.add("--cores", positive, 2, "of the database")
    parser.add_argument("--shared", action="store_true", help="the nodes run on the database's cores")
    parser.add("--client", float, 0.0, "us of a client for each command, on the nodes' cores")
    parser.add("--commit", float, what="us of a sync, with the way to a standby; else as measured")
    parser.add("--way", float, what="us between a node and the database, in one direction; else as measured")
    parser.add("--most-unanswered", float, 4000.0, "puts that wait for their answers")
    parser.add("--seconds", float, 10.0)
    parser.add("--seed", int, 1)
    options = parser.parse_args()
    parameters = options.costs
    for name in ("commit", "way"):
        if getattr(options, name) is not None:
            parameters[name] = getattr(options, name)
    same = {name: getattr(options, name) for name in ("workers", "work", "body", "seconds", "cores", "shared", "most_unanswered",
                                                      "client", "seed")}
    lines = Report(nodes=">5", rate=">8", finished=">12.0f", p50=">9.1f", p99=">8.1f", database=">10.0%", batches=">11.0f",
                   syncs=">9.0f", told=">8.0f", wal=">10.2f")
    lines.head(finished="finished/s", p50="p50 ms", p99="p99 ms", batches="batches/s", syncs="syncs/s", told="news/s",
               wal="WAL MB/s")
    for rate in options.rate:
        for nodes in options.nodes:
            got = simulate(parameters, Load(nodes=nodes, rate=rate, **same))
            late = {name: None if got[name] is None else got[name] / 1000 for name in ("p50", "p99")}
            lines.add(**got | late | {"rate": rate, "wal": got["wal"] / 1e6})


if __name__ == "__main__":
    sys.exit(main())
