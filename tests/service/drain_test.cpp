// Drains: pending timers fire, and nothing new is started.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

/// Once for each engine, in real time.
class Drain : public threaded_suite {};

INSTANTIATE_TEST_SUITE_P(, Drain, every_exact_engine(), engine_as_name);

TEST_P(Drain, LetsWhatIsPendingFireAndStartsNothingNew) {
  std::atomic<int> fired = 0;
  std::vector<timer> many;
  for (int i = 0; i < 20; ++i) many.emplace_back(timers, 1ms * (i % 7), [&] { ++fired; });
  std::atomic<reset_result> last = reset_result::idle;  // before the drain its callback starts it again each time
  timer again(timers, 5ms, [&] { last = again.reset(0ns); });
  ticker beat(timers, 3ms, [&] { ++fired; });
  EXPECT_EQ(timers.drain(1h), 0u);
  EXPECT_GE(fired, 21) << "twenty timers and at least one tick must fire";
  EXPECT_EQ(last, reset_result::closed);
  EXPECT_EQ(timers.counters().pending, 0u);
  EXPECT_EQ(many[0].reset(0ns), reset_result::closed);
}

TEST_P(Drain, DropsWhatIsNotDueInTimeAndSaysHowMuch) {
  std::vector<timer> many;
  for (int i = 0; i < 5; ++i) many.emplace_back(timers, 1h, [] { ADD_FAILURE() << "a timer fired an hour early"; });
  many[0].stop();
  EXPECT_EQ(timers.drain(2ms), 4u);
  EXPECT_EQ(timers.drain(2ms), 0u);
  EXPECT_EQ(timers.counters().dropped, 4u);
}

TEST_P(Drain, EndsWhenTheLastIsStopped) {
  timer last(timers, 1h, [] {});
  std::thread stops([&] {
    while (last.reset(30min) == reset_result::superseded && last.reset(1h) == reset_result::superseded) {
      timer probe(timers, [] {});
      if (probe.reset(1h) == reset_result::closed) break;  // the service drains
    }
    EXPECT_EQ(last.stop(), stop_result::stopped);
  });
  EXPECT_EQ(timers.drain(1h), 0u);
  stops.join();
}

TEST_P(Drain, IsRefusedFromInsideACallback) {
  std::latch done(1);
  timer t(timers, 0ns, [&] {
    EXPECT_THROW(timers.drain(1h), std::logic_error);
    done.count_down();
  });
  done.wait();
}

TEST(DrainOnVirtualTime, IsRefused) {
  virtual_clock clock;
  timer_service timers(clock);
  EXPECT_THROW(timers.drain(1h), std::logic_error);
}

}  // namespace
}  // namespace foliot::test
