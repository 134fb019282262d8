"""Tests of the server `foliot serve` as its clients over HTTP see it. Each answer is compared with the description in
OpenAPI."""
import json
import socket
import time

from kit import openapi
from kit.beanstalk_client import PATIENCE
from kit.http_client import LocalConnection
from kit.serve_case import ServeCase


class HttpCase(ServeCase):
    interface = openapi.Interface()
    fields = None  # those of the last answer

    def begin(self, *arguments):
        self.path = self.here / "http"
        self.server = self.serve("--http", f"unix:{self.path}", *(arguments or ["--memory"]))
        self.client = self.connect_http()

    def connect_http(self, path=None):
        connection = LocalConnection(path or self.path)
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
        return self.answer(client, method, target)

    def answer(self, client, method, target):
        """The answer to a request that was sent. Its fields are in `fields`."""
        response = client.getresponse()
        self.fields = response.headers
        body = response.read()
        self.assertEqual(response.getheader("X-Content-Type-Options"), "nosniff")
        read = json.loads(body) if body else None
        if body:
            self.assertIsNone(self.interface.wrong_with(method, target, response.status,
                                                        response.getheader("Content-Type"), read))
        return response.status, read

    def expect_problem(self, status, where, method, target, value=None, **more):
        """The request gets a problem about this value, such as {"pointer": "#/delay"}."""
        seen, problem = self.ask(method, target, value, **more)
        self.assertEqual((seen, problem["status"]), (status, status), problem)
        entry = dict(problem["errors"][0])
        self.assertTrue(entry.pop("detail"))
        self.assertEqual(entry, where)

    def wait_for_waiting(self, count):
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/v1/statistics")[1]["server"]["waiting"] != count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
