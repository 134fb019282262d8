#!/usr/bin/env python3
"""The program `foliot bench serve` as its users meet it. No test depends on how fast a server is.

usage: serve_bench_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support
"""
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the modules below are in the source tree
from kit.beanstalk_client import Connection, PATIENCE
from kit.program_case import FOLIOT as PROGRAM, ProgramCase, default_signals, main

FOLIOT = ["foliot-memory"]  # foliot is there too where the program was built with RocksDB
OTHERS = ["beanstalkd-f0", "beanstalkd-F", "beanstalkd"]
# The same server, with clients that speak HTTP, TLS or show an access token: they take part where that is compared.
VARIANTS = ["foliot-tls", "foliot-token", "foliot-http", "foliot-http-tls", "foliot-http-token"]
RATES = {"puts": ["1", "4"], "cycles": ["1", "4"], "pipelined-puts": ["8", "64"],
         "delayed-puts": ["1 x 1", "4 x 1", "4 x 8"], "put-sizes": ["8 B", "80 KB"],
         "cycle-sizes": ["8 B", "80 KB"]}
BOTH_SIDES = {"puts": ["4"], "cycles": ["4"]}  # of the variants
BUILDING = "foliot: building nats with Go, [^\n]+\n"
SHORT = ["--quick", "--repetitions", "1"]
# Of a build that is not optimised, and of a folder for tests that is no disk's.
WARNING = r"(foliot: this program [^\n]+\n)?(foliot: '[^']+' is in memory, [^\n]+\n)?"


class ServeBenchCase(ProgramCase):
    """Servers keep their data in a folder of the test's, and are reached by sockets in it."""
    def quick(self, *arguments, told="", **environment):
        code, out, err = self.run_foliot("bench", "serve", *SHORT, "--json", "figures.json", *arguments,
                                         env=os.environ | environment)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"\A" + WARNING + told + r"\Z")
        return json.loads((self.here / "figures.json").read_text()), out

    def own(self, *arguments, **options):
        return self.quick("--unix", "--folder", self.here, *arguments, **options)

    def with_stub_of_go(self, *lines):
        """The environment of a run that builds NATS, into a folder of the test's, with this stub of Go."""
        (self.here / "peers/nats").mkdir(parents=True)
        (self.here / "bin").mkdir()
        self.stub_go(*lines)
        return {"FOLIOT_BENCH_PEERS": str(self.here / "peers"), "XDG_CACHE_HOME": str(self.here / "cache"),
                "PATH": f"{self.here / 'bin'}:{os.environ['PATH']}"}

    def stub_go(self, *lines):
        (self.here / "bin/go").write_text("".join(f"{line}\n" for line in ("#!/bin/sh", f"touch {self.here / 'called'}", *lines)))
        (self.here / "bin/go").chmod(0o755)

    def expect_failure(self, sentence, *arguments, environment=None, told=""):
        code, out, err = self.run_foliot("bench", "serve", *SHORT, *arguments, env=os.environ | (environment or {}))
        self.assertRegex(err, r"\A" + WARNING + told + r"foliot: [^\n]+\n\Z")
        self.assertIn(sentence, err)
        self.assertEqual((code, out), (2, ""))

    def check_rates(self, figures, contestants, columns):
        found = {}
        for each in figures["records"]:
            if each["figure"] == "rate":
                self.assertEqual(each["unit"], "operations/s")
                self.assertGreater(each["min"], 0)
                self.assertLessEqual(each["min"], each["median"])
                self.assertLessEqual(each["median"], each["max"])
                self.assertGreaterEqual(each["connections"], 1)
                if each["contestant"] in contestants:
                    found.setdefault((each["workload"], each["contestant"]), []).append(each["column"])
        self.assertEqual(found, {(workload, name): each for workload, each in columns.items() for name in contestants})

    def served(self):
        """A foliot that keeps its jobs in memory, and a connection to it."""
        server = self.start("serve", "--memory", "--quiet", "--beanstalk", f"unix:{self.here / 'served'}",
                            env=os.environ | {"NOTIFY_SOCKET": str(self.here / "ready")})
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        for pipe in (server.stdout, server.stderr):
            self.addCleanup(pipe.close)
        return server

    def folders(self):
        return [each for each in self.here.iterdir() if each.name.startswith("foliot-bench-")]


class ServeBench(ServeBenchCase):
    @unittest.skipIf(shutil.disk_usage(tempfile.gettempdir()).free < 2 << 30, "foliot refuses jobs on a nearly full disk")
    def test_every_server_and_workload_has_its_figures(self):
        figures, text = self.own("--only", ",".join(RATES), told=r"(foliot: [^\n]+ is left out: [^\n]+\n)*")
        names = [each["name"] for each in figures["contestants"]]
        absent = [each["contestant"] for each in figures["absences"]]
        self.assertEqual(sorted(names + absent), sorted(["foliot"] + FOLIOT + OTHERS + VARIANTS + ["nats"]))
        self.assertIn({"contestant": "nats", "workloads": "", "reason": "it listens on no unix socket: leave out --unix"},
                      figures["absences"])
        self.assertEqual("beanstalkd" in names, shutil.which("beanstalkd") is not None)
        usual = [each for each in names if each not in VARIANTS]
        self.check_rates(figures, usual, RATES)
        self.check_rates(figures, [each for each in names if each in VARIANTS], BOTH_SIDES)
        for each in RATES:
            self.assertRegex(text, rf"(?m)^{each}: [^\n]* a second")
            self.assertIn(f"\n{each}: server-cpu, us/operation\n", text)
        self.assertEqual(self.folders(), [])
        processor = [each["figure"] for each in figures["records"]]
        self.assertEqual(processor.count("server-cpu"), processor.count("rate"))
        self.assertEqual(processor.count("generator-cpu"), processor.count("rate"))

    def test_lateness_of_every_server_that_can_take_the_puts(self):
        figures, text = self.own("--only", "lateness", "--contestants", "foliot-memory,beanstalkd,beanstalkd-f0",
                                 told=r"(foliot: beanstalkd[^\n]+ is not installed [^\n]+\n)*")
        found = {}
        for each in figures["records"]:
            self.assertEqual(each["unit"], "ms")
            found.setdefault((each["contestant"], each["due_per_second"]), {})[each["figure"]] = each["median"]
        names = {each["name"] for each in figures["contestants"]} - {"beanstalkd-f0"}
        self.assertEqual(set(found), {(name, rate) for name in names for rate in (50, 100)})
        for each in found.values():
            self.assertEqual(list(each), ["p50", "p90", "p99", "p99.9", "max"])
            self.assertEqual(sorted(each.values()), list(each.values()))
            self.assertGreaterEqual(each["p50"], 0)
        self.assertIn("100/s p99", text)
        self.assertEqual(self.folders(), [])

    def test_lateness_beside_a_flood(self):
        figures, text = self.own("--only", "flood", "--contestants", "foliot-memory")
        found = {each["figure"]: each["median"] for each in figures["records"]}
        self.assertEqual(list(found), ["p50", "p90", "p99", "p99.9", "max", "drained", "lists-p50", "lists-p90", "lists-p99",
                                       "lists-p99.9", "lists-max"])
        for late in [list(found.values())[:5], list(found.values())[6:]]:
            self.assertEqual(sorted(late), late)
        self.assertGreater(found["drained"], 0)
        self.assertGreater(found["lists-p50"], 0)
        self.assertIn("1000 jobs due at one instant", text)
        self.assertEqual(self.folders(), [])

    @unittest.skipIf(shutil.disk_usage(tempfile.gettempdir()).free < 2 << 30, "foliot refuses jobs on a nearly full disk")
    def test_memory_and_starts_with_stored_jobs(self):
        figures, text = self.own("--only", "stored-jobs", told=r"(foliot: [^\n]+ is left out[^\n]+\n)*")
        found = {}
        for each in figures["records"]:
            self.assertGreater(each["median"], 0)
            self.assertEqual(each["jobs"], 1000)
            found.setdefault(each["contestant"], []).append((each["figure"], each["unit"]))
        names = {each["name"] for each in figures["contestants"]} & {"foliot", "beanstalkd-F"}
        self.assertEqual(set(found), names)
        for each in found.values():
            self.assertEqual(each, [("resident", "MB"), ("start", "s"), ("resident-after-start", "MB"),
                                    ("start-after-kill", "s")])
        self.assertEqual(self.folders(), [])

    @unittest.skipIf(shutil.disk_usage(tempfile.gettempdir()).free < 2 << 30, "foliot refuses jobs on a nearly full disk")
    def test_lists_with_stored_tubes_and_jobs(self):
        """The smallest sizes, those of --quick, and what is stored by name: an empty page would end the run."""
        names = ["tubes", "middle-tubes", "1000-tubes", "due", "delayed", "ready", "reserved", "jobs", "1000-jobs",
                 "small-tube", "small-tube-ready", "prefix"]
        for stored, arguments in {(20, 2000): [], (3, 16): ["--tubes", "3", "--jobs", "16"],
                                  (150, 1200): ["--tubes", "150", "--jobs", "1200"]}.items():
            figures, text = self.own("--only", "lists", "--contestants", "foliot-http,foliot-memory", *arguments,
                                     told=r"(foliot: [^\n]+ is left out: [^\n]+\n)*")
            if figures["absences"]:
                self.skipTest("; ".join(each["reason"] for each in figures["absences"]))
            found = {each["figure"]: each for each in figures["records"]}
            self.assertEqual(sorted(found), sorted(names + ["server-cpu-" + each for each in names]))
            for each in found.values():
                self.assertEqual((each["contestant"], each["tubes"], each["jobs"]), ("foliot-http", *stored))
                self.assertGreater(each["median"], 0)
            self.assertEqual((found["due"]["unit"], found["server-cpu-due"]["unit"]), ("ms", "ms/page"))
            self.assertIn(f"with {stored[0]} tubes and {stored[1]} jobs stored", text)
            self.assertEqual(self.folders(), [])

    @unittest.skipIf(shutil.disk_usage(tempfile.gettempdir()).free < 2 << 30, "foliot refuses jobs on a nearly full disk")
    def test_http_tls_tokens_and_another_program(self):
        """Each variant does each workload in which it is compared; the other program is this one."""
        figures, text = self.own("--only", "puts,cycles,batches,heartbeats,idle-polls", "--contestants",
                                 ",".join(["foliot", "foliot-old"] + VARIANTS), "--old", PROGRAM,
                                 told=r"(foliot: [^\n]+ is left out: [^\n]+\n)*")
        names = [each["name"] for each in figures["contestants"]]
        absent = [each["contestant"] for each in figures["absences"]]
        self.assertEqual(sorted(names + absent), sorted(["foliot", "foliot-old"] + VARIANTS))
        if absent:
            self.skipTest("; ".join(each["reason"] for each in figures["absences"]))
        both_sides = [each for each in names if each != "foliot"]
        self.check_rates(figures, both_sides, BOTH_SIDES | {"batches": ["10"]})
        found = {}
        for each in figures["records"]:
            found.setdefault((each["workload"], each["contestant"]), {})[each["figure"]] = each
        for name in ["foliot"] + VARIANTS:
            beats = found["heartbeats", name]
            self.assertEqual(list(beats), ["cores", "beats", "connections", "gateway-cores", "gateway-beats",
                                           "gateway-connections"])
            self.assertEqual((beats["connections"]["median"], beats["gateway-connections"]["median"]), (100, 4))
            self.assertEqual((beats["cores"]["unit"], beats["cores"]["keys"]), ("cores", 100))
            self.assertGreater(beats["beats"]["median"], 0)
            self.assertGreater(beats["gateway-cores"]["median"], 0)
            polls = found["idle-polls", name]
            self.assertEqual((polls["bytes"]["unit"], polls["bytes"]["polls"]), ("bytes/poll", 100))
            self.assertEqual(polls["connections"]["median"], 100)
        self.assertNotIn(("heartbeats", "foliot-old"), found)
        self.assertIn("by 4 gateways in batches of 10\n", text)
        self.assertIn("foliot-old: foliot ", text)
        self.assertEqual(self.folders(), [])

    def test_targets_are_those_of_what_was_measured(self):
        figures, text = self.own("--only", "puts,cycles", "--contestants", "foliot-memory")
        self.assertEqual(figures["targets"], [])
        self.assertNotIn("targets", text)
        if shutil.which("beanstalkd") is None:
            self.skipTest("beanstalkd is not installed")
        figures, text = self.own("--only", "puts", "--contestants", "foliot-memory,beanstalkd")
        (target,) = figures["targets"]
        rates = {each["contestant"]: each["median"] for each in figures["records"]
                 if each["figure"] == "rate" and each["connections"] == 1}
        ratio = rates["foliot-memory"] / rates["beanstalkd"]
        self.assertEqual((target["what"], target["at_least"]), ("puts, 1 connection", 1))
        self.assertAlmostEqual(target["measured"], ratio, delta=0.01 + ratio / 100)
        if target["measured"] != 1:  # which is rounded
            self.assertEqual(target["reached"], target["measured"] > 1)
        self.assertIn("yes" if target["reached"] else "no", text.split("targets:")[1])

    def test_over_tcp(self):
        figures, _ = self.quick("--folder", self.here, "--only", "pipelined-puts", "--contestants", "foliot-memory")
        self.check_rates(figures, ["foliot-memory"], {"pipelined-puts": ["8", "64"]})

    def test_without_beanstalkd_foliot_is_measured_alone(self):
        told = "".join(f"foliot: {each} is left out: beanstalkd is not installed [^\n]+\n" for each in OTHERS)
        figures, text = self.own("--only", "puts", "--contestants", ",".join(FOLIOT + OTHERS), PATH="/nowhere", told=told)
        self.check_rates(figures, FOLIOT, {"puts": ["1", "4"]})
        self.assertEqual([each["contestant"] for each in figures["absences"]], OTHERS)
        self.assertIn("left out: beanstalkd: beanstalkd is not installed", text)
        self.expect_failure("nothing can be measured: beanstalkd is not installed", "--contestants", "beanstalkd",
                            environment={"PATH": "/nowhere"})

    def test_a_server_that_ends_by_itself(self):
        wrong = self.here / "bin" / "beanstalkd"
        wrong.parent.mkdir()
        wrong.write_text("#!/bin/sh\necho it has no luck >&2\nexit 3\n")
        wrong.chmod(0o755)
        self.expect_failure("puts of beanstalkd: beanstalkd has ended by itself, with exit code 3: it has no luck", "--unix",
                            "--folder", self.here, "--only", "puts", "--contestants", "beanstalkd",
                            environment={"PATH": f"{wrong.parent}:{os.environ['PATH']}"})
        self.assertEqual(self.folders(), [])

    def test_nats_that_cannot_be_measured(self):
        chosen = ["--folder", self.here, "--only", "delayed-puts", "--contestants", "foliot-memory,nats"]
        reason = "its source is not here: set FOLIOT_BENCH_PEERS"
        figures, text = self.quick(*chosen, told=f"foliot: nats is left out: {reason}\n",
                                   FOLIOT_BENCH_PEERS=str(self.here / "nowhere"))
        self.check_rates(figures, ["foliot-memory"], {"delayed-puts": RATES["delayed-puts"]})
        self.assertIn(f"left out: nats: {reason}", text)
        environment = self.with_stub_of_go("echo no such module >&2", "exit 1")
        reason = "it cannot be built: it ended with exit code 1: no such module"
        self.quick(*chosen, told=f"{BUILDING}foliot: nats is left out: {reason}\n", **environment)
        self.expect_failure(f"nothing can be measured: {reason}", *chosen[:-1], "nats", environment=environment, told=BUILDING)
        self.stub_go("while [ $1 != -o ]; do shift; done",
                     "echo '#!/bin/sh\necho it has no luck >&2; exit 3' > $2", "chmod +x $2")
        self.expect_failure("delayed-puts of nats: nats has ended by itself, with exit code 3: it has no luck", *chosen[:-1],
                            "nats", environment=environment, told=BUILDING)

    def test_nats_is_not_built_where_nothing_measures_it(self):
        chosen = ["--folder", self.here, "--only", "pipelined-puts", "--contestants"]
        environment = self.with_stub_of_go("exit 1")
        figures, _ = self.quick(*chosen, "foliot-memory,nats", **environment,
                                told="foliot: nats is left out: none of the workloads measures it\n")
        self.check_rates(figures, ["foliot-memory"], {"pipelined-puts": RATES["pipelined-puts"]})
        # Of all servers.
        self.quick(*chosen[:-1], told=r"(foliot: (?!nats)[^\n]+ is left out: [^\n]+\n)*", **environment)
        self.assertFalse((self.here / "called").exists())
        self.assertEqual(self.folders(), [])


class ServeBenchNats(ServeBenchCase):
    """NATS itself, where Go is installed and has fetched it or can fetch it."""

    @classmethod
    def setUpClass(cls):
        if os.environ.get("FOLIOT_SANITIZED") == "1":
            raise unittest.SkipTest("no sanitizer looks into another program")

    def test_each_workload_has_its_figures(self):
        # The caches of Go are kept.
        environment = {"GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache/go-build")),
                       "XDG_CACHE_HOME": str(self.here / "cache"), "FOLIOT_BENCH_PEERS": ""}
        only = ["puts", "cycles", "delayed-puts", "lateness", "stored-jobs"]
        figures, text = self.quick("--folder", self.here, "--only", ",".join(only), "--contestants", "foliot-memory,nats",
                                   told=f"({BUILDING})?" + r"(foliot: nats is left out: [^\n]+\n)?", **environment)
        if figures["absences"]:
            (absence,) = figures["absences"]
            self.assertRegex(absence["reason"], r"is not installed\Z|cannot be built")
            self.skipTest(f"nats: {absence['reason']}")
        self.check_rates(figures, ["nats"], BOTH_SIDES | {"delayed-puts": RATES["delayed-puts"]})
        found = {}
        for each in figures["records"]:
            if each["contestant"] == "nats":
                self.assertGreaterEqual(each["median"], 0)
                found.setdefault((each["workload"], each.get("due_per_second")), []).append(each["figure"])
        for rate in (50, 100):
            self.assertEqual(found["lateness", rate], ["p50", "p90", "p99", "p99.9", "max"])
        self.assertEqual(found["stored-jobs", None], ["resident", "start", "resident-after-start", "start-after-kill"])
        version = next(each["version"] for each in figures["contestants"] if each["name"] == "nats")
        self.assertRegex(version, r"\Anats-server: v2\.\d+\.\d+\Z")
        self.assertIn("sync_interval: always", text)
        self.assertEqual(self.folders(), [])


class ServeBenchAddress(ServeBenchCase):
    def setUp(self):
        super().setUp()
        self.at = f"unix:{self.here / 'served'}"
        # The server tells this socket when it listens.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(self.here / "ready"))
            ready.settimeout(PATIENCE)
            self.server = self.served()
            self.assertEqual(ready.recv(100), b"READY=1")

    def connection(self):
        made = Connection(str(self.here / "served"))
        self.addCleanup(made.close)
        return made

    def test_any_running_server(self):
        limit = "bodies of 81920 bytes are larger than the server's limit of 65535"
        told = "".join(f"foliot: server is left out of {each}: {limit}\n" for each in ("put-sizes", "cycle-sizes"))
        figures, text = self.quick("--address", self.at, "--only", ",".join(RATES), told=told)
        self.check_rates(figures, ["server"], RATES | {"put-sizes": ["8 B"], "cycle-sizes": ["8 B"]})
        self.assertIn(f"at {self.at}", text)
        counts = self.connection().numbers(b"stats\r\n")
        self.assertGreater(counts["total-jobs"], 0)
        for state in ("ready", "reserved", "delayed", "buried"):
            self.assertEqual(counts[f"current-jobs-{state}"], 0, state)

    def test_the_name_of_a_host(self):
        """The server listens at one of its addresses, which it tells; the benchmark finds that one."""
        server = self.start("serve", "--memory", "--beanstalk", "localhost:0")
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        for pipe in (server.stdout, server.stderr):
            self.addCleanup(pipe.close)
        address = None
        while address is None:
            self.assertIsNone(server.poll())
            address = re.search(rb"clients connect to \S+:(\d+)\n", server.stderr.readline())
        _, text = self.quick("--only", "puts", "--address", f"localhost:{int(address[1])}")
        self.assertIn("puts", text)

    def test_lateness_starts_servers_of_its_own(self):
        told = "foliot: server is left out of lateness: it starts servers of its own\n"
        figures, _ = self.quick("--address", self.at, "--only", "puts,lateness", told=told)
        self.assertEqual({each["workload"] for each in figures["records"]}, {"puts"})
        self.assertEqual([each["workloads"] for each in figures["absences"]], ["lateness"])

    def test_a_tube_with_jobs_is_refused(self):
        client = self.connection()
        client.ask(b"use foliot-bench\r\n")
        client.ask(b"put 0 3600 60 1\r\nx\r\n")
        self.expect_failure(f"tube 'foliot-bench' of the server at {self.at} has 1 job", "--only", "puts",
                            "--address", self.at)
        self.quick("--address", self.at, "--tube", "another", "--only", "puts")
        self.assertEqual(client.numbers(b"stats\r\n")["current-jobs-delayed"], 1)

    def test_a_server_that_drains(self):
        client = self.connection()
        self.server.send_signal(signal.SIGUSR1)
        while client.ask(b"put 0 0 60 1\r\nx\r\n").startswith(b"INSERTED"):
            pass  # until the server has seen the signal
        self.expect_failure("puts of server: the server answered 'DRAINING' to 'put'", "--only", "puts", "--address",
                            self.at)


class ServeBenchErrors(ServeBenchCase):
    def answer(self, replies):
        """An address where a server answers the commands with these replies, then closes the connection."""
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(self.here / "fake"))
        listener.listen()

        def serve_one(client):
            with client, client.makefile("rb") as lines:
                for line in lines:
                    reply = replies.get(line.split()[0])
                    if reply is None:
                        return
                    client.sendall(reply)

        def serve():
            while True:
                try:
                    client = listener.accept()[0]
                except OSError:
                    return  # the test has ended
                try:
                    serve_one(client)
                except OSError:
                    pass  # the client has gone

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
        return f"unix:{self.here / 'fake'}"

    FACTS = b'---\nversion: "fake"\nmax-job-size: 65535\n'
    STATS = b"OK %d\r\n%s\r\n" % (len(FACTS), FACTS)
    ENTERING = {b"stats": STATS, b"stats-tube": b"NOT_FOUND\r\n", b"use": b"USING x\r\n", b"watch": b"WATCHING 2\r\n",
                b"ignore": b"WATCHING 1\r\n"}

    def test_a_server_that_closes_the_connection(self):
        at = self.answer(self.ENTERING)
        self.expect_failure(f"puts of server: the server at {at} has closed a connection", "--only", "puts",
                            "--address", at)

    def test_a_server_that_refuses(self):
        at = self.answer(self.ENTERING | {b"put": b"OUT_OF_MEMORY\r\n", b"x" * 100: b""})
        self.expect_failure("puts of server: the server answered 'OUT_OF_MEMORY' to 'put'", "--only", "puts", "--address", at)

    def test_a_server_that_answers_too_much(self):
        at = self.answer({b"stats": self.STATS + b"DELETED\r\n"} | self.ENTERING | {b"use": b"USING x\r\nDELETED\r\n"})
        self.expect_failure(f"puts of server: the server at {at} sent a reply to no command: 'DELETED'", "--only", "puts",
                            "--address", at)

    def test_nobody_there(self):
        at = f"unix:{self.here / 'nobody'}"
        self.expect_failure(f"cannot connect to '{at}': No such file or directory", "--address", at)

    def test_arguments(self):
        wrong = {
            "there is no workload 'put'; there are puts, cycles": ["--only", "put"],
            "there is no server 'redis'; there are foliot, foliot-memory, beanstalkd-f0": ["--contestants", "redis"],
            "--seconds: '0' is no number of seconds: name one from 0.01 to 3600": ["--seconds", "0"],
            "--repetitions: '0' is no number of repetitions": ["--repetitions", "0"],
            "'nowhere' is no address": ["--address", "nowhere"],
            "--address 'off' is no address": ["--address", "off"],
            "--contestants is for servers that the benchmark starts": ["--address", "1", "--contestants", "foliot"],
            "--folder is for servers that the benchmark starts": ["--address", "1", "--folder", "."],
            "--old is for servers that the benchmark starts": ["--address", "1", "--old", PROGRAM],
            "--old: '.' is no program that can be executed": ["--old", "."],
            "--tube is for the server of --address": ["--tube", "x"],
            "--tube: '-x' is no name of a tube": ["--address", "1", "--tube=-x"],
            "cannot make a folder in 'nowhere': No such file or directory": [
                "--folder", "nowhere"],
            "--json and --report go to the same file": ["--json", "a", "--report", "./a"],
            "--tubes: '2' is no whole number from 3 to 1000000": ["--tubes", "2"],
            "--jobs: 199 jobs are too few for 100 tubes: name at least 200 with --jobs": ["--tubes", "100", "--jobs", "199"],
            "--jobs: 100000 jobs are too few for 60000 tubes": ["--tubes", "60000"],
            "--jobs: 15 jobs are too few for 3 tubes: name at least 16": ["--tubes", "3", "--jobs", "15"],
            "--jobs is for the workload lists, which --only leaves out": ["--only", "puts", "--jobs", "16"],
        }
        environment = os.environ | self.with_stub_of_go("exit 1")
        for sentence, arguments in wrong.items():
            with self.subTest(sentence):
                code, out, err = self.run_foliot("bench", "serve", *arguments, env=environment)
                self.assertRegex(err, r"\A" + WARNING + r"foliot: [^\n]+\n\Z")
                self.assertIn(sentence, err)
                self.assertEqual((code, out), (2, ""))
        self.assertFalse((self.here / "called").exists())
        self.expect_error("--quick stands before 'serve'", "bench", "--quick", "serve")
        self.expect_error("foliot bench serve has no '--n'", "bench", "serve", "--n", "1")


class ServeBenchEnd(ServeBenchCase):
    def begin(self):
        """A run that would last for an hour, and a connection to the server that it has started."""
        run = self.start("bench", "serve", "--unix", "--folder", self.here, "--contestants", "foliot-memory", "--only",
                         "cycles", "--seconds", "3600", preexec_fn=default_signals)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        for pipe in (run.stdout, run.stderr):
            self.addCleanup(pipe.close)
        while run.poll() is None:
            for folder in self.folders():
                try:
                    server = Connection(str(folder / "socket"))
                except OSError:
                    time.sleep(0.01)  # it does not listen yet
                    continue
                self.addCleanup(server.close)
                return run, server
        self.fail(run.stderr.read().decode())

    def test_ctrl_c_ends_the_server_and_removes_its_folder(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                run, server = self.begin()
                run.send_signal(number)
                self.assertEqual(run.wait(), -number)
                server.rest()  # until the end, or the test waits for ever
                self.assertEqual(self.folders(), [])
                self.assertRegex(run.stderr.read().decode(), r"\A" + WARNING + r"\Z")

    def test_the_server_dies_with_the_benchmark(self):
        run, server = self.begin()
        run.kill()
        server.rest()  # until the end, or the test waits for ever


if __name__ == "__main__":
    main()
