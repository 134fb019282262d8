#include "webhook_requests.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>

#include "entity_tags.hpp"
#include "inputs.hpp"
#include "job_requests.hpp"
#include "problem.hpp"
#include "requests.hpp"
#include "server/access/rights.hpp"
#include "server/targets/target_deliveries.hpp"
#include "server/targets/target_plan.hpp"
#include "server/targets/target_records.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

using targets = target_records;

/// The bytes of a target that is shown, as a record, a document and a text, without its texts.
constexpr std::size_t memory_of_target = std::size_t{4} << 10;
/// The most targets on a page with the counts of their jobs: each tube is counted by itself.
constexpr std::size_t most_with_jobs = 100;

std::size_t memory_of_texts(const target_record& of) noexcept {
  std::size_t bytes = of.tube.size() + of.fault.size() + of.state.by.size() + of.state.why.size();
  if (!of.plan) return 3 * bytes;
  bytes += of.plan->url.size() + of.plan->content_type.size();
  for (const auto& [name, value] : of.plan->headers) bytes += name.size() + value.size();
  return 3 * bytes;
}

std::string target_etag(jobs::job_version version) { return fmt::format("\"{}\"", version); }

target_deliveries& deliveries_of(const call& by) {
  by.client.check_scope(scope::administer);
  if (by.state.deliveries == nullptr) throw wrong_input(problem{501, "this server was built without webhooks"});
  return *by.state.deliveries;
}

targets::condition target_condition_of(const request& head) {
  targets::condition when;
  if (const auto none = head.find(if_none_match)) {
    if (*none != "*") throw wrong_input(problem{400, "If-None-Match must be `*`", where::header, if_none_match});
    when.must_be_new = true;
  }
  const auto match = head.find(if_match);
  if (!match) return when;
  if (when.must_be_new)
    throw wrong_input(problem{400, "If-Match and If-None-Match exclude each other", where::header, if_none_match});
  when.must_exist = *match == "*";
  if (!when.must_exist) when.expected = expected_version(head);
  return when;
}

/// The problem of what is wrong with a plan.
problem problem_of_fault(const target_fault& wrong) {
  problem made{wrong.needs_operator ? 403 : 400, wrong.detail, where::body, wrong.pointer};
  if (wrong.needs_operator) made.outcome = problem_outcome::not_allowed;
  return made;
}

problem problem_of_target(const targets::answer& done) {
  const std::string why = done.wrong ? done.wrong->detail : std::string();
  switch (done.what) {
    case targets::result::done:
    case targets::result::none: break;
    case targets::result::exists:
      return {412, "the tube has a target: nothing has changed", where::header, if_none_match, problem_outcome::exists};
    case targets::result::other_version:
      return {412,
              done.version == 0 ? "the tube has no target: nothing has changed"
                                : "the target has changed: it does not have the version of If-Match",
              where::header, if_match, problem_outcome::other_version};
    case targets::result::refused:
      if (done.wrong) return problem_of_fault(*done.wrong);
      break;
    case targets::result::too_long: return {400, why, where::body, ""};
    case targets::result::busy: {
      problem later{409, "others change the target: try again", where::nothing, "", problem_outcome::busy};
      later.retry_after = std::chrono::seconds(1);
      return later;
    }
    case targets::result::too_many:
      return {409, fmt::format("there are {} targets, and no more can be", most_targets), where::nothing, "",
              problem_outcome::too_many};
    case targets::result::unreadable: return {409, why, where::nothing, "", problem_outcome::wrong_state};
    case targets::result::no_space:
      return {507, "the store has no room to write that down: nothing has changed", where::nothing, "",
              problem_outcome::no_space};
  }
  return {404, "the tube has no target", where::nothing, "", problem_outcome::gone};
}

response respond_to_target(const targets::answer& done) {
  response made = respond(problem_of_target(done));
  const bool has_other = done.what == targets::result::other_version || done.what == targets::result::exists;
  if (has_other && done.version != 0) made.fields.push_back({"ETag", target_etag(done.version)});
  return made;
}

/// `active`, `disabled`, `hindered` (nothing can be delivered), or `unreadable`.
std::string_view word_of_target(const target_record& what, const std::optional<delivery_state>& how) noexcept {
  if (!what.plan) return "unreadable";
  if (!what.state.is_enabled || (how && how->is_gone)) return "disabled";
  return how && !how->hindrance.empty() ? "hindered" : "active";
}

ordered_json shown_deliveries(const delivery_state& how) {
  ordered_json all = ordered_json::object();
  all["circuit"] = how.circuit;
  all["under_way"] = how.under_way;
  all["failures_in_a_row"] = how.failures;
  if (how.closed_until) all["closed_until"] = time_text(*how.closed_until);
  if (how.held_until) all["held_until"] = time_text(*how.held_until);
  all["delivered"] = how.delivered;
  all["failed"] = how.failed;
  all["buried"] = how.buried;
  return all;
}

ordered_json shown_target(const target_record& what, const std::optional<delivery_state>& how) {
  ordered_json all = ordered_json::object();
  all["tube"] = what.tube;
  all["state"] = word_of_target(what, how);
  if (!what.fault.empty()) all["reason"] = what.fault;
  if (how && !how->hindrance.empty() && what.state.is_enabled) all["reason"] = how->hindrance;
  if (how && how->is_gone && what.state.is_enabled)
    all["reason"] = "the target answered 410, which could not be written down yet: it is tried again";
  if (what.plan) {
    if (!what.state.is_enabled && !what.state.why.empty()) all["reason"] = what.state.why;
    all["since"] = time_text(what.state.since);
    if (!what.state.by.empty()) all["by"] = what.state.by;
    all["made"] = time_text(what.state.made);
    all["target"] = what.plan->json();
  }
  all["version"] = fmt::format("{}", what.version);
  if (how) all["deliveries"] = shown_deliveries(*how);
  return all;
}

ordered_json shown_delivery(const known_delivery& one) {
  ordered_json all = ordered_json::object();
  all["at"] = time_text(one.at);
  if (one.job != 0) all["job"] = fmt::format("{}", one.job);
  if (!one.key.empty()) all["key"] = one.key;
  all["message"] = one.message;
  all["attempt"] = one.attempt;
  all["outcome"] = one.outcome;
  if (one.status != 0) all["status"] = one.status;
  all["milliseconds"] = one.took.count();
  if (!one.reason.empty()) all["reason"] = one.reason;
  if (!one.answer.empty()) all["answer"] = one.answer;
  if (!one.address.empty()) all["address"] = one.address;
  if (!one.job_outcome.empty()) all["then"] = one.job_outcome;
  if (one.next) all["next"] = time_text(*one.next);
  return all;
}

/// The counts of the jobs in these tubes, which are within the rights of the client.
task<std::vector<jobs::count_answer>> count_jobs_of(call& by, std::span<const target_record> those) {
  std::deque<jobs::in_flight<jobs::count_tube>> looks;
  for (const target_record& each : those)
    looks.emplace_back(by.client.connection_for_server(), jobs::count_tube{each.tube});
  std::vector<jobs::count_answer> counts;
  for (jobs::in_flight<jobs::count_tube>& each : looks) {
    const jobs::count_answer counted = co_await each;
    counts.push_back(counted);
  }
  co_return counts;
}

void add_waiting_jobs(ordered_json& to, const jobs::count_answer& counted) {
  ordered_json& jobs_of_tube = to["jobs"] = ordered_json::object();
  jobs_of_tube["ready"] = counted.counts.ready;
  jobs_of_tube["reserved"] = counted.counts.reserved;
  jobs_of_tube["delayed"] = counted.counts.delayed;
  jobs_of_tube["buried"] = counted.counts.buried;
  if (counted.what == jobs::count_answer::kind::cut_short) jobs_of_tube["at_least"] = true;
}

response respond_to_target_change(const std::string& tube, const targets::answer& done, std::string_view outcome,
                                  int status = 200) {
  if (done.what != targets::result::done) return respond_to_target(done);
  ordered_json all = ordered_json::object();
  all["tube"] = tube;
  all["outcome"] = done.is_same ? "unchanged" : outcome;
  if (done.version != 0) all["version"] = fmt::format("{}", done.version);
  response made = respond_json(status, all);
  if (done.version != 0) made.fields.push_back({"ETag", target_etag(done.version)});
  return made;
}

}  // namespace

task<response> put_webhook(call& by) {
  const std::string tube = tube_of(by.in);
  const targets::condition when = target_condition_of(by.what);
  const json& body = by.in.whole_body();
  by.in.expect_no_others();
  target_deliveries& deliveries = deliveries_of(by);
  auto plan = target_plan::read(body);
  if (!plan) throw wrong_input(problem_of_fault(plan.error()));
  targets all(by.client, deliveries);
  auto putting = all.put(tube, *std::move(plan), when);
  const targets::answer done = co_await putting;
  co_return respond_to_target_change(tube, done, done.is_new ? "made" : "changed", done.is_new ? 201 : 200);
}

task<response> show_webhook(call& by) {
  const std::string tube = tube_of(by.in);
  by.in.expect_no_others();
  target_deliveries& deliveries = deliveries_of(by);
  targets all(by.client, deliveries);
  auto finding = all.find(tube);
  const targets::answer found = co_await finding;
  if (found.what != targets::result::done || !found.seen) co_return respond_to_target(found);
  ordered_json shown = shown_target(*found.seen, deliveries.state_of(tube));
  add_process(shown["server"] = ordered_json::object(), by.state);
  response made = respond_json(200, shown);
  made.fields.push_back({"ETag", target_etag(found.version)});
  co_return made;
}

task<response> list_webhooks(call& by) {
  std::string prefix = by.in.part_of_name("prefix", jobs::longest_tube_name).value_or("");
  const std::string after = by.in.part_of_name("cursor", jobs::longest_tube_name).value_or("");
  const bool with_jobs = by.in.flag("with_jobs").value_or(false);
  const std::size_t most = with_jobs ? most_with_jobs : most_targets;
  const std::size_t count = by.in.number("count", 1, most).value_or(most);
  by.in.expect_no_others();
  target_deliveries& deliveries = deliveries_of(by);
  if (with_jobs) by.client.check_scope(scope::look);
  const bool has_room = co_await by.side.take_room(most_targets * memory_of_target);
  if (!has_room) co_return respond_without_memory();
  targets all(by.client, deliveries);
  auto listing = all.list(std::move(prefix));
  const std::vector<target_record> found = co_await listing;
  const auto first = std::ranges::upper_bound(found, after, {}, &target_record::tube);
  const bool is_last = static_cast<std::size_t>(found.end() - first) <= count;
  const std::span page(first, is_last ? found.end() : first + static_cast<std::ptrdiff_t>(count));
  std::size_t texts = 0;
  for (const target_record& each : page) texts += memory_of_texts(each);
  const bool has_room_for_texts = co_await by.side.take_room(texts);
  if (!has_room_for_texts) co_return respond_without_memory();
  auto counting = count_jobs_of(by, with_jobs ? page : page.first(0));
  const std::vector<jobs::count_answer> counts = co_await counting;
  ordered_json shown = ordered_json::object();
  ordered_json& list = shown["webhooks"] = ordered_json::array();
  for (std::size_t i = 0; i < page.size(); ++i) {
    list.push_back(shown_target(page[i], deliveries.state_of(page[i].tube)));
    if (with_jobs) add_waiting_jobs(list.back(), counts[i]);
  }
  if (!is_last) shown["next"] = page.back().tube;
  add_process(shown["server"] = ordered_json::object(), by.state);
  co_return respond_json(200, shown);
}

task<response> delete_webhook(call& by) {
  const std::string tube = tube_of(by.in);
  const targets::condition when = target_condition_of(by.what);
  by.in.expect_no_others();
  targets all(by.client, deliveries_of(by));
  auto removing = all.remove(tube, when);
  const targets::answer done = co_await removing;
  if (done.what != targets::result::done) co_return respond_to_target(done);
  ordered_json told = ordered_json::object();
  told["tube"] = tube;
  told["outcome"] = "deleted";
  co_return respond_json(200, told);
}

task<response> enable_webhook(call& by) {
  const std::string tube = tube_of(by.in);
  const targets::condition when = target_condition_of(by.what);
  by.in.expect_no_others();
  targets all(by.client, deliveries_of(by));
  auto enabling = all.enable(tube, when);
  const targets::answer done = co_await enabling;
  co_return respond_to_target_change(tube, done, "enabled");
}

task<response> disable_webhook(call& by) {
  const std::string tube = tube_of(by.in);
  const targets::condition when = target_condition_of(by.what);
  std::string note = by.in.text("note").value_or("");
  if (note.size() > 500) by.in.refuse("note", "`note` has at most 500 bytes");
  by.in.expect_no_others();
  targets all(by.client, deliveries_of(by));
  auto disabling = all.disable(tube, std::move(note), when);
  const targets::answer done = co_await disabling;
  co_return respond_to_target_change(tube, done, "disabled");
}

task<response> test_webhook(call& by) {
  const std::string tube = tube_of(by.in);
  by.in.expect_no_others();
  target_deliveries& deliveries = deliveries_of(by);
  targets all(by.client, deliveries);
  auto finding = all.find(tube);
  const targets::answer found = co_await finding;
  if (found.what != targets::result::done || !found.seen) co_return respond_to_target(found);
  if (!found.seen->plan) {
    co_return respond(problem{409, found.seen->fault, where::nothing, "", problem_outcome::wrong_state});
  }
  auto trying = deliveries.try_out(tube, *found.seen->plan);
  const known_delivery came = co_await trying;
  co_return respond_json(200, shown_delivery(came));
}

task<response> show_deliveries(call& by) {
  const std::string tube = tube_of(by.in);
  by.in.expect_no_others();
  target_deliveries& deliveries = deliveries_of(by);
  targets all(by.client, deliveries);
  auto finding = all.find(tube);
  const targets::answer found = co_await finding;
  if (found.what != targets::result::done) co_return respond_to_target(found);
  ordered_json shown = ordered_json::object();
  shown["tube"] = tube;
  ordered_json& list = shown["deliveries"] = ordered_json::array();
  for (const known_delivery& each : deliveries.last_of(tube)) list.push_back(shown_delivery(each));
  add_process(shown["server"] = ordered_json::object(), by.state);
  co_return respond_json(200, shown);
}

}  // namespace foliot::program::http
