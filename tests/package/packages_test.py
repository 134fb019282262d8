"""What packages of foliot say of it is what the sources say: versions, sonames, the interface of C, units, components.

`scripts/package` makes the packages and tries them; this only reads.
"""
import json
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text()


def version() -> str:
    return re.search(r'^#define FOLIOT_VERSION "(.*)"$', text("include/foliot/version.hpp"), re.M)[1]


class Packages(unittest.TestCase):
    def test_all_have_the_version(self):
        self.assertEqual(re.match(r"foliot \((.*)-[^-]*\) ", text("debian/changelog"))[1], version())
        self.assertEqual(json.loads(text("packaging/vcpkg/foliot/vcpkg.json"))["version-string"], version())
        pattern = re.search(r"re\.search\(r'(.*)', text", text("packaging/conan/conanfile.py"))[1]
        self.assertEqual(re.search(pattern, text("include/foliot/version.hpp"), re.M)[1], version())

    def test_libraries_have_the_soname_in_their_names(self):
        minor = version().rpartition(".")[0]
        names = re.findall(r"^Package: (lib\S+)$", text("debian/control"), re.M)
        for name in names:
            if name != "libfoliot-dev":
                self.assertTrue(name.endswith(minor), name)
                self.assertTrue((ROOT / f"debian/{name}.install").exists(), name)
                self.assertIn(f".so.{minor} {name} ", text(f"debian/{name}.symbols"))
        self.assertIn(f"find_package(foliot {minor})", text("docs/packages.md"))

    def test_each_library_is_in_a_package(self):
        layers = set(re.findall(r"^  add_library\(foliot_(\w+)$|^add_library\(foliot_(\w+)$", text("CMakeLists.txt"), re.M))
        layers = {one or other for one, other in layers}
        self.assertIn("jobs_embedded", layers)
        installed = "".join(path.read_text() for path in (ROOT / "debian").glob("libfoliot*0.*.install"))
        self.assertEqual(set(re.findall(r"libfoliot_(\w+)\.so\.\*", installed)), layers)
        symbols = "".join(path.read_text() for path in (ROOT / "debian").glob("*.symbols"))
        self.assertEqual(set(re.findall(r"^libfoliot_(\w+)\.so", symbols, re.M)), layers)
        of_conan = set(re.findall(r'"(\w+)": \[', re.search(r"^LAYERS = \{(.*?)\}", text("packaging/conan/conanfile.py"), re.M | re.S)[1]))
        self.assertEqual(of_conan - {"queue", "adapters"}, layers)  # which are headers alone

    def test_the_symbols_of_the_interface_of_c(self):
        code = re.sub(r"/\*.*?\*/", "", text("include/foliot/foliot.h"), flags=re.S)
        declared = set(re.findall(r"\b(foliot_\w+)\(", "\n".join(line for line in code.splitlines() if "FOLIOT_EXPORT" in line)))
        self.assertGreater(len(declared), 50)
        listed = set(re.findall(r"^ (foliot_\w+)@Base ", text(f"debian/libfoliot{version().rpartition('.')[0]}.symbols"), re.M))
        self.assertEqual(listed, declared)

    def test_the_units_are_changed_as_meant(self):
        rules = text("debian/rules")
        for unit in ["foliot.service", "foliot-node@.service"]:
            lines = text(f"packaging/systemd/{unit}").splitlines()
            self.assertEqual(lines.count("DynamicUser=yes"), 1, unit)
            self.assertEqual(sum("/usr/local/bin/foliot" in line for line in lines), 1, unit)
            self.assertFalse([line for line in lines if line.startswith(("User=", "PrivateTmp=", "RemoveIPC="))], unit)
            self.assertIn(unit, rules)
        self.assertIn("StateDirectory=foliot", text("packaging/systemd/foliot.service").splitlines())

    def test_the_scripts_of_the_package_are_for_any_shell(self):
        for name in ["postinst", "postrm"]:
            subprocess.run(["sh", "-n", ROOT / f"debian/foliot.{name}"], check=True)

    def test_wrong_arguments(self):
        for arguments, sentence in [(["--drift"], "there is no option '--drift'"), (["a", "b"], "one folder, not 'a' and 'b'")]:
            done = subprocess.run([ROOT / "scripts/package", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(sentence, done.stderr)
        done = subprocess.run([ROOT / "scripts/package", "--help"], capture_output=True, text=True, check=True)
        self.assertIn("--twice", done.stdout)


if __name__ == "__main__":
    unittest.main()
