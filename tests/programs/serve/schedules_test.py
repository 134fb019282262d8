"""Schedules of the program, over a folder: the server is killed again and again, and each occurrence is made once."""
import datetime
import time
import urllib.parse

from kit.beanstalk_client import PATIENCE
from kit.http_case import HttpCase
from kit.program_case import main

SCHEDULES = 8
KILLS = 6


def second_of(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


class Schedules(HttpCase):
    def begin_again(self):
        self.begin("--data", self.here / "jobs")

    def look(self, name):
        status, seen = self.ask("GET", f"/v1/tubes/mail/schedules/{name}")
        self.assertEqual(status, 200, seen)
        return seen

    def reserve(self, timeout):
        status, got = self.ask("POST", "/v1/reserve", {"tube": "mail", "count": 100, "timeout": timeout})
        self.assertEqual(status, 200, got)
        return got["jobs"]

    def work(self, timeout, into):
        """Finishes what is ready. `into`: the seconds of each schedule, by the ids of the jobs."""
        for job in self.reserve(timeout):
            occurrence = job["schedule"]
            done = into.setdefault(occurrence["name"], {})
            self.assertNotIn(job["id"], done, "a job that was finished comes again")
            done[job["id"]] = second_of(occurrence["at"])
            self.assertEqual(job["key"], f"{occurrence['name']}@{occurrence['at']}.{occurrence['incarnation']}")
            self.assertEqual(job["body"], {"of": occurrence["name"]})
            status, answer = self.ask("POST", f"/v1/reservations/{job['reservation']}/finish")
            self.assertEqual(status, 200, answer)

    def test_killed_again_and_again(self):
        self.begin_again()
        names = [f"s{number}" for number in range(SCHEDULES)]
        for name in names:
            plan = {"rules": ["every 1s"], "missed": "all", "missed_limit": 1000, "job": {"body": {"of": name}}}
            self.assertEqual(self.ask("PUT", f"/v1/tubes/mail/schedules/{name}", plan)[0], 201)
        done = {}
        for kill in range(KILLS):
            before = sum(map(len, done.values()))
            while sum(map(len, done.values())) < before + SCHEDULES + kill:
                self.work("30s", done)
            self.server.kill()
            self.begin_again()
        for name in names:
            self.assertEqual(self.ask("POST", f"/v1/tubes/mail/schedules/{name}/pause", {"note": "the end"})[0], 200)
        until = time.monotonic() + PATIENCE
        while True:
            self.work("0s", done)
            seen = {name: self.look(name) for name in names}
            made = {name: sum(each["counts"]["made"].values()) for name, each in seen.items()}
            is_decided = all(second_of(each["cursor"]) >= second_of(each["pause"]["since"]) - 1 for each in seen.values())
            if is_decided and made == {name: len(done[name]) for name in names}:
                break
            self.assertLess(time.monotonic(), until, (made, {name: len(done[name]) for name in names}))
            time.sleep(0.01)
        for name in names:
            with self.subTest(name):
                seconds = sorted(done[name].values())
                self.assertEqual(seconds, list(range(seconds[0], seconds[0] + len(seconds))), "each second once, and none left out")
                counts = seen[name]["counts"]
                self.assertEqual(sum(counts["made"].values()), len(seconds))
                self.assertEqual(counts["decided"] - counts["outcomes"]["skipped_paused"], len(seconds))
                lost = {what: number for what, number in counts["outcomes"].items()
                        if number and what not in ("ended", "skipped_paused")}
                self.assertEqual(lost, {})

    def test_what_is_known_of_one_survives(self):
        self.begin_again()
        place = "/v1/schedule?" + urllib.parse.urlencode({"tube": "shop/mail", "name": "a/b"})
        # None comes while the test runs.
        plan = {"rules": ["0 9 * * MON-FRI", "every 36h"], "zone": "Europe/Berlin", "exclude": {"dates": ["2099-12-25"]},
                "starts": "2099-06-01T00:00:00Z",
                "jitter": "5m", "busy": "queue", "busy_limit": 3, "note": "why", "job": {"base64": "AP8=", "headers": {"a": "b"}}}
        status, made = self.ask("PUT", place, plan)
        self.assertEqual((status, made["outcome"]), (201, "made"))
        tag = self.fields["ETag"]
        path = "/v1/tubes/shop%2Fmail/schedules/a%2Fb"
        self.assertEqual(self.ask("POST", f"{path}/pause", {"note": "holidays", "until": "2100-01-01T00:00:00Z"})[0], 200)
        self.assertEqual(self.ask("POST", f"{path}/skip")[0], 200)
        status, before = self.ask("GET", path)
        self.server.kill()
        self.begin_again()
        status, seen = self.ask("GET", path)
        self.assertEqual((status, self.fields["ETag"]), (200, tag))
        self.assertEqual({name: seen[name] for name in ("plan", "pause", "skips", "words", "next", "cursor", "incarnation")},
                         {name: before[name] for name in ("plan", "pause", "skips", "words", "next", "cursor", "incarnation")})
        self.assertEqual(self.ask("PUT", place, seen["plan"], headers={"If-Match": tag})[1]["outcome"], "unchanged")
        self.assertEqual(self.ask("PUT", place, plan)[1]["outcome"], "unchanged", "the anchor of `every` stays")
        self.assertEqual([each["name"] for each in self.ask("GET", "/v1/schedules?prefix=shop/")[1]["schedules"]], ["a/b"])
        self.assertEqual(self.ask("DELETE", path, headers={"If-Match": tag})[1]["outcome"], "deleted")
        self.server.kill()
        self.begin_again()
        self.assertEqual(self.ask("GET", path)[0], 404)

    def test_smaller_jobs_of_clients_change_no_schedule(self):
        self.begin_again()
        text = "x" * 50000
        plan = {"rules": ["0 9 * * *"], "note": "large", "job": {"text": text}}
        self.assertEqual(self.ask("PUT", "/v1/tubes/mail/schedules/large", plan)[0], 201)
        dates = [(datetime.date(2090, 1, 1) + datetime.timedelta(days=number)).isoformat() for number in range(9999)]
        long = {"rules": ["0 9 * * *"], "exclude": {"dates": dates}}
        self.assertEqual(self.ask("PUT", "/v1/tubes/mail/schedules/long", long)[0], 201, "its record is larger than a job of a client")
        self.server.kill()
        self.begin("--data", self.here / "jobs", "--max-job-size", "100")
        self.assertEqual(self.ask("POST", "/v1/jobs?tube=mail", {"text": "x" * 101})[0], 413)
        for name in ("large", "long"):
            with self.subTest(name):
                path = f"/v1/tubes/mail/schedules/{name}"
                for change in ("pause", "resume", "skip", "run"):
                    status, answer = self.ask("POST", f"{path}/{change}")
                    self.assertEqual(status, 200, answer)
                job, = self.reserve("30s")
                self.assertEqual((job["schedule"]["name"], job["text"]), (name, text if name == "large" else ""))
                seen = self.look(name)
                self.assertEqual((seen["state"], seen["counts"]["made"]["by_hand"]), ("active", 1))
        status, answer = self.ask("PUT", "/v1/tubes/mail/schedules/large", plan)
        self.assertEqual(status, 400, "a new plan is a client's")
        self.assertEqual(self.ask("PUT", "/v1/tubes/mail/schedules/large", {**plan, "job": {"text": "small"}})[1]["outcome"], "changed")


if __name__ == "__main__":
    main()
