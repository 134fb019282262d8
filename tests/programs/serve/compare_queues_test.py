"""bench/compare_queues.py refuses wrong arguments, its medians and targets are right, and foliot's contestants finish what
they should; no speed is measured."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from compare_queues import Results
from kit import postgresql_server
from kit.beanstalk_client import PATIENCE
from kit.program_case import FOLIOT, main

COMMAND = Path(__file__).resolve().parents[3] / "bench" / "compare_queues.py"


def filled(*turns):
    results = Results(None)
    for number, (workload, name, figures) in enumerate(turns):
        results.turns.append({"workload": workload, "contestant": name, "turn": number} | figures)
    return results


class CompareQueues(unittest.TestCase):
    def test_wrong_arguments(self):
        for sentence, arguments in (
                ("there is no 'kafka': choose of river, ", ["--only", "river,kafka"]),
                ("there is no 'puts': choose of backlog, ", ["--workloads", "puts"]),
                ("'0' is not a whole number above 0", ["--turns", "0"]),
                ("'x' is not a whole number above 0", ["--jobs", "x"]),
                ("there is no nowhere/foliot: build it", ["--program", "nowhere/foliot"]),
                ("there is no folder nowhere", ["--json", "nowhere/queues.json"])):
            with self.subTest(arguments):
                done = subprocess.run([sys.executable, "-B", COMMAND, *arguments], capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(sentence, done.stderr)

    def test_a_figure_is_the_median_of_the_turns(self):
        results = filled(*(("backlog", "foliot", {"rate": rate}) for rate in (5, 100, 7)), ("flow", "foliot", {"rate": 1}))
        self.assertEqual(results.median("backlog", "foliot", "rate"), 7)
        self.assertIsNone(results.median("far", "with", "rate"))

    def test_targets(self):
        late = {"rate": 1000, "p99": 19.9}
        results = filled(("backlog", "river", {"rate": 1000}), ("backlog", "graphile-prefetch", {"rate": 4000}),
                         ("backlog", "foliot", {"rate": 2000}), ("backlog", "foliot-3", {"rate": 1999}),
                         ("lateness", "foliot", late), ("lateness", "river", late),
                         ("far", "without", {"rate": 100}), ("far", "with", {"rate": 90}))
        self.assertEqual({each["what"]: (each["measured"], each["reached"]) for each in results.targets()}, {
            "backlog, foliot against river, the best that does not prefetch": (2, True),
            "backlog, foliot against graphile-prefetch": (0.5, False),
            "backlog, foliot-3 against river, the best that does not prefetch": (1.999, False),
            "backlog, foliot-3 against graphile-prefetch": (1999 / 4000, False),
            "backlog, foliot-3 against foliot": (1999 / 2000, False),
            "lateness, foliot, p99 in ms": (19.9, True),
            "backlog beside a million far jobs, against none": (0.9, True)})


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class OwnContestants(unittest.TestCase):
    def turns(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "queues.json"
            subprocess.run([sys.executable, "-B", COMMAND, "--program", FOLIOT, "--json", written, "--turns", "1", *options],
                           check=True, timeout=5 * PATIENCE, stdout=subprocess.DEVNULL)
            return json.loads(written.read_text())["turns"]

    def test_they_finish_what_is_put(self):
        names = ["foliot-3", "foliot-both", "foliot-library", "foliot-library-both"]
        turns = self.turns("--workloads", "backlog", "--jobs", "1500", "--only", ",".join(names))
        self.assertEqual([(each["contestant"], each["jobs"]) for each in turns], [(name, 1500) for name in names])

    def test_jobs_flow_through_the_library(self):
        turns = self.turns("--workloads", "flow", "--stock", "500", "--seconds", "4", "--only", "foliot-library")
        self.assertGreater(turns[0]["jobs"], 0)


if __name__ == "__main__":
    main()
