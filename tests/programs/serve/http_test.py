"""The server as clients of HTTP see it: Python's http.client, and sockets for what no library sends."""
import http.client
import json
import socket
import time

from kit.program_case import main
from kit.serve_case import ServeCase, put

PATIENCE = 60  # seconds


class LocalConnection(http.client.HTTPConnection):
    """To a socket file: no port that another process could take meanwhile."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(self.path))


class HttpCase(ServeCase):
    def begin(self, *arguments):
        self.path = self.here / "http"
        self.server = self.serve("--http", f"unix:{self.path}", *(arguments or ["--memory"]))
        self.client = self.connect_http()

    def connect_http(self):
        connection = LocalConnection(self.path)
        self.addCleanup(connection.close)
        return connection

    def raw(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(str(self.path))
        self.addCleanup(connection.close)
        return connection

    def ask(self, method, target, value=None, client=None, headers=None):
        """The status, and the value of the answer."""
        client = client or self.client
        headers = dict(headers or {})
        if value is not None and not isinstance(value, bytes):
            value = json.dumps(value)
            headers["Content-Type"] = "application/json"
        client.request(method, target, body=value, headers=headers)
        response = client.getresponse()
        body = response.read()
        self.assertEqual(response.getheader("X-Content-Type-Options"), "nosniff")
        return response.status, json.loads(body) if body else None


def all_of(connection):
    """All bytes until the server closes the connection."""
    text = b""
    while piece := connection.recv(65536):
        text += piece
    return text


class Jobs(HttpCase):
    def test_a_job_from_put_to_cancel(self):
        self.begin()
        self.assertEqual(self.ask("PUT", "/v1/tubes/mail/jobs/order%2F17", {"text": "hi", "delay": "1h"}),
                         (201, {"id": "1", "outcome": "inserted"}))
        status, job = self.ask("GET", "/v1/job?tube=mail&key=order/17")
        self.assertEqual((status, job["text"], job["state"]), (200, "hi", "delayed"))
        self.assertEqual(self.ask("POST", "/v1/jobs/1/fire"), (200, {"id": "1", "outcome": "ready"}))
        self.assertEqual(self.ask("DELETE", "/v1/jobs/1"), (200, {"id": "1", "outcome": "cancelled"}))
        status, problem = self.ask("DELETE", "/v1/jobs/1")
        self.assertEqual((status, problem["outcome"]), (404, "gone"))

    def test_clients_of_both_protocols_share_the_jobs(self):
        self.begin()
        beanstalk = self.connect(self.server)
        self.ask("POST", "/v1/jobs?tube=default", b"over \r\n HTTP", headers={"Content-Type": "text/x",
                                                                          "Foliot-Header-A": "b"})
        self.assertEqual(beanstalk.ask(b"reserve\r\n"), b"RESERVED 1 12\r\nover \r\n HTTP\r\n")
        beanstalk.ask(b"delete 1\r\n")
        beanstalk.ask(put(b"\xff"))
        status, answer = self.ask("POST", "/v1/reserve", {"tube": "default"})
        self.assertEqual((status, answer["jobs"][0]["base64"]), (200, "/w=="))

    def test_what_was_acknowledged_survives_a_crash(self):
        self.begin("--data", self.here / "jobs")
        headers = {"Content-Type": "text/x", "Foliot-Header-Trace": "a"}
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail&key=k", b"hi", headers=headers)[0], 201)
        self.assertEqual(self.ask("POST", "/v1/reserve", {"tube": "mail"})[1]["jobs"][0]["key"], "k")
        self.server.kill()
        self.begin("--data", self.here / "jobs")
        status, job = self.ask("GET", "/v1/tubes/mail/jobs/k")
        self.assertEqual((status, job["state"], job["text"]), (200, "ready", "hi"))
        self.assertEqual((job["content_type"], job["headers"]), ("text/x", {"trace": "a"}))

    def test_the_token_of_an_earlier_start_is_refused(self):
        self.begin("--data", self.here / "jobs")
        self.ask("POST", "/v1/jobs?tube=mail", b"hi")
        token = self.ask("POST", "/v1/reserve", {"tube": "mail"})[1]["jobs"][0]["reservation"]
        self.server.kill()
        self.begin("--data", self.here / "jobs")
        self.assertEqual(self.ask("POST", "/v1/reserve", {"tube": "mail"})[1]["jobs"][0]["id"], "1")
        status, problem = self.ask("POST", f"/v1/reservations/{token}/finish")
        self.assertEqual((status, problem["outcome"]), (409, "not_held"))


class Work(HttpCase):
    def test_a_reservation_over_another_connection(self):
        self.begin()
        other = self.connect_http()
        self.ask("POST", "/v1/jobs?tube=mail", b"hi")
        _, answer = self.ask("POST", "/v1/reserve", {"tube": "mail"})
        self.client.close()
        token = answer["jobs"][0]["reservation"]
        self.assertEqual(self.ask("POST", f"/v1/reservations/{token}/touch", client=other)[0], 200)
        self.assertEqual(self.ask("POST", f"/v1/reservations/{token}/finish", client=other)[1]["outcome"], "finished")

    def wait_for_waiting(self, count):
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/v1/statistics")[1]["server"]["waiting"] != count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)

    def test_a_long_poll_gets_the_job(self):
        self.begin()
        worker = self.connect_http()
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        self.wait_for_waiting(1)
        self.ask("POST", "/v1/jobs?tube=mail", b"late")
        self.assertEqual(json.loads(worker.getresponse().read())["jobs"][0]["text"], "late")

    def test_a_client_that_goes_away_while_it_waits(self):
        self.begin()
        worker = self.connect_http()
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        self.wait_for_waiting(1)
        worker.close()
        self.wait_for_waiting(0)
        self.ask("POST", "/v1/jobs?tube=mail", b"hi")
        self.assertEqual(self.ask("GET", "/v1/jobs/1")[1]["state"], "ready")

    def test_a_waiting_client_does_not_hold_up_the_end(self):
        self.begin()
        worker = self.connect_http()
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        self.wait_for_waiting(1)
        began = time.monotonic()
        code, _ = self.server.stop()
        self.assertEqual(code, 0)
        self.assertLess(time.monotonic() - began, PATIENCE)


class Connections(HttpCase):
    def test_requests_that_follow_each_other(self):
        self.begin()
        connection = self.raw()
        connection.sendall(b"".join(b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n%d" %
                                    (i % 10) for i in range(100)) +
                           b"GET /v1/statistics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answers = all_of(connection)
        self.assertEqual(answers.count(b"HTTP/1.1 201 Created\r\n"), 100)
        self.assertIn(b'"ready":100', answers)

    def test_byte_by_byte(self):
        self.begin()
        connection = self.raw()
        for byte in (b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"):
            connection.sendall(bytes([byte]))
        self.assertIn(b"HTTP/1.1 201 ", all_of(connection))

    def test_a_smuggled_request_is_not_executed(self):
        self.begin()
        smuggled = b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"
        for fields in [b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: gzip\r\nContent-Length: 0",
                       b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"Content-Length: 0\r\nContent-Length: 0",
                       b"X: a\nContent-Length: 0", b"X: a\r\n b", b"Content-Length : 0"]:
            with self.subTest(fields=fields):
                connection = self.raw()
                connection.sendall(b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n\r\n" +
                                   b"0\r\n\r\n" + smuggled)
                answer = all_of(connection)
                self.assertRegex(answer, rb"\AHTTP/1.1 (400|501) ")
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_a_client_of_beanstalk_is_told_so(self):
        self.begin()
        connection = self.raw()
        connection.sendall(put(b"hi"))
        self.assertTrue(all_of(connection).startswith(b"HTTP/1.1 400 "))

    def test_a_page_of_another_site_is_a_stranger(self):
        self.begin()
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=t", b"x", headers={"Origin": "http://evil.example"})[0], 403)
        self.assertEqual(self.ask("GET", "/v1/tubes", headers={"Host": "evil.example"})[0], 421)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_health(self):
        self.begin()
        self.assertEqual(self.ask("GET", "/health"), (200, {"status": "ok"}))
        self.assertEqual(self.ask("GET", "/ready"), (200, {"status": "ready"}))

    def test_a_body_without_an_end_is_refused(self):
        self.begin()
        connection = self.raw()
        connection.sendall(b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(100):
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        except OSError:
            pass  # the server has closed it
        self.assertEqual(self.ask("GET", "/health")[0], 200)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_addresses(self):
        wrong = [(["--http", ""], "is no address"),
                 (["--memory", "--beanstalk", "off", "--http", "off"], "no way to reach the jobs"),
                 (["--memory", "--http", "192.0.2.1:80"], "can be reached from other machines")]
        for arguments, message in wrong:
            with self.subTest(arguments=arguments):
                self.expect_error(message, "serve", *arguments)


if __name__ == "__main__":
    main()
