#include "requests.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>

#include "inputs.hpp"
#include "job_requests.hpp"
#include "job_search.hpp"
#include "problem.hpp"
#include "server/access/authorized_client.hpp"
#include "server/actions/action.hpp"
#include "server/actions/action_records.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

using action_result = action_records::result;

/// What an action takes in memory while it is read and shown, at the most.
constexpr std::size_t memory_of_action = std::size_t{16} << 10;

problem problem_of_missing_action() {
  return {404, "there is no such action: it was forgotten, or never was", where::nothing, "", problem_outcome::gone};
}

/// The id of the action; nothing if there can be none with this name.
std::optional<jobs::job_id> id_of_action(inputs& in) {
  const std::string text = in.required_text("action");
  jobs::job_id id = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, id);
  if (read.ec != std::errc() || read.ptr != end || id == 0) return std::nullopt;
  return id;
}

void read_tubes(inputs& in, const rights& allowed, job_filter& into) {
  std::optional<std::string> tube = in.part_of_name("tube", jobs::longest_tube_name);
  std::optional<std::string> prefix = in.part_of_name("prefix", jobs::longest_tube_name);
  if (tube && prefix) in.refuse("prefix", "`tube` and `prefix` exclude each other");
  if (!tube && !prefix)
    in.refuse("tube", "`tube` is missing, or a `prefix` of tubes; an empty prefix is for all tubes");
  if (tube && tube->empty()) in.refuse("tube", "`tube` must not be empty: an empty `prefix` is for all tubes");
  if (prefix) {
    into.prefix = std::move(*prefix);
    into.within = allowed.prefixes_within(into.prefix);
  }
  if (tube) into.tube = std::move(*tube);
}

job_filter read_filter(inputs& in, const rights& allowed, action_kind what) {
  using enum jobs::job_state;
  job_filter made = read_sought(in);
  read_tubes(in, allowed, made);
  constexpr std::array states{delayed, ready, buried};
  if (const auto state = in.choice("state", {"delayed", "ready", "buried"})) made.state = states[*state];
  if (what == action_kind::kick && made.state == ready) {
    in.refuse("state", "a kick is for jobs that are `delayed` or `buried`");
  }
  return made;
}

action_plan read_plan(inputs& in, const rights& allowed) {
  action_plan made;
  const auto what = in.choice("do", {"cancel", "kick", "fire", "reschedule"});
  if (!what) in.refuse("do", "`do` is missing: it is one of cancel, kick, fire, reschedule");
  made.what = static_cast<action_kind>(*what);
  made.filter = read_filter(in, allowed, made.what);
  const bool is_reschedule = made.what == action_kind::reschedule;
  made.due = due_of(in);
  if (is_reschedule && !made.due) in.refuse("due", "`due` or `delay` is missing: when shall the jobs be due?");
  if (!is_reschedule && made.due) {
    in.refuse(in.has("due") ? "due" : "delay", "a time is for `reschedule` alone");
  }
  in.expect_no_others();
  return made;
}

ordered_json filter_json(const job_filter& what) {
  ordered_json all = ordered_json::object();
  if (what.tube.empty()) {
    all["prefix"] = what.prefix;
  } else {
    all["tube"] = what.tube;
  }
  if (what.state) all["state"] = text_of(*what.state);
  if (!what.key_prefix.empty()) all["key_prefix"] = what.key_prefix;
  if (!what.text.empty()) all["text"] = what.text;
  return all;
}

void add_run(ordered_json& to, const action_progress& progress) {
  ordered_json& outcomes = to["outcomes"] = ordered_json::object();
  for (std::size_t i = 0; i < names_of_outcomes.size(); ++i) {
    outcomes[std::string(names_of_outcomes[i])] = progress.outcomes[i];
  }
  ordered_json& differences = to["differences"] = ordered_json::object();
  differences["matched"] = progress.matched;
  const bool is_done = progress.state == action_state::done;
  if (is_done && progress.matched < progress.counted) differences["fewer"] = progress.counted - progress.matched;
  if (progress.matched > progress.counted) differences["more"] = progress.matched - progress.counted;
  differences["jobs"] = ordered_json::array();
  for (const auto& [id, outcome] : progress.named) {
    ordered_json one = ordered_json::object();
    one["id"] = std::to_string(id);
    one["outcome"] = names_of_outcomes[static_cast<std::size_t>(outcome)];
    differences["jobs"].push_back(std::move(one));
  }
}

ordered_json action_json(const action& what) {
  const action_progress& progress = what.progress;
  ordered_json all = ordered_json::object();
  all["id"] = std::to_string(what.id);
  all["state"] = names_of_action_states[static_cast<std::size_t>(progress.state)];
  if (!progress.reason.empty()) all["reason"] = progress.reason;
  all["do"] = names_of_kinds[static_cast<std::size_t>(what.plan.what)];
  all["filter"] = filter_json(what.plan.filter);
  if (what.plan.due) {
    if (const auto* const time = std::get_if<jobs::utc_time>(&*what.plan.due)) all["due"] = time_text(*time);
    if (const auto* const delay = std::get_if<jobs::milliseconds>(&*what.plan.due)) {
      all["delay"] = to_string(duration(*delay)).c_str();
    }
  }
  all["made"] = time_text(what.made);
  all["counted"] = progress.counted;
  if (what.plan.filter.needs_body()) all["searched_in_part"] = progress.partly;
  if (progress.started) all["started"] = time_text(*progress.started);
  if (progress.started) add_run(all, progress);
  if (progress.ended) all["ended"] = time_text(*progress.ended);
  if (progress.kept_until) all["kept_until"] = time_text(*progress.kept_until);
  return all;
}

/// Why a request came to nothing.
problem refusal_of(const action_records::answer& what) {
  const auto refused = [](int status, problem_outcome outcome, std::string detail) {
    return problem{status, std::move(detail), where::nothing, "", outcome};
  };
  switch (what.what) {
    case action_result::done:
    case action_result::none: break;
    case action_result::too_many:
      return refused(409, problem_outcome::too_many,
                     fmt::format("there are {} actions: forget some of them", action_records::most_actions));
    case action_result::too_many_own:
      return refused(409, problem_outcome::too_many,
                     fmt::format("this access has {} actions: forget some of them", action_records::most_of_owner));
    case action_result::too_long:
      return problem{400,
                     "the filter is too long: a shorter text, or a prefix of fewer tubes of the access token, has "
                     "room"};
    case action_result::wrong_state: {
      const std::string_view state = names_of_action_states[static_cast<std::size_t>(what.seen->progress.state)];
      return refused(409, problem_outcome::wrong_state,
                     fmt::format("this does not apply to an action that is {}", state));
    }
    case action_result::wrong_count:
      return problem{
          409, fmt::format("the action has counted {} jobs: repeat this number to run it", what.seen->progress.counted),
          where::body, "/counted", problem_outcome::other_count};
    case action_result::busy:
      return refused(409, problem_outcome::busy, "another request, or a turn, has the action: try again");
    case action_result::no_space:
      return refused(507, problem_outcome::no_space, "the store has no room to write that down: nothing has changed");
  }
  return problem_of_missing_action();
}

response respond_to_action(const action_records::answer& what, int status = 200) {
  if (what.what != action_result::done) return respond(refusal_of(what));
  ordered_json all = action_json(*what.seen);
  if (what.is_stopping) all["stopping"] = true;
  return respond_json(status, all);
}

/// Finds the caller's rights to have actions at all.
void expect_right_to_change(call& by) { by.client.check_scope(scope::change); }

void wake_actions(call& by) {
  if (by.state.actions != nullptr) by.state.actions->wake();
}

}  // namespace

task<response> make_action(call& by) {
  expect_right_to_change(by);
  action_plan plan = read_plan(by.in, by.client.allowed());
  if (plan.filter.needs_body()) by.client.check_scope(scope::look);
  if (!plan.filter.tube.empty()) by.client.check_use(plan.filter.tube);
  if (by.state.draining) co_return respond(problem{503, "the server drains: it takes no new jobs, and no actions"});
  const bool has_room = co_await by.side.take_room(action_records::most_actions * memory_of_action);
  if (!has_room) co_return respond_without_memory();
  if (by.state.actions != nullptr) by.state.actions->records().expect();
  action_records records(by.client);
  auto making = records.make(std::move(plan));
  const action_records::answer made = co_await making;
  wake_actions(by);
  response shown = respond_to_action(made, 201);
  if (made.what == action_result::done) {
    shown.fields.push_back({"Location", fmt::format("/v1/actions/{}", made.seen->id)});
  }
  co_return shown;
}

task<response> list_actions(call& by) {
  expect_right_to_change(by);
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(action_records::most_actions * memory_of_action);
  if (!has_room) co_return respond_without_memory();
  action_records records(by.client);
  auto listing = records.list();
  const std::vector<action> known = co_await listing;
  ordered_json all = ordered_json::object();
  all["actions"] = ordered_json::array();
  for (const action& each : known) all["actions"].push_back(action_json(each));
  co_return respond_json(200, all);
}

task<response> show_action(call& by) {
  expect_right_to_change(by);
  const std::optional<jobs::job_id> id = id_of_action(by.in);
  by.in.expect_no_others();
  if (!id) co_return respond(problem_of_missing_action());
  action_records records(by.client);
  auto finding = records.find(*id);
  const action_records::answer found = co_await finding;
  co_return respond_to_action(found);
}

task<response> run_action(call& by) {
  expect_right_to_change(by);
  const std::optional<jobs::job_id> id = id_of_action(by.in);
  const auto counted = by.in.number("counted", 0, std::numeric_limits<std::uint64_t>::max());
  if (!counted) by.in.refuse("counted", "`counted` is missing: repeat the number of jobs that the action has counted");
  by.in.expect_no_others();
  if (!id) co_return respond(problem_of_missing_action());
  action_records records(by.client);
  auto starting = records.start(*id, *counted);
  const action_records::answer started = co_await starting;
  wake_actions(by);
  co_return respond_to_action(started);
}

task<response> stop_action(call& by) {
  expect_right_to_change(by);
  const std::optional<jobs::job_id> id = id_of_action(by.in);
  by.in.expect_no_others();
  if (!id) co_return respond(problem_of_missing_action());
  action_records records(by.client);
  auto stopping = records.stop(*id);
  const action_records::answer stopped = co_await stopping;
  co_return respond_to_action(stopped);
}

task<response> forget_action(call& by) {
  expect_right_to_change(by);
  const std::optional<jobs::job_id> id = id_of_action(by.in);
  by.in.expect_no_others();
  if (!id) co_return respond(problem_of_missing_action());
  action_records records(by.client);
  auto forgetting = records.forget(*id);
  const action_records::answer done = co_await forgetting;
  if (done.what != action_result::done) co_return respond(refusal_of(done));
  ordered_json all = ordered_json::object();
  all["id"] = std::to_string(*id);
  all["outcome"] = "forgotten";
  co_return respond_json(200, all);
}

}  // namespace foliot::program::http
