// Draws the charts and tables from the figures in the page. Nothing is loaded, and nothing leaves the page.
"use strict";

const figures = JSON.parse(document.getElementById("figures").textContent);
const charts = [];
const hidden = new Set();

// ---------------------------------------------------------------- contestants and their colours

const names = figures.contestants.map((each) => each.name);

// Hues by the golden angle, so that neighbours differ; after eight of them another lightness. The reference has the colour
// of the text, and the floors are dashed.
function colour(name) {
  if (name === figures.reference) return style("--ink");
  const index = names.indexOf(name);
  const hue = (205 + 137.508 * index) % 360;
  const lightness = (dark() ? 62 : 42) + [0, 16, -14][Math.floor(index / 8) % 3];
  return `hsl(${hue}, 65%, ${lightness}%)`;
}

function isFloor(name) { return figures.contestants.find((each) => each.name === name).time === "none"; }
function dark() { return matchMedia("(prefers-color-scheme: dark)").matches; }
function style(variable) { return getComputedStyle(document.documentElement).getPropertyValue(variable).trim(); }

// ---------------------------------------------------------------- text

const SUFFIXES = [[1e6, "M"], [1e3, "k"]];

function count(number) {
  for (const [unit, suffix] of SUFFIXES) if (number >= unit) return `${number / unit}${suffix}`;
  return String(number);
}

function nanoseconds(number) {
  if (number >= 1e6) return `${Number((number / 1e6).toPrecision(3))} ms`;
  if (number >= 1e3) return `${Number((number / 1e3).toPrecision(3))} µs`;
  return `${Number(number.toPrecision(3))} ns`;
}

function element(tag, text, parent, className) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

// ---------------------------------------------------------------- charts

function line(name, points) {
  return {
    label: name, data: points, hidden: hidden.has(name), spanGaps: true, fill: false, tension: 0,
    borderWidth: name === figures.reference ? 3.5 : 1.75, borderDash: isFloor(name) ? [5, 4] : [],
    pointRadius: name === figures.reference ? 4 : 2.5, pointHitRadius: 10,
  };
}

// Labels the powers of ten of an axis, and on a short axis also 2 and 5. The other ticks have no label.
function words(print) {
  return function (value) {
    const leading = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
    return leading === 1 || (this.max / this.min < 50 && (leading === 2 || leading === 5)) ? print(value) : "";
  };
}

function logarithmic(title, print) {
  return { type: "logarithmic", title: { display: true, text: title }, ticks: { callback: words(print), maxRotation: 0 } };
}

function paint(chart) {
  for (const axis of Object.values(chart.options.scales)) {
    axis.grid = { color: style("--line") };
    axis.ticks.color = style("--quiet");
    axis.title.color = style("--quiet");
  }
  for (const each of chart.data.datasets) {
    each.hidden = hidden.has(each.label);
  }
  chart.update("none");
}

function panel(parent, title, remark) {
  const made = element("div", "", parent, "panel");
  element("h3", title, made);
  if (remark) element("p", remark, made, "quiet");
  return made;
}

function draw(into, config) {
  const canvas = element("canvas", "", element("div", "", into, "canvas"));
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", into.querySelector("h3").textContent + "; the figures are in the table below");
  config.options = Object.assign({
    animation: false, responsive: true, maintainAspectRatio: false,
    interaction: { mode: "nearest", intersect: false },
  }, config.options);
  config.options.plugins = {
    legend: { display: false },
    tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${config.print(item.parsed.y)}` } },
  };
  for (const each of config.data.datasets) {
    // Functions, because Chart.js caches the colours of bars.
    each.borderColor = each.backgroundColor = (context) => colour(context.dataset.label);
  }
  const { print, ...rest } = config;
  const chart = new Chart(canvas, rest);
  charts.push(chart);
  paint(chart);
}

// ---------------------------------------------------------------- tables

function table(into, heads, rows) {
  const details = element("details", "", into);
  element("summary", "The figures", details);
  const made = element("table", "", element("div", "", details, "scroll"));
  const head = element("tr", "", element("thead", "", made));
  for (const each of heads) element("th", each, head);
  const body = element("tbody", "", made);
  for (const row of rows) {
    const tr = element("tr", "", body);
    for (const each of row) element("td", each, tr);
  }
}

// ---------------------------------------------------------------- the parts of the page

function recordsOf(workload, call) {
  return figures.records.filter((each) => each.workload === workload && each.call === call);
}

function workloadsOf(kind) { return figures.workloads.filter((each) => each.kind === kind); }

// The values of a field of these records, sorted, each once.
function valuesOf(records, field) { return [...new Set(records.map((each) => each[field]))].sort((a, b) => a - b); }

// The contestants that have one of these records.
function contestantsOf(records) { return names.filter((name) => records.some((each) => each.contestant === name)); }

function medians(records) { return records.map((each) => (each ? each.median : null)); }

// Lines of nanoseconds over labels that are no numbers.
function drawLines(into, labels, datasets, x) {
  draw(into, {
    type: "line",
    data: { labels, datasets },
    options: { scales: {
      x: { type: "category", title: { display: false }, ticks: {}, ...x },
      y: logarithmic("ns", nanoseconds),
    } },
    print: nanoseconds,
  });
}

function costCell(each) {
  return each ? `${each.median} (${each.min} to ${each.max})` + (each.ratio ? ` ${each.ratio}x` : "") : "";
}

function costCharts(parent) {
  for (const workload of workloadsOf("cost")) {
    const records = recordsOf(workload.name, undefined);
    if (records.length === 0) continue;
    const sizes = valuesOf(records, "n");
    const into = panel(parent, `${workload.name}: ${workload.title}`, `ns for each ${workload.operation}`);
    const of = (name) => records.filter((each) => each.contestant === name).sort((a, b) => a.n - b.n);
    const taking = contestantsOf(records);
    draw(into, {
      type: "line",
      data: { datasets: taking.map((name) => line(name, of(name).map((each) => ({ x: each.n, y: each.median })))) },
      options: { scales: {
        x: { ...logarithmic("pending timers", count), min: sizes[0], max: sizes[sizes.length - 1] },
        y: logarithmic("ns", nanoseconds),
      } },
      print: nanoseconds,
    });
    table(into, ["ns, median (range), ratio", ...sizes.map((size) => size.toLocaleString("en"))],
      taking.map((name) => [name, ...sizes.map((size) => costCell(of(name).find((each) => each.n === size)))]));
  }
}

// A chart for each number of timers: what an operation of all threads together costs.
function threadCharts(parent) {
  for (const workload of workloadsOf("threads")) {
    const records = recordsOf(workload.name, undefined);
    for (const size of valuesOf(records, "n")) {
      const here = records.filter((each) => each.n === size);
      const threads = valuesOf(here, "threads");
      const into = panel(parent, `${workload.name}: ${size.toLocaleString("en")} timers`,
        `${workload.title}; ns for each ${workload.operation}, all threads together`);
      const of = (name) => threads.map((count) => here.find((each) => each.contestant === name && each.threads === count));
      const taking = contestantsOf(here);
      drawLines(into, threads.map(String), taking.map((name) => line(name, medians(of(name)))),
        { offset: true, title: { display: true, text: "threads" } });
      table(into, ["ns, median (range), ratio", ...threads.map((count) => (count === 1 ? "1 thread" : `${count} threads`))],
        taking.map((name) => [name, ...of(name).map(costCell)]));
    }
  }
}

// The generations in the order of their years, then the other contestants, of those that have one of these records.
function castOf(records) {
  const story = figures.generations.map((each) => each.contestant);
  const others = names.filter((name) => !story.includes(name));
  const taking = contestantsOf(records);
  return [...story, ...others].filter((name) => taking.includes(name));
}

function generationOf(name) { return figures.generations.find((each) => each.contestant === name); }

// One chart of all workloads of threads, for each number of timers: the workloads side by side, and in each the numbers of
// threads. A line connects the numbers of threads of one workload, and not the workloads.
function generationCharts(parent) {
  const workloads = workloadsOf("threads").map((each) => each.name);
  const all = figures.records.filter((each) => workloads.includes(each.workload));
  for (const size of valuesOf(all, "n")) {
    const here = all.filter((each) => each.n === size);
    const places = [];
    for (const what of workloads.filter((name) => here.some((each) => each.workload === name))) {
      if (places.length > 0) places.push(null);
      for (const count of valuesOf(here.filter((each) => each.workload === what), "threads")) places.push({ what, count });
    }
    const at = (name, place) => place && here.find((each) => each.contestant === name && each.workload === place.what &&
      each.threads === place.count);
    const into = panel(parent, `What each step brought, ${size.toLocaleString("en")} timers`,
      "ns for each operation, all threads together, against the number of threads");
    into.classList.add("wide");
    const taking = castOf(here);
    // The workload stands below its first number of threads.
    const labels = places.map((place, i) => (place === null ? "" : [String(place.count), places[i - 1] ? "" : place.what]));
    const datasets = taking.map((name) => Object.assign(
      line(name, medians(places.map((place) => at(name, place)))), { spanGaps: false }));
    drawLines(into, labels, datasets,
      { offset: true, title: { display: true, text: "threads" }, ticks: { autoSkip: false, maxRotation: 0 } });
    const columns = places.filter((place) => place !== null);
    table(into, ["ns, median (range), ratio", "years", ...columns.map(({ what, count }) => `${what}, ${count}`)],
      taking.map((name) => [name, generationOf(name) ? generationOf(name).years : "",
        ...columns.map((place) => costCell(at(name, place)))]));
  }
  list(element("div", "", parent, "wide"),
    figures.generations.map((each) => [each.contestant, `${each.years}, ${each.original}: ${each.step}`]));
}

const SHARES = [["p50", "p50"], ["p99", "p99"], ["p99.9", "p999"], ["worst", "max"]];

// The percentiles of each of these records.
function drawShares(into, records, what) {
  // A logarithm has no zero.
  const datasets = records.map((each) => line(each.contestant, SHARES.map(([, key]) => Math.max(each[key], 1))));
  drawLines(into, SHARES.map(([label]) => label), datasets,
    { title: { display: true, text: `share of the ${what}` } });
}

function latenessCharts(parent) {
  for (const workload of workloadsOf("lateness")) {
    const records = recordsOf(workload.name, undefined);
    if (records.length === 0) continue;
    const into = panel(parent, `${workload.name}: ${workload.title}`);
    drawShares(into, records, "sleeps");
    table(into, ["ns late", ...SHARES.map(([label]) => label), "ratio of p50"],
      records.map((each) => [each.contestant, ...SHARES.map(([, key]) => String(each[key])),
        each.ratio ? `${each.ratio}x` : ""]));
  }
}

function latencyCharts(parent) {
  for (const workload of workloadsOf("calls")) {
    for (const call of ["start", "stop", "reset", "expire"]) {
      const records = recordsOf(workload.name, call);
      if (records.length === 0) continue;
      const asked = call === "expire" ? "expire, with a budget of 100" : call;
      const into = panel(parent, `${workload.name}: ${asked}`, `${records[0].n.toLocaleString("en")} timers pending`);
      drawShares(into, records, "calls");
      const drained = records.some((each) => each.per_fired !== undefined);
      table(into, ["ns a call", ...SHARES.map(([label]) => label), ...(drained ? ["for each fired timer"] : [])],
        records.map((each) => [each.contestant, ...SHARES.map(([, key]) => String(each[key])),
          ...(drained ? [String(each.per_fired)] : [])]));
    }
  }
}

// A bar for each record.
function drawBars(into, records, value, unit) {
  draw(into, {
    type: "bar",
    // One dataset for each record, stacked, so that each has its own colour and can be hidden.
    data: { labels: records.map((each) => each.contestant), datasets: records.map((each) => ({
      label: each.contestant, data: records.map((other) => (other === each ? value(each) : null)) })) },
    options: { scales: {
      x: { stacked: true, title: { display: false }, ticks: { autoSkip: false, maxRotation: 90 } },
      y: { stacked: true, beginAtZero: true, title: { display: true, text: unit }, ticks: {} },
    } },
    print: (number) => `${number} ${unit}`,
  });
}

function wakeUpCharts(parent) {
  for (const workload of workloadsOf("wake-ups")) {
    const records = recordsOf(workload.name, undefined);
    if (records.length === 0) continue;
    const into = panel(parent, `${workload.name}: ${workload.title}`, `${records[0].n.toLocaleString("en")} timers pending`);
    drawBars(into, records, (each) => each.median, "a second");
    table(into, ["wake-ups a second", "median (range), ratio"], records.map((each) => [each.contestant, costCell(each)]));
  }
}

// A chart for each number of processors: all of Go's benchmarks side by side.
function processorCharts(parent) {
  const workloads = workloadsOf("processors").map((each) => each.name);
  const records = figures.records.filter((each) => workloads.includes(each.workload));
  for (const processors of valuesOf(records, "threads")) {
    const here = records.filter((each) => each.threads === processors);
    const shown = workloads.filter((name) => here.some((each) => each.workload === name));
    const into = panel(parent, `${processors} processor${processors === 1 ? "" : "s"}`, "ns for each operation");
    const of = (name) => shown.map((what) => here.find((each) => each.contestant === name && each.workload === what));
    const taking = contestantsOf(here);
    drawLines(into, shown, taking.map((name) => line(name, medians(of(name)))),
      { offset: true, ticks: { autoSkip: false, maxRotation: 90 } });
    const cell = (each) => costCell(each) + (each && each.worst !== undefined ? `, the latest ${each.worst}` : "") +
      (each && each.bytes_per_task !== undefined ? `, ${each.bytes_per_task} bytes each` : "");
    table(into, ["ns, median (range), ratio", ...taking],
      shown.map((what, row) => [what, ...taking.map((name) => cell(of(name)[row]))]));
  }
}

function memoryChart(parent) {
  const largest = Math.max(...figures.records.filter((each) => each.bytes_per_timer !== undefined).map((each) => each.n));
  const weighed = names.map((name) => figures.records.find(
    (each) => each.contestant === name && each.n === largest && each.bytes_per_timer !== undefined)).filter(Boolean);
  if (weighed.length === 0) return;
  const into = panel(parent, "Memory", `resident bytes for each of ${largest.toLocaleString("en")} timers`);
  drawBars(into, weighed, (each) => each.bytes_per_timer, "bytes");
  table(into, ["bytes a timer", largest.toLocaleString("en")],
    weighed.map((each) => [each.contestant, String(each.bytes_per_timer)]));
}

function chooser(parent) {
  const box = element("fieldset", "", parent);
  element("legend", "Show", box, "quiet");
  for (const name of names) {
    const label = element("label", "", box);
    const check = element("input", "", label);
    check.type = "checkbox";
    check.checked = true;
    const swatch = element("span", "", label, "swatch");
    swatch.dataset.contestant = name;
    label.append(name);
    check.addEventListener("change", () => {
      if (check.checked) hidden.delete(name); else hidden.add(name);
      charts.forEach(paint);
    });
  }
}

function paintSwatches() {
  for (const each of document.querySelectorAll(".swatch")) {
    each.style.borderColor = colour(each.dataset.contestant);
    each.style.borderTopStyle = isFloor(each.dataset.contestant) ? "dashed" : "solid";
  }
}

function list(parent, pairs) {
  const made = element("dl", "", parent);
  for (const [term, text] of pairs) {
    element("dt", term, made);
    element("dd", text, made);
  }
}

// A part of the page; left out if `fill` adds nothing to it.
function section(fill, title, remark) {
  const into = document.getElementById("content");
  const head = [element("h2", title, into)];
  if (remark) head.push(element("p", remark, into, "quiet"));
  const made = element("div", "", into, "charts");
  fill(made);
  if (!made.hasChildNodes()) for (const each of [...head, made]) each.remove();
}

const content = document.getElementById("content");
chooser(content);
if (figures.generations) {
  section(generationCharts, "The generations of timers", "In the order of their years. Medians, lower is better.");
}
section(costCharts, "Cost against the number of timers", "Medians; both axes logarithmic, lower is better.");
section(latencyCharts, "Single calls", "Each figure holds a reading of the clock, some 22 ns. Lower is better.");
// The story of the generations has all of these in one chart.
if (!figures.generations) section(threadCharts, "Cost against the number of threads", "Threads that share one service. Medians, lower is better.");
section(latenessCharts, "Lateness of one sleep", "The clock after it, less its deadline. Lower is better.");
section(wakeUpCharts, "Wake-ups", "How often threads of an idle service wake up. Lower is better.");
section(processorCharts, "Go's own benchmarks of its timers", "Runtimes with so many processors. Medians, lower is better.");
section(memoryChart, "Memory");
element("h2", "The machine", content);
list(content, Object.entries(figures.machine));
element("h2", "The contestants", content);
const left = figures.absences.map((each) => [each.contestant,
  `left out${each.workloads ? ` of ${each.workloads}` : ""}: ${each.reason}`]);
list(content, figures.contestants.map((each) => [each.name, [each.version, `${each.time} time`, each.remark]
  .filter(Boolean).join("; ")]).concat(left));
if (figures.not_measured.length > 0) {
  element("h2", "Not measured", content);
  list(content, figures.not_measured.map((each) => [each.workload, each.reason]));
}
paintSwatches();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { charts.forEach(paint); paintSwatches(); });
