// The page: which part of it is shown, who is signed in, and when it asks again.
//
// The place is in the fragment of the address, such as #/job?id=17, so that it can be kept and sent on; a fragment is
// not sent to the server, so keys of jobs are in no log on the way. Each place has a function that shows it:
//
//   show(at): fills at.main. at.values: those of the address. at.signal ends with the place. at.live(ask, intervalOf)
//   calls ask() at once, and again every few seconds while live updates are on and the page is seen. ask() asks the
//   server, changes nothing of what is seen, and returns the function that shows the answer: which is not called while
//   what is seen is held (held.js), but the server is asked anew as soon as it is let go.
//
// One request after the other, or a few at once, and never a connection that stays: but for the place of events, which
// has one stream. So many tabs share the six connections that a browser has for a server.
import {forget, isReadOnly, known, learn, may} from "./access.js";
import {showAction, showActions, showChange} from "./actions.js";
import {hasToken, keepToken} from "./api.js";
import {showBackfill} from "./backfill.js";
import {address, button, element, field, link, name, replace, report, tell} from "./document.js";
import {showEvents} from "./events.js";
import {isHeld, unmark} from "./held.js";
import {showJob} from "./job.js";
import {showJobs, showReservations} from "./jobs.js";
import {showPlan} from "./plan.js";
import {showPolicies, showPolicy} from "./policies.js";
import {showPut} from "./put.js";
import {showSchedule, showSchedules} from "./schedules.js";
import {showTarget, showTargets} from "./targets.js";
import {visible} from "./texts.js";
import {showTube, showTubes} from "./tubes.js";

const INTERVAL = 5000;  // ms from an answer to the next request
const LONGEST = 60000;  // the same where the server does not answer
const HOLD = 250;       // ms until it is looked again whether what is seen is still held

/** `scope`: without it the place is not offered. */
const PLACES = [
  {at: "", title: "Tubes", show: showTubes, scope: "look"},
  {at: "jobs", title: "Jobs", show: showJobs, scope: "look"},
  {at: "reservations", title: "Reserved", show: showReservations, scope: "look"},
  {at: "schedules", title: "Schedules", show: showSchedules, scope: "look"},
  {at: "targets", title: "Webhooks", show: showTargets, scope: "administer"},
  {at: "events", title: "Events", show: showEvents, scope: "look"},
  {at: "actions", title: "Changes", show: showActions, scope: "change"},
  {at: "put", title: "Put", show: showPut, scope: "put"},
  {at: "tube", show: showTube, within: ""},
  {at: "job", show: showJob, within: "jobs"},
  {at: "schedule", show: showSchedule, within: "schedules"},
  {at: "backfill", show: showBackfill, within: "schedules", scope: "put"},
  {at: "policies", show: showPolicies, within: "", scope: "look"},
  {at: "policy", show: showPolicy, within: "", scope: "administer"},
  {at: "target", show: showTarget, within: "targets", scope: "administer"},
  {at: "plan", show: showPlan, within: "schedules", scope: "put"},
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
/** Until the time is over and somebody looks, and holds nothing; at once when the person asks for it. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const until = performance.now() + milliseconds;
    let timer;
    const end = () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", check);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const check = () => {
      clearTimeout(timer);
      const left = until - performance.now();
      if (left > 0) timer = setTimeout(check, left);
      else if (!isWatched()) timer = undefined;  // visibilitychange, or the button, goes on
      else if (isHeld()) timer = setTimeout(check, HOLD);
      else end();
    };
    document.addEventListener("visibilitychange", check);
    wake = (now) => (now ? end() : check());
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    else check();
  });
}

/** Until what is seen is let go. */
async function letGo(signal) {
  while (isHeld() && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, HOLD));
}

async function repeat(ask, signal, wrong, intervalOf = () => INTERVAL) {
  let failing = INTERVAL;
  while (!signal.aborted) {
    let interval, isAsked = false;
    wake = (now) => { isAsked ||= now; };  // the answer that is under way may be older than what the person asks for
    try {
      const show = await ask();
      if (signal.aborted) return;
      if (isHeld()) {
        await letGo(signal);
        continue;
      }
      show();
      replace(wrong);
      failing = INTERVAL;
      interval = intervalOf();
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return signIn(error);
      report(wrong, error);
      main.querySelectorAll("[aria-busy]").forEach((each) => each.removeAttribute("aria-busy"));
      interval = failing = Math.min(2 * failing, LONGEST);
    }
    if (!isAsked) await pause(interval, signal);
  }
}

/** Asks at once, whatever is marked. */
function askNow() {
  unmark();
  wake(true);
}

const closeDialogs = () => document.querySelectorAll("dialog[open]").forEach((each) => each.close());

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
  }, {id: "live", class: "small live", "aria-pressed": String(isLive), "aria-label": isLive ? "Live updates" : "Stopped: live updates"});
  replace(document.getElementById("session"), held && [
    isReadOnly() && element("span", {class: "label"}, "read-only"),
    held.name !== undefined && element("span", {class: "who", title: `access token ${held.id}`}, name(held.name)),
    live,
    button("Refresh", askNow, {class: "small"}),
    hasToken() && button("Sign out", signOut, {class: "small"})]);
}

function signOut() {
  ending.abort();
  keepToken(null);
  forget();
  replace(main);  // at once, whenever the server answers
  showHeader({at: "sign-in"});
  open();
  tell("Signed out");
}

/** Shows the form for an access token. `why`: the answer to a request without a right one. */
function signIn(why) {
  ending.abort();
  closeDialogs();
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
    const shown = token.control.value.trim();
    if (!/^[!-~]+$/.test(shown)) {
      report(wrong, new Error("that is no access token: it has a blank, or a letter beyond ASCII"));
      return token.control.select();
    }
    ask.disabled = true;
    keepToken(shown);
    try {
      await learn();
      open();
    } catch (error) {
      keepToken(null);
      ask.disabled = false;
      report(wrong, error);
      token.control.select();
    }
  });
  document.title = "Sign in · foliot";
  replace(main, element("h1", {tabindex: "-1"}, "Sign in"),
    element("p", {}, "This server shows its jobs to those who have an access token."), form);
  // That nothing was shown is no trouble yet.
  if (why && (wasShown || why.isExplained)) report(wrong, why);
  else if (why) replace(wrong, element("p", {class: "quiet"}, "The server says: ", visible(why.message)));
  token.control.focus();
}

const unanswered = element("div", {});  // says why there is not even an answer to what may be shown
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
    if (!unanswered.isConnected) replace(main, element("h1", {tabindex: "-1"}, "No answer"), unanswered, button("Try again", open, {class: "main"}));
    report(unanswered, error);
    await pause(INTERVAL, signal);
    return signal.aborted ? undefined : open();
  }
  const shown = place ?? {at: "none"};
  showHeader(shown);
  const wrong = element("div", {});
  const at = {
    main, values, signal, wrong,
    live: (ask, intervalOf) => repeat(ask, signal, wrong, intervalOf),
    refresh: askNow,
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
  closeDialogs();
  unmark();
  document.activeElement?.blur();
  scrollTo(0, 0);
  open();
});
open();
