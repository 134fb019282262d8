// Lists of jobs by a filter, which is in the address; and the jobs that workers have.
import {may} from "./access.js";
import {look, serverNow} from "./api.js";
import {address, element, field, link, name, number, replace, shortTime, state, table} from "./document.js";
import {tryColumns} from "./tries.js";

const jobLink = (job) => link(address("job", {id: job.id}), job.id);

export function jobTable(jobs, now, nothing, more = []) {
  const hasKeys = jobs.some((each) => each.key !== undefined);
  const columns = [
    {title: "Job", cell: jobLink},
    hasKeys && {title: "Key", cell: (row) => row.key !== undefined && name(row.key)},
    {title: "State", cell: (row) => state(row.state)},
    {title: "Due", cell: (row) => shortTime(row.due, now)},
    {title: "Priority", number: true, cell: (row) => number(row.priority)},
    {title: "Reserves", number: true, cell: (row) => number(row.reserves)},
    ...tryColumns(jobs),
    ...more];
  return table("Jobs", columns.filter(Boolean), jobs, nothing);
}

const tubeColumn = {title: "Tube", cell: (row) => link(address("tube", {tube: row.tube}), name(row.tube))};

/** A form whose values become those of the address. */
function filterForm(place, fields, submit) {
  const form = element("form", {class: "line"}, Object.values(fields).map((each) => each.whole),
    element("button", {type: "submit"}, submit));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = Object.entries(fields).map(([key, each]) => [key, each.control.value]);
    location.hash = address(place, Object.fromEntries(values));
  });
  return form;
}
const text = (label, value, more = {}) => field(label, "input", {value, autocomplete: "off", spellcheck: "false", ...more});

const pagesOf = (place, values, next) => element("nav", {class: "pages", "aria-label": "Pages of jobs"},
  values.cursor && link(address(place, {...values, cursor: ""}), "First page"),
  next && link(address(place, {...values, cursor: next}), isSearch(values) ? "Search on" : "Next page"));

/** Whether jobs are sought by key or body: the server looks at some thousand of them for each page. */
const isSearch = ({key_prefix: begin = "", text: body = ""}) => begin !== "" || body !== "";
const SEARCH_INTERVAL = 60000;

export function showJobs(at) {
  const {id = "", tube = "", key = "", prefix = "", state: wanted = "", key_prefix: begin = "", text: body = "", cursor = ""} = at.values;
  const byId = filterForm("job", {id: text("Job with the id", id, {inputmode: "numeric", required: true, pattern: "[0-9]+"})}, "Find");
  const byKey = filterForm("job", {tube: text("Tube", tube, {required: true}), key: text("Key", key, {required: true})}, "Find");
  const states = [["", "any"], ["ready", "ready"], ["delayed", "delayed"], ["reserved", "reserved"], ["buried", "buried"]];
  const byFilter = filterForm("jobs", {tube: text("Tube", tube), prefix: text("or tubes that begin with", prefix),
    state: field("State", "select", {value: wanted}, states), key_prefix: text("Key begins with", begin),
    text: text("Text in the body", body, {maxlength: 1000})}, "Show");
  const list = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Jobs"),
    element("section", {"aria-label": "Find one job", class: "finders"}, byId, byKey),
    element("section", {"aria-label": "List jobs"}, byFilter), at.wrong, list);
  return at.live(async () => {
    const sought = {key_prefix: begin, text: body};
    const page = await look("v1/jobs", {tube, prefix: tube === "" ? prefix : "", state: wanted, ...sought, cursor, with_tries: true}, at.signal);
    return () => {
      const now = serverNow();
      const nothing = !page.next ? "There are no such jobs."
        : isSearch(sought) ? "None of those that were looked at: others may follow." : "No job on this page: others may follow.";
      replace(list,
        may("change") && wanted !== "reserved" && page.jobs.length > 0 &&
          element("p", {}, link(address("change", {tube, prefix, state: wanted, ...sought}), "Change all of these jobs…")),
        jobTable(page.jobs, now, nothing, tube === "" ? [tubeColumn] : []), pagesOf("jobs", at.values, page.next));
      list.removeAttribute("aria-busy");
    };
  }, isSearch(at.values) ? () => SEARCH_INTERVAL : undefined);
}

export function showReservations(at) {
  const {tube = "", prefix = "", cursor = ""} = at.values;
  const form = filterForm("reservations", {tube: text("Tube", tube), prefix: text("or tubes that begin with", prefix)}, "Show");
  const list = element("div", {"aria-busy": "true"});
  replace(at.main, element("h1", {tabindex: "-1"}, "Reserved"), element("p", {class: "quiet"}, "The jobs that workers have, until when at the latest, and who has them."),
    form, at.wrong, list);
  return at.live(async () => {
    const page = await look("v1/reservations", {tube, prefix: tube === "" ? prefix : "", cursor, with_tries: true}, at.signal);
    return () => {
      const now = serverNow();
      const hasNodes = page.jobs.some((each) => each.node !== undefined);
      const columns = [
        {title: "Job", cell: jobLink},
        tubeColumn,
        {title: "Key", cell: (row) => row.key !== undefined && name(row.key)},
        {title: "Held by", cell: (row) => row.held_by === undefined ? element("span", {class: "quiet"}, "not told") : name(row.held_by)},
        hasNodes && {title: "Node", cell: (row) => row.node !== undefined && name(row.node)},
        {title: "Until", cell: (row) => row.reserved_until && shortTime(row.reserved_until, now)},
        {title: "Reserves", number: true, cell: (row) => number(row.reserves)},
        {title: "Timeouts", number: true, cell: (row) => number(row.timeouts)},
        ...tryColumns(page.jobs)];
      replace(list, table("Jobs that workers have", columns.filter(Boolean), page.jobs, page.next ? "No job on this page: others may follow." : "No worker has a job."),
        pagesOf("reservations", at.values, page.next));
      list.removeAttribute("aria-busy");
    };
  });
}
