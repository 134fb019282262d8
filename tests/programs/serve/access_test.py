"""`foliot serve --tokens`: who comes in, what happens to connections whose rights end, and what the log does not say."""
import os
import re
import signal
import threading
import time

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE
from kit.program_case import FOLIOT, main
from kit.serve_case import ServeCase, put


class TokenServer(beanstalk_client.Server):
    """A server that asks for access tokens; it is there when it takes this one."""

    def __init__(self, token, *arguments):
        self.token = token
        super().__init__(lambda port: [FOLIOT, "serve", "--memory", "--beanstalk", f"127.0.0.1:{port}",
                                       *map(str, arguments)])

    def _answers(self):
        while self.process.poll() is None:
            try:
                probe = beanstalk_client.Connection(self.address)
            except OSError:
                time.sleep(0.01)
                continue
            try:
                if not probe.ask(b"x-auth %s\r\n" % self.token).startswith(b"AUTHENTICATED "):
                    return False
                return probe.numbers(b"stats\r\n").get("pid") == self.process.pid
            except (OSError, EOFError):
                return False
            finally:
                probe.close()
        return False


class Access(ServeCase):
    def setUp(self):
        super().setUp()
        self.tokens = self.here / "tokens"
        self.admin = self.make("admin", "put,reserve,look,change,administer")
        self.log = []

    def make(self, name, scopes, *more):
        return self.expect_done("token", "make", self.tokens, "--name", name, "--scopes", scopes, "--ends", "never",
                                *more).strip().encode()

    def id_of(self, token):
        return token.decode().split("_")[1]

    def begin(self, *arguments):
        self.server = TokenServer(self.admin, "--tokens", self.tokens, *arguments)
        self.addCleanup(self.end, self.server)
        reader = threading.Thread(target=lambda: self.log.extend(line.decode() for line in self.server.process.stderr))
        reader.start()
        self.addCleanup(reader.join)
        self.addCleanup(self.server.process.kill)  # before the reader is waited for

    def end(self, server):
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()
        server.process.stderr.close()

    def sign_in(self, token):
        connection = self.connect(self.server)
        self.assertEqual(connection.ask(b"x-auth %s\r\n" % token), f"AUTHENTICATED {self.id_of(token)}\r\n".encode())
        return connection

    def wait_for_log(self, pattern, times=1):
        until = time.monotonic() + PATIENCE
        while len(re.findall(pattern, "".join(self.log))) < times:
            self.assertLess(time.monotonic(), until, "".join(self.log))
            time.sleep(0.01)

    def expect_refused(self, line, answer=b"NOT_AUTHENTICATED\r\n"):
        connection = self.connect(self.server)
        connection.send(line)
        self.assertEqual(connection.rest(), answer)

    def test_who_has_no_token_does_nothing(self):
        self.begin()
        self.expect_refused(put(b"text"))
        self.expect_refused(b"list-tubes\r\n")
        self.expect_refused(b"x-auth %s\r\nlist-tubes\r\n" % (self.admin[:-1] + b"?"), b"BAD_TOKEN\r\n")
        self.expect_work(self.sign_in(self.admin))

    def test_what_was_revoked_ends_at_once_and_nothing_else(self):
        worker, shop = self.make("worker", "reserve,look"), self.make("shop", "put", "--tubes", "mail.")
        self.begin()
        stays, waits, holds = self.sign_in(self.admin), self.sign_in(worker), self.sign_in(worker)
        sells = self.sign_in(shop)
        self.assertRegex(stays.ask(put(b"held")), rb"\AINSERTED \d+\r\n\Z")
        self.assertTrue(holds.ask(b"reserve\r\n").endswith(b"\r\nheld\r\n"))
        waits.send(b"reserve\r\n")
        self.wait_until(stays, current_waiting=1)
        self.expect_done("token", "revoke", self.tokens, self.id_of(worker))
        self.assertEqual((waits.rest(), holds.rest()), (b"", b""))
        self.assertTrue(stays.ask(b"reserve\r\n").endswith(b"\r\nheld\r\n"))  # what they held is ready again
        self.assertEqual(sells.ask(b"use mail.in\r\n"), b"USING mail.in\r\n")
        self.expect_refused(b"x-auth %s\r\n" % worker)
        self.wait_for_log("the access tokens were read again: 2 entries; the rights of 2 connections have ended")

    def test_a_signal_has_the_file_read_again(self):
        self.begin()
        self.server.process.send_signal(signal.SIGHUP)
        self.wait_for_log("info SIGHUP: read the access tokens again\n")
        self.wait_for_log("info the access tokens were read again: 1 entry; the rights of 0 connections have ended\n")

    def test_a_wrong_file_changes_nothing_until_it_is_right(self):
        self.begin()
        stays = self.sign_in(self.admin)
        right = self.tokens.read_text()
        self.tokens.write_text(right.replace("scopes = put", "scopes = write"))
        self.wait_for_log(r"warning \S+/tokens:4: 'write' is not a scope: ")
        self.wait_for_log(r"warning the access tokens stay as they were, until \S+/tokens is right\n")
        self.expect_work(stays)
        self.expect_work(self.sign_in(self.admin))
        os.remove(self.tokens)
        self.wait_for_log("warning the access tokens stay as they were", times=2)
        self.expect_work(self.sign_in(self.admin))
        self.tokens.write_text(right)
        self.wait_for_log("the access tokens were read again: 1 entry; the rights of 0 connections have ended")
        self.expect_work(stays)

    def test_without_a_right_file_there_is_no_start(self):
        serve = ["serve", "--memory", "--beanstalk", f"127.0.0.1:{beanstalk_client.free_port()}", "--tokens"]
        code, _, err = self.run_foliot(*serve, "missing")
        self.assertEqual(code, 2)
        self.assertRegex(err, r"foliot: --tokens: cannot read 'missing': No such file or directory\n\Z")
        self.put("tokens", b"[token aaaaaaaa]\n")
        code, _, err = self.run_foliot(*serve, "tokens")
        self.assertEqual(code, 2)
        self.assertRegex(err, r"warning tokens:1: the token 'aaaaaaaa' has no line 'ends = …'\n")
        self.assertRegex(err, r"foliot: --tokens: tokens:1: the token 'aaaaaaaa' has no line 'sha256 = …' \(and 4 more\)\n\Z")
        self.expect_error("--tokens '' is no file: name one, or leave it out", *serve, "")

    def test_clients_that_say_nothing_are_closed(self):
        self.begin()
        silent = [self.connect(self.server) for _ in range(20)]
        silent[0].send(b"x-au")
        self.expect_work(self.sign_in(self.admin))
        for each in silent:
            self.assertIn(each.rest(), (b"", b"NOT_AUTHENTICATED\r\n"))

    def test_no_secret_is_in_the_log_or_the_arguments(self):
        revoked = self.make("revoked", "put")
        self.expect_done("token", "revoke", self.tokens, self.id_of(revoked))
        self.begin()
        mistyped = self.admin[:-1] + b"?"
        for token in (revoked, mistyped, b"a password"):
            connection = self.connect(self.server)
            connection.send(b"x-auth %s\r\n" % token)
            connection.rest()
        self.wait_for_log("an access token from 127.0.0.1:\\d+ lets nobody in: it was revoked, or has ended")
        self.sign_in(self.admin).ask(b"x-auth %s\r\n" % self.admin)
        with open(f"/proc/{self.server.process.pid}/cmdline", "rb") as arguments:
            said = arguments.read() + "".join(self.log).encode()
        for secret in (self.admin, revoked, mistyped, b"a password", self.admin.split(b"_")[2]):
            self.assertNotIn(secret, said)


if __name__ == "__main__":
    main()
