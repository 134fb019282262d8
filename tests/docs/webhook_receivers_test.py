#!/usr/bin/env python3
"""The receivers of webhooks in examples/webhooks: each verifies signatures, does each message once, and answers."""
import argparse
import base64
import hashlib
import hmac
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(bytes(range(32))).decode()
STRANGE = "whsec_" + base64.b64encode(bytes(range(1, 33))).decode()
OPTIONS = argparse.Namespace()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def missing(what: str):
    print(f"skipped: {what}", file=sys.stderr)
    sys.exit(77)


def command(folder: str) -> list[str]:
    """How the receiver is started; its tests are skipped where its language is not there."""
    if OPTIONS.language == "cpp":
        return [OPTIONS.program]
    if OPTIONS.language == "python":
        return [sys.executable, "-B", str(OPTIONS.examples / "receiver.py")]
    if OPTIONS.language == "node":
        return [shutil.which("node") or missing("there is no node"), str(OPTIONS.examples / "receiver.mjs")]
    go, program = shutil.which("go") or missing("there is no go"), f"{folder}/receiver"
    version = subprocess.run([go, "env", "GOVERSION"], text=True, capture_output=True, check=False).stdout.strip()
    numbers = version.removeprefix("go").split(".")
    if len(numbers) < 2 or not numbers[1].isdigit() or (int(numbers[0]), int(numbers[1])) < (1, 22):
        missing(f"{version or 'this go'} is older than go1.22")
    shutil.copy(OPTIONS.examples / "receiver.go", folder)
    # The cache of Go is kept: it compiles its own libraries for half a minute.
    cache = {"GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache/go-build"))}
    cache |= {"GOFLAGS": "", "GO111MODULE": "", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    subprocess.run([go, "build", "-o", program, "receiver.go"], check=True, cwd=folder, env=os.environ | cache)
    return [program]


class Receivers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = subprocess.Popen([*command(cls.folder.name), "0"], stdout=subprocess.PIPE, text=True,
                                       env=os.environ | {"WEBHOOK_SECRET": f"{SECRET} {OTHER}"})
        line = cls.program.stdout.readline()
        assert line.startswith("listening on "), line
        cls.port = int(line.removeprefix("listening on "))

    @classmethod
    def tearDownClass(cls):
        cls.program.kill()
        cls.program.communicate()
        cls.folder.cleanup()

    def setUp(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.addCleanup(self.connection.close)

    def post(self, message_id: str, body: bytes, signatures: str | None = None, timestamp: int | str | None = None) -> int:
        timestamp = int(time.time()) if timestamp is None else timestamp
        if signatures is None:
            signatures = signature(SECRET, message_id, timestamp, body)
        self.connection.request("POST", "/in", body, {
            "webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": signatures,
            "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def expect_done(self, message_id: str, size: int) -> None:
        self.assertEqual(self.program.stdout.readline(), f"done {message_id}: {size} bytes\n")

    def test_messages_are_done_once(self):
        for name in ("first", "second", "first", "first", "third", "second"):
            self.assertEqual(self.post(name, b'{"name": "x"}'), 204)
        for name in ("first", "second", "third"):
            self.expect_done(name, 13)

    def test_bodies_are_bytes(self):
        for number, body in enumerate((b"", b"\0\xff\xfe", b'{ "a" :  1 }\n', "ü".encode(), b"x" * 100_000)):
            self.assertEqual(self.post(f"body_{number}", body), 204)
            self.expect_done(f"body_{number}", len(body))

    def test_signatures_are_verified(self):
        now = int(time.time())
        right = signature(SECRET, "forged", now, b"body")
        for wrong in ("", "v1,", "v1", right[:-4], right[3:], "v2" + right[2:], "v1a" + right[2:], right.swapcase(),
                      signature(STRANGE, "forged", now, b"body"), signature(SECRET, "other", now, b"body"),
                      signature(SECRET, "forged", now + 1, b"body"), signature(SECRET, "forged", now, b"bodY"),
                      "v1,AAAA", "v1,!!!!", " " * 1000, "v1,§".encode().decode("latin-1")):
            self.assertEqual(self.post("forged", b"body", wrong, now), 401, wrong)
        self.assertEqual(self.post("several", b"body", "v1,AAAA v1a,AAAA " + signature(OTHER, "several", now, b"body"), now), 204)
        self.expect_done("several", 4)

    def test_old_messages_are_refused(self):
        now = int(time.time())
        for when in (now - 1000, now + 1000, 0):
            self.assertEqual(self.post("old", b"", None, when), 401)
        for when in ("", "x", "-5", "1e9", "9" * 30, f"{now}x"):
            self.assertEqual(self.post("old", b"", signature(SECRET, "old", when, b""), when), 401, when)
        for when in (now - 200, now + 200):
            self.assertEqual(self.post(f"late_{when}", b"", None, when), 204)
            self.expect_done(f"late_{when}", 0)

    def test_messages_without_headers_are_refused(self):
        self.connection.request("POST", "/in", b"body")
        answer = self.connection.getresponse()
        answer.read()
        self.assertEqual(answer.status, 401)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--language", choices=("python", "go", "node", "cpp"), required=True)
    parser.add_argument("--program")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
