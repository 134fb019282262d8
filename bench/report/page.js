// Draws charts and tables from the figures in the page. Nothing is loaded, and nothing leaves the page. The script that
// follows this one, timers.js or serve.js, decides which.
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
// ---------------------------------------------------------------- the parts of every page

// The values of a field of these records, sorted, each once.
function valuesOf(records, field) { return [...new Set(records.map((each) => each[field]))].sort((a, b) => a - b); }

// The contestants that have one of these records.
function contestantsOf(records) { return names.filter((name) => records.some((each) => each.contestant === name)); }

function medians(records) { return records.map((each) => (each ? each.median : null)); }

// Lines over labels that are no numbers. The axis of the values has the unit as its title.
function drawLines(into, labels, datasets, x, unit = "ns", print = nanoseconds) {
  draw(into, {
    type: "line",
    data: { labels, datasets },
    options: { scales: {
      x: { type: "category", title: { display: false }, ticks: {}, ...x },
      y: logarithmic(unit, print),
    } },
    print,
  });
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

// The last parts of the page: the machine and the contestants, of which `about(contestant)` says what there is to say.
function finish(about) {
  const content = document.getElementById("content");
  element("h2", "The machine", content);
  list(content, Object.entries(figures.machine));
  element("h2", "The contestants", content);
  const left = figures.absences.map((each) => [each.contestant,
    `left out${each.workloads ? ` of ${each.workloads}` : ""}: ${each.reason}`]);
  list(content, figures.contestants.map((each) => [each.name, about(each).filter(Boolean).join("; ")]).concat(left));
  if (figures.not_measured && figures.not_measured.length > 0) {
    element("h2", "Not measured", content);
    list(content, figures.not_measured.map((each) => [each.workload, each.reason]));
  }
  paintSwatches();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { charts.forEach(paint); paintSwatches(); });
}
