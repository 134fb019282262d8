"""The server on a disk that fails: what it has acknowledged is there afterwards, it acknowledges nothing after a failed
write, it says what failed and ends with code 2. Before the disk is full it refuses what needs space and goes on. When the
machine loses power, what it had acknowledged is there.

The environment variables FOLIOT_DISK_FAULTS and FOLIOT_POWER_ROUNDS are for more: at how many places each kind of fault
is tried (at least 3), and how often the power is lost."""
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from faulty_disk import FOR_EVER, LIBRARY, Disk, Fault
from history import check
from kit import beanstalk_client, http_client
from kit.beanstalk_client import PATIENCE, need_space
from kit.http_case import LocalConnection
from kit.program_case import main
from path_server import PathServer
from workload import LOST, Workload, drain

FAULTS = int(os.environ.get("FOLIOT_DISK_FAULTS", "3"))
ROUNDS = int(os.environ.get("FOLIOT_POWER_ROUNDS", "8"))
SEED = int(os.environ.get("FOLIOT_DISK_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
MEBIBYTE = 1 << 20
MARK_WARNING = r"\S+ warning cannot write the file SYNCED of the job store [^\n]+\n"
WRITTEN = ["INSERTED", "DELETED", "CANCELLED", "BURIED"]  # answers that report a change on disk


@unittest.skipUnless(LIBRARY, "FOLIOT_FAULTY_DISK_LIBRARY does not name the library faulty_disk")
class DiskCase(unittest.TestCase):
    def setUp(self):
        self.here = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)
        need_space(self, self.here)
        self.servers = []
        self.addCleanup(self.end_servers)
        print(f"FOLIOT_DISK_SEED={SEED}")
        self.random = random.Random(SEED)
        self.begin()

    def begin(self):
        """A new folder, and a new history."""
        case = Path(tempfile.mkdtemp(dir=self.here))
        self.disk = Disk(case / "disk", case / "jobs")
        self.work = Workload(self.random)

    def end_servers(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()

    def launch(self, *arguments):
        environment = self.disk.environment()
        self.servers.append(PathServer(self.here, environment, "--data", self.disk.files, *arguments))
        return self.servers[-1]

    def start(self, *arguments):
        server = self.launch(*arguments)
        self.assertTrue(server.answers(), f"the server ends: {(self.here / 'log').read_text()}")
        return server

    def expect_failure(self, ended):
        """It has ended because of the disk, and said so. Before that it may have told that it cannot write its mark."""
        code, text = ended
        self.assertEqual(code, 2, text)
        self.assertRegex(text, rf"\A({MARK_WARNING})?foliot: [^\n]+\n\Z")
        self.assertIn(str(self.disk.files), text)

    def breaches(self):
        """The breaches of the whole history, by what a server on a good disk has at the end."""
        self.disk.restart()
        server = self.start()
        left = drain(server)
        self.assertEqual(server.stop(), (0, ""))
        return check(self.work.history.events, left)

    def put_some(self, server, count, size=10):
        try:
            connection = server.connect()
        except LOST:
            return
        for number in range(count):
            body = b"%0*d" % (size, number)
            event = self.work.history.begin(1000, "put", body=body, ttr=60)
            try:
                answer = connection.ask(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body)).split()
            except LOST:
                break
            self.work.history.answered(event, answer[0].decode(), job=int(answer[1]))
        connection.close()


class FailingWrites(DiskCase):
    """The write-ahead log cannot be written or synced any more, while clients are at work."""

    def expect_end(self, fault):
        with self.subTest(fault=str(fault)):
            self.begin()
            server = self.start()
            self.work.start(server)
            self.work.await_answers(server)
            self.disk.fail(fault)
            until = time.monotonic() + PATIENCE
            while server.process.poll() is None:
                self.assertLess(time.monotonic(), until)
                if not self.work.has_clients():  # all of them have gone away
                    self.work.start(server)
                time.sleep(0.005)
            ended = server.wait()
            self.work.server_has_ended()
            self.expect_failure(ended)
            self.assertIn("nothing was acknowledged since", ended[1])
            self.assertIn(os.strerror(fault.error), ended[1])
            if fault.error == errno.ENOSPC:
                self.assertIn("free some space", ended[1])
            late = [event for event in self.work.history.events
                    if event.begin > self.disk.failed_at and event.answer in WRITTEN]
            self.assertEqual(late, [])
            self.assertEqual(self.breaches(), [])

    def test_writes_of_the_log(self):
        for error in [errno.EIO, errno.ENOSPC]:
            for place in range(FAULTS):
                self.expect_end(Fault(1 + 7 * place, error, kinds=["write log"]))

    def test_syncs_of_the_log(self):
        for place in range(FAULTS):
            self.expect_end(Fault(1 + 7 * place, errno.EIO, kinds=["sync log"]))

    def test_everything_from_now_on(self):
        for error in [errno.EIO, errno.ENOSPC, errno.EROFS]:
            self.expect_end(Fault(1 + self.random.randrange(30), error, FOR_EVER))

    def test_short_writes_are_completed(self):
        server = self.start()
        self.disk.fail(Fault(1, 0, FOR_EVER, ["write log", "write file"]))
        self.put_some(server, 20)
        self.assertGreater(self.disk.failures, 20)
        self.assertEqual(server.stop(), (0, ""))
        self.assertEqual(self.breaches(), [])


class FailingFiles(DiskCase):
    """Calls fail while the server opens its store, moves the log into tables, and ends."""

    def places(self, calls):
        """Some numbers of calls, the first and the last one among them."""
        return sorted({1 + (calls - 1) * each // max(FAULTS - 1, 1) for each in range(FAULTS)})

    def count_calls(self):
        self.disk.fail(Fault(FOR_EVER))

    def test_openings(self):
        server = self.start()
        self.put_some(server, 3)
        server.kill()
        self.count_calls()
        self.start().kill()
        calls = self.disk.calls
        self.assertGreater(calls, 20)
        for error, count in [(errno.EIO, 1), (errno.EIO, FOR_EVER), (errno.ENOSPC, FOR_EVER)]:
            for place in self.places(calls):
                fault = Fault(place, error, count)
                with self.subTest(fault=str(fault)):
                    self.disk.fail(fault)
                    server = self.launch()
                    if server.answers():
                        self.put_some(server, 3)
                        if server.process.poll() is None:
                            server.kill()
                            continue
                    ended = server.wait()
                    self.expect_failure(ended)
                    if error == errno.ENOSPC:
                        self.assertIn("free some space", ended[1])
        self.assertEqual(self.breaches(), [])

    def put_large_jobs(self, server):
        """Until the log has been moved into tables, and a call has failed meanwhile."""
        until = time.monotonic() + PATIENCE
        while server.process.poll() is None and self.disk.failures == 0:
            self.put_some(server, 1, MEBIBYTE)
            self.assertLess(time.monotonic(), until)

    def test_tables_that_cannot_be_written(self):
        kinds = ["write file", "sync manifest", "open", "sync file", "sync folder"]
        faults = [Fault(1, kinds=[kind]) for kind in kinds[:FAULTS - 1]]
        # A full disk under the manifest, the list of the tables: RocksDB removes it then.
        faults.append(Fault(1, errno.ENOSPC, FOR_EVER, ["write manifest"]))
        for fault in faults:
            with self.subTest(fault=str(fault)):
                self.begin()
                server = self.start("--max-job-size", MEBIBYTE)
                self.disk.fail(fault)
                self.put_large_jobs(server)
                until = time.monotonic() + PATIENCE
                while server.process.poll() is None:  # it learns of the failure at its next batch
                    self.put_some(server, 1)
                    self.assertLess(time.monotonic(), until)
                ended = server.wait()
                self.expect_failure(ended)
                self.assertIn(os.strerror(fault.error), ended[1])
                self.assertEqual(self.breaches(), [])

    def test_files_that_cannot_be_removed_or_cut(self):
        """They only take space."""
        for kind in ["name", "size"][:FAULTS - 2]:
            with self.subTest(kind=kind):
                self.begin()
                server = self.start("--max-job-size", MEBIBYTE)
                self.disk.fail(Fault(1, kinds=[kind]))
                self.put_large_jobs(server)
                self.put_some(server, 3)
                self.assertEqual(server.stop(), (0, ""))
                self.assertEqual(self.breaches(), [])

    def test_ends(self):
        server = self.start()
        self.put_some(server, 3)
        self.count_calls()
        server.stop()
        calls = self.disk.calls
        self.assertGreater(calls, 10)
        for place in self.places(calls):
            fault = Fault(place, count=FOR_EVER)
            with self.subTest(fault=str(fault)):
                self.disk.restart()
                server = self.start()
                self.put_some(server, 3)
                self.disk.fail(fault)
                code, log = server.stop()
                self.assertEqual(code, 0)
                # The mark of the last put is written after its answer, so perhaps after the disk has failed.
                self.assertRegex(log, rf"\A({MARK_WARNING})?\Z")
        self.assertEqual(self.breaches(), [])

    def test_a_mark_that_cannot_be_written(self):
        """Only damage is found later without it. It is told once in ten seconds."""
        server = self.start()
        self.disk.fail(Fault(1, count=FOR_EVER, kinds=["write mark"]))
        until = time.monotonic() + PATIENCE
        while self.disk.failures == 0:  # a mark is written once in 10 ms
            self.put_some(server, 20)
            self.assertLess(time.monotonic(), until)
        code, log = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(log, rf"\A{MARK_WARNING}")
        self.assertEqual(self.breaches(), [])

    def test_an_end_that_cannot_sync_what_was_acknowledged(self):
        for kind in ["write log", "sync log"]:
            with self.subTest(kind=kind):
                self.begin()
                server = self.start("--sync", "every", "1h")
                self.put_some(server, 3)
                self.disk.fail(Fault(1, count=FOR_EVER, kinds=[kind]))
                code, text = server.stop()
                self.assertEqual(code, 2, text)
                self.assertRegex(text, r"foliot: [^\n]+may lose what was acknowledged in the last 1 ?h\n\Z")


class NearlyFull(DiskCase):
    """The file system says that it has little room: the server refuses what needs space, and goes on."""

    def test_what_is_refused(self):
        server = self.start()
        client = server.connect()

        def expect(free, command, answer):
            self.disk.set_free(free)
            time.sleep(0.02)  # the server asks for the free space every 5 ms
            self.assertEqual(client.ask(command), answer, command)

        put = b"put 0 0 60 1\r\na\r\n"
        for number in range(1, 6):
            expect(256 * MEBIBYTE, put, b"INSERTED %d\r\n" % number)
        little, least = 256 * MEBIBYTE - 4096, 128 * MEBIBYTE - 4096
        expect(little, put, b"OUT_OF_MEMORY\r\n")
        expect(little, b"reserve\r\n", b"RESERVED 1 1\r\na\r\n")
        expect(little, b"release 1 0 100\r\n", b"RELEASED\r\n")
        expect(little, b"x-cancel 1\r\n", b"CANCELLED 1\r\n")
        expect(least, put, b"OUT_OF_MEMORY\r\n")
        expect(least, b"reserve\r\n", b"RESERVED 2 1\r\na\r\n")
        expect(least, b"release 2 0 0\r\n", b"OUT_OF_MEMORY\r\n")
        expect(least, b"bury 2 0\r\n", b"OUT_OF_MEMORY\r\n")
        expect(least, b"touch 2\r\n", b"TOUCHED\r\n")
        expect(least, b"delete 2\r\n", b"DELETED\r\n")
        expect(least, b"delete 3\r\n", b"DELETED\r\n")
        expect(least, b"x-reschedule 4 1\r\n", b"OUT_OF_MEMORY\r\n")
        expect(0, b"x-cancel 4\r\n", b"CANCELLED 4\r\n")
        expect(0, b"peek 5\r\n", b"FOUND 5 1\r\na\r\n")
        expect(256 * MEBIBYTE, put, b"INSERTED 6\r\n")
        client.close()

    def test_what_is_refused_over_http(self):
        server = self.start()
        client = http_client.SingleConnection(server.http)
        self.addCleanup(client.close)

        def expect(status, outcome, method, target, value=None):
            seen, answer = client.ask(method, target, value)
            self.assertEqual((seen, answer.get("outcome")), (status, outcome), target)
            return answer

        def wait_for_put(status):
            until = time.monotonic() + PATIENCE
            while client.ask("POST", "/v1/jobs?tube=other", {"text": "b"})[0] != status:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.005)

        jobs = [int(expect(201, "inserted", "POST", "/v1/jobs?tube=mail", {"text": "a"})["id"]) for _ in range(3)]
        self.disk.set_free(128 * MEBIBYTE - 4096)
        wait_for_put(507)
        status, answer = client.ask("POST", "/v1/batch", {"jobs": 2 * [{"tube": "mail", "text": "a"}]})
        self.assertEqual((status, [each["outcome"] for each in answer["results"]]), (207, ["no_space", "no_space"]))
        held = client.ask("POST", "/v1/reserve?tube=mail")[1]["jobs"][0]
        self.assertEqual(int(held["id"]), jobs[0])
        path = f"/v1/reservations/{held['reservation']}"
        expect(507, "no_space", "POST", f"{path}/release")
        expect(507, "no_space", "POST", f"{path}/bury")
        expect(200, "touched", "POST", f"{path}/touch")
        expect(200, "finished", "POST", f"{path}/finish")
        expect(200, "cancelled", "DELETE", f"/v1/jobs/{jobs[1]}")
        expect(507, "no_space", "POST", f"/v1/jobs/{jobs[2]}/reschedule?delay=1s")
        self.assertEqual(client.ask("GET", f"/v1/jobs/{jobs[2]}")[1]["text"], "a")
        self.disk.set_free(256 * MEBIBYTE)
        wait_for_put(201)
        self.assertEqual(server.stop()[0], 0)

    def test_ready_tells_it(self):
        server = self.start()

        def ask(target):
            connection = LocalConnection(server.http)
            self.addCleanup(connection.close)
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        def expect(free, status):
            self.disk.set_free(free)
            until = time.monotonic() + beanstalk_client.PATIENCE
            while (seen := ask("/ready"))[0] != status:
                self.assertLess(time.monotonic(), until, seen)
                time.sleep(0.01)
            self.assertEqual(ask("/health")[0], 200, "it lives")
            return seen[1]

        self.assertEqual(expect(256 * MEBIBYTE, 200), {"status": "ready"})
        self.assertEqual(expect(256 * MEBIBYTE - 4096, 503)["detail"], "there is no room for new jobs")
        self.assertFalse(ask("/v1/statistics")[1]["server"]["has_room"])
        client = server.connect()
        self.assertEqual(client.ask(b"put 0 0 60 1\r\na\r\n"), b"OUT_OF_MEMORY\r\n")
        client.close()
        self.assertEqual(ask("/v1/statistics")[1]["server"]["no_space"], 1)
        expect(256 * MEBIBYTE, 200)
        self.assertTrue(ask("/v1/statistics")[1]["server"]["has_room"])
        self.assertEqual(server.stop()[0], 0)


class SlowSyncs(DiskCase):
    def test_nothing_is_acknowledged_before_its_sync_has_ended(self):
        server = self.start()
        self.put_some(server, 1)  # the store has its ids
        self.disk.set_delay_of_syncs(300)
        clients = [server.connect() for _ in range(20)]
        began = time.monotonic()
        for each in clients:
            each.send(b"put 0 0 60 1\r\na\r\n")
        for each in clients:
            self.assertRegex(each.answer(), rb"\AINSERTED \d+\r\n\Z")
            self.assertGreaterEqual(time.monotonic() - began, 0.3)
            each.close()
        self.disk.set_delay_of_syncs(0)
        self.assertEqual(server.stop()[0], 0)


class PowerLoss(DiskCase):
    """The machine loses power while clients are at work: what was not synced is gone, some of it torn."""

    def test_what_is_acknowledged_is_durable(self):
        for place in range(ROUNDS):
            server = self.start()
            self.work.start(server)
            time.sleep(self.random.random() * 0.2)  # any moment: nothing relies on how much was done by then
            if place == 0:
                self.work.await_answers(server)
            server.kill()
            self.work.server_has_ended()
            self.disk.lose_power(self.random)
        self.assertEqual(self.breaches(), [])

    def test_large_jobs(self):
        """So that the log is moved into tables meanwhile."""
        for _ in range(max(ROUNDS // 5, 1)):
            server = self.start("--max-job-size", MEBIBYTE)
            self.put_some(server, 10 + self.random.randrange(40), MEBIBYTE)
            server.kill()
            self.disk.lose_power(self.random)
        server = self.start("--max-job-size", MEBIBYTE)
        self.assertEqual(check(self.work.history.events, drain(server)), [])

    def test_first_openings(self):
        """The power is lost while the folder is made."""
        for _ in range(ROUNDS):
            self.begin()
            server = self.launch()
            time.sleep(self.random.random() * 0.1)
            server.kill()
            self.disk.lose_power(self.random)
            self.assertEqual(self.breaches(), [])

    def test_openings(self):
        """The power is lost again while the server starts."""
        server = self.start()
        self.put_some(server, 5)
        server.kill()
        self.disk.lose_power(self.random)
        for _ in range(ROUNDS):
            server = self.launch()
            time.sleep(self.random.random() * 0.1)
            server.kill()
            self.disk.lose_power(self.random)
        self.assertEqual(self.breaches(), [])

    def test_an_acknowledgement_before_the_sync_is_found(self):
        server = self.start("--sync", "every", "1h")
        self.put_some(server, 5)
        server.kill()
        self.disk.lose_power(self.random, keep_unsynced=False)
        found = self.breaches()
        self.assertTrue(any("was acknowledged and nobody has ended it" in each for each in found), found)


if __name__ == "__main__":
    main()
