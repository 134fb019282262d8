// A new job.
import {ask} from "./api.js";
import {asking} from "./asking.js";
import {address, element, field, name, replace, tell} from "./document.js";
import {may} from "./access.js";
import {whenField, whenIn} from "./job.js";

/** The members of the request; throws Error with a sentence where the body is no JSON. */
function requestOf(fields) {
  const text = (which) => fields[which].control.value;
  const json = {tube: text("tube").trim(), ttr: text("ttr").trim(), priority: Number(text("priority"))};
  if (text("key") !== "") Object.assign(json, {key: text("key"), existing: text("existing")});
  if (text("when").trim() !== "") Object.assign(json, whenIn(text("when")));
  if (text("group") !== "") json.group = text("group");
  const expires = text("expires").trim();
  if (expires !== "") json[/^\d{4}-/.test(expires) ? "expires" : "expires_in"] = expires.replace(/^(\S+) (\S)/, "$1T$2");
  json.text = text("body");
  if (text("kind") === "json") {
    try {
      JSON.parse(json.text);
    } catch (error) {
      throw new Error("the body is not JSON: " + error.message);
    }
    json.content_type = "application/json";  // as it was written: no number is rounded on the way
  }
  return json;
}

/** A function that puts the job: as often as it is called, as long as the answer is lost, there is one. */
function putOnce(json) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));  // randomUUID is not there in plain HTTP
  const key = Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
  return async () => {
    try {
      return await ask("POST", "v1/jobs", {json, headers: {"Idempotency-Key": key}});
    } catch (error) {
      if (error.status !== 501) throw error;
      return ask("POST", "v1/jobs", {json});  // a server without OpenSSL knows no such keys
    }
  };
}

export function showPut(at) {
  const text = (label, value, more = {}) => field(label, "input", {value, autocomplete: "off", spellcheck: "false", ...more});
  const fields = {
    tube: text("Tube", at.values.tube ?? "", {required: true, maxlength: 200}),
    key: text("Key", at.values.key ?? "", {hint: "A name of your own, by which it is found again. It may be left out."}),
    existing: field("If the key is taken", "select", {value: "refuse"}, [["refuse", "put nothing, and say so"], ["keep", "keep the job that has it"], ["replace", "replace the job that has it"]]),
    when: whenField("Due"),
    priority: text("Priority", "0", {type: "number", min: 0, max: 4294967295, required: true, hint: "Lower numbers come first."}),
    ttr: text("TTR", "1m", {required: true, hint: "How long a worker may keep it."}),
    group: text("Group", "", {maxlength: 200, hint: "A name for jobs that belong together, such as a customer: a policy may limit how many are worked on."}),
    expires: text("Expires", "", {hint: "After how long it is of no use, such as 5m; or a time. Empty: as the policy of the tube says."}),
    kind: field("The body is", "select", {value: "text"}, [["text", "text"], ["json", "JSON"]]),
    body: field("Body", "textarea", {rows: 8, spellcheck: "false"}),
  };
  fields.when.control.placeholder = "now";
  const wrong = element("div", {});
  const form = element("form", {class: "put"}, Object.values(fields).map((each) => each.whole), wrong,
    element("div", {class: "buttons"}, element("button", {type: "submit", class: "main"}, "Put…")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    replace(wrong);
    let json;
    try {
      json = requestOf(fields);
    } catch (error) {
      replace(wrong, element("p", {class: "trouble", role: "alert"}, error.message));
      return fields.body.control.focus();
    }
    const act = putOnce(json);
    const done = await asking({title: "Put the job?", text: element("p", {}, "Into the tube ", name(json.tube), json.key !== undefined && [", with the key ", name(json.key)], "."),
      yes: "Put it", act});
    if (!done) return;
    tell(`Job ${done.id}: ${done.outcome}`);
    if (may("look")) location.hash = address("job", {id: done.id});
    else form.reset();
  });
  replace(at.main, element("h1", {tabindex: "-1"}, "Put a job"), form);
}
