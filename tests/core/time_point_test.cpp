// Instants of the system's clocks as time points of the standard library, and back: exact, and to both ends.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include <gtest/gtest.h>

#include <foliot/core/clock.hpp>
#include <foliot/core/virtual_clock.hpp>

#include "core/nanoseconds.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::sys_days;
using std::chrono::sys_time;
using systems_wall = std::chrono::system_clock;  // tidy: allow(seam-clock) the test compares with it
using systems_steady = std::chrono::steady_clock;
using test::at;
using test::least;
using test::most;
template <class Duration>
using steady_time = std::chrono::time_point<systems_steady, Duration>;

TEST(TimePoints, TheSystemClocksAreExactBothWays) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1},
                                   std::int64_t{1'700'000'000'123'456'789}, most, most - 1, least, least + 1}) {
    const sys_time<nanoseconds> wall{nanoseconds(count)};
    EXPECT_EQ(wall_clock::from_sys(wall), at(count));
    EXPECT_EQ(wall_clock::to_sys(at(count)), wall);
    const steady_time<nanoseconds> steady{nanoseconds(count)};
    EXPECT_EQ(monotonic_clock::from_steady(steady), at(count));
    EXPECT_EQ(monotonic_clock::to_steady(at(count)), steady);
  }
  EXPECT_EQ(wall_clock::from_sys(systems_wall::time_point::max()), instant::never());
  EXPECT_EQ(wall_clock::from_sys(systems_wall::time_point::min()), instant::earliest());
  EXPECT_EQ(wall_clock::to_sys(instant::never()), systems_wall::time_point::max());
  EXPECT_EQ(monotonic_clock::from_steady(systems_steady::time_point::max()), instant::never());
}

TEST(TimePoints, OtherPrecisionsAreRoundedUpAndStopAtTheEnds) {
  using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
  EXPECT_EQ(wall_clock::from_sys(sys_time<picoseconds>(picoseconds(1))), at(1));
  EXPECT_EQ(wall_clock::from_sys(sys_time<picoseconds>(picoseconds(1000))), at(1));
  EXPECT_EQ(wall_clock::from_sys(sys_time<picoseconds>(picoseconds(1001))), at(2));
  EXPECT_EQ(wall_clock::from_sys(sys_time<picoseconds>(picoseconds(-1))), at(0));
  EXPECT_EQ(wall_clock::from_sys(sys_time<picoseconds>(picoseconds(-1001))), at(-1));
  constexpr auto year_2030 = sys_days(std::chrono::year(2030) / 1 / 1);
  EXPECT_EQ(wall_clock::from_sys(year_2030), at(1'893'456'000'000'000'000));
  EXPECT_EQ(wall_clock::from_sys(sys_days(std::chrono::year(3000) / 1 / 1)), instant::never());
  EXPECT_EQ(wall_clock::from_sys(sys_days(std::chrono::year(1000) / 1 / 1)), instant::earliest());
  // The last whole second of an instant, and the next one.
  constexpr std::int64_t last_second = most / 1'000'000'000;
  EXPECT_EQ(wall_clock::from_sys(std::chrono::sys_seconds(std::chrono::seconds(last_second))),
            at(last_second * 1'000'000'000));
  EXPECT_EQ(wall_clock::from_sys(std::chrono::sys_seconds(std::chrono::seconds(last_second + 1))), instant::never());
  EXPECT_EQ(wall_clock::from_sys(std::chrono::sys_seconds(std::chrono::seconds(-last_second - 1))),
            instant::earliest());
  using minutes_in_double = std::chrono::duration<double, std::ratio<60>>;
  EXPECT_EQ(wall_clock::from_sys(sys_time<minutes_in_double>(minutes_in_double(0.5))), at(30'000'000'000));
  EXPECT_EQ(monotonic_clock::from_steady(steady_time<minutes_in_double>(minutes_in_double(1e300))), instant::never());
  const sys_time<minutes_in_double> no_time(minutes_in_double(std::nan("")));
  EXPECT_THROW(static_cast<void>(wall_clock::from_sys(no_time)), std::invalid_argument);
}

/// Both libraries read the same clocks: a reading of one lies between two readings of the other.
TEST(TimePoints, AreOfTheSameClocks) {
  const instant before = monotonic_clock::instance().now();
  const instant steady = monotonic_clock::from_steady(systems_steady::now());
  const instant after = monotonic_clock::instance().now();
  EXPECT_LE(before, steady);
  EXPECT_LE(steady, after);
  // The wall clock may be set during the test, but not five times.
  bool agree = false;
  for (int i = 0; i < 5 && !agree; ++i) {
    const instant wall_before = wall_clock::instance().now();
    const instant system = wall_clock::from_sys(systems_wall::now());
    agree = wall_before <= system && system <= wall_clock::instance().now();
  }
  EXPECT_TRUE(agree);
}

TEST(VirtualClock, HasAWallClockBesideItThatCanBeSet) {
  virtual_clock clock(at(5));
  EXPECT_EQ(clock.wall_now(), at(5)) << "the origin is the beginning of 1970";
  EXPECT_EQ(clock.when_wall_shows(at(7)), at(7));
  constexpr auto noon = sys_days(std::chrono::year(2030) / 6 / 1) + 12h;
  clock.set_wall(noon);
  EXPECT_EQ(wall_clock::to_sys(clock.wall_now()), noon);
  EXPECT_EQ(clock.now(), at(5)) << "setting the wall time must not move the clock";
  clock.advance(1h);
  EXPECT_EQ(wall_clock::to_sys(clock.wall_now()), noon + 1h);
  EXPECT_EQ(clock.when_wall_shows(wall_clock::from_sys(noon + 3h)), clock.now() + 2h);
  clock.set_wall(clock.wall_now() - 24h);
  EXPECT_EQ(wall_clock::to_sys(clock.wall_now()), noon - 23h);
  EXPECT_EQ(clock.when_wall_shows(instant::never()), instant::never());
}

TEST(VirtualClock, TheWallClockBesideItStopsAtTheEnds) {
  virtual_clock clock(at(5));
  clock.set_wall(instant::never());
  EXPECT_EQ(clock.wall_now(), instant::latest());
  clock.advance(1h);
  EXPECT_EQ(clock.wall_now(), instant::latest());
  clock.set_wall(instant::earliest());
  EXPECT_LE(clock.wall_now(), at(least) + 2h);
  EXPECT_EQ(clock.when_wall_shows(instant::latest()), instant::never())
      << "the clock ends before the wall clock shows that instant";
}

}  // namespace
}  // namespace foliot
