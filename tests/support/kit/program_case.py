"""Running the program `foliot` in a test: the one that the environment variable FOLIOT names."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLIOT = os.environ.get("FOLIOT", "foliot")


def default_signals():
    """In the child: a shell may have started this test with signals ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class ProgramCase(unittest.TestCase):
    """Each test runs in a directory of its own."""
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = Path(folder.name)

    def put(self, name, data):
        (self.here / name).write_bytes(data)
        return name

    def names(self):
        return sorted(path.name for path in self.here.iterdir())

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([FOLIOT, *map(str, arguments)], cwd=self.here, **options)

    def run_foliot(self, *arguments, given=None, **options):
        if given is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as process:
            out, err = process.communicate(given)
        return process.returncode, (out or b"").decode(), (err or b"").decode()

    def expect_done(self, *arguments, **options):
        code, out, err = self.run_foliot(*arguments, **options)
        self.assertEqual((code, err), (0, ""))
        return out

    def expect_error(self, sentence, *arguments, code=2, **options):
        """One line on standard error that contains the sentence, and nothing else."""
        result, out, err = self.run_foliot(*arguments, **options)
        self.assertRegex(err, r"\Afoliot: [^\n]+\n\Z")
        self.assertIn(sentence, err)
        self.assertEqual((result, out), (code, ""))


def main():
    """Runs the classes that the command line names; exit code 77 if all of them are skipped."""
    name = Path(sys.argv[0]).name
    result = unittest.main(argv=[name, "-v", *sys.argv[1:]], exit=False).result
    # A class that is skipped counts as no test run, a test that is skipped as one.
    skipped = sum(isinstance(test, unittest.TestCase) and not isinstance(test, unittest.case._SubTest)
                  for test, _ in result.skipped)
    if result.skipped and result.testsRun <= skipped and result.wasSuccessful():
        # In the words of GoogleTest, since logs have both.
        print("\n".join(f"{name}: Skipped\n{reason}" for _, reason in result.skipped), file=sys.stderr)
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
