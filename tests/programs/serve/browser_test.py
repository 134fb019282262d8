"""Pages of other sites in a real browser, chromium, on the machine of the server: none of them puts, reads, reserves or
cancels a job.

usage: browser_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support

Skipped, exit code 77, where there is no chromium.

The browser takes all names for this machine (--host-resolver-rules). A relay listens there: it hands out the pages of the
sites, and passes everything else on to a server as it comes, and notes what that answers. So a page of rebound.example
talks to the server at its own name and port, as after a DNS rebinding, and a page of timers.example as one that the server
shows itself would.
"""
import http.client
import http.server
import json
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE, foliot
from kit.http_case import LocalConnection
from kit.program_case import main

BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
# Each page tries what it can, and tells its site what it has seen.
PAGE = """<!doctype html><body><script>
const seen = {};
async function attempt(name, url, options) {
  try {
    const answer = await fetch(url, options);
    seen[name] = answer.type === "opaque" ? "opaque" : answer.status + " " + await answer.text();
  } catch (error) {
    seen[name] = "failed";
  }
}
function post(name, url, value) {
  return new Promise((resolve) => {
    const frame = document.createElement("iframe"), form = document.createElement("form"), field = document.createElement("input");
    frame.name = name;
    document.body.append(frame);
    Object.assign(form, {target: name, method: "post", action: url, enctype: "text/plain"});
    [field.name, field.value] = value;
    form.append(field);
    document.body.append(form);
    frame.addEventListener("load", () => { seen[name] = "sent"; resolve(); });
    form.submit();
  });
}
async function run() {
SCRIPT
  await fetch("/seen", {method: "POST", body: JSON.stringify(seen)});
}
run();
</script></body>"""
# Of evil.example, against the server at its address.
FOREIGN = """
  await attempt("read", "SERVER/v1/tubes");
  await attempt("read a job", "SERVER/v1/jobs/1");
  await attempt("put", "SERVER/v1/jobs?tube=mail", {method: "POST", mode: "no-cors", body: "evil"});
  await attempt("put json", "SERVER/v1/jobs?tube=mail", {method: "POST", body: "{}", headers: {"Content-Type": "application/json"}});
  await attempt("replace", "SERVER/v1/tubes/mail/jobs/victim", {method: "PUT", body: "evil"});
  await attempt("reserve", "SERVER/v1/reserve?tube=mail", {method: "POST", mode: "no-cors"});
  await attempt("cancel", "SERVER/v1/jobs/1", {method: "DELETE"});
  await post("form", "SERVER/v1/jobs?tube=mail", ["evil", "body"]);
  await post("form-reserve", "SERVER/v1/reserve?tube=mail", ["a", "b"]);
  await post("form-beanstalk", "BEANSTALK/", ["\\r\\nput 0 0 60 4\\r\\nevil\\r\\n", "b"]);
"""
# Of a site whose name points at the server now.
REBOUND = """
  await attempt("read", "/v1/tubes");
  await attempt("read a job", "/v1/jobs/1");
  await attempt("put", "/v1/jobs?tube=mail", {method: "POST", body: "evil"});
  await attempt("replace", "/v1/tubes/mail/jobs/victim", {method: "PUT", body: "evil"});
  await attempt("reserve", "/v1/reserve?tube=mail", {method: "POST"});
  await attempt("cancel", "/v1/jobs/1", {method: "DELETE"});
"""
# Of the server's own name, in plain HTTP: browsers send no Sec-Fetch-Site there.
OWN = """
  const shows = {"Authorization": "Bearer TOKEN"};
  await attempt("without a token", "/v1/tubes");
  await attempt("put", "/v1/jobs?tube=mail", {method: "POST", body: "good", headers: shows});
  await attempt("read", "/v1/jobs/1", {headers: shows});
"""
# Of evil.example, against that name.
ACROSS = """
  await attempt("put across", "OWN/v1/jobs?tube=mail", {method: "POST", mode: "no-cors", body: "evil"});
  await attempt("put across with a token", "OWN/v1/jobs?tube=mail", {method: "POST", body: "evil", headers: {"Authorization": "Bearer TOKEN"}});
  await post("form-across", "OWN/v1/jobs?tube=mail", ["evil", "body"]);
"""


class Relay(http.server.ThreadingHTTPServer):
    """`pages`: the script of each site's page. `servers`: where the requests to a name go; None: those to all others."""
    daemon_threads = True

    def __init__(self, pages, servers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages
        self.servers = servers
        self.answers = []  # (name, method, target, status) of what was passed on
        self.seen = {}  # what the page of each site has seen
        self.told = threading.Condition()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_any(self):
        name = self.headers.get("Host", "").partition(":")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if name in self.server.pages and self.path == "/page":
            return self.reply(200, "text/html", self.server.pages[name].encode())
        if name in self.server.pages and self.path == "/seen":
            with self.server.told:
                self.server.seen[name] = json.loads(body)
                self.server.told.notify_all()
            return self.reply(204, None, b"")
        if self.path == "/favicon.ico":
            return self.reply(404, None, b"")
        self.pass_on(name, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = handle_any

    def pass_on(self, name, body):
        connection = LocalConnection(self.server.servers.get(name, self.server.servers[None]))
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for key, value in self.headers.items():
                connection.putheader(key, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            text = answer.read()
            self.server.answers.append((name, self.command, urllib.parse.urlsplit(self.path).path, answer.status))
            self.send_response_only(answer.status)
            for key, value in answer.getheaders():
                if key.lower() != "connection":
                    self.send_header(key, value)
            self.end_headers()
            self.wfile.write(text)
        finally:
            connection.close()

    def reply(self, status, kind, body):
        self.send_response_only(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Pages(AccessCase):
    @classmethod
    def setUpClass(cls):
        if BROWSER is None:
            raise unittest.SkipTest("there is no chromium (Debian: chromium)")

    def setUp(self):
        super().setUp()
        self.begin("--host", "timers.example")  # with tokens, which demands them
        open_path = self.here / "open"  # without: everything of this machine may come in
        self.open = foliot("--memory", "--http", f"unix:{open_path}")
        self.addCleanup(self.open.kill)
        self.relay = Relay({}, {None: open_path, "timers.example": self.path})
        self.addCleanup(self.relay.server_close)
        thread = threading.Thread(target=self.relay.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.relay.shutdown)
        self.port = self.relay.server_address[1]
        self.open_path = open_path

    def site(self, name, script):
        for word, value in {"SERVER": f"http://127.0.0.1:{self.port}", "OWN": f"http://timers.example:{self.port}",
                            "BEANSTALK": "http://127.0.0.1:%d" % self.open.address[1], "TOKEN": self.admin}.items():
            script = script.replace(word, value)
        self.relay.pages[name] = PAGE.replace("SCRIPT", script)

    def browse(self, first, *names):
        """Opens the page of the first site, in which those of the others are frames; what each has seen."""
        frames = "".join(f'<iframe src="http://{name}:{self.port}/page"></iframe>' for name in names)
        self.relay.pages[first] = self.relay.pages[first].replace("<body>", "<body>" + frames)
        # Processes of the browser still write there when it has ended.
        profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(profile.cleanup)
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--no-proxy-server", f"--user-data-dir={profile.name}",
                   "--host-resolver-rules=MAP *.example 127.0.0.1", "--remote-debugging-port=0",
                   f"http://{first}:{self.port}/page"]
        with (self.here / "browser.log").open("wb") as log:
            browser = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            with self.relay.told:
                done = self.relay.told.wait_for(lambda: {first, *names} <= self.relay.seen.keys(), 3 * PATIENCE)
        finally:
            browser.terminate()
            browser.wait(PATIENCE)
        self.assertTrue(done, f"{self.relay.seen} {self.relay.answers} {(self.here / 'browser.log').read_text()[-2000:]}")
        return self.relay.seen

    def statuses(self, name):
        return {(method, target): status for host, method, target, status in self.relay.answers if host == name}

    def ask_open(self, method, target, body=None):
        return self.ask_over(LocalConnection(self.open_path), method, target, None, body)[:2]

    def test_a_page_of_another_site_does_nothing(self):
        self.assertEqual(self.ask_open("PUT", "/v1/tubes/mail/jobs/victim", b"untouched")[0], 201)
        before = self.ask_open("GET", "/v1/jobs/1")
        self.site("evil.example", FOREIGN + ACROSS)
        self.site("rebound.example", REBOUND)
        self.site("timers.example", OWN)
        seen = self.browse("evil.example", "rebound.example", "timers.example")
        # Nothing has changed, and no page has read anything.
        self.assertEqual(self.ask_open("GET", "/v1/jobs/1"), before)
        self.assertEqual(self.ask_open("GET", "/v1/tubes")[1]["tubes"],
                         [{"tube": "mail", "ready": 1, "urgent": 1, "reserved": 0, "delayed": 0, "buried": 0}])
        connection = self.open.connect()
        self.addCleanup(connection.close)
        stats = connection.numbers(b"stats\r\n")
        self.assertEqual((stats["total-jobs"], stats["cmd-put"]), (0, 0), "over beanstalk")
        self.assertEqual(set(seen["evil.example"].values()), {"opaque", "failed", "sent"}, seen)
        for name, answer in seen["rebound.example"].items():
            self.assertTrue(answer.startswith("421 "), (name, answer))
        # The browser has really asked.
        foreign = self.statuses("127.0.0.1")
        self.assertEqual(foreign[("POST", "/v1/jobs")], 403)
        self.assertEqual(foreign[("POST", "/v1/reserve")], 403)
        self.assertEqual(foreign[("GET", "/v1/tubes")], 200, "the browser gives the answer to no other site")
        self.assertNotIn(("DELETE", "/v1/jobs/1"), foreign, "the browser asks before, and is not allowed")
        self.assertEqual(set(self.statuses("rebound.example").values()), {421})
        # A page of the server's own name may do what its token allows.
        own = seen["timers.example"]
        self.assertTrue(own["without a token"].startswith("401 "), own)
        self.assertTrue(own["put"].startswith("201 "), own)
        self.assertEqual(json.loads(own["read"].partition(" ")[2])["text"], "good")
        across = [status for host, method, _, status in self.relay.answers
                  if (host, method) == ("timers.example", "POST")]
        self.assertEqual(sorted(across), [201, 403, 403], "its own put, a fetch and a form of the other site")
        self.assertEqual(self.ask("GET", "/v1/tubes", self.admin)[1]["tubes"][0]["ready"], 1)


if __name__ == "__main__":
    main()
