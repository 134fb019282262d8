// Policies of tubes: a list of them, that of a tube in one table, and the form that sets it.
import {hasAllTubes, may} from "./access.js";
import {ask, look, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {acceptField, address, button, element, field, link, name, refuseField, replace, report, shortTime, table, tell, time, trouble} from "./document.js";
import {count, visible} from "./texts.js";

const ON_A_PAGE = 50;

/** A number; what somebody has written instead, as it is. */
const counted = (value) => (typeof value === "number" ? count(value) : visible(value));
const bound = (value) => (value === 0 ? "any number" : counted(value));
const yesOrNo = (value) => (value ? "yes" : "no");
const isLengthZero = (value) => value === "0s" || value === 0;

/** What a delay means in words. */
function delayText(delay) {
  const {first = "0s", factor = 1, most, listed, jitter = 0} = Array.isArray(delay) ? {listed: delay} : typeof delay === "object" ? delay : {first: delay};
  const longer = jitter > 0 ? `, each longer by up to ${visible(Math.round(jitter * 10000) / 100)} %` : "";
  if (listed !== undefined) return visible(listed.join(", ")) + (listed.length > 1 ? ", and the last one from then on" : ", each time") + longer;
  if (factor === 1) return (isLengthZero(first) ? "none: it is ready at once" : visible(first) + ", each time") + longer;
  return `${visible(first)}, each ${visible(factor)} times the one before, at most ${visible(most ?? "1d")}` + longer;
}

/** The members in their order: what each is without a policy, how it is told, and what it does. */
const MEMBERS = [
  {name: "tries", title: "Tries", usual: 0, told: (value) => (value === 0 ? "no last try" : counted(value)), what: "After so many failed tries a job is tried no more."},
  {name: "counts_releases", title: "A release counts", usual: true, told: yesOrNo, what: "Whether a release by the worker is a failed try."},
  {name: "counts_timeouts", title: "A timeout counts", usual: true, told: yesOrNo, what: "Whether the end of a TTR is one."},
  {name: "delay", title: "Delay", usual: "0s", told: delayText, what: "How long a job waits after a failed try."},
  {name: "dead_letters", title: "After the last try", usual: "", told: (value) => (value === "" ? "buried in this tube" : ["moved to ", link(address("tube", {tube: value}), name(value))]),
    what: "Where a job goes that has had its last try."},
  {name: "expires", title: "Expires", usual: "0s", told: (value) => (isLengthZero(value) ? "never" : visible(value)), what: "How long a job may wait since its due time; then it ends, and no worker gets it."},
  {name: "most_reserved", title: "Most reserved", usual: 0, told: bound, what: "So many jobs of the tube are reserved at once."},
  {name: "most_reserved_of_group", title: "Most reserved of a group", usual: 0, told: bound, what: "So many of those with the same group are."},
  {name: "most_per_second", title: "Most a second", usual: 0, told: bound, what: "So many are reserved within a second, in the mean."},
  {name: "burst", title: "Burst", usual: 1, told: counted, what: "How many at once, if none was reserved for long."},
];
const valueOf = (policy, member) => policy?.[member.name] ?? member.usual;
const isUsual = (policy, member) => policy?.[member.name] === undefined;
const hides = (known, member) => known?.hidden?.includes(member.name) === true;
const UNSEEN = "moved to a tube that is out of the rights of this access token";
const usualLabel = () => element("span", {class: "label usual"}, "default");

function toldOf(known, member) {
  if (hides(known, member)) return UNSEEN;
  const told = member.told(valueOf(known?.policy, member));
  return isUsual(known?.policy, member) ? [element("span", {class: "quiet"}, told), " ", usualLabel()] : told;
}

/** The policy of the tube; null if it has none. Throws as look(). */
export const policyOf = (tube, signal) => look("v1/policy", {tube}, signal).catch((error) => {
  if (error.status === 404 || error.status === 501) return null;
  throw error;
});

/** What policies did to jobs: an answer of /v1/statistics. It is of the server, for it does not count by tube. */
export function policyCounts({policies}) {
  if (policies === undefined) return null;
  const {retried, buried, dead_letters: dead, expired, parked} = policies;
  return `${count(retried)} tried again, ${count(buried)} buried after their last try, ${count(dead)} moved to dead letters, ` +
    `${count(expired)} expired, ${count(parked)} held back for others of their group`;
}

async function remove(known, after) {
  const done = await asking({title: "Remove the policy?", text: [element("p", {}, "The policy of the tube ", name(known.tube), "."),
    element("p", {}, "From then on no try is the last one, nothing expires, and any number is reserved at once. Jobs stay where they are.")],
  yes: "Remove it", danger: true, act: () => ask("DELETE", "v1/policy", {query: {tube: known.tube}, headers: {"If-Match": `"${known.version}"`}})});
  if (!done) return;
  tell(`Policy of ${known.tube}: ${done.outcome}`);
  after();
}

/** The policy as a part of its tube's place. `statistics`: null for those that may not have them. */
export function policyShown(tube, known, statistics, now, after) {
  const counts = known && statistics && policyCounts(statistics);
  const at = known && ["Changed ", time(known.changed, now), "."];
  return [element("h2", {id: "policy"}, "Policy"),
    known?.fault !== undefined && element("p", {class: "trouble"}, "Its record cannot be read: ", visible(known.fault), ". Below is what is in force at this server."),
    element("p", {class: "quiet"}, known === null ? "The tube has no policy: all members have their defaults." : at,
      counts && [" Of all tubes, since the start of the server: ", counts, "."]),
    may("administer") && element("div", {class: "buttons"},
      element("a", {class: "button", href: address("policy", {tube})}, known === null ? "Set a policy…" : "Change the policy…"),
      known !== null && button("Remove the policy…", () => remove(known, after), {class: "danger"})),
    table("Policy", [
      {title: "Member", cell: (row) => row.title},
      {title: "Value", cell: (row) => toldOf(known, row)},
      {title: "What it does", cell: (row) => element("span", {class: "quiet"}, row.what)}],
    MEMBERS.filter((each) => each.name !== "burst" || !isUsual(known?.policy, {name: "most_per_second"})), "")];
}

// The form

const text = (label, value, more = {}) => field(label, "input", {value, autocomplete: "off", spellcheck: "false", ...more});
const whole = (label, value, more) => text(label, value === 0 ? "" : String(value), {inputmode: "numeric", ...more});

function fieldsFor(policy, hidden) {
  const value = (member) => policy[member];
  const delay = value("delay") ?? "";
  const parts = Array.isArray(delay) ? {listed: delay} : typeof delay === "object" ? delay : {first: delay};
  const shown = (it) => (it === undefined ? "" : String(it));
  const choice = (label, it) => field(label, "select", {value: String(it ?? true)}, [["true", "yes"], ["false", "no"]]);
  return {
    tries: whole("Tries", value("tries") ?? 0, {hint: "After so many failed tries a job is tried no more. Empty: there is no last try."}),
    dead_letters: text("Dead letters", shown(value("dead_letters")), {maxlength: 200,
      hint: hidden ? "They are a tube that is out of the rights of this access token: to set the policy here takes them away." : "The tube to which a job goes after its last try. Empty: it is buried in its own."}),
    expires: text("Expires", shown(value("expires")), {hint: "How long a job may wait since its due time, such as 5m; then it ends. Empty: for ever."}),
    delay: text("Delay", (parts.listed ?? [shown(parts.first)]).join(" "), {hint: "After a failed try, such as 10s; or one for each, such as 1s 10s 5m, of which the last one is repeated. Empty: none."}),
    factor: text("Factor", shown(parts.factor), {inputmode: "decimal", hint: "Each delay is so many times the one before, 1 to 100. Empty: 1."}),
    most: text("Longest delay", shown(parts.most), {hint: "Where delays grow, such as 1h. Empty: a day."}),
    jitter: text("Jitter", shown(parts.jitter), {inputmode: "decimal", hint: "Each delay is longer by up to this part of itself, 0 to 1. Empty: 0."}),
    counts_releases: choice("A release counts as a failed try", value("counts_releases")),
    counts_timeouts: choice("The end of a TTR counts as one", value("counts_timeouts")),
    most_reserved: whole("Most reserved", value("most_reserved") ?? 0, {hint: "So many of the tube at once. Empty: any number."}),
    most_reserved_of_group: whole("Most reserved of a group", value("most_reserved_of_group") ?? 0, {hint: "So many of those with the same group. Empty: any number."}),
    most_per_second: whole("Most a second", value("most_per_second") ?? 0, {hint: "So many are reserved within a second. Empty: any number."}),
    burst: whole("Burst", value("burst") ?? 0, {hint: "How many at once, if none was reserved for long. Empty: 1."}),
  };
}

/** A number as one, and else as what it is: the server says what is wrong with it. */
const numberIn = (written) => (/^\d+(\.\d+)?$/.test(written) ? Number(written) : written);

/** The policy that the fields say: what is empty is left out. */
function policyIn(value) {
  const policy = {};
  for (const each of ["tries", "most_reserved", "most_reserved_of_group", "most_per_second", "burst"]) if (value(each) !== "") policy[each] = numberIn(value(each));
  for (const each of ["counts_releases", "counts_timeouts"]) if (value(each) === "false") policy[each] = false;
  for (const each of ["dead_letters", "expires"]) if (value(each) !== "") policy[each] = value(each);
  const delays = value("delay").split(/[\s,]+/).filter((each) => each !== "");
  const more = {};
  for (const each of ["factor", "jitter"]) if (value(each) !== "") more[each] = numberIn(value(each));
  if (value("most") !== "") more.most = value("most");
  const isPlain = Object.keys(more).length === 0;
  if (delays.length > 1) policy.delay = isPlain ? delays : {listed: delays, ...more};
  else if (!isPlain) policy.delay = delays.length === 1 ? {first: delays[0], ...more} : more;
  else if (delays.length === 1) [policy.delay] = delays;
  return policy;
}

/** The field with the value to which a JSON pointer leads; undefined: none has it. */
function fieldAt(fields, pointer) {
  const [member, part] = (pointer ?? "").replace(/^#\//, "").split("/");
  return member === "delay" ? fields[part] ?? fields.delay : fields[member];
}

/** What would change, as a list. */
function changesOf(known, policy) {
  const changed = MEMBERS.filter((each) => hides(known, each) || JSON.stringify(valueOf(known?.policy, each)) !== JSON.stringify(valueOf(policy, each)));
  if (changed.length === 0) return element("p", {}, "Nothing changes.");
  return table("What changes", [
    {title: "Member", cell: (row) => row.title},
    {title: "So far", cell: (row) => element("span", {class: "quiet"}, hides(known, row) ? UNSEEN : row.told(valueOf(known?.policy, row)))},
    {title: "From now on", cell: (row) => [row.told(valueOf(policy, row)), isUsual(policy, row) && [" ", usualLabel()]]}], changed, "");
}

/** Whether the server has said what is wrong with the policy itself. */
const isWrongValue = (error) => error.status === 400;

/** Shows the form in its place, below the heading, which keeps the focus. `known`: the policy as it is, with its version; null: there is none. */
function showForm(at, heading, into, tube, known) {
  const isNew = known === null;
  const fields = fieldsFor(known?.policy ?? {}, known?.hidden !== undefined);
  const value = (which) => fields[which].control.value.trim();
  const wrong = element("div", {});
  const form = element("form", {class: "put"}, Object.values(fields).map((each) => each.whole), wrong,
    element("div", {class: "buttons"}, element("button", {type: "submit", class: "main"}, isNew ? "Set the policy…" : "Change the policy…"),
      element("a", {class: "button", href: address("tube", {tube})}, "Back to the tube")));
  const refuse = (error) => {
    const place = fieldAt(fields, error.pointer);
    if (place) refuseField(place, error);
    else replace(wrong, trouble(error));
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    replace(wrong);
    Object.values(fields).forEach(acceptField);
    const policy = policyIn(value);
    const text = [element("p", {}, "Of the tube ", name(tube), ". It holds for the jobs that are there, too."), changesOf(known, policy)];
    // It is set only if there is none, and changed only if nobody else has changed it.
    const headers = isNew ? {"If-None-Match": "*"} : {"If-Match": `"${known.version}"`};
    const act = () => ask("PUT", "v1/policy", {query: {tube}, json: policy, headers}).catch((error) => {
      if (isWrongValue(error)) return {refused: error};
      throw error;
    });
    const done = await asking({title: isNew ? "Set the policy?" : "Change the policy?", text, yes: isNew ? "Set it" : "Change it", act});
    if (!done) return;
    if (done.refused) return refuse(done.refused);
    tell(`Policy of ${tube}: ${done.outcome}`);
    if (may("look")) location.hash = address("tube", {tube});
  });
  replace(heading, isNew ? "Set a policy for " : "Change the policy of ", name(tube));
  into.removeAttribute("aria-busy");
  replace(into, element("p", {class: "quiet"}, "What is left empty has its default."),
    known?.fault !== undefined && element("p", {class: "trouble"}, "The record of the policy cannot be read: ", visible(known.fault), ". To set it here puts another one in its place."), form);
}

export async function showPolicy(at) {
  const {tube = ""} = at.values;
  const into = element("div", {"aria-busy": "true"});
  const heading = element("h1", {tabindex: "-1"}, "Policy of ", name(tube));
  replace(at.main, heading, at.wrong, into);
  try {
    const known = may("look") ? await policyOf(tube, at.signal) : null;
    if (!at.signal.aborted) showForm(at, heading, into, tube, known);
  } catch (error) {
    if (at.signal.aborted) return;
    if (error.status === 401) return at.refused(error);
    into.removeAttribute("aria-busy");
    report(at.wrong, error);
  }
}

export function showPolicies(at) {
  const {prefix = "", cursor = ""} = at.values;
  const search = text("Tubes that begin with", prefix, {maxlength: 200});
  const form = element("form", {class: "line", role: "search"}, search.whole, element("button", {type: "submit"}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("policies", {prefix: search.control.value});
  });
  const list = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Policies of tubes"),
    element("p", {class: "quiet"}, "Tubes that are not here have the defaults: no last try, no expiry, no limits."), form, at.wrong, list);
  return at.live(async () => {
    const [page, statistics] = await Promise.all([
      look("v1/policies", {prefix, cursor, count: ON_A_PAGE}, at.signal), hasAllTubes() ? look("v1/statistics", {}, at.signal) : null]);
    return () => {
      const now = serverNow(), counts = statistics && policyCounts(statistics);
      const columns = MEMBERS.filter((each) => ["tries", "delay", "dead_letters", "expires"].includes(each.name))
        .map((each) => ({title: each.title, cell: (row) => toldShortly(row, each)}));
      replace(list, counts && element("p", {class: "quiet"}, "Since the start of the server that has answered: ", counts, "."),
        table("Policies", [{title: "Tube", cell: (row) => link(address("tube", {tube: row.tube}), name(row.tube))}, ...columns,
          {title: "Limits", cell: limitsOf}, {title: "Changed", cell: (row) => shortTime(row.changed, now)}], page.policies, page.next ? "No policy on this page: others may follow." : "There are no such policies."),
        element("nav", {class: "pages", "aria-label": "Pages of policies"},
          cursor && link(address("policies", {prefix}), "First page"),
          page.next && link(address("policies", {prefix, cursor: page.next}), "Next page")));
      list.removeAttribute("aria-busy");
    };
  });
}

const LIMITS = [["most_reserved", "at once"], ["most_reserved_of_group", "of a group"], ["most_per_second", "a second"]];
function limitsOf({policy = {}}) {
  const all = LIMITS.filter(([member]) => policy[member] > 0).map(([member, what]) => element("div", {}, `${count(policy[member])} ${what}`));
  return all.length > 0 ? all : element("span", {class: "quiet"}, "none");
}

/** A value in a list, where what is as by default is quiet. */
function toldShortly(known, member) {
  if (hides(known, member)) return UNSEEN;
  const told = member.told(valueOf(known.policy, member));
  return isUsual(known.policy, member) ? element("span", {class: "quiet"}, told) : told;
}
