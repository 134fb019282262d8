// Targets of tubes, to which the server delivers jobs by HTTP: a list of them, and one with its last deliveries.
//
// Of a secret only its name is here: the server tells no more of it.
import {may} from "./access.js";
import {ask, look, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {address, button, element, facts, field, lines, link, listOf, name, replace, shortTime, state, table, tell, time} from "./document.js";
import {about, change} from "./job.js";
import {jobTable} from "./jobs.js";
import {count, many, took, visible} from "./texts.js";
import {gained, Looks} from "./times.js";
import {DELIVERY_OUTCOMES} from "./tries.js";

const ON_A_PAGE = 50;
const WAITING = 20;  // buried jobs that are shown with a target
const CIRCUITS = {closed: "closed", open: "open", half_open: "half open: one job is tried"};
const THEN = {done: "the job is done", again: "it is tried again", buried: "it was buried", kept: "it stays, ready", lost: "its reservation had ended", none: ""};
const wordOf = (words, word) => words[word] ?? visible(word);

/** Why nothing is delivered, if nothing is. */
const whyIdle = (row) => (row.state === "disabled" && row.by === "receiver" ? "It has answered 410: it wants no more." : row.reason !== undefined && visible(row.reason));
const circuitOf = ({circuit, failures_in_a_row: failures, closed_until: until, held_until: held}, now) => lines(wordOf(CIRCUITS, circuit),
  until !== undefined && ["tried again ", shortTime(until, now)], failures > 0 && many(failures, "failure") + " in a row",
  held !== undefined && Date.parse(held) > now && ["held by its Retry-After, again ", shortTime(held, now)]);
/** Numbers of which the first one is always told, and the others only if they are not 0. */
const numbers = ([first, word], ...others) => lines(counted(first, word), ...others.map(([value, what]) => value > 0 && counted(value, what)));
const counted = (value, word) => element("span", {class: "clock"}, `${count(value)} ${word}`);
const waitingIn = ({jobs}) => jobs && numbers([jobs.ready, jobs.at_least ? "ready, or more" : "ready"], [jobs.reserved, "under way"], [jobs.delayed, "later"], [jobs.buried, "buried"]);
const limitOf = (target) => `at most ${count(target.at_once)} at once` + (target.each_second > 0 ? `, ${count(target.each_second)} a second` : "");
const ended = (deliveries) => (deliveries === undefined ? 0 : deliveries.delivered + deliveries.failed);

/** The deliveries that have ended a second, since the last look at the same process. */
const rateOf = (change, tube) => gained(change, (value) => ended(value.webhooks.find((each) => each.tube === tube)?.deliveries));

const ofNode = ({server}) => server.node !== undefined && [" Circuits, rates and deliveries are those of the node ", name(server.node), ", which has answered."];

export function showTargets(at) {
  const {prefix = "", cursor = ""} = at.values;
  const search = field("Tubes that begin with", "input", {value: prefix, autocomplete: "off", spellcheck: "false", maxlength: 200});
  const form = element("form", {class: "line", role: "search"}, search.whole, element("button", {type: "submit"}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("targets", {prefix: search.control.value});
  });
  const list = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Targets of webhooks"), form, at.wrong, list);
  const looks = new Looks();
  return at.live(async () => {
    const page = await look("v1/webhooks", {prefix, cursor, count: ON_A_PAGE, with_jobs: may("look")}, at.signal);
    const change = looks.add({at: performance.now(), value: page});
    return () => {
      const now = serverNow();
      replace(list, element("p", {class: "quiet"}, "Tubes whose jobs the server delivers by HTTP: nobody else reserves from them.", ofNode(page)), table("Targets", [
        {title: "Tube", cell: (row) => lines(link(address("target", {tube: row.tube}), name(row.tube)), row.target && name(row.target.url))},
        {title: "State", cell: (row) => lines(state(row.state), whyIdle(row))},
        {title: "Circuit", cell: (row) => row.deliveries && circuitOf(row.deliveries, now)},
        may("look") && {title: "Jobs", cell: waitingIn},
        {title: "Rate", cell: (row) => lines(rateOf(change, row.tube), row.target && limitOf(row.target))},
        {title: "Since the start", cell: ({deliveries: all}) => all && numbers([all.delivered, "delivered"], [all.failed, "failed"], [all.buried, "buried"])}].filter(Boolean), page.webhooks, "No tube has a target."),
      element("nav", {class: "pages", "aria-label": "Pages of targets"},
        cursor && link(address("targets", {prefix}), "First page"),
        page.next && link(address("targets", {prefix, cursor: page.next}), "Next page")));
      list.removeAttribute("aria-busy");
    };
  });
}

/** Changes the target, if it still is what was shown. */
const changeTarget = (one, what, json) => ask("POST", `v1/webhook/${what}`, {query: {tube: one.tube}, json, headers: {"If-Match": `"${one.version}"`}});
const ofTube = (one) => element("p", {}, "The target of the tube ", name(one.tube), ".");

async function enable(one, after) {
  const done = await asking({title: "Enable the target?", text: [ofTube(one), element("p", {}, "Deliveries go on, with the jobs that wait, and the circuit is closed.")], yes: "Enable it",
    act: () => changeTarget(one, "enable", {})});
  if (!done) return;
  tell(`Target of ${one.tube}: ${done.outcome}`);
  after();
}
async function disable(one, after) {
  const note = field("Note", "input", {autocomplete: "off", maxlength: 400, hint: "Why, for those who wonder. It may be left out."});
  const done = await asking({title: "Disable the target?", text: [ofTube(one), element("p", {}, "Nothing more is delivered: its jobs wait, and nobody reserves them. What is under way comes to its end.")],
    fields: [note], yes: "Disable it", act: () => changeTarget(one, "disable", note.control.value === "" ? {} : {note: note.control.value})});
  if (!done) return;
  tell(`Target of ${one.tube}: ${done.outcome}`);
  after();
}
async function test(one, after) {
  const done = await asking({title: "Send a test message?", text: [ofTube(one), element("p", {}, "A message of the server's own, signed as others are, goes there now, whatever the state of the target. No job is sent.")],
    yes: "Send it", act: () => ask("POST", "v1/webhook/test", {query: {tube: one.tube}, json: {}})});
  if (!done) return;
  const isGood = done.outcome === "delivered";
  tell(`The test was ${wordOf(DELIVERY_OUTCOMES, done.outcome)}` + (done.status !== undefined ? `, ${done.status}` : "") + `, in ${took(done.milliseconds)}` + (done.reason !== undefined ? `: ${done.reason}` : ""), !isGood);
  after();
}

/** Sends a job again that was buried, or that waits for its next try. */
async function sendAgain(id, after) {
  let job;
  try {
    job = await look("v1/job", {id, with_body: false});
  } catch (error) {
    return tell(error.status === 404 ? `Job ${id} has ended: it cannot be sent again` : error.message, true);
  }
  const how = {buried: "kick", delayed: "fire"}[job.state];
  if (how === undefined) return tell(`Job ${id} is ${job.state}: it is sent without that`);
  const done = await asking({title: "Send the job again?", text: [about(job), element("p", {}, "It gets one more try, now. The receiver sees the same webhook-id as before.")], yes: "Send it again",
    act: () => change(job, "POST", `v1/jobs/${job.id}/${how}`, {})});
  if (!done) return;
  tell(`Job ${id}: ${done.outcome}`);
  after();
}
const againButton = (id, after) => button("Send again…", () => sendAgain(id, after), {class: "small", "aria-label": `Send again… job ${id}`});

function deliveryTable(all, now, after) {
  const seen = new Set();  // jobs whose latest delivery is above
  const mayGoAgain = all.map((each) => {
    const isLatest = each.job !== undefined && !seen.has(each.job);
    seen.add(each.job);
    return isLatest && (each.then === "again" || each.then === "buried");
  });
  const columns = [
    {title: "When", cell: (row) => lines(shortTime(row.at, now), row.then !== undefined && row.then !== "none" && [wordOf(THEN, row.then), row.next !== undefined && [", ", shortTime(row.next, now)]])},
    {title: "Job", cell: (row) => row.job === undefined ? element("span", {class: "quiet"}, "a test") : lines(link(address("job", {id: row.job}), row.job), row.key !== undefined && name(row.key))},
    {title: "Attempt", number: true, cell: (row) => row.job !== undefined && count(row.attempt)},
    {title: "Answer", cell: (row) => lines([row.status !== undefined && `${visible(row.status)}, `, wordOf(DELIVERY_OUTCOMES, row.outcome)], row.address !== undefined && name(row.address))},
    {title: "Took", number: true, cell: (row) => took(row.milliseconds)},
    {title: "Error", cell: (row) => (row.reason !== undefined || row.answer !== undefined) && lines(visible(row.reason ?? ""), row.answer !== undefined && row.outcome !== "delivered" && ["it said: ", name(row.answer)])},
    may("change") && may("look") && mayGoAgain.includes(true) && {title: "Again", cell: (row) => mayGoAgain[all.indexOf(row)] && againButton(row.job, after)}];
  return table("Deliveries, the latest first", columns.filter(Boolean), all, "None so far, at this server.");
}

function targetFacts(one, now) {
  const {target, deliveries} = one;
  if (target === undefined) return null;
  return facts(
    ["URL", name(target.url)],
    ["Secret", ["the one with the name ", name(target.secret)]],
    ["Circuit", deliveries && circuitOf(deliveries, now)],
    ["Under way", deliveries && count(deliveries.under_way)],
    ["Since the start", deliveries && `${count(deliveries.delivered)} delivered, ${count(deliveries.failed)} failed, ${many(deliveries.buried, "job")} buried after the last try`],
    ["Limits", limitOf(target) + (target.burst > 0 ? `, a burst of ${count(target.burst)}` : "")],
    ["Time-out", visible(target.time_out)],
    ["Tries", `${count(target.tries)}, after ${visible(target.delays.join(", "))}`],
    ["Circuit opens", target.failures_to_open === 0 ? "never" : `after ${many(target.failures_to_open, "failure")} in a row, for ${visible(target.first_pause)}, then longer, up to ${visible(target.longest_pause)}`],
    ["Content type", visible(target.content_type)],
    ["Headers", Object.keys(target.headers ?? {}).length > 0 && listOf(Object.entries(target.headers).map(([header, value]) => [name(header), ": ", name(value)]))],
    ["Made", one.made && time(one.made, now)],
    [one.state === "disabled" ? "Disabled" : "Enabled", one.since && [time(one.since, now), one.by !== undefined && [", by ", one.by === "receiver" ? "its answer 410" : name(one.by)]]]);
}

export function showTarget(at) {
  const {tube = ""} = at.values;
  const into = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Target of ", name(tube)), at.wrong, into);
  return at.live(async () => {
    const one = await look("v1/webhook", {tube}, at.signal).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    });
    const [last, buried] = one === null ? [] : await Promise.all([look("v1/webhook/deliveries", {tube}, at.signal),
      may("look") ? look("v1/jobs", {tube, state: "buried", count: WAITING, with_tries: true}, at.signal) : null]);
    return () => {
      into.removeAttribute("aria-busy");
      if (one === null) return replace(into, element("p", {class: "nothing"}, "The tube has no target."));
      const now = serverNow(), why = whyIdle(one);
      replace(into, element("p", {class: one.state === "active" ? "why" : "trouble"}, state(one.state), why && [" ", why]),
        element("div", {class: "buttons"},
          one.target && (one.state === "disabled" ? button("Enable…", () => enable(one, at.refresh)) : button("Disable…", () => disable(one, at.refresh))),
          one.target && button("Send a test…", () => test(one, at.refresh)),
          element("a", {class: "button", href: address("tube", {tube})}, "The tube and its jobs")),
        targetFacts(one, now),
        element("h2", {}, "Last deliveries"),
        last.server.node !== undefined && element("p", {class: "quiet"}, "Of the node ", name(last.server.node), ", which has answered."),
        deliveryTable(last.deliveries, now, at.refresh),
        buried?.jobs.length > 0 && [element("h2", {}, "Buried after their last try"),
          jobTable(buried.jobs, now, "", may("change") ? [{title: "Again", cell: (row) => againButton(row.id, at.refresh)}] : []),
          element("p", {}, link(address("jobs", {tube, state: "buried"}), "All of them"),
            may("change") && [", or ", link(address("change", {tube, state: "buried", do: "kick"}), "send many of them again…")])]);
    };
  });
}
