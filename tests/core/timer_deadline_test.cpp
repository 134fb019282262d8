#include <foliot/core/timer_deadline.hpp>

#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>

namespace foliot {
namespace {

using namespace std::chrono_literals;

instant on(const clock& timers, timer_deadline deadline) {
  return deadline.on([&timers]() -> const clock& { return timers; });
}

using steady_clock = std::chrono::steady_clock;
constexpr steady_clock::time_point steady(5s);
constexpr std::chrono::sys_seconds system_time(7s);

TEST(TimerDeadline, IsAnInstantOfAnyClock) {
  const virtual_clock virtual_time;
  EXPECT_EQ(on(virtual_time, instant() + 3s), instant() + 3s);
  EXPECT_EQ(on(monotonic_clock::instance(), instant::never()), instant::never());
  // The clock may not exist any more, and is not asked for.
  const timer_deadline plain = instant() + 1s;
  EXPECT_EQ(plain.on([]() -> const clock& { throw std::logic_error("asked"); }), instant() + 1s);
}

TEST(TimerDeadline, IsATimePointOfTheSameClock) {
  EXPECT_EQ(on(monotonic_clock::instance(), steady), instant() + 5s);
  EXPECT_EQ(on(wall_clock::instance(), system_time), instant() + 7s);
  EXPECT_EQ(on(monotonic_clock::instance(), std::chrono::time_point<steady_clock, std::chrono::duration<double>>(
                                                std::chrono::duration<double>(1e-10))),
            instant() + 1ns);
}

TEST(TimerDeadline, OfAnotherClockIsRefused) {
  const virtual_clock virtual_time;
  EXPECT_THROW(static_cast<void>(on(virtual_time, steady)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(on(virtual_time, system_time)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(on(wall_clock::instance(), steady)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(on(boottime_clock::instance(), steady)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(on(monotonic_clock::instance(), system_time)), std::invalid_argument);
}

}  // namespace
}  // namespace foliot
