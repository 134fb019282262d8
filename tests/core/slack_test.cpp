#include <foliot/core/slack.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include <foliot/core/seam/random.hpp>

#include "core/nanoseconds.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using test::at;

int zeros(std::int64_t value) { return std::countr_zero(static_cast<std::uint64_t>(value)); }

static_assert(coalesced(at(0b1011'0110), 4ns) == at(0b1011'1000));

TEST(Slack, NoneMovesNothing) {
  for (const instant each : {at(0), at(-7), at(1'000'003), instant::earliest(), instant::latest(), instant::never()}) {
    EXPECT_EQ(coalesced(each, 0ns), each);
    EXPECT_EQ(coalesced(each, -5ns), each);
  }
}

TEST(Slack, FindsTheRoundestInstantOfTheStretch) {
  for (std::int64_t first = -70; first < 70; ++first) {
    for (std::int64_t slack = 0; slack < 70; ++slack) {
      const std::int64_t found = coalesced(at(first), duration::nanoseconds(slack)).nanoseconds();
      ASSERT_GE(found, first);
      ASSERT_LE(found, first + slack);
      for (std::int64_t other = first; other <= first + slack; ++other) {
        ASSERT_LE(zeros(other), zeros(found)) << first << " + " << slack;
      }
    }
  }
}

TEST(Slack, NeverIsEarlyNorTooLateAtTheEndsOfTime) {
  random_stream random(5);
  for (int i = 0; i < 100'000; ++i) {
    const auto first = at(static_cast<std::int64_t>(random.below(UINT64_MAX)));
    const auto slack = duration::nanoseconds(static_cast<std::int64_t>(random.below(UINT64_MAX) >> random.below(64)));
    const instant found = coalesced(first, slack);
    ASSERT_GE(found, first);
    ASSERT_LE(found, std::max(first, first + slack));
  }
  EXPECT_EQ(coalesced(instant::never(), 1h), instant::never());
  EXPECT_EQ(coalesced(instant::earliest(), 1h), instant::earliest());
  EXPECT_LT(coalesced(instant::latest() - 1ns, duration::forever()), instant::never());
}

}  // namespace
}  // namespace foliot
