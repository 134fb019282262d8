"""`foliot serve --tokens` as clients of HTTP see it: who comes in, whose requests end, and what the log does not say."""
import itertools
import json
import re
import signal
import socket
import threading
import time

from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE
from kit.certificates import Authority, openssl
from kit.process_memory import can_read_memory, times_in_memory
from kit.program_case import main


class HttpAccess(AccessCase):
    def waiting_poll(self, token):
        """A reserve that waits for a job, and the list that its answer will be in."""
        answers = []
        poll = threading.Thread(target=lambda: answers.append(
            self.ask("POST", "/v1/reserve?tube=mail&timeout=1h", token)))
        poll.start()
        self.addCleanup(poll.join)
        self.addCleanup(self.server.kill)  # before it is waited for
        return poll, answers

    def wait_for_waiting(self, count):
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/v1/statistics", self.admin)[1]["server"]["waiting"] != count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_each_request_shows_a_token(self):
        self.begin()
        for method, target in [("GET", "/v1/statistics"), ("POST", "/v1/jobs?tube=mail"), ("GET", "/nothing")]:
            status, value, fields = self.ask(method, target)
            self.assertEqual((status, value["status"], fields["WWW-Authenticate"]), (401, 401, "Bearer"))
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", self.admin, b"hello")[0], 201)
        narrow = self.make("narrow", "put", "--tubes", "mail")
        self.server.send_signal(signal.SIGHUP)
        until = time.monotonic() + PATIENCE
        # After ten times it gets 429 until the file has been read.
        while self.ask("POST", "/v1/jobs?tube=mail", narrow, b"hello")[0] != 201:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.2)
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=bill", narrow, b"hello")[1]["outcome"], "no_tube")
        self.assertEqual(self.ask("DELETE", "/v1/jobs/1", narrow)[1]["outcome"], "no_scope")

    def test_a_revoked_token_ends_its_long_poll_alone(self):
        other = self.make("other", "reserve,put")
        leaving = self.make("leaving", "reserve")
        self.begin()
        ends, ended = self.waiting_poll(leaving)
        stays, got = self.waiting_poll(other)
        self.wait_for_waiting(2)
        self.expect_done("token", "revoke", self.tokens, leaving.split("_")[1])
        ends.join(PATIENCE)
        self.assertEqual(ended[0][0], 401)
        self.assertEqual(self.ask("POST", "/v1/reserve?tube=mail", leaving)[0], 401)
        self.wait_for_waiting(1)
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", other, b"hello")[0], 201)
        stays.join(PATIENCE)
        self.assertEqual(got[0][1]["jobs"][0]["text"], "hello")

    def test_ready_tells_of_a_file_with_a_mistake(self):
        self.begin()
        right = self.tokens.read_text()
        self.tokens.write_text(right + "[token]\n")
        self.wait_for_status("/ready", 503)
        self.assertEqual(self.ask("GET", "/health")[0], 200)
        self.assertEqual(self.ask("GET", "/v1/tubes", self.admin)[0], 200)
        self.tokens.write_text(right)
        self.wait_for_status("/ready", 200)

    def test_the_log_has_no_secret(self):
        self.begin()
        wrong = self.admin[:-1] + ("a" if self.admin[-1] != "a" else "b")
        until = time.monotonic() + PATIENCE
        for shown in itertools.cycle([wrong, self.admin + "x"]):
            status = self.ask("GET", "/v1/tubes", shown)[0]
            if status == 429:  # after ten within a minute
                break
            self.assertEqual(status, 401)
            self.assertLess(time.monotonic(), until)
        self.assertEqual(self.ask("GET", "/v1/tubes", self.admin)[0], 200)
        self.server.send_signal(signal.SIGTERM)
        _, log = self.server.communicate(timeout=PATIENCE)
        self.assertIn(b"too many failed attempts", log)
        self.assertNotIn(self.admin.split("_")[2].encode(), log)
        self.assertNotIn(wrong.split("_")[2].encode(), log)

    def raw(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(str(self.path))
        self.addCleanup(connection.close)
        return connection

    def test_no_token_stays_in_the_memory(self):
        self.begin()
        if not can_read_memory(self.server.pid):
            self.skipTest("the memory of a child may not be read here")
        shows = f"Authorization: Bearer {self.admin}\r\n".encode()
        begin = b"GET /v1/tubes HTTP/1.1\r\n"
        host = b"Host: localhost\r\n"
        many = b"".join(b"X-Field-%d: %s\r\n" % (i, b"x" * 300) for i in range(90))
        kept = self.raw()
        for head in [begin + host + shows + many, begin + shows + host, b"GET /health HTTP/1.1\r\n" + host + shows]:
            for piece in range(0, len(head), 1000):
                kept.sendall(head[piece:piece + 1000])
            kept.sendall(b"\r\n")
            self.assertIn(b"HTTP/1.1 200 OK", self.read_head(kept))
        waiting = self.raw()  # with a request behind the one that waits
        waiting.sendall(b"POST /v1/reserve?tube=mail&timeout=1s HTTP/1.1\r\n" + host + shows + b"\r\n" + begin + host + shows + b"\r\n")
        for _ in range(2):
            self.assertIn(b"HTTP/1.1 200 OK", self.read_head(waiting))
        for head, status in [(begin + b"Host: evil.example\r\n" + shows, b"421"), (begin + host + shows + b"a b: c\r\n", b"400"),
                             (begin + host + shows.replace(b"Bearer", b"Basic"), b"401"),
                             (begin + host + shows[:-2] + b"x\r\n", b"401"),
                             (b"POST /v1/nothing HTTP/1.1\r\nContent-Length: 1\r\n" + host + shows[:-2] + b"x\r\n", b"401")]:
            one = self.raw()
            one.sendall(head + b"\r\n")
            self.assertIn(b"HTTP/1.1 " + status, self.read_head(one))
        # The parts of the secret that an allocator does not overwrite when it takes back memory.
        secret = self.admin.split("_")[2].encode()[8:40]
        until = time.monotonic() + PATIENCE
        while count := times_in_memory(self.server.pid, secret):  # of connections that are about to end
            self.assertLess(time.monotonic(), until, count)
            time.sleep(0.05)

    @staticmethod
    def read_head(connection):
        """A response, whose body is small enough to come with its head."""
        read = b""
        while b"\r\n\r\n" not in read:
            piece = connection.recv(1)
            if not piece:
                return read
            read += piece
        length = int(re.search(rb"Content-Length: (\d+)", read)[1])
        while length:
            length -= len(connection.recv(length))
        return read

    def test_a_body_is_no_page(self):
        self.begin()
        page = {"Content-Type": "text/html", "Accept": "text/html"}
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", self.admin, b"<script>alert(1)</script>", page)[0], 201)
        for method, target in [("GET", "/v1/jobs/1"), ("GET", "/v1/jobs?tube=mail"), ("POST", "/v1/reserve?tube=mail"),
                               ("GET", "/<script>alert(1)</script>")]:
            fields = self.ask(method, target, self.admin, None, {"Accept": "text/html"})[2]
            self.assertRegex(fields["Content-Type"], r"\Aapplication/(problem\+)?json\Z")
            self.assertEqual(fields["X-Content-Type-Options"], "nosniff")

    def test_the_hosts_that_it_knows(self):
        self.begin("--host", "timers.example")
        for host, status in [("timers.example", 401), ("evil.example", 421), ("localhost", 401)]:
            self.assertEqual(self.ask("GET", "/v1/tubes", fields={"Host": host})[0], status, host)
        self.assertEqual(self.ask("GET", "/v1/tubes", self.admin, fields={"Host": "timers.example"})[0], 200)
        self.expect_error("--host 'http://a' is no name of a machine", "serve", "--memory", "--tokens", self.tokens,
                          "--host", "http://a")
        self.expect_error("--host requires --tokens", "serve", "--memory", "--host", "a")

    def test_changes_by_operators_are_in_the_log(self):
        self.begin("--quiet")
        self.assertEqual(self.ask("POST", "/v1/tubes/mail/pause?length=1h", self.admin)[0], 200)
        self.server.send_signal(signal.SIGTERM)
        _, log = self.server.communicate(timeout=PATIENCE)
        self.assertRegex(log.decode(), rf" audit {self.admin.split('_')[1]}: pause, tube 'mail'\n")


class HttpUnderTls(AccessCase):
    """Tokens and certificates of clients under real TLS."""

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.here)
        self.certificate, self.key = self.authority.issue("server")
        self.tls = self.authority.client()

    def test_tokens_and_certificates_have_their_rights(self):
        worker, other = self.authority.issue("worker"), self.authority.issue("other")
        printed = openssl("x509", "-in", worker[0], "-noout", "-fingerprint", "-sha256").stdout.decode().strip()
        entry = self.make("a worker", "put", "--tubes", "mail", "--certificate", printed)
        self.begin("--tls-certificate", self.certificate, "--tls-key", self.key, "--tls-client-ca",
                   self.authority.certificate)
        put = "POST", "/v1/jobs?tube=mail"
        self.assertEqual(self.ask(*put, self.admin, b"by a token")[0], 201)
        as_worker = self.authority.client(worker)
        self.assertEqual(self.ask(*put, None, b"by a certificate", tls=as_worker)[0], 201)
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=bill", None, b"x", tls=as_worker)[1]["outcome"], "no_tube")
        self.assertEqual(self.ask(*put, None, b"x", tls=self.authority.client(other))[0], 401)
        self.assertEqual(self.ask(*put, None, b"x", fields={"Via": "1.1 proxy"}, tls=as_worker)[0], 401,
                         "the certificate is that of the proxy")
        self.assertEqual(self.ask("GET", "/v1/tubes/mail", self.admin)[1]["ready"], 2)
        shown = self.ask("GET", "/v1/statistics", self.admin)[1]
        self.assertRegex(shown["tls"].pop("ends"), r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z\Z")
        self.assertEqual((shown["tls"], shown["tokens"]),
                         ({"taken": 1, "files_are_good": True, "failed_handshakes": 0}, {"file_is_good": True}))
        self.certificate.write_text("no certificate")
        self.server.send_signal(signal.SIGHUP)
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/v1/statistics", self.admin)[1]["tls"]["files_are_good"]:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        self.assertEqual(self.ask("GET", "/ready")[0], 200, "the one before is served")
        self.expect_done("token", "revoke", self.tokens, entry)
        until = time.monotonic() + PATIENCE
        while self.ask(*put, None, b"x", tls=as_worker)[0] != 401:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)


if __name__ == "__main__":
    main()
