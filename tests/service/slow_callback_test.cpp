#include <foliot/service/slow_callback.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

std::uint32_t line_here(std::source_location here = std::source_location::current()) { return here.line(); }

class SlowCallbacks : public engine_suite {
 protected:
  service_options watching(duration limit) {
    service_options options = SlowCallbacks::options();
    options.slow_callback = {.longer_than = limit, .tell = [this](const slow_callback& slow) { told.push_back(slow); }};
    return options;
  }
  void takes(duration length) { clock.stall(length); }

  virtual_clock clock{instant::from_nanoseconds(1'000'000'000)};
  std::vector<slow_callback> told;
};

INSTANTIATE_TEST_SUITE_P(, SlowCallbacks, every_exact_engine(), engine_as_name);

TEST_P(SlowCallbacks, AreToldWithTheirTimeAndThePlaceThatMadeThem) {
  timer_service timers(clock, watching(10ms));
  const instant began = clock.now();
  const timer quick(timers, 1ms, [&] { takes(10ms); });
  const std::uint32_t line = line_here() + 1;
  const timer slow(timers, 20ms, [&] { takes(11ms); });
  clock.advance(1s);
  ASSERT_EQ(told.size(), 1u) << "10 ms is not longer than 10 ms";
  EXPECT_EQ(told[0].took, duration(11ms));
  EXPECT_EQ(told[0].armed_at.line(), line);
  EXPECT_TRUE(std::string(told[0].armed_at.file_name()).ends_with("slow_callback_test.cpp"));
  EXPECT_EQ(told[0].fired.deadline, began + 20ms);
}

TEST_P(SlowCallbacks, ThePlaceIsTheLatestThatArmedTheTimer) {
  timer_service timers(clock, watching(0ns));
  timer t(timers, [&] { takes(1ms); });
  std::vector<std::uint32_t> lines;
  const auto fire = [&](std::uint32_t line) {
    lines.push_back(line);
    clock.advance(1s);
  };
  fire((t.reset(1ms), line_here()));
  fire((t.reset(1ms, 1us), line_here()));
  fire((t.reset_at(clock.now() + 1ms), line_here()));
  t.reset(1ms);
  fire((t.reset(2ms), line_here()));
  t = timer(timers, clock.now() + 1ms, [&] { takes(1ms); });
  fire(line_here() - 1);
  t = after_func(timers, 1ms, [&] { takes(1ms); });
  fire(line_here() - 1);
  ASSERT_EQ(told.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(told[i].armed_at.line(), lines[i]) << i;
}

TEST_P(SlowCallbacks, OfTickersAreToldWithThePlaceOfTheirGrid) {
  timer_service timers(clock, watching(0ns));
  ticker beat(timers, 1s, [&] { takes(1ms); });
  const std::uint32_t made = line_here() - 1;
  clock.advance(2s);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].armed_at.line(), made);
  beat.reset(1s);
  const std::uint32_t again = line_here() - 1;
  clock.advance(1s);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[2].armed_at.line(), again);
  EXPECT_THROW(beat.reset(0ns), std::invalid_argument);
  clock.advance(1s);
  EXPECT_EQ(told.back().armed_at.line(), again) << "a refused reset must not change the source location";
}

TEST_P(SlowCallbacks, ThatRearmThemselvesAreToldByTheStartThatTheyServe) {
  timer_service timers(clock, watching(0ns));
  timer t;
  t = timer(timers, [&] {
    takes(1ms);
    t.reset(1h);
  });
  t.reset(1ms);
  const std::uint32_t line = line_here() - 1;
  clock.advance(1s);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].armed_at.line(), line);
}

// One for each line that arms timers and each name, also over several shards.
TEST_P(SlowCallbacks, TheSlowestAreKept) {
  service_options options = watching(1h);
  timer_service plain(clock, SlowCallbacks::options());
  const timer of_plain(plain, 1ms, [&] { takes(1ms); });
  options.measure = true;
  timer_service timers(clock, std::move(options));
  EXPECT_TRUE(timers.slowest_callbacks().empty());
  ticker beat(timers, 10s, [&, length = 0ms]() mutable { takes(length += 1ms); });
  const std::uint32_t line = line_here() - 1;
  std::vector<timer> many;
  for (int i = 1; i <= 20; ++i) {
    many.emplace_back(timers, 1s * i, [this, i] { takes(1us * i); });
    many.back().name("number " + std::to_string(i));
  }
  clock.advance(1min);
  const std::vector<slowest_callback> slowest = timers.slowest_callbacks();
  ASSERT_EQ(slowest.size(), most_slowest_callbacks);
  EXPECT_EQ(slowest[0], (slowest_callback{6ms, "", "slow_callback_test.cpp:" + std::to_string(line)}));
  for (std::size_t i = 1; i < slowest.size(); ++i) {
    EXPECT_EQ(slowest[i].name, "number " + std::to_string(21 - i));
    EXPECT_EQ(slowest[i].took, 1us * (21 - static_cast<int>(i)));
  }
  EXPECT_TRUE(plain.slowest_callbacks().empty());
}

TEST_P(SlowCallbacks, WhatTellThrowsIsReported) {
  service_options options = SlowCallbacks::options();
  int reported = 0;
  options.on_exception = [&](std::exception_ptr) { ++reported; };
  options.slow_callback = {.longer_than = 0ns, .tell = [](const slow_callback&) { throw std::runtime_error("full"); }};
  timer_service timers(clock, std::move(options));
  const timer t(timers, 1ms, [&] { takes(1ms); });
  clock.advance(1s);
  EXPECT_EQ(reported, 1);
}

TEST_P(SlowCallbacks, OnAnExecutorAreToldToo) {
  service_options options = watching(1ms);
  options.executor = [](posted_callback job) { job(); };
  timer_service timers(clock, std::move(options));
  timer t(timers, 1ms, [&] { takes(5ms); });
  const std::uint32_t line = line_here() - 1;
  timer stopped(timers, 1ms, [] {});
  stopped.stop();
  clock.advance(1s);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].armed_at.line(), line);
  EXPECT_EQ(told[0].took, duration(5ms));
}

TEST_P(SlowCallbacks, StopAndWaitWaitsForTell) {
  service_options options = SlowCallbacks::options();
  timer* mine = nullptr;
  bool inside = false;
  options.slow_callback = {.longer_than = 0ns, .tell = [&](const slow_callback&) {
                             inside = true;
                             EXPECT_EQ(mine->stop(), stop_result::running);
                           }};
  timer_service timers(clock, std::move(options));
  timer t(timers, 1ms, [&] { takes(1ms); });
  mine = &t;
  clock.advance(1s);
  EXPECT_TRUE(inside);
}

TEST_P(SlowCallbacks, EveryRecordGoesWithItsHandle) {
  timer_service timers(clock, watching(1ms));
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {  // in the first round the queue allocates memory that it keeps
    {
      const timer pending(timers, 1h, [] {});
      const ticker beat(timers, 1ms, [] {});
      after_func(timers, 1ms, [] {}).detach();
      clock.advance(10ms);
    }
    if (round == 0) before = live_bytes();
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST(SlowCallbackWatch, NeedsSomebodyToTellAndNoNegativeLimit) {
  service_options no_function;
  no_function.slow_callback = {.longer_than = 1ms};
  EXPECT_THROW(timer_service{std::move(no_function)}, std::invalid_argument);
  service_options negative;
  negative.slow_callback = {.longer_than = -1ns, .tell = [](const slow_callback&) {}};
  EXPECT_THROW(timer_service{std::move(negative)}, std::invalid_argument);
}

TEST(SlowestCallbacks, OfASleepNamesTheLineThatSleeps) {
  for (const bool posted : {false, true}) {
    service_options options;
    options.measure = true;
    options.slow_callback = {.longer_than = 1h, .tell = [](const slow_callback&) {}};
    if (posted) options.executor = callback_executor([](auto job) { job(); });
    timer_service timers(std::move(options));
    const std::uint32_t line = line_here() + 1;
    EXPECT_TRUE(sleep_for(timers, 20ms));  // so long that it is not over before the sleep has begun
    timers.shut_down();                    // the callback that woke this thread has been recorded
    const std::vector<slowest_callback> slowest = timers.slowest_callbacks();
    ASSERT_EQ(slowest.size(), 1u);
    EXPECT_EQ(slowest[0].armed_at, "slow_callback_test.cpp:" + std::to_string(line));
  }
}

/// A constructor that the standard library calls gets a place in the standard library.
TEST(SlowestCallbacks, SayThatTheLineIsUnknownWhereTheStandardLibraryMadeTheTimer) {
  virtual_clock clock{instant::from_nanoseconds(1'000'000'000)};
  service_options options;
  options.measure = true;
  options.slow_callback = {.longer_than = 1h, .tell = [](const slow_callback&) {}};
  timer_service timers(clock, std::move(options));
  std::map<int, timer> sessions;
  sessions.try_emplace(1, timers, 1s, [&clock] { clock.stall(3ms); }).first->second.name("session");
  const std::uint32_t line = line_here() + 1;
  sessions.try_emplace(2, timers, 1s, [&clock] { clock.stall(2ms); }, std::source_location::current());
  clock.advance(2s);
  const std::vector<slowest_callback> slowest = timers.slowest_callbacks();
  ASSERT_EQ(slowest.size(), 2u);
  EXPECT_EQ(slowest[0].name, "session");
  EXPECT_TRUE(slowest[0].armed_at.starts_with("unknown, by ")) << slowest[0].armed_at;
  EXPECT_EQ(slowest[1].armed_at, "slow_callback_test.cpp:" + std::to_string(line)) << "a place that is passed counts";
}

}  // namespace
}  // namespace foliot::test
