"""`foliot copy` between Debian's beanstalkd and foliot, in both directions, and between two foliots."""
import contextlib
import os
import re
import resource
import threading
import time

from copy_case import CopyCase, put
from kit import beanstalk_client
from kit.program_case import main
from stepping_proxy import SteppingProxy, Steps

SANITIZED = os.environ.get("FOLIOT_SANITIZED") == "1"


class Moves(CopyCase):
    """All states and attributes arrive."""

    def test_states_and_attributes(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                source.ask(b"use t1\r\n", put(b"urgent", 1, ttr=7),
                           put(b"any \0\r\n bytes", 4294967295, ttr=4294967295))
                start = time.monotonic()
                source.ask(b"use t2\r\n", put(b"later", 5, delay=5000, ttr=9), put(b"last", 6, delay=4294967290))
                source.bury(b"t3", b"set aside", 77, ttr=110000)
                source.bury(b"t3", b"", 78)
                out = self.copy(source, target)
                self.assertIn("moved 6 jobs from", out)
                self.assertIn(": 2 ready, 2 delayed, 2 buried\n", out)
                self.assertEqual(source.jobs(), [])
                jobs = {each.body: each for each in target.jobs()}
                seen = {(each.body, each.tube, each.state, each.priority, each.ttr) for each in jobs.values()}
                self.assertEqual(seen, {
                    (b"urgent", "t1", "ready", 1, 7), (b"any \0\r\n bytes", "t1", "ready", 4294967295, 4294967295),
                    (b"later", "t2", "delayed", 5, 9), (b"last", "t2", "delayed", 6, 100000),
                    (b"set aside", "t3", "buried", 77, 110000), (b"", "t3", "buried", 78, 100000)})
                self.expect_not_early(jobs[b"later"], start + 5000)
                self.assertLessEqual(jobs[b"later"].left, 5001)
                self.expect_not_early(jobs[b"last"], start + 4294967290)

    def test_keys_due_times_and_ttrs_between_two_foliots(self):
        source, target = self.foliot(), self.foliot()
        source.ask(b"use t\r\n", b'x-put keep say"\\so 3 @1999999999123 1500 2\r\nhi\r\n',
                   b"x-put keep far 3 @9000000000000 1 2\r\nhi\r\n", b"x-put keep now 3 0 60000 2\r\nhi\r\n")
        before = [each.exact for each in source.jobs()]
        self.copy(source, target)
        after = [each.exact for each in target.jobs()]
        self.assertEqual(sorted(each["key"] for each in after), sorted(each["key"] for each in before))
        self.assertIn({"due-ms": "1999999999123", "ttr-ms": "1500"},
                      [{key: each[key] for key in ("due-ms", "ttr-ms")} for each in after])
        self.assertIn("9000000000000", [each["due-ms"] for each in after])
        target.ask(b"use t\r\n")
        self.assertEqual(target.ask(b"x-cancel =say\"\\so\r\n")[0].split()[0], b"CANCELLED")

    FIELDS = bytes([0, 1, 0, 2]) + b"\r\n" + bytes([0xff, 0xff, 0, 0])
    HISTORY = bytes([1, 0, 0x1f, 0xfc]) + bytes(8188)  # as long as it may be

    def with_fields(self, key, fields=FIELDS, history=HISTORY, due=b"0"):
        return b"x-put keep %s 3 %s 60000 2 %d %d\r\nhi%s%s\r\n" % (key, due, len(fields), len(history), fields, history)

    def test_fields_and_histories_between_two_foliots(self):
        source, target = self.foliot(), self.foliot()
        keys = [b"ready", b"delayed", b"none", b"buried", b"fields", b"history"]
        replies = source.ask(b"use t\r\n", self.with_fields(keys[0]), self.with_fields(keys[1], due=b"5000000"),
                             self.with_fields(keys[2], b"", b""), self.with_fields(keys[3]),
                             self.with_fields(keys[4], history=b""), self.with_fields(keys[5], fields=b""))
        buried = int(replies[4].split()[1])
        source.ask(b"reserve-job %d\r\n" % buried, b"bury %d 7\r\n" % buried)
        self.copy(source, target)
        self.assertEqual(source.jobs(), [])
        both = {"fields": self.FIELDS, "history": self.HISTORY}
        self.assertEqual({each.exact["key"]: (each.state, each.body, each.fields) for each in target.jobs()}, {
            "ready": ("ready", b"hi", both), "delayed": ("delayed", b"hi", both), "none": ("ready", b"hi", {}),
            "buried": ("buried", b"hi", both), "fields": ("ready", b"hi", {"fields": self.FIELDS}),
            "history": ("ready", b"hi", {"history": self.HISTORY})})

    def test_fields_that_a_target_cannot_take(self):
        """Jobs with fields stay at the source. A history is dropped, as the counters are."""
        source = self.foliot()
        old = self.foliot()
        facts = old.ask(b"stats\r\n")[0].split(b"\r\n", 1)[1][:-2]
        facts = re.sub(rb"(?m)^foliot-field-bytes: .*\n", b"", facts)
        earlier = SteppingProxy(old, Steps(), answers={b"stats\r": b"OK %d\r\n%s\r\n" % (len(facts), facts)})
        self.addCleanup(earlier.close)
        source.ask(b"use t\r\n", self.with_fields(b"with"), self.with_fields(b"without", fields=b""))
        text = self.copy(source, earlier, code=1)
        self.assertIn("stays at", text)
        self.assertIn("it has fields of 10 bytes, and", text)
        self.assertIn("takes none", text)
        self.assertEqual([each.exact["key"] for each in source.jobs()], ["with"])
        self.assertEqual([(each.exact["key"], each.fields) for each in old.jobs()], [("without", {})])

    def test_a_key_whose_job_has_other_fields(self):
        source, target = self.foliot(), self.foliot()
        source.ask(b"use t\r\n", self.with_fields(b"same"), self.with_fields(b"other"))
        target.ask(b"use t\r\n", self.with_fields(b"same"), self.with_fields(b"other", fields=self.FIELDS[:6]))
        text = self.copy(source, target, code=1)
        self.assertIn("has another job with its key 'other'", text)
        self.assertEqual([each.exact["key"] for each in source.jobs()], ["other"])

    def test_ready_jobs_keep_their_order(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                order = [(number * 7919) % 11 for number in range(600)]
                source.connection.send(b"use t\r\n" + b"".join(put(b"%d" % n, order[n]) for n in range(600)))
                for _ in range(601):
                    source.connection.answer()
                self.copy(source, target)
                target.ask(b"watch t\r\n")
                bodies = [target.connection.ask(b"reserve-with-timeout 0\r\n").split(b"\r\n")[1] for _ in range(600)]
                self.assertEqual([int(each) for each in bodies], sorted(range(600), key=lambda n: (order[n], n)))

    def test_jobs_of_a_paused_tube(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                source.ask(b"use t\r\n", put(b"1"), put(b"2"), b"pause-tube t 100000\r\n")
                self.copy(source, target)
                self.assertEqual([(each.body, each.state) for each in target.jobs()],
                                 [(b"1", "ready"), (b"2", "ready")])

    def test_far_ids_and_many_tubes(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                expected = set()
                for number in range(3000):  # most have gone, some stay here and there
                    source.connection.send(b"use t%d\r\n" % (number % 5) + put(b"%d" % number, delay=9000 - number))
                for number in range(3000):
                    source.connection.answer()
                    job = int(source.connection.answer().split()[1])
                    if number % 97 < 3 or 1000 < number < 1500:
                        expected.add(b"%d" % number)
                    else:
                        source.connection.send(b"delete %d\r\n" % job)
                for _ in range(3000 - len(expected)):
                    source.connection.answer()
                self.copy(source, target)
                self.assertEqual({each.body for each in target.jobs()}, expected)
                self.assertEqual(source.connection.numbers(b"stats\r\n")["current-jobs-delayed"], 0)

    def test_jobs_that_are_larger_than_their_source_says(self):
        """As those that were put before its limit was lowered: fewer of them are moved at once, and no more memory is
        needed than four times 64 MiB, and that of the program."""
        source, target = self.foliot("--max-job-size", 4 << 20), self.foliot("--max-job-size", 4 << 20)
        delayed = 20 if SANITIZED else 50
        for count, delay in ((20, 0), (delayed, 100000)):
            source.ask(b"use t\r\n", *(put(b"%02d" % i + bytes((4 << 20) - 2), delay=delay) for i in range(count)))
        facts = source.ask(b"stats\r\n")[0].split(b"\r\n", 1)[1][:-2].replace(b"max-job-size: 4194304", b"max-job-size: 65535")
        proxy = SteppingProxy(source, Steps(), answers={b"stats\r": b"OK %d\r\n%s\r\n" % (len(facts), facts)})
        self.addCleanup(proxy.close)
        limit = (370 << 20, 370 << 20)
        limited = {} if SANITIZED else {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, limit)}
        code, out, err = self.run_foliot("copy", self.text(proxy.address), self.text(target.address), **limited)
        self.assertEqual(code, 1, out + err)  # the proxy says that the jobs are still there
        self.assertIn(f": 20 ready, {delayed} delayed, 0 buried\n", out)
        numbers = target.connection.numbers(b"stats\r\n")
        self.assertEqual((numbers["current-jobs-ready"], numbers["current-jobs-delayed"]), (20, delayed))
        body = b"00" + bytes((4 << 20) - 2)
        for reply in target.ask(b"use t\r\n", b"peek-ready\r\n", b"peek-delayed\r\n")[1:]:
            self.assertEqual(reply.split(b"\r\n", 1)[1], body + b"\r\n")

    def test_nothing_to_do(self):
        source, target = self.foliot(), self.foliot()
        self.assertIn("moved 0 jobs", self.copy(source, target))


class Interrupted(CopyCase):
    """The copy ends behind its n-th change, for each n, and is started again: nothing is lost or early, and between
    servers of which the target is foliot nothing is there twice."""
    DELAY = 5000

    def fill(self, source):
        start = time.monotonic()
        source.ask(b"use t1\r\n", put(b"ready 1"), put(b"ready 2"), put(b"delayed 1", delay=self.DELAY),
                   b"use t2\r\n", put(b"delayed 2", delay=self.DELAY))
        source.bury(b"t3", b"buried 1", 7)
        source.bury(b"t3", b"buried 2", 8)
        if source.is_foliot:
            source.ask(b"x-put keep its-key 0 0 100000 5\r\nkeyed\r\n")
        return start

    def expect_states(self, jobs, start):
        for job in jobs:
            if job.body.startswith(b"delayed"):
                self.expect_not_early(job, start + self.DELAY)
            elif job.body.startswith(b"buried"):  # hidden, until it is buried
                self.assertTrue(job.state == "buried" or job.left > 4200000000, (job.body, job.state))
            else:
                self.assertEqual(job.state, "ready", job.body)

    def test_at_every_change(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                cuts = 0
                while self.interrupted_at(cuts, source, target):
                    cuts += 1
                self.assertGreater(cuts, 15)

    def interrupted_at(self, cut, source, target):
        """Whether the copy had not ended by then."""
        source.clear()
        target.clear()
        start = self.fill(source)
        all_bodies = sorted(each.body for each in source.jobs())
        steps = Steps(cut)
        proxies = [SteppingProxy(source, steps), SteppingProxy(target, steps)]
        result, out, err = self.run_foliot("copy", *[self.text(each.address) for each in proxies])
        for each in proxies:
            each.close()
        if result != 0:
            self.assertEqual(result, 2, out + err)
        source.settle()
        target.settle()
        at_source, at_target = source.jobs(), target.jobs()
        self.expect_states(at_source, start)
        # What was reserved in order to be buried is ready when the connection ends just there.
        between = [each for each in at_target if each.body.startswith(b"buried") and each.state == "ready"]
        self.assertLessEqual(len(between), 1)
        self.expect_states([each for each in at_target if each not in between], start)
        there = {each.body for each in at_source + at_target}
        self.assertEqual(sorted(there), all_bodies, f"cut behind change {cut}")
        self.copy(source, target)
        self.assertEqual(source.jobs(), [])
        self.expect_states([each for each in target.jobs() if each.body not in {one.body for one in between}], start)
        bodies = sorted(each.body for each in target.jobs())
        if target.is_foliot:
            self.assertEqual(bodies, all_bodies, f"cut behind change {cut}")
        else:
            both = [each.body for each in at_target if each.body in {one.body for one in at_source}]
            self.assertEqual(bodies, sorted(all_bodies + both), f"cut behind change {cut}")
        return result != 0

    def test_a_job_that_changes_between_two_runs(self):
        for source in (self.beanstalkd(), self.foliot()):
            target = self.foliot()
            source.ask(b"use t\r\n", put(b"it", delay=self.DELAY))
            [job] = source.jobs()

            def cut_at_delete(line):
                if line.startswith(b"delete "):
                    raise EOFError

            proxy = SteppingProxy(source, Steps(), cut_at_delete)
            self.copy(proxy, target, code=2)
            proxy.close()
            self.assertEqual([each.body for each in source.jobs() + target.jobs()], [b"it", b"it"])
            start = time.monotonic()
            source.ask(b"kick-job %d\r\n" % job.id, b"reserve-job %d\r\n" % job.id, b"release %d 7 9000\r\n" % job.id)
            self.copy(source, target)
            [job] = target.jobs()
            self.expect_not_early(job, start + 9000)

    def test_a_copy_that_a_worker_finishes_between_two_answers(self):
        """The target says that a worker has the copy, and then that it is not there: the job is done."""
        source, target = self.foliot(), self.foliot()
        source.ask(b"use t\r\n", put(b"it"))

        def cut_at_delete(line):
            if line.startswith(b"delete "):
                raise EOFError

        proxy = SteppingProxy(source, Steps(), cut_at_delete)
        self.copy(proxy, target, code=2)
        proxy.close()
        source.settle()
        [job] = target.jobs()
        worker = target.connect()
        self.addCleanup(worker.close)
        self.assertEqual(worker.ask(b"reserve-job %d\r\n" % job.id), b"RESERVED %d 2\r\nit\r\n" % job.id)
        ends = []

        def before(line):
            if line == b"x-stats-job %d\r\n" % job.id and not ends:
                ends.append(worker.ask(b"delete %d\r\n" % job.id))

        proxy = SteppingProxy(target, Steps(), before)
        self.assertIn("moved 1 job from", self.copy(source, proxy))
        proxy.close()
        self.assertEqual(ends, [b"DELETED\r\n"])
        self.assertEqual((source.jobs(), target.jobs()), ([], []))

    def test_a_job_with_a_key_that_is_moved_between_two_runs(self):
        source, target = self.foliot(), self.foliot()
        source.ask(b"use t\r\n", b"x-put keep k 0 5000000 60000 2\r\nit\r\n")
        [job] = source.jobs()

        def cut_at_delete(line):
            if line.startswith(b"delete "):
                raise EOFError

        proxy = SteppingProxy(source, Steps(), cut_at_delete)
        self.copy(proxy, target, code=2)
        proxy.close()
        source.ask(b"x-reschedule %d 90000000\r\n" % job.id)
        text = self.copy(source, target, code=1)
        self.assertIn("which is due earlier", text)
        self.assertEqual(len(source.jobs()), 1)
        source.ask(b"x-reschedule %d 100000\r\n" % job.id)  # earlier than there: that copy is late, not early
        self.copy(source, target)
        self.assertEqual(source.jobs(), [])
        self.assertEqual([each.body for each in target.jobs()], [b"it"])

    def test_jobs_whose_ttr_ends_while_they_are_moved(self):
        """Such jobs are reserved again for the same group: none may be lost, or lose its body."""
        source, target = self.foliot(), self.foliot()
        bodies = [b"%05d" % number for number in range(1000)]
        source.ask(b"use t\r\n", *(b"x-put keep - 0 0 1 5\r\n%s\r\n" % each for each in bodies))
        self.run_foliot("copy", self.text(source.address), self.text(target.address))
        found = [each.body for each in source.jobs() + target.jobs()]
        self.assertEqual(sorted(found), bodies)


class Busy(CopyCase):
    """Workers of the source work on."""

    def with_change(self, source, target, body, at, *requests):
        """Copies the one job while a worker of the source sends requests right before the copy's request `at`, which
        has the job's id, comes there for the n-th time: (beginning, n)."""
        job = [each for each in source.jobs() if each.body == body][0].id
        worker = source.connect()
        self.addCleanup(worker.close)
        count = [0]

        def before(line):
            if line.split() == [at[0], b"%d" % job]:
                count[0] += 1
                if count[0] == at[1]:
                    for each in requests:
                        answer = worker.ask(each.replace(b"ID", b"%d" % job))
                        self.assertFalse(answer.startswith((b"NOT", b"BAD", b"UNK")), answer)

        proxy = SteppingProxy(source, Steps(), before)
        self.addCleanup(proxy.close)
        result, out, err = self.run_foliot("copy", self.text(proxy.address), self.text(target.address))
        self.assertGreaterEqual(count[0], at[1])
        return result, out + err

    def test_a_worker_takes_a_job_that_has_been_put(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                source.ask(b"use t\r\n", put(b"it", delay=1000))
                result, text = self.with_change(source, target, b"it", (b"delete", 1), b"kick-job ID\r\n",
                                                b"reserve-job ID\r\n")
                self.assertEqual(result, 1, text)
                self.assertIn("took 1 job back", text)
                self.assertIn("1 job is still at", text)
                self.assertIn("1 reserved by workers", text)
                self.assertEqual(target.jobs(), [])

    def test_a_worker_puts_off_a_job_that_has_been_put(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                source.ask(b"use t\r\n", put(b"it", delay=1000))
                look = b"x-stats-job" if source.is_foliot else b"stats-job"
                start = time.monotonic()
                result, text = self.with_change(source, target, b"it", (look, 2), b"kick-job ID\r\n",
                                                b"reserve-job ID\r\n", b"release ID 7 9000\r\n")
                self.assertEqual(result, 0, text)
                [job] = target.jobs()
                self.assertEqual(job.priority, 7)
                self.expect_not_early(job, start + 9000)

    def test_a_client_kicks_a_buried_job_that_has_been_put(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                source.bury(b"t", b"it", 3)
                look = b"x-stats-job" if source.is_foliot else b"stats-job"
                result, text = self.with_change(source, target, b"it", (look, 2), b"kick-job ID\r\n")
                self.assertEqual(result, 0, text)
                self.assertEqual([(each.body, each.state) for each in target.jobs()], [(b"it", "ready")])

    def test_two_jobs_that_have_had_one_key(self):
        """One ends, and another one is put with its key, while a group is read: the group has both."""
        source, target = self.foliot(), self.foliot()
        source.ask(b"use t\r\n", *(b"x-put keep %s 0 5000000 60000 2\r\nit\r\n" % key for key in (b"k", b"other")))
        first, second = [each.id for each in source.jobs()]
        shown = source.connection.ask(b"x-stats-job %d\r\n" % second).split(b"\r\n", 1)[1]
        shown = re.sub(rb'(?m)^key: .*$', b'key: "k"', shown)[:-2]
        with_its_key = {b"x-stats-job %d\r" % second: b"OK %d\r\n%s\r\n" % (len(shown), shown)}

        def before(line):
            if line == b"delete %d\r\n" % first:
                with contextlib.closing(source.connect()) as connection:
                    self.assertEqual(connection.ask(line), b"DELETED\r\n")

        proxy = SteppingProxy(source, Steps(), before, with_its_key)
        text = self.copy(proxy, target)
        proxy.close()
        self.assertIn("moved 1 job from", text)
        self.assertIn("took 1 job back", text)
        self.assertEqual((source.jobs(), [each.body for each in target.jobs()]), ([], [b"it"]))

    def test_workers_that_do_not_stop(self):
        for name, source, target in self.pairs():
            with self.subTest(name):
                bodies = {b"%d" % number for number in range(1500)}
                source.connection.send(b"".join(put(each, delay=int(each) % 2) for each in bodies))
                for _ in bodies:
                    source.connection.answer()
                done, ends = set(), threading.Event()

                def work():
                    connection = source.connect()
                    while not ends.is_set():
                        answer = connection.ask(b"reserve-with-timeout 0\r\n")
                        if answer.startswith(b"RESERVED"):
                            head, body = answer.split(b"\r\n", 1)
                            if connection.ask(b"delete %s\r\n" % head.split()[1]) == b"DELETED\r\n":
                                done.add(body[:-2])
                    connection.close()

                workers = [threading.Thread(target=work) for _ in range(2)]
                for each in workers:
                    each.start()
                first = self.run_foliot("copy", self.text(source.address), self.text(target.address))
                ends.set()
                for each in workers:
                    each.join()
                self.assertIn(first[0], (0, 1), first)
                source.settle()
                self.copy(source, target)
                moved = [each.body for each in target.jobs()]
                self.assertEqual(sorted(moved + list(done)), sorted(bodies))

    def test_wait_for_workers(self):
        source, target = self.foliot(), self.foliot()
        source.ask(put(b"held"))
        worker = source.connect()
        worker.ask(b"reserve\r\n")
        self.assertIn("1 reserved by workers", self.copy(source, target, code=1))
        with self.start("copy", "--wait", self.text(source.address), self.text(target.address)) as process:
            other = source.connect()
            until = time.monotonic() + beanstalk_client.PATIENCE
            while source.connection.numbers(b"stats\r\n")["current-connections"] < 4 and time.monotonic() < until:
                time.sleep(0.002)  # it is at work
            other.close()
            worker.close()  # gives the job back
            out, err = process.communicate()
            self.assertEqual((process.returncode, err), (0, b""))
        self.assertIn(b"moved 1 job from", out)


class Lies(CopyCase):
    """One answer of a server is wrong: no job is lost, and the run ends with a message. Nothing is deleted at the source
    unless the target has said of that very job, in the right words, that it has it."""
    NEVER = [b"hello", b"OK 3\r\nabc", b"PAUSED"]

    def fill(self, source):
        source.clear()
        source.ask(b"use t\r\n", put(b"ready"), b"x-put keep k 0 0 100000 5\r\nkeyed\r\n", put(b"delayed", delay=5000))
        source.bury(b"u", b"buried", 7)
        return sorted(each.body for each in source.jobs())

    def lie(self, source, target, liar_is_source, command, reply):
        """Copies while one of both answers a command so, except where it is asked what it is. Returns the bodies that
        are at both then, and what was printed."""
        answers = {b"reserve-job 0\r": b"NOT_FOUND\r\n", command: reply + b"\r\n"}
        if target.is_foliot:
            answers = {b"x-stats-job 0\r": b"NOT_FOUND\r\n", **answers}
        liar = SteppingProxy(source if liar_is_source else target, Steps(), answers=answers)
        ends = (liar, target) if liar_is_source else (source, liar)
        result, out, err = self.run_foliot("copy", *(self.text(each.address) for each in ends))
        liar.close()
        source.settle()
        target.settle()
        self.assertIn(result, (1, 2), (command, reply, out + err))
        return [each.body for each in source.jobs()], [each.body for each in target.jobs()], out + err

    def test_of_a_target(self):
        source, target = self.foliot(), self.foliot()
        target.ask(put(b"another job"))
        bodies = self.fill(source)
        numbers = [b"", b" 0", b" -1", b" +1", b" x", b" 18446744073709551615", b" 18446744073709551616", b" 1 1"]
        to_put = [b"INSERTED" + each for each in numbers]
        to_put += [b"REPLACED", b"REPLACED 0", b"IS_RESERVED", b"IS_RESERVED 0", b"IS_RESERVED 1", b"KEPT 1", b"EXISTS 1",
                   b"BURIED", b"DELETED", b"USING t", b"TIMED_OUT", b"UNKNOWN_COMMAND", b"RESERVED 1 1\r\nx"]
        to_use = [b"USING", b"USING wrong", b"USING t t", b"WATCHING 1", b"INSERTED 1"]
        for command, replies in ((b"x-put", to_put + self.NEVER), (b"use t", to_use + self.NEVER)):
            for reply in replies:
                with self.subTest(f"{command} {reply}"):
                    left, _, text = self.lie(source, target, False, command, reply)
                    self.assertEqual(sorted(left), bodies, text)

    def test_of_a_target_that_is_beanstalkd(self):
        source, target = self.foliot(), self.beanstalkd()
        bodies = self.fill(source)
        for reply in [b"INSERTED", b"INSERTED 0", b"REPLACED 1", b"IS_RESERVED 1", b"KEPT 1", b"BURIED", *self.NEVER]:
            with self.subTest(reply):
                left, _, text = self.lie(source, target, False, b"put", reply)
                self.assertEqual(sorted(left), bodies, text)

    def test_of_a_target_that_has_a_key_or_buries(self):
        source, target = self.foliot(), self.foliot()
        other = b"---\nid: 1\ntube: t\nstate: ready\npri: 0\nttr: 1\ntime-left: 0\nreleases: 0\nburies: 0\nkicks: 0\n"
        shown = b"OK %d\r\n%s" % (len(other), other)
        cases = [(b"x-put keep", each) for each in (b"REPLACED 1", b"IS_RESERVED 1", b"KEPT", b"KEPT 0", b"KEPT 4000")]
        cases += [(b"stats-job", each) for each in [shown, b"BURIED", *self.NEVER]]
        cases += [(b"bury", each) for each in [b"BURIED 1", b"DELETED", *self.NEVER]]
        cases += [(b"reserve-job", each) for each in [b"RESERVED 4000 1\r\nx", *self.NEVER]]
        for command, reply in cases:
            with self.subTest(f"{command} {reply}"):
                bodies = self.fill(source)
                left, there, text = self.lie(source, target, False, command, reply)
                self.assertIn(b"keyed" if command == b"x-put keep" else b"buried", left, text)
                self.assertEqual(sorted(set(left + there)), bodies, text)
                target.clear()

    def test_of_a_target_about_two_jobs(self):
        source, target = self.foliot(), self.foliot()
        source.ask(b"use t\r\n", put(b"one"), put(b"two"))
        left, _, text = self.lie(source, target, False, b"x-put", b"INSERTED 7")
        self.assertIn("says of two jobs that it has put them as job 7", text)
        self.assertEqual(left, [b"one", b"two"])

    def test_of_a_target_that_answers_twice(self):
        source, target = self.foliot(), self.foliot()
        source.ask(put(b"one"))
        for command, reply in ((b"x-put", b"INSERTED 1\r\nINSERTED 2"), (b"use default", b"USING default\r\nUSING default")):
            left, _, text = self.lie(source, target, False, command, reply)
            self.assertIn("sent more than the 1 reply that it was asked for", text)
            self.assertEqual(left, [b"one"])

    def test_of_a_source(self):
        commands = (b"stats\r", b"list-tubes", b"stats-tube", b"x-stats-job", b"peek ", b"use ", b"peek-delayed", b"watch",
                    b"ignore", b"reserve-with-timeout")
        cases = [(command, each) for command in commands for each in self.NEVER]
        cases += [(b"reserve-with-timeout", b"RESERVED 0 1\r\nx"), (b"ignore", b"WATCHING 2"), (b"use ", b"USING other"),
                  (b"peek-delayed", b"FOUND 0 1\r\nx"), (b"stats\r", b"OK 4\r\n---\n"), (b"stats-tube", b"OK 4\r\n---\n")]
        source, target = self.foliot(), self.foliot()
        for command, reply in cases:
            with self.subTest(f"{command} {reply}"):
                bodies = self.fill(source)
                left, there, text = self.lie(source, target, True, command, reply)
                self.assertEqual(sorted(set(left + there)), bodies, text)
                self.assertRegex(text, r"answered|sent|contradicts itself|does not say how many|are still at")
                target.clear()

    def test_of_a_source_that_has_deleted_a_job(self):
        """The copy stays: it may be the only one."""
        for reply in [b"DELETED 1", b"BURIED", *self.NEVER]:
            with self.subTest(reply):
                source, target = self.foliot(), self.foliot()
                source.ask(b"use t\r\n", put(b"one", delay=5000), put(b"two", delay=5000))

                def delete(line):
                    if line.startswith(b"delete "):
                        with contextlib.closing(source.connect()) as connection:
                            self.assertEqual(connection.ask(line), b"DELETED\r\n")

                liar = SteppingProxy(source, Steps(), delete, {b"delete ": reply + b"\r\n"})
                result, out, err = self.run_foliot("copy", self.text(liar.address), self.text(target.address))
                liar.close()
                self.assertEqual(result, 2, out + err)
                self.assertEqual((source.jobs(), [each.body for each in target.jobs()]), ([], [b"one", b"two"]), out + err)


class Refused(CopyCase):
    """What the target cannot take stays at the source, and everything else goes on."""

    def test_jobs_that_are_too_big(self):
        for name, source, target in [("beanstalkd to foliot", self.beanstalkd(), self.foliot("--max-job-size", 1000)),
                                     ("foliot to beanstalkd", self.foliot(), self.beanstalkd("-z", 1000))]:
            with self.subTest(name):
                source.ask(b"use t\r\n", put(b"r" * 1001, 0), put(b"r" * 1000, 1), put(b"d" * 1001, delay=1000))
                for _ in range(600):  # far from the job that hides it
                    number = int(source.ask(put(b"", delay=9999))[0].split()[1])
                    source.ask(b"delete %d\r\n" % number)
                source.ask(put(b"d" * 1000, delay=2000))
                source.bury(b"u", b"b" * 1001, 0)
                source.bury(b"u", b"b" * 1000, 0)
                out = self.copy(source, target, code=1)
                self.assertIn(": 1 ready, 1 delayed, 1 buried\n", out)
                self.assertIn("foliot: job 1 of tube 't' stays at ", out)
                self.assertIn("its body of 1001 bytes is over the limit of 1000 bytes at ", out)
                self.assertEqual(out.count("stays at"), 3)
                self.assertIn("3 jobs are still at", out)
                source.settle()
                self.assertEqual({(each.body[:1], len(each.body), each.state) for each in source.jobs()},
                                 {(b"r", 1001, "ready"), (b"d", 1001, "delayed"), (b"b", 1001, "buried")})
                self.assertEqual({(each.body[:1], len(each.body), each.state) for each in target.jobs()},
                                 {(b"r", 1000, "ready"), (b"d", 1000, "delayed"), (b"b", 1000, "buried")})

    def test_a_key_that_another_job_has(self):
        source, target = self.foliot(), self.foliot()
        for each, body in ((source, b"one"), (target, b"two")):
            each.ask(b"use t\r\n", b"x-put keep k 0 0 1000 3\r\n%s\r\n" % body)
        self.assertIn(f"{self.text(target.address)} has another job with its key 'k', job 1",
                      self.copy(source, target, code=1))
        self.assertEqual([each.body for each in source.jobs() + target.jobs()], [b"one", b"two"])

    def test_a_key_that_no_command_can_have(self):
        """A program that uses foliot's store as a library may choose such a key. In a command it would make the body one."""
        for key in (b"a b", b"k" * 129, b"-"):
            source, target = self.foliot(), self.foliot()
            source.ask(put(b"use wrong", delay=5000), put(b"it", delay=5000))
            facts = source.ask(b"x-stats-job 1\r\n")[0].split(b"\r\n", 1)[1][:-2].replace(b'key: ""', b'key: "%s"' % key)
            proxy = SteppingProxy(source, Steps(), answers={b"x-stats-job 1\r": b"OK %d\r\n%s\r\n" % (len(facts), facts)})
            self.addCleanup(proxy.close)
            self.assertIn(f"its key '{key.decode()}' cannot be in a command: that takes 1 to 128 visible ASCII characters",
                          self.copy(proxy, target, code=1))
            self.assertEqual([each.body for each in source.jobs()], [b"use wrong"])
            self.assertEqual([each.body for each in target.jobs()], [b"it"])

    def test_a_target_without_reserve_job(self):
        source, target = self.foliot(), self.foliot()
        source.bury(b"t", b"it", 3)
        source.ask(b"use t\r\n", put(b"other"))
        proxy = SteppingProxy(target, Steps(), answers={b"reserve-job": b"UNKNOWN_COMMAND\r\n"})
        self.addCleanup(proxy.close)
        self.assertIn("nothing can be buried at", self.copy(source, proxy, code=1))
        self.assertEqual([(each.body, each.state) for each in source.jobs()], [(b"it", "buried")])
        self.assertEqual([each.body for each in target.jobs()], [b"other"])

    def test_a_target_that_takes_no_more(self):
        source, target = self.foliot(), self.foliot()
        for reply, words in ((b"DRAINING", "drains"), (b"OUT_OF_MEMORY", "has no room for more jobs"),
                             (b"BURIED 999", "could not write job 999 to its log")):
            source.ask(b"use t\r\n", put(b"it"))
            proxy = SteppingProxy(target, Steps(), answers={b"x-put": reply + b"\r\n"})
            self.addCleanup(proxy.close)
            out = self.copy(source, proxy, code=2)
            self.assertIn(words, out)
            self.assertIn("no job is lost: run the command again to go on", out)
            source.settle()
            self.assertEqual([(each.body, each.state) for each in source.jobs()], [(b"it", "ready")])
            source.clear()

    def test_a_target_that_cannot_bury(self):
        source, target = self.foliot(), self.foliot()
        source.bury(b"t", b"it", 3)
        proxy = SteppingProxy(target, Steps(), answers={b"bury": b"OUT_OF_MEMORY\r\n"})
        self.addCleanup(proxy.close)
        self.assertIn("cannot bury jobs now: it answered OUT_OF_MEMORY", self.copy(source, proxy, code=2))
        self.assertEqual([each.state for each in source.jobs()], ["buried"])
        self.assertEqual(target.jobs(), [])

    def test_a_source_that_contradicts_itself(self):
        job = b"put 0 1000 100 1\r\nx\r\n"
        for sentence, answers in [
                ("says that job 7 is the first delayed one of tube 'a', and says something else when asked for that job",
                 lambda source: {b"peek-delayed": b"FOUND 7 1\r\nx\r\n"}),
                ("says that job 1 is the first delayed one of tube 'a', which it has just deleted",
                 lambda source: {b"peek-delayed": b"FOUND 1 1\r\nx\r\n"}),
                ("answered FOUND 18446744073709551615 to 'peek-delayed', and no server has given so many ids",
                 lambda source: {b"peek-delayed": b"FOUND 18446744073709551615 1\r\nx\r\n"}),
                (r"has 'a b\x1b' in its list of tubes, which cannot be the name of one",
                 lambda source: {b"list-tubes": b"OK 11\r\n---\n- a b\x1b\n\r\n"}),
                ("shows job 2 where job 1 was asked for",
                 lambda source: {b"x-stats-job 1\r": source.ask(b"x-stats-job 2\r\n")[0]}),
                ("shows job 2 to a peek at job 1",
                 lambda source: {b"peek 1\r": source.ask(b"peek 2\r\n")[0]})]:
            with self.subTest(sentence):
                source, target = self.foliot(), self.foliot()
                source.ask(b"use a\r\n", job, job)
                proxy = SteppingProxy(source, Steps(), answers=answers(source))
                self.addCleanup(proxy.close)
                out = self.copy(proxy, target, code=2)
                self.assertIn(f"{self.text(proxy.address)} contradicts itself: it {sentence}", out)
                self.assertIn("no job is lost: run the command again to go on", out)

    def test_a_source_that_gives_a_worker_what_is_in_another_tube(self):
        source, target = self.foliot(), self.foliot()
        source.ask(b"use a\r\n", put(b"x"), b"use b\r\n", put(b"y"))
        proxy = SteppingProxy(source, Steps(), answers={b"reserve-with-timeout": b"RESERVED 2 1\r\ny\r\n"})
        self.addCleanup(proxy.close)
        self.assertIn("contradicts itself: it gives job 2 to a worker of tube 'a', and says that the job is in tube 'b'",
                      self.copy(proxy, target, code=2))
        self.assertEqual(target.jobs(), [])

    def test_a_source_that_announces_an_endless_list(self):
        source, target = self.foliot(), self.foliot()
        for command, most in ((b"list-tubes", 64 << 20), (b"stats-tube", 65536)):
            source.ask(put(b"x"))
            proxy = SteppingProxy(source, Steps(), answers={command: b"OK 1073741824\r\n---\n"})
            self.addCleanup(proxy.close)
            self.assertIn(f"'OK 1073741824' announces more than the {most} bytes that this reply may have",
                          self.copy(proxy, target, code=2))

    def test_servers_that_are_none(self):
        self.expect_error("FROM 'x' is no address: write 127.0.0.1:11300", "copy", "x", "11300")
        self.expect_error("TO 'off' is no address", "copy", "11300", "off")
        self.expect_error("FROM and TO are both 127.0.0.1:11300: name two servers", "copy", "11300", "127.0.0.1:11300")
        source = self.foliot()
        proxy = SteppingProxy(source, Steps())
        self.addCleanup(proxy.close)
        self.assertIn("are the same server", self.copy(source, proxy, code=2))
        stranger = SteppingProxy(source, Steps(), answers={b"": b"HTTP/1.1 400 Bad Request\r\n"})
        self.addCleanup(stranger.close)
        self.assertIn("sent something else than a reply: 'HTTP/1.1 400 Bad Request'",
                      self.copy(source, stranger, code=2))
        path = f"unix:{self.here}/none.sock"
        self.assertIn(f"cannot connect to {path}: No such file or directory",
                      "".join(self.run_foliot("copy", self.text(source.address), path)[1:]))


if __name__ == "__main__":
    main()
