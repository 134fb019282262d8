"""Changes by filter: the server, or one of three nodes, is killed in the middle of one. It goes on, tells of each job once,
and touches nothing that came later."""
import time

from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE
from kit.http_case import HttpCase
from kit.program_case import main
from nodes_test import NodesCase

JOBS = 20_000
AT_ONCE = 1000
MOST_OF_A_PIECE = 100


class ActionsCase(HttpCase):
    def put_jobs(self, tube, count):
        for begin in range(0, count, AT_ONCE):
            jobs = [{"tube": tube, "delay": "1h"} for _ in range(min(AT_ONCE, count - begin))]
            self.assertEqual(self.ask("POST", "/v1/batch", {"jobs": jobs, "atomic": True})[0], 200)

    def look(self, action, has_come, client=None):
        """The action, when this has come."""
        until = time.monotonic() + PATIENCE
        while True:
            status, seen = self.ask("GET", f"/v1/actions/{action}", client=client)
            self.assertEqual(status, 200, seen)
            if has_come(seen):
                return seen
            self.assertLess(time.monotonic(), until, seen)
            time.sleep(0.005)

    def set_going(self, **wanted):
        """Counts, and starts what was counted."""
        status, made = self.ask("POST", "/v1/actions", wanted)
        self.assertEqual(status, 201, made)
        counted = self.look(made["id"], lambda seen: seen["state"] != "counting")
        status, started = self.ask("POST", f"/v1/actions/{made['id']}/run", {"counted": counted["counted"]})
        self.assertEqual((status, started["state"]), (200, "running"), started)
        return made["id"], counted["counted"]

    def expect_all_told(self, action, count, client=None):
        done = self.look(action, lambda seen: "ended" in seen, client)
        outcomes = done["outcomes"]
        self.assertEqual((done["state"], done["counted"], done["differences"]["matched"]), ("done", count, count), done)
        self.assertEqual(outcomes["done"] + outcomes["unknown"], count, done)
        self.assertLessEqual(outcomes["unknown"], MOST_OF_A_PIECE, done)
        self.assertGreaterEqual(outcomes["done"], count - MOST_OF_A_PIECE)

    def expect_left(self, tube, count, client=None):
        status, seen = self.ask("GET", f"/v1/tubes/{tube}", client=client)
        self.assertEqual((status, seen["delayed"]), (200, count))


class Actions(ActionsCase):
    """One server, with its jobs in a folder."""

    def begin_again(self):
        self.begin("--data", self.here / "jobs")

    def test_killed_in_the_middle(self):
        self.begin_again()
        self.put_jobs("mail", JOBS)
        self.put_jobs("bill", 5)
        action, count = self.set_going(do="cancel", tube="mail", state="delayed")
        self.assertEqual(count, JOBS)
        seen = self.look(action, lambda seen: "ended" in seen or seen["outcomes"]["done"] > 0)
        self.server.kill()
        self.assertEqual(seen["state"], "running", "the end came too late to test anything")
        self.begin_again()
        self.put_jobs("mail", 7)
        self.expect_all_told(action, JOBS)
        self.expect_left("mail", 7)
        self.expect_left("bill", 5)

    def test_ended_in_order_in_the_middle(self):
        self.begin_again()
        self.put_jobs("mail", JOBS)
        action, _ = self.set_going(do="reschedule", prefix="", delay="5h")
        self.look(action, lambda seen: "ended" in seen or seen["outcomes"]["done"] > 0)
        self.assertEqual(self.server.stop(), (0, ""))
        self.begin_again()
        self.expect_all_told(action, JOBS)
        due = self.ask("GET", "/v1/due?count=1000")[1]["jobs"]
        self.assertEqual(len({job["due"] for job in due}), 1, "the delay counts from the start of the run")

    def test_a_counted_one_waits_for_its_run(self):
        self.begin_again()
        self.put_jobs("mail", 3)
        made = self.ask("POST", "/v1/actions", {"do": "fire", "tube": "mail"})[1]
        self.look(made["id"], lambda seen: seen["state"] == "counted")
        self.server.kill()
        self.begin_again()
        seen = self.look(made["id"], lambda seen: True)
        self.assertEqual((seen["state"], seen["counted"]), ("counted", 3))
        self.expect_left("mail", 3)
        self.assertEqual(self.ask("POST", f"/v1/actions/{made['id']}/run", {"counted": 3})[0], 200)
        self.assertEqual(self.look(made["id"], lambda seen: "ended" in seen)["outcomes"]["done"], 3)

    def test_clients_of_beanstalk_see_nothing_of_it(self):
        self.begin_again()
        self.put_jobs("mail", 1)
        made = self.ask("POST", "/v1/actions", {"do": "fire", "tube": "mail"})[1]
        self.look(made["id"], lambda seen: seen["state"] == "counted")
        other = self.connect(self.server)
        self.assertEqual(other.ask(b"use -foliot.actions\r\n"), b"BAD_FORMAT\r\n")
        self.assertEqual(other.ask(b"watch -foliot.stops\r\n"), b"BAD_FORMAT\r\n")
        self.assertEqual(other.ask(b"stats-tube -foliot.actions\r\n"), b"BAD_FORMAT\r\n")
        name = made["id"].encode()
        for command in (b"peek", b"delete", b"kick-job", b"reserve-job", b"stats-job"):
            self.assertEqual(other.ask(command + b" " + name + b"\r\n"), b"NOT_FOUND\r\n", command)
        self.assertNotIn(b"foliot", other.ask(b"list-tubes\r\n"))
        self.assertEqual(other.numbers(b"stats\r\n")["current-jobs-delayed"], 1)
        self.assertEqual(self.look(made["id"], lambda seen: True)["state"], "counted")


class NodesActions(NodesCase, ActionsCase):
    """Three servers over one database."""
    node_timeout = 2

    def test_a_node_is_killed_in_the_middle(self):
        self.start_all()
        self.client = self.connect_http(self.nodes["n0"].http)
        last = self.connect_http(self.nodes["n2"].http)
        self.put_jobs("mail", JOBS)
        action, count = self.set_going(do="cancel", tube="mail")
        self.assertEqual(count, JOBS)
        for name in ("n0", "n1"):
            before = self.look(action, lambda seen: True, last)["outcomes"]["done"]
            seen = self.look(action, lambda seen: "ended" in seen or seen["outcomes"]["done"] > before, last)  # noqa: B023
            self.kill_node(name)
            self.assertEqual(seen["state"], "running", "the end came too late to test anything")
        done = self.look(action, lambda seen: "ended" in seen, last)
        outcomes = done["outcomes"]
        self.assertEqual((done["state"], done["differences"]["matched"]), ("done", JOBS), done)
        self.assertEqual(outcomes["done"] + outcomes["unknown"], JOBS, done)
        self.assertLessEqual(outcomes["unknown"], 2 * MOST_OF_A_PIECE, done)
        self.expect_left("mail", 0, last)


class ActionsAccess(AccessCase):
    """With access tokens, over a store in memory."""

    def ask_json(self, method, target, token, text):
        return self.ask(method, target, token, text, {"Content-Type": "application/json"})[:2]

    def wait_for_state(self, path, token, left):
        until = time.monotonic() + PATIENCE
        while (seen := self.ask("GET", path, token)[1])["state"] == left:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)
        return seen

    def test_nothing_is_done_by_a_revoked_token(self):
        shop = self.make("shop", "put,change,look", "--tubes", "mail")
        other = self.make("other", "put,change,look")
        self.begin()
        self.assertEqual(self.ask_json("POST", "/v1/batch", shop, '{"jobs":[{"tube":"mail"},{"tube":"mail"}]}')[0], 200)
        status, made = self.ask_json("POST", "/v1/actions", shop, '{"do":"cancel","tube":"mail"}')
        self.assertEqual(status, 201, made)
        path = f"/v1/actions/{made['id']}"
        self.assertEqual(self.wait_for_state(path, shop, "counting")["counted"], 2)
        self.assertEqual(self.ask("GET", path, other)[0], 404)
        self.expect_done("token", "revoke", self.tokens, shop.split("_")[1])
        until = time.monotonic() + PATIENCE
        while self.ask("GET", path, shop)[0] != 401:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        self.assertEqual(self.ask_json("POST", f"{path}/run", self.admin, '{"counted":2}')[0], 200)
        stopped = self.wait_for_state(path, self.admin, "running")
        self.assertEqual((stopped["state"], stopped["outcomes"]["done"]), ("stopped", 0), stopped)
        self.assertEqual(self.ask("GET", "/v1/tubes/mail", self.admin)[1]["ready"], 2)


if __name__ == "__main__":
    main()
