// Races between real threads on the monotonic clock: whichever thread wins, the results agree with the firings. Also
// run under ThreadSanitizer. tests/simulation runs the small races in every schedule; this file tests the compiler's
// code and the machine's memory.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = 300;

class Races : public threaded_suite {
 protected:
  /// Runs both functions at once.
  template <class Here, class There>
  static void race(Here here, There there) {
    std::barrier start(2);
    std::thread other([&] {
      start.arrive_and_wait();
      there();
    });
    start.arrive_and_wait();
    here();
    other.join();
  }

  /// Lets some time pass, differently in each round, so that the two sides meet at many points.
  void linger(int round) const {
    const instant until = timers.now() + std::chrono::microseconds(round * 7 % 150);
    while (timers.now() < until) {
    }
  }

  /// Waits until the service has nothing pending and no callback of `t` is running.
  static void settle(tested_timer& t) {
    while (t.pending()) std::this_thread::yield();
    t.stop_and_wait();
  }
};

INSTANTIATE_TEST_SUITE_P(, Races, every_exact_engine_and_pinned(), kind_as_name);

TEST_P(Races, StopAgainstFire) {
  for (int i = 0; i < rounds; ++i) {
    std::atomic<int> fired = 0;
    tested_timer t(timers, duration::nanoseconds(i % 5 * 20'000), [&] { ++fired; });
    linger(i);
    const stop_result answer = t.stop();
    settle(t);
    EXPECT_EQ(fired, answer == stop_result::stopped ? 0 : 1);
  }
}

/// Who is told that the callback does not run any more may free what it used.
TEST_P(Races, AnIdleTimersCallbackHappenedBefore) {
  for (int i = 0; i < rounds; ++i) {
    auto target = std::make_unique<int>(0);
    tested_timer t(timers, duration::nanoseconds(i % 5 * 20'000), [raw = target.get()] { ++*raw; });
    linger(i);
    stop_result answer = t.stop();
    const int expected = answer == stop_result::stopped ? 0 : 1;
    while (answer == stop_result::running) answer = t.stop();
    EXPECT_EQ(*target, expected);
    target.reset();
  }
}

TEST_P(Races, ResetAgainstFire) {
  for (int i = 0; i < rounds; ++i) {
    std::atomic<int> fired = 0;
    tested_timer t(timers, duration::nanoseconds(i % 5 * 20'000), [&] { ++fired; });
    linger(i);
    const reset_result answer = t.reset(0ns);
    settle(t);
    EXPECT_EQ(fired, answer == reset_result::superseded ? 1 : 2);
  }
}

TEST_P(Races, StopAgainstStop) {
  for (int i = 0; i < rounds; ++i) {
    tested_timer t(timers, 1h, [] {});
    std::array<stop_result, 2> answers{};
    race([&] { answers[0] = t.stop(); }, [&] { answers[1] = t.stop(); });
    EXPECT_EQ((answers[0] == stop_result::stopped) + (answers[1] == stop_result::stopped), 1);
    EXPECT_EQ((answers[0] == stop_result::idle) + (answers[1] == stop_result::idle), 1);
  }
}

TEST_P(Races, ResetAgainstReset) {
  for (int i = 0; i < rounds; ++i) {
    tested_timer t(timers, [] {});
    std::array<reset_result, 2> answers{};
    race([&] { answers[0] = t.reset(1h); }, [&] { answers[1] = t.reset(2h); });
    EXPECT_EQ((answers[0] == reset_result::idle) + (answers[1] == reset_result::idle), 1);
    EXPECT_EQ((answers[0] == reset_result::superseded) + (answers[1] == reset_result::superseded), 1);
    EXPECT_EQ(t.stop(), stop_result::stopped);
  }
}

TEST_P(Races, StopAgainstReset) {
  for (int i = 0; i < rounds; ++i) {
    tested_timer t(timers, 1h, [] {});
    stop_result stop{};
    reset_result reset{};
    race([&] { stop = t.stop(); }, [&] { reset = t.reset(1h); });
    EXPECT_EQ(stop, stop_result::stopped);
    // The stop took the first start, or the second.
    EXPECT_EQ(t.pending(), reset == reset_result::idle);
  }
}

TEST_P(Races, DestroyAgainstFire) {
  for (int i = 0; i < rounds; ++i) {
    auto target = std::make_unique<int>(0);  // the sanitizers report an access after its end
    tested_timer t(timers, duration::nanoseconds(i % 5 * 20'000), [raw = target.get()] { ++*raw; });
    linger(i);
    t = tested_timer();
    EXPECT_LE(*target, 1);
    target.reset();
  }
}

TEST_P(Races, StopAndWaitAgainstFire) {
  for (int i = 0; i < rounds; ++i) {
    const auto captured = std::make_shared<int>(0);
    tested_timer t(timers, duration::nanoseconds(i % 5 * 20'000), [captured] { ++*captured; });
    linger(i);
    const stop_result answer = t.stop_and_wait();
    EXPECT_EQ(captured.use_count(), 1) << "the captures must be destroyed";
    if (answer == stop_result::stopped) {
      EXPECT_EQ(*captured, 0);
    }
  }
}

TEST_P(Races, StopAndWaitWaitsForTheCallback) {
  std::latch running(1);
  std::latch go_on(1);
  std::atomic<bool> ended = false;
  tested_timer t(timers, 0ns, [&] {
    running.count_down();
    go_on.wait();
    ended = true;
  });
  running.wait();
  EXPECT_EQ(t.stop(), stop_result::running);
  EXPECT_FALSE(ended) << "stop must not wait";
  std::thread releases([&] { go_on.count_down(); });
  t.stop_and_wait();
  EXPECT_TRUE(ended) << "stop_and_wait must wait";
  releases.join();
}

TEST_P(Races, StopAndWaitFromTwoThreads) {
  for (int i = 0; i < rounds; ++i) {
    const auto captured = std::make_shared<int>(0);
    tested_timer t(timers, duration::nanoseconds(i % 5 * 20'000), [captured] { ++*captured; });
    linger(i);
    const auto end = [&] {
      t.stop_and_wait();
      EXPECT_EQ(captured.use_count(), 1);
    };
    race(end, end);
  }
}

TEST_P(Races, ShutDownAgainstAll) {
  for (int i = 0; i < rounds / 10; ++i) {
    std::optional<timer_service> short_lived(std::in_place, options());
    std::atomic<std::uint64_t> fired = 0;
    std::vector<tested_timer> many;
    for (int t = 0; t < 20; ++t) many.emplace_back(*short_lived, std::chrono::microseconds(t * 10), [&] { ++fired; });
    many.emplace_back(*short_lived, [&] { ++fired; });
    service_counters counters;
    std::size_t dropped = 0;
    race([&] { dropped = short_lived->shut_down(), counters = short_lived->counters(); },
         [&] {
           many[19].stop();
           many[20].reset(0ns);
           many[18].stop_and_wait();
           many[17] = tested_timer();
         });
    EXPECT_EQ(counters.fired, fired) << "no callback may run after shut_down has returned";
    EXPECT_EQ(counters.pending, 0u);
    EXPECT_EQ(short_lived->counters().started, short_lived->counters().stopped + fired + dropped)
        << "each start must have one outcome";
  }
}

TEST_P(Races, TheServiceIsDestroyedFromItsOwnThread) {
  for (int i = 0; i < rounds / 30; ++i) {
    auto short_lived = std::make_unique<timer_service>(options());
    std::latch done(1);
    tested_timer t(*short_lived, 0ns, [&] {
      short_lived.reset();
      done.count_down();
    });
    done.wait();
    EXPECT_EQ(t.reset(0ns), reset_result::closed);
  }
}

/// Callbacks of one service never overlap, and see the writes before the start of their timer.
TEST_P(Races, CallbacksDoNotOverlapAndSeeWhatCameBeforeTheStart) {
  int plain = 0;  // plain: ThreadSanitizer reports a race
  std::latch all(100);
  std::vector<tested_timer> many;
  std::vector<int> data(100);
  for (std::size_t i = 0; i < 100; ++i) {
    data[i] = static_cast<int>(i);
    many.emplace_back(timers, std::chrono::microseconds(i % 7), [&, i] {
      EXPECT_EQ(data[i], static_cast<int>(i));
      ++plain;
      all.count_down();
    });
  }
  all.wait();
  EXPECT_EQ(plain, 100);
}

/// All operations from several threads on shared timers: each start has exactly one outcome.
TEST_P(Races, EverythingAtOnceAddsUp) {
  constexpr std::size_t shared = 8;
  std::atomic<std::uint64_t> fired = 0;
  std::vector<tested_timer> many;
  for (std::size_t i = 0; i < shared; ++i) many.emplace_back(timers, [&] { ++fired; });
  std::atomic<std::uint64_t> started = 0;
  std::atomic<std::uint64_t> stopped = 0;
  std::atomic<std::uint64_t> superseded = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      random_stream random(seed);
      for (int i = 0; i < rounds * 5; ++i) {
        tested_timer& t = many[random.below(shared)];
        if (random.below(3) == 0) {
          stopped += t.stop() == stop_result::stopped;
        } else {
          ++started;
          superseded += t.reset(std::chrono::microseconds(random.below(60))) == reset_result::superseded;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (tested_timer& t : many) settle(t);
  EXPECT_EQ(started, fired + stopped + superseded);
  const service_counters counters = timers.counters();
  EXPECT_EQ(counters.started + counters.superseded, started);
  EXPECT_EQ(counters.fired, fired);
}

}  // namespace
}  // namespace foliot::test
