"""What the clients of the cluster asked and were answered, and which faults there were.

Times are seconds of the machine's monotonic clock, except those whose name says wall: they are nanoseconds of the
machine's wall clock, which both database servers read, too. Any thread may record.
"""
import dataclasses
import threading
from typing import Optional


@dataclasses.dataclass
class Put:
    body: bytes
    asked: float
    due_wall: int = 0  # 0: at once
    job: Optional[int] = None  # None: it was not acknowledged, and may have been executed or not


@dataclasses.dataclass
class Delivery:
    """A job that a worker got, and what became of it."""
    job: int
    body: bytes
    node: str
    asked: float  # when the worker sent its reserve
    came: float
    came_wall: int
    outcome: Optional[str] = None  # the answer to its delete; None: the connection ended before the answer came
    ended: Optional[float] = None


@dataclasses.dataclass
class Fault:
    name: str
    nodes: tuple  # the nodes whose clients may notice it
    begin: float
    end: Optional[float] = None  # None: it lasts
    effect: float = 0.0  # seconds after its end in which clients may still notice it

    def touches(self, node, begin, end):
        """Whether a client of the node may have noticed it in that time."""
        return node in self.nodes and self.begin <= end and (self.end is None or begin <= self.end + self.effect)


class Record:
    def __init__(self):
        self.lock = threading.Lock()
        self.puts = []
        self.deliveries = []
        self.faults = []
        self.closed = []  # (node, time from, time to) of each connection that a server closed
        self.refused = 0  # answers INTERNAL_ERROR
        self.acknowledged = 0
        self.finished = []  # when each DELETED was read

    def put(self, put):
        with self.lock:
            self.puts.append(put)

    def put_acknowledged(self, put, job):
        with self.lock:
            put.job = job
            self.acknowledged += 1

    def delivered(self, delivery):
        with self.lock:
            self.deliveries.append(delivery)

    def ended(self, delivery, outcome, now):
        with self.lock:
            delivery.outcome, delivery.ended = outcome, now
            if outcome == "DELETED":
                self.finished.append(now)

    def connection_closed(self, node, begin, end):
        with self.lock:
            self.closed.append((node, begin, end))

    def refusal(self):
        with self.lock:
            self.refused += 1

    def fault(self, fault):
        with self.lock:
            self.faults.append(fault)
        return fault

    def open_jobs(self):
        """How many acknowledged jobs nobody has finished yet, but for those whose delete got no answer."""
        with self.lock:
            return self.acknowledged - len(self.finished)
