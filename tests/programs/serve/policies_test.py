"""Policies of tubes, as clients over HTTP and of beanstalk meet them: failed tries, delays, dead letters, expiry and limits; over
a server that is killed, over two nodes of one database, and over two sessions of one node."""
import threading
import time

from kit.beanstalk_client import PATIENCE
from kit.http_case import HttpCase
from kit.program_case import main
from kit.serve_case import put
from nodes_test import CONNECTIONS_OF_FIRST_SESSION, NodesCase


class PoliciesCase(HttpCase):
    def set_policy(self, tube, policy, client=None):
        status, answer = self.ask("PUT", f"/v1/policies/{tube}", policy, client=client)
        self.assertIn(status, (200, 201), answer)
        return answer

    def put_job(self, tube, client=None, **values):
        status, answer = self.ask("POST", f"/v1/tubes/{tube}/jobs", values or {"text": "a"}, client=client)
        self.assertEqual(status, 201, answer)
        return answer["id"]

    def reserve(self, tube, timeout="60s", client=None, count=1):
        """What is reserved of a tube."""
        status, got = self.ask("POST", "/v1/reserve", {"tube": tube, "count": count, "timeout": timeout}, client=client)
        self.assertEqual(status, 200, got)
        return got["jobs"]

    def settle(self, job, how, client=None, **values):
        status, answer = self.ask("POST", f"/v1/reservations/{job['reservation']}/{how}", values or None, client=client)
        self.assertEqual(status, 200, answer)

    def look(self, job, client=None):
        """The job; None if there is none."""
        status, seen = self.ask("GET", f"/v1/jobs/{job}", client=client)
        self.assertIn(status, (200, 404), seen)
        return seen if status == 200 else None

    def counts(self, tube, client=None):
        return self.ask("GET", f"/v1/tubes/{tube}", client=client)[1]

    def wait_for(self, what, wanted):
        """Returns what `what()` returns, once `wanted` of it is true."""
        until = time.monotonic() + PATIENCE
        while not wanted(seen := what()):
            self.assertLess(time.monotonic(), until, seen)
            time.sleep(0.01)
        return seen

    def fail_to_the_end(self, tube, tries, client=None):
        """Releases the only job of a tube until it has had its last try."""
        job = self.put_job(tube, client=client)
        for number in range(tries):
            [got] = self.reserve(tube, client=client)
            self.assertEqual(got["id"], job)
            self.settle(got, "release", client=client, reason=f"failure {number + 1}")
        return job


class Policies(PoliciesCase):
    def setUp(self):
        super().setUp()
        self.begin_again()

    def begin_again(self):
        self.begin("--data", self.here / "jobs")

    def test_the_last_try_is_buried_with_its_reasons(self):
        self.set_policy("mail", {"tries": 3})
        job = self.fail_to_the_end("mail", 3)
        seen = self.wait_for(lambda: self.look(job), lambda one: one["state"] == "buried")
        self.assertEqual(seen["tries"]["failed"], 3)
        self.assertEqual([(one["how"], one["why"]) for one in seen["tries"]["last"]],
                         [("released", "failure 1"), ("released", "failure 2"), ("released", "failure 3")])
        self.assertTrue(all(one["worker"] for one in seen["tries"]["last"]), seen)
        # A kick begins the count anew.
        self.assertEqual(self.ask("POST", f"/v1/jobs/{job}/kick")[0], 200)
        for _ in range(3):
            self.assertEqual(self.look(job)["state"], "ready")
            self.settle(self.reserve("mail")[0], "release")
        self.assertEqual(self.look(job)["state"], "buried")
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["policies"],
                         {"tubes": 1, "retried": 4, "buried": 2, "dead_letters": 0, "expired": 0, "parked": 0})

    def test_a_beanstalk_client_gets_them_without_knowing(self):
        self.set_policy("default", {"tries": 2})
        worker = self.connect(self.server)
        job = worker.ask(put(b"hello")).split()[1].decode()
        for _ in range(2):
            self.assertEqual(worker.ask(b"reserve-with-timeout %d\r\n" % PATIENCE), b"RESERVED %s 5\r\nhello\r\n" % job.encode())
            self.assertEqual(worker.ask(b"release %s 0 0\r\n" % job.encode()), b"RELEASED\r\n")
        self.assertEqual(worker.ask(b"reserve-with-timeout 0\r\n"), b"TIMED_OUT\r\n")
        self.assertEqual(self.look(job)["state"], "buried")

    def test_the_next_try_is_later(self):
        self.set_policy("mail", {"tries": 9, "delay": ["1h", "2h"]})
        job = self.put_job("mail")
        for hours in (1, 2, 2):
            self.settle(self.reserve("mail")[0], "release")
            seen = self.look(job)
            self.assertEqual(seen["state"], "delayed")
            status, now = self.ask("GET", "/v1/due/counts")
            self.assertEqual(status, 200)
            self.assertGreater(seen["due"], now["from"])
            self.assertEqual(self.counts("mail")["delayed"], 1)
            self.assertIn(self.hours_between(now["from"], seen["due"]), (hours - 1, hours), seen)
            self.assertEqual(self.ask("POST", f"/v1/jobs/{job}/fire")[0], 200)

    @staticmethod
    def hours_between(begin, end):
        """Whole ones, rounded down."""
        import datetime
        read = [datetime.datetime.fromisoformat(each.replace("Z", "+00:00")) for each in (begin, end)]
        return int((read[1] - read[0]).total_seconds() // 3600)

    def test_dead_letters(self):
        self.set_policy("mail", {"tries": 2, "dead_letters": "mail-dead"})
        job = self.fail_to_the_end("mail", 2)
        [letter] = self.reserve("mail-dead")
        self.assertEqual((letter["text"], letter["tube"]), ("a", "mail-dead"))
        self.assertEqual([one["how"] for one in letter["tries"]["last"]], ["released", "released", "moved"], letter)
        self.assertEqual((letter["tries"]["last"][-1]["tube"], letter["tries"]["last"][-1]["id"]), ("mail", job))
        self.wait_for(lambda: self.counts("mail"), lambda of: (of["ready"], of["reserved"], of["buried"], of["delayed"]) == (0, 0, 0, 0))
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["policies"]["dead_letters"], 1)

    def test_a_ttr_that_ends_is_a_failed_try(self):
        self.set_policy("mail", {"tries": 1})
        job = self.put_job("mail", text="a", ttr="200ms")
        self.assertEqual([one["id"] for one in self.reserve("mail")], [job])
        seen = self.wait_for(lambda: self.look(job), lambda one: one["state"] == "buried")
        self.assertEqual([one["how"] for one in seen["tries"]["last"]], ["timed_out"], seen)

    def test_what_has_expired_is_never_delivered(self):
        self.set_policy("mail", {"expires": "200ms"})
        late = self.put_job("mail")
        self.wait_for(lambda: self.look(late), lambda one: one is None)
        self.assertEqual(self.reserve("mail", timeout="0s"), [])
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["policies"]["expired"], 1)
        # A job has an expiry of its own. In a tube without a policy a reserve alone finds it.
        own = self.put_job("paper", text="b", delay="50ms", expires_in="100ms")
        expires = self.look(own)["expires"]
        self.wait_for(lambda: self.ask("GET", "/v1/due/counts")[1]["from"], lambda now: now > expires)
        self.assertEqual(self.reserve("paper", timeout="0s"), [])
        self.wait_for(lambda: self.look(own), lambda one: one is None)
        self.assertEqual(self.ask("GET", "/v1/statistics")[1]["policies"]["expired"], 2)

    def test_so_many_are_worked_on_at_once(self):
        self.set_policy("mail", {"most_reserved": 2})
        for _ in range(4):
            self.put_job("mail")
        other = self.connect_http()
        held = self.reserve("mail", count=4)
        self.assertEqual(len(held), 2)
        self.assertEqual(self.reserve("mail", timeout="0s", client=other), [], "whichever connection asks")
        worker = self.connect(self.server)
        worker.ask(b"watch mail\r\n")
        self.assertEqual(worker.ask(b"reserve-with-timeout 0\r\n"), b"TIMED_OUT\r\n")
        worker.send(b"reserve-with-timeout %d\r\n" % PATIENCE)
        self.settle(held[0], "finish")
        self.assertRegex(worker.answer(), rb"\ARESERVED \d+ 1\r\na\r\n\Z")

    def test_so_many_of_a_group(self):
        self.set_policy("mail", {"most_reserved_of_group": 1})
        first = self.put_job("mail", text="a", group="one")
        second = self.put_job("mail", text="b", group="one")
        other = self.put_job("mail", text="c", group="two")
        got = [self.reserve("mail")[0], self.reserve("mail")[0]]
        self.assertEqual([one["id"] for one in got], [first, other])
        self.assertEqual(got[0]["group"], "one")
        self.assertEqual(self.reserve("mail", timeout="0s"), [])
        self.settle(got[0], "finish")
        self.assertEqual([one["id"] for one in self.reserve("mail")], [second])

    def test_survive_a_kill(self):
        policy = {"tries": 1, "dead_letters": "mail-dead"}
        version = self.set_policy("mail", policy)["version"]
        self.server.kill()
        self.begin_again()
        seen = self.ask("GET", "/v1/policies/mail")[1]
        self.assertEqual((seen["policy"], seen["version"]), (policy, version))
        self.put_job("mail")
        self.settle(self.reserve("mail")[0], "release")
        self.assertEqual(len(self.reserve("mail-dead")), 1)

    def test_without_a_policy_nothing_changes(self):
        job = self.put_job("mail")
        for _ in range(20):
            self.settle(self.reserve("mail")[0], "release")
        seen = self.look(job)
        self.assertEqual((seen["state"], seen["releases"], "tries" in seen), ("ready", 20, False))
        self.set_policy("mail", {"tries": 1})
        self.assertEqual(self.ask("DELETE", "/v1/policies/mail")[0], 200)
        self.settle(self.reserve("mail")[0], "release")
        self.assertEqual(self.look(job)["state"], "ready")


class NodesPolicies(NodesCase, PoliciesCase):
    shares_server = True
    node_timeout = 30

    def setUp(self):
        super().setUp()
        self.start_node("n0")
        self.start_node("n1")
        self.clients = [self.connect_http(self.here / f"n{number}.http") for number in range(2)]
        self.client = self.clients[0]

    def releases_until_buried(self, client):
        """How often a job can be released at this node until it is buried, up to three times; 0: it was not. None: what is in
        force has changed meanwhile."""
        job = self.put_job("mail", client=client)
        found = 0
        for count in range(1, 4):
            got = self.reserve("mail", timeout="0s", client=client)
            if not got:
                found = None
                break
            self.settle(got[0], "release", client=client)
            if self.look(job, client=client)["state"] == "buried":
                found = count
                break
        self.wait_for(lambda: self.ask("DELETE", f"/v1/jobs/{job}", client=client)[0], lambda status: status in (200, 404))
        return found

    def test_another_node_sees_a_change_within_seconds(self):
        for tries in (2, 1):
            self.set_policy("mail", {"tries": tries}, client=self.clients[0])
            self.assertEqual(self.releases_until_buried(self.clients[0]), tries, "at once where it was made")
            self.wait_for(lambda: self.releases_until_buried(self.clients[1]), lambda count: count == tries)
        self.assertEqual(self.ask("DELETE", "/v1/policies/mail", client=self.clients[1])[0], 200)
        self.assertEqual(self.releases_until_buried(self.clients[1]), 0)
        self.wait_for(lambda: self.releases_until_buried(self.clients[0]), lambda count: count == 0)

    def test_sql_sets_them(self):
        ask = self.database.ask
        self.assertEqual(ask(self.database.database, """SELECT foliot.put_policy('mail', '{"tries": 1}')"""), "made")
        made = self.ask("GET", "/v1/policies/mail")[1]["changed"]
        for client in self.clients:
            self.wait_for(lambda: self.releases_until_buried(client), lambda count: count == 1)  # noqa: B023
        self.assertEqual(ask(self.database.database, """SELECT foliot.put_policy('mail', '{"tries": 2}')"""), "changed")
        for client in self.clients:
            self.wait_for(lambda: self.releases_until_buried(client), lambda count: count == 2)  # noqa: B023
        seen = self.ask("GET", "/v1/policies/mail")[1]
        self.assertGreater(seen["changed"], made, "the time of the change")

    def test_a_record_of_a_later_version(self):
        self.set_policy("mail", {"tries": 1})
        self.wait_for(lambda: self.releases_until_buried(self.clients[1]), lambda count: count == 1)
        policy = '{"tries": 1, "expires": "5m", "of_a_later_version": 1}'
        self.database.ask(self.database.database, f"""
            SELECT foliot.put_for_application('-foliot.policies', 'mail', convert_to('{policy}', 'UTF8'),
                                              ARRAY[foliot.due_by_time(), 9223372036854], 0, 60000, 'change');
            SELECT foliot.put_policy('next', '{{"tries": 1}}')""")
        for client in self.clients:  # they have looked at both
            self.wait_for(lambda: self.ask("GET", "/v1/statistics", client=client)[1]["policies"]["tubes"],  # noqa: B023
                          lambda tubes: tubes == 2)
            seen = self.ask("GET", "/v1/policies/mail", client=client)[1]
            self.assertIn("/of_a_later_version: ", seen["fault"])
            self.assertEqual(seen["policy"], {"tries": 1}, "the one before is in force")
            self.assertEqual(self.releases_until_buried(client), 1)
            self.assertEqual(self.ask("GET", "/ready", client=client)[0], 200)
        # A node that starts does not know that one. It acts by what it understands, and says that it is not all.
        self.start_node("n2")
        late = self.connect_http(self.here / "n2.http")
        self.assertEqual(self.ask("GET", "/v1/policies/mail", client=late)[1]["policy"], {"tries": 1, "expires": "5m"})
        self.assertEqual(self.releases_until_buried(late), 1)
        status, problem = self.ask("GET", "/ready", client=late)
        self.assertEqual(status, 503)
        self.assertIn("the policy of a tube cannot be read", problem["detail"])
        self.set_policy("mail", {"tries": 1}, client=late)
        self.assertEqual(self.ask("GET", "/ready", client=late)[0], 200)

    def test_a_node_that_begins_knows_them(self):
        self.set_policy("mail", {"tries": 1})
        self.start_node("n2")
        late = self.connect_http(self.here / "n2.http")
        self.assertEqual(self.releases_until_buried(late), 1)

    def test_a_job_is_tried_at_both_nodes(self):
        self.set_policy("mail", {"tries": 2, "dead_letters": "mail-dead"})
        self.wait_for(lambda: self.ask("GET", "/v1/statistics", client=self.clients[1])[1]["policies"]["tubes"],
                      lambda tubes: tubes == 1)
        self.put_job("mail", client=self.clients[0])
        for number, client in enumerate(self.clients):
            self.settle(self.reserve("mail", client=client)[0], "release", client=client, reason=f"at n{number}")
        [letter] = self.reserve("mail-dead", client=self.clients[0])
        self.assertEqual([one.get("why") for one in letter["tries"]["last"]], ["at n0", "at n1", None], letter)


class SessionsOfANode(NodesCase, PoliciesCase):
    """A node has two sessions with its database, each with clients of its own, and counts for both."""
    def setUp(self):
        super().setUp()
        server = self.start_node("n0")
        self.client = self.connect_http(self.here / "n0.http")
        self.counts("mail")  # so it is connected, and has its session
        for _ in range(CONNECTIONS_OF_FIRST_SESSION):
            self.connect(server).ask(b"watch mail\r\n")
        self.there = self.connect_http(self.here / "n0.http")

    def expect_session(self, number):
        """The only reservation is of this session."""
        name = self.database.sql(self.database.folder, "SELECT convert_from(n.name, 'UTF8') FROM foliot.reserved r "
                                 "JOIN foliot.node n ON n.session = r.session").strip()
        self.assertEqual(name, "n0" if number == 1 else f"n0 (session {number})")

    def test_a_reservation_that_ends_at_the_other_session(self):
        self.set_policy("mail", {"most_reserved_of_group": 1})
        jobs = [self.put_job("mail", group="one") for _ in range(3)]
        [got] = self.reserve("mail")
        self.expect_session(1)
        self.assertEqual(self.reserve("mail", timeout="0s", client=self.there), [])
        self.settle(got, "finish", client=self.there)
        [got] = self.reserve("mail", client=self.there)
        self.expect_session(2)
        self.assertIn(got["id"], jobs[1:])
        self.assertEqual(self.reserve("mail", timeout="0s"), [])

    def test_both_sessions_at_once(self):
        for policy, put in [({"most_reserved": 2}, {}), ({"most_reserved_of_group": 1}, {"group": "one"})]:
            tube = f"mail-{len(put)}"
            most = max(policy.values())
            self.set_policy(tube, policy)
            wanted = [self.put_job(tube, **put) for _ in range(60)]
            held, done, lock, failures = set(), [], threading.Lock(), []

            def work(client):
                while len(done) < len(wanted) and not failures:
                    for job in self.reserve(tube, timeout="1s", client=client):
                        with lock:
                            held.add(job["id"])
                            if len(held) > most:
                                failures.append(set(held))
                        self.look(job["id"], client=client)
                        with lock:
                            held.remove(job["id"])
                        self.settle(job, "finish", client=client)
                        done.append(job["id"])

            workers = [threading.Thread(target=work, args=(client,)) for client in (self.client, self.there)]
            for each in workers:
                each.start()
            for each in workers:
                each.join()
            self.assertEqual(failures, [], policy)
            self.assertEqual(sorted(done), sorted(wanted))


if __name__ == "__main__":
    main()
