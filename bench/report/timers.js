// The page of `foliot bench`: timer queues, services and runtimes.

function recordsOf(workload, call) {
  return figures.records.filter((each) => each.workload === workload && each.call === call);
}

function workloadsOf(kind) { return figures.workloads.filter((each) => each.kind === kind); }

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

chooser(document.getElementById("content"));
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
finish((each) => [each.version, `${each.time} time`, each.remark]);
