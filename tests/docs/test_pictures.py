"""The pictures that a script makes are what it makes today."""
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

PICTURES = Path(__file__).parents[2] / "docs/pictures"


class Pictures(unittest.TestCase):
    def test_each_is_what_its_script_prints(self):
        scripts = sorted(PICTURES.glob("*.py"))
        self.assertTrue(scripts)
        for script in scripts:
            printed = subprocess.run([sys.executable, "-B", script], check=True, capture_output=True, text=True).stdout
            self.assertEqual(script.with_suffix(".svg").read_text(), printed, script.name)
            xml.etree.ElementTree.fromstring(printed)


if __name__ == "__main__":
    unittest.main()
