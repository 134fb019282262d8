"""`foliot serve --tokens`: who comes in, what happens to connections whose rights end, and what the log says and does not."""
import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE, Connection
from kit.certificates import Authority, openssl
from kit.process_memory import binds_at_start, can_read_memory, times_in_memory
from kit.program_case import FOLIOT, main
from kit.serve_case import ServeCase, put


class TokenServer(beanstalk_client.Server):
    """A server that asks for access tokens; it is there when it takes this one."""

    def __init__(self, token, *arguments, address="127.0.0.1", tls=None):
        self.token = token
        super().__init__(lambda port: [FOLIOT, "serve", "--memory", "--beanstalk", f"{address}:{port}", "--http", "off",
                                       *map(str, arguments)], tls=tls)

    def _answers(self):
        while self.process.poll() is None:
            try:
                probe = Connection(self.address, self.tls)
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


class AccessCase(ServeCase):
    def setUp(self):
        super().setUp()
        self.tokens = self.here / "tokens"
        self.admin = self.make("admin", "put,reserve,look,change,administer")
        self.log = []

    def make(self, name, scopes, *more):
        return self.expect_done("token", "make", self.tokens, "--name", name, "--scopes", scopes, "--ends", "never",
                                *more).strip().encode()

    def replace_tokens(self, text):
        """As an editor does that leaves no half file."""
        (self.here / "tokens.new").write_text(text)
        os.replace(self.here / "tokens.new", self.tokens)

    def id_of(self, token):
        return token.decode().split("_")[1]

    def begin(self, *arguments, address="127.0.0.1"):
        self.server = TokenServer(self.admin, "--tokens", self.tokens, *arguments, address=address)
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

    def sign_in(self, token, connection=None):
        connection = connection or self.connect(self.server)
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


class Access(AccessCase):
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
        self.replace_tokens(right.replace("scopes = put", "scopes = write"))
        self.wait_for_log(r"warning \S+/tokens:4: 'write' is not a scope: ")
        self.wait_for_log(r"warning the access tokens stay as they were, until \S+/tokens is right\n")
        self.expect_work(stays)
        self.expect_work(self.sign_in(self.admin))
        os.remove(self.tokens)
        self.wait_for_log("warning the access tokens stay as they were", times=2)
        self.expect_work(self.sign_in(self.admin))
        self.replace_tokens(right)
        self.wait_for_log("the access tokens were read again: 1 entry; the rights of 0 connections have ended")
        self.expect_work(stays)

    def test_without_a_right_file_there_is_no_start(self):
        serve = ["serve", "--memory", "--beanstalk", f"127.0.0.1:{beanstalk_client.free_port()}", "--tokens"]
        code, _, err = self.run_foliot(*serve, "missing")
        self.assertEqual(code, 2)
        self.assertRegex(err, r"foliot: --tokens: cannot read 'missing': No such file or directory; "
                         r"make it: foliot token make 'missing' --name NAME --scopes SCOPES --ends WHEN\n\Z")
        self.put("tokens", b"[token aaaaaaaa]\n")
        code, _, err = self.run_foliot(*serve, "tokens")
        self.assertEqual(code, 2)
        self.assertRegex(err, r"warning tokens:1: the token 'aaaaaaaa' has no line 'ends = …'\n")
        self.assertRegex(err, r"foliot: --tokens: tokens:1: the token 'aaaaaaaa' has no line 'sha256 = …' \(and 4 more\)\n\Z")
        self.expect_error("--tokens '' is no file: name one, or leave it out", *serve, "")

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

    def test_a_token_in_a_wrong_place_is_not_repeated(self):
        token, id = self.admin.decode(), self.id_of(self.admin)
        serve = ["serve", "--memory", "--beanstalk", "unix:sock"]
        self.put("pasted", f"[token {token}]\n[token aaaaaaaa]\nscopes = {token}\nends = {token}\n{token} = 1\n{token}\n"
                           f"sha256 = {token}\ntubes = {token}*\n".encode())
        for arguments in [[*serve, "--tokens", token], [*serve, "--tokens", "pasted"], [*serve, token],
                          ["serve", "--memory", "--beanstalk", token], ["token", "revoke", self.tokens, token],
                          ["token", "list", "pasted"], ["token", "list", token], ["copy", token, token]]:
            with self.subTest(arguments=arguments):
                code, out, err = self.run_foliot(*arguments)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(id, err)
                self.assertNotIn(token.split("_")[2][:20], err)
        self.expect_error(f"this is a whole token, whose secret others can see among the arguments of programs: revoke it by "
                          f"its id, {id}", "token", "revoke", self.tokens, token)

    def test_changes_by_operators_are_in_the_log(self):
        worker = self.make("worker", "put,reserve,change")
        self.begin("--quiet")
        program, operator = self.sign_in(worker), self.sign_in(self.admin)
        for _ in range(3):
            job = program.ask(put(b"a body")).split()[1]
            self.assertEqual(program.ask(b"delete %s\r\n" % job.strip()), b"DELETED\r\n")
        kept = program.ask(put(b"a body")).split()[1].strip()
        self.assertEqual(operator.ask(b"pause-tube default 1\r\n"), b"PAUSED\r\n")
        self.assertEqual(operator.ask(b"x-reschedule %s 100000\r\n" % kept), b"RESCHEDULED %s\r\n" % kept)
        self.assertEqual(program.ask(b"kick 10\r\n"), b"KICKED 1\r\n")
        self.assertEqual(operator.ask(b"delete %s\r\n" % kept), b"DELETED\r\n")
        self.wait_for_log(f"audit {self.id_of(self.admin)}: cancel, job ")
        lines = [line.split(" ", 1)[1] for line in "".join(self.log).splitlines() if " audit " in line]
        id, kept = self.id_of(self.admin), kept.decode()
        self.assertEqual(lines, [f"audit {id}: pause, tube 'default'", f"audit {id}: reschedule, job {kept}",
                                 f"audit {self.id_of(worker)}: kick, tube 'default'", f"audit {id}: cancel, job {kept}"])
        self.assertNotIn("a body", "".join(self.log))


class Memory(AccessCase):
    def test_no_token_of_a_beanstalk_client_stays_in_the_memory(self):
        """Neither one that lets its client in, nor one in a wrong place."""
        self.begin()
        if not can_read_memory(self.server.process.pid):
            self.skipTest("the memory of a child may not be read here")
        shows = b"x-auth %s\r\n" % self.admin
        signed_in = self.sign_in(self.admin)
        self.assertEqual(signed_in.ask(shows), b"UNKNOWN_COMMAND\r\n")
        for half in (shows[:40], shows[40:]):
            signed_in.send(half)
        self.assertEqual(signed_in.answer(), b"UNKNOWN_COMMAND\r\n")
        behind = self.connect(self.server)
        behind.send(shows + shows + put(b"text"))
        self.assertEqual([behind.answer() for _ in range(2)],
                         [b"AUTHENTICATED %s\r\n" % self.id_of(self.admin).encode(), b"UNKNOWN_COMMAND\r\n"])
        self.assertRegex(behind.answer(), rb"\AINSERTED \d+\r\n\Z")
        for line in (b"list-tubes\r\n" + shows, shows.replace(b" ", b"  "), shows[:-2]):
            self.expect_refused_at_its_end(line)
        self.expect_none_in_memory(self.server.process.pid)

    def test_no_token_stays_in_the_memory_while_its_client_waits(self):
        """Also where buffers have grown, and where lines came in pieces and between others."""
        self.begin()
        if not can_read_memory(self.server.process.pid):
            self.skipTest("the memory of a child may not be read here")
        client = self.sign_in(self.admin)
        lines = 500
        text = lines * (b"x-auth %s\r\nlist-tube-used\r\n" % self.admin) + b"reserve\r\n"
        for begin in range(0, len(text), 1021):
            client.send(text[begin:begin + 1021])
        for _ in range(lines):
            self.assertEqual([client.answer() for _ in range(2)], [b"UNKNOWN_COMMAND\r\n", b"USING default\r\n"])
        self.expect_none_in_memory(self.server.process.pid)

    def test_no_token_stays_in_the_memory_of_a_server_that_asks_for_none(self):
        server = self.serve("--memory")
        if not can_read_memory(server.process.pid):
            self.skipTest("the memory of a child may not be read here")
        shows = b"x-auth %s\r\n" % self.admin
        client = self.connect(server)
        self.assertEqual(client.ask(shows), b"UNKNOWN_COMMAND\r\n")
        gone = self.connect(server)
        gone.send(shows[:-2] + b"\n")  # no end of a line
        gone.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(gone.rest(), b"")
        self.expect_none_in_memory(server.process.pid)

    def test_no_first_call_of_a_function_stores_registers(self):
        """The loader would leave on the stack what was copied last, for as long as its thread calls nothing so deep."""
        programs = [Path(FOLIOT), Path(FOLIOT).with_name("foliot-job")]
        for program in programs:
            if program == programs[0] or program.exists():
                self.assertTrue(binds_at_start(program), program)

    def expect_refused_at_its_end(self, text):
        """A client that sends this and no more is answered and closed."""
        connection = self.connect(self.server)
        connection.send(text)
        connection.socket.shutdown(socket.SHUT_WR)
        self.assertIn(connection.rest(), (b"NOT_AUTHENTICATED\r\n", b"BAD_TOKEN\r\n", b""))

    def expect_none_in_memory(self, pid):
        # The parts of the secret that an allocator does not overwrite when it takes back memory.
        secret = self.admin.split(b"_")[2][8:40]
        until = time.monotonic() + PATIENCE
        while count := times_in_memory(pid, secret):  # of connections that are about to end
            self.assertLess(time.monotonic(), until, count)
            time.sleep(0.05)


class OnTheMachine(ServeCase):
    """What others may see of a running server, or of one that has crashed."""

    def crash(self, process):
        """Whether the kernel says that it has dumped the memory of this process."""
        os.kill(process.pid, signal.SIGABRT)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = -signal.SIGABRT
        self.assertTrue(os.WIFSIGNALED(status))
        return os.WCOREDUMP(status)

    def test_a_server_that_crashes_leaves_no_core_dump(self):
        before = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, before)
        with subprocess.Popen(["sleep", "60"], cwd=self.here) as other:
            if not self.crash(other):
                self.skipTest("the system leaves no core dumps here")
        with self.start("serve", "--memory", "--beanstalk", "unix:sock") as server:
            while b"clients connect to" not in (line := server.stderr.readline()):
                self.assertTrue(line, "it has ended")
            self.assertFalse(self.crash(server))

    @unittest.skipUnless(os.environ.get("FOLIOT_STORES", "1") == "1", "the program is built without PostgreSQL")
    def test_the_list_of_processes_has_no_password_of_a_database(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as database:
            database.settimeout(PATIENCE)
            at = f"127.0.0.1:{database.getsockname()[1]}"
            for store in [f"--store=postgresql://foliot:secret@{at}/jobs", f"postgresql://{at}/jobs?user=foliot&password=secret",
                          f"host=127.0.0.1 port={database.getsockname()[1]} user=foliot password='secret' dbname=jobs"]:
                arguments = [store] if store.startswith("--") else ["--store", store]
                with self.start("serve", "--beanstalk", "unix:sock", "--node", "n", *arguments) as server:
                    self.addCleanup(server.kill)
                    try:
                        connection, _ = database.accept()  # it has the password, and waits for an answer
                    except TimeoutError:
                        server.kill()
                        self.fail(server.stderr.read().decode())
                    with connection, open(f"/proc/{server.pid}/cmdline", "rb") as line:
                        said = line.read()
                    server.kill()
                self.assertIn(b"foliot", said)
                self.assertNotIn(b"secret", said)


class Certificates(AccessCase):
    """Certificates of clients, and both locks together."""

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.here)
        self.certificate, self.key = self.authority.issue("server")
        self.worker, self.other = self.authority.issue("worker"), self.authority.issue("other")

    def make_entry(self, certificate, scopes, *more):
        printed = openssl("x509", "-in", certificate, "-noout", "-fingerprint", "-sha256").stdout.decode().strip()
        return self.make("a client", scopes, "--certificate", printed, *more).decode()

    def begin_by_tls(self, address, *arguments):
        self.server = TokenServer(self.admin, "--tokens", self.tokens, "--tls-certificate", self.certificate, "--tls-key",
                                  self.key, "--tls-client-ca", self.authority.certificate, *arguments, address=address,
                                  tls=self.authority.client())
        self.addCleanup(self.end, self.server)

    def connect_as(self, identity):
        connection = Connection(self.server.address, self.authority.client(identity))
        self.addCleanup(connection.close)
        return connection

    def test_an_entry_gives_its_rights_until_it_is_revoked(self):
        id = self.make_entry(self.worker[0], "put,look", "--tubes", "mail.")
        self.begin_by_tls("127.0.0.1")
        worker = self.connect_as(self.worker)
        self.assertEqual(worker.ask(b"use mail.in\r\n"), b"USING mail.in\r\n")
        self.assertRegex(worker.ask(put(b"text")), rb"\AINSERTED \d+\r\n\Z")
        self.assertEqual(worker.ask(b"use bill\r\n"), b"FORBIDDEN\r\n")
        self.assertEqual(worker.ask(b"kick 1\r\n"), b"FORBIDDEN\r\n")
        for identity in (self.other, None):
            stranger = self.connect_as(identity)
            stranger.send(b"list-tubes\r\n")
            self.assertEqual(stranger.rest(), b"NOT_AUTHENTICATED\r\n")
            self.expect_work(self.sign_in(self.admin, self.connect_as(identity)))
        stays = self.sign_in(self.admin, self.connect_as(self.worker))
        silent = self.connect_as(self.worker)
        self.expect_done("token", "revoke", self.tokens, id)
        self.assertEqual((worker.rest(), silent.rest()), (b"", b""))
        self.expect_work(stays)
        again = self.connect_as(self.worker)
        again.send(b"list-tubes\r\n")
        self.assertEqual(again.rest(), b"NOT_AUTHENTICATED\r\n")

    def test_entries_are_for_servers_that_ask_for_certificates(self):
        self.make_entry(self.worker[0], "put")
        self.begin()
        self.wait_for_log("warning entries of certificates give nobody access: clients are asked for certificates by "
                          "--tls-client-ca only\n")
        self.expect_work(self.sign_in(self.admin))

    def test_where_a_server_may_listen(self):
        everywhere = ["serve", "--memory", "--beanstalk", f"0.0.0.0:{beanstalk_client.free_port()}", "--tokens", self.tokens]
        self.expect_error("can be reached from other machines, and without TLS everybody on the way can read its jobs and the "
                          "access tokens: add --tls-certificate FILE; or name a loopback address or a path; or do without by "
                          "--insecure", *everywhere)
        self.begin_by_tls("0.0.0.0")
        self.expect_work(self.sign_in(self.admin))
        stranger = self.connect_as(None)
        stranger.send(put(b"text"))
        self.assertEqual(stranger.rest(), b"NOT_AUTHENTICATED\r\n")

    def test_insecure_does_not_switch_off_tokens(self):
        self.begin("--insecure", address="0.0.0.0")
        self.expect_refused(put(b"text"))
        self.expect_work(self.sign_in(self.admin))


if __name__ == "__main__":
    main()
