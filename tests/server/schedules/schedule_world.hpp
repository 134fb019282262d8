// A schedule with a store that keeps what it makes: what tests of the planner go through time with. Each turn goes
// through the encoding of the state, and what must hold whatever happens is checked: no occurrence is made twice, the
// cursor does not go back, each decision is counted, no key is put while its job is there.
//
// What does not hold is in faults(), as sentences: a test expects none, and a canary some.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <foliot/schedule.hpp>

#include "server/http/times.hpp"
#include "server/schedules/schedule_planner.hpp"

namespace foliot::program {

/// "2026-11-30T09:00:00Z", also with a fraction.
inline jobs::utc_time time_at(std::string_view text) {
  const auto read = http::parse_time(text);
  if (!read) throw std::runtime_error("no time: " + std::string(text));
  return *read;
}
inline std::chrono::sys_seconds second_at(std::string_view text) {
  return std::chrono::floor<std::chrono::seconds>(time_at(text));
}

inline schedule_plan plan_of(std::string_view text) {
  auto read = schedule_plan::read(text);
  if (!read) throw std::runtime_error(read.error().pointer + ": " + read.error().detail);
  return *std::move(read);
}
inline schedule_plan plan_of_rule(std::string_view rule, std::string_view more = "") {
  return plan_of(fmt::format(R"({{"rules":["{}"]{}{}}})", rule, more.empty() ? "" : ",", more));
}

/// A zone with a rule of POSIX such as `<+01>-1`.
inline schedule::zone zone_by_rule(const std::string& rule, std::string_view version) {
  std::string header("TZif2");
  header.append(15, '\0');
  for (const int each : {0, 0, 0, 0, 1, 4}) {
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(each >> shift & 255);
  }
  const std::string block("\0\0\0\0\0\0UTC\0", 10);
  auto made = schedule::zone::read("Test/Zone", version, header + block + header + block + "\n" + rule + "\n");
  if (!made) throw std::runtime_error(made.error());
  return *std::move(made);
}

class schedule_world {
 public:
  static constexpr std::string_view tube = "mail";
  static constexpr std::string_view name = "nightly";

  schedule_world(schedule_plan plan, jobs::utc_time now, std::optional<schedule::zone> where = {})
      : where_(where ? *std::move(where) : zone_of(plan)), plan_(std::move(plan)), now_(now) {
    plan_.settle_anchors(nullptr, std::chrono::floor<std::chrono::seconds>(now));
    table_ = table_of(plan_);
    state_ = begin_schedule(plan_, *table_, 0xDEADBEEF, now);
    cursor_ = state_.cursor;
    turn(now);
  }

  turn_bounds bounds{};
  /// What is done to each turn before it is committed: how canaries break it.
  std::function<void(schedule_turn&)> flaw;

  [[nodiscard]] const schedule_state& state() const noexcept { return state_; }
  [[nodiscard]] schedule_state& changed_state() noexcept { return state_; }
  [[nodiscard]] const schedule_plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const schedule_table& table() const noexcept { return *table_; }
  [[nodiscard]] jobs::utc_time now() const noexcept { return now_; }
  [[nodiscard]] std::optional<jobs::utc_time> due() const noexcept { return due_; }
  [[nodiscard]] const std::vector<planned_occurrence>& made() const noexcept { return made_; }
  [[nodiscard]] const std::vector<std::string>& faults() const noexcept { return faults_; }
  [[nodiscard]] std::map<std::string, living_fact>& jobs() noexcept { return jobs_; }
  void note(std::string fault) { faults_.push_back(std::move(fault)); }

  /// One turn, as the runner does it. Whether it is complete.
  bool turn_once(jobs::utc_time now) {
    now_ = now;
    return commit(plan_turn(plan_, *table_, state_, now, facts(), bounds));
  }
  /// Turns at this time, until they are complete. How many.
  int turn(jobs::utc_time now) {
    int turns = 1;
    while (!turn_once(now)) {
      if (++turns > 1'000'000) throw std::runtime_error("the turns never end");
    }
    return turns;
  }
  int turn(std::string_view now) { return turn(time_at(now)); }
  /// All turns that are due up to this time, each when it is.
  void go_to(jobs::utc_time end) {
    while (due_ && *due_ <= end) turn(std::max(now_, *due_));
    now_ = std::max(now_, end);
  }
  void go_to(std::string_view end) { go_to(time_at(end)); }

  void edit(schedule_plan after, jobs::utc_time now, std::optional<schedule::zone> where = {}) {
    now_ = now;
    after.settle_anchors(&plan_, std::chrono::floor<std::chrono::seconds>(now));
    if (where) where_ = *std::move(where);
    if (!where && after.zone != plan_.zone) where_ = zone_of(after);
    const schedule_table table_after = table_of(after);
    while (true) {
      schedule_turn done = change_plan(plan_, *table_, after, table_after, state_, now, facts(), bounds);
      const bool is_changed = done.is_changed;
      const bool is_complete = commit(std::move(done));
      if (!is_changed) continue;
      plan_ = std::move(after);
      table_ = table_after;
      if (!is_complete) turn(now);
      return;
    }
  }
  /// As an UPDATE of the record's body with SQL does.
  void edit_by_sql(schedule_plan after) {
    plan_ = std::move(after);
    table_ = table_of(plan_);
  }
  void take_zone_data(schedule::zone where) {
    where_ = std::move(where);
    table_ = table_of(plan_);
  }

  /// The job of an occurrence.
  [[nodiscard]] living_fact& job_of(const occurrence_name& which) {
    for (const living_occurrence& each : state_.living) {
      if (each.name == which) return jobs_.at(key_of_occurrence(name, each.key, state_.incarnation));
    }
    throw std::runtime_error("it does not live: " + schedule::text_of(which.at));
  }
  /// All jobs are done.
  void finish_all() { jobs_.clear(); }
  void set_all(living_fact what) {
    for (auto& [key, fact] : jobs_) fact = what;
  }

  /// The instants that were made, in the order of their makings: "regular 2026-11-30T09:00:00Z".
  [[nodiscard]] std::vector<std::string> log() const {
    std::vector<std::string> all;
    for (const planned_occurrence& each : made_) {
      all.push_back(fmt::format("{} {}", names_of_reasons[static_cast<std::size_t>(each.reason)],
                                schedule::text_of(each.name.at)));
    }
    return all;
  }
  [[nodiscard]] std::uint64_t count_of(occurrence_outcome what) const { return state_.counters.of(what); }
  [[nodiscard]] std::uint64_t count_of(occurrence_reason why) const { return state_.counters.of(why); }

 private:
  [[nodiscard]] static schedule::zone zone_of(const schedule_plan& plan) {
    auto found = schedule::zone_directory().find(plan.zone);
    if (!found) throw std::runtime_error(found.error());
    return *std::move(found);
  }
  [[nodiscard]] schedule_table table_of(const schedule_plan& plan) const {
    auto made = plan.table_in(where_, tube, name);
    if (!made) throw std::runtime_error(made.error().detail);
    return *std::move(made);
  }
  [[nodiscard]] std::vector<living_fact> facts() const {
    std::vector<living_fact> all;
    for (const living_occurrence& each : state_.living) {
      const auto job = jobs_.find(key_of_occurrence(name, each.key, state_.incarnation));
      all.push_back(job == jobs_.end() ? living_fact::gone : job->second);
    }
    return all;
  }

  bool commit(schedule_turn turn) {
    if (flaw) flaw(turn);
    latest_ = std::max(latest_, now_);
    for (const planned_occurrence& each : turn.make) {
      const std::string text = key_of_occurrence(name, each.name, turn.state.incarnation);
      if (!names_.insert(each.name).second) note("it is made twice: " + text);
      const std::string key = key_of_occurrence(name, each.key, turn.state.incarnation);
      const auto job = jobs_.find(key);
      if (each.replaces && (job == jobs_.end() || job->second != living_fact::waiting))
        note("it replaces a job that does not wait: " + text);
      if (!each.replaces && job != jobs_.end()) note("there is a job with its key already: " + text);
      if (each.due < now_ && each.due != now_) note("its job is due before now: " + text);
      if (each.name.at > latest_) note("it is made too early: " + text);
      jobs_[key] = living_fact::waiting;
      made_.push_back(each);
    }
    if (turn.make.size() > 2 * bounds.most_made) note("a turn makes too many");
    const std::string bytes = turn.state.encoding();
    const auto read = schedule_state::parse(bytes);
    if (bytes.size() > longest_state) note("the state is too long");
    if (!read) {
      note("its state cannot be read");
    } else if (*read != turn.state) {
      note("its state is another one when it is read");
    }
    state_ = std::move(turn.state);
    due_ = turn.due;
    if (state_.cursor < cursor_) note("the cursor goes back to " + schedule::text_of(state_.cursor));
    cursor_ = state_.cursor;
    check_counters();
    if (due_ && *due_ < now_) note("the next turn is due before now");
    if (!turn.is_complete && due_ != now_) note("more is to do, but not now");
    return turn.is_complete;
  }

  void check_counters() {
    const schedule_counters& all = state_.counters;
    std::uint64_t sum = all.of(occurrence_reason::regular) + all.of(occurrence_reason::late) + state_.queue.size();
    for (std::size_t i = static_cast<std::size_t>(occurrence_outcome::skipped_busy); i < all.outcomes.size(); ++i)
      sum += all.outcomes[i];
    if (sum != all.decided) note(fmt::format("{} were decided, but {} have an outcome", all.decided, sum));
  }

  schedule::zone where_;
  schedule_plan plan_;
  std::optional<schedule_table> table_;
  schedule_state state_;
  jobs::utc_time now_;
  jobs::utc_time latest_{};  // the latest that the clock has been
  std::chrono::sys_seconds cursor_{};
  std::optional<jobs::utc_time> due_;
  std::map<std::string, living_fact> jobs_;  // by key
  std::set<occurrence_name> names_;
  std::vector<planned_occurrence> made_;
  std::vector<std::string> faults_;
};

}  // namespace foliot::program
