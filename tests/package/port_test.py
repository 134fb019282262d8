"""The script that builds foliot elsewhere, with tools that only write down how they were called."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RESULTS = """<testsuite><testcase name="core_test/a" status="run"/><testcase name="core_test/b" status="run"/>
<testcase name="queue_test/c" status="{last}"/></testsuite>"""
RECORD = '#!/bin/sh\necho "$(basename "$0") $*" >>"$RECORD"\n'
CTEST = """while [ $# -gt 0 ]; do [ "$1" != --output-junit ] || cp "$RESULTS" "$2"; shift; done\n"""


class Port(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="foliot-port-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.root = self.scratch / "root"
        for each in ("port", "lib/say.sh", "lib/packages.sh", "lib/build.sh", "lib/results.sh"):
            (self.root / "scripts" / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / "scripts" / each, self.root / "scripts" / each)
        (self.root / "CMakePresets.json").write_text("{}")
        (self.scratch / "os").write_text("ID=debian\nVERSION_ID=12\n")
        self.tools = self.scratch / "tools"
        self.tools.mkdir()
        self.record = self.scratch / "record"
        self.record.write_text("")
        for name, does in {
                "cmake": "", "ninja": "", "ccache": "", "ctest": CTEST, "dpkg": "", "dpkg-query": "exit 1\n", "apt-get": "",
                "mine++": "echo mine 1.0\n", "aarch64-linux-gnu-g++": "echo cross 1.0\n", "clang++-19": "echo clang 19\n",
                "sudo": 'shift\nexec "$@"\n'}.items():
            self.tool(name, does)
        self.results(last="run")
        self.environment = {
            "PATH": f"{self.tools}:{os.environ['PATH']}", "HOME": str(self.scratch), "RECORD": str(self.record),
            "RESULTS": str(self.scratch / "results"), "FOLIOT_OS_RELEASE": str(self.scratch / "os")}

    def tool(self, name, does):
        (self.tools / name).write_text(RECORD + does)
        (self.tools / name).chmod(0o755)

    def results(self, last):
        (self.scratch / "results").write_text(RESULTS.format(last=last))

    def port(self, *arguments, code=0, any_system=True):
        environment = self.environment | ({"FOLIOT_ANY_SYSTEM": "1"} if any_system else {})
        done = subprocess.run([self.root / "scripts/port", *arguments], env=environment, capture_output=True, text=True,
                              cwd=self.scratch, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def called(self, tool):
        return [line for line in self.record.read_text().splitlines() if line.startswith(tool + " ")]

    def test_says_what_it_has(self):
        self.assertIn("usage: scripts/port aarch64 | libc++ | COMPILER", self.port("--help").stdout)
        self.assertIn("usage: ", self.port(code=2).stdout)
        self.assertIn("there is no compiler 'none++': write aarch64, libc++,", self.port("none++", code=2).stderr)
        self.assertIn("unknown part 'all': write some of: core schedule", self.port("aarch64", "core", "all", code=2).stderr)
        self.assertIn("there is no option '--all'", self.port("--all", code=2).stderr)
        self.assertEqual(self.record.read_text(), "")

    def test_builds_and_counts(self):
        done = self.port("aarch64", "core", "queue")
        self.assertEqual(done.stdout.splitlines()[-1], "3 passed, 0 failed, 0 skipped")
        self.assertIn("aarch64, cross 1.0: core queue, in", done.stdout)
        configure, build = self.called("cmake")
        self.assertEqual(configure, "cmake --preset aarch64")
        self.assertTrue(build.endswith("--target core_test fast_math_test gnu_dialect_test queue_test"), build)
        self.assertIn("--tests-regex ^(core_test|fast_math_test|gnu_dialect_test|queue_test)/ ", self.called("ctest")[0])

    def test_a_failure_is_counted(self):
        self.results(last="fail")
        done = self.port("aarch64", code=1)
        self.assertEqual(done.stdout.splitlines()[-1], "2 passed, 1 failed, 0 skipped")
        self.assertIn("failed: queue_test/c", done.stdout)
        self.tool("cmake", "exit 1\n")
        self.assertEqual(self.port("aarch64", code=1).stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_no_test_is_a_failure(self):
        (self.scratch / "results").write_text("<testsuite/>")
        self.tool("ctest", CTEST + "exit 8\n")
        self.assertEqual(self.port("mine++", code=1).stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_another_compiler_begins_anew(self):
        done = self.port("mine++", "core")
        self.assertIn("warnings of the compiler in this build: 0", done.stdout)
        made = self.root / "build/port/made"
        made.write_text("")
        self.port("mine++", "core")
        self.assertTrue(made.exists())
        self.tool("yours++", "echo yours 1.0\n")
        self.port("yours++", "core")
        self.assertFalse(made.exists())

    def test_adds_the_architecture_and_says_so_before(self):
        done = self.port("aarch64", "core", any_system=False)
        self.assertIn("will tell dpkg and apt that packages of the architecture arm64 may be installed", done.stderr)
        self.assertIn("will install 16 Debian packages: g++ cmake ", done.stderr)
        self.assertIn("dpkg --add-architecture arm64", self.called("dpkg"))
        install = self.called("apt-get")[-1]
        for package in ("qemu-user", "g++-aarch64-linux-gnu", "libc6:arm64", "librapidcheck-dev:arm64"):
            self.assertIn(f" {package}", install)


if __name__ == "__main__":
    unittest.main()
