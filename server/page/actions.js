// Changes of many jobs: a filter, the exact number of jobs that it names, and then the run with its progress.
import {hasAllTubes} from "./access.js";
import {ask, look, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {address, button, element, facts, field, link, name, number, replace, state, table, tell, time, trouble} from "./document.js";
import {whenField, whenIn} from "./job.js";
import {count, many, visible} from "./texts.js";

const VERBS = {cancel: ["Cancel", "cancelled"], kick: ["Kick", "kicked"], fire: ["Fire", "made ready"], reschedule: ["Move", "moved"]};
const OUTCOMES = {gone: "have ended before", reserved: "are with a worker", refused: "are in another state", changed: "do not fit any more", unknown: "were in a piece whose process has died"};

const filterText = ({tube, prefix, state: of, key_prefix: key, text}) => [
  tube !== undefined ? ["of the tube ", name(tube)] : prefix ? ["of the tubes that begin with ", name(prefix)] : "of all tubes",
  of !== undefined && [", ", of], key !== undefined && [", whose key begins with ", name(key)], text !== undefined && [", with the text ", name(text)]];
const titleOf = (action) => `${VERBS[action.do][0]} jobs`;

export function showChange(at) {
  const {tube = "", prefix = "", state: of = "", key_prefix: begin = "", text: body = "", do: wanted = "cancel"} = at.values;
  const text = (label, value, more = {}) => field(label, "input", {value, autocomplete: "off", spellcheck: "false", ...more});
  const fields = {
    what: field("Do", "select", {value: Object.hasOwn(VERBS, wanted) ? wanted : "cancel"}, Object.entries(VERBS).map(([word, [verb]]) => [word, verb.toLowerCase()])),
    when: whenField("New due time, for a move"),
    tube: text("Jobs of the tube", tube),
    prefix: text("or of the tubes that begin with", prefix, {hint: hasAllTubes() ? "Neither of the two: all tubes." : "Neither of the two: all tubes of this access token."}),
    state: field("State", "select", {value: of === "reserved" ? "" : of}, [["", "any"], ["delayed", "delayed"], ["ready", "ready"], ["buried", "buried"]]),
    key: text("Key begins with", begin),
    text: text("Text in the body", body, {maxlength: 1000}),
  };
  const wrong = element("div", {});
  const form = element("form", {class: "put"}, Object.values(fields).map((each) => each.whole), wrong,
    element("div", {class: "buttons"}, element("button", {type: "submit", class: "main"}, "Count the jobs")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const value = (which) => fields[which].control.value;
    const json = {do: value("what")};
    if (json.do === "reschedule") Object.assign(json, whenIn(value("when")));
    if (value("tube") !== "") json.tube = value("tube");
    else json.prefix = value("prefix");
    if (value("state") !== "") json.state = value("state");
    if (value("key") !== "") json.key_prefix = value("key");
    if (value("text") !== "") json.text = value("text");
    try {
      const made = await ask("POST", "v1/actions", {json});
      location.hash = address("action", {id: made.id});
    } catch (error) {
      if (error.status === 401) return at.refused(error);
      replace(wrong, trouble(error));
    }
  });
  replace(at.main, element("h1", {tabindex: "-1"}, "Change many jobs"),
    element("p", {class: "quiet"}, "The jobs are counted first, and nothing changes. You see the exact number before you start."), form);
}

async function run(action, refresh) {
  const [verb] = VERBS[action.do];
  const done = await asking({title: `${verb} ${many(action.counted, "job")}?`, text: element("p", {}, "Jobs ", filterText(action.filter), ". Each is looked at again at its turn, and left alone if it does not fit any more."),
    yes: `${verb} ${many(action.counted, "job")}`, danger: action.do === "cancel",
    act: () => ask("POST", `v1/actions/${action.id}/run`, {json: {counted: action.counted}})});
  if (done) tell("It runs");
  if (done) refresh();
}
async function stop(action, refresh) {
  const done = await asking({title: "Stop it?", text: element("p", {}, "What is done stays done."), yes: "Stop", act: () => ask("POST", `v1/actions/${action.id}/stop`, {json: {}})});
  if (done) refresh();
}
async function forgetAction(action) {
  const done = await asking({title: "Forget it?", text: element("p", {}, "Its record is removed. No job changes."), yes: "Forget", act: () => ask("DELETE", `v1/actions/${action.id}`)});
  if (done) location.hash = address("actions");
}

function progressOf(action) {
  if (!action.outcomes) return null;
  const ended = Object.values(action.outcomes).reduce((one, other) => one + other, 0);
  const most = Math.max(action.counted, ended, 1);
  const others = Object.entries(OUTCOMES).filter(([word]) => action.outcomes[word] > 0);
  return [element("div", {class: "progress"},
    element("progress", {max: most, value: ended, "aria-label": "Progress"}),
    element("span", {}, `${count(ended)} of ${count(action.counted)}`)),
  element("p", {}, `${many(action.outcomes.done, "job")} ${VERBS[action.do][1]}`, others.map(([word, told]) => `; ${count(action.outcomes[word])} ${told}`), ".")];
}

const SAYS = {
  counting: (action) => `It counts: ${many(action.counted, "job")} so far. Nothing changes.`,
  counted: (action) => `${many(action.counted, "job")} would be ${VERBS[action.do][1]}. Nothing has changed.`,
  running: () => "It runs.",
  done: () => "It is done.",
  stopped: (action) => "It was stopped" + (action.reason ? ": " + visible(action.reason) : "") + ".",
};

const differencesOf = ({differences}) => differences && differences.jobs.length > 0 && [
  element("h2", {}, "Jobs that were not done"),
  table("Jobs that were not done", [{title: "Job", cell: (row) => link(address("job", {id: row.id}), row.id)}, {title: "Outcome", cell: (row) => visible(row.outcome ?? "")}],
    differences.jobs, "")];

export function showAction(at) {
  const {id = ""} = at.values;
  const into = element("div", {"aria-busy": "true"});
  const says = element("p", {class: "why", role: "status"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Change ", visible(id)), at.wrong, says, into);
  let isAtWork = false;
  const show = (action) => {
    const text = SAYS[action.state](action);
    if (text !== says.textContent) says.textContent = text;
    isAtWork = action.state === "counting" || action.state === "running";
    replace(into, progressOf(action),
      element("div", {class: "buttons"},
        action.state === "counted" && action.counted > 0 && button(`${VERBS[action.do][0]} ${many(action.counted, "job")}…`, () => run(action, at.refresh), {class: action.do === "cancel" ? "danger" : "main"}),
        isAtWork && !action.stopping && button("Stop…", () => stop(action, at.refresh)),
        !isAtWork && button("Forget…", () => forgetAction(action)),
        element("a", {class: "button", href: address("actions")}, "All changes")),
      facts(["Do", titleOf(action)], ["Jobs", filterText(action.filter)], ["State", state(action.state)], ["Made", time(action.made, serverNow())],
        ["Counted", number(action.counted)], ["New due time", action.due ? time(action.due, serverNow()) : action.delay && visible(action.delay) + " from the start"],
        ["Searched in part", action.searched_in_part > 0 && many(action.searched_in_part, "long text")],
        ["Kept", action.kept_until && time(action.kept_until, serverNow())]),
      differencesOf(action));
    into.removeAttribute("aria-busy");
  };
  // While it is at work the progress is asked for each second: the record of one action costs little.
  return at.live(async () => {
    const action = await look(`v1/actions/${encodeURIComponent(id)}`, {}, at.signal);
    return () => show(action);
  }, () => (isAtWork ? 1000 : 5000));
}

export function showActions(at) {
  const list = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Changes of many jobs"),
    element("p", {}, element("a", {class: "button", href: address("change")}, "Change many jobs…")), at.wrong, list);
  return at.live(async () => {
    const {actions} = await look("v1/actions", {}, at.signal);
    return () => {
      replace(list, table("Changes", [
        {title: "Change", cell: (row) => link(address("action", {id: row.id}), row.id)},
        {title: "Do", cell: (row) => row.do},
        {title: "Jobs", cell: (row) => filterText(row.filter)},
        {title: "State", cell: (row) => state(row.state)},
        {title: "Counted", number: true, cell: (row) => number(row.counted)},
        {title: "Done", number: true, cell: (row) => row.outcomes && number(row.outcomes.done)}], actions.reverse(), "There are none of this access token."));
      list.removeAttribute("aria-busy");
    };
  });
}
