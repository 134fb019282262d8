// The tubes with their counts, what is due soon, and how the server is; and one tube.
import {hasAllTubes, may} from "./access.js";
import {ask, look, serverNow} from "./api.js";
import {asking} from "./asking.js";
import {address, button, element, facts, field, link, name, number, replace, shortTime, table, tell, time} from "./document.js";
import {dueCharts} from "./due.js";
import {jobTable} from "./jobs.js";
import {policyCounts, policyOf, policyShown} from "./policies.js";
import {count, length, many, visible} from "./texts.js";
import {gained, Looks, timeCharts} from "./times.js";

const TUBES_ON_A_PAGE = 50;
const NODES_ON_A_PAGE = 50;
const STATES = [["ready", "Ready"], ["reserved", "Reserved"], ["delayed", "Delayed"], ["buried", "Buried"]];

const tile = (title, value, more = {}) =>
  element("div", {class: "tile" + (more.class ? " " + more.class : "")}, element("dt", {}, title), element("dd", {}, value));

/** What is wrong with the server, in sentences. */
function warnings({server, tokens, tls}) {
  const all = [];
  if (!server.store_available) all.push("The database does not answer.");
  if (!server.has_room) all.push("There is no room for new jobs.");
  if (server.draining) all.push("The server drains: it takes no new jobs until its next start.");
  if (tokens && !tokens.file_is_good) all.push("The file of access tokens has a mistake: those of before are in force.");
  if (tls && !tls.files_are_good) all.push("The files of TLS cannot be used: the certificate of before is in force.");
  const left = tls ? new Date(tls.ends).getTime() - serverNow() : Infinity;
  if (left < 14 * 86400000) all.push(`The certificate ${left < 0 ? "has ended" : "ends in " + length(left)}.`);
  return all.map((each) => element("p", {class: "trouble"}, each));
}

/** The counts of all jobs, and what the server that has answered does. `change`: of Looks.add(). */
function summary(value, change) {
  const {jobs, server, connections} = value;
  const flow = (figure) => gained(change, (each) => each.flow[figure]);
  return [warnings(value), element("dl", {class: "tiles"},
    STATES.map(([state, title]) => tile(title, number(jobs[state], jobs.at_least), {class: state})),
    tile("Put", flow("put")), tile("Handed out", flow("reserved")), tile("Finished", flow("finished")), tile("Timeouts", flow("timed_out")),
    tile("Operations", gained(change, (each) => each.server.operations)),
    tile("Waiting workers", count(server.waiting)), connections && tile("Connections", count(connections.open))),
    value.policies?.tubes > 0 && element("p", {class: "quiet"}, link(address("policies"), many(value.policies.tubes, "policy", "policies")),
      ", since the start: ", policyCounts(value), ".")];
}

/** The nodes that share a database; nothing if there are none. */
function nodeTable({server, database}) {
  if (!database) return null;
  const now = new Date(database.time).getTime();
  const {nodes} = database;
  return [element("h2", {}, "Nodes"),
    table("The nodes that share the database", [
      {title: "Node", cell: (row) => [name(row.name), row.name === server.node && element("span", {class: "label"}, "has answered")]},
      {title: "Last heartbeat", cell: (row) => shortTime(row.heard, now)},
      {title: "Here since", cell: (row) => time(row.since, now)},
      {title: "Sessions", number: true, cell: (row) => count(row.sessions)}], nodes.slice(0, NODES_ON_A_PAGE), "The database knows no node."),
    nodes.length > NODES_ON_A_PAGE && element("p", {class: "quiet"}, `and ${number(nodes.length - NODES_ON_A_PAGE, database.at_least)} others`)];
}

const tubeLink = (tube) => link(address("tube", {tube}), name(tube));
function tubeTable(tubes, now) {
  const counts = STATES.map(([state, title]) => ({title, number: true, cell: (row) => {
    const text = number(row[state], row.at_least);
    return row[state] === 0 ? element("span", {class: "zero"}, text) : link(address("jobs", {tube: row.tube, state}), text);
  }}));
  return table("Tubes and the numbers of their jobs", [
    {title: "Tube", cell: (row) => [tubeLink(row.tube), row.paused_until && element("span", {class: "label"}, "paused, ends ", shortTime(row.paused_until, now)),
      row.has_target && element("span", {class: "label usual"}, "target")]},
    ...counts], tubes, "There are no tubes of this name: a tube is there while it has jobs.");
}

export function showTubes(at) {
  const {prefix = "", cursor = ""} = at.values;
  const search = field("Tubes that begin with", "input", {value: prefix, name: "prefix", autocomplete: "off", spellcheck: "false", maxlength: 200});
  const form = element("form", {class: "line", role: "search"}, search.whole, element("button", {type: "submit"}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("", {prefix: search.control.value});
  });
  const sum = element("section", {"aria-label": "The server"});
  const due = element("section", {"aria-label": "Due soon", class: "charts"});
  const times = element("section", {"aria-label": "Lateness and work", class: "charts"});
  const list = element("div", {"aria-busy": "true"});
  const nodes = element("section", {"aria-label": "Nodes"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Tubes"), at.wrong, sum, due, hasAllTubes() && times, form, list, nodes);
  const looks = new Looks();
  return at.live(async () => {
    const [statistics, counted, page] = await Promise.all([
      hasAllTubes() ? look("v1/statistics", {}, at.signal) : null,
      look("v1/due/counts", {at_most: 1000}, at.signal),
      look("v1/tubes", {prefix, cursor, count: TUBES_ON_A_PAGE}, at.signal)]);
    const change = statistics && looks.add({at: performance.now(), value: statistics});
    return () => {
      if (statistics) {
        replace(sum, summary(statistics, change));
        replace(times, timeCharts(statistics, change));
        replace(nodes, nodeTable(statistics));
      }
      replace(due, dueCharts(counted));
      replace(list, tubeTable(page.tubes, serverNow()), element("nav", {class: "pages", "aria-label": "Pages of tubes"},
        cursor && link(address("", {prefix}), "First page"),
        page.next && link(address("", {prefix, cursor: page.next}), "Next page")));
      list.removeAttribute("aria-busy");
    };
  });
}

async function pauseTube(tube, refresh) {
  const wanted = field("For how long", "input", {value: "1h", required: true, hint: "Such as 10m, 1h30m or 2d"});
  const done = await asking({title: "Pause the tube?", text: element("p", {}, "No job of ", name(tube), " is reserved until then. Those that workers have stay with them."),
    fields: [wanted], yes: "Pause", act: () => ask("POST", "v1/tube/pause", {json: {tube, length: wanted.control.value.trim()}})});
  if (done) tell(`${tube} is paused`);
  if (done) refresh();
}
async function resumeTube(tube, refresh) {
  const done = await asking({title: "End the pause?", text: element("p", {}, "Workers get jobs of ", name(tube), " again, at once."),
    yes: "Resume", act: () => ask("POST", "v1/tube/pause", {json: {tube, length: "0s"}})});
  if (done) tell(`${tube} is paused no more`);
  if (done) refresh();
}

export function showTube(at) {
  const {tube = ""} = at.values;
  const about = element("div", {"aria-busy": "true"});
  const next = element("div", {});
  const policy = element("section", {"aria-label": "Policy"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Tube ", name(tube)), at.wrong, about, next, policy);
  return at.live(async () => {
    const some = (state) => look("v1/jobs", {tube, state, count: 5, with_tries: true}, at.signal);
    const [seen, ready, delayed, buried, known] = await Promise.all([
      look("v1/tube", {tube}, at.signal), some("ready"), some("delayed"), some("buried"), policyOf(tube, at.signal)]);
    const statistics = known !== null && hasAllTubes() ? await look("v1/statistics", {}, at.signal) : null;
    return () => {
      const now = serverNow();
      const jobsIn = (state) => link(address("jobs", {tube, state}), number(seen[state], seen.at_least));
      const oldest = ready.jobs.map((each) => each.due).sort()[0];
      replace(about,
        element("dl", {class: "tiles"}, STATES.map(([state, title]) => tile(title, jobsIn(state), {class: state})),
          tile("Watching", count(seen.watching)), tile("Waiting workers", count(seen.waiting))),
        facts(["Target", seen.has_target && [may("administer") ? link(address("target", {tube}), "The server delivers its jobs") : "The server delivers its jobs", ": nobody reserves from it"]],
          ["Paused", seen.paused_until && ["until ", time(seen.paused_until, now)]],
          ["Waits longest", oldest && ["due ", time(oldest, now), ready.next ? " (of the first five)" : ""]]),
        element("div", {class: "buttons"},
          may("administer") && (seen.paused_until ? button("Resume…", () => resumeTube(tube, at.refresh)) : button("Pause…", () => pauseTube(tube, at.refresh))),
          may("put") && element("a", {class: "button", href: address("put", {tube})}, "Put a job…"),
          may("change") && element("a", {class: "button", href: address("change", {tube})}, "Change many jobs…"),
          element("a", {class: "button", href: address("jobs", {tube})}, "All jobs"),
          element("a", {class: "button", href: address("schedules", {tube})}, "Schedules"),
          element("a", {class: "button", href: address("events", {tube})}, "Events")));
      replace(next,
        element("h2", {}, "Ready next"), jobTable(ready.jobs, now, "No job is ready."),
        element("h2", {}, "Due next"), jobTable(delayed.jobs, now, "No job is due later."),
        buried.jobs.length > 0 && [element("h2", {}, "Buried"), jobTable(buried.jobs, now, "")]);
      replace(policy, policyShown(tube, known, statistics, now, at.refresh));
      about.removeAttribute("aria-busy");
      document.title = visible(tube) + " · foliot";
    };
  });
}
