// A ticker of an event loop, on virtual time: its grid, its answers, and what its callback may do.
#include <foliot/adapters/loop_ticker.hpp>

#include <gtest/gtest.h>

#include <foliot/adapters/loop_timer.hpp>

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "loop_fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class LoopTicker : public loop_fixture {
 protected:
  auto write_down() {
    return [this](const firing& tick) {
      ticks.push_back((tick.deadline - start) / duration(1ms));
      skips.push_back(tick.skipped);
      EXPECT_EQ(tick.now, timers.now_of_turn());
      EXPECT_GE(tick.now, tick.deadline);
    };
  }

  const instant start = clock.now();
  std::vector<std::int64_t> ticks;  // deadlines, in ms since the start
  std::vector<std::uint64_t> skips;
};

TEST_F(LoopTicker, TicksOnItsGridWithoutDrift) {
  loop_ticker beat(timers, 10ms, write_down());
  EXPECT_TRUE(beat.pending());
  EXPECT_EQ(timers.alarm(), start + 10ms);
  EXPECT_EQ(after(10ms - 1ns), expiry{}) << "the first tick must come one period after the start";
  EXPECT_EQ(after(1ns), (expiry{1, false}));
  EXPECT_EQ(timers.alarm(), start + 20ms);
  for (int i = 2; i <= 100; ++i) EXPECT_EQ(after(10ms), (expiry{1, false}));
  ASSERT_EQ(ticks.size(), 100u);
  for (std::size_t i = 0; i < ticks.size(); ++i) EXPECT_EQ(ticks[i], static_cast<std::int64_t>(i + 1) * 10);
  EXPECT_EQ(beat.skipped(), 0u);
}

TEST_F(LoopTicker, ALateTurnFiresOnceAndSkipsTheOtherTicksThatHavePassed) {
  loop_ticker beat(timers, 10ms, write_down());
  EXPECT_EQ(after(15ms).fired, 1u);        // 15: the tick at 10
  EXPECT_EQ(after(5ms - 1ns).fired, 0u);   // just before 20
  EXPECT_EQ(after(1ns).fired, 1u);         // 20
  EXPECT_EQ(after(20ms - 1ns).fired, 1u);  // just before 40: the tick at 30
  EXPECT_EQ(after(20ms + 1ns).fired, 1u);  // 60: that at 40, and those at 50 and 60 have passed
  EXPECT_EQ(after(10ms - 1ns).fired, 0u);  // just before 70
  EXPECT_EQ(after(1ns, 0), (expiry{0, true}));
  EXPECT_EQ(after(0ns, 1), (expiry{1, false}));
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 20, 30, 40, 70}));
  EXPECT_EQ(skips, (std::vector<std::uint64_t>{0, 0, 0, 2, 0}));
  EXPECT_EQ(beat.skipped(), 2u);
}

TEST_F(LoopTicker, ACallbackThatTakesLongerThanAPeriodDoesNotShiftTheGrid) {
  loop_ticker beat(timers, 10ms, [&](const firing& tick) {
    write_down()(tick);
    if (ticks.size() == 1) clock.stall(35ms);
  });
  EXPECT_EQ(after(10ms).fired, 1u) << "a ticker fires once a turn";
  EXPECT_EQ(timers.alarm(), start + 20ms) << "the next turn follows at once";
  EXPECT_EQ(after(0ms).fired, 1u);
  EXPECT_EQ(after(5ms).fired, 1u);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 20, 50}));
  EXPECT_EQ(skips, (std::vector<std::uint64_t>{0, 2, 0}));
}

TEST_F(LoopTicker, AStallOfYearsIsOneLateTick) {
  loop_ticker beat(timers, 1ns, write_down());
  EXPECT_EQ(after(24h * 365 * 250).fired, 1u);
  EXPECT_EQ(static_cast<std::int64_t>(beat.skipped()), (clock.now() - start).count() - 1);
  EXPECT_EQ(timers.next_deadline(), clock.now() + 1ns);
}

TEST_F(LoopTicker, AnEndlessPeriodNeverTicks) {
  loop_ticker beat(timers, duration::forever(), write_down());
  EXPECT_TRUE(beat.pending());
  EXPECT_TRUE(timers.next_deadline().is_never());
  EXPECT_EQ(after(24h * 365 * 200).fired, 0u);
}

TEST_F(LoopTicker, ATickPastTheEndOfTimeIsNever) {
  clock.stall(24h * 365 * 200);
  loop_ticker beat(timers, 24h * 365 * 90, write_down());
  EXPECT_EQ(after(24h * 365 * 90).fired, 1u);
  EXPECT_TRUE(timers.next_deadline().is_never());
  EXPECT_TRUE(beat.pending());
}

TEST_F(LoopTicker, EachCallSaysWhatItFound) {
  loop_ticker beat(timers, 10ms, write_down());
  EXPECT_EQ(beat.stop(), stop_result::stopped);
  EXPECT_EQ(beat.stop(), stop_result::idle);
  EXPECT_EQ(after(1s).fired, 0u);
  EXPECT_EQ(beat.reset(7ms), reset_result::idle);
  EXPECT_EQ(after(7ms).fired, 1u);
  EXPECT_EQ(beat.reset(100ms), reset_result::superseded);
  EXPECT_EQ(after(100ms - 1ns).fired, 0u);
  EXPECT_EQ(after(1ns).fired, 1u);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{1007, 1107}));
}

TEST_F(LoopTicker, AGridMayBeginAtAnInstant) {
  loop_ticker beat(timers, 1h, write_down());
  after(25ms);
  EXPECT_EQ(beat.reset_at(start + 40ms, 10ms), reset_result::superseded);
  EXPECT_EQ(timers.next_deadline(), start + 40ms);
  beat.reset_at(start + 25ms, 10ms);
  EXPECT_EQ(after(0ms).fired, 1u) << "an instant that is now has not passed";
  beat.reset_at(start, 10ms);
  EXPECT_EQ(timers.next_deadline(), start + 30ms);
  after(5ms);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{25, 30}));
  EXPECT_EQ(beat.skipped(), 0u) << "ticks before the reset are not skipped ones";
}

TEST_F(LoopTicker, ItsCallbackMayStopIt) {
  int count = 0;
  std::optional<loop_ticker> beat;
  beat.emplace(timers, 10ms, [&] {
    EXPECT_TRUE(beat->pending()) << "the next tick must be pending";
    if (++count < 3) return;
    EXPECT_EQ(beat->stop(), stop_result::stopped);
    EXPECT_EQ(beat->stop(), stop_result::running);
  });
  for (int i = 0; i < 10; ++i) after(10ms);
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(timers.alarm().is_never());
  EXPECT_EQ(beat->stop(), stop_result::idle);
  count = 0;
  EXPECT_EQ(beat->reset(1ms), reset_result::idle) << "the callback has stayed";
  after(1ms);
  EXPECT_EQ(count, 1);
}

TEST_F(LoopTicker, ItsCallbackMayBeginANewGrid) {
  std::optional<loop_ticker> beat;
  beat.emplace(timers, 10ms, [&](const firing& tick) {
    write_down()(tick);
    if (ticks.size() == 1) {
      EXPECT_EQ(beat->reset(3ms), reset_result::superseded);
    } else if (ticks.size() == 2) {
      beat->stop();
      EXPECT_EQ(beat->reset(5ms), reset_result::running) << "no tick was pending";
    }
  });
  for (int i = 0; i < 30; ++i) after(1ms);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 13, 18, 23, 28}));
}

TEST_F(LoopTicker, ItsCallbackMayDestroyItAndKeepsItsCapturesUntilItReturns) {
  auto kept = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = kept;
  std::optional<loop_ticker> beat;
  std::optional<loop_ticker> other(std::in_place, timers, 10ms, [&] { fired.push_back(0); });
  beat.emplace(timers, 9ms, [&beat, &other, this, kept = std::move(kept)] {
    other.reset();
    beat.reset();
    fired.push_back(*kept);
  });
  after(1s);
  EXPECT_EQ(fired, std::vector{7});
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(timers.size(), 0u);
  EXPECT_TRUE(timers.alarm().is_never());
}

TEST_F(LoopTicker, AnotherTimerMayStopATickThatIsDueInTheSameTurn) {
  std::optional<loop_ticker> beat;
  loop_timer before(timers, [&] { EXPECT_EQ(beat->stop(), stop_result::stopped); });
  before.reset(10ms);
  beat.emplace(timers, 10ms, write_down());
  EXPECT_EQ(after(10ms).fired, 1u);
  EXPECT_TRUE(ticks.empty());
}

TEST_F(LoopTicker, IsInOrderWithTimersAndOtherTickers) {
  loop_ticker three(timers, 3ms, [&] { fired.push_back(3); });
  loop_ticker two(timers, 2ms, [&] { fired.push_back(2); });
  loop_timer one(timers, [&] { fired.push_back(1); });
  one.reset(6ms);
  for (int i = 0; i < 6; ++i) after(1ms);
  // At 6 ms: `one` was started at 0, the last tick of `three` at 3, that of `two` at 4.
  EXPECT_EQ(fired, (std::vector{2, 3, 2, 1, 3, 2}));
}

TEST_F(LoopTicker, AnExceptionComesOutAndTheTickerGoesOn) {
  loop_ticker beat(timers, 1ms, [&] {
    fired.push_back(1);
    throw std::runtime_error("tick");
  });
  for (int i = 0; i < 3; ++i) {
    clock.stall(1ms);
    EXPECT_THROW(timers.expire(clock.now()), std::runtime_error);
    EXPECT_TRUE(beat.pending());
    EXPECT_EQ(timers.alarm(), clock.now() + 1ms);
  }
  EXPECT_EQ(fired.size(), 3u);
  EXPECT_EQ(beat.stop(), stop_result::stopped);
  EXPECT_EQ(beat.stop(), stop_result::idle) << "the callback has returned";
}

TEST_F(LoopTicker, ANonPositivePeriodIsAnErrorBeforeAnythingIsPending) {
  for (const duration period : {duration(0ns), duration(-1ns), duration::lowest()}) {
    EXPECT_THROW(loop_ticker(timers, period, write_down()), std::invalid_argument);
  }
  EXPECT_EQ(timers.size(), 0u);
  try {
    const loop_ticker bad(timers, -5ns, write_down());
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "foliot: a ticker's period must be positive, got -5 ns");
  }
  loop_ticker beat(timers, 10ms, write_down());
  EXPECT_THROW(beat.reset(0ns), std::invalid_argument);
  EXPECT_THROW(beat.reset_at(clock.now(), -1ns), std::invalid_argument);
  after(10ms);
  after(10ms);
  EXPECT_EQ(ticks, (std::vector<std::int64_t>{10, 20})) << "the ticker must tick on as before";
  EXPECT_THROW(loop_ticker(timers, 1ms, std::function<void()>{}), std::invalid_argument);
}

TEST_F(LoopTicker, MayOutliveItsLoop) {
  std::optional<told_timers> gone(std::in_place, clock);
  loop_ticker left(*gone, 1ms, write_down());
  gone.reset();
  EXPECT_FALSE(left.pending());
}

TEST_F(LoopTicker, ATickAllocatesNothing) {
  for (const bool reserved : {true, false}) {
    loop_timers own(clock);
    if (reserved) own.reserve(100);
    std::vector<std::unique_ptr<loop_ticker>> some;
    std::size_t count = 0;
    for (int i = 0; i < 100; ++i) {
      some.push_back(std::make_unique<loop_ticker>(own, 1ms + i * 997us, [&] { ++count; }));
    }
    const auto turns = [&](int number) {
      for (int i = 0; i < number; ++i) {
        clock.stall(1ms);
        own.expire(clock.now());
      }
    };
    if (!reserved) turns(1000);  // the queue gets its memory when the first ticks are due
    const allocation_count allocations;
    turns(20'000);
    EXPECT_EQ(allocations.so_far(), 0u) << reserved;
    EXPECT_GT(count, 50'000u);
  }
}

TEST_F(LoopTicker, WithoutMemoryForTheNextTickTheTickerIsIdle) {
  bool any_failed = true;
  bool any_idle = false;
  for (std::size_t n = 0; any_failed; ++n) {
    loop_timers own(clock);
    std::size_t count = 0;
    // All are due at once, and each for the next time in another slot of the queue, which takes memory.
    std::vector<std::unique_ptr<loop_ticker>> some;
    for (int i = 0; i < 40; ++i) {
      some.push_back(std::make_unique<loop_ticker>(own, 1h, [&] { ++count; }));
      some.back()->reset_at(clock.now() + 1ms, 1ms * (std::int64_t{1} << (i / 2)) + i * 100us);
    }
    clock.stall(1ms);
    std::size_t reported = 0;
    {
      const failing_allocations fail(n, 1 + n % 3);
      for (bool more = true; more;) {
        try {
          more = own.expire(clock.now()).more;
        } catch (const std::bad_alloc&) {
          ++reported;
        }
      }
      any_failed = fail.failed();
    }
    EXPECT_EQ(reported > 0, any_failed) << n;
    EXPECT_EQ(count, 40u) << "each ticker has ticked, also without memory for the next tick";
    ASSERT_TRUE(own.check());
    std::size_t idle = 0;
    for (auto& each : some) {
      if (each->pending()) continue;
      ++idle;
      EXPECT_EQ(each->reset(1ms), reset_result::idle);
    }
    EXPECT_LE(idle, reported);
    any_idle = any_idle || idle > 0;
    EXPECT_EQ(own.size(), 40u);
    clock.stall(24h * 365);
    EXPECT_EQ(own.expire(clock.now()).fired, 40u) << n;
  }
  EXPECT_TRUE(any_idle) << "no ticker has missed the memory for its next tick";
}

}  // namespace
}  // namespace foliot::test
