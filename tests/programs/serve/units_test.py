"""systemd understands the units of packaging/systemd."""
import shutil
import subprocess
import unittest
from pathlib import Path

from kit.program_case import FOLIOT, ProgramCase, main

ROOT = Path(__file__).resolve().parents[3]
UNITS = ROOT / "packaging" / "systemd"
INSTALLED = "/usr/local/bin/foliot"


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed (Debian: systemd)")
class Units(ProgramCase):
    def findings(self, unit, name, change=("", "")):
        """What systemd-analyze says of the unit under that name, which an instance of a template has."""
        text = (UNITS / unit).read_text()
        self.assertIn(f"ExecStart={INSTALLED} serve ", text)
        path = self.here / name
        path.write_text(text.replace(INSTALLED, str(Path(FOLIOT).resolve())).replace(*change))  # it wants a program
        done = subprocess.run(["systemd-analyze", "verify", str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        # It also looks at units that these need, and at their programs, which are not ours.
        found = [line for line in done.stdout.splitlines() if name.partition(".")[0] in line]
        self.assertTrue(found or done.returncode == 0, done.stdout)
        return found

    def test_the_server(self):
        self.assertEqual(self.findings("foliot.service", "foliot.service"), [])

    def test_a_node(self):
        self.assertEqual(self.findings("foliot-node@.service", "foliot-node@11300.service"), [])

    def is_closed(self, unit, left_out=""):
        """Whether systemd-analyze takes the service for well closed in; without its lines that begin like this."""
        path = self.here / unit.replace("@", "@11300")
        lines = (UNITS / unit).read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not left_out or not line.startswith(left_out)))
        done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=16", str(path)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
        self.assertIn("Overall exposure level", done.stdout)
        return done.returncode == 0

    def test_the_services_are_closed_in(self):
        for unit in ["foliot.service", "foliot-node@.service"]:
            self.assertTrue(self.is_closed(unit), unit)
            for line in ["CapabilityBoundingSet=", "SystemCallFilter=", "RestrictNamespaces="]:
                self.assertFalse(self.is_closed(unit, line), (unit, line))

    def test_no_program_gets_a_core_dump_of_them(self):
        for unit in ["foliot.service", "foliot-node@.service"]:  # with 0 the kernel would start such a program
            self.assertIn("LimitCORE=1", (UNITS / unit).read_text().splitlines(), unit)

    def test_a_wrong_unit_is_found(self):
        for change in [("RestartSec=", "RestartTime="), ("Type=notify", "Type=polite"), ("ExecStart=", "ExecStart=/no")]:
            self.assertNotEqual(self.findings("foliot-node@.service", "foliot-node@11300.service", change), [], change)


if __name__ == "__main__":
    main()
