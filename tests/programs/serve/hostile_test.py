"""Slow, greedy and broken clients: the server goes on serving the other clients, its memory stays bounded, and it loses
no job. Wrong command lines: the server prints one line that names the mistake, and exits with code 2.

The environment variable FOLIOT_HOSTILE_CONNECTIONS is the number of connections of ManyClients."""
import contextlib
import errno
import http.client
import itertools
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

from kit import beanstalk_client
from kit.beanstalk_client import Connection
from kit.http_client import LocalConnection
from kit.program_case import main
from kit.serve_case import SANITIZED, ServeCase, put

CONNECTIONS = int(os.environ.get("FOLIOT_HOSTILE_CONNECTIONS", "1000"))
MEGABYTE = 1 << 20
GIGABYTE = 1 << 30


class SlowClients(ServeCase):
    def test_one_byte_at_a_time_while_others_are_served(self):
        server = self.serve()
        slow, other = self.connect(server), self.connect(server)
        for byte in put(b"slow"):
            slow.send(bytes([byte]))
            self.expect_work(other)
        self.assertRegex(slow.answer(), rb"\AINSERTED \d+\r\n\Z")
        self.assertTrue(other.ask(b"peek-ready\r\n").endswith(b"\r\nslow\r\n"))

    def test_half_a_body_and_a_hang_up(self):
        server = self.serve()
        other = self.connect_alone(server)
        for part in [b"pu", b"put 0 0 60 100", b"put 0 0 60 100\r\n", b"put 0 0 60 100\r\nabc", put(b"abc")[:-1]]:
            with self.subTest(part=part):
                broken = self.connect(server)
                broken.send(part)
                self.wait_until(other, current_connections=2)
                broken.close()
                self.wait_until(other, current_connections=1, total_jobs=0, current_jobs_ready=0)
        self.expect_work(other)

    def test_a_body_without_an_end(self):
        server = self.serve()
        other, broken = self.connect(server), self.connect(server)
        before = self.resident(server)
        broken.send(b"put 0 0 60 10\r\n")
        for _ in range(64):
            broken.send(b"x" * MEGABYTE)
            self.expect_work(other)
        self.expect_little_memory(server, before, 32 * MEGABYTE)
        broken.send(b"\r\nlist-tube-used\r\n")
        self.assertEqual(broken.answer(), b"EXPECTED_CRLF\r\n")
        answer = broken.answer()
        while answer != b"USING default\r\n":
            self.assertIn(answer, [b"BAD_FORMAT\r\n", b"UNKNOWN_COMMAND\r\n"])
            answer = broken.answer()
        self.expect_work(broken)

    def test_a_half_closed_client_that_waits_gets_timed_out(self):
        server = self.serve()
        other, half = self.connect_alone(server), self.connect(server)
        half.send(b"reserve\r\n")
        self.wait_until(other, current_waiting=1)
        half.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(half.rest(), b"TIMED_OUT\r\n")
        self.expect_work(other)

    def test_a_client_that_is_reset_while_it_waits_takes_no_job(self):
        server = self.serve()
        producer, waiting = self.connect_alone(server), self.connect(server)
        for number in range(1, 11):
            broken = self.connect(server)
            broken.send(b"reserve\r\n")
            self.wait_until(producer, current_waiting=1)
            broken.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            broken.close()
            waiting.send(b"reserve\r\n")
            self.assertEqual(producer.ask(put(b"job")), b"INSERTED %d\r\n" % number)
            self.assertEqual(waiting.answer(), b"RESERVED %d 3\r\njob\r\n" % number)
            self.assertEqual(waiting.ask(b"delete %d\r\n" % number), b"DELETED\r\n")
        self.wait_until(producer, current_waiting=0, current_connections=2, current_jobs_ready=0)


class Browsers(ServeCase):
    """Any page can have a browser send requests to a port of its own machine."""

    def test_no_line_of_a_request_is_a_command(self):
        server = self.serve("--memory")
        client = self.connect(server)
        commands = b"\r\n" + put(b"from a page") + b"use page\r\npause-tube default 100\r\n"
        for method in ["GET", "POST", "PUT", "PROPFIND"]:
            page = http.client.HTTPConnection(*server.address, timeout=beanstalk_client.PATIENCE)
            self.addCleanup(page.close)
            page.request(method, "/", body=commands)
            answer = page.getresponse()
            self.assertEqual((answer.status, answer.will_close), (400, True))
            self.assertEqual(answer.read(), b"foliot serve listens here, for clients of the beanstalk protocol. "
                                            b"This is no web page.\n")
            page.close()
        self.wait_until(client, total_jobs=0, current_tubes=1, cmd_put=0, cmd_use=0, cmd_pause_tube=0, current_connections=1)

    def test_no_line_of_a_long_request_or_of_tls_is_a_command(self):
        server = self.serve("--memory")
        client = self.connect(server)
        for first in [b"PROPFIND /" + 1000 * b"a" + b" HTTP/1.1", b"x /" + 207 * b"a" + b" HTTP/1.1", b"\x16\x03\x01"]:
            page = self.connect(server)
            page.send(first + b"\r\n\r\n" + put(b"from a page") + b"use page\r\n")
            page.socket.shutdown(socket.SHUT_WR)
            answer = page.rest()
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 ") or answer == b"UNKNOWN_COMMAND\r\n", answer)
        self.wait_until(client, total_jobs=0, current_tubes=1, cmd_put=0, cmd_use=0, current_connections=1)

    def test_the_connection_ends_before_the_request_does(self):
        server = self.serve("--memory")
        for begin in [b"GET /", b"POST /" + 300 * b"a", b"x / HTTP/1.1\r\n"]:
            page = self.connect(server)
            page.send(begin)
            answer = b""
            while piece := page.socket.recv(4096):
                answer += piece
            self.assertRegex(answer, rb"\AHTTP/1\.1 400 [^\r]+\r\n")


class GreedyClients(ServeCase):
    def fill(self, greedy, other):
        """`greedy` sends commands and reads no answers, until the server reads no more from it."""
        greedy.socket.setblocking(False)
        commands = b"stats\r\n" * 1000
        refused = 0
        for _ in range(1000):  # about 1 GB of answers at most
            try:
                greedy.socket.send(commands)
                refused = 0
            except BlockingIOError:
                refused += 1
            self.expect_work(other)
            if refused == 100:  # the buffers of both sockets are full
                break

    def test_a_client_that_does_not_read_its_answers(self):
        server = self.serve()
        greedy, other = self.connect(server), self.connect(server)
        self.expect_work(other)
        before = self.resident(server)
        self.fill(greedy, other)
        self.expect_little_memory(server, before, 32 * MEGABYTE)
        greedy.close()
        self.wait_until(other, current_connections=1)

    def test_the_end_while_a_client_does_not_read_its_answers(self):
        server = self.serve()
        greedy, other = self.connect(server), self.connect(server)
        self.fill(greedy, other)
        self.assertEqual(server.stop(), (0, ""))
        self.assertEqual(other.rest(), b"")

    def test_ten_thousand_puts_in_one_write(self):
        server = self.serve()
        client = self.connect(server)
        sender = threading.Thread(target=client.send, args=[b"".join(put(b"%d" % n) for n in range(10_000))])
        sender.start()
        answers = [client.answer() for _ in range(10_000)]
        sender.join()
        self.assertEqual(answers, [b"INSERTED %d\r\n" % n for n in range(1, 10_001)])
        self.assertEqual(client.ask(b"peek 10000\r\n"), b"FOUND 10000 4\r\n9999\r\n")

    def test_job_sizes_at_the_limit_and_one_over(self):
        for limit in [0, 1, 65535, 3_000_000]:
            with self.subTest(limit=limit):
                server = self.serve("--data", self.here / str(limit), "--max-job-size", limit)
                client = self.connect(server)
                self.assertEqual(client.ask(put(b"x" * limit)), b"INSERTED 1\r\n")
                self.assertEqual(client.ask(put(b"y" * (limit + 1))), b"JOB_TOO_BIG\r\n")
                self.assertEqual(client.ask(b"peek 1\r\n"), b"FOUND 1 %d\r\n%s\r\n" % (limit, b"x" * limit))
                self.assertEqual(client.numbers(b"stats\r\n")["max-job-size"], limit)

    def test_an_announced_gigabyte_takes_no_memory(self):
        server = self.serve("--data", self.here / "jobs", "--max-job-size", GIGABYTE)
        other = self.connect_alone(server)
        before = self.resident(server)
        greedy = [self.connect(server) for _ in range(20)]
        for each in greedy:
            each.send(b"put 0 0 60 %d\r\nonly a few bytes" % GIGABYTE)
        self.wait_until(other, current_connections=21)
        self.expect_work(other)
        self.expect_little_memory(server, before, 32 * MEGABYTE)
        for each in greedy:
            each.close()
        self.wait_until(other, current_connections=1, current_jobs_ready=0)

    def test_a_job_larger_than_a_gigabyte_is_refused_by_the_command_line(self):
        _, out, err = self.run_foliot("serve", "--max-job-size", GIGABYTE + 1)
        self.assertEqual(out, "")
        self.assertIn("--max-job-size", err)
        self.assertEqual(self.names(), [])

    def make_tubes(self, server, count):
        """Tubes whose names have 200 bytes. Connections that stay watch them."""
        for first in range(0, count, 900):
            numbers = range(first, min(first + 900, count))
            keeper = self.connect(server)
            keeper.send(b"".join(b"watch %s%06d\r\n" % (b"t" * 194, number) for number in numbers))
            for number in numbers:
                self.assertEqual(keeper.answer(), b"WATCHING %d\r\n" % (number - first + 2))

    def greedy(self, server):
        """A connection that takes little of what it does not read."""
        connection = self.connect(server)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return connection

    def test_lists_that_are_not_read_are_in_memory_once(self):
        server = self.serve()
        self.make_tubes(server, 20_000)
        other = self.connect(server)
        size = len(other.ask(b"list-tubes\r\n"))
        self.assertGreater(size, 4_000_000)
        before = self.resident(server)
        greedy = [self.greedy(server) for _ in range(60)]
        for each in greedy:
            each.send(b"list-tubes\r\n")
        for each in greedy:
            self.assertEqual(each.socket.recv(1), b"O")
            self.expect_work(other)
        self.expect_little_memory(server, before, 64 * MEGABYTE)
        self.assertEqual(len(other.ask(b"list-tubes\r\n")), size)

    @unittest.skipIf(SANITIZED, "sanitizers keep freed memory")
    def test_memory_is_given_back_after_clients_that_did_not_read(self):
        server = self.serve("--data", self.here / "jobs", "--max-job-size", MEGABYTE, "--max-buffered", "512MB")
        other = self.connect(server)
        self.assertEqual(other.ask(put(b"x" * 1_000_000)), b"INSERTED 1\r\n")
        self.expect_work(other)
        before = self.resident(server)
        greedy = [self.greedy(server) for _ in range(100)]
        for each in greedy:
            each.send(b"peek 1\r\n" * 6)
        self.wait_for_memory(server, lambda now: now - before > 60 * MEGABYTE)
        last = self.connect(server)  # what it has is at the end of the heap
        self.assertEqual(last.ask(b"watch %s\r\n" % (b"t" * 200)), b"WATCHING 2\r\n")
        for each in greedy:
            each.close()
        self.wait_for_memory(server, lambda now: now - before < 24 * MEGABYTE)

    def wait_for_memory(self, server, is_wanted):
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not is_wanted(self.resident(server)):
            self.assertLess(time.monotonic(), until, f"the server has {self.resident(server)} bytes")
            time.sleep(0.01)

    def test_half_bodies_have_a_bound_for_all_connections(self):
        server = self.serve("--data", self.here / "jobs", "--max-job-size", 16 * MEGABYTE, "--max-buffered", "16384KiB")
        other = self.connect(server)
        before = self.resident(server)
        half = b"put 0 0 60 %d\r\n" % (16 * MEGABYTE) + b"x" * (6 * MEGABYTE)
        greedy = [self.connect(server) for _ in range(10)]

        def send(connection):
            with contextlib.suppress(OSError):  # it is closed by the server, or below
                connection.send(half)

        senders = [threading.Thread(target=send, args=[each]) for each in greedy]
        for each in senders:
            each.start()
        until = time.monotonic() + beanstalk_client.PATIENCE
        while other.numbers(b"stats\r\n")["foliot-buffered-closed"] == 0:
            self.assertLess(time.monotonic(), until)
            self.assertTrue(other.ask(put(b"small")).startswith(b"INSERTED "))
            time.sleep(0.01)
        self.expect_little_memory(server, before, 64 * MEGABYTE)
        self.expect_work(other)
        for each in greedy:
            with contextlib.suppress(OSError):  # the server may have closed it
                each.socket.shutdown(socket.SHUT_RDWR)
        for each in senders:
            each.join()
        for each in greedy:
            each.close()
        self.wait_until(other, current_connections=1)
        large = b"y" * (16 * MEGABYTE)
        self.assertRegex(other.ask(put(large)), rb"\AINSERTED \d+\r\n\Z")
        code, log = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(log, r"close \d+ connections? that holds? most: .* the limit of --max-buffered")

    def test_a_whole_body_behind_many_halves(self):
        """With room for a few connections a second, it would take minutes; it takes some seconds."""
        connections = 900
        self.allow(connections)
        server = self.serve("--memory", "--max-buffered", "6m")
        half = put(b"x" * 65535)[:60_000]
        other = self.connect(server)
        for _ in range(connections):
            self.connect(server).send(half)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while (seen := other.numbers(b"stats\r\n"))["foliot-buffered-waiting"] == 0 == seen["foliot-buffered-closed"]:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        self.assertEqual(other.ask(put(b"y" * 20_000)), b"INSERTED 1\r\n")

    def test_tubes_that_clients_watch_have_a_bound(self):
        server = self.serve("--memory", "--max-buffered", "2 mb")
        first = self.connect(server)
        before = self.resident(server)
        allowed = []
        for _ in range(40):
            client = self.connect(server)
            client.send(b"".join(b"watch tube-%d\r\n" % number for number in range(900)))
            answers = [client.answer() for _ in range(900)]
            allowed.append(len([each for each in answers if each.startswith(b"WATCHING ")]))
        self.assertEqual(allowed[:4], [900] * 4)
        self.assertEqual(set(allowed[10:]), {35})  # besides `default`
        self.assertLess(sum(allowed), 900 * 10)
        self.expect_little_memory(server, before, 16 * MEGABYTE)
        self.assertEqual(first.numbers(b"stats\r\n")["foliot-buffered-closed"], 0)
        self.expect_work(first)

    def test_tubes_beyond_the_limit_leave_nothing(self):
        server = self.serve("--data", self.here / "jobs", "--max-tubes", 2)
        client = self.connect(server)
        self.assertEqual(client.ask(b"watch a\r\n"), b"WATCHING 2\r\n")
        for command in [b"watch", b"use"]:
            for number in range(100):
                self.assertEqual(client.ask(b"%s %s-%d\r\n" % (command, command, number)), b"OUT_OF_MEMORY\r\n")
        self.assertEqual(client.ask(b"list-tubes\r\n").split(b"\r\n")[1], b"---\n- default\n- a\n")
        self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")
        self.expect_work(client)


class ManyClients(ServeCase):
    def test_many_connections(self):
        self.allow(CONNECTIONS)
        server = self.serve("--data", self.here / "jobs", "--max-connections", CONNECTIONS + 10)
        first = self.connect_alone(server)
        others = [self.connect(server) for _ in range(CONNECTIONS)]
        for each in others:
            each.send(b"reserve\r\n")
        self.wait_until(first, current_connections=1 + CONNECTIONS, current_waiting=CONNECTIONS)
        first.send(b"".join(put(b"for one") for _ in others))
        ids = {each.answer().split()[1] for each in others}
        self.assertEqual(len(ids), CONNECTIONS)
        for each in others:
            each.close()
        self.assertEqual({first.answer() for _ in others}, {b"INSERTED %s\r\n" % job for job in ids})
        self.wait_until(first, current_connections=1, current_jobs_ready=CONNECTIONS, current_jobs_reserved=0)

    def test_the_connection_beyond_the_limit_gets_an_answer_and_is_closed(self):
        server = self.serve("--data", self.here / "jobs", "--max-connections", 3)
        accepted = [self.connect_accepted(server) for _ in range(3)]
        for _ in range(3):
            self.assertEqual(self.connect(server).rest(), b"OUT_OF_MEMORY\r\n")
        for each in accepted:
            self.expect_work(each)
        accepted[0].close()
        self.expect_work(self.connect_accepted(server))
        code, log = server.stop()
        self.assertEqual(code, 0)
        self.assertIn("refuse connections: there are 3, the limit of --max-connections", log)


class Signals(ServeCase):
    def test_the_end_while_clients_wait(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                server = self.serve()
                first = self.connect_alone(server)
                waiting = [self.connect(server) for _ in range(3)]
                for each in waiting:
                    each.send(b"reserve\r\n")
                self.wait_until(first, current_waiting=3)
                self.assertEqual(server.stop(number), (0, ""))
                for each in waiting:
                    self.assertEqual(each.rest(), b"TIMED_OUT\r\n")
                self.assertEqual(first.rest(), b"")

    def test_more_signals_while_it_ends(self):
        server = self.serve()
        self.expect_work(self.connect(server))
        while server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.stop(), (0, ""))

    def test_draining(self):
        server = self.serve()
        client = self.connect(server)
        self.assertEqual(client.ask(put(b"before")), b"INSERTED 1\r\n")
        server.process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not re.search(rb"^draining: true$", client.ask(b"stats\r\n"), re.M):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        self.assertEqual(client.ask(put(b"after")), b"DRAINING\r\n")
        self.assertEqual(client.ask(b"reserve\r\n"), b"RESERVED 1 6\r\nbefore\r\n")
        self.assertEqual(client.ask(b"release 1 0 0\r\n"), b"RELEASED\r\n")
        self.assertEqual(server.stop(), (0, ""))
        client = self.connect(self.serve())
        self.assertEqual(client.ask(put(b"after")), b"INSERTED 2\r\n", "a restart ends the draining")
        self.assertEqual(client.ask(b"peek-ready\r\n"), b"FOUND 1 6\r\nbefore\r\n")


    def test_a_backup_while_jobs_come(self):
        server = self.serve()
        client = self.connect(server)
        for number in range(1, 101):
            self.assertEqual(client.ask(put(b"before")), b"INSERTED %d\r\n" % number)
        server.process.send_signal(signal.SIGUSR2)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not [each for each in self.here.glob("jobs/backups/*") if not each.name.endswith(".tmp")]:
            self.assertLess(time.monotonic(), until)
            client.ask(put(b"during"))
        self.assertEqual(server.stop(), (0, ""))
        backup, = self.here.glob("jobs/backups/*")
        self.assertEqual(self.expect_done("serve", "--check", str(backup)), f"{backup}: no damage found\n")
        copy = self.connect(self.serve("--data", backup))
        for number in range(1, 101):
            self.assertEqual(copy.ask(b"peek %d\r\n" % number), b"FOUND %d 6\r\nbefore\r\n" % number)


class Wrong(ServeCase):
    """Each of these command lines ends with exit code 2 and one line."""

    def refuse(self, sentence, *arguments):
        self.expect_error(sentence, "serve", "--quiet", *arguments)

    def test_a_folder_of_another_server(self):
        server = self.serve()
        for is_locked in [True, False]:
            self.refuse("it is in use by another process", "--data", self.here / "jobs", "--beanstalk", "unix:other.sock")
            self.expect_work(self.connect(server))
            if is_locked:
                (self.here / "jobs" / "LOCK").unlink()

    def test_an_address_of_another_server(self):
        server = self.serve()
        address = "127.0.0.1:%d" % server.address[1]
        self.refuse(f"cannot listen at {address}: Address already in use", "--data", "other", "--beanstalk", address)
        self.expect_work(self.connect(server))

    def test_folders_that_cannot_be_written(self):
        self.put("file", b"")
        for folder in ["/proc/foliot", "file", "file/jobs"]:
            with self.subTest(folder=folder):
                self.refuse(folder, "--data", folder, "--beanstalk", "unix:a.sock")

    def test_a_folder_that_is_no_store(self):
        (self.here / "notes").mkdir()
        self.put("notes/CURRENT", b"my notes\n")
        self.refuse("notes", "--data", "notes", "--beanstalk", "unix:a.sock")
        self.assertEqual((self.here / "notes/CURRENT").read_bytes(), b"my notes\n")

    def test_a_folder_with_other_files(self):
        (self.here / "notes").mkdir()
        self.put("notes/to_do", b"")
        self.refuse("it holds other files, 'to_do' among them", "--data", "notes", "--beanstalk", "unix:a.sock")
        self.assertEqual([each.name for each in (self.here / "notes").iterdir()], ["to_do"])

    def test_damaged_folders(self):
        """The message names the file, and says what to do."""
        server = self.serve()
        self.assertEqual(self.connect(server).ask(put(b"kept")), b"INSERTED 1\r\n")
        server.stop()
        damages = [("MANIFEST-*", lambda data: data[:50] + b"?" + data[51:]), ("MANIFEST-*", None),
                   ("CURRENT", lambda data: b"nonsense\n"), ("CURRENT", None), ("*.sst", lambda data: data[:100])]
        for number, (pattern, damage) in enumerate(damages):
            with self.subTest(pattern=pattern, damage=number):
                folder = self.here / f"damaged-{number}"
                shutil.copytree(self.here / "jobs", folder)
                file = sorted(folder.glob(pattern))[0]
                if damage is None:
                    file.unlink()
                else:
                    file.write_bytes(damage(file.read_bytes()))
                for arguments, code in [(["--quiet", "--data", folder, "--beanstalk", "unix:a.sock"], 2), (["--check", folder], 1)]:
                    err = self.run_foliot("serve", *arguments)[2]
                    self.assertIn("restore a backup", err)
                    self.assertIn(file.name, err)
                    self.expect_error(str(folder), "serve", *arguments, code=code)

    def test_files_whose_names_would_be_misread(self):
        """They are named and left alone; RocksDB ends the process at some of them."""
        self.serve().stop()
        for name in ["18446744073709551615.log", "99999999999999999999.log", "18446744073709551615.sst", "7.log",
                     "MANIFEST-18446744073709551615", "OPTIONS-18446744073709551614"]:
            with self.subTest(name=name):
                self.put(f"jobs/{name}", b"")
                for arguments, code in [(["--quiet", "--data", "jobs", "--beanstalk", "unix:a.sock"], 2), (["--check", "jobs"], 1)]:
                    self.expect_error(f"would misread the number in the name of its file '{name}': move that file away",
                                      "serve", *arguments, code=code)
                (self.here / "jobs" / name).unlink()
        self.assertEqual(self.serve().stop(), (0, ""))

    def test_a_damaged_log(self):
        """It is refused, until the user accepts the loss of what lies behind the damage."""
        server = self.serve()
        client = self.connect(server)
        for number in range(1, 4):
            self.assertEqual(client.ask(put(b"job %d of three" % number)), b"INSERTED %d\r\n" % number)
        server.kill()
        log, = [each for each in (self.here / "jobs").glob("*.log") if b"job 2 of three" in each.read_bytes()]
        log.write_bytes(log.read_bytes().replace(b"job 2 of three", b"job 2 of Three"))
        alone = ["--quiet", "--data", "jobs", "--beanstalk", "unix:a.sock"]
        for arguments, code in [(alone, 2), (["--check", "jobs"], 1)]:
            err = self.run_foliot("serve", *arguments)[2]
            self.assertRegex(err, r"its log jobs/\d+\.log is damaged at byte \d+, and a batch of changes lies behind")
            self.assertIn("foliot serve --salvage", err)
            self.expect_error("jobs", "serve", *arguments, code=code)
        server = self.serve("--data", self.here / "jobs", "--salvage")
        client = self.connect(server)
        self.assertEqual(client.ask(b"peek 1\r\n"), b"FOUND 1 14\r\njob 1 of three\r\n")
        for lost in [b"peek 2\r\n", b"peek 3\r\n"]:
            self.assertEqual(client.ask(lost), b"NOT_FOUND\r\n")
        code, log = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(log, r"\A\S+ warning [^\n]*was salvaged[^\n]*what had been changed from there on is lost\n\Z")
        self.assertEqual(self.connect(self.serve()).ask(b"peek 1\r\n"), b"FOUND 1 14\r\njob 1 of three\r\n")

    def test_a_log_that_has_lost_its_end(self):
        """The server knows how much of it was synced, although a crash may leave a log like this."""
        server = self.serve()
        client = self.connect(server)
        for number in range(1, 4):
            self.assertEqual(client.ask(put(b"job %d of three" % number)), b"INSERTED %d\r\n" % number)
        log, = [each for each in (self.here / "jobs").glob("*.log") if b"job 3 of three" in each.read_bytes()]
        whole = log.read_bytes()
        until = time.monotonic() + beanstalk_client.PATIENCE
        while b"\n%s %d\n" % (log.name.encode(), len(whole)) not in (self.here / "jobs/SYNCED").read_bytes():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        server.kill()
        half = whole.index(b"job 2 of three")
        alone = ["--quiet", "--data", "jobs", "--beanstalk", "unix:a.sock"]
        cut_off, missing = (rf"its log jobs/{log.name} is {what}" for what in [r"whole up to byte \d+ only", "missing"])
        for damaged, sentence in [(whole[:half], cut_off), (whole[:half] + bytes(len(whole) - half), cut_off),
                                  (None, missing)]:
            log.write_bytes(damaged) if damaged is not None else log.unlink()
            for arguments, code in [(alone, 2), (["--check", "jobs"], 1)]:
                err = self.run_foliot("serve", *arguments)[2]
                self.assertRegex(err, rf"{sentence}, and had been synced up to byte {len(whole)}: restore a backup")
                self.assertIn("foliot serve --salvage", err)
                self.expect_error("jobs", "serve", *arguments, code=code)
        log.write_bytes(whole[:half])
        server = self.serve("--data", self.here / "jobs", "--salvage")
        client = self.connect(server)
        self.assertEqual(client.ask(b"peek 1\r\n"), b"FOUND 1 14\r\njob 1 of three\r\n")
        self.assertEqual(client.ask(b"peek 2\r\n"), b"NOT_FOUND\r\n")
        self.assertRegex(server.stop()[1], r"\A\S+ warning [^\n]*was salvaged[^\n]*\n\Z")
        self.assertEqual(self.expect_done("serve", "--check", "jobs"), "jobs: no damage found\n")

    def test_a_check_of_a_folder_whose_salvage_was_interrupted(self):
        self.serve().stop()
        why = b"its log jobs/000004.log is missing, and had been synced up to byte 100"
        self.put("jobs/SALVAGING", why)
        before = {each.name: each.read_bytes() for each in (self.here / "jobs").iterdir()}
        self.expect_error(f"the salvage of the job store jobs has not ended ({why.decode()}): start a server on it",
                          "serve", "--check", "jobs", code=1)
        self.assertEqual({each.name: each.read_bytes() for each in (self.here / "jobs").iterdir()}, before)
        told = why.decode().replace("jobs/", f"{self.here}/jobs/")  # the folder as it is named now
        self.assertRegex(self.serve().stop()[1], rf"\A\S+ warning [^\n]*was salvaged: {told}: [^\n]*\n\Z")
        self.assertEqual(self.expect_done("serve", "--check", "jobs"), "jobs: no damage found\n")

    def test_a_folder_that_may_not_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.serve().stop()
        for each in [*(self.here / "jobs").iterdir(), self.here / "jobs"]:
            each.chmod(0o500 if each.is_dir() else 0o400)
        self.addCleanup((self.here / "jobs").chmod, 0o700)
        self.refuse("make the folder writable for this user", "--data", "jobs", "--beanstalk", "unix:a.sock")

    def test_addresses(self):
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:11300", "10.0.0.1:11300", "126.255.255.255:1", "128.0.0.1:1",
                        "[2001:db8::1]:11300", "[fe80::1]:11300", "[::ffff:192.0.2.1]:11300", "[::2]:11300"]:
            with self.subTest(address=address):
                self.refuse("can be reached from other machines", "--data", "jobs", "--beanstalk", address)
                self.refuse("or do without by --insecure", "--data", "jobs", "--beanstalk", address)
        for address in ["nonsense", "localhost", "localhost:", "localhost:65536", "local host:1", "127.0.0.1:65536", "1.2.3:4",
                        "0x7f.1:4", "1.2.3.:4", "127.0.0.1.:4", ".:4", ":11300", "-a:1", "http://localhost:11300"]:
            with self.subTest(address=address):
                self.refuse(f"--beanstalk '{address}' is no address: write 127.0.0.1:11300, localhost:11300,",
                            "--data", "jobs", "--beanstalk", address)
        nowhere = 64 * "x" + ".invalid"  # too long for any name server to be asked
        self.refuse(f"--beanstalk {nowhere}:11300: the host '{nowhere}' cannot be found", "--data", "jobs",
                    "--beanstalk", f"{nowhere}:11300")
        self.assertEqual(self.names(), [])
        self.refuse("cannot listen at", "--data", "jobs", "--beanstalk", "unix:no/such/folder")

    def test_numbers(self):
        for option, least, most in [("--max-job-size", 0, 2 ** 30), ("--max-connections", 1, 10 ** 6),
                                    ("--max-tubes", 1, 10 ** 8), ("--max-jobs", 0, 2 ** 64 - 1)]:
            for number in ["-1", "", "x", "1e3", "0x10", "1.5", str(most + 1), str(2 ** 64)]:
                self.refuse(f"{option}: '{number}' is no whole number from {least} to {most}", "--memory", option, number)
        for option in ("--max-memory", "--max-buffered"):
            for size in ["-1", "-5MB", "", "MB", "1.5GB", "5XB", "5MBB", "5M B", "5iB", str(2 ** 64)]:
                self.refuse(f"{option}: '{size}' is no size: write a whole number of bytes, KB, MB, GB or TB, such as 64MB",
                            "--memory", option, size)
            for size in ["16EB", "16384p", f"{2 ** 54} kib"]:
                self.refuse(f"{option}: '{size}' is too large: there is no memory of that size", "--memory", option, size)
        burst = "--request-burst limits nothing without a rate: add --requests-per-second-per-address or " \
                "--requests-per-second-per-token"
        self.refuse(burst, "--memory", "--request-burst", "5")
        self.refuse(burst, "--memory", "--request-burst", "5", "--requests-per-second-per-token", "0")

    def test_no_way_in(self):
        for where in [["--memory"], ["--data", "jobs"], ["--data", "jobs", "--statistics", "top"]]:
            self.refuse("--beanstalk off leaves no way to reach the jobs", *where, "--beanstalk", "off")
        self.assertEqual(self.names(), [])

    def test_unknown_words(self):
        self.refuse("foliot serve has no '--memroy': the nearest is '--memory'; see foliot serve --help", "--memroy")
        self.refuse("--data '' is no folder", "--data", "")
        self.refuse("'--data=' has no value behind the '='", "--data=", "--memory")
        self.refuse("--statistics '' is no path of a socket", "--memory", "--statistics", "")
        for words in [["--nonsense"], ["nonsense"], ["--sync", "never"], ["--sync", "every"], ["--sync", "every", "x"],
                      ["--max-connections", "0"], ["--max-job-size", "-1"], ["--memory", "--data", "jobs"]]:
            with self.subTest(words=words):
                code, out, err = self.run_foliot("serve", "--quiet", *words)
                self.assertEqual((code, out), (2, ""))
                self.assertRegex(err, r"\Afoliot: ")
        self.assertEqual(self.names(), [])

    def test_databases(self):
        """The message says what is wrong, and never a password."""
        nowhere = "host=/nowhere dbname=jobs password=secret"
        for sentence, *arguments in [
                ("connection string of the database cannot be read", "--store", "nonsense password=secret"),
                ("/nowhere", "--store", nowhere, "--migrate"),
                ("/nowhere", "--store", nowhere, "--node", "n"),
                ("--node", "--store", nowhere, "--node", ""),
                ("--node", "--store", nowhere, "--node", 181 * "n"),
                ("--node 'n (session 12)' ends as the name of a session does", "--store", nowhere, "--node", "n (session 12)"),
                ("/nowhere", "--store", nowhere, "--node", "n (session two)"),
                ("--sessions", "--store", nowhere, "--sessions", "0"),
                ("--sessions", "--store", nowhere, "--sessions", "33"),
                ("--store", "--sessions", "2"),
                ("--node-timeout", "--store", nowhere, "--node-timeout", "999ms"),
                ("--node-timeout", "--store", nowhere, "--node-timeout", "soon"),
                ("the most is", "--store", nowhere, "--node-timeout", "86401s"),
                ("--max-job-size", "--store", nowhere, "--max-job-size", "16777217"),
                ("--memory", "--store", nowhere, "--memory"),
                ("--data", "--store", nowhere, "--data", "jobs"),
                ("--sync", "--store", nowhere, "--sync", "always"),
                ("--store", "--node", "n"),
                ("--store", "--migrate")]:
            with self.subTest(arguments=arguments):
                code, out, err = self.run_foliot("serve", "--quiet", *arguments, "--beanstalk", "unix:a.sock")
                self.assertEqual((code, out), (2, ""))
                self.assertIn(sentence, err)
                self.assertNotIn("secret", err)
        self.assertEqual(self.names(), [])


class SystemLimits(ServeCase):
    def try_open_files(self, most, *store):
        """Whether a server that may have so many open files serves; if not, it ends with a sentence."""
        process = self.start("serve", "--beanstalk", "unix:a.sock", *store, stdout=subprocess.DEVNULL,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        log = b""
        while (line := process.stderr.readline()) and b"clients connect to" not in line:
            log += line
        if not line:
            self.assertEqual(process.wait(beanstalk_client.PATIENCE), 2, log)
            self.assertRegex(log.decode(errors="replace").splitlines()[-1], r"\Afoliot: \S")
            return False
        client = Connection(str(self.here / "a.sock"))
        self.addCleanup(client.close)
        self.expect_work(client)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(beanstalk_client.PATIENCE), 0)
        return True

    @unittest.skipIf(SANITIZED, "the sanitizers' own checks need descriptors")
    def test_few_open_files(self):
        beanstalk_client.need_space(self, self.here)
        for store in [["--memory"], ["--data", "jobs"]]:
            serves = {most: self.try_open_files(most, *store) for most in [8, 14, 18, 20, 24, 28, 34, 40, 64]}
            self.assertFalse(serves[8])
            self.assertTrue(serves[64])
            self.assertEqual(list(serves.values()), sorted(serves.values()), serves)

    @unittest.skipIf(SANITIZED, "the sanitizers' own checks need descriptors")
    def test_few_open_files_for_monitoring(self):
        for first, more in [(8, ""), (64, " beside the 64 places of --metrics")]:
            for most in itertools.count(first):  # how many the server has for itself depends on its build
                code, _, told = self.run_foliot("serve", "--memory", "--beanstalk", "unix:a.sock", *(["--metrics", "unix:m.sock"] if more else []),
                                                preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
                self.assertEqual(code, 2, told)
                if "Too many open files" not in told:
                    break
            self.assertIn(f"too few to serve clients{more}: raise its limit", told)

    def connections_that_fit(self, *more):
        """How many connections a server accepts that may have 1500 open files, of which it leaves 1200 for other things."""
        process = self.start("serve", "--quiet", "--memory", "--beanstalk", "unix:a.sock", "--http", f"unix:{self.here / 'http'}",
                             "--max-connections", "1000", *more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1500, 1500)))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while True:
            connection = LocalConnection(self.here / "http")
            try:
                connection.request("GET", "/metrics")
                page = connection.getresponse().read().decode()
                break
            except OSError:
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            finally:
                connection.close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(beanstalk_client.PATIENCE), 0)
        return int(re.search(r"^foliot_connections_max (\d+)$", page, re.M)[1])

    @unittest.skipIf(SANITIZED, "the sanitizers' own checks need descriptors")
    def test_the_places_of_monitoring_need_open_files_too(self):
        self.assertEqual(self.connections_that_fit(), 300)
        self.assertEqual(self.connections_that_fit("--metrics", f"unix:{self.here / 'metrics'}"), 300 - 64)

    def test_the_limit_of_the_length_of_a_file(self):
        server = self.serve()
        client = self.connect(server)
        self.assertEqual(client.ask(put(b"first")), b"INSERTED 1\r\n")
        longest = max(path.stat().st_size for path in (self.here / "jobs").glob("*.log"))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, 2 * [longest + 200_000])
        with contextlib.suppress(OSError, EOFError):
            for _ in range(100):
                client.ask(put(os.urandom(60_000)))
            self.fail("all is written")
        self.assertEqual(server.process.wait(beanstalk_client.PATIENCE), 2)
        self.assertRegex(server.process.stderr.read().decode(), r"(?m)^foliot: .*" + os.strerror(errno.EFBIG))
        server = self.serve()
        self.assertEqual(self.connect(server).ask(b"peek 1\r\n"), b"FOUND 1 5\r\nfirst\r\n")


class OtherSettings(ServeCase):
    def test_check(self):
        server = self.serve()
        self.assertEqual(self.connect(server).ask(put(b"kept")), b"INSERTED 1\r\n")
        self.expect_error("it is in use by another process", "serve", "--check", "jobs", code=1)
        (self.here / "jobs" / "LOCK").unlink()
        self.expect_error("it is in use by another process", "serve", "--check", "jobs", code=1)
        server.stop()
        self.assertEqual(self.expect_done("serve", "--check", "jobs"), "jobs: no damage found\n")

    def test_check_without_a_store_makes_none(self):
        (self.here / "empty").mkdir()
        self.put("file", b"")
        for folder in ["nowhere", "empty", "file"]:
            with self.subTest(folder=folder):
                self.expect_error(f"there is no job store in '{folder}'", "serve", "--check", folder, code=1)
        self.expect_error("name the folder of a store, or a database with --store", "serve", "--check", "")
        self.assertEqual(self.names(), ["empty", "file"])
        self.assertEqual(list((self.here / "empty").iterdir()), [])

    def test_sync_now_and_then(self):
        arguments = ["--data", self.here / "jobs", "--sync", "every", "50ms"]
        server = self.serve(*arguments)
        self.assertEqual(self.connect(server).ask(put(b"kept")), b"INSERTED 1\r\n")
        code, log = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(log, r"\A\S+ warning [^\n]* in the last 50 ?ms\n\Z")
        self.assertEqual(self.connect(self.serve(*arguments)).ask(b"peek 1\r\n"), b"FOUND 1 4\r\nkept\r\n")

    def test_the_name_of_a_host(self):
        """It listens at one address, which it tells; `foliot copy` finds that one."""
        servers = []
        for _ in range(2):
            process = self.start("serve", "--memory", "--beanstalk", "localhost:0")
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            address = None
            while address is None:
                self.assertIsNone(process.poll())
                address = re.search(rb"clients connect to (127\.0\.0\.\d+|\[::1\]):(\d+)\n", process.stderr.readline())
            servers.append((address[1].decode().strip("[]"), int(address[2])))
        client = Connection(servers[0])
        self.addCleanup(client.close)
        self.assertEqual(client.ask(put(b"named")), b"INSERTED 1\r\n")
        code, out, _ = self.run_foliot("copy", *(f"localhost:{port}" for _, port in servers))
        self.assertEqual(code, 0)
        self.assertIn("moved 1 job from ", out)
        for name in ("localhost", "localhost.", "LocalHost."):
            self.expect_error("Connection refused", "copy", f"{name}:1", f"localhost:{servers[0][1]}")

    def serve_at_a_path(self, path):
        beanstalk_client.need_space(self, self.here)
        process = self.start("serve", "--data", "jobs", "--beanstalk", f"unix:{path}")
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        while b"clients connect to" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        return process

    def test_a_local_socket(self):
        path = str(self.here / "socket")
        # A server removes its file; that of a killed one must not stop the next one.
        for job, end in [(1, signal.SIGTERM), (2, signal.SIGKILL), (10_002, signal.SIGTERM)]:
            process = self.serve_at_a_path(path)
            client = Connection(path)
            self.addCleanup(client.close)
            self.assertEqual(client.ask(put(b"local")), b"INSERTED %d\r\n" % job)
            self.expect_error("another server has it", "serve", "--quiet", "--data", "other", "--beanstalk", f"unix:{path}")
            client.close()
            process.send_signal(end)
            self.assertEqual(process.wait(beanstalk_client.PATIENCE), 0 if end == signal.SIGTERM else -end)
        self.assertFalse(os.path.exists(path))

    def test_the_folder_is_private_and_the_socket_is_not(self):
        """Whatever the umask; that of the socket is the umask's."""
        self.addCleanup(os.umask, os.umask(0))
        path = self.here / "socket"
        server = self.serve_at_a_path(path)
        self.assertEqual(path.stat().st_mode & 0o7777, 0o777)
        client = Connection(str(path))
        self.addCleanup(client.close)
        self.assertEqual(client.ask(put(b"secret")), b"INSERTED 1\r\n")
        server.send_signal(signal.SIGUSR2)
        until = time.monotonic() + beanstalk_client.PATIENCE
        while not list(self.here.glob("jobs/backups/*/CURRENT")):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(beanstalk_client.PATIENCE), 0)
        made = [self.here / "jobs", *self.here.glob("jobs/**/*")]
        self.assertGreater(len(made), 8)
        for each in made:
            self.assertEqual(each.stat().st_mode & 0o7777, 0o700 if each.is_dir() else 0o600, each)

    def test_a_folder_that_others_can_enter_is_told(self):
        server = self.serve()
        self.assertEqual(server.stop(), (0, ""))
        (self.here / "jobs").chmod(0o755)
        code, log = self.serve().stop()
        self.assertEqual(code, 0)
        self.assertRegex(log, r"\A\S+ warning other users can enter the folder [^\n]*/jobs, [^\n]*chmod 700[^\n]*\n\Z")
        self.assertEqual((self.here / "jobs").stat().st_mode & 0o7777, 0o755)

    def test_a_file_that_is_no_socket_stays(self):
        self.put("notes", b"mine")
        self.expect_error("it is a file, and no socket", "serve", "--quiet", "--data", "jobs", "--beanstalk", "unix:notes")
        self.assertEqual((self.here / "notes").read_bytes(), b"mine")

    def test_its_tasks_in_foliot_top(self):
        path = str(self.here / "top")
        server = self.serve("--memory", "--statistics", path)
        self.assertEqual(self.connect(server).ask(put(b"seen")), b"INSERTED 1\r\n")
        out = self.look(path, r"\njobs ready +1\n")
        self.assertRegex(out, r"\n +1  the broker +[\d.]+ \w+  (waiting( for a condition| in a select \([a-z, ]+\)|) at|ready, after|running, after) \w+\.\w+:\d+\n")
        self.assertRegex(out, r"\nturns of tasks .*\d")
        self.assertRegex(out, r"\Afoliot top of \S+\ntubes with jobs +1\njobs ready +1\n  delayed +0\n  reserved +0\n  buried +0\n"
                              r"next is due in +-\noverdue for +-\n\n +ready +delayed +reserved +buried  tube\n"
                              r" +1 +0 +0 +0  default\n\ntasks ")
        self.assertIn("foliot_runtime_turns_total ", self.expect_done("top", path, "--prometheus"))
        self.expect_error(f"cannot show the statistics at '{path}': Address already in use: another program listens there; name another path", "serve", "--quiet", "--data", "other",
                          "--beanstalk", "unix:a.sock", "--statistics", path)
        self.assertEqual(server.stop()[0], 0)
        self.assertFalse(os.path.exists(path))

    def test_its_jobs_in_foliot_top(self):
        path = str(self.here / "top")
        for arguments in [["--memory"], ["--data", self.here / "jobs"]]:
            server = self.serve(*arguments, "--statistics", path)
            client = self.connect(server)
            client.ask(b"use mail\r\n")
            for i in range(3):
                client.ask(b"put 0 %d 60 1\r\na\r\n" % (1000 * i))
            client.ask(b"use other\r\n")
            client.ask(put(b"b"))
            client.ask(b"watch other\r\n")
            self.assertRegex(client.ask(b"reserve\r\n"), rb"RESERVED")
            seen = self.look(path, r"\ntubes with jobs +2\njobs ready +1\n  delayed +2\n  reserved +1\n  buried +0\n")
            self.assertRegex(seen, r"\nnext is due in +\d+\.\d\d s\noverdue for +-\n")
            self.assertRegex(seen, r"\n +1 +2 +0 +0  mail\n +0 +0 +1 +0  other\n\n")
            self.assertEqual(server.stop()[0], 0)

    def test_the_watchdog_of_systemd(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            path = str(self.here / "manager")
            manager.bind(path)
            manager.settimeout(beanstalk_client.PATIENCE)
            environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="200000")
            environment.pop("WATCHDOG_PID", None)
            command = [beanstalk_client.FOLIOT, "serve", "--quiet", "--memory", "--beanstalk"]
            server = beanstalk_client.Server(lambda port: [*command, f"127.0.0.1:{port}"], environment)
            self.addCleanup(self.end, server)
            self.assertEqual([manager.recv(100) for _ in range(3)], [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"])
        self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    main()
