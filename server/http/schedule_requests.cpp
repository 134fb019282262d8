#include "schedule_requests.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/schedule/timetable.hpp>

#include "entity_tags.hpp"
#include "inputs.hpp"
#include "job_requests.hpp"
#include "problem.hpp"
#include "schedule_json.hpp"
#include "server/access/server_tubes.hpp"
#include "server/actions/action_runner.hpp"
#include "server/schedules/schedule_plan.hpp"
#include "server/schedules/schedule_planner.hpp"
#include "server/schedules/schedule_records.hpp"

namespace foliot::program::http {

namespace {

using records = schedule_records;

/// Schedules on a page, unless the request says so.
constexpr std::uint64_t usual_schedules = 100;
/// What a schedule takes in memory while it is read and shown, beside the body of its jobs.
constexpr std::size_t memory_of_schedule = std::size_t{64} << 10;
/// What a change of a schedule takes: the record as it was, its plan, and the record that is stored.
constexpr std::size_t memory_of_change = 3 * largest_body_of_server + memory_of_schedule;

struct schedule_name {
  std::string tube;
  std::string name;
};

schedule_name name_of_schedule(inputs& in) {
  schedule_name read{tube_of(in), in.required_text("name")};
  if (!is_schedule_name(read.name)) in.refuse("name", fmt::format("`name` must have {}", form_of_schedule_names));
  return read;
}

/// The version that If-Match names. Of several tags one may be that of a schedule; a weak one never is.
std::optional<schedule_version> expected_schedule_version(std::string_view value) {
  schedule_version expected;  // (0, 0): no schedule has it
  std::string_view left = value;
  do {
    const std::optional<entity_tag> tag = take_tag(left);
    if (!tag)
      throw wrong_input(problem{400, "If-Match must be ETags in their quotes, or `*`", where::header, if_match});
    const std::optional<schedule_version> named = tag->is_weak ? std::nullopt : version_of_tag(tag->text);
    if (!named || *named == expected) continue;
    if (expected != schedule_version()) {
      throw wrong_input(problem{400, "If-Match must name one version of the schedule", where::header, if_match});
    }
    expected = *named;
  } while (!left.empty());
  return expected;
}

records::condition schedule_condition_of(const request& head) {
  records::condition when;
  if (const auto none = head.find(if_none_match)) {
    if (*none != "*") throw wrong_input(problem{400, "If-None-Match must be `*`", where::header, if_none_match});
    when.must_be_new = true;
  }
  const auto match = head.find(if_match);
  if (!match) return when;
  if (when.must_be_new) {
    throw wrong_input(problem{400, "If-Match and If-None-Match exclude each other", where::header, if_none_match});
  }
  when.must_exist = *match == "*";
  if (!when.must_exist) when.expected = expected_schedule_version(*match);
  return when;
}

std::string schedule_etag(const schedule_version& version) { return fmt::format("\"{}\"", tag_text(version)); }

/// A value of the request is wrong, or its schedule is in a state to which it does not apply. `field`: a JSON pointer.
[[noreturn]] void refuse_schedule_change(const call& by, const std::string& why, const std::string& field) {
  if (field.empty()) {
    throw wrong_input(problem{409, why, where::nothing, "", problem_outcome::refused});
  }
  by.in.refuse(std::string_view(field).substr(1), why);
}
[[noreturn]] void refuse_plan(const std::string& why, const std::string& field) {
  throw wrong_input(problem{400, why, where::body, field});
}

/// Why a request came to nothing. Precondition: it did.
problem schedule_refusal(records::result what, const std::string& why, const schedule_version& present) {
  using enum records::result;
  const auto failed = [](int status, problem_outcome outcome, std::string detail) {
    return problem{status, std::move(detail), where::nothing, "", outcome};
  };
  switch (what) {
    case done:
    case none: break;
    case exists:
      return {412, "there is such a schedule: nothing has changed", where::header, if_none_match,
              problem_outcome::exists};
    case other_version:
      return {412,
              present == schedule_version() ? "there is no such schedule: nothing has changed"
                                            : "the schedule has changed: it does not have the version of If-Match",
              where::header, if_match, problem_outcome::other_version};
    case busy: {
      problem later = failed(409, problem_outcome::busy, "a turn, or another request, has the schedule: try again");
      later.retry_after = std::chrono::seconds(1);
      return later;
    }
    case refused:
    case too_long: return {400, why};
    case other_database:
      return failed(409, problem_outcome::several_databases,
                    "the tube lies in another database than the schedules, so that an occurrence and the step of its "
                    "schedule could not be one commit: choose a tube of their database");
    case unreadable: return failed(409, problem_outcome::wrong_state, why);
    case no_space:
      return failed(507, problem_outcome::no_space, "the store has no room to write that down: nothing has changed");
  }
  return {404, "there is no such schedule: it was deleted, or never was", where::nothing, "", problem_outcome::gone};
}

response respond_to_schedule_refusal(records::result what, const std::string& why, const schedule_version& present) {
  response made = respond(schedule_refusal(what, why, present));
  const bool has_other = what == records::result::other_version || what == records::result::exists;
  if (has_other && present != schedule_version()) made.fields.push_back({"ETag", schedule_etag(present)});
  return made;
}

/// What has become of a schedule: its names, a word, and its version.
ordered_json outcome_json(const schedule_name& which, std::string_view outcome, const schedule_version& version) {
  ordered_json all = ordered_json::object();
  all["tube"] = which.tube;
  all["name"] = which.name;
  all["outcome"] = outcome;
  add_version(all, version);
  return all;
}

response respond_with_version(const ordered_json& all, const schedule_version& version, int status = 200) {
  response made = respond_json(status, all);
  made.fields.push_back({"ETag", schedule_etag(version)});
  return made;
}

/// The response to a change other than a put. Throws wrong_input.
response respond_to_schedule_change(const call& by, const schedule_name& which, const records::answer& done,
                                    std::string_view outcome) {
  if (done.what == records::result::refused) refuse_schedule_change(by, done.why, done.field);
  if (done.what != records::result::done) return respond_to_schedule_refusal(done.what, done.why, done.version);
  ordered_json all = outcome_json(which, done.is_same ? "unchanged" : outcome, done.version);
  if (done.at) all["at"] = schedule::text_of(*done.at);
  if (!done.key.empty()) all["key"] = done.key;
  return respond_with_version(all, done.version);
}

schedule_records records_of(const call& by) {
  if (by.state.zones == nullptr) throw wrong_input(problem{501, "this server has no schedules"});
  action_runner* const actions = by.state.actions;
  const auto expect = [actions] {
    if (actions != nullptr) actions->records().expect();
  };
  return {by.client, *by.state.zones, expect};
}

/// A time in whole seconds, rounded up.
std::optional<std::chrono::sys_seconds> instant_in(inputs& in, std::string_view name) {
  const std::optional<jobs::utc_time> read = in.time(name);
  if (!read) return std::nullopt;
  return std::chrono::ceil<std::chrono::seconds>(*read);
}
jobs::utc_time required_time_in(inputs& in, std::string_view name) {
  const auto read = in.time(name);
  if (!read) in.refuse(name, fmt::format("`{}` is missing: name a time such as 2026-11-29T05:40:00Z", name));
  return *read;
}

/// What makes occurrences makes jobs, which a server that drains does not take.
void refuse_while_it_drains(const call& by) {
  if (!by.state.draining) return;
  throw wrong_input(problem{503, "the server drains: it takes no new jobs, and no schedules, until its next start"});
}

std::string_view fate_word(records::fate what) noexcept {
  switch (what) {
    case records::fate::kept: return "kept";
    case records::fate::cancelled: return "cancelled";
    case records::fate::at_work: return "at_work";
    case records::fate::gone: break;
  }
  return "gone";
}

/// The timetable of a schedule; nothing if it has none: its zone is not there, or its plan cannot be followed.
std::optional<schedule_table> timetable_of(const call& by, const known_schedule& what) {
  if (!what.fault.empty()) return std::nullopt;
  const auto where = by.state.zones->find(what.plan.zone);
  if (!where) return std::nullopt;
  auto table = what.plan.table_in(*where, what.tube, what.name);
  if (!table) return std::nullopt;
  return *std::move(table);
}

/// The plan that is the body of the request. Throws wrong_input.
schedule_plan read_plan(const call& by, const json& body) {
  if (!body.is_object()) refuse_plan("the body must be a plan, such as {\"rules\": [\"0 9 * * MON-FRI\"]}", "");
  auto plan = schedule_plan::read(body, by.state.max_job_size);
  if (!plan) refuse_plan(plan.error().detail, plan.error().pointer);
  return *std::move(plan);
}

}  // namespace

task<response> preview_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const json& body = by.in.whole_body();
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto looking = all.preview(which.tube, which.name, read_plan(by, body));
  const records::answer seen = co_await looking;
  if (seen.what == records::result::refused || seen.what == records::result::too_long) {
    refuse_plan(seen.why, seen.field);
  }
  if (seen.what != records::result::done) co_return respond_to_schedule_refusal(seen.what, seen.why, seen.version);
  ordered_json shown_one;
  auto showing = [&] {  // what a timetable is asked may take long
    const std::optional<schedule_table> table = timetable_of(by, *seen.seen);
    if (table) shown_one = preview_of(*seen.seen, *table);
  };
  co_await runtime::blocking(showing);
  co_return respond_json(200, shown_one);
}

task<response> put_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const records::condition when = schedule_condition_of(by.what);
  const json& body = by.in.whole_body();
  by.in.expect_no_others();
  refuse_while_it_drains(by);
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_plan plan = read_plan(by, body);
  schedule_records all = records_of(by);
  auto putting = all.put(which.tube, which.name, std::move(plan), when);
  const records::answer done = co_await putting;
  if (done.what == records::result::refused || done.what == records::result::too_long) {
    refuse_plan(done.why, done.field);
  }
  if (done.what != records::result::done) co_return respond_to_schedule_refusal(done.what, done.why, done.version);
  const std::string_view outcome = done.is_new ? "made" : done.is_same ? "unchanged" : "changed";
  co_return respond_with_version(outcome_json(which, outcome, done.version), done.version, done.is_new ? 201 : 200);
}

task<response> show_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(memory_of_shown(largest_body_of_server) + memory_of_schedule);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto finding = all.find(which.tube, which.name);
  const records::answer found = co_await finding;
  const bool is_seen = found.what == records::result::done || found.what == records::result::unreadable;
  if (!is_seen || !found.seen) co_return respond_to_schedule_refusal(found.what, found.why, found.version);
  ordered_json shown_one;
  auto showing = [&] {  // what a timetable is asked may take long
    const std::optional<schedule_table> table = timetable_of(by, *found.seen);
    shown_one = shown(*found.seen, table ? &*table : nullptr);
  };
  co_await runtime::blocking(showing);
  if (!found.seen->fault.empty()) co_return respond_json(200, shown_one);
  co_return respond_with_version(shown_one, found.version);
}

task<response> list_schedules(call& by) {
  records::filter which;
  const std::optional<std::string> tube = by.in.part_of_name("tube", jobs::longest_tube_name);
  const std::optional<std::string> prefix = by.in.part_of_name("prefix", jobs::longest_tube_name);
  if (tube && prefix) by.in.refuse("prefix", "`tube` and `prefix` exclude each other");
  if (tube && tube->empty()) by.in.refuse("tube", "`tube` must not be empty");
  which.tube = tube.value_or("");
  which.prefix = prefix.value_or("");
  std::string after = by.in.text("cursor").value_or("");
  const auto count = by.in.number("count", 1, records::most_on_page).value_or(usual_schedules);
  by.in.expect_no_others();
  const std::size_t together = std::min<std::size_t>(records::most_looks, count);
  const std::size_t memory = together * 2 * largest_body_of_server + count * memory_of_schedule;
  const bool has_room = co_await by.side.take_room(memory);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto listing = all.list(std::move(which), std::move(after), static_cast<std::size_t>(count), together);
  const std::optional<records::page> page = co_await listing;
  if (!page) by.in.refuse("cursor", "`cursor` must be the `next` of an earlier page");
  ordered_json shown_page = ordered_json::object();
  ordered_json& list = shown_page["schedules"] = ordered_json::array();
  for (const known_schedule& each : page->schedules) list.push_back(entry_of(each));
  if (!page->next.empty()) shown_page["next"] = page->next;
  co_return respond_json(200, shown_page);
}

task<response> delete_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const records::condition when = schedule_condition_of(by.what);
  const bool cancels = by.in.choice("occurrences", {"keep", "cancel"}) == 1;
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto removing = all.remove(which.tube, which.name, cancels, when);
  const records::removed_answer done = co_await removing;
  if (done.what != records::result::done) co_return respond_to_schedule_refusal(done.what, done.why, done.version);
  ordered_json told = ordered_json::object();
  told["tube"] = which.tube;
  told["name"] = which.name;
  told["outcome"] = "deleted";
  ordered_json& occurrences = told["occurrences"] = ordered_json::array();
  for (const records::occurrence_fate& each : done.occurrences) {
    ordered_json one = ordered_json::object();
    one["at"] = schedule::text_of(each.nominal);
    one["key"] = each.key;
    one["outcome"] = fate_word(each.what);
    occurrences.push_back(std::move(one));
  }
  if (done.not_followed != 0) told["not_followed"] = done.not_followed;
  co_return respond_json(200, told);
}

task<response> pause_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const records::condition when = schedule_condition_of(by.what);
  std::string note = by.in.text("note").value_or("");
  const auto until = instant_in(by.in, "until");
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto pausing = all.pause(which.tube, which.name, std::move(note), until, when);
  const records::answer done = co_await pausing;
  co_return respond_to_schedule_change(by, which, done, "paused");
}

task<response> resume_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const records::condition when = schedule_condition_of(by.what);
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto resuming = all.resume(which.tube, which.name, when);
  const records::answer done = co_await resuming;
  co_return respond_to_schedule_change(by, which, done, "resumed");
}

task<response> skip_occurrence(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const records::condition when = schedule_condition_of(by.what);
  const auto at = instant_in(by.in, "at");
  if (at && *at != by.in.time("at")) by.in.refuse("at", "`at` must be the instant of an occurrence, in whole seconds");
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto skipping = all.skip(which.tube, which.name, at, when);
  const records::answer done = co_await skipping;
  co_return respond_to_schedule_change(by, which, done, "skipped");
}

task<response> run_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const records::condition when = schedule_condition_of(by.what);
  by.in.expect_no_others();
  refuse_while_it_drains(by);
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto running = all.run(which.tube, which.name, when);
  const records::answer done = co_await running;
  co_return respond_to_schedule_change(by, which, done, "accepted");
}

task<response> backfill_schedule(call& by) {
  const schedule_name which = name_of_schedule(by.in);
  const records::condition when = schedule_condition_of(by.what);
  // The whole seconds between the two.
  const auto from = std::chrono::ceil<std::chrono::seconds>(required_time_in(by.in, "from"));
  const auto to = std::chrono::floor<std::chrono::seconds>(required_time_in(by.in, "to"));
  const bool is_dry = by.in.flag("dry_run").value_or(false);
  by.in.expect_no_others();
  if (!is_dry) refuse_while_it_drains(by);
  const bool has_room = co_await by.side.take_room(memory_of_change);
  if (!has_room) co_return respond_without_memory();
  schedule_records all = records_of(by);
  auto filling = all.backfill(which.tube, which.name, from, to, is_dry, when);
  const records::answer done = co_await filling;
  if (done.what != records::result::done) co_return respond_to_schedule_change(by, which, done, "");
  ordered_json told = outcome_json(which, is_dry ? "counted" : "accepted", done.version);
  told["count"] = done.count;
  if (done.backfilled) {
    told["left_out"] = done.backfilled->left_out;
    if (done.backfilled->first) told["first"] = schedule::text_of(*done.backfilled->first);
    if (done.backfilled->last) told["last"] = schedule::text_of(*done.backfilled->last);
    if (is_dry) told["times"] = shown(done.backfilled->soonest);
  }
  co_return respond_with_version(told, done.version);
}

}  // namespace foliot::program::http
