"""The commands that only foliot has, against the running server, with the jobs on disk and in memory: every reply,
wrong input, limits, a restart, and clients that race for a job, whose answers must agree."""
import os
import signal
import time
import unittest

from kit import beanstalk_client
from kit.program_case import main
from kit.serve_case import SANITIZED, ServeCase, put

HOUR = 3_600_000  # milliseconds: no test lasts as long
RACES = int(os.environ.get("FOLIOT_RACES", "20" if SANITIZED else "100"))


def x_put(policy, key, body=b"a", due="0", priority=0, ttr=HOUR):
    return b"x-put %s %s %d %s %d %d\r\n%s\r\n" % (policy.encode(), key.encode(), priority, str(due).encode(), ttr,
                                                   len(body), body)


def wall_milliseconds():
    return time.time_ns() // 1_000_000


class Extensions:
    """The cases for both stores; `store` has the arguments that choose one."""
    store = ()

    def begin(self, *more):
        self.server = self.serve(*(str(each).replace("HERE", str(self.here)) for each in self.store), *more)
        self.client = self.connect(self.server)

    def expect(self, command, answer, client=None):
        if isinstance(command, str):
            command = command.encode() + b"\r\n"
        self.assertEqual((client or self.client).ask(command), answer.encode() + b"\r\n", command)

    def expect_job(self, job, **values):
        """Some of its statistics."""
        text = self.client.ask(b"stats-job %d\r\n" % job).decode()
        for key, value in values.items():
            self.assertIn(f"\n{key.replace('_', '-')}: {value}\n", text)

    def test_every_policy_in_every_state(self):
        self.begin()
        self.expect(x_put("keep", "k", b"old", HOUR, 5), "INSERTED 1")
        self.expect_job(1, state="delayed", pri=5, delay=3600, ttr=3600)
        self.expect(x_put("keep", "k", b"new", 0, 9), "KEPT 1")
        self.expect(x_put("refuse", "k", b"new", 0, 9), "EXISTS 1")
        self.expect_job(1, state="delayed", pri=5, delay=3600, ttr=3600)
        self.expect(x_put("replace", "k", b"new", 0, 9, 1000), "REPLACED 2")
        self.expect_job(2, state="ready", pri=9, delay=0, ttr=1)
        self.expect("peek 1", "NOT_FOUND")
        self.expect(x_put("replace", "k", b"newer"), "REPLACED 3")
        self.expect("reserve", "RESERVED 3 5\r\nnewer")
        self.expect(x_put("keep", "k"), "KEPT 3")
        self.expect(x_put("refuse", "k"), "EXISTS 3")
        self.expect(x_put("replace", "k"), "IS_RESERVED 3")
        self.expect("bury 3 0", "BURIED")
        self.expect(x_put("keep", "k"), "KEPT 3")
        self.expect(x_put("refuse", "k"), "EXISTS 3")
        self.expect(x_put("replace", "k", b"last"), "REPLACED 4")
        self.expect("peek-buried", "NOT_FOUND")
        self.expect("reserve", "RESERVED 4 4\r\nlast")
        self.expect("delete 4", "DELETED")
        for number, policy in enumerate(["keep", "replace", "refuse"], 5):
            self.expect(x_put(policy, "k"), f"INSERTED {number}")
            self.expect(f"delete {number}", "DELETED")

    def test_every_change_in_every_state(self):
        self.begin()
        job = 0
        # Of a delayed, a ready and a buried job.
        for state in ["delayed", "ready", "buried"]:
            for change, answer, after in [("x-cancel {}", "CANCELLED", None), ("x-fire {}", "FIRED", "ready"),
                                          ("x-reschedule {} 3600000", "RESCHEDULED", "delayed"),
                                          ("x-reschedule {} 0", "RESCHEDULED", "ready")]:
                for name in ["=k", None]:
                    with self.subTest(state=state, change=change, name=name):
                        job += 1
                        self.expect(x_put("keep", "k", due=HOUR if state == "delayed" else 0), f"INSERTED {job}")
                        if state == "buried":
                            self.expect("reserve", f"RESERVED {job} 1\r\na")
                            self.expect(f"bury {job} 0", "BURIED")
                        self.expect(change.format(name or job), f"{answer} {job}")
                        if after is None:
                            self.expect(f"peek {job}", "NOT_FOUND")
                            continue
                        self.expect_job(job, state=after)
                        self.expect(f"delete {job}", "DELETED")
        # Of one that a worker has, and of none.
        job += 1
        self.expect(x_put("keep", "k"), f"INSERTED {job}")
        self.expect("reserve", f"RESERVED {job} 1\r\na")
        other = self.connect(self.server)
        for change in ["x-cancel {}", "x-fire {}", "x-reschedule {} 0"]:
            for name in ["=k", job]:
                for client in [self.client, other]:
                    self.expect(change.format(name), f"IS_RESERVED {job}", client)
        self.expect(f"delete {job}", "DELETED")
        for change in ["x-cancel {}", "x-fire {}", "x-reschedule {} 0"]:
            for name in ["=k", job, 0, 10**6, 2**64 - 1]:
                self.expect(change.format(name), "GONE")

    def test_keys_belong_to_the_used_tube(self):
        self.begin()
        self.expect(x_put("keep", "k"), "INSERTED 1")
        self.expect("use other", "USING other")
        self.expect("x-cancel =k", "GONE")
        self.expect(x_put("refuse", "k"), "INSERTED 2")
        self.expect("x-cancel =k", "CANCELLED 2")
        self.expect("x-cancel 1", "CANCELLED 1")
        for number in [3, 4]:
            self.expect(x_put("refuse", "-"), f"INSERTED {number}")
        longest = "".join(chr(c) for c in range(33, 127)) + "x" * 34
        self.assertEqual(len(longest), 128)
        self.expect(x_put("keep", longest), "INSERTED 5")
        self.expect(f"x-fire ={longest}", "FIRED 5")
        self.expect("list-tubes", "OK 22\r\n---\n- default\n- other\n")
        for job in [3, 4, 5]:
            self.expect(f"x-cancel {job}", f"CANCELLED {job}")

    def test_due_times(self):
        self.begin()
        due = wall_milliseconds() + 300
        self.expect(x_put("keep", "utc", due=f"@{due}"), "INSERTED 1")
        self.expect("reserve", "RESERVED 1 1\r\na")
        self.assertGreaterEqual(wall_milliseconds(), due)
        self.expect("release 1 0 0", "RELEASED")
        began = wall_milliseconds()
        self.expect("x-reschedule 1 250", "RESCHEDULED 1")
        self.expect("reserve", "RESERVED 1 1\r\na")
        self.assertGreaterEqual(wall_milliseconds(), began + 250)
        self.expect("delete 1", "DELETED")
        self.expect(x_put("keep", "past", due="@1"), "INSERTED 2")
        self.expect_job(2, state="ready")
        self.expect(x_put("replace", "past", due="@9223372036854"), "REPLACED 3")
        self.expect_job(3, state="delayed")
        self.expect("x-reschedule =past @0", "RESCHEDULED 3")
        self.expect_job(3, state="ready")
        self.expect("x-reschedule =past 4294967295000", "RESCHEDULED 3")
        self.expect_job(3, state="delayed", delay=4294967295)
        self.expect("x-fire =past", "FIRED 3")
        self.expect("reserve", "RESERVED 3 1\r\na")

    def test_a_waiting_worker_gets_what_is_fired_or_moved(self):
        self.begin()
        worker = self.connect(self.server)
        for job, change in enumerate(["x-fire =k", "x-reschedule =k 0", "x-reschedule =k @5"], 1):
            self.expect(x_put("keep", "k", due=3_600_000), f"INSERTED {job}")
            worker.send(b"reserve\r\n")
            self.wait_until(self.client, current_waiting=1)
            self.assertRegex(self.client.ask(change.encode() + b"\r\n"), rb"\A(FIRED|RESCHEDULED) %d\r\n\Z" % job)
            self.assertEqual(worker.answer(), b"RESERVED %d 1\r\na\r\n" % job)
            self.expect(f"delete {job}", "DELETED", worker)

    def test_wrong_lines(self):
        self.begin("--max-job-size", "10")
        self.expect(x_put("keep", "k"), "INSERTED 1")
        for line in ["x-put", "x-cancel", "x-foo 1", "x-"]:
            self.expect(line, "UNKNOWN_COMMAND")
        for line in ["x-put ", "x-put other k 0 0 1 1", "x-put keep k 0 0 1", "x-put keep k 0 0 0 1",
                     "x-put keep k 0 4294967295001 1 1", "x-put keep k 0 -1 1 1", "x-put keep k 0 0 4294967295001 1",
                     "x-put keep k 0 @9223372036855 1 1", "x-put keep k 4294967296 0 1 1", "x-put keep k 0 0 1 1x",
                     "x-put keep " + "k" * 129 + " 0 0 1 1", "x-put keep \u00e4 0 0 1 1",
                     "x-cancel ", "x-cancel =", "x-cancel k", "x-cancel -1", "x-cancel 1 1", "x-cancel =k ",
                     "x-cancel 18446744073709551616", "x-fire =a b", "x-fire 1x",
                     "x-reschedule =k", "x-reschedule =k ", "x-reschedule 1 @", "x-reschedule 1 -5", "x-reschedule 1 1 1",
                     "x-reschedule 1 4294967295001", "x-reschedule 1 @9223372036855", "x-cancel =" + "k" * 300]:
            with self.subTest(line=line):
                self.client.send(line.encode() + b"\r\n")
                self.assertEqual(self.client.answer(), b"BAD_FORMAT\r\n")
        self.expect(x_put("keep", "big", b"x" * 11), "JOB_TOO_BIG")
        self.client.send(b"x-put keep broken 0 0 1 2\r\nabc\r\n")
        self.assertEqual(self.client.answer(), b"EXPECTED_CRLF\r\n")
        self.expect("quit", "UNKNOWN_COMMAND")  # the rest of that body is in front of it
        self.expect("x-cancel =broken", "GONE")
        self.expect("x-cancel =k", "CANCELLED 1")

    def test_limits_and_draining(self):
        self.begin("--max-jobs", "2")
        self.expect(x_put("keep", "a"), "INSERTED 1")
        self.expect(x_put("keep", "b"), "INSERTED 2")
        self.expect(x_put("keep", "c"), "OUT_OF_MEMORY")
        self.expect(x_put("keep", "a"), "KEPT 1")
        self.expect(x_put("refuse", "a"), "EXISTS 1")
        self.expect("x-cancel =b", "CANCELLED 2")
        self.server.process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while b"draining: true" not in self.client.ask(b"stats\r\n"):
            self.assertLess(time.monotonic(), until)
        for policy in ["keep", "replace", "refuse"]:
            self.expect(x_put(policy, "a"), "DRAINING")
        self.expect("x-reschedule =a 0", "RESCHEDULED 1")
        self.expect("x-fire =a", "FIRED 1")
        self.expect("x-cancel =a", "CANCELLED 1")

    def test_the_statistics_have_what_the_store_was_asked(self):
        self.begin()
        before = self.client.numbers(b"stats\r\n")
        for key in ["a", "b", "c"]:
            self.client.ask(x_put("keep", key))
        after = self.client.numbers(b"stats\r\n")
        self.assertGreaterEqual(after["foliot-store-batches"], before["foliot-store-batches"] + 3)
        self.assertGreaterEqual(after["foliot-store-operations"], before["foliot-store-operations"] + 3)
        self.assertEqual(after["foliot-store-refused-batches"], 0)
        self.assertEqual(after["foliot-store-unavailable"], 0)

    def race(self, first, second):
        """The answers to two commands that two clients send at once, in both orders."""
        one, other = self.racers
        self.swapped = not self.swapped
        for client, command in [(other, second), (one, first)] if self.swapped else [(one, first), (other, second)]:
            client.send(command)
        return one.answer().split(b"\r\n")[0].decode(), other.answer().split(b"\r\n")[0].decode()

    def test_races(self):
        self.begin()
        self.racers = [self.connect(self.server), self.connect(self.server)]
        self.swapped = False
        take = b"reserve-with-timeout 0\r\n"
        job = 0
        for _ in range(RACES):
            job += 1
            self.expect(x_put("keep", "k"), f"INSERTED {job}")
            got = self.race(b"x-cancel =k\r\n", take)
            self.assertIn(got, [(f"CANCELLED {job}", "TIMED_OUT"), (f"IS_RESERVED {job}", f"RESERVED {job} 1")])
            if got[1] != "TIMED_OUT":
                self.expect(f"delete {job}", "DELETED", self.racers[1])

            job += 1
            self.expect(x_put("keep", "k"), f"INSERTED {job}")
            got = self.race(b"x-reschedule =k 3600000\r\n", take)
            self.assertIn(got, [(f"RESCHEDULED {job}", "TIMED_OUT"), (f"IS_RESERVED {job}", f"RESERVED {job} 1")])
            self.expect(f"delete {job}", "DELETED", self.racers[1])

            job += 1
            self.expect(x_put("keep", "k", due=HOUR), f"INSERTED {job}")
            got = self.race(b"x-fire =k\r\n", b"x-cancel =k\r\n")
            self.assertIn(got, [(f"FIRED {job}", f"CANCELLED {job}"), ("GONE", f"CANCELLED {job}")])
            self.expect(f"peek {job}", "NOT_FOUND")

            job += 1
            self.expect(x_put("keep", "k"), f"INSERTED {job}")
            got = self.race(b"x-cancel =k\r\n", b"x-cancel %d\r\n" % job)
            self.assertIn(got, [(f"CANCELLED {job}", "GONE"), ("GONE", f"CANCELLED {job}")])

            job += 1
            self.expect(x_put("keep", "k"), f"INSERTED {job}")
            got = self.race(x_put("replace", "k", b"new"), take)
            if got[0] == f"IS_RESERVED {job}":
                self.assertEqual(got[1], f"RESERVED {job} 1")
            else:
                job += 1
                self.assertEqual(got, (f"REPLACED {job}", f"RESERVED {job} 3"))
            self.expect(f"delete {job}", "DELETED", self.racers[1])

            job += 1
            got = self.race(x_put("keep", "k"), x_put("keep", "k"))
            self.assertIn(got, [(f"INSERTED {job}", f"KEPT {job}"), (f"KEPT {job}", f"INSERTED {job}")])
            self.expect("x-cancel =k", f"CANCELLED {job}")
        self.assertEqual(self.client.numbers(b"stats\r\n")["current-jobs-ready"], 0)


    def due_page(self, command):
        """The lines of a page."""
        text = self.client.ask(command.encode() + b"\r\n").decode()
        first, body = text.split("\r\n", 1)
        self.assertEqual(first, f"OK {len(body) - 2}")
        begin, *lines = body[:-2].splitlines()
        self.assertEqual(begin, "---")
        return lines

    def test_what_is_due_next(self):
        self.begin()
        times = [3, 1, 1, 2, 1]
        due = [wall_milliseconds() + HOUR + time for time in times]
        for number, (tube, when) in enumerate(zip(["mail", "mail.fast", "other", "mail", "mail"], due, strict=True), 1):
            self.expect("use " + tube, "USING " + tube)
            self.expect(x_put("keep", "-", due=f"@{when}"), f"INSERTED {number}")
        self.expect(x_put("keep", "-"), "INSERTED 6")  # ready: not due later
        order = sorted(range(1, 6), key=lambda job: (due[job - 1], job))
        listed = []
        time_and_job = "@0 0"
        while page := self.due_page(f"x-due 2 {time_and_job} -"):
            listed += page
            job, when = page[-1].split(",")[0].split()[-1], page[-1].rstrip("}").split()[-1]
            time_and_job = f"@{when} {job}"
        self.assertEqual([line.split(",")[0] for line in listed], [f"- {{id: {job}" for job in order])
        self.assertIn(f'- {{id: 2, tube: "mail.fast", state: delayed, due-ms: {due[1]}}}', listed)
        self.assertEqual(len(self.due_page("x-due 1000 @0 0 mail")), 4)
        self.assertEqual(len(self.due_page("x-due 1000 @0 0 mail.fast")), 1)
        self.assertEqual(self.due_page("x-due 1000 @0 0 nobody"), [])
        self.assertEqual(self.due_page(f"x-due 1000 @{max(due) + 1} 0 -"), [])
        self.expect("x-due 0 @0 0 -", "BAD_FORMAT")


class InMemory(Extensions, ServeCase):
    store = ["--memory"]


class OnDisk(Extensions, ServeCase):
    store = ["--data", "HERE/jobs"]

    def test_a_restart(self):
        for end in [signal.SIGTERM, signal.SIGKILL]:
            with self.subTest(end=end):
                self.begin()
                key = f"after-{end.value}-"
                due = wall_milliseconds() + 3_600_000
                jobs = {}
                for name, when in [("far", f"@{due}"), ("moved", 0), ("fired", HOUR), ("held", 0), ("gone", 0)]:
                    self.expect("use " + name, "USING " + name)
                    answer = self.client.ask(x_put("keep", key + name, due=when))
                    jobs[name] = int(answer.split()[1])
                self.expect("use moved", "USING moved")
                self.expect(f"x-reschedule ={key}moved 3600000", f"RESCHEDULED {jobs['moved']}")
                self.expect("use fired", "USING fired")
                self.expect(f"x-fire ={key}fired", f"FIRED {jobs['fired']}")
                self.expect(f"x-cancel {jobs['gone']}", f"CANCELLED {jobs['gone']}")
                self.expect("watch held", "WATCHING 2")
                self.expect("reserve", f"RESERVED {jobs['held']} 1\r\na")
                self.expect(f"x-cancel {jobs['held']}", f"IS_RESERVED {jobs['held']}")
                self.server.process.send_signal(end)
                self.server.process.wait(beanstalk_client.PATIENCE)
                self.begin()
                for name, state in [("far", "delayed"), ("moved", "delayed"), ("fired", "ready"), ("held", "ready")]:
                    self.expect_job(jobs[name], state=state)
                    self.expect("use " + name, "USING " + name)
                    self.expect(x_put("refuse", key + name), f"EXISTS {jobs[name]}")
                    self.expect(f"x-cancel ={key}{name}", f"CANCELLED {jobs[name]}")
                self.expect("use gone", "USING gone")
                self.expect(f"x-cancel ={key}gone", "GONE")
                self.server.process.send_signal(signal.SIGTERM)
                self.server.process.wait(beanstalk_client.PATIENCE)


if __name__ == "__main__":
    main()
