// Schedules beside a naive model: random plans, turns at random times with random facts, edits, pauses, skips, runs by
// hand and backfills, and clocks that go back. The model keeps a list of all instants, and sets; it knows no cursor, no
// stretches that were left out, and no bounds of a turn. Seeds: FOLIOT_SEED is the first, FOLIOT_SEEDS how many.
//
// The canaries break the planner's answers, and the walk must find that.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedule_world.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using outcome = occurrence_outcome;
using reason = occurrence_reason;

/// What a canary breaks.
enum class flaw_kind : std::uint8_t {
  none,
  loses_one,      ///< an occurrence of a turn is not put
  repeats_holes,  ///< what was made may be backfilled again
  forgets_pause,  ///< paused time is missed when the schedule is resumed
  skips_two,      ///< a skip takes two
  loses_by_edit,  ///< an edit forgets what was due
  counts_again,   ///< an edit begins the count again
  calls_late_regular,
  knows_too_late,  ///< jobs that are gone are taken for living
  forgets_queue,
  mixes_by_hand,  ///< runs by hand have no ordinals
  ends_late,      ///< one more than the count is made
};

/// The model: everything in sets, the whole past at hand.
class naive_schedule {
 public:
  struct living {
    occurrence_name name;
    reason why;
    living_fact fact = living_fact::waiting;
  };

  naive_schedule(const schedule_plan& plan, const schedule_table& table, sys_seconds now) : decided_to_(now) {
    set_plan(plan, table);
    counted_ = 0;
  }

  std::map<occurrence_name, reason> made;
  std::map<outcome, std::uint64_t> outcomes;
  std::vector<living> alive;
  std::deque<std::pair<sys_seconds, reason>> queue;
  std::deque<occurrence_name> by_hand;
  std::set<sys_seconds> skips;
  std::vector<schedule_pause> pauses;

  void set_plan(const schedule_plan& plan, const schedule_table& table) {
    plan_ = plan;
    instants_.clear();
    for (sys_seconds place = begin_of_time - 12h; place < end_of_time;) {
      const auto next = table.all.next(place);
      if (!next) break;
      place = next->at;
      instants_.push_back(place);
    }
  }
  void edit(const schedule_plan& plan, const schedule_table& table, jobs::utc_time now) {
    if (plan.digest() == plan_.digest()) return;
    if (plan.count != plan_.count) counted_ = 0;
    set_plan(plan, table);
    decided_to_ = std::max(decided_to_, std::chrono::floor<seconds>(now));
    turn(now);
  }
  [[nodiscard]] const std::vector<sys_seconds>& instants() const { return instants_; }
  [[nodiscard]] sys_seconds decided_to() const { return decided_to_; }

  void turn(jobs::utc_time now) {
    std::erase_if(
        alive, [](const living& each) { return each.fact == living_fact::gone || each.fact == living_fact::buried; });
    this_turn_.clear();
    while (!by_hand.empty() && is_free()) {
      make(by_hand.front(), reason::by_hand);
      by_hand.pop_front();
    }
    const sys_seconds second = std::chrono::floor<seconds>(now);
    while (!queue.empty() && !is_paused(second)) {
      const auto [at, why] = queue.front();
      const bool is_too_late = plan_.deadline && now - at > *plan_.deadline;
      if (!is_too_late && !is_free()) break;
      queue.pop_front();
      if (is_too_late) {
        ++outcomes[outcome::expired_by_deadline];
      } else {
        make({at, 0}, why);
      }
    }
    decide(now);
    std::erase_if(pauses, [&](const schedule_pause& each) { return each.until && *each.until <= second; });
  }

  /// The timetable's instants in the stretch that have been decided and were not made.
  [[nodiscard]] std::set<sys_seconds> not_made(sys_seconds from, sys_seconds to) const {
    std::set<sys_seconds> all;
    for (const sys_seconds at : instants_) {
      const auto waits = std::ranges::find(queue, at, &std::pair<sys_seconds, reason>::first) != queue.end();
      if (at >= from && at <= std::min(to, decided_to_) && !waits && !made.contains({at, 0})) all.insert(at);
    }
    return all;
  }
  void make(const occurrence_name& name, reason why) {
    made[name] = why;
    alive.push_back({name, why});
    this_turn_.insert(name);
    const std::size_t most = 64;
    while (alive.size() > most) alive.erase(alive.begin());
  }

  static inline const sys_seconds begin_of_time = second_at("2026-10-24T12:00:00Z");
  static inline const sys_seconds end_of_time = second_at("2026-10-27T00:00:00Z");

 private:
  [[nodiscard]] bool is_free() const { return plan_.busy == busy_policy::allow || alive.empty(); }
  [[nodiscard]] bool is_paused(sys_seconds at) const {
    return std::ranges::any_of(
        pauses, [&](const schedule_pause& each) { return at > each.since && (!each.until || at < *each.until); });
  }

  void decide(jobs::utc_time now) {
    std::vector<sys_seconds> due;
    for (auto each = std::ranges::upper_bound(instants_, decided_to_); each != instants_.end(); ++each) {
      const sys_seconds at = *each;
      if (at > now) break;
      if (plan_.count > 0 && counted_ + due.size() >= plan_.count) break;
      due.push_back(at);
    }
    const auto fate = [&](sys_seconds at) {
      if (skips.contains(at)) return outcome::skipped_by_request;
      if (is_paused(at)) return outcome::skipped_paused;
      if (plan_.deadline && now - at > *plan_.deadline) return outcome::expired_by_deadline;
      if (now - at > 60s && now - at > plan_.missed_window) return outcome::expired_by_window;
      return outcome::made;
    };
    std::vector<sys_seconds> late;
    for (const sys_seconds at : due)
      if (now - at > 60s && fate(at) == outcome::made) late.push_back(at);
    const std::size_t limit = plan_.missed == missed_policy::none   ? 0
                              : plan_.missed == missed_policy::last ? 1
                                                                    : plan_.missed_limit;
    const std::set<sys_seconds> wanted(late.end() - static_cast<std::ptrdiff_t>(std::min(limit, late.size())),
                                       late.end());
    for (const sys_seconds at : due) {
      const bool is_late = now - at > 60s;
      outcome what = fate(at);
      if (what == outcome::made && is_late && !wanted.contains(at))
        what = plan_.missed == missed_policy::all ? outcome::skipped_limit : outcome::skipped_missed;
      if (what == outcome::made) {
        decide_busy(at, is_late ? reason::late : reason::regular);
      } else {
        ++outcomes[what];
      }
      decided_to_ = at;
      ++counted_;
    }
  }

  void decide_busy(sys_seconds at, reason why) {
    const bool is_busy = !alive.empty() || !queue.empty();
    const std::size_t places = plan_.busy == busy_policy::queue ? plan_.busy_limit : 0;
    if (is_busy && (plan_.busy == busy_policy::skip || plan_.busy == busy_policy::queue)) {
      if (queue.size() < places) {
        queue.emplace_back(at, why);
      } else {
        ++outcomes[outcome::skipped_busy];
      }
      return;
    }
    if (is_busy && plan_.busy == busy_policy::replace) {
      const auto old = std::find_if(alive.rbegin(), alive.rend(), [&](const living& each) {
        return each.fact == living_fact::waiting && each.name.at < at &&
               (each.why == reason::regular || each.why == reason::late);
      });
      if (old != alive.rend()) {
        if (this_turn_.contains(old->name)) {
          made.erase(old->name);
          ++outcomes[outcome::skipped_busy];
        } else {
          ++outcomes[outcome::replaced];
        }
        alive.erase(std::next(old).base());
      }
    }
    make({at, 0}, why);
  }

  schedule_plan plan_;
  std::vector<sys_seconds> instants_;
  sys_seconds decided_to_;
  std::uint64_t counted_ = 0;
  std::set<occurrence_name> this_turn_;
};

/// One walk.
class walker {
 public:
  walker(std::uint64_t seed, flaw_kind flaw)
      : random_(seed),
        flaw_(flaw),
        world_(random_plan(), random_start()),
        model_(world_.plan(), world_.table(), start_) {
    world_.flaw = [this](schedule_turn& turn) { break_turn(turn); };
  }

  /// What was found first, with the plan; "" if nothing was.
  std::string run() {
    const std::string wrong = find();
    return wrong.empty() ? wrong : wrong + " of " + world_.plan().text();
  }

 private:
  std::string find() {
    for (int step = 0; step < 80; ++step) {
      take_step();
      if (std::string wrong = difference(); !wrong.empty()) return fmt::format("step {}: {}", step, wrong);
    }
    return drain();
  }

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  template <class Value>
  Value one_of(std::initializer_list<Value> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(below(all.size())));
  }

  jobs::utc_time random_start() {
    start_ = naive_schedule::begin_of_time + std::chrono::hours(1 + below(12)) + seconds(below(7200));
    return start_;
  }

  schedule_plan random_plan() {
    using namespace std::string_literals;
    const auto rule = [&] {
      return one_of({"*/5 * * * *"s, "7,37 * * * *"s, "*/20 0-23 * * *"s, "0,30 1-3 * * *"s, "every 7m"s,
                     "every 4m55s"s, "every 2h from 2026-01-01T00:00:00Z"s, "30 2 * * *"s});
    };
    std::string text = fmt::format(R"({{"rules":["{}")", rule());
    if (below(3) == 0) text += fmt::format(R"(,"{}")", rule());
    text += R"(],"zone":"Europe/Berlin")";
    if (below(4) == 0) text += R"(,"exclude":{"rules":["5,20 * * * *"]})";
    if (below(4) == 0) text += fmt::format(R"(,"count":{})", 1 + below(20));
    if (below(6) == 0) text += R"(,"ends":"2026-10-25T06:00:00Z")";
    if (below(3) == 0) text += R"(,"jitter":"20m")";
    text += fmt::format(R"(,"overlap":"{}")", one_of({"first", "last", "both"}));
    const std::string missed = one_of({"none"s, "last"s, "all"s});
    text += fmt::format(R"(,"missed":"{}")", missed);
    if (missed == "all") text += fmt::format(R"(,"missed_limit":{})", 1 + below(6));
    if (below(3) == 0) text += fmt::format(R"(,"missed_window":"{}m")", 5 + below(120));
    if (below(4) == 0) text += fmt::format(R"(,"deadline":"{}s")", 10 + below(3000));
    const std::string busy = one_of({"allow"s, "allow"s, "skip"s, "queue"s, "replace"s});
    text += fmt::format(R"(,"busy":"{}")", busy);
    if (busy == "queue") text += fmt::format(R"(,"busy_limit":{})", 1 + below(4));
    return plan_of(text + "}");
  }

  void set_bounds() {
    // Where a turn is cut, one that was made may be replaced, and the model knows no cuts.
    const bool may_cut = world_.plan().busy != busy_policy::replace && below(2) == 0;
    world_.bounds = may_cut ? turn_bounds{.most_made = 1 + below(4), .most_steps = 2 + below(20)} : turn_bounds{};
  }

  void take_step() {
    set_bounds();
    // Requests come while something is due that has not had its turn.
    if (below(3) == 0) now_ = std::min<jobs::utc_time>(now_ + seconds(below(3000)), naive_schedule::end_of_time - 1h);
    switch (below(12)) {
      case 0: return change_plan_of_both();
      case 1: return pause();
      case 2: return resume();
      case 3: return skip();
      case 4: return run_by_hand_in_both();
      case 5: return backfill();
      case 6:
      case 7: return let_jobs_go_on();
      case 8: return turn(now_ - std::chrono::milliseconds(below(300'000)));
      default: {
        const auto most = one_of<std::uint64_t>({1'000, 30'000, 90'000, 600'000, 7'200'000});
        return turn(now_ + std::chrono::milliseconds(below(most)));
      }
    }
  }

  void turn(jobs::utc_time now) {
    now_ = std::min<jobs::utc_time>(now, naive_schedule::end_of_time - 1h);
    world_.turn(now_);
    model_.turn(now_);
    take_over_backfills();
  }

  void change_plan_of_both() {
    if (!world_.state().backfills.empty()) return;
    schedule_plan plan = random_plan();
    if (below(3) == 0) {
      plan = world_.plan();
      plan.note = "another";
    } else if (below(2) == 0) {
      plan.count = world_.plan().count;
    }
    ++edits_;
    model_.turn(now_);
    if (flaw_ == flaw_kind::loses_by_edit) {
      world_.edit_by_sql(plan);
      world_.turn(now_);
    } else {
      world_.edit(plan, now_);
    }
    if (flaw_ == flaw_kind::counts_again) world_.changed_state().counted = 0;
    model_.edit(world_.plan(), world_.table(), now_);
  }

  void pause() {
    std::optional<jobs::utc_time> until;
    if (below(2) == 0) until = now_ + std::chrono::seconds(1 + below(7200));
    if (!pause_schedule(world_.changed_state(), now_, "", "", until)) return;
    const sys_seconds second = std::chrono::floor<seconds>(now_);
    auto& all = model_.pauses;
    const bool is_paused = !all.empty() && (!all.back().until || *all.back().until > second);
    if (!is_paused) all.push_back({all.empty() ? second : std::max(second, *all.back().until), std::nullopt});
    all.back().until.reset();
    if (until) all.back().until = std::max(std::chrono::ceil<seconds>(*until), all.back().since);
    turn(now_);
  }

  void resume() {
    const bool was_paused = resume_schedule(world_.changed_state(), now_);
    if (was_paused && flaw_ == flaw_kind::forgets_pause) world_.changed_state().pauses.clear();
    const sys_seconds second = std::chrono::floor<seconds>(now_);
    auto& all = model_.pauses;
    if (was_paused) all.back().until = std::max(all.back().since, second);
    turn(now_);
  }

  void skip() {
    const auto& state = world_.state();
    const auto upcoming = upcoming_occurrences(world_.plan(), world_.table(), state, now_, 5);
    if (upcoming.empty()) return;
    std::optional<jobs::utc_time> at;
    if (below(2) == 0) at = upcoming[below(upcoming.size())].when.at;
    const auto done = skip_occurrence(world_.plan(), world_.table(), world_.changed_state(), now_, at);
    if (!done) return;
    if (flaw_ == flaw_kind::skips_two)
      static_cast<void>(skip_occurrence(world_.plan(), world_.table(), world_.changed_state(), now_, {}));
    if (done->at < naive_schedule::end_of_time && !std::ranges::binary_search(model_.instants(), done->at))
      world_.note("it skips what is no occurrence");
    model_.skips.insert(done->at);
  }

  void run_by_hand_in_both() {
    if (const auto name = run_by_hand(world_.changed_state(), now_)) model_.by_hand.push_back(*name);
    turn(now_);
  }

  void backfill() {
    const auto from = now_ - std::chrono::seconds(below(20'000));
    const auto to = from + std::chrono::seconds(below(6'000));
    const auto done = request_backfill(world_.plan(), world_.table(), world_.changed_state(), from, to);
    if (!done) return;
    const bool is_exact = edits_ == 0 && has_all_holes() && world_.state().backfills.size() <= 1;
    if (is_exact) {
      const auto expected = model_.not_made(std::chrono::ceil<seconds>(from), std::chrono::floor<seconds>(to));
      if (expected.size() != done->to_make)
        world_.note(fmt::format("{} can be backfilled, but {} are counted", expected.size(), done->to_make));
      owed_.insert(expected.begin(), expected.end());
    }
    turn(now_);
  }

  void let_jobs_go_on() {
    for (naive_schedule::living& each : model_.alive) {
      if (below(2) == 0 || each.fact == living_fact::gone) continue;
      each.fact = one_of({living_fact::at_work, living_fact::gone, living_fact::gone, living_fact::buried});
      try {
        auto& job = world_.job_of(each.name);
        job = each.fact;
        if (flaw_ == flaw_kind::knows_too_late && job == living_fact::gone) job = living_fact::waiting;
      } catch (const std::exception&) {
        world_.note("a job is missing: " + schedule::text_of(each.name.at));
      }
    }
    std::erase_if(world_.jobs(), [](const auto& each) { return each.second == living_fact::gone; });
  }

  /// Whether no stretch that was left out has been forgotten.
  [[nodiscard]] bool has_all_holes() const {
    return most_holes_ < schedule_state::most_holes - schedule_state::most_backfills;
  }

  /// The model does not know which of them have their turn: it checks them.
  void take_over_backfills() {
    most_holes_ = std::max(most_holes_, world_.state().holes.size());
    for (; seen_ < world_.made().size(); ++seen_) {
      const planned_occurrence& each = world_.made()[seen_];
      if (each.reason != reason::backfill) continue;
      if (!std::ranges::binary_search(model_.instants(), each.name.at))
        world_.note("it backfills what is no occurrence");
      if (model_.made.contains(each.name)) world_.note("it backfills what was made");
      if (each.name.at > world_.state().cursor) world_.note("it backfills the future");
      model_.make(each.name, reason::backfill);
    }
  }

  void break_turn(schedule_turn& turn) {
    switch (flaw_) {
      case flaw_kind::loses_one:
        if (!turn.make.empty() && below(10) == 0) turn.make.pop_back();
        return;
      case flaw_kind::repeats_holes: turn.state.holes = {{schedule::earliest, turn.state.cursor}}; return;
      case flaw_kind::calls_late_regular:
        for (planned_occurrence& each : turn.make)
          if (each.reason == reason::late) each.reason = reason::regular;
        return;
      case flaw_kind::forgets_queue: turn.state.queue.clear(); return;
      case flaw_kind::mixes_by_hand:
        for (planned_occurrence& each : turn.make) each.name.ordinal = 0;
        return;
      case flaw_kind::ends_late:
        if (turn.state.ended == end_reason::count && turn.state.counted > 0) --turn.state.counted;
        return;
      default: return;
    }
  }

  /// What the two do not agree about.
  [[nodiscard]] std::string difference() {
    if (!world_.faults().empty()) return world_.faults().front();
    std::map<occurrence_name, reason> made;
    for (const planned_occurrence& each : world_.made()) made[each.name] = each.reason;
    for (const auto& [name, why] : model_.made) {
      const auto found = made.find(name);
      if (found == made.end()) return "it is not made: " + schedule::text_of(name.at);
      if (found->second != why) return "it is made for another reason: " + schedule::text_of(name.at);
    }
    for (const auto& [name, why] : made)
      if (!model_.made.contains(name))
        return fmt::format("it should not be made, {}: {}", names_of_reasons[static_cast<std::size_t>(why)],
                           schedule::text_of(name.at));
    for (auto what = outcome::replaced; what <= outcome::expired_by_window;
         what = static_cast<outcome>(static_cast<int>(what) + 1)) {
      if (world_.count_of(what) == model_.outcomes[what]) continue;
      return fmt::format("{} are {}, which should be {}", world_.count_of(what),
                         names_of_occurrence_outcomes[static_cast<std::size_t>(what)], model_.outcomes[what]);
    }
    if (world_.state().queue.size() != model_.queue.size()) return "another number waits";
    const auto& living = world_.state().living;
    const bool is_same =
        std::ranges::equal(living, model_.alive, {}, &living_occurrence::name, &naive_schedule::living::name);
    if (!is_same) return fmt::format("{} live, and should be {}", living.size(), model_.alive.size());
    return order_of_makings();
  }

  /// Regular and late ones are made in their order, unless an edit leaves some in a queue that later ones do not enter.
  [[nodiscard]] std::string order_of_makings() const {
    if (edits_ > 0) return {};
    sys_seconds last{};
    for (const planned_occurrence& each : world_.made()) {
      if (each.reason != reason::regular && each.reason != reason::late) continue;
      if (each.name.at < last) return "it comes out of order: " + schedule::text_of(each.name.at);
      last = each.name.at;
    }
    return {};
  }

  /// Lets all end that waits, and looks whether it has come.
  [[nodiscard]] std::string drain() {
    resume();
    world_.bounds = {};
    for (int i = 0; i < 20'000; ++i) {
      const schedule_state& state = world_.state();
      if (state.backfills.empty() && state.by_hand.empty() && state.queue.empty()) break;
      for (naive_schedule::living& each : model_.alive) each.fact = living_fact::gone;
      world_.finish_all();
      turn(now_ + 1s);
    }
    if (std::string wrong = difference(); !wrong.empty()) return "at the end: " + wrong;
    if (!has_all_holes()) return {};
    for (const sys_seconds at : owed_)
      if (!model_.made.contains({at, 0})) return "it was not backfilled: " + schedule::text_of(at);
    return {};
  }

  std::mt19937_64 random_;
  flaw_kind flaw_;
  sys_seconds start_{};
  schedule_world world_;
  naive_schedule model_;
  jobs::utc_time now_ = start_;
  std::size_t seen_ = 0;
  std::size_t most_holes_ = 0;
  int edits_ = 0;
  std::set<sys_seconds> owed_;
};

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ScheduleWalk, AgreesWithANaiveModel) {
  const std::uint64_t first = number_from("FOLIOT_SEED", 1);
  const std::uint64_t count = number_from("FOLIOT_SEEDS", 300);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string wrong = walker(seed, flaw_kind::none).run();
    ASSERT_EQ(wrong, "") << "FOLIOT_SEED=" << seed;
  }
}

/// The days of a rule of one time a day, whose zone gets other data again and again: each day once.
std::string walk_over_zone_data(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto zone = [&](int version) {
    // From -9:00 to +12:00: by a whole day one date would come at the instant of another, which is one occurrence.
    const int quarters = static_cast<int>(random() % 85) - 36;
    const int minutes = 15 * std::abs(quarters);
    return zone_by_rule(fmt::format("<XYZ>{}{:02}:{:02}", quarters > 0 ? '-' : '+', minutes / 60, minutes % 60),
                        std::to_string(version));
  };
  schedule_world world(plan_of_rule("0 9 * * *", R"("missed":"all")"), time_at("2026-11-30T00:00:00Z"), zone(0));
  for (int version = 1; version < 8; ++version) {
    world.go_to(world.now() + seconds(random() % 200'000));
    world.take_zone_data(zone(version));
    world.turn(world.now() + seconds(random() % 4000));
  }
  world.go_to(world.now() + 72h);
  if (!world.faults().empty()) return world.faults().front();
  std::map<std::chrono::local_days, int> days;
  for (const planned_occurrence& each : world.made()) ++days[std::chrono::floor<std::chrono::days>(each.when.nominal)];
  auto expected = days.empty() ? std::chrono::local_days() : days.begin()->first;
  for (const auto& [day, times] : days) {
    if (day != expected) return "a day is missing, before " + schedule::text_of(std::chrono::local_seconds(day));
    if (times > 1) return "a day comes twice: " + schedule::text_of(std::chrono::local_seconds(day));
    expected += std::chrono::days(1);
  }
  return days.size() < 3 ? "there are too few days" : "";
}

TEST(ScheduleWalk, NewZoneDataLeaveEachDayOnce) {
  const std::uint64_t first = number_from("FOLIOT_SEED", 1);
  const std::uint64_t count = number_from("FOLIOT_SEEDS", 300);
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    ASSERT_EQ(walk_over_zone_data(seed), "") << "FOLIOT_SEED=" << seed;
}

class ScheduleCanary : public testing::TestWithParam<flaw_kind> {};

TEST_P(ScheduleCanary, IsFound) {
  constexpr std::uint64_t most = 300;
  for (std::uint64_t seed = 1; seed <= most; ++seed) {
    if (!walker(seed, GetParam()).run().empty()) return;
  }
  FAIL() << "no walk has found it";
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleCanary,
                         testing::Values(flaw_kind::loses_one, flaw_kind::repeats_holes, flaw_kind::forgets_pause,
                                         flaw_kind::skips_two, flaw_kind::loses_by_edit, flaw_kind::counts_again,
                                         flaw_kind::calls_late_regular, flaw_kind::knows_too_late,
                                         flaw_kind::forgets_queue, flaw_kind::mixes_by_hand, flaw_kind::ends_late),
                         [](const auto& of) { return "Flaw" + std::to_string(static_cast<int>(of.param)); });

}  // namespace
}  // namespace foliot::program
