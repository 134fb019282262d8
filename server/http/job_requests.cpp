#include "job_requests.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/run.hpp>

#include "entity_tags.hpp"
#include "front_check.hpp"
#include "idempotency.hpp"
#include "job_headers.hpp"
#include "job_policy.hpp"
#include "problem.hpp"
#include "schedule_json.hpp"
#include "server/core/tube_name.hpp"
#include "server/schedules/occurrence_note.hpp"
#include "server/targets/attempt_notes.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

constexpr std::string_view field_of_header = "foliot-header-";
/// What curl and other programs say of each body unless they are told its type: it says nothing of the job.
constexpr std::string_view form_type = "application/x-www-form-urlencoded";

/// A key that can be shown, and named in every place where a request may have it.
bool is_key(std::string_view key) noexcept { return is_utf8(key) && is_field_value(key) && !key.contains('\t'); }

/// The key that a request names; nothing if it names none.
std::optional<std::string> key_of(inputs& in) {
  std::optional<std::string> key = in.part_of_name("key", jobs::longest_key);
  if (key && key->empty()) in.refuse("key", "`key` must not be empty: a job without a key has none at all");
  return key;
}

/// Sets the content type and the headers of a job; and with them the trace context of its request, if they have none
/// and there is room for it.
std::expected<void, header_problem> set_all_headers(jobs::job_fields& of, std::string_view type,
                                                    const job_headers& headers, const request& from) {
  const job_headers trace = trace_context_of(from);
  const auto has = [&headers](const auto& each) { return headers.contains(each.first); };
  if (!trace.empty() && std::ranges::none_of(trace, has)) {
    job_headers both = headers;
    both.insert(trace.begin(), trace.end());
    jobs::job_fields with_trace = of;
    if (set_headers(with_trace, type, both)) {
      of = std::move(with_trace);
      return {};
    }
  }
  return set_headers(of, type, headers);
}

/// What the request itself says of a body that is not JSON.
void read_raw_body(request& from, jobs::put& into) {
  into.body = std::move(from.body);
  job_headers headers;
  for (const field& each : from.fields) {
    if (!each.name.starts_with(field_of_header)) continue;
    if (!headers.emplace(each.name.substr(field_of_header.size()), each.value).second) {
      throw wrong_input(problem{400, "the header comes twice", where::header, each.name});
    }
  }
  std::string_view type = from.find("content-type").value_or("");
  if (is_media_type(type, form_type)) type = "";
  const auto set = set_all_headers(into.fields, type, headers, from);
  if (!set) {
    const header_problem& wrong = set.error();
    throw wrong_input(problem{400, wrong.detail, where::header,
                              wrong.is_of_type ? "content-type" : std::string(field_of_header) + wrong.name});
  }
}

/// The body of a job in the members `body`, `text` or `base64` of a request in JSON. Returns its content type.
std::string_view read_members_of_body(inputs& in, std::string& into) {
  const json* const value = in.member("body");
  std::optional<std::string> text = in.text("text");
  const std::optional<std::string> encoded = in.text("base64");
  const int count = (value != nullptr ? 1 : 0) + (text ? 1 : 0) + (encoded ? 1 : 0);
  if (count > 1)
    throw wrong_input(problem{400, "`body`, `text` and `base64` exclude each other", where::body, "/body"});
  if (value != nullptr) {
    into = json_text(*value);
    return "application/json";
  }
  if (text) {
    into = std::move(*text);
    return "text/plain; charset=utf-8";
  }
  if (!encoded) return "";
  std::optional<std::string> bytes = from_base64(*encoded);
  if (!bytes) in.refuse("base64", "`base64` must be base64 with padding, as RFC 4648 has it");
  into = std::move(*bytes);
  return "application/octet-stream";
}

void read_json_body(inputs& in, const request& from, jobs::put& into) {
  const std::string_view type = read_members_of_body(in, into.body);
  const std::optional<std::string> asked = in.text("content_type");
  job_headers headers;
  if (const json* const given = in.member("headers")) {
    if (!given->is_object()) in.refuse("headers", "`headers` must be an object of strings");
    for (const json& each : *given) {
      if (!each.is_text()) {
        throw wrong_input(
            problem{400, "a header must be a string", where::body, "/headers/" + pointer_name(each.name())});
      }
      headers.emplace(each.name(), each.text());
    }
  }
  const auto set = set_all_headers(into.fields, asked ? std::string_view(*asked) : type, headers, from);
  if (set) return;
  const header_problem& wrong = set.error();
  if (wrong.is_of_type) in.refuse("content_type", wrong.detail);
  if (wrong.name.empty()) in.refuse("headers", wrong.detail);
  throw wrong_input(problem{400, wrong.detail, where::body, "/headers/" + pointer_name(wrong.name)});
}

/// What a put does where its key is taken: as the request says, else `otherwise`.
jobs::on_existing existing_of(inputs& in, const request& head, jobs::on_existing otherwise, bool has_key) {
  using enum jobs::on_existing;
  const std::optional<std::size_t> asked = in.choice("existing", {"keep", "replace", "refuse"});
  const auto only_if_absent = head.find(if_none_match);
  if (only_if_absent && *only_if_absent != "*") {
    throw wrong_input(problem{400, "If-None-Match must be `*`", where::header, if_none_match});
  }
  if (only_if_absent && !has_key) {
    throw wrong_input(problem{400, "If-None-Match needs a job with a key", where::header, if_none_match});
  }
  if (only_if_absent && asked) in.refuse("existing", "`existing` and If-None-Match exclude each other");
  if (only_if_absent) return refuse;
  if (!asked) return otherwise;
  return *asked == 0 ? keep : *asked == 1 ? replace : refuse;
}

std::string etag_of(jobs::job_version version) { return fmt::format("\"{}\"", version); }

/// Versions have 63 bits, so no job has one of these. The first is expected of a job that must be there, whatever its
/// version is; the second of one whose tags no job has. They differ, because an Idempotency-Key tells two requests
/// apart by what they expect.
constexpr jobs::job_version version_of_any_job = jobs::job_version{1} << 63;
constexpr jobs::job_version version_of_no_job = version_of_any_job + 1;

/// The version that a tag names; nothing if no job can have this tag. If-Match compares strongly, so a weak tag is
/// none.
std::optional<jobs::job_version> version_of(const entity_tag& tag) noexcept {
  jobs::job_version version = 0;
  const char* const end = tag.text.data() + tag.text.size();
  const auto read = std::from_chars(tag.text.data(), end, version);
  const bool is_number = read.ec == std::errc() && read.ptr == end && !tag.text.starts_with('0');
  if (tag.is_weak || !is_number || version >= version_of_any_job) return std::nullopt;
  return version;
}

/// Whether a change expects its job to be there, whatever its version is.
bool expects_any_version(const request& head) noexcept { return head.find(if_match) == "*"; }

/// Puts in the place of the job with the key, whatever its version is. The store compares versions, so each answer has
/// the one to expect next: another change between two tries takes one more. Of requests that do this at once, one puts
/// its job in each turn, so the last of a hundred takes a hundred tries. Throws wrong_input when it gives up.
task<jobs::put_answer> replace_any(authorized_client& by, jobs::put what) {
  constexpr int most_tries = 200;
  for (int tries = 0; tries < most_tries; ++tries) {
    auto putting = by.execute(jobs::put(what));
    const jobs::put_answer done = co_await putting;
    if (done.what != jobs::put_answer::kind::other_version || done.version == 0) co_return done;
    what.expected = done.version;
  }
  throw wrong_input(
      problem{503, "others change the job all the time: nothing was put, try again", where::header, if_match});
}

/// A refusal by If-Match, with the version that the job has; 0: there is none.
problem problem_of_other_version(jobs::job_version present) {
  return {412,
          present == 0 ? "no job has this key: nothing was put"
                       : "the job has changed: it does not have the version of If-Match",
          where::header, if_match, problem_outcome::other_version};
}
response respond_to_other_version(jobs::job_version present) {
  response made = respond(problem_of_other_version(present));
  if (present != 0) made.fields.push_back({"ETag", etag_of(present)});
  return made;
}

/// Makes the put happen once, if its request has an Idempotency-Key; else no place is taken.
keyed_places::place happen_once(call& by, jobs::put& what) {
  const bool names_job = by.what.method == "PUT";
  const auto key = names_job ? idempotency_key::of(by.what, by.client.allowed(), {"job", what.tube, what.key})
                             : idempotency_key::of(by.what, by.client.allowed(), {"jobs", what.tube});
  if (!key) return {};
  by.client.check(what);  // what is out of scope is answered as if it had never been put
  what.once = jobs::once(key->digest(), request_digest(what, expiry_length_of(by.in)), idempotency_lifetime);
  return enter(by.state.keys_under_way, *key);
}

task<response> put_with(call& by, jobs::on_existing otherwise) {
  jobs::put what = read_put(by.state, by.in, by.what, by.is_raw, otherwise);
  const keyed_places::place under_way = happen_once(by, what);
  jobs::put_answer done;
  if (expects_any_version(by.what)) {
    auto replacing = replace_any(by.client, std::move(what));
    done = co_await replacing;
  } else {
    auto putting = by.client.execute(std::move(what));
    done = co_await putting;
  }
  if (done.what == jobs::put_answer::kind::other_version) co_return respond_to_other_version(done.version);
  if (done.what == jobs::put_answer::kind::other_request) co_return respond(problem_of_other_request());
  const bool only_if_absent = by.what.find(if_none_match).has_value();
  const put_outcome outcome = outcome_of(done, only_if_absent);
  if (outcome.is_refused()) {
    problem wrong = problem_of(outcome);
    if (outcome.status == 412) wrong.place = where::header, wrong.name = if_none_match;
    co_return respond(wrong);
  }
  response made = respond_text(outcome.status, "{" + outcome_members(done.id, outcome.word) + "}");
  if (outcome.status == 201) made.fields.push_back({"Location", fmt::format("/v1/jobs/{}", done.id)});
  if (done.is_replayed) mark_replayed(made);
  co_return made;
}

/// The body in the form that loses nothing and that is easiest to read.
void show_body(ordered_json& into, const jobs::job& what) {
  if (is_media_type(content_type_of(what.fields), "application/json")) {
    if (const auto value = parse_json(what.body, {.exact_fractions = true})) {
      into["body"] = ordered(value->root());
      return;
    }
  }
  if (is_utf8(what.body)) {
    into["text"] = what.body;
  } else {
    into["base64"] = base64(what.body);
  }
}

}  // namespace

jobs::job_version expected_version(const request& head) {
  const auto given = head.find(if_match);
  if (!given || expects_any_version(head)) return 0;
  jobs::job_version version = version_of_no_job;
  std::string_view left = *given;
  do {
    const std::optional<entity_tag> tag = take_tag(left);
    if (!tag)
      throw wrong_input(problem{400, "If-Match must be ETags in their quotes, or `*`", where::header, if_match});
    const std::optional<jobs::job_version> named = version_of(*tag);
    if (!named || *named == version) continue;
    if (version != version_of_no_job) {
      throw wrong_input(problem{400, "If-Match must name one version of the job", where::header, if_match});
    }
    version = *named;
  } while (!left.empty());
  return version;
}

std::string_view text_of(jobs::job_state state) noexcept {
  switch (state) {
    case jobs::job_state::delayed: return "delayed";
    case jobs::job_state::ready: return "ready";
    case jobs::job_state::reserved: return "reserved";
    case jobs::job_state::buried: break;
  }
  return "buried";
}

problem problem_of_missing() {
  return {404, "there is no such job: it has ended, or never was", where::nothing, "", problem_outcome::gone};
}

response respond_to_missing() { return respond(problem_of_missing()); }

std::optional<problem> problem_of(const jobs::change_answer& done) {
  using kind = jobs::change_answer::kind;
  const auto failed = [](int status, problem_outcome outcome, std::string_view detail) {
    return problem{status, std::string(detail), where::nothing, "", outcome};
  };
  switch (done.what) {
    case kind::done: break;
    case kind::reserved: return failed(409, problem_outcome::reserved, "a worker has the job: nothing has changed");
    case kind::refused:
      return failed(409, problem_outcome::refused, "the job is in a state to which this does not apply");
    case kind::gone: return problem_of_missing();
    case kind::other_version: return problem_of_other_version(done.version);
    case kind::no_space:
      return failed(507, problem_outcome::no_space, "the store has no room to write that down: nothing has changed");
  }
  return std::nullopt;
}

response respond_to_change(const jobs::change_answer& done, std::string_view outcome) {
  if (done.what == jobs::change_answer::kind::other_version) return respond_to_other_version(done.version);
  if (const std::optional<problem> wrong = problem_of(done)) return respond(*wrong);
  return respond_text(200, "{" + outcome_members(done.id, outcome) + "}");
}

jobs::job_name job_name_of(inputs& in) {
  const std::optional<std::uint64_t> id = in.number("id", 1, std::numeric_limits<jobs::job_id>::max());
  std::optional<std::string> tube = in.part_of_name("tube", jobs::longest_tube_name);
  std::optional<std::string> key = key_of(in);
  if (tube && tube->empty()) in.refuse("tube", "`tube` must not be empty");
  if (id && (tube || key)) in.refuse("id", "name a job by its `id`, or by its `tube` and `key`, not by both");
  if (id) return *id;
  if (!tube || !key) {
    in.refuse(tube ? "key" : "tube", "name a job by its `id`, or by its `tube` and `key`");
  }
  return jobs::job_key{std::move(*tube), std::move(*key)};
}

std::optional<jobs::due_at> due_of(inputs& in) {
  const std::optional<jobs::utc_time> time = in.time("due");
  const std::optional<jobs::milliseconds> delay = in.length("delay");
  if (time && delay) in.refuse("due", "`due` and `delay` exclude each other");
  if (time) return *time;
  if (delay) return *delay;
  return std::nullopt;
}

jobs::put read_put(const api_state& state, inputs& in, request& from, bool is_raw, jobs::on_existing otherwise) {
  if (state.draining) throw wrong_input(problem{503, "the server drains: it takes no new jobs until its next start"});
  jobs::put what;
  what.tube = tube_of(in);
  what.key = key_of(in).value_or("");
  if (!is_key(what.key)) in.refuse("key", "`key` must be UTF-8 without control characters");
  what.existing = existing_of(in, from, otherwise, !what.key.empty());
  constexpr auto replace = jobs::on_existing::replace;
  if (what.key.empty() && (otherwise == replace || what.existing == replace)) {
    in.refuse("key", "`key` is missing: a put that replaces needs it");
  }
  what.expected = expects_any_version(from) ? version_of_any_job : expected_version(from);
  if (what.expected != 0 && (what.key.empty() || what.existing != jobs::on_existing::replace)) {
    throw wrong_input(problem{400, "If-Match needs a put that replaces the job with its key", where::header, if_match});
  }
  what.due = due_of(in).value_or(jobs::milliseconds(0));
  constexpr std::uint64_t lowest = std::numeric_limits<jobs::priority>::max();
  what.priority = static_cast<jobs::priority>(in.number("priority", 0, lowest).value_or(0));
  if (const std::optional<jobs::milliseconds> ttr = in.length("ttr")) what.ttr = *ttr;
  if (what.ttr == jobs::milliseconds(0)) in.refuse("ttr", "`ttr` must be more than 0s: a worker needs some time");
  if (is_raw) {
    in.accept_fields(field_of_header);
    read_raw_body(from, what);
  } else {
    read_json_body(in, from, what);
  }
  read_policy_fields(in, what);
  in.expect_no_others();
  if (what.body.size() > state.max_job_size) {
    std::string detail = fmt::format("the body of a job has at most {} bytes", state.max_job_size);
    if (is_raw) throw wrong_input(problem{413, std::move(detail), where::body, ""});
    in.refuse(in.has("text") ? "text" : in.has("base64") ? "base64" : "body", std::move(detail), 413);
  }
  return what;
}

std::string outcome_members(jobs::job_id id, std::string_view outcome) {
  return fmt::format(R"("id":"{}","outcome":"{}")", id, outcome);
}

put_outcome outcome_of(const jobs::put_answer& done, bool only_if_absent) noexcept {
  using kind = jobs::put_answer::kind;
  switch (done.what) {
    case kind::inserted: return {201, "inserted"};
    case kind::kept: return {200, "kept"};
    case kind::replaced: return {200, "replaced"};
    case kind::exists:
      return {only_if_absent ? 412 : 409, "", problem_outcome::exists, "a job with this key is there: nothing was put"};
    case kind::reserved:
      return {409, "", problem_outcome::reserved, "a worker has the job with this key: it was not replaced"};
    case kind::other_version:
      return {412, "", problem_outcome::other_version, "the job with this key has another version"};
    case kind::other_request:
      return {422, "", problem_outcome::other_request, "this place of the batch had another put, with the same key"};
    case kind::no_space: break;
  }
  return {507, "", problem_outcome::no_space, "the store has no room for more jobs: nothing was put"};
}

problem problem_of(const put_outcome& refused) {
  return {refused.status, std::string(refused.detail), where::nothing, "", refused.refusal};
}

std::string tube_of(inputs& in) {
  std::string tube = in.required_text("tube");
  if (!is_tube_name(tube)) in.refuse("tube", fmt::format("`tube` must have {}", rule_of_tube_names));
  return tube;
}

ordered_json shown(const jobs::job& what, jobs::utc_time now, bool with_body, jobs::job_version version) {
  ordered_json all = ordered_json::object();
  all["id"] = std::to_string(what.id);
  if (version != 0) all["version"] = std::to_string(version);
  all["tube"] = what.tube;
  if (!what.key.empty()) all["key"] = what.key;
  all["state"] = text_of(what.state);
  all["priority"] = what.priority;
  all["made"] = time_text(what.made);
  all["due"] = time_text(what.due);
  all["ttr"] = to_string(duration(what.ttr)).c_str();
  if (what.expires != instant::never()) {
    const duration left = what.expires - runtime::now();
    all["reserved_until"] = time_text(now + std::chrono::ceil<jobs::milliseconds>(left.to_chrono()));
  }
  all["reserves"] = what.counters.reserves;
  all["timeouts"] = what.counters.timeouts;
  all["releases"] = what.counters.releases;
  all["buries"] = what.counters.buries;
  all["kicks"] = what.counters.kicks;
  if (const std::string_view type = content_type_of(what.fields); !type.empty()) all["content_type"] = type;
  for (const auto& [name, value] : headers_of(what.fields)) all["headers"][name] = value;
  if (const auto occurrence = occurrence_note::in(what.fields)) all["schedule"] = shown(*occurrence);
  show_notes(all, what);
  if (with_body) show_body(all, what);
  return all;
}

void show_notes(ordered_json& to, const jobs::job& what) {
  show_policy_fields(to, what);
  if (const attempt_notes notes = attempt_notes::in(what.history); notes.failed != 0) to["attempts"] = notes.json();
}

void show_holder(ordered_json& to, const call& by, const jobs::job& what) {
  if (what.state != jobs::job_state::reserved) return;
  const std::string holder = by.state.holder_of(what.id, what.counters.reserves);
  if (!holder.empty() && by.client.may_see_holder(holder)) to["held_by"] = holder;
}

task<response> put_job(call& by) { return put_with(by, jobs::on_existing::keep); }

task<response> put_or_replace_job(call& by) { return put_with(by, jobs::on_existing::replace); }

task<response> show_job(call& by) {
  jobs::job_name name = job_name_of(by.in);
  const bool with_body = by.in.flag("with_body").value_or(true);
  by.in.expect_no_others();
  const std::size_t bytes = memory_of_shown(with_body ? by.state.max_job_size : 0);
  const bool has_room = co_await by.side.take_room(bytes);
  if (!has_room) co_return respond_without_memory();
  auto looking = by.client.execute(jobs::peek{std::move(name), with_body});
  const jobs::peek_answer seen = co_await looking;
  if (!seen.job) co_return respond_to_missing();
  ordered_json all = shown(*seen.job, seen.now, with_body, seen.version);
  hide_what_is_others(all, by);
  response made = respond_json(200, all);
  made.fields.push_back({"ETag", etag_of(seen.version)});
  co_return made;
}

jobs::cancel read_cancel(inputs& in) {
  jobs::cancel what{job_name_of(in)};
  in.expect_no_others();
  return what;
}

jobs::reschedule read_reschedule(inputs& in) {
  jobs::reschedule what{job_name_of(in), {}};
  const std::optional<jobs::due_at> due = due_of(in);
  if (!due) in.refuse("due", "`due` or `delay` is missing: when shall the job be due?");
  what.due = *due;
  in.expect_no_others();
  return what;
}

jobs::fire_now read_fire(inputs& in) {
  jobs::fire_now what{job_name_of(in)};
  in.expect_no_others();
  return what;
}

task<response> cancel_job(call& by) { return change_job(by, read_cancel(by.in)); }

task<response> reschedule_job(call& by) { return change_job(by, read_reschedule(by.in)); }

task<response> fire_job(call& by) { return change_job(by, read_fire(by.in)); }

}  // namespace foliot::program::http
