// Stops and starts without the lock: how many there may be, and that their results are those of calls with the lock.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "lockless_path.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using detail::lockless_counts;

TEST(LocklessCounts, StopsAreBoundedUntilStartsOrTheShardPayBack) {
  lockless_counts counts;
  const auto stops = [&counts] {
    std::uint64_t done = 0;
    for (; counts.take_credit(); ++done) counts.add_stop();
    return done;
  };
  EXPECT_EQ(stops(), lockless_counts::most_stopped);
  EXPECT_EQ(counts.sum().stopped_but_queued(9999), lockless_counts::most_stopped);
  counts.add_start();
  counts.return_credit();
  counts.add_dequeued();
  EXPECT_EQ(counts.sum().stopped_but_queued(9999), lockless_counts::most_stopped - 2);
  EXPECT_EQ(counts.sum().stopped_but_queued(7), 7u) << "not more timers can be stopped than are queued";
  EXPECT_EQ(stops(), 1u) << "threads take the credit that the shard gives back in batches";
  for (int i = 0; i < 15; ++i) counts.add_dequeued();
  EXPECT_EQ(stops(), 16u);
}

TEST(LocklessCounts, WhatComesToNothingIsTakenBack) {
  lockless_counts counts;
  ASSERT_TRUE(counts.take_credit());
  counts.undo_take_credit();
  counts.add_start();
  counts.undo_start();
  const auto sum = counts.sum();
  EXPECT_EQ(sum.stops + sum.starts + sum.stopped_but_queued(9999), 0u);
  std::uint64_t all = 0;
  while (counts.take_credit()) ++all;
  EXPECT_EQ(all, lockless_counts::most_stopped);
}

/// One thread stops the timers that another thread starts: the credit that the starts return reaches the stopping
/// thread.
TEST(LocklessCounts, CreditGoesFromThoseWhoStartToThoseWhoStop) {
  lockless_counts counts;
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::uint64_t stopped = 0;
    for (; stopped < 500 && counts.take_credit(); ++stopped) counts.add_stop();
    ASSERT_EQ(stopped, 500u) << "in round " << round;
    std::thread([&counts] {
      for (int i = 0; i < 500; ++i) {
        counts.add_start();
        counts.return_credit();
      }
    }).join();
  }
  EXPECT_EQ(counts.sum().stopped_but_queued(9999), 0u);
}

class Lockless : public threaded_suite {};
INSTANTIATE_TEST_SUITE_P(, Lockless, every_exact_engine(), engine_as_name);

/// Calls a function when it is destroyed, as the closure of a dropped timer is.
class says_when_it_goes {
 public:
  explicit says_when_it_goes(std::function<void()> say) noexcept : say_(std::move(say)) {}
  says_when_it_goes(says_when_it_goes&& other) noexcept : say_(std::exchange(other.say_, nullptr)) {}
  says_when_it_goes& operator=(says_when_it_goes&&) = delete;
  ~says_when_it_goes() {
    if (say_) say_();
  }
  void operator()() const noexcept {}

 private:
  std::function<void()> say_;
};

TEST_P(Lockless, WhileAServiceDropsItsTimersEveryResetAnswersClosed) {
  std::vector<timer> all;
  std::vector<reset_result> answers;
  const auto reset_all = [&] {
    for (timer& each : all) {
      EXPECT_FALSE(each.pending());
      answers.push_back(each.reset(2h));  // to a later deadline, which needs no lock before the end of the service
      answers.push_back(each.reset(30min));
      EXPECT_EQ(each.stop(), stop_result::idle);
    }
  };
  for (int i = 0; i < 6; ++i) all.emplace_back(timers, 1h, says_when_it_goes(reset_all));
  EXPECT_EQ(timers.shut_down(), 6u);
  EXPECT_EQ(answers.size(), 6u * 6 * 2);
  for (const reset_result each : answers) EXPECT_EQ(each, reset_result::closed);
  EXPECT_EQ(timers.counters().superseded, 0u);
}

TEST_P(Lockless, ManyMoreStopsThanMayStayQueued) {
  constexpr std::size_t many = 5 * lockless_counts::most_stopped;
  std::vector<timer> all;
  for (std::size_t i = 0; i < many; ++i) all.emplace_back(timers, 1h, [] {});
  for (int round = 0; round < 3; ++round) {
    for (timer& each : all) {
      EXPECT_EQ(each.stop(), stop_result::stopped);
      EXPECT_EQ(each.stop(), stop_result::idle);
      EXPECT_FALSE(each.pending());
    }
    EXPECT_EQ(timers.counters().pending, 0u);
    for (timer& each : all) {
      EXPECT_EQ(each.reset(round == 0 ? 2h : 30min), reset_result::idle);
      EXPECT_TRUE(each.pending());
    }
    EXPECT_EQ(timers.counters().pending, many);
  }
  const service_counters counted = timers.counters();
  EXPECT_EQ(counted.started, 4 * many);
  EXPECT_EQ(counted.stopped, 3 * many);
  EXPECT_EQ(timers.shut_down(), many);
}

TEST_P(Lockless, StartsEarlierAndLaterThanItIsQueued) {
  for (const duration next : {duration(1ms), duration(20ms)}) {
    std::latch fired(1);
    timer t(timers, 10ms, [&](const firing& now) {
      EXPECT_GE(now.now, now.deadline);
      fired.count_down();
    });
    if (t.stop() != stop_result::stopped) continue;  // this thread was ten milliseconds late
    const instant before = timers.now();
    EXPECT_EQ(t.reset(next), reset_result::idle);
    fired.wait();
    EXPECT_GE(timers.now() - before, next);
  }
}

TEST_P(Lockless, AnEndOfTheServiceCountsThePendingAlone) {
  std::vector<timer> all;
  for (int i = 0; i < 10; ++i) all.emplace_back(timers, 1h, [] {});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].stop(), stop_result::stopped);
  EXPECT_EQ(timers.shut_down(), 6u);
  EXPECT_EQ(timers.counters().stopped, 4u);
  EXPECT_EQ(timers.counters().dropped, 6u);
  for (timer& each : all) {
    EXPECT_EQ(each.stop(), stop_result::idle);
    EXPECT_EQ(each.reset(1h), reset_result::closed);
  }
  EXPECT_EQ(timers.counters().dropped, 6u) << "each timer must be dropped once";
}

/// The closures that end() destroys use the timers that it has not dropped yet.
TEST_P(Lockless, AnEndThatIsLookedAtFromInsideDestroysAll) {
  struct looks_back {
    std::vector<timer>* all;
    int* destroyed;
    bool alive = true;
    looks_back(std::vector<timer>& of, int& count) : all(&of), destroyed(&count) {}
    looks_back(looks_back&& other) noexcept
        : all(other.all), destroyed(other.destroyed), alive(std::exchange(other.alive, false)) {}
    ~looks_back() {
      if (!alive) return;
      ++*destroyed;
      for (timer& each : *all) {
        EXPECT_EQ(each.stop(), stop_result::idle);
        EXPECT_EQ(each.reset(1h), reset_result::closed);
      }
    }
    void operator()() const {}
  };
  int destroyed = 0;
  std::vector<timer> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(timers, 1h, looks_back(all, destroyed));
  EXPECT_EQ(timers.shut_down(), 5u);
  EXPECT_EQ(destroyed, 5);
  EXPECT_EQ(timers.counters().dropped, 5u);
  EXPECT_EQ(timers.counters().stopped, 0u);
}

TEST_P(Lockless, ADrainDoesNotWaitForWhatWasStopped) {
  timer stopped(timers, 1h, [] {});
  EXPECT_EQ(stopped.stop(), stop_result::stopped);
  EXPECT_EQ(timers.drain(1h), 0u);
  EXPECT_EQ(stopped.reset(2h), reset_result::closed);
}

TEST_P(Lockless, WhatWasStoppedIsFreedWithItsHandle) {
  auto captured = std::make_shared<int>();
  const std::weak_ptr<int> seen = captured;
  timer destroyed(timers, 1h, [captured] {});
  timer detached(timers, 1h, [captured] {});
  captured.reset();
  EXPECT_EQ(destroyed.stop(), stop_result::stopped);
  EXPECT_EQ(detached.stop(), stop_result::stopped);
  destroyed = timer();
  EXPECT_FALSE(seen.expired());
  detached.detach();
  EXPECT_TRUE(seen.expired());
}

TEST_P(Lockless, AnswersOfATimerThatIsStartedAgainWhileItRuns) {
  std::latch running(1);
  std::latch go(1);
  std::latch again(2);
  timer t(timers, 0ns, [&] {
    if (!running.try_wait()) running.count_down();
    go.wait();
    again.count_down();
  });
  running.wait();
  EXPECT_EQ(t.stop(), stop_result::running);
  EXPECT_EQ(t.reset(1h), reset_result::running);
  EXPECT_EQ(t.stop(), stop_result::stopped);
  EXPECT_EQ(t.reset(2h), reset_result::running) << "the callback is still running";
  EXPECT_EQ(t.reset(3h), reset_result::superseded);
  EXPECT_EQ(t.reset(0ns), reset_result::superseded);
  go.count_down();
  again.wait();
}

/// Stops and starts of the same timers by two threads, of which one wins each time.
TEST_P(Lockless, EachStopHasOneWinner) {
  constexpr int rounds = 3000;
  std::vector<timer> all;
  for (int i = 0; i < 8; ++i) all.emplace_back(timers, 1h, [] {});
  std::atomic<std::int64_t> stopped = 0;
  std::atomic<std::int64_t> started = 0;
  const auto work = [&](unsigned seed) {
    for (unsigned i = 0; i < rounds; ++i) {
      seed = seed * 1664525u + 1013904223u;
      timer& one = all[(seed >> 16) % all.size()];
      if (one.stop() == stop_result::stopped) ++stopped;
      const reset_result did = one.reset(1h + 1s * (seed >> 24));
      if (did == reset_result::idle) ++started;
    }
  };
  std::thread other(work, 1u);
  work(2u);
  other.join();
  EXPECT_EQ(stopped, started) << "each start must be stopped once, but for those that are pending now";
  EXPECT_EQ(timers.counters().pending, all.size());
}

}  // namespace
}  // namespace foliot::test
