"""Servers with jobs, and `foliot copy` between them."""
import math
import re
import time

from kit import beanstalk_client
from kit.program_case import ProgramCase


def put(body, priority=0, delay=0, ttr=100000):
    return b"put %d %d %d %d\r\n%s\r\n" % (priority, delay, ttr, len(body), body)


class Seen:
    """A job as a server shows it."""

    def __init__(self, text, body):
        value = lambda key: re.search(rf"^{key}: (.*)$", text, re.M)[1].removeprefix('"').removesuffix('"')
        self.id, self.priority, self.ttr = int(value("id")), int(value("pri")), int(value("ttr"))
        self.tube, self.state, self.left = value("tube"), value("state"), int(value("time-left"))
        self.exact = {key: value(key) for key in ("key", "due-ms", "ttr-ms") if f"\n{key}: " in text}
        self.fields = {key: bytes.fromhex(value(key)) for key in ("fields", "history") if f"\n{key}: " in text}
        self.body = body
        self.time = time.monotonic()


class Shelf:
    """A server and a connection to it. Jobs that are put from now on have ids above `base`."""

    def __init__(self, case, server):
        if server is None:
            case.skipTest("beanstalkd is not installed")
        case.addCleanup(server.kill)
        self.server, self.address = server, server.address
        self.connection = server.connect()
        case.addCleanup(self.connection.close)
        self.is_foliot = self.connection.ask(b"x-stats-job 0\r\n") == b"NOT_FOUND\r\n"
        self.base = 0

    def connect(self):
        return self.server.connect()

    def ask(self, *requests):
        return [self.connection.ask(each) for each in requests]

    def newest(self):
        """The highest id so far, of a job that is put for that and deleted."""
        reply = self.ask(b"use the-newest\r\n", put(b"", delay=1000000))[1]
        number = int(reply.split()[1])
        self.ask(b"delete %d\r\n" % number)
        return number

    def jobs(self):
        """All jobs above the base, by id."""
        found = []
        for number in range(self.base + 1, self.newest()):
            text = self.connection.ask(b"%s %d\r\n" % (b"x-stats-job" if self.is_foliot else b"stats-job", number))
            if text.startswith(b"OK"):
                body = self.connection.ask(b"peek %d\r\n" % number).split(b"\r\n", 1)[1][:-2]
                found.append(Seen(text.decode(), body))
        return found

    def clear(self):
        """Deletes all jobs, once no worker holds one."""
        self.settle()
        for each in self.jobs():
            self.ask(b"delete %d\r\n" % each.id)
        self.base = self.newest()

    def settle(self):
        """Until the server has noticed that connections have ended."""
        until = time.monotonic() + beanstalk_client.PATIENCE
        while self.connection.numbers(b"stats\r\n")["current-jobs-reserved"] > 0:
            if time.monotonic() > until:
                raise TimeoutError("jobs are still reserved")
            time.sleep(0.002)

    def bury(self, tube, body, priority, **more):
        """Puts a job and buries it, in a tube without ready jobs."""
        connection = self.connect()
        connection.ask(b"use %s\r\n" % tube)
        number = int(connection.ask(put(body, **more)).split()[1])
        connection.ask(b"watch %s\r\n" % tube)
        connection.ask(b"ignore default\r\n")
        assert connection.ask(b"reserve\r\n").startswith(b"RESERVED %d " % number)
        assert connection.ask(b"bury %d %d\r\n" % (number, priority)) == b"BURIED\r\n"
        connection.close()
        return number


class CopyCase(ProgramCase):
    def beanstalkd(self, *arguments):
        return Shelf(self, beanstalk_client.beanstalkd(*arguments))

    def foliot(self, *arguments):
        return Shelf(self, beanstalk_client.foliot("--memory", *arguments))

    def pairs(self):
        """The three ways between servers of both kinds."""
        yield "beanstalkd to foliot", self.beanstalkd(), self.foliot()
        yield "foliot to beanstalkd", self.foliot(), self.beanstalkd()
        yield "foliot to foliot", self.foliot(), self.foliot()

    @staticmethod
    def text(address):
        return address if isinstance(address, str) else "%s:%d" % address

    def copy(self, source, target, *more, code=0):
        """Runs it, and returns what it prints."""
        result, out, err = self.run_foliot("copy", self.text(source.address), self.text(target.address), *more)
        err = re.sub(r"(?m)^foliot: moved [\d,]+ jobs so far, .*\n", "", err)  # of one that took 10 s
        self.assertEqual(result, code, out + err)
        if code == 0:
            self.assertEqual(err, "")
        return out + err

    def expect_not_early(self, job, due):
        """`due` is an instant of the monotonic clock before which the job must not be ready."""
        self.assertEqual(job.state, "delayed", job.body)
        self.assertGreaterEqual(job.left, math.floor(due - time.monotonic()), job.body)
