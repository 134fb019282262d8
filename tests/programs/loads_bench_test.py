#!/usr/bin/env python3
"""`foliot bench store` and `micro` as their users meet them. No test depends on what is measured.

usage: loads_bench_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support
"""
import json
import sys

sys.dont_write_bytecode = True  # the module below is in the source tree
from kit.program_case import ProgramCase, main


class BenchStore(ProgramCase):
    def store(self, *arguments):
        code, out, err = self.run_foliot("bench", "store", "--quick", "--folder", self.here, "--json", "figures.json", *arguments)
        self.assertEqual(code, 0, err)
        figures = json.loads((self.here / "figures.json").read_text())
        self.assertEqual(self.names(), ["figures.json"])  # the store is removed
        return {(each["workload"], each["column"], each["figure"]): each["median"] for each in figures["records"]}, out

    def test_each_part_has_its_figures(self):
        figures, text = self.store()
        rates = [(workload, column) for workload, column, figure in figures if figure == "rate"]
        self.assertEqual(rates, [("put", "1"), ("put", "64"), ("put", "256"), ("drain", "64"), ("cycle", "1"), ("cycle", "64"),
                                 ("flood", "one instant"), ("delayed", "put"), ("delayed", "kick"), ("delayed", "drain")])
        self.assertIn(("flood", "longest batch", "longest-batch"), figures)
        self.assertIn(("delayed", "started", "start"), figures)
        self.assertGreater(figures["delayed", "put", "resident"], 1)
        for workload in ("put", "drain", "cycle", "flood", "delayed"):
            self.assertRegex(text, rf"(?m)^{workload}: ")

    def test_only_the_parts_that_are_named(self):
        figures, _ = self.store("--only", "delayed")
        self.assertEqual({workload for workload, _, _ in figures}, {"delayed"})

    def test_wrong_arguments(self):
        self.expect_error("--only: there is no workload 'puts'; there are batches, flood, delayed", "bench", "store", "--only", "puts")
        self.expect_error("--n stands before 'store'", "bench", "--n", "1", "store")
        self.expect_error("foliot bench store has no '--n'", "bench", "store", "--n", "1")


class BenchMicro(ProgramCase):
    def test_a_line_for_each_contestant(self):
        code, out, err = self.run_foliot("bench", "micro", "--only", "json,channels", "--seconds", "0.01", "--repetitions", "1",
                                         "--json", "figures.json")
        self.assertEqual(code, 0, err)
        figures = json.loads((self.here / "figures.json").read_text())
        found = {}
        for each in figures["records"]:
            self.assertGreater(each["median"], 0, each)
            found.setdefault((each["workload"], each["contestant"]), set()).add((each["figure"], each["column"]))
        texts = ("put", "put of JSON", "batch")
        for reader in ("server", "nlohmann values", "nlohmann parser", "simdjson values"):
            self.assertEqual(found["json", reader], {(figure, text) for figure in ("time", "cpu", "bytes") for text in texts})
        self.assertEqual(found["channels", "stream_buffered"], {(figure, text) for figure in ("time", "cpu") for text in "12"})
        self.assertRegex(out, r"(?m)^simdjson values +[\d.]+ ")

    def test_wrong_arguments(self):
        self.expect_error("--only: there is no workload 'locks'; there are services, channels, json, replay", "bench", "micro",
                          "--only", "locks")


if __name__ == "__main__":
    main()
