// Schedules in a night in which clocks change, while nodes die: each occurrence is made once, and nothing else.
//
// Most troubles (step_troubles.hpp) come in the commit of a turn, which is between an occurrence and its successor. In
// some worlds the wall clock of all machines is set, and in some the nodes have different data of the time zone: by the
// newer ones its clock does not change. Another client removes the jobs, so that their keys do not keep a second one
// from being made.
//
// The checker shares nothing with the planner: it goes over all seconds, and each schedule has a function that says
// whether it is due at one. It looks at what the database has committed. Missed occurrences are to be made, so all must
// be there at the end, however late.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/schedule/timetable.hpp>

#include "foliot_simulation/world.hpp"
#include "server/access/server_tubes.hpp"
#include "server/schedules/schedule_planner.hpp"
#include "server/schedules/schedule_state.hpp"
#include "server/schedules/zone_folder.hpp"
#include "step_troubles.hpp"

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;
using jobs::nodes::effect;
using jobs::nodes::flaw;
using jobs::nodes::simulated_database;
using std::chrono::sys_seconds;

/// The tube of the occurrences; in one database with the records.
constexpr std::string_view tube = "occurrences";
/// After this time without troubles each turn has been taken: the record of one whose node has died lasts for its TTR,
/// and newer data of a zone are waited for.
constexpr duration time_for_turns = 70s;
/// The clocks of databases differ by less, twice.
constexpr std::chrono::seconds clock_slack{5};
/// So long a node with older data of a zone leaves a turn to others.
constexpr std::chrono::seconds longest_left =
    std::chrono::duration_cast<std::chrono::seconds>(schedule_runner::newer_data_wait_for);
/// The wall clock is set by less.
constexpr duration longest_step = 8s;

/// A schedule, and at which seconds from the change of clocks on it is due.
struct followed_schedule {
  std::string_view name;
  std::string_view rules;  ///< and policies, as JSON
  std::function<bool(std::int64_t)> is_due;
  bool depends_on_data = false;  ///< it is due at other times by data without the change
};

/// A night of Europe/Berlin.
struct night {
  sys_seconds change;
  std::string_view unchanged;  ///< a zone whose clock goes on as that of Berlin before the change
  std::vector<followed_schedule> schedules;
};

bool is_each(std::int64_t second, std::int64_t length, std::int64_t rest) {
  return ((second - rest) % length + length) % length == 0;
}
/// In the minute before the change, every ten seconds.
bool is_before(std::int64_t second) { return second >= -60 && second < 0 && is_each(second, 10, 5); }

std::vector<followed_schedule> schedules_of_both() {
  return {
      {"real", R"([{"text":"*/10 * * * * *","dialect":"seconds"}])",
       [](std::int64_t second) { return is_each(second, 10, 0); }},
      {"often", R"(["every 2s from 2026-01-01T00:00:01Z"])", [](std::int64_t second) { return is_each(second, 2, 1); }},
      {"rarely", R"(["every 1m from 2026-01-01T00:00:30Z"])",
       [](std::int64_t second) { return is_each(second, 60, 30); }},
  };
}

/// The clock goes back from 03:00 to 02:00.
night in_autumn() {
  night made{std::chrono::sys_days(std::chrono::year(2026) / 10 / 25) + 1h, "Africa/Johannesburg", schedules_of_both()};
  constexpr std::string_view minutes = R"([{"text":"5,15,25,35,45,55 0,59 2 * * *","dialect":"seconds"}])";
  constexpr std::string_view twice =
      R"([{"text":"5,15,25,35,45,55 0,59 2 * * *","dialect":"seconds"}],"overlap":"both")";
  made.schedules.push_back({"first", minutes, is_before});
  made.schedules.push_back(
      {"both", twice,
       [](std::int64_t second) { return is_before(second) || (second >= 0 && second < 60 && is_each(second, 10, 5)); },
       true});
  return made;
}

/// The clock goes forward from 02:00 to 03:00.
night in_spring() {
  night made{std::chrono::sys_days(std::chrono::year(2026) / 3 / 29) + 1h, "Africa/Algiers", schedules_of_both()};
  constexpr std::string_view minute = R"([{"text":"5,15,25,35,45,55 59 1 * * *","dialect":"seconds"}])";
  made.schedules.push_back({"before", minute, is_before});
  // Each is left out by the clock, and comes behind the gap: one occurrence.
  made.schedules.push_back({"gap", R"(["0,30 2 * * *"])", [](std::int64_t second) { return second == 0; }, true});
  return made;
}

/// The data of the nodes, by night: the same for all, or with newer ones. Nothing of a world, which may be abandoned.
const std::vector<schedule::zone_directory>& zone_data(const night& of, bool differ) {
  static const zone_folder berlin("2026a", {{"Europe/Berlin", "Europe/Berlin"}});
  static std::map<std::string_view, std::unique_ptr<zone_folder>> newer;
  static std::map<std::pair<std::string_view, bool>, std::vector<schedule::zone_directory>> all;
  std::vector<schedule::zone_directory>& found = all[{of.unchanged, differ}];
  if (!found.empty()) return found;
  found = {berlin.directory()};
  if (!differ) return found;
  newer[of.unchanged] =
      std::make_unique<zone_folder>("2026b", zone_folder::content{{"Europe/Berlin", std::string(of.unchanged)}});
  found.push_back(newer[of.unchanged]->directory());
  return found;
}

/// Whether it is a turn that makes occurrences.
bool is_turn(const jobs::operation& what) {
  const auto* const all = std::get_if<jobs::put_all>(&what);
  return all != nullptr && all->puts.size() > 1 && all->puts.front().holder.has_value();
}

/// A canary's: commits the jobs of turns before their records.
class two_step_store final : public jobs::job_store {
 public:
  explicit two_step_store(std::unique_ptr<jobs::job_store> below) : below_(std::move(below)) {}

  jobs::execution execute(std::span<jobs::operation> batch) override {
    std::vector<jobs::operation> occurrences;
    for (jobs::operation& each : batch) {
      if (!is_turn(each)) continue;
      auto& puts = std::get<jobs::put_all>(each).puts;
      for (std::size_t i = 1; i < puts.size(); ++i) occurrences.emplace_back(puts[i]);
      puts.resize(1);
    }
    if (!occurrences.empty()) static_cast<void>(below_->execute(occurrences));
    return below_->execute(batch);
  }
  [[nodiscard]] jobs::next_change next() const noexcept override { return below_->next(); }
  [[nodiscard]] check_result check() override { return below_->check(); }
  void close() override { below_->close(); }
  [[nodiscard]] jobs::other_nodes* others() noexcept override { return below_->others(); }

 private:
  const std::unique_ptr<jobs::job_store> below_;
};

node_duties duties_of(const night& of, bool have_zones_apart, runner_flaw wrong) {
  node_duties made;
  made.zone_data = zone_data(of, have_zones_apart);
  if (wrong == runner_flaw::decides_again) {
    made.planning.plan = [](const schedule_plan& plan, const schedule_table& table, schedule_state state,
                            jobs::utc_time now, std::span<const living_fact> facts) {
      const sys_seconds before = state.cursor;
      schedule_turn turn = plan_turn(plan, table, std::move(state), now, facts);
      if (!turn.make.empty() && simulation::choose(8) == 0) turn.state.cursor = before;
      return turn;
    };
  }
  if (wrong == runner_flaw::commits_in_two) {
    made.store = [](std::unique_ptr<jobs::job_store> below) -> std::unique_ptr<jobs::job_store> {
      return std::make_unique<two_step_store>(std::move(below));
    };
  }
  return made;
}

/// What happens in commits of turns.
class turn_troubles final : public step_troubles {
 public:
  explicit turn_troubles(node_world& in) : step_troubles(in, 2 + in.below(7)) {}

  [[nodiscard]] std::size_t struck() const noexcept { return struck_; }

 private:
  commit_fate meet(simulated_database&, std::span<const jobs::operation> batch, http_node& by) override {
    if (!in().has_troubles || !std::ranges::any_of(batch, is_turn) || !in().one_in(5)) return commit_fate::arrives;
    ++struck_;
    return strike(by);
  }

  std::size_t struck_ = 0;
};

/// Makes the schedules by SQL, removes the jobs of occurrences, and sets clocks.
class night_watch {
 public:
  /// So late an occurrence may be at the end.
  night_watch(node_world& in, const night& what, std::chrono::seconds latest)
      : in_(in), what_(what), may_be_late_(latest), troubles_(in) {}

  task<> watch() {
    for (const followed_schedule& each : what_.schedules) {
      jobs::put record;
      record.tube = tube_of_schedules;
      record.key = record_key(each);
      record.body =
          fmt::format(R"({{"rules":{},"zone":"Europe/Berlin","missed":"all","missed_limit":1000}})", each.rules);
      const std::array<jobs::operation, 1> made{std::move(record)};
      while (!database().change_by_other_hand(made)) co_await runtime::sleep(duration(10ms));
    }
    while (in_.has_troubles) {
      const duration pause = jobs::milliseconds(50 + in_.below(1500));
      co_await runtime::sleep(pause);
      note_wall();
      remove_jobs();
      if (in_.seen.has_outages && in_.one_in(20)) step_clock();
    }
    const instant until = in_.time_now() + time_for_turns;
    while (in_.time_now() < until) {
      co_await runtime::sleep(duration(1s));
      note_wall();
      remove_jobs();
    }
    end_ = in_.utc();
  }

  /// Against what the database has committed.
  void judge(schedule_outcome_seen& into) {
    note_wall();                                                      // the nodes have gone on for a while
    std::map<std::pair<std::string, std::string>, std::size_t> made;  // by schedule and instant
    for (const effect& each : database().log()) {
      const std::size_t at = each.key.find('@');
      if (each.what != effect::kind::put || at == std::string::npos) continue;
      ++made[{each.key.substr(0, at), each.key.substr(at + 1, each.key.rfind('.') - at - 1)}];
      ++into.made;
    }
    for (const followed_schedule& each : what_.schedules) judge_one(each, made);
    for (const auto& [which, times] : made) {
      in_.breaches.push_back(fmt::format("schedule: {} is not due at {}, and was made", which.first, which.second));
    }
    into.clock_steps = steps_;
    into.struck_turns = troubles_.struck();
  }

 private:
  [[nodiscard]] jobs::nodes::simulated_server& database() const { return in_.databases.front()->primary(); }
  [[nodiscard]] static std::string record_key(const followed_schedule& of) {
    return fmt::format("{}:{}", tube, of.name);
  }

  void note_wall() { latest_ = std::max(latest_, in_.utc()); }

  void remove_jobs() {
    if (in_.one_in(4)) return;  // some keys stay for longer
    std::vector<jobs::operation> all;
    for (const auto& each : database().stored().jobs.entries()) {
      if (each.job.tube == tube) all.emplace_back(jobs::cancel{each.job.id});
    }
    static_cast<void>(database().change_by_other_hand(all));
  }

  void step_clock() {
    const auto length = static_cast<std::size_t>(longest_step.count());
    simulation::step_wall_clock(duration::nanoseconds(static_cast<std::int64_t>(in_.below(2 * length))) - longest_step);
    ++steps_;
  }

  /// Takes its occurrences out of those that were made.
  void judge_one(const followed_schedule& one, std::map<std::pair<std::string, std::string>, std::size_t>& made) {
    const auto* const record =
        database().stored().jobs.find(jobs::job_key{std::string(tube_of_schedules), record_key(one)});
    const auto state =
        record == nullptr ? std::nullopt : schedule_state::in(record->job.history).value_or(std::nullopt);
    if (!state) {
      in_.breaches.push_back(fmt::format("schedule: {} has had no turn", one.name));
      return;
    }
    if (!state->refused.empty()) in_.breaches.push_back(fmt::format("schedule: {}: {}", one.name, state->refused));
    const sys_seconds begin = std::chrono::floor<std::chrono::seconds>(state->made);
    const sys_seconds needed = std::chrono::floor<std::chrono::seconds>(end_) - may_be_late_;
    const sys_seconds last = std::chrono::floor<std::chrono::seconds>(latest_) + clock_slack;
    for (sys_seconds at = begin + 1s; at <= last; at += 1s) {
      if (!one.is_due((at - what_.change).count())) continue;
      const auto found = made.find({std::string(one.name), schedule::text_of(at)});
      const std::size_t times = found == made.end() ? 0 : found->second;
      if (times > 1 || (times == 0 && at <= needed)) {
        in_.breaches.push_back(
            fmt::format("schedule: {} at {} was made {} times", one.name, schedule::text_of(at), times));
      }
      if (found != made.end()) made.erase(found);
    }
  }

  node_world& in_;
  const night& what_;
  const std::chrono::seconds may_be_late_;
  turn_troubles troubles_;
  jobs::utc_time latest_{};
  jobs::utc_time end_{};
  std::size_t steps_ = 0;
};

}  // namespace

schedule_outcome_seen live_with_schedules(runner_flaw wrong) {
  night what = simulation::choose(2) == 0 ? in_autumn() : in_spring();
  schedule_outcome_seen left;
  left.has_zones_apart = simulation::choose(3) == 0;
  if (left.has_zones_apart) std::erase_if(what.schedules, [](const auto& each) { return each.depends_on_data; });
  const auto before = duration::nanoseconds(static_cast<std::int64_t>(simulation::choose(60'000'000'000)));
  const instant begin = wall_clock::from_sys(what.change) - before;
  simulation::step_wall_clock(begin - wall_clock::instance().now());
  const std::chrono::seconds latest = left.has_zones_apart ? longest_left + clock_slack : clock_slack;
  node_world in(flaw::none, duties_of(what, left.has_zones_apart, wrong));
  in.trouble_length = 10s + duration(jobs::milliseconds(in.below(30'000)));
  in.restarts = 6;
  night_watch watching(in, what, latest);
  run_world(in, [&] { return watching.watch(); });
  watching.judge(left);
  left.breaches = std::move(in.breaches);
  left.deaths = in.deaths;
  return left;
}

}  // namespace foliot::program::worlds
