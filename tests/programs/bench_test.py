#!/usr/bin/env python3
"""The program `foliot bench` as its users meet it. No test depends on what is measured.

usage: bench_test.py [CLASS[.test]...]     with FOLIOT=path of the program in the environment
"""
import errno
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True  # the one below lies beside this file, in the source tree
from program_case import ProgramCase, main

OWN = ["quad-heap"]
FLOORS = ["floor-store", "floor-load"]
PEERS = ["multimap", "priority-queue"]
PACKAGED = ["libuv", "libev", "libevent", "asio"]
WORKLOADS = ["W1", "W1P", "W2", "W2P", "W3", "W4", "worst-uniform", "worst-one-slot"]
CALLS = ["start", "stop", "reset", "expire"]


class BenchCase(ProgramCase):
    def bench(self, *arguments):
        """The figures of a quick run. Builds that are not to be measured say so on standard error."""
        code, out, err = self.run_foliot("bench", "--quick", "--json", "figures.json", *arguments)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"\A(foliot: this program [^\n]+\n)?\Z")
        return json.loads((self.here / "figures.json").read_text()), out


class BenchArguments(BenchCase):
    def test_help(self):
        text = self.expect_done("bench", "--help")
        for word in ("--only", "--contestants", "--n", "--repetitions", "--json", "--report", "--quick", "W2P",
                     "worst-one-slot", *OWN, *FLOORS, *PEERS):
            self.assertIn(word, text)

    def test_wrong_arguments(self):
        for sentence, arguments in (
                ("no workload 'W9'; there are W1, W1P, W2, W2P, W3, W4, worst-uniform, worst-one-slot",
                 ["--only", "W1,W9"]),
                ("there is no 'sundial'; there are ", ["--contestants", "quad-heap,sundial"]),
                ("--n: '0' is no number of timers: name whole numbers from 1 to 100000000", ["--n", "1000,0"]),
                ("--n: '1.5'", ["--n", "1.5"]),
                ("--n: 'many'", ["--n", "many"]),
                ("--repetitions: 0 is out of range: name 1 to 1000", ["--repetitions", "0"]),
                ("--repetitions", ["--repetitions", "x"]),
                ("foliot bench has no '--onyl'", ["--onyl", "W1"]),
                ("foliot bench has no 'W1'", ["W1"]),
                ("--only", ["--only"])):
            self.expect_error(sentence, "bench", *arguments)

    def test_places_that_cannot_be_written(self):
        self.expect_error("missing/figures.json", "bench", "--quick", "--json", "missing/figures.json")
        self.expect_error("go to the same place", "bench", "--quick", "--json", "a", "--report", "a")
        self.assertEqual(self.names(), [])


class BenchFigures(BenchCase):
    def test_shape(self):
        figures, out = self.bench()
        self.assertEqual(set(figures), {"version", "machine", "reference", "repetitions", "contestants", "left_out",
                                        "workloads", "records"})
        for fact in ("processor", "cores", "kernel", "compiler", "build", "date"):
            self.assertIsInstance(figures["machine"][fact], str)
        names = [each["name"] for each in figures["contestants"]]
        self.assertLessEqual(set(OWN + FLOORS + PEERS), set(names))
        self.assertEqual(set(PACKAGED) - set(names), set(figures["left_out"]))
        self.assertIn(figures["reference"], names)
        self.assertEqual([each["name"] for each in figures["workloads"]], WORKLOADS)
        for record in figures["records"]:
            self.check_record(record, names)
        self.check_complete(figures, names)
        for word in [*WORKLOADS, *names, figures["machine"]["kernel"]]:
            self.assertIn(word, out)

    def check_record(self, record, names):
        self.assertIn(record["workload"], WORKLOADS)
        self.assertIn(record["contestant"], names)
        self.assertEqual((record["threads"], record["unit"]), (1, "ns"))
        self.assertGreaterEqual(record["bytes_per_timer"], 0 if record["n"] < 1000 else 8)  # whole pages are counted
        self.assertLessEqual(record["min"], record["median"])
        self.assertLessEqual(record["median"], record["max"])
        if record["workload"].startswith("worst"):
            self.assertIn(record["call"], CALLS)
            self.assertLessEqual(record["p50"], record["p99"])
            self.assertLessEqual(record["p99"], record["p999"])
            self.assertLessEqual(record["p999"], record["max"])
            self.assertLessEqual(record["max"], record["worst"])
        else:
            self.assertGreater(record["median"], 0)
        drained = (record["workload"], record.get("call")) == ("worst-one-slot", "expire")
        self.assertEqual("per_fired" in record, drained)

    def check_complete(self, figures, names):
        """Everybody in everything, but for the floors where timers must fire; calls with the most timers."""
        wanted = set()
        for name in names:
            for what in WORKLOADS[:6]:
                if name not in FLOORS or what != "W3":
                    wanted |= {(what, None, name, n) for n in (100, 1000)}
            if name not in FLOORS:
                wanted |= {(what, call, name, 1000) for what in WORKLOADS[6:] for call in CALLS}
        found = [(each["workload"], each.get("call"), each["contestant"], each["n"]) for each in figures["records"]]
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

    def everything_said(self, terminal):
        """The kernel hands a terminal's text over in pieces, each when it gets to it: read until the other end is gone."""
        said = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError as gone:
                self.assertEqual(gone.errno, errno.EIO)
                return said.decode()
            said += piece

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


if __name__ == "__main__":
    main()
