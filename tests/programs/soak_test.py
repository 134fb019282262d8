"""`scripts/run soak`, behind its build: what passes, fails and is missing, with programs that are scripts."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kit.program_case import main

SOAK = Path(__file__).resolve().parent.parent.parent / "scripts/soak"


class Soak(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        (self.build / "CTestTestfile.cmake").write_text(
            f'add_test(serve/crash_test/Crash sh {self.build}/crash)\n'
            'set_tests_properties(serve/crash_test/Crash PROPERTIES ENVIRONMENT "GREETING=hello")\n')

    def put(self, name, text):
        path = self.build / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def soak(self, *options):
        return subprocess.run([sys.executable, "-B", SOAK, "--build", self.build, "--logs", self.build / "logs", "--rounds", "2", *options],
                              capture_output=True, text=True, check=False, timeout=60)

    def test_each_run_has_another_seed(self):
        self.put("tests/queue/queue_test", f'echo "$RC_PARAMS $1" >> {self.build}/seen')
        done = self.soak("--only", "queue")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        seen = (self.build / "seen").read_text().splitlines()
        self.assertEqual(len(set(seen)), 2)
        self.assertRegex(seen[0], r"^seed=\d+ max_success=300 --gtest_filter=Random\*$")
        self.assertIn("0 failed", done.stdout)

    def test_the_same_seed_chooses_the_same_seeds(self):
        self.put("tests/queue/queue_test", f'echo "$RC_PARAMS" >> {self.build}/seen')
        self.soak("--only", "queue", "--seed", "7")
        self.soak("--only", "queue", "--seed", "7")
        seen = (self.build / "seen").read_text().splitlines()
        self.assertEqual(seen[:2], seen[2:])

    def test_a_failure_is_told_and_kept_with_its_command(self):
        self.put("tests/queue/queue_test", "echo it is wrong; exit 1")
        done = self.soak("--only", "queue")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("failed: queue: queue_test Random*, seed ", done.stdout)
        log = next((self.build / "logs").glob("queue_test-*.log")).read_text()
        self.assertIn("it is wrong", log)
        self.assertRegex(log.splitlines()[0], r"'RC_PARAMS=seed=\d+ max_success=300'")

    def test_a_test_in_python_has_the_variables_of_ctest(self):
        self.put("bin/foliot", "")
        self.put("crash", f'echo "$GREETING $FOLIOT_CRASH_SEED" >> {self.build}/seen; exit 77')
        done = self.soak("--only", "crash_test")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex((self.build / "seen").read_text(), r"^hello \d+\n")
        self.assertRegex(done.stdout, r"serve/crash_test/Crash +2 +2 +0 ")

    def test_what_is_not_built_is_left_out_and_nothing_is_an_error(self):
        done = self.soak("--only", "queue")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing to play", done.stderr)


if __name__ == "__main__":
    main()
