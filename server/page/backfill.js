// A backfill of a schedule: a stretch of the past, how many occurrences it would make and when, and then its progress.
//
// While it is under way the address has its last instant and its number, by which it is found again in the schedule.
import {ask, look, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {acceptField, address, element, field, link, name, refuseField, replace, tell, time, trouble} from "./document.js";
import {tagOf, upcomingTable} from "./schedules.js";
import {count, many, milliseconds, visible} from "./texts.js";

/** The instant that a field says: a time, a day, or a length of time ago. What is none goes to the server as it is. */
function instantIn(written) {
  const text = written.trim(), ago = milliseconds(text);
  if (text === "now") return new Date(serverNow()).toISOString();
  if (ago !== null) return new Date(serverNow() - ago).toISOString();
  const [, day, clock] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?$/.exec(text) ?? [];
  if (day === undefined) return text.replace(/^(\S+) (\S)/, "$1T$2");
  return `${day}T${(clock ?? "00:00").padEnd(8, ":00")}Z`;
}

const names = ({tube, of}) => ["schedule ", link(address("schedule", {tube, name: of}), name(of)), " of the tube ", name(tube)];

function countedShown(which, counted, zone) {
  const others = counted.count - counted.times.length;
  return [element("p", {}, "Of the ", names(which), ", in the past:"),
    element("p", {class: "why"}, `${many(counted.count, "occurrence")} would be made, from `, time(counted.first, serverNow()), " to ", time(counted.last, serverNow()), ". Nothing is made yet."),
    counted.left_out > 0 && element("p", {class: "quiet"}, `${many(counted.left_out, "other")} of the stretch ${counted.left_out === 1 ? "was" : "were"} made before, or may have been, and are left out.`),
    element("p", {class: "quiet"}, "Each makes a job that is due at once."),
    upcomingTable(counted.times, zone, serverNow(), "", "What would be made"),
    others > 0 && element("p", {class: "quiet"}, `and ${count(others)} later ones`)];
}

function showForm(at, which) {
  const {tube, of} = which;
  const fields = {
    from: field("From", "input", {autocomplete: "off", spellcheck: "false", required: true, hint: "In UTC, such as 2026-01-05 or 2026-01-05 09:00; or how long ago, such as 7d"}),
    to: field("To", "input", {value: "now", autocomplete: "off", spellcheck: "false", required: true, hint: "The same, or now. Both are within the stretch."}),
  };
  const wrong = element("div", {role: "status"});
  const form = element("form", {class: "put"}, Object.values(fields).map((each) => each.whole), wrong,
    element("div", {class: "buttons"}, element("button", {type: "submit", class: "main"}, "Count them…"),
      element("a", {class: "button", href: address("schedule", {tube, name: of})}, "Back to the schedule")));
  const refuse = (error) => {
    if (error.status === 401) return at.refused(error);
    const place = fields[/^#\/(from|to)$/.exec(error.pointer ?? "")?.[1]];
    if (place) refuseField(place, error);
    else replace(wrong, trouble(error));
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    replace(wrong);
    Object.values(fields).forEach(acceptField);
    const query = {tube, name: of};
    const stretch = {from: instantIn(fields.from.control.value), to: instantIn(fields.to.control.value)};
    let counted, zone;
    try {
      const one = await look("v1/schedule", query, at.signal);
      zone = one.plan?.zone ?? "UTC";
      counted = await ask("POST", "v1/schedule/backfill", {query, json: {...stretch, dry_run: true}, headers: tagOf(one), signal: at.signal});
    } catch (error) {
      return at.signal.aborted ? undefined : refuse(error);
    }
    if (counted.count === 0) {
      return replace(wrong, element("p", {class: "why"}, "There is nothing to make in this stretch",
        counted.left_out > 0 && `: ${many(counted.left_out, "occurrence")} of it ${counted.left_out === 1 ? "was" : "were"} made before, or may have been`, "."));
    }
    const jobs = many(counted.count, "job");
    const done = await asking({title: `Make ${jobs}?`, text: countedShown(which, counted, zone), yes: `Make ${jobs}`,
      act: () => ask("POST", "v1/schedule/backfill", {query, json: stretch, headers: tagOf(counted)})});
    if (!done) return;
    tell(`Backfill of ${of}: ${done.outcome}`);
    if (done.count > 0) location.hash = address("backfill", {...query, until: done.last, count: done.count});
  });
  replace(at.main, element("h1", {tabindex: "-1"}, "Backfill the schedule ", name(of), " of ", name(tube)),
    element("p", {class: "quiet"}, "It makes the occurrences of a stretch of the past that were not made. You see their exact number and their times before anything is made."), form);
}

function showProgress(at, which, until, all) {
  const {tube, of} = which;
  const says = element("p", {class: "why", role: "status"});
  const into = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Backfill of the schedule ", name(of), " of ", name(tube)), at.wrong, says, into);
  let isAtWork = true;
  return at.live(async () => {
    const one = await look("v1/schedule", {tube, name: of}, at.signal).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    });
    return () => {
      into.removeAttribute("aria-busy");
      const left = one?.backfills?.find((each) => Date.parse(each.to) === Date.parse(until));
      isAtWork = left !== undefined;
      const made = isAtWork ? Math.min(left.made, all) : all;
      const text = one === null ? "There is no such schedule: it was deleted." : isAtWork ? "It makes them." : `It is done: ${many(all, "occurrence")} had ${all === 1 ? "its" : "their"} turn.`;
      if (says.textContent !== text) says.textContent = text;
      replace(into, one !== null && element("div", {class: "progress"}, element("progress", {max: Math.max(all, 1), value: made, "aria-label": "Progress"}), element("span", {}, `${count(made)} of ${count(all)}`)),
        isAtWork && one?.plan?.busy !== undefined && one.plan.busy !== "allow" && element("p", {class: "quiet"}, `The plan has busy ${visible(one.plan.busy)}: each waits until nothing else is at work.`),
        element("div", {class: "buttons"}, element("a", {class: "button", href: address("schedule", {tube, name: of})}, "To the schedule"),
          element("a", {class: "button", href: address("jobs", {tube})}, "Jobs of the tube")));
    };
  }, () => (isAtWork ? 1000 : 5000));
}

export function showBackfill(at) {
  const {tube = "", name: of = "", until, count: all} = at.values;
  if (until !== undefined && /^[1-9]\d{0,5}$/.test(all ?? "")) return showProgress(at, {tube, of}, until, Number(all));
  return showForm(at, {tube, of});
}
