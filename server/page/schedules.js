// Schedules: lists of them; what one does next and has done; and what an operator does with it.
import {may} from "./access.js";
import {ask, look, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {address, button, element, facts, field, lines, link, listOf, name, replace, shortTime, state, table, tell, time} from "./document.js";
import {count, many, milliseconds, visible} from "./texts.js";

const ON_A_PAGE = 50;
const REASONS = {regular: "regular", late: "late", backfill: "backfill", by_hand: "by hand"};
const OUTCOMES = {
  queued: "waits until others have ended", made: "has a job", ended: "its job has ended", failed: "its job was buried",
  replaced: "a later one took its place", skipped_busy: "skipped: another one was not at its end", skipped_paused: "skipped: paused",
  skipped_missed: "skipped: missed", skipped_limit: "skipped: too many were missed", skipped_by_request: "skipped by request",
  skipped_changed: "skipped: SQL has changed the plan", expired_by_deadline: "expired: later than the deadline",
  expired_by_window: "expired: missed for too long",
};
const ENDS = {count: "as many were due as its plan has", ends: "its end has passed", never: "no rule has a further time"};
const MADE_AND_OUTCOMES = [["made", REASONS], ["outcomes", OUTCOMES]];

const wordOf = (words, word) => words[word] ?? visible(word);

/** "2026-11-30 09:00" of "2026-11-30T09:00:00"; seconds only if there are some. */
const clockText = (text) => visible(text).replace("T", " ").replace(/(:00)?(\.0+)?Z?$/, "");
/** What the clock of the schedule shows, and UTC. */
const clocks = (one, zone) => [`${clockText(one.local)} ${visible(zone)}`, zone !== "UTC" && `${clockText(one.at)} UTC`]
  .filter(Boolean).map((each) => element("span", {class: "clock"}, each));

const lastOf = (one, now) => lines(wordOf(OUTCOMES, one.outcome), [wordOf(REASONS, one.reason), ", for ", shortTime(one.at, now)]);

/** Why it makes nothing, if it does not. */
function whyIdle(row, now) {
  if (row.refused !== undefined) return ["Its plan cannot be followed: ", visible(row.refused)];
  if (row.state === "ended") return ["It has ended: ", wordOf(ENDS, row.ended), "."];
  if (row.pause === undefined) return null;
  const {since, until, note, by} = row.pause;
  return [row.state === "paused" ? "It is paused, since " : "It will be paused, from ", time(since, now), until !== undefined && [", until ", time(until, now)],
    by !== undefined && [", by ", name(by)], note !== undefined && [": ", visible(note)], "."];
}

const scheduleAddress = (row, place = "schedule") => address(place, {tube: row.tube, name: row.name});

function scheduleTable(rows, now, nothing) {
  return table("Schedules", [
    {title: "Schedule", cell: (row) => lines(link(scheduleAddress(row), name(row.name)), ["of ", name(row.tube)])},
    {title: "State", cell: (row) => lines(state(row.state), row.refused !== undefined ? visible(row.refused) : row.pause?.note !== undefined && visible(row.pause.note))},
    {title: "Rules", cell: (row) => row.words !== undefined ? visible(row.words) : row.rules && [visible(row.rules.join("; ")), ", zone ", visible(row.zone)]},
    {title: "Next", cell: (row) => row.next && lines(shortTime(row.next.at, now), ...clocks(row.next, row.zone),
      row.next.skipped ? "will be skipped" : row.next.paused && "is left out: paused")},
    {title: "Last", cell: (row) => row.last && lastOf(row.last, now)}], rows, nothing);
}

export function showSchedules(at) {
  const {tube = "", prefix = "", cursor = ""} = at.values;
  const text = (label, value) => field(label, "input", {value, autocomplete: "off", spellcheck: "false"});
  const fields = {tube: text("Tube", tube), prefix: text("or tubes that begin with", prefix)};
  const form = element("form", {class: "line", role: "search"}, fields.tube.whole, fields.prefix.whole, element("button", {type: "submit"}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("schedules", {tube: fields.tube.control.value, prefix: fields.prefix.control.value});
  });
  const list = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Schedules"),
    may("put") && element("p", {}, element("a", {class: "button", href: address("plan", {tube})}, "Make a schedule…")), form, at.wrong, list);
  return at.live(async () => {
    const page = await look("v1/schedules", {tube, prefix: tube === "" ? prefix : "", cursor, count: ON_A_PAGE}, at.signal);
    return () => {
      replace(list, scheduleTable(page.schedules, serverNow(), page.next ? "No schedule on this page: others may follow." : "There are no such schedules."),
        element("nav", {class: "pages", "aria-label": "Pages of schedules"},
          cursor && link(address("schedules", {tube, prefix}), "First page"),
          page.next && link(address("schedules", {tube, prefix, cursor: page.next}), "Next page")));
      list.removeAttribute("aria-busy");
    };
  });
}

/** For If-Match: what was shown. */
export const tagOf = (one) => (one.incarnation === undefined ? {} : {"If-Match": `"${one.incarnation}.${one.version}"`});

/** Changes the schedule, if its plan still is what was shown. */
const change = (one, what, json) => ask("POST", `v1/schedule/${what}`, {query: {tube: one.tube, name: one.name}, json, headers: tagOf(one)});
const about = (one) => element("p", {}, "Schedule ", name(one.name), " of the tube ", name(one.tube), ".");

async function tellOf(one, done, after) {
  if (!done) return;
  tell(`Schedule ${one.name}: ${done.outcome}`);
  after();
}

async function pause(one, after) {
  const fields = {
    note: field("Note", "input", {autocomplete: "off", maxlength: 400, hint: "Why, for those who wonder. It may be left out."}),
    until: field("Until", "input", {autocomplete: "off", spellcheck: "false", hint: "For how long, such as 2h or 7d; or a time, such as 2030-01-31T12:00:00Z. Empty: until somebody resumes it."}),
  };
  const act = () => {
    const json = {}, until = fields.until.control.value.trim(), length = milliseconds(until);
    if (fields.note.control.value !== "") json.note = fields.note.control.value;
    if (until !== "") json.until = length === null ? until : new Date(serverNow() + length).toISOString();
    return change(one, "pause", json);
  };
  const done = await asking({title: "Pause the schedule?", text: [about(one), element("p", {}, "What is due meanwhile is left out, and not made up for. Jobs that it has made stay.")],
    fields: Object.values(fields), yes: "Pause it", act});
  await tellOf(one, done, after);
}
async function resume(one, after) {
  const done = await asking({title: "End the pause?", text: [about(one), element("p", {}, "It goes on with what comes next.")], yes: "Resume", act: () => change(one, "resume", {})});
  await tellOf(one, done, after);
}
async function runNow(one, after) {
  const done = await asking({title: "Run it now?", text: [about(one), element("p", {}, "It makes one job by hand, at once. What comes by the rules stays.")], yes: "Run it now",
    act: () => change(one, "run", {})});
  await tellOf(one, done, after);
}
async function skipNext(one, next, after) {
  // The instant is named: whoever asks twice skips one.
  const done = await asking({title: "Skip the next one?", text: [about(one), element("p", {}, "Exactly one is left out: ", clocks(next, one.plan.zone ?? "UTC").map((each, place) => [place > 0 && ", ", each]), ".")], yes: "Skip it",
    act: () => change(one, "skip", {at: next.at})});
  await tellOf(one, done, after);
}
async function remove(one) {
  const jobs = field("Its jobs that wait for a worker", "select", {value: "keep"}, [["keep", "stay"], ...(may("change") ? [["cancel", "are cancelled"]] : [])]);
  const done = await asking({title: "Delete the schedule?", text: [about(one), element("p", {}, "It makes no more jobs, and its history is lost. Jobs that workers have go on.")],
    fields: [jobs], yes: `Delete ${visible(one.name)}`, danger: true,
    act: () => ask("DELETE", "v1/schedule", {query: {tube: one.tube, name: one.name, occurrences: jobs.control.value}, headers: tagOf(one)})});
  if (!done) return;
  tell(`Schedule ${one.name}: ${done.outcome}`);
  location.hash = address("schedules");
}

function buttonsFor(one, after) {
  if (!may("put")) return null;
  const next = (one.next ?? []).find((each) => !each.skipped);
  const isDelay = one.plan?.rules.some((each) => /^\s*after\b/i.test(each.text ?? each));
  const isReadable = one.plan !== undefined;
  return element("div", {class: "buttons"},
    element("a", {class: "button", href: scheduleAddress(one, "plan")}, isReadable ? "Edit…" : "Put a new plan…"),
    isReadable && [one.pause ? button("Resume…", () => resume(one, after)) : button("Pause…", () => pause(one, after)),
      button("Run now…", () => runNow(one, after)),
      next && !isDelay && button("Skip the next…", () => skipNext(one, next, after)),
      !isDelay && element("a", {class: "button", href: scheduleAddress(one, "backfill")}, "Backfill…")],
    button("Delete…", () => remove(one), {class: "danger"}));
}

/** What is to be said about an occurrence that comes. */
function noteOn(one, now) {
  const all = [];
  if (one.skipped) all.push("will be skipped");
  if (one.paused) all.push("is left out: paused");
  if (one.shifted) all.push(`moved from ${clockText(one.nominal)}, which the clock leaves out`);
  if (one.pass === "first") all.push("the clock shows it again later");
  if (one.pass === "second") all.push("the clock shows it for the second time");
  if (Date.parse(one.due) > Date.parse(one.at)) return [all.map((each) => each + "; "), "its job is due ", shortTime(one.due, now)];
  return all.join("; ");
}

/** Occurrences to come; or others, with a caption of their own. */
export const upcomingTable = (next, zone, now, nothing, caption = "What comes next") => table(caption, [
  {title: "When", cell: (row) => shortTime(row.at, now)},
  {title: `Clock of ${visible(zone)}`, cell: (row) => `${clockText(row.local)} ${visible(row.abbreviation)} ${visible(row.offset)}`},
  {title: "UTC", cell: (row) => clockText(row.at)},
  {title: "Note", cell: (row) => noteOn(row, now)}], next, nothing);

const ruleText = (rule) => visible(rule.text ?? rule) + (rule.dialect !== undefined ? ` (${visible(rule.dialect)})` : "");

const exclusionsOf = ({dates = [], rules = []}) => listOf([...rules.map((each) => name(ruleText(each))), ...dates.slice(0, 20).map((each) => visible(each)),
  dates.length > 20 && `and ${count(dates.length - 20)} other days`].filter(Boolean));

function planFacts(one, now) {
  const {plan} = one;
  if (plan === undefined) return null;
  const policies = ["gap", "overlap", "missed", "missed_limit", "missed_window", "busy", "busy_limit", "deadline", "jitter", "count"].filter((each) => plan[each] !== undefined);
  const counts = MADE_AND_OUTCOMES.map(([of, words]) => Object.entries(one.counts?.[of] ?? {}).filter(([, many]) => many > 0).map(([word, many]) => `${count(many)} ${wordOf(words, word)}`));
  return facts(
    ["Rules", listOf(plan.rules.map((each) => name(ruleText(each))))],
    ["Zone", visible(plan.zone ?? "UTC") + (one.zone_data ? `, data ${visible(one.zone_data)}` : "")],
    ["Left out", plan.exclude && exclusionsOf(plan.exclude)],
    ["Begins", plan.starts && time(plan.starts, now)],
    ["Ends", plan.ends && time(plan.ends, now)],
    ["Policies", policies.length > 0 && policies.map((each) => `${each} ${visible(plan[each])}`).join(", ")],
    ["Note", plan.note !== undefined && visible(plan.note)],
    ["Tube", link(address("tube", {tube: one.tube}), name(one.tube))],
    ["Made", time(one.made, now)],
    ["Changed", one.changed !== one.made && time(one.changed, now)],
    ["Decided", `${count(one.counts.decided)} by the rules`],
    ["Jobs made", counts[0].join(", ") || "none"],
    ["Outcomes", counts[1].length > 0 && counts[1].join(", ")],
    ["Last that ended", one.last_success && time(one.last_success.at, now)],
    ["Last that failed", one.last_failure && time(one.last_failure.at, now)],
    ["Waits", one.queue?.length > 0 && many(one.queue.length, "occurrence")],
    ["Backfills", one.backfills?.length > 0 && listOf(one.backfills.map((each) => [`${count(each.made)} made so far, left from `, time(each.from, now), " to ", time(each.to, now)]))]);
}

const historyOf = (one, now) => [
  element("h2", {}, "What it has done last"),
  table("What it has done last", [
    {title: "For", cell: (row) => lines(shortTime(row.at, now), `${clockText(row.at)} UTC`)},
    {title: "Reason", cell: (row) => wordOf(REASONS, row.reason)},
    {title: "Outcome", cell: (row) => wordOf(OUTCOMES, row.outcome)},
    {title: "When", cell: (row) => time(row.when, now)}], one.last ?? [], "Nothing so far."),
  one.living?.length > 0 && [
    element("h2", {}, "Jobs that were there at the last look"),
    table("Jobs that were there at the last look", [
      {title: "Job", cell: (row) => link(address("job", {tube: one.tube, key: row.key}), name(row.key))},
      {title: "For", cell: (row) => time(row.at, now)}], one.living, "")]];

export function showSchedule(at) {
  const {tube = "", name: of = ""} = at.values;
  const into = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Schedule ", name(of), " of ", name(tube)), at.wrong, into);
  return at.live(async () => {
    const one = await look("v1/schedule", {tube, name: of}, at.signal).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    });
    return () => {
      into.removeAttribute("aria-busy");
      if (one === null) return replace(into, element("p", {class: "nothing"}, "There is no such schedule: it was deleted, or never was."));
      const now = serverNow(), why = whyIdle(one, now);
      replace(into, element("p", {class: "why"}, state(one.state), " ", one.words !== undefined && visible(one.words)),
        why && element("p", {class: one.refused !== undefined ? "trouble" : "why"}, why),
        (one.warnings ?? []).map((each) => element("p", {class: "quiet"}, "Note: ", visible(each))),
        buttonsFor(one, at.refresh), planFacts(one, now),
        one.plan && [element("h2", {}, "What comes next"), upcomingTable(one.next ?? [], one.plan.zone ?? "UTC", now, "Nothing, as far as is known.")],
        one.plan && historyOf(one, now));
    };
  });
}
