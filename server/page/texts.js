// Texts for people, from values of the server. Pure functions.

// What would change how the text around it looks, or would not be seen: control characters, marks that turn the
// direction of writing, blanks of no width.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
const escapeOf = (character) => {
  const short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character];
  return short ?? "\\u{" + character.codePointAt(0).toString(16) + "}";
};

/** A name as it can be shown on one line: what is not seen is written as an escape. */
export const visible = (text) => String(text).replace(UNSEEN, escapeOf);
/** The same for a text of several lines. */
export const visibleLines = (text) =>
  String(text).replace(UNSEEN, (each) => (each === "\n" || each === "\t" ? each : escapeOf(each)));

const numbers = new Intl.NumberFormat("en-US");
/** A whole number, with commas between thousands. */
export const count = (value) => numbers.format(value);
/** A number a second: with a digit behind the point where it is small. */
export const rate = (value) => (value >= 10 || value === 0 ? count(Math.round(value)) : value.toFixed(1));

const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
/** A length of time in its two largest units, such as "2h 5m". */
export function length(milliseconds) {
  let seconds = Math.round(Math.abs(milliseconds) / 1000);
  if (seconds === 0) return "0s";
  const parts = [];
  for (const [name, size] of UNITS) {
    const many = Math.floor(seconds / size);
    seconds -= many * size;
    if (many > 0) parts.push(many + name);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** "in 5m", "3s ago", or "now", of a time of the server. */
export function relative(time, now) {
  const left = new Date(time).getTime() - now;
  if (Math.abs(left) < 500) return "now";
  return left > 0 ? "in " + length(left) : length(left) + " ago";
}

const two = (value) => String(value).padStart(2, "0");
/** A time of the server, in the time zone of the browser, to the second. */
export function localTime(time) {
  const at = new Date(time);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** "1 job", "2 jobs". */
export const many = (value, noun, several = noun + "s") => count(value) + " " + (value === 1 ? noun : several);

/** The size of so many bytes. */
export const size = (bytes) =>
  bytes < 1024 ? many(bytes, "byte") : bytes < 1048576 ? (bytes / 1024).toFixed(1) + " KiB" : (bytes / 1048576).toFixed(1) + " MiB";

/** Bytes as lines of an offset, sixteen bytes in hexadecimal digits, and what of them is ASCII. */
export function hexLines(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = Array.from(bytes.subarray(at, at + 16));
    const digits = row.map((each) => each.toString(16).padStart(2, "0"));
    const left = digits.slice(0, 8).join(" "), right = digits.slice(8).join(" ");
    const letters = row.map((each) => (each > 31 && each < 127 ? String.fromCharCode(each) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${left.padEnd(23)}  ${right.padEnd(23)}  ${letters}`);
  }
  return lines.join("\n");
}

/** A short length of time in milliseconds, such as "12 ms" or "1.5 s". */
export const took = (value) => (value < 1000 ? count(value) + " ms" : value < 60000 ? (value / 1000).toFixed(1) + " s" : length(value));

const LENGTHS = {ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000};
/** The milliseconds of a length such as "1h30m"; null: it is none. */
export function milliseconds(text) {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  return Array.from(text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)).reduce((sum, [, value, unit]) => sum + value * LENGTHS[unit], 0);
}

// Numbers of JSON that a browser would write in another way, such as 1.0 or 1e3, are kept as marked texts.
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARK = "\ue000number ";
const MARKED = new RegExp(`"${MARK}(-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)"`, "g");
/** The value of this JSON, from which exactText() writes each number as it was. Throws SyntaxError. */
export function exactly(text) {
  JSON.parse(text);  // what is wrong is told of the text itself
  return JSON.parse(text.replace(TOKEN, (each) => (each.startsWith('"') || String(Number(each)) === each ? each : JSON.stringify(MARK + each))));
}
export const exactText = (value, indent) => JSON.stringify(value, null, indent).replace(MARKED, "$1");
