"""The page that a server shows at `/`, in a real browser: chromium, by its driver and Selenium.

usage: page_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support

Skipped, exit code 77, where there is no chromium, no driver or no Selenium (Debian: chromium, chromium-driver,
python3-selenium).

After each test the console of the browser must be empty: a script that fails, and whatever the page's
Content-Security-Policy forbids, is there. In the browser the timers of the page, and the clock by which
it waits, run five times as fast. What they shall not do is waited for by that clock.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

DEBIANS_PYTHON = "/usr/bin/python3"
try:
    from selenium import webdriver
    from selenium.common.exceptions import (ElementClickInterceptedException, ElementNotInteractableException,
                                            StaleElementReferenceException, WebDriverException)
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None
    is_debians = Path(sys.executable).resolve() == Path(DEBIANS_PYTHON).resolve()
    if __name__ == "__main__" and Path(DEBIANS_PYTHON).exists() and not is_debians:  # the packages are for this one
        os.execv(DEBIANS_PYTHON, [DEBIANS_PYTHON, *sys.argv])

import downloads
from webhooks_test import KEY, Receiver, secret_of
from kit import nginx, postgresql_server
from kit.access_case import AccessCase
from kit.beanstalk_client import PATIENCE, free_port
from kit.http_client import LocalConnection
from kit.program_case import FOLIOT, main

BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
DRIVER = shutil.which("chromedriver")
AXE = "axe-core@4.14.1"
# Where the pictures of the documentation go; `scripts/run pictures` copies them from there.
PICTURES = os.environ.get("FOLIOT_PICTURES")
SPEED = 5
QUICK_TIMERS = f"""
const timeoutOf = window.setTimeout, intervalOf = window.setInterval;
window.setTimeout = (call, after, ...more) => timeoutOf(call, after / {SPEED}, ...more);
window.setInterval = (call, after, ...more) => intervalOf(call, after / {SPEED}, ...more);
const nowOf = performance.now.bind(performance);
performance.now = () => nowOf() * {SPEED};
"""
# Whether a page with this title has come to show something: no part is busy, and there is a heading.
IS_SHOWN = "return document.querySelector('main h1') !== null && document.querySelector('[aria-busy]') === null"


class PageCase(AccessCase):
    """A browser for the tests of a class, and a server for each test."""
    signs_in = False  # whether must() shows the token of the administrator

    @classmethod
    def setUpClass(cls):
        if webdriver is None or BROWSER is None or DRIVER is None:
            raise unittest.SkipTest("there is no chromium, no driver or no Selenium "
                                    "(Debian: chromium chromium-driver python3-selenium)")
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                         "--no-proxy-server", "--window-size=1200,900", "--force-color-profile=srgb", "--lang=en-US",
                         "--host-resolver-rules=MAP *.example 127.0.0.1"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.ignore_local_proxy_environment_variables()  # which are not for the driver
        try:
            cls.browser = cls.begin_browser(options)
        except WebDriverException:  # the driver's port was taken meanwhile, or the browser took more than a minute
            cls.browser = cls.begin_browser(options)
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.set_script_timeout(PATIENCE)
        cls.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": QUICK_TIMERS})

    @staticmethod
    def begin_browser(options):
        return webdriver.Chrome(service=webdriver.chrome.service.Service(DRIVER), options=options)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.expect_quiet_console)

    def expect_quiet_console(self):
        # An answer that is no success is no mistake of the page; and in plain HTTP, by a name, windows are not kept apart.
        harmless = ["Failed to load resource", "The Cross-Origin-Opener-Policy header has been ignored"]
        entries = [each["message"] for each in self.browser.get_log("browser")
                   if not any(text in each["message"] for text in harmless)]
        self.browser.get("about:blank")
        self.assertEqual(entries, [])

    # The server

    def begin_page(self, *arguments, host="127.0.0.1", with_tokens=True):
        """Starts a server, at `self.base`."""
        while True:
            port = free_port()
            self.base = f"http://{host}:{port}/"
            try:
                if with_tokens:
                    self.begin("--http", f"127.0.0.1:{port}", *arguments)
                else:
                    self.begin_open("--http", f"127.0.0.1:{port}", *arguments)
                return
            except AssertionError:
                if self.server.poll() is None:
                    raise  # else another process was quicker

    def begin_open(self, *arguments):
        self.server = self.start("serve", "--memory", "--beanstalk", f"unix:{self.here / 'beanstalk'}", "--http",
                                 f"unix:{self.path}", *arguments)
        for each in [self.server.stdout.close, self.server.stderr.close, self.server.wait, self.server.kill]:
            self.addCleanup(each)
        self.wait_for_status("/ready", 200)

    def must(self, method, target, value=None, status=None, **fields):
        """Asks the server, with the token of the administrator; the value of the answer."""
        headers = {name.replace("_", "-"): text for name, text in fields.items()}
        if value is not None and not isinstance(value, bytes):
            value = json.dumps(value).encode()
            headers["Content-Type"] = "application/json"
        seen, answer, _ = self.ask_over(LocalConnection(self.path), method, target, self.shown_token(), value, headers)
        self.assertIn(seen, [status] if status else [200, 201], answer)
        return answer

    def shown_token(self):
        return self.admin if self.signs_in else None

    def begin_signed_in(self, *arguments, token=None, at="", **more):
        self.begin_page(*arguments, **more)
        self.signs_in = True
        self.open(at)
        self.sign_in(token or self.admin)

    def sign_in(self, token):
        self.fill("Access token", token)
        self.press("Sign in")
        self.wait(lambda: "Sign in" not in self.heading())
        self.wait_shown()

    # The page

    def open(self, at=""):
        self.browser.get(self.base + at)
        self.wait_shown()

    def go(self, at):
        """To another place, as by a link."""
        self.script("location.hash = arguments[0]", at)
        self.wait_shown()

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def wait(self, condition, what=None):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                got = condition()
                if got:
                    return got
            except StaleElementReferenceException:
                pass
            if time.monotonic() > until:
                self.fail(f"{what or 'it'} has not come; the page has: {self.text()}")
            time.sleep(0.05)

    def wait_shown(self):
        self.script("return new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))")
        self.wait(lambda: self.script(IS_SHOWN), "the page")

    def heading(self):
        return self.script("return document.querySelector('main h1')?.textContent ?? ''")

    def text(self):
        return self.script("return document.querySelector('dialog[open]')?.innerText ?? document.querySelector('main').innerText")

    def see(self, *texts):
        for each in texts:
            self.wait(lambda each=each: each in self.text(), repr(each))

    def told(self, text):
        self.wait(lambda: self.script("return document.getElementById('told').textContent") == text, repr(text))

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def buttons(self):
        """What can be pressed, of the dialog if there is one."""
        return self.script("const at = document.querySelector('dialog[open]') ?? document;"
                           "return Array.from(at.querySelectorAll('button, a.button, nav a')).map((each) => each.innerText)")

    def press(self, text):
        find = ("const at = document.querySelector('dialog[open]') ?? document; return Array.from(at.querySelectorAll("
                "'button, a')).find((each) => each.innerText.trim() === arguments[0] && !each.disabled)")

        def try_to_press():
            found = self.script(find, text)
            try:
                if found:
                    found.click()
                return found
            except (ElementClickInterceptedException, ElementNotInteractableException):
                return None  # the page has put another one there
            except WebDriverException as error:
                if "does not belong to the document" in str(error):
                    return None
                raise
        self.wait(try_to_press, f"the button {text!r}")

    def fill(self, label, value, form=0):
        find = ("const at = document.querySelector('dialog[open]') ?? document; const labels = Array.from("
                "at.querySelectorAll('label')).filter((each) => each.textContent === arguments[0]);"
                "return document.getElementById(labels[arguments[1]]?.htmlFor)")
        control = self.wait(lambda: self.script(find, label, form), f"the field {label!r}")
        if control.tag_name == "select":
            control.send_keys(value)
        else:
            control.clear()
            control.send_keys(value)
        return control

    def field_in_hand(self):
        """The label of the field with the focus, and whether it is said to be wrong."""
        return tuple(self.script("const at = document.activeElement; return [at.labels?.[0]?.textContent ?? at.localName, at.getAttribute('aria-invalid')]"))

    def row(self, first):
        """The texts of the row of a table whose first cell begins so; None if there is none."""
        return self.script("const row = Array.from(document.querySelectorAll('tbody tr')).find((each) => "
                           "each.cells[0].textContent.startsWith(arguments[0]));"
                           "return row ? Array.from(row.cells).map((each) => each.innerText) : null", first)

    def see_row(self, *cells):
        self.wait(lambda: (self.row(cells[0]) or [])[:len(cells)] == list(cells), f"the row {cells}")

    def fact(self, title):
        return self.script("const all = Array.from(document.querySelectorAll('.facts dt'));"
                           "return all.find((each) => each.textContent === arguments[0])?.nextSibling.innerText", title)

    def let_pass(self, seconds):
        """Waits until so much time has passed for the page."""
        until = self.script("return performance.now()") + 1000 * seconds
        self.wait(lambda: self.script("return performance.now()") >= until, "the time")

    def change_fetch(self, text):
        """From now on this is what the page does to ask: the body of a function of `url` and `how`, which has the real
        `ask(url, how)`. `window.open_gate` lets go on what waits for `gate`."""
        self.script("window.asks ??= window.fetch.bind(window); const ask = window.asks;"
                    "const gate = new Promise((then) => { window.open_gate = then; });"
                    f"window.fetch = async (given, how) => {{ const url = String(given); {text} }};")

    def requests(self):
        """The URLs that the page has asked for since the last call."""
        return self.script("const all = performance.getEntriesByType('resource').map((each) => each.name);"
                           "performance.clearResourceTimings(); return all")


class PageLooks(PageCase):
    """Without access tokens, on loopback: everybody sees everything, and nobody signs in."""

    def begin_with(self, *jobs):
        self.begin_page(with_tokens=False)
        for tube, more in jobs:
            self.must("POST", f"/v1/jobs?tube={tube}", more)

    def test_tubes_are_live(self):
        self.begin_with(("mail", {"text": "a"}), ("mail", {"text": "b", "delay": "90m"}), ("other", {"delay": "30m"}))
        self.open()
        self.assertEqual(self.heading(), "Tubes")
        self.assertNotIn("Sign out", self.buttons())
        self.see_row("mail", "1", "0", "1", "0")
        self.must("POST", "/v1/jobs?tube=mail", {})
        self.see_row("mail", "2", "0", "1", "0")
        self.must("POST", "/v1/tubes/mail/pause?length=1h")
        self.wait(lambda: "paused" in self.row("mail")[0])
        self.assertEqual(self.script("return Array.from(document.querySelectorAll('.due strong')).map((each) => each.textContent)"),
                         ["0 jobs", "1 job", "2 jobs"])
        self.assertIn("Next hour: 1 job; for each 5 min: 0, 0, ", self.all(".due svg")[1].get_attribute("aria-label"))

    def test_nobody_looks_and_nothing_is_asked(self):
        self.begin_with(("mail", {}))
        self.open()
        self.requests()
        self.wait(lambda: any("/v1/tubes" in each for each in self.requests()), "the next request")
        for stop, go_on in [
                (lambda: self.press("Live"), lambda: self.press("Stopped")),
                (lambda: self.show_tab("hidden"), lambda: self.show_tab("visible"))]:
            stop()
            # Three requests may be under way. A page that goes on asks anew every 5 seconds.
            self.wait(lambda: self.let_pass(10) or not self.requests(), "the end of what was asked for")
            self.let_pass(10)
            self.assertEqual(self.requests(), [])
            self.must("POST", "/v1/jobs?tube=mail", {})
            go_on()
            self.wait(lambda: self.requests(), "the next request")
        self.see_row("mail", "3")
        self.press("Live")
        self.must("POST", "/v1/jobs?tube=mail", {})
        self.press("Refresh")
        self.see_row("mail", "4")

    def show_tab(self, how):
        self.script("Object.defineProperty(document, 'visibilityState', {get: () => arguments[0], configurable: true});"
                    "document.dispatchEvent(new Event('visibilitychange'))".replace("arguments[0]", json.dumps(how)))

    def test_marked_text_stays(self):
        self.begin_with(("mail", {}))
        self.open()
        for mark in ["getSelection().selectAllChildren(document.querySelector('tbody th'))",
                     "getSelection().selectAllChildren(document.body)"]:
            seen = int(self.row("mail")[1])
            self.script(mark)
            self.must("POST", "/v1/jobs?tube=mail", {})
            marked = self.script("return getSelection().toString()")
            self.assertIn("mail", marked)
            self.let_pass(12)
            self.assertEqual(self.script("return getSelection().toString()"), marked)
            self.assertEqual(int(self.row("mail")[1]), seen)
            self.script("getSelection().removeAllRanges()")
            self.see_row("mail", str(seen + 1))
        self.script("getSelection().selectAllChildren(document.querySelector('tbody th'))")
        self.must("POST", "/v1/jobs?tube=mail", {})
        self.press("Refresh")
        self.see_row("mail", "4")
        self.script("getSelection().selectAllChildren(document.body)")
        self.go("#/jobs")  # another place is shown whatever was marked
        self.see_row("1", "ready")

    def wait_until_gated(self):
        self.wait(lambda: self.script("return window.gated"), "a request that waits")

    def test_what_is_marked_while_an_answer_comes_stays(self):
        self.begin_with(("mail", {}))
        self.open()
        self.must("POST", "/v1/jobs?tube=mail", {})
        self.change_fetch("const got = await ask(url, how); if (url.includes('v1/tubes')) { window.gated = true; await gate; } return got;")
        self.wait_until_gated()
        self.script("getSelection().selectAllChildren(document.querySelector('tbody th')); open_gate()")
        self.let_pass(12)
        self.assertEqual(self.script("return getSelection().toString()"), "mail")
        self.script("getSelection().removeAllRanges()")
        self.see_row("mail", "2")

    def test_a_press_is_not_lost(self):
        self.begin_with(("mail", {}))
        self.open()
        self.must("POST", "/v1/jobs?tube=mail", {})
        ActionChains(self.browser).click_and_hold(self.all("tbody th a")[0]).perform()
        self.let_pass(12)  # two requests, had it gone on
        ActionChains(self.browser).release().perform()
        self.wait(lambda: self.heading() == "Tube mail", "the place of the link")

    def test_refresh_while_an_answer_comes(self):
        self.begin_with(("mail", {}))
        self.open()
        self.press("Live")
        self.change_fetch("const got = await ask(url, how); if (url.includes('v1/tubes')) { window.gated = true; await gate; } return got;")
        self.press("Refresh")
        self.wait_until_gated()
        self.must("POST", "/v1/jobs?tube=mail", {})
        self.press("Refresh")
        self.script("open_gate()")
        self.see_row("mail", "2")

    def test_rates_are_of_one_process(self):
        self.begin_with(("mail", {}))
        self.open()
        self.change_fetch("const got = await ask(url, how); if (!url.includes('v1/statistics')) return got;"
                          "const value = await got.json(); window.looks = (window.looks ?? 0) + 1;"
                          "value.server.process = window.alternates ? `p${window.looks}` : 'p'; value.server.operations = 1e6 * window.looks;"
                          "return new Response(JSON.stringify(value), {headers: got.headers});")
        tile = "return Array.from(document.querySelectorAll('.tile')).find((each) => each.firstChild.textContent === 'Operations').lastChild.textContent"
        self.script("window.alternates = true")
        self.wait(lambda: self.script("return window.looks >= 3"))
        self.let_pass(1)
        self.assertEqual(self.script(tile), "–")
        self.script("window.alternates = false")
        self.wait(lambda: self.script(tile).endswith("/s"), "a rate")

    def test_a_first_job_from_curl_to_the_terminal(self):
        """As in the quick start: put with curl, seen in a browser, cancelled by foliot job."""
        if shutil.which("curl") is None or not Path(shutil.which(FOLIOT)).resolve().with_name("foliot-job").exists():
            self.skipTest("there is no curl, or no foliot-job beside foliot")
        self.begin_page(with_tokens=False)
        self.open()
        self.see("There are no tubes")
        done = subprocess.run(["curl", "-sS", "-d", "hello", f"{self.base}v1/jobs?tube=mail&delay=2h"], capture_output=True, text=True,
                              timeout=PATIENCE, check=True)
        self.assertEqual(json.loads(done.stdout), {"id": "1", "outcome": "inserted"})
        self.see_row("mail", "0", "0", "1", "0")  # without a press
        self.press("1")
        self.see_row("1", "delayed")
        self.press("1")
        self.see("It is due later", "hello")
        self.assertEqual(self.expect_done("job", "cancel", "1", "--server", self.base), "job 1: cancelled\n")
        self.see("There is no such job")

    def tile(self, title):
        return self.script("return Array.from(document.querySelectorAll('.tile')).find((each) => each.firstChild.textContent === arguments[0])"
                           "?.lastChild.textContent", title)

    def chart(self, title):
        """What one of the charts of lengths of time says: in its head, to a screen reader, and below."""
        return self.script("const it = Array.from(document.querySelectorAll('.times')).find((each) => each.innerText.startsWith(arguments[0]));"
                           "return it && [it.querySelector('strong').textContent, it.querySelector('svg').getAttribute('aria-label'),"
                           "it.querySelector('p').textContent]", title)

    def test_how_late_jobs_are(self):
        self.begin_with(("mail", {}), ("mail", {}))
        self.open()
        self.wait(lambda: (self.chart("Work") or [""])[0] == "no jobs", "the end of a first stretch of time")
        self.assertIn("Since the start 0 jobs.", self.chart("Work")[2])
        # However long all of this takes, what happens now is in the last minute.
        self.script("let now = performance.now(); performance.now = () => ++now")
        held = self.must("POST", "/v1/reserve", {"tube": "mail", "count": 2})["jobs"]
        self.must("POST", f"/v1/reservations/{held[0]['reservation']}/finish")

        def look_again():
            self.press("Refresh")
            return "Since the start 1 job:" in self.chart("Work")[2]

        self.wait(look_again, "a job that is done")
        head, read, below = self.chart("Lateness")
        self.assertRegex(head, r"^99 % ≤ \d")
        self.assertRegex(read, r"^Lateness, from when .*: in the last .* 2 jobs: half ≤ .*, 90 % ≤ .*, 99 % ≤ .*, all ≤ ")
        self.assertRegex(below, r"Since the start 2 jobs: half ≤ .*, all ≤ ")
        self.assertEqual(self.tile("Reserved"), "1")

    def test_rates_and_lengths_are_of_the_last_minute(self):
        """By figures that are known: of each 100 jobs between two looks 90 came within 5 ms, 9 within a day, and 1 later."""
        self.begin_with(("mail", {}))
        self.open()
        self.change_fetch("const got = await ask(url, how); if (!url.includes('v1/statistics')) return got;"
                          "const value = await got.json(); const n = window.looks = (window.looks ?? 0) + 1;"
                          "const counts = new Array(24).fill(0); counts[5] = 1000 + 90 * n; counts[22] = 500 + 9 * n; counts[23] = n;"
                          "value.server.process = 'p'; value.flow.put = 1e9 * n; value.times.lateness.counts = counts;"
                          "return new Response(JSON.stringify(value), {headers: got.headers});")
        self.wait(lambda: "all > 1d" in (self.chart("Lateness") or ["", "", ""])[1], "the second look")
        head, read, below = self.chart("Lateness")
        self.assertEqual(head, "99 % ≤ 1d")
        self.assertRegex(read, r"in the last .*00 jobs: half ≤ 5ms, 90 % ≤ 5ms, 99 % ≤ 1d, all > 1d$")
        self.assertRegex(below, r"Since the start [\d,]+ jobs: half ≤ 5ms, 90 % ≤ 1d, 99 % ≤ 1d, all > 1d\.$")
        self.assertRegex(self.tile("Put"), r"^[0-9,]{7,}/s$")
        self.assertEqual(self.tile("Finished"), "0/s")

    def test_the_same_trouble_is_told_once(self):
        self.begin_with(("mail", {}))
        self.open()
        self.change_fetch("window.failed = (window.failed ?? 0) + 1; throw new TypeError('cut');")
        self.see("the server does not answer")
        self.script("window.told_first = document.querySelector('main [role=alert]'); window.failed = 0")
        self.wait(lambda: self.script("return window.failed >= 4"), "the next tries")
        self.assertTrue(self.script("return window.told_first === document.querySelector('main [role=alert]')"))
        self.change_fetch("return ask(url, how);")
        self.wait(lambda: not self.all("main [role=alert]"), "the end of the trouble")

    def test_a_first_request_that_fails_is_repeated(self):
        self.begin_with(("mail", {}))
        script = ("const asks = window.fetch; window.failed = 0; window.fetch = (...all) => window.failed++ < 2 ? "
                  "Promise.reject(new TypeError('cut')) : asks(...all)")
        made = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        self.addCleanup(self.browser.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", made)
        self.browser.get(self.base)
        self.see_row("mail", "1")
        self.assertEqual(self.script("return window.failed > 2"), True)

    def test_pages_of_tubes(self):
        self.begin_with()
        self.must("POST", "/v1/batch", {"jobs": [{"tube": f"t{i:03}"} for i in range(120)] + [{"tube": "x"}]})
        self.open()
        self.assertEqual(len(self.all("tbody tr")), 50)
        self.press("Next page")
        self.see_row("t050")
        self.press("Next page")
        self.see_row("x")
        self.browser.refresh()
        self.see_row("x")
        self.assertEqual(len(self.all("tbody tr")), 21, "the page is in the address")
        self.press("First page")
        self.see_row("t000")
        self.fill("Tubes that begin with", "t11")
        self.press("Show")
        self.see_row("t110")
        self.assertEqual(len(self.all("tbody tr")), 10)
        self.browser.back()
        self.see_row("t000")
        self.press("t003")
        self.wait(lambda: self.heading() == "Tube t003")

    def test_a_job_is_found(self):
        self.begin_with(("a/b", {"key": "order/17 ü", "delay": "1h"}), ("a/b", {"text": "second"}))
        self.open("#/jobs")
        self.fill("Job with the id", "2")
        self.press("Find")
        self.wait(lambda: self.heading() == "Job 2")
        self.wait(lambda: self.fact("Tube") == "a/b", "the tube")
        self.see("second", "No worker of this server watches its tube.")
        self.go("#/jobs")
        self.fill("Tube", "a/b")
        self.fill("Key", "order/17 ü" + Keys.ENTER)
        self.wait(lambda: self.heading() == "Job order/17 ü of a/b")
        self.wait(lambda: (self.fact("Id") or "").startswith("1"), "the id")
        self.see("It is due later: in ")
        self.browser.refresh()
        self.wait_shown()
        self.wait(lambda: self.fact("State") == "delayed")
        self.go("#/job?id=99")
        self.see("There is no such job")
        self.go("#/jobs?tube=a%2Fb&state=delayed")
        self.see_row("1", "order/17 ü", "delayed")
        self.assertEqual(len(self.all("tbody tr")), 1)
        self.go("#/jobs")
        self.fill("Text in the body", "second")
        self.press("Show")
        self.see_row("2", "ready")
        self.assertEqual(len(self.all("tbody tr")), 1)
        self.browser.refresh()
        self.see_row("2", "ready")
        self.press("Change all of these jobs…")
        self.wait(lambda: self.heading() == "Change many jobs")
        self.assertEqual(self.script("return Array.from(document.querySelectorAll('input')).map((each) => each.value)").count("second"), 1)
        self.go("#/jobs?key_prefix=order")
        self.see_row("1", "order/17 ü")
        self.go("#/jobs?key_prefix=none")
        self.see("There are no such jobs.")
        self.go("#/nowhere")
        self.assertEqual(self.heading(), "Nothing here")

    def test_who_has_a_job(self):
        self.begin_with(("mail", {"text": "x", "ttr": "1h"}))
        self.must("POST", "/v1/reserve?tube=mail")
        self.open("#/job?id=1")
        self.see("A worker has it, a local socket, until in 59m", "latest")
        self.assertEqual(self.fact("Held by"), "a local socket")
        self.assertNotIn("Cancel…", self.buttons())
        self.go("#/reservations")
        self.see_row("1", "mail", "", "a local socket")

    def test_bodies(self):
        self.begin_with(("t", {"body": {"order": 17, "lines": [1, 2]}}), ("t", {"text": "plain\ntext"}),
                        ("t", {"base64": base64.b64encode(bytes(range(0, 250, 7))).decode()}), ("t", {"text": "m" * 60_000}), ("t", {}))
        big = 2**63 - 25
        self.must("POST", "/v1/jobs?tube=t", b'{"id":%d}' % big, Content_Type="application/json", Foliot_Body="raw")
        self.open("#/job?id=1")
        self.see('"order": 17')
        self.assertNotIn("Hex", self.buttons(), "its bytes are not told")
        self.assertNotIn(" bytes", self.text())
        self.assertEqual(len(self.all("[aria-label='Copy the body as JSON']")), 1)
        self.go("#/job?id=2")
        self.see("plain\ntext", "10 bytes")
        self.press("Hex")
        self.see("000000  70 6c 61 69 6e 0a 74 65  78 74                    plain·text")
        self.go("#/job?id=3")
        self.see("000010  70 77 7e 85")
        self.go("#/job?id=4")
        self.see("The first 16,384 of 60,000.")
        self.assertEqual(len(self.all(".body")[0].text), 16_384)
        self.press("Show all")
        self.wait(lambda: len(self.all(".body")[0].text) == 60_000)
        self.go("#/job?id=5")
        self.see("It is empty.")
        self.go("#/job?id=6")
        self.see(str(big))

    def test_a_body_that_has_not_come_is_asked_for_again(self):
        self.begin_with(("t", {"text": "the text"}))
        self.open("#/jobs")
        self.change_fetch("if (url.endsWith('v1/job?id=1') && !window.failed) { window.failed = true; throw new TypeError('cut'); } return ask(url, how);")
        self.go("#/job?id=1")
        self.see("the text")
        self.assertTrue(self.script("return window.failed"))

    def test_bodies_are_hidden_if_told(self):
        self.begin_with(("t", {"text": "secret"}), ("t", {"text": "another"}))
        self.open("#/job?id=1")
        self.see("secret")
        self.change_fetch("const got = await ask(url, how); await gate; return got;")
        self.script("document.getElementById('hiding').click()")
        self.assertNotIn("secret", self.text(), "at once, whenever the server answers")
        self.script("open_gate()")
        self.see("Bodies are hidden.")
        self.addCleanup(lambda: self.script("try { localStorage.clear() } catch {}"))
        self.open("#/job?id=2")
        self.browser.refresh()
        self.wait_shown()
        self.see("Bodies are hidden.")
        self.assertNotIn("another", self.text())
        asked = [each for each in self.requests() if "/v1/job?" in each]
        self.assertTrue(asked)
        self.assertTrue(all("with_body=false" in each for each in asked), asked)
        self.press("Show this one")
        self.see("another")
        self.script("localStorage.clear()")

    def test_events(self):
        self.begin_with()
        self.open("#/events?tube=news")
        self.see("The latest are first")
        # The stream may begin behind the first puts.
        self.wait(lambda: self.must("PUT", "/v1/tubes/news/jobs/first", {"text": "x"}) and self.all("tbody tr"), "an event")
        self.must("DELETE", "/v1/tubes/news/jobs/first")
        self.must("POST", "/v1/jobs?tube=other", {})
        self.see("cancelled", "first")
        self.assertNotIn("other", self.text())
        self.press("Live")
        self.see("The stream is stopped.")

    def test_a_stream_that_is_silent_is_begun_anew(self):
        self.begin_with()
        self.open()
        self.change_fetch("if (url.includes('v1/events')) window.streams = (window.streams ?? 0) + 1; return ask(url, how);")
        self.go("#/events?tube=news")
        self.wait(lambda: self.script("return window.streams > 0"), "the stream")
        self.wait(lambda: self.must("PUT", "/v1/tubes/news/jobs/first", {"text": "x"}) and self.all("tbody tr"), "an event")
        self.script("const now = Date.now; window.more = 0; Date.now = () => now() + more; window.before = streams")
        # The clock is set again and again: events of the puts may still come, after which the stream was not silent.
        self.wait(lambda: self.script("more += 60000; return streams > before"), "another stream")

    def test_the_server_is_asked_and_nobody_else(self):
        self.begin_with(("mail", {"text": "x"}))
        self.open()
        for at in ["#/jobs", "#/job?id=1", "#/tube?tube=mail", "#/actions", "#/put", "#/change"]:
            self.go(at)
        self.assertEqual({each for each in self.requests() if not each.startswith(self.base)}, set())
        self.assertEqual(self.browser.get_cookies(), [])

    def test_a_server_that_does_not_answer_is_told(self):
        self.begin_with(("mail", {}))
        self.open()
        self.server.kill()
        self.server.wait()
        self.see("the server does not answer")
        self.browser.get_log("browser")  # of connections that were refused


class PageChanges(PageCase):
    def begin_with(self, *jobs):
        self.begin_page(with_tokens=False)
        for tube, more in jobs:
            self.must("POST", f"/v1/jobs?tube={tube}", more)

    def state_of(self, job):
        return self.must("GET", f"/v1/jobs/{job}")["state"]

    def test_cancel_asks_first(self):
        self.begin_with(("mail", {"delay": "1h", "key": "k"}))
        self.open("#/job?id=1")
        self.press("Cancel…")
        self.see("Cancel the job?", "with the key k in the tube mail")
        self.press("Leave it")
        self.wait(lambda: not self.all("dialog"))
        self.press("Cancel…")
        ActionChains(self.browser).send_keys(Keys.ESCAPE).perform()
        self.wait(lambda: not self.all("dialog"))
        self.assertEqual(self.state_of(1), "delayed")
        self.press("Cancel…")
        self.press("Cancel job 1")
        self.told("Job 1: cancelled")
        self.see("There is no such job")
        self.must("GET", "/v1/jobs/1", status=404)

    def test_a_dialog_holds_what_is_seen(self):
        self.begin_with(("mail", {"delay": "1h"}))
        self.open("#/job?id=1")
        self.see("It is due later")
        self.press("Cancel…")
        self.script("window.pressed = Array.from(document.querySelectorAll('main button')).find((each) => each.innerText === 'Cancel…')")
        self.let_pass(12)
        self.assertTrue(self.script("return window.pressed.isConnected"))
        ActionChains(self.browser).send_keys(Keys.ESCAPE).perform()
        self.wait(lambda: not self.all("dialog"))
        self.assertTrue(self.script("return document.activeElement === window.pressed || document.activeElement.innerText === 'Cancel…'"))
        self.wait(lambda: self.script("return !window.pressed.isConnected"), "the next answer")
        self.assertEqual(self.script("return document.activeElement.innerText"), "Cancel…")

    def test_what_has_begun_cannot_be_left(self):
        self.begin_with(("mail", {"delay": "1h"}))
        self.open("#/job?id=1")
        self.press("Cancel…")
        self.change_fetch("const got = await ask(url, how); if (how.method === 'DELETE') { window.gated = true; await gate; } return got;")
        self.press("Cancel job 1")
        self.wait(lambda: self.script("return window.gated"), "the request")
        for _ in range(3):
            ActionChains(self.browser).send_keys(Keys.ESCAPE).perform()
        self.assertEqual(self.script("return Array.from(document.querySelectorAll('dialog[open] button:disabled')).length"), 2)
        self.script("open_gate()")
        self.told("Job 1: cancelled")
        self.see("There is no such job")

    def test_a_refusal_closes_the_dialog(self):
        self.begin_with(("mail", {"delay": "1h"}))
        self.open("#/job?id=1")
        self.see("It is due later")
        self.change_fetch("window.gated = true; await gate; return new Response('{\"detail\": \"ended\"}', {status: 401});")
        self.press("Refresh")
        self.wait(lambda: self.script("return window.gated"), "the request")
        self.press("Cancel…")
        self.see("Cancel the job?")
        self.script("open_gate()")
        self.wait(lambda: self.heading() == "Sign in" and not self.all("dialog"), "the sign-in")

    def test_move_and_fire(self):
        self.begin_with(("mail", {"delay": "1h"}))
        self.open("#/job?id=1")
        self.press("Move…")
        self.fill("New due time", "soon")
        self.press("Move it")
        self.see("`delay` must be a length of time")
        self.fill("New due time", "2100-01-01 00:00:00Z")
        self.press("Move it")
        self.told("Job 1: rescheduled")
        self.assertEqual(self.must("GET", "/v1/jobs/1")["due"], "2100-01-01T00:00:00.000Z")
        self.wait(lambda: self.all(".facts time[datetime^='2100-01-01']"), "the job as it is now")
        self.press("Fire…")
        self.press("Fire it")
        self.told("Job 1: ready")
        self.wait(lambda: self.fact("State") == "ready")

    def test_kick(self):
        self.begin_with(("mail", {}))
        token = self.must("POST", "/v1/reserve?tube=mail")["jobs"][0]["reservation"]
        self.must("POST", f"/v1/reservations/{token}/bury")
        self.open("#/job?id=1")
        self.see("A worker has set it aside.")
        self.press("Kick…")
        self.press("Kick it")
        self.wait(lambda: self.fact("State") == "ready")

    def test_what_has_changed_meanwhile_is_left_alone(self):
        self.begin_with(("mail", {"delay": "1h", "key": "k"}))
        self.open("#/job?id=1")
        self.press("Cancel…")
        self.must("POST", "/v1/jobs/1/reschedule", {"delay": "2h"})
        self.press("Cancel job 1")
        self.see("the job has changed")
        self.assertEqual(self.state_of(1), "delayed")

    def test_put(self):
        self.begin_with(("mail", {"key": "taken"}))
        self.open("#/put?tube=mail")
        self.fill("Key", "taken")
        self.fill("Due", "1h")
        self.fill("Priority", "7")
        self.fill("Group", "customer 7")
        self.fill("Expires", "2h")
        self.fill("The body is", "JSON")
        self.fill("Body", '{"a": }')
        self.press("Put…")
        self.see("the body is not JSON")
        self.fill("Body", '{"a": 1}')
        self.press("Put…")
        self.press("Put it")
        self.see("key")
        self.wait(lambda: self.all("dialog [role=alert]"), "that the key is taken")
        self.press("Leave it")
        self.fill("Key", "free")
        self.press("Put…")
        self.press("Put it")
        self.wait(lambda: self.heading() == "Job 2")
        job = self.must("GET", "/v1/jobs/2")
        self.assertEqual((job["key"], job["priority"], job["state"], job["body"]), ("free", 7, "delayed", {"a": 1}))
        self.assertEqual(job["group"], "customer 7")
        self.wait(lambda: self.fact("Group") == "customer 7" and (self.fact("Expires") or "").startswith("in 1h 59m"), "the group")

    def test_a_put_whose_answer_is_lost_happens_once(self):
        self.begin_with()
        self.open("#/put?tube=mail")
        self.change_fetch("const got = await ask(url, how); if (how.method === 'POST' && !window.lost) { window.lost = true; throw new TypeError('cut'); } return got;")
        self.press("Put…")
        self.press("Put it")
        self.see("the server does not answer")
        self.assertEqual(self.must("GET", "/v1/tubes/mail")["ready"], 1)
        self.press("Put it")
        self.wait(lambda: self.heading() == "Job 1")
        self.assertEqual(self.must("GET", "/v1/tubes/mail")["ready"], 1)
        self.go("#/put?tube=mail")
        self.press("Put…")
        self.press("Put it")
        self.wait(lambda: self.heading() == "Job 2", "another one")

    def test_pause(self):
        self.begin_with(("mail", {}))
        self.open("#/tube?tube=mail")
        self.press("Pause…")
        self.press("Pause")
        self.told("mail is paused")
        self.wait(lambda: "until in 59m" in (self.fact("Paused") or "") or "until in 1h" in (self.fact("Paused") or ""))
        self.press("Resume…")
        self.press("Resume")
        self.wait(lambda: self.fact("Paused") is None)
        self.assertNotIn("paused_until", self.must("GET", "/v1/tubes/mail"))

    def test_many_at_once(self):
        self.begin_with(*[("mail", {"key": f"user-{i}", "delay": "1h"}) for i in range(30)], ("mail", {"key": "order"}), ("other", {"key": "user-1"}))
        self.open("#/jobs?tube=mail")
        self.press("Change all of these jobs…")
        self.fill("Key begins with", "user-")
        self.press("Count the jobs")
        self.see("30 jobs would be cancelled. Nothing has changed.")
        self.assertEqual(self.must("GET", "/v1/tubes/mail")["delayed"], 30)
        self.press("Cancel 30 jobs…")
        self.see("Cancel 30 jobs?", "of the tube mail, whose key begins with user-")
        self.press("Cancel 30 jobs")
        self.see("It is done.", "30 of 30", "30 jobs cancelled.")
        self.assertEqual(self.must("GET", "/v1/tubes/mail")["delayed"], 0)
        self.assertEqual(self.must("GET", "/v1/tubes/other")["ready"], 1)
        self.press("All changes")
        self.wait(lambda: self.heading() == "Changes of many jobs")
        action = self.must("GET", "/v1/actions")["actions"][0]["id"]
        self.see_row(action, "cancel", "of the tube mail, whose key begins with user-", "done", "30", "30")
        self.press(action)
        self.press("Forget…")
        self.press("Forget")
        self.see("There are none of this access token.")

    def test_the_progress_waits_for_what_is_marked(self):
        self.begin_with(("mail", {}))
        action = self.must("POST", "/v1/actions", {"do": "cancel", "tube": "mail"})["id"]
        self.wait(lambda: self.must("GET", f"/v1/actions/{action}")["state"] == "counted")
        self.open()
        self.change_fetch("window.asked = (window.asked ?? 0) + url.includes('v1/actions/'); const got = await ask(url, how);"
                          "if (!url.includes('v1/actions/')) return got; const value = await got.json(); value.state = 'counting';"
                          "return new Response(JSON.stringify(value), {headers: got.headers});")
        self.go(f"#/action?id={action}")
        self.see("It counts")
        self.script("getSelection().selectAllChildren(document.querySelector('.facts')); window.asked = 0")
        self.let_pass(12)
        self.assertIn("mail", self.script("return getSelection().toString()"))
        self.assertLessEqual(self.script("return window.asked"), 1, "but for one that was under way")
        self.script("getSelection().removeAllRanges()")
        self.wait(lambda: self.script("return window.asked > 3"), "the next requests")

    def test_many_are_moved(self):
        self.begin_with(("mail", {"delay": "1h"}), ("mail", {"delay": "2h"}))
        self.open("#/change?tube=mail")
        self.fill("Do", "move")
        self.fill("New due time, for a move", "2100-01-01T00:00:00Z")
        self.press("Count the jobs")
        self.press("Move 2 jobs…")
        self.press("Move 2 jobs")
        self.see("2 jobs moved.")
        self.assertEqual(self.must("GET", "/v1/jobs/2")["due"], "2100-01-01T00:00:00.000Z")


HOSTILE = ["<script>window.hit = 1</script>", "<img src=x onerror='window.hit=1'>", "\"><svg onload=window.hit=1>",
           "</pre></bdi><iframe src=javascript:parent.hit=1>", "{{constructor.constructor('hit=1')()}}", "javascript:window.hit=1",
           "&lt;script&gt;window.hit=1&lt;/script&gt;", "'-window.hit--'"]


class PageIsHostile(PageCase):
    """What others have put is shown, and does nothing."""

    def test_bodies_keys_and_headers_do_not_run(self):
        self.begin_page(with_tokens=False)
        jobs = [{"tube": "t", "key": each, "text": each, "delay": "1h", "content_type": "text/html", "headers": {"x": each}}
                for each in HOSTILE]
        jobs += [{"tube": "t", "key": each + "2", "body": {each: [each]}, "delay": "2h"} for each in HOSTILE]
        self.must("POST", "/v1/batch", {"jobs": jobs})
        self.open("#/jobs?tube=t")
        for each in HOSTILE:
            self.see(each)
        for place, each in enumerate(HOSTILE):
            self.go(f"#/job?id={place + 1}")
            self.wait(lambda each=each: self.all(".body") and self.all(".body")[0].text == each, each)
            self.assertEqual(self.fact("Headers"), f"x: {each}")
            self.go(f"#/job?id={place + 1 + len(HOSTILE)}")
            self.wait(lambda: self.all(".body"))
        self.go("#/tube?tube=t")
        self.see(HOSTILE[0])
        self.expect_harmless()

    def test_addresses_do_not_run(self):
        self.begin_page(with_tokens=False)
        self.open()
        for each in HOSTILE:
            for place in ["tube?tube=", "policy?tube=", "policies?prefix=", "target?tube=", "targets?cursor=", "backfill?name=", "job?id=", "job?tube=t&key=", "jobs?tube=", "jobs?prefix=", "jobs?state=", "?prefix=", "?cursor=",
                          "action?id=", "change?tube=", "events?tube=", "put?tube=", "put?key=", "reservations?cursor=", ""]:
                self.script("location.hash = arguments[0] + encodeURIComponent(arguments[1])", "#/" + place, each)
                self.wait(lambda: self.script("return document.querySelector('main h1') !== null"))
        self.expect_harmless()

    def expect_harmless(self):
        self.assertIsNone(self.script("return window.hit ?? null"))
        self.assertEqual(self.all("main script, main img, main iframe, main svg [onload], main [onerror]"), [])

    def test_directions_and_control_characters_are_shown(self):
        self.begin_page(with_tokens=False)
        text = "user\u202egnp.exe \u2066x\u2069 \u200bz \x1b[2J\x07 \ufeffend\nnext"
        self.must("POST", "/v1/jobs?tube=t", {"text": text, "key": "a\u202eb\u200fc", "delay": "1h"})
        self.open("#/job?id=1")
        self.see(r"user\u{202e}gnp.exe \u{2066}x\u{2069} \u{200b}z \u{1b}[2J\u{7} \u{feff}end" + "\nnext")
        self.wait(lambda: (self.fact("Key") or "").startswith(r"a\u{202e}b\u{200f}c"), "the key")
        self.go("#/tube?tube=t")
        self.see(r"a\u{202e}b\u{200f}c")
        self.go("#/jobs?tube=t")
        self.press("1")
        self.wait(lambda: self.heading() == "Job 1")

    def test_a_frame_of_another_site_is_refused(self):
        self.begin_page(with_tokens=False)
        self.browser.get("data:text/html,<iframe src='%s'></iframe>" % self.base)
        self.browser.switch_to.frame(0)
        self.wait(lambda: self.script("return location.href") == "chrome-error://chromewebdata/", "the refusal")
        self.browser.switch_to.default_content()
        self.browser.get_log("browser")


class PageAccess(PageCase):
    def test_nothing_without_a_token(self):
        self.begin_page()
        self.open("#/jobs?tube=mail")
        self.assertEqual(self.heading(), "Sign in")
        self.assertNotIn("Tubes", self.buttons())
        asked = [each.removeprefix(self.base) for each in self.requests() if "/v1/" in each]
        self.assertEqual(asked, ["v1/access"])
        self.assertEqual(self.all("main [role=alert]"), [], "nothing is wrong yet")
        self.see("The server says: send")
        self.fill("Access token", "tökén")
        self.press("Sign in")
        self.see("a letter beyond ASCII")
        self.fill("Access token", "wrong")
        self.press("Sign in")
        self.see("that is no access token")
        self.sign_in(self.admin)
        self.assertEqual(self.heading(), "Jobs", "where the address leads")

    def test_the_token_stays_in_the_tab(self):
        self.begin_signed_in()
        self.browser.refresh()
        self.wait_shown()
        self.assertEqual(self.heading(), "Tubes")
        self.assertNotIn(self.admin, self.script("return JSON.stringify(localStorage) + document.cookie + location.href"))
        self.assertEqual(self.browser.get_cookies(), [])
        first = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        self.browser.get(self.base)
        self.wait_shown()
        self.assertEqual(self.heading(), "Sign in")
        self.browser.close()
        self.browser.switch_to.window(first)
        self.wait_shown()
        self.change_fetch("const got = await ask(url, how); await gate; return got;")
        self.press("Sign out")
        self.wait(lambda: self.text().strip() == "", "the end of what was seen, before the server answers")
        self.script("open_gate()")
        self.wait(lambda: self.heading() == "Sign in")
        self.assertEqual(self.script("return sessionStorage.length"), 0)
        self.browser.refresh()
        self.wait_shown()
        self.assertEqual(self.heading(), "Sign in")

    def open_as(self, scopes, *more, at=""):
        self.begin_signed_in(token=self.make("somebody", scopes, *more))
        self.must("POST", "/v1/jobs?tube=mail", {"text": "x", "delay": "1h"})
        self.must("POST", "/v1/jobs?tube=other", {"text": "y", "delay": "1h"})
        self.go(at)

    def test_look_is_read_only(self):
        self.open_as("look", at="#/job?id=1")
        self.see("x")
        self.assertIn("read-only", self.script("return document.getElementById('session').innerText"))
        for at in ["#/job?id=1", "#/tube?tube=mail", "#/jobs?tube=mail", "#/"]:
            self.go(at)
            wrong = [each for each in self.buttons() if each.endswith("…") or each in ("Changes", "Put")]
            self.assertEqual(wrong, [], at)
        self.go("#/put")
        self.see("The access token lacks the scope put.")
        self.go("#/change")
        self.see("lacks the scope")

    def test_change_without_administer(self):
        self.open_as("look,change", at="#/tube?tube=mail")
        self.assertNotIn("Pause…", self.buttons())
        self.go("#/job?id=1")
        self.press("Cancel…")
        self.press("Cancel job 1")
        self.told("Job 1: cancelled")

    def test_put_alone(self):
        self.open_as("put", at="#/put")
        self.fill("Tube", "mail")
        self.press("Put…")
        self.press("Put it")
        self.told("Job 3: inserted")
        self.go("#/")
        self.see("The access token lacks the scope look.")

    def test_tubes_of_others_are_not_there(self):
        self.open_as("look,change,administer", "--tubes", "ma", at="#/")
        self.see_row("mail", "0", "0", "1", "0")
        self.assertIsNone(self.row("other"))
        self.assertEqual(self.all(".tile"), [], "the sum of all tubes is not told")
        self.go("#/job?id=2")
        self.see("There is no such job")
        self.go("#/tube?tube=other")
        self.wait(lambda: self.all("main [role=alert]"), "the refusal")

    def test_a_revoked_token_ends(self):
        token = self.make("shop", "look")
        self.begin_signed_in(token=token)
        self.expect_done("token", "revoke", self.tokens, token.split("_")[1])
        self.wait(lambda: self.heading() == "Sign in", "the sign-in")
        self.see("revoked")

    def test_plain_http_by_a_name(self):
        self.begin_signed_in("--host", "timers.example", host="timers.example")
        self.must("POST", "/v1/jobs?tube=mail", {"text": "copied text", "delay": "1h"})
        self.assertFalse(self.script("return isSecureContext"))
        self.go("#/job?id=1")
        self.see("copied text")
        self.script("document.querySelector('[aria-label=\"Copy the body\"]').click()")
        self.told("Copied")
        self.press("Move…")
        field = self.fill("New due time", "")
        field.send_keys(Keys.CONTROL, "v")
        self.assertEqual(field.get_property("value"), "copied text")
        field.clear()
        field.send_keys("3h")
        self.press("Move it")
        self.told("Job 1: rescheduled")


# As a proxy that signs people in: the page brings a cookie, and requests to /v1 must have it.
BELOW_A_PATH = """
    location = /jobs/below/ { add_header Set-Cookie "seen=page; Path=/jobs/below/; HttpOnly"; proxy_pass http://servers/; }
    location /jobs/below/v1/ { if ($cookie_seen != page) { return 302 /sign-in; } proxy_pass http://servers/v1/; }
    location /jobs/below/ { proxy_pass http://servers/; }
    location / { return 404; }
"""


class BehindNginx(PageCase):
    """Three servers behind nginx, which gives each request to one of them, at random."""
    locations = "    location / { proxy_pass http://servers; }"
    path_of_page = ""

    @classmethod
    def setUpClass(cls):
        if nginx.PROGRAM is None:
            raise unittest.SkipTest("nginx is not installed (Debian: nginx)")
        super().setUpClass()

    def begin_three(self):
        self.paths = [self.here / f"http{place}" for place in range(3)]
        for place, self.path in enumerate(self.paths):
            self.start_node(place)
        port = nginx.begin(self, self.paths, self.locations, before="random;")
        self.base = f"http://127.0.0.1:{port}/{self.path_of_page}"
        self.open()

    def start_node(self, place):
        server = self.start("serve", *self.store_of(place), "--beanstalk", f"unix:{self.here / f'beanstalk{place}'}", "--http",
                            f"unix:{self.path}", "--tokens", self.tokens, "--proxy", "unix")
        for each in [server.stdout.close, server.stderr.close, server.wait, server.kill]:
            self.addCleanup(each)
        self.server = server
        self.wait_for_status("/ready", 200)

    def store_of(self, _place):
        return ["--memory"]


class PageBehindAProxy(BehindNginx):
    """Below a path, before three servers that share nothing."""
    locations = BELOW_A_PATH
    path_of_page = "jobs/below/"

    def test_sign_in_holds_for_all(self):
        self.begin_three()
        self.signs_in = True
        names = []
        for place, self.path in enumerate(self.paths):
            names.append(f"of-node-{place}")
            self.must("POST", f"/v1/jobs?tube={names[-1]}", {})
        self.sign_in(self.admin)
        for each in names:  # each server is asked some time, and knows the token
            self.wait(lambda each=each: self.row(each) or self.open(), each)
        self.assertEqual(self.heading(), "Tubes")
        self.go("#/put?tube=mail")
        self.press("Put…")
        self.press("Put it")
        self.wait(lambda: self.heading().startswith("Job "))
        self.assertEqual({each for each in self.requests() if not each.startswith(self.base)}, set())


class PageOfSchedules(PageCase):
    """Schedules: lists, one with its times, what an operator does, and plans with a preview."""
    REPORT = {"rules": ["0 9 * * MON-FRI"], "zone": "Europe/Berlin", "note": "sales", "job": {"body": {"report": "sales", "big": 1}}}

    def plan(self, name="report", plan=None, tube="mail"):
        return self.must("PUT", f"/v1/tubes/{tube}/schedules/{name}", plan or self.REPORT)

    def schedule(self, name="report", tube="mail"):
        return self.must("GET", f"/v1/tubes/{tube}/schedules/{name}")

    def body_as_written(self):
        """The body of the jobs of `report`, as the server writes it."""
        connection = LocalConnection(self.path)
        try:
            connection.request("GET", "/v1/tubes/mail/schedules/report", headers={"Authorization": f"Bearer {self.admin}"})
            return re.search(r'"body":(\{.*?\})', connection.getresponse().read().decode())[1]
        finally:
            connection.close()

    def at_report(self):
        self.go("#/schedule?tube=mail&name=report")

    def upcoming(self):
        """The clock of each occurrence to come, and the note on it."""
        return self.script("const at = document.querySelector('dialog[open]') ?? document; const found = Array.from("
                           "at.querySelectorAll('table')).find((each) => each.caption.textContent === 'What comes next');"
                           "return found ? Array.from(found.tBodies[0].rows).map((row) => [row.cells[1].innerText, row.cells[3].innerText]) : []")

    def test_a_list_says_what_each_does(self):
        self.begin_signed_in()
        self.see("Tubes")
        self.plan()
        self.plan("often", {"rules": ["every 4h"]}, "orders")
        self.plan("once", {"rules": ["once 2030-01-31T12:00"], "ends": "2031-01-01T00:00:00Z"}, "orders")
        self.must("POST", "/v1/tubes/orders/schedules/often/pause", {"note": "holidays <b>of all</b>"})
        self.press("Schedules")
        row = self.wait(lambda: self.row("report"))
        self.assertEqual(row[0].split("\n"), ["report", "of mail"])
        self.assertEqual(row[1].strip(), "active")
        self.assertEqual(row[2], "At 09:00 on Monday to Friday, by the clock of Europe/Berlin.")
        self.assertRegex(row[3], r"^in \d.*\n\d{4}-\d\d-\d\d 09:00 Europe/Berlin\n\d{4}-\d\d-\d\d 0[78]:00 UTC$")
        self.assertEqual(row[4], "")
        self.assertEqual(self.row("often")[1].split("\n"), ["paused", "holidays <b>of all</b>"])
        self.assertEqual(self.row("once")[3].split("\n")[1:], ["2030-01-31 12:00 UTC"])
        self.assertEqual(self.row("often")[3].split("\n")[-1], "is left out: paused")
        self.must("POST", "/v1/tubes/orders/schedules/once/skip")
        self.wait(lambda: self.row("once")[3].endswith("will be skipped"))
        self.must("POST", "/v1/tubes/mail/schedules/report/run")
        self.wait(lambda: "has a job" in self.row("report")[4] and "by hand" in self.row("report")[4], "the run, without a press")
        self.fill("Tube", "orders")
        self.press("Show")
        self.wait(lambda: self.row("often") and not self.row("report"))
        self.go("#/schedules?prefix=nothing")
        self.see("There are no such schedules")
        self.go("#/tube?tube=mail")
        self.press("Schedules")
        self.wait(lambda: self.heading() == "Schedules")

    def test_a_refused_one_says_why(self):
        """As SQL, or a package of time zones that was removed, leaves it: the answer of a server is replaced."""
        self.begin_signed_in()
        self.plan()
        self.change_fetch("const got = await ask(url, how); if (!url.includes('v1/schedule')) return got; const value = await got.json();"
                          "for (const each of value.schedules ?? [value]) Object.assign(each, {state: 'refused', refused: '/zone: there is no <i>Berlim</i>'});"
                          "return new Response(JSON.stringify(value), {headers: got.headers});")
        self.go("#/schedules")
        self.wait(lambda: "refused" in self.row("report")[1])
        self.assertIn("/zone: there is no <i>Berlim</i>", self.row("report")[1])
        self.at_report()
        self.see("Its plan cannot be followed: /zone: there is no <i>Berlim</i>")
        self.assertIn("Edit…", self.buttons())
        self.change_fetch("const got = await ask(url, how); if (!url.includes('v1/schedule')) return got;"
                          "return new Response(JSON.stringify({tube: 'mail', name: 'report', state: 'refused', refused: 'the state is damaged'}), {headers: got.headers});")
        self.press("Refresh")
        self.see("the state is damaged")
        self.assertEqual([each for each in self.buttons() if each.endswith("…")], ["Put a new plan…", "Delete…"])

    def test_what_an_operator_does(self):
        self.begin_signed_in()
        self.plan()
        self.at_report()
        self.see("At 09:00 on Monday to Friday", "What comes next", "What it has done last", "Nothing so far")
        self.assertEqual(len(self.upcoming()), 10)
        self.assertRegex(self.upcoming()[0][0], r"^\d{4}-\d\d-\d\d 09:00 CES?T \+0[12]:00$")
        self.assertEqual(self.fact("Note"), "sales")
        self.press("Skip the next…")
        self.see("Exactly one is left out", "09:00 Europe/Berlin")
        self.press("Skip it")
        self.told("Schedule report: skipped")
        self.wait(lambda: self.upcoming()[0][1] == "will be skipped")
        self.press("Skip the next…")
        self.press("Skip it")
        self.wait(lambda: [each[1] for each in self.upcoming()[:3]] == ["will be skipped", "will be skipped", ""])
        self.assertEqual(len(self.schedule()["skips"]), 2)
        self.press("Run now…")
        self.press("Run it now")
        self.told("Schedule report: accepted")
        self.see("has a job", "by hand", "1 by hand")
        self.press("Pause…")
        self.fill("Note", "<i>holidays</i>")
        self.fill("Until", "7d")
        self.press("Pause it")
        self.told("Schedule report: paused")
        self.see("It is paused, since ", "until in 6d 23h", "holidays")
        self.assertIn("paused", self.upcoming()[2][1])
        seen = self.schedule()["pause"]
        self.assertEqual(seen["note"], "<i>holidays</i>")
        self.press("Resume…")
        self.press("Resume")
        self.told("Schedule report: resumed")
        self.wait(lambda: "Pause…" in self.buttons())
        self.press("Pause…")
        self.fill("Until", "yesterday")
        self.press("Pause it")
        self.see("`until` must be")
        self.press("Leave it")
        self.press(self.schedule()["living"][0]["key"])  # to its job
        self.wait(lambda: self.fact("Schedule"))
        self.press("report")
        self.wait(lambda: self.heading().startswith("Schedule report"))
        self.press("Delete…")
        self.fill("Its jobs that wait for a worker", "are cancelled")
        self.press("Delete report")
        self.told("Schedule report: deleted")
        self.wait(lambda: self.heading() == "Schedules")
        self.must("GET", "/v1/tubes/mail/schedules/report", status=404)
        self.assertEqual(self.must("GET", "/v1/jobs?tube=mail")["jobs"], [])
        self.at_report()
        self.see("There is no such schedule")

    def test_a_change_under_the_hand_is_told(self):
        self.begin_signed_in()
        self.plan()
        self.at_report()
        self.press("Live")
        self.plan(plan={"rules": ["0 10 * * *"]})
        self.press("Delete…")
        self.press("Delete report")
        self.see("the schedule has changed")
        self.press("Leave it")
        self.assertEqual(self.schedule()["plan"]["rules"], ["0 10 * * *"])

    def test_one_is_made_with_a_preview(self):
        self.begin_signed_in()
        self.go("#/schedules")
        self.press("Make a schedule…")
        self.wait(lambda: self.heading() == "Make a schedule")
        self.fill("Tube", "mail")
        self.fill("Name", "report")
        self.fill("Rules", "0 25 * * *")
        self.press("Preview…")
        self.see("hour, character 3: 25 is not within 0 to 23")
        self.assertEqual(self.script("return document.activeElement.labels[0].textContent"), "Rules")
        self.fill("Rules", "30 2 * * *\n0 9 * * MON-FRI\n" + json.dumps({"text": "0 0 12 * * ?", "dialect": "quartz"}))
        self.fill("Time zone", "Europe/Berlin")
        self.fill("Days left out", "2030-12-25, 2030-12-26")
        self.fill("The body of the jobs is", "JSON")
        self.fill("Body", '{"id": 17, "share": 1.0, "rate": 1e3, "of": "1.0"}')
        self.fill("Other members of the plan, as JSON", '{"starts": "2030-03-30T00:00:00Z", "job": {"headers": {"source": "shop"}}}')
        self.press("Preview…")
        self.see("Make the schedule?", "by the clock of Europe/Berlin")
        upcoming = self.upcoming()
        self.assertEqual(len(upcoming), 10)
        self.assertIn(["2030-03-31 03:00 CEST +02:00", "moved from 2030-03-31 02:30, which the clock leaves out"], upcoming)
        self.must("GET", "/v1/tubes/mail/schedules/report", status=404)
        self.press("Leave it")
        self.press("Preview…")
        self.press("Make it")
        self.told("Schedule report: made")
        self.wait(lambda: self.heading() == "Schedule report of mail")
        self.assertEqual(self.upcoming(), upcoming)
        plan = self.schedule()["plan"]
        self.assertEqual(plan["exclude"], {"dates": ["2030-12-25", "2030-12-26"]})
        self.assertEqual(plan["job"], {"body": {"id": 17, "share": 1.0, "rate": 1000.0, "of": "1.0"}, "headers": {"source": "shop"}})
        written = self.body_as_written()
        self.assertIn('"rate":1000.0,"share":1.0}', written, "numbers stay as they were written")
        # An edit shows all of it, and changes what was changed alone.
        self.press("Edit…")
        self.wait(lambda: self.heading() == "Change the schedule report of mail")
        self.fill("Note", "at night")
        self.press("Preview…")
        self.press("Change it")
        self.told("Schedule report: changed")
        self.assertEqual(self.schedule()["plan"], {**plan, "note": "at night"})
        self.assertEqual(self.schedule()["version"], 2)
        self.assertEqual(self.body_as_written(), written)
        self.go("#/plan?tube=mail&name=report")
        self.press("Preview…")
        self.press("Change it")
        self.told("Schedule report: unchanged")

    def test_nothing_is_overwritten(self):
        self.begin_signed_in()
        self.plan()
        self.go("#/plan?tube=mail")
        self.fill("Name", "report")
        self.fill("Rules", "@daily")
        self.press("Preview…")
        self.press("Make it")
        self.see("there is such a schedule")
        self.press("Leave it")
        self.go("#/plan?tube=mail&name=report")
        self.fill("Rules", "@hourly")
        self.plan(plan={"rules": ["0 10 * * *"]})
        self.press("Preview…")
        self.press("Change it")
        self.see("the schedule has changed")
        self.press("Leave it")
        self.assertEqual(self.schedule()["plan"]["rules"], ["0 10 * * *"])
        self.go("#/plan?tube=mail&name=none")
        self.see("there is no such schedule")

    def test_what_is_wrong_in_the_form_is_named(self):
        self.begin_signed_in()
        self.go("#/plan?tube=mail&name=")
        self.fill("Name", "report")
        self.fill("Rules", "@daily")
        for label, value, told in [("Other members of the plan, as JSON", "[1", "the other members is not JSON"),
                                   ("Other members of the plan, as JSON", "[1]", "must be an object of JSON"),
                                   ("Other members of the plan, as JSON", '{"dead_line": "1h"}', "did you mean `deadline`?"),
                                   ("Other members of the plan, as JSON", "", None), ("Time zone", "Europe/Berlim", "Europe/Berlin"),
                                   ("Time zone", "", None), ("Jitter", "long", "jitter"), ("Jitter", "", None)]:
            self.fill(label, value)
            if told:
                self.press("Preview…")
                self.see(told)
        self.press("Preview…")
        self.see("Make the schedule?")

    def test_a_token_has_its_buttons(self):
        looking = self.make("looking", "look")
        putting = self.make("putting", "put,look", "--tubes", "mail")
        blind = self.make("blind", "put")
        self.begin_signed_in(token=looking)
        self.plan()
        self.plan("other", tube="bill")
        self.go("#/schedules")
        self.see("report", "other")
        self.at_report()
        self.see("What comes next")
        self.assertEqual([each for each in self.buttons() if each.endswith("…")], [])
        self.go("#/plan?tube=mail&name=report")
        self.see("lacks the scope put")
        self.press("Sign out")
        self.sign_in(putting)
        self.go("#/schedules")
        self.wait(lambda: self.row("report"))
        self.assertIsNone(self.row("other"))
        self.at_report()
        self.assertIn("Pause…", self.buttons())
        self.press("Delete…")
        self.assertEqual(self.script("return Array.from(document.querySelectorAll('dialog option')).map((each) => each.value)"), ["keep"])
        self.press("Leave it")
        self.press("Sign out")
        self.sign_in(blind)
        self.go("#/plan?tube=mail")
        self.fill("Name", "unseen")
        self.fill("Rules", "every 1h")
        self.press("Preview…")
        self.press("Make it")
        self.told("Schedule unseen: made")
        self.assertEqual(self.schedule("unseen")["plan"]["rules"][0]["text"], "every 1h")

    def test_hostile_texts_are_shown_as_they_are(self):
        self.begin_signed_in()
        hostile = "<img src=x onerror=alert(1)>\u202e"
        self.plan(plan={"rules": ["@daily"], "note": hostile, "job": {"text": hostile, "headers": {"h": "</textarea><script>"}}})
        self.at_report()
        self.wait(lambda: self.fact("Note") == "<img src=x onerror=alert(1)>\\u{202e}")
        self.go("#/plan?tube=mail&name=report")
        self.press("Preview…")
        self.press("Change it")
        self.told("Schedule report: unchanged")
        self.assertEqual(self.all("main img, main script"), [])


    def test_a_backfill_is_counted_first(self):
        self.begin_page(with_tokens=False)
        self.plan(plan={"rules": ["0 9 * * *"], "zone": "Europe/Berlin", "starts": "2026-01-01T00:00:00Z"})
        self.open("#/schedule?tube=mail&name=report")
        self.press("Backfill…")
        self.wait(lambda: self.heading() == "Backfill the schedule report of mail")
        self.fill("From", "yesterday")
        self.press("Count them…")
        self.see("`from` must be")
        self.assertEqual(self.field_in_hand(), ("From", "true"))
        self.fill("From", "2026-03-25")
        self.fill("To", "2026-03-31 12:00")
        self.press("Count them…")
        self.see("Make 7 jobs?", "7 occurrences would be made, from ", "2026-03-29 09:00 CEST +02:00", "2026-03-28 09:00 CET +01:00")
        self.assertEqual(len(self.all("dialog tbody tr")), 7)
        self.assertEqual(self.must("GET", "/v1/jobs?tube=mail")["jobs"], [])
        self.press("Leave it")
        self.press("Count them…")
        self.see("Make 7 jobs?")
        self.plan(plan={"rules": ["0 10 * * *"], "starts": "2026-01-01T00:00:00Z"})
        self.press("Make 7 jobs")
        self.see("the schedule has changed")
        self.press("Leave it")
        self.press("Count them…")
        self.press("Make 7 jobs")
        self.see("It is done: 7 occurrences had their turn.", "7 of 7")
        self.assertEqual(len(self.must("GET", "/v1/jobs?tube=mail")["jobs"]), 7)
        self.press("To the schedule")
        self.wait(lambda: "7 backfill" in (self.fact("Jobs made") or ""), "the jobs")
        self.go("#/backfill?tube=mail&name=report")
        self.fill("From", "2026-03-25")
        self.fill("To", "2026-03-31 12:00")
        self.press("Count them…")
        self.see("There is nothing to make in this stretch: 7 occurrences of it were made before")


class PageOfPoliciesAndTargets(PageCase):
    """Policies of tubes, the tries of jobs, and targets with their deliveries."""
    IMAGE = "<img src=x onerror='window.hit=1'>"

    def policy(self, tube="mail"):
        return self.must("GET", f"/v1/policy?tube={tube}")["policy"]

    def member(self, title):
        """The value of a member of the policy that is shown."""
        return (self.row(title) or [None, None])[1]

    def fail_one(self, reason, how="release"):
        held = self.must("POST", "/v1/reserve?tube=mail")["jobs"][0]["reservation"]
        self.must("POST", f"/v1/reservations/{held}/{how}", {"reason": reason})

    def test_a_policy_is_set_and_removed(self):
        self.begin_signed_in(at="#/tube?tube=mail")
        self.see("The tube has no policy: all members have their defaults.")
        self.assertEqual([self.member(each) for each in ("Tries", "Delay", "After the last try", "Expires", "Most a second", "Burst")],
                         ["no last try default", "none: it is ready at once default", "buried in this tube default", "never default", "any number default", None])
        self.press("Set a policy…")
        self.fill("Tries", "many")
        self.fill("Delay", "10s 5m")
        self.fill("Factor", "2")
        for wrong, told, better in [("Tries", "`tries` must be", "3"), ("Delay", "`listed` excludes", "10s"), ("Dead letters", "needs `tries`", None)]:
            if wrong == "Dead letters":
                self.fill("Tries", "")
                self.fill(wrong, "mail/dead")
            self.press("Set the policy…")
            self.press("Set it")
            self.see(told)
            self.assertEqual(self.field_in_hand(), (wrong, "true"))
            if better:
                self.fill(wrong, better)
        self.fill("Tries", "3")
        self.fill("Most a second", "5")
        self.press("Set the policy…")
        self.see("Set the policy?", "It holds for the jobs that are there, too.")
        self.assertEqual(self.script("return Array.from(document.querySelectorAll('dialog tbody tr')).map((each) => each.innerText.split('\\t'))"),
                         [["Tries", "no last try", "3"], ["Delay", "none: it is ready at once", "10s, each 2 times the one before, at most 1d"],
                          ["After the last try", "buried in this tube", "moved to mail/dead"], ["Most a second", "any number", "5"]])
        self.press("Set it")
        self.told("Policy of mail: made")
        self.wait(lambda: self.member("Tries") == "3", "the policy")
        self.assertEqual((self.member("Burst"), self.member("After the last try")), ("1 default", "moved to mail/dead"))
        self.see("Of all tubes, since the start of the server: 0 tried again")
        self.assertEqual(self.policy(), {"tries": 3, "delay": {"first": "10s", "factor": 2}, "dead_letters": "mail/dead", "most_per_second": 5})
        self.press("Change the policy…")
        self.fill("Tries", "4")
        self.must("PUT", "/v1/policies/mail", {"tries": 9})
        self.press("Change the policy…")
        self.press("Change it")
        self.see("the policy has changed")
        self.press("Leave it")
        self.assertEqual(self.policy(), {"tries": 9})
        self.press("Back to the tube")
        self.wait(lambda: self.member("Tries") == "9", "the other policy")
        self.go("#/policies")
        self.see_row("mail", "9", "none: it is ready at once", "buried in this tube", "never")
        self.press("mail")
        self.press("Remove the policy…")
        self.press("Remove it")
        self.told("Policy of mail: deleted")
        self.see("The tube has no policy")
        self.must("GET", "/v1/policies/mail", status=404)

    def test_a_token_sees_its_part_of_a_policy(self):
        looking = self.make("looking", "look", "--tubes", "mail")
        narrow = self.make("narrow", "look,administer", "--tubes", "mail")
        self.begin_signed_in(token=looking)
        self.must("PUT", "/v1/policies/mail", {"tries": 3, "dead_letters": "dead"})
        self.go("#/tube?tube=mail")
        self.wait(lambda: self.member("Tries") == "3", "the policy")
        self.assertEqual(self.member("After the last try"), "moved to a tube that is out of the rights of this access token")
        self.assertEqual([each for each in self.buttons() if each.endswith("…") or each == "Webhooks"], [])
        for place in ("policy", "target"):
            self.go(f"#/{place}?tube=mail")
            self.see("lacks the scope administer")
        self.press("Sign out")
        self.sign_in(narrow)
        self.go("#/policy?tube=mail")
        self.see("to set the policy here takes them away")
        self.press("Change the policy…")
        self.see("Change the policy?", "moved to a tube that is out of the rights")
        self.press("Leave it")

    def test_tries_are_shown(self):
        self.begin_page(with_tokens=False)
        self.must("PUT", "/v1/policies/mail", {"tries": 2, "dead_letters": "dead"})
        job = self.must("POST", "/v1/jobs?tube=mail", {"text": "first"})["id"]
        self.fail_one("the mailbox is full")
        self.open("#/jobs?tube=mail&state=ready")
        self.wait(lambda: (self.row(job) or [])[-2:] == ["1", "the mailbox is full"], "the reason")
        self.fail_one(self.IMAGE)
        letter = self.wait(lambda: self.must("GET", "/v1/jobs?tube=dead")["jobs"], "the dead letter")[0]["id"]
        self.go("#/tube?tube=dead")
        self.see("from mail: " + self.IMAGE)
        self.go(f"#/job?id={letter}")
        self.see("Tries")
        rows = self.script("return Array.from(document.querySelectorAll('tbody tr')).map((each) => Array.from(each.cells).slice(1).map((cell) => cell.innerText))")
        self.assertEqual(rows, [[f"moved here from the tube mail, job {job}", "", ""], ["released", "a local socket", self.IMAGE],
                                ["released", "a local socket", "the mailbox is full"]])
        self.assertEqual(self.all("main img"), [])
        self.assertIsNone(self.script("return window.hit ?? null"))

    def begin_with_target(self, react):
        if "--webhook-allow" not in self.expect_done("serve", "--help"):
            self.skipTest("the program was built without webhooks")
        self.receiver = Receiver(react)
        self.addCleanup(self.receiver.end)
        secrets = self.here / "secrets"
        secrets.touch(0o600)
        secrets.write_text(f"[secret one]\npresent = {secret_of(KEY)}\n")
        self.begin_page("--webhook-secrets", secrets, "--webhook-allow", f"127.0.0.1/32:{self.receiver.port}", "--webhook-allow-http", with_tokens=False)
        self.must("PUT", "/v1/tubes/mail/webhook", {"url": self.receiver.url(), "secret": "one", "tries": 1, "failures_to_open": 1, "headers": {"x-site": self.IMAGE}})

    def answer_with_a_script(self, _request, handler):
        body = self.IMAGE.encode()
        handler.send_response(500)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def test_a_target_and_its_deliveries(self):
        self.begin_with_target(self.answer_with_a_script)
        job = self.must("POST", "/v1/jobs?tube=mail", {"text": "x", "key": self.IMAGE})["id"]
        self.wait(lambda: self.must("GET", f"/v1/jobs/{job}")["state"] == "buried", "the burial")
        self.open("#/tube?tube=mail")
        self.wait(lambda: self.fact("Target") == "The server delivers its jobs: nobody reserves from it", "the target")
        self.see("the target answered 500")
        self.press("Webhooks")
        row = self.wait(lambda: self.row("mail"), "the target")
        self.assertEqual(row[0].split("\n"), ["mail", self.receiver.url()])
        self.assertEqual(row[1].strip(), "active")
        self.assertRegex(row[2], r"\Aopen\ntried again .*\n1 failure in a row\Z")
        self.assertEqual(row[3].split("\n"), ["0 ready", "1 buried"])
        self.assertEqual(row[5].split("\n"), ["0 delivered", "1 failed", "1 buried"])
        self.press("mail")
        row = self.wait(lambda: next(iter(self.deliveries()), None), "the delivery")
        self.assertRegex(row[0], r" ago\nit was buried\Z")
        self.assertEqual(row[1].split("\n"), [job, self.IMAGE])
        self.assertEqual((row[2], row[3].split("\n")[0]), ("1", "500, rejected"))
        self.assertRegex(row[4], r"\A\d+ ms\Z")
        self.assertIn("it said: " + self.IMAGE, row[5])
        self.go(f"#/job?id={job}")
        self.see("Its deliveries have failed, and it has had its last try.", "Deliveries that have failed")
        self.go("#/target?tube=mail")
        self.receiver.react = lambda request, handler: (204, {})
        self.must("POST", "/v1/tubes/mail/webhook/enable")  # which closes the circuit
        self.press("Send again…")
        self.see("Send the job again?", f"Job {job} with the key {self.IMAGE} in the tube mail.")
        self.press("Send it again")
        self.told(f"Job {job}: ready")
        self.wait(lambda: [each[2:4] for each in self.deliveries()][:1] == [["2", "204, delivered\n127.0.0.1"]], "the second delivery")
        self.assertNotIn("Send again…", self.buttons())
        self.press("Send a test…")
        self.press("Send it")
        self.wait(lambda: "The test was delivered, 204, in " in self.script("return document.getElementById('told').textContent"), "the test")
        self.press("Disable…")
        self.fill("Note", self.IMAGE)
        self.press("Disable it")
        self.told("Target of mail: disabled")
        self.see("disabled " + self.IMAGE)
        self.press("Enable…")
        self.press("Enable it")
        self.told("Target of mail: enabled")
        self.receiver.react = lambda request, handler: (410, {})
        waits = self.must("POST", "/v1/jobs?tube=mail", {"text": "y"})["id"]
        self.see("It has answered 410: it wants no more.")
        self.assertEqual(self.all("main img"), [])
        self.assertIsNone(self.script("return window.hit ?? null"))
        self.assertNotIn(secret_of(KEY).removeprefix("whsec_"), self.browser.page_source)
        self.go(f"#/job?id={waits}")
        self.see("The server delivers it to the target of its tube")

    def deliveries(self):
        return self.script("const found = Array.from(document.querySelectorAll('table')).find((each) => each.caption.textContent.startsWith('Deliveries, '));"
                           "return found ? Array.from(found.tBodies[0].rows).map((row) => Array.from(row.cells).map((each) => each.innerText)) : []")


@unittest.skipUnless(postgresql_server.is_installed(), "PostgreSQL's server is not installed (Debian: postgresql)")
class PageOverNodes(BehindNginx):
    """Three nodes of one database: whichever answers, the jobs are the same, and so are those who may come in."""

    def setUp(self):
        super().setUp()
        self.database = postgresql_server.PostgresqlServer()
        self.addCleanup(self.database.remove)
        self.expect_done("serve", "--store", self.database.database, "--migrate")

    def store_of(self, place):
        return ["--store", self.database.database, "--node", f"node-{place}"]

    def begin_signed_in_at_three(self):
        self.begin_three()
        self.signs_in = True
        self.sign_in(self.admin)

    def at(self, place):
        """From now on must() asks this node."""
        self.path = self.paths[place]

    def answering(self):
        """The node whose figures the page shows."""
        return self.script("return document.querySelector('.times .name')?.textContent")

    def nodes(self):
        return self.script("return Array.from(document.querySelectorAll('section[aria-label=Nodes] tbody tr')).map((row) => "
                           "row.cells[0].querySelector('.name').textContent)")

    def test_the_same_jobs_at_each_node(self):
        self.begin_signed_in_at_three()
        for place in range(3):
            self.at(place)
            self.must("POST", "/v1/jobs?tube=mail", {"text": str(place)})
        seen = set()

        def see_all():
            self.assertEqual(self.heading(), "Tubes", "no node asks to sign in again")
            seen.add(self.answering())
            if len(seen) < 4:  # with that which the page shows at first
                self.press("Refresh")
            return seen >= {"node-0", "node-1", "node-2"}
        self.wait(see_all, "the figures of each node")
        self.see_row("mail", "3", "0", "0", "0")
        self.wait(lambda: self.nodes() == ["node-0", "node-1", "node-2"], "the nodes")
        # Put at one node, reserved at another, finished by a third, seen by any.
        self.at(0)
        held = self.must("POST", "/v1/reserve?tube=mail")["jobs"][0]
        self.see_row("mail", "2", "1", "0", "0")
        self.go(f"#/job?id={held['id']}")
        self.see("node-0")
        self.at(1)
        self.must("POST", f"/v1/reservations/{held['reservation']}/finish")
        self.see("There is no such job")

    def test_what_the_page_does_is_done_once(self):
        self.begin_signed_in_at_three()
        self.go("#/put?tube=mail")
        self.press("Put…")
        self.press("Put it")
        self.wait(lambda: self.heading().startswith("Job "))
        self.press("Cancel…")
        self.press(f"Cancel job {self.heading().split()[-1]}")
        self.wait(lambda: "cancelled" in self.script("return document.getElementById('told').textContent"))
        for place in range(3):
            self.at(place)
            self.assertEqual(self.must("GET", "/v1/statistics")["jobs"]["ready"], 0)
        self.must("POST", "/v1/batch", {"jobs": [{"tube": "mail", "key": f"k{i}"} for i in range(30)]})
        made = self.must("POST", "/v1/actions", {"do": "cancel", "tube": "mail", "key_prefix": "k1"})["id"]
        self.go(f"#/action?id={made}")
        self.press("Cancel 11 jobs…")
        self.press("Cancel 11 jobs")
        self.see("done")
        self.go("#/")
        self.see_row("mail", "19", "0", "0", "0")

    def test_a_node_that_ends_is_missed(self):
        self.begin_signed_in_at_three()
        self.wait(lambda: self.nodes() == ["node-0", "node-1", "node-2"], "the nodes")
        self.server.terminate()  # the last one that was started
        self.assertEqual(self.server.wait(), 0)
        self.wait(lambda: self.nodes() == ["node-0", "node-1"], "the nodes that are left")
        self.assertEqual(self.heading(), "Tubes", "nginx asks another one")

    def test_a_limited_token_sees_no_figures_of_others(self):
        mail = self.make("mail", "look", "--tubes", "mail")
        self.begin_three()
        for tube in ("mail", "other"):
            self.must_as(self.admin, "POST", f"/v1/jobs?tube={tube}", {})
        self.sign_in(mail)
        self.see_row("mail", "1")
        self.assertIsNone(self.row("other"))
        self.assertEqual(self.all(".times"), [])
        self.assertEqual(self.all(".tile"), [])
        self.assertIsNone(self.nodes() or None)
        for self.path in self.paths:
            status, answer, _ = self.ask("GET", "/v1/statistics", mail)
            self.assertEqual(status, 403, answer)
            self.assertNotIn("node-", str(answer))
            self.assertEqual(self.ask("GET", "/v1/access", mail)[1]["tubes"], ["mail"])
            counts = self.ask("GET", "/v1/due/counts", mail)[1]
            self.assertEqual(sum(counts["day"]["counts"]), 0)

    def must_as(self, token, method, target, value):
        status, answer, _ = self.ask(method, target, token, json.dumps(value).encode(), {"Content-Type": "application/json"})
        self.assertIn(status, [200, 201], answer)
        return answer


class PageForAll(PageCase):
    """By keyboard, for screen readers, narrow and dark; and the pictures of the documentation."""

    def tab_to(self, text):
        """Presses Tab until what has this text, or is labelled so, has the focus."""
        name = ("const at = document.activeElement; return at.getAttribute('aria-label') ?? (at.labels?.length ? at.labels[0].textContent "
                ": at.innerText?.trim())")
        seen = []
        for _ in range(80):
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
            seen.append(self.script(name))
            if seen[-1] == text:
                return
        self.fail(f"no Tab leads to {text!r}: {seen}")

    def type(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def test_keyboard_alone(self):
        self.begin_page()
        self.open()
        self.type(self.admin, Keys.ENTER)  # the field has the focus
        self.wait(lambda: self.heading() == "Tubes")
        self.signs_in = True
        self.must("POST", "/v1/jobs?tube=mail", {"delay": "1h", "text": "x"})
        self.tab_to("Jobs")
        self.type(Keys.ENTER)
        self.wait(lambda: self.heading() == "Jobs")
        self.assertEqual(self.script("return document.activeElement.localName"), "h1", "a screen reader reads where it is")
        self.tab_to("Job with the id")
        self.type("1", Keys.ENTER)
        self.wait(lambda: self.heading() == "Job 1")
        self.wait_shown()
        self.see("It is due later")
        self.tab_to("Cancel…")
        self.type(Keys.ENTER)
        self.see("Cancel the job?")
        self.assertEqual(self.script("return document.activeElement.innerText"), "Leave it", "not what cannot be undone")
        for _ in range(5):  # the focus stays in the dialog, or goes to the browser's own controls
            self.type(Keys.TAB)
            self.assertTrue(self.script("return document.activeElement === document.body || "
                                        "document.querySelector('dialog').contains(document.activeElement)"))
        self.type(Keys.ESCAPE)
        self.wait(lambda: not self.all("dialog"))
        self.assertEqual(self.script("return document.activeElement.innerText"), "Cancel…", "the focus is where it was")
        self.type(Keys.ENTER)
        self.see("Cancel the job?")
        self.tab_to("Cancel job 1")
        self.type(Keys.ENTER)
        self.told("Job 1: cancelled")

    def test_a_schedule_by_keyboard_alone(self):
        self.begin_page(with_tokens=False)
        self.open()
        self.tab_to("Schedules")
        self.type(Keys.ENTER)
        self.wait(lambda: self.heading() == "Schedules")
        self.wait_shown()
        self.tab_to("Make a schedule…")
        self.type(Keys.ENTER)
        self.wait(lambda: self.heading() == "Make a schedule")
        for label, text in [("Tube", "mail"), ("Name", "report"), ("Rules", "0 9 * * *")]:
            self.tab_to(label)
            self.type(text)
        self.tab_to("Preview…")
        self.type(Keys.ENTER)
        self.see("Make the schedule?")
        self.assertEqual(self.script("return document.activeElement.innerText"), "Make it")
        self.type(Keys.ENTER)
        self.told("Schedule report: made")
        self.wait(lambda: self.heading() == "Schedule report of mail")
        self.wait_shown()
        self.assertEqual(self.script("return document.activeElement.localName"), "h1", "a screen reader reads where it is")
        self.tab_to("Pause…")
        self.type(Keys.ENTER)
        self.see("Pause the schedule?")
        self.type("holidays", Keys.ENTER)  # the first field has the focus
        self.told("Schedule report: paused")
        self.see("It is paused", "holidays")

    def test_a_policy_by_keyboard_alone(self):
        self.begin_page(with_tokens=False)
        self.open("#/tube?tube=mail")
        self.tab_to("Set a policy…")
        self.type(Keys.ENTER)
        self.wait(lambda: self.heading() == "Set a policy for mail")
        self.wait_shown()
        self.assertEqual(self.script("return document.activeElement.localName"), "h1", "a screen reader reads where it is")
        self.tab_to("Tries")
        self.type("many", Keys.ENTER)
        self.see("Set the policy?")
        self.assertEqual(self.script("return document.activeElement.innerText"), "Set it")
        self.type(Keys.ENTER)
        self.see("`tries` must be")
        told = self.script("const at = document.activeElement; return at.getAttribute('aria-describedby').split(' ').map((each) => document.getElementById(each).textContent)")
        self.assertEqual((self.field_in_hand(), told[0][:5], told[1][:15]), (("Tries", "true"), "After", "`tries` must be"), "the hint and what is wrong")
        self.type(*[Keys.BACKSPACE] * len("many"), "5", Keys.ENTER)
        self.see("Set the policy?")
        self.type(Keys.ENTER)
        self.told("Policy of mail: made")
        self.wait(lambda: self.heading() == "Tube mail" and self.row("Tries")[1] == "5", "the policy")

    def test_the_focus_survives_a_refresh(self):
        self.begin_page(with_tokens=False)
        self.must("POST", "/v1/jobs?tube=mail", {})
        self.open()
        self.tab_to("mail")
        self.must("POST", "/v1/jobs?tube=mail", {})
        self.see_row("mail", "2")
        self.assertEqual(self.script("return document.activeElement.innerText"), "mail")

    def test_skip_link(self):
        self.begin_page(with_tokens=False)
        self.open("#/jobs")
        self.script("document.activeElement.blur(); document.body.focus()")
        self.script("document.getElementById('skip').focus()")
        self.type(Keys.ENTER)
        self.wait(lambda: self.script("return document.activeElement.id") == "main")
        self.assertEqual(self.heading(), "Jobs", "the place stays")

    def fill_with_examples(self):
        """Jobs as a shop may have them."""
        jobs = []
        for place, (tube, delayed, ready) in enumerate([("mail.out", 48, 3), ("orders.expire", 64, 0), ("carts.remind", 30, 0),
                                                        ("reports.nightly", 4, 1), ("sms.out", 9, 2), ("invoices.dunning", 21, 0)]):
            for i in range(delayed):
                seconds = [7 + 11 * i % 55, 70 + 97 * i % 3500, 3700 + 1733 * i % 80000][(i + place) % 3]
                jobs.append({"tube": tube, "key": f"{tube.split('.')[0]}-{1000 + 37 * place + i}", "delay": f"{seconds}s",
                             "body": {"order": 4711 + i, "customer": f"c-{200 + i}", "kind": "reminder"}})
            jobs += [{"tube": tube, "text": "hello", "key": f"now-{place}-{i}"} for i in range(ready)]
        self.must("POST", "/v1/batch", {"jobs": jobs})
        self.must("POST", "/v1/tubes/reports.nightly/pause?length=1h")
        held = self.must("POST", "/v1/reserve", {"tubes": ["mail.out", "sms.out"], "count": 3})["jobs"]
        self.must("POST", f"/v1/reservations/{held[0]['reservation']}/bury")
        made = self.must("POST", "/v1/actions", {"do": "cancel", "tube": "carts.remind", "key_prefix": "carts-"})["id"]
        self.wait(lambda: self.must("GET", f"/v1/actions/{made}")["state"] == "counted")
        self.fill_with_schedules()
        self.fill_with_policies()
        self.fill_with_targets()
        return made

    def fill_with_policies(self):
        for reason in ("the mailbox is full", "421 try again later"):
            self.must("POST", "/v1/jobs?tube=mail.out", {"text": "hello"})
            held = self.must("POST", "/v1/reserve?tube=mail.out")["jobs"][0]["reservation"]
            self.must("POST", f"/v1/reservations/{held}/bury", {"reason": reason})
        for tube, policy in [("mail.out", {"tries": 5, "delay": {"first": "10s", "factor": 3, "most": "1h"}, "dead_letters": "mail.dead", "most_per_second": 20}),
                             ("sms.out", {"tries": 3, "delay": ["5s", "1m"], "expires": "10m"}), ("carts.remind", {"most_reserved_of_group": 1})]:
            self.must("PUT", f"/v1/policies/{tube}", policy)

    def fill_with_targets(self):
        """One that goes well but for some jobs, one that is down, and one that is gone."""
        if not self.has_webhooks:
            return
        for tube, more in [("hooks.crm", {}), ("hooks.legacy", {}), ("hooks.orders", {"each_second": 50, "tries": 2, "delays": ["1ms"], "failures_to_open": 0})]:
            self.must("PUT", f"/v1/tubes/{tube}/webhook", {"url": self.receiver.url(f"/{tube}"), "secret": "one", "failures_to_open": 1, **more})
        jobs = [{"tube": "hooks.orders", "key": f"order-{4711 + i}", "body": {"order": 4711 + i}} for i in range(6)]
        jobs += [{"tube": tube, "key": f"{tube}-{i}", "text": "x"} for tube in ("hooks.crm", "hooks.legacy") for i in range(3)]
        self.must("POST", "/v1/batch", {"jobs": jobs})

        def states():
            crm, legacy, orders = self.must("GET", "/v1/webhooks")["webhooks"]
            return (crm["deliveries"]["circuit"], legacy["state"], orders["deliveries"]["delivered"], orders["deliveries"]["buried"])
        self.wait(lambda: states() == ("open", "disabled", 4, 2), "the deliveries")

    @staticmethod
    def answer_as_a_shop_may(request, _handler):
        if request.path.endswith("orders"):
            return (503 if request.headers["foliot-key"] in ("order-4713", "order-4716") else 204), {}
        return (410 if request.path.endswith("legacy") else 500), {}

    def begin_page_with_targets(self):
        self.has_webhooks = "--webhook-allow" in self.expect_done("serve", "--help")
        self.receiver = Receiver(self.answer_as_a_shop_may)
        self.addCleanup(self.receiver.end)
        secrets = self.here / "secrets"
        secrets.touch(0o600)
        secrets.write_text(f"[secret one]\npresent = {secret_of(KEY)}\n")
        allowed = ["--webhook-secrets", secrets, "--webhook-allow", f"127.0.0.1/32:{self.receiver.port}", "--webhook-allow-http"]
        self.begin_page(*(allowed if self.has_webhooks else []))

    def fill_with_schedules(self):
        for tube, name, plan in [
                ("reports.nightly", "sales", {"rules": ["0 9 * * MON-FRI"], "zone": "Europe/Berlin", "note": "for the morning meeting",
                                              "exclude": {"dates": ["2026-12-25", "2027-01-01"]}, "job": {"body": {"report": "sales"}, "ttr": "1h"}}),
                ("orders.expire", "sweep", {"rules": ["every 4h"], "busy": "skip"}),
                ("invoices.dunning", "month", {"rules": ["0 17 * * FRIL"], "zone": "America/New_York"}),
                ("mail.out", "digest", {"rules": ["0 7 * * *"], "zone": "Asia/Tokyo", "jitter": "5m"})]:
            self.must("PUT", f"/v1/tubes/{tube}/schedules/{name}", plan)
        self.must("POST", "/v1/tubes/mail.out/schedules/digest/pause", {"note": "until the new template is there"})
        self.must("POST", "/v1/tubes/reports.nightly/schedules/sales/skip")
        self.must("POST", "/v1/tubes/reports.nightly/schedules/sales/run")
        self.wait(lambda: self.must("GET", "/v1/tubes/reports.nightly/schedules/sales")["last"], "the run")

    def work_on_some(self):
        """So that the charts of how late jobs are have something to show."""
        for i in range(12):
            self.must("POST", "/v1/jobs?tube=sms.out", {"text": "hello"})
            held = self.must("POST", "/v1/reserve?tube=sms.out")["jobs"][0]
            time.sleep(0.01 * i)
            self.must("POST", f"/v1/reservations/{held['reservation']}/finish")

    def looks(self):
        """How the page may look: the name, the width, and whether it is dark."""
        return [("light", 1200, "light"), ("dark", 1200, "dark"), ("narrow", 390, "light"), ("narrow-dark", 390, "dark")]

    def set_look(self, width, scheme, height=860):
        self.browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def end_look(self):
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def places(self, action):
        return {"sign-in": None, "tubes": "#/", "tube": "#/tube?tube=mail.out", "jobs": "#/jobs?tube=orders.expire&state=delayed", "job": "#/job?id=5",
                "reserved": "#/reservations", "events": "#/events", "changes": "#/actions", "change": f"#/action?id={action}", "new-change": "#/change",
                "put": "#/put", "schedules": "#/schedules", "schedule": "#/schedule?tube=reports.nightly&name=sales",
                "plan": "#/plan?tube=reports.nightly&name=sales", "new-plan": "#/plan", "no-job": "#/job?id=999999", "nowhere": "#/nowhere",
                **self.places_of_policies_and_targets()}

    @staticmethod
    def places_of_policies_and_targets():
        return {"policy": "#/policy?tube=mail.out", "policies": "#/policies", "buried": "#/jobs?tube=mail.out&state=buried", "targets": "#/targets",
                "target": "#/target?tube=hooks.orders", "backfill": "#/backfill?tube=reports.nightly&name=sales"}

    def test_no_barrier_is_found(self):
        axe = (downloads.of_npm("axe-core", AXE) / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
        self.addCleanup(self.end_look)
        self.begin_page_with_targets()
        self.signs_in = True
        action = self.fill_with_examples()
        found = []
        for look, width, scheme in self.looks():
            self.set_look(width, scheme)
            self.open()
            for place, at in self.places(action).items():
                if look in ("dark", "narrow") and place in self.places_of_policies_and_targets():
                    continue  # the other two have these colours, and this width
                if place == "tubes":
                    self.sign_in(self.admin)
                elif at:
                    self.go(at)
                found += self.barriers(axe, f"{look}, {place}")
            self.go("#/job?id=5")
            self.press("Cancel…")
            self.see("Cancel the job?")
            found += self.barriers(axe, f"{look}, dialog")
            self.press("Leave it")
            self.go("#/plan?tube=reports.nightly&name=sales")
            self.press("Preview…")
            self.see("Change the schedule?")
            found += self.barriers(axe, f"{look}, preview")
            self.press("Leave it")
            wide = self.script("return document.documentElement.scrollWidth")
            self.assertLessEqual(wide, width, f"{look}: it is wider than the window")
            self.press("Sign out")
            self.wait(lambda: self.heading() == "Sign in")
        self.assertEqual(found, [])

    def barriers(self, axe, where):
        self.script("if (!window.axe) { " + axe + " }")
        result = self.browser.execute_async_script("const done = arguments[0]; axe.run(document).then((all) => done(all.violations), (error) => done(String(error)))")
        self.assertIsInstance(result, list, result)
        return [f"{where}: {each['id']} ({each['impact']}): {each['help']}: {node['html']} {node['failureSummary']}" for each in result for node in each["nodes"][:2]]

    def test_pictures(self):
        folder = Path(PICTURES) if PICTURES else self.here / "pictures"
        folder.mkdir(parents=True, exist_ok=True)
        self.addCleanup(self.end_look)
        self.begin_page_with_targets()
        self.signs_in = True
        action = self.fill_with_examples()
        shown = self.places_of_policies_and_targets() | {"tubes": None, "tube": None, "job": None, "change": None, "sign-in": None, "jobs": None, "put": None, "new-change": None, "schedules": None, "schedule": None, "plan": None}
        for look, width, scheme in self.looks()[:3]:
            self.set_look(width, scheme)
            self.open()
            for place, at in self.places(action).items():
                if place not in shown:
                    continue
                if place == "tubes":
                    self.sign_in(self.admin)
                    self.work_on_some()
                    self.wait(lambda: "–" not in self.text() and "no jobs" not in self.text(), "the rates")
                elif at:
                    self.go(at)
                if place == "job":
                    self.see("order")
                self.script("document.activeElement?.blur(); document.getElementById('told').className = ''; scrollTo(0, 0)")
                height = self.script("return Math.max(document.querySelector('main').getBoundingClientRect().bottom, 320)")
                self.set_look(width, scheme, int(min(height, 1400)))
                picture = self.browser.get_screenshot_as_png()
                self.assertGreater(len(picture), 5000, place)
                (folder / f"{place}-{look}.png").write_bytes(picture)
                self.set_look(width, scheme)
            self.press("Sign out")
            self.wait(lambda: self.heading() == "Sign in")
        self.assertGreaterEqual(len(list(folder.glob("*.png"))), 3 * len(shown))


if __name__ == "__main__":
    main()
