#!/usr/bin/env python3
"""`foliot explain` as its users meet it, and its pages in a real browser: chromium, by its driver and Selenium.

usage: explain_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support

The class Browser is skipped, exit code 77, where there is no chromium, no driver or no Selenium (Debian: chromium,
chromium-driver, python3-selenium).
"""
import os
import re
import shutil
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the module below is in the source tree
from kit.program_case import ProgramCase, main

DEBIANS_PYTHON = "/usr/bin/python3"
try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    webdriver = None
    is_debians = Path(sys.executable).resolve() == Path(DEBIANS_PYTHON).resolve()
    if __name__ == "__main__" and Path(DEBIANS_PYTHON).exists() and not is_debians:  # the packages are for this one
        os.execv(DEBIANS_PYTHON, [DEBIANS_PYTHON, *sys.argv])

BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
DRIVER = shutil.which("chromedriver")
ENGINES = ["foliot", "global-heap", "quad-heap-lazy", "goim-heap", "red-black-tree", "hashed-wheel", "hierarchical-wheel",
           "linux-wheel", "erlang-wheel"]


class Explain(ProgramCase):
    def test_it_writes_the_page_of_an_engine(self):
        self.assertEqual(self.expect_done("explain", "foliot"), "")
        page = (self.here / "foliot.html").read_text(encoding="utf-8")
        self.assertIn("<title>foliot: ", page)
        self.assertEqual(self.expect_done("explain", "foliot", "-o", "-"), page)

    def test_it_names_the_engines(self):
        told = self.expect_done("explain", "--help")
        for engine in ENGINES:
            self.assertIn(engine, told)

    def test_an_engine_that_is_not_there(self):
        code, out, error = self.run_foliot("explain", "clepsydra")
        self.assertEqual((code != 0, out), (True, ""))
        self.assertIn("clepsydra", error)
        self.assertIn("erlang-wheel", error)
        self.assertEqual(list(self.here.glob("*.html")), [])

    def test_a_folder_that_is_not_there(self):
        code, _, error = self.run_foliot("explain", "foliot", "-o", "nowhere/page.html")
        self.assertNotEqual(code, 0)
        self.assertIn("nowhere/page.html", error)


class Browser(ProgramCase):
    @classmethod
    def setUpClass(cls):
        if webdriver is None or BROWSER is None or DRIVER is None:
            raise unittest.SkipTest("there is no chromium, no driver or no Selenium "
                                    "(Debian: chromium chromium-driver python3-selenium)")
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                         "--no-proxy-server", "--window-size=1200,1000", "--lang=en-US"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.ignore_local_proxy_environment_variables()  # which are not for the driver
        try:
            cls.browser = cls.begin_browser(options)
        except WebDriverException:  # the driver's port was taken meanwhile, or the browser took more than a minute
            cls.browser = cls.begin_browser(options)
        cls.addClassCleanup(cls.browser.quit)

    @staticmethod
    def begin_browser(options):
        return webdriver.Chrome(service=webdriver.chrome.service.Service(DRIVER), options=options)

    def open(self, engine, place=""):
        self.expect_done("explain", engine)
        self.browser.get("about:blank")
        self.browser.get(f"file://{self.here}/{engine}.html{place}")

    def text_of(self, name):
        return self.browser.find_element(By.ID, name).text

    def place(self):
        return tuple(map(int, re.match(r"(\d+) of (\d+)\. ", self.text_of("step")).groups()))

    def press(self, *keys):
        self.browser.find_element(By.TAG_NAME, "body").send_keys(*keys)

    def test_each_step_of_each_engine_can_be_shown(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.open(engine)
                wrong = self.browser.execute_script(WALK)
                self.assertEqual(wrong, [])
                self.assertEqual(self.browser.get_log("browser"), [])

    def test_buttons_keys_and_addresses(self):
        self.open("red-black-tree", "#2.5")
        self.assertEqual(self.place()[0], 5)
        self.assertEqual(self.browser.execute_script("return document.getElementById('load').selectedOptions[0].text"),
                         "near and far")
        self.press(Keys.ARROW_RIGHT)
        self.assertEqual(self.place()[0], 6)
        self.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        self.assertEqual(self.place()[0], 4)
        WebDriverWait(self.browser, 60).until(lambda browser: browser.current_url.endswith("#2.4"))
        self.press(Keys.END)
        self.assertEqual(self.place()[0], self.place()[1])
        self.assertFalse(self.browser.find_element(By.ID, "next").is_enabled())
        self.press(Keys.HOME)
        self.assertEqual(self.place()[0], 1)
        for button, at in [("next", 2), ("next", 3), ("back", 2), ("first", 1)]:
            self.browser.find_element(By.ID, button).click()
            self.assertEqual(self.place()[0], at)

    def test_it_plays_and_pauses(self):
        self.open("foliot")
        self.browser.execute_script("const s = document.getElementById('speed'); s.options[2].value = 1; s.selectedIndex = 2;")
        self.press(" ")
        button = self.browser.find_element(By.ID, "play")
        # It plays to the end by itself, however long that takes, and is paused there.
        WebDriverWait(self.browser, 120).until(lambda _: button.text == "Play")
        self.assertEqual(self.place()[0], self.place()[1])
        self.assertEqual(button.get_attribute("aria-pressed"), "false")

    def test_an_address_that_names_nothing(self):
        for place in ["#9.1", "#1.99999", "#x", "#0.0"]:
            with self.subTest(place=place):
                self.open("goim-heap", place)
                self.assertLessEqual(1, self.place()[0])
                self.assertLessEqual(*self.place())
                self.assertEqual(self.browser.get_log("browser"), [])


# Goes through all loads and steps, and says what is wrong: a timer that is not drawn or lies outside the picture, two
# at the same place, a step without its sentence.
WALK = """
const wrong = [], load = document.getElementById("load");
for (let index = 0; index < load.options.length; ++index) {
  load.selectedIndex = index;
  load.dispatchEvent(new Event("change"));
  for (;;) {
    const step = document.getElementById("step").textContent, where = `${load.options[index].text}, ${step}`;
    const [, , width, height] = document.getElementById("picture").getAttribute("viewBox").split(" ").map(Number);
    const places = new Set();
    for (const each of document.querySelectorAll("#picture .timer")) {
      const [, x, y] = /translate\\((-?[\\d.]+)px, (-?[\\d.]+)px\\)/.exec(each.style.transform).map(Number);
      if (!(x > 0 && x < width && y > 0 && y < height)) wrong.push(`outside: ${where}`);
      places.add(`${x} ${y}`);
    }
    const rows = document.querySelectorAll("#timers tbody tr").length;
    if (places.size !== rows) wrong.push(`${places.size} places for ${rows} timers: ${where}`);
    if (document.getElementById("next").disabled) break;
    document.getElementById("next").click();
  }
}
return wrong;
"""


if __name__ == "__main__":
    main()
