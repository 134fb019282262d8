// The timers of a runtime under seeded schedules: started, stopped and reset from their own worker, from other ones and
// from outside, while processors come and go. Each start has one outcome; nothing fires early, late, or after a stop.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include <foliot/core/seam/sync.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::join_handle;
using runtime::set_processors;
using runtime::sleep;
using runtime::spawn;
using runtime::task;
using runtime::yield;

constexpr std::uint64_t worlds = 200;

/// A task or an outside thread: starts, resets and stops its own timers.
void play(probe& one) {
  if (choose(3) == 0) {
    one.stop();
  } else {
    one.reset(one.now() + up_to(4ms) - 100us);  // now and then in the past
  }
}

task<> player(std::deque<probe>& mine, bool computes) {
  for (int i = 0; i < 6; ++i) {
    play(mine[choose(mine.size())]);
    switch (choose(4)) {
      case 0: co_await yield(); break;
      case 1: co_await sleep(up_to(2ms)); break;
      case 2:
        if (computes) compute(up_to(2ms));
        break;
      default: break;
    }
  }
}

task<> wait_for_all(std::deque<probe>& timers) {
  for (probe& each : timers) {
    for (int i = 0; each.pending(); ++i) {
      require(i < 100, "a timer was lost");
      co_await sleep(1ms);
    }
  }
}

struct manner {
  bool punctual = false;
  bool computes = false;
  bool changes_processors = false;
};

task<> shift(int changes) {
  for (int i = 0; i < changes; ++i) {
    co_await sleep(up_to(3ms));
    set_processors(1 + choose(4));
  }
}

/// Two tasks and a thread from outside, each with timers of its own.
task<> timers_live(manner how) {
  constexpr int each = 3;
  std::array<std::deque<probe>, 3> sets;
  for (auto& set : sets) {
    for (int i = 0; i < each; ++i) set.emplace_back(how.punctual);
  }
  seam::thread outside("outside", [&] {
    for (int i = 0; i < 8; ++i) {
      play(sets[2][choose(each)]);
      if (choose(2) == 0) pass_time(up_to(1ms));
    }
  });
  auto one = spawn(player(sets[0], how.computes));
  auto two = spawn(player(sets[1], how.computes));
  auto changes = spawn(shift(how.changes_processors ? 3 : 0));
  co_await one.join();
  co_await two.join();
  co_await joined(outside);
  co_await changes.join();
  for (auto& set : sets) co_await wait_for_all(set);
  for (auto& set : sets) {
    for (probe& timer : set) timer.stop();  // and each start has had one outcome
  }
}

TEST(RuntimeTimers, EachStartHasOneOutcomeInTime) {
  explore_runtimes(worlds, {quiet, interrupted}, [] { return timers_live({.punctual = true}); });
  explore_runtimes(worlds, {rough}, [] { return timers_live({}); });
}

TEST(RuntimeTimers, BehindTasksThatCompute) {
  explore_runtimes(worlds, {quiet, rough}, [] { return timers_live({.computes = true}); });
}

TEST(RuntimeTimers, WhileProcessorsComeAndGo) {
  explore_runtimes(worlds, {quiet}, [] { return timers_live({.punctual = true, .changes_processors = true}); });
  explore_runtimes(worlds, {rough},
                   [] { return timers_live({.computes = choose(2) == 0, .changes_processors = true}); });
}

/// On one processor timers fire in the order of their deadlines, and of their starts where these are the same.
class in_order : private runtime::detail::timer_entry {
 public:
  explicit in_order(std::vector<const in_order*>& fired) : timer_entry(what), fired_(fired) {}
  ~in_order() { runtime::detail::stop_timer(*this); }
  in_order(const in_order&) = delete;
  in_order& operator=(const in_order&) = delete;

  void start(instant deadline, int number) {
    deadline_ = deadline;
    number_ = number;
    runtime::detail::start_timer(runtime::detail::this_scheduler("a timer"), *this, deadline,
                                 runtime::detail::starter::goes_on);
  }
  [[nodiscard]] bool before(const in_order& other) const {
    return deadline_ != other.deadline_ ? deadline_ < other.deadline_ : number_ < other.number_;
  }

 private:
  static then fire(timer_entry& self, runtime::detail::ready_list&) noexcept {
    auto& mine = static_cast<in_order&>(self);
    mine.fired_.push_back(&mine);
    return then::nothing;
  }
  static constexpr actions what{fire, nullptr};

  std::vector<const in_order*>& fired_;
  instant deadline_;
  int number_ = 0;
};

task<> start_many() {
  constexpr int count = 12;
  std::vector<const in_order*> fired;
  std::deque<in_order> timers;
  const instant begin = runtime::now() + 1ms;
  for (int i = 0; i < count; ++i) {
    timers.emplace_back(fired);
    timers.back().start(begin + 1ms * static_cast<std::int64_t>(choose(4)), i);
    if (choose(4) == 0) co_await yield();
  }
  co_await sleep(10ms);
  require(fired.size() == count, "a timer has not fired");
  for (std::size_t i = 1; i < count; ++i) require(fired[i - 1]->before(*fired[i]), "timers fired in the wrong order");
}

TEST(RuntimeTimers, FireInOrderOnOneProcessor) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [] { run_task(1, start_many()); });
  }
}

}  // namespace
}  // namespace foliot::simulation
