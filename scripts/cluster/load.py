"""The load: clients that put jobs, and workers that reserve and delete them, each at any node, which they change often.

A client whose node does not answer gives its connection up and goes to another node. A worker that has asked for the end
of its job waits for the answer, which tells whether it still had the job.
"""
import math
import random
import threading
import time

from record import Delivery, Put

TUBE = b"load"
TTR = 60  # seconds
MOST_WORK = 0.1  # seconds that a worker has a job before it finishes it
SHORT_PATIENCE = 3.0  # seconds, for an answer that another node can give, too
MOST_DELAY = 5.0  # seconds
STAY = 5.0  # seconds at a node, on average
MOST_BEHIND = 15  # seconds of jobs that wait for workers; then the clients put no more
PUTS_EACH, JOBS_EACH = 40, 8  # a second, that one client puts and one worker finishes
REFUSED_PAUSE = 0.05  # seconds until a command is sent again that has got INTERNAL_ERROR


class Client(threading.Thread):
    def __init__(self, load, seed):
        super().__init__(daemon=True)
        self.load, self.record = load, load.record
        self.random = random.Random(seed)
        self.connection, self.node = None, None
        self.idle_since = 0.0  # when the last answer came

    def run(self):
        try:
            while not self.is_over():
                self.work_at_a_node()
        except Exception as error:
            self.load.failures.append(f"a client of {self.node.name} failed: {error!r}")

    def work_at_a_node(self):
        self.node = self.random.choice(self.load.nodes)
        self.idle_since = time.monotonic()
        try:
            self.connection = self.node.connect()
        except OSError:
            time.sleep(0.05)  # it is killed
            return
        try:
            self.connection.socket.settimeout(SHORT_PATIENCE)
            self.enter()
            leave = time.monotonic() + self.random.uniform(0.5, 1.5) * STAY
            while not self.is_over() and time.monotonic() < leave:
                self.step()
        except TimeoutError:
            pass  # its node is stopped
        except (OSError, EOFError):
            self.record.connection_closed(self.node.name, self.idle_since, time.monotonic())
        finally:
            self.connection.close()

    def ask(self, data):
        answer = self.connection.ask(data)
        self.idle_since = time.monotonic()
        return answer

    def ask_until_executed(self, data):
        """Sends the command again while the database is away: INTERNAL_ERROR says that nothing has changed."""
        while True:
            answer = self.ask(data)
            if answer != b"INTERNAL_ERROR\r\n":
                return answer
            self.record.refusal()
            time.sleep(REFUSED_PAUSE)


class Putter(Client):
    def is_over(self):
        return self.load.no_more_puts.is_set()

    def enter(self):
        self.ask(b"use %s\r\n" % TUBE)

    def step(self):
        if not self.load.wait_for_turn():
            return
        body = b"job %d" % self.load.next_number()
        delay = self.random.choice([0, self.random.uniform(0.05, MOST_DELAY)])
        due = int((time.time() + delay) * 1000) if delay else 0  # milliseconds since 1970
        put = Put(body, time.monotonic(), due * 1_000_000)
        self.record.put(put)
        command = b"x-put refuse - 0 @%d %d" % (due, 1000 * TTR) if delay else b"put 0 0 %d" % TTR
        answer = self.ask_until_executed(b"%s %d\r\n%s\r\n" % (command, len(body), body))
        if not answer.startswith(b"INSERTED "):
            raise RuntimeError(f"{self.node.name} answers {answer!r} to a put")
        self.record.put_acknowledged(put, int(answer.split()[1]))


class Worker(Client):
    def is_over(self):
        return self.load.no_more_work.is_set()

    def enter(self):
        self.ask(b"watch %s\r\n" % TUBE)
        self.ask(b"ignore default\r\n")

    def step(self):
        asked = time.monotonic()
        answer = self.ask(b"reserve-with-timeout 1\r\n")
        came_wall = time.time_ns()
        if not answer.startswith(b"RESERVED "):
            if answer == b"INTERNAL_ERROR\r\n":
                self.record.refusal()
                time.sleep(REFUSED_PAUSE)
            return
        head, body = answer.split(b"\r\n", 1)
        delivery = Delivery(int(head.split()[1]), body[:-2], self.node.name, asked, self.idle_since, came_wall)
        self.record.delivered(delivery)
        time.sleep(self.random.uniform(0, MOST_WORK))
        self.connection.socket.settimeout(self.load.long_patience)
        try:
            outcome = self.ask_until_executed(b"delete %d\r\n" % delivery.job)
        except (OSError, EOFError):
            self.record.ended(delivery, None, time.monotonic())
            raise
        self.record.ended(delivery, outcome.decode().strip(), self.idle_since)
        self.connection.socket.settimeout(SHORT_PATIENCE)


class Load:
    def __init__(self, nodes, record, rate, long_patience, seed):
        self.nodes, self.record, self.rate = nodes, record, rate
        self.long_patience = long_patience  # seconds; longer than any fault
        self.no_more_puts, self.no_more_work = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.number = 0
        self.turn = time.monotonic()
        self.failures = []
        draw = random.Random(seed)
        count = len(nodes)
        self.putters = [Putter(self, draw.randrange(1 << 62)) for _ in range(count * math.ceil(rate / PUTS_EACH / count))]
        self.workers = [Worker(self, draw.randrange(1 << 62)) for _ in range(count * math.ceil(1 + rate / JOBS_EACH / count))]

    def start(self):
        for client in [*self.putters, *self.workers]:
            client.start()

    def next_number(self):
        with self.lock:
            self.number += 1
            return self.number

    def wait_for_turn(self):
        """Waits until the next job is to be put. False: it is not, for now."""
        now = time.monotonic()
        with self.lock:
            self.turn = max(self.turn, now - 1) + 1 / self.rate  # what an outage held up for longer is not made up for
            turn = self.turn
        if self.record.open_jobs() > self.rate * MOST_BEHIND:
            self.no_more_puts.wait(0.2)
            return False
        return not self.no_more_puts.wait(max(0.0, turn - now))

    def stop_puts(self):
        self.no_more_puts.set()
        join(self.putters)

    def stop_work(self):
        self.no_more_work.set()
        join(self.workers)


def join(threads):
    for thread in threads:
        thread.join()
