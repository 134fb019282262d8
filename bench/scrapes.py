#!/usr/bin/env python3
"""What a scrape of `/metrics` takes of a server with so many jobs in so many tubes.

    bench/scrapes.py --tubes 100000 --jobs 10000000

The jobs are in a folder, or with --memory in memory. They are spread evenly over the tubes, and each third one is ready. The
scrapes begin right behind the fill. Prints the processor time of the server for a scrape in ms, the median, the greatest one and the
first; without the threads of RocksDB, which still work on what the puts have left, and with them. Prints the length of the page, too."""
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


def scrape(connection):
    """The length of the page."""
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    page = answer.read()
    if answer.status != 200 or b"foliot_jobs_ready" not in page:
        raise RuntimeError(f"GET /metrics: {answer.status}")
    return len(page)


def main():
    parser = Arguments(__doc__)
    parser.add("--tubes", positive, 10_000)
    parser.add("--jobs", positive, 100_000)
    parser.add("--scrapes", positive, 100)
    parser.add_argument("--memory", action="store_true", help="the jobs are in memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = ["--memory"] if options.memory else ["--data", f"{folder}/jobs", "--sync", "1s"]
        with serving(options.program, Path(folder), *store, "--max-tubes", str(options.tubes + 1000)) as server:
            began = time.monotonic()
            fill(Path(folder) / "beanstalk", options)
            print(f"{options.jobs} jobs in {options.tubes} tubes, put in {time.monotonic() - began:.0f} s", file=sys.stderr)
            connection = server.connect()
            alone, whole, length = [], [], 0
            for _ in range(options.scrapes):
                before = threads_of(server.process.pid)
                length = max(length, scrape(connection))
                all_threads, own = spent(before, threads_of(server.process.pid))
                whole.append(all_threads)
                alone.append(own)
    for name, values in [("without RocksDB's threads", alone), ("with them", whole)]:
        print(f"{name:26} median {statistics.median(values):6.1f} ms  greatest {max(values):6.1f} ms  "
              f"first {values[0]:6.1f} ms")
    print(f"the page has at most {length} bytes")


if __name__ == "__main__":
    main()
