// Every contestant sleeps as often as it is asked to, and is never early where it promises that; wake-ups are counted.
// No figure is compared with another.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>

#include "bench/workloads/sleep_log.hpp"
#include "contestant_names.hpp"

namespace foliot::program::bench {

namespace {

class EverySleeper : public testing::TestWithParam<contestant> {};

TEST_P(EverySleeper, SleepsAsOftenAsAsked) {
  for (const workload what : taken_by(GetParam(), figure_kind::lateness)) {
    EXPECT_EQ(run(GetParam(), {.what = what, .sleeps = 3}).front().each.size(), 3u) << name(what);
  }
}

INSTANTIATE_TEST_SUITE_P(Bench, EverySleeper, testing::ValuesIn(that_take(figure_kind::lateness)), test_name);

class EveryIdleService : public testing::TestWithParam<contestant> {};

TEST_P(EveryIdleService, CountsItsWakeUps) {
  for (const workload what : taken_by(GetParam(), figure_kind::wake_ups)) {
    const request asked{.what = what, .timers = 20, .time = std::chrono::milliseconds(20), .quick = true};
    EXPECT_GE(run(GetParam(), asked).front().figure, 0) << name(what);
  }
}

INSTANTIATE_TEST_SUITE_P(Bench, EveryIdleService, testing::ValuesIn(that_take(figure_kind::wake_ups)), test_name);

TEST(SleepLog, HoldsAsManyAsAsked) {
  sleep_log sleeps(request{.what = workload::w6_100us, .sleeps = 2});
  int slept = 0;
  for (; sleeps.more(); ++slept) {
    const instant deadline = sleeps.begin();
    while (monotonic_clock::instance().now() < deadline) {
    }
    sleeps.end();
  }
  EXPECT_EQ(slept, 2);
  EXPECT_EQ(sleeps.found().front().each.size(), 2u);
}

/// The log of one sleep that has ended before its deadline. A thread that gets no processor meanwhile tries again.
sleep_log after_an_early_end(early what) {
  for (;;) {
    sleep_log sleeps(request{.what = workload::w6_10ms, .sleeps = 1}, what);
    const instant deadline = sleeps.begin();
    sleeps.end();
    if (monotonic_clock::instance().now() < deadline) return sleeps;
  }
}

TEST(SleepLog, DetectsASleepThatEndsEarly) {
  sleep_log sleeps = after_an_early_end(early::is_wrong);
  EXPECT_FALSE(sleeps.more());
  EXPECT_THROW(static_cast<void>(sleeps.found()), failure);
}

TEST(SleepLog, CountsEarlyAsInTimeWhereThatIsKnown) {
  sleep_log sleeps = after_an_early_end(early::counts_as_zero);
  EXPECT_EQ(sleeps.found().front().each, std::vector<std::uint32_t>{0});
}

TEST(WakeUps, AreThoseOfTheOtherThreads) {
  seam::atomic<std::uint64_t> slept{0};
  seam::atomic<bool> over{false};
  const std::int64_t before = other_switches();
  seam::thread sleeper("sleeper", [&] {
    while (!over.load(seam::relaxed)) {
      note().sleep_until(monotonic_clock::instance().now() + duration::nanoseconds(1'000'000));
      slept.fetch_add(1, seam::relaxed);
    }
  });
  // A sleep whose deadline has passed before it begins is none, so that a few looks may see nothing.
  constexpr int most_looks = 10'000;
  for (int i = 0; i < most_looks && other_switches() < before + 5; ++i) {
    note().sleep_until(monotonic_clock::instance().now() + duration::nanoseconds(1'000'000));
  }
  EXPECT_GE(other_switches(), before + 5);
  double figure = 0;
  for (int i = 0; i < most_looks && figure == 0; ++i) {
    figure = count_wake_ups({.time = std::chrono::milliseconds(1), .quick = true}).front().figure;
  }
  EXPECT_GT(figure, 0);
  over.store(true, seam::relaxed);
  sleeper.join();
  EXPECT_GT(slept.load(seam::relaxed), 0u);
}

TEST(WakeUps, OfTheCallingThreadAreNotCounted) {
  std::int64_t own = 0;
  std::int64_t others = 0;
  constexpr int most_tries = 100;  // a thread of a sanitizer may wake up as often meanwhile
  for (int i = 0; i < most_tries && others >= own; ++i) {
    const std::int64_t own_before = own_switches();
    const std::int64_t others_before = other_switches();
    for (int sleep = 0; sleep < 100; ++sleep) {
      note().sleep_until(monotonic_clock::instance().now() + duration::nanoseconds(1'000'000));
    }
    own = own_switches() - own_before;
    others = other_switches() - others_before;
  }
  EXPECT_LT(others, own);
}

}  // namespace

}  // namespace foliot::program::bench
