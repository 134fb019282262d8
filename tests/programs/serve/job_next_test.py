"""`foliot job next`: what rules mean and when they are due, as people and programs read it, without a server; and the page on rules,
block by block."""
import json
import os
import re
import unittest
from pathlib import Path

from kit.program_case import ProgramCase, main

PAGE = Path(__file__).resolve().parents[3] / "docs/serve/rules.md"
BLOCKS = re.compile(r"^```sh\n(.*?)^```\n\n^```\n(.*?)^```\n", re.M | re.S)


def environment(**more):
    """Without what the user of these tests has set; no server is where this names one."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("FOLIOT_")}
    return mine | {"FOLIOT_SERVER": "unix:/nowhere/none"} | more


class Next(ProgramCase):
    def next(self, *arguments):
        return self.expect_done("job", "next", *arguments, env=environment())

    def answer(self, *arguments):
        return json.loads(self.next(*arguments, "--json"))

    def times(self, *arguments):
        return [each["at"] for each in self.answer(*arguments)["times"]]

    def error(self, sentence, *arguments, code=2):
        result, out, err = self.run_foliot("job", "next", *arguments, env=environment())
        self.assertEqual(err, f"foliot: {sentence}\n")
        self.assertEqual(result, code)
        return out

    def test_page(self):
        """Each command of the page prints what stands behind it; … is for anything."""
        blocks = BLOCKS.findall(PAGE.read_text())
        self.assertEqual(len(blocks), 3)
        for command, expected in blocks:
            words = re.findall(r'"([^"]*)"|(\S+)', command.strip())
            words = [quoted or plain for quoted, plain in words]
            self.assertEqual(words[:3], ["foliot", "job", "next"])
            pattern = re.escape(expected).replace("…", ".+")
            self.assertRegex(self.next(*words[3:]), rf"\A{pattern}\Z", command)

    def test_times_from_now_are_told_in_words(self):
        lines = self.next("* * * * *", "--count", 2).splitlines()
        self.assertEqual(lines[0], "Every minute, by the clock of UTC.")
        self.assertRegex(lines[1], r"^DAY +LOCAL TIME +ZONE +UTC +WHEN$")
        self.assertRegex(lines[2], r"^... +20\d\d-\d\d-\d\d \d\d:\d\d +UTC \+00:00 +20\S+Z  (in \d+ s|now|\d+ s ago)$")
        self.assertEqual(len(lines), 4)

    def test_previous(self):
        self.assertEqual(self.times("0 9 * * MON", "--from", "2027-01-06T00:00:00Z", "--count", 2, "--previous"),
                         ["2027-01-04T09:00:00Z", "2026-12-28T09:00:00Z"])

    def test_several_rules_and_exclusions(self):
        self.assertEqual(self.times("0 9 * * *", "0 9,12 * * MON", "--exclude", "2027-01-05", "--exclude", "* * * * WED",
                                    "--from", "2027-01-03T10:00:00+00:00", "--count", 3),
                         ["2027-01-04T09:00:00Z", "2027-01-04T12:00:00Z", "2027-01-07T09:00:00Z"])

    def test_policies(self):
        def local(*options):
            got = self.answer("30 2 * * *", "--zone", "Europe/Berlin", "--count", 1, *options)["times"][0]
            return got["local"], got["nominal"], got["pass"], got["shifted"]
        spring, autumn = ["--from", "2027-03-27T12:00:00Z"], ["--from", "2027-10-30T12:00:00Z"]
        self.assertEqual(local(*spring), ("2027-03-28T03:00:00", "2027-03-28T02:30:00", "only", True))
        self.assertEqual(local(*spring, "--gap", "skip"), ("2027-03-29T02:30:00", "2027-03-29T02:30:00", "only", False))
        self.assertEqual(local(*autumn), ("2027-10-31T02:30:00", "2027-10-31T02:30:00", "first", False))
        self.assertEqual(local(*autumn, "--overlap", "last"), ("2027-10-31T02:30:00", "2027-10-31T02:30:00", "second", False))

    def test_changes_of_clocks(self):
        answer = self.answer("*/15 2 * * *", "--zone", "Europe/Berlin", "--from", "2027-01-01T00:00:00Z", "--count", 1)
        self.assertRegex(answer["zone_data"], r"^20\d\d[a-z]+$")
        self.assertEqual([(each["from"], each["to"], each["effect"], each["times"]) for each in answer["clock_changes"]],
                         [("2027-03-28T02:00:00", "2027-03-28T03:00:00", "skipped", 4),
                          ("2027-10-31T03:00:00", "2027-10-31T02:00:00", "twice", 4)])
        self.assertIn("4 times from 02:00 on do not come",
                      self.next("*/15 2 * * *", "--zone", "Europe/Berlin", "--from", "2027-01-01T00:00:00Z"))

    def test_dialects(self):
        self.assertEqual(self.times("0 0/20 9 ? * 1", "--dialect", "quartz", "--from", "2027-01-01T00:00:00Z", "--count", 2),
                         ["2027-01-03T09:00:00Z", "2027-01-03T09:20:00Z"])

    def test_ends(self):
        answer = self.answer("0 15 10 * * * 2027", "--from", "2027-12-30T12:00:00Z")
        self.assertEqual([each["at"] for each in answer["times"]], ["2027-12-31T10:15:00Z"])
        self.assertTrue(answer["complete"])
        self.assertIn("then never\n", self.next("0 15 10 * * * 2027", "--from", "2027-12-30T12:00:00Z"))

    def test_changes_of_clocks_that_do_not_matter_or_are_too_many(self):
        zone = ("--zone", "Europe/Berlin", "--from", "2027-03-20T12:00:00Z")
        self.assertNotIn("2027-03-28 02:00", self.next("30 2 * * *", *zone, "--exclude", "2027-03-28"))
        answer = self.answer("30 2 * * *", *zone, "--exclude", "2027-03-28")
        self.assertEqual([each["from"] for each in answer["clock_changes"]], ["2027-10-31T03:00:00", "2028-03-26T02:00:00"])
        self.assertFalse(answer["clock_changes_cut"])
        often = ("30 2 * * SUN", *zone, "--count", 400)
        self.assertTrue(self.answer(*often)["clock_changes_cut"])
        self.assertIn("there may be more changes of clocks, which are not shown\n", self.next(*often))

    def test_never(self):
        out = self.error("never after 2027-01-01T00:00:00Z: there is no such time within 400 years",
                         "0 0 30 2 *", "--from", "2027-01-01T00:00:00Z", code=1)
        self.assertEqual(out, "At 00:00 on day 30 of the month in February, by the clock of UTC.\n")
        self.error("none found after 2027-01-01T00:00:00Z: too many times in a row are excluded", "* * * * *", "--exclude",
                   "0 0 30 2 *", "--exclude", "* * * * *", "--from", "2027-01-01T00:00:00Z", code=1)
        self.error("never before 2027-01-01T00:00:00Z: there is no such time within 400 years",
                   "after 5m", "--from", "2027-01-01T00:00:00Z", "--previous", "--json", code=1)

    def test_mistakes(self):
        for sentence, *arguments in [
                ("'0 22-2 * * *': hour, character 3: the range 22-2 runs backwards: write 22-23,0-2", "0 22-2 * * *"),
                ("--exclude: there is no day 2027-02-30: name one of the calendar", "@daily", "--exclude", "2027-02-30"),
                ("--zone: there is no time zone 'Europe/Berln': the nearest is 'Europe/Berlin'",
                 "@daily", "--zone", "Europe/Berln"),
                ("--from: 'noon' is no time: write one such as 2027-01-31T08:00:00Z, or with +01:00 behind it",
                 "@daily", "--from", "noon"),
                ("--dialect: 'spring' is none of vixie, seconds, quartz, eventbridge", "@daily", "--dialect", "spring"),
                ("--gap: 'wait' is none of shift, skip", "@daily", "--gap", "wait"),
                ("--overlap: 'none' is none of first, last, both", "@daily", "--overlap", "none"),
                ("the clock of Europe/Berlin never shows 2027-03-28T02:30:00, since it goes forward across that time: name "
                 "another", "once 2027-03-28T02:30", "--zone", "Europe/Berlin")]:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.error(sentence, *arguments), "")

    def test_what_is_hostile_is_escaped(self):
        result, out, err = self.run_foliot("job", "next", "0 9 * * \x1b[2J", "--zone", "UTC", env=environment())
        self.assertEqual((result, out), (2, ""))
        self.assertNotIn("\x1b", err)
        result, out, err = self.run_foliot("job", "next", "@daily", "--zone", "\x1b[2J", env=environment())
        self.assertNotIn("\x1b", err)

    def test_warnings(self):
        result, out, err = self.run_foliot("job", "next", "*/70 * * * *", "--count", 1, env=environment())
        self.assertEqual((result, err), (0, "foliot: minute: the step of '*/70' is so large that 0 alone is left\n"))


if __name__ == "__main__":
    main()
