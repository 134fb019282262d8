#include "target_records.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/runtime/wall_time.hpp>

#include "server/access/server_tubes.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

using target_answer = target_records::answer;
using target_result = target_records::result;

/// A change is made again so often because another one was quicker.
constexpr int most_changes_of_target = 20;

target_answer answer_of_target(target_result what) {
  target_answer made;
  made.what = what;
  return made;
}

target_answer unreadable_target(const target_record& of) {
  target_answer made = answer_of_target(target_result::unreadable);
  made.version = of.version;
  made.wrong = target_fault{"", of.fault};
  return made;
}

}  // namespace

void target_records::check(const std::string& tube) const {
  client_.check_scope(scope::administer);
  client_.check_use(tube);
}

bool target_records::may_see(const std::string& tube) const {
  client_.check_scope(scope::administer);
  return client_.includes(tube);
}

std::string target_records::who() const {
  const rights& by = client_.allowed();
  return by.name().empty() ? by.id() : by.name();
}

void target_records::tell(std::string_view what, const std::string& tube) const {
  client_.tell_of_action(fmt::format("target of tube {}, {}", printable(tube), what));
}

target_result target_records::check(const condition& when, const answer& seen) noexcept {
  const bool is_there = seen.what == result::done;
  if (!is_there) return when.must_exist || when.expected != 0 ? result::other_version : result::none;
  if (when.must_be_new) return result::exists;
  return when.expected != 0 && when.expected != seen.version ? result::other_version : result::done;
}

task<target_answer> target_records::look(std::string tube) {
  auto looking =
      client_.execute_for_server(jobs::peek{jobs::job_key{std::string(tube_of_targets), std::move(tube)}, true});
  const jobs::peek_answer found = co_await looking;
  if (!found.job) co_return answer_of_target(result::none);
  answer seen;
  seen.version = found.version;
  seen.record = found.job->id;
  seen.seen = target_record::in(*found.job, found.version);
  co_return seen;
}

task<target_answer> target_records::find(std::string tube) {
  if (!may_see(tube)) co_return answer_of_target(result::none);
  auto looking = look(std::move(tube));
  answer seen = co_await looking;
  co_return seen;
}

task<std::vector<target_record>> target_records::list(std::string prefix) {
  client_.check_scope(scope::administer);
  const std::vector<seen_target> none_known;  // until the look has ended
  auto looking = look_at_targets(client_.connection_for_server(), none_known);
  std::vector<seen_target> seen = co_await looking;
  std::vector<target_record> all;
  for (seen_target& each : seen) {
    if (each.record && each.tube.starts_with(prefix) && client_.includes(each.tube))
      all.push_back(*std::move(each.record));
  }
  co_return all;
}

task<target_answer> target_records::store(std::string tube, const target_plan& plan, const target_state& state,
                                          jobs::job_version expected) {
  using kind = jobs::put_answer::kind;
  std::optional<jobs::in_flight<jobs::put>> putting;
  try {
    putting.emplace(client_.connection_for_server(), put_of_target(tube, plan, state, expected));
  } catch (const std::invalid_argument& wrong) {
    answer refused = answer_of_target(result::too_long);
    refused.wrong = target_fault{"", fmt::format("the target is kept as the body of a job: {}", wrong.what())};
    co_return refused;
  }
  jobs::in_flight<jobs::put>& one = *putting;
  const jobs::put_answer stored = co_await one;
  switch (stored.what) {
    case kind::inserted:
    case kind::replaced:
    case kind::kept: break;
    case kind::no_space: co_return answer_of_target(result::no_space);
    case kind::exists:
    case kind::reserved:
    case kind::other_version:
    case kind::other_request: co_return answer_of_target(result::busy);
  }
  deliveries_.wake();  // even if the look fails
  auto looking = look(tube);
  answer made = co_await looking;
  if (made.record != stored.id) {  // another change was quicker: its version would say that the client has seen it
    made = answer_of_target(result::done);
    made.record = stored.id;
  }
  deliveries_.expect(tube);  // again: a look that began before the put knows nothing of it
  auto applying = deliveries_.apply();
  co_await applying;
  co_return made;
}

task<target_answer> target_records::put(std::string tube, target_plan plan, condition when) {
  check(tube);
  if (auto wrong = deliveries_.fault_of(plan)) {
    answer refused = answer_of_target(result::refused);
    refused.wrong = std::move(wrong);
    co_return refused;
  }
  for (int i = 0; i < most_changes_of_target; ++i) {
    auto looking = look(tube);
    answer seen = co_await looking;
    const result allowed = check(when, seen);
    if (allowed != result::done && allowed != result::none) {
      seen.what = allowed;
      co_return seen;
    }
    const bool is_new = allowed == result::none;
    if (is_new) {
      auto counting = client_.execute_for_server(jobs::count_tube{std::string(tube_of_targets)});
      const jobs::count_answer counted = co_await counting;
      if (counted.counts.all() >= most_targets) co_return answer_of_target(result::too_many);
    } else if (seen.seen->plan == plan) {
      seen.is_same = true;
      co_return seen;
    }
    target_state state = is_new ? target_state{} : seen.seen->state;
    if (is_new || !seen.seen->plan) {
      state = {};
      state.made = std::chrono::floor<jobs::milliseconds>(runtime::wall_now());
      state.since = state.made;
      state.by = who();
    }
    deliveries_.expect(tube);
    tell(is_new ? "make" : "change", tube);
    auto storing = store(tube, plan, state, seen.version);
    answer made = co_await storing;
    if (made.what == result::busy) continue;
    if (made.what != result::done) deliveries_.wake();  // the tube may have no target after all
    made.is_new = is_new;
    co_return made;
  }
  deliveries_.wake();
  co_return answer_of_target(result::busy);
}

task<target_answer> target_records::remove(std::string tube, condition when) {
  if (!may_see(tube)) co_return answer_of_target(result::none);
  for (int i = 0; i < most_changes_of_target; ++i) {
    auto looking = look(tube);
    answer seen = co_await looking;
    const result allowed = check(when, seen);
    if (allowed != result::done) {
      seen.what = allowed;
      co_return seen;
    }
    tell("remove", tube);
    jobs::cancel ending{jobs::job_key{std::string(tube_of_targets), tube}};
    ending.expected = seen.version;
    auto cancelling = client_.execute_for_server(std::move(ending));
    const jobs::change_answer done = co_await cancelling;
    if (done.what != jobs::change_answer::kind::done) continue;
    auto applying = deliveries_.apply();
    co_await applying;
    co_return seen;
  }
  co_return answer_of_target(result::busy);
}

task<target_answer> target_records::change(std::string tube, condition when, std::function<bool(target_record&)> how,
                                           std::string told) {
  if (!may_see(tube)) co_return answer_of_target(result::none);
  for (int i = 0; i < most_changes_of_target; ++i) {
    auto looking = look(tube);
    answer seen = co_await looking;
    const result allowed = check(when, seen);
    if (allowed != result::done) {
      seen.what = allowed;
      co_return seen;
    }
    target_record& record = *seen.seen;
    if (!record.plan) co_return unreadable_target(record);
    if (!how(record)) {
      seen.is_same = true;
      co_return seen;
    }
    tell(told, tube);
    auto storing = store(tube, *record.plan, record.state, seen.version);
    answer made = co_await storing;
    if (made.what != result::busy) co_return made;
  }
  co_return answer_of_target(result::busy);
}

task<target_answer> target_records::enable(std::string tube, condition when) {
  auto changing = change(
      tube, when,
      [this](target_record& record) {
        if (record.state.is_enabled) return false;
        record.state.is_enabled = true;
        record.state.since = std::chrono::floor<jobs::milliseconds>(runtime::wall_now());
        record.state.by = who();
        record.state.why.clear();
        return true;
      },
      "enable");
  answer done = co_await changing;
  // Also where the record is enabled: an answer 410 may be known that could not be written down.
  if (done.what == result::done) deliveries_.enable(tube);
  co_return done;
}

task<target_answer> target_records::disable(std::string tube, std::string why, condition when) {
  auto changing = change(
      std::move(tube), when,
      [this, why = std::move(why)](target_record& record) {
        if (!record.state.is_enabled) return false;
        record.state.is_enabled = false;
        record.state.since = std::chrono::floor<jobs::milliseconds>(runtime::wall_now());
        record.state.by = who();
        record.state.why = why;
        return true;
      },
      "disable");
  answer done = co_await changing;
  co_return done;
}

}  // namespace foliot::program
