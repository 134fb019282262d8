"""What the cluster prints: a line each second, and announcements between them."""
import bisect
import threading
import time

from load import TUBE

HEAD = "   time  jobs/s   late p50     p99    ready delayed reserved   nodes                   database"
HEAD_EACH = 20  # lines
CLOCK_STEP = 1_000_000  # nanoseconds; in a second an adjusted clock moves by half of that at most


def quantile(ordered, part):
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def shown_lateness(nanoseconds):
    """Five characters and a unit."""
    milliseconds = nanoseconds / 1e6
    return f"{milliseconds:5.0f} ms" if milliseconds < 9999.5 else f"{milliseconds / 1000:5.1f} s "


class Display(threading.Thread):
    def __init__(self, nodes, database, record):
        super().__init__(daemon=True)
        self.nodes, self.database, self.record = nodes, database, record
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.began = time.monotonic()
        self.lines = 0
        self.seen_deliveries = 0
        self.due = {}
        self.seen_puts = 0
        self.connection, self.asked_node = None, None
        self.clock_offset = time.time_ns() - time.monotonic_ns()
        self.set_back = 0  # nanoseconds by which the wall clock was set back
        self.failure = None

    def say(self, text=""):
        with self.lock:
            print(text, flush=True)

    def announce(self, text):
        self.say(f"{time.monotonic() - self.began:5.0f} s  *** {text}")

    def run(self):
        last = time.monotonic()
        while not self.over.wait(max(0.0, last + 1 - time.monotonic())):
            now = time.monotonic()
            self.watch_clock()
            try:
                self.say(self.line(last, now))
            except OSError as error:  # nobody reads what is printed
                self.failure = error
                return
            last = now

    def stop(self):
        self.over.set()
        self.join()
        if self.connection:
            self.connection.close()

    def watch_clock(self):
        offset = time.time_ns() - time.monotonic_ns()
        if offset < self.clock_offset - CLOCK_STEP:
            self.set_back += self.clock_offset - offset
        self.clock_offset = offset

    def line(self, last, now):
        head = "" if self.lines % HEAD_EACH else HEAD + "\n"
        self.lines += 1
        finished = self.record.finished
        rate = (len(finished) - bisect.bisect_left(finished, last)) / (now - last)
        lateness = sorted(self.new_lateness())
        late = "      -         -  "
        if lateness:
            late = f"{shown_lateness(quantile(lateness, 0.5))}  {shown_lateness(quantile(lateness, 0.99))}"
        counts = "".join(f"{each:>9}" for each in self.counts())
        nodes = " ".join(node.name if node.state == "up" else f"{node.name}:{node.state}" for node in self.nodes)
        return f"{head}{now - self.began:5.0f} s  {rate:6.0f}   {late}{counts}   {nodes:<22}  {self.database}"

    def new_lateness(self):
        """How late the delayed jobs came that workers got since the last line, in nanoseconds."""
        puts, deliveries = self.record.puts, self.record.deliveries
        count = len(deliveries)  # other threads append; a delivery's put comes before it
        new_puts = puts[self.seen_puts:]
        self.seen_puts += len(new_puts)
        self.due.update((put.body, put.due_wall) for put in new_puts if put.due_wall)
        new = deliveries[self.seen_deliveries:count]
        self.seen_deliveries = count
        return [each.came_wall - self.due[each.body] for each in new if each.body in self.due]

    def counts(self):
        """Ready, delayed and reserved jobs of all nodes, as one node says."""
        try:
            if self.connection is None or self.asked_node.state != "up":
                self.asked_node = next(node for node in self.nodes if node.state == "up")
                self.connection = self.asked_node.connect()
                self.connection.socket.settimeout(0.5)
            return counts_of(self.connection)
        except (StopIteration, OSError, EOFError):
            if self.connection:
                self.connection.close()
            self.connection = None
        return ["-"] * 3


def counts_of(connection):
    answer = connection.ask(b"stats-tube %s\r\n" % TUBE)
    if answer == b"NOT_FOUND\r\n":
        return [0] * 3  # no job, and no client at this node
    if not answer.startswith(b"OK"):
        return ["-"] * 3  # the database is away
    numbers = dict(line.split(b": ") for line in answer.splitlines() if b": " in line)
    return [int(numbers[b"current-jobs-" + state]) for state in (b"ready", b"delayed", b"reserved")]
