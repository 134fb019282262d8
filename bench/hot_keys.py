#!/usr/bin/env python3
"""Clients of one node of `foliot serve --store` that replace jobs with the same few keys: how many commands a second are
executed, and how many are refused, with one session of the node and with more.

    bench/hot_keys.py                              # one and two sessions, 8 s each
    bench/hot_keys.py --sessions 1,2,3 --keys 5

Each of 30 connections sends eight puts at a time, of random keys, and now and then reserves a job and deletes it. 210 idle
connections make that the sessions have as many clients each (docs/decisions/0013, "Batches with keys take turns").
"""
import argparse
import collections
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import arguments
from kit import postgresql_server
from kit.beanstalk_client import Connection
from lasting_jobs import start_nodes

ROOT = Path(__file__).resolve().parent.parent
CONNECTIONS, WORKING, PUTS = 240, 30, 8


def work(connection, seed, keys, until, counts):
    draw = random.Random(seed)

    def count():
        words = connection.answer().split()
        counts[words[0].decode()] += 1
        return words

    while time.monotonic() < until:
        names = [draw.randrange(keys) for _ in range(PUTS)]
        connection.send(b"".join(b"x-put replace k%d 0 %d 60000 1\r\nx\r\n" % (name, draw.choice((0, 50))) for name in names))
        for _ in names:
            count()
        if draw.random() < 0.3:
            connection.send(b"reserve-with-timeout 0\r\n")
            words = count()
            if words[0] == b"RESERVED":
                connection.send(b"delete %s\r\n" % words[1])
                count()


def measure(options, sessions, server, folder):
    (where, node), = start_nodes(options.program, server.database, 1, folder, sessions)
    try:
        connections = []
        for _ in range(CONNECTIONS):
            connections.append(Connection(where))
            connections[-1].ask(b"list-tube-used\r\n")  # now it has its session
        counts = [collections.Counter() for _ in range(WORKING)]
        until = time.monotonic() + options.seconds
        threads = [threading.Thread(target=work, args=(connection, seed, options.keys, until, counts[seed]))
                   for seed, connection in enumerate(connections[::CONNECTIONS // WORKING])]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        total = sum(counts, collections.Counter())
        print(f"{sessions} sessions: {total.total() / options.seconds:.0f} commands/s, {total['INTERNAL_ERROR']} refused", flush=True)
    finally:
        node.terminate()
        node.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=arguments.built, default=str(ROOT / "build" / "release" / "bin" / "foliot"))
    parser.add_argument("--sessions", default="1,2", help="numbers, with commas")
    parser.add_argument("--seconds", type=arguments.positive, default=8)
    parser.add_argument("--keys", type=arguments.positive, default=20)
    options = parser.parse_args()
    if not postgresql_server.is_installed():
        sys.exit("hot_keys.py: there is no PostgreSQL server (Debian: postgresql-15)")
    server = postgresql_server.PostgresqlServer()
    try:
        subprocess.run([options.program, "serve", "--store", server.database, "--migrate"], check=True, stdout=subprocess.DEVNULL)
        with tempfile.TemporaryDirectory(prefix="foliot-hot-keys-") as folder:
            for sessions in map(int, options.sessions.split(",")):
                measure(options, sessions, server, folder)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
