"""Work for a server with greenstalk of PyPI: `work.py PORT alone|producer|worker`. clients_test.py describes it."""
import hashlib
import json
import sys
import time

import greenstalk


def say(*words):
    print(json.dumps(words), flush=True)


def connect(port, watch="default"):
    return greenstalk.Client(("127.0.0.1", int(port)), encoding=None, watch=watch)


def digest(body):
    return len(body), hashlib.md5(body).hexdigest()


def priorities(producer, one, two):
    producer.use("work")
    for body, priority in ((b"low", 30), (b"high", 10), (b"middle", 20)):
        producer.put(body, priority=priority, ttr=600)
    first = one.reserve()
    say("first", first.body.decode())
    second = two.reserve()
    say("second", second.body.decode())
    one.release(first, priority=5)
    again = two.reserve()
    say("released", again.body.decode())
    two.bury(again, priority=7)
    counts = producer.stats_tube("work")
    say("counts", *(counts[f"current-jobs-{state}"] for state in ("ready", "reserved", "buried")))
    say("kicked", producer.kick(10))
    kicked = one.reserve()
    one.touch(kicked)
    say("kicked", kicked.body.decode(), one.stats_job(kicked)["pri"])
    one.delete(kicked)
    two.delete(second)
    last = one.reserve()
    say("last", last.body.decode())
    one.delete(last)


def tubes_and_delays(producer, one):
    producer.use("other")
    producer.put(b"elsewhere", ttr=600)
    job = one.reserve()
    say("other", job.body.decode(), one.stats_job(job)["tube"])
    one.delete(job)
    begun = time.monotonic()
    producer.put(b"late", delay=1, ttr=600)
    job = one.reserve(timeout=3600)
    say("late", job.body.decode(), time.monotonic() - begun >= 0.999)
    one.delete(job)


def bodies(producer, one):
    text = "é\r\n\0".encode() * 13107 + b"x"
    producer.use("work")
    producer.put(text, ttr=600)
    job = one.reserve()
    say("text", *digest(job.body))
    one.delete(job)
    try:
        producer.put(text + b"x")
    except greenstalk.JobTooBigError:
        say("too big")
    one.watch("given")
    job = one.reserve()
    say("given", *digest(job.body))
    producer.use("back")
    producer.put(job.body, ttr=600)
    one.delete(job)


def restart(producer):
    producer.use("work")
    producer.put(b"kept", priority=1, ttr=600)
    producer.put(b"kept and late", priority=2, delay=1, ttr=600)
    say("restart")
    after = connect(sys.stdin.readline(), watch="work")
    for _ in range(2):
        job = after.reserve(timeout=3600)
        say("kept", job.body.decode())
        after.delete(job)
    counts = after.stats()
    say("left", *(counts[f"current-jobs-{state}"] for state in ("ready", "reserved", "delayed", "buried")))


def main():
    port, role = sys.argv[1:]
    if role == "producer":
        producer = connect(port)
        producer.use("many")
        for number in range(200):
            producer.put(b"job %d" % number, priority=10, ttr=600)
        for _ in range(2):
            producer.put(b"end", priority=20, ttr=600)
    elif role == "worker":
        client = connect(port, watch="many")
        body = b""
        while body != b"end":
            job = client.reserve()
            body = job.body
            say("got", body.decode())
            client.delete(job)
    else:
        producer = connect(port)
        one, two = (connect(port, watch=["work", "other"]) for _ in range(2))
        priorities(producer, one, two)
        tubes_and_delays(producer, one)
        bodies(producer, one)
        restart(producer)


if __name__ == "__main__":
    main()
