"""The stream of events as clients of the server read it: Python's http.client, over a socket."""
import json
import signal
import threading

from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE
from kit.http_case import HttpCase, LocalConnection
from kit.program_case import main


class Stream:
    """A stream that has begun. Its events are pairs of a name and the value of its data."""

    def __init__(self, connection, target, headers=None):
        connection.request("GET", target, headers=headers or {})
        self.response = connection.getresponse()
        self.last_id = None

    def next(self):
        """The next event; None: the stream has ended in order."""
        name = data = None
        while line := self.response.readline().decode():
            field, _, value = line.rstrip("\n").partition(": ")
            if field == "id":
                self.last_id = value
            elif field == "event":
                name = value
            elif field == "data":
                data = json.loads(value)
            elif not field and name:
                return name, data
        return None

    def until(self, name):
        """The events up to the first one with this name."""
        events = []
        while not events or events[-1][0] != name:
            events.append(self.next())
        return events


class Events(HttpCase):
    def stream(self, target, headers=None):
        stream = Stream(self.connect_http(), target, headers)
        self.assertEqual(stream.response.status, 200)
        self.assertEqual(stream.response.getheader("Content-Type"), "text/event-stream")
        return stream

    def test_a_job_from_put_to_finish(self):
        self.begin()
        stream = self.stream("/v1/events?tube=mail")
        self.ask("POST", "/v1/jobs?tube=other", b"x")
        self.ask("POST", "/v1/jobs?tube=mail&key=order-7&delay=50ms", b"x")
        token = self.ask("POST", "/v1/reserve", {"tube": "mail"})[1]["jobs"][0]["reservation"]
        self.ask("POST", f"/v1/reservations/{token}/finish")
        events = stream.until("ended")
        self.assertEqual([name for name, _ in events], ["put", "due", "reserved", "ended"])
        for name, data in events:
            self.assertTrue(data.pop("at"))
            wanted = {"tube": "mail"} if name == "due" else {"tube": "mail", "id": "2", "key": "order-7"}
            self.assertEqual(data, wanted | ({"reason": "finished"} if name == "ended" else {}))

    def test_what_beanstalk_clients_do_is_told(self):
        self.begin("--data", self.here / "jobs")
        stream = self.stream("/v1/events")
        beanstalk = self.connect(self.server)
        beanstalk.ask(b"put 0 0 60 1\r\nx\r\n")
        beanstalk.ask(b"reserve\r\n")
        beanstalk.ask(b"delete 1\r\n")
        names = [name for name, _ in stream.until("ended") if name != "due"]
        self.assertEqual(names, ["put", "reserved", "ended"])

    def test_a_client_that_comes_again_goes_on(self):
        self.begin()
        stream = self.stream("/v1/events")
        self.ask("POST", "/v1/jobs?tube=a&delay=1h", b"x")
        stream.until("put")
        stream.response.close()
        self.ask("POST", "/v1/jobs?tube=b&delay=1h", b"x")
        again = self.stream("/v1/events", {"Last-Event-ID": stream.last_id})
        self.assertEqual(again.next()[1]["tube"], "b")
        self.server.kill()
        self.begin()
        self.assertEqual(self.stream("/v1/events", {"Last-Event-ID": again.last_id}).next(), ("missed", {}))

    def test_the_end_of_the_server_ends_it_at_once(self):
        self.begin()
        stream = self.stream("/v1/events")
        self.assertTrue(any(line.startswith(b"id: ") for line in iter(stream.response.readline, b"")))
        self.server.process.send_signal(signal.SIGTERM)
        self.assertIsNone(stream.next(), "with the last chunk")
        self.assertEqual(self.server.process.wait(PATIENCE), 0)


class EventsAccess(AccessCase):
    def test_a_revoked_token_ends_its_stream_alone(self):
        leaving = self.make("leaving", "look")
        narrow = self.make("narrow", "look", "--tubes", "mail")
        self.begin()
        streams = []
        for token in (leaving, narrow):
            connection = LocalConnection(self.path)
            self.addCleanup(connection.close)
            streams.append(Stream(connection, "/v1/events", {"Authorization": f"Bearer {token}"}))
            self.assertEqual(streams[-1].response.status, 200)
        ended = []
        reading = threading.Thread(target=lambda: ended.append(streams[0].next()))
        reading.start()
        self.addCleanup(reading.join)
        self.addCleanup(self.server.kill)
        self.expect_done("token", "revoke", self.tokens, leaving.split("_")[1])
        reading.join(PATIENCE)
        self.assertEqual(ended, [None])
        for tube in ("secret", "mail.b", "mail"):
            self.ask("POST", f"/v1/jobs?tube={tube}&delay=1h", self.admin, b"x")
        self.assertEqual([streams[1].next()[1]["tube"] for _ in range(2)], ["mail.b", "mail"])


if __name__ == "__main__":
    main()
