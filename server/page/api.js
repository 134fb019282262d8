// Requests to the server. Everything that the page knows comes by these, with the access token that was given at the
// sign-in. The token is kept in the sessionStorage of this tab alone, and travels in `Authorization`: no cookie, so no
// request of another site carries it.
//
// URLs are relative to that of the page, so a proxy may have the page below a path of its own.
import {exactly} from "./texts.js";

const KEY = "foliot.token";
const PATIENCE = 60000;  // ms for an answer
const SILENCE = 40000;   // ms after which a stream has ended unseen: the server writes into it every 15 s at least

export class Problem extends Error {
  constructor(status, detail, outcome) {
    super(detail);
    this.status = status;
    this.outcome = outcome;
    this.pointer = undefined;  // to the value that is wrong, such as "#/rules/0"
    this.isExplained = false;  // of 401: whether the server says what is wrong, rather than that nothing was shown
  }
}

let token = null;
try {
  token = sessionStorage.getItem(KEY);
} catch {
  // a browser that keeps nothing: the token is forgotten with the page
}

export const hasToken = () => token !== null;
export function keepToken(text) {
  token = text;
  try {
    if (text === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, text);
  } catch {
    // as above
  }
}

/** How far the clock of the server is ahead of that of the browser, in ms, as its last answer has told. */
let ahead = 0;
export const serverNow = () => Date.now() + ahead;

function urlOf(path, query) {
  const url = new URL(path, document.baseURI);
  url.hash = "";
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

function headersFor(more) {
  const headers = {...more};
  if (token !== null) headers.Authorization = "Bearer " + token;
  return headers;
}

const noAnswer = () => new Problem(0, "the server does not answer");

async function send(method, path, {query, json, text, headers, signal}) {
  // The server has no cookies, but a proxy in front of it may sign people in by one.
  const options = {method, headers: headersFor(headers), signal, cache: "no-store", credentials: "same-origin",
    redirect: "error", referrerPolicy: "no-referrer"};
  if (json !== undefined || text !== undefined) {
    options.body = text ?? JSON.stringify(json);
    options.headers["Content-Type"] = "application/json";
  }
  try {
    return await fetch(urlOf(path, query), options);
  } catch (error) {
    if (signal?.aborted && signal.reason?.name !== "TimeoutError") throw signal.reason;
    throw noAnswer();
  }
}

async function problemOf(response) {
  const text = await response.text();
  try {
    const problem = JSON.parse(text);
    const more = problem.errors?.[0]?.detail;
    const detail = more && more !== problem.detail ? `${problem.detail}: ${more}` : problem.detail;
    const made = new Problem(response.status, detail ?? response.statusText, problem.outcome);
    made.pointer = problem.errors?.[0]?.pointer;
    made.isExplained = /\berror=/.test(response.headers.get("WWW-Authenticate") ?? "");
    return made;
  } catch {
    // Not of foliot: a proxy that lets only some methods pass, or has no server behind it.
    return new Problem(response.status, `the answer was ${response.status} ${response.statusText}, and is not from the server: perhaps from a proxy in front of it`);
  }
}

/**
 * The value of the answer. Throws Problem; or the reason of `signal`, once that is aborted. `json` is a value to send, or
 * `text` one that is JSON already. `isExact`: the value has its numbers as they were written: exactly().
 */
export async function ask(method, path, options = {}) {
  const late = AbortSignal.timeout(PATIENCE);
  const stop = new AbortController();
  const end = (signal) => () => stop.abort(signal.reason);
  for (const each of [late, options.signal]) {
    if (each?.aborted) stop.abort(each.reason);
    each?.addEventListener("abort", end(each), {once: true, signal: stop.signal});
  }
  let status = 0;
  try {
    const response = await send(method, path, {...options, signal: stop.signal});
    status = response.status;
    const before = Date.parse(response.headers.get("Date"));
    if (Math.abs(before - Date.now()) > 2000) ahead = before - Date.now();
    else ahead = 0;
    if (response.ok) return options.isExact ? exactly(await response.text()) : await response.json();
    throw await problemOf(response);
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (options.signal?.aborted) throw options.signal.reason;
    if (late.aborted) throw noAnswer();
    throw new Problem(status, "the answer is not from the server: perhaps from a proxy in front of it");
  } finally {
    stop.abort();  // takes the listeners away from signals that live longer
  }
}
export const look = (path, query, signal) => ask("GET", path, {query, signal});

/** Calls `tell(event)` for each event of the stream, {kind, id, data}, until it ends. Throws as ask(). */
export async function follow(query, signal, tell, lastId) {
  const headers = lastId ? {"Last-Event-ID": lastId} : {};
  // By the clock of the wall, which goes on while the computer sleeps.
  let heard = Date.now();
  const stop = new AbortController();
  const watch = setInterval(() => {
    if (Date.now() - heard > SILENCE) stop.abort(new DOMException("silence", "TimeoutError"));
  }, 5000);
  signal.addEventListener("abort", () => stop.abort(signal.reason), {once: true, signal: stop.signal});
  try {
    const response = await send("GET", "v1/events", {query, headers, signal: stop.signal});
    if (!response.ok) throw await problemOf(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      heard = Date.now();
      rest += value;
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) tell(eventIn(block));
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof Problem) throw error;
    throw new Problem(0, "the stream of events was cut");
  } finally {
    clearInterval(watch);
    stop.abort();
  }
}

function eventIn(block) {
  const event = {kind: null, id: null, data: null};
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event.kind = line.slice(7);
    if (line.startsWith("id: ")) event.id = line.slice(4);
    if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
  }
  return event;
}
