"""Clients at work on a job server, with a history of what they asked and were answered, and what is there at the end."""
import http.client
import random
import threading
import time
import urllib.parse

from history import History
from kit import beanstalk_client, http_client

# The connection has ended: what was asked is unknown.
LOST = (OSError, EOFError, http.client.HTTPException)

# What HTTP says, in the words of beanstalk.
WORDS = {"inserted": "INSERTED", "kept": "KEPT", "finished": "DELETED", "released": "RELEASED", "buried": "BURIED",
         "touched": "TOUCHED", "not_held": "NOT_FOUND", "cancelled": "CANCELLED", "rescheduled": "RESCHEDULED", "ready": "FIRED",
         "reserved": "IS_RESERVED", "gone": "GONE", "no_space": "OUT_OF_MEMORY"}


class Client(threading.Thread):
    """Puts, reserves and ends jobs on one connection until that connection ends."""
    protocol = "beanstalk"
    commands = {"delete": b"delete %d\r\n", "release": b"release %d 1 0\r\n", "bury": b"bury %d 1\r\n"}

    def __init__(self, number, address, history, seed):
        super().__init__(daemon=True)
        self.number = number
        self.address = address
        self.history = history
        self.random = random.Random(seed)
        self.held = []
        self.mine = []  # ids of jobs with the keys of their bodies
        self.serial = 0

    def run(self):
        try:
            self.connection = self.connect()
        except LOST:
            return
        try:
            while self.step():
                pass
        except LOST:
            self.history.lost(self.number)
        finally:
            self.connection.close()

    def connect(self):
        return beanstalk_client.Connection(self.address)

    def begin(self, kind, **more):
        return self.history.begin(self.number, kind, node=self.address, **more)

    def ask(self, event, data, **more):
        words = self.connection.ask(data).split(b"\r\n", 1)
        first = words[0].decode().split()
        if first[0] == "INSERTED":
            more["job"] = int(first[1])
        if first[0] == "RESERVED":
            more |= {"job": int(first[1]), "body": words[1][:-2]}
        self.history.answered(event, first[0], **more)
        return event

    def put(self):
        self.serial += 1
        body = b"%d/%d" % (self.number, self.serial)
        priority, delay, ttr = self.random.randrange(3), self.random.choice([0, 0, 0, 1]), self.random.choice([1, 60])
        event = self.begin("put", body=body, priority=priority, delay=delay, ttr=ttr)
        if self.random.randrange(2) == 0:
            self.ask(event, b"put %d %d %d %d\r\n%s\r\n" % (priority, delay, ttr, len(body), body))
            return
        self.ask(event, b"x-put keep %s %d %d %d %d\r\n%s\r\n" % (body, priority, delay * 1000, ttr * 1000, len(body),
                                                                 body))
        if event.answer == "INSERTED":
            self.mine.append((event.job, body))

    def change(self):
        """Cancels, moves or fires a job with a key, of any state, which may have ended."""
        job, key = self.random.choice(self.mine)
        name = self.random.choice([b"%d" % job, b"=" + key])
        kind = self.random.choice(["cancel", "cancel", "reschedule", "fire"])
        delay = self.random.choice([0, 0.1, 1]) if kind == "reschedule" else 0
        event = self.begin(kind, job=job, delay=delay)
        due = b" %d" % (1000 * delay) if kind == "reschedule" else b""
        self.ask(event, b"x-%s %s%s\r\n" % (kind.encode(), name, due))

    def reserve(self):
        event = self.ask(self.begin("reserve"), b"reserve-with-timeout 0\r\n")
        if event.answer == "RESERVED":
            self.held.append(event.job)

    def end(self, kind):
        job = self.held.pop(self.random.randrange(len(self.held)))
        self.ask(self.begin(kind, job=job), self.commands[kind] % job)

    def touch(self):
        job = self.random.choice(self.held)
        self.ask(self.begin("touch", job=job), b"touch %d\r\n" % job)

    def step(self):
        draw = self.random.randrange(100)
        if draw < 40 or not self.held and draw < 50:
            self.put()
        elif draw < 50 and self.mine:
            self.change()
        elif draw < 75 or not self.held:
            self.reserve()
        elif draw < 93:
            self.end("delete")
        elif draw < 95:
            self.end("release")
        elif draw < 97:
            self.end("bury")
        elif draw < 99:
            self.touch()
        else:
            self.begin("gone")
            return False
        return True


class HttpClient(Client):
    """The same over HTTP. What it reserves is held by a token, by which any other client of its kind may end the job, at
    any node: they pass some on by the list `tokens`, which they share. Some ask with a token that has ended. Puts with an
    idempotency key that have got no answer they pass on by `unanswered`, and another client sends them again."""
    protocol = "HTTP"

    def __init__(self, number, server, history, seed, tokens, unanswered):
        super().__init__(number, server.address, history, seed)
        self.path = server.http
        self.tokens = tokens
        self.unanswered = unanswered
        self.ended = []  # jobs and tokens that it has had

    def connect(self):
        return http_client.SingleConnection(self.path)

    def ask(self, event, method, target, value=None):
        self.note(event, *self.connection.ask(method, target, value))

    def note(self, event, status, answer):
        """What became of the request of this event. Without an answer it may have happened or not."""
        if status == 500 and answer.get("outcome") == "unknown":
            return
        word = "INTERNAL_ERROR" if status == 503 else WORDS.get(answer.get("outcome"), f"{status} {answer}")
        more = {"job": int(answer["id"])} if word == "INSERTED" else {}
        self.history.answered(event, word, **more)

    def new_put(self):
        self.serial += 1
        body = f"{self.number}/{self.serial}"
        priority, delay, ttr = self.random.randrange(3), self.random.choice([0, 0, 0, 1]), self.random.choice([1, 60])
        value = {"tube": "default", "text": body, "priority": priority, "delay": f"{delay}s", "ttr": f"{ttr}s"}
        return self.begin("put", body=body.encode(), priority=priority, delay=delay, ttr=ttr), value

    def put(self):
        if self.random.randrange(6) == 0:
            puts = [self.new_put() for _ in range(3)]
            status, answer = self.connection.ask("POST", "/v1/batch", {"jobs": [value for _, value in puts]})
            results = answer.get("results") or 3 * [answer | {"status": status}]
            for (event, _), result in zip(puts, results, strict=True):
                self.note(event, result["status"], result)
            return
        event, value = self.new_put()
        draw = self.random.randrange(4)
        if draw == 0:
            event.idempotency_key = value["text"]
            self.put_once(event, value)
            return
        if draw == 1:
            self.ask(event, "POST", "/v1/jobs", value)
            return
        self.ask(event, "POST", "/v1/jobs", value | {"key": value["text"]})
        if event.answer == "INSERTED":
            self.mine.append((event.job, value["text"]))

    def put_once(self, event, value, is_repeat=False):
        """A repeat that fails says nothing of the times before."""
        try:
            status, answer = self.connection.ask("POST", "/v1/jobs", value, {"Idempotency-Key": event.idempotency_key})
        except LOST:
            self.unanswered.append((event, value))
            raise
        is_open = status != 201 if is_repeat else answer.get("outcome") == "unknown"
        if is_open:
            self.unanswered.append((event, value))
            return
        self.note(event, status, answer)

    def repeat(self):
        try:
            event, value = self.unanswered.pop(0)
        except IndexError:
            return  # another client has taken the last one
        self.put_once(event, value, is_repeat=True)

    def step(self):
        if self.unanswered and self.random.randrange(4) == 0:
            self.repeat()
        return super().step()

    def change(self):
        job, key = self.random.choice(self.mine)
        path = self.random.choice([f"/v1/jobs/{job}", f"/v1/tubes/default/jobs/{urllib.parse.quote(key, safe='')}"])
        kind = self.random.choice(["cancel", "cancel", "reschedule", "fire"])
        delay = self.random.choice([0, 0.1, 1]) if kind == "reschedule" else 0
        event = self.begin(kind, job=job, delay=delay)
        if kind == "cancel":
            self.ask(event, "DELETE", path)
        else:
            self.ask(event, "POST", f"{path}/{kind}", {"delay": f"{delay}s"} if kind == "reschedule" else None)

    def reserve(self):
        events = [self.begin("reserve")]
        value = {"tube": "default", "count": self.random.choice([1, 1, 3]),
                 "timeout": self.random.choice(["0s", "0s", "0s", "20ms"])}
        status, answer = self.connection.ask("POST", "/v1/reserve", value)
        if status != 200:
            is_in_doubt = status == 500 and answer.get("outcome") == "unknown"
            word = "IN_DOUBT" if is_in_doubt else {503: "INTERNAL_ERROR"}.get(status, f"{status} {answer}")
            self.history.answered(events[0], word)
            return
        jobs = answer["jobs"]
        if len(jobs) > value["count"] or len({each["id"] for each in jobs}) < len(jobs):
            self.history.answered(events[0], f"200 {answer}")
            return
        events += [self.history.add_copy(events[0]) for _ in jobs[1:]]
        if not jobs:
            self.history.answered(events[0], "TIMED_OUT")
        for event, job in zip(events, jobs):
            self.history.answered(event, "RESERVED", job=int(job["id"]), body=job["text"].encode(), token=job["reservation"])
            held = self.tokens if self.random.randrange(4) == 0 else self.held
            held.append((event.job, event.token))

    def touch(self):
        job, token = self.random.choice(self.ended if self.ended and self.random.randrange(3) == 0 else self.held)
        self.ask(self.begin("touch", job=job, token=token), "POST", f"/v1/reservations/{token}/touch")

    def end(self, kind):
        if self.ended and self.random.randrange(10) == 0:
            job, token = self.random.choice(self.ended)
        else:
            try:
                held = self.tokens if self.random.randrange(4) == 0 else self.held
                job, token = held.pop(self.random.randrange(len(self.held)) if held is self.held else 0)
            except IndexError:
                return  # another client has taken the last one
            self.ended.append((job, token))
        name, value = {"delete": ("finish", None), "release": ("release", {"priority": 1}),
                       "bury": ("bury", {"priority": 1})}[kind]
        self.ask(self.begin(kind, job=job, token=token), "POST", f"/v1/reservations/{token}/{name}", value)


class Workload:
    """Clients of one server after the other, with one history. Every second client of a server with HTTP speaks that.
    `of_nodes`: the servers are nodes of a database, so what was reserved over HTTP outlives them."""

    def __init__(self, draw: random.Random, clients=6, closes_idle=False, of_nodes=False):
        self.history = History(closes_idle)
        self.of_nodes = of_nodes
        self.random = draw
        self.at_once = clients
        self.started = 0
        self.clients = []
        self.protocols = {}  # of each client that there was, by its number
        self.tokens = []  # of reservations, that clients over HTTP pass on
        self.unanswered = []  # puts over HTTP with idempotency keys, and their values

    def start(self, server):
        for _ in range(self.at_once):
            self.started += 1
            seed = self.random.randrange(1 << 62)
            if server.http is not None and self.started % 2 == 0:
                client = HttpClient(self.started, server, self.history, seed, self.tokens, self.unanswered)
            else:
                client = Client(self.started, server.address, self.history, seed)
            self.clients.append(client)
            self.protocols[client.number] = client.protocol
            client.start()

    def await_answers(self, server):
        """Returns when jobs were put and reserved over each of the protocols of this server, and fails if that does not
        happen. Without it a test would pass though the clients of one of them have not been answered."""
        until = time.monotonic() + beanstalk_client.PATIENCE
        while silent := self.silent_protocols(server):
            if time.monotonic() > until:
                raise AssertionError(f"no client that speaks {' or '.join(silent)} has put and got a job")
            if not all(any(client.is_alive() for client in self.clients if client.protocol == each) for each in silent):
                self.start(server)
            time.sleep(0.01)

    def silent_protocols(self, server):
        heard = {(self.protocols[event.client], event.answer) for event in list(self.history.events)
                 if event.node == server.address and event.client in self.protocols}
        return [each for each in (["beanstalk", "HTTP"] if server.http is not None else ["beanstalk"])
                if not {(each, "INSERTED"), (each, "RESERVED")} <= heard]

    def has_clients(self):
        return any(client.is_alive() for client in self.clients)

    def server_has_ended(self):
        """Waits for the clients. What they began before this may still be answered: the answers are on their way."""
        if self.of_nodes:
            for node in {client.address for client in self.clients}:
                self.history.begin(0, "disturbed", node=node)
        else:
            self.history.begin(0, "killed")
        for client in self.clients:
            client.join(beanstalk_client.PATIENCE)
            if client.is_alive():
                raise AssertionError(f"the client {client.number} is at work, though the server should have ended")
        self.clients = []


def drain(server):
    """The bodies of all jobs that are there, by id, in the order in which one client gets them. Buries them."""
    connection = server.connect()
    try:
        connection.ask(b"kick 1000000000\r\n")
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            counts = connection.numbers(b"stats\r\n")
            if counts["current-jobs-delayed"] == 0 and counts["current-jobs-buried"] == 0:
                break
            if time.monotonic() > until:
                raise TimeoutError(f"jobs stay delayed or buried: {counts}")
            time.sleep(0.01)
        left = {}
        while True:
            line = connection.ask(b"reserve-with-timeout 0\r\n")
            if not line.startswith(b"RESERVED"):
                return left
            head, body = line.split(b"\r\n", 1)
            job = int(head.split()[1])
            left[job] = body[:-2]
            connection.ask(b"bury %d 0\r\n" % job)  # so that none comes back when its time is over
    finally:
        connection.close()
