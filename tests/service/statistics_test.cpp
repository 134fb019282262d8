// The statistics of a service: its callback metrics, and the counts of its wake-ups.
#include <foliot/service/statistics.hpp>

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Statistics : public engine_suite {
 protected:
  static service_options measuring() {
    service_options options = Statistics::options();
    options.measure = true;
    return options;
  }
  virtual_clock clock{instant::from_nanoseconds(1'000'000'000)};
};

INSTANTIATE_TEST_SUITE_P(, Statistics, every_exact_engine(), engine_as_name);

TEST_P(Statistics, WithoutMeasuringThereAreOnlyCounters) {
  timer_service timers(clock, options());
  const timer t(timers, 1ms, [] {});
  clock.advance(1ms);
  const service_statistics now = timers.statistics();
  EXPECT_FALSE(now.measured);
  EXPECT_EQ(now.shards, 1u);
  EXPECT_EQ(now.counters, timers.counters());
  EXPECT_EQ(now.lateness, histogram{});
  EXPECT_EQ(now.callback_time, histogram{});
}

TEST_P(Statistics, LatenessIsFromTheDeadlineToTheCallback) {
  timer_service timers(clock, measuring());
  const timer on_time(timers, 1ms, [] {});
  const timer late(timers, 10ms, [] {});
  clock.advance(5ms);
  clock.stall(8ms);
  clock.advance(0ms);
  histogram expected;
  expected.add(0ms);
  expected.add(3ms);
  EXPECT_TRUE(timers.statistics().measured);
  EXPECT_EQ(timers.statistics().lateness, expected);
}

TEST_P(Statistics, CallbackTimeIsThatOfTheCallback) {
  timer_service timers(clock, measuring());
  const timer quick(timers, 1ms, [] {});
  const timer slow(timers, 2ms, [&] { clock.stall(7ms); });
  const timer fails(timers, 20ms, [&] {
    clock.stall(100us);
    throw 1;
  });
  testing::internal::CaptureStderr();
  clock.advance(30ms);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "") << "the exception must be reported as without metrics";
  histogram expected;
  for (const duration each : {duration(0ms), duration(7ms), duration(100us)}) expected.add(each);
  EXPECT_EQ(timers.statistics().callback_time, expected);
}

TEST_P(Statistics, OfATickerEachBeatIsMeasured) {
  timer_service timers(clock, measuring());
  const ticker beat(timers, 1ms, [] {});
  clock.advance(10ms);
  EXPECT_EQ(timers.statistics().lateness.count(), 10u);
  EXPECT_EQ(timers.statistics().callback_time.count(), 10u);
}

TEST_P(Statistics, WithAnExecutorJobsAreMeasured) {
  service_options with = measuring();
  std::vector<posted_callback> jobs;
  with.executor = [&](posted_callback job) { jobs.push_back(std::move(job)); };
  timer_service timers(clock, std::move(with));
  const timer t(timers, 1ms, [&] { clock.stall(2ms); });
  timer taken_back(timers, 1ms, [] {});
  clock.advance(1ms);
  EXPECT_EQ(timers.statistics().lateness.count(), 0u) << "no callback has begun";
  taken_back.stop();
  for (posted_callback& each : jobs) each();
  histogram expected;
  expected.add(2ms);
  EXPECT_EQ(timers.statistics().callback_time, expected);
  EXPECT_EQ(timers.statistics().counters.fired, 1u);
}

TEST_P(Statistics, AreReadWhileACallbackRuns) {
  timer_service timers(measuring());
  std::latch begun(1);
  std::latch read(1);
  timer t(timers, 0ns, [&] {
    begun.count_down();
    read.wait();
  });
  begun.wait();
  EXPECT_EQ(timers.statistics().counters.fired, 1u);
  EXPECT_EQ(timers.statistics().callback_time.count(), 0u);
  const instant looked_at = timers.now();
  while (timers.now() == looked_at) std::this_thread::yield();  // however coarse the clock is
  read.count_down();
  t.stop_and_wait();
  EXPECT_EQ(timers.statistics().callback_time.count(), 1u) << "a callback that has ended must have been measured";
  EXPECT_GT(timers.statistics().callback_time.max(), duration::zero());
}

TEST_P(Statistics, OnVirtualTimeNobodyWakes) {
  timer_service timers(clock, measuring());
  const timer t(timers, 1ms, [] {});
  clock.advance(1h);
  EXPECT_EQ(timers.counters().wakes_with_work, 0u);
  EXPECT_EQ(timers.counters().wakes_without_work, 0u);
}

TEST(StatisticsOfShards, AreAddedUp) {
  service_options options = with_engine("foliot");
  options.shards = 3;
  options.measure = true;
  timer_service timers(std::move(options));
  std::latch fired(3);
  std::vector<std::thread> threads;
  std::vector<timer> each(3);
  for (timer& mine : each) {
    threads.emplace_back([&] { mine = timer(timers, 0ns, [&] { fired.count_down(); }); });
  }
  for (std::thread& thread : threads) thread.join();
  fired.wait();
  for (timer& mine : each) mine.stop_and_wait();
  EXPECT_EQ(timers.statistics().shards, 3u);
  EXPECT_EQ(timers.statistics().lateness.count(), 3u);
  EXPECT_EQ(timers.statistics().callback_time.count(), 3u);
}

}  // namespace
}  // namespace foliot::test
