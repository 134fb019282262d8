"""`/metrics` of `foliot serve`: read by Prometheus' own programs, and compared with `stats`, with `foliot top`, with the page
that describes the metrics, and with the rules and the dashboard that use them."""
import json
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE
from kit.certificates import Authority
from kit.http_client import LocalConnection
from kit.program_case import main
from kit.serve_case import ServeCase, put
from nodes_test import NodesCase

ROOT = Path(__file__).resolve().parents[3]
MONITORING = ROOT / "packaging" / "monitoring"
PAGE = ROOT / "docs" / "serve" / "metrics.md"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = ("ready", "delayed", "reserved", "buried")


def promtool(*arguments, given=None):
    if shutil.which("promtool") is None:
        raise unittest.SkipTest("promtool is not installed (Debian: prometheus)")
    return subprocess.run(["promtool", *map(str, arguments)], input=given, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)


class Scrape:
    """A page as a client of Prometheus reads it."""

    def __init__(self, text):
        # Debian's package is for Debian's interpreter, which need not be the one that runs this.
        if "/usr/lib/python3/dist-packages" not in sys.path:
            sys.path.append("/usr/lib/python3/dist-packages")  # tidy: allow(python-path) a package of the system
        try:
            from prometheus_client import parser
        except ImportError as error:
            raise unittest.SkipTest("there is no prometheus_client (Debian: python3-prometheus-client)") from error
        self.text = text
        self.families = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
        self.samples = {}
        for family in parser.text_string_to_metric_families(text):
            for sample in family.samples:
                self.samples[sample.name, *sorted(sample.labels.items())] = sample.value

    def value(self, name, **labels):
        return self.samples.get((f"foliot_{name}", *sorted(labels.items())))

    def of_tubes(self, name):
        return {dict(key[1:])["tube"]: value for key, value in self.samples.items() if key[0] == f"foliot_{name}"}

    def counts(self):
        return {state: sum(self.of_tubes(f"jobs_{state}").values()) for state in STATES}


class Scraping:
    """For test cases: scrapes a server at a socket file."""

    def scrape(self, path, token=None, tls=None):
        connection = LocalConnection(path, tls)
        try:
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
            response = connection.getresponse()
            body = response.read().decode()
        finally:
            connection.close()
        self.assertEqual((response.status, response.getheader("Content-Type")), (200, MEDIA_TYPE), body)
        checked = promtool("check", "metrics", given=body)
        self.assertEqual((checked.returncode, checked.stdout), (0, ""))
        return Scrape(body)

    def fill(self, connection):
        """Jobs in each state, of two tubes. The counts."""
        connection.ask(b"use mail\r\n")
        connection.ask(b"watch mail\r\n")
        for _ in range(4):
            connection.ask(put(b"a"))
        for _ in range(3):
            connection.ask(b"put 0 3600 600 1\r\nd\r\n")
        for _ in range(2):
            self.assertTrue(connection.ask(b"reserve-with-timeout 10\r\n").startswith(b"RESERVED"))
        buried = int(connection.ask(b"reserve-with-timeout 10\r\n").split()[1])
        self.assertEqual(connection.ask(b"bury %d 0\r\n" % buried), b"BURIED\r\n")
        finished = int(connection.ask(b"reserve-with-timeout 10\r\n").split()[1])
        self.assertEqual(connection.ask(b"delete %d\r\n" % finished), b"DELETED\r\n")
        connection.ask(b"use bill\r\n")
        connection.ask(put(b"b"))
        return {"ready": 1, "delayed": 3, "reserved": 2, "buried": 1}

    def expect_agreement(self, scraped, connection, wanted):
        numbers = connection.numbers(b"stats\r\n")
        self.assertEqual({state: numbers[f"current-jobs-{state}"] for state in STATES}, wanted)
        self.assertEqual(scraped.counts(), wanted)
        self.assertEqual({state: int(scraped.of_tubes(f"jobs_{state}")["mail"]) for state in STATES},
                         {"ready": 0, "delayed": 3, "reserved": 2, "buried": 1})
        self.assertEqual(scraped.of_tubes("jobs_ready"), {"mail": 0, "bill": 1, "": 0})
        self.assertEqual(list(scraped.of_tubes("ready_overdue_seconds")), ["bill"])
        # A due time is rounded up to a millisecond, and the present one down.
        next_due = scraped.value("next_due_seconds")
        self.assertTrue(3000 < next_due < 3600.0011, next_due)
        self.assertEqual(scraped.value("delayed_overdue_seconds"), 0)
        for name, count in [("put", 8), ("reserved", 4), ("finished", 1), ("buried", 1), ("released", 0), ("timed_out", 0)]:
            self.assertEqual(scraped.value(f"jobs_{name}_total"), count, name)
        self.assertEqual(scraped.value("job_lateness_seconds_count"), 4)
        self.assertEqual(scraped.value("job_work_seconds_count"), 1)
        self.assertGreater(scraped.value("store_batch_seconds_count"), 8)
        self.assertEqual(scraped.value("store_available"), 1)
        self.assertGreaterEqual(scraped.value("connections"), 2)


class OneServer(ServeCase, Scraping):
    def begin(self, *arguments):
        self.path = self.here / "http"
        return self.serve("--http", f"unix:{self.path}", *arguments)

    def test_stats_top_and_metrics_agree(self):
        connection = self.connect(self.begin("--memory", "--statistics", str(self.here / "top")))
        wanted = self.fill(connection)
        self.expect_agreement(self.scrape(self.path), connection, wanted)
        shown = self.look("top", r"\n +1 +0 +0 +0  bill\n")
        of_jobs = re.search(r"^tubes with jobs .*?^next is due", shown, re.M | re.S)[0]
        lines = dict(re.findall(r"^(?:jobs )? *(ready|delayed|reserved|buried) +(\d+)$", of_jobs, re.M))
        self.assertEqual({state: int(lines[state]) for state in STATES}, wanted)

    def test_a_folder(self):
        connection = self.connect(self.begin("--data", self.here / "jobs"))
        wanted = self.fill(connection)
        scraped = self.scrape(self.path)
        self.expect_agreement(scraped, connection, wanted)
        self.assertGreaterEqual(scraped.value("store_sync_seconds_count"), 8, "each put is synced")
        self.assertEqual(scraped.value("disk_reserve_bytes"), 256 << 20)
        self.assertGreater(scraped.value("disk_free_bytes"), 0)

    def test_limits_are_told(self):
        connection = self.connect(self.begin("--memory", "--max-jobs", "5", "--max-memory", "1MB", "--max-connections", "7",
                                             "--max-buffered", "64MB"))
        for _ in range(6):
            connection.ask(put(b"a"))
        scraped = self.scrape(self.path)
        self.assertEqual(scraped.value("jobs_max"), 5)
        self.assertEqual(scraped.value("store_no_space_total"), 1)
        self.assertEqual(scraped.value("store_has_room"), 0)
        self.assertEqual(scraped.value("connections_max"), 7)
        self.assertTrue(5 * 400 <= scraped.value("jobs_bytes") < scraped.value("jobs_bytes_max"))
        self.assertGreater(scraped.value("buffered_bytes_max"), scraped.value("buffered_bytes"))

    def test_a_listener_of_its_own_serves_nothing_else(self):
        alone = self.here / "monitoring"
        server = self.begin("--memory", "--max-connections", "1", "--metrics", f"unix:{alone}")
        connection = self.connect_accepted(server)  # all places are taken
        connection.ask(put(b"a"))
        for target, status in [("/health", 200), ("/ready", 200), ("/metrics", 200), ("/v1/statistics", 404), ("/", 404),
                               ("/openapi.json", 404), ("/v1/jobs/1", 404)]:
            client = LocalConnection(alone)
            client.request("GET", target)
            response = client.getresponse()
            text = response.read()
            client.close()
            self.assertEqual(response.status, status, target)
            if status == 404:
                self.assertIn("/metrics alone", json.loads(text)["detail"])
        client = LocalConnection(alone)
        client.request("POST", "/v1/jobs?tube=mail", body=b"hi")
        self.assertEqual(client.getresponse().status, 404)
        client.close()
        scraped = self.scrape(alone)
        self.assertEqual(scraped.value("connections"), 1, "its own connections do not count")
        self.assertEqual(scraped.of_tubes("jobs_ready")["default"], 1)
        server.process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + PATIENCE
        while self.scrape(alone).value("draining") != 1:
            self.assertLess(time.monotonic(), until)

    def test_an_address_that_others_can_reach_needs_locks(self):
        self.expect_error("--metrics 0.0.0.0:9 can be reached from other machines, and it has neither TLS nor access tokens",
                          "serve", "--memory", "--metrics", "0.0.0.0:9")
        self.expect_error("--metrics off is what there is", "serve", "--memory", "--metrics", "off")
        self.expect_error("is no pattern of tubes", "serve", "--memory", "--metrics-tubes", "a b")
        self.expect_error("may come 10 times", "serve", "--memory", *["--metrics-tubes", "a"] * 11)

    def test_the_tubes_are_chosen(self):
        connection = self.connect(self.begin("--memory", "--metrics-tubes", "mail.*", "--max-metrics-tubes", "2"))
        for tube, count in [("mail.a", 1), ("mail.b", 3), ("mail.c", 2), ("bill", 9)]:
            connection.ask(b"use %s\r\n" % tube.encode())
            for _ in range(count):
                connection.ask(put(b"a"))
        self.assertEqual(self.scrape(self.path).of_tubes("jobs_ready"), {"mail.b": 3, "mail.c": 2, "": 10})


class Nodes(NodesCase, Scraping):
    node_timeout = 2

    def test_each_node_tells_of_the_jobs_of_all(self):
        names = ("n0", "n1", "n2")
        nodes = [self.start_node(name) for name in names]
        connection = self.connect(nodes[0])
        wanted = self.fill(connection)
        self.expect_agreement(self.scrape(self.here / "n0.http"), connection, wanted)
        other = self.scrape(self.here / "n1.http")
        self.assertEqual(other.counts(), wanted)
        self.assertEqual(other.value("jobs_put_total"), 0, "these are of the node alone")
        self.connect(nodes[2]).ask(put(b"a"))
        wanted["ready"] += 1
        all_nodes = [self.scrape(self.here / f"{name}.http") for name in names]
        self.assertEqual([each.counts() for each in all_nodes], [wanted] * 3, "each has the jobs of all")
        self.assertEqual(sum(each.value("jobs_put_total") for each in all_nodes), 9, "these add up")
        self.assertNotIn("foliot_disk_free_bytes", other.families)
        self.database.stop_at_once()
        self.assertEqual(connection.ask(b"peek 1\r\n"), b"INTERNAL_ERROR\r\n")
        down = self.scrape(self.here / "n0.http")
        self.assertEqual(down.value("store_available"), 0)
        self.assertEqual(down.of_tubes("jobs_ready"), {})
        self.assertEqual(down.value("jobs_put_total"), 8)
        self.database.start()
        until = time.monotonic() + PATIENCE
        while self.scrape(self.here / "n0.http").value("store_available") != 1:
            self.assertLess(time.monotonic(), until)
            connection.ask(b"peek 1\r\n")
        self.assertEqual(self.scrape(self.here / "n0.http").counts()["delayed"], 3)


class Documented(AccessCase, Scraping):
    """A server with everything of which there are metrics, and what is written of these."""

    def setUp(self):
        super().setUp()
        authority = Authority(self.here)
        certificate, key = authority.issue("server")
        self.tls = authority.client()
        self.alone = self.here / "monitoring"
        self.blind = self.make("blind", "put,reserve")
        self.begin("--max-jobs", "1000", "--max-memory", "10MB", "--tls-certificate", certificate, "--tls-key", key,
                   "--metrics", f"unix:{self.alone}")
        self.ask("POST", "/v1/jobs?tube=mail", self.admin, b"x")
        self.ask("POST", "/v1/jobs?tube=mail&delay=1h", self.admin, b"x")
        self.ask("PUT", "/v1/tubes/mail/schedules/nightly", self.admin, b'{"rules":["0 2 * * *"]}', {"Content-Type": "application/json"})
        self.scraped = self.scrape(self.path, self.admin, self.tls)
        # These are of a folder, and the last one of Linux from 6.2 on.
        self.families = self.scraped.families | {"foliot_store_sync_seconds": "histogram", "foliot_disk_free_bytes": "gauge",
                                                 "foliot_disk_reserve_bytes": "gauge", "process_open_fds": "gauge"}

    def test_the_page_has_each_metric_with_its_type(self):
        rows = re.findall(r"^\| `((?:foliot|process)_\w+)` \| (gauge|counter|histogram) \| ", PAGE.read_text(), re.M)
        self.assertEqual(len(rows), len(dict(rows)), "each one once")
        self.assertEqual(dict(rows), self.families)

    def test_the_labels_are_those_of_the_page(self):
        labels = {name for key in self.scraped.samples for name, _ in key[1:]}
        self.assertEqual(labels - {"outcome"}, {"tube", "limit", "le", "version", "state", "reason"})
        self.assertEqual("outcome" in labels, "foliot_webhook_deliveries_total" in self.families)

    def test_the_listener_of_its_own_has_the_same_locks(self):
        with self.assertRaises(OSError):  # in plain
            self.scrape(self.alone, self.admin)
        self.assertEqual(self.scrape(self.alone, self.admin, self.tls).of_tubes("jobs_delayed"), {"mail": 1, "": 0})
        for target, token, status in [("/health", None, 200), ("/ready", None, 200), ("/metrics", None, 401),
                                      ("/metrics", "foliot_x", 401), ("/metrics", self.blind, 403),
                                      ("/v1/tubes", self.admin, 404)]:
            seen = self.ask_over(LocalConnection(self.alone, self.tls), "GET", target, token)[0]
            self.assertEqual(seen, status, target)

    def test_the_expiry_of_the_certificate(self):
        left = self.scraped.value("tls_certificate_expiry_timestamp_seconds") - time.time()
        self.assertTrue(29 * 86400 < left < 31 * 86400, left)
        self.assertEqual(self.scraped.value("tls_files_are_good"), 1)

    def series_in(self, expression):
        names = set(re.findall(r"\b(?:foliot|process)_\w+", re.sub(r'"[^"]*"', '""', expression)))
        for alternatives in re.findall(r'__name__=~"foliot_jobs_\(([\w|]+)\)"', expression):
            names |= {f"foliot_jobs_{each}" for each in alternatives.split("|")}
        return names

    def expect_known(self, expression):
        """Each metric is in a scrape, of the type with which it is used."""
        for name in self.series_in(expression):
            family = re.sub(r"_(bucket|count|sum)$", "", name)
            is_histogram = self.families.get(family) == "histogram"
            self.assertTrue(name in self.families or is_histogram, f"{name} in {expression}")
            is_counted = re.search(rf"\b(?:rate|increase)\({name}\b", expression) is not None
            self.assertEqual(is_counted, self.families[family] in ("counter", "histogram"), f"{name} in {expression}")

    def test_the_rules(self):
        rules = (MONITORING / "foliot.rules.yml").read_text()
        checked = promtool("check", "rules", MONITORING / "foliot.rules.yml")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        tested = promtool("test", "rules", MONITORING / "foliot.rules.test.yml")
        self.assertEqual(tested.returncode, 0, tested.stdout)
        alerts = re.findall(r"^      - alert: (\w+)$", rules, re.M)
        expressions = re.findall(r"^        expr: (\".*\")$", rules, re.M)
        self.assertEqual(len(alerts), len(expressions))
        for each in expressions:
            self.expect_known(json.loads(each))
        fires = re.findall(r"^    name: (\w+)$", (MONITORING / "foliot.rules.test.yml").read_text(), re.M)
        self.assertEqual(fires, alerts, "each alert has a test in which it fires")

    def test_the_page_tells_when_to_wake_somebody(self):
        rules = (MONITORING / "foliot.rules.yml").read_text()
        severities = dict(re.findall(r"- alert: (\w+)\n(?:.*\n){3} +severity: (\w+)", rules))
        rows = re.findall(r"^\| `(Foliot\w+)` \| (yes|no) \| ", PAGE.read_text(), re.M)
        self.assertEqual(dict(rows), {name: "yes" if what == "page" else "no" for name, what in severities.items()})

    def test_the_dashboard(self):
        board = json.loads((MONITORING / "foliot.dashboard.json").read_text())
        self.assertEqual({each["name"] for each in board["templating"]["list"]}, {"source", "job", "instance"})
        numbers = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(numbers), len(set(numbers)))
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(taken & cells, f"{panel['title']} lies on another panel")
            taken |= cells
            if panel["type"] == "row":
                continue
            self.assertEqual(panel["datasource"], {"type": "prometheus", "uid": "${source}"})
            self.assertTrue(panel["targets"])
            for target in panel["targets"]:
                self.expect_known(target["expr"])
                self.expect_valid(target["expr"])

    def expect_valid(self, expression):
        """Prometheus parses it, with values in the places of Grafana's variables."""
        for name, value in {"$__rate_interval": "5m", "$job": ".*", "$instance": ".*"}.items():
            expression = expression.replace(name, value)
        rules = {"groups": [{"name": "a", "rules": [{"record": "a", "expr": expression}]}]}
        (self.here / "rules.yml").write_text(json.dumps(rules))
        checked = promtool("check", "rules", self.here / "rules.yml")
        self.assertEqual(checked.returncode, 0, f"{expression}: {checked.stdout}")


class ManyTubes(ServeCase, Scraping):
    """A page does not grow with what is stored, and neither does its cost."""

    def test_a_page_is_bounded(self):
        path = self.here / "http"
        connection = self.connect(self.serve("--memory", "--http", f"unix:{path}"))
        for begin in range(0, 20_000, 500):
            some = b"".join(b"use t%05d\r\nput 0 0 60 1\r\nx\r\n" % (begin + i) for i in range(500))
            connection.socket.sendall(some)
            for _ in range(1000):
                connection.line()
        sizes = []
        for _ in range(5):
            before = connection.numbers(b"stats\r\n")["foliot-store-operations"]
            scraped = self.scrape(path)
            operations = connection.numbers(b"stats\r\n")["foliot-store-operations"] - before
            self.assertLess(operations, 700)
            self.assertEqual(scraped.counts()["ready"], 20_000)
            self.assertEqual(len(scraped.of_tubes("jobs_ready")), 21)
            sizes.append(len(scraped.text))
        self.assertLess(max(sizes), 40_000)


# Those of the other file run there.
del NodesCase

if __name__ == "__main__":
    main()
