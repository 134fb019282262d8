// Every contestant sleeps as often as it is asked to, and is never early where it promises that; wake-ups are counted.
// No figure is compared with another.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>

#include "bench/workloads/sleep_log.hpp"
#include "bench/workloads/wake_ups.hpp"
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

TEST(ThreadSwitches, CountEachSleepOfAThread) {
  constexpr std::uint64_t sleeps = 5;
  seam::thread("first", [] {}).join();  // a sanitizer makes a thread of its own with a program's first one
  const std::set<int> before = threads_alive();
  ASSERT_GE(before.size(), 1u);
  note begun;
  note asked;
  seam::atomic<bool> over{false};
  seam::thread sleeper("sleeper", [&] {
    begun.wake();
    asked.sleep_until(instant::never());
    while (!over.load(seam::relaxed)) {  // a sleep whose deadline has passed before it begins is none
      note().sleep_until(monotonic_clock::instance().now() + duration::nanoseconds(1'000'000));
    }
  });
  begun.sleep_until(instant::never());
  std::set<int> own = threads_alive();
  std::erase_if(own, [&before](int each) { return before.contains(each); });
  EXPECT_EQ(own.size(), 1u);
  const thread_switches first = voluntary_switches(own);
  asked.wake();
  std::optional<std::uint64_t> counted;
  do {
    std::this_thread::yield();
    counted = switches_between(first, voluntary_switches(own));
  } while (counted && *counted < sleeps);
  over.store(true, seam::relaxed);
  sleeper.join();
  EXPECT_GE(counted, sleeps);
}

TEST(ThreadSwitches, AreUnknownOfThreadsThatDoNotExist) {
  EXPECT_TRUE(voluntary_switches({-1}).empty());
  EXPECT_EQ(switches_between({{1, 5}}, {{2, 7}}), std::nullopt);
}

TEST(ThreadSwitches, DoNotCountThreadsThatHaveEnded) { EXPECT_EQ(switches_between({{1, 5}, {2, 10}}, {{2, 13}}), 3u); }

}  // namespace

}  // namespace foliot::program::bench
