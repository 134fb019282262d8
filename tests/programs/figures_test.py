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

ROOT = Path(__file__).resolve().parents[2]
HAS_STORES = os.environ.get("FOLIOT_STORES") == "1"
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


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
        for page, command in (("README.md", "$ scripts/run replay access.log.gz --sessions sessions.csv"),
                              ("docs/replay.md", "$ foliot replay --sessions sessions.csv --json summary.json access.log.gz")):
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


class Stats(ServeCase):
    def test_the_lines_that_only_foliot_has(self):
        name = "foliot-(?:store|buffered)-[a-z-]+"
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
