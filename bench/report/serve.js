// The page of `foliot bench serve`: a chart for each workload, and the targets.

function number(value) {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}

function amountCell(each) { return each ? `${number(each.median)} (${number(each.min)} to ${number(each.max)})` : ""; }

// A chart for each workload and unit: lines over the columns, or bars if there is one column.
function workloadCharts(parent) {
  for (const workload of figures.workloads) {
    const all = figures.records.filter((each) => each.workload === workload.name && each.column !== undefined);
    for (const unit of new Set(all.map((each) => each.unit))) {
      const records = all.filter((each) => each.unit === unit);
      const columns = [...new Set(records.map((each) => each.column))];
      const title = unit === all[0].unit ? workload.name : `${workload.name}: ${records[0].figure}`;
      const into = panel(parent, title, unit === all[0].unit ? workload.title : unit);
      const of = (name) => columns.map((column) => records.find((each) => each.contestant === name && each.column === column));
      const taking = contestantsOf(records);
      if (columns.length === 1) {
        drawBars(into, records, (each) => each.median, unit);
      } else {
        drawLines(into, columns, taking.map((name) => line(name, medians(of(name)))), { offset: true }, unit, number);
      }
      table(into, [`${unit}, median (range)`, ...columns], taking.map((name) => [name, ...of(name).map(amountCell)]));
    }
  }
}

function targetsTable(parent) {
  if (figures.targets.length === 0) return;
  const into = panel(parent, "Medians of this run", "a ratio where a server stands under “against”");
  into.classList.add("wide");
  table(into, ["", "server", "against", "target", "measured", "reached"], figures.targets.map((each) => [
    each.what, each.contestant, each.against || "",
    each.at_least === undefined ? `≤ ${each.at_most}` : `≥ ${each.at_least}`,
    each.measured.toFixed(2), each.reached ? "yes" : "no"]));
  into.querySelector("details").open = true;
}

chooser(document.getElementById("content"));
section(workloadCharts, "The servers", "Medians. Of rates higher is better; of times and memory lower.");
section(targetsTable, "Targets");
finish((each) => [each.version, each.remark]);
