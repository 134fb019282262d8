#!/usr/bin/env python3
"""`foliot replay --engine all`: every engine over the same log, and whether they agree.

usage: engines_test.py [CLASS[.test]...]     with the environment of replay_test.py
"""
import csv
import gzip
import json
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the modules below are in the source tree
from idle_sessions import SECOND, requests_of, sessions_of
from kit.program_case import ProgramCase, main

REAL_LOG = Path(os.environ.get("FOLIOT_DATA_DIR", ".")) / "nasa-1995-08-01.log.gz"
# Of a sample. A program with sanitizers does the same, ten times as slowly.
LINES = int(os.environ.get("FOLIOT_SAMPLE_LINES") or (8_000 if os.environ.get("FOLIOT_SANITIZED") == "1" else 40_000))

ENGINES = ["foliot", "global-heap", "bucket-heaps", "quad-heap-lazy", "goim", "goim-heap", "epoll-heap", "red-black-tree",
           "hashed-wheel", "hierarchical-wheel", "linux-wheel", "erlang-wheel", "foliot-runtime", "processor-heaps",
           "processor-heaps-1.14"]
EXACT = ENGINES[:8] + ENGINES[-3:]
LATE = "linux-wheel"  # by more than its tick


class Comparing(ProgramCase):
    def compare(self, *arguments, **options):
        """The summary of a run of all engines, which must agree, and the rows of its table."""
        code, out, err = self.run_foliot("replay", "--engine", "all", "--json", "out.json", *arguments, **options)
        self.assertEqual(code, 0)
        for line in err.splitlines():  # a short idle time is shorter than some lines are late
            self.assertIn(" back by ", line)
        summary = json.loads((self.here / "out.json").read_text())
        table = [line.split() for line in out.split("\n\n")[1].splitlines()[1:]]
        self.assertEqual([row[0] for row in table], ENGINES)
        self.assertEqual([row[-1] for row in table], ["(reference)"] + ["yes"] * (len(ENGINES) - 1), out)
        self.assertEqual([engine["engine"] for engine in summary["engines"]], ENGINES)
        self.assertTrue(all(engine["agrees"] for engine in summary["engines"]))
        return summary, table

    def sessions_by_engine(self, *arguments, **options):
        summary, table = self.compare(*arguments, **options)
        counts = {engine["engine"]: engine["sessions"] for engine in summary["engines"]}
        self.assertEqual({row[0]: int(row[3].replace(",", "")) for row in table}, counts)
        return counts


class Engines(Comparing):
    def sample(self):
        self.expect_done("sample", "--lines", LINES, "--clients", LINES // 20, "--late", 20, "-o", "sample.log")
        return (self.here / "sample.log").read_bytes()

    def test_agree_also_where_a_late_one_joins_sessions(self):
        data = self.sample()
        requests = requests_of(data.splitlines())
        for text, seconds in {"45s": 45, "1s": 1, "1500ms": 1.5, "30m": 1800, "10d": 864_000}.items():
            counts = self.sessions_by_engine("--idle", text, "--sessions", "out.csv", "sample.log")
            expected = sessions_of(requests, int(seconds * SECOND))
            with open(self.here / "out.csv", newline="", encoding="latin-1") as file:
                self.assertTrue(list(csv.reader(file)) == expected, f"the sessions differ with --idle {text}")
            late = counts.pop(LATE)
            self.assertEqual(set(counts.values()), {len(expected) - 1}, text)
            if text == "45s":
                self.assertLess(late, len(expected) - 1, "nothing was joined: the log is too easy")

    def test_agree_however_the_log_comes(self):
        data = self.sample()
        expected = self.sessions_by_engine("--idle", "45s", "sample.log")
        for given in (data, gzip.compress(data, 1)):
            self.assertEqual(self.sessions_by_engine("--idle", "45s", "-", given=given), expected)

    def test_agree_about_nothing(self):
        self.put("empty", b"")
        self.assertEqual(set(self.sessions_by_engine("empty").values()), {0})

    def test_summary_for_people(self):
        self.sample()
        out = self.expect_done("replay", "--engine", "all", "sample.log")
        self.assertRegex(out, rf"\Afoliot replay of sample\.log, idle 30m, engine all\nlines +{LINES:,}\nmalformed +0\n"
                              r"out of order +[\d,]+\nclients +[\d,]+\nwall time +[\d.]+ s\npeak memory +[\d.]+ MiB\n\n"
                              r"engine +ns/operation +operations/s +sessions +peak pending +may be late by +agrees\n"
                              r"foliot +[\d.]+ +[\d,]+ +[\d,]+ +[\d,]+ +-  \(reference\)\n")
        self.assertRegex(out, r"\nlinux-wheel +[\d.]+ +[\d,]+ +[\d,]+ +[\d,]+ +32\.768s  yes\n")
        self.assertEqual(len(out.splitlines()), 9 + len(ENGINES))

    def test_summary_for_programs(self):
        self.sample()
        summary, _ = self.compare("--idle", "45s", "sample.log")
        self.expect_done("replay", "--idle", "45s", "--json", "one.json", "sample.log")
        one = json.loads((self.here / "one.json").read_text())
        self.assertEqual(list(summary), [*one, "engines"])
        measured = ("engine", "wall_seconds", "timer_operations_per_second", "lines_per_second", "peak_memory_bytes")
        for key in one.keys() - measured:
            self.assertEqual(summary[key], one[key], key)
        self.assertEqual(summary["engine"], "all")
        reference = summary["engines"][0]
        self.assertEqual(summary["timers"], reference["timers"])
        self.assertEqual(summary["timer_operations_per_second"], reference["timer_operations_per_second"])
        lateness = dict.fromkeys(EXACT, 0)
        lateness[LATE] = 4.096
        for engine in summary["engines"]:
            self.assertEqual(list(engine), [
                "engine", "sessions", "timers", "processor_seconds", "nanoseconds_per_timer_operation",
                "timer_operations_per_second", "lateness_allowed_seconds", "agrees"])
            timers = engine["timers"]
            self.assertEqual(timers["started"] + timers["reset"], LINES)
            self.assertEqual(timers["fired"], engine["sessions"])
            operations = LINES + timers["fired"]
            cost = engine["processor_seconds"] * 1e9 / operations
            self.assertAlmostEqual(engine["nanoseconds_per_timer_operation"], cost, 3)
            self.assertEqual(engine["lateness_allowed_seconds"], lateness.get(engine["engine"], 0.001))
        self.assertLess(sum(engine["processor_seconds"] for engine in summary["engines"]), summary["wall_seconds"])

    def test_standard_output_may_be_taken(self):
        self.sample()
        code, out, err = self.run_foliot("replay", "--engine", "all", "--json", "-", "sample.log")
        self.assertEqual((code, len(json.loads(out)["engines"])), (0, len(ENGINES)))
        self.assertIn("may be late by", err)

    def test_strict_ends_at_the_first_malformed_line(self):
        data = self.sample()
        self.put("bad.log", data + b"this is no log\n" + data)
        self.expect_error(f"bad.log:{LINES + 1}: malformed line", "replay", "--engine", "all", "--strict", "--json",
                          "out.json", "--sessions", "out.csv", "bad.log", code=1)
        self.assertEqual(self.names(), ["bad.log", "sample.log"])

    def test_a_disk_that_is_full_is_an_error(self):
        self.sample()
        self.expect_error("cannot write '/dev/full': No space left", "replay", "--engine", "all", "--sessions",
                          "/dev/full", "sample.log")

    def test_all_is_named_where_engines_are(self):
        self.assertRegex(self.expect_done("replay", "--help"), r"processor-heaps-1\.14;\s+all runs each of them")
        self.expect_error("foliot-runtime, processor-heaps, processor-heaps-1.14, and all for each of them", "replay", "--engine", "sundial", "-")


class EnginesOnRealLog(Comparing):
    @classmethod
    def setUpClass(cls):
        if not REAL_LOG.exists():
            raise unittest.SkipTest(f"there is no {REAL_LOG}")

    def test_agree(self):
        counts = self.sessions_by_engine(REAL_LOG)
        late = counts.pop(LATE)
        self.assertEqual(set(counts.values()), {2_989})
        self.assertLessEqual(late, 2_989)

    def test_agree_with_every_idle_time(self):
        for idle in ("1s", "59s", "90m", "12h", "1500ms", "1ns"):
            self.compare("--idle", idle, REAL_LOG)


if __name__ == "__main__":
    main()
