#!/usr/bin/env python3
"""The page that `foliot bench --report` writes, opened in a real browser.

usage: report_test.py [CLASS[.test]...]     with FOLIOT=path of the program, and PYTHONPATH=tests/support

Skipped, exit code 77, where there is no chromium, or where the program was built without Chart.js.
"""
import json
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the module below is in the source tree
from kit.program_case import FOLIOT, ProgramCase, main

BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
WEIGHED = ["quad-heap", "floor-load", "multimap"]
RUNTIMES = ["processor-heaps", "processor-heaps-1.14"]
SHARING = ["multimap", "global-heap", "bucket-heaps", *RUNTIMES]
SLEEPING = ["futex", "futex-slack1", *RUNTIMES, "global-heap", "bucket-heaps"]
IDLE = ["global-heap", "bucket-heaps", *RUNTIMES]
CONTESTANTS = ["quad-heap", "floor-load", "multimap", "global-heap", "bucket-heaps", "futex", "futex-slack1", *RUNTIMES]
ARGUMENTS = ["--quick", "--only", "W1,W3,worst-uniform,worst-one-slot,W5W1,W5W1-remote,W6-100us,W6-1ms,idle-ticker,"
             "Sleep1000,ParallelTimerLatency",
             "--contestants", ",".join(CONTESTANTS), "--n", "10,1000"]
# Workloads, calls, threads for each number of timers, sleeps, wake-ups, numbers of processors, memory.
CHARTS = 2 + 8 + 2 * 2 + 2 + 1 + 2 + 1
# What must be on the charts of threads, sleeps, wake-ups and processors: their lines or bars, and the points of each.
CHARTED = {"W5W1: 10 timers": (SHARING, 2), "W5W1: 1,000 timers": (SHARING, 2),
          "W5W1-remote: 10 timers": (SHARING, 1), "W5W1-remote: 1,000 timers": (SHARING, 1),
          "W6-100us: how late a sleep of 100 µs ends": (SLEEPING, 4), "W6-1ms: how late a sleep of 1 ms ends": (SLEEPING, 4),
          "idle-ticker: the same beside one ticker of 10 ms": (IDLE, 1),
          "1 processor": (RUNTIMES, 1), "2 processors": (RUNTIMES, 2)}

# Inserted before everything else in the page, so that it sees every error.
LISTEN = """<script>
const errors = [];
addEventListener("error", (event) => errors.push(event.message || "not loaded: " + event.target.src), true);
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
console.error = (...words) => errors.push(words.join(" "));
</script>"""

# Inserted after everything else: writes the state of the page into an element of its own.
PROBE = """<script>
function painted(canvas) {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 0) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
  return colours.size;
}
function hasColour(canvas, wanted) {
  if (!canvas) return false;
  const one = document.createElement("canvas").getContext("2d");
  one.fillStyle = wanted;
  one.fillRect(0, 0, 1, 1);
  const [red, green, blue] = one.getImageData(0, 0, 1, 1).data;
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  for (let i = 0; i < pixels.length; i += 4) {
    const away = Math.abs(pixels[i] - red) + Math.abs(pixels[i + 1] - green) + Math.abs(pixels[i + 2] - blue);
    if (pixels[i + 3] === 255 && away < 8) return true;
  }
  return false;
}
addEventListener("load", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  PROBE_FIRST
  const told = document.createElement("pre");
  told.id = "probe";
  told.textContent = JSON.stringify({
    errors, colours: [...document.querySelectorAll("canvas")].map(painted),
    charts: Object.fromEntries(charts.map((each) => [each.canvas.closest(".panel").querySelector("h3").textContent,
      Object.fromEntries(each.data.datasets.map((set) => [set.label, set.data.filter((point) => point !== null).length]))])),
    labels: Object.fromEntries(charts.map((each) => [each.canvas.closest(".panel").querySelector("h3").textContent,
      each.data.labels])),
    lists: [...document.querySelectorAll("dt")].map((each) => each.textContent + ": " + each.nextSibling.textContent).join(" | "),
    bars: names.filter((name) => hasColour([...document.querySelectorAll("canvas")].pop(), colour(name))).length,
    tables: document.querySelectorAll("table").length, boxes: document.querySelectorAll("input").length,
    right: Math.max(...[...document.querySelectorAll("body *:not(.scroll *)")].map((each) => each.getBoundingClientRect().right)),
    paper: getComputedStyle(document.body).backgroundColor,
  });
  document.body.append(told);
});
</script>"""


class Report(ProgramCase):
    @classmethod
    def setUpClass(cls):
        if BROWSER is None:
            raise unittest.SkipTest("there is no chromium to open the page in")
        trial = subprocess.run([FOLIOT, "bench", "--quick", "--only", "W1", "--contestants", "floor-store", "--report", "-"],
                               capture_output=True, text=True)
        if "Chart.js was not installed" in trial.stderr:
            raise unittest.SkipTest("the program was built without Chart.js")

    whole = None  # the page of ARGUMENTS, which most tests open

    def page(self, *arguments):
        if arguments:
            return self.new_page(*arguments)
        if Report.whole is None:
            Report.whole = self.new_page(*ARGUMENTS)
        return Report.whole

    def new_page(self, *arguments):
        code, _, err = self.run_foliot("bench", *arguments, "--report", "report.html")
        self.assertEqual(code, 0, err)
        return (self.here / "report.html").read_text()

    def browse(self, page, *flags, first=""):
        """The report of the probe in the page."""
        self.put("probed.html", page.replace("<head>", "<head>" + LISTEN, 1)
                 .replace("</body>", PROBE.replace("PROBE_FIRST", first) + "</body>", 1).encode())
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   f"--user-data-dir={self.here / 'profile'}", "--virtual-time-budget=5000", *flags, "--dump-dom",
                   (self.here / "probed.html").as_uri()]
        done = subprocess.run(command, capture_output=True, text=True)
        found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
        self.assertIsNotNone(found, done.stderr[-2000:] + done.stdout[-500:])
        return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))

    def check_drawn(self, told):
        self.assertEqual(told["errors"], [])
        self.assertEqual(len(told["colours"]), CHARTS)
        for colours in told["colours"]:
            self.assertGreater(colours, 3)  # the grid, the text, and lines
        self.assertEqual(told["bars"], len(WEIGHED))  # each in its own colour
        self.assertEqual(told["tables"], CHARTS)
        self.assertEqual(told["boxes"], len(CONTESTANTS))
        for title, (shown, points) in CHARTED.items():
            self.assertEqual(told["charts"].get(title), {name: points for name in shown}, title)

    def test_charts_are_drawn(self):
        page = self.page()
        self.check_drawn(self.browse(page, "--window-size=1280,900"))

    def test_fits_a_phone(self):
        # No window of a headless chromium is that narrow; the page looks at its own width only.
        told = self.browse(self.page().replace("</head>", "<style>html { width: 360px; }</style></head>", 1))
        self.check_drawn(told)
        self.assertLessEqual(told["right"], 360)

    def test_dark(self):
        page = self.page()
        light = self.browse(page)
        dark = self.browse(page, "--blink-settings=preferredColorScheme=0")
        self.check_drawn(dark)
        self.assertNotEqual(light["paper"], dark["paper"])
        self.assertLess(sum(map(int, re.findall(r"\d+", dark["paper"]))), 3 * 64)

    def test_hiding_everybody_leaves_fewer_colours(self):
        page = self.page()
        shown = self.browse(page)
        hidden = self.browse(page, first='document.querySelectorAll("input").forEach((each) => each.click());')
        self.assertEqual(hidden["errors"], [])
        for before, after in zip(shown["colours"], hidden["colours"]):
            self.assertLess(after, before)

    def test_generations_have_one_chart_of_all_that_threads_do(self):
        page = self.page("generations", "--quick", "--contestants", "foliot,multimap,global-heap,quad-heap", "--only",
                         "W5W1,W5W1-remote,W5W2,idle,Sleep1000,ParallelTimerLatency", "--threads", "1,2,3", "--n", "10,1000")
        told = self.browse(page, "--window-size=1280,900")
        self.assertEqual(told["errors"], [])
        # Three, two and three numbers of threads; the order is that of the years.
        for title in ("What each step brought, 10 timers", "What each step brought, 1,000 timers"):
            self.assertEqual(list(told["charts"].get(title, {}).items()), [("global-heap", 8), ("foliot", 8), ("multimap", 8)])
        self.assertEqual(told["labels"]["What each step brought, 10 timers"],
                         [["1", "W5W1"], ["2", ""], ["3", ""], "", ["2", "W5W1-remote"], ["3", ""], "", ["1", "W5W2"],
                          ["2", ""], ["3", ""]])
        self.assertNotIn("W5W1: 10 timers", told["charts"])
        self.assertIn("idle: wake-ups of a service's threads while nothing is due", told["charts"])
        self.assertIn("2009 to 2017, Go up to 1.9: one heap", told["lists"])
        self.assertIn("left out: it takes part in no workload that is measured, but in W1", told["lists"])

    def test_what_is_not_measured_is_told(self):
        page = self.page("--quick", "--only", "W1,idle", "--contestants", "floor-load", "--n", "10")
        told = self.browse(page)
        self.assertEqual(told["errors"], [])
        self.assertIn("idle: none of the contestants named takes part", told["lists"])

    def test_servers_have_a_page_of_their_own(self):
        servers = ["foliot-memory"] + (["beanstalkd"] if shutil.which("beanstalkd") else [])
        page = self.page("serve", "--quick", "--unix", "--folder", self.here, "--only", "puts,cycle-sizes", "--contestants",
                         ",".join(servers))
        told = self.browse(page, "--window-size=1280,900")
        self.assertEqual(told["errors"], [])
        columns = {"puts": ["1", "4"], "cycle-sizes": ["8 B", "80 KB"]}
        columns |= {f"{each}: server-cpu": heads for each, heads in columns.items()}
        self.assertEqual(told["charts"], {each: {name: 2 for name in servers} for each in columns})
        self.assertEqual(told["labels"], columns)
        self.assertIn("foliot-memory: foliot", told["lists"])
        self.assertEqual(told["tables"], 4 + (len(servers) - 1))  # one has the targets, which are ratios

    def test_a_broken_page_is_found(self):
        told = self.browse(self.page().replace("section(costCharts", "section(noCharts"))
        self.assertNotEqual(told["errors"], [])

    def test_needs_nothing_beside_it(self):
        page = self.page()
        self.assertNotRegex(page, r"<script[^>]+src|<link|@import|url\(")
        self.assertIn("Released under the MIT License", page)
        self.assertIn("Permission is hereby granted", page)


if __name__ == "__main__":
    main()
