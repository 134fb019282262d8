// The conformance suite, exhaustively: every sequence of up to seven operations on three timers.
//
// Sequences that differ only in the numbers of the timers are run once: a timer is used for the first time only after
// all timers with smaller numbers. Each run is checked once, at its end, since its beginnings are sequences of their
// own. Sanitizer builds go up to five operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tested_queue.hpp"
#include "twin.hpp"

namespace foliot::conformance {
namespace {

using namespace std::chrono_literals;

#if defined(FOLIOT_SANITIZED)
constexpr std::size_t longest = 5;
#else
constexpr std::size_t longest = 7;
#endif
constexpr std::size_t timers = 3;

/// The operations on one timer, and those on the clock.
constexpr std::array on_timer{step{step::kind::reset, 0, 1ms}, step{step::kind::reset, 0, 2ms},
                              step{step::kind::stop, 0}};
constexpr std::array on_clock{step{step::kind::expire, 0, 1ms}, step{step::kind::expire, 0, 2ms, 1}};

class Exhaustive : public ::testing::TestWithParam<queue_kind> {
 protected:
  /// Runs `steps_` and everything that continues it; false at the first failure.
  bool explore(std::size_t used) {
    if (!steps_.empty() && !agrees()) return false;
    if (steps_.size() == longest) return true;
    for (std::size_t timer = 0; timer < std::min(used + 1, timers); ++timer) {
      for (step each : on_timer) {
        each.timer = timer;
        if (!explore_with(each, std::max(used, timer + 1))) return false;
      }
    }
    return std::ranges::all_of(on_clock, [&](const step& each) { return explore_with(each, used); });
  }

  std::size_t runs_ = 0;

 private:
  bool explore_with(const step& next, std::size_t used) {
    steps_.push_back(next);
    const bool fine = explore(used);
    steps_.pop_back();
    return fine;
  }

  bool agrees() {
    ++runs_;
    twin queue(GetParam(), timers);
    const script s{{}, steps_, {}};
    const auto failure = queue.run(s, rigour::answers);
    if (failure) ADD_FAILURE() << *failure << "\nafter " << s;
    return !failure;
  }

  std::vector<step> steps_;
};

INSTANTIATE_TEST_SUITE_P(, Exhaustive, ::testing::ValuesIn(light_queues()), kind_name{});

TEST_P(Exhaustive, EverySequenceOfSevenOnThreeTimers) {
  EXPECT_TRUE(explore(0));
  EXPECT_GT(runs_, 10'000u);
  RecordProperty("sequences", std::to_string(runs_));
}

}  // namespace
}  // namespace foliot::conformance
