#!/usr/bin/env python3
"""Receives webhooks: verifies the signature, does each message once, and answers.

usage: WEBHOOK_SECRET=whsec_… receiver.py [PORT]

WEBHOOK_SECRET may hold several secrets with blanks between them, while one replaces another. It prints one line for each
message that it does. Python's standard library is enough.
"""
import base64
import binascii
import hashlib
import hmac
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

TOLERANCE = 300  # seconds
LONGEST_BODY = 1 << 20


def keys_of(secrets: str) -> list[bytes]:
    return [base64.b64decode(each.removeprefix("whsec_")) for each in secrets.split()]


def is_genuine(keys: list[bytes], message_id: str, timestamp: str, body: bytes, signatures: str) -> bool:
    """Whether one of the signatures is by one of the keys, and the timestamp is that of an attempt of now."""
    if not timestamp.isascii() or not timestamp.isdigit() or abs(time.time() - int(timestamp[:15])) > TOLERANCE:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    for signature in signatures.split(" ")[:16]:
        version, _, encoded = signature.partition(",")
        try:
            given = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            continue
        if version == "v1" and any(hmac.compare_digest(given, each) for each in expected):
            return True
    return False


class Once:
    """The ids of messages that were done. A real receiver stores the id with what the message does, in one transaction:
    then a crash between the two neither loses a message nor does it twice."""

    def __init__(self, most: int = 100_000):
        self.lock, self.done, self.most = Lock(), dict[str, None](), most

    def do(self, message_id: str, work) -> None:
        with self.lock:
            if message_id in self.done:
                return
            work()
            self.done[message_id] = None
            while len(self.done) > self.most:
                del self.done[next(iter(self.done))]


KEYS, ONCE = keys_of(os.environ["WEBHOOK_SECRET"]), Once()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LONGEST_BODY:
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(int(length))  # the bytes as they came, before anything parses them
        message_id = self.headers.get("webhook-id", "")
        if not is_genuine(KEYS, message_id, self.headers.get("webhook-timestamp", ""), body,
                          self.headers.get("webhook-signature", "")):
            return self.answer(401)
        ONCE.do(message_id, lambda: print(f"done {message_id}: {len(body)} bytes", flush=True))
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Receiver)
    print(f"listening on {server.server_address[1]}", flush=True)
    server.serve_forever()
