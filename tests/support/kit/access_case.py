"""Tests of the server `foliot serve --tokens` as its clients over HTTP see it."""
import json
import time

from kit.beanstalk_client import PATIENCE
from kit.http_case import LocalConnection
from kit.program_case import ProgramCase


class AccessCase(ProgramCase):
    tls = None  # what clients have

    def setUp(self):
        super().setUp()
        self.tokens = self.here / "tokens"
        self.path = self.here / "http"
        self.admin = self.make("admin", "put,reserve,look,change,administer")

    def make(self, name, scopes, *more):
        return self.expect_done("token", "make", self.tokens, "--name", name, "--scopes", scopes, "--ends", "never",
                                *more).strip()

    def begin(self, *arguments):
        self.server = self.start("serve", "--memory", "--beanstalk", f"unix:{self.here / 'beanstalk'}", "--http",
                                 f"unix:{self.path}", "--tokens", self.tokens, *arguments)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.stderr.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.wait_for_status("/ready", 200)

    def wait_for_status(self, target, wanted):
        until = time.monotonic() + PATIENCE
        seen = None
        while seen != wanted:
            self.assertLess(time.monotonic(), until, seen)
            time.sleep(0.01)
            try:
                seen = self.ask("GET", target)[0]
            except OSError as why:
                self.assertIsNone(self.server.poll())
                seen = why

    def ask(self, method, target, token=None, body=None, fields=None, tls=None):
        """The status, the value of the answer, and its fields."""
        return self.ask_over(LocalConnection(self.path, tls or self.tls), method, target, token, body, fields)

    @staticmethod
    def ask_over(connection, method, target, token=None, body=None, fields=None):
        """The same over a connection, which is closed."""
        try:
            headers = dict(fields or {})
            if token is not None:
                headers["Authorization"] = f"Bearer {token}"
            connection.request(method, target, body=body, headers=headers)
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None, response.headers
        finally:
            connection.close()
