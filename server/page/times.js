// How late jobs reach their workers and how long these take, as two small charts; and what the counters of a server gain.
//
// The figures of a server count since its start, at one process. So what happens now is the difference of two looks at
// the same process: behind a balancer the looks at others come between.
import {drawing, element, name} from "./document.js";
import {count, length, many, rate} from "./texts.js";

const WINDOW = 60000;  // ms: an earlier look is forgotten, if there is a later one
const MOST_PROCESSES = 100;
const TIMES = [{of: "lateness", title: "Lateness", what: "from when a job was due until a worker had it"},
  {of: "work", title: "Work", what: "from when a worker had a job until it was done"}];
const SHARES = [["half", 0.5], ["90 %", 0.9], ["99 %", 0.99], ["all", 1]];
const WIDTH = 240, HEIGHT = 56;

/** The looks at each process within the last minute; at least the last one. */
export class Looks {
  #of = new Map();  // the process → its looks, {at, value}, the oldest first; that of the last look is the last one

  /** Adds one, and returns how it differs from earlier ones of the same process: null if there are none. */
  add(look) {
    const key = look.value.server.process;
    const before = this.#of.get(key) ?? [];
    while (before.length > 1 && before[0].at < look.at - WINDOW) before.shift();
    this.#of.delete(key);
    this.#of.set(key, [...before, look]);
    if (this.#of.size > MOST_PROCESSES) this.#of.delete(this.#of.keys().next().value);
    return before.length === 0 ? null : {first: before[0], last: before.at(-1), now: look};
  }
}

const gain = (now, before) => Math.max(0, now - before);
/** What a figure gains each second, since the last look at the same process. */
export function gained(change, figure) {
  if (change === null || change.now.at <= change.last.at) return "–";
  return rate(gain(figure(change.now.value), figure(change.last.value)) / ((change.now.at - change.last.at) / 1000)) + "/s";
}

/** The piece that has the length which this share of all do not exceed; -1: there are none. */
export function pieceOf(counts, share) {
  const all = counts.reduce((one, other) => one + other, 0);
  const rank = Math.max(1, Math.ceil(share * all - 1e-9));
  let sum = 0;
  return all === 0 ? -1 : counts.findIndex((each) => (sum += each) >= rank);
}
const boundOf = (bounds, piece) => (piece < bounds.length ? "≤ " + bounds[piece] : "> " + bounds.at(-1));
const told = (bounds, counts) => SHARES.map(([title, share]) => `${title} ${boundOf(bounds, pieceOf(counts, share))}`).join(", ");
const sumOf = (counts) => counts.reduce((one, other) => one + other, 0);

function bars(bounds, counts) {
  const step = WIDTH / counts.length, top = Math.max(1, ...counts);
  return counts.map((value, piece) => {
    const height = value === 0 ? 1 : Math.max(3, (value / top) * HEIGHT);
    return drawing("rect", {x: piece * step + 1, y: HEIGHT - height, width: step - 2, height, rx: 1, class: value === 0 ? "bar none" : "bar"},
      drawing("title", {}, `${boundOf(bounds, piece)}: ${count(value)}`));
  });
}

function chart({of, title, what}, value, change) {
  const {bounds, [of]: {counts: sinceStart}} = value.times;
  const recent = change === null ? null : sinceStart.map((each, piece) => gain(each, change.first.value.times[of].counts[piece]));
  const jobs = recent === null ? 0 : sumOf(recent);
  const best = jobs > 0 ? "99 % " + boundOf(bounds, pieceOf(recent, 0.99)) : recent === null ? "–" : "no jobs";
  const now = recent === null ? "it has answered once so far" : `in the last ${length(change.now.at - change.first.at)} ${many(jobs, "job")}${jobs > 0 ? ": " + told(bounds, recent) : ""}`;
  const ever = `Since the start ${many(sumOf(sinceStart), "job")}${sumOf(sinceStart) > 0 ? ": " + told(bounds, sinceStart) : ""}`;
  const server = value.server.node !== undefined && [" at ", name(value.server.node)];
  return element("figure", {class: "times"},
    element("figcaption", {}, element("span", {}, title, server), element("strong", {}, best)),
    drawing("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none",
      "aria-label": `${title}, ${what}: ${now}`}, bars(bounds, recent ?? sinceStart.map(() => 0))),
    element("div", {class: "axis", "aria-hidden": "true"}, [bounds[0], bounds[Math.floor(bounds.length / 2) + 1], "> " + bounds.at(-1)].map((each) => element("span", {}, each))),
    element("p", {class: "quiet"}, `${now[0].toUpperCase()}${now.slice(1)}.`, element("br"), `${ever}.`));
}

/** The charts of an answer of /v1/statistics. `change`: of Looks.add(). */
export const timeCharts = (value, change) => TIMES.map((each) => chart(each, value, change));
