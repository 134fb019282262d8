#!/usr/bin/env python3
"""The program `foliot` as its users meet it: arguments in, files, text and exit codes out.

usage: replay_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support

FOLIOT_DATA_DIR names the folder of real logs, FOLIOT_SANITIZED=1 says that the program has sanitizers. A
class that needs what is not there is skipped: exit code 77.
"""
import bz2
import csv
import gzip
import hashlib
import json
import lzma
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the modules below are in the source tree
from idle_sessions import SECOND, requests_of, sessions_of
from kit.program_case import FOLIOT, ProgramCase, main

REAL_LOG = Path(os.environ.get("FOLIOT_DATA_DIR", ".")) / "nasa-1995-08-01.log.gz"
SANITIZED = os.environ.get("FOLIOT_SANITIZED") == "1"
# Of a sample. A program with sanitizers does the same, ten times as slowly.
LINES = int(os.environ.get("FOLIOT_SAMPLE_LINES") or (15_000 if SANITIZED else 60_000))

GOOD = b'h%d - - [01/Aug/1995:02:00:%02d -0400] "GET / HTTP/1.0" 200 1713\n'
LOG = b"".join(GOOD % (i % 7, i) for i in range(60))
BAD = b"this is no log\n"


def zstd(data):
    """A frame with blocks of plain bytes, as Python 3.11 has no module for it."""
    pieces = [data[i:i + 65536] for i in range(0, len(data), 65536)] or [b""]
    blocks = [((len(piece) << 3) + (i == len(pieces) - 1)).to_bytes(3, "little") + piece for i, piece in enumerate(pieces)]
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(blocks)


PACKERS = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": zstd, "bzip2": bz2.compress}


class CommandLine(ProgramCase):
    def test_version(self):
        self.assertRegex(self.expect_done("--version"), r"\Afoliot \d+\.\d+\.\d+\n\Z")
        told = self.expect_done("--version", "--verbose")
        self.assertRegex(told, r"\Afoliot \d+\.\d+\.\d+\ncompiler: (g\+\+|clang) [\d.]+, libstdc\+\+ \d+ of \d+\nbuild: \w+")
        for thing in ("assertions: o", "sanitizers: ", "stores: memory", "TLS: ", "libraries: CLI11 ", ", zstd 1."):
            self.assertIn(thing, told)
        self.expect_error("--verbose goes with --version", "--verbose")

    def test_help(self):
        self.assertIn("replay", self.expect_done("--help"))
        text = self.expect_done("replay", "--help")
        for option in ("LOG", "--idle", "--engine", "--sessions", "--json", "--strict", "30m", "foliot"):
            self.assertIn(option, text)
        self.assertIn("--seed", self.expect_done("sample", "--help"))

    def test_help_and_version_that_cannot_be_written_are_an_error(self):
        for arguments in (("--version",), ("--help",), ("-h",), ("replay", "--help"), ("sample", "--help"), ("top", "--help")):
            with open("/dev/full", "wb") as full:
                code, _, err = self.run_foliot(*arguments, stdout=full)
            self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': No space left on device\n"), arguments)
            code, _, err = self.run_foliot(*arguments, preexec_fn=lambda: os.close(1))
            self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': Bad file descriptor\n"), arguments)

    def test_a_value_that_is_missing_is_not_the_next_argument(self):
        """As where a shell's variable is not set: the log would be overwritten."""
        self.put("a.log", LOG)
        for option in ("--json=", "--sessions=", "--idle=", "--strict="):
            self.expect_error(f"'{option}' has no value behind the '='", "replay", option, "a.log", "a.log")
        self.expect_error("cannot read '--json=': No such file", "replay", "--", "--json=")
        self.assertEqual((self.here / "a.log").read_bytes(), LOG)
        self.assertEqual(self.names(), ["a.log"])

    def test_wrong_arguments(self):
        self.expect_error("'foliot replay LOG', 'foliot sample', 'foliot explain ENGINE', 'foliot bench' and 'foliot top PATH'")
        sentence = self.run_foliot()[2]
        commands = re.search(r"\n\w*subcommands:\n((?:  .*\n)+)", self.expect_done("--help"), re.I)[1]
        for command in re.findall(r"^  (\w+)", commands, re.M):
            self.assertRegex(sentence, f"'foliot {command}[ ']")
        self.expect_error("foliot has no 'rewind'; see foliot --help", "rewind")
        self.expect_error("foliot has no 'srve': the nearest is 'serve'; see foliot --help", "srve", "--memory")
        self.expect_error("foliot has no '--versoin': the nearest is '--version'; see foliot --help", "--versoin")
        self.expect_error("foliot replay has no '--nonsense=x'; see", "replay", "--nonsense=x", "-")
        self.expect_error("LOG is required", "replay")
        self.expect_error("foliot replay has no '--idel': the nearest is '--idle'; see foliot replay --help", "replay", "--idel", "5m", "-")
        self.expect_error("'-x'", "replay", "-x")
        self.expect_error("--idle", "replay", "-", "--idle")
        self.expect_error("--idle", "replay", "--idle", "1m", "--idle", "2m", "-")
        self.expect_error("standard input can be read only once", "replay", "-", "-")

    def test_bad_durations(self):
        for text, sentence in (("30", "without a unit: write numbers with d, h, m, s, ms, us or ns"),
                               ("soon", "is no duration"), ("", "is no duration"), ("-5m", "must be positive"),
                               ("0s", "must be positive"), ("5x", "unit that does not exist"),
                               ("99999999999d", "is too long"), ("100000d", "may be at most 21900d")):
            self.expect_error(sentence, "replay", "--idle", text, "-")

    def test_unknown_format(self):
        self.expect_error("there is no format 'json'; there are any, common, combined, vhost_combined",
                          "replay", "--format", "json", "-")

    def test_unknown_engine(self):
        self.expect_error("there is no engine 'sundial'; there are foliot, global-heap", "replay", "--engine", "sundial", "-")

    def test_wheels_that_cannot_be(self):
        for sentence, *arguments in (
                ("the engine 'foliot' has no wheel", "--tick", "1s"),
                ("'foliot-runtime' is a runtime, and has no wheel", "--engine", "foliot-runtime", "--wheel-size", "20"),
                ("are for one engine", "--engine", "all", "--tick", "1s"),
                ("'0s' is zero", "--engine", "hashed-wheel", "--tick", "0s"),
                ("must be from 1 ns to 24 h", "--engine", "hierarchical-wheel", "--tick", "25h"),
                ("--tick: ", "--engine", "hashed-wheel", "--tick", "soon")):
            self.expect_error(sentence, "replay", *arguments, "-")
        for engine in ["hashed-wheel", "hierarchical-wheel"]:
            for size in ["0", "-1", "4194305", "1000000000", "99999999999999999999"]:
                self.expect_error(f"'{size}' is no whole number from 1 to 4194304", "replay", "--engine", engine,
                                  "--wheel-size", size, "-")

    def test_names_that_begin_with_a_dash(self):
        self.put("-x", LOG)
        self.assertIn("lines", self.expect_done("replay", "--", "-x"))

    def test_names_with_escape_sequences(self):
        name = self.put("a\x1b[2J\n.log", LOG + BAD)
        code, out, err = self.run_foliot("replay", name)
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("foliot replay of a\\x1b[2J\\x0a.log, idle"), out)
        self.assertTrue(err.startswith("foliot: a\\x1b[2J\\x0a.log:61: malformed line"), err)
        self.expect_error(r"cannot read '\x1b[2J': No such file", "replay", "\x1b[2J")
        self.expect_error(r"foliot has no '\x1b[2J'", "\x1b[2J")

    def test_names_that_are_commands(self):
        self.put("sample", LOG)
        self.put("replay", LOG)
        self.assertRegex(self.expect_done("replay", "sample", "replay"), r"\nlines +120\n")


class BadInput(ProgramCase):
    def replay(self, *arguments, **options):
        return self.run_foliot("replay", "--sessions", "out.csv", "--json", "out.json", *arguments, **options)

    def expect_failure(self, sentence, *arguments, code=2, **options):
        """The error is reported, no file is written, and an older one is unchanged."""
        for older in (None, b"older"):
            if older:
                self.put("out.csv", older)
                self.put("out.json", older)
            before = self.names()
            self.expect_error(sentence, "replay", "--sessions", "out.csv", "--json", "out.json", *arguments,
                              code=code, **options)
            self.assertEqual(self.names(), before)
            if older:
                self.assertEqual((self.here / "out.csv").read_bytes(), older)
                self.assertEqual((self.here / "out.json").read_bytes(), older)
                (self.here / "out.csv").unlink()
                (self.here / "out.json").unlink()

    def test_missing_file(self):
        self.put("good", LOG)
        self.expect_failure("cannot read 'none.log': No such file or directory", "none.log")
        self.expect_failure("cannot read 'none.log': No such file or directory", "good", "none.log")
        self.expect_failure("cannot read '': No such file or directory", "")

    def test_directory(self):
        (self.here / "folder").mkdir()
        self.expect_failure("cannot read 'folder': Is a directory", "folder")

    def test_file_that_may_not_be_read(self):
        self.put("secret", LOG)
        (self.here / "secret").chmod(0)
        self.here.chmod(0o777)
        options = {}
        if os.geteuid() == 0:  # root may read all files; another user may not even see the build
            shutil.copy(FOLIOT, self.here / "foliot")
            options = {"executable": self.here / "foliot", "user": 65534}
        self.expect_failure("cannot read 'secret': Permission denied", "secret", **options)

    def test_truncated_packed_data(self):
        for name, pack in PACKERS.items():
            whole = pack(LOG)
            for size in (6, 10, len(whole) // 2, len(whole) - 1):
                self.put("cut", whole[:size])
                self.expect_failure(f"'cut' ends in the middle of its {name} data", "cut")
            self.expect_failure(f"'standard input' ends in the middle of its {name} data", "-", given=whole[:-1])

    def test_damaged_packed_data(self):
        for name, pack in PACKERS.items():
            whole = pack(LOG)
            if name != "zstd":  # without a check
                self.put("damaged", whole[:-6] + bytes((whole[-6] ^ 0x40,)) + whole[-5:])
                self.expect_failure(f"'damaged' is damaged {name} data", "damaged")
            self.put("damaged", whole + LOG)
            self.expect_failure(f"'damaged' has data after its {name} data", "damaged")

    def test_other_packed_data_are_refused_by_name(self):
        self.put("a.zip", b"PK\x03\x04" + bytes(100))
        self.expect_failure("'a.zip' is zip data, which foliot does not read", "a.zip")

    def test_a_run_without_a_line_in_the_format_is_an_error(self):
        self.put("bad", BAD)
        for arguments in (["bad"], ["bad", "bad"], ["--format", "common", "bad"], ["--engine", "all", "bad"]):
            code, out, err = self.replay(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err.splitlines()[-1], r"\Afoliot: no line is in (a format that foliot reads: common|the format common)")
            self.assertEqual(self.names(), ["bad"])

    def test_malformed_lines_are_reported_and_skipped(self):
        self.put("a.log", b"\n" + BAD + LOG + BAD)
        self.put("b.log", LOG[:50] + b"\n" + LOG + b"x" * 100_000 + b"\n")
        code, out, err = self.replay("a.log", "b.log")
        self.assertEqual(code, 0)
        self.assertEqual(err.splitlines(), [
            "foliot: a.log:1: malformed line (it is empty), skipped",
            "foliot: a.log:2: malformed line (no time in brackets, as [02/Mar/2026:13:45:07 +0100]), skipped",
            "foliot: a.log:63: malformed line (no time in brackets, as [02/Mar/2026:13:45:07 +0100]), skipped",
            "foliot: 2 more malformed lines skipped"])
        self.assertRegex(out, r"\nlines +125\nmalformed +5\n")
        summary = json.loads((self.here / "out.json").read_text())
        self.assertEqual((summary["lines"], summary["malformed"], summary["clients"]), (125, 5, 7))

    def test_one_more_malformed_line(self):
        self.assertIn("foliot: 1 more malformed line skipped\n", self.replay("-", given=BAD * 4 + LOG)[2])

    def test_a_line_that_is_too_long(self):
        err = self.replay("-", given=b"x" * 65_537 + b"\n" + LOG)[2]
        self.assertEqual(err, "foliot: standard input:1: malformed line (longer than 65536 bytes), skipped\n")

    def test_strict_ends_at_the_first_malformed_line(self):
        self.put("a.log", LOG)
        self.put("b.log", LOG + BAD + LOG)
        self.expect_failure("b.log:61: malformed line (no time in brackets", "--strict", "a.log", "b.log", code=1)
        self.assertEqual(self.replay("--strict", "a.log")[0], 0)
        self.put("c.log", BAD + b"\n" + LOG)
        self.expect_failure("c.log:1: malformed line (no time in brackets", "--strict", "c.log", code=1)

    def test_strict_and_no_line_in_the_format(self):
        self.put("a.log", BAD * 5)
        self.put("b.log", b"\n")
        for arguments in (["a.log"], ["a.log", "b.log"], ["--engine", "all", "a.log"]):
            self.expect_failure("no line is in a format that foliot reads: common, combined or vhost_combined; the first one is "
                                "a.log:1: malformed line (no time in brackets", "--strict", *arguments)

    def test_rubbish_does_not_crash(self):
        rubbish = bytes((i * i * 7 + i // 3) % 256 for i in range(300_000))
        code, _, err = self.replay("-", given=rubbish)
        self.assertEqual(code, 2)
        self.assertEqual(len(err.splitlines()), 5)

    def test_nothing_is_no_error(self):
        self.put("empty", b"")
        self.put("empty.gz", gzip.compress(b""))
        for log in ("empty", "empty.gz"):
            code, out, err = self.replay(log)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"\nlines +0\n")
            self.assertEqual((self.here / "out.csv").read_text(), "client,start,last_request,requests,expired\n")


class OutputFiles(ProgramCase):
    def test_summary_for_people(self):
        self.put("a.log", LOG)
        out = self.expect_done("replay", "--idle", "1h30m", "a.log")
        self.assertTrue(out.startswith("foliot replay of a.log, idle 1h30m, engine foliot\n"), out)
        for row in ("lines +60", "malformed +0", "out of order +0", "clients +7", "sessions +7", "timers started +7",
                    "timers reset +53", "timers fired +7", "peak pending +7", r"wall time +\d+\.\d{3} s",
                    r"timer operations +[\d,]+ a second"):
            self.assertRegex(out, rf"(?m)^{row}$")

    def test_summary_for_programs(self):
        self.put("a.log", LOG)
        self.expect_done("replay", "--idle", "2.5s", "--json", "out.json", "a.log")
        summary = json.loads((self.here / "out.json").read_text())
        self.assertEqual(list(summary), [
            "version", "logs", "idle_seconds", "engine", "lines", "malformed", "out_of_order", "clients",
            "clients_exact", "sessions", "timers", "wall_seconds", "timer_operations_per_second",
            "lines_per_second", "peak_memory_bytes"])
        self.assertEqual(summary["logs"], ["a.log"])
        self.assertEqual(summary["idle_seconds"], 2.5)
        self.assertEqual(summary["sessions"], 60)
        self.assertIs(summary["clients_exact"], True)
        self.assertEqual(summary["timers"], {"started": 60, "reset": 0, "fired": 60, "peak_pending": 3})
        self.assertGreater(summary["peak_memory_bytes"], 100_000)

    def test_standard_output(self):
        self.put("a.log", LOG)
        code, out, err = self.run_foliot("replay", "--sessions", "-", "a.log")
        self.assertEqual((code, len(out.splitlines())), (0, 8))
        self.assertIn("foliot replay of a.log", err)
        code, out, err = self.run_foliot("replay", "--json", "/dev/stdout", "a.log")
        self.assertEqual((code, json.loads(out)["lines"]), (0, 60))
        self.assertEqual(self.names(), ["a.log"])

    def test_names_that_clash(self):
        self.put("a.log", LOG)
        (self.here / "folder").mkdir()
        (self.here / "other").symlink_to("folder")
        self.put("old", b"old")
        os.link(self.here / "old", self.here / "hard")
        (self.here / "soft").symlink_to("old")
        for one, two in (("-", "/dev/stdout"), ("x", "./x"), ("x", "folder/../x"), ("folder/x", "other/x"),
                         ("old", "hard"), ("hard", "soft"), ("old", str(self.here / "old"))):
            self.expect_error("--sessions and --json go to the same file", "replay", "--sessions", one, "--json", two, "a.log")
        self.assertEqual((self.here / "old").read_bytes(), b"old")
        self.assertEqual(self.names(), ["a.log", "folder", "hard", "old", "other", "soft"])

    def test_outputs_that_are_a_log(self):
        self.put("a.log", LOG)
        self.put("b.log", LOG)
        (self.here / "soft").symlink_to("a.log")
        for option in ("--sessions", "--json"):
            for name in ("a.log", "./a.log", "soft"):
                self.expect_error(f"{option} goes to 'a.log', which is a log to be read", "replay", option, name, "b.log", "a.log")
        with open(self.here / "a.log", "rb") as log:
            self.expect_error("--json goes to 'standard input', which is a log", "replay", "--json", "a.log", "-", stdin=log)
        self.assertEqual((self.here / "a.log").read_bytes(), LOG)

    def test_standard_output_that_is_a_log_or_another_output(self):
        self.put("a.log", LOG)
        self.put("old", b"old")
        for arguments, name in ((("--json", "-", "a.log"), "a.log"), (("a.log",), "a.log"), (("--json", "old", "a.log"), "old")):
            with open(self.here / name, "ab") as out:
                code, _, err = self.run_foliot("replay", *arguments, stdout=out)
            self.assertEqual(code, 2)
            self.assertRegex(err, r"\Afoliot: [^\n]*(which is a log to be read|go to the same file)[^\n]*\n\Z")
        self.assertEqual((self.here / "a.log").read_bytes(), LOG)
        self.assertEqual((self.here / "old").read_bytes(), b"old")
        with open(self.here / "old", "ab") as out:
            self.assertEqual(self.run_foliot("replay", "--sessions", "-", "--json", "x", "a.log", stdout=out)[0], 0)

    def test_a_device_may_be_standard_input_and_output_at_once(self):
        with open("/dev/null", "r+b") as device:
            code, _, err = self.run_foliot("replay", "-", stdin=device, stdout=device)
        self.assertEqual((code, err), (0, ""))

    def test_what_cannot_be_written(self):
        self.put("a.log", LOG)
        for option in ("--sessions", "--json"):
            self.expect_error("cannot write 'no/such': No such file", "replay", option, "no/such", "a.log")
            self.expect_error("cannot write '.': Is a directory", "replay", option, ".", "a.log")
            self.expect_error("cannot write '': No such file", "replay", option, "", "a.log")
            self.expect_error("cannot write '/dev/full': No space left", "replay", option, "/dev/full", "a.log")
        self.assertEqual(self.names(), ["a.log"])

    def test_a_failure_of_one_file_keeps_back_the_other(self):
        self.put("a.log", LOG)
        self.expect_error("No space left", "replay", "--sessions", "out.csv", "--json", "/dev/full", "a.log")
        with open("/dev/full", "wb") as full:
            code, _, err = self.run_foliot("replay", "--sessions", "out.csv", "a.log", stdout=full)
        self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': No space left on device\n"))
        self.assertEqual(self.names(), ["a.log"])

    def test_a_disk_that_fills_up_leaves_nothing(self):
        self.put("a.log", LOG)

        def small_disk():  # by the limit of a process
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        for name, *arguments in (("out", "replay", "--sessions", "out", "a.log"), ("out", "replay", "--json", "out", "a.log"),
                                 ("out", "sample", "-o", "out"), ("out.gz", "sample", "-o", "out.gz")):
            self.expect_error(f"cannot write '{name}': File too large", *arguments, preexec_fn=small_disk)
            self.assertEqual(self.names(), ["a.log"])

    def test_a_folder_that_is_removed_meanwhile_is_an_error(self):
        (self.here / "folder").mkdir()
        with self.start("replay", "--sessions", "folder/out.csv", "-", stdin=subprocess.PIPE) as process:
            # More than a pipe holds: when this is written, some of it has been read, and the file is open.
            process.stdin.write(LOG * 500)
            shutil.rmtree(self.here / "folder")
            _, err = process.communicate()
        self.assertEqual((process.returncode, err), (2, b"foliot: cannot write 'folder/out.csv': No such file or directory\n"))
        self.assertEqual(self.names(), [])

    def test_closed_standard_output_is_not_taken_for_a_file(self):
        self.put("a.log", LOG)
        code, _, err = self.run_foliot("replay", "--sessions", "out.csv", "a.log", preexec_fn=lambda: os.close(1))
        self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': Bad file descriptor\n"))
        self.assertEqual(self.names(), ["a.log"])
        code, out, _ = self.run_foliot("replay", "--sessions", "out.csv", "-", given=BAD + LOG,
                                       preexec_fn=lambda: os.close(2))
        self.assertEqual(code, 0)
        self.assertEqual(len((self.here / "out.csv").read_text().splitlines()), 8)
        self.assertEqual((self.here / "a.log").read_bytes(), LOG)

    def test_a_signal_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.start("replay", "--sessions", "out.csv", "--json", "out.json", "-",
                            stdin=subprocess.PIPE) as process:
                # More than a pipe holds: when this is written, some of it has been read, and the files
                # are open.
                process.stdin.write(LOG * 500)
                self.assertEqual(len(self.names()), 2)
                process.send_signal(number)
                process.communicate()
            self.assertEqual(process.returncode, -number)
            self.assertEqual(self.names(), [])

    def test_a_signal_that_is_ignored_stays_ignored(self):
        with self.start("replay", "--sessions", "out.csv", "-", stdin=subprocess.PIPE,
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
            process.stdin.write(LOG * 500)
            process.send_signal(signal.SIGHUP)
            process.communicate()
        self.assertEqual((process.returncode, self.names()), (0, ["out.csv"]))

    def test_csv_that_has_to_be_quoted(self):
        self.put("a.log", b'a;"b" - - [01/Aug/1995:02:00:00 -0400] "GET /" 200 5\n')
        self.expect_done("replay", "--sessions", "out.csv", "a.log")
        self.assertEqual((self.here / "out.csv").read_text().splitlines()[1],
                         '"a;""b""",1995-08-01T06:00:00Z,1995-08-01T06:00:00Z,1,1995-08-01T06:30:00Z')


    def test_clients_that_are_formulas_are_guarded(self):
        names = [b"=cmd|'/C", b"@SUM(1)", b"-", b"'x", b"a;=b"]
        self.put("a.log", b"".join(name + b' - - [01/Aug/1995:02:00:00 -0400] "GET /" 200 5\n' for name in names))
        self.expect_done("replay", "--sessions", "out.csv", "a.log")
        with open(self.here / "out.csv", newline="") as file:
            clients = [row["client"] for row in csv.DictReader(file)]
        self.assertEqual(sorted(clients), sorted(["'=cmd|'/C", "'@SUM(1)", "-", "''x", "a;=b"]))
        self.assertEqual({client.removeprefix("'").encode() for client in clients}, set(names))


class Comparing(ProgramCase):
    IDLE_TIMES = {"1s": 1, "1m": 60, "30m": 1800, "90m": 5400, "1.5h": 5400, "10d": 864000, "1500ms": 1.5}

    def rows(self, name):
        with open(self.here / name, newline="", encoding="latin-1") as file:
            return list(csv.reader(file))

    def compare(self, name, data):
        """Whole files, for several idle times."""
        requests = requests_of(data.splitlines())
        for text, seconds in self.IDLE_TIMES.items():
            code, _, err = self.run_foliot("replay", "--idle", text, "--sessions", "out.csv", name)
            self.assertEqual(code, 0)
            for line in err.splitlines():  # a short idle time is shorter than some lines are late
                self.assertRegex(line, r"more than --idle; it counts as that time$|lines? go(es)? back by more than --idle$")
            expected = sessions_of(requests, int(seconds * SECOND))
            self.assertTrue(self.rows("out.csv") == expected, f"the sessions differ with --idle {text}")


class RealLog(Comparing):
    @classmethod
    def setUpClass(cls):
        if not REAL_LOG.exists():
            raise unittest.SkipTest(f"there is no {REAL_LOG}")

    def test_counts(self):
        self.expect_done("replay", "--json", "out.json", REAL_LOG)
        summary = json.loads((self.here / "out.json").read_text())
        self.assertEqual([summary[key] for key in ("lines", "malformed", "out_of_order", "clients", "sessions")],
                         [30_969, 0, 0, 2_365, 2_989])
        self.assertEqual(summary["timers"]["started"], 2_989)
        self.assertEqual(summary["timers"]["fired"], 2_989)
        self.assertEqual(summary["timers"]["reset"], 30_969 - 2_989)

    def test_sessions(self):
        self.compare(REAL_LOG, gzip.decompress(REAL_LOG.read_bytes()))


class Sessions(Comparing):
    def sample(self, *arguments):
        self.expect_done("sample", "--lines", LINES, "--clients", LINES // 20, "--late", 20, *arguments, "-o", "sample.log")
        return (self.here / "sample.log").read_bytes()

    def test_of_a_sample_with_lines_out_of_order(self):
        data = self.sample()
        self.expect_done("replay", "--json", "out.json", "sample.log")
        self.assertGreater(json.loads((self.here / "out.json").read_text())["out_of_order"], 100)
        self.compare("sample.log", data)

    def test_of_a_log_with_everything_in_it(self):
        lines = self.sample("--seed", 2).splitlines(keepends=True)
        for i in range(0, len(lines), 97):
            lines[i] = (BAD, b"\r\n", lines[i][:-10] + b"\n", lines[i].replace(b" +0000]", b" -0330]"),
                        lines[i].replace(b"\n", b"\r\n"), b"\0" * 50 + b"\n")[i % 6]
        data = b"".join(lines)
        self.put("mixed.log", data)
        self.run_foliot("replay", "--sessions", "out.csv", "mixed.log")
        # Not splitlines, which knows more ends of lines than the program.
        self.assertTrue(self.rows("out.csv") == sessions_of(requests_of(data.split(b"\n")), 1800 * SECOND))

    def test_are_the_same_however_the_log_comes(self):
        data = self.sample()
        lines = data.splitlines(keepends=True)
        self.put("a.gz", gzip.compress(data, 1))
        self.put("members.gz", b"".join(gzip.compress(b"".join(lines[i:i + 9999]), 1) for i in range(0, LINES, 9999)))
        parts = [self.put(f"part{i}", b"".join(lines[i:i + 7001])) for i in range(0, LINES, 7001)]
        parts[2] = self.put("part.gz", gzip.compress((self.here / parts[2]).read_bytes(), 1))
        self.put("no_newline", data[:-1])
        packed = [self.put(f"packed.{name}", pack(data)) for name, pack in PACKERS.items()]
        results = []
        for logs, given in (*(([name], None) for name in packed), (["sample.log"], None), (["a.gz"], None), (["members.gz"], None), (["-"], data),
                            (["-"], gzip.compress(data, 1)), (parts, None), (["no_newline"], None),
                            ([*parts[:1], "-", *parts[2:]], b"".join(lines[7001:14002]))):
            self.expect_done("replay", "--sessions", "out.csv", *logs, given=given)
            results.append((self.here / "out.csv").read_bytes())
        for result in results[1:]:
            self.assertTrue(result == results[0])

    def test_are_the_same_with_every_engine_that_keeps_time(self):
        self.sample()
        self.expect_done("replay", "--sessions", "out.csv", "sample.log")
        expected = self.rows("out.csv")
        for engine in ("quad-heap-lazy", "goim-heap", "epoll-heap", "red-black-tree", "hashed-wheel", "hierarchical-wheel",
                       "erlang-wheel", "foliot-runtime", "processor-heaps", "processor-heaps-1.14"):
            self.expect_done("replay", "--engine", engine, "--sessions", "out.csv", "sample.log")
            self.assertEqual(sorted(self.rows("out.csv")), sorted(expected), engine)
        for engine in ("hashed-wheel", "hierarchical-wheel"):
            self.expect_done("replay", "--engine", engine, "--tick", "1s", "--wheel-size", "60", "--sessions", "out.csv",
                             "sample.log")
            self.assertEqual(sorted(self.rows("out.csv")), sorted(expected), engine)
            self.expect_done("replay", "--engine", engine, "--tick", "1h", "--sessions", "out.csv", "sample.log")
            self.assertLess(len(self.rows("out.csv")), len(expected), "as coarse as its tick")
        # An engine that is late by half a minute continues the sessions of clients that come back just too late.
        self.expect_done("replay", "--engine", "linux-wheel", "--sessions", "out.csv", "sample.log")
        self.assertLess(len(self.rows("out.csv")), len(expected))

    def test_leave_nothing_else_behind(self):
        self.sample()
        self.expect_done("replay", "--sessions", "out.csv", "--json", "out.json", "sample.log")
        self.assertEqual(self.names(), ["out.csv", "out.json", "sample.log"])


class Formats(ProgramCase):
    REST = ' - - [02/Mar/2026:13:00:%02d +0000] "GET /a HTTP/1.1" 200 5 "-" "c"\n'

    def clients(self, fields, *arguments, mark=b""):
        """The clients of a log whose lines begin with these fields."""
        self.put("a.log", mark + "".join(each + self.REST % second for second, each in enumerate(fields)).encode())
        self.expect_done("replay", "--strict", *arguments, "--sessions", "out.csv", "a.log")
        with open(self.here / "out.csv", newline="") as file:
            return sorted(row["client"] for row in csv.DictReader(file))

    def test_a_virtual_host_is_not_the_client(self):
        hosts = [f"shop.example.org:443 198.51.100.{i}" for i in (1, 2, 3)]
        expected = ["198.51.100.1", "198.51.100.2", "198.51.100.3"]
        self.assertEqual(self.clients(hosts), expected)
        self.assertEqual(self.clients(hosts, "--format", "vhost_combined"), expected)

    def test_the_leftmost_forwarded_address_is_the_client(self):
        fields = ["198.51.100.9, 10.0.0.1", "198.51.100.9", "198.51.100.9, 10.0.0.2, 10.0.0.3", "198.51.100.9,10.0.0.4"]
        self.assertEqual(self.clients(fields), ["198.51.100.9"])

    def test_a_virtual_host_before_a_name_is_not_the_client(self):
        """The name is no identity."""
        for fields in (" visitor.example.org -", " visitor.example.org anna"):
            line = ("shop.example.org:443" + fields + self.REST % 0).replace(" - - [", " [").encode()
            good = ("198.51.100.1" + self.REST % 1).encode()
            self.expect_error("standard input:1: malformed line (no user", "replay", "--strict", "-", given=line + good, code=1)

    def test_a_byte_order_mark_is_no_part_of_the_client(self):
        self.assertEqual(self.clients(["198.51.100.1"] * 2, mark=b"\xef\xbb\xbf"), ["198.51.100.1"])

    def test_another_format_is_malformed(self):
        line = ("198.51.100.1 203.0.113.5" + self.REST % 0).encode()
        good = ("198.51.100.1" + self.REST % 1).encode()
        self.expect_error("standard input:1: malformed line (other fields", "replay", "--strict", "-", given=line + good, code=1)
        vhost = ("shop.example.org:443 198.51.100.1" + self.REST % 0).encode()
        for name in ("common", "combined"):
            self.expect_error("malformed line", "replay", "--strict", "--format", name, "-", given=vhost)


class Order(ProgramCase):
    """Time that goes back, and logs that come in another order than their lines."""
    LINE = '%s - - [%s/Mar/2026:%s:00 +0000] "GET / HTTP/1.1" 200 5\n'

    def log(self, name, *lines):
        """Each line has a client, a day and a time of the day."""
        return self.put(name, "".join(self.LINE % line for line in lines).encode())

    def sessions(self, *arguments, **options):
        code, _, err = self.run_foliot("replay", "--sessions", "out.csv", *arguments, **options)
        self.assertEqual(code, 0)
        return len((self.here / "out.csv").read_text().splitlines()) - 1, err

    def test_a_line_of_the_far_future_is_told_and_an_error_with_strict(self):
        future = self.LINE.replace("2026", "2038") % ("z", "01", "00:00")
        lines = [self.LINE % (client, "02", f"{hour:02}:00") for hour in (9, 11, 13) for client in "ab"]
        self.put("a.log", "".join([lines[0], future, *lines[1:]]).encode())
        self.assertEqual(self.sessions("a.log")[1].splitlines(), [
            "foliot: a.log:3: the time goes back by 4381d15h from a.log:2 (2038-03-01T00:00:00Z), which is more than "
            "--idle; it counts as that time",
            "foliot: 4 more lines go back by more than --idle"])
        self.expect_error("a.log:3: the time goes back by 4381d15h", "replay", "--strict", "a.log", code=1)

    def test_by_the_idle_time_or_less_is_only_counted(self):
        self.log("a.log", ("a", "02", "09:30"), ("b", "02", "09:00"), ("a", "02", "09:31"))
        self.expect_done("replay", "--strict", "a.log")
        self.expect_error("a.log:2: the time goes back by 30m", "replay", "--strict", "--idle", "29m", "a.log", code=1)

    def test_three_places_are_told_and_the_rest_counted(self):
        lines = [(client, "02", hour) for _ in range(5) for client, hour in (("a", "12:00"), ("b", "09:00"))]
        self.log("a.log", *lines)
        err = self.sessions("a.log")[1].splitlines()
        self.assertEqual([line.split(": ")[1] for line in err[:3]], ["a.log:2", "a.log:4", "a.log:6"])
        self.assertEqual(err[3:], ["foliot: 2 more lines go back by more than --idle"])

    def test_rotated_logs_are_read_in_the_order_of_their_first_lines(self):
        days = {"access.log": "04", "access.log.1": "03", "access.log.10": "01", "access.log.2": "02"}
        for name, day in days.items():
            self.log(name, *[("h", day, f"{hour:02}:00") for hour in range(24)])
        self.put("access.log.10", BAD + (self.here / "access.log.10").read_bytes())
        (self.here / "access.log.2").write_bytes(gzip.compress((self.here / "access.log.2").read_bytes()))
        self.put("empty", b"")
        count, err = self.sessions("--json", "out.json", *days, "empty")
        self.assertEqual((count, len(err.splitlines())), (4 * 24, 1))
        self.assertEqual(json.loads((self.here / "out.json").read_text())["logs"],
                         ["empty", "access.log.10", "access.log.2", "access.log.1", "access.log"])

    def test_a_log_that_begins_before_the_one_before_it_has_ended_is_told(self):
        self.log("a.log", ("a", "02", "09:00"), ("a", "02", "12:00"))
        self.log("b.log", ("b", "02", "10:00"), ("b", "02", "11:00"))
        sentence = ("b.log:1: the log begins 2h before the end of the one before it, a.log:2 (2026-03-02T12:00:00Z), "
                    "which is more than --idle")
        self.assertEqual(self.sessions("a.log", "b.log")[1].splitlines(), [
            f"foliot: {sentence}; it counts as that time", "foliot: 1 more line goes back by more than --idle"])
        self.expect_error(sentence, "replay", "--strict", "b.log", "a.log", code=1)

    def test_a_log_that_begins_before_the_end_of_an_earlier_one_is_told(self):
        self.log("a.log", ("a", "02", "09:00"), ("a", "02", "15:00"))
        self.log("b.log", ("b", "02", "10:00"))
        self.log("c.log", ("c", "02", "11:00"))
        self.assertEqual(self.sessions("a.log", "b.log", "c.log")[1].splitlines(), [
            "foliot: b.log:1: the log begins 5h before the end of the one before it, a.log:2 (2026-03-02T15:00:00Z), which is "
            "more than --idle; it counts as that time",
            "foliot: c.log:1: the time goes back by 4h from a.log:2 (2026-03-02T15:00:00Z), which is more than --idle; it "
            "counts as that time"])

    def test_logs_that_can_be_read_once_only_stay_in_their_order(self):
        older, newer = ("a", "01", "09:00"), ("a", "02", "09:00")
        self.log("new.log", newer)
        given = (self.LINE % older).encode()
        self.assertEqual(self.sessions("-", "new.log", given=given), (2, ""))
        err = self.sessions("new.log", "-", given=given)[1]
        self.assertRegex(err, r"\Afoliot: standard input:1: the log begins 1d before the end of the one before it, new\.log:1")


class Memory(ProgramCase):
    @classmethod
    def setUpClass(cls):
        if SANITIZED:
            raise unittest.SkipTest("a sanitizer's own memory grows")

    def test_does_not_grow_with_the_log(self):
        peaks = []
        for lines in (100_000, 1_000_000):
            self.expect_done("sample", "--lines", lines, "--clients", 2_000, "-o", "sample.log.gz")
            self.expect_done("replay", "--json", "out.json", "sample.log.gz")
            summary = json.loads((self.here / "out.json").read_text())
            self.assertEqual(summary["lines"], lines)
            peaks.append(summary["peak_memory_bytes"])
        self.assertLess(peaks[1], peaks[0] * 1.1 + 2 * 1024 * 1024)


class Sample(ProgramCase):
    def test_same_seed_same_bytes(self):
        make = ("sample", "--lines", "5000", "--clients", "500", "--seed")
        first = self.expect_done(*make, "7")
        self.assertEqual(first.count("\n"), 5000)
        self.assertTrue(first == self.expect_done(*make, "7"))
        self.assertFalse(first == self.expect_done(*make, "8"))
        self.expect_done(*make, "7", "-o", "a.log.gz")
        self.assertTrue(gzip.decompress((self.here / "a.log.gz").read_bytes()).decode() == first)
        self.assertEqual(self.names(), ["a.log.gz"])

    def test_is_what_its_documentation_says(self):
        page = Path(__file__).parents[2] / "docs" / "sample.md"
        promised = re.search(r"\b[0-9a-f]{64}\b", page.read_text())[0]
        self.assertEqual(hashlib.sha256(self.expect_done("sample").encode()).hexdigest(), promised)

    def test_numbers_are_decimal(self):
        self.assertEqual(self.expect_done("sample", "--lines", "010").count("\n"), 10)

    def test_begins_on_its_day(self):
        out = self.expect_done("sample", "--lines", "100", "--start", "2024-02-29")
        self.assertIn("[29/Feb/2024:", out.splitlines()[0])

    def test_a_full_disk_is_an_error(self):
        for arguments in ((), ("-o", "-")):
            with open("/dev/full", "wb") as full:
                code, _, err = self.run_foliot("sample", "--lines", "10", *arguments, stdout=full)
            self.assertEqual((code, err), (2, "foliot: cannot write 'standard output': No space left on device\n"))

    def test_replays_without_a_malformed_line(self):
        given = self.expect_done("sample", "--lines", "5000", "--clients", "500").encode()
        self.assertRegex(self.expect_done("replay", "--strict", "-", given=given), r"\nlines +5,000\n")

    def test_wrong_arguments(self):
        for arguments, sentence in ((("--lines", "0"), "--lines"), (("--lines", "-5"), "--lines"),
                                    (("--lines", "many"), "--lines"), (("--clients", "0"), "--clients"),
                                    (("--clients", "10000001"), "--clients"), (("--late", "1001"), "--late"),
                                    (("--seed", "x"), "--seed"),
                                    (("--seed", "-1"), "'-1' is no whole number from 0 to 18446744073709551615"),
                                    (("--seed", str(2 ** 64)), "--seed"), (("--lines", "1e3"), "--lines"), (("--start", "2023-02-29"), "--start"),
                                    (("--start", "1969-12-31"), "--start"), (("extra",), "'extra'"),
                                    (("--lines", "1001", "--clients", "1"), "at most 1000"),
                                    (("-o", "no/such"), "cannot write 'no/such': No such file"),
                                    (("-o", "/dev/full"), "cannot write '/dev/full': No space left")):
            self.expect_error(sentence, "sample", *arguments)
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    main()
