"""bench/database_costs.py says which programs it lacks, and bench/measure_nodes.py counts the batches that write; no speed
is measured."""
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

from kit import postgresql_server
from kit.beanstalk_client import PATIENCE
from kit.program_case import FOLIOT, main
import measure_nodes
from server_usage import ServerUsage

BENCH = Path(__file__).resolve().parents[3] / "bench"


class MissingPrograms(unittest.TestCase):
    def test_the_error_says_what_to_build(self):
        with tempfile.TemporaryDirectory() as folder:
            for missing, there in [("foliot", None), ("foliot-bench", "foliot")]:
                if there:
                    (Path(folder) / there).symlink_to(FOLIOT)
                done = subprocess.run([sys.executable, "-B", BENCH / "database_costs.py", "--program", Path(folder) / "foliot"],
                                      capture_output=True, text=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"there is no {folder}/{missing}: build it with `cmake ", done.stderr)
                self.assertIn(f" --target {missing}`", done.stderr)


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class MeasuredNodes(unittest.TestCase):
    def test_batches_that_write_are_counted(self):
        server = postgresql_server.PostgresqlServer()
        self.addCleanup(server.remove)
        subprocess.run([FOLIOT, "serve", "--store", server.database, "--migrate"], check=True, stdout=subprocess.DEVNULL)
        options = types.SimpleNamespace(program=FOLIOT, workers=4, seconds=4)
        got = measure_nodes.measure(options, server, ServerUsage(server), 1, 50)
        self.assertGreater(got["finished"], 0)
        self.assertGreater(got["writes"], 1)


if __name__ == "__main__":
    main()
