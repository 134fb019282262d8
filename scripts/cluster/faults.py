"""The faults that the cluster shows, each announced before it happens, and their timetable."""
import random
import time

from machines import PATIENCE, ClusterError
from record import Fault

FAILOVER_PAUSE = 0.5  # seconds until somebody notices that the primary is gone
SETTLE = 2.0  # seconds after a fault in which its effect is measured
ROUND = 60.0  # seconds in which each of the faults comes once


class Faults:
    """`say` announces, `wait` returns False when the run is to end."""

    def __init__(self, nodes, database, record, node_timeout, say, wait, seed):
        self.nodes, self.database, self.record = nodes, database, record
        self.node_timeout, self.say, self.wait = node_timeout, say, wait
        self.random = random.Random(seed)
        self.all = {"kill": self.kill, "stop": self.stop, "failover": self.failover}

    def length(self, kind):
        """Seconds that the fault takes, about."""
        return SETTLE + {"kill": self.node_timeout + 1, "stop": self.node_timeout + 2, "failover": 4}[kind]

    def run(self, kinds, seconds):
        """Spreads the faults over the time, in rounds; 0 seconds: until the run is to end. A last fault that has begun
        comes to its end."""
        rounds = max(1, round(seconds / ROUND)) if seconds else None
        period = seconds / rounds if seconds else ROUND
        pause = max(2.0, (period - sum(map(self.length, kinds))) / (len(kinds) + 1))
        done = 0
        while rounds is None or done < rounds:
            for kind in kinds:
                if not self.wait(pause):
                    return
                self.all[kind]()
            done += 1

    def begin(self, name, nodes, effect):
        return self.record.fault(Fault(name, tuple(node.name for node in nodes), time.monotonic(), effect=effect))

    def end(self, fault):
        """False if the run is to end."""
        fault.end = time.monotonic()
        return self.wait(SETTLE)

    def kill(self):
        node = self.random.choice(self.nodes)
        self.say(f"kill -9 of {node.name}: its clients go to other nodes. What its workers had is ready again after "
                 f"{self.node_timeout} s (--node-timeout).")
        fault = self.begin(f"{node.name} was killed", [node], effect=0)
        node.kill()
        self.wait(self.node_timeout + 1)
        self.say(f"{node.name} starts again.")
        node.start()
        self.end(fault)

    def stop(self):
        node = self.random.choice(self.nodes)
        pause = self.node_timeout + 2
        self.say(f"SIGSTOP of {node.name} for {pause} s: after {self.node_timeout} s the other nodes take it for dead, and "
                 "their workers get its jobs.")
        fault = self.begin(f"{node.name} hung", [node], effect=self.node_timeout)
        node.stop()
        try:
            self.wait(pause)
        finally:
            self.say(f"SIGCONT of {node.name}: its workers are told NOT_FOUND for the jobs that others have got.")
            node.go_on()
        self.end(fault)

    def failover(self):
        crashed, next_primary = self.database.primary, self.database.standby
        self.say(f"the primary {crashed} crashes. After {FAILOVER_PAUSE} s {next_primary} is promoted, as a failover "
                 "manager would do; the nodes find it.")
        fault = self.begin(f"the primary {crashed} crashed", self.nodes, effect=self.node_timeout)
        self.database.crash_primary()
        time.sleep(FAILOVER_PAUSE)
        self.database.promote_standby()
        self.say(f"{next_primary} is the primary.")
        self.wait_for_nodes()
        if self.end(fault):
            self.say(f"{crashed} is made again, as the standby of {next_primary}.")
            self.database.bring_back()

    def wait_for_nodes(self):
        until = time.monotonic() + PATIENCE
        for node in self.nodes:
            while not node.answers():
                if node.has_died() or time.monotonic() > until:
                    raise ClusterError(f"{node.name} did not find the new primary: {node.last_words()}")
                time.sleep(0.05)
