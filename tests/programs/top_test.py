"""`foliot top`, beside a program that shows its timers or its tasks, on virtual time; and the probes that a tracer finds."""
import contextlib
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

from kit.program_case import FOLIOT, ProgramCase, main

SHOWN = os.environ.get("FOLIOT_SHOWN_TIMERS", "shown_timers")

AT_FIRST = """\
foliot top of timers
pending                          1,000
peak pending                     1,001
shards                               1

                                 total
started                          1,001
reset                                1
stopped                              1
fired                                0
skipped                              0
dropped                              0
refused                              0
woken early                          0
wake-ups with work                   0
wake-ups without work                0
"""


NO_COUNTS = b"".join(b"%s 0\n" % name for name in (
    b"spawned", b"turns", b"spent_turns", b"fired", b"steals", b"stolen", b"parks", b"polls", b"rounds", b"rescues",
    b"tasks", b"running", b"ready", b"descriptor_waits", b"timers", b"blocking_calls", b"blocking_threads",
    b"processors", b"idle"))


class TopCase(ProgramCase):
    def run_foliot(self, *arguments, **options):
        """Again, at most twice, where the other side got no processor for as long as `foliot top` waits."""
        for _ in range(3):
            code, out, err = super().run_foliot(*arguments, **options)
            if "has not answered within" not in err and "it comes too slowly" not in err:
                break
        return code, out, err

    def show(self, *arguments, path="timers"):
        """A program that shows its timers at the path, and ends with the test."""
        process = subprocess.Popen([SHOWN, path, *arguments], cwd=self.here,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def advance(self, process):
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"advanced\n")

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.communicate()

    def answer_with(self, *texts):
        """A listener that sends these texts to one client each, and the only or last one to all others; after a None it
        ends, and leaves its socket."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.here / "odd"))
        listener.listen()
        child = os.fork()
        if child == 0:
            try:
                for text in itertools.chain(texts, itertools.repeat(texts[-1])):
                    if text is None:
                        break
                    with listener.accept()[0] as connection, contextlib.suppress(ConnectionError):
                        connection.sendall(text)
            finally:
                os._exit(1)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)  # before the wait
        listener.close()  # in this process; the child keeps it


class TopOnce(TopCase):
    def test_counters(self):
        self.show()
        out = self.expect_done("top", "timers", "--once")
        self.assertEqual(out, AT_FIRST + "\nlateness and callback time are not measured there\n")

    def test_what_was_measured(self):
        shown = self.show("measure")
        self.advance(shown)
        self.advance(shown)
        out = self.expect_done("top", "timers", "--once")
        self.assertRegex(out, r"fired +1,0[12]\d\n")
        self.assertRegex(out, r"\n {31}p50 {9}p99 {7}p99\.9 {9}max\n")
        self.assertRegex(out, r"\ncallback time {14}40\.\d us {5}40\.\d us {5}40\.\d us {5}40\.0 us\n")

    def test_a_table_that_cannot_be_written_is_an_error(self):
        self.show()
        for arguments in (["--once"], ["--prometheus"], ["--interval", "1ms"]):
            with open("/dev/full", "wb") as full:
                code, _, err = self.run_foliot("top", "timers", *arguments, stdout=full)
            self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': No space left on device\n"), arguments)

    def test_the_socket_goes_with_the_program(self):
        shown = self.show()
        self.assertEqual(self.names(), ["timers"])
        self.end(shown)
        self.assertEqual(self.names(), [])
        self.expect_error("there is no 'timers': no program shows its timers there", "top", "timers", "--once")


class TopAgainAndAgain(TopCase):
    def test_until_the_program_ends(self):
        shown = self.show("measure")
        with self.start("top", "timers", "--interval", "1ms") as top:
            seen = b""
            while seen.count(b"foliot top of timers\n") < 3:
                seen += top.stdout.readline()
            self.advance(shown)
            while not re.search(rb"fired +[1-9]", seen):
                seen += top.stdout.readline()
            self.end(shown)
            out, err = top.communicate()
        self.assertEqual((top.returncode, err), (0, b"foliot: the program that was shown at 'timers' has ended\n"))
        tables = (seen + out).decode().split("foliot top of timers\n")[1:]
        self.assertNotIn("a second", tables[0])
        for table in tables[1:]:
            self.assertIn("a second", table)
        self.assertNotIn("\x1b", "".join(tables), "it is no terminal")

    def test_until_a_program_is_killed_that_closes_its_socket_late(self):
        self.show()
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(self.here / "timers"))
            statistics = b"".join(iter(lambda: asking.recv(1 << 16), b""))
        self.answer_with(statistics, statistics, *[b""] * 5, None)
        _, _, err = self.run_foliot("top", "odd", "--interval", "1ms")
        self.assertEqual(err, "foliot: no process listens at 'odd': the program that did has ended\n")

    def test_until_the_program_is_killed(self):
        shown = self.show()
        with self.start("top", "timers", "--interval", "1ms") as top:
            while b"a second" not in top.stdout.readline():
                pass
            shown.kill()
            shown.communicate()
            _, err = top.communicate()
        self.assertEqual((top.returncode, err),
                         (2, b"foliot: no process listens at 'timers': the program that did has ended\n"))


class TopErrors(TopCase):
    def test_no_such_path(self):
        self.expect_error("there is no 'none'", "top", "none", "--once")

    def test_no_socket(self):
        self.put("file", b"")
        self.expect_error("'file' is no socket: no program shows its timers there", "top", "file", "--once")

    def test_nobody_listens(self):
        left_behind = socket.socket(socket.AF_UNIX)
        left_behind.bind(str(self.here / "stale"))
        left_behind.close()
        self.expect_error("no process listens at 'stale': the program that did has ended", "top", "stale", "--once")

    def test_a_long_path(self):
        self.expect_error("cannot be the path of a socket", "top", "x" * 200, "--once")
        self.expect_error("cannot be the path of a socket", "top", "", "--once")

    def test_another_service(self):
        self.answer_with(b"220 mail ready\r\n")
        self.expect_error("the answer of 'odd' cannot be read: the text does not begin with 'foliot-statistics'",
                          "top", "odd", "--once")

    def test_another_version(self):
        self.answer_with(b"foliot-statistics 99\nend\n")
        self.expect_error("of another version of foliot", "top", "odd", "--once")

    def test_an_answer_with_escape_sequences(self):
        self.answer_with(b"foliot-statistics 1\nstarted \x1b]0;pwned\x07\x1b[31mx\nend\n")
        self.expect_error(r"malformed line: '\x1b]0;pwned\x07\x1b[31mx'", "top", "odd", "--once")

    def test_an_answer_with_a_long_line(self):
        self.answer_with(b"foliot-statistics 1\n" + b"x" * 900_000 + b"\nend\n")
        code, out, err = self.run_foliot("top", "odd", "--once")
        self.assertEqual((code, out), (2, ""))
        self.assertLess(len(err), 300)

    def test_a_path_with_escape_sequences(self):
        self.expect_error(r"there is no 'a\x1b[2J\x0ab'", "top", "a\x1b[2J\nb", "--once")
        shown = self.show(path="a\x1b[2J")
        self.assertTrue(self.expect_done("top", "a\x1b[2J", "--once").startswith("foliot top of a\\x1b[2J\n"))
        self.end(shown)

    def test_cut_short(self):
        self.answer_with(b"foliot-statistics 1\nstarted 5\n")
        self.expect_error("cut short", "top", "odd", "--once")

    def test_arguments(self):
        self.expect_error("PATH", "top")
        self.expect_error("--interval", "top", "timers", "--interval", "0s")
        self.expect_error("--interval", "top", "timers", "--interval", "soon")
        self.expect_error("--once", "top", "timers", "--once", "--interval", "1s")

    def test_two_programs_at_one_path(self):
        self.show()
        second = subprocess.run([SHOWN, "timers"], cwd=self.here, stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual((second.returncode, second.stdout), (1, b""))
        self.assertIn(b"'timers': another socket listens there", second.stderr)
        self.assertTrue(self.expect_done("top", "timers", "--once"))

    def test_a_program_that_was_killed_leaves_a_path_that_the_next_takes(self):
        first = self.show()
        first.kill()
        first.communicate()
        self.expect_error("no process listens at 'timers'", "top", "timers", "--once")
        self.show()
        self.assertTrue(self.expect_done("top", "timers", "--once"))

    def test_a_runtime_that_has_ended(self):
        self.answer_with(b"")
        self.expect_error("the answer of 'odd' is empty: the runtime that it shows has ended", "top", "odd", "--once")


class Tasks(TopCase):
    def test_what_the_tasks_do(self):
        shown = self.show("runtime")
        self.advance(shown)
        out = self.expect_done("top", "timers", "--once")
        self.assertRegex(out, r"\Afoliot top of timers\ntasks +1,002\n  running +1\n  ready +0\n  waiting +1,001\n")
        self.assertRegex(out, r"\ntasks spawned +1,002\n")
        self.assertRegex(out, r"\ntimers fired +1[01]\n")
        self.assertIn("\nlateness, queue time and turn time are not measured there\n", out)
        self.assertRegex(out, r"\n {7}tasks  name +what they do\n"
                              r" {7}1,000  session +waiting in a sleep at shown_timers\.cpp:\d+\n")
        self.assertRegex(out, r"\n {11}1  main +running, after shown_timers\.cpp:\d+\n")

    def test_what_was_measured(self):
        shown = self.show("runtime", "measure")
        self.advance(shown)
        out = self.expect_done("top", "timers", "--once")
        self.assertRegex(out, r"\nturns of tasks +0 ns +0 ns +40\.0 us +40\.0 us\n")
        self.assertRegex(out, r"\n {7}1,000  session +1\.00 s  waiting in a sleep at shown_timers\.cpp:\d+\n")

    def test_again_and_again(self):
        shown = self.show("runtime")
        with self.start("top", "timers", "--interval", "1ms") as top:
            seen = b""
            while seen.count(b"a second") < 2:
                seen += top.stdout.readline()
            self.end(shown)
            top.communicate()
        self.assertEqual(top.returncode, 0)

    def test_more_groups_than_a_table_shows(self):
        groups = b"".join(b"task 1 waiting other - a.cpp:%d 'x'\n" % i for i in range(20))
        self.answer_with(b"foliot-runtime 1\n" + NO_COUNTS + groups + b"end\n")
        out = self.expect_done("top", "odd", "--once")
        self.assertEqual(out.count("waiting at a.cpp"), 15)
        self.assertTrue(out.endswith("\n           5  more groups\n"), out)

    def test_an_answer_with_escape_sequences(self):
        self.answer_with(b"foliot-runtime 1\nspawned \x1b]0;pwned\x07\nend\n")
        self.expect_error(r"malformed line: '\x1b]0;pwned\x07'", "top", "odd", "--once")


    def test_the_jobs_of_a_server(self):
        runtime = b"foliot-runtime 1\n" + NO_COUNTS + b"end\n"
        self.answer_with(runtime + b"foliot-jobs 1\nend\n")
        self.assertRegex(self.expect_done("top", "odd", "--once"),
                         r"\Afoliot top of odd\ntubes with jobs +-\njobs ready +-\n  delayed +-\n(.+\n)+"
                         r"\nthe store does not answer, or its jobs cannot be counted quickly\n\ntasks +0\n")
        self.assertIn("foliot_runtime_turns_total 0", self.expect_done("top", "odd", "--prometheus"))

    def test_a_server_of_another_version(self):
        self.answer_with(b"foliot-runtime 1\n" + NO_COUNTS + b"end\nfoliot-jobs 2\nend\n")
        self.expect_error("are not those of the jobs of a server of this version", "top", "odd", "--once")


class Prometheus(TopCase):
    """Read by Prometheus' own parser for Python."""

    @classmethod
    def setUpClass(cls):
        # Debian's package is for Debian's interpreter, which need not be the one that runs this.
        sys.path.append("/usr/lib/python3/dist-packages")  # tidy: allow(python-path) a package of the system
        try:
            from prometheus_client import parser
        except ImportError as error:
            raise unittest.SkipTest("there is no prometheus_client (Debian: python3-prometheus-client)") from error
        cls.parse = staticmethod(lambda text: {f.name: f for f in parser.text_string_to_metric_families(text)})

    def families(self, *arguments):
        shown = self.show(*arguments)
        self.advance(shown)
        self.advance(shown)
        text = self.expect_done("top", "timers", "--prometheus")
        self.assertTrue(text.endswith("\n"))
        heads = re.findall(r"^# (HELP|TYPE) (\w+) ", text, re.M)
        self.assertEqual(len(heads), len(set(heads)), "each family is introduced once")
        for name, family in (found := self.parse(text)).items():
            self.assertTrue(family.documentation, name)
            self.assertNotEqual(family.type, "unknown", name)
        return found

    def test_a_runtime(self):
        families = self.families("runtime", "measure")
        states = {s.labels["state"]: s.value for s in families["foliot_runtime_tasks"].samples}
        self.assertEqual(states, {"running": 1, "ready": 0, "waiting": 1001})
        turns = families["foliot_runtime_turns"].samples[0].value
        within = {s.name: s.value for s in families["foliot_runtime_turn_seconds"].samples}
        self.assertEqual(within["foliot_runtime_turn_seconds_count"], turns - 1, "all but the present one")

    def test_counters_and_gauges(self):
        families = self.families()
        self.assertNotIn("foliot_lateness_seconds", families)
        values = {s.name: s.value for f in families.values() for s in f.samples}
        self.assertEqual(values["foliot_timers_started_total"], 1001)
        self.assertEqual(values["foliot_timers_stopped_total"], 1)
        self.assertEqual(values["foliot_timers_pending"], 2)
        for family in families.values():
            self.assertIn(family.type, ("counter", "gauge"))
            self.assertEqual(family.type == "counter", family.samples[0].name.endswith("_total"))

    def test_histograms(self):
        families = self.families("measure")
        fired = families["foliot_timers_fired"].samples[0].value
        for name in ("foliot_lateness_seconds", "foliot_callback_seconds"):
            family = families[name]
            self.assertEqual(family.type, "histogram")
            buckets = [s for s in family.samples if s.name == name + "_bucket"]
            bounds = [float(s.labels["le"]) for s in buckets]
            self.assertEqual(bounds, sorted(set(bounds)))
            self.assertEqual(buckets[-1].labels["le"], "+Inf")
            counts = [s.value for s in buckets]
            self.assertEqual(counts, sorted(counts), "cumulative")
            rest = {s.name: s.value for s in family.samples if s.name != name + "_bucket"}
            self.assertEqual(set(rest), {name + "_sum", name + "_count"})
            self.assertEqual(rest[name + "_count"], counts[-1])
            self.assertEqual(counts[-1], fired)
        spent = families["foliot_callback_seconds"].samples[-2]
        self.assertEqual(spent.name, "foliot_callback_seconds_sum")
        self.assertAlmostEqual(spent.value, 998 * 40e-6, places=12)
        within = {s.labels.get("le"): s.value for s in families["foliot_callback_seconds"].samples}
        self.assertEqual(within["0.000032767"], fired - 998, "the beats")
        self.assertEqual(within["0.000065535"], fired)


class Probes(unittest.TestCase):
    """What `readelf -n` shows of a program with the service and the runtime in it."""

    ARGUMENTS = {"start": 2, "stop": 1, "reset": 2, "fire": 3, "name": 2,
                 "task_spawn": 2, "task_run": 3, "task_stop": 2, "task_end": 1, "task_steal": 3,
                 "park": 2, "unpark": 1, "due": 3}

    @classmethod
    def setUpClass(cls):
        if os.environ.get("FOLIOT_USDT") != "1":
            raise unittest.SkipTest("built without <sys/sdt.h> (Debian: systemtap-sdt-dev), or with FOLIOT_USDT=OFF")

    def test_the_provider_has_its_probes(self):
        self.assertIsNotNone(shutil.which("readelf"), "binutils, which every compiler brings")
        notes = subprocess.run(["readelf", "-n", FOLIOT], check=True, capture_output=True, text=True).stdout
        probes = re.findall(r"Provider: foliot\n\s+Name: (\w+)\n.*\n\s+Arguments: (.*)\n", notes)
        self.assertEqual({name for name, _ in probes}, set(self.ARGUMENTS))
        for name, arguments in probes:
            self.assertEqual(len(arguments.split()), self.ARGUMENTS[name], name)


if __name__ == "__main__":
    main()
