"""What clients of a job server asked and were answered, and a checker of it that knows nothing of the server.

Times are seconds: `begin` before the request was sent, `end` after the answer was read, by the monotonic clock of the
machine, and `wall` before the request by the wall clock. An event whose answer never came has the answer None: it may
have happened at any time from `begin` on, or never."""
import bisect
import dataclasses
import itertools
import re
import threading
import time
from typing import Optional

MILLISECOND = 0.001
# In seconds. A node asks its database for so long what became of a batch (postgresql_options::give_up_after), then gives
# up. If that batch has reserved a job, nobody has the job until the node has found out, or its TTR is over: the reserve
# goes on waiting, or its client is told that there is none.
IN_DOUBT = 5
# In seconds: how much before and after the events of a job is printed with them.
AROUND = 20


@dataclasses.dataclass
class Event:
    client: int
    # put, reserve, touch, delete, release, bury, cancel, reschedule, fire, gone (the client); killed (the only server). Of several
    # servers over a database: disturbed (the server at `node` ends: its reservations may end from then on. Without a
    # `node` the database fails, or is replaced, which ends none; nor does it end those over HTTP), silent (the database hears nothing of the server at
    # `node` from then on, and would take it for dead after the `timeout`), heard (it does again)
    kind: str
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
    # Over HTTP: of the reservation. It is held by this, and not by the client: any other one may end it.
    token: Optional[str] = None
    node: Optional[tuple] = None  # the address of the server; of what a client asks, that of its server
    timeout: float = 0
    # Of a put over HTTP, by which it happens once: it may be sent several times, and its answer is that of any of them.
    idempotency_key: Optional[str] = None


class History:
    """Any thread may record. `closes_idle`: the server may also close the connection of a client that asks for nothing,
    which learns of it at its next request."""

    def __init__(self, closes_idle=False):
        self.closes_idle = closes_idle
        self.events = []
        self.lock = threading.Lock()

    def begin(self, client, kind, **more):
        event = Event(client, kind, time.monotonic(), time.time(), **more)
        with self.lock:
            self.events.append(event)
        return event

    def add_copy(self, event):
        """Of the same request, which is about several jobs."""
        copy = dataclasses.replace(event)
        with self.lock:
            self.events.append(copy)
        return copy

    def events_of(self, client):
        with self.lock:
            return [event for event in self.events if event.client == client]

    def lost(self, client):
        """The connection of a client has ended, while its last request was under way."""
        with self.lock:
            mine = [event for event in self.events if event.client == client]
            if not mine:  # it has only repeated what others had asked
                return
            last = max(mine, key=lambda each: each.begin)
            begin = last.begin
            if self.closes_idle:
                # It may have been closed as soon as the server had sent its last answer, before the client read that.
                begin = max((event.begin for event in mine if event.answer is not None), default=begin)
            self.events.append(Event(client, "gone", begin, last.wall))

    @staticmethod
    def answered(event, answer, **more):
        for name, value in more.items():
            setattr(event, name, value)
        event.end_wall = time.time()
        event.end = time.monotonic()
        event.answer = answer


# What clients may be told. INTERNAL_ERROR: nothing has changed. IN_DOUBT: a reserve may have reserved jobs.
ANSWERS = {None, "INSERTED", "KEPT", "DRAINING", "RESERVED", "TIMED_OUT", "DEADLINE_SOON", "TOUCHED", "DELETED", "RELEASED",
           "BURIED", "NOT_FOUND", "CANCELLED", "RESCHEDULED", "FIRED", "IS_RESERVED", "GONE", "OUT_OF_MEMORY", "INTERNAL_ERROR",
           "IN_DOUBT"}


# What one who has a job may ask for it, and the answers that it is done.
DONE = {"touch": "TOUCHED", "delete": "DELETED", "release": "RELEASED", "bury": "BURIED"}


def put_events(events):
    return {event.job: event for event in events if event.kind == "put" and event.answer == "INSERTED"}


def has_ended(event):
    """Whether the answer says that the job is no more."""
    return event.answer == {"delete": "DELETED", "cancel": "CANCELLED"}.get(event.kind, "")


def may_have_ended(event):
    return has_ended(event) or event.kind in ("delete", "cancel") and event.answer is None


def check_lost(events, left):
    """Acknowledged and lost: a job that nobody has ended is there at the end."""
    tried = {event.job for event in events if may_have_ended(event)}
    for job, put in put_events(events).items():
        if job not in tried and job not in left:
            yield f"job {job} was acknowledged and nobody has ended it, but it is not there at the end: {put}"


def check_invented(events, left):
    """A job that is handed out was put, with that body."""
    bodies = {job: put.body for job, put in put_events(events).items()}
    unknown = {event.body for event in events if event.kind == "put" and event.answer is None}
    seen = [(event.job, event.body) for event in events if event.kind == "reserve" and event.answer == "RESERVED"]
    for job, body in [*seen, *left.items()]:
        if bodies.get(job) != body and body not in unknown:
            puts = [event for event in events if event.kind == "put" and event.body == body]
            yield f"job {job} has the body {body!r}, but {bodies.get(job)!r} was put; that body came with {puts}"


def check_once(events, left):
    """Put twice: a put with an idempotency key, which may have been sent several times, has made one job."""
    keys = {event.body: event.idempotency_key for event in events if event.kind == "put" and event.idempotency_key}
    jobs = {}
    seen = [(event.job, event.body) for event in events if event.answer in ("INSERTED", "RESERVED")]
    for job, body in [*seen, *left.items()]:
        if body in keys and jobs.setdefault(body, job) != job:
            yield f"job {job} was put a second time with the idempotency key {keys[body]!r}: the first is job {jobs[body]}"


def check_same_id(events):
    """No two jobs have the same id."""
    seen = {}
    for event in events:
        if event.kind == "put" and event.answer == "INSERTED":
            if event.job in seen:
                yield f"two jobs have the id {event.job}: {seen[event.job]} and {event}"
            seen[event.job] = event


def check_answers(events):
    """No answer is one that nobody should get."""
    for event in events:
        if event.answer not in ANSWERS:
            yield f"an answer is unknown: {event}"


def check_tokens(events):
    """No two reservations have the same token."""
    seen = {}
    for event in events:
        if event.kind == "reserve" and event.token is not None:
            if event.token in seen:
                yield f"two reservations have the same token: {seen[event.token]} and {event}"
            seen[event.token] = event


def may_last_until(reserve, ttr, touches, grace=0.0):
    """When the TTR of this reservation is over for certain."""
    latest = reserve.end + ttr + grace
    for touch in touches:
        if touch.answer in ("TOUCHED", None):
            latest = max(latest, float("inf") if touch.end is None else touch.end + ttr + grace)
    return latest


def check_stale_tokens(events, grace=0.0):
    """Done with a token that has ended: by its TTR, by an answer, by the end of the only server, or because the job was
    handed out again."""
    ttrs = {job: put.ttr for job, put in put_events(events).items()}
    kills = sorted(event.begin for event in events if event.kind == "killed") + [float("inf")]
    reserves, requests = {}, {}  # of each job, of each token
    for event in events:
        if event.kind == "reserve" and event.answer == "RESERVED":
            reserves.setdefault(event.job, []).append(event)
        elif event.token is not None and event.kind in DONE:
            requests.setdefault(event.token, []).append(event)
    for reserve in itertools.chain(*reserves.values()):
        mine = requests.get(reserve.token, [])
        ends = [(each.end, each) for each in mine if each.kind != "touch" and each.answer == DONE[each.kind]]
        ends += [(each.end, each) for each in reserves[reserve.job] if each.begin > reserve.end]
        ends.append((kills[bisect.bisect_right(kills, reserve.begin)], "the end of the server"))
        touches = [each for each in mine if each.kind == "touch"]
        for event in mine:
            if event.answer != DONE[event.kind]:
                continue
            # A touch that came too late does not prolong the time by which it is judged.
            earlier = [each for each in touches if each is not event and each.begin < event.begin]
            until = may_last_until(reserve, ttrs.get(event.job, float("inf")), earlier, grace) + MILLISECOND
            for end, why in [*ends, (until, "the end of its TTR")]:
                if why is not event and end < event.begin:
                    yield f"job {event.job}: a request with the token of {reserve} is done after {why}: {event}"
                    break


def check_back(events, left):
    """Finished and back: what was deleted or cancelled is handed out to nobody afterwards."""
    ends = {event.job: event for event in events if has_ended(event)}
    for event in events:
        if event.kind == "reserve" and event.answer == "RESERVED" and event.job in ends:
            if event.begin > ends[event.job].end:
                yield f"job {event.job} has ended and was handed out again: {ends[event.job]} and {event}"
    for job in left:
        if job in ends:
            yield f"job {job} has ended, but it is there at the end: {ends[job]}"


def check_early(events):
    """Early: no job is handed out before its last due time, if one request set that due time certainly last."""
    settings = {}  # job: requests that may have given it a due time
    for event in events:
        if event.kind in ("put", "release", "reschedule", "fire") and event.job is not None:
            if event.answer in (None, "INSERTED", "RELEASED", "RESCHEDULED", "FIRED"):
                settings.setdefault(event.job, []).append(event)
    for event in events:
        if event.kind != "reserve" or event.answer != "RESERVED":
            continue
        earlier = [each for each in settings.get(event.job, []) if each.begin < event.end]
        if not earlier:
            continue
        last = max(earlier, key=lambda each: each.begin)
        is_certain = last.end is not None and last.end < event.begin and all(
            each is last or each.end is not None and each.end < last.begin for each in earlier)
        due = last.wall + last.delay
        if is_certain and event.end_wall < due - MILLISECOND:
            yield f"job {event.job} was handed out {due - event.end_wall:.6f} s early: {last} and {event}"


@dataclasses.dataclass
class Hold:
    """A client, or a token, certainly has the job from `end` on: until `until`, or until it makes the request `ending`."""
    client: int
    begin: float  # of its reserve
    end: float
    until: float
    latest: float  # when a fault may end it that touching does not postpone
    ending: Optional[Event] = None
    refused: Optional[Event] = None  # a touch

    def certain_until(self):
        return min(self.until, self.ending.begin) if self.ending else self.until


class Faults:
    """When reservations may end that nobody has ended."""

    def __init__(self, events):
        self.kills, self.of_node, self.silences = [], {}, {}  # times; of each node its times, and its pairs of times
        silent = {}  # node: the event, and when the node was heard again
        for event in sorted(events, key=lambda each: each.begin):
            if event.kind == "killed":
                self.kills.append(event.begin)
            elif event.kind == "disturbed" and event.node:
                self.of_node.setdefault(event.node, []).append(event.begin)
                if event.node in silent:
                    self._end_silence(silent.pop(event.node)[0], event.begin)
            elif event.kind == "heard" and event.node in silent:
                silent[event.node][1] = event.begin
            elif event.kind == "silent":
                # It says that it is alive each quarter of its timeout: since it was heard it may have said nothing.
                if event.node in silent and silent[event.node][1] + event.timeout / 4 < event.begin:
                    self._end_silence(*silent.pop(event.node))
                silent.setdefault(event.node, [event, None])[1] = float("inf")
        for event, end in silent.values():
            self._end_silence(event, end)

    def _end_silence(self, event, end):
        # When it began, the node may have said nothing for a quarter of its timeout. If it is silent for less than half
        # of it, it keeps its reservations, and on a busy machine it may still be late.
        latest = event.begin + event.timeout / 2
        if end > latest:
            self.silences.setdefault(event.node, []).append((latest, end))

    def first_after(self, begin, node):
        """The first one that may end a reservation that was made at this node after this time; or, without a node, one that
        belongs to no node."""
        ends = [times[place] for times in (self.kills, self.of_node.get(node, []))
                if (place := bisect.bisect_left(times, begin)) < len(times)]
        return min([*ends, *(first for first, end in self.silences.get(node, []) if begin < end)], default=float("inf"))


def holds(events):
    """For each job the times in which one client certainly held it, or over HTTP one token."""
    of_job = {}
    open_holds = {}  # by client and job, or by token
    faults = Faults(events)
    ttrs = {job: put.ttr for job, put in put_events(events).items()}
    for event in sorted(events, key=lambda each: each.begin):
        if event.kind == "reserve" and event.answer == "RESERVED":
            # It may have been reserved as early as `begin`, so that it may end a TTR after that.
            latest = faults.first_after(event.begin, None if event.token else event.node)
            hold = Hold(event.client, event.begin, event.end, min(event.begin + ttrs.get(event.job, 0), latest), latest)
            open_holds[event.token or (event.client, event.job)] = hold
            of_job.setdefault(event.job, []).append(hold)
        elif event.kind == "touch":
            hold = open_holds.get(event.token or (event.client, event.job))
            if hold and event.answer == "TOUCHED":
                hold.until = max(hold.until, min(event.begin + ttrs.get(event.job, 0), hold.latest))
            elif hold and event.answer == "NOT_FOUND" and event.end < hold.until:
                hold.refused = event
        elif event.kind in ("delete", "release", "bury") and event.answer != "INTERNAL_ERROR":  # that has changed nothing
            hold = open_holds.pop(event.token or (event.client, event.job), None)
            if hold:
                hold.ending = event
        elif event.kind == "gone":
            for key in [key for key in open_holds if isinstance(key, tuple) and key[0] == event.client]:
                hold = open_holds.pop(key)
                hold.until = min(hold.until, event.begin)
    return of_job


def check_two_holders(events):
    """Held by two: while one client certainly has a job, no other is handed it."""
    for job, all_holds in holds(events).items():
        for one, other in itertools.permutations(all_holds, 2):
            # `other` was handed over between its begin and its end, all of it while `one` held.
            if one.end < other.begin and other.end < one.certain_until():
                clients = f"{one.client} and {other.client}"
                yield f"job {job} was handed to the clients {clients} at the same time: {one} {other}"


def check_refused(events):
    """Refused to its holder: while a client certainly has a job, no request of it for the job is answered by NOT_FOUND."""
    for job, all_holds in holds(events).items():
        for hold in all_holds:
            ending = hold.ending
            if hold.refused or ending and ending.answer == "NOT_FOUND" and ending.end < hold.until:
                yield f"job {job} was refused to its holder, the client {hold.client}: {hold}"


def check_contradictions(events):
    """Two answers that contradict each other: a job ends once."""
    seen = {}
    for event in events:
        if has_ended(event):
            if event.job in seen:
                yield f"job {event.job} has ended twice: {seen[event.job]} and {event}"
            seen[event.job] = event


def may_hold(events, grace=0.0):
    """For each job the times in which a client may have held it, as pairs; and the same for any job, where a reserve got
    no answer, or waited so long that its batch may be in doubt. A reservation may outlast its TTR by the grace."""
    of_job, of_any = {}, []
    ttrs = {job: put.ttr for job, put in put_events(events).items()}
    disturbed = any(event.kind in ("disturbed", "silent") for event in events)
    kills = sorted(event.begin for event in events if event.kind == "killed") + [float("inf")]
    ends, touches = {}, {}
    for event in events:
        if event.answer in ("DELETED", "RELEASED", "BURIED"):
            ends.setdefault((event.client, event.job), []).append(event.end)
        if event.kind == "touch":
            touches.setdefault(event.job, []).append(event)
    for event in events:
        if event.kind == "reserve":
            latest = kills[bisect.bisect_right(kills, event.begin)]
            if event.answer is None:
                of_any.append((event.begin, latest))
            elif event.answer == "IN_DOUBT" or disturbed and event.end - event.begin >= IN_DOUBT:
                of_any.append((event.begin, min(latest, event.end + max(ttrs.values(), default=0) + grace)))
            if event.answer == "RESERVED":
                after = [time for time in ends.get((event.client, event.job), []) if time > event.begin]
                ttr = ttrs.get(event.job, float("inf"))
                latest = min([latest, may_last_until(event, ttr, touches.get(event.job, []), grace), *after])
                of_job.setdefault(event.job, []).append((event.begin, latest))
    return of_job, of_any


def check_truth(events, grace=0.0):
    """The answer to a cancel, a reschedule or a fire-now is what happened: a worker has the job, or it has ended, or
    neither."""
    certain = holds(events)
    possible, of_any = may_hold(events, grace)
    ends = {}
    for event in events:
        if may_have_ended(event):
            ends.setdefault(event.job, []).append(event)
    for event in events:
        # What is answered by INTERNAL_ERROR has changed nothing.
        if event.kind not in ("cancel", "reschedule", "fire") or event.answer in (None, "INTERNAL_ERROR"):
            continue
        if event.answer == "GONE":
            if not any(each.begin < event.end for each in ends.get(event.job, [])):
                yield f"job {event.job} is said to be gone, but nobody had ended it: {event}"
        elif event.answer == "IS_RESERVED":
            times = [*possible.get(event.job, []), *of_any]
            if not any(begin < event.end and event.begin < latest + MILLISECOND for begin, latest in times):
                yield f"job {event.job} is said to be reserved, but nobody had it: {event}"
        else:
            for hold in certain.get(event.job, []):
                if hold.end < event.begin and event.end < hold.certain_until():
                    yield f"job {event.job} was changed while the client {hold.client} had it: {event}"


def priorities_of(events):
    """The priorities of jobs, by id, but for those that may have got another one since they were put."""
    changed = {event.job for event in events if event.kind in ("release", "bury")}
    return {job: put.priority for job, put in put_events(events).items() if job not in changed}


def check_order(drained, priorities):
    """Out of order: `drained` are the ids that one client got while nobody else did anything."""
    keys = [(priorities[job], job) for job in drained if job in priorities]
    for first, second in zip(keys, keys[1:]):
        if first > second:
            yield f"job {first[1]} of priority {first[0]} came before job {second[1]} of priority {second[0]}"


def check(events, left, drained=(), priorities=None, grace=0.0):
    """All breaches of the promises, as sentences. `left` has the bodies of the jobs that are there at the end, by id.
    `grace`: the seconds by which a reservation may outlast its TTR, because the node that made it hangs."""
    return [*check_lost(events, left), *check_invented(events, left), *check_once(events, left),
            *check_same_id(events), *check_answers(events), *check_tokens(events),
            *check_stale_tokens(events, grace), *check_back(events, left),
            *check_early(events), *check_two_holders(events), *check_refused(events), *check_contradictions(events),
            *check_truth(events, grace), *check_order(drained, priorities or {})]


def events_around(events, breaches):
    """What a person needs to judge the breaches: the events of their jobs, and near them in time those that concern any
    job, in their order."""
    jobs = {int(number) for breach in breaches for number in re.findall(r"\bjob (\d+)", breach)}
    times = [event.begin for event in events if event.job in jobs]
    for event in sorted(events, key=lambda each: each.begin) if jobs else []:
        is_fault = event.kind in ("gone", "killed", "disturbed", "silent", "heard")
        concerns_all = is_fault or event.kind == "reserve" and event.job is None
        is_near = times and min(times) - AROUND < event.begin < max(times) + AROUND
        if event.job in jobs or concerns_all and is_near:
            yield event
