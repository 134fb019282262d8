#include "policy_requests.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/tube_policy.hpp>

#include "entity_tags.hpp"
#include "inputs.hpp"
#include "job_requests.hpp"
#include "problem.hpp"
#include "server/actions/action_runner.hpp"
#include "server/policies/policies_in_force.hpp"
#include "server/policies/policy_record.hpp"
#include "server/policies/policy_records.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

using policy_result = policy_records::result;

/// Policies on a page, unless the request says so.
constexpr std::uint64_t usual_policies = 100;
/// What a policy takes in memory while it is read and shown, at the most: a hundred delays, and names.
constexpr std::size_t memory_of_policy = std::size_t{16} << 10;

policy_records::condition policy_condition_of(const request& head) {
  policy_records::condition when;
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
  if (!when.must_exist) when.expected = expected_version(head);
  return when;
}

std::string policy_etag(jobs::job_version version) { return fmt::format("\"{}\"", version); }

/// Why a request came to nothing. Precondition: it did.
problem policy_refusal(policy_result what, jobs::job_version present) {
  using enum policy_result;
  switch (what) {
    case done:
    case none: break;
    case exists:
      return {412, "the tube has a policy: nothing has changed", where::header, if_none_match, problem_outcome::exists};
    case other_version:
      return {412,
              present == 0 ? "the tube has no policy: nothing has changed"
                           : "the policy has changed: it does not have the version of If-Match",
              where::header, if_match, problem_outcome::other_version};
    case too_many:
      return {409,
              fmt::format("{} tubes have policies, and no more can: delete one that is not needed",
                          policies_in_force::most),
              where::nothing, "", problem_outcome::too_many};
    case busy: {
      problem later{409, "other requests change the policy all the time: try again", where::nothing, "",
                    problem_outcome::busy};
      later.retry_after = std::chrono::seconds(1);
      return later;
    }
    case no_space:
      return {507, "the store has no room to write that down: nothing has changed", where::nothing, "",
              problem_outcome::no_space};
  }
  return {404, "the tube has no policy", where::nothing, "", problem_outcome::gone};
}

response respond_to_policy_refusal(const policy_records::answer& came) {
  response made = respond(policy_refusal(came.what, came.version));
  const bool has_other = came.what == policy_result::other_version || came.what == policy_result::exists;
  if (has_other && came.version != 0) made.fields.push_back({"ETag", policy_etag(came.version)});
  return made;
}

/// A policy with its version.
response respond_with_policy_version(int status, ordered_json all, jobs::job_version version) {
  if (version != 0) all["version"] = std::to_string(version);
  response made = respond_json(status, all);
  if (version != 0) made.fields.push_back({"ETag", policy_etag(version)});
  return made;
}

policies_in_force& policies_of(const call& by) {
  if (by.state.policies == nullptr) throw wrong_input(problem{501, "this server has no policies"});
  return *by.state.policies;
}

policy_records policy_records_of(const call& by) {
  action_runner* const actions = by.state.actions;
  const auto expect = [actions] {
    if (actions != nullptr) actions->records().expect();
  };
  return {by.client, policies_of(by), expect};
}

ordered_json shown_policy(const known_policy& what, const call& by) {
  ordered_json all = ordered_json::object();
  all["tube"] = what.tube;
  all["version"] = std::to_string(what.version);
  all["changed"] = time_text(what.changed);
  const auto show = [&](const jobs::tube_policy& it) {
    ordered_json& shown = all["policy"] = json_of(it);
    if (it.dead_letters.empty() || by.client.includes(it.dead_letters)) return;
    shown.erase("dead_letters");
    all["hidden"] = ordered_json::array({"dead_letters"});
  };
  if (what.fault.empty()) {
    show(what.policy);
    return all;
  }
  all["fault"] = what.fault;
  const std::shared_ptr<const jobs::policy_table> table = policies_of(by).known();
  if (table == nullptr) return all;
  const auto in_force = table->find(what.tube);
  if (in_force != table->end()) show(in_force->second);
  return all;
}

/// Whether jobs that this policy moves to its dead letters can be moved from there, tube by tube, back to their own.
/// O(policies).
bool leads_back(std::string_view tube, const jobs::tube_policy& it, const policies_in_force& in_force) {
  const std::shared_ptr<const jobs::policy_table> table = in_force.known();
  if (table == nullptr) return false;
  std::string_view at = it.dead_letters;
  for (std::size_t moves = 0; moves <= table->size() && !at.empty(); ++moves) {
    if (at == tube) return true;
    const auto next = table->find(at);
    if (next == table->end()) return false;
    at = next->second.dead_letters;
  }
  return false;
}

}  // namespace

task<response> put_policy(call& by) {
  const std::string tube = tube_of(by.in);
  const policy_records::condition when = policy_condition_of(by.what);
  const json& body = by.in.whole_body();
  by.in.expect_no_others();
  if (!body.is_object()) {
    throw wrong_input(
        problem{400, "the body must be a policy, such as {\"tries\": 5, \"delay\": \"10s\"}", where::body, ""});
  }
  auto policy = read_policy(body, tube);
  if (!policy) throw wrong_input(problem{400, policy.error().detail, where::body, policy.error().pointer});
  if (leads_back(tube, *policy, policies_of(by))) {
    throw wrong_input(
        problem{400,
                "`dead_letters` must be a tube whose own dead letters do not come back to this one: a job "
                "would be tried without end",
                where::body, "/dead_letters"});
  }
  policy_records all = policy_records_of(by);
  auto putting = all.put(tube, *std::move(policy), when);
  const policy_records::answer done = co_await putting;
  if (done.what != policy_result::done) co_return respond_to_policy_refusal(done);
  ordered_json told = ordered_json::object();
  told["tube"] = tube;
  told["outcome"] = done.is_new ? "made" : done.is_same ? "unchanged" : "changed";
  co_return respond_with_policy_version(done.is_new ? 201 : 200, std::move(told), done.version);
}

task<response> show_policy(call& by) {
  const std::string tube = tube_of(by.in);
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(memory_of_policy);
  if (!has_room) co_return respond_without_memory();
  policy_records all = policy_records_of(by);
  auto finding = all.find(tube);
  const policy_records::answer found = co_await finding;
  if (!found.seen) co_return respond_to_policy_refusal(found);
  co_return respond_with_policy_version(200, shown_policy(*found.seen, by), found.version);
}

task<response> list_policies(call& by) {
  std::string prefix = by.in.part_of_name("prefix", jobs::longest_tube_name).value_or("");
  std::string after = by.in.text("cursor").value_or("");
  const auto count = by.in.number("count", 1, policy_records::most_on_page).value_or(usual_policies);
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(count * memory_of_policy);
  if (!has_room) co_return respond_without_memory();
  policy_records all = policy_records_of(by);
  auto listing = all.list(std::move(prefix), std::move(after), static_cast<std::size_t>(count));
  const std::optional<policy_records::page> page = co_await listing;
  if (!page) by.in.refuse("cursor", "`cursor` must be the `next` of an earlier page");
  ordered_json shown_page = ordered_json::object();
  ordered_json& list = shown_page["policies"] = ordered_json::array();
  for (const known_policy& each : page->policies) list.push_back(shown_policy(each, by));
  if (!page->next.empty()) shown_page["next"] = page->next;
  co_return respond_json(200, shown_page);
}

task<response> delete_policy(call& by) {
  const std::string tube = tube_of(by.in);
  const policy_records::condition when = policy_condition_of(by.what);
  by.in.expect_no_others();
  policy_records all = policy_records_of(by);
  auto removing = all.remove(tube, when);
  const policy_records::answer done = co_await removing;
  if (done.what != policy_result::done) co_return respond_to_policy_refusal(done);
  ordered_json told = ordered_json::object();
  told["tube"] = tube;
  told["outcome"] = "deleted";
  co_return respond_json(200, told);
}

}  // namespace foliot::program::http
