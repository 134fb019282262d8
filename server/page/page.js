// The page: which part of it is shown, who is signed in, and when it asks again.
//
// The place is in the fragment of the address, such as #/job?id=17, so that it can be kept and sent on; a fragment is
// not sent to the server, so keys of jobs are in no log on the way. Each place has a function that shows it:
//
//   show(at): fills at.main. at.values: those of the address. at.signal ends with the place. at.live(refresh) calls
//   refresh() at once, and again every few seconds while live updates are on and the page is seen.
//
// One request after the other, or a few at once, and never a connection that stays: but for the place of events, which
// has one stream. So many tabs share the six connections that a browser has for a server.
import {forget, isReadOnly, known, learn, may} from "./access.js";
import {showAction, showActions, showChange} from "./actions.js";
import {hasToken, keepToken} from "./api.js";
import {address, button, element, field, link, name, replace, tell, trouble} from "./document.js";
import {showEvents} from "./events.js";
import {showJob} from "./job.js";
import {showJobs, showReservations} from "./jobs.js";
import {showPut} from "./put.js";
import {showTube, showTubes} from "./tubes.js";

const INTERVAL = 5000;  // ms from an answer to the next request
const LONGEST = 60000;  // the same where the server does not answer

/** `scope`: without it the place is not offered. */
const PLACES = [
  {at: "", title: "Tubes", show: showTubes, scope: "look"},
  {at: "jobs", title: "Jobs", show: showJobs, scope: "look"},
  {at: "reservations", title: "Reserved", show: showReservations, scope: "look"},
  {at: "events", title: "Events", show: showEvents, scope: "look"},
  {at: "actions", title: "Changes", show: showActions, scope: "change"},
  {at: "put", title: "Put", show: showPut, scope: "put"},
  {at: "tube", show: showTube, within: ""},
  {at: "job", show: showJob, within: "jobs"},
  {at: "change", show: showChange, within: "actions", scope: "change"},
  {at: "action", show: showAction, within: "actions", scope: "change"},
];

const main = document.getElementById("main");
let ending = new AbortController();  // of the place that is shown
let isLive = true;
let wake = () => {};  // ends the wait before the next request

function placeOf(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const place = PLACES.find((each) => each.at === path);
  return {place, values: Object.fromEntries(new URLSearchParams(query ?? ""))};
}

const isWatched = () => isLive && document.visibilityState === "visible";
/** Whether somebody has marked a text, which would be lost. */
const isMarking = () => {
  const marked = document.getSelection();
  return !marked.isCollapsed && main.contains(marked.anchorNode);
};

/** Until the time is over and somebody looks; at once when the person asks for it. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const until = performance.now() + milliseconds;
    let timer;
    const end = () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", check);
      resolve();
    };
    const check = () => {
      clearTimeout(timer);
      const left = until - performance.now();
      if (left > 0) timer = setTimeout(check, left);
      else if (!isWatched()) timer = undefined;  // visibilitychange, or the button, goes on
      else if (isMarking()) timer = setTimeout(check, 1000);
      else end();
    };
    document.addEventListener("visibilitychange", check);
    wake = (now) => (now ? end() : check());
    signal.addEventListener("abort", end, {once: true});
    check();
  });
}

async function repeat(refresh, signal, wrong) {
  let interval = INTERVAL;
  while (!signal.aborted) {
    try {
      await refresh();
      if (signal.aborted) return;
      replace(wrong);
      interval = INTERVAL;
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return signIn(error);
      replace(wrong, trouble(error));
      main.querySelectorAll("[aria-busy]").forEach((each) => each.removeAttribute("aria-busy"));
      interval = Math.min(2 * interval, LONGEST);
    }
    await pause(interval, signal);
  }
}

function showHeader(place) {
  const held = known();
  const current = place.within ?? place.at;
  replace(document.getElementById("places"), held && PLACES.filter((each) => each.title && may(each.scope)).map((each) =>
    element("a", {href: address(each.at), "aria-current": each.at === current && "page"}, each.title)));
  const live = button(isLive ? "Live" : "Stopped", () => {
    isLive = !isLive;
    showHeader(place);
    document.getElementById("live").focus();
    tell(isLive ? "Live updates go on" : "Live updates are stopped");
    wake(false);
    document.dispatchEvent(new Event("livechange"));
  }, {id: "live", class: "small live", "aria-pressed": String(isLive), "aria-label": "Live updates"});
  replace(document.getElementById("session"), held && [
    isReadOnly() && element("span", {class: "label"}, "read-only"),
    held.name !== undefined && element("span", {class: "who", title: `access token ${held.id}`}, name(held.name)),
    live,
    button("Refresh", () => wake(true), {class: "small"}),
    hasToken() && button("Sign out", signOut, {class: "small"})]);
}

function signOut() {
  keepToken(null);
  forget();
  open();
  tell("Signed out");
}

/** Shows the form for an access token. `why`: the answer to a request without a right one. */
function signIn(why) {
  ending.abort();
  const wasShown = hasToken();
  keepToken(null);
  forget();
  showHeader({at: "sign-in"});
  const token = field("Access token", "input", {type: "password", required: true, autocomplete: "off", spellcheck: "false",
    hint: "From `foliot token make`. This tab keeps it until it is closed, and sends it to this server alone."});
  const wrong = element("div", {});
  const ask = element("button", {type: "submit", class: "main"}, "Sign in");
  const form = element("form", {class: "sign-in"}, token.whole, wrong, ask);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    ask.disabled = true;
    keepToken(token.control.value.trim());
    try {
      await learn();
      open();
    } catch (error) {
      keepToken(null);
      ask.disabled = false;
      replace(wrong, trouble(error));
      token.control.select();
    }
  });
  document.title = "Sign in · foliot";
  replace(main, element("h1", {tabindex: "-1"}, "Sign in"),
    element("p", {}, "This server shows its jobs to those who have an access token."), form);
  const says = why?.status === 401 && !wasShown && !why.message.startsWith("send `Authorization") ? why : wasShown ? why : null;
  if (says) replace(wrong, trouble(says));
  token.control.focus();
}

/** Shows the place of the address. */
async function open() {
  ending.abort();
  ending = new AbortController();
  const {signal} = ending;
  const {place, values} = placeOf(location.hash);
  try {
    if (known() === null) await learn(signal);
  } catch (error) {
    if (signal.aborted) return;
    if (error.status === 401) return signIn(error);
    replace(main, element("h1", {tabindex: "-1"}, "No answer"), trouble(error), button("Try again", open, {class: "main"}));
    return;
  }
  const shown = place ?? {at: "none"};
  showHeader(shown);
  const wrong = element("div", {});
  const at = {
    main, values, signal, wrong,
    live: (refresh) => repeat(refresh, signal, wrong),
    refresh: () => wake(true),
    isLive: () => isWatched(),
    refused: signIn,
  };
  const needs = place?.scope ?? (place && "look");
  if (!place) {
    replace(main, element("h1", {tabindex: "-1"}, "Nothing here"), element("p", {}, link(address(""), "To the tubes")));
  } else if (!may(needs)) {
    const other = PLACES.find((each) => each.title && may(each.scope));
    replace(main, element("h1", {tabindex: "-1"}, place.title ?? "Nothing to see"),
      element("p", {}, `The access token lacks the scope ${needs}.`),
      other && element("p", {}, link(address(other.at), `To ${other.title}`)));
  } else {
    place.show(at);
  }
  const heading = main.querySelector("h1");
  document.title = (heading?.textContent ?? "foliot") + " · foliot";
  if (heading && document.activeElement === document.body) heading.focus({preventScroll: true});
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();  // the fragment is the place
  main.focus();
});
addEventListener("hashchange", () => {
  document.querySelectorAll("dialog[open]").forEach((each) => each.close());
  document.activeElement?.blur();
  scrollTo(0, 0);
  open();
});
open();
