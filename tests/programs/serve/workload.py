"""Clients at work on a job server, with a history of what they asked and were answered, and what is there at the end."""
import random
import threading
import time

from history import History
from kit import beanstalk_client

LOST = (OSError, EOFError)  # the connection has ended: what was asked is unknown


class Client(threading.Thread):
    """Puts, reserves and ends jobs on one connection until that connection ends."""

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
            self.connection = beanstalk_client.Connection(self.address)
        except LOST:
            return
        try:
            while self.step():
                pass
        except LOST:
            self.history.lost(self.number)
        finally:
            self.connection.close()

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

    def end(self, kind, command):
        job = self.held.pop(self.random.randrange(len(self.held)))
        self.ask(self.begin(kind, job=job), command % job)

    def step(self):
        draw = self.random.randrange(100)
        if draw < 40 or not self.held and draw < 50:
            self.put()
        elif draw < 50 and self.mine:
            self.change()
        elif draw < 75 or not self.held:
            self.reserve()
        elif draw < 93:
            self.end("delete", b"delete %d\r\n")
        elif draw < 97:
            self.end("release", b"release %d 1 0\r\n")
        elif draw < 99:
            self.end("bury", b"bury %d 1\r\n")
        else:
            self.begin("gone")
            return False
        return True


class Workload:
    """Clients of one server after the other, with one history."""

    def __init__(self, draw: random.Random, clients=6, closes_idle=False):
        self.history = History(closes_idle)
        self.random = draw
        self.at_once = clients
        self.started = 0
        self.clients = []

    def start(self, address):
        for _ in range(self.at_once):
            self.started += 1
            self.clients.append(Client(self.started, address, self.history, self.random.randrange(1 << 62)))
            self.clients[-1].start()

    def has_clients(self):
        return any(client.is_alive() for client in self.clients)

    def server_has_ended(self):
        """Waits for the clients. What they began before this may still be answered: the answers are on their way."""
        self.history.begin(0, "killed")
        for client in self.clients:
            client.join()
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
