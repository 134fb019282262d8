// The tests of timers from the test suites of Erlang, goim, Kafka and Netty, under their names, each on the engine that
// comes from there. (Those of Go are in tests/runtime: docs/go-parity.md.) On virtual time, so that
// "soon" and "in between" are exact; where the original waits for real threads, so does its test here, for an outcome
// and not for a length of time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

constexpr instant start_of_time = instant::from_nanoseconds(1'000'000'000);

duration milliseconds(std::int64_t count) { return duration::nanoseconds(1'000'000 * count); }

/// A service with that engine on virtual time, and the numbers of the timers that have fired, in their order.
class Original : public ::testing::Test {
 protected:
  explicit Original(const char* engine) : Original(with_engine(engine)) {}
  explicit Original(service_options options) : timers(clock, std::move(options)) {}

  timer after(duration delay, int number = 0) {
    return timer(timers, delay, [this, number](const firing& f) {
      EXPECT_GE(f.now, f.deadline) << "a timer fired early";
      fired.push_back(number);
    });
  }

  virtual_clock clock{start_of_time};
  timer_service timers;
  std::vector<int> fired;
};

/// erts/emulator/test/timer_bif_SUITE.erl.
class ErlangTimerBif : public Original {
 protected:
  /// One more than three times the number of timers after which the wheel yields.
  static constexpr int beyond_the_yield_limit = 3 * 100 + 1;

  ErlangTimerBif() : Original("erlang-wheel") {}
};

TEST_F(ErlangTimerBif, start_timer_1) {
  timer one = after(1s);
  clock.advance(600ms);
  EXPECT_TRUE(one.pending());
  EXPECT_TRUE(fired.empty()) << "a timer fired early";
  EXPECT_EQ(one.stop(), stop_result::stopped);
  one.reset(1s);
  clock.advance(1400ms);
  EXPECT_EQ(fired.size(), 1u);
  EXPECT_FALSE(one.pending());
  EXPECT_EQ(one.stop(), stop_result::idle);
}

TEST_F(ErlangTimerBif, send_after_1) {
  const timer one = after(1s);
  clock.advance(999ms);
  EXPECT_TRUE(fired.empty());
  clock.advance(1ms);
  EXPECT_EQ(fired.size(), 1u);
  EXPECT_FALSE(one.pending());
}

TEST_F(ErlangTimerBif, send_after_2) {
  std::vector<timer> all;
  for (const int at : {6, 2, 7, 4, 1, 5, 3}) all.push_back(after(milliseconds(10 * at), at));
  clock.advance(1s);
  EXPECT_EQ(fired, (std::vector{1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(ErlangTimerBif, send_after_3) {
  std::vector<timer> all;
  for (const int at : {103, 101, 100, 102}) all.push_back(after(milliseconds(at), at));
  clock.advance(1s);
  EXPECT_EQ(fired, (std::vector{100, 101, 102, 103}));
}

TEST_F(ErlangTimerBif, cancel_timer_1) {
  timer none;
  EXPECT_EQ(none.stop(), stop_result::idle);
  timer never_started(timers, [] {});
  EXPECT_EQ(never_started.stop(), stop_result::idle);
}

/// Arguments that are badarg in Erlang: here a deadline in the past is due now, and one past the end of time is never.
TEST_F(ErlangTimerBif, start_timer_e) {
  const timer past = after(-4ms, 1);
  const timer beyond = after(duration::forever(), 2);
  clock.advance(1ms);
  EXPECT_EQ(fired, std::vector{1});
  EXPECT_TRUE(beyond.pending());
}

TEST_F(ErlangTimerBif, start_timer_big) {
  for (const std::int64_t big : {std::int64_t{1} << 31, std::int64_t{1} << 33}) {
    timer one = after(milliseconds(big));
    clock.advance(200ms);
    EXPECT_TRUE(one.pending());
    EXPECT_EQ(one.stop(), stop_result::stopped);
    one.reset(milliseconds(big));
    clock.advance(milliseconds(big) - 1ms);
    EXPECT_TRUE(fired.empty());
    clock.advance(1ms);
    EXPECT_EQ(std::exchange(fired, {}).size(), 1u);
  }
}

/// The destruction of a handle stands for the end of a process.
TEST_F(ErlangTimerBif, cleanup) {
  clock.advance(1s);
  static_cast<void>(after(1ms));
  fired.reserve(100);
  const std::size_t before = live_bytes();
  for (int i = 0; i < 100; ++i) {
    timer expires = after(1ms);
    timer cancelled = after(6s);
    const timer dies = after(6s);
    const timer of_the_dead = after(0ms);
    EXPECT_EQ(cancelled.stop(), stop_result::stopped);
    if (i % 2 == 0) clock.advance(1ms);
    expires.stop_and_wait();
  }
  EXPECT_EQ(timers.counters().pending, 0u);
  EXPECT_EQ(live_bytes(), before) << "all memory must be freed";
}

TEST_F(ErlangTimerBif, evil_timers) {
  std::vector<timer> all;
  for (int round = 0; round < 4; ++round) {
    for (int at = 0; at < 200; ++at) all.push_back(after(milliseconds(at), at));
  }
  clock.advance(199ms);
  ASSERT_EQ(fired.size(), 800u);
  EXPECT_TRUE(std::ranges::is_sorted(fired));
}

TEST_F(ErlangTimerBif, same_time_yielding) {
  const instant same = clock.now() + 50ms;
  std::vector<timer> all;
  for (int i = 0; i < beyond_the_yield_limit * 4; ++i) {
    all.push_back(after(1h, i));
    all.back().reset_at(same);
  }
  clock.advance(49ms);
  EXPECT_TRUE(fired.empty());
  clock.advance(1ms);
  EXPECT_EQ(fired.size(), all.size());
}

/// Each timer either fires or is cancelled by a neighbour's callback.
TEST_F(ErlangTimerBif, same_time_yielding_with_cancel) {
  std::vector<timer> all(beyond_the_yield_limit);
  std::vector<int> ends(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = timer(timers, 50ms, [&, i] {
      ++ends[i];
      for (std::size_t other = i % 7; other < all.size(); other += 7) {
        ends[other] += all[other].stop() == stop_result::stopped ? 1 : 0;
      }
    });
  }
  clock.advance(50ms);
  EXPECT_EQ(ends, std::vector<int>(all.size(), 1));
}

/// The same by another thread, on real time, with a wheel for each of two threads that make timers.
TEST(ErlangTimerBifThreads, same_time_yielding_with_cancel_other) {
  service_options options = with_engine("erlang-wheel");
  options.shards = 2;
  timer_service timers(std::move(options));
  constexpr int each_thread = 3 * 100 + 1;
  std::array<std::array<std::atomic<int>, each_thread>, 2> ends{};
  std::array<std::vector<timer>, 2> all;
  const instant same = timers.now() + 20ms;
  std::latch made(3);
  const auto make = [&](std::size_t thread) {
    for (std::size_t i = 0; i < each_thread; ++i)
      all[thread].emplace_back(timers, same, [&, thread, i] { ++ends[thread][i]; });
    made.arrive_and_wait();
  };
  std::thread one(make, 0);
  std::thread two(make, 1);
  made.arrive_and_wait();
  while (timers.now() < same - 100us) std::this_thread::yield();
  for (std::size_t i = 0; i < each_thread; ++i) {
    for (std::size_t thread : {0u, 1u}) {
      if (all[thread][i].stop() == stop_result::stopped) ++ends[thread][i];
    }
  }
  one.join();
  two.join();
  timers.drain(duration::forever());
  for (const auto& of_thread : ends) {
    for (const auto& count : of_thread) EXPECT_EQ(count, 1);
  }
}

TEST_F(ErlangTimerBif, auto_cancel_yielding) {
  static_cast<void>(after(1ms));
  const std::size_t before = live_bytes();
  {
    std::vector<timer> of_a_process;
    for (int i = 0; i < beyond_the_yield_limit * 4; ++i) of_a_process.push_back(after(1h));
  }
  EXPECT_EQ(live_bytes(), before);
  EXPECT_EQ(timers.counters().pending, 0u);
}

/// lib/stdlib/test/timer_SUITE.erl: 200 rounds of single timers and of intervals at random.
TEST_F(ErlangTimerBif, do_big_test) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    random_stream random(seed);
    const auto between = [&random](std::int64_t least, std::int64_t most) {
      return milliseconds(least +
                          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1))));
    };
    std::vector<timer> single;
    std::vector<ticker> intervals(10);
    std::vector<int> beats(intervals.size());
    std::vector<int> wanted;
    for (int i = 0; i < 10; ++i) single.push_back(after(between(47, 4700), i));
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      const duration period = between(49, 2597);
      const int times = static_cast<int>(4 + random.below(10));
      wanted.push_back(times);
      const instant begin = clock.now();
      intervals[i] = ticker(timers, period, [&, i, period, times, begin](const firing& f) {
        EXPECT_EQ(f.deadline, begin + period * ++beats[i]) << "the interval drifts; seed " << seed;
        EXPECT_LT(f.lateness(), 1ms) << seed;
        if (beats[i] == times) intervals[i].stop();
      });
    }
    clock.advance(1min);
    EXPECT_EQ(std::exchange(fired, {}).size(), single.size());
    EXPECT_EQ(beats, wanted) << seed;
  }
}

/// goim, pkg/time/timer_test.go.
class GoimTimer : public Original {
 protected:
  GoimTimer() : Original("goim") {}
};

TEST_F(GoimTimer, TestTimer) {
  std::vector<timer> all(100);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) all[static_cast<std::size_t>(i)] = after(5min + milliseconds(1000 * i), i);
    EXPECT_EQ(timers.counters().pending, 100u);
    for (timer& each : all) EXPECT_EQ(each.stop(), stop_result::stopped);
    EXPECT_EQ(timers.counters().pending, 0u);
  }
  const timer last = after(1s, 7);
  clock.advance(2s);
  EXPECT_EQ(fired, std::vector{7});
  EXPECT_EQ(timers.counters().pending, 0u);
}

/// Kafka, TimerTest and TimerTaskListTest: 1 ms a tick, 3 buckets a level.
class KafkaTimer : public Original {
 protected:
  KafkaTimer() : Original(shaped()) {}

 private:
  static service_options shaped() {
    service_options options = with_engine("hierarchical-wheel");
    options.wheel = wheel_shape{.tick = 1ms, .slots = 3};
    return options;
  }
};

TEST_F(KafkaTimer, testAlreadyExpiredTask) {
  std::vector<timer> all;
  for (int i = -5; i < 0; ++i) all.push_back(after(milliseconds(i), i));
  clock.advance(duration::zero());
  EXPECT_EQ(fired.size(), all.size());
}

TEST_F(KafkaTimer, testTaskExpiration) {
  std::vector<timer> all;
  std::vector<int> wanted;
  for (const auto& [from, to] : {std::pair{0, 5}, {10, 100}, {100, 500}}) {
    for (int delay = from; delay < to; ++delay) {
      for (int twice = 0; twice < 2; ++twice) {
        all.push_back(after(milliseconds(delay), delay));
        wanted.push_back(delay);
      }
    }
  }
  for (int time = 0; time < 500; ++time) {
    clock.advance_to(start_of_time + milliseconds(time));
    EXPECT_TRUE(fired.empty() || fired.back() <= time);
  }
  EXPECT_EQ(fired, wanted);
}

TEST_F(KafkaTimer, testAll) {
  std::vector<timer> all;
  for (int i = 0; i < 10; ++i) all.push_back(after(1s, i));
  EXPECT_EQ(timers.counters().pending, 10u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i].stop(), stop_result::stopped);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i].stop(), stop_result::idle) << "a second removal must do nothing";
  EXPECT_EQ(timers.counters().pending, 6u);
  clock.advance(1s);
  EXPECT_EQ(fired.size(), 6u);
}

/// Netty, HashedWheelTimerTest, with its own 512 slots of 100 ms.
class NettyTimer : public Original {
 protected:
  NettyTimer() : Original(shaped({.tick = 100ms})) {}
  explicit NettyTimer(wheel_shape shape) : Original(shaped(shape)) {}

 private:
  static service_options shaped(wheel_shape shape) {
    service_options options = with_engine("hashed-wheel");
    options.wheel = shape;
    return options;
  }
};

TEST_F(NettyTimer, testScheduleTimeoutShouldNotRunBeforeDelay) {
  const timer one = after(10s);
  clock.advance(3s);
  EXPECT_TRUE(one.pending());
  EXPECT_TRUE(fired.empty());
}

TEST_F(NettyTimer, testScheduleTimeoutShouldRunAfterDelay) {
  const timer one = after(2s);
  clock.advance(3s);
  EXPECT_EQ(fired.size(), 1u);
}

TEST_F(NettyTimer, testStopTimer) {
  std::vector<timer> all;
  for (int i = 0; i < 3; ++i) all.push_back(after(1ms));
  clock.advance(200ms);
  EXPECT_EQ(timers.shut_down(), 0u) << "no timer may be left";
  virtual_clock other;
  timer_service later(other, with_engine("hashed-wheel"));
  std::vector<timer> pending;
  for (int i = 0; i < 5; ++i) pending.emplace_back(later, 5s, [] {});
  EXPECT_EQ(later.shut_down(), pending.size());
}

TEST_F(NettyTimer, testTimerShouldThrowExceptionAfterShutdownForNewTimeouts) {
  timer one = after(1ms);
  clock.advance(1s);
  timers.shut_down();
  EXPECT_EQ(one.reset(1ms), reset_result::closed);
}

TEST_F(NettyTimer, testExecutionOnTime) {
  std::vector<timer> all;
  for (int i = 0; i < 1000; ++i) {
    all.emplace_back(timers, 125ms, [this](const firing& f) {
      EXPECT_GE(f.now, f.deadline);
      EXPECT_LT(f.lateness(), 100ms) << "a timer may be late by at most a tick";
      fired.push_back(0);
    });
  }
  for (int i = 0; i < 300; ++i) clock.advance(1ms);
  EXPECT_EQ(fired.size(), 1000u);
}

TEST_F(NettyTimer, testOverflow) {
  timer beyond = after(duration::forever());
  clock.advance(1h);
  EXPECT_TRUE(fired.empty());
  EXPECT_EQ(beyond.stop(), stop_result::stopped);
}

TEST_F(NettyTimer, testPendingTimeouts) {
  std::vector<timer> all;
  for (const duration delay : {duration(5ms), duration(10s), duration(10min)}) all.push_back(after(delay));
  EXPECT_EQ(timers.counters().pending, 3u);
  clock.advance(1s);
  EXPECT_EQ(timers.counters().pending, 2u);
  EXPECT_EQ(all[2].stop(), stop_result::stopped);
  EXPECT_EQ(timers.counters().pending, 1u);
}

/// 32 slots: a timer that starts itself again, each time for more than a turn.
class NettySmallTimer : public NettyTimer {
 protected:
  NettySmallTimer() : NettyTimer({.tick = 10ms, .slots = 32}) {}
};

TEST_F(NettySmallTimer, testTimerOverflowWheelLength) {
  timer again;
  int times = 0;
  again = timer(timers, 1s, [&] {
    ++times;
    again.reset(1s);
  });
  clock.advance(7100ms);
  EXPECT_EQ(times, 7);
}

TEST(NettyExecutor, testExecutionOnTaskExecutor) {
  std::latch executed(3);
  service_options options = with_engine("hashed-wheel");
  std::vector<posted_callback> tasks;
  options.executor = callback_executor([&tasks](posted_callback job) { tasks.push_back(std::move(job)); });
  virtual_clock clock;
  timer_service timers(clock, std::move(options));
  std::vector<timer> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(timers, 1ms, [&executed] { executed.count_down(); });
  clock.advance(1s);
  EXPECT_FALSE(executed.try_wait()) << "the wheel's thread must not run a task";
  ASSERT_EQ(tasks.size(), 3u);
  for (posted_callback& job : tasks) job();
  executed.wait();
  tasks.clear();
}

}  // namespace
}  // namespace foliot::test
