#include <foliot/core/clock.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <foliot/core/virtual_clock.hpp>

#include "core/nanoseconds.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using test::at;

/// A timeline with a list of deadlines. It records when it was run.
class list_of_deadlines : public timeline {
 public:
  list_of_deadlines(std::vector<instant> deadlines, std::vector<std::pair<int, instant>>& log, int name)
      : deadlines_(std::move(deadlines)), log_(log), name_(name) {}
  instant next_deadline() override { return deadlines_.empty() ? instant::never() : deadlines_.front(); }
  expiry run_due(instant now, budget limit) override {
    expiry turn;
    while (!deadlines_.empty() && is_due(deadlines_.front(), now)) {
      if (turn.fired == limit) return {turn.fired, true};
      log_.emplace_back(name_, now);
      deadlines_.erase(deadlines_.begin());
      ++turn.fired;
      if (on_fire) on_fire();
    }
    return turn;
  }
  std::function<void()> on_fire;

 private:
  std::vector<instant> deadlines_;
  std::vector<std::pair<int, instant>>& log_;
  int name_;
};

using log = std::vector<std::pair<int, instant>>;

TEST(MonotonicClock, NeverGoesBack) {
  instant last = monotonic_clock::instance().now();
  EXPECT_GT(last, instant{});
  for (int i = 0; i < 10'000; ++i) {
    const instant now = monotonic_clock::instance().now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(VirtualClock, StandsStillUntilAdvanced) {
  virtual_clock clock(at(5));
  EXPECT_EQ(clock.now(), at(5));
  clock.advance(10ns);
  EXPECT_EQ(clock.now(), at(15));
  clock.advance(-10ns);
  clock.advance_to(at(3));
  EXPECT_EQ(clock.now(), at(15)) << "time must not go back";
}

TEST(VirtualClock, GoesNoFurtherThanTheLatestInstant) {
  virtual_clock clock(instant::never());
  EXPECT_EQ(clock.now(), instant::latest());
  clock.advance(duration::forever());
  EXPECT_EQ(clock.now(), instant::latest());
}

TEST(VirtualClock, StopsAtEachDeadlineInOrderAcrossFollowers) {
  virtual_clock clock;
  log fired;
  const auto first = std::make_shared<list_of_deadlines>(std::vector{at(10), at(30)}, fired, 1);
  const auto second = std::make_shared<list_of_deadlines>(std::vector{at(10), at(20), at(99)}, fired, 2);
  clock.join(first);
  clock.join(second);
  EXPECT_EQ(clock.next_deadline(), at(10));
  EXPECT_EQ(clock.advance_to(at(50)), (expiry{4, false}));
  EXPECT_EQ(fired, (log{{1, at(10)}, {2, at(10)}, {2, at(20)}, {1, at(30)}}));
  EXPECT_EQ(clock.now(), at(50));
  EXPECT_EQ(clock.next_deadline(), at(99));
}

TEST(VirtualClock, ABudgetStopsTimeWhereItRanOut) {
  virtual_clock clock;
  log fired;
  const auto follower = std::make_shared<list_of_deadlines>(std::vector{at(10), at(10), at(20)}, fired, 1);
  clock.join(follower);
  EXPECT_EQ(clock.advance_to(at(50), 1), (expiry{1, true}));
  EXPECT_EQ(clock.now(), at(10));
  EXPECT_EQ(clock.advance_to(at(50), 1), (expiry{1, true}));
  EXPECT_EQ(clock.advance_to(at(50), 1), (expiry{1, false}));
  EXPECT_EQ(clock.now(), at(50));
}

TEST(VirtualClock, WhatIsOverdueFiresWithoutTimeMoving) {
  virtual_clock clock(at(100));
  log fired;
  const auto follower = std::make_shared<list_of_deadlines>(std::vector{at(10)}, fired, 1);
  clock.join(follower);
  clock.advance(0ns);
  EXPECT_EQ(fired, (log{{1, at(100)}}));
}

TEST(VirtualClock, AStallFiresNothingUntilTheNextAdvance) {
  virtual_clock clock;
  log fired;
  const auto follower = std::make_shared<list_of_deadlines>(std::vector{at(10), at(40)}, fired, 1);
  clock.join(follower);
  clock.stall(30ns);
  clock.stall(-5ns);
  EXPECT_EQ(clock.now(), at(30));
  EXPECT_TRUE(fired.empty());
  clock.advance(10ns);
  EXPECT_EQ(fired, (log{{1, at(30)}, {1, at(40)}}));
  clock.stall(duration::forever());
  EXPECT_EQ(clock.now(), instant::latest());
}

TEST(VirtualClock, ForgetsFollowersThatAreGone) {
  virtual_clock clock;
  log fired;
  auto follower = std::make_shared<list_of_deadlines>(std::vector{at(10)}, fired, 1);
  clock.join(follower);
  follower.reset();
  EXPECT_EQ(clock.next_deadline(), instant::never());
  EXPECT_EQ(clock.advance(1h), expiry{});
}

TEST(VirtualClock, ACallbackMustNotAdvanceIt) {
  virtual_clock clock;
  log fired;
  const auto follower = std::make_shared<list_of_deadlines>(std::vector{at(10)}, fired, 1);
  follower->on_fire = [&] { EXPECT_THROW(clock.advance(1s), std::logic_error); };
  clock.join(follower);
  clock.advance_to(at(10));
  EXPECT_EQ(fired.size(), 1u);
  EXPECT_EQ(clock.now(), at(10));
}

TEST(VirtualClock, IsUsableAfterAFollowerThrew) {
  virtual_clock clock;
  log fired;
  const auto follower = std::make_shared<list_of_deadlines>(std::vector{at(10), at(20)}, fired, 1);
  follower->on_fire = [] { throw std::runtime_error("follower"); };
  clock.join(follower);
  EXPECT_THROW(clock.advance_to(at(50)), std::runtime_error);
  follower->on_fire = nullptr;
  clock.advance_to(at(50));
  EXPECT_EQ(clock.now(), at(50));
}

/// Deadlines are computed from now_or_later(), so it must not be behind the clock on any thread, also when a thread
/// renews its anchor.
TEST(MonotonicClock, NowOrLaterIsNeverBehindNow) {
  const monotonic_clock& clock = monotonic_clock::instance();
  const auto compare = [&] {
    std::vector<instant> far_apart(1 << 16);  // so large that the processor waits for its loads
    std::size_t at = 1;
    for (int i = 0; i < 1'000'000; ++i) {
      at = (at * 48'271 + 11) % far_apart.size();
      far_apart[at] = clock.now();
      const instant later = clock.now_or_later();
      ASSERT_GE(later, far_apart[at]);
      ASSERT_LE(later, clock.now() + duration::nanoseconds(5'000)) << "now_or_later() is far ahead of the clock";
    }
  };
  std::thread other(compare);
  compare();
  other.join();
}

/// Each renewal of the anchor reads the clock, which is behind the estimates before it.
TEST(MonotonicClock, NowOrLaterNeverGoesBack) {
  const monotonic_clock& clock = monotonic_clock::instance();
  const instant until = clock.now() + duration::nanoseconds(20'000'000);  // many renewals
  instant last = clock.now_or_later();
  do {
    for (int i = 0; i < 10'000; ++i) {
      const instant next = clock.now_or_later();
      ASSERT_GE(next, last);
      last = next;
    }
  } while (clock.now() < until);
}

TEST(MonotonicClock, NowOrLaterIsNeverBehindAfterAPause) {
  const monotonic_clock& clock = monotonic_clock::instance();
  for (int i = 0; i < 200; ++i) {
    const instant until = clock.now() + duration::nanoseconds(i * 20'000);
    instant now = clock.now();
    for (; now < until; now = clock.now()) {
    }
    ASSERT_GE(clock.now_or_later(), now);
  }
}

}  // namespace
}  // namespace foliot
