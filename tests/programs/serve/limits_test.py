"""Limits of `foliot serve` that an operator sets: slow clients, and connections by address and by access token."""
import http.client
import json
import re
import socket
import time

from kit.beanstalk_client import PATIENCE, Connection, free_port
from kit.program_case import main
from kit.serve_case import ServeCase, put


class From(Connection):
    """A connection that comes from another address of this machine."""

    def __init__(self, source, address):
        self.socket = socket.create_connection(address, PATIENCE, source_address=(source, 0))
        self.unread = b""


class LimitsCase(ServeCase):
    def lines(self, log, sentence):
        return [each for each in log.splitlines() if sentence in each]

    def expect_refused(self, connection):
        self.addCleanup(connection.close)
        self.assertEqual(connection.rest(), b"OUT_OF_MEMORY\r\n")


class Slow(LimitsCase):
    def test_clients_that_do_not_go_on(self):
        server = self.serve("--memory", "--client-timeout", "1s")
        other, waiting = self.connect(server), self.connect(server)
        waiting.send(b"watch later\r\nreserve\r\nlist-tube")
        self.assertEqual(waiting.answer(), b"WATCHING 2\r\n")
        began = time.monotonic()
        for half in [b"pu", b"put 0 0 60 100\r\nabc", put(b"abc")[:-1]]:
            slow = self.connect(server)
            slow.send(half)
            self.assertEqual(slow.rest(), b"")
        self.assertGreaterEqual(time.monotonic() - began, 3)
        greedy = self.connect(server)
        greedy.socket.setblocking(False)
        until = time.monotonic() + PATIENCE
        while other.numbers(b"stats\r\n")["foliot-slow-clients"] < 4:
            self.assertLess(time.monotonic(), until)
            try:
                greedy.socket.send(b"stats\r\n" * 1000)
            except BlockingIOError:
                time.sleep(0.01)
            except (BrokenPipeError, ConnectionResetError):
                pass
        # The one that waits has begun a command behind its reserve: its time begins when it gets a job.
        slow_clients = other.numbers(b"stats\r\n")["foliot-slow-clients"]
        self.assertEqual(other.ask(b"use later\r\n"), b"USING later\r\n")
        self.assertRegex(other.ask(put(b"for the one that waits")), rb"\AINSERTED \d+\r\n\Z")
        self.assertTrue(waiting.answer().endswith(b"\r\nfor the one that waits\r\n"))
        self.assertEqual((other.numbers(b"stats\r\n")["total-jobs"], slow_clients), (1, 4))
        code, log = server.stop()
        self.assertEqual(code, 0)
        found = self.lines(log, "the limit of --client-timeout")
        self.assertRegex(found[0], r" warning close the connection from 127\.0\.0\.1:\d+: its client has begun a command "
                                   r"and sent nothing more of it for 1s, the limit of --client-timeout")
        self.assertLessEqual(len(found), 1 + (time.monotonic() - began) / 60, "at most one in a minute")

    def test_wrong_options(self):
        for sentence, *option in [("--client-timeout 10ms is too short: the least is 1s", "--client-timeout", "10ms"),
                                  ("--client-timeout: ", "--client-timeout", "soon"),
                                  ("--max-connections-per-address", "--max-connections-per-address", "-1")]:
            self.expect_error(sentence, "serve", "--quiet", "--memory", "--beanstalk", "unix:sock", *option)


class Addresses(LimitsCase):
    def test_connections_of_an_address(self):
        server = self.serve("--memory", "--max-connections-per-address", 2)
        one, two = self.connect(server), self.connect_accepted(server)
        self.expect_work(one)
        began = time.monotonic()
        for _ in range(20):
            self.expect_refused(server.connect())
        other = From("127.0.0.2", server.address)
        self.addCleanup(other.close)
        self.expect_work(other)
        seen = other.numbers(b"stats\r\n")
        self.assertGreaterEqual(seen["foliot-refused-of-address"], 20)
        self.assertEqual((seen["foliot-refused-connections"], seen["foliot-refused-of-token"]), (0, 0))
        two.close()
        self.expect_work(self.connect_accepted(server))
        code, log = server.stop()
        self.assertEqual(code, 0)
        found = self.lines(log, "--max-connections-per-address")
        self.assertRegex(found[0], r" warning refuse the connection from 127\.0\.0\.1:\d+: its address has 2, the limit of "
                                   r"--max-connections-per-address")
        self.assertLessEqual(len(found), 1 + (time.monotonic() - began) / 60, "at most one in a minute")

    def test_a_path_has_no_address(self):
        process = self.start("serve", "--quiet", "--memory", "--beanstalk", "unix:sock", "--max-connections-per-address", "1")
        self.addCleanup(process.kill)
        clients, until = [], time.monotonic() + PATIENCE
        while len(clients) < 3:
            self.assertLess(time.monotonic(), until)
            try:
                clients.append(Connection(str(self.here / "sock")))
                self.addCleanup(clients[-1].close)
            except OSError:
                time.sleep(0.01)
        for each in clients:
            self.expect_work(each)
        process.terminate()
        log = process.communicate(timeout=PATIENCE)[1].decode()
        self.assertEqual([line for line in log.splitlines() if "jobs are in memory" not in line], [])


class OverHttp(LimitsCase):
    def begin(self, *arguments):
        """A server with HTTP at a port that is free."""
        while True:
            self.port = free_port()
            try:
                return self.serve("--memory", "--http", f"127.0.0.1:{self.port}", *arguments)
            except RuntimeError as error:  # another process was quicker
                self.assertIn("in use", str(error))

    def connect_from(self, source):
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=(source, 0))
        self.addCleanup(made.close)
        return made

    def ask(self, client, target="/v1/tubes"):
        """The status, the fields and the value of the answer."""
        client.request("GET", target)
        response = client.getresponse()
        return response.status, response.headers, json.loads(response.read())

    def ask_until(self, source, wanted):
        until = time.monotonic() + PATIENCE
        while True:
            client = self.connect_from(source)
            status = self.ask(client)[0]
            if status == wanted:
                return client
            client.close()
            self.assertLess(time.monotonic(), until, status)
            time.sleep(0.002)

    def test_connections_of_an_address(self):
        server = self.begin("--max-connections-per-address", 2)
        one, two = self.connect_from("127.0.0.2"), self.connect_from("127.0.0.2")
        for each in [one, two]:
            self.assertEqual(self.ask(each)[0], 200)
        for _ in range(20):  # each has sent its request before it is refused
            refused = self.connect_from("127.0.0.2")
            status, fields, problem = self.ask(refused)
            self.assertEqual((status, fields["Retry-After"], fields["Content-Type"], fields["Connection"]),
                             (429, "1", "application/problem+json", "close"))
            self.assertEqual((problem["status"], problem["outcome"]), (429, "connections_of_address"))
        self.assertEqual(self.ask(self.connect_from("127.0.0.3"))[0], 200)
        self.assertEqual(self.ask(one)[0], 200)
        two.close()
        self.ask_until("127.0.0.2", 200)
        self.assertEqual(server.stop()[0], 0)

    def test_requests_of_an_address(self):
        server = self.begin("--requests-per-second-per-address", 1, "--request-burst", 3)
        client = self.connect_from("127.0.0.2")
        seen, until = [], time.monotonic() + PATIENCE
        while 429 not in seen:
            self.assertLess(time.monotonic(), until, seen)
            status, fields, problem = self.ask(client)
            seen.append(status)
        self.assertGreaterEqual(len(seen), 4, seen)
        self.assertEqual((fields["Retry-After"], problem["outcome"]), ("1", "rate_of_address"))
        self.assertEqual(self.ask(self.connect_from("127.0.0.3"))[0], 200)
        self.ask_until("127.0.0.2", 200)
        # Commands of the same address wait for their turn.
        began = time.monotonic()
        slow = From("127.0.0.4", server.address)
        self.addCleanup(slow.close)
        for _ in range(5):
            self.assertEqual(slow.ask(b"list-tube-used\r\n"), b"USING default\r\n")
        self.assertGreaterEqual(time.monotonic() - began, 2)
        code, log = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(self.lines(log, "--requests-per-second-per-address")[0],
                         r" warning hold back the requests from 127\.0\.0\.2:\d+: its address sends more than 1 in a second")


class Tokens(LimitsCase):
    def make(self, name):
        return self.expect_done("token", "make", self.here / "tokens", "--name", name, "--scopes", "put,reserve,look",
                                "--ends", "never").strip().encode()

    def sign_in(self, address, token):
        connection = Connection(address)
        self.addCleanup(connection.close)
        self.assertTrue(connection.ask(b"x-auth %s\r\n" % token).startswith(b"AUTHENTICATED "))
        return connection

    def sign_in_below_the_limit(self, address, token):
        """A connection that is in: it has been counted."""
        until = time.monotonic() + PATIENCE
        while True:
            connection = self.sign_in(address, token)
            try:
                if connection.ask(b"list-tube-used\r\n") == b"USING default\r\n":
                    return connection
            except (OSError, EOFError):
                pass
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)

    def test_connections_of_a_token(self):
        many, few = self.make("many"), self.make("few")
        process = self.start("serve", "--memory", "--beanstalk", "unix:sock", "--tokens", "tokens",
                             "--max-connections-per-token", "2")
        self.addCleanup(process.kill)
        address, until = str(self.here / "sock"), time.monotonic() + PATIENCE
        while True:
            self.assertLess(time.monotonic(), until)
            try:
                one = self.sign_in_below_the_limit(address, many)
                break
            except OSError:
                time.sleep(0.01)
        two = self.sign_in_below_the_limit(address, many)
        began = time.monotonic()
        for _ in range(20):
            self.expect_refused(self.sign_in(address, many))
        other = self.sign_in(address, few)
        for each in [one, two, other]:
            self.expect_work(each)
        seen = other.numbers(b"stats\r\n")
        self.assertEqual((seen["foliot-refused-of-token"], seen["foliot-refused-of-address"]), (20, 0))
        two.close()
        self.expect_work(self.sign_in_below_the_limit(address, many))
        process.terminate()
        log = process.communicate(timeout=PATIENCE)[1].decode()
        found = self.lines(log, "--max-connections-per-token")
        shown = many.decode().split("_")[1]
        self.assertRegex(found[0], rf" warning refuse the connection from a local socket: the access token {shown} has 2, "
                                   "the limit of --max-connections-per-token")
        self.assertLessEqual(len(found), 1 + (time.monotonic() - began) / 60, "at most one in a minute")
        self.assertFalse(re.search(r"foliot_[a-z0-9]{8}_", log), "no secret")


if __name__ == "__main__":
    main()
