"""`foliot job`: each command against real servers, by people and by programs, with access tokens of each scope, over TLS, and
with names and bodies that are hostile."""
import contextlib
import json
import os
import pty
import queue
import re
import select
import signal
import socket
import subprocess
import threading
import time
import unittest

from kit import beanstalk_client, nginx
from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE
from kit.certificates import Authority, openssl
from kit.http_case import HttpCase
from kit.program_case import FOLIOT, ProgramCase, default_signals, main
from nodes_test import NodesCase

NOBODY = f"{'x' * 64}.invalid"  # no server of names is asked for one that is so long
MANY_JOBS = 20_000  # so many are not changed at once
ATTEMPTS = 20
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
ESCAPES = "a\x1b[2J\x1b]0;owned\x07\u009b31m\u202egpj\u2066"


def environment(**more):
    """Without what the user of these tests has set."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FOLIOT_")} | more


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, case, *arguments, env=None):
        self.case = case
        self.master, slave = pty.openpty()
        case.addCleanup(os.close, self.master)
        self.process = subprocess.Popen([FOLIOT, *map(str, arguments)], cwd=case.here, stdin=slave, stdout=slave, stderr=slave,
                                        env=env or environment(), start_new_session=True,
                                        preexec_fn=default_signals)
        os.close(slave)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        self.seen = ""

    def read_until(self, text):
        until = time.monotonic() + PATIENCE
        while text not in self.seen:
            self.case.assertLess(time.monotonic(), until, self.seen)
            if not self.read():
                self.case.fail(f"it has ended with {self.seen!r}")

    def read(self):
        """Returns whether there is more."""
        self.case.assertTrue(select.select([self.master], [], [], PATIENCE)[0], self.seen)
        try:
            got = os.read(self.master, 4096)
        except OSError:  # the program has closed the terminal
            return False
        self.seen += got.decode()
        return bool(got)

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        while self.read():
            pass
        return self.process.wait(PATIENCE)


class ActionServer:
    """Stands for a server with one action, number 7, over 3 jobs. It tells of each request, such as "GET /v1/actions/7", in
    `requests`. It does not answer those in `hangs`. Before it answers one in `waits`, it waits for `goes_on`."""

    def __init__(self, case, hangs=(), waits=()):
        self.requests, self.goes_on = queue.SimpleQueue(), threading.Event()
        self.hangs, self.waits = hangs, waits
        self.state = "counted"
        self.listener = socket.create_server(("127.0.0.1", 0))
        case.addCleanup(self.listener.close)
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=[self.listener.accept()[0]], daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError):
            while first := lines.readline():
                length = 0
                while (line := lines.readline().strip()):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                lines.read(length)
                request = first.decode().rsplit(" ", 1)[0]
                self.requests.put(request)
                if request in self.hangs:
                    lines.read()  # until the client has gone
                    return
                if request in self.waits:
                    self.goes_on.wait(PATIENCE)
                connection.sendall(self.answer(request))

    def answer(self, request):
        if request.endswith("/run"):
            self.state = "running"
        elif request.endswith("/stop"):
            self.state = "stopped"
        body = json.dumps({"id": "7", "do": "cancel", "state": self.state, "counted": 3, "outcomes": {"done": 1}}).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def wait_for(self, request):
        while self.requests.get(timeout=PATIENCE) != request:
            pass

    def left(self):
        """The requests that nobody has waited for."""
        seen = []
        with contextlib.suppress(queue.Empty):
            while True:
                seen.append(self.requests.get_nowait())
        return seen


class JobCase(HttpCase):
    """`self.job(…)` runs `foliot job` against the server."""

    def begin(self, *arguments):
        super().begin(*arguments)
        self.server_option = ("--server", f"unix:{self.path}")

    def arguments(self, what, *more):
        return ("job", what, *self.server_option, *more)

    def job(self, what, *more, **options):
        return self.expect_done(*self.arguments(what, *more), **{"env": environment()} | options)

    def refuse(self, sentence, what, *more, code=1, **options):
        self.expect_error(sentence, *self.arguments(what, *more), code=code, **{"env": environment()} | options)

    def lines(self, what, *more):
        return [json.loads(line) for line in self.job(what, *more, "--json").splitlines()]


class Jobs(JobCase):
    def setUp(self):
        super().setUp()
        self.begin()

    def test_put_and_get(self):
        self.assertEqual(self.job("put", "mail", "hello", "--delay", "2h"), "job 1: inserted\n")
        self.assertEqual(self.job("put", "mail", "a", "--key", "k", "--priority", "7", "--ttr", "5m", "--type", "text/plain",
                                  "--header", "trace=a=1", "--header", "b=2"), "job 2: inserted\n")
        self.assertEqual(self.job("put", "mail", "a", "--key", "k"), "job 2: kept\n")
        self.refuse("a job with this key is there: nothing was put", "put", "mail", "a", "--key", "k", "--existing", "refuse")
        self.assertEqual(self.job("put", "mail", "b", "--key", "k", "--existing", "replace", "--json"),
                         '{"id":"3","outcome":"replaced"}\n')
        self.assertRegex(self.job("get", "1"), rf"""\Ajob 1
  tube            mail
  state           delayed
  due             {TIME} \(in 2 h\)
  priority        0
  ttr             1m
  made            {TIME} \((now|\d+ s ago)\)
  times           reserved 0, timeouts 0, released 0, buried 0, kicked 0
  version         \d+
body, 5 bytes:
  hello
\Z""")
        self.assertEqual(json.loads(self.job("get", "mail", "k", "--json")), self.ask("GET", "/v1/jobs/3")[1])
        self.refuse("there is no such job: it has ended, or never was", "get", "17")

    def test_a_body_is_what_was_given(self):
        every = bytes(range(256)) * 200
        self.put("body", every)
        self.job("put", "mail", "--file", "body")
        self.job("put", "mail", "--file", "-", given=b"from a pipe")
        self.job("put", "mail", "--", "-n")
        self.job("put", "mail", "[1]", "--key", "[1]")
        self.job("put", "mail")
        with self.start(*self.arguments("get", "1", "--body"), env=environment()) as process:
            self.assertEqual(process.communicate()[0], every)
        self.assertEqual([self.job("get", *name, "--body") for name in (("2",), ("3",), ("mail", "[1]"), ("5",))],
                         ["from a pipe", "-n", "[1]", ""])
        self.refuse("cannot read 'missing'", "put", "mail", "--file", "missing", code=2)

    def test_headers(self):
        self.job("put", "mail", "--header", "trace=a=1", "--header", "empty=")
        self.assertEqual(self.ask("GET", "/v1/jobs/1")[1]["headers"], {"trace": "a=1", "empty": ""})
        for wrong in ("a", "=b", "a:b=c", "a b=c", "ü=c", "a\r\nb=c"):
            self.refuse("--header: '", "put", "mail", "--header", wrong, code=2)
        self.refuse("--header: 'a=b\\x0d\\x0ac' has control characters", "put", "mail", "--header", "a=b\r\nc", code=2)
        self.refuse("leave one out", "put", "mail", "a", "--file", "body", code=2)

    def test_names_that_a_url_would_change(self):
        key = "a/../b?c=d&e#f%2F +ü"
        self.job("put", "a/b+c;d.$_()", "x", "--key", key)
        self.assertEqual(self.lines("get", "a/b+c;d.$_()", key)[0]["key"], key)
        self.assertIn("no client of this server watches", self.job("why", "a/b+c;d.$_()", key))
        self.assertEqual(self.job("fire", "a/b+c;d.$_()", key), "job 1: ready\n")
        self.assertEqual(self.job("cancel", "a/b+c;d.$_()", key), "job 1: cancelled\n")

    def test_lists(self):
        for i in range(1, 4):
            self.job("put", f"tube{i % 2}", "x", "--delay", f"{i}h", "--key", f"key{i}")
        self.job("put", "tube1", "x", "--priority", "5")
        table = self.job("list").splitlines()
        self.assertEqual(table[0].split(), ["ID", "TUBE", "KEY", "STATE", "DUE", "PRIORITY"])
        self.assertEqual([line.split()[:4] for line in table[1:4]],
                         [[str(i), f"tube{i % 2}", f"key{i}", "delayed"] for i in range(1, 4)])
        self.assertRegex(table[1], r" delayed  in 60 min +0\Z")
        self.assertEqual(len({len(line) for line in table}), 1, "the last column is of numbers")
        self.assertEqual([job["id"] for job in self.lines("list", "--tube", "tube1", "--state", "delayed")], ["1", "3"])
        self.assertEqual([job["id"] for job in self.lines("list", "--due")], ["1", "2", "3"])
        self.assertEqual([job["id"] for job in self.lines("list", "--due", "--tube", "tube1")], ["1", "3"])
        self.assertEqual([job["id"] for job in self.lines("list", "--due", "--prefix", "tube0")], ["2"])
        self.assertRegex(self.job("list", "--due", "--prefix", "tube0"), rf"\AID  TUBE   DUE     AT\n 2  tube0  in 2 h  {TIME}\n\Z")
        self.assertEqual(self.lines("list", "--prefix", "tube")[3], self.ask("GET", "/v1/jobs?prefix=tube")[1]["jobs"][3])
        self.assertRegex(self.job("list", "--exact", "--state", "delayed", "--tube", "tube0"), TIME)
        self.job("put", "tube1", "a needle", "--key", "other")
        self.assertEqual([job["id"] for job in self.lines("list", "--key-prefix", "key", "--tube", "tube1")], ["1", "3"])
        self.assertEqual([job["id"] for job in self.lines("list", "--text", "needle")], ["5"])
        self.assertEqual(self.run_foliot(*self.arguments("list", "--text", "hay"), env=environment()),
                         (0, "", "foliot: there are no such jobs\n"))
        self.assertEqual(self.job("cancel", "tube1", "other"), "job 5: cancelled\n")
        self.assertEqual(self.job("tubes"), "TUBE   READY  DELAYED  RESERVED  BURIED\n"
                                            "tube0      0        1         0       0\n"
                                            "tube1      1        2         0       0\n")
        self.assertEqual(self.lines("tubes"), self.ask("GET", "/v1/tubes")[1]["tubes"])

    def test_long_lists_come_in_pages(self):
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": "mail", "text": "x"}] * 1000})
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": "mail", "text": "x"}] * 203})
        self.assertEqual([int(job["id"]) for job in self.lines("list", "--count", "5000")], list(range(1, 1204)))
        code, out, err = self.run_foliot(*self.arguments("list", "--count", "1100"), env=environment())
        self.assertEqual((code, out.count("\n"), err),
                         (0, 1101, "foliot: more follow than these 1100: --count shows more\n"))

    def test_schedules(self):
        plan = {"rules": ["0 9 * * MON-FRI"], "zone": "Europe/Berlin", "note": "a \x1b[2J", "job": {"text": "hi"}}
        self.assertEqual(self.ask("PUT", "/v1/tubes/mail/schedules/report", plan)[0], 201)
        self.assertEqual(self.ask("PUT", "/v1/tubes/bill/schedules/other", {"rules": ["@daily"]})[0], 201)
        self.assertRegex(self.job("schedules", "mail"), r"\ATUBE +NAME +STATE +NEXT +LOCAL TIME +ZONE +RULES\n"
                         r"mail +report +active +in .+ 09:00 +Europe/Berlin +0 9 \* \* MON-FRI\n\Z")
        self.assertEqual({one["name"] for one in self.lines("schedules")}, {"report", "other"})
        self.assertEqual([one["name"] for one in self.lines("schedules", "--prefix", "bi")], ["other"])
        shown = self.job("schedule", "mail", "report")
        self.assertRegex(shown, r"\Aschedule report of tube mail\n  state +active\n  rules +At 09:00 on Monday to Friday, by")
        self.assertNotIn("\x1b", shown)
        self.assertEqual(len(re.findall(r" 09:00  CES?T ", shown)), 10, shown)
        self.assertRegex(self.job("schedule", "mail", "report", "--skip"), r"\Aschedule report of tube mail: skipped, \d{4}-.*Z\n\Z")
        self.assertIn("will be skipped", self.job("schedule", "mail", "report"))
        self.assertEqual(self.job("schedule", "mail", "report", "--pause", "--note", "holidays", "--until", "2100-01-01T00:00:00Z"),
                         "schedule report of tube mail: paused\n")
        self.assertRegex(self.job("schedule", "mail", "report", "--exact"),
                         r"  paused +since \d{4}-.*Z, until 2100-01-01T00:00:00Z: holidays\n")
        self.assertEqual(self.job("schedule", "mail", "report", "--resume"), "schedule report of tube mail: resumed\n")
        self.assertRegex(self.job("schedule", "mail", "report", "--run"),
                         r"\Aschedule report of tube mail: accepted, .*, job report@.*\n\Z")
        [seen] = self.lines("schedule", "mail", "report")
        self.assertEqual((seen["name"], seen["plan"]["rules"]), ("report", ["0 9 * * MON-FRI"]))
        self.refuse("there is no such schedule", "schedule", "mail", "none")
        self.refuse("at", "schedule", "mail", "report", "--skip", "--at", "2100-01-01T00:00:01Z", code=2)
        self.refuse("exclude each other", "schedule", "mail", "report", "--skip", "--run", code=2)
        self.refuse("belong to --pause", "schedule", "mail", "report", "--note", "x", code=2)

    def test_policies(self):
        self.assertEqual(self.run_foliot(*self.arguments("policies"), env=environment()), (0, "", "foliot: no tube has a policy\n"))
        self.refuse("the tube has no policy", "policy", "mail")
        set_some = ["--tries", "5", "--delay", "10s", "--factor", "2", "--most-delay", "1h", "--dead-letters", "mail-dead"]
        self.assertEqual(self.job("policy", "mail", *set_some), "policy of tube mail: made\n")
        wanted = {"tries": 5, "delay": {"first": "10s", "factor": 2.0, "most": "1h"}, "dead_letters": "mail-dead"}
        self.assertEqual(self.ask("GET", "/v1/policies/mail")[1]["policy"], wanted)
        self.assertEqual(self.job("policy", "mail", "--most-per-second", "7", "--burst", "9", "--count-releases", "false"),
                         "policy of tube mail: changed\n")
        wanted |= {"most_per_second": 7, "burst": 9, "counts_releases": False}
        [seen] = self.lines("policy", "mail")
        self.assertEqual(seen["policy"], wanted, "what was not named stays")
        self.assertEqual(self.job("policy", "mail", "--burst", "9"), "policy of tube mail: unchanged\n")
        self.job("policy", "bill", "--delay", "1s", "--delay", "1m", "--tries", "2")
        self.assertEqual(self.ask("GET", "/v1/policies/bill")[1]["policy"], {"tries": 2, "delay": {"listed": ["1s", "1m"]}["listed"]})
        shown = self.job("policy", "mail")
        self.assertRegex(shown, r"\Apolicy of tube mail\n  tries +5\n  a release counts +false\n")
        self.assertIn("  delay                   10s, times 2, at most 1h\n", shown)
        self.assertRegex(self.job("policies"), r"\ATUBE +TRIES +DELAY +DEAD LETTERS +PER SECOND\n"
                         r"mail +5 +10s, times 2, at most 1h +mail-dead +7\nbill +2 +1s, 1m\n\Z")
        self.assertEqual({one["tube"] for one in self.lines("policies")}, {"mail", "bill"})
        self.assertEqual([one["tube"] for one in self.lines("policies", "--prefix", "bi")], ["bill"])
        self.refuse("tries", "policy", "mail", "--tries", "many", code=2)
        self.refuse("dead_letters", "policy", "mail", "--dead-letters", "mail", code=2)
        self.refuse("belong to --delay", "policy", "none", "--jitter", "0.5", code=2)
        self.job("policy", "mail", "--delay", "20s")
        self.job("policy", "mail", "--factor", "3")
        self.assertEqual(self.ask("GET", "/v1/policies/mail")[1]["policy"]["delay"], {"first": "20s", "factor": 3, "most": "1h"})
        self.job("policy", "bill", "--jitter", "0.5")
        self.assertEqual(self.ask("GET", "/v1/policies/bill")[1]["policy"]["delay"], {"listed": ["1s", "1m"], "jitter": 0.5})
        self.job("policy", "mail", "--most-per-second", "0", "--tries", "0")
        self.assertEqual(set(self.ask("GET", "/v1/policies/mail")[1]["policy"]), {"delay", "counts_releases"})
        self.refuse("--clear takes the whole policy away", "policy", "mail", "--clear", "--tries", "1", code=2)
        self.assertEqual(self.job("policy", "mail", "--clear"), "policy of tube mail: deleted\n")
        self.refuse("the tube has no policy", "policy", "mail", "--clear")

    def test_a_reason_is_shown_with_the_job(self):
        self.job("policy", "mail", "--tries", "2")
        self.job("put", "mail", "x", "--group", "customer 7", "--expires-in", "1h")
        [job] = self.lines("reserve", "mail")
        self.job("release", job["reservation"], "--reason", "full \x1b[2J")
        shown = self.job("get", job["id"])
        self.assertRegex(shown, r"  group +customer 7\n")
        self.assertRegex(shown, r"  tries +1 failed\n +\S+ \(.*\): released by .*: full ")
        self.assertNotIn("\x1b", shown)

    def test_a_list_without_jobs(self):
        self.assertEqual(self.run_foliot(*self.arguments("list"), env=environment()), (0, "", "foliot: there are no such jobs\n"))
        self.assertEqual(self.job("list", "--json"), "")
        self.job("put", "mail", "x", "--delay", "1h")
        self.refuse("tube 'mial' has no jobs: the nearest that has some is 'mail'", "list", "--tube", "mial")
        self.refuse("tube 'icons' has no jobs", "list", "--tube", "icons")
        self.refuse("there is no such job: it has ended, or never was; tube 'mial' has no jobs: the nearest that has some is 'mail'",
                    "get", "mial", "k")
        self.refuse("the nearest that has some is 'mail'", "cancel", "mial", "k")
        self.assertEqual(self.run_foliot(*self.arguments("list", "--tube", "mail", "--state", "buried"), env=environment()),
                         (0, "", "foliot: there are no such jobs\n"))

    def test_why(self):
        self.job("put", "mail", "x", "--delay", "2h")
        self.assertRegex(self.job("why", "1"), rf"\Ajob 1 of tube 'mail' is delayed: it is due at {TIME} \(in 2 h\)\n\Z")
        self.job("put", "mail", "x")
        self.assertEqual(self.job("why", "2"),
                         "job 2 of tube 'mail' is ready, but no client of this server watches its tube: start a worker\n")
        self.ask("POST", "/v1/tubes/mail/pause?length=2h")
        self.assertRegex(self.job("why", "2"), rf"\Ajob 2 of tube 'mail' is ready, but its tube is paused until {TIME} \(in 2 h\)\n\Z")
        self.assertRegex(self.job("tubes"), r"PAUSED UNTIL\nmail .*  in 2 h\n\Z")
        self.ask("POST", "/v1/tubes/mail/pause?length=0s")
        token = self.lines("reserve", "mail")[0]["reservation"]
        self.assertRegex(self.job("why", "2"), rf"is reserved: \S.* has it until {TIME} \(in [\d a-z]+\), unless it touches the job\n\Z")
        self.assertEqual(self.job("bury", token), "reservation: buried\n")
        self.assertEqual(self.job("why", "2"),
                         "job 2 of tube 'mail' is buried: a worker has set it aside; 'foliot job kick 2' makes it ready\n")
        self.assertEqual(self.lines("why", "2"), [self.ask("GET", "/v1/jobs/2/why")[1]])

    def test_changes_of_one_job(self):
        self.job("put", "mail", "x", "--delay", "2h", "--key", "k")
        self.assertEqual(self.job("move", "mail", "k", "--due", "2100-01-01T00:00:00Z"), "job 1: rescheduled\n")
        self.assertEqual(self.ask("GET", "/v1/jobs/1")[1]["due"], "2100-01-01T00:00:00.000Z")
        self.assertEqual(self.job("move", "1", "--delay", "1h"), "job 1: rescheduled\n")
        self.assertEqual(self.job("kick", "mail", "k"), "job 1: ready\n")
        self.refuse("", "kick", "1")
        self.job("move", "1", "--delay", "1h")
        self.assertEqual(self.job("fire", "1", "--json"), '{"id":"1","outcome":"ready"}\n')
        self.lines("reserve", "mail")
        self.refuse("a worker has the job: nothing has changed", "cancel", "1")
        self.refuse("say when the job is due", "move", "1", code=2)
        self.refuse("--due and --delay exclude each other", "move", "1", "--delay", "1h", "--due", "2100-01-01T00:00:00Z", code=2)
        self.refuse("'k' is no id of a job: write a number such as 17, or a tube and a key", "cancel", "k", code=2)
        self.refuse("name a job by its id, or by its tube and its key", "cancel", code=2)
        self.refuse("a job and a filter are given", "cancel", "1", "--tube", "mail", code=2)

    def test_work(self):
        self.job("put", "mail", "hello")
        text = self.job("reserve", "icons", "mail")
        token = re.search(r"^  reservation     (\S+)$", text, re.M)[1]
        self.assertIn("body, 5 bytes:\n  hello\n", text)
        self.assertTrue(text.endswith(f"say what becomes of it: 'foliot job finish {token}', or release, touch or bury\n"))
        self.assertRegex(self.job("touch", token), rf"\Areservation: touched, reserved until {TIME}\n\Z")
        self.assertEqual(self.job("release", token, "--delay", "1h", "--priority", "9"), "reservation: released\n")
        self.refuse("the reservation has ended", "finish", token)
        self.assertEqual(self.ask("GET", "/v1/jobs/1")[1]["priority"], 9)
        self.refuse("no job was ready within the time", "reserve", "mail", "--timeout", "1ms")
        self.job("fire", "1")
        self.job("put", "mail", "b")
        jobs = self.lines("reserve", "mail", "--count", "2")
        self.assertEqual([job["id"] for job in jobs], ["2", "1"])
        self.assertEqual(self.job("finish", jobs[0]["reservation"], "--json"), '{"outcome":"finished"}\n')

    def test_problems_are_sentences_with_the_field(self):
        self.refuse("`delay` must be a length of time such as 5s or 1h30m", "put", "mail", "--delay", "soon", code=2)
        self.refuse("`priority` must be", "put", "mail", "--priority", "-1", code=2)
        self.refuse("tube", "put", "ma il", code=2)
        self.refuse("--count", "list", "--count", "0", code=2)
        self.refuse("'--tub'", "list", "--tub", "mail", code=2)
        self.expect_error("foliot job has no 'lst': the nearest is 'list'", "job", "lst")
        self.expect_error("no command: name one, such as 'foliot job list'", "job")
        self.assertIn("Exit codes: 0 if it is done", self.expect_done("job", "--help"))
        self.assertIn("--server", self.expect_done("job", "cancel", "--help"))

    def test_the_environment_names_the_server(self):
        self.assertEqual(self.expect_done("job", "put", "mail", env=environment(FOLIOT_SERVER=f"unix:{self.path}")), "job 1: inserted\n")

    def test_proxies_of_the_environment_are_not_used(self):
        self.serve_http()
        nobody = f"http://127.0.0.1:{beanstalk_client.free_port()}"
        proxies = environment(http_proxy=nobody, HTTP_PROXY=nobody, ALL_PROXY=nobody, all_proxy=nobody)
        self.assertEqual(self.expect_done("job", "put", "mail", "--server", str(self.port), env=proxies), "job 1: inserted\n")


class Hostile(JobCase):
    def setUp(self):
        super().setUp()
        self.begin()

    def expect_tame(self, text):
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

    def test_names_and_bodies_reach_no_terminal(self):
        key = "k\u202egpj\u2066"  # keys have no control characters
        self.assertEqual(self.ask("POST", "/v1/jobs", {"tube": "mail", "key": key, "text": ESCAPES, "delay": "1h"})[0], 201)
        self.ask("POST", "/v1/jobs", {"tube": "mail", "base64": "/xtbMko=", "delay": "1h"})
        for arguments in [("get", "1"), ("get", "2"), ("get", "mail", key, "--json"), ("list",), ("list", "--json"),
                          ("list", "--due"), ("tubes",), ("why", "1")]:
            terminal = Terminal(self, *self.arguments(*arguments))
            self.assertEqual(terminal.end(), 0, terminal.seen)
            self.expect_tame(terminal.seen.replace("\r\n", "\n"))
        self.assertIn("a\\x1b[2J\\x1b]0;owned\\x07\\xc2\\x9b31m\\xe2\\x80\\xaegpj\\xe2\\x81\\xa6\n", self.job("get", "1"))
        self.assertEqual(json.loads(self.job("get", "1", "--json"))["text"], ESCAPES)

    def test_a_raw_body_goes_to_a_terminal_only_if_told(self):
        self.ask("POST", "/v1/jobs", {"tube": "mail", "text": ESCAPES})
        terminal = Terminal(self, *self.arguments("get", "1", "--body"))
        self.assertEqual(terminal.end(), 2)
        self.assertIn("write it to a file, or add --to-terminal", terminal.seen)
        self.expect_tame(terminal.seen.replace("\r\n", "\n"))
        terminal = Terminal(self, *self.arguments("get", "1", "--body", "--to-terminal"))
        self.assertEqual((terminal.end(), terminal.seen), (0, ESCAPES))
        self.assertEqual(self.job("get", "1", "--body"), ESCAPES)

    def answer_with(self, answer, described=None, asked=None):
        """A server that answers each request so, but for one for its description: its address. `asked` gets the requests. Of a
        list of answers each is given once, and the last one for ever."""
        answers = answer if isinstance(answer, list) else [answer]
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        request = connection.recv(65536)
                        if asked is not None:
                            asked.append(request)
                        if described and b"/openapi.json" in request:
                            connection.sendall(described)
                        else:
                            connection.sendall(answers.pop(0) if len(answers) > 1 else answers[0])
        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def http(self, status, body, content_type="application/json"):
        return b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
            status, content_type.encode(), len(body), body)

    def test_messages_of_a_hostile_server_are_tame(self):
        problem = {"type": "about:blank", "title": ESCAPES, "status": 409, "detail": ESCAPES, "outcome": ESCAPES,
                   "errors": [{"detail": ESCAPES, "pointer": ESCAPES}]}
        at = self.answer_with(self.http(409, json.dumps(problem).encode(), "application/problem+json"))
        for what in (("get", "1"), ("list",), ("put", "mail"), ("reserve", "mail"), ("watch",), ("cancel", "--tube", "mail", "--yes")):
            code, out, err = self.run_foliot("job", what[0], "--server", at, *what[1:], env=environment())
            self.assertEqual((code, out), (1, ""), what)
            self.expect_tame(err)
            self.assertIn("a\\x1b[2J", err)
        at = self.answer_with(self.http(200, json.dumps({"id": ESCAPES, "outcome": ESCAPES, "reserved_until": ESCAPES}).encode()))
        self.expect_tame(self.expect_done("job", "put", "--server", at, "mail", env=environment()))

    def test_what_is_no_foliot(self):
        for status, body in [(200, b"<html>"), (404, b"<html>"), (200, b"[" * 1_000_000), (404, b"{}"), (503, b"")]:
            at = self.answer_with(self.http(status, body))
            self.expect_error("is no foliot serve", "job", "get", "1", "--server", at, env=environment())
        for body in (b"[]", b'{"id":1}'):
            at = self.answer_with(self.http(200, body))
            for what in (("get", "1"), ("why", "1"), ("put", "mail"), ("cancel", "1"), ("kick", "mail", "k"), ("list",), ("tubes",),
                         ("reserve", "mail"), ("finish", "1-a-1"), ("cancel", "--all", "--yes"), ("watch",)):
                self.expect_error("is no foliot serve", "job", *what, "--server", at, env=environment())
        at = self.answer_with(b"220 mail.example.com ESMTP\r\n")
        self.expect_error("does not speak HTTP", "job", "get", "1", "--server", at, env=environment())
        at = self.answer_with(b"")
        self.expect_error("has ended the connection without a whole answer", "job", "put", "mail", "--server", at,
                          env=environment())
        _, _, err = self.run_foliot("job", "put", "mail", "--server", at, env=environment())
        self.assertIn("it is not known whether the request was executed", err)

    def test_a_redirect_is_not_followed(self):
        asked = []
        other = self.answer_with(self.http(200, b"{}"), asked=asked)
        for status in (301, 302, 307, 308):
            at = self.answer_with(b"HTTP/1.1 %d X\r\nLocation: http://%s/v1/job?id=1\r\nContent-Length: 0\r\n"
                                  b"Connection: close\r\n\r\n" % (status, other.encode()))
            for what in (("get", "1"), ("put", "mail"), ("watch",)):
                self.expect_error(f"is no foliot serve: its answer with the status {status} is not JSON", "job", *what,
                                  "--server", at, env=environment(FOLIOT_TOKEN="secret"))
        self.assertEqual(asked, [])

    def test_a_watch_that_cannot_go_on_ends(self):
        stream = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n"
                  b"retry: 100\nid: a-1\nevent: put\ndata: {}\n\n")
        problem = self.http(400, json.dumps({"type": "about:blank", "title": "Bad Request", "status": 400,
                                             "detail": "no such place in the stream"}).encode())
        page = self.http(200, b"<html>for maintenance", "text/html")
        for later, code, sentence in [([page], 2, "is no foliot serve: its answer is no stream of events"),
                                      ([problem], 2, "no such place in the stream"),
                                      ([self.http(429, b"{}"), self.http(502, b"<html>"), problem], 2, "no such place in the stream")]:
            at = self.answer_with([stream, *later])
            result, out, err = self.run_foliot("job", "watch", "--server", at, "--json", env=environment())
            self.assertEqual((result, out), (code, '{"event":"put","id":"a-1","data":{}}\n'), err)
            self.assertIn(sentence, err.splitlines()[-1])
            self.assertEqual(err.count("is lost: it is tried again"), 1 if len(later) > 1 else 0)
        self.expect_error("is no stream of events", "job", "watch", "--server", self.answer_with(page), env=environment())

    def test_an_answer_with_very_many_values(self):
        """An object with n members takes n² to read."""
        members = b",".join(b'"%d":0' % i for i in range(200_000))
        for body in (b'{"id":"1","body":{%s}}' % members, b'{"id":"1","body":[%s0]}' % (b"0," * 5_100_000)):
            self.expect_error("the answer has too many values", "job", "get", "1", "--server", self.answer_with(self.http(200, body)),
                              env=environment())
        few = b'{"id":"1","body":{%s}}' % b",".join(b'"%d":0' % i for i in range(5000))
        self.expect_done("job", "get", "1", "--server", self.answer_with(self.http(200, few)), env=environment())

    def test_a_date_that_no_clock_has(self):
        answer = self.http(200, b'{"id":"1","due":"2026-01-01T00:00:00.000Z"}')
        for year in (1601, 9999, 10000, 2147483647):
            at = self.answer_with(answer.replace(b"Connection", b"Date: Mon, 01 Jan %d 00:00:00 GMT\r\nConnection" % year))
            self.assertIn("2026-01-01T00:00:00.000Z (", self.expect_done("job", "get", "1", "--server", at, env=environment()))

    def test_another_version(self):
        missing = {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "there is nothing at this path"}
        described = {"info": {"title": "foliot serve", "version": "9"}}
        missing, described = self.http(404, json.dumps(missing).encode()), self.http(200, json.dumps(described).encode())
        for what in (("get", "1"), ("watch",), ("cancel", "--all", "--yes")):
            self.expect_error("its interface has the version 9, and this program is foliot 0.1.0", "job", *what, "--server",
                              self.answer_with(missing, described), env=environment())
            self.expect_error("is no foliot serve", "job", *what, "--server", self.answer_with(missing), env=environment())

    def test_no_server(self):
        port = beanstalk_client.free_port()
        self.expect_error(f"no server answers at http://127.0.0.1:{port}: start one by 'foliot serve', or name another by "
                          "--server or FOLIOT_SERVER", "job", "list", "--server", str(port), env=environment())
        self.expect_error("no server answers at unix:nowhere", "job", "list", "--server", "unix:nowhere", env=environment())
        self.expect_error(f"there is no host of the name in http://{NOBODY}:11380", "job", "list", "--server", NOBODY,
                          env=environment())
        self.expect_error("is no address of a server", "job", "list", "--server", "ftp://x", env=environment())
        self.expect_error("access tokens are shown by --token-file", "job", "list", "--server", "http://me:secret@x",
                          env=environment())


class Many(JobCase):
    def setUp(self):
        super().setUp()
        self.begin()

    def fill(self, count, **more):
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": "mail", "key": f"user-{i}", "delay": "1h"} | more for i in range(count)]})

    def left(self):
        return self.ask("GET", "/v1/tube?tube=mail")[1]

    def actions(self):
        return self.ask("GET", "/v1/actions")[1]["actions"]

    def test_the_number_comes_first(self):
        self.fill(3)
        self.ask("POST", "/v1/jobs", {"tube": "mail", "key": "order", "delay": "1h"})
        some = ("--tube", "mail", "--key-prefix", "user-")
        self.refuse("3 jobs fit, and nothing has changed: --yes changes them", "cancel", *some, code=2)
        self.assertEqual(self.left()["delayed"], 4)
        terminal = Terminal(self, *self.arguments("cancel", *some))
        terminal.read_until("3 jobs fit: cancel them? [y/N] ")
        terminal.type("n\n")
        self.assertEqual(terminal.end(), 1)
        self.assertIn("nothing has changed", terminal.seen)
        self.assertEqual(self.left()["delayed"], 4)
        terminal = Terminal(self, *self.arguments("cancel", *some))
        terminal.read_until("3 jobs fit: cancel them? [y/N] ")
        terminal.type("y\n")
        self.assertEqual(terminal.end(), 0, terminal.seen)
        self.assertIn("cancelled 3 of 3 jobs\r\n", terminal.seen)
        self.assertEqual(self.left()["delayed"], 1)
        self.assertEqual(self.actions(), [], "they are forgotten")

    def test_each_change(self):
        self.fill(2)
        self.assertEqual(self.job("move", "--tube", "mail", "--delay", "2h", "--yes"), "moved 2 of 2 jobs\n")
        self.assertEqual(self.job("kick", "--prefix", "ma", "--state", "delayed", "--yes"), "kicked 2 of 2 jobs\n")
        self.assertEqual(self.left()["ready"], 2)
        self.job("move", "--all", "--delay", "2h", "--yes")
        self.assertEqual(self.job("fire", "--all", "--yes"), "made ready 2 of 2 jobs\n")
        done = json.loads(self.job("cancel", "--all", "--yes", "--json"))
        self.assertEqual((done["state"], done["counted"], done["outcomes"]["done"]), ("done", 2, 2))
        self.refuse("no job fits", "cancel", "--all", "--yes")
        self.refuse("say in which tubes: by --tube, by --prefix, or by --all", "cancel", "--key-prefix", "user-", "--yes", code=2)
        self.assertEqual(self.actions(), [])

    def test_text_of_bodies(self):
        self.fill(1, text="find me")
        self.ask("POST", "/v1/jobs", {"tube": "mail", "text": "not"})
        self.assertEqual(self.job("cancel", "--tube", "mail", "--text", "find", "--yes"), "cancelled 1 of 1 job\n")

    def test_what_could_not_be_changed_is_told(self):
        self.fill(1)
        self.ask("POST", "/v1/jobs", {"tube": "mail"})
        code, out, err = self.run_foliot(*self.arguments("kick", "--tube", "mail", "--yes"), env=environment())
        self.assertEqual((code, out, err), (1, "kicked 1 of 2 jobs\n  1 not changed: their state does not allow it\n",
                                            "foliot: not all jobs were kicked\n"))

    def test_an_interrupt_at_the_question_changes_nothing(self):
        self.fill(3)
        terminal = Terminal(self, *self.arguments("cancel", "--all"))
        terminal.read_until("[y/N] ")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.end(), -signal.SIGINT, terminal.seen)
        self.assertIn("nothing has changed", terminal.seen)
        self.assertEqual(self.left()["delayed"], 3)
        self.assertEqual(self.actions(), [])

    def start_interruptible(self, *arguments):
        return self.start(*self.arguments(*arguments), env=environment(), preexec_fn=default_signals)

    def test_an_interrupt_of_the_run_stops_it(self):
        """The server may be done before this sees it at work: then it is all tried again."""
        for _ in range(ATTEMPTS):
            if self.interrupts_a_run():
                return
        self.fail("each run has ended before the interrupt")

    def interrupts_a_run(self):
        """Returns whether the interrupt came in time."""
        while (missing := MANY_JOBS - self.left()["delayed"]) > 0:
            self.ask("POST", "/v1/batch", {"jobs": [{"tube": "mail", "delay": "1h"}] * min(1000, missing)})
        with self.start_interruptible("cancel", "--tube", "mail", "--yes") as process:
            until = time.monotonic() + PATIENCE
            while process.poll() is None and not any(each["state"] == "running" for each in self.actions()):
                self.assertLess(time.monotonic(), until)
            process.send_signal(signal.SIGINT)
            out, err = (each.decode() for each in process.communicate(timeout=PATIENCE))
        done = int(re.search(rf"\Acancelled ([\d,]+) of {MANY_JOBS:,} jobs\n", out)[1].replace(",", ""))
        self.assertEqual(self.left()["delayed"], MANY_JOBS - done, err)
        if "the action was stopped" not in out:
            self.assertEqual(done, MANY_JOBS)
            return False
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("what is done stays done", out)
        return True


class Interrupts(ProgramCase):
    """Ctrl-C where the server does not answer."""

    def begin(self, **how):
        self.server = ActionServer(self, **how)
        self.process = self.start("job", "cancel", "--tube", "mail", "--yes", "--server", self.server.address, env=environment(),
                                  preexec_fn=default_signals)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)

    def interrupt_at(self, request):
        self.server.wait_for(request)
        self.process.send_signal(signal.SIGINT)

    def expect_end(self):
        """By the signal: what it has printed."""
        out, err = (each.decode() for each in self.process.communicate(timeout=PATIENCE))
        self.assertEqual(self.process.returncode, -signal.SIGINT, err)
        return out, err

    def test_while_it_counts(self):
        self.begin(hangs=["POST /v1/actions"])
        self.interrupt_at("POST /v1/actions")
        self.assertEqual(self.expect_end(), ("", "foliot: nothing has changed\n"))
        self.assertEqual(self.server.left(), [])

    def test_while_the_last_answer_before_the_run_comes(self):
        self.begin(waits=["POST /v1/actions"])
        self.interrupt_at("POST /v1/actions")
        self.server.goes_on.set()
        self.assertEqual(self.expect_end(), ("", "foliot: nothing has changed\n"))
        self.assertNotIn("POST /v1/actions/7/run", self.server.left())

    def test_while_the_run_begins(self):
        self.begin(hangs=["POST /v1/actions/7/run"])
        self.interrupt_at("POST /v1/actions/7/run")
        out, err = self.expect_end()
        self.assertEqual(out, "cancelled 1 of 3 jobs\nthe action was stopped: what is done stays done\n", err)
        self.assertIn("POST /v1/actions/7/stop", self.server.left())

    def test_while_it_runs(self):
        self.begin(hangs=["GET /v1/actions/7"])
        self.interrupt_at("GET /v1/actions/7")
        out, err = self.expect_end()
        self.assertEqual(out, "cancelled 1 of 3 jobs\nthe action was stopped: what is done stays done\n", err)
        self.assertIn("POST /v1/actions/7/stop", self.server.left())

    def test_a_second_one_does_not_wait(self):
        self.begin(hangs=["GET /v1/actions/7", "POST /v1/actions/7/stop"])
        self.interrupt_at("GET /v1/actions/7")
        self.interrupt_at("POST /v1/actions/7/stop")
        out, err = self.expect_end()
        self.assertEqual(out, "")
        self.assertIn("action 7 may go on at the server (interrupted): 'POST /v1/actions/7/stop' stops it", err)


class Watch(JobCase):
    def setUp(self):
        super().setUp()
        self.begin()

    def watch(self, *more, server=None):
        arguments = ("job", "watch", "--server", server or f"unix:{self.path}", *more)
        process = self.start(*arguments, env=environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for_streams(self, process):
        """Puts jobs until the stream shows one: then it has begun."""
        self.ask("POST", "/v1/jobs", {"tube": "begin"})
        while not select.select([process.stdout], [], [], 0.02)[0]:
            self.assertIsNone(process.poll())
            self.ask("POST", "/v1/jobs", {"tube": "begin"})
        while b"begin" not in process.stdout.readline():
            pass

    def next(self, process, wanted):
        line = process.stdout.readline().decode()
        while "begin" in line:
            line = process.stdout.readline().decode()
        self.assertRegex(line, wanted)

    def test_events_come_live(self):
        process = self.watch()
        self.wait_for_streams(process)
        self.ask("POST", "/v1/jobs", {"tube": "news", "key": "k\u202ex", "delay": "1h"})
        self.next(process, rf"\A{TIME}  put       news                  job \d+ 'k\\xe2\\x80\\xaex'\n\Z")
        self.ask("DELETE", "/v1/job?tube=news&key=k%E2%80%AEx")
        self.next(process, rf"\A{TIME}  ended     news                  job \d+ 'k\\xe2\\x80\\xaex': cancelled\n\Z")

    def test_it_ends_after_a_count(self):
        process = self.watch("--tube", "begin", "--count", "2", "--json")
        until = time.monotonic() + PATIENCE
        while process.poll() is None:
            self.assertLess(time.monotonic(), until)
            self.ask("POST", "/v1/jobs", {"tube": "begin", "delay": "1h"})
            self.ask("POST", "/v1/jobs", {"tube": "other", "delay": "1h"})
        events = [json.loads(line) for line in process.stdout.read().splitlines()]
        self.assertEqual([(each["event"], each["data"]["tube"]) for each in events], [("put", "begin")] * 2)
        self.assertEqual(process.returncode, 0)

    def test_it_goes_on_behind_the_last_event(self):
        """Through a line that is cut: what has happened meanwhile is told."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        seen = []

        def pump(client):
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self.path))
            with client, server:
                answered = b""
                while True:
                    for each in select.select([client, server], [], [])[0]:
                        data = each.recv(65536)
                        if not data:
                            return
                        if each is client:
                            seen.append(data)
                        else:
                            answered += data
                        is_last = self.cut and b'"one"' in answered  # no other event ends it
                        (server if each is client else client).sendall(data)
                        if is_last:
                            return

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    client = listener.accept()[0]
                    with contextlib.suppress(OSError):
                        pump(client)
        self.cut = False
        threading.Thread(target=serve, daemon=True).start()
        process = self.watch(server=f"127.0.0.1:{listener.getsockname()[1]}")
        self.wait_for_streams(process)
        self.cut = True
        self.ask("POST", "/v1/jobs", {"tube": "news", "key": "one", "delay": "1h"})
        self.next(process, "job \\d+ 'one'")
        self.ask("POST", "/v1/jobs", {"tube": "news", "key": "two", "delay": "1h"})
        self.cut = False
        self.next(process, "job \\d+ 'two'")
        self.assertRegex(seen[-1].decode(), r"(?i)\r\nLast-Event-ID: \S+-\d+\r\n")

    def test_a_reader_that_has_gone_ends_it(self):
        process = self.watch()
        self.wait_for_streams(process)
        process.stdout.close()
        until = time.monotonic() + PATIENCE
        while process.poll() is None:
            self.assertLess(time.monotonic(), until)
            self.ask("POST", "/v1/jobs", {"tube": "begin"})
        self.assertEqual((process.returncode, process.stderr.read()), (-signal.SIGPIPE, b""))

    def test_an_end_of_the_server_is_told_and_its_return(self):
        process = self.watch()
        self.wait_for_streams(process)
        self.server.kill()
        self.assertIn(b"is lost: it is tried again", process.stderr.readline())
        self.path.unlink(missing_ok=True)
        self.begin()
        self.assertEqual(process.stderr.readline(), b"foliot: the server is there again\n")
        self.next(process, "left out")


class Access(AccessCase):
    """With an access token of each scope."""

    def setUp(self):
        super().setUp()
        self.of_scopes = {scope: self.make(scope, scope) for scope in ("put", "look", "change", "reserve")}
        self.both = self.make("both", "look,change")
        self.narrow = self.make("narrow", "put,look,change", "--tubes", "bill.")
        self.begin()
        self.admin_job("put", "mail", "x", "--delay", "1h", "--key", "k")

    def job(self, token, what, *more):
        return self.run_foliot("job", what, "--server", f"unix:{self.path}", *more, env=environment(FOLIOT_TOKEN=token))

    def admin_job(self, what, *more):
        self.assertEqual(self.job(self.admin, what, *more)[0::2], (0, ""))

    def test_each_scope_does_its_part(self):
        commands = {
            "put": [("put", "mail", "y")],
            "look": [("get", "1"), ("list",), ("list", "--due"), ("tubes",), ("why", "1")],
            "change": [("move", "1", "--delay", "2h"), ("cancel", "--tube", "nowhere", "--yes")],
            "reserve": [("reserve", "mail", "--timeout", "1ms")],
        }
        for scope in commands:
            token = self.of_scopes[scope]
            for needed, rows in commands.items():
                for row in rows:
                    code, out, err = self.job(token, *row)
                    if needed == scope:
                        allowed = code == 0 or "no job fits" in err or "no job was ready" in err
                        self.assertTrue(allowed, (scope, row, err))
                    else:
                        self.assertEqual((code, out), (1, ""), (scope, row))
                        self.assertIn(needed, err, (scope, row))

    def test_what_changes_look_at(self):
        for row in [("kick", "mail", "k"), ("cancel", "--tube", "mail", "--text", "x", "--yes")]:
            code, out, err = self.job(self.of_scopes["change"], *row)
            self.assertEqual((code, out), (1, ""), row)
            self.assertIn("look", err)
            self.assertEqual(self.job(self.both, *row)[0::2], (0, ""), row)

    def test_a_tube_that_the_token_does_not_have(self):
        token = self.narrow
        self.assertIn("mail", self.job(token, "put", "mail", "x")[2])
        self.assertEqual(self.job(token, "get", "1")[0::2], (1, "foliot: there is no such job: it has ended, or never was\n"))
        self.assertEqual(self.job(token, "tubes")[:2], (0, ""))

    def test_no_token_and_wrong_ones(self):
        self.expect_error("name an access token by --token-file or the environment variable FOLIOT_TOKEN", "job", "list",
                          "--server", f"unix:{self.path}", code=1, env=environment())
        wrong = self.admin[:-1] + ("a" if self.admin[-1] != "a" else "b")
        code, _, err = self.job(wrong, "list")
        self.assertEqual(code, 1)
        self.assertIn("the access token may be mistyped, revoked or have ended", err)
        self.assertNotIn(wrong, err)
        code, _, err = self.job("a\r\nX: y", "list")
        self.assertEqual(code, 2)
        self.assertIn("the value of FOLIOT_TOKEN is no access token", err)

    def test_a_token_in_a_file(self):
        self.put("token", self.admin.encode() + b"\n")
        self.assertRegex(self.expect_done("job", "tubes", "--server", f"unix:{self.path}", "--token-file", "token",
                                          env=environment(FOLIOT_TOKEN="wrong")), "mail")
        self.put("empty", b"\n")
        self.expect_error("'empty' has no access token in it", "job", "list", "--token-file", "empty", env=environment())
        self.expect_error("cannot read 'missing'", "job", "list", "--token-file", "missing", env=environment())

    def test_a_token_does_not_leave_the_machine_in_the_clear(self):
        self.expect_error("in the clear, where others can read it", "job", "list", "--server", NOBODY,
                          env=environment(FOLIOT_TOKEN=self.admin))
        self.expect_error("there is no host of the name", "job", "list", "--server", NOBODY, "--insecure",
                          env=environment(FOLIOT_TOKEN=self.admin))

    def test_a_revoked_token_ends_a_watch(self):
        token = self.of_scopes["look"]
        process = self.start("job", "watch", "--server", f"unix:{self.path}", env=environment(FOLIOT_TOKEN=token))
        with process:
            try:
                while not select.select([process.stdout], [], [], 0.02)[0]:
                    self.ask("POST", "/v1/jobs?tube=mail", self.admin, body=b"x")
                self.expect_done("token", "revoke", self.tokens, token.split("_")[1])
                _, err = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
        self.assertEqual(process.returncode, 1)
        self.assertIn("revoked", err.decode())


class StoppedFolder(JobCase):
    """With --data."""

    def look(self, what, *more):
        return self.expect_done("job", what, "--data", "jobs", *more, env=environment(FOLIOT_SERVER="unix:nowhere"))

    def test_what_a_stopped_server_has_left(self):
        self.begin("--data", self.here / "jobs")
        self.job("put", "mail", "hello\x1b[2J", "--delay", "3h", "--key", "k\u202e", "--header", "a=b")
        self.job("put", "mail", "x", "--delay", "2h")
        self.job("put", "icons", "x" * 3000)
        self.job("bury", self.lines("reserve", "icons")[0]["reservation"])
        self.job("put", "held", "x")
        self.job("reserve", "held")
        over_http = {each["id"]: each for each in self.lines("list")}
        self.expect_error("--data: 'jobs' is in use by a server, or by another look: ask the server, by --server, or stop it first",
                          "job", "list", "--data", "jobs", env=environment())
        self.assertEqual(self.server.stop()[0], 0)
        before = {path.name: path.read_bytes() for path in (self.here / "jobs").iterdir()}
        shown = {each["id"]: each for each in map(json.loads, self.look("list", "--json").splitlines())}
        for each in over_http.values():
            del each["version"]
            if each["id"] == "4":  # ready again
                each["state"], each["reserves"] = "ready", 0  # a store forgets what it has not stored
                del each["reserved_until"], each["held_by"]
        self.assertEqual(shown, over_http)
        self.assertRegex(self.look("list", "--due"), rf"\AID  TUBE  DUE     AT\n 2  mail  in 2 h  {TIME}\n 1  mail  in 3 h  {TIME}\n\Z")
        self.assertIn("body, 9 bytes:\n  hello\\x1b[2J\n", self.look("get", "mail", "k\u202e"))
        self.assertIn("header          a: b", self.look("get", "1"))
        self.assertEqual(self.look("get", "3", "--body"), "x" * 3000)
        self.assertEqual(self.look("tubes"), "TUBE   READY  DELAYED  RESERVED  BURIED\nheld       1        0         0       0\n"
                                             "icons      0        0         0       1\nmail       0        2         0       0\n")
        self.assertRegex(self.look("why", "2"), rf"\Ajob 2 of tube 'mail' is delayed: it is due at {TIME} \(in 2 h\)\n\Z")
        self.assertIn("is buried", self.look("why", "3"))
        self.assertEqual(self.look("why", "4"), "job 4 of tube 'held' is ready: no server runs on the folder\n")
        self.assertEqual(json.loads(self.look("why", "4", "--json"))["waits"], "no_server")
        for sought, ids in ((("--state", "buried"), ["3"]), (("--key-prefix", "k"), ["1"]), (("--text", "ell"), ["1"]), (("--text", "x"), ["2", "3", "4"])):
            self.assertEqual([json.loads(line)["id"] for line in self.look("list", *sought, "--json").splitlines()], ids, sought)
        self.assertEqual(self.run_foliot("job", "list", "--data", "jobs", "--count", "1", env=environment())[2],
                         "foliot: more follow than these 1: --count shows more\n")
        for number in ("9", "18446744073709551615", "18446744073709551616", "99999999999999999999"):
            self.expect_error("there is no such job in 'jobs'", "job", "get", number, "--data", "jobs", code=1, env=environment())
        self.assertEqual(self.look("list", "--state", "reserved", "--json"), "")
        self.expect_error("--state: 'bogus' is no state of a job", "job", "list", "--state", "bogus", "--data", "jobs",
                          env=environment())
        self.expect_error("tube 'mial' has no jobs: the nearest that has some is 'mail'", "job", "list", "--tube", "mial", "--data",
                          "jobs", code=1, env=environment())
        self.assertEqual({path.name: path.read_bytes() for path in (self.here / "jobs").iterdir()}, before)
        self.begin("--data", self.here / "jobs")
        self.assertEqual(self.job("cancel", "1"), "job 1: cancelled\n")

    def test_what_is_no_folder_of_jobs(self):
        self.expect_error("there is none", "job", "list", "--data", "missing", env=environment())
        (self.here / "empty").mkdir()
        self.expect_error("there is none", "job", "list", "--data", "empty", env=environment())
        self.assertEqual(list((self.here / "empty").iterdir()), [])
        self.expect_error("--data", "job", "cancel", "1", "--data", "empty", env=environment())


class Nodes(NodesCase, JobCase):
    """Two servers over one database."""

    def at(self, name):
        self.server_option = ("--server", f"unix:{self.nodes[name].http}")
        self.client = self.connect_http(self.nodes[name].http)

    def test_each_node_shows_and_changes_all_jobs(self):
        for name in ("n0", "n1"):
            self.start_node(name)
        self.at("n0")
        for i in range(4):
            self.job("put", "mail", "x", "--delay", "2h", "--key", f"k{i}")
        self.at("n1")
        self.assertEqual(len(self.lines("list", "--due")), 4)
        self.assertEqual(self.job("move", "mail", "k0", "--delay", "3h"), "job 1: rescheduled\n")
        self.assertEqual(self.job("fire", "mail", "k1"), "job 2: ready\n")
        self.job("reserve", "mail")
        self.at("n0")
        self.assertRegex(self.job("why", "2"), "reserved: a worker at node n1 has it until")
        self.assertRegex(self.job("list", "--state", "reserved"), r"NODE\n 2  mail .* n1\n\Z")
        self.assertEqual(self.job("cancel", "--tube", "mail", "--state", "delayed", "--yes"), "cancelled 3 of 3 jobs\n")


@unittest.skipIf(nginx.PROGRAM is None, "nginx is not installed (Debian: nginx)")
class Balanced(NodesCase, JobCase):
    """Three servers over one database, which ask for access tokens, behind a proxy that gives each request to any of them."""
    shares_server = True

    def setUp(self):
        super().setUp()
        text = self.expect_done("token", "make", "tokens", "--name", "all", "--scopes", "put,reserve,look,change", "--ends", "never")
        (self.here / "token").write_text(text)
        names = ("n0", "n1", "n2")
        for name in names:
            self.start_with_tokens(name)
        port = nginx.begin(self, [self.here / f"{name}.http" for name in names],
                           "    location / { proxy_pass http://servers; proxy_buffering off; }", before="random;")
        self.server_option = ("--server", f"127.0.0.1:{port}", "--token-file", "token")

    def start_with_tokens(self, name):
        path = self.here / f"{name}.http"
        process = self.start("serve", "--quiet", "--store", self.database.database, "--node", name, "--beanstalk",
                             f"unix:{self.here / name}", "--http", f"unix:{path}", "--tokens", "tokens", "--proxy", "unix")
        for each in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(each)
        until = time.monotonic() + PATIENCE
        while True:
            self.assertIsNone(process.poll())
            with contextlib.suppress(OSError):
                client = self.connect_http(path)
                client.request("GET", "/ready")
                if client.getresponse().status == 200:
                    return
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_each_request_may_come_to_another_node(self):
        for i in range(9):
            self.assertEqual(self.job("put", "mail", str(i), "--delay", "2h", "--key", f"k{i}"), f"job {i + 1}: inserted\n")
        for _ in range(6):  # each node is asked some time
            self.assertEqual(len(self.lines("list", "--due")), 9)
        self.assertRegex(self.job("why", "1"), "is delayed: it is due at")
        self.assertEqual(self.job("fire", "mail", "k0"), "job 1: ready\n")
        held = self.lines("reserve", "mail")[0]
        # The node that has handed it out knows whose token it was.
        self.assertRegex(self.job("why", "1"), r"reserved: (a worker|[a-z0-9]{8}) at node n[012] has it until")
        self.assertIn("touched", self.job("touch", held["reservation"]))
        self.assertIn("finished", self.job("finish", held["reservation"]))
        self.assertEqual(self.job("cancel", "2"), "job 2: cancelled\n")
        self.refuse("there is no such job", "cancel", "2")
        self.assertEqual(self.job("cancel", "--tube", "mail", "--state", "delayed", "--yes"), "cancelled 7 of 7 jobs\n")
        self.assertEqual(self.lines("list"), [])

    def test_a_watch_stays_with_a_node(self):
        process = self.start(*self.arguments("watch", "--count", "1", "--json"), env=environment())
        for each in (process.stderr.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(each)
        until = time.monotonic() + PATIENCE
        while process.poll() is None:  # one of these is put at the same node
            self.assertLess(time.monotonic(), until)
            self.job("put", "mail", "x", "--delay", "1h")
        self.assertEqual(process.returncode, 0, process.stderr.read())
        event = json.loads(process.stdout.read())
        self.assertEqual((event["event"], event["data"]["tube"]), ("put", "mail"))

    def test_a_token_that_no_node_knows(self):
        (self.here / "token").write_text("foliot_" + "x" * 40)
        for _ in range(4):
            self.assertEqual(self.run_foliot(*self.arguments("list"), env=environment())[0], 1)


class UnderTls(ProgramCase):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.here)
        certificate, key = self.authority.issue("server")
        self.client = self.authority.issue("client")
        self.more = ("--tls-certificate", certificate, "--tls-key", key)

    def begin(self, *arguments):
        while True:
            self.port = beanstalk_client.free_port()
            server = self.start("serve", "--memory", "--beanstalk", f"unix:{self.here / 'beanstalk'}", "--http",
                                f"127.0.0.1:{self.port}", "--http", f"unix:{self.here / 'http'}", *self.more, *arguments)
            self.addCleanup(server.stdout.close)
            self.addCleanup(server.stderr.close)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            log = b""
            for line in server.stderr:
                log += line
                if f"HTTP clients connect to unix:{self.here / 'http'}".encode() in line:
                    return
            self.assertIn(b"in use", log)  # another process was quicker

    def test_trust(self):
        self.begin()
        at = ("--server", f"https://localhost:{self.port}")
        trusted = ("--ca", self.authority.certificate)
        self.assertEqual(self.expect_done("job", "put", "mail", *at, *trusted, env=environment()), "job 1: inserted\n")
        self.assertEqual(self.expect_done("job", "put", "mail", "--server", f"https+unix:{self.here / 'http'}", *trusted,
                                          env=environment()), "job 2: inserted\n")
        self.expect_error("is not trusted", "job", "list", *at, env=environment())
        other = Authority(self.here, "other")
        self.expect_error("name the authority that has signed it by --ca FILE", "job", "list", *at, "--ca", other.certificate,
                          env=environment())
        self.expect_error("--ca", "job", "list", *at, "--ca", "missing", env=environment())
        self.expect_error("a server that speaks TLS is reached by https://", "job", "list", "--server", str(self.port),
                          env=environment())
        self.expect_error("--ca, --certificate and --certificate-key are for servers that speak TLS: write https://", "job", "list", "--server",
                          str(self.port), *trusted, env=environment())
        self.assertEqual(self.expect_done("job", "list", *at, *trusted, "--json", env=environment()).count("\n"), 2)

    def test_a_certificate_of_the_client(self):
        shown = openssl("x509", "-in", self.client[0], "-noout", "-fingerprint", "-sha256").stdout.decode()
        self.expect_done("token", "make", "tokens", "--name", "one", "--scopes", "look", "--ends", "never", "--certificate",
                         shown.split("=")[1].strip())
        self.begin("--tokens", "tokens", "--tls-client-ca", self.authority.certificate)
        at = ("--server", f"https://localhost:{self.port}", "--ca", self.authority.certificate)
        self.expect_error("name an access token", "job", "tubes", *at, code=1, env=environment())
        shown = ("--certificate", self.client[0], "--certificate-key", self.client[1])
        self.assertEqual(self.run_foliot("job", "tubes", *at, *shown, env=environment())[:2], (0, ""))
        self.expect_error("--certificate or --certificate-key cannot be used", "job", "tubes", *at, "--certificate", "missing", env=environment())
        self.expect_error("--certificate-key is the key of a certificate: name that by --certificate", "job", "tubes", *at, "--certificate-key",
                          self.client[1], env=environment())


if __name__ == "__main__":
    main()
