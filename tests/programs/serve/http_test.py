"""The server as clients of HTTP see it: Python's http.client, and sockets for what no library sends."""
import base64
import errno
import http.client
import json
import socket
import time

from kit import beanstalk_client, openapi
from kit.beanstalk_client import PATIENCE
from kit.http_case import HttpCase
from kit.program_case import FOLIOT, main
from kit.serve_case import put
from nodes_test import NodesCase


POLLS = 10_000


def all_of(connection):
    """All bytes until the server closes the connection."""
    text = b""
    while piece := connection.recv(65536):
        text += piece
    return text


class Jobs(HttpCase):
    def test_a_job_from_put_to_cancel(self):
        self.begin()
        self.assertEqual(self.ask("PUT", "/v1/tubes/mail/jobs/order%2F17", {"text": "hi", "delay": "1h"}),
                         (201, {"id": "1", "outcome": "inserted"}))
        status, job = self.ask("GET", "/v1/job?tube=mail&key=order/17")
        self.assertEqual((status, job["text"], job["state"]), (200, "hi", "delayed"))
        self.assertEqual(self.ask("POST", "/v1/jobs/1/fire"), (200, {"id": "1", "outcome": "ready"}))
        self.assertEqual(self.ask("DELETE", "/v1/jobs/1"), (200, {"id": "1", "outcome": "cancelled"}))
        status, problem = self.ask("DELETE", "/v1/jobs/1")
        self.assertEqual((status, problem["outcome"]), (404, "gone"))

    def test_clients_of_both_protocols_share_the_jobs(self):
        self.begin()
        beanstalk = self.connect(self.server)
        self.ask("POST", "/v1/jobs?tube=default", b"over \r\n HTTP", headers={"Content-Type": "text/x",
                                                                          "Foliot-Header-A": "b"})
        self.assertEqual(beanstalk.ask(b"reserve\r\n"), b"RESERVED 1 12\r\nover \r\n HTTP\r\n")
        beanstalk.ask(b"delete 1\r\n")
        beanstalk.ask(put(b"\xff"))
        status, answer = self.ask("POST", "/v1/reserve", {"tube": "default"})
        self.assertEqual((status, answer["jobs"][0]["base64"]), (200, "/w=="))

    def test_what_was_acknowledged_survives_a_crash(self):
        self.begin("--data", self.here / "jobs")
        headers = {"Content-Type": "text/x", "Foliot-Header-Trace": "a"}
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail&key=k", b"hi", headers=headers)[0], 201)
        self.assertEqual(self.ask("POST", "/v1/reserve", {"tube": "mail"})[1]["jobs"][0]["key"], "k")
        self.server.kill()
        self.begin("--data", self.here / "jobs")
        status, job = self.ask("GET", "/v1/tubes/mail/jobs/k")
        self.assertEqual((status, job["state"], job["text"]), (200, "ready", "hi"))
        self.assertEqual((job["content_type"], job["headers"]), ("text/x", {"trace": "a"}))

    def test_the_token_of_an_earlier_start_is_refused(self):
        self.begin("--data", self.here / "jobs")
        self.ask("POST", "/v1/jobs?tube=mail", b"hi")
        token = self.ask("POST", "/v1/reserve", {"tube": "mail"})[1]["jobs"][0]["reservation"]
        self.server.kill()
        self.begin("--data", self.here / "jobs")
        self.assertEqual(self.ask("POST", "/v1/reserve", {"tube": "mail"})[1]["jobs"][0]["id"], "1")
        status, problem = self.ask("POST", f"/v1/reservations/{token}/finish")
        self.assertEqual((status, problem["outcome"]), (409, "not_held"))

    def test_bodies_come_back_as_they_were(self):
        self.begin()
        forms = [({"body": {"n": [1, None, "\u00e9"]}}, "body", {"n": [1, None, "\u00e9"]}, "application/json"),
                 ({"text": "a \u20ac \r\n"}, "text", "a \u20ac \r\n", "text/plain; charset=utf-8"),
                 ({"base64": "AP8="}, "base64", "AP8=", "application/octet-stream"),
                 ({"base64": base64.b64encode(bytes(range(256)) * 200).decode()}, "base64",
                  base64.b64encode(bytes(range(256)) * 200).decode(), "application/octet-stream"),
                 ({}, "text", "", None)]
        for number, (given, form, wanted, content_type) in enumerate(forms, 1):
            with self.subTest(form=form, number=number):
                self.assertEqual(self.ask("POST", "/v1/tubes/t/jobs", given | {"headers": {"trace": "a b"}})[0], 201)
                job = self.ask("POST", "/v1/reserve", {"tube": "t"})[1]["jobs"][0]
                self.assertEqual((job[form], job.get("content_type")), (wanted, content_type))
                self.assertEqual((job["id"], job["headers"]), (str(number), {"trace": "a b"}))

    def test_a_key_is_put_once(self):
        self.begin()
        path = "/v1/tubes/orders/jobs/17"
        self.assertEqual(self.ask("PUT", path, {"body": 1, "delay": "1h"})[1], {"id": "1", "outcome": "inserted"})
        self.assertEqual(self.ask("PUT", path, {"body": 2, "delay": "1h"}), (200, {"id": "2", "outcome": "replaced"}))
        self.assertEqual(self.ask("POST", "/v1/jobs", {"tube": "orders", "key": "17"}), (200, {"id": "2", "outcome": "kept"}))
        self.assertEqual(self.ask("PUT", path, {"existing": "refuse"})[0], 409)
        self.assertEqual(self.ask("PUT", path, {}, headers={"If-None-Match": "*"})[0], 412)
        self.assertEqual(self.ask("GET", path)[1]["body"], 2)
        self.ask("POST", path + "/fire")
        self.ask("POST", "/v1/reserve", {"tube": "orders"})
        status, problem = self.ask("PUT", path, {"body": 3})
        self.assertEqual((status, problem["outcome"]), (409, "reserved"))
        for method, target in [("DELETE", path), ("POST", path + "/fire"), ("POST", path + "/reschedule?delay=1s")]:
            status, problem = self.ask(method, target)
            self.assertEqual((status, problem["outcome"]), (409, "reserved"), target)

    def test_a_job_moves_in_time(self):
        self.begin()
        self.ask("POST", "/v1/jobs", {"tube": "t", "due": "2100-01-01T00:00:00.5+01:00"})
        self.assertEqual(self.ask("GET", "/v1/jobs/1")[1]["due"], "2099-12-31T23:00:00.500Z")
        moved = self.ask("POST", "/v1/jobs/1/reschedule", {"due": "2100-01-02T00:00:00Z"})
        self.assertEqual(moved, (200, {"id": "1", "outcome": "rescheduled"}))
        self.assertEqual(self.ask("GET", "/v1/due")[1]["jobs"],
                         [{"id": "1", "tube": "t", "due": "2100-01-02T00:00:00.000Z"}])
        self.assertEqual(self.ask("GET", "/v1/jobs/1/why")[1],
                         {"id": "1", "tube": "t", "state": "delayed", "waits": "due_later", "until": "2100-01-02T00:00:00.000Z"})
        self.assertEqual(self.ask("POST", "/v1/job/reschedule?id=1&delay=0s")[0], 200)
        self.assertEqual(self.ask("GET", "/v1/job/why?id=1")[1]["waits"], "nobody_watches")

    def test_a_batch_has_its_outcomes_in_order(self):
        self.begin()
        status, answer = self.ask("POST", "/v1/batch", {"jobs": [{"tube": "t", "body": i} for i in range(1000)]})
        self.assertEqual(status, 200)
        self.assertEqual(answer["results"], [{"status": 201, "id": str(i), "outcome": "inserted"} for i in range(1, 1001)])
        job = {"tube": "t", "key": "k"}
        status, answer = self.ask("POST", "/v1/batch", {"jobs": [job, job | {"delay": "soon"}, job, {"text": "no tube"}]})
        self.assertEqual((status, [each["status"] for each in answer["results"]]), (207, [201, 400, 200, 400]))
        self.assertEqual([each["errors"][0]["pointer"] for each in answer["results"] if "errors" in each],
                         ["#/jobs/1/delay", "#/jobs/3/tube"])
        self.assertEqual(self.ask("GET", "/v1/tubes/t")[1]["ready"], 1001)

    def expect_all_or_none(self):
        other = {"tube": "t", "key": "other"}
        self.assertEqual(self.ask("POST", "/v1/jobs", other | {"delay": "1h"})[0], 201)
        jobs = [{"tube": "t", "key": f"k{i}", "existing": "refuse"} for i in range(500)]
        refused = other | {"existing": "refuse"}
        for entry, pointer in (refused, "#/jobs/400"), ({"put": refused}, "#/jobs/400/put"):
            batch = {"jobs": jobs[:400] + [entry] + jobs[400:], "atomic": True}
            self.expect_problem(409, {"pointer": pointer}, "POST", "/v1/batch", batch)
            self.assertEqual(self.ask("GET", "/v1/tubes/t")[1]["ready"], 0)
        status, answer = self.ask("POST", "/v1/batch", {"jobs": jobs, "atomic": True})
        self.assertEqual((status, {each["status"] for each in answer["results"]}), (200, {201}))
        self.assertEqual(self.ask("GET", "/v1/tubes/t")[1]["ready"], 500)

    def test_an_atomic_batch_takes_all_or_none(self):
        self.begin()
        self.expect_all_or_none()

    def test_an_atomic_batch_takes_all_or_none_in_a_folder(self):
        self.begin("--data", self.here / "jobs")
        self.expect_all_or_none()

    def test_a_batch_has_entries_of_all_kinds(self):
        self.begin()
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": f"w{i}", "ttr": "1h"} for i in range(4)]})
        held = [self.ask("POST", "/v1/reserve", {"tube": f"w{i}"})[1]["jobs"][0]["reservation"] for i in range(4)]
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": "t", "key": f"k{i}", "delay": "1h"} for i in range(5)]})
        named = [{"tube": "t", "key": f"k{i}"} for i in range(5)]
        entries = [{"cancel": named[0]}, {"reschedule": named[1] | {"delay": "2h"}}, {"fire": named[2]}, {"kick": {"id": "8"}},
                   {"kick": {"tube": "t", "count": 9}}, {"finish": {"reservation": held[0]}},
                   {"release": {"reservation": held[1], "delay": "1h"}}, {"touch": {"reservation": held[2]}},
                   {"bury": {"reservation": held[3], "priority": 7}}, {"put": {"tube": "t"}}]
        status, answer = self.ask("POST", "/v1/batch", {"jobs": entries})
        self.assertEqual(status, 200, answer)
        self.assertEqual([each.get("outcome", each.get("kicked")) for each in answer["results"]],
                         ["cancelled", "rescheduled", "ready", "ready", 2, "finished", "released", "touched", "buried",
                          "inserted"])
        status, answer = self.ask("POST", "/v1/batch", {"jobs": [{"cancel": named[1] | {"version": "1"}}, {"fire": {}},
                                                                 {"finish": {"reservation": held[0]}}]})
        self.assertEqual((status, [each["status"] for each in answer["results"]]), (207, [412, 400, 409]))
        self.assertEqual(answer["results"][0]["version"], self.ask("GET", "/v1/tubes/t/jobs/k1")[1]["version"])

    def test_wrong_values_are_named(self):
        self.begin()
        wrong = [("POST", "/v1/jobs", {"text": "x"}, {"pointer": "#/tube"}),
                 ("POST", "/v1/jobs?tube=t", {"delay": "soon"}, {"pointer": "#/delay"}),
                 ("POST", "/v1/jobs?tube=t&delay=soon", None, {"parameter": "delay"}),
                 ("POST", "/v1/jobs?tube=t", {"due": "tomorrow"}, {"pointer": "#/due"}),
                 ("POST", "/v1/jobs?tube=t", {"priority": -1}, {"pointer": "#/priority"}),
                 ("POST", "/v1/jobs?tube=t", {"colour": "red"}, {"pointer": "#/colour"}),
                 ("POST", "/v1/jobs?tube=t", {"headers": {"a": "b\r\nc: d"}}, {"pointer": "#/headers/a"}),
                 ("POST", "/v1/jobs?tube=t", {"ttr": "0s"}, {"pointer": "#/ttr"}),
                 ("POST", "/v1/jobs?tube=t", {"due": "2300-01-01T00:00:00Z"}, {"pointer": "#/due"}),
                 ("GET", "/v1/job?tube=t&key=" + "x" * 201, None, {"parameter": "key"}),
                 ("GET", "/v1/jobs/%zz", None, {"path": "%zz"}),
                 ("GET", "/v1/jobs/x", None, {"path": "id"}),
                 ("GET", "/v1/jobs/18446744073709551616", None, {"path": "id"}),
                 ("POST", "/v1/jobs/1/reschedule", None, {"pointer": "#/due"}),
                 ("POST", "/v1/reserve", {"tubes": ["a", 1]}, {"pointer": "#/tubes/1"}),
                 ("POST", "/v1/reservations/x/finish", None, {"path": "reservation"}),
                 ("POST", "/v1/tubes/t/pause", None, {"pointer": "#/length"}),
                 ("GET", "/v1/tubes?count=0", None, {"parameter": "count"}),
                 ("GET", "/v1/due?cursor=x", None, {"parameter": "cursor"})]
        for method, target, value, where in wrong:
            with self.subTest(target=target, value=value):
                self.expect_problem(400, where, method, target, value)
        self.expect_problem(415, {"header": "content-type"}, "POST", "/v1/reserve", b"tube=t")
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)


class Work(HttpCase):
    def test_a_reservation_over_another_connection(self):
        self.begin()
        other = self.connect_http()
        self.ask("POST", "/v1/jobs?tube=mail", b"hi")
        _, answer = self.ask("POST", "/v1/reserve", {"tube": "mail"})
        self.client.close()
        token = answer["jobs"][0]["reservation"]
        self.assertEqual(self.ask("POST", f"/v1/reservations/{token}/touch", client=other)[0], 200)
        self.assertEqual(self.ask("POST", f"/v1/reservations/{token}/finish", client=other)[1]["outcome"], "finished")

    def test_a_long_poll_gets_the_job(self):
        self.begin()
        worker = self.connect_http()
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        self.wait_for_waiting(1)
        self.ask("POST", "/v1/jobs?tube=mail", b"late")
        status, answer = self.answer(worker, "POST", "/v1/reserve")
        self.assertEqual((status, answer["jobs"][0]["text"]), (200, "late"))

    def test_a_client_that_goes_away_while_it_waits(self):
        self.begin()
        worker = self.connect_http()
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        self.wait_for_waiting(1)
        worker.close()
        self.wait_for_waiting(0)
        self.ask("POST", "/v1/jobs?tube=mail", b"hi")
        self.assertEqual(self.ask("GET", "/v1/jobs/1")[1]["state"], "ready")

    def test_a_waiting_client_does_not_hold_up_the_end(self):
        self.begin()
        worker = self.connect_http()
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        self.wait_for_waiting(1)
        began = time.monotonic()
        code, _ = self.server.stop()
        self.assertEqual(code, 0)
        self.assertLess(time.monotonic() - began, PATIENCE)

    def test_what_a_holder_does(self):
        self.begin()
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": "t", "body": i, "ttr": "1h"} for i in range(5)]})
        jobs = self.ask("POST", "/v1/reserve", {"tube": "t", "count": 10})[1]["jobs"]
        self.assertEqual([each["body"] for each in jobs], list(range(5)))
        ways = [("finish", {}, "finished", None), ("release", {"delay": "1h", "priority": 7}, "released", "delayed"),
                ("touch", None, "touched", "reserved"), ("bury", {"priority": 9}, "buried", "buried"),
                ("release", None, "released", "ready")]
        for job, (what, value, outcome, state) in zip(jobs, ways):
            with self.subTest(what=what):
                path = f"/v1/reservations/{job['reservation']}"
                self.assertEqual(self.ask("POST", f"{path}/{what}", value)[1]["outcome"], outcome)
                self.assertEqual(self.ask("GET", f"/v1/jobs/{job['id']}")[1].get("state"), state)
                if what != "touch":
                    status, problem = self.ask("POST", f"{path}/finish")
                    self.assertEqual((status, problem["outcome"]), (409, "not_held"))
        self.assertEqual(self.ask("GET", "/v1/jobs/4/why")[1]["waits"], "buried")
        self.assertEqual(self.ask("POST", "/v1/tubes/t/kick", {"count": 10}), (200, {"kicked": 1}))
        self.assertEqual(self.ask("POST", "/v1/jobs/2/kick")[1], {"id": "2", "outcome": "ready"})
        self.assertEqual(self.ask("POST", "/v1/jobs/2/kick")[1]["outcome"], "refused")
        self.assertEqual(self.ask("GET", "/v1/jobs/3/why")[1]["waits"], "reserved")

    def test_a_job_of_a_client_that_does_not_read(self):
        self.begin()
        worker = self.raw()
        worker.sendall(b"POST /v1/reserve?tube=t HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.wait_for_waiting(1)
        worker.shutdown(socket.SHUT_WR)  # it can no more say that it is there
        self.wait_for_waiting(0)
        self.ask("POST", "/v1/jobs?tube=t", b"hi")
        job = self.ask("POST", "/v1/reserve", {"tube": "t"})[1]["jobs"][0]
        self.assertEqual((job["reserves"], job["timeouts"]), (1, 0))

    def poll(self):
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.connect(str(self.path))  # waits for its turn, as one with a timeout does not
        connection.settimeout(PATIENCE)
        connection.sendall(b"POST /v1/reserve?tube=t&timeout=1h HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection

    def test_ten_thousand_long_polls(self):
        self.allow(POLLS)
        self.begin("--memory", "--max-connections", POLLS + 10)
        self.wait_for_waiting(0)
        before = self.resident(self.server)
        polls = [self.poll() for _ in range(POLLS)]
        self.wait_for_waiting(POLLS)
        self.expect_little_memory(self.server, before, POLLS * 16_384)  # twice what each takes
        for each in polls[1::2]:
            each.close()
        self.wait_for_waiting(POLLS // 2)
        for _ in range(0, POLLS // 2, 1000):
            self.assertEqual(self.ask("POST", "/v1/batch", {"jobs": [{"tube": "t", "ttr": "1h"}] * 1000})[0], 200)
        ids = set()
        for each in polls[::2]:
            answer = b""
            while not answer.endswith(b"]}\n"):
                piece = each.recv(65536)
                self.assertTrue(piece, answer)
                answer += piece
            ids |= {job["id"] for job in json.loads(answer.partition(b"\r\n\r\n")[2])["jobs"]}
        self.assertEqual(len(ids), POLLS // 2, "each has one")
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["reserved"], POLLS // 2)

    def test_tubes_are_paused_counted_and_cleared(self):
        self.begin()
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": f"t{i:03}", "text": "x"} for i in range(250)]})
        seen, cursor = [], ""
        while cursor is not None:
            page = self.ask("GET", f"/v1/tubes?prefix=t&count=100&cursor={cursor}")[1]
            seen += [each["tube"] for each in page["tubes"]]
            cursor = page.get("next")
        self.assertEqual(seen, [f"t{i:03}" for i in range(250)])
        self.assertEqual(self.ask("POST", "/v1/tubes/t001/pause", {"length": "1h"})[1]["outcome"], "paused")
        self.assertEqual(self.ask("POST", "/v1/reserve", {"tube": "t001", "timeout": "0s"})[1], {"jobs": []})
        self.assertIn("paused_until", self.ask("GET", "/v1/tubes/t001")[1])
        self.assertEqual(self.ask("GET", "/v1/jobs/2/why")[1]["waits"], "paused")
        self.assertEqual(self.ask("POST", "/v1/tubes/t001/pause", {"length": "0s"})[1]["outcome"], "resumed")
        self.assertEqual(len(self.ask("POST", "/v1/reserve", {"tube": "t001", "timeout": "0s"})[1]["jobs"]), 1)
        self.assertEqual(self.ask("POST", "/v1/tubes/t002/clear")[1], {"cancelled": 1})
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 248)

    def test_what_is_due_comes_in_pages(self):
        self.begin()
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": f"t{i % 3}", "delay": "1h"} for i in range(250)]})
        seen, cursor = [], ""
        while cursor is not None:
            page = self.ask("GET", f"/v1/due?count=100{cursor and '&cursor='}{cursor}")[1]
            seen += [each["id"] for each in page["jobs"]]
            cursor = page.get("next")
        self.assertEqual(sorted(seen, key=int), [str(i) for i in range(1, 251)])
        self.assertEqual(len(self.ask("GET", "/v1/due?prefix=t2")[1]["jobs"]), 83)


class Connections(HttpCase):
    def test_requests_that_follow_each_other(self):
        self.begin()
        connection = self.raw()
        connection.sendall(b"".join(b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n%d" %
                                    (i % 10) for i in range(100)) +
                           b"GET /v1/statistics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answers = all_of(connection)
        self.assertEqual(answers.count(b"HTTP/1.1 201 Created\r\n"), 100)
        self.assertIn(b'"ready":100', answers)

    def test_byte_by_byte(self):
        self.begin()
        connection = self.raw()
        for byte in (b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"):
            connection.sendall(bytes([byte]))
        self.assertIn(b"HTTP/1.1 201 ", all_of(connection))

    def test_a_smuggled_request_is_not_executed(self):
        self.begin()
        smuggled = b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"
        for fields in [b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: gzip\r\nContent-Length: 0",
                       b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"Content-Length: 0\r\nContent-Length: 0",
                       b"X: a\nContent-Length: 0", b"X: a\r\n b", b"Content-Length : 0"]:
            with self.subTest(fields=fields):
                connection = self.raw()
                connection.sendall(b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n\r\n" +
                                   b"0\r\n\r\n" + smuggled)
                answer = all_of(connection)
                self.assertRegex(answer, rb"\AHTTP/1.1 (400|501) ")
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_a_client_of_beanstalk_is_told_so(self):
        self.begin()
        connection = self.raw()
        connection.sendall(put(b"hi") + b"\r\n")  # which would end a head
        self.assertTrue(all_of(connection).startswith(b"HTTP/1.1 400 "))
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_a_page_of_another_site_is_a_stranger(self):
        self.begin()
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=t", b"x", headers={"Origin": "http://evil.example"})[0], 403)
        self.assertEqual(self.ask("GET", "/v1/tubes", headers={"Host": "evil.example"})[0], 421)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_health(self):
        self.begin()
        self.assertEqual(self.ask("GET", "/health"), (200, {"status": "ok"}))
        self.assertEqual(self.ask("GET", "/ready"), (200, {"status": "ready"}))

    def test_a_body_without_an_end_is_refused(self):
        self.begin()
        connection = self.raw()
        connection.sendall(b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(16):  # the limit is 1 MiB
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        connection.sendall(b"10000\r\n")  # no more: a close with unread bytes would drop the answer
        self.assertRegex(all_of(connection), rb"^HTTP/1\.1 413 ")
        self.assertEqual(self.ask("GET", "/health")[0], 200)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_json_that_two_programs_may_read_differently_is_refused(self):
        """And the connection goes on."""
        self.begin()
        refused = [(b"[" * 1_000_000, ""), (b'{"body":' + b"[" * 40 + b"]" * 40 + b"}", None),
                   (b'{"body":[' + b"0," * 70_000 + b"0]}", None), (b'{"text":"a","text":"b"}', "#/text"),
                   (b'{"text":"a","\\u0074ext":"b"}', "#/text"), (b'{"text":"\\ud800"}', None), (b'{"text":"\xff"}', None),
                   (b'{"body":9007199254740992}', "#/body"), (b'{"body":1e999}', None), (b'{"body":1}\0{"body":2}', None),
                   (b'{"body":1', None), (b"", "#/tube")]
        for body, pointer in refused:
            with self.subTest(body=body[:40]):
                target = "/v1/jobs?tube=t" if body else "/v1/jobs"
                status, problem = self.ask("POST", target, body, headers={"Content-Type": "application/json"})
                self.assertEqual(status, 400, problem)
                if pointer:
                    self.assertEqual(problem["errors"][0]["pointer"], pointer)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=t", {"body": 9007199254740991})[0], 201)

    def test_a_change_of_a_version_that_is_gone(self):
        self.begin()
        target = "/v1/tubes/mail/jobs/k"
        self.ask("PUT", target, {"text": "one", "delay": "1h"})
        version = self.ask("GET", target)[1]["version"]
        self.ask("PUT", target, {"text": "two", "delay": "1h"})
        for method in ["PUT", "DELETE"]:
            status, problem = self.ask(method, target, headers={"If-Match": f'"{version}"'})
            self.assertEqual((status, problem["outcome"]), (412, "other_version"))

    def test_a_client_of_http_at_the_port_of_beanstalk(self):
        self.begin()
        connection = self.connect(self.server)
        connection.send(b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nput 0 0 1 1\r\n")
        self.assertNotIn(b"INSERTED", connection.rest())
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["jobs"]["ready"], 0)

    def test_without_beanstalk(self):
        path = self.here / "http"
        process = self.start("serve", "--memory", "--beanstalk", "off", "--http", f"unix:{path}")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        until = time.monotonic() + PATIENCE
        client = self.connect_http(path)
        while True:
            try:
                client.connect()
                break
            except OSError:
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=t", b"x", client=client)[0], 201)

    def test_several_addresses(self):
        self.begin("--memory", "--http", f"unix:{self.here / 'other'}")
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=t", b"x")[0], 201)
        other = self.connect_http(self.here / "other")
        self.assertEqual(self.ask("GET", "/v1/jobs/1", client=other)[1]["text"], "x")
        self.assertEqual(self.server.stop()[0], 0)

    def test_an_address_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            code, _, log = self.run_foliot("serve", "--memory", "--beanstalk", f"unix:{self.here}/jobs", "--http", address)
            self.assertEqual(code, 2)
            self.assertIn(f"foliot: cannot listen at {address}: Address already in use", log)

    def test_addresses(self):
        wrong = [(["--http", ""], "is no address"),
                 (["--memory", "--beanstalk", "off", "--http", "off"], "no way to reach the jobs"),
                 (["--memory", "--http", "192.0.2.1:80"], "can be reached from other machines"),
                 (["--memory", "--http", f"unix:{self.here}/http", "--http", "off"], "--http off stands alone"),
                 (["--memory", "--tokens", "tokens", "--proxy", "localhost"], "--proxy 'localhost' is no proxy"),
                 (["--memory", "--proxy", "127.0.0.1"], "--proxy requires --tokens")]
        for arguments, message in wrong:
            with self.subTest(arguments=arguments):
                self.expect_error(message, "serve", *arguments)


DEFAULT = ("127.0.0.1", 11380)


class DefaultPort(HttpCase):
    """Others may have the port at any time: the log says whether it was free."""

    def start_server(self):
        server = beanstalk_client.Server(lambda port: [FOLIOT, "serve", "--memory", "--beanstalk", f"127.0.0.1:{port}"])
        self.addCleanup(self.end, server)
        return server

    def test_a_port_that_is_taken(self):
        until = time.monotonic() + PATIENCE
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of before do not hold it
            while True:
                try:
                    taken.bind(DEFAULT)
                    break
                except OSError as error:  # by another test
                    self.assertEqual(error.errno, errno.EADDRINUSE)
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.1)
            taken.listen()
            server = self.start_server()
            self.expect_work(self.connect(server))
            _, log = server.stop()
            self.assertRegex(log, r"warning no client of HTTP is served: .*127\.0\.0\.1:11380.*--http off")
            self.assertNotIn("HTTP clients connect", log)

    def test_none_where_beanstalk_is_no_port_of_loopback(self):
        server = self.start("serve", "--memory", "--beanstalk", f"unix:{self.here / 'beanstalk'}")
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        while (line := server.stderr.readline()) and b"clients connect to" not in line:
            pass
        server.terminate()
        self.assertIn(b"info HTTP is off: --http names an address for it\n", server.stderr.read())

    def test_a_port_that_is_free(self):
        until = time.monotonic() + PATIENCE
        while True:
            server = self.start_server()
            client = http.client.HTTPConnection(*DEFAULT, timeout=PATIENCE)
            self.addCleanup(client.close)
            self.connect(server).ask(put(b"over beanstalk"))
            try:
                seen = self.ask("GET", "/v1/jobs/1", client=client)
            except OSError as error:
                seen = error
            _, log = server.stop()
            if "HTTP clients connect to 127.0.0.1:11380\n" in log:
                break
            self.assertIn("no client of HTTP is served", log)
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        self.assertEqual((seen[0], seen[1]["text"]), (200, "over beanstalk"))


class Description(HttpCase):
    def test_the_server_shows_it(self):
        self.begin()
        status, document = self.ask("GET", "/openapi.json")
        self.assertEqual((status, document), (200, self.interface.document))

    def test_what_answers_are_compared_with(self):
        if openapi.jsonschema is None:
            self.skipTest("python3-jsonschema is not installed")
        for schema in self.interface.document["components"]["schemas"].values():
            openapi.jsonschema.Draft202012Validator.check_schema(schema)
        done = {"id": "1", "outcome": "inserted"}
        right = ("POST", "/v1/jobs?tube=t", 201, "application/json", done)
        self.assertIsNone(self.interface.wrong_with(*right))
        for wrong in [{"id": 1, "outcome": "inserted"}, {"id": "1"}, {**done, "more": 1}, {**done, "outcome": "maybe"}, []]:
            self.assertIsNotNone(self.interface.wrong_with(*right[:4], wrong), wrong)
        self.assertIsNotNone(self.interface.wrong_with(*right[:3], "text/html", done))
        self.assertIsNotNone(self.interface.wrong_with("POST", "/v1/jobs", 400, "application/problem+json", done))


class Examples(HttpCase):
    """Each request of the description is made, with its example where it has a body, and is answered as described. An
    example of an answer is as described, too."""
    held = []

    def jobs_of_the_examples(self):
        """As the examples have them: two that wait."""
        for key in ("user-1", "user-2"):
            status, done = self.ask("PUT", f"/v1/tubes/mail/jobs/{key}", {"text": "hello", "delay": "1h"})
            self.assertLess(status, 300, done)
        job = done["id"]
        status, done = self.ask("PUT", "/v1/tubes/mail/schedules/report", {"rules": ["@daily"], "starts": "2026-01-01T00:00:00Z"})
        self.assertLess(status, 300, done)
        return job

    def target_of_the_examples(self):
        """In a tube of its own, from which nobody reserves."""
        plan = {"url": "https://hooks.example.com/", "secret": "billing", "time_out": "100ms"}
        status, done = self.ask("PUT", "/v1/tubes/hooks/webhook", plan)
        self.assertLess(status, 300, done)

    def reserve(self):
        self.assertEqual(self.ask("POST", "/v1/tubes/mail/jobs/user-1/fire")[0], 200)
        self.held = [each["reservation"] for each in self.ask("POST", "/v1/reserve?tube=mail&timeout=0s")[1]["jobs"]]
        return self.held[0]

    def action(self, makes):
        made = self.ask("POST", "/v1/actions", makes)[1]["id"]
        until = time.monotonic() + PATIENCE
        while self.ask("GET", f"/v1/actions/{made}")[1]["state"] != "counted":
            self.assertLess(time.monotonic(), until)
            time.sleep(0.002)
        return made

    def run_operation(self, path, method, operation, makes):
        example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        self.assertEqual(example is None, "requestBody" not in operation, "a body needs an example")
        job = self.jobs_of_the_examples()
        target = path
        if "webhook" in path:
            self.target_of_the_examples()
            target = target.replace("{tube}", "hooks") + ("?tube=hooks" if path.startswith("/v1/webhook") and path != "/v1/webhooks" else "")
        for name, value in {"tube": lambda: "mail", "key": lambda: "user-1", "id": lambda: job, "reservation": self.reserve,
                            "action": lambda: self.action(makes), "name": lambda: "report"}.items():
            if f"{{{name}}}" in target:
                target = target.replace(f"{{{name}}}", value())
        if path.partition("/")[2].split("/")[1:2] in (["job"], ["tube"]) and "tube" not in (example or {}):
            target += "?tube=mail" + ("&key=user-1" if "/job" in path else "")
        if path.startswith("/v1/schedule") and not path.startswith("/v1/schedules"):
            target += "?tube=mail&name=report"
        if path == "/v1/policy":
            target += "?tube=mail"
        if operation["operationId"] == "reserveJobs":
            self.assertEqual(self.ask("POST", "/v1/tubes/mail/jobs/user-1/fire")[0], 200)
        status, done = self.ask(method.upper(), target, example)
        self.assertIn(str(status), operation["responses"], done)
        if operation["operationId"] == "reserveJobs":
            self.held = [each["reservation"] for each in done["jobs"]]
        return int(example is not None) + self.compare_answers(path, method, operation)

    def compare_answers(self, path, method, operation):
        """Compares the examples of answers with what the description allows; how many there are."""
        compared = 0
        for status, answer in operation["responses"].items():
            for content_type, content in answer.get("content", {}).items():
                if "example" in content:
                    self.assertIsNone(self.interface.wrong_with(method.upper(), path, int(status), content_type, content["example"]))
                    compared += 1
        return compared

    def leave_nothing(self):
        for each in self.held:
            self.ask("POST", f"/v1/reservations/{each}/finish")  # it may have ended
        self.held = []
        self.ask("POST", "/v1/tubes/mail/pause", {"length": "0s"})
        self.ask("POST", "/v1/tubes/mail/clear", {"count": 10_000})

    def begin_with_webhooks(self):
        """False: the program was built without them."""
        if "--webhook-allow" not in self.expect_done("serve", "--help"):
            self.begin()
            return False
        secrets = self.here / "secrets"
        secrets.touch(0o600)
        secrets.write_text("[secret billing]\npresent = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=\n")
        self.begin("--memory", "--webhook-secrets", secrets, "--webhook-allow", "hooks.example.com")
        return True

    def test_every_example_is_run(self):
        has_webhooks = self.begin_with_webhooks()
        paths = {path: operations for path, operations in self.interface.document["paths"].items()
                 if has_webhooks or "webhook" not in path}
        text = json.dumps(paths)
        makes = paths["/v1/actions"]["post"]["requestBody"]["content"]["application/json"]["example"]
        run = 0
        for path, operations in paths.items():
            for method, operation in operations.items():
                if not any("application/json" in each.get("content", {}) for each in operation["responses"].values()):
                    continue  # a stream, as that of events_test.py, or a text
                with self.subTest(f"{method} {path}"):
                    run += self.run_operation(path, method, operation, makes)
                self.leave_nothing()
        self.assertEqual(run, text.count('"example": '))
        for each in self.interface.document["components"]["schemas"]["Length"]["examples"]:
            self.assertEqual(self.ask("POST", f"/v1/jobs?tube=mail&delay={each}")[0], 201)
        if has_webhooks:
            self.assertEqual(json.dumps(self.interface.document).count('"example'), run + 1, "there are examples elsewhere")


class Nodes(NodesCase, HttpCase):
    """Two servers over one database."""
    shares_server = True

    def begin_node(self, name):
        return self.connect_http(self.start_node(name).http)

    def test_a_job_put_at_one_is_worked_on_at_the_other(self):
        shop, worker = self.begin_node("n0"), self.begin_node("n1")
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        self.assertEqual(self.ask("PUT", "/v1/tubes/mail/jobs/k", {"body": {"to": "a"}, "headers": {"trace": "b"}}, shop)[0], 201)
        status, answer = self.answer(worker, "POST", "/v1/reserve")
        self.assertEqual(status, 200)
        job = answer["jobs"][0]
        self.assertEqual((job["body"], job["headers"], job["key"]), ({"to": "a"}, {"trace": "b"}, "k"))
        status, seen = self.ask("GET", "/v1/jobs/%s/why" % job["id"], client=shop)
        self.assertEqual((status, seen["waits"], seen["node"]), (200, "reserved", "n1"))
        self.assertNotIn("held_by", seen, "only the node at which it was reserved knows that")
        self.assertEqual(self.ask("GET", "/v1/jobs/%s/why" % job["id"], client=worker)[1]["held_by"], "a local socket")
        path = f"/v1/reservations/{job['reservation']}"
        self.assertEqual(self.ask("POST", f"{path}/touch", client=shop)[1]["outcome"], "touched")
        self.assertEqual(self.ask("POST", f"{path}/finish", client=shop)[1]["outcome"], "finished")
        self.assertEqual(self.ask("POST", f"{path}/finish", client=worker)[0], 409)

    def test_each_node_tells_of_all(self):
        names = ("n0", "n1")
        clients = [self.begin_node(name) for name in names]
        for delay in ("30s", "30m", "0s"):
            self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", {"delay": delay}, clients[0])[0], 201)
        held = self.ask("POST", "/v1/reserve?tube=mail", client=clients[1])[1]["jobs"][0]
        self.ask("POST", f"/v1/reservations/{held['reservation']}/finish", client=clients[1])
        for name, client, put, finished in zip(names, clients, (3, 0), (0, 1)):
            status, seen = self.ask("GET", "/v1/statistics", client=client)
            self.assertEqual((status, seen["server"]["node"], seen["jobs"]["delayed"]), (200, name, 2))
            flow, times = seen["flow"], seen["times"]
            self.assertEqual((flow["put"], flow["reserved"], flow["finished"]), (put, finished, finished), "of this node")
            self.assertEqual([times[each]["count"] for each in ("lateness", "work")], [finished] * 2)
            self.assertEqual(sum(times["work"]["counts"]), finished)
            nodes = seen["database"]["nodes"]
            self.assertEqual([(each["name"], each["sessions"]) for each in nodes], [("n0", 2), ("n1", 2)])
            for each in nodes:
                self.assertLessEqual(max(each["since"], each["heard"]), seen["database"]["time"])
            counted = self.ask("GET", "/v1/due/counts", client=client)[1]
            self.assertEqual([sum(counted[scale]["counts"]) for scale in ("minute", "hour", "day")], [1, 2, 2])
            access = self.ask("GET", "/v1/access", client=client)[1]
            self.assertEqual((access["tokens"], access["tubes"]), (False, ["*"]))

    def test_conditions_of_changes(self):
        client, target = self.begin_node("n0"), "/v1/tubes/mail/jobs/k"

        def change(method, tag):
            return self.ask(method, target, headers={"If-Match": tag}, client=client)[0]

        self.assertEqual(change("PUT", "*"), 412)
        self.assertEqual(self.ask("GET", target, client=client)[0], 404, "nothing was put")
        self.assertEqual(self.ask("PUT", target, {"delay": "1h"}, client)[0], 201)
        tag = '"%s"' % self.ask("GET", target, client=client)[1]["version"]
        for other in [f"W/{tag}", '"x"', '"9223372036854775808"', '"18446744073709551615"', '"18446744073709551616"']:
            self.assertEqual((change("PUT", other), change("DELETE", other)), (412, 412), other)
        self.assertEqual(change("PUT", "*"), 200)
        self.assertEqual(change("DELETE", tag), 412)
        tag = '"%s"' % self.ask("GET", target, client=client)[1]["version"]
        self.assertEqual(change("DELETE", f'"x", {tag}'), 200)

    def wait_for_ready(self, client, status):
        until = time.monotonic() + PATIENCE
        while (seen := self.ask("GET", "/ready", client=client))[0] != status:
            self.assertLess(time.monotonic(), until, seen)
            time.sleep(0.05)
        self.assertEqual(self.ask("GET", "/health", client=client)[0], 200)
        return seen[1].get("detail")

    def test_ready_says_that_the_database_has_no_room(self):
        client = self.begin_node("n0")
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", b"x", client)[0], 201)
        self.database.sql(self.database.folder, "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                          "RAISE disk_full; END $$; CREATE TRIGGER refuse BEFORE INSERT ON foliot.job "
                          "FOR EACH ROW EXECUTE FUNCTION public.refuse()")
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", b"x", client)[1]["outcome"], "no_space")
        self.assertEqual(self.wait_for_ready(client, 503), "there is no room for new jobs")
        server = self.ask("GET", "/v1/statistics", client=client)[1]["server"]
        self.assertEqual((server["no_space"], server["has_room"], server["store_available"]), (1, False, True))
        self.assertEqual(self.ask("POST", "/v1/reserve?tube=mail", client=client)[1]["jobs"][0]["text"], "x", "the rest goes on")
        self.database.sql(self.database.folder, "DROP TRIGGER refuse ON foliot.job")
        # The database itself refuses puts until it has its reserve of room again, which takes a minute.
        self.database.sql(self.database.folder, "SELECT setval('foliot.refusing_puts', 0)")
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", b"x", client)[0], 201)
        self.wait_for_ready(client, 200)

    def test_ready_says_that_the_database_takes_no_changes(self):
        client = self.begin_node("n0")
        self.wait_for_ready(client, 200)

        def be_read_only(does):
            for statement in (f"ALTER DATABASE jobs SET default_transaction_read_only = {does}",
                              "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'jobs'"):
                self.database.ask(f"host={self.database.folder} user=postgres dbname=postgres", statement)

        be_read_only("on")
        self.assertEqual(self.wait_for_ready(client, 503), "the database does not answer")
        be_read_only("off")
        self.wait_for_ready(client, 200)
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", b"x", client)[0], 201)

    def test_ready_says_that_the_database_is_away(self):
        client = self.begin_node("n0")
        self.assertEqual(self.ask("GET", "/ready", client=client)[0], 200)
        self.database.stop_at_once()
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/ready", client=client)[0] != 503:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.assertEqual(self.ask("GET", "/health", client=client)[0], 200)



class EndedNodes(NodesCase, HttpCase):
    """Two servers over one database, of which one ends. The other one may lose its registration, too: nothing depends on it."""
    shares_server = True
    node_timeout = 2

    def begin_node(self, name):
        return self.connect_http(self.start_node(name).http)

    # A reserve that waits gets its job by another way than one that does not, and so does one with a key.
    def reserve_in_each_way(self, shop, worker):
        for body in range(10):
            self.ask("POST", "/v1/jobs", {"tube": "mail", "body": body, "ttr": "1h"}, shop)
        jobs = self.ask("POST", "/v1/reserve", {"tube": "mail", "count": 8}, worker)[1]["jobs"]
        jobs += self.ask("POST", "/v1/reserve", {"tube": "mail", "count": 2}, worker, {"Idempotency-Key": "k"})[1]["jobs"]
        worker.request("POST", "/v1/reserve?tube=mail&timeout=1h")
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/v1/tubes/mail", client=shop)[1]["reserved"] != 10 or not self.waits_at("n1"):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        self.ask("POST", "/v1/jobs", {"tube": "mail", "body": 10, "ttr": "1h"}, shop)
        jobs += self.answer(worker, "POST", "/v1/reserve")[1]["jobs"]
        self.assertEqual([each["body"] for each in jobs], list(range(11)))
        return jobs

    def waits_at(self, name):
        client = self.connect_http(self.nodes[name].http)
        return self.ask("GET", "/v1/tubes/mail", client=client)[1]["waiting"] > 0

    # The others have noticed that the node has ended, so a connection of beanstalk has lost its job.
    def expect_outlived(self, end_node):
        shop, worker = self.begin_node("n0"), self.begin_node("n1")
        jobs = self.reserve_in_each_way(shop, worker)
        other = self.connect(self.nodes["n1"])
        other.ask(put(b"other"))
        self.expect_reserved(other, b"other")
        end_node("n1")
        status, answer = self.ask("POST", "/v1/reserve?tube=default&timeout=1m", client=shop)
        self.assertEqual((status, answer["jobs"][0]["text"]), (200, "other"))
        listed = self.ask("GET", "/v1/reservations?tube=mail", client=shop)[1]["jobs"]
        self.assertEqual([each["id"] for each in listed], [each["id"] for each in jobs])
        self.assertNotIn("node", listed[0])
        self.assertEqual(self.ask("POST", "/v1/reserve?tube=mail&timeout=0s", client=shop)[1]["jobs"], [])
        outcomes = {"touch": "touched", "release": "released", "bury": "buried", "finish": "finished"}
        for number, job in enumerate(jobs):
            what = [*outcomes][number % 4]
            status, answer = self.ask("POST", f"/v1/reservations/{job['reservation']}/{what}", client=shop)
            self.assertEqual((status, answer["outcome"]), (200, outcomes[what]))
            if what == "touch":
                status, answer = self.ask("POST", f"/v1/reservations/{job['reservation']}/finish", client=shop)
                self.assertEqual((status, answer["outcome"]), (200, "finished"))
            self.assertEqual(self.ask("POST", f"/v1/reservations/{job['reservation']}/finish", client=shop)[0], 409)

    def test_a_reservation_outlives_its_node_that_is_killed(self):
        self.expect_outlived(self.kill_node)

    def test_a_reservation_outlives_its_node_that_is_stopped(self):
        def stop(name):
            code, log = self.nodes[name].stop()
            self.assertEqual(code, 0, log)

        self.expect_outlived(stop)


if __name__ == "__main__":
    main()
