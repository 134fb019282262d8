"""The server is killed at random moments under load, and started again on the same folder: what it has acknowledged is
there, what was finished is not, nothing comes early, nothing is held by two."""
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import beanstalk_client
from history import History, check, put_events
from program_case import main

SANITIZED = os.environ.get("FOLIOT_SANITIZED") == "1"
ROUNDS = int(os.environ.get("FOLIOT_CRASH_ROUNDS", "15" if SANITIZED else "100"))
SEED = int(os.environ.get("FOLIOT_CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
CLIENTS = 6
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
        self.serial = 0

    def run(self):
        try:
            self.connection = beanstalk_client.Connection(self.address)
            while self.step():
                pass
        except LOST:
            pass

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
        event = self.history.begin(self.number, "put", body=body, priority=priority, delay=delay, ttr=ttr)
        self.ask(event, b"put %d %d %d %d\r\n%s\r\n" % (priority, delay, ttr, len(body), body))

    def reserve(self):
        event = self.ask(self.history.begin(self.number, "reserve"), b"reserve-with-timeout 0\r\n")
        if event.answer == "RESERVED":
            self.held.append(event.job)

    def end(self, kind, command):
        job = self.held.pop(self.random.randrange(len(self.held)))
        self.ask(self.history.begin(self.number, kind, job=job), command % job)

    def step(self):
        draw = self.random.randrange(100)
        if draw < 45 or not self.held and draw < 55:
            self.put()
        elif draw < 75 or not self.held:
            self.reserve()
        elif draw < 93:
            self.end("delete", b"delete %d\r\n")
        elif draw < 97:
            self.end("release", b"release %d 1 0\r\n")
        elif draw < 99:
            self.end("bury", b"bury %d 1\r\n")
        else:
            self.history.begin(self.number, "gone")
            self.connection.close()
            return False
        return True


class Crash(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.folder = Path(folder) / "jobs"
        self.history = History()
        self.clients = 0

    def start(self):
        return beanstalk_client.foliot("--data", self.folder)

    def round(self, draw):
        """Clients at work; the server is killed in the middle of it."""
        server = self.start()
        clients = []
        for _ in range(CLIENTS):
            self.clients += 1
            clients.append(Client(self.clients, server.address, self.history, draw.randrange(1 << 62)))
            clients[-1].start()
        time.sleep(draw.random() * draw.choice([0.05, 0.3]))  # any moment: nothing relies on how much was done by then
        # What begins before this may still be answered; what is answered later was decided before the kill.
        server.kill()
        self.history.begin(0, "killed")
        for client in clients:
            client.join()

    def drain(self):
        """All jobs that are there, in the order in which one client gets them."""
        server = self.start()
        connection = server.connect()
        connection.ask(b"kick 1000000000\r\n")
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            kicked = connection.numbers(b"stats\r\n")
            if kicked["current-jobs-delayed"] == 0 and kicked["current-jobs-buried"] == 0:
                break
            self.assertLess(time.monotonic(), until, kicked)
            time.sleep(0.01)
        left, order = {}, []
        while True:
            line = connection.ask(b"reserve-with-timeout 0\r\n")
            if not line.startswith(b"RESERVED"):
                break
            head, body = line.split(b"\r\n", 1)
            job = int(head.split()[1])
            left[job] = body[:-2]
            order.append(job)
            connection.ask(b"bury %d 0\r\n" % job)  # so that none comes back when its time is over
        code, log = server.stop()
        self.assertEqual((code, log), (0, ""))
        return left, order

    def test_killed_at_random_moments(self):
        print(f"FOLIOT_CRASH_SEED={SEED} FOLIOT_CRASH_ROUNDS={ROUNDS}")
        draw = random.Random(SEED)
        for _ in range(ROUNDS):
            self.round(draw)
        left, order = self.drain()
        events = self.history.events
        released = {event.job for event in events if event.kind in ("release", "bury")}
        priorities = {job: put.priority for job, put in put_events(events).items() if job not in released}
        self.assertEqual(check(events, left, order, priorities), [])
        done = sum(event.answer is not None for event in events)
        print(f"{len(events)} requests, {done} answered, {len(left)} jobs at the end")
        self.assertGreater(done, ROUNDS, "the clients have done something")


if __name__ == "__main__":
    main()
