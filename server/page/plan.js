// The plan of a schedule: a new one, or a change. What it means and its next times are shown before anything is stored.
import {may} from "./access.js";
import {ask, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {address, element, field, name, replace, report, tell, trouble} from "./document.js";
import {exactly, exactText, visible} from "./texts.js";
import {tagOf, upcomingTable} from "./schedules.js";

const MISSED = [["last", "make the last one"], ["all", "make all, up to a limit"], ["none", "make none"]];
const BUSY = [["allow", "make the next one, too"], ["skip", "skip the next one"], ["queue", "let the next one wait"], ["replace", "replace the one that waits"]];
const KINDS = [["text", "text"], ["body", "JSON"], ["base64", "base64"]];
/** Which field has a member of the plan. */
const FIELD_OF = {rules: "rules", zone: "zone", exclude: "dates", missed: "missed", busy: "busy", jitter: "jitter", note: "note", job: "body"};

/** A rule on a line of its own; one of another dialect as JSON. Its anchor stays with its text, so it is left out. */
const lineOf = (rule) => (typeof rule === "string" ? rule : rule.dialect === undefined ? rule.text : JSON.stringify({text: rule.text, dialect: rule.dialect}));
const lines = (text) => text.split("\n").map((each) => each.trim()).filter((each) => each !== "");

/** What stands in a field as JSON. Throws Error with a sentence. */
function jsonIn(text, what) {
  try {
    return exactly(text);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${error.message}`);
  }
}

/** The plan in parts: those that have fields, and the others, which are shown as JSON so that none is lost. */
function partsOf({rules = [], zone = "UTC", exclude = {}, missed = "last", busy = "allow", jitter = "", note = "", job = {}, ...others}) {
  const {dates = [], ...otherExclusions} = exclude;
  const {body, text, base64, ttr = "1m", priority = 0, ...otherOfJob} = job;
  if (Object.keys(otherExclusions).length > 0) others.exclude = otherExclusions;
  if (Object.keys(otherOfJob).length > 0) others.job = otherOfJob;
  const kind = body !== undefined ? "body" : base64 !== undefined ? "base64" : "text";
  return {rules: rules.map(lineOf).join("\n"), zone, dates: dates.join(" "), missed, busy, jitter, note, ttr, priority: String(priority), kind,
    body: kind === "body" ? exactText(body, 2) : text ?? base64 ?? "", others: Object.keys(others).length > 0 ? exactText(others, 2) : ""};
}

/** The plan that the fields say. Throws Error with a sentence where one is no JSON. */
function planOf(value) {
  const plan = value("others").trim() === "" ? {} : jsonIn(value("others"), "the other members");
  if (typeof plan !== "object" || plan === null || Array.isArray(plan)) throw new Error("the other members must be an object of JSON");
  plan.rules = lines(value("rules")).map((each) => (each.startsWith("{") ? jsonIn(each, "a rule") : each));
  if (value("zone").trim() !== "") plan.zone = value("zone").trim();
  const dates = value("dates").split(/[\s,]+/).filter((each) => each !== "");
  if (dates.length > 0) plan.exclude = {...plan.exclude, dates};
  for (const each of ["missed", "busy"]) plan[each] = value(each);
  for (const each of ["jitter", "note"]) if (value(each).trim() !== "") plan[each] = value(each).trim();
  const text = value("body");
  plan.job = {...plan.job, ttr: value("ttr").trim(), priority: Number(value("priority"))};
  if (value("kind") === "body") plan.job.body = jsonIn(text, "the body");
  else if (text !== "") plan.job[value("kind")] = text;
  return plan;
}

function fieldsFor(parts, names) {
  const text = (label, value, more = {}) => field(label, "input", {value, autocomplete: "off", spellcheck: "false", ...more});
  return {
    ...(names.isNew ? {
      tube: text("Tube", names.tube, {required: true, maxlength: 200}),
      name: text("Name", names.name, {required: true, maxlength: 100}),
    } : {}),
    rules: field("Rules", "textarea", {value: parts.rules, rows: 3, spellcheck: "false", required: true,
      hint: "One on a line, such as: 0 9 * * MON-FRI, 0 17 * * FRIL (the last Friday), every 4h, once 2030-01-31T12:00"}),
    zone: text("Time zone", parts.zone, {hint: "By whose clock, such as Europe/Berlin"}),
    dates: text("Days left out", parts.dates, {hint: "Such as 2026-12-25 2026-12-26"}),
    missed: field("What was missed while the server was down", "select", {value: parts.missed}, MISSED),
    busy: field("While an earlier one is not at its end", "select", {value: parts.busy}, BUSY),
    jitter: text("Jitter", parts.jitter, {hint: "Each job is due later by less than this, such as 5m"}),
    note: text("Note", parts.note, {maxlength: 1000}),
    ttr: text("TTR of the jobs", parts.ttr, {required: true, hint: "How long a worker may keep one."}),
    priority: text("Priority of the jobs", parts.priority, {type: "number", min: 0, max: 4294967295, required: true, hint: "Lower numbers come first."}),
    kind: field("The body of the jobs is", "select", {value: parts.kind}, KINDS),
    body: field("Body", "textarea", {value: parts.body, rows: 5, spellcheck: "false"}),
    others: field("Other members of the plan, as JSON", "textarea", {value: parts.others, rows: 3, spellcheck: "false",
      hint: "Such as {\"starts\": \"2030-01-01T00:00:00Z\", \"deadline\": \"1h\", \"job\": {\"headers\": {\"source\": \"shop\"}}}"}),
  };
}

const previewShown = (seen, zone) => [
  element("p", {class: "why"}, visible(seen.words)),
  seen.warnings.map((each) => element("p", {class: "quiet"}, "Note: ", visible(each))),
  upcomingTable(seen.next, zone, serverNow(), "Its next time depends on a run.")];

/** Shows the form. `before`: the schedule as it is, with its version; null: it is to be made. */
function showForm(at, names, before) {
  const isNew = before === null;
  const fields = fieldsFor(partsOf(before?.plan ?? {}), {...names, isNew});
  const value = (which) => fields[which].control.value;
  const wrong = element("div", {});
  const form = element("form", {class: "put"}, Object.values(fields).map((each) => each.whole), wrong,
    element("div", {class: "buttons"}, element("button", {type: "submit", class: "main"}, "Preview…")));
  const refuse = (error) => {
    if (error.status === 401) return at.refused(error);
    replace(wrong, trouble(error));
    const member = /^#\/([a-z_]+)/.exec(error.pointer ?? "")?.[1];
    fields[FIELD_OF[member] ?? (member && "others")]?.control.focus();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    replace(wrong);
    const query = isNew ? {tube: value("tube").trim(), name: value("name").trim()} : names;
    let text, zone, seen;
    try {
      const plan = planOf(value);
      text = exactText(plan);
      zone = plan.zone ?? "UTC";
      seen = await ask("POST", "v1/schedule/preview", {query, text, signal: at.signal});
    } catch (error) {
      return at.signal.aborted ? undefined : refuse(error);
    }
    // It is made only if there is none, and changed only if nobody else has changed it.
    const headers = isNew ? {"If-None-Match": "*"} : tagOf(before);
    const done = await asking({title: isNew ? "Make the schedule?" : "Change the schedule?",
      text: [element("p", {}, "Schedule ", name(query.name), " of the tube ", name(query.tube), "."), previewShown(seen, zone)],
      yes: isNew ? "Make it" : "Change it", act: () => ask("PUT", "v1/schedule", {query, text, headers})});
    if (!done) return;
    tell(`Schedule ${query.name}: ${done.outcome}`);
    if (may("look")) location.hash = address("schedule", query);
  });
  replace(at.main, element("h1", {tabindex: "-1"}, isNew ? "Make a schedule" : ["Change the schedule ", name(names.name), " of ", name(names.tube)]),
    element("p", {class: "quiet"}, "You see what it means and its next times before anything is stored."), form);
}

export async function showPlan(at) {
  const {tube = "", name: of = ""} = at.values;
  if (of === "") return showForm(at, {tube, name: ""}, null);
  const into = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Change the schedule ", name(of), " of ", name(tube)), at.wrong, into);
  try {
    const before = await ask("GET", "v1/schedule", {query: {tube, name: of}, signal: at.signal, isExact: true});
    if (!at.signal.aborted) showForm(at, {tube, name: of}, before);
  } catch (error) {
    if (at.signal.aborted) return;
    if (error.status === 401) return at.refused(error);
    into.removeAttribute("aria-busy");
    report(at.wrong, error);
  }
}
