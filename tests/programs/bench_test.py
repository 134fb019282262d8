#!/usr/bin/env python3
"""The program `foliot bench` as its users meet it. No test depends on what is measured.

usage: bench_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support
"""
import errno
import json
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the module below is in the source tree
from kit.program_case import ProgramCase, main

OWN = ["foliot", "quad-heap", "quad-heap-lazy", "goim-heap", "red-black-tree", "hashed-wheel", "hierarchical-wheel",
       "linux-wheel", "erlang-wheel"]
FLOORS = ["floor-store", "floor-load"]
PEERS = ["multimap", "priority-queue"]
PACKAGED = ["libuv", "libev", "libevent", "asio"]
QUEUES = ["W1", "W1P", "W2", "W2P", "W3", "W4"]
CALLED = ["worst-uniform", "worst-one-slot"]
SHARED = ["W5W1", "W5W1-remote", "W5W2"]
LATENESS = ["W6-100us", "W6-1ms", "W6-10ms"]
IDLE = ["idle", "idle-ticker"]
WORKLOADS = QUEUES + CALLED + SHARED + LATENESS + IDLE
STAGGERED = [f"StaggeredTickerLatency/{each}" for each in (
    "work=300us/tickers=1", "work=300us/tickers=2", "work=300us/tickers=5", "work=300us/tickers=10", "work=2ms/tickers=1")]
LATE = ["ParallelTimerLatency"] + STAGGERED
WAKE_UPS = [f"WakeupParallel{kind}/{delay}" for kind in ("Spinning", "Syscall")
            for delay in ("0s", "1us", "2us", "5us", "10us", "20us", "50us", "100us")]
ASLEEP = "SleepingTasks100000"
# As Go's test suites have them.
GO = (["AfterFunc1000", "After", "Stop/impl=chan", "Stop/impl=func", "SimultaneousAfterFunc1000", "StartStop1000",
       "Reset/impl=chan", "Reset/impl=func", "Sleep1000", "Ticker", "TickerReset", "TickerResetNaive", "AdjustTimers10000"]
      + LATE + [f"WithTimeout/concurrency={each}" for each in (40, 4000, 400000)]
      + [f"CancelTree/depth={each}" for each in (1, 10, 100, 1000)] + ["SetReadDeadline"]
      + [f"{family}{kind}Timeout" for kind in ("OneShot", "Persistent") for family in ("TCP4", "TCP6")] + WAKE_UPS + [ASLEEP])
RUNTIMES = ["foliot", "processor-heaps", "processor-heaps-1.14"]
SERVICES = ["foliot", "foliot-now", "global-heap", "bucket-heaps", "goim", "erlang-wheel", "epoll-heap"]
TASKS = ["foliot-runtime", "processor-heaps", "processor-heaps-1.14"]  # the runtimes, by their names among the services
OWNED = ["foliot-prefetch", "foliot-batches", "foliot-pinned-batches"]  # in workloads whose timers have one owner
PINNED = ["foliot-pinned", "foliot-pinned-now"]
SHARING = SERVICES + PINNED + TASKS + ["multimap"]
SLEEPING = [each for each in SERVICES if each != "foliot-now"] + TASKS + ["foliot-precise"]
GENERATIONS = ["global-heap", "goim", "erlang-wheel", "bucket-heaps", "processor-heaps-1.14", "processor-heaps",
               "foliot", "foliot-runtime"]
SYSTEM = [call + slack for call in ("futex", "clock_nanosleep", "epoll_pwait2", "timerfd") for slack in ("", "-slack1")]
ENGINES = ["foliot", "global-heap", "bucket-heaps", "quad-heap-lazy", "goim", "goim-heap", "epoll-heap", "red-black-tree",
           "hashed-wheel", "hierarchical-wheel", "linux-wheel", "erlang-wheel"]
RUST = ["tokio", "tokio-alternative", "pingora"]
FOREIGN = ["go", *RUST, "erlang"]
CALLS = ["start", "stop", "reset", "expire"]


class BenchCase(ProgramCase):
    def bench(self, *arguments, told=(), **environment):
        """The figures of a quick run, without peers in other languages unless the environment names their folder.
        Standard error may have the warning of an unoptimised build, and must have the lines of `told`."""
        environment = os.environ | {"FOLIOT_BENCH_PEERS": str(self.here / "nowhere")} | environment
        code, out, err = self.run_foliot("bench", "--quick", "--json", "figures.json", *arguments, env=environment)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"\A(foliot: this program [^\n]+\n)?" + "".join(f"foliot: {each}\n" for each in told) + r"\Z")
        return json.loads((self.here / "figures.json").read_text()), out

    def everything_said(self, terminal):
        """Reads until the other end is closed: the kernel delivers a terminal's text in pieces."""
        said = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError as gone:
                self.assertEqual(gone.errno, errno.EIO)
                return said.decode()
            said += piece


class BenchArguments(BenchCase):
    def test_help(self):
        text = self.expect_done("bench", "--help")
        for word in ("--only", "--contestants", "--n", "--repetitions", "--json", "--report", "--quick", "W2P",
                     "--threads", "worst-one-slot", "W5W1-remote", "W6-100us", "idle-ticker", *OWN, *FLOORS, *PEERS,
                     *SERVICES, *OWNED, *PINNED, *SYSTEM, *FOREIGN):
            self.assertIn(word, text)

    def test_wrong_arguments(self):
        for sentence, arguments in (
                ("no workload 'W9'; there are W1, W1P, W2, W2P, W3, W4, worst-uniform, worst-one-slot, W5W1",
                 ["--only", "W1,W9"]),
                ("there is no 'sundial'; there are ", ["--contestants", "quad-heap,sundial"]),
                ("--n: '0' is no number of timers: name whole numbers from 1 to 100000000", ["--n", "1000,0"]),
                ("--n: '1.5'", ["--n", "1.5"]),
                ("--n: 'many'", ["--n", "many"]),
                ("--threads: '0' is no number of threads: name whole numbers from 1 to 256", ["--threads", "1,0"]),
                ("--threads: '257'", ["--threads", "257"]),
                ("--repetitions: '0' is no number of repetitions: name a whole number from 1 to 1000", ["--repetitions", "0"]),
                ("--repetitions: 'x'", ["--repetitions", "x"]),
                ("--repetitions: '0x10'", ["--repetitions", "0x10"]),
                ("--repetitions: '99999999999'", ["--repetitions", "99999999999"]),
                ("foliot bench has no '--onyl'", ["--onyl", "W1"]),
                ("foliot bench has no 'W1'", ["W1"]),
                ("--contestants: none of those named (quad-heap) takes part in idle: name one of foliot, ",
                 ["--only", "idle", "--contestants", "quad-heap"]),
                ("none of those named (floor-load, multimap) takes part in W6-1ms, idle: name one of ",
                 ["--only", "idle,W6-1ms", "--contestants", "floor-load,multimap"]),
                ("none of those named (floor-store) takes part in W3: name one of foliot, quad-heap, ",
                 ["--only", "W3", "--contestants", "floor-store"]),
                (f"none of those named (quad-heap) takes part in any of the {len(GO)} workloads: name one of foliot, ", ["go", "--contestants", "quad-heap"]),
                ("--threads: W5W1-remote, ParallelTimerLatency cannot be measured with 1: name 2 or more",
                 ["--only", "ParallelTimerLatency,W5W1-remote", "--threads", "1"]),
                ("--only", ["--only"])):
            self.expect_error(sentence, "bench", *arguments)

    def test_the_nearest_word(self):
        self.expect_error("foliot bench has no 'gnerations': the nearest is 'generations'; see", "bench", "gnerations")

    def test_help_that_cannot_be_written_is_an_error(self):
        for arguments in (("bench", "--help"), ("bench", "go", "--help")):
            with open("/dev/full", "wb") as full:
                code, _, err = self.run_foliot(*arguments, stdout=full)
            self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': No space left on device\n"), arguments)
            code, _, err = self.run_foliot(*arguments, preexec_fn=lambda: os.close(1))
            self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': Bad file descriptor\n"), arguments)

    def test_places_that_cannot_be_written(self):
        self.expect_error("missing/figures.json", "bench", "--quick", "--json", "missing/figures.json")
        for one, two in (("a", "a"), ("a", "./a"), ("-", "/dev/stdout"), ("a", str(self.here / "a"))):
            self.expect_error("--json and --report go to the same file", "bench", "--quick", "--json", one, "--report", two)
        self.assertEqual(self.names(), [])
        with open(self.here / "text", "wb") as text:
            code, _, err = self.run_foliot("bench", "--quick", "--json", "text", stdout=text)
        self.assertEqual((code, err), (2, "foliot: --json and standard output go to the same file: name two\n"))


    def test_figures_that_cannot_be_written_are_an_error(self):
        quick = ["bench", "--quick", "--only", "W1", "--contestants", "floor-store", "--n", "10", "--repetitions", "1"]
        for arguments in ([], ["--json", "-"]):
            with open("/dev/full", "wb") as full:
                code, _, err = self.run_foliot(*quick, *arguments, stdout=full)
            self.assertEqual((code, err.splitlines()[-1]), (2, "foliot: cannot write 'standard output': No space left on device"))
        code, _, err = self.run_foliot(*quick, "--json", "/dev/full")
        self.assertEqual((code, err.splitlines()[-1]), (2, "foliot: cannot write '/dev/full': No space left on device"))


class BenchFigures(BenchCase):
    def test_shape(self):
        figures, out = self.bench()
        self.assertEqual(set(figures), {"version", "machine", "reference", "repetitions", "contestants", "left_out",
                                        "absences", "not_measured", "workloads", "records", "contention"})
        self.assertEqual(figures["not_measured"], [])
        for fact in ("processor", "cores", "kernel", "compiler", "build", "date"):
            self.assertIsInstance(figures["machine"][fact], str)
        names = [each["name"] for each in figures["contestants"]]
        self.assertLessEqual(set(OWN + FLOORS + PEERS), set(names))
        self.assertEqual((set(PACKAGED) - set(names)) | set(FOREIGN), set(figures["left_out"]))
        for absence in figures["absences"]:
            self.assertEqual(set(absence), {"contestant", "workloads", "reason"})
            self.assertTrue(absence["reason"])
            self.assertEqual(absence["workloads"] == "", absence["contestant"] in figures["left_out"])
            self.assertIn(absence["contestant"], out)
        self.assertIn(figures["reference"], names)
        self.assertEqual([each["name"] for each in figures["workloads"]], WORKLOADS + GO)
        for each in figures["workloads"]:
            self.assertEqual(set(each), {"name", "title", "operation", "kind", "unit"})
        self.assertEqual([(each["kind"], each["unit"]) for each in figures["workloads"] if each["name"] in ("W4", "W5W2", "idle")],
                         [("cost", "ns"), ("threads", "ns"), ("wake-ups", "wake-ups/s")])
        for record in figures["records"]:
            self.check_record(record, names)
        self.check_complete(figures, names)
        for word in [*WORKLOADS, *names, figures["machine"]["kernel"]]:
            self.assertTrue(word in out, word)

    def check_record(self, record, names):
        self.assertIn(record["workload"], WORKLOADS)
        self.assertIn(record["contestant"], names)
        self.assertEqual(record["unit"], "wake-ups/s" if record["workload"] in IDLE else "ns")
        self.assertIn(record["threads"], (1, 2) if record["workload"] in SHARED else (1,))
        if record["workload"] in QUEUES + CALLED:
            self.assertGreaterEqual(record["bytes_per_timer"], 0 if record["n"] < 1000 else 8)  # whole pages are counted
        self.assertLessEqual(record["min"], record["median"])
        self.assertLessEqual(record["median"], record["max"])
        if record["workload"] in CALLED:
            self.assertIn(record["call"], CALLS)
        if record["workload"] in CALLED + LATENESS:
            self.assertLessEqual(record["p50"], record["p99"])
            self.assertLessEqual(record["p99"], record["p999"])
            self.assertLessEqual(record["p999"], record["max"])
            self.assertLessEqual(record["max"], record["worst"])
        elif record["workload"] not in IDLE:
            self.assertGreater(record["median"], 0)
        drained = (record["workload"], record.get("call")) == ("worst-one-slot", "expire")
        self.assertEqual("per_fired" in record, drained)

    def check_complete(self, figures, names):
        """Every queue in all workloads, except the floors where timers must fire; calls with the most timers. The workloads
        of threads with all contestants but libuv and libev."""
        wanted = set()
        for name in set(names) & set(OWN + FLOORS + PEERS + PACKAGED):
            for what in QUEUES:
                if name not in FLOORS or what != "W3":
                    wanted |= {(what, None, name, n, 1) for n in (100, 1000)}
            if name not in FLOORS:
                wanted |= {(what, call, name, 1000, 1) for what in CALLED for call in CALLS}
        for name in SHARING + [each for each in ("libevent", "asio") if each in names]:
            wanted |= {(what, None, name, n, threads) for what in SHARED for n in (100, 1000) for threads in (1, 2)
                       if (what, threads) != ("W5W1-remote", 1)}
        for name in OWNED:
            wanted |= {(what, None, name, n, threads) for what in SHARED if what != "W5W1-remote" for n in (100, 1000)
                       for threads in (1, 2)}
        # An old kernel has no epoll_pwait2, and says so.
        absent = {each["contestant"] for each in figures["absences"] if each["workloads"].startswith("W6")} - {"libuv"}
        absent -= set(FOREIGN)
        self.assertLessEqual(absent, {"epoll_pwait2", "epoll_pwait2-slack1"})
        for name in {*SLEEPING, *SYSTEM, *(set(names) & set(PACKAGED))} - absent:
            wanted |= {(what, None, name, 1, 1) for what in LATENESS if (name, what) != ("libuv", "W6-100us")}
        wanted |= {(what, None, name, 1000, 1) for what in IDLE for name in ENGINES + TASKS}
        found = [(each["workload"], each.get("call"), each["contestant"], each["n"], each["threads"])
                 for each in figures["records"]]
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(set(found), wanted)

    def test_selection(self):
        figures, out = self.bench("--only", "w3,W1P", "--contestants", "multimap,quad-heap", "--n", "64,10",
                                  "--repetitions", "3")
        self.assertEqual([each["name"] for each in figures["contestants"]], ["multimap", "quad-heap"])
        self.assertEqual(figures["repetitions"], 3)
        self.assertEqual({(each["workload"], each["contestant"], each["n"]) for each in figures["records"]},
                         {(what, name, n) for what in ("W1P", "W3") for name in ("multimap", "quad-heap")
                          for n in (10, 64)})
        self.assertNotIn("floor", out)
        self.assertEqual(figures["left_out"], [])

    def test_ratios(self):
        figures, _ = self.bench("--only", "W1", "--contestants", "quad-heap,multimap", "--n", "100")
        self.assertEqual(figures["reference"], "quad-heap")
        own, other = figures["records"]
        self.assertEqual(own["ratio"], 1)
        self.assertAlmostEqual(other["ratio"], other["median"] / own["median"], delta=0.02 + 0.01 * other["ratio"])

    def test_progress_on_a_terminal(self):
        terminal, end = os.openpty()
        self.addCleanup(os.close, terminal)
        code, _, _ = self.run_foliot("bench", "--quick", "--only", "W1", "--contestants", "quad-heap", stderr=end)
        os.close(end)
        self.assertEqual(code, 0)
        said = self.everything_said(terminal)
        self.assertIn("  0%  memory, 100 timers: quad-heap", said)
        self.assertIn("W1, 1,000 timers: quad-heap", said)
        self.assertTrue(said.endswith("\r\x1b[K"), said[-40:])

    def test_json_to_standard_output(self):
        code, out, _ = self.run_foliot("bench", "--quick", "--only", "W1", "--contestants", "floor-load", "--json", "-")
        self.assertEqual(code, 0)
        figures = json.loads(out)
        self.assertEqual(figures["reference"], "")
        self.assertEqual({each["contestant"] for each in figures["records"]}, {"floor-load"})
        self.assertNotIn("ratio", figures["records"][0])


class BenchChoice(BenchCase):
    """Chosen workloads and contestants that are not measured."""

    def absences_of(self, figures):
        return [(each["contestant"], each["workloads"]) for each in figures["absences"]]

    def test_a_contestant_without_any_of_the_workloads_is_told(self):
        reason = ("it takes part in no workload that is measured, but in W5W1, W5W1-remote, W5W2, W6-100us, W6-1ms, W6-10ms, "
                  "idle, idle-ticker, Go's own benchmarks")
        figures, out = self.bench("--only", "W1", "--contestants", "foliot,processor-heaps",
                                  told=[f"processor-heaps is left out: {reason}"])
        self.assertEqual(figures["absences"], [{"contestant": "processor-heaps", "workloads": "", "reason": reason}])
        self.assertEqual(figures["left_out"], ["processor-heaps"])
        self.assertEqual([each["name"] for each in figures["contestants"]], ["foliot"])
        self.assertIn(f"\nleft out: processor-heaps: {reason}\n", out)

    def test_in_gos_benchmarks_too(self):
        figures, out = self.bench("go", "--only", "Sleep1000", "--contestants", "foliot,quad-heap",
                                  told=["quad-heap is left out: it takes part in no workload that is measured, but in W1, [^\n]+"])
        self.assertEqual(self.absences_of(figures), [("quad-heap", "")])
        self.assertIn("left out: quad-heap: ", out)

    def test_a_known_reason_is_told(self):
        figures, _ = self.bench("--only", "W5W1-remote", "--contestants", "foliot,erlang", told=[
            "erlang is left out: each stop would be a message to the owner"])
        self.assertEqual(self.absences_of(figures), [("erlang", "W5W1-remote")])

    def test_a_workload_without_any_of_the_contestants_is_told(self):
        figures, out = self.bench("--only", "W1,W3,idle", "--contestants", "floor-load", told=[
            "not measured: W3, idle: none of the contestants named takes part; foliot, [^\n]+ would"])
        self.assertEqual(figures["not_measured"], [{"workload": what, "reason": "none of the contestants named takes part"}
                                                   for what in ("W3", "idle")])
        self.assertEqual({each["workload"] for each in figures["records"]}, {"W1"})
        self.assertIn("\nnot measured: W3, idle: none of the contestants named takes part\n", out)

    def test_where_no_workload_was_chosen_only_the_figures_tell(self):
        figures, out = self.bench("--contestants", "floor-load")
        self.assertEqual({each["workload"] for each in figures["not_measured"]},
                         set(WORKLOADS) - set(QUEUES) | {"W3"})
        self.assertIn("\nnot measured: W3, worst-uniform, worst-one-slot, W5W1, ", out)

    def test_a_workload_that_takes_two_threads_is_told(self):
        figures, _ = self.bench("--only", "W5W1,W5W1-remote", "--contestants", "global-heap", "--threads", "1", told=[
            "not measured: W5W1-remote: 2 threads or processors are needed, at least"])
        self.assertEqual([each["workload"] for each in figures["not_measured"]], ["W5W1-remote"])


class BenchGenerations(BenchCase):
    """foliot bench generations: from Go's one heap to foliot's queue."""

    def heads_of_table(self, out):
        return [each.partition(" ")[0] for each in out[out.index("The generations of timers"):].splitlines()]

    def test_everything(self):
        figures, out = self.bench("generations", "--repetitions", "1")
        self.assertEqual([each["name"] for each in figures["contestants"]], GENERATIONS)
        self.assertEqual([each["contestant"] for each in figures["generations"]], GENERATIONS)
        for each in figures["generations"]:
            self.assertEqual(set(each), {"contestant", "years", "original", "step"})
            self.assertRegex(each["years"], r"\A20\d\d( to (20\d\d|today))?\Z")
            self.assertIn(f"{each['original']}: {each['step']}", out)
        self.assertEqual((figures["absences"], figures["not_measured"], figures["reference"]), ([], [], "foliot"))
        wanted = {(what, name, n, threads) for what in SHARED for name in GENERATIONS for n in (100, 1000)
                  for threads in (1, 2, 3, 4) if (what, threads) != ("W5W1-remote", 1)}
        wanted |= {(what, name, 1, 1) for what in LATENESS for name in GENERATIONS}
        wanted |= {(what, name, 1000, 1) for what in IDLE for name in GENERATIONS}
        wanted |= {(what, name, 1, threads) for what in LATE for name in RUNTIMES for threads in (2, 3, 4)}
        found = [(each["workload"], each["contestant"], each["n"], each["threads"]) for each in figures["records"]]
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(set(found), wanted)
        # One table in place of the usual ones, in the order of the years.
        self.assertIn("The generations of timers", out)
        self.assertNotIn("and the ratio to", out)
        self.assertNotIn("Go's own benchmarks of its timers", out)
        self.assertEqual([each for each in self.heads_of_table(out) if each in GENERATIONS][:len(GENERATIONS)], GENERATIONS)
        for title in ("W5W1, ns", "W5W1-remote, ns", "W5W2, ns", "W6-1ms, µs", "idle, /s", "ParallelTimerLatency, µs"):
            self.assertIn(title, out)

    def test_table(self):
        _, out = self.bench("generations", "--only", "W5W1,W5W1-remote", "--n", "50", "--contestants",
                            "foliot,multimap,global-heap", "--repetitions", "1")
        lines = self.heads_of_table(out)
        self.assertLess(lines.index("global-heap"), lines.index("foliot"))
        self.assertLess(lines.index("foliot"), lines.index("multimap"))  # which is no generation
        self.assertRegex(out, r"\nglobal-heap +2009 to 2017( +[\d.,]+){7}\n")
        self.assertRegex(out, r"\nmultimap( +[\d.,]+){7}\n")
        self.assertRegex(out, r"\nwidest spread( +±0%){7}\n")  # there is only one repetition
        self.assertRegex(out, r"\n +1 +2 +3 +4 +2 +3 +4\n")

    def test_other_workloads_have_their_tables_as_ever(self):
        figures, out = self.bench("generations", "--only", "W1,W5W2,Stop", "--contestants", "foliot", "--threads", "1")
        self.assertIn("W1: start one, stop a random one; ns for each start and stop\n", out)
        self.assertIn("Go's own benchmarks of its timers, 1 processor;", out)
        self.assertIn("The generations of timers", out)
        self.assertEqual([each["contestant"] for each in figures["generations"]], ["foliot"])

    def test_what_was_named_and_is_not_measured_is_told(self):
        figures, _ = self.bench("generations", "--contestants", "global-heap,quad-heap", "--threads", "1,2", told=[
            "quad-heap is left out: it takes part in no workload that is measured, but in W1, [^\n]+",
            "not measured: ParallelTimerLatency, StaggeredTickerLatency: none of the contestants named takes part; "
            "foliot, processor-heaps, processor-heaps-1.14, go would"])
        self.assertEqual([each["workload"] for each in figures["not_measured"]], LATE)

    def test_only_they_tell_the_story(self):
        figures, out = self.bench("--only", "W5W2", "--contestants", "global-heap")
        self.assertNotIn("generations", figures)
        self.assertNotIn("generations", out)

    def test_wrong_arguments(self):
        self.expect_error("foliot bench has no 'W1'", "bench", "generations", "W1")
        self.expect_error("foliot bench has no '--onyl'", "bench", "generations", "--onyl", "W1")
        self.expect_error("there is no 'sundial'; there are ", "bench", "generations", "--contestants", "sundial")
        self.expect_error("none of those named (quad-heap) takes part in any of the 14 workloads: name one of ", "bench",
                          "generations", "--contestants", "quad-heap")

    def test_help(self):
        self.assertIn("generations ", self.expect_done("bench", "--help"))
        text = self.expect_done("bench", "generations", "--help")
        self.assertIn("foliot bench generations", text)
        self.assertIn("Its options are those of foliot bench.", text)


class BenchGo(BenchCase):
    """foliot bench go: Go's own benchmarks of its timers."""

    def test_every_benchmark_is_done_by_each_runtime(self):
        figures, out = self.bench("go", "--contestants", ",".join(RUNTIMES), "--repetitions", "1")
        self.assertEqual([each["name"] for each in figures["contestants"]], RUNTIMES)
        self.assertEqual(figures["reference"], "foliot")
        # A machine without IPv6 says so.
        absent = {each["workloads"] for each in figures["absences"]}
        self.assertLessEqual(absent, {"TCP6OneShotTimeout", "TCP6PersistentTimeout"})
        self.assertEqual({(each["workload"], each["contestant"], each["threads"]) for each in figures["records"]},
                         {(what, name, threads) for what in set(GO) - absent for name in RUNTIMES for threads in (1, 2)
                          if threads == 2 or what not in LATE + WAKE_UPS})
        for record in figures["records"]:
            self.assertEqual((record["unit"], record["n"]), ("ns", 1))
            self.assertGreater(record["median"], 0)
            self.assertLessEqual(record["min"], record["median"])
            self.assertLessEqual(record["median"], record["max"])
            self.assertEqual("worst" in record, record["workload"] in LATE)
            self.assertEqual("bytes_per_task" in record, record["workload"] == ASLEEP)
            self.assertGreaterEqual(record.get("worst", record["max"]), record["median"])
            self.assertIn("ratio", record)
        for line in ("Go's own benchmarks of its timers, 1 processor;", "Go's own benchmarks of its timers, 2 processors;",
                     "  the latest ", "  bytes each ", *(set(GO) - absent)):
            self.assertIn(line, out)

    def test_selection(self):
        figures, out = self.bench("go", "--only", "Stop,Sleep1000", "--contestants", "foliot", "--threads", "1")
        self.assertEqual([(each["workload"], each["threads"]) for each in figures["records"]],
                         [(what, 1) for what in ("Stop/impl=chan", "Stop/impl=func", "Sleep1000")])
        self.assertNotIn("2 processors", out)
        # They can be named without `go` too.
        figures, _ = self.bench("--only", "Sleep1000", "--contestants", "foliot", "--threads", "2")
        self.assertEqual([(each["workload"], each["threads"]) for each in figures["records"]], [("Sleep1000", 2)])

    def test_kind(self):
        figures, _ = self.bench("go", "--only", "Stop", "--contestants", "foliot", "--threads", "1")
        self.assertEqual({each["kind"] for each in figures["workloads"] if each["name"] in GO}, {"processors"})

    def test_wrong_arguments(self):
        self.expect_error("foliot bench has no 'W1'", "bench", "go", "W1")
        self.expect_error("foliot bench has no '--onyl'", "bench", "go", "--onyl", "W1")
        self.expect_error("--threads: '257' is no number of threads", "bench", "go", "--threads", "257")

    def test_help(self):
        text = self.expect_done("bench", "--help")
        for word in ("Subcommands", "go ", "AfterFunc1000", "StaggeredTickerLatency", "WakeupParallelSyscall", ASLEEP,
                     "processor-heaps", "processor-heaps-1.14", "foliot-runtime"):
            self.assertIn(word, text)

    def test_without_go(self):
        if Path("/usr/local/go/bin/go").exists():
            self.skipTest("Go is where foliot looks for it in any case")
        (self.here / "peers/go").mkdir(parents=True)
        figures, out = self.bench("go", "--only", "Sleep1000", "--contestants", "foliot,go", "--threads", "1",
                                  FOLIOT_BENCH_PEERS=str(self.here / "peers"), XDG_CACHE_HOME=str(self.here / "cache"),
                                  PATH=str(self.here))
        self.assertEqual(figures["left_out"], ["go"])
        self.assertIn("go: go is not installed", out)


STUB = """#!/bin/sh
# A peer that answers with the file beside it.
printf '%s %s\\n' "$1" "$3" >> "$0.asked"
. "$0.answer"
"""
# A toolchain whose programs are the stub: go build … -o OUT .
STUB_GO = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
cp stub "$2" && chmod +x "$2" && cp answer "$2.answer"
"""


# The same for Erlang, whose compiler leaves a file for its runtime: erlc -o DIRECTORY SOURCE, and
# erl +S K:K -noinput -pa DIRECTORY -run foliot_peer main WORKLOAD N THREADS …
STUB_ERLC = """#!/bin/sh
cp "$3" "$2/foliot_peer.beam"
"""
STUB_ERL = """#!/bin/sh
[ "$1 $3 $4 $6 $7 $8 ${11}" = "+S -noinput -pa -run foliot_peer main ${2%:*}" ] && cat "$5/foliot_peer.beam"
"""
# cargo build --release --locked --quiet --target-dir DIRECTORY [--features pingora], in the source's folder. The program
# answers with how it was built.
STUB_CARGO = """#!/bin/sh
[ "$1 $2 $3 $4 $5" = "build --release --locked --quiet --target-dir" ] && mkdir -p "$6/release" &&
sed "s/BUILT/$7 $8 $RUSTFLAGS/" src/main.rs > "$6/release/foliot-peer" && chmod +x "$6/release/foliot-peer"
"""


class BenchPeers(BenchCase):
    """Peers in other languages, with stubs instead of their toolchains and sources."""

    def stub(self, answer, toolchain=STUB_GO):
        (self.here / "peers/go").mkdir(parents=True)
        self.put("peers/go/stub", STUB.encode())
        self.put("peers/go/answer", answer.encode())
        self.toolchain("go", toolchain)

    def environment_with_go(self):
        return os.environ | {"FOLIOT_BENCH_PEERS": str(self.here / "peers"), "XDG_CACHE_HOME": str(self.here / "cache"),
                             "PATH": f"{self.here / 'bin'}:{os.environ['PATH']}"}

    def with_go(self, *arguments, told=()):
        return self.bench("--contestants", "foliot,go", "--n", "10", "--repetitions", "2", *arguments, told=told,
                          **self.environment_with_go())

    def expect_left_out(self, figures, out, workloads, reason):
        self.assertEqual(figures["absences"], [{"contestant": "go", "workloads": workloads, "reason": reason}])
        self.assertIn(f"go: {reason}", out)

    def test_figures_of_a_peer(self):
        self.stub("""echo '{"version": "stub-1", "ns": 12.5}'""")
        figures, _ = self.with_go("--only", "W5W1,W5W2", "--threads", "1,2")
        self.assertEqual({(each["workload"], each["threads"], each["median"]) for each in figures["records"]
                          if each["contestant"] == "go"},
                         {(what, threads, 12.5) for what in ("W5W1", "W5W2") for threads in (1, 2)})
        self.assertEqual([each["version"] for each in figures["contestants"] if each["name"] == "go"], ["stub-1"])
        self.assertEqual(figures["absences"], [])
        asked = (self.here / "cache/foliot/bench/go/peer.asked").read_text().splitlines()
        self.assertEqual(len(asked), 1 + 2 * 2 * 2)  # the first run is the trial of the build
        self.assertLessEqual({"W5W1 1", "W5W1 2", "W5W2 2"}, set(asked))

    def test_progress_tells_what_is_built(self):
        self.stub("""echo '{"ns": 3}'""")
        terminal, end = os.openpty()
        self.addCleanup(os.close, terminal)
        code, _, _ = self.run_foliot("bench", "--quick", "--only", "W5W2", "--contestants", "go", stderr=end,
                                     env=self.environment_with_go())
        os.close(end)
        self.assertEqual(code, 0)
        said = self.everything_said(terminal)
        self.assertIn("building go", said)
        self.assertIn("W5W2, 1,000 timers, 2 threads: go", said)

    def test_lateness_of_a_peer(self):
        self.stub("""echo '{"lateness_ns": [70000, 80000, 90000, 1000, 2000]}'""")
        figures, _ = self.with_go("--only", "W6-1ms")
        record, = [each for each in figures["records"] if each["contestant"] == "go"]
        self.assertEqual((record["median"], record["p50"], record["max"], record["worst"]), (70000, 70000, 90000, 90000))

    def test_gos_benchmarks_of_a_peer(self):
        self.stub("""echo '{"version": "stub-1", "ns": 1500, "worst_ns": 9000, "bytes": 2700}'""")
        figures, out = self.with_go("go", "--only", "After,ParallelTimerLatency,SleepingTasks100000", "--threads", "2")
        told = {each["workload"]: each for each in figures["records"] if each["contestant"] == "go"}
        self.assertEqual({what: each["median"] for what, each in told.items()},
                         {"After": 1500, "ParallelTimerLatency": 1500, ASLEEP: 1500})
        self.assertEqual(told["ParallelTimerLatency"]["worst"], 9000)
        self.assertEqual(told[ASLEEP]["bytes_per_task"], 2700)
        self.assertRegex(out, r"the latest .* 9,000")
        self.assertRegex(out, r"bytes each .* 2,700")
        # The benchmark that only Go can measure is named.
        self.expect_left_out(figures, out, "NetpollBreak", "what it measures is not public outside of Go's package runtime")
        asked = (self.here / "cache/foliot/bench/go/peer.asked").read_text().splitlines()
        self.assertLessEqual({"After 2", "ParallelTimerLatency 2", f"{ASLEEP} 2"}, set(asked))

    def test_a_peer_that_talks_nonsense_is_left_out(self):
        self.stub("""if [ "$1" = W5W2 ]; then echo '{"ns": -3}'; else echo '{"ns": 3}'; fi""")
        figures, out = self.with_go("--only", "W5W1,W5W2")
        self.expect_left_out(figures, out, "W5W2", "its figure is -3")
        self.assertEqual({each["workload"] for each in figures["records"] if each["contestant"] == "go"}, {"W5W1"})
        self.assertEqual(figures["left_out"], [])

    def test_a_peer_that_fails_later_is_left_out_of_the_whole_workload(self):
        self.stub("""[ "$3" = 2 ] && { echo it burns >&2; exit 7; }; echo '{"ns": 3}'""")
        figures, out = self.with_go("--only", "W5W1", "--threads", "1,2")
        self.expect_left_out(figures, out, "W5W1", "it ended with exit code 7: it burns")
        self.assertEqual({each["contestant"] for each in figures["records"]}, {"foliot"})

    def test_a_peer_that_never_works_is_left_out(self):
        self.stub("exit 1")
        figures, out = self.with_go("--only", "W5W1")
        self.expect_left_out(figures, out, "", "it ended with exit code 1")
        self.assertEqual(figures["left_out"], ["go"])
        self.assertEqual([each["name"] for each in figures["contestants"]], ["foliot"])

    def test_without_any_figure_it_is_an_error(self):
        self.stub("exit 1")
        code, out, err = self.run_foliot("bench", "--quick", "--only", "W5W1", "--contestants", "go", "--json", "figures.json",
                                         env=self.environment_with_go())
        self.assertEqual((code, out), (2, ""))
        self.assertIn("nothing was measured, for all contestants were left out: go: it ended with exit code 1", err)
        self.assertNotIn("figures.json", self.names())

    def test_a_peer_that_cannot_be_built_is_left_out(self):
        self.stub("", toolchain="#!/bin/sh\necho no such module >&2\nexit 1\n")
        self.expect_left_out(*self.with_go("--only", "W5W2"), "",
                             "it cannot be built: it ended with exit code 1: no such module")

    def test_a_peer_without_its_source_is_left_out(self):
        self.stub("")
        (self.here / "peers").rename(self.here / "elsewhere")
        self.expect_left_out(*self.with_go("--only", "W5W2"), "", "its source is not here: set FOLIOT_BENCH_PEERS")

    def toolchain(self, name, text):
        (self.here / "bin").mkdir(exist_ok=True)
        self.put(f"bin/{name}", text.encode())
        (self.here / f"bin/{name}").chmod(0o755)

    def test_each_language_is_called_as_its_toolchain_wants_it(self):
        for folder in ("peers/erlang", "peers/rust/src"):
            (self.here / folder).mkdir(parents=True)
        self.put("peers/erlang/foliot_peer.erl", b"""{"version": "OTP 99", "ns": 700}""")
        self.put("peers/rust/src/main.rs", b"""#!/bin/sh\necho '{"version": "9.9 BUILT", "ns": 40}'\n""")
        self.toolchain("erlc", STUB_ERLC)
        self.toolchain("erl", STUB_ERL)
        self.toolchain("cargo", STUB_CARGO)
        figures, text = self.with_go("--contestants", ",".join([*RUST, "erlang"]), "--only", "W5W1,W5W1-remote", "--threads",
                                     "1,2")
        self.assertEqual({(each["contestant"], each["threads"], each["median"]) for each in figures["records"]
                          if each["contestant"] != "foliot"},
                         {(name, threads, ns) for name, ns in [("erlang", 700)] + [(each, 40) for each in RUST]
                          for threads in (1, 2)})
        contestants = {each["name"]: each for each in figures["contestants"]}
        self.assertEqual({name: each["version"].split() for name, each in contestants.items() if name != "foliot"},
                         {"erlang": ["OTP", "99"], "tokio": ["9.9"], "tokio-alternative": ["9.9", "--cfg", "tokio_unstable"],
                          "pingora": ["9.9", "--features", "pingora"]})
        for name, remark in (("tokio", "one wheel of all workers"), ("tokio-alternative", "a wheel for each worker"),
                             ("pingora", "slots of 10 ms")):
            self.assertIn(remark, contestants[name]["remark"])
            self.assertIn(remark, text)

    def test_missing_toolchains_are_named(self):
        for folder in ("erlang", "rust"):
            (self.here / "peers" / folder).mkdir(parents=True)
        figures, _ = self.bench("--contestants", "foliot,tokio,pingora,erlang", "--only", "W5W2", "--n", "10",
                                FOLIOT_BENCH_PEERS=str(self.here / "peers"), XDG_CACHE_HOME=str(self.here / "cache"),
                                HOME=str(self.here), PATH=str(self.here))
        self.assertEqual({(each["contestant"], each["workloads"], each["reason"]) for each in figures["absences"]},
                         {("tokio", "", "cargo is not installed"), ("pingora", "", "cargo is not installed"),
                          ("erlang", "", "erlc is not installed")})
        self.assertEqual(sorted(figures["left_out"]), ["erlang", "pingora", "tokio"])

    def test_nothing_is_built_that_is_not_wanted(self):
        self.stub("exit 1")
        figures, _ = self.with_go("--only", "W1", told=["go is left out: it takes part in no workload that is measured, [^\n]+"])
        self.assertEqual([(each["contestant"], each["workloads"]) for each in figures["absences"]], [("go", "")])
        self.assertFalse((self.here / "cache").exists())


class RealPeers(BenchCase):

    @classmethod
    def setUpClass(cls):
        if os.environ.get("FOLIOT_SANITIZED") == "1":
            raise unittest.SkipTest("no sanitizer looks into another program")

    def expect_answers(self, names):
        """Each does what it takes part in. Those whose toolchain, or what it fetches, is missing are told."""
        # The caches of the toolchains are kept.
        caches = {"GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache/go-build"))}  # cargo's is ~/.cargo
        # No speed is measured here, and without optimisation cargo takes a third of the time.
        quickly = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in
                   (("OPT_LEVEL", "0"), ("LTO", "off"), ("CODEGEN_UNITS", "16"))}
        environment = {"XDG_CACHE_HOME": str(self.here / "cache"), "FOLIOT_BENCH_PEERS": ""} | caches | quickly
        figures, _ = self.bench("--only", "W5W1,W5W1-remote,W5W2,W6-1ms", "--contestants", ",".join(["foliot", *names]), "--n", "100",
                                "--repetitions", "1", **environment)
        left_out = {each["contestant"]: each["reason"] for each in figures["absences"] if not each["workloads"]}
        for name, reason in left_out.items():
            print(f"{name}: {reason}", file=sys.stderr)
            self.assertRegex(reason, r"is not installed\Z|cannot be built")
        alone = {*RUST, "erlang"} & set(names)  # a timer belongs to its task or process
        self.assertEqual({(each["contestant"], each["workloads"]) for each in figures["absences"] if each["workloads"]},
                         {(name, "W5W1-remote") for name in alone - set(left_out)})
        self.assertEqual({(each["workload"], each["contestant"], each["threads"]) for each in figures["records"]
                          if each["contestant"] != "foliot"},
                         {(what, name, threads) for name in set(names) - set(left_out)
                          for what, threads in (("W5W1", 1), ("W5W1", 2), ("W5W1-remote", 2), ("W5W2", 1), ("W5W2", 2),
                                                ("W6-1ms", 1)) if what != "W5W1-remote" or name not in alone})
        return {each["name"]: each["version"] for each in figures["contestants"]}, left_out


class BenchRealPeers(RealPeers):
    """The peers themselves, where their toolchains are installed."""

    def test_they_answer(self):
        self.expect_answers(["go", "tokio", "erlang"])


class BenchRealRustPeers(RealPeers):
    """Those that are built of Tokio in another way. Each build compiles Tokio anew."""

    def test_they_answer(self):
        versions, left_out = self.expect_answers(["tokio-alternative", "pingora"])
        if left_out:
            self.skipTest("; ".join(f"{name}: {reason}" for name, reason in left_out.items()))
        self.assertRegex(versions["tokio-alternative"], r"\A1\.\d+\.\d+, tokio_unstable, enable_alt_timer\Z")
        self.assertRegex(versions["pingora"], r"\Apingora-timeout \d+\.\d+\.\d+, Tokio 1\.")


if __name__ == "__main__":
    main()
