// What happens to jobs, as it happens: one stream, only while this place is seen.
import {follow} from "./api.js";
import {address, element, field, link, name, replace, report} from "./document.js";
import {isHeld} from "./held.js";
import {localTime, many, rate, visible} from "./texts.js";

const KEPT = 200;       // rows of the list
const WINDOW = 10000;   // ms over which rates are counted
const KINDS = [["put", "Puts"], ["due", "Tubes that got ready jobs"], ["reserved", "Reserved"], ["ended", "Ended"]];

const rowOf = ({kind, data}) => element("tr", {},
  element("th", {scope: "row", "data-title": "Time"}, data.at ? localTime(data.at).slice(11) : ""),
  element("td", {"data-title": "Event"}, element("span", {class: "event " + (KINDS.some(([each]) => each === kind) ? kind : "")}, visible(kind))),
  element("td", {"data-title": "Tube"}, data.tube !== undefined && link(address("tube", {tube: data.tube}), name(data.tube))),
  element("td", {"data-title": "Job"}, data.id !== undefined && (kind === "ended" ? data.id : link(address("job", {id: data.id}), data.id))),
  element("td", {"data-title": "Key"}, data.key !== undefined && name(data.key)),
  element("td", {"data-title": "More"}, visible(data.reason ?? ""), data.count !== undefined && " " + many(data.count, "job")));

export function showEvents(at) {
  const {tube = "", prefix = ""} = at.values;
  const text = (label, value) => field(label, "input", {value, autocomplete: "off", spellcheck: "false"});
  const fields = {tube: text("Tube", tube), prefix: text("or tubes that begin with", prefix)};
  const form = element("form", {class: "line", role: "search"}, fields.tube.whole, fields.prefix.whole, element("button", {type: "submit"}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("events", {tube: fields.tube.control.value, prefix: fields.prefix.control.value});
  });
  const rates = element("dl", {class: "tiles"});
  const says = element("p", {class: "quiet", role: "status"}, "");
  const rows = element("tbody", {});
  const list = element("table", {}, element("caption", {class: "unseen"}, "Events, the latest first"),
    element("thead", {}, element("tr", {}, ["Time", "Event", "Tube", "Job", "Key", "More"].map((each) => element("th", {scope: "col"}, each)))), rows);
  replace(at.main, element("h1", {tabindex: "-1"}, "Events"), form, at.wrong, rates, says, list);

  const latest = [];   // [when it came, kind, how many]
  let coming = [];     // rows that are not shown yet
  const show = () => {
    const now = performance.now();
    while (latest.length > 0 && latest[0][0] < now - WINDOW) latest.shift();
    if (isHeld()) return;  // rows that move would take a link from under the pointer
    const of = (kind) => latest.reduce((sum, [, each, some]) => sum + (each === kind ? some : 0), 0);
    replace(rates, KINDS.map(([kind, title]) => element("div", {class: "tile"}, element("dt", {}, title), element("dd", {}, rate((of(kind) * 1000) / WINDOW) + "/s"))));
    rows.prepend(...coming.reverse());
    coming = [];
    while (rows.rows.length > KEPT) rows.lastChild.remove();
  };
  const note = (event) => {
    if (event.data === null || event.kind === null) return;
    latest.push([performance.now(), event.kind, event.data.count ?? 1]);
    coming.push(rowOf(event));
    if (coming.length > KEPT) coming.shift();
  };
  show();
  const drawing = setInterval(show, 500);
  at.signal.addEventListener("abort", () => clearInterval(drawing));
  return streaming(at, {tube, prefix: tube === "" ? prefix : ""}, note, says);
}

/** Follows the stream while the page is seen and live, and begins it again behind the last event. */
async function streaming(at, query, note, says) {
  let last = null;
  while (!at.signal.aborted) {
    if (!at.isLive()) {
      says.textContent = "The stream is stopped.";
      await changed(at.signal);
      continue;
    }
    const ending = new AbortController();
    const end = () => { if (at.signal.aborted || !at.isLive()) ending.abort(new Error("nobody looks")); };
    const until = {signal: ending.signal};
    at.signal.addEventListener("abort", end, until);
    document.addEventListener("visibilitychange", end, until);
    document.addEventListener("livechange", end, until);
    let wait = 1000;
    try {
      says.textContent = "The latest are first. Events since the page was opened here.";
      await follow(query, ending.signal, (event) => {
        if (event.id) last = event.id;
        note(event);
        replace(at.wrong);
      }, last);
    } catch (error) {
      if (at.signal.aborted) return;
      if (error.status === 401) return at.refused(error);
      if (!ending.signal.aborted) {
        report(at.wrong, error);
        wait = 5000;
      }
    }
    ending.abort();
    await new Promise((resolve) => setTimeout(resolve, at.isLive() ? wait : 0));
  }
}

const changed = (signal) => new Promise((resolve) => {
  const ending = new AbortController();
  const end = () => {
    ending.abort();
    resolve();
  };
  signal.addEventListener("abort", end, {once: true, signal: ending.signal});
  document.addEventListener("visibilitychange", end, {once: true, signal: ending.signal});
  document.addEventListener("livechange", end, {once: true, signal: ending.signal});
});
