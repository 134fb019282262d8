"""Webhooks of the program: jobs of a tube are POSTed to a receiver that verifies them, and may be slow, rude, down or
gone; the server is killed in the middle of deliveries, and none is lost."""
import base64
import datetime
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE
from kit.http_case import HttpCase
from kit.program_case import main

from http_pages_test import PageCase, examples
from nodes_test import NodesCase

KEY = b"k" * 32
OTHER_KEY = b"o" * 32


def secret_of(key):
    return "whsec_" + base64.b64encode(key).decode()


def is_genuine(key, headers, body):
    """As a receiver verifies a message."""
    message = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
    return f"v1,{wanted}" in headers["webhook-signature"].split()


class Received:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, headers, body


class Receiver:
    """It answers as `react` says: a function of the request and its handler, which returns a status and headers, or has
    written an answer itself and returns nothing."""
    def __init__(self, react=None):
        self.react = react or (lambda request, handler: (204, {}))
        self.requests = []
        self.changed = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Received(self.path, self.headers, body)
                with receiver.changed:
                    receiver.requests.append(request)
                    receiver.changed.notify_all()
                try:
                    answer = receiver.react(request, self)
                    if answer is None:
                        self.close_connection = True
                        return
                    status, fields = answer
                    self.send_response(status)
                    for name, value in fields.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    self.close_connection = True  # the sender has gone

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # the sender has gone

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def url(self, path="/in"):
        return f"http://127.0.0.1:{self.port}{path}"

    def wait_for(self, is_enough):
        """Until `is_enough` of the requests so far."""
        until = time.monotonic() + PATIENCE
        with self.changed:
            while not is_enough(self.requests):
                left = until - time.monotonic()
                assert left > 0, [(each.path, each.body) for each in self.requests]
                self.changed.wait(left)
            return list(self.requests)

    def wait_for_bodies(self, bodies):
        return self.wait_for(lambda requests: {each.body for each in requests} >= set(bodies))

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class WebhookCase(HttpCase):
    def receiver(self, react=None):
        made = Receiver(react)
        self.addCleanup(made.end)
        return made

    def write_secrets(self, text, mode=0o600):
        path = self.here / "secrets"
        new = self.here / "secrets.new"
        new.write_text(text)
        new.chmod(mode)
        new.replace(path)
        return path

    def begin_with(self, *receivers, store=None, more=()):
        """A server that allows these receivers alone."""
        if not (self.here / "secrets").exists():
            self.write_secrets(f"[secret one]\npresent = {secret_of(KEY)}\n")
        allowed = [word for each in receivers for word in ("--webhook-allow", f"127.0.0.1/32:{each.port}")]
        self.begin(*(store or ["--memory"]), "--webhook-secrets", self.here / "secrets", "--webhook-allow-http", *allowed,
                   *more)

    def target(self, tube, url, status=201, **plan):
        seen, made = self.ask("PUT", f"/v1/tubes/{tube}/webhook", {"url": url, "secret": "one", **plan})
        self.assertEqual(seen, status, made)
        return made

    def put_jobs(self, tube, bodies):
        ids = {}
        for body in bodies:
            status, made = self.ask("POST", f"/v1/tubes/{tube}/jobs", body, headers={"Content-Type": "text/plain"})
            self.assertEqual(status, 201, made)
            ids[body] = made["id"]
        return ids

    def look(self, tube):
        status, seen = self.ask("GET", f"/v1/tubes/{tube}/webhook")
        self.assertEqual(status, 200, seen)
        return seen

    def deliveries(self, tube):
        status, seen = self.ask("GET", f"/v1/tubes/{tube}/webhook/deliveries")
        self.assertEqual(status, 200, seen)
        return seen["deliveries"]

    def wait_for(self, what, is_so):
        until = time.monotonic() + PATIENCE
        while True:
            seen = what()
            if is_so(seen):
                return seen
            self.assertLess(time.monotonic(), until, seen)
            time.sleep(0.02)

    def wait_for_delivery(self, tube, is_so):
        return self.wait_for(lambda: self.deliveries(tube), lambda seen: any(map(is_so, seen)))

    def wait_until_empty(self, tube):
        def jobs():
            status, seen = self.ask("GET", f"/v1/tubes/{tube}/jobs")
            return seen["jobs"] if status == 200 else []
        self.wait_for(jobs, lambda seen: not seen)


class Webhooks(WebhookCase):
    def test_is_delivered_and_signed(self):
        receiver = self.receiver()
        self.begin_with(receiver)
        self.target("mail", receiver.url("/in?from=foliot"), headers={"X-Site": "berlin"})
        status, made = self.ask("PUT", "/v1/tubes/mail/jobs/a%20b", b"{}",
                                headers={"Content-Type": "application/json", "Foliot-Body": "raw"})
        self.assertEqual(status, 201, made)
        [request] = receiver.wait_for(lambda requests: len(requests) == 1)
        self.assertEqual((request.path, request.body), ("/in?from=foliot", b"{}"))
        self.assertTrue(is_genuine(KEY, request.headers, request.body), request.headers)
        self.assertLess(abs(int(request.headers["webhook-timestamp"]) - time.time()), PATIENCE)
        self.assertEqual({name: request.headers[name] for name in
                          ("Content-Type", "foliot-tube", "foliot-job", "foliot-key", "foliot-attempt", "x-site")},
                         {"Content-Type": "application/json", "foliot-tube": "mail", "foliot-job": made["id"],
                          "foliot-key": "a%20b", "foliot-attempt": "1", "x-site": "berlin"})
        self.wait_until_empty("mail")
        [seen] = self.wait_for_delivery("mail", lambda each: each["outcome"] == "delivered")
        self.assertEqual((seen["job"], seen["key"], seen["status"], seen["then"], seen["message"]),
                         (made["id"], "a b", 204, "done", request.headers["webhook-id"]))
        self.assertEqual(self.look("mail")["deliveries"]["delivered"], 1)

    def test_closed_by_default(self):
        receiver = self.receiver()
        self.begin()
        plan = {"url": receiver.url(), "secret": "one"}
        status, problem = self.ask("PUT", "/v1/tubes/mail/webhook", plan)
        self.assertEqual(status, 400, problem)  # no http
        plan["url"] = f"https://127.0.0.1:{receiver.port}/"
        status, problem = self.ask("PUT", "/v1/tubes/mail/webhook", plan)
        self.assertEqual((status, problem["outcome"]), (403, "not_allowed"), problem)
        self.assertIn("--webhook-allow", problem["detail"])
        self.assertEqual(problem["errors"][0]["pointer"], "#/url")
        self.assertEqual(self.ask("GET", "/v1/webhooks")[1]["webhooks"], [])
        self.assertEqual(self.ask("GET", "/v1/tubes/mail/webhook")[0], 404)
        status, got = self.ask("POST", "/v1/reserve", {"tube": "mail", "timeout": "0s"})
        self.assertEqual((status, got["jobs"]), (200, []))

    def test_wrong_plans_name_what_is_wrong(self):
        receiver = self.receiver()
        self.begin_with(receiver)
        good = {"url": receiver.url(), "secret": "one"}
        for pointer, change in [("#/url", {"url": "ftp://example.com/"}), ("#/url", {"url": "https://user:x@example.com/"}),
                                ("#/secret", {"secret": None}), ("#/secret", {"secret": secret_of(KEY)}),
                                ("#/time_out", {"time_out": "1h"}), ("#/at_once", {"at_once": 0}),
                                ("#/delays", {"delays": []}), ("#/delays", {"delays": ["often"]}),
                                ("#/tries", {"tries": 0}), ("#/urls", {"urls": []}),
                                ("#/headers", {"headers": {"Authorization": "Bearer x"}}),
                                ("#/headers", {"headers": {"webhook-id": "x"}}),
                                ("#/headers", {"headers": {"Host": "x"}}),
                                ("#/longest_pause", {"longest_pause": "1s"})]:
            with self.subTest(change=change):
                self.expect_problem(400, {"pointer": pointer}, "PUT", "/v1/tubes/mail/webhook", good | change)
        for change in ({"url": "http://127.0.0.2:1/"}, {"secret": "two"}):
            with self.subTest(change=change):
                status, problem = self.ask("PUT", "/v1/tubes/mail/webhook", good | change)
                self.assertEqual((status, problem["outcome"]), (403, "not_allowed"), problem)
        self.assertEqual(self.ask("GET", "/v1/tubes/mail/webhook")[0], 404)

    def test_versions(self):
        receiver = self.receiver()
        self.begin_with(receiver)
        made = self.target("mail", receiver.url())
        tag = self.fields["ETag"]
        self.assertEqual((made["outcome"], f'"{made["version"]}"'), ("made", tag))
        self.assertEqual(self.target("mail", receiver.url(), status=200)["outcome"], "unchanged")
        self.assertEqual(self.fields["ETag"], tag)
        plan = {"url": receiver.url("/other"), "secret": "one"}
        status, problem = self.ask("PUT", "/v1/webhook?tube=mail", plan, headers={"If-None-Match": "*"})
        self.assertEqual((status, problem["outcome"]), (412, "exists"))
        status, changed = self.ask("PUT", "/v1/webhook?tube=mail", plan, headers={"If-Match": tag})
        self.assertEqual((status, changed["outcome"]), (200, "changed"))
        for method, path in [("PUT", ""), ("DELETE", ""), ("POST", "/disable"), ("POST", "/enable")]:
            status, problem = self.ask(method, f"/v1/tubes/mail/webhook{path}", plan if method == "PUT" else None,
                                       headers={"If-Match": tag})
            self.assertEqual((status, problem["outcome"]), (412, "other_version"), method + path)
        status, disabled = self.ask("POST", "/v1/tubes/mail/webhook/disable", {"note": "a while"})
        self.assertEqual((status, disabled["outcome"]), (200, "disabled"))
        seen = self.look("mail")
        self.assertEqual((seen["state"], seen["reason"], seen["target"]["url"]), ("disabled", "a while", plan["url"]))
        self.put_jobs("mail", [b"waits"])
        self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/enable")[1]["outcome"], "enabled")
        receiver.wait_for_bodies([b"waits"])
        self.assertEqual(self.ask("DELETE", "/v1/tubes/mail/webhook")[1], {"tube": "mail", "outcome": "deleted"})
        self.assertEqual(self.ask("DELETE", "/v1/tubes/mail/webhook")[0], 404)

    def test_nobody_else_reserves(self):
        receiver = self.receiver(lambda request, handler: (500, {}))
        self.begin_with(receiver)
        waiting = self.connect(self.server)
        waiting.send(b"watch mail\r\nignore default\r\nreserve\r\n")
        self.assertEqual([waiting.answer(), waiting.answer()], [b"WATCHING 2\r\n", b"WATCHING 1\r\n"])
        self.wait_for_waiting(1)
        self.target("mail", receiver.url(), tries=1)
        status, problem = self.ask("POST", "/v1/reserve", {"tube": "mail", "timeout": "0s"})
        self.assertEqual((status, problem["outcome"]), (409, "has_target"), problem)
        status, problem = self.ask("POST", "/v1/reserve", {"tubes": ["mail", "other"], "timeout": "0s"})
        self.assertEqual((status, problem["outcome"]), (409, "has_target"), problem)
        self.assertTrue(self.ask("GET", "/v1/tubes/mail")[1]["has_target"])
        self.assertNotIn("has_target", self.ask("GET", "/v1/tubes/other")[1])
        worker = self.connect(self.server)
        self.assertEqual(worker.ask(b"watch mail\r\n"), b"WATCHING 2\r\n")
        self.assertEqual(worker.ask(b"reserve-with-timeout 0\r\n"), b"TIMED_OUT\r\n")
        self.assertEqual(worker.ask(b"ignore default\r\n"), b"WATCHING 1\r\n")
        self.assertEqual(worker.ask(b"reserve-with-timeout 0\r\n"), b"HAS_TARGET\r\n")
        ids = self.put_jobs("mail", [b"a", b"b", b"c"])
        receiver.wait_for_bodies([b"a", b"b", b"c"])
        self.wait_for(lambda: self.look("mail"), lambda seen: seen["deliveries"]["buried"] == 3)
        self.target("more", receiver.url())
        self.assertEqual(self.ask("POST", "/v1/tubes/more/webhook/disable")[0], 200)
        [waits] = self.put_jobs("more", [b"waits"]).values()
        self.assertEqual(self.ask("GET", f"/v1/jobs/{waits}/why")[1]["waits"], "has_target")
        self.expect_pages_of_targets()
        for each in ids.values():
            self.assertEqual(worker.ask(b"reserve-job %s\r\n" % each.encode()), b"NOT_FOUND\r\n")
        self.assertEqual(worker.ask(b"watch default\r\n"), b"WATCHING 2\r\n")
        worker.ask(b"use default\r\n")
        worker.ask(b"put 0 0 60 1\r\nx\r\n")
        self.assertRegex(worker.ask(b"reserve-with-timeout 0\r\n"), rb"\ARESERVED \d+ 1\r\nx\r\n\Z")
        # Without the target they are for workers again, also for the one that has waited all the time.
        self.assertEqual(self.ask("DELETE", "/v1/tubes/mail/webhook")[0], 200)
        self.assertEqual(self.ask("POST", f"/v1/jobs/{ids[b'a']}/kick")[0], 200)
        self.assertIn(waiting.answer(), (b"RESERVED %s 1\r\na\r\n" % ids[b"a"].encode(), b"HAS_TARGET\r\n"))

    def expect_pages_of_targets(self):
        """Of `mail`, with three jobs that are buried, and `more`, with one that waits."""
        jobs = {"ready": 0, "reserved": 0, "delayed": 0, "buried": 3}
        first = self.ask("GET", "/v1/webhooks?count=1&with_jobs=true")[1]
        self.assertEqual(([(each["tube"], each["jobs"]) for each in first["webhooks"]], first["next"]), ([("mail", jobs)], "mail"))
        second = self.ask("GET", "/v1/webhooks?count=1&with_jobs=true&cursor=mail")[1]
        self.assertEqual([(each["tube"], each["jobs"]) for each in second["webhooks"]], [("more", jobs | {"ready": 1, "buried": 0})])
        self.assertNotIn("next", second)
        everything = self.ask("GET", "/v1/webhooks")[1]
        self.assertEqual([each["tube"] for each in everything["webhooks"]], ["mail", "more"])
        self.assertEqual(everything["server"], self.ask("GET", "/v1/tubes/mail/webhook/deliveries")[1]["server"])
        self.assertEqual(self.ask("GET", "/v1/webhooks?count=101&with_jobs=true")[0], 400)

    def test_tries_end_and_are_told(self):
        receiver = self.receiver(lambda request, handler: (503, {}))
        self.begin_with(receiver)
        self.target("mail", receiver.url(), tries=3, delays=["10ms", "20ms"], failures_to_open=0)
        [job] = self.put_jobs("mail", [b"no"]).values()
        requests = receiver.wait_for(lambda requests: len(requests) == 3)
        self.assertEqual(len({each.headers["webhook-id"] for each in requests}), 1)
        self.assertEqual([each.headers["foliot-attempt"] for each in requests], ["1", "2", "3"])
        seen = self.wait_for_delivery("mail", lambda each: each.get("then") == "buried")
        self.assertEqual([each["then"] for each in seen], ["buried", "again", "again"])
        self.assertEqual([each["attempt"] for each in seen], [3, 2, 1])
        status, shown = self.ask("GET", f"/v1/jobs/{job}")
        self.assertEqual((status, shown["state"], shown["attempts"]["failed"]), (200, "buried", 3))
        self.assertEqual([(each["outcome"], each["status"]) for each in shown["attempts"]["last"]], [("rejected", 503)] * 3)
        receiver.react = lambda request, handler: (200, {})
        self.assertEqual(self.ask("POST", f"/v1/jobs/{job}/kick")[0], 200)  # by hand
        self.wait_until_empty("mail")
        self.assertEqual(receiver.requests[-1].headers["foliot-attempt"], "4")

    def test_retry_after_is_heeded(self):
        receiver = self.receiver(lambda request, handler: (429, {"Retry-After": "3600"}))
        self.begin_with(receiver)
        self.target("mail", receiver.url(), delays=["1ms"])
        [job] = self.put_jobs("mail", [b"later"]).values()
        [seen] = self.wait_for_delivery("mail", lambda each: each.get("then") == "again")
        begun, again = (datetime.datetime.fromisoformat(seen[name].replace("Z", "+00:00")) for name in ("at", "next"))
        self.assertGreaterEqual((again - begun).total_seconds(), 3599)
        held = self.look("mail")["deliveries"]["held_until"]
        self.assertGreater(datetime.datetime.fromisoformat(held.replace("Z", "+00:00")) - begun,
                           datetime.timedelta(seconds=3500))
        other = self.put_jobs("mail", [b"waits, too"])
        status, shown = self.ask("GET", f"/v1/jobs/{other[b'waits, too']}")
        self.assertIn(shown["state"], ("ready", "reserved"))
        self.assertEqual(len(receiver.requests), 1)
        self.assertEqual(self.ask("GET", f"/v1/jobs/{job}")[1]["state"], "delayed")

    def test_gone(self):
        receiver = self.receiver(lambda request, handler: (410, {}))
        store = ["--data", self.here / "jobs"]
        self.begin_with(receiver, store=store)
        self.target("mail", receiver.url(), at_once=1)
        ids = self.put_jobs("mail", [b"one", b"two"])
        seen = self.wait_for(lambda: self.look("mail"), lambda seen: seen["state"] == "disabled")
        self.assertEqual(seen["by"], "receiver")
        self.assertIn("410", seen["reason"])
        for kill in range(2):
            for each in ids.values():
                self.wait_for(lambda: self.ask("GET", f"/v1/jobs/{each}"), lambda job: job[1]["state"] == "ready")
            self.assertEqual(self.look("mail")["state"], "disabled")
            status, problem = self.ask("POST", "/v1/reserve", {"tube": "mail", "timeout": "0s"})
            self.assertEqual((status, problem["outcome"]), (409, "has_target"), "nobody gets them meanwhile")
            self.server.kill()
            self.begin_with(receiver, store=store)
        receiver.react = lambda request, handler: (200, {})
        self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/enable")[0], 200)
        self.wait_until_empty("mail")
        self.assertEqual({each.body for each in receiver.requests[1:]}, {b"one", b"two"})

    def held_receiver(self):
        """It answers the first request with each body when the event of that body is set, with 410; all others with 200."""
        seen, events, guard = set(), {}, threading.Lock()

        def event_of(body):
            with guard:
                return events.setdefault(body, threading.Event())

        def react(request, handler):
            with guard:
                is_first = request.body not in seen
                seen.add(request.body)
            if not is_first:
                return 200, {}
            event_of(request.body).wait(PATIENCE)
            return 410, {}

        def end():
            for each in events.values():
                each.set()

        self.addCleanup(end)
        return self.receiver(react), event_of

    def test_an_answer_is_about_the_url_that_was_asked(self):
        old, event_of = self.held_receiver()
        new = self.receiver()
        self.begin_with(old, new)
        self.target("mail", old.url())
        self.put_jobs("mail", [b"x"])
        old.wait_for_bodies([b"x"])
        self.target("mail", new.url(), status=200)
        event_of(b"x").set()  # as a receiver does that has moved
        new.wait_for_bodies([b"x"])
        self.wait_until_empty("mail")
        self.assertEqual(self.look("mail")["state"], "active")
        self.assertIn("kept", [each["then"] for each in self.deliveries("mail")])

    def test_an_old_answer_does_not_undo_enable(self):
        receiver, event_of = self.held_receiver()
        self.begin_with(receiver)
        self.target("mail", receiver.url())
        self.put_jobs("mail", [b"first", b"second"])
        receiver.wait_for_bodies([b"first", b"second"])
        event_of(b"first").set()
        self.wait_for(lambda: self.look("mail"), lambda seen: seen["state"] == "disabled")
        self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/enable")[1]["outcome"], "enabled")
        event_of(b"second").set()
        self.wait_for(lambda: self.deliveries("mail"), lambda seen: [each["then"] for each in seen].count("kept") == 2)
        self.wait_until_empty("mail")
        self.assertEqual(self.look("mail")["state"], "active")

    def test_changes_are_in_force_when_they_are_answered(self):
        receiver = self.receiver()
        self.begin_with(receiver)
        for number in range(30):
            self.target("mail", receiver.url(f"/{number}"), status=201 if number == 0 else 200)
            self.put_jobs("mail", [b"%d" % number])
            [request] = [each for each in receiver.wait_for_bodies([b"%d" % number]) if each.body == b"%d" % number]
            self.assertEqual(request.path, f"/{number}")
        for number in range(10):
            body = b"waits %d" % number
            self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/disable")[1]["outcome"], "disabled")
            self.put_jobs("mail", [body])
            self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/test")[1]["outcome"], "delivered")
            self.assertNotIn(body, {each.body for each in receiver.requests})
            self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/enable")[1]["outcome"], "enabled")
            receiver.wait_for_bodies([body])
        self.wait_until_empty("mail")
        self.assertEqual(self.ask("DELETE", "/v1/tubes/mail/webhook")[0], 200)
        self.put_jobs("mail", [b"for workers"])
        status, got = self.ask("POST", "/v1/reserve", {"tube": "mail", "timeout": "0s"})
        self.assertEqual((status, len(got.get("jobs", []))), (200, 1), got)

    def test_what_was_reserved_before_is_told(self):
        """A target of one tube does not hide the token of a job of another one."""
        receiver = self.receiver()
        self.begin_with(receiver)
        answers = []
        wanted = {"tubes": ["a", "b"], "count": 10, "timeout": "10m"}

        def wait(client):
            answers.append(self.ask("POST", "/v1/reserve", wanted, client))

        waiting = threading.Thread(target=wait, args=(self.connect_http(),))
        waiting.start()
        self.wait_for_waiting(1)
        self.target("b", receiver.url())
        ids = self.put_jobs("a", [b"x"])
        waiting.join(PATIENCE)
        [(status, got)] = answers
        self.assertEqual((status, [each["id"] for each in got.get("jobs", [])]), (200, [ids[b"x"]]), got)
        # And a repeat of a request with a key gets what the first one has got.
        self.put_jobs("c", [b"y"])
        wanted = {"tubes": ["c", "d"], "timeout": "0s"}
        worker, key = self.connect_http(), {"Idempotency-Key": "k"}
        status, first = self.ask("POST", "/v1/reserve", wanted, worker, key)
        self.assertEqual((status, len(first["jobs"])), (200, 1), first)
        self.target("d", receiver.url())
        status, again = self.ask("POST", "/v1/reserve", wanted, worker, key)
        self.assertEqual((status, [each["reservation"] for each in again.get("jobs", [])]),
                         (200, [each["reservation"] for each in first["jobs"]]), again)
        status, problem = self.ask("POST", "/v1/reserve", wanted, worker, {"Idempotency-Key": "other"})
        self.assertEqual((status, problem["outcome"]), (409, "has_target"), problem)

    def test_rude_receivers(self):
        def redirects(request, handler):
            return 302, {"Location": f"http://127.0.0.1:{receiver.port}/elsewhere"}

        def is_garbage(request, handler):
            handler.wfile.write(b"\x00\xff no HTTP at all\r\n\r\n")

        def has_endless_headers(request, handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for number in range(100_000):
                handler.wfile.write(b"X-%d: %s\r\n" % (number, b"x" * 1000))

        def closes(request, handler):
            handler.connection.shutdown(socket.SHUT_RDWR)

        receiver = self.receiver()
        self.begin_with(receiver)
        for name, react, outcome in [("redirect", redirects, "rejected"), ("garbage", is_garbage, "unknown"),
                                     ("headers", has_endless_headers, None), ("closes", closes, "unknown")]:
            with self.subTest(name):
                receiver.react = react
                self.target(name, receiver.url(f"/{name}"), tries=1)
                self.put_jobs(name, [b"x"])
                [seen] = self.wait_for_delivery(name, lambda each: each.get("then") == "buried")
                if outcome:
                    self.assertEqual(seen["outcome"], outcome, seen)
                self.assertTrue(seen["reason"])
                # Those who may look at the job need not be those who may see the target.
                shown = self.ask("GET", f"/v1/jobs/{seen['job']}")[1]["attempts"]["last"][0]
                self.assertNotIn("elsewhere", shown["reason"])
                self.assertNotIn("127.0.0.1", shown["reason"])
        self.assertNotIn("/elsewhere", {each.path for each in receiver.requests})

        def answers_at_length(request, handler):
            handler.send_response(200)
            handler.end_headers()
            for _ in range(1000):
                handler.wfile.write(b"y" * 65536)

        receiver.react = answers_at_length
        self.target("long", receiver.url("/long"))
        self.put_jobs("long", [b"x"])
        [seen] = self.wait_for_delivery("long", lambda each: each.get("then") == "done")
        self.assertEqual(seen["outcome"], "delivered")
        self.assertLess(len(seen["answer"]), 2000)

    def test_time_outs_end_before_reservations(self):
        hangs = threading.Event()
        self.addCleanup(hangs.set)
        receiver = self.receiver(lambda request, handler: hangs.wait(PATIENCE) and None)
        self.begin_with(receiver)
        self.target("mail", receiver.url(), tries=1, time_out="5m")
        status, job = self.ask("POST", "/v1/jobs", {"tube": "mail", "text": "x", "ttr": "4s"})
        self.assertEqual(status, 201, job)
        seen = self.wait_for_delivery("mail", lambda each: each["outcome"] == "unknown")[-1]
        self.assertGreaterEqual(seen["milliseconds"], 2000)
        if seen["then"] == "buried":  # else this machine has stood still for two seconds
            self.assertEqual(self.ask("GET", f"/v1/jobs/{job['id']}")[1]["timeouts"], 0)

    def test_a_dead_target_holds_up_no_other(self):
        hangs = threading.Event()
        self.addCleanup(hangs.set)
        dead = self.receiver(lambda request, handler: hangs.wait(PATIENCE) and None)
        closed = socket.socket()  # it is bound, and does not listen
        closed.bind(("127.0.0.1", 0))
        self.addCleanup(closed.close)
        alive = self.receiver()
        self.begin_with(dead, alive, more=["--webhook-allow", f"127.0.0.1/32:{closed.getsockname()[1]}"])
        for number in range(8):
            self.target(f"dead{number}", dead.url(), at_once=3)
            self.put_jobs(f"dead{number}", [b"%d" % each for each in range(6)])
        self.target("closed", f"http://127.0.0.1:{closed.getsockname()[1]}/", delays=["1ms"], tries=1000, failures_to_open=3)
        self.put_jobs("closed", [b"c%d" % each for each in range(5)])
        self.target("alive", alive.url())
        bodies = [b"%d" % each for each in range(200)]
        self.put_jobs("alive", bodies)
        alive.wait_for_bodies(bodies)
        self.wait_until_empty("alive")
        seen = self.wait_for(lambda: self.look("closed"), lambda seen: seen["deliveries"]["circuit"] != "closed")
        self.assertEqual(self.look("alive")["deliveries"]["circuit"], "closed")
        self.assertLess(seen["deliveries"]["failed"], 10, "an open circuit uses up no tries")
        self.assertEqual(len(self.ask("GET", "/v1/tubes/closed/jobs")[1]["jobs"]), 5)

    def test_limit_of_deliveries_at_once(self):
        at_work, most, guard = [], [], threading.Lock()

        def react(request, handler):
            with guard:
                at_work.append(request)
                most.append(len(at_work))
            time.sleep(0.02)
            with guard:
                at_work.remove(request)
            return 200, {}

        receiver = self.receiver(react)
        self.begin_with(receiver)
        self.target("mail", receiver.url(), at_once=3)
        self.put_jobs("mail", [b"%d" % each for each in range(40)])
        self.wait_until_empty("mail")
        self.assertLessEqual(max(most), 3)

    def test_a_try_by_hand(self):
        receiver = self.receiver()
        self.begin_with(receiver)
        self.target("mail", receiver.url())
        status, seen = self.ask("POST", "/v1/tubes/mail/webhook/test")
        self.assertEqual((status, seen["outcome"], seen["then"]), (200, "delivered", "none"), seen)
        [request] = receiver.requests
        self.assertTrue(is_genuine(KEY, request.headers, request.body))
        self.assertEqual(json.loads(request.body)["type"], "foliot.test")
        receiver.react = lambda request, handler: (410, {})
        self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/test")[1]["outcome"], "gone")
        self.assertEqual(self.look("mail")["state"], "active", "a try changes nothing")

    def test_at_a_terminal(self):
        if not PageCase.has_job():
            self.skipTest("there is no foliot-job beside foliot")
        receiver = self.receiver()
        self.begin_with(receiver)

        def job(*arguments):
            return self.expect_done("job", *arguments, "--server", f"unix:{self.path}")

        self.assertEqual(job("webhook", "mail", "--url", receiver.url(), "--secret", "one"), "target of tube mail: made\n")
        self.put_jobs("mail", [b"x"])
        self.wait_for_delivery("mail", lambda each: each.get("then") == "done")
        self.assertRegex(job("webhooks"), r"\ATUBE  STATE   CIRCUIT  UNDER WAY  DELIVERED  FAILED  BURIED  URL\n"
                                          rf"mail  active  closed .* 1 +0 +0  {receiver.url()}\n\Z")
        self.assertRegex(job("webhook", "mail"), rf"\Atarget of tube mail\n  state +active\n(.*\n)*  url +{receiver.url()}\n")
        self.assertRegex(job("webhook", "mail", "--deliveries"), r"\AWHEN .*\n.* 1  delivered +204 .* done\n\Z")
        self.assertRegex(job("webhook", "mail", "--test"), r"\AWHEN .*\n.* delivered +204 ")
        self.assertEqual(job("webhook", "mail", "--disable", "--note", "holidays"), "target of tube mail: disabled\n")
        self.assertRegex(job("webhook", "mail", "--exact"), r"  reason +holidays\n  since +\d{4}-")
        self.assertEqual(job("webhook", "mail", "--enable"), "target of tube mail: enabled\n")
        self.assertEqual(json.loads(job("webhooks", "--json", "--prefix", "ma"))["tube"], "mail")
        self.assertEqual(job("webhook", "mail", "--delete"), "target of tube mail: deleted\n")
        self.expect_error("exclude each other", "job", "webhook", "mail", "--enable", "--test", "--server", f"unix:{self.path}")
        self.expect_error("has no target", "job", "webhook", "mail", "--server", f"unix:{self.path}", code=1)

    def test_killed_in_the_middle(self):
        """Each job comes at least once, whatever happens to the server in between."""
        answered = set()
        slow = threading.Event()

        def react(request, handler):
            if not slow.is_set():
                time.sleep(0.05)
            answered.add(request.body)
            return 200, {}

        receiver = self.receiver(react)
        store = ["--data", self.here / "jobs"]
        self.begin_with(receiver, store=store)
        self.target("mail", receiver.url(), at_once=4, delays=["10ms"], failures_to_open=0, tries=1000)
        bodies = []
        for kill in range(5):
            # In each round more than it waits for, however many are delivered before the kill.
            more = [b"job %d of %d" % (each, kill) for each in range(25)]
            bodies += more
            count = len(receiver.requests)
            self.put_jobs("mail", more)
            receiver.wait_for(lambda requests: len(requests) > count + 8)
            self.server.kill()
            self.begin_with(receiver, store=store)
        slow.set()
        receiver.wait_for_bodies(bodies)
        self.wait_until_empty("mail")
        self.assertEqual(answered, set(bodies))
        by_body = {}
        for each in receiver.requests:
            by_body.setdefault(each.body, set()).add(each.headers["webhook-id"])
        self.assertEqual({len(ids) for ids in by_body.values()}, {1}, "one id for all attempts of a message")

    def test_ends_in_order(self):
        receiver = self.receiver(lambda request, handler: time.sleep(0.2) or (200, {}))
        store = ["--data", self.here / "jobs"]
        self.begin_with(receiver, store=store)
        self.target("mail", receiver.url(), at_once=2)
        bodies = [b"%d" % each for each in range(8)]
        self.put_jobs("mail", bodies)
        receiver.wait_for(lambda requests: len(requests) >= 2)
        self.assertEqual(self.server.stop()[0], 0)
        self.begin_with(receiver, store=store)
        receiver.wait_for_bodies(bodies)
        self.wait_until_empty("mail")
        self.assertEqual(len(receiver.requests), len(bodies), "those that were under way were ended, and not made twice")


class Secrets(WebhookCase):
    def test_two_are_valid_while_they_rotate(self):
        receiver = self.receiver()
        self.begin_with(receiver)
        self.target("mail", receiver.url())

        def signed_by():
            self.put_jobs("mail", [b"%d" % len(receiver.requests)])
            count = len(receiver.requests)
            request = receiver.wait_for(lambda requests: len(requests) > count - 1 and requests)[-1]
            return [is_genuine(key, request.headers, request.body) for key in (KEY, OTHER_KEY)]

        def wait_for(wanted):
            until = time.monotonic() + PATIENCE
            while signed_by() != wanted:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)

        wait_for([True, False])
        self.write_secrets(f"[secret one]\npresent = {secret_of(OTHER_KEY)}\nprevious = {secret_of(KEY)}\n"
                           "previous_until = 2100-01-01T00:00:00Z\n")
        wait_for([True, True])
        self.write_secrets("[secret one]\npresent = nonsense\n")  # nothing changes
        time.sleep(1)
        wait_for([True, True])
        self.write_secrets(f"[secret one]\npresent = {secret_of(OTHER_KEY)}\nprevious = {secret_of(KEY)}\n"
                           "previous_until = 2020-01-01T00:00:00Z\n")
        wait_for([False, True])

    def test_missing_ones_hinder(self):
        receiver = self.receiver()
        self.begin_with(receiver)
        self.target("mail", receiver.url())
        self.write_secrets(f"[secret other]\npresent = {secret_of(KEY)}\n")
        self.wait_for(lambda: self.look("mail"), lambda seen: seen["state"] == "hindered")  # before there is a job
        self.put_jobs("mail", [b"0"])
        # The first one may be on its way already.
        def look():
            self.put_jobs("mail", [b"more"])
            return self.look("mail")
        seen = self.wait_for(look, lambda seen: seen["state"] == "hindered")
        self.assertIn("'one'", seen["reason"])
        count = len(receiver.requests)
        [job] = self.put_jobs("mail", [b"waits"]).values()
        self.assertEqual(self.ask("GET", f"/v1/jobs/{job}")[1]["state"], "ready")
        self.assertEqual(len(receiver.requests), count)
        self.write_secrets(f"[secret one]\npresent = {secret_of(KEY)}\n")
        receiver.wait_for_bodies([b"waits"])

    def test_are_in_no_answer_and_no_log(self):
        receiver = self.receiver(lambda request, handler: (500, {}))
        store = ["--data", self.here / "jobs"]
        self.begin_with(receiver, store=store)
        self.target("mail", receiver.url(), tries=2, delays=["1ms"])
        self.put_jobs("mail", [b"x"])
        self.wait_for_delivery("mail", lambda each: each.get("then") == "buried")
        answers = ""
        for path in ("/v1/webhooks", "/v1/tubes/mail/webhook", "/v1/tubes/mail/webhook/deliveries", "/v1/statistics",
                     "/v1/jobs"):
            status, answer = self.ask("GET", path)
            self.assertEqual(status, 200)
            answers += json.dumps(answer)
        self.write_secrets(f"[secret one]\npresent = {secret_of(KEY)}x\nnonsense {secret_of(KEY)}\n")
        time.sleep(1.5)
        log = self.server.stop()[1]
        stored = b"".join(path.read_bytes() for path in (self.here / "jobs").rglob("*") if path.is_file())
        text = base64.b64encode(KEY).decode()
        for place in (answers, log):
            self.assertNotIn(text[:16], place)
        self.assertNotIn(text[:16].encode(), stored)

    def test_file_of_others_is_refused(self):
        path = self.write_secrets(f"[secret one]\npresent = {secret_of(KEY)}\n", mode=0o644)
        self.expect_error("chmod 600", "serve", "--memory", "--webhook-secrets", path, "--quiet")
        path = self.write_secrets("[secret one]\npresent = whsec_c2hvcnQ=\n")
        self.expect_error(":2:", "serve", "--memory", "--webhook-secrets", path, "--quiet")
        self.expect_error("--webhook-allow", "serve", "--memory", "--webhook-allow", "a b", "--quiet")


class Nodes(NodesCase, WebhookCase):
    """Two servers over one database, each of which delivers."""
    node_timeout = 10

    def begin_node(self, name, receiver):
        server = self.start_node(name, "--webhook-secrets", self.here / "secrets", "--webhook-allow-http",
                                 "--webhook-allow", f"127.0.0.1/32:{receiver.port}")
        self.client = self.connect_http(server.http)
        return self.client

    def test_one_is_killed_in_the_middle(self):
        self.write_secrets(f"[secret one]\npresent = {secret_of(KEY)}\n")
        receiver = self.receiver(lambda request, handler: time.sleep(0.02) or (200, {}))
        self.begin_node("n0", receiver)
        second = self.begin_node("n1", receiver)
        self.target("mail", receiver.url(), at_once=3, failures_to_open=0)
        # Each node hears of it.
        for name in ("n0", "n1"):
            client = self.connect_http(self.nodes[name].http)
            self.wait_for(lambda: self.ask("POST", "/v1/reserve?tube=mail&timeout=0s", client=client),
                          lambda answer: answer[0] == 409)
        bodies = [b"job %d" % each for each in range(150)]
        self.put_jobs("mail", bodies)
        receiver.wait_for(lambda requests: len(requests) > 20)
        self.kill_node("n0")
        receiver.wait_for_bodies(bodies)
        self.client = second
        self.wait_until_empty("mail")
        receiver.react = lambda request, handler: (410, {})
        self.begin_node("n2", receiver)
        self.put_jobs("mail", [b"no more"])
        for name in ("n1", "n2"):
            client = self.connect_http(self.nodes[name].http)
            self.wait_for(lambda: self.ask("GET", "/v1/tubes/mail/webhook", client=client)[1],
                          lambda seen: seen["state"] == "disabled")
        receiver.react = lambda request, handler: (200, {})
        self.assertEqual(self.ask("POST", "/v1/tubes/mail/webhook/enable")[0], 200)
        self.wait_until_empty("mail")


class Page(PageCase, WebhookCase):
    """The examples of the page about webhooks."""

    def test_webhooks(self):
        receiver = self.receiver()
        self.write_secrets(f"[secret billing]\npresent = {secret_of(KEY)}\n")
        self.port = beanstalk_client.free_port()
        self.serve("--memory", "--http", f"127.0.0.1:{self.port}", "--webhook-secrets", self.here / "secrets",
                   "--webhook-allow-http", "--webhook-allow", f"127.0.0.1/32:{receiver.port}")
        waits = "until curl -s localhost:11380/v1/tubes/mail/webhook/deliveries | grep -q then; do sleep 0.1; done"
        self.real = {"127.0.0.1:8090": f"127.0.0.1:{receiver.port}", "sleep 1": waits}
        count = 0
        for commands, shown in examples("webhooks.md"):
            self.compare(commands, shown, self.run_example(commands))
            count += 1
        self.assertEqual(count, 2)


if __name__ == "__main__":
    main()
