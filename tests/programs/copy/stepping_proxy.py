"""A proxy that passes on the commands of one client one by one, each only after the reply to the one before.

So a test can end all connections behind exactly the n-th command, as if the client had been killed there, or let
something happen between two commands."""
import re
import socket
import threading

from kit import beanstalk_client

LOOKING = re.compile(rb"(stats|x-stats|peek|list|use |watch |ignore )")


class Steps:
    """What proxies have in common: the commands so far, and where they are cut."""

    def __init__(self, cut_after=None):
        self.cut_after = cut_after  # so many commands that may change something
        self.changes = 0
        self.is_cut = False
        self.lock = threading.Lock()

    def may_pass(self, command):
        with self.lock:
            if not LOOKING.match(command):
                self.is_cut = self.is_cut or self.changes == self.cut_after
                self.changes += 1
            return not self.is_cut


class SteppingProxy:
    """Listens at `address` and passes on to a server. `before` is called with each command line first; `answers` has
    replies that are given instead of the server's, by the beginning of the command."""

    def __init__(self, server, steps, before=None, answers=None):
        self.server = server
        self.steps = steps
        self.before = before or (lambda line: None)
        self.answers = answers or {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.serving = []
        self.accepting = threading.Thread(target=self._accept, daemon=True)
        self.accepting.start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            self.serving.append(threading.Thread(target=self._serve, args=(client,), daemon=True))
            self.serving[-1].start()

    def _serve(self, client):
        server = self.server.connect()
        try:
            with client, client.makefile("rb") as commands:
                while line := commands.readline():
                    body = b""
                    if re.match(rb"(x-)?put ", line):
                        sizes = line.split()[6 if line.startswith(b"x-") else 4:]  # of the body, and of what goes with it
                        body = commands.read(sum(map(int, sizes)) + 2)
                    if not self.steps.may_pass(line):
                        return
                    self.before(line)
                    if line == b"quit\r\n":
                        server.send(line)
                        server.rest()
                        return
                    fixed = [reply for start, reply in self.answers.items() if line.startswith(start)]
                    client.sendall(fixed[0] if fixed else server.ask(line + body))
        except (OSError, EOFError):
            pass  # one of both has gone
        finally:
            server.close()

    def close(self):
        """Once the client has ended: returns when the server has answered all that was passed on."""
        self.listener.shutdown(socket.SHUT_RDWR)  # a close alone would not end the accept
        self.listener.close()
        for each in [self.accepting, *self.serving]:
            each.join(beanstalk_client.PATIENCE)
            if each.is_alive():
                raise TimeoutError("a connection of the proxy has not ended")
