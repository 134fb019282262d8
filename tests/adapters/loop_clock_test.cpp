// How often the timers of a loop read its clock, and by which of its two readings.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include <foliot/adapters/loop_ticker.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/core/clock.hpp>

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

/// A clock whose cheaper reading is ahead, and which counts both.
class counted_clock final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override {
    ++exact_;
    return shows;
  }
  [[nodiscard]] instant now_or_later() const noexcept override {
    ++cheap_;
    return shows + 4us;
  }

  /// The readings since the last call: exact ones, and cheap ones.
  [[nodiscard]] std::pair<int, int> readings() const noexcept {
    return {std::exchange(exact_, 0), std::exchange(cheap_, 0)};
  }

  instant shows = instant::from_nanoseconds(1'000'000'000);

 private:
  mutable int exact_ = 0;
  mutable int cheap_ = 0;
};

using pair = std::pair<int, int>;

TEST(LoopClock, EachResetReadsTheClockOnceAndCheaply) {
  const counted_clock time;
  loop_timers timers(time);
  loop_timer idle(timers, [] {});
  std::ignore = time.readings();
  idle.reset(30s);
  EXPECT_EQ(time.readings(), pair(0, 1));
  EXPECT_EQ(idle.deadline(), time.shows + 30s + 4us);
  idle.reset(50us);
  EXPECT_EQ(time.readings(), pair(1, 0)) << "4 us are much for such a delay";
  EXPECT_EQ(idle.deadline(), time.shows + 50us);
  idle.reset(0s);
  EXPECT_EQ(time.readings(), pair(1, 0));
  EXPECT_EQ(idle.deadline(), time.shows) << "a delay of zero is due now";
  idle.reset_at(time.shows + 1s);
  idle.stop();
  EXPECT_EQ(time.readings(), pair(0, 0));
}

TEST(LoopClock, ATickerReadsItOnceForAGrid) {
  counted_clock time;
  loop_timers timers(time);
  loop_ticker beat(timers, 1s, [] {});
  std::ignore = time.readings();
  beat.reset(2s);
  EXPECT_EQ(time.readings(), pair(0, 1));
  time.shows += 10s;
  EXPECT_EQ(timers.expire(time.shows).fired, 1u);
  EXPECT_EQ(time.readings(), pair(0, 0)) << "a turn goes by the instant that it is given";
}

TEST(LoopClock, CallbacksOfATurnShareItsInstant) {
  counted_clock time;
  loop_timers timers(time);
  const instant due = time.shows + 1s;
  loop_timer other(timers, [] {});
  loop_timer one(timers, [&] { other.reset_at(timers.now_of_turn() + 5s); });
  loop_timer two(timers, [&] { one.reset_at(timers.now_of_turn() + 5s); });
  one.reset_at(due);
  two.reset_at(due);
  std::ignore = time.readings();
  time.shows = due + 1ms;
  EXPECT_EQ(timers.expire(time.shows).fired, 2u);
  EXPECT_EQ(time.readings(), pair(0, 0));
  EXPECT_EQ(other.deadline(), due + 1ms + 5s);
  EXPECT_EQ(one.deadline(), due + 1ms + 5s);
}

/// On the real clock, whose cheaper reading goes back to the exact one every 10 us.
TEST(LoopClock, TimersOfEqualDelaysFireInTheOrderOfTheirResets) {
  loop_timers timers;
  std::string order;
  loop_timer first(timers, [&] { order += '1'; });
  loop_timer second(timers, [&] { order += '2'; });
  for (int i = 0; i < 200'000; ++i) {
    first.reset(30s);
    second.reset(30s);
    ASSERT_LE(first.deadline(), second.deadline()) << i;
  }
  EXPECT_EQ(timers.expire(second.deadline()).fired, 2u);
  EXPECT_EQ(order, "12");
}

}  // namespace
}  // namespace foliot::test
