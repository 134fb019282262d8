#include <foliot/core/grid.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>

#include <gtest/gtest.h>

#include "core/nanoseconds.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using test::at;

TEST(Grid, TheNextInstantThatHasNotPassed) {
  static_assert(next_on_grid(at(10), 5ns, at(0)) == at(10));
  EXPECT_EQ(next_on_grid(at(10), 5ns, at(10)), at(10)) << "an instant of the grid that is now has not passed";
  EXPECT_EQ(next_on_grid(at(10), 5ns, at(11)), at(15));
  EXPECT_EQ(next_on_grid(at(10), 5ns, at(15)), at(15));
  EXPECT_EQ(next_on_grid(at(10), 5ns, at(16)), at(20));
  EXPECT_EQ(next_on_grid(at(-7), 5ns, at(0)), at(3));
  EXPECT_EQ(next_on_grid(at(-7), 5ns, at(-3)), at(-2));
}

TEST(Grid, ToTheEndsOfTime) {
  const instant begin = instant::earliest();
  const instant end = instant::latest();
  EXPECT_EQ(next_on_grid(begin, 1ns, end), end) << "the result must not come from a saturated sum";
  EXPECT_EQ(next_on_grid(begin, 2ns, end), end);
  EXPECT_EQ(next_on_grid(begin, 7ns, end), end);
  EXPECT_EQ(next_on_grid(begin, 3ns, end), instant::never())
      << "the next instant would be a nanosecond after the latest";
  EXPECT_EQ(next_on_grid(end - 1ns, 3ns, end), instant::never()) << "the next instant would be after the latest";
  EXPECT_EQ(next_on_grid(instant::never(), 1ns, at(0)), instant::never());
  EXPECT_EQ(next_on_grid(at(0), 1ns, instant::never()), instant::never());
  EXPECT_EQ(next_on_grid(at(0), duration::forever(), at(1)), instant::never());
  EXPECT_EQ(next_on_grid(at(0), duration::forever(), at(0)), at(0));
  EXPECT_EQ(next_on_grid(begin, duration::forever(), at(0)), instant::never());
}

TEST(Grid, RefusesAPeriodThatIsNotPositive) {
  EXPECT_THROW(static_cast<void>(next_on_grid(at(0), 0ns, at(0))), std::invalid_argument);
  try {
    static_cast<void>(next_on_grid(at(0), -1ns, at(0)));
    FAIL() << "a negative period was accepted";
  } catch (const std::invalid_argument& refused) {
    EXPECT_STREQ(refused.what(), "foliot: the period of a grid must be positive, got -1 ns");
  }
}

}  // namespace
}  // namespace foliot
