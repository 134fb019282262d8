// When memory fails: for n = 0, 1, 2, … the n-th allocation of a whole life of a timer fails, until none
// does. Each failure is reported to the caller, nothing is half armed, and no other timer is lost.
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <optional>

#include <foliot/queue/hashed_wheel.hpp>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Faults : public virtual_suite {};

INSTANTIATE_TEST_SUITE_P(, Faults, every_engine(), engine_as_name);

TEST_P(Faults, TheNthAllocationOfALifeFails) {
  int others_fired = 0;
  int fired = 0;
  bool any_failed = true;
  std::size_t n = 0;
  for (; any_failed; ++n) {
    timer_service fresh(clock, options());
    timer other(fresh, 1ms, [&] { ++others_fired; });
    const service_counters before = fresh.counters();
    std::array<char, 100> large{};  // a closure that needs an allocation of its own
    std::optional<timer> t;
    std::optional<ticker> beat;
    {
      const failing_allocations fail(n);
      try {
        t.emplace(fresh, 1ms, [&fired, large] { fired += 1 + large[0]; });
        beat.emplace(fresh, 1ms, [&fired, large] { fired += 1 + large[0]; });
        for (int i = 0; i < 40; ++i) timer(fresh, 1ms, [&fired] { ++fired; }).detach();
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(fresh.counters().pending,
                  before.pending + (t ? 1 : 0) + (beat ? 1 : 0) + (beat ? fresh.counters().started - 3 : 0));
      }
      any_failed = fail.failed();
    }
    const service_counters armed = fresh.counters();
    const int before_firing = fired;
    clock.advance(1ms);
    EXPECT_EQ(fired - before_firing, static_cast<int>(armed.pending) - 1)
        << "what was armed fires, what failed does not";
  }
  EXPECT_GT(n, 5u);
  EXPECT_EQ(others_fired, static_cast<int>(n));
}

TEST_P(Faults, AResetThatFindsNoMemoryLeavesTheTimerAsItWas) {
  std::vector<timer> many;
  int fired = 0;
  for (int i = 0; i < 5000; ++i) many.emplace_back(timers, [&] { ++fired; });
  std::size_t refused = 0;
  {
    const failing_allocations fail;
    for (timer& t : many) {
      try {
        t.start(1ms);
      } catch (const std::bad_alloc&) {
        ++refused;
        EXPECT_FALSE(t.pending());
      }
    }
    for (timer& t : many) {
      if (t.pending()) {
        EXPECT_EQ(t.reset(2ms), reset_result::superseded) << "no growth, no allocation";
      }
    }
  }
  EXPECT_EQ(refused > 0, GetParam() != hashed_wheel::name) << "of all queues that one allocates nothing";
  clock.advance(2ms);
  EXPECT_EQ(fired, static_cast<int>(5000 - refused));
}

}  // namespace
}  // namespace foliot::test
