"""The server without memory or threads: wherever an allocation fails, it ends with code 2 and a sentence, or goes on
serving its clients and obeying signals; what it has acknowledged is there afterwards.

The environment variable FOLIOT_MEMORY_PLACES is for more: at how many places each test fails an allocation, or `all`."""
import contextlib
import os
import random
import re
import shutil
import signal
import tempfile
import time
import unittest
from pathlib import Path

from failing_memory import FOR_EVER, LIBRARY, THREADS, Memory, Shortage
import history
from kit import postgresql_server
from kit.beanstalk_client import FOLIOT, PATIENCE, need_space
from kit.program_case import main
from path_server import PathServer
from workload import LOST, Workload, drain

PLACES = os.environ.get("FOLIOT_MEMORY_PLACES", "6")
SEED = int(os.environ.get("FOLIOT_MEMORY_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
UNDER_LOAD = 3000  # allocations, among which those that fail under load are drawn


@unittest.skipUnless(LIBRARY, "FOLIOT_FAILING_MEMORY_LIBRARY does not name the library failing_memory")
class MemoryCase(unittest.TestCase):
    keeps_jobs = True  # beyond the end of the process
    has_nodes = False

    def setUp(self):
        self.here = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)
        self.memory = Memory(self.here / "memory")
        self.servers = []
        self.addCleanup(lambda: print(self.end_servers(), end=""))
        print(f"FOLIOT_MEMORY_SEED={SEED}")
        self.random = random.Random(SEED)
        self.work = Workload(self.random, closes_idle=True, of_nodes=self.has_nodes)  # idle ones for want of memory
        self.set_up_store()

    def set_up_store(self):
        pass

    def end_servers(self):
        """Returns where those stood that lived."""
        return "\n".join(filter(None, [server.end() for server in self.servers]))

    @contextlib.contextmanager
    def told(self):
        """If what is done in it fails, no server and no client goes on, and the failure tells where the server stood."""
        try:
            yield
        except BaseException as error:
            error.add_note(self.end_servers())
            error.add_note(f"{self.memory.calls} calls were counted, {self.memory.failures} failed, the first at\n"
                           f"{self.memory.places_of_failures()}")
            self.work.server_has_ended()
            raise

    def launch(self):
        self.servers.append(PathServer(self.here, self.memory.environment(), *self.store()))
        return self.servers[-1]

    def start(self):
        """A server that lacks nothing."""
        self.memory.restore()
        server = self.launch()
        self.assertTrue(server.answers(), f"the server ends: {(self.here / 'log').read_text()}")
        return server

    def places(self, calls):
        """Some of the numbers from 1 to `calls`, the first and the last one among them."""
        if PLACES == "all" or calls <= int(PLACES):
            return range(1, calls + 1)
        return sorted({1, calls, *self.random.sample(range(1, calls + 1), int(PLACES) - 2)})

    def expect_sentence(self, ended):
        code, text = ended
        last = text.splitlines()[-1] if text else ""
        if code == -signal.SIGABRT and re.fullmatch(r"Fatal glibc error: .*out of memory", last):
            return  # the C library has no memory for what a thread destroys at its end, and ends the process itself
        self.assertEqual(code, 2, text)
        self.assertRegex(text, r"(?m)^foliot: \S.+$")  # another thread may write a line behind it

    def serves(self, server):
        """Whether the server puts a job that is due soon, and hands it out; if not, it has ended."""
        until = time.monotonic() + PATIENCE
        while server.process.poll() is None:
            self.assertLess(time.monotonic(), until, "the server lives, and serves nobody")
            try:
                connection = server.connect()
            except OSError:
                time.sleep(0.005)
                continue
            try:
                connection.ask(b"use probe\r\n")
                connection.ask(b"watch probe\r\n")
                connection.ask(b"ignore default\r\n")
                put = connection.ask(b"x-put refuse - 0 20 60000 5\r\nprobe\r\n").split()
                got = connection.ask(b"reserve-with-timeout %d\r\n" % PATIENCE).split()
                if put[0] == b"INSERTED" and got[0] == b"RESERVED":
                    self.assertEqual(connection.ask(b"delete %s\r\n" % got[1]), b"DELETED\r\n")
                    return True
            except LOST:
                pass
            finally:
                connection.close()
        return False

    def expect_to_serve_or_to_have_ended(self, server):
        """Returns whether it serves."""
        if self.serves(server):
            return True
        self.expect_sentence(server.wait())
        return False

    def expect_order(self, server):
        """It ends when it is asked to, if it has not ended by itself."""
        code, text = server.stop()
        if code != 0:
            self.expect_sentence((code, text))

    def end_reservations(self):
        """Those that outlive the server. It has ended."""

    def breaches(self):
        """Those of the whole history, by what is there at the end. The server has ended."""
        self.work.server_has_ended()
        events = self.work.history.events
        if not self.keeps_jobs:
            self.work = Workload(self.random, closes_idle=True)
            return [*history.check_early(events), *history.check_two_holders(events), *history.check_refused(events),
                    *history.check_contradictions(events), *history.check_truth(events)]
        self.end_reservations()
        server = self.start()
        left = drain(server)  # of the tube of the clients
        self.assertEqual(server.stop()[0], 0)
        return history.check(events, left)

    def try_start(self, shortage):
        with self.subTest(shortage=str(shortage)), self.told():
            self.memory.fail(shortage, from_start=True)
            server = self.launch()
            if self.expect_to_serve_or_to_have_ended(server):
                self.expect_order(server)

    def count_calls_of_a_start(self, kind):
        self.memory.fail(Shortage(FOR_EVER, kind=kind), from_start=True)
        server = self.launch()
        self.assertTrue(self.serves(server))
        calls = self.memory.calls
        self.assertEqual(server.stop()[0], 0)
        return calls

    def test_threads_of_a_start(self):
        calls = self.count_calls_of_a_start(THREADS)
        self.assertGreater(calls, 1)
        for first in range(1, calls + 1):
            for count in [1, FOR_EVER]:
                self.try_start(Shortage(first, count, THREADS))

    def test_start(self):
        calls = self.count_calls_of_a_start(Shortage(1).kind)
        self.assertGreater(calls, 50)
        for first in self.places(calls):
            self.try_start(Shortage(first, self.random.choice([1, 1, 100])))

    def work_until(self, server, is_over):
        """Clients are at work, and others come and go, while the server is asked for a backup now and then."""
        until = time.monotonic() + PATIENCE
        while server.process.poll() is None and not is_over():
            self.assertLess(time.monotonic(), until)
            if not self.work.has_clients():
                self.work.start(server)
            server.process.send_signal(self.random.choice([signal.SIGHUP, signal.SIGUSR2]))
            try:
                visitor = server.connect()
            except OSError:
                continue
            try:
                visitor.ask(b"watch visitors\r\n")
                visitor.ask(b"ignore default\r\n")
                visitor.ask(b"reserve-with-timeout 0\r\n" if self.random.randrange(2) else b"list-tubes\r\n")
            except LOST:
                pass
            finally:
                visitor.close()

    def test_load(self):
        server = self.start()
        self.work.start(server)
        self.work.await_answers(server)
        for first in self.places(UNDER_LOAD):
            if server.process.poll() is not None:  # a place before this one has failed the test
                server = self.start()
            shortage = Shortage(first, self.random.choice([1, 1, 20, 1000]))
            with self.subTest(shortage=str(shortage)), self.told():
                self.memory.fail(shortage)
                self.work_until(server, lambda: self.memory.failures >= shortage.count)
                self.memory.restore()
                if not self.expect_to_serve_or_to_have_ended(server):
                    self.work.server_has_ended()
                    if not self.keeps_jobs:
                        self.assertEqual(self.breaches(), [])
                    server = self.start()
        self.expect_order(server)
        self.assertEqual(self.breaches(), [])

    def try_end(self, shortage):
        """Returns how many allocations were counted."""
        server = self.start()
        self.work.start(server)
        self.work.await_answers(server)
        waiting = server.connect()
        waiting.ask(b"watch nothing\r\n")
        waiting.ask(b"ignore default\r\n")
        waiting.send(b"reserve\r\n")
        self.memory.fail(shortage)
        self.expect_order(server)
        waiting.close()
        self.work.server_has_ended()
        return self.memory.calls

    def test_a_server_that_does_not_end(self):
        """The test of it fails, with what is needed to see why, and nothing of it goes on."""
        server = self.start()
        self.memory.fail(Shortage(1))
        self.work_until(server, lambda: self.memory.failures == 1)
        server.kill()
        self.work.server_has_ended()
        with self.assertRaisesRegex(AssertionError, "does not end") as failed, self.told():
            server = self.start()
            self.work.start(server)
            server.wait(patience=0)
        said = "\n".join([str(failed.exception), *failed.exception.__notes__])
        self.assertRegex(said, r"thread \d+ foliot: [RSD]", "what the threads do")
        self.assertRegex(said, r"thread \d+ is in\n(.*\n)+?main", "the calls of a thread")
        self.assertRegex(said, r"the first at\nthread \d+ in\n(.+\n){4}", "where memory was missing")
        self.assertIsNotNone(server.process.poll())
        self.assertFalse(self.work.has_clients())

    def test_end(self):
        calls = self.try_end(Shortage(FOR_EVER))
        shortages = [Shortage(first, self.random.choice([1, 1, 20])) for first in self.places(calls)]
        for shortage in [*shortages, Shortage(1, FOR_EVER)]:
            with self.subTest(shortage=str(shortage)), self.told():
                self.try_end(shortage)
        if self.keeps_jobs:
            self.assertEqual(self.breaches(), [])


class InMemory(MemoryCase):
    keeps_jobs = False

    def store(self):
        return ["--memory"]


    def test_a_shortage_that_lasts(self):
        """Nobody is served for seconds, so the server ends by itself."""
        server = self.start()
        self.memory.fail(Shortage(1, FOR_EVER))
        until = time.monotonic() + PATIENCE
        while server.process.poll() is None:
            self.assertLess(time.monotonic(), until)
            try:
                server.connect().close()
            except OSError:
                pass
            time.sleep(0.002)
        self.expect_sentence(server.wait())


class OnDisk(MemoryCase):
    def set_up_store(self):
        need_space(self, self.here)
        for _ in range(2):  # so that there are files that a start opens
            server = self.start()
            connection = server.connect()
            connection.ask(b"use probe\r\n")
            connection.ask(b"put 0 0 60 5\r\nprobe\r\n")
            connection.close()
            self.assertEqual(server.stop()[0], 0)

    def store(self):
        return ["--data", self.here / "jobs"]


class InDatabase(MemoryCase):
    has_nodes = True

    def set_up_store(self):
        if not postgresql_server.is_installed():
            self.skipTest("PostgreSQL's server is not installed (Debian: postgresql)")
        self.database = postgresql_server.PostgresqlServer()
        self.addCleanup(self.database.remove)
        os.spawnl(os.P_WAIT, FOLIOT, FOLIOT, "serve", "--store", self.database.database, "--migrate")

    def store(self):
        return ["--store", self.database.database, "--node", "one", "--node-timeout", "60s"]

    def end_reservations(self):
        self.database.end_reservations(self.database.database)


del MemoryCase  # it has no store

if __name__ == "__main__":
    main()
