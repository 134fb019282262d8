#!/usr/bin/env python3
"""`foliot bench store`, `micro`, `queue` and `batches` as users and scripts meet them. No test depends on what is measured.

usage: loads_bench_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support
"""
import contextlib
import json
import re
import sys

sys.dont_write_bytecode = True  # the modules below are in the source tree
from kit.beanstalk_client import foliot
from kit.program_case import ProgramCase, main


class LoadsCase(ProgramCase):
    def expect_own_page(self, command, *arguments):
        """The heading and the introduction are those of the command, not of `foliot bench serve`."""
        code, _, err = self.run_foliot("bench", command, *arguments, "--report", "page.html")
        if "Chart.js was not installed" in err:
            self.skipTest("the program was built without Chart.js")
        self.assertEqual(code, 0, err)
        page = (self.here / "page.html").read_text()
        self.assertIn(f"<h1>foliot bench {command}</h1>", page)
        self.assertNotIn("Job servers, measured side by side", page)

    def expect_own_help(self, command):
        """The end of the help names only options that the command has."""
        text = self.expect_done("bench", command, "--help")
        options, end = text.rsplit("\n\n", 1)
        named = re.findall(r"--[a-z]+", end)
        self.assertIn("--only", named)
        for each in named:
            self.assertRegex(options, rf"(?m)^ +{each}\b")


class BenchStore(LoadsCase):
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

    def test_quick_leaves_the_number_of_jobs_alone(self):
        self.store("--only", "delayed", "--jobs", "50")
        figures = json.loads((self.here / "figures.json").read_text())
        self.assertEqual(figures["workloads"][-1], {"name": "delayed", "title": "50 delayed jobs, in batches: jobs a second"})

    def test_the_page_is_that_of_the_store(self):
        self.expect_own_page("store", "--quick", "--only", "flood", "--folder", self.here)

    def test_help(self):
        self.expect_own_help("store")

    def test_wrong_arguments(self):
        self.expect_error("--only: there is no workload 'puts'; there are batches, flood, delayed", "bench", "store", "--only", "puts")
        self.expect_error("--n stands before 'store'", "bench", "--n", "1", "store")
        self.expect_error("foliot bench store has no '--n'", "bench", "store", "--n", "1")


class BenchWithoutMicro(ProgramCase):
    """FOLIOT is the program foliot-bench itself, built without Google Benchmark."""

    def test_it_says_what_the_program_lacks(self):
        for arguments in ([], ["--only", "channels"], ["--only", "locks"]):
            self.expect_error("this program was built without micro-benchmarks: they need FOLIOT_BUILD_BENCHMARKS=ON", "micro",
                              *arguments)


class BenchMicro(LoadsCase):
    def test_a_line_for_each_contestant(self):
        code, out, err = self.run_foliot("bench", "micro", "--only", "json,channels", "--seconds", "0.01", "--repetitions", "1",
                                         "--json", "figures.json")
        self.assertEqual(code, 0, err)
        figures = json.loads((self.here / "figures.json").read_text())
        found = {}
        for each in figures["records"]:
            if each["figure"] != "cpu":  # a task of the other processor may have done all of it
                self.assertGreater(each["median"], 0, each)
            found.setdefault((each["workload"], each["contestant"]), set()).add((each["figure"], each["column"]))
        texts = ("put", "put of JSON", "batch")
        for reader in ("server", "nlohmann values", "nlohmann parser", "simdjson values"):
            self.assertEqual(found["json", reader], {(figure, text) for figure in ("time", "cpu", "bytes") for text in texts})
        self.assertEqual(found["channels", "stream_buffered"], {(figure, text) for figure in ("time", "cpu") for text in "12"})
        self.assertRegex(out, r"(?m)^simdjson values +[\d,.]+ ")
        self.assertNotRegex(out, r"(?m): *$")  # a contestant without a version has no line

    def measured(self, only):
        code, _, err = self.run_foliot("bench", "micro", "--only", only, "--seconds", "0.01", "--repetitions", "1", "--json",
                                       "figures.json")
        self.assertEqual(code, 0, err)
        figures = json.loads((self.here / "figures.json").read_text())
        return {(each["workload"], each["contestant"], each["column"]) for each in figures["records"]}

    def test_single_lines_are_chosen(self):
        self.assertEqual(self.measured("channels/lock_and_unlock,json/simdjson values/put of JSON"),
                         {("channels", "lock_and_unlock", "1"), ("json", "simdjson values", "put of JSON")})
        self.assertEqual(self.measured("channels/stream_buffered/2"), {("channels", "stream_buffered", "2")})

    def test_the_page_is_that_of_micro(self):
        self.expect_own_page("micro", "--only", "channels/lock_and_unlock", "--seconds", "0.01", "--repetitions", "1")

    def test_help(self):
        self.expect_own_help("micro")

    def test_wrong_arguments(self):
        self.expect_error("--only: there is no workload 'locks'; there are services, channels, json, replay", "bench", "micro",
                          "--only", "locks")
        self.expect_error("--only: there is no workload 'channels/lock'; there are channels/", "bench", "micro", "--only",
                          "json,channels/lock")


class BenchQueue(ProgramCase):
    def load(self, *arguments, lines):
        """What a load on two servers writes, to whose lines so many are answered."""
        servers = [foliot("--memory"), foliot("--memory")]
        for each in servers:
            self.addCleanup(each.kill)
        nodes = ",".join(str(each.address[1]) for each in servers)
        code, out, err = self.run_foliot("bench", "queue", "--nodes", nodes, "--workers", "4", *arguments, given=b"\n" * lines)
        self.assertEqual((code, err), (0, ""))
        written = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(written[0], {"ready": True})
        left = []
        for each in servers:
            with contextlib.closing(each.connect()) as asking:
                left.append(asking.numbers(b"stats\r\n"))
        return written[1:], sum(each["current-jobs-ready"] + each["current-jobs-delayed"] for each in left)

    def test_a_backlog_is_finished(self):
        for more in ([], ["--both"]):
            (got,), left = self.load("--workload", "backlog", "--jobs", "300", *more, lines=2)
            self.assertEqual((got["jobs"], left), (300, 0))
            self.assertGreater(got["seconds"], 0)

    def test_jobs_begin_when_they_are_due(self):
        (got,), left = self.load("--workload", "lateness", "--rate", "100", "--seconds", "1", lines=2)
        self.assertEqual((got["jobs"], got["early"], left), (100, 0, 0))
        self.assertLessEqual(got["p50"], got["p99"])
        self.assertLessEqual(got["p99"], got["max"])

    def test_far_jobs_stay(self):
        got, left = self.load("--workload", "far", "--jobs", "50", lines=1)
        self.assertEqual((got, left), ([], 50))

    def test_a_flow_counts_what_its_seconds_finish(self):
        (got,), _ = self.load("--workload", "flow", "--jobs", "100", "--seconds", "0.2", lines=2)
        self.assertGreater(got["jobs"], 0)
        self.assertGreaterEqual(got["seconds"], 0.2)

    def test_a_steady_load_is_finished_and_tells_delayed_jobs_apart(self):
        (*spans, last), left = self.load("--workload", "steady", "--rate", "100", "--seconds", "1", "--every", "0.5", "--delayed",
                                         "0.5", "--delay", "0", "--warm-up", "0.1", lines=4)
        self.assertEqual(len(spans), 2)
        # On a slow machine the jobs of a span may begin in the next one, or behind the last.
        self.assertEqual(sum(each.get("early", 0) + each.get("delayed_early", 0) for each in spans), 0)
        self.assertEqual((last["jobs"], last["unfinished"], left), (110, 0, 0))
        self.assertGreaterEqual(last["jobs"], sum(each["jobs"] for each in spans))

    def test_a_steady_load_keeps_its_rate_over_many_spans(self):
        # 0.1 is a little more than a tenth: ten of them leave no eleventh line. In none of them alone is a whole job due.
        (*spans, last), _ = self.load("--workload", "steady", "--rate", "9", "--seconds", "1", "--every", "0.1", lines=12)
        self.assertEqual((len(spans), last["jobs"], last["unfinished"]), (10, 9, 0))

    def test_the_last_span_of_a_steady_load_may_be_shorter(self):
        for every, count in (("0.2", 2), ("5", 1), ("0", 1)):
            (*spans, last), _ = self.load("--workload", "steady", "--rate", "100", "--seconds", "0.3", "--every", every,
                                          lines=count + 2)
            self.assertEqual((len(spans), last["jobs"]), (count, 30), every)

    def test_jobs_with_few_keys_replace_each_other(self):
        (got,), left = self.load("--workload", "keys", "--keys", "3", "--idle", "4", "--seconds", "0.2", lines=2)
        self.assertGreater(got["commands"], 8)
        self.assertEqual(got["refused"], 0)
        self.assertLessEqual(left, 6)  # a job a key and server

    def test_workers_with_keys_stand_among_any_number_of_idle_connections(self):
        for idle in ("0", "1", "3", "7"):  # beside four workers, each of which is answered eight puts
            (got,), _ = self.load("--workload", "keys", "--idle", idle, "--seconds", "0", lines=2)
            self.assertGreaterEqual(got["commands"], 4 * 8)
            self.assertLessEqual(got["commands"], 4 * 10)

    def test_help_shows_numbers_alike(self):
        text = self.expect_done("bench", "queue", "--help")
        self.assertRegex(text, r"(?m)^ +--seconds NUMBER=6 +")
        self.assertNotIn("FLOAT", text)

    def test_wrong_arguments(self):
        for sentence, arguments in (
                ("--workload: there is no workload 'puts'; there are backlog, flow, ", ["--nodes", "1", "--workload", "puts"]),
                ("name either --nodes or --library", []),
                ("name either --nodes or --library", ["--nodes", "1", "--library", "dbname=x"]),
                ("--library: the workload 'steady' is for --nodes", ["--library", "dbname=x", "--workload", "steady"]),
                ("--workers: '0' is no whole number from 1 to ", ["--nodes", "1", "--workers", "0"])):
            with self.subTest(sentence):
                self.expect_error(sentence, "bench", "queue", *arguments)

    def test_a_server_that_is_not_there(self):
        self.expect_error("cannot connect to ", "bench", "queue", "--nodes", f"unix:{self.here / 'nowhere'}")


if __name__ == "__main__":
    main()
