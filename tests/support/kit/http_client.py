"""A client of HTTP at a socket file, which no other process can have taken."""
import http.client
import json
import socket

from kit.beanstalk_client import PATIENCE


class LocalConnection(http.client.HTTPConnection):
    """To a socket file. `tls`: what the client has, or plain."""

    def __init__(self, path, tls=None):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path
        self.tls = tls

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        try:
            self.sock.connect(str(self.path))
            if self.tls is not None:
                self.sock = self.tls.wrap_socket(self.sock, server_hostname="localhost")
        except OSError:
            self.close()
            raise


class SingleConnection(LocalConnection):
    """One that is made now, and not again when it has ended: then asking raises OSError or http.client.HTTPException."""
    auto_open = 0

    def __init__(self, path):
        super().__init__(path)
        self.connect()

    def ask(self, method, target, value=None, fields=None):
        """The status, and the value of the answer."""
        body = None if value is None else json.dumps(value)
        self.request(method, target, body=body, headers=({"Content-Type": "application/json"} if body else {}) | (fields or {}))
        response = self.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}
