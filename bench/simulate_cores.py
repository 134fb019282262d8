#!/usr/bin/env python3
"""Simulates what foliot does on more cores than it was measured on, with costs that were measured on two:
docs/large-machines.md has the model, its results, and what would have to change.

    bench/simulate_cores.py                              # 1, 2, 4, 16 and 64 cores
    bench/simulate_cores.py --cores 1,64 --line 300      # where a cache line takes longer from core to core

Three things share something, and each is played by itself, event by event:

shards   threads start and stop timers; a part of these calls is on timers of other threads. A call takes its shard for as
         long as it lasts; if another core has used the shard since, its cache lines come from there first.
stealing a burst of tasks is made on one processor while all others sleep. A woken worker looks through the run queues,
         steals half of one, and wakes the next worker if there is more. The batch ends when all tasks have run.
broker   sessions of a server work on all cores, and the tasks that they have for the store are done one batch at a time.

Times are nanoseconds."""
import argparse
import heapq
import random
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Measured on two cores: docs/benchmarks.md, docs/decisions/0003-futex-lock.md, 0007-runtime.md, docs/serve/bench.md."""
    own: float = 19.0          # a start and a stop, of one's own timers
    lines: int = 2             # cache lines that come with a shard: its lock, and what that protects
    line: float = 150.0        # one of them, from another core
    think: float = 1_000.0     # what a thread does between two calls
    wake: float = 25_000.0     # until a worker that was asleep runs
    waker: float = 4_000.0     # of the thread that wakes it
    look: float = 100.0        # at the run queue of another processor, which has changed since
    passes: int = 4            # of a thief, over all run queues
    session: float = 3_500.0   # of a server for a job: sockets and parsing, on any core
    store: float = 1_000.0     # of a broker and its store for a job, in one thread at a time


def shards(costs, cores, count, remote, operations=1_000, seed=1):
    """What each of `cores` threads does in a second, on `count` shards; `remote`: the part of calls on others' timers."""
    draw = random.Random(seed)
    free_at, used_by = [0.0] * count, list(range(count))
    threads = [(draw.random() * costs.think, each) for each in range(cores)]
    heapq.heapify(threads)
    done, now = 0, 0.0
    for _ in range(operations * cores):
        now, thread = heapq.heappop(threads)
        home = thread % count
        shard = draw.randrange(count) if remote and draw.random() < remote else home
        begin = max(now, free_at[shard])
        moved = costs.lines * costs.line if used_by[shard] != thread else 0.0
        end = begin + moved + costs.own
        free_at[shard], used_by[shard] = end, thread
        done += 1
        # The next call comes after some work, whose length varies, so that threads do not march in step.
        heapq.heappush(threads, (end + costs.think * (0.5 + draw.random()), thread))
    return done / now * 1e9 / cores


def stealing(costs, cores, tasks, work, wakes=1):
    """How long a burst takes, and how long it would take if all cores began at once. `wakes`: how many workers each one
    that finds work wakes, if there is more; the shipped scheduler wakes one."""
    queues = [0] * cores
    queues[0] = tasks
    events, order, asleep = [], 0, list(range(1, cores))

    def at(time, what, core):
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, what, core))

    def wake(time):
        for _ in range(min(wakes, len(asleep))):
            time += costs.waker
            at(time + costs.wake, "look", asleep.pop(0))
        return time
    at(wake(0.0), "run", 0)
    last = 0.0
    while events:
        now, _, what, core = heapq.heappop(events)
        if what == "look":
            # The burst may be anywhere, so half of the queues are seen before it is found, in the first pass that does.
            most = max(range(cores), key=queues.__getitem__)
            if queues[most] == 0:
                continue  # it sleeps until the end
            now += costs.look * cores / 2
            found = queues[most] - queues[most] // 2
            queues[most] -= found
            queues[core] += found - 1  # the first one it runs itself
            if any(queues):
                now = wake(now)
            last = max(last, now + work)
            at(now + work, "run", core)
        elif queues[core] > 0:
            queues[core] -= 1
            last = max(last, now + work)
            at(now + work, "run", core)
        else:
            at(now + costs.look * cores * costs.passes / 2, "look", core)
    return last, tasks * work / cores


def broker(costs, cores, stores=1, clients=256, seconds=0.2, seed=1):
    """Jobs in a second of a server whose clients ask again at once; each belongs to one of `stores`."""
    draw = random.Random(seed)
    end = seconds * 1e9
    waiting, busy, idle = [[] for _ in range(stores)], [False] * stores, cores
    ready = []       # work for a core: (length, what comes then)
    events, order, done = [], 0, 0

    def start(now):
        nonlocal idle, order
        while idle and ready:
            length, then = ready.pop(0)
            idle -= 1
            order += 1
            heapq.heappush(events, (now + length * (0.8 + 0.4 * draw.random()), order, then))

    def ask(client):
        ready.append((costs.session, ("asked", client)))
    for client in range(clients):
        ask(client)
    now = 0.0
    start(now)
    while events and now < end:
        now, _, (what, subject) = heapq.heappop(events)
        idle += 1
        if what == "asked":
            waiting[subject % stores].append(subject)
        else:
            store, batch = subject
            busy[store] = False
            done += len(batch)
            for client in batch:
                ask(client)
        for store in range(stores):
            if waiting[store] and not busy[store]:
                busy[store], batch = True, waiting[store]
                waiting[store] = []
                ready.insert(0, (costs.store * len(batch), ("executed", (store, batch))))
        start(now)
    return done / now * 1e9


# ---------------------------------------------------------------- the tables

def row(label, cells):
    print(f"{label:<44}" + "".join(f"{each:>15}" for each in cells))


def print_shards(costs, cores):
    print(f"shards: what each thread does, in percent of one alone; {costs.think:.0f} ns of other work between two calls")
    row("cores", cores)
    for name, one_shard, remote in [("a shard for each thread, own timers", False, 0.0), ("a tenth on timers of other threads", False, 0.1),
                                    ("half of the calls", False, 0.5), ("all calls", False, 1.0),
                                    ("one shard for all threads (global-heap)", True, 0.0)]:
        alone = shards(costs, 1, 1, 0.0)
        row(name, [f"{100 * shards(costs, each, 1 if one_shard else each, remote) / alone:.0f} %" for each in cores])


def print_stealing(costs, cores):
    print("stealing: a burst of tasks on one processor while the others sleep; µs, and beside it µs if all began at once")
    row("cores", cores)
    for tasks, work in [(256, 1_000), (256, 10_000), (4_096, 10_000)]:
        for wakes in (1, 2):
            cells = ["{:.0f} / {:.0f}".format(*(part / 1_000 for part in stealing(costs, each, tasks, work, wakes))) for each in cores]
            row(f"{tasks} tasks of {work / 1_000:.0f} µs, each wakes {wakes}", cells)
    row("a look through all run queues, µs", [f"{costs.look * each / 1_000:.1f}" for each in cores])


def print_broker(costs, cores):
    print(f"broker: jobs a second; a job takes {costs.session:.0f} ns of a session and {costs.store:.0f} ns of its store")
    row("cores", cores)
    for stores in (1, 4, 16):
        row(f"{stores} stores" if stores > 1 else "one store", [f"{broker(costs, each, stores):,.0f}" for each in cores])


def positives(text):
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        found = [0]
    if min(found) < 1 or max(found) > 1024:
        raise argparse.ArgumentTypeError(f"{text!r}: name whole numbers from 1 to 1024, such as 1,16,64")
    return found


def main():
    parser = argparse.ArgumentParser(description="What foliot does on 16 and 64 cores, by costs that were measured on two.",
                                     formatter_class=argparse.RawDescriptionHelpFormatter, epilog=__doc__.split("\n\n", 2)[2])
    parser.add_argument("--cores", type=positives, default=[1, 2, 4, 16, 64], metavar="NUMBERS", help="default: 1,2,4,16,64")
    defaults = Costs()
    for name, what in [("own", "a start and a stop of one's own timers"), ("line", "a cache line from another core"),
                       ("think", "other work between two calls"), ("wake", "until a worker that was asleep runs"),
                       ("look", "at the run queue of another processor"), ("session", "of a server for a job, on any core"),
                       ("store", "of a broker and its store for a job")]:
        parser.add_argument(f"--{name}", type=float, default=getattr(defaults, name), metavar="NS", help=f"{what}; default: {getattr(defaults, name):g}")
    options = parser.parse_args()
    costs = Costs(own=options.own, line=options.line, think=options.think, wake=options.wake, look=options.look,
                  session=options.session, store=options.store)
    print_shards(costs, options.cores)
    print()
    print_stealing(costs, options.cores)
    print()
    print_broker(costs, options.cores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
