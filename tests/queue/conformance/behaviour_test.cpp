// The conformance suite, case by case: what timer_queue promises, over every queue of the project.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/random.hpp>

#include "support/allocations.hpp"
#include "tested_queue.hpp"
#include "twin.hpp"

namespace foliot::conformance {
namespace {

using namespace std::chrono_literals;

class Behaviour : public ::testing::TestWithParam<queue_kind> {
 protected:
  static duration precision() { return GetParam().precision; }
  static duration lateness(duration timeout) { return GetParam().lateness(timeout); }

  /// A twin over the queue of this case, with verbs that read well.
  class subject : public twin {
   public:
    explicit subject(std::size_t timers, instant origin = {}) : twin(GetParam(), timers, origin) {}
    void reset(std::size_t timer, duration offset) { perform({step::kind::reset, timer, offset}), done(); }
    void stop(std::size_t timer) { perform({step::kind::stop, timer}), done(); }
    void expire(duration offset, budget limit = unlimited) { perform({step::kind::expire, 0, offset, limit}), done(); }
    std::vector<std::size_t> fired_by(duration offset, budget limit = unlimited) {
      const std::size_t before = fired().size();
      expire(offset, limit);
      return {fired().begin() + static_cast<std::ptrdiff_t>(before), fired().end()};
    }

   private:
    void done() {
      check();
      EXPECT_EQ(failure().value_or(""), "");
    }
  };

  using fired = std::vector<std::size_t>;
};

INSTANTIATE_TEST_SUITE_P(, Behaviour, ::testing::ValuesIn(tested_queues()), kind_name{});

TEST_P(Behaviour, AnEmptyQueueHasNothingToDo) {
  subject queue(1);
  queue.expire(1h);
  queue.stop(0);
  EXPECT_EQ(queue.queue().next_deadline(), instant::never());
  EXPECT_EQ(queue.queue().pop_any(), std::nullopt);
  EXPECT_TRUE(queue.fired().empty());
}

TEST_P(Behaviour, FiresAtItsDeadlineNotBefore) {
  subject queue(1);
  queue.reset(0, 10ms);
  EXPECT_TRUE(queue.fired_by(10ms - 1ns).empty());
  EXPECT_EQ(queue.fired_by(1ns + lateness(10ms).to_chrono()).size(), 1u);
}

TEST_P(Behaviour, FiresInDeadlineOrder) {
  subject queue(100);
  random_stream random(7);
  for (std::size_t i = 0; i < 100; ++i) queue.reset(i, std::chrono::microseconds(random.below(5000)));
  EXPECT_EQ(queue.fired_by(5ms + lateness(5ms).to_chrono()).size(), 100u);  // the twin compares the order
}

TEST_P(Behaviour, TiesFireInStartOrder) {
  subject queue(50);
  for (std::size_t i = 0; i < 50; ++i) queue.reset((i * 7) % 50, 1ms);
  queue.reset(0, 1ms);  // started again: now the last
  const auto order = queue.fired_by(1ms + precision().to_chrono());
  ASSERT_EQ(order.size(), 50u);
  if (GetParam().ties_in_start_order) {
    for (std::size_t i = 0; i + 1 < 50; ++i) EXPECT_EQ(order[i], ((i + 1) * 7) % 50);
    EXPECT_EQ(order.back(), 0u);
  }
}

TEST_P(Behaviour, StopInEveryState) {
  subject queue(2);
  queue.stop(0);  // never started
  queue.reset(0, 1ms);
  queue.reset(1, 1ms);
  queue.stop(0);  // pending
  queue.stop(0);  // stopped
  EXPECT_EQ(queue.fired_by(1s), (fired{1}));
  queue.stop(1);  // fired
  EXPECT_EQ(queue.queue().size(), 0u);
}

TEST_P(Behaviour, ResetInEveryState) {
  subject queue(1);
  queue.reset(0, 1ms);  // never started
  queue.reset(0, 5ms);  // pending, later
  EXPECT_TRUE(queue.fired_by(4ms).empty());
  queue.reset(0, 50ms);  // pending, later
  queue.reset(0, 10ms);  // pending, earlier
  EXPECT_EQ(queue.fired_by(10ms + lateness(50ms).to_chrono()).size(), 1u);
  queue.reset(0, 1ms);  // fired
  queue.stop(0);
  queue.reset(0, 2ms);  // stopped
  EXPECT_EQ(queue.fired_by(2ms + precision().to_chrono()).size(), 1u);
}

TEST_P(Behaviour, AllOfAPast) {
  subject queue(3, instant{} + 1h);
  queue.reset(0, -1h);
  queue.reset(1, duration::lowest());
  queue.reset(2, 0ns);
  EXPECT_EQ(queue.fired_by(precision()).size(), 3u);
}

TEST_P(Behaviour, NeverIsPendingForEver) {
  subject queue(2);
  queue.reset(0, duration::forever());
  EXPECT_EQ(queue.queue().next_deadline(), instant::never());
  queue.reset(1, 1h);
  queue.expire(duration::forever());  // to the last instant there is
  EXPECT_EQ(queue.fired(), (fired{1}));
  EXPECT_EQ(queue.queue().size(), 1u);
  queue.stop(0);
}

TEST_P(Behaviour, TheEndsOfTime) {
  for (const instant origin : {instant::earliest(), instant{}, instant::latest() - 1h}) {
    subject queue(4, origin);
    queue.reset(0, duration::nanoseconds(1));
    const duration to_the_end = instant::latest() - origin;  // from the earliest it is more than one can say
    queue.reset(1, to_the_end);
    queue.reset(2, duration::forever());
    queue.reset(3, duration::lowest());
    queue.expire(1ns);
    queue.expire(24h * 365 * 200);
    queue.expire(duration::forever());
    queue.expire(duration::forever());
    queue.stop(2);
    EXPECT_EQ(queue.fired().size(), to_the_end.is_forever() ? 2u : 3u);
  }
}

TEST_P(Behaviour, LongStallsAreCaughtUpInOrder) {
  for (const duration stall : {duration(1s), duration(10s), duration(1h), duration(24h * 30)}) {
    subject queue(500);
    queue.expire(0ns);  // so that the queue knows the time
    random_stream random(static_cast<std::uint64_t>(stall.count()));
    for (std::size_t i = 0; i < 500; ++i) {
      const auto within = static_cast<std::uint64_t>(stall.count());
      queue.reset(i, duration::nanoseconds(static_cast<std::int64_t>(random.below(within))));
    }
    EXPECT_EQ(queue.fired_by(stall + lateness(stall)).size(), 500u);
  }
}

TEST_P(Behaviour, BudgetsStopBetweenAnyTwoAndContinue) {
  subject queue(20);
  for (std::size_t i = 0; i < 20; ++i) queue.reset(i, i < 10 ? 1ms : 2ms);
  EXPECT_TRUE(queue.fired_by(2ms + precision().to_chrono(), 0).empty());
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(queue.fired_by(0ns, 1).size(), 1u);
    queue.stop(19 - i);  // the rest may change between turns
  }
  EXPECT_EQ(queue.fired_by(0ns, 100).size(), 6u);
}

TEST_P(Behaviour, WhatStartsBetweenTurnsKeepsItsPlace) {
  subject queue(6);
  for (std::size_t i = 0; i < 4; ++i) queue.reset(i, duration(std::chrono::milliseconds(i)));
  queue.expire(10s, 2);
  queue.reset(4, -10s + 1ms);  // before all that is left
  queue.reset(5, 0ns);         // after all that is left
  queue.expire(precision());
  if (precision() == duration::zero()) {
    EXPECT_EQ(queue.fired(), (fired{0, 1, 4, 2, 3, 5}));
  }
}

TEST_P(Behaviour, RearmsAtZeroFromInsideThreeDeep) {
  script s;
  s.steps = {{step::kind::reset, 0, 1ms}, {step::kind::expire, 0, 1s}, {step::kind::expire, 0, 1s}};
  for (int depth = 0; depth < 3; ++depth) s.reactions.push_back({0, {step::kind::reset, 0, 0ns}});
  twin queue(GetParam(), 1);
  EXPECT_EQ(queue.run(s).value_or(""), "");
  EXPECT_EQ(queue.fired().size(), 4u);
}

TEST_P(Behaviour, ChainsAtZeroFromInsideThreeDeep) {
  script s;
  s.steps = {{step::kind::reset, 0, 1ms}, {step::kind::expire, 0, 1s}, {step::kind::expire, 0, 1s}};
  for (std::size_t i = 0; i < 3; ++i) s.reactions.push_back({i, {step::kind::reset, i + 1, 0ns}});
  twin queue(GetParam(), 4);
  EXPECT_EQ(queue.run(s).value_or(""), "");
  EXPECT_EQ(queue.fired(), (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST_P(Behaviour, ACallbackStopsAndResetsOthersThatAreDueToo) {
  script s;
  for (std::size_t i = 0; i < 5; ++i) s.steps.push_back({step::kind::reset, i, 1ms});
  s.steps.push_back({step::kind::expire, 0, 1s});
  s.steps.push_back({step::kind::expire, 0, 10s});
  s.reactions = {{0, {step::kind::stop, 1}}, {2, {step::kind::reset, 3, 5s}}, {4, {step::kind::pop_any}}};
  twin queue(GetParam(), 5);
  EXPECT_EQ(queue.run(s).value_or(""), "");
}

TEST_P(Behaviour, ARearmingCallbackCannotOutrunItsBudget) {
  script s;
  s.steps = {{step::kind::reset, 0, 0ns}, {step::kind::expire, 0, 1s, 100}};
  for (int i = 0; i < 1000; ++i) s.reactions.push_back({0, {step::kind::reset, 0, -1s}});
  twin queue(GetParam(), 1);
  EXPECT_EQ(queue.run(s).value_or(""), "");
  EXPECT_EQ(queue.fired().size(), 100u);
}

TEST_P(Behaviour, AThrowingSinkLosesNothing) {
  const auto queue = GetParam().make(3);
  for (std::size_t i = 0; i < 3; ++i) queue->start(i, instant{});
  const instant now = instant{} + precision();
  EXPECT_THROW(queue->expire(now, unlimited, [](std::size_t) { throw std::runtime_error("sink"); }),
               std::runtime_error);
  EXPECT_EQ(queue->size(), 2u);
  EXPECT_TRUE(queue->check());
  EXPECT_EQ(queue->expire(now, unlimited, [](std::size_t) {}), (expiry{2, false}));
}

TEST_P(Behaviour, ANodeMayBeDestroyedByItsSink) {
  const auto queue = GetParam().make(10);
  for (std::size_t i = 0; i < 10; ++i) queue->start(i, instant{});
  const expiry turn = queue->expire(instant{} + precision(), unlimited, [&](std::size_t i) { queue->destroy(i); });
  EXPECT_EQ(turn.fired, 10u);
}

TEST_P(Behaviour, NextDeadlineFollowsTheHead) {
  subject queue(3);
  queue.reset(0, 30ms);
  queue.reset(1, 10ms);
  queue.reset(2, 20ms);  // the twin asks for next_deadline after each step
  queue.stop(1);
  queue.reset(2, 40ms);
  queue.reset(0, 50ms);
  queue.expire(1h);
  EXPECT_EQ(queue.queue().next_deadline(), instant::never());
}

TEST_P(Behaviour, PopAnyEmptiesTheQueue) {
  subject queue(64);
  for (std::size_t i = 0; i < 64; ++i) queue.reset(i, i % 5 == 0 ? duration::forever() : duration(1ms * (i % 7)));
  for (std::size_t i = 0; i < 64; ++i) queue.perform({step::kind::pop_any});
  queue.check();
  EXPECT_EQ(queue.failure().value_or(""), "");
  EXPECT_EQ(queue.queue().size(), 0u);
}

TEST_P(Behaviour, ReserveKeepsEverythingInPlace) {
  subject queue(20);
  for (std::size_t i = 0; i < 20; ++i) {
    if (i == 10) queue.queue().reserve(1000);
    queue.reset(i, 1ms * (20 - i));
  }
  queue.expire(1s);
  EXPECT_EQ(queue.fired().size(), 20u);
}

TEST_P(Behaviour, AReserveOfMoreThanThereCanBeIsRefusedAtOnce) {
  subject queue(1);
  queue.reset(0, 1ms);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  const std::size_t before = test::live_bytes();
  for (const std::size_t count : {most, most - 100, most - 2048, most / 2 + 1, most / 2 - 20'000, most / 4, most / 8,
                                  most / 16, most / 32, std::size_t{1} << 48}) {
    EXPECT_THROW(queue.queue().reserve(count), std::bad_alloc) << count;
  }
  EXPECT_EQ(test::live_bytes(), before);
  queue.expire(1s);
  EXPECT_EQ(queue.fired().size(), 1u);
}

TEST_P(Behaviour, AReserveThatFindsNoMemoryGivesAllOfItBack) {
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    subject queue(20);
    for (std::size_t i = 0; i < 20; ++i) queue.reset(i, 1ms * (20 - i));
    const std::size_t before = test::live_bytes();
    {
      const test::failing_allocations fail(n);
      try {
        queue.queue().reserve(5000);
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(test::live_bytes(), before) << "after " << n << " allocations";
      }
      any_failed = fail.failed();
    }
    queue.expire(1s);
    EXPECT_EQ(queue.fired().size(), 20u);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace foliot::conformance
