#include <foliot/service/ticker.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Ticker : public virtual_suite {
 protected:
  std::vector<std::int64_t> ticks;  // deadlines, in ms since the start
  std::vector<std::uint64_t> skips;
  const instant start = timers.now();

  auto write_down() {
    return [this](const firing& tick) {
      ticks.push_back((tick.deadline - start) / duration(1ms));
      skips.push_back(tick.skipped);
    };
  }
};

INSTANTIATE_TEST_SUITE_P(, Ticker, every_engine(), engine_as_name);

TEST_P(Ticker, TicksOnItsGridWithoutDrift) {
  ticker beat(timers, 10ms, write_down());
  clock.advance(10ms - 1ns);
  EXPECT_TRUE(ticks.empty()) << "the first tick must come one period after the start";
  clock.advance(1s);
  ASSERT_EQ(ticks.size(), 100u);
  for (std::size_t i = 0; i < ticks.size(); ++i) EXPECT_EQ(ticks[i], static_cast<std::int64_t>(i + 1) * 10);
  EXPECT_EQ(beat.skipped(), 0u);
}

TEST_P(Ticker, SkipsMissedBeatsOnItsGridAndCountsThem) {
  ticker beat(timers, 10ms, [&](const firing& tick) {
    write_down()(tick);
    if (ticks.size() == 2) clock.stall(35ms);  // a callback that takes longer than a period
  });
  clock.advance(80ms);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 20, 30, 60, 70, 80})) << "30 came at 55, with 40 and 50 skipped";
  EXPECT_EQ(skips, (std::vector<std::uint64_t>{0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(beat.skipped(), 2u);
  EXPECT_EQ(timers.counters().skipped, 2u);
}

TEST_P(Ticker, ABeatThatComesExactlyOnTimeAfterAStallIsNotSkipped) {
  ticker beat(timers, 10ms, write_down());
  clock.stall(20ms);  // the tick at 10 is late, and that at 20 has passed
  clock.advance(0ns);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10}));
  EXPECT_EQ(skips, (std::vector<std::uint64_t>{1}));
  clock.stall(19ms);  // the tick at 30 is late by 9, that at 40 is still to come
  clock.advance(1ms);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 30, 40}));
  EXPECT_EQ(beat.skipped(), 1u);
}

TEST_P(Ticker, BeatsAndSkipsAddUpOverAnyStalls) {
  random_stream random(11);
  std::uint64_t beats = 0;
  ticker beat(timers, 1ms, [&](const firing& tick) {
    beats += 1 + tick.skipped;
    EXPECT_EQ((tick.deadline - start).count() % 1'000'000, 0) << "each deadline must be on the grid";
    if (random.below(3) == 0) clock.stall(duration::nanoseconds(static_cast<std::int64_t>(random.below(20'000'000))));
  });
  for (int i = 0; i < 1000; ++i) clock.advance(std::chrono::microseconds(random.below(5000)));
  EXPECT_EQ(static_cast<std::int64_t>(beats), (timers.now() - start) / duration(1ms));
}

TEST_P(Ticker, AStallOfYearsIsOneLateBeat) {
  ticker beat(timers, 1ns, write_down());
  clock.stall(24h * 365 * 250);
  clock.advance(0ns);
  EXPECT_EQ(ticks.size(), 1u);
  EXPECT_EQ(beat.skipped(), static_cast<std::uint64_t>((timers.now() - start).count() - 1));
}

TEST_P(Ticker, StopEndsItAndResetBeginsANewGrid) {
  ticker beat(timers, 10ms, write_down());
  clock.advance(25ms);
  EXPECT_TRUE(beat.pending());
  EXPECT_EQ(beat.stop(), stop_result::stopped);
  EXPECT_EQ(beat.stop(), stop_result::idle);
  clock.advance(1s);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(beat.reset(7ms), reset_result::idle);
  clock.advance(14ms);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 20, 1032, 1039}));
  EXPECT_EQ(beat.reset(100ms), reset_result::superseded);
  clock.advance(99ms);
  EXPECT_EQ(ticks.size(), 4u);
}

TEST_P(Ticker, MayBeStoppedAndResetFromInside) {
  int count = 0;
  ticker beat;
  beat = ticker(timers, 10ms, [&] {
    if (++count == 3) {
      EXPECT_EQ(beat.stop(), stop_result::stopped) << "the next tick must be pending";
    }
  });
  clock.advance(1s);
  EXPECT_EQ(count, 3);
  count = 10;
  beat.reset(10ms);
  clock.advance(20ms);
  EXPECT_EQ(count, 12);
}

TEST_P(Ticker, ANonPositivePeriodIsAnErrorBeforeAnythingIsArmed) {
  for (const duration period : {duration(0ns), duration(-1ns), duration::lowest()}) {
    EXPECT_THROW(static_cast<void>(ticker(timers, period, write_down())), std::invalid_argument);
  }
  EXPECT_EQ(timers.counters(), service_counters{});
  try {
    static_cast<void>(ticker(timers, -5ns, write_down()));
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "foliot: a ticker's period must be positive, got -5 ns");
  }
  ticker beat(timers, 10ms, write_down());
  EXPECT_THROW(beat.reset(0ns), std::invalid_argument);
  clock.advance(20ms);
  EXPECT_EQ(ticks.size(), 2u) << "the ticker must tick on as before";
}

TEST_P(Ticker, AnEndlessPeriodIsHarmless) {
  ticker beat(timers, duration::forever(), write_down());
  timer t(timers, 1ms, [] {});
  clock.advance(duration::forever());
  EXPECT_TRUE(ticks.empty());
  EXPECT_FALSE(t.pending());
}

TEST_P(Ticker, AnEmptyHandleSaysSo) {
  ticker empty;
  EXPECT_EQ(empty.stop(), stop_result::idle);
  EXPECT_EQ(empty.skipped(), 0u);
  EXPECT_THROW(empty.reset(1s), std::logic_error);
}

TEST_P(Ticker, AThrowingCallbackDoesNotEndIt) {
  service_options chosen = options();
  int reported = 0;
  chosen.on_exception = [&](std::exception_ptr) { ++reported; };
  timer_service careful(clock, std::move(chosen));
  ticker beat(careful, 1ms, [] { throw std::runtime_error("tick"); });
  clock.advance(5ms);
  EXPECT_EQ(reported, 5);
}

}  // namespace
}  // namespace foliot::test
