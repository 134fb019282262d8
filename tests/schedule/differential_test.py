"""Times of rules beside those of others: a walk over every minute with Python's zones, and the implementations croniter and
cronsim, where Python has them (FOLIOT_PEERS may name a folder with them).

FOLIOT_NEXT_TIMES names the program that answers with foliot's times, FOLIOT_SEED another seed than 1."""
import os
import random
import subprocess
import unittest
import zoneinfo
from datetime import datetime, timedelta, timezone

from kit.program_case import main

PROGRAM = os.environ.get("FOLIOT_NEXT_TIMES", "next_times")
SEED = int(os.environ.get("FOLIOT_SEED", "1"))
PEERS = os.environ.get("FOLIOT_PEERS")
FIRST_YEAR, LAST_YEAR = 2016, 2036  # ten years back and ten ahead
DAY = 86_400
LONGEST_SHIFTED_GAP = 3 * 3600


def system_zones():
    """The names of all zones, with Python reading the same files as foliot does."""
    folder = os.environ.get("FOLIOT_ZONES", "/usr/share/zoneinfo")
    zoneinfo.reset_tzpath([folder])
    return sorted(name for name in zoneinfo.available_timezones()
                  if os.path.isfile(os.path.join(folder, name)) and name not in ("localtime", "Factory"))


def answers(questions):
    """Each question is a tuple of the program's cells; each answer a list of seconds, with None for never."""
    lines = "".join("\t".join(map(str, each)) + "\n" for each in questions)
    done = subprocess.run([PROGRAM], input=lines, text=True, stdout=subprocess.PIPE, check=True)
    read = []
    for question, line in zip(questions, done.stdout.splitlines(), strict=True):
        if line.startswith("wrong"):
            raise AssertionError(f"{question}: {line}")
        read.append([None if word == "never" else int(word) for word in line.split(" ")[1:]])
    return read


def question(rule, zone, begin, count, direction="next", gap="shift", overlap="first", dialect="vixie"):
    return rule, zone, begin, count, direction, gap, overlap, dialect


class Field:
    """A field as text, and the numbers that it means."""

    def __init__(self, text, first, last):
        self.text, self.is_wildcard, self.numbers = text, text.startswith("*"), set()
        for item in text.split(","):
            item, _, step = item.partition("/")
            begin, _, end = item.partition("-")
            begin, end = (first, last) if item == "*" else (int(begin), int(end or begin))
            self.numbers |= set(range(begin, end + 1, int(step or 1)))


class Rule:
    def __init__(self, text):
        self.text = text
        minute, hour, day, month, weekday = text.split()
        self.minute, self.hour, self.day = Field(minute, 0, 59), Field(hour, 0, 23), Field(day, 1, 31)
        self.month, self.weekday = Field(month, 1, 12), Field(weekday, 0, 6)
        self.is_fixed = not (self.minute.is_wildcard or self.hour.is_wildcard)

    def fits(self, time):
        if time.second or time.minute not in self.minute.numbers or time.hour not in self.hour.numbers:
            return False
        if time.month not in self.month.numbers:
            return False
        day, weekday = time.day in self.day.numbers, time.isoweekday() % 7 in self.weekday.numbers
        return day and weekday if self.day.is_wildcard or self.weekday.is_wildcard else day or weekday


def random_rule(draw, peers=False):
    """For other implementations, without what they read otherwise."""
    def field(first, last, wild):
        kind = draw.random()
        if kind < wild:
            return "*"
        if kind < wild + 0.15 and not peers:
            return f"*/{draw.choice([2, 3, 5, 7, 15])}"
        items = []
        for _ in range(draw.randint(1, 3)):
            begin = draw.randint(first, last)
            end = draw.randint(begin, last)
            step = draw.randint(1, 4)
            items.append(str(begin) if draw.random() < 0.6 or begin == end else
                         f"{begin}-{end}" + (f"/{step}" if draw.random() < 0.5 else ""))
        return ",".join(items)
    hour = field(0, 4, 0.2) if draw.random() < 0.6 else field(0, 23, 0.3)  # clocks change by night
    day, weekday = field(1, 31, 0.6), field(0, 6, 0.6)
    return " ".join([field(0, 59, 0.15), hour, day, field(1, 12, 0.8), weekday])


def offset_at(zone, seconds):
    return int(datetime.fromtimestamp(seconds, zone).utcoffset().total_seconds())


def clock_changes(zone, begin, end):
    """The instants in [begin, end) at which the clock changes, found by halving days."""
    found, before = [], offset_at(zone, begin)
    for day in range(begin, end, DAY):
        after = offset_at(zone, day + DAY)
        if after == before:
            continue
        low, high = day, day + DAY
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset_at(zone, middle) == before else (low, middle)
        found.append(high)
        before = after
    return found


def walked(rule, zone, begin, end, gap, overlap):
    """All times in [begin, end), from a walk over every minute of it and of two days on both sides."""
    shown, found = {}, set()
    before = offset_at(zone, begin - 2 * DAY)
    for at in range(begin - 2 * DAY, end + 2 * DAY, 60):
        offset = offset_at(zone, at)
        here = datetime(1970, 1, 1) + timedelta(seconds=at + offset)
        length, before = offset - before, offset
        if 0 < length <= LONGEST_SHIFTED_GAP and gap == "shift" and rule.is_fixed:
            if any(rule.fits(here - timedelta(seconds=back)) for back in range(60, length + 60, 60)):
                found.add(at)
        if rule.fits(here):
            if rule.is_fixed:
                shown.setdefault(here, []).append(at)
            else:
                found.add(at)
    for times in shown.values():
        found |= set(times[:1] if overlap == "first" else times[-1:] if overlap == "last" else times)
    return sorted(each for each in found if begin <= each < end)


class Walk(unittest.TestCase):
    def test_every_zone(self):
        """Each zone, around some of its clock changes of twenty years, and of a day without any."""
        draw = random.Random(SEED)
        questions, expected = [], []
        year = {at: int(datetime(at, 1, 1, tzinfo=timezone.utc).timestamp()) for at in (FIRST_YEAR, LAST_YEAR)}
        zones = system_zones()
        self.assertGreater(len(zones), 300)
        for name in zones:
            zone = zoneinfo.ZoneInfo(name)
            changes = clock_changes(zone, year[FIRST_YEAR], year[LAST_YEAR])
            around = draw.sample(changes, min(2, len(changes))) or [draw.randrange(year[FIRST_YEAR], year[LAST_YEAR], 60)]
            for middle in around:
                begin = middle - middle % 60 - DAY // 2
                end = begin + DAY
                rule = Rule(random_rule(draw))
                gap, overlap = draw.choice(["shift", "skip"]), draw.choice(["first", "last", "both"])
                times = walked(rule, zone, begin, end, gap, overlap)
                questions.append(question(rule.text, name, begin - 1, len(times) + 1, "next", gap, overlap))
                expected.append((times, end))
                questions.append(question(rule.text, name, end, len(times) + 1, "previous", gap, overlap))
                expected.append((times[::-1], begin))
        self.compare(questions, expected)

    def compare(self, questions, expected):
        count = 0
        for each, got, (times, bound) in zip(questions, answers(questions), expected, strict=True):
            with self.subTest(seed=SEED, question=each):
                self.assertEqual(got[:len(times)], times)
                beyond = got[len(times)]
                if beyond is not None:
                    (self.assertGreaterEqual if each[4] == "next" else self.assertLess)(beyond, bound)
            count += len(times)
        self.assertGreater(count, 1000)


def peers():
    if PEERS:
        import site
        site.addsitedir(PEERS)
    try:
        import croniter
        import cronsim
    except ImportError as missing:
        raise unittest.SkipTest(f"there is no {missing.name}: 'pip install croniter cronsim' into a folder of its own, "
                                "and FOLIOT_PEERS=FOLDER") from missing
    return croniter, cronsim


class Peers(unittest.TestCase):
    """Where they are known to differ they are not asked: in fields that begin with * and a step (croniter takes either field of
    days for them), in the second pass of an overlap (croniter fires twice, cronsim before the time that it was asked for), and
    on days without midnight (cronsim loses what follows it). croniter is asked about days without changes of clocks only."""

    ROUNDS = 2000

    @classmethod
    def setUpClass(cls):
        cls.croniter, cls.cronsim = peers()

    def rounds(self, peer, zones, draw):
        """Questions whose answers a peer knows, with these answers."""
        questions, expected = [], []
        while len(questions) < self.ROUNDS:
            rule, name = random_rule(draw, peers=True), draw.choice(zones)
            begin = draw.randrange(1_451_606_400, 2_082_758_400, 60)
            zone = zoneinfo.ZoneInfo(name)
            try:
                times = peer(rule, datetime.fromtimestamp(begin, zone))
            except self.croniter.CroniterBadDateError:
                continue  # it gives up after 50 years, where a day comes more rarely, or never
            except self.cronsim.CronSimError:  # it refuses 31 June
                continue
            if times[-1] - begin > 30 * DAY or clock_changes(zone, begin - DAY, times[-1] + DAY):
                continue
            questions.append(question(rule, name, begin, len(times)))
            expected.append(times)
        return questions, expected

    def compare(self, peer, zones):
        questions, expected = self.rounds(peer, zones, random.Random(SEED))
        for each, got, times in zip(questions, answers(questions), expected, strict=True):
            with self.subTest(seed=SEED, question=each):
                self.assertEqual(got, times)

    def zones(self):
        known = system_zones()
        return [name for name in ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
                                  "Africa/Casablanca", "America/St_Johns", "Pacific/Apia") if name == "UTC" or name in known]

    def test_croniter(self):
        def ask(rule, begin):
            times = self.croniter.croniter(rule, begin, day_or=True)
            return [int(times.get_next(datetime).timestamp()) for _ in range(4)]
        self.compare(ask, self.zones())

    def test_cronsim(self):
        def ask(rule, begin):
            times = self.cronsim.CronSim(rule, begin)
            return [int(next(times).timestamp()) for _ in range(4)]
        self.compare(ask, self.zones())

    def test_cronsim_over_changes_of_clocks(self):
        """cronsim follows Debian's cron as well: fixed times in a gap are moved, and those of an overlap come once."""
        draw = random.Random(SEED + 1)
        questions, expected = [], []
        for name in ("Europe/Berlin", "America/New_York", "Europe/London", "Australia/Sydney"):
            zone = zoneinfo.ZoneInfo(name)
            for change in clock_changes(zone, 1_577_836_800, 1_893_456_000):
                for _ in range(20):
                    rule = random_rule(draw, peers=True)
                    begin = change - draw.randrange(2 * 3600 + 60, DAY, 60)  # before what an overlap repeats
                    try:
                        times = self.cronsim.CronSim(rule, datetime.fromtimestamp(begin, zone))
                        expected.append([int(next(times).timestamp()) for _ in range(6)])
                    except self.cronsim.CronSimError:  # it refuses 31 June
                        continue
                    questions.append(question(rule, name, begin, 6))
        for each, got, times in zip(questions, answers(questions), expected, strict=True):
            with self.subTest(seed=SEED, question=each):
                self.assertEqual(got, times)
        self.assertGreater(len(questions), 1000)


if __name__ == "__main__":
    main()
