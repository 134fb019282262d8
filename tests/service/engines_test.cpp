// The promises of each engine about time, tested through handles: no timer fires early, or later than its queue says.
#include <gtest/gtest.h>

#include <vector>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Engines : public virtual_suite {
 protected:
  [[nodiscard]] static duration promised(duration timeout) { return timer_service::lateness(GetParam(), timeout); }
};

INSTANTIATE_TEST_SUITE_P(, Engines, every_engine(), engine_as_name);

TEST_P(Engines, NoTimerIsEarlyAndNoneLaterThanPromised) {
  clock.advance(5h + 123us);  // timers must not be later after a long time without any
  std::vector<timer> many;
  int fired = 0;
  for (duration timeout : {duration(1ns), duration(1ms), duration(62ms), duration(1s), duration(66s), duration(1h)}) {
    for (const duration more : {-1ns, 0ns, 1ns}) {
      many.emplace_back(timers, timeout + more, [&fired, timeout](const firing& f) {
        ++fired;
        EXPECT_GE(f.lateness(), duration::zero());
        EXPECT_LE(f.lateness(), promised(timeout)) << timeout.count();
      });
    }
  }
  clock.advance(2h);
  EXPECT_EQ(fired, 18);
}

TEST_P(Engines, HeartbeatsFireNothingUntilTheyEnd) {
  std::vector<firing> fired;
  timer t(timers, 30s, [&](const firing& f) { fired.push_back(f); });
  for (int i = 0; i < 1000; ++i) {
    clock.advance(10s);
    EXPECT_EQ(t.reset(30s), reset_result::superseded);
  }
  const instant deadline = clock.now() + 30s;
  EXPECT_TRUE(fired.empty());
  clock.advance(1min);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].deadline, deadline);
  EXPECT_LE(fired[0].lateness(), promised(30s));
}

TEST_P(Engines, ATurnThatEndsByItsBudgetGoesOn) {
  std::vector<timer> many;
  int fired = 0;
  for (int i = 0; i < 1000; ++i) many.emplace_back(timers, 50ms, [&] { ++fired; });
  const instant target = clock.now() + 51ms;
  expiry turn{0, true};
  for (int turns = 0; turn.more; ++turns) {
    ASSERT_LT(turns, 11);
    turn = clock.advance_to(target, 100);
  }
  EXPECT_EQ(fired, 1000);
}

}  // namespace
}  // namespace foliot::test
