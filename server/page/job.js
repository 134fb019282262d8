// One job: its record, why it waits, its body, and what can be done with it.
import {may} from "./access.js";
import {ask, look, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {address, button, copyButton, element, facts, field, link, name, number, replace, report, state, tell, time} from "./document.js";
import {count, hexLines, size, visible, visibleLines} from "./texts.js";
import {triesShown} from "./tries.js";

const PART = 16384;  // letters or bytes of a body that are shown at first
const HIDING = "foliot.hides-bodies";

let hides = false;
try {
  hides = localStorage.getItem(HIDING) === "yes";
} catch {
  // a browser that keeps nothing
}
function keepHiding(value) {
  hides = value;
  try {
    localStorage.setItem(HIDING, value ? "yes" : "no");
  } catch {
    // it holds as long as the page
  }
}

/** How a buried job has come to be that. */
function lastTryOf({attempts, tries}) {
  if (attempts !== undefined) return "Its deliveries have failed, and it has had its last try.";
  const last = tries?.last.at(-1)?.how;
  return last === "released" || last === "timed_out" ? "It has had its last try." : "A worker has set it aside.";
}
const WAITS = {
  due_later: (why, now) => ["It is due later: ", time(why.until, now), "."],
  reserved: (why, now) => ["A worker has it", why.held_by !== undefined && [", ", name(why.held_by)],
    why.node !== undefined && [", at the node ", name(why.node)], why.until && [", until ", time(why.until, now), " at the latest"], "."],
  buried: (why, now, job) => [lastTryOf(job), " Kick it to make it ready."],
  paused: (why, now) => ["Its tube is paused, until ", time(why.until, now), "."],
  has_target: (why) => ["The server delivers it to ", may("administer") ? link(address("target", {tube: why.tube}), "the target of its tube") : "the target of its tube",
    why.ahead_at_most > 0 && `; others may come first: ${count(why.ahead_at_most)} at most`, "."],
  nobody_watches: () => ["No worker of this server watches its tube."],
  others_first: (why) => ["Others of its tube may come first", why.ahead_at_most !== undefined && `: ${count(why.ahead_at_most)} at most`, "."],
  next: () => ["The next worker gets it."],
};

/** Base64 as bytes. */
const bytesOf = (base64) => Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));

/** The ways to show a body: [title, text of it], the best one first. */
function formsOf(job) {
  const hex = (bytes) => ["Hex", (most) => hexLines(bytes.subarray(0, most)), bytes.length];
  if (job.base64 !== undefined) return [hex(bytesOf(job.base64))];
  if (job.body !== undefined) {  // a value, which is not told as it was written: neither its bytes nor its size
    const json = JSON.stringify(job.body, null, 2);
    return [["JSON", (most) => json.slice(0, most), json.length]];
  }
  const bytes = new TextEncoder().encode(job.text);
  return [["Text", (most) => job.text.slice(0, most), job.text.length], hex(bytes)];
}

function showForm([, textOf, whole], into, isAll = false) {
  const most = isAll ? whole : PART;
  const rest = whole > most && element("p", {class: "line"}, `The first ${count(most)} of ${count(whole)}.`,
    button("Show all", () => showForm([, textOf, whole], into, true), {class: "small"}));
  replace(into, element("pre", {class: "body", dir: "ltr", tabindex: "0", "aria-label": "Body of the job"}, visibleLines(textOf(most))), rest);
}

function bodyShown(job) {
  const forms = formsOf(job);
  const isValue = job.body !== undefined;
  const bytes = forms.at(-1)[2];
  const into = element("div", {});
  const choices = element("div", {class: "choices", role: "group", "aria-label": "How the body is shown"});
  const choose = (form) => {
    replace(choices, forms.map((each) => button(each[0], () => choose(each), {class: "small", "aria-pressed": String(each === form)})),
      copyButton(job.base64 ?? job.text ?? JSON.stringify(job.body), isValue ? "the body as JSON" : "the body"),
      element("span", {class: "quiet"}, [!isValue && size(bytes), job.content_type !== undefined && visible(job.content_type)].filter(Boolean).join(", ")));
    showForm(form, into);
  };
  choose(forms[0]);
  return bytes === 0 ? element("p", {class: "nothing"}, "It is empty.") : [choices, into];
}

/** The place of the body: which is asked for once for each version, and not at all while bodies are hidden. */
function bodyPlace(signal, refused) {
  const into = element("div", {});
  let version = null;  // which is shown
  /** Asks for the body; the function that shows it. */
  const fetched = async (job) => {
    try {
      const whole = await look("v1/job", {id: job.id}, signal);
      return () => {
        version = job.version;
        replace(into, bodyShown(whole));
      };
    } catch (error) {
      if (signal.aborted || error.status === 401) throw error;
      return () => {
        version = null;
        report(into, error);
      };
    }
  };
  const showThis = (job) => fetched(job).then((show) => show(), (error) => { if (!signal.aborted) refused(error); });
  const showHidden = (job) => replace(into, element("p", {class: "line"}, element("span", {class: "quiet"}, "Bodies are hidden."),
    button("Show this one", () => showThis(job), {class: "small"})));
  /** What shows the body of this job: asked for, if it is not there. */
  const update = async (job) => {
    if (job.version === version) return () => {};
    if (hides) return () => showHidden(job);
    const show = await fetched(job);
    return () => (hides ? showHidden(job) : show());  // it may have been told to hide it meanwhile
  };
  const forget = () => {
    version = null;
    replace(into);
  };
  return {into, update, forget};
}

/** Changes the job, if it still is what was shown. */
export const change = (job, method, path, json) =>
  ask(method, path, {json, headers: {"If-Match": `"${job.version}"`}});

export const about = (job) => element("p", {}, "Job ", job.id, job.key !== undefined && [" with the key ", name(job.key)], " in the tube ", name(job.tube), ".");

async function cancel(job, after) {
  const done = await asking({title: "Cancel the job?", text: [about(job), element("p", {}, "It is removed, and no worker gets it.")],
    yes: `Cancel job ${job.id}`, danger: true, act: () => change(job, "DELETE", `v1/jobs/${job.id}`)});
  if (done) tell(`Job ${job.id}: ${done.outcome}`);
  if (done) after();
}
async function fire(job, after) {
  const done = await asking({title: "Make the job ready now?", text: about(job), yes: "Fire it",
    act: () => change(job, "POST", `v1/jobs/${job.id}/fire`, {})});
  if (done) tell(`Job ${job.id}: ${done.outcome}`);
  if (done) after();
}
async function kick(job, after) {
  const done = await asking({title: "Kick the job?", text: [about(job), element("p", {}, "It becomes ready.")], yes: "Kick it",
    act: () => change(job, "POST", `v1/jobs/${job.id}/kick`, {})});
  if (done) tell(`Job ${job.id}: ${done.outcome}`);
  if (done) after();
}

/** The value of a field for a new due time: a length from now, or a time. */
export function whenIn(text) {
  const value = text.trim();
  return /^\d{4}-/.test(value) ? {due: value.replace(/^(\S+) (\S)/, "$1T$2")} : {delay: value};
}
export const whenField = (label, more = {}) => field(label, "input", {autocomplete: "off", spellcheck: "false",
  hint: "In how long, such as 10m or 1h30m; or a time, such as 2030-01-31T12:00:00Z", ...more});

async function move(job, after) {
  const when = whenField("New due time", {required: true});
  const done = await asking({title: "Move the job?", text: about(job), fields: [when], yes: "Move it",
    act: () => change(job, "POST", `v1/jobs/${job.id}/reschedule`, whenIn(when.control.value))});
  if (done) tell(`Job ${job.id}: ${done.outcome}`);
  if (done) after();
}

const buttonsFor = (job, after) => may("change") && job.state !== "reserved" && element("div", {class: "buttons"},
  button("Move…", () => move(job, after)),
  job.state !== "ready" && job.state !== "buried" && button("Fire…", () => fire(job, after)),
  job.state === "buried" && button("Kick…", () => kick(job, after)),
  button("Cancel…", () => cancel(job, after), {class: "danger"}));

const recordOf = (job, now) => facts(
  ["Id", [job.id, copyButton(job.id, "the id")]],
  ["Key", job.key !== undefined && [name(job.key), copyButton(job.key, "the key")]],
  ["Tube", link(address("tube", {tube: job.tube}), name(job.tube))],
  ["Schedule", job.schedule && [link(address("schedule", {tube: job.tube, name: job.schedule.name}), name(job.schedule.name)), ", for ", time(job.schedule.at, now)]],
  ["State", state(job.state)],
  ["Due", time(job.due, now)],
  ["Made", time(job.made, now)],
  ["Reserved until", job.reserved_until && time(job.reserved_until, now)],
  ["Held by", job.held_by !== undefined && name(job.held_by)],
  ["Priority", number(job.priority)],
  ["TTR", visible(job.ttr)],
  ["Counted", `${count(job.reserves)} reserved, ${count(job.timeouts)} timed out, ${count(job.releases)} released, ${count(job.buries)} buried, ${count(job.kicks)} kicked`],
  ["Group", job.group !== undefined && name(job.group)],
  ["Expires", job.expires && time(job.expires, now)],
  ["Content type", job.content_type !== undefined && visible(job.content_type)],
  ["Headers", job.headers && element("ul", {class: "headers"}, Object.entries(job.headers).map(([header, value]) => element("li", {}, name(header), ": ", name(value))))]);

export function showJob(at) {
  const {id, tube, key} = at.values;
  const record = element("div", {"aria-busy": "true"});
  const body = bodyPlace(at.signal, at.refused);
  const hiding = element("input", {type: "checkbox", id: "hiding", checked: hides});
  hiding.addEventListener("change", () => {
    keepHiding(hiding.checked);
    body.forget();
    at.refresh();
  });
  const title = id !== undefined ? ["Job ", visible(id)] : ["Job ", name(key ?? ""), " of ", name(tube ?? "")];
  const bodies = element("section", {"aria-labelledby": "body", hidden: true}, element("h2", {id: "body"}, "Body"),
    element("p", {class: "line"}, hiding, element("label", {for: "hiding"}, "Hide bodies until they are asked for")), body.into);
  replace(at.main, element("h1", {tabindex: "-1"}, title), at.wrong, record, bodies);
  return at.live(async () => {
    const job = await look("v1/job", id !== undefined ? {id, with_body: false} : {tube, key, with_body: false}, at.signal).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    });
    const why = job && await look("v1/job/why", {id: job.id}, at.signal).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    });
    const showBody = job && await body.update(job);
    return () => {
      record.removeAttribute("aria-busy");
      bodies.hidden = job === null;
      if (job === null) return replace(record, element("p", {class: "nothing"}, "There is no such job: it has ended, or never was."));
      const now = serverNow();
      replace(record, why && element("p", {class: "why"}, WAITS[why.waits]?.(why, now, job) ?? visible(why.waits)),
        buttonsFor(job, at.refresh), recordOf(job.held_by === undefined && why?.held_by !== undefined ? {...job, held_by: why.held_by} : job, now),
        triesShown(job, now));
      showBody();
    };
  });
}
