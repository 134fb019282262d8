// What is due in the next minute, hour and day, as three small charts.
import {drawing, element} from "./document.js";
import {count, many} from "./texts.js";

const SCALES = [
  {name: "minute", title: "Next minute", piece: "5 s", ends: ["now", "30 s", "1 min"], all: 12},
  {name: "hour", title: "Next hour", piece: "5 min", ends: ["now", "30 min", "1 h"], all: 12},
  {name: "day", title: "Next day", piece: "1 h", ends: ["now", "12 h", "24 h"], all: 24},
];
const WIDTH = 240, HEIGHT = 56;

function bars(counts, all) {
  const step = WIDTH / all, top = Math.max(1, ...counts);
  return counts.map((value, place) => {
    const height = value === 0 ? 1 : Math.max(3, (value / top) * HEIGHT);
    return drawing("rect", {x: place * step + 1, y: HEIGHT - height, width: step - 2, height, rx: 1,
      class: value === 0 ? "bar none" : "bar"}, drawing("title", {}, count(value)));
  });
}

function chart(scale, {counts, at_least: isAtLeast}) {
  const sum = counts.reduce((one, other) => one + other, 0);
  const told = (isAtLeast ? "more than " : "") + many(isAtLeast ? Math.max(sum - 1, 0) : sum, "job");
  const pieces = counts.map((value) => count(value)).join(", ");
  const unknown = counts.length < scale.all &&
    drawing("rect", {x: (counts.length * WIDTH) / scale.all, y: 0, width: WIDTH - (counts.length * WIDTH) / scale.all, height: HEIGHT, class: "unknown"},
      drawing("title", {}, "not counted"));
  return element("figure", {class: "due"},
    element("figcaption", {}, element("span", {}, scale.title), element("strong", {}, told)),
    drawing("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none",
      "aria-label": `${scale.title}: ${told}; for each ${scale.piece}: ${pieces}${isAtLeast ? ", and more that were not counted" : ""}`},
      unknown, bars(counts, scale.all)),
    element("div", {class: "axis", "aria-hidden": "true"}, scale.ends.map((each) => element("span", {}, each))));
}

/** The charts of an answer of /v1/due/counts. */
export const dueCharts = (due) => SCALES.map((each) => chart(each, due[each.name]));
