"""Requests with an Idempotency-Key: they happen once, over a restart, over lost connections, and over several nodes."""
import json
import queue
import random
import threading
import time

from kit.beanstalk_client import PATIENCE
from kit.http_case import HttpCase
from kit.program_case import main
from nodes_test import NodesCase


def ask_together(clients, key):
    """Sends the same put by all of them at once. The status, the body and the mark of a replay of each answer."""
    answers = [None] * len(clients)

    def ask(place):
        clients[place].request("POST", "/v1/jobs?tube=t", body=b"hi", headers={"Idempotency-Key": key})
        response = clients[place].getresponse()
        answers[place] = response.status, response.read(), response.getheader("Idempotency-Replayed")

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(clients))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return answers


class OnceCase(HttpCase):
    def ask_once(self, key, method, target, value=None, client=None):
        """The status, the value, and whether it is the answer of an earlier request. Not that of a request that came too
        early after its twin."""
        until = time.monotonic() + PATIENCE
        while True:
            status, read = self.ask(method, target, value, client, {"Idempotency-Key": key})
            if status != 409 or read.get("outcome") != "under_way":
                return status, read, self.fields.get("Idempotency-Replayed") == "true"
            self.assertEqual(self.fields["Retry-After"], "1")
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def count_jobs(self, client=None):
        counts = self.ask("GET", "/v1/statistics", client=client)[1]["jobs"]
        return counts["ready"] + counts["delayed"] + counts["reserved"] + counts["buried"]


class Once(OnceCase):
    def test_what_has_happened_is_known_after_a_crash(self):
        self.begin("--data", self.here / "jobs")
        batch = {"jobs": [{"tube": "b", "text": "x"}, {"tube": "b", "key": "k"}]}
        requests = [("POST", "/v1/jobs?tube=a", b"hi"), ("PUT", "/v1/tubes/a/jobs/k", {"text": "hi"}),
                    ("POST", "/v1/batch", batch), ("POST", "/v1/batch?atomic=true", {"jobs": [{"tube": "c"}] * 2})]
        first = [self.ask_once(f"k{i}", *each) for i, each in enumerate(requests)]
        self.assertEqual([(status, replayed) for status, _, replayed in first],
                         [(201, False), (201, False), (200, False), (200, False)])
        for _ in range(2):
            self.server.kill()
            self.begin("--data", self.here / "jobs")
            for i, (request, (status, value, _)) in enumerate(zip(requests, first)):
                for each in value.get("results", []):
                    each["replayed"] = True
                self.assertEqual(self.ask_once(f"k{i}", *request), (status, value, True))
            self.assertEqual(self.count_jobs(), 6)
        self.assertEqual(self.ask_once("k0", "POST", "/v1/jobs?tube=a", b"ha")[0], 422)
        self.assertEqual(self.ask_once("k3", "POST", "/v1/batch", {"jobs": [{"tube": "c"}] * 2})[0], 422)
        self.assertEqual(self.count_jobs(), 6)

    def test_a_restart_ends_the_reservations_and_their_keys(self):
        self.begin("--data", self.here / "jobs")
        self.ask("POST", "/v1/jobs?tube=a", b"hi")
        status, first, replayed = self.ask_once("r", "POST", "/v1/reserve?tube=a")
        self.assertEqual((status, len(first["jobs"]), replayed), (200, 1, False))
        status, again, replayed = self.ask_once("r", "POST", "/v1/reserve?tube=a")
        self.assertEqual((status, replayed), (200, True))
        self.assertEqual([each["reservation"] for each in again["jobs"]], [first["jobs"][0]["reservation"]])
        self.server.kill()
        self.begin("--data", self.here / "jobs")
        status, anew, replayed = self.ask_once("r", "POST", "/v1/reserve?tube=a")
        self.assertEqual((status, len(anew["jobs"]), replayed), (200, 1, False))
        self.assertNotEqual(anew["jobs"][0]["reservation"], first["jobs"][0]["reservation"])

    def test_lost_connections(self):
        """A client that breaks off at any point of its request, and sends it again until there is an answer."""
        self.begin("--data", self.here / "jobs")
        chance = random.Random(38)
        for number in range(60):
            request = b"POST /v1/jobs?tube=t HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: n-%d\r\n" \
                      b"Content-Length: 5\r\n\r\nhello" % number
            for _ in range(chance.randrange(3)):
                with self.raw() as connection:
                    connection.sendall(request[:chance.choice([10, len(request) - 1, len(request), len(request)])])
            status, value, _ = self.ask_once(f"n-{number}", "POST", "/v1/jobs?tube=t", b"hello")
            self.assertEqual((status, value["outcome"]), (201, "inserted"))
        self.assertEqual(self.count_jobs(), 60)


    def test_twins_at_one_server(self):
        self.begin("--data", self.here / "jobs")
        clients = [self.connect_http() for _ in range(8)]
        for number in range(20):
            answers = ask_together(clients, f"k{number}")
            self.assertLessEqual({status for status, _, _ in answers}, {201, 409}, answers)
            done = [(body, replayed) for status, body, replayed in answers if status == 201]
            self.assertEqual(len({body for body, _ in done}), 1, answers)
            self.assertEqual([replayed for _, replayed in done].count(None), 1, answers)
        self.assertEqual(self.count_jobs(), 20)


class OnceOverNodes(NodesCase, OnceCase):
    """Two servers over one database."""
    shares_server = True

    def begin_node(self, name):
        return self.connect_http(self.start_node(name).http)

    def test_a_repeat_at_another_node(self):
        one, other = self.begin_node("n0"), self.begin_node("n1")
        requests = [("POST", "/v1/jobs?tube=a", b"hi"), ("PUT", "/v1/tubes/a/jobs/k", {"text": "hi"}),
                    ("POST", "/v1/batch", {"jobs": [{"tube": "b"}, {"tube": "c"}]}),
                    ("POST", "/v1/batch?atomic=true", {"jobs": [{"tube": "b"}] * 2})]
        for i, request in enumerate(requests):
            with self.subTest(request=request):
                status, value, replayed = self.ask_once(f"k{i}", *request, client=one)
                self.assertFalse(replayed)
                for each in value.get("results", []):
                    each["replayed"] = True
                self.assertEqual(self.ask_once(f"k{i}", *request, client=other), (status, value, True))
        self.assertEqual(self.ask_once("k0", "POST", "/v1/jobs?tube=a", b"ha", client=other)[0], 422)
        self.assertEqual(self.count_jobs(one), 6)

    def test_a_reservation_is_found_again_at_another_node(self):
        one, other = self.begin_node("n0"), self.begin_node("n1")
        self.ask("POST", "/v1/batch", {"jobs": [{"tube": "a", "ttr": "1h"}] * 3}, one)
        target = "/v1/reserve?tube=a&count=2"
        jobs = self.ask_once("r", "POST", target, client=one)[1]["jobs"]
        tokens = sorted(each["reservation"] for each in jobs)
        self.assertEqual(len(tokens), 2)
        status, again, replayed = self.ask_once("r", "POST", target, client=other)
        self.assertEqual((status, replayed), (200, True))
        self.assertEqual(sorted(each["reservation"] for each in again["jobs"]), tokens)
        listed = self.ask("GET", "/v1/reservations?tube=a", client=one)[1]["jobs"]
        self.assertEqual([each["node"] for each in listed], ["n1", "n1"], "they are of the node that has repeated them")
        self.assertEqual(self.ask("POST", f"/v1/reservations/{tokens[0]}/finish", client=other)[0], 200)
        status, rest, replayed = self.ask_once("r", "POST", target, client=one)
        self.assertEqual([each["reservation"] for each in rest["jobs"]], tokens[1:])
        self.assertEqual(self.ask("POST", f"/v1/reservations/{tokens[1]}/finish", client=one)[0], 200)
        status, ended, _ = self.ask_once("r", "POST", target, client=other)
        self.assertEqual((status, ended["outcome"]), (409, "reservations_ended"))

    def test_twins_at_both_nodes(self):
        clients = [self.begin_node("n0"), self.begin_node("n1")]
        for number in range(20):
            answers = ask_together(clients, f"k{number}")
            self.assertEqual([status for status, _, _ in answers], [201, 201], answers)
            self.assertEqual(answers[0][1], answers[1][1])
            self.assertEqual(sorted(str(replayed) for _, _, replayed in answers), ["None", "true"])
        self.assertEqual(self.count_jobs(clients[0]), 20)

    def test_a_twin_of_an_unfinished_request(self):
        """While the database hangs, one of two waits for it, whichever comes first, and the other one is sent away."""
        node = self.start_node("n0")
        clients = [self.connect_http(node.http) for _ in range(3)]
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=t", b"hi", clients[2])[0], 201)  # the node has its ids
        self.database.hang()
        answers = queue.Queue()
        threads = [threading.Thread(target=lambda client=each: answers.put(ask_together([client], "k")[0])) for each in clients[:2]]
        for each in threads:
            each.start()
        status, body, _ = answers.get(timeout=PATIENCE)
        self.database.go_on()
        for each in threads:
            each.join()
        self.assertEqual((status, json.loads(body)["outcome"]), (409, "under_way"))
        self.assertIn(answers.get()[0], (201, 500), "500: the database has hung for too long")
        self.assertEqual(self.ask_once("k", "POST", "/v1/jobs?tube=t", b"hi", clients[2])[0], 201)
        self.assertEqual(self.count_jobs(clients[2]), 2)


if __name__ == "__main__":
    main()
