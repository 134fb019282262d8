"""`scripts/run cluster`, behind its build: three nodes over PostgreSQL, with all faults, and what it leaves behind."""
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from kit import postgresql_server
from kit.program_case import main

ROOT = Path(__file__).resolve().parents[3]

# Nothing here depends on the speed of the machine: a node that waits for a processor for so long is taken for dead.
NODE_TIMEOUT = 10
PATIENCE = 300  # seconds


class Packages(unittest.TestCase):
    def test_what_it_starts_and_shows_is_installed_first(self):
        script = '. "$root/scripts/lib/packages.sh"; echo "${cluster_packages[@]}"'
        installed = subprocess.run(["bash", "-euc", script], env=os.environ | {"root": str(ROOT)}, check=True, text=True,
                                   stdout=subprocess.PIPE).stdout.split()
        source = "".join(each.read_text() for each in (ROOT / "scripts" / "cluster").glob("*.py"))
        for command, package in {"nc": "netcat-openbsd", "psql": "postgresql-15"}.items():
            self.assertRegex(source, rf"\b{command} ")
            self.assertIn(package, installed)


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class Cluster(unittest.TestCase):
    def start(self, *arguments):
        first_port = random.SystemRandom().randrange(12000, 30000)  # another test may run at the same time
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "scripts" / "cluster"), "--rate", "20", "--node-timeout", str(NODE_TIMEOUT),
             "--port", str(first_port), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def start_under_load(self, *arguments):
        """The process, and what it has printed until its first clients are at work."""
        process = self.start(*arguments)
        printed = ""
        while "   1 s " not in printed:
            line = process.stdout.readline()
            self.assertNotEqual(line, "", printed)
            printed += line
        return process, printed

    def expect_end(self, process, code, printed=""):
        out, err = process.communicate(timeout=PATIENCE)
        printed += out
        print(printed + err)
        self.assertEqual((process.returncode, err), (code, ""))
        self.expect_nothing_left(printed)
        return printed

    def expect_nothing_left(self, printed):
        folders = re.search(r"host=(/tmp/[^,]+),(/tmp/[^&]+)&", printed).groups()
        until = time.monotonic() + PATIENCE
        while any(map(os.path.exists, folders)) or self.processes_with(folders):
            self.assertLess(time.monotonic(), until, f"left behind: {folders} {self.processes_with(folders)}")
            time.sleep(0.1)

    @staticmethod
    def processes_with(folders):
        """The nodes and servers: command lines with these folders."""
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                command = (each / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            except OSError:
                continue
            if any(folder in command for folder in folders):
                found.append(command)
        return found

    def test_all_faults(self):
        out = self.expect_end(self.start("--seconds", 1), 0)
        for words in ["kill -9 of web", "starts again", "SIGSTOP of web", "SIGCONT of web", "the primary db1 crashes",
                      "db2 is the primary", "db1 is made again", "was killed", "hung", "db1 crashed", "All promises held."]:
            self.assertIn(words, out)
        self.assertNotIn("BROKEN", out)

    def test_a_lost_job_is_found(self):
        out = self.expect_end(self.start("--seconds", 3, "--faults", "none", "--lose-one"), 1)
        self.assertRegex(out, r"BROKEN  nothing that was acknowledged is lost\n +job \d+ was acknowledged, no worker got it")
        self.assertIn("A promise was BROKEN.", out)

    def test_an_interrupt_ends_the_load_and_checks(self):
        process, printed = self.start_under_load("--seconds", 0, "--faults", "kill")
        process.send_signal(signal.SIGINT)
        self.assertIn("All promises held.", self.expect_end(process, 0, printed))

    def test_a_killed_cluster_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            process, printed = self.start_under_load("--seconds", 0, "--faults", "stop")
            process.send_signal(number)
            code = process.wait(PATIENCE)
            self.assertEqual(code, 128 + number if number == signal.SIGTERM else -number, process.stderr.read())
            self.expect_nothing_left(printed)

    def test_wrong_options(self):
        for arguments, sentence in [(["--faults", "flood"], "unknown fault 'flood'"), (["--rate", "0"], "0 is not from 1")]:
            process = self.start(*arguments)
            _, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 2)
            self.assertIn(sentence, err)


if __name__ == "__main__":
    main()
