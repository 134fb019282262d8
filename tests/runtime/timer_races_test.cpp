// Threads that start, stop, reset and move the timers of two processors while others run them: each start has exactly
// one outcome. Time is a number that these threads raise.
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>

#include "timers_fixture.hpp"

namespace foliot::runtime::detail {
namespace {

class TimerRaces : public each_kind {};

INSTANTIATE_TEST_SUITE_P(, TimerRaces, every_kind(), kind_as_name);

struct contended {
  counted_timer timer;
  std::atomic<int> started{0};
  std::atomic<int> stopped{0};
};

TEST_P(TimerRaces, EveryStartHasOneOutcome) {
  constexpr int rounds = 20'000;
  const std::unique_ptr<processor_timers> homes[2] = {timers_of_kind(GetParam(), 0), timers_of_kind(GetParam(), 1)};
  std::vector<std::unique_ptr<contended>> all;
  for (int i = 0; i < 8; ++i) all.push_back(std::make_unique<contended>());
  std::atomic<std::int64_t> now{1};
  std::atomic<int> users{2};

  const auto use = [&](std::uint64_t seed) {
    random_stream random(seed);
    for (int i = 0; i < rounds; ++i) {
      contended& some = *all[random.below(all.size())];
      if (random.below(3) == 0) {
        if (some.timer.stop()) ++some.stopped;
      } else {
        const instant deadline = at(now.load() + static_cast<std::int64_t>(random.below(30)));
        if (!some.timer.reset(*homes[random.below(2)], deadline)) ++some.started;
      }
      // A timer of this thread, destroyed after the stop while its record may still lie in a heap.
      counted_timer timeout;
      timeout.reset(*homes[random.below(2)], instant::never());
      if (!timeout.stop()) ADD_FAILURE() << "a timer that never comes due was not pending";
    }
    --users;
  };
  const auto run = [&] {
    while (users.load() != 0) {
      const instant time = at(now.fetch_add(1));
      for (const auto& home : homes) run_all_due(*home, time);
    }
  };
  const auto move = [&] {
    while (users.load() != 0) {
      homes[0]->take_all(*homes[1]);
      std::this_thread::yield();
      homes[1]->reopen();
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(use, 1);
  threads.emplace_back(use, 2);
  threads.emplace_back(run);
  threads.emplace_back(move);
  for (std::thread& each : threads) each.join();

  for (const auto& home : homes) {
    EXPECT_EQ(broken_invariant(*home), "");
    run_all_due(*home, at(now.load() + 100));
    EXPECT_EQ(home->size(), 0u);
  }
  for (const auto& each : all) EXPECT_EQ(each->started, each->stopped + each->timer.fired());
}

}  // namespace
}  // namespace foliot::runtime::detail
