"""What clients of a job server asked and were answered, and a checker of it that knows nothing of the server.

Times are seconds: `begin` before the request was sent, `end` after the answer was read, by the monotonic clock of the
machine, and `wall` before the request by the wall clock. An event whose answer never came has the answer None: it may
have happened at any time from `begin` on, or never."""
import dataclasses
import itertools
import threading
import time
from typing import Optional

MILLISECOND = 0.001


@dataclasses.dataclass
class Event:
    client: int
    kind: str  # put, reserve, delete, release, bury, touch, gone (the client went away), killed (the server)
    begin: float
    wall: float
    end: Optional[float] = None
    end_wall: Optional[float] = None
    answer: Optional[str] = None  # the first word of the answer
    job: Optional[int] = None
    body: Optional[bytes] = None
    priority: int = 0
    delay: float = 0
    ttr: float = 0


class History:
    """Any thread may record."""

    def __init__(self):
        self.events = []
        self.lock = threading.Lock()

    def begin(self, client, kind, **more):
        event = Event(client, kind, time.monotonic(), time.time(), **more)
        with self.lock:
            self.events.append(event)
        return event

    @staticmethod
    def answered(event, answer, **more):
        for name, value in more.items():
            setattr(event, name, value)
        event.end_wall = time.time()
        event.end = time.monotonic()
        event.answer = answer


def put_events(events):
    return {event.job: event for event in events if event.kind == "put" and event.answer == "INSERTED"}


def check_lost(events, left):
    """Acknowledged and lost: a job that nobody has tried to delete is there at the end."""
    tried = {event.job for event in events if event.kind == "delete" and event.answer != "NOT_FOUND"}
    for job, put in put_events(events).items():
        if job not in tried and job not in left:
            yield f"job {job} was acknowledged and nobody has deleted it, but it is not there at the end: {put}"


def check_invented(events, left):
    """A job that is handed out was put, with that body."""
    bodies = {job: put.body for job, put in put_events(events).items()}
    unknown = {event.body for event in events if event.kind == "put" and event.answer is None}
    seen = [(event.job, event.body) for event in events if event.kind == "reserve" and event.answer == "RESERVED"]
    for job, body in [*seen, *left.items()]:
        if bodies.get(job) != body and body not in unknown:
            yield f"job {job} has the body {body!r}, but {bodies.get(job)!r} was put"


def check_same_id(events):
    """No two jobs have the same id."""
    seen = {}
    for event in events:
        if event.kind == "put" and event.answer == "INSERTED":
            if event.job in seen:
                yield f"two jobs have the id {event.job}: {seen[event.job]} and {event}"
            seen[event.job] = event


def check_back(events, left):
    """Finished and back: what was deleted is handed out to nobody afterwards."""
    ends = {event.job: event for event in events if event.kind == "delete" and event.answer == "DELETED"}
    for event in events:
        if event.kind == "reserve" and event.answer == "RESERVED" and event.job in ends:
            if event.begin > ends[event.job].end:
                yield f"job {event.job} was deleted and handed out again: {ends[event.job]} and {event}"
    for job in left:
        if job in ends:
            yield f"job {job} was deleted, but it is there at the end: {ends[job]}"


def check_early(events):
    """Early: no job is handed out before its put, or the release of it, was sent and its delay has passed."""
    dues = {}
    for event in sorted(events, key=lambda each: each.begin):
        if event.kind == "put" and event.answer == "INSERTED":
            dues[event.job] = event.wall + event.delay
        if event.kind == "reserve" and event.answer == "RESERVED" and event.job in dues:
            if event.end_wall < dues[event.job] - MILLISECOND:
                yield f"job {event.job} was handed out {dues[event.job] - event.end_wall:.6f} s early: {event}"


def holds(events):
    """For each job the times in which one client certainly held it, with that client."""
    of_job = {}
    open_holds = {}  # (client, job): [begin, end at the latest]
    ends = sorted(events, key=lambda each: each.begin)
    ttrs = {job: put.ttr for job, put in put_events(events).items()}
    for event in ends:
        if event.kind == "reserve" and event.answer == "RESERVED":
            # It may have been reserved as early as `begin`, so that it may end a TTR after that.
            hold = [event.client, event.begin, event.end, event.begin + ttrs.get(event.job, 0)]
            open_holds[event.client, event.job] = hold
            of_job.setdefault(event.job, []).append(hold)
        elif event.kind in ("delete", "release", "bury"):
            hold = open_holds.pop((event.client, event.job), None)
            if hold:
                hold[3] = min(hold[3], event.begin)
        elif event.kind == "gone":
            for client, job in [key for key in open_holds if key[0] == event.client]:
                hold = open_holds.pop((client, job))
                hold[3] = min(hold[3], event.begin)
        elif event.kind == "killed":
            for hold in open_holds.values():
                hold[3] = min(hold[3], event.begin)
            open_holds.clear()
    return of_job


def check_two_holders(events):
    """Held by two: while one client certainly has a job, no other is handed it."""
    for job, all_holds in holds(events).items():
        for one, other in itertools.permutations(all_holds, 2):
            # `other` was handed over between its begin and its end, all of it while `one` held.
            if one[2] < other[1] and other[2] < one[3]:
                yield f"job {job} was handed to the clients {one[0]} and {other[0]} at the same time: {one} {other}"


def check_contradictions(events):
    """Two answers that contradict each other: a job is deleted once."""
    seen = {}
    for event in events:
        if event.kind == "delete" and event.answer == "DELETED":
            if event.job in seen:
                yield f"job {event.job} was deleted twice: {seen[event.job]} and {event}"
            seen[event.job] = event


def check_order(drained, priorities):
    """Out of order: `drained` are the ids that one client got while nobody else did anything."""
    keys = [(priorities[job], job) for job in drained if job in priorities]
    for first, second in zip(keys, keys[1:]):
        if first > second:
            yield f"job {first[1]} of priority {first[0]} came before job {second[1]} of priority {second[0]}"


def check(events, left, drained=(), priorities=None):
    """All breaches of the promises, as sentences. `left` has the bodies of the jobs that are there at the end, by id."""
    return [*check_lost(events, left), *check_invented(events, left), *check_same_id(events), *check_back(events, left),
            *check_early(events), *check_two_holders(events), *check_contradictions(events),
            *check_order(drained, priorities or {})]
