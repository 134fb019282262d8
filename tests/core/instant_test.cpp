#include <foliot/core/instant.hpp>

#include <gtest/gtest.h>

#include "core/nanoseconds.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using test::at;

TEST(Instant, Arithmetic) {
  static_assert(at(5) + 10ns == at(15));
  EXPECT_EQ(at(5) - 10ns, at(-5));
  EXPECT_EQ(at(25) - at(5), duration(20ns));
  instant t = at(1);
  t += 1us;
  t -= 1ns;
  EXPECT_EQ(t, at(1000));
}

TEST(Instant, SaturatesAtItsEnds) {
  EXPECT_TRUE((instant::latest() + 1ns).is_never());
  EXPECT_EQ(instant::earliest() - 1ns, instant::earliest());
  EXPECT_EQ(at(-5) + duration::forever(), instant::never()) << "for ever reaches never from before the origin too";
  EXPECT_EQ(instant::latest() - instant::earliest(), duration::forever());
  EXPECT_EQ(instant::earliest() - instant::latest(), duration::lowest());
}

TEST(Instant, NothingBringsNeverNearer) {
  EXPECT_EQ(instant::never() - 1h, instant::never());
  EXPECT_EQ(instant::never() + duration::lowest(), instant::never());
  EXPECT_EQ(instant::never() - at(0), duration::forever());
  EXPECT_EQ(instant::never() - instant::never(), duration::zero());
}

TEST(Instant, ADeadlineOfNoOrNegativeLengthIsNow) {
  EXPECT_EQ(deadline_after(at(7), 0ns), at(7));
  EXPECT_EQ(deadline_after(at(7), -1h), at(7));
  EXPECT_EQ(deadline_after(at(7), duration::lowest()), at(7));
  EXPECT_EQ(deadline_after(at(7), 1ns), at(8));
  EXPECT_TRUE(deadline_after(at(7), duration::forever()).is_never());
  EXPECT_TRUE(deadline_after(instant::latest(), 1h).is_never());
}

TEST(Instant, NeverIsNeverDue) {
  EXPECT_TRUE(is_due(at(5), at(5)));
  EXPECT_FALSE(is_due(at(6), at(5)));
  EXPECT_TRUE(is_due(instant::earliest(), at(5)));
  EXPECT_TRUE(is_due(instant::latest(), instant::latest()));
  EXPECT_FALSE(is_due(instant::never(), instant::never()));
}

}  // namespace
}  // namespace foliot
