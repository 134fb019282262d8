"""A line to a server on a unix socket, for tests: it may be slow, and it may be cut for a while."""
import socket
import threading
import time


class Line:
    """A port that leads to the socket at `path`. Towards the client it brings at most `bytes_at_once`, then pauses for
    `pause` seconds."""

    def __init__(self, path, bytes_at_once=65536, pause=0):
        self.path, self.bytes_at_once, self.pause = path, bytes_at_once, pause
        self.whole = threading.Event()
        self.whole.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """From now on nothing comes through. As in a network, what is sent, and the news that a side has gone, are not
        lost: they come when the line is whole again."""
        self.whole.clear()

    def mend(self):
        self.whole.set()

    def close(self):
        self.mend()
        self.listener.shutdown(socket.SHUT_RDWR)  # ends the accept() of the other thread
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client):
        self.whole.wait()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.path)
        except OSError:  # the server has ended
            client.close()
            return
        for source, target, pause in ((client, server, 0), (server, client, self.pause)):
            threading.Thread(target=self._pass_on, args=(source, target, pause), daemon=True).start()

    def _pass_on(self, source, target, pause):
        try:
            while data := source.recv(self.bytes_at_once):
                self.whole.wait()
                target.sendall(data)
                if len(data) == self.bytes_at_once:
                    time.sleep(pause)
        except OSError:
            pass
        self.whole.wait()
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
