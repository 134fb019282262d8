#!/usr/bin/env python3
"""What a scrape of `/metrics`, and a look of the page, take of a server with so many jobs in so many tubes.

    bench/scrapes.py --tubes 100000 --jobs 10000000

The jobs are in a folder, or with --memory in memory. They are spread evenly over the tubes, and each third one is ready. The
scrapes begin right behind the fill. Prints the processor time of the server for a scrape in ms, the median, the greatest one and the
first; without the threads of RocksDB, which still work on what the puts have left, and with them. Prints the length of what a scrape
gets, too. A look is what the page asks for each 5 seconds while somebody sees the tubes; at last nobody asks anything for some seconds."""
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from harness import Arguments, positive
from server_usage import threads_of
from sizes import serving

DAY = 86_400
BODY = b"0123456789"
AT_ONCE = 50  # tubes


def puts_of(tube, first, count):
    """What a beanstalk client sends, and how many answers there are."""
    text = [b"use t%07d\r\n" % tube]
    for number in range(first, first + count):
        delay = 0 if number % 3 == 0 else 3600 + number * 7919 % DAY
        text.append(b"put 0 %d 3600 %d\r\n%s\r\n" % (delay, len(BODY), BODY))
    return b"".join(text), count + 1


def fill(path, options):
    with socket.socket(socket.AF_UNIX) as to:
        to.connect(str(path))
        replies = to.makefile("rb")
        share, rest = divmod(options.jobs, options.tubes)
        for first in range(0, options.tubes, AT_ONCE):
            sent = [puts_of(tube, tube, share + (tube < rest)) for tube in range(first, min(first + AT_ONCE, options.tubes))]
            to.sendall(b"".join(text for text, _ in sent))
            for _ in range(sum(count for _, count in sent)):
                line = replies.readline()
                if not line.startswith((b"INSERTED", b"USING")):
                    raise RuntimeError(f"a put is refused: {line}")


def spent(before, after):
    """ms by all threads, and by those that are not RocksDB's."""
    lengths = [(name, used - before.get(thread, (name, 0))[1]) for thread, (name, used) in after.items()]
    return sum(used for _, used in lengths) * 1e3, sum(used for name, used in lengths if not name.startswith("rocksdb")) * 1e3


def get(connection, target, has):
    """The length of the answer."""
    connection.request("GET", target)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200 or has not in text:
        raise RuntimeError(f"GET {target}: {answer.status}")
    return len(text)


def scrape(connection):
    return get(connection, "/metrics", b"foliot_jobs_ready")


def look(connection):
    """As server/page/tubes.js does."""
    return sum(get(connection, target, has) for target, has in [
        ("/v1/statistics", b"lateness"), ("/v1/due/counts?at_most=1000", b"minute"), ("/v1/tubes?count=50", b"tubes")])


def measure(server, connection, what, options):
    """The ms of each without RocksDB's threads, of each with them, and the greatest length."""
    alone, whole, length = [], [], 0
    for _ in range(options.scrapes):
        before = threads_of(server.process.pid)
        length = max(length, what(connection))
        all_threads, own = spent(before, threads_of(server.process.pid))
        whole.append(all_threads)
        alone.append(own)
    return alone, whole, length


def show(name, values):
    print(f"{name:42} median {statistics.median(values):6.2f} ms  greatest {max(values):6.2f} ms  first {values[0]:6.2f} ms")


def main():
    parser = Arguments(__doc__)
    parser.add("--tubes", positive, 10_000)
    parser.add("--jobs", positive, 100_000)
    parser.add("--scrapes", positive, 100)
    parser.add("--rest", positive, 5)
    parser.add_argument("--memory", action="store_true", help="the jobs are in memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = ["--memory"] if options.memory else ["--data", f"{folder}/jobs", "--sync", "1s"]
        with serving(options.program, Path(folder), *store, "--max-tubes", str(options.tubes + 1000)) as server:
            began = time.monotonic()
            fill(Path(folder) / "beanstalk", options)
            print(f"{options.jobs} jobs in {options.tubes} tubes, put in {time.monotonic() - began:.0f} s", file=sys.stderr)
            connection = server.connect()
            alone, whole, length = measure(server, connection, scrape, options)
            looks, whole_looks, _ = measure(server, connection, look, options)
            before = threads_of(server.process.pid)
            time.sleep(options.rest)
            _, idle = spent(before, threads_of(server.process.pid))
    show("a scrape, without RocksDB's threads", alone)
    show("a scrape, with them", whole)
    show("a look of the page, without them", looks)
    show("a look of the page, with them", whole_looks)
    print(f"nobody asks: {idle / options.rest / 10:.3f} % of a core without RocksDB's threads, for {options.rest} s")
    print(f"a scrape has at most {length} bytes")


if __name__ == "__main__":
    main()
