#!/usr/bin/env python3
"""Clients of one node of `foliot serve --store` that replace jobs with the same few keys: how many commands a second are
executed, and how many are refused, with one session of the node and with more.

    bench/hot_keys.py                              # one and two sessions, 8 s each
    bench/hot_keys.py --sessions 1,2,3 --keys 5

Each of 30 connections sends eight puts at a time, of random keys, and now and then reserves a job and deletes it. 210 idle
connections make that the sessions have as many clients each (docs/decisions/0013, "Batches with keys take turns")."""
import tempfile

from harness import Arguments, Report, positive, positives, postgresql, queue_load, serving_nodes

WORKING, IDLE = 30, 210


def measure(options, sessions, server, folder):
    with serving_nodes(options.program, server.database, 1, folder, sessions) as nodes, \
            queue_load(options.program, nodes, "keys", seconds=options.seconds, keys=options.keys, workers=WORKING,
                       idle=IDLE) as load:
        load.next()
        load.go_on()
        return load.next(options.seconds + 300)


def main():
    parser = Arguments(__doc__)
    parser.add("--sessions", positives, "1,2", "numbers, with commas")
    parser.add("--seconds", positive, 8)
    parser.add("--keys", positive, 20)
    options = parser.parse_args()
    lines = Report(sessions=">8", rate=">12.0f", refused=">9")
    with postgresql(options.program) as server, tempfile.TemporaryDirectory(prefix="foliot-hot-keys-") as folder:
        lines.head(rate="commands/s")
        for sessions in options.sessions:
            got = measure(options, sessions, server, folder)
            lines.add(sessions=sessions, rate=got["commands"] / got["seconds"], refused=got["refused"])


if __name__ == "__main__":
    main()
