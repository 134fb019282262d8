"""`foliot serve` behind proxies that people have: nginx and haproxy of Debian. What clients ask for must arrive as they have
sent it, and their addresses must count.

usage: proxies_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support

A class is skipped, exit code 77, where its proxy is not installed.
"""
import http.client
import json
import os
import shutil
import subprocess
import threading
import time
import unittest

from kit import nginx
from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE, free_port
from kit.program_case import main

PATHS = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
HAPROXY = """
defaults
    mode http
    timeout connect 60s
    timeout client 300s
    timeout server 300s
    http-reuse always
    option abortonclose
frontend front
    bind 127.0.0.1:{port}
    default_backend timers
backend timers
    option forwardfor
    server timers unix@{here}/http
"""


class BehindAProxy:
    """What must hold behind each of them."""
    package = ""

    @classmethod
    def setUpClass(cls):
        cls.proxy = shutil.which(cls.package, path=PATHS)
        if cls.proxy is None:
            raise unittest.SkipTest(f"{cls.package} is not installed (Debian: {cls.package})")

    def begin(self, *arguments):
        super().begin("--proxy", "unix", *arguments)
        until = time.monotonic() + PATIENCE
        while not self.begin_proxy():  # another process has got the port
            self.assertLess(time.monotonic(), until, self.said())

    def said(self):
        return (self.here / "proxy.log").read_text()

    def begin_proxy(self):
        """False if the proxy has ended."""
        self.port = free_port()
        configuration = self.here / "proxy.conf"
        configuration.write_text(self.configuration())
        with (self.here / "proxy.log").open("w") as said:
            process = subprocess.Popen([self.proxy, *(each.format(file=configuration, here=self.here) for each in self.flags)],
                                       stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        until = time.monotonic() + PATIENCE
        while process.poll() is None:
            try:
                if self.through("GET", "/v1/tubes", self.admin)[0] == 200:  # no other server knows the token
                    return True
            except (OSError, ValueError, http.client.HTTPException):
                pass
            self.assertLess(time.monotonic(), until, self.said())
            time.sleep(0.01)
        return False

    def connect(self, source="127.0.0.1"):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=(source, 0))

    def through(self, method, target, token=None, body=None, fields=None, source="127.0.0.1"):
        return self.ask_over(self.connect(source), method, target, token, body, fields)

    def put(self, method, target, body, fields=None):
        status, value, _ = self.through(method, target, self.admin, body, fields)
        self.assertEqual(status, 201, value)
        return value["id"]

    def expect_job(self, key, tube="mail/out"):
        job = self.ask("GET", f"/v1/job?tube={tube}&key={key}", self.admin)[1]
        self.assertEqual((job["tube"], job["key"]), (tube, key), job)

    def test_names_with_slashes(self):
        self.begin()
        json_type = {"Content-Type": "application/json"}
        self.put("PUT", "/v1/tubes/mail%2Fout/jobs/a%2Fb%2F%2Fc", b"x")
        self.expect_job("a/b//c")
        self.put("PUT", "/v1/job?tube=mail/out&key=q%2F../r", b"x")
        self.expect_job("q/../r")
        self.put("PUT", "/v1/job", json.dumps({"tube": "mail/out", "key": "in/a/body", "body": 1}), json_type)
        self.expect_job("in/a/body")
        status, job, _ = self.through("GET", "/v1/tubes/mail%2Fout/jobs/a%2Fb%2F%2Fc", self.admin)
        self.assertEqual((status, job["key"]), (200, "a/b//c"))
        self.assertEqual(self.through("DELETE", "/v1/tubes/mail%2Fout/jobs/a%2Fb%2F%2Fc", self.admin)[0], 200)

    def test_bodies_of_any_bytes(self):
        self.begin()
        body = bytes(range(256)) * 200
        made = self.put("POST", "/v1/jobs?tube=bytes", body, {"Content-Type": "application/octet-stream"})
        chunked = self.put("POST", "/v1/jobs?tube=bytes", iter([body[:1000], body[1000:]]),
                           {"Content-Type": "application/octet-stream"})
        shown = [self.through("GET", f"/v1/jobs/{each}", self.admin)[1]["base64"] for each in (made, chunked)]
        self.assertEqual(shown[0], shown[1])
        self.assertEqual(len(shown[0]), (len(body) + 2) // 3 * 4)

    def test_long_polls(self):
        self.begin()
        answers = []
        poll = threading.Thread(target=lambda: answers.append(
            self.through("POST", "/v1/reserve?tube=mail&timeout=5m", self.admin)))
        poll.start()
        self.addCleanup(poll.join)
        self.wait_for_waiting(1)
        self.put("POST", "/v1/jobs?tube=mail", b"hello")
        poll.join(PATIENCE)
        self.assertEqual(answers[0][1]["jobs"][0]["text"], "hello")
        # A client that goes away while it waits gets none: the proxy says so.
        gone = self.connect()
        gone.request("POST", "/v1/reserve?tube=mail&timeout=5m", headers={"Authorization": f"Bearer {self.admin}"})
        self.wait_for_waiting(1)
        gone.close()
        self.wait_for_waiting(0)
        self.put("POST", "/v1/jobs?tube=mail", b"for the next one")
        status, got, _ = self.through("POST", "/v1/reserve?tube=mail&timeout=0s", self.admin)
        self.assertEqual((status, [each["text"] for each in got["jobs"]]), (200, ["for the next one"]))

    def wait_for_waiting(self, count):
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/v1/statistics", self.admin)[1]["server"]["waiting"] != count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_a_connection_is_kept_and_its_rights_are_not(self):
        self.begin()
        before = self.connections_come()
        client = self.connect()
        self.addCleanup(client.close)
        for number in range(20):
            client.request("POST", "/v1/jobs?tube=mail", body=b"x", headers={"Authorization": f"Bearer {self.admin}"})
            answer = client.getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())["id"]), (201, str(number + 1)))
            client.request("GET", f"/v1/jobs/{number + 1}")
            answer = client.getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())["status"]), (401, 401), "nobody's token is another's")
        self.assertLess(self.connections_come() - before, 20, "40 requests over few connections")

    def connections_come(self):
        return self.ask("GET", "/v1/statistics", self.admin)[1]["connections"]["total"]

    def test_the_addresses_of_clients_count(self):
        self.begin("--requests-per-second-per-address", 1, "--request-burst", 3)
        made_up = 0
        until = time.monotonic() + PATIENCE
        status = 0
        while status != 429:  # though it says each time that it is another one
            self.assertLess(time.monotonic(), until, status)
            made_up += 1
            status, problem, fields = self.through("GET", "/v1/tubes", self.admin, source="127.0.0.2",
                                                   fields={"X-Forwarded-For": f"198.51.100.{made_up % 250}"})
        self.assertEqual((problem["outcome"], fields["Retry-After"]), ("rate_of_address", "1"))
        self.assertEqual(self.through("GET", "/v1/tubes", self.admin, source="127.0.0.3")[0], 200)
        # Another field that the proxy does not write is no way out: clients count together where two fields disagree.
        seen = []
        while 429 not in seen:
            self.assertLess(time.monotonic(), until, seen)
            seen.append(self.through("GET", "/v1/tubes", self.admin, source="127.0.0.2",
                                     fields={"Forwarded": f"for=198.51.100.{len(seen) % 250}"})[0])
        self.server.terminate()
        log = self.server.communicate(timeout=PATIENCE)[1].decode()
        self.assertRegex(log, r"hold back the requests from 127\.0\.0\.2: its address sends more than 1 in a second")


class Nginx(BehindAProxy, AccessCase):
    package = "nginx"
    flags = nginx.FLAGS

    def configuration(self):
        locations = ("    location / { proxy_pass http://servers; }\n"
                     "    location /below/ { proxy_pass http://servers/; }")
        return nginx.configuration(self.here, self.port, [self.path], locations, behind="keepalive 4;")

    def test_a_path_behind_proxy_pass_decodes_names(self):
        """So the names travel in the query or the body there."""
        self.begin()
        self.assertNotEqual(self.through("PUT", "/below/v1/tubes/mail%2Fout/jobs/a", self.admin, b"x")[0], 201)
        self.put("PUT", "/below/v1/job?tube=mail/out&key=a/b", b"x")
        self.expect_job("a/b")


class Haproxy(BehindAProxy, AccessCase):
    package = "haproxy"
    flags = ["-db", "-f", "{file}"]

    def configuration(self):
        return HAPROXY.format(here=self.here, port=self.port)


if __name__ == "__main__":
    main()
