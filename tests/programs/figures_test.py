#!/usr/bin/env python3
"""Figures of README.md and the pages that a command prints, or that follow from the code.

usage: figures_test.py [CLASS[.test]...]     with the environment of replay_test.py

What depends on the machine, as times and rates do, is compared in its form only.
"""
import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the modules below are in the source tree
from kit.program_case import ProgramCase, main
from kit.serve_case import SANITIZED, ServeCase
from top_test import TopCase

ROOT = Path(__file__).resolve().parents[2]
HAS_STORES = os.environ.get("FOLIOT_STORES") == "1"
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve", "thirteen", "fourteen", "fifteen"]


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def block_after(page, first_line):
    """The lines of the block of the page that begins with this line, without it."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text_of(page), re.M | re.S)
    found = [block for block in blocks if block.startswith(first_line + "\n")]
    if len(found) != 1:
        raise AssertionError(f"{page}: {len(found)} blocks begin with {first_line!r}")
    return found[0].splitlines()[1:]


def form(text):
    """The text without its numbers."""
    return re.sub(r"\d[\d,.]*", "#", text)


class Replay(ProgramCase):
    """The log that the page describes is the generated one."""
    OF_THE_MACHINE = ("wall time", "timer operations", "lines read", "peak memory")

    def setUp(self):
        super().setUp()
        self.expect_done("sample", "-o", "access.log.gz")

    def compare_rows(self, page, shown, printed):
        self.assertEqual(len(shown), len(printed), page)
        for there, here in zip(shown, printed):
            of_the_machine = here.startswith(self.OF_THE_MACHINE)
            self.assertEqual(re.split(" {2,}", form(there)) if of_the_machine else there,
                             re.split(" {2,}", form(here)) if of_the_machine else here, page)

    def test_the_summary_for_people(self):
        printed = self.expect_done("replay", "--sessions", "sessions.csv", "--json", "summary.json", "access.log.gz")
        page, command = "docs/replay.md", "$ foliot replay --sessions sessions.csv --json summary.json access.log.gz"
        self.compare_rows(page, block_after(page, command), printed.splitlines())
        if HAS_STORES and not SANITIZED:
            shown = float(re.search(r"\npeak memory +([\d.]+) MiB\n", text_of(page))[1])
            measured = json.loads((self.here / "summary.json").read_text())["peak_memory_bytes"] / 2 ** 20
            self.assertTrue(shown / 2 < measured < shown * 2, f"{page}: peak memory is {measured:.1f} MiB, not {shown}")
        shown = (self.here / "sessions.csv").read_text().splitlines()[:3]
        self.assertEqual(block_after("docs/replay.md", shown[0]), shown[1:])

    def test_the_summary_for_programs(self):
        self.expect_done("replay", "--json", "summary.json", "access.log.gz")
        printed = json.loads((self.here / "summary.json").read_text())
        shown = json.loads("\n".join(["{", *block_after("docs/replay.md", "{")]))
        self.assertEqual(list(shown), list(printed))
        for key in shown:
            if key not in ("wall_seconds", "timer_operations_per_second", "lines_per_second", "peak_memory_bytes"):
                self.assertEqual(shown[key], printed[key], key)

    def test_every_engine(self):
        printed = self.expect_done("replay", "--engine", "all", "--json", "summary.json", "access.log.gz").splitlines()
        shown = block_after("docs/replay.md", "$ foliot replay --engine all access.log.gz")
        begin = shown.index("") + 1
        self.compare_rows("docs/replay.md", shown[:begin], printed[:begin])
        self.assertEqual(shown[begin], printed[begin])
        rows = {row.split()[0]: row.split()[3:] for row in printed[begin + 1:]}
        self.assertEqual([row.split()[0] for row in shown[begin + 1:]], list(rows))
        for row in shown[begin + 1:]:
            self.assertEqual(row.split()[3:], rows[row.split()[0]], row)
        one = json.loads(re.search(r"^    \{\n.*?^    \}", text_of("docs/replay.md"), re.M | re.S)[0])
        measured = next(each for each in json.loads((self.here / "summary.json").read_text())["engines"]
                        if each["engine"] == one["engine"])
        self.assertEqual(list(one), list(measured))
        for key in ("sessions", "timers", "lateness_allowed_seconds", "agrees"):
            self.assertEqual(one[key], measured[key], key)


class Bench(unittest.TestCase):
    def test_the_table_of_the_first_page(self):
        """It has the columns for a million timers of the table that has all."""
        def rows(page, columns):
            cells = [[each.strip().strip("*") for each in line.strip("|").split("|")] for line in text_of(page).splitlines()]
            return [row for row in cells if len(row) == columns and re.fullmatch(r"[\d,.]+", row[1])]
        shown = rows("README.md", 5)
        measured = {row[0].split(",")[0]: row[3::3] for row in rows("docs/benchmarks.md", 13)}
        self.assertGreater(len(shown), 3)
        self.assertEqual(shown, [[row[0], *measured[row[0]]] for row in shown])


class Top(TopCase):
    """What `foliot top` shows has the rows that the pages show."""

    @staticmethod
    def rows(lines):
        """The names of the rows, and the heads of the tables as they are; without the lines of single tasks, tubes and
        callbacks."""
        found = []
        for line in lines:
            is_row = line[:1].strip() or line.startswith("  ") and line[2:3].strip()
            if line.startswith("foliot top of") or re.match(r" +[\d,]+  ", line):
                continue
            if is_row:
                found.append(line[:22].strip())
            elif line.strip():
                found.append(line.split())
        return found

    def printed(self, *arguments):
        shown = self.show(*arguments)
        with self.start("top", "timers", "--interval", "1ms") as top:
            lines = []
            while not any("a second" in line for line in lines) or not lines[-1].startswith("foliot top of"):
                line = top.stdout.readline().decode()
                self.assertTrue(line, "it has ended")
                lines.append(line.rstrip("\n").removeprefix("\x1b[H\x1b[2J"))
            self.end(shown)
            top.communicate()
        begin = max(i for i, line in enumerate(lines[:-1]) if line.startswith("foliot top of"))
        return self.rows(lines[begin:-1])

    def test_timers(self):
        shown = self.rows(block_after("docs/observability.md", "$ foliot top timers.sock"))
        printed = self.printed("measure")
        self.assertEqual(shown, printed[:len(shown)])

    def test_tasks(self):
        shown = self.rows(block_after("docs/runtime/statistics.md", "$ build/release/examples/gateway --statistics runtime.sock &"))
        self.assertEqual(shown.pop(0), "$ foliot top runtime.s")
        self.assertEqual(shown, self.printed("runtime", "measure"))

    def test_the_metrics_of_timers(self):
        self.show("measure")
        printed = self.expect_done("top", "timers", "--prometheus").splitlines()
        shown = block_after("docs/observability.md", "$ foliot top timers.sock --prometheus")
        self.assertEqual([form(line) for line in shown if line != "…" and form(line) not in map(form, printed)], [])


class TopOfAServer(ServeCase):
    def test_its_jobs(self):
        server = self.serve("--memory", "--statistics", str(self.here / "top"))
        client = self.connect(server)
        for tube, delays in ((b"mail", (0, 1000, 2000)), (b"other", (0,))):
            client.ask(b"use %s\r\n" % tube)
            for delay in delays:
                client.ask(b"put 0 %d 1000 1\r\nx\r\n" % delay)
        client.ask(b"watch other\r\n")
        client.ask(b"ignore default\r\n")
        self.assertTrue(client.ask(b"reserve\r\n").startswith(b"RESERVED "))
        printed = self.look("top", r"\n +0 +0 +1 +0  other\n").splitlines()
        first = "tubes with jobs                      2"
        shown = [first, *block_after("docs/serve/README.md", first)]
        begin = printed.index(first)
        without_time = lambda lines: [re.sub(r"^(next is due in ) +\d.*", r"\1", line) for line in lines]
        self.assertEqual(without_time(shown), without_time(printed[begin:begin + len(shown)]))


class Stats(ServeCase):
    def test_the_lines_that_only_foliot_has(self):
        name = "foliot-(?:(?:store|buffered|refused|field)-[a-z-]+|slow-clients)"
        answer = self.connect(self.serve("--memory")).ask(b"stats\r\n").decode()
        lines = re.findall(rf"^({name}): ", answer, re.M)
        self.assertTrue(answer.rstrip().splitlines()[-1].startswith(lines[-1]), "they are the last ones")
        monitoring = text_of("docs/serve/monitoring.md")
        self.assertEqual(re.findall(rf"^\| `({name})` \| (?:how many|how much|1 if) ", monitoring, re.M), lines)
        self.assertEqual(re.findall(rf"^({name}): \d+$", monitoring, re.M), lines)
        for page in ("docs/serve/beanstalk.md", "docs/migrating/beanstalkd.md"):
            counts = re.findall(r"\b(\w+) (?:more lines, `foliot-store-…`|lines more, \[of the)", text_of(page))
            self.assertEqual(counts, [WORDS[len(lines)]], page)


class Histories(unittest.TestCase):
    def test_how_many_there_are_of_an_engine(self):
        folder = "tests/linearizability/"
        races = int(re.search(r"\braces = (\d+);", text_of(folder + "plan.hpp"))[1])
        simulated = text_of(folder + "simulated_test.cpp")
        faults = len(re.findall(r"\bfaults\{", re.search(r"all_faults\{(.*?)\};", simulated, re.S)[1]))
        worlds = int(re.search(r"\bworlds = (\d+);", simulated)[1])
        page = re.sub(r"\s+", " ", text_of("docs/testing.md"))
        said = re.search(r"plays ([\d,]+) histories of each engine: (\d+) races, (\w+) sets of faults, ([\d,]+) worlds", page)
        more, of_a_run = (int(re.sub(",", "", each)) for each in (said[4], said[1]))
        self.assertEqual((int(said[2]), said[3], of_a_run), (races, WORDS[faults], races * faults * more))
        self.assertIn(f"FOLIOT_SIMULATION_WORLDS={more} ", page)
        by_ctest = re.search(r"release plays ([\d,]+) of each", page)[1]
        self.assertEqual(int(by_ctest.replace(",", "")), races * faults * worlds)


if __name__ == "__main__":
    main()
