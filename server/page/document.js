// Elements of the document. Every text becomes a text node: nothing that comes from a job is ever read as HTML.
import {count, localTime, relative, visible} from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(made, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  add(made, children);
  return made;
}

/** Adds elements and texts; leaves out null, undefined and false. */
export function add(to, children) {
  for (const each of [children].flat(Infinity)) {
    if (each === null || each === undefined || each === false) continue;
    to.append(each);  // a string becomes a text
  }
}

/** An element: `element("a", {href: "#/"}, "Tubes")`. `onclick` and the like add listeners. */
export const element = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
/** The same of SVG. */
export const drawing = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);
/** Puts these in the place of all that an element has. What had the focus has it again, if something like it is there. */
export function replace(inside, ...children) {
  const made = document.createDocumentFragment();
  add(made, children);
  const had = document.activeElement;
  const isInside = had !== inside && inside.contains(had);
  inside.replaceChildren(made);
  if (isInside) focusLike(had, inside);
}
/** Gives the focus to what is like this element, which was replaced; else to what is around. */
export function focusLike(had, inside) {
  const isLike = (each) => each.getAttribute("href") === had.getAttribute("href") && each.textContent === had.textContent &&
    each.getAttribute("aria-label") === had.getAttribute("aria-label");
  const like = Array.from(inside.querySelectorAll(had.localName)).find(isLike);
  (like ?? inside.closest("[tabindex]"))?.focus({preventScroll: true});
}

/** A name that others have chosen. */
export const name = (text) => element("bdi", {class: "name"}, visible(text));
export const number = (value, atLeast = false) => count(value) + (atLeast ? "+" : "");
/** A time: how far it is from now, and when it is. */
export const time = (text, now) =>
  element("time", {datetime: text, title: text}, relative(text, now), " ", element("span", {class: "quiet"}, localTime(text)));
/** The same without the second part. */
export const shortTime = (text, now) => element("time", {datetime: text, title: localTime(text)}, relative(text, now));

const STATES = new Set(["delayed", "ready", "reserved", "buried", "counting", "counted", "running", "done", "stopped", "active", "paused", "ended",
  "refused", "disabled", "hindered", "unreadable"]);
export const state = (text) => element("span", {class: "state" + (STATES.has(text) ? " " + text : "")}, visible(text));

/** A place of the page, for `href`: its name, and its values. Empty values are left out. */
export function address(place, values = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") query.set(key, value);
  }
  const text = query.toString();
  return "#/" + place + (text === "" ? "" : "?" + text);
}
export const link = (to, ...children) => element("a", {href: to}, ...children);

/** Columns: {title, number: true, cell: (row) => …}. On a narrow window each row is a block, with the titles beside. */
export function table(caption, columns, rows, nothing) {
  if (rows.length === 0) return element("p", {class: "nothing"}, nothing);
  const head = columns.map((each) => element("th", {scope: "col", class: each.number && "number"}, each.title));
  const cellOf = (row) => (each, place) =>
    element(place === 0 ? "th" : "td", {scope: place === 0 && "row", class: each.number && "number", "data-title": each.title},
      each.cell(row));
  return element("table", {},
    element("caption", {class: "unseen"}, caption),
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows.map((row) => element("tr", {}, columns.map(cellOf(row))))));
}

/** Names and values: [["id", "17"], …]; pairs whose value is missing are left out. */
export function facts(...pairs) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== false);
  return element("dl", {class: "facts"}, shown.map(([title, value]) => [element("dt", {}, title), element("dd", {}, value)]));
}

/** Lines of a cell, of which the first one counts most. Those that are missing are left out. */
export const lines = (first, ...others) => element("div", {class: "lines"}, element("div", {}, first),
  others.filter(Boolean).map((each) => element("div", {class: "quiet"}, each)));
/** A short list within a record. */
export const listOf = (all) => element("ul", {class: "headers"}, all.map((each) => element("li", {}, each)));

let lastField = 0;
/** A field of a form with its label. `kind`: "input", "select" with choices, or "textarea". */
export function field(label, kind, properties, choices = []) {
  const id = "field-" + ++lastField;
  const {hint, ...rest} = properties;
  const control = element(kind, {...rest, id, "aria-describedby": hint && id + "-hint"},
    choices.map(([value, text]) => element("option", {value}, text)));
  if (kind !== "input" && properties.value !== undefined) control.value = properties.value;
  const whole = element("div", {class: "field"}, element("label", {for: id}, label), control,
    hint && element("p", {class: "hint", id: id + "-hint"}, hint));
  return {whole, control};
}
/** Says at a field what is wrong with its value, and gives it the focus: a screen reader reads that with its label. */
export function refuseField({whole, control}, error) {
  const id = control.id + "-wrong";
  whole.append(element("p", {class: "trouble", role: "alert", id}, visible(error.message)));
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", [control.getAttribute("aria-describedby"), id].filter(Boolean).join(" "));
  control.focus();
}
/** Takes away what was said so. */
export function acceptField({whole, control}) {
  const wrong = whole.querySelector(".trouble");
  if (wrong === null) return;
  wrong.remove();
  control.removeAttribute("aria-invalid");
  const others = control.getAttribute("aria-describedby").split(" ").filter((each) => each !== wrong.id).join(" ");
  if (others === "") control.removeAttribute("aria-describedby");
  else control.setAttribute("aria-describedby", others);
}

export const button = (text, onclick, more = {}) => element("button", {type: "button", onclick, ...more}, text);
/** What went wrong, told at once by a screen reader. */
export const trouble = (error) => element("p", {class: "trouble", role: "alert"}, visible(error.message));

/** Shows what went wrong in a place of its own. The same again is not shown anew, and so not read aloud again. */
export function report(inside, error) {
  const made = trouble(error);
  if (inside.textContent !== made.textContent) replace(inside, made);
}

let telling;
/** A screen reader says it, and it stands at the foot of the page for some seconds. */
export function tell(text, isTrouble = false) {
  const place = document.getElementById("told");
  clearTimeout(telling);
  place.textContent = visible(text);
  place.classList.toggle("trouble", isTrouble);
  place.classList.add("shown");
  telling = setTimeout(() => place.classList.remove("shown"), 8000);
}

/** Copies a text. Without the clipboard of secure contexts, on plain HTTP, a selection is copied as by hand. */
export function copy(text) {
  const area = element("textarea", {class: "unseen", readonly: true, "aria-hidden": "true", tabindex: "-1", value: text});
  const before = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  tell(done ? "Copied" : "The browser does not let the page copy: select the text and copy it", !done);
}
export const copyButton = (text, what) => button("Copy", () => copy(text), {class: "small", "aria-label": "Copy " + what});
