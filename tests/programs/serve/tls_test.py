"""`foliot serve` under TLS: who is served, and certificates that are replaced while the server runs."""
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE, Connection
from kit.certificates import Authority, openssl
from kit.program_case import FOLIOT, main
from kit.serve_case import ServeCase, put

RELOADS = 10


class TlsCase(ServeCase):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.here)
        self.certificate, self.key = self.here / "certificate", self.here / "key"
        self.first = self.authority.issue("first")
        self.replace(*self.first)
        self.with_certificate = ["--tls-certificate", self.certificate, "--tls-key", self.key]

    def serve_by_tls(self, *arguments):
        return self.serve("--memory", *self.with_certificate, *arguments, tls=self.authority.client())

    def replace(self, certificate, key):
        """What the server reads, one file after the other."""
        pairs = [(key, self.key), (certificate, self.certificate)]
        for new, old in pairs:
            shutil.copy(new, f"{old}.new")
        for _, old in pairs:
            os.replace(f"{old}.new", old)

    def subject(self, server):
        """The common name that the server shows to a new client."""
        connection = server.connect()
        try:
            return dict(pair for each in connection.socket.getpeercert()["subject"] for pair in each)["commonName"]
        finally:
            connection.close()

    def wait_for_subject(self, server, name):
        until = time.monotonic() + PATIENCE
        while (seen := self.subject(server)) != name:
            self.assertLess(time.monotonic(), until, f"wanted {name}, but there is {seen}")
            time.sleep(0.02)


class Clients(TlsCase):
    def test_both_versions(self):
        server = self.serve_by_tls()
        for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]:
            with self.subTest(version=version):
                server.tls = self.authority.client(version=version)
                client = self.connect(server)
                self.expect_work(client)
                large = b"x" * 60_000
                self.assertRegex(client.ask(put(large)), rb"\AINSERTED \d+\r\n\Z")
                self.assertTrue(client.ask(b"reserve\r\n").endswith(large + b"\r\n"))
                client.send(b"quit\r\n")
                self.assertEqual(client.rest(), b"", "an end that is one, and no cut")

    def test_a_client_that_does_not_trust_the_server(self):
        server = self.serve_by_tls()
        stranger = Authority(self.here, "stranger").client()
        with self.assertRaises(ssl.SSLCertVerificationError):
            Connection(server.address, stranger)
        client = self.connect(server)
        self.wait_until(client, foliot_tls_failed=1)
        self.expect_work(client)

    def test_a_client_in_plain_is_closed(self):
        server = self.serve_by_tls()
        for text in [put(b"plain"), b"stats\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x00\x02xx"]:
            with socket.create_connection(server.address, PATIENCE) as plain:
                plain.sendall(text)
                plain.shutdown(socket.SHUT_WR)
                answer = b""
                try:
                    while piece := plain.recv(4096):
                        answer += piece
                except ConnectionResetError:
                    pass
                self.assertLessEqual(len(answer), 7, "an alert at most")
        client = self.connect(server)
        self.wait_until(client, foliot_tls_failed=4, cmd_put=0, total_jobs=0)
        code, log = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(log, r"warning close the connection from 127\.0\.0\.1:\d+: its TLS handshake has failed: ")

    def test_slow_handshakes_hold_up_nobody_and_count_as_connections(self):
        server = self.serve_by_tls("--max-connections", 4)
        slow = []
        for begin in [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"]:
            one = socket.create_connection(server.address, PATIENCE)
            self.addCleanup(one.close)
            one.sendall(begin)
            slow.append(one)
        self.expect_work(self.connect_accepted(server))
        for one in slow:
            one.close()
        others = [self.connect_accepted(server) for _ in range(3)]
        for each in others:
            self.expect_work(each)

    def test_renegotiation_is_refused(self):
        server = self.serve_by_tls()
        other = self.connect(server)
        host, port = server.address
        with subprocess.Popen(["openssl", "s_client", "-tls1_2", "-connect", f"{host}:{port}", "-CAfile",
                               str(self.authority.certificate)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as client:
            client.stdin.write(b"R\n")
            client.stdin.flush()
            seen = client.stdout.read()  # it ends because the server does not take part
            client.stdin.close()
            client.wait(PATIENCE)
        self.assertIn(b"RENEGOTIATING", seen)
        self.assertIn(b"no renegotiation", seen)
        self.expect_work(other)
        self.wait_until(other, current_connections=1)

    def test_certificates_of_clients(self):
        server = self.serve_by_tls("--tls-client-ca", self.authority.certificate)
        worker = self.authority.issue("worker")
        server.tls = self.authority.client(worker)
        self.expect_work(self.connect(server))
        server.tls = self.authority.client()
        self.expect_work(self.connect(server))  # without one
        forged = Authority(self.here, "stranger").issue("worker2")
        refused, begins = 0, time.monotonic()
        for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3] * 5:
            with self.assertRaisesRegex(ssl.SSLError, "(?i)alert unknown ca"):
                client = Connection(server.address, self.authority.client(forged, version))
                self.addCleanup(client.close)
                select.select([client.socket], [], [], PATIENCE)  # with 1.3 the server judges it after the handshake
                client.ask(b"stats\r\n")
            refused += 1
        other = self.connect(server)
        self.expect_work(other)
        self.wait_until(other, foliot_tls_failed=refused)
        code, log = server.stop()
        self.assertEqual(code, 0)
        lines = [each for each in log.splitlines() if "its TLS handshake has failed" in each]
        self.assertRegex(lines[0], r"warning close the connection from 127\.0\.0\.1:\d+: its TLS handshake has failed: "
                                   r"certificate verify failed: unable to get local issuer certificate")
        self.assertLessEqual(len(lines), 1 + (time.monotonic() - begins) / 10, "at most one in ten seconds")


class Reloads(TlsCase):
    def test_a_signal_and_a_change_of_the_files(self):
        server = self.serve_by_tls()
        before = self.connect(server)
        self.assertEqual(self.subject(server), "first")
        self.replace(*self.authority.issue("second"))
        server.process.send_signal(signal.SIGHUP)
        self.wait_for_subject(server, "second")
        self.replace(*self.authority.issue("third", days=2))
        self.wait_for_subject(server, "third")
        self.expect_work(before)
        seen = before.numbers(b"stats\r\n")
        self.assertLessEqual(seen["foliot-tls-seconds-left"], 2 * 86400)
        self.assertLess(abs(seen["foliot-tls-ends"] - time.time() - seen["foliot-tls-seconds-left"]), 60)
        self.assertEqual((seen["foliot-tls-taken"], seen["foliot-tls-refused"]), (3, 0))
        self.assertEqual(server.stop()[0], 0)

    def test_a_bad_pair_keeps_the_one_before(self):
        server = self.serve_by_tls()
        client = self.connect(server)
        good = self.authority.issue("good")
        expired = self.authority.issue("expired", days=-1)
        half = self.here / "half"
        half.write_bytes(good[0].read_bytes()[:200])
        for sentence, bad in [("key values mismatch", (good[0], expired[1])), ("has expired at", expired),
                              ("cannot be used", (half, good[1]))]:
            with self.subTest(sentence=sentence):
                self.replace(*bad)
                self.wait_until(client, foliot_tls_refused=1)
                self.assertEqual(self.subject(server), "first")
                self.replace(*self.first)
                self.wait_until(client, foliot_tls_refused=0)
        self.certificate.unlink()
        server.process.send_signal(signal.SIGHUP)
        self.wait_until(client, foliot_tls_refused=1)
        self.assertEqual(self.subject(server), "first")
        self.replace(*good)
        self.wait_for_subject(server, "good")
        code, log = server.stop()
        self.assertEqual(code, 0)
        lines = log.splitlines()
        for sentence in ["key values mismatch", "has expired at", "cannot be used", "No such file or directory"]:
            found = [line for line in lines if sentence in line]
            self.assertTrue(found, log)
            self.assertIn(" warning the new TLS certificate is not used: ", found[0])
            self.assertIn("; clients still get CN=first, valid until ", found[0])

    def test_reloads_under_load_lose_no_connection(self):
        """In a folder as Kubernetes makes it: the paths lead through a link that is replaced."""
        volume = self.here / "volume"
        volume.mkdir()

        def swap(name):
            identity = self.authority.issue(name)
            folder = volume / f"..{name}"
            folder.mkdir()
            for new, file in zip(identity, ["tls.crt", "tls.key"]):
                shutil.copy(new, folder / file)
            (volume / "..data_tmp").symlink_to(folder.name)
            os.replace(volume / "..data_tmp", volume / "..data")

        swap("name0")
        for file in ["tls.crt", "tls.key"]:
            (volume / file).symlink_to(f"..data/{file}")
        server = self.serve("--memory", "--tls-certificate", volume / "tls.crt", "--tls-key", volume / "tls.key",
                            tls=self.authority.client())
        ends, failures, done = threading.Event(), [], []

        def work(lasting):
            try:
                client = server.connect()
                while not ends.is_set():
                    self.expect_work(client)
                    done.append(lasting)
                    if not lasting:
                        client.close()
                        client = server.connect()
                client.close()
            except Exception as error:  # whatever it is, the test has failed
                failures.append(repr(error))

        threads = [threading.Thread(target=work, args=(lasting,)) for lasting in [True, True, False, False]]
        for each in threads:
            each.start()
        try:
            for number in range(1, RELOADS + 1):
                swap(f"name{number}")
                if number % 5:
                    server.process.send_signal(signal.SIGHUP)
                self.wait_for_subject(server, f"name{number}")
        finally:
            ends.set()
            for each in threads:
                each.join()
        self.assertEqual(failures, [])
        self.assertEqual(set(done), {True, False})
        client = self.connect(server)
        seen = client.numbers(b"stats\r\n")
        self.assertGreater(seen["foliot-tls-taken"], RELOADS)
        self.assertEqual(seen["foliot-tls-failed"], 0)
        code, log = server.stop()
        self.assertEqual((code, [line for line in log.splitlines() if "jobs are in memory" not in line]), (0, []))


class Starts(TlsCase):
    def refuse(self, sentence, *arguments):
        self.expect_error(sentence, "serve", "--quiet", "--memory", *arguments)

    def test_files_that_cannot_be_used(self):
        at = ["--beanstalk", "unix:sock", "--tls-certificate"]
        expired = self.authority.issue("expired", days=-1)
        other = self.authority.issue("other")
        empty = self.here / self.put("empty", b"")
        self.refuse("cannot read 'nowhere': No such file or directory", *at, "nowhere")
        self.refuse("is no regular file", *at, self.here)
        self.refuse(f"'{empty}' has no certificate", *at, empty, "--tls-key", self.key)
        self.refuse("cannot be used: key values mismatch", *at, self.certificate, "--tls-key", other[1])
        self.refuse(f"'{self.certificate}' has no private key: name the file of the key by --tls-key", *at, self.certificate)
        self.refuse(f"'{empty}' has no private key", *at, self.certificate, "--tls-key", empty)
        encrypted = self.here / "encrypted.key"
        openssl("pkey", "-in", self.key, "-aes256", "-passout", "pass:secret", "-out", encrypted)
        self.refuse(f"the key in '{encrypted}' is encrypted with a password: store it without one", *at, self.certificate,
                    "--tls-key", encrypted)
        self.refuse("has expired at 2", *at, expired[0], "--tls-key", expired[1])
        self.refuse(f"'{empty}' has no certificate", *at, self.certificate, "--tls-key", self.key, "--tls-client-ca", empty)
        for option in ["--tls-certificate", "--tls-key", "--tls-client-ca"]:
            self.refuse("the path of a file is empty", option, "")
        for option in ["--tls-key", "--tls-client-ca"]:
            self.refuse(f"{option} requires --tls-certificate", option, self.key)

    def test_where_a_server_may_listen(self):
        everywhere = ["--beanstalk", f"0.0.0.0:{beanstalk_client.free_port()}"]
        otherwise = "; or name a loopback address or a path; or do without by --insecure"
        token = "--tokens FILE, which 'foliot token make' writes"
        self.refuse("can be reached from other machines, and it has neither TLS nor access tokens: add --tls-certificate FILE, "
                    f"and {token}{otherwise}", *everywhere)
        self.refuse("can be reached from other machines, and TLS alone lets every client that reaches it read and delete all "
                    f"jobs: add {token}{otherwise}", *everywhere, *self.with_certificate)

    def test_insecure_does_not_switch_off_tls(self):
        server = beanstalk_client.Server(
            lambda port: [FOLIOT, "serve", "--quiet", "--memory", "--beanstalk", f"0.0.0.0:{port}", "--insecure",
                          *map(str, self.with_certificate)], tls=self.authority.client())
        self.addCleanup(self.end, server)
        self.expect_work(self.connect(server))
        with socket.create_connection(server.address, PATIENCE) as plain:
            plain.sendall(b"list-tube-used\r\n")
            plain.shutdown(socket.SHUT_WR)
            self.assertNotIn(b"USING", plain.recv(4096))

    def test_a_path_and_the_log(self):
        process = self.start("serve", "--memory", "--beanstalk", "unix:sock", *self.with_certificate)
        self.addCleanup(process.kill)
        client, until = None, time.monotonic() + PATIENCE
        while client is None:
            self.assertLess(time.monotonic(), until)
            try:
                client = Connection(str(self.here / "sock"), self.authority.client())
            except OSError:
                time.sleep(0.01)
        self.expect_work(client)
        client.close()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        log = process.communicate(timeout=PATIENCE)[1].decode()
        self.assertEqual(process.returncode, 0)
        self.assertRegex(log, r"info new connections get the TLS certificate CN=first, valid until 2[-0-9T:]+Z\n")
        self.assertRegex(log, r"info beanstalk clients connect to \S+ by TLS\n")


class Copies(TlsCase):
    """`foliot copy` as a client."""

    def expect_failure(self, pattern, *arguments):
        code, out, err = self.run_foliot("copy", *arguments)
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, pattern)

    def test_between_servers_by_tls(self):
        source, target = self.serve_by_tls(), self.serve_by_tls()
        client, bodies = self.connect(source), [b"%d " % number + number * 600 * b"x" for number in range(100)]
        for body in bodies:
            self.assertRegex(client.ask(put(body)), rb"\AINSERTED \d+\r\n\Z")
        places = [f"tls:{host}:{server.address[1]}" for host, server in [("127.0.0.1", source), ("localhost", target)]]
        self.assertIn("moved 100 jobs from", self.expect_done("copy", "--tls-ca", self.authority.certificate, *places))
        other = self.connect(target)
        for body in bodies:
            head = other.ask(b"reserve\r\n")
            self.assertTrue(head.startswith(b"RESERVED ") and head.endswith(b"\r\n" + body + b"\r\n"), head[:100])

    def test_what_cannot_be(self):
        server, plain = self.serve_by_tls(), self.serve("--memory")
        by_tls, unlike = (f"tls:localhost:{each.address[1]}" for each in (server, plain))
        other, trusts = f"{plain.address[1]}", ["--tls-ca", self.authority.certificate]
        self.expect_failure("by TLS as 'localhost': certificate verify failed: ", by_tls, other)
        self.expect_failure("by TLS as 'localhost': wrong version number", *trusts, unlike, by_tls)
        self.expect_failure(f"at 127.0.0.1:{server.address[1]} closed|to 127.0.0.1:{server.address[1]} ended|else than a reply",
                            f"{server.address[1]}", other)
        self.expect_failure("--tls-ca: the certificates in 'nowhere' cannot be used: No such file", "--tls-ca", "nowhere",
                            by_tls, other)
        self.expect_failure("the path of a file is empty", "--tls-ca", "", by_tls, other)
        self.expect_failure("--tls-ca is for servers that speak TLS: write tls: in front", *trusts, other, f"{server.address[1]}")
        self.expect_failure("FROM 'tls:x' is no address|FROM 'x' is no address", *trusts, "tls:x", other)


if __name__ == "__main__":
    main()
