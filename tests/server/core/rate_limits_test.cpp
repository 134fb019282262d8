// How many requests of a key may come, and when the next one may. No clock: the time is a number.
#include "server/core/rate_limits.hpp"

#include <chrono>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr instant begin = instant::from_nanoseconds(1'000'000'000'000);

/// How many requests of the key are there at this time.
std::size_t take_all(rate_limits& of, std::string_view key, instant now) {
  std::size_t count = 0;
  while (of.take(key, now) == duration::zero()) ++count;
  return count;
}

TEST(RateLimits, ABurstAndThenSoManyInASecond) {
  rate_limits of({.each_second = 10, .burst = 3});
  EXPECT_EQ(take_all(of, "a", begin), 3U);
  EXPECT_EQ(take_all(of, "b", begin), 3U) << "each key has its own";
  EXPECT_EQ(take_all(of, "a", begin + duration(100ms) - duration(1ns)), 0U);
  EXPECT_EQ(take_all(of, "a", begin + duration(100ms)), 1U);
  EXPECT_EQ(take_all(of, "a", begin + duration(10s)), 3U) << "a silence brings no more than the burst";
}

TEST(RateLimits, TheWaitIsExact) {
  rate_limits of({.each_second = 3, .burst = 0});
  instant now = begin;
  EXPECT_EQ(take_all(of, "a", now), 3U) << "as many as in a second";
  for (int i = 0; i < 100; ++i) {
    const duration wait = of.take("a", now);
    ASSERT_GT(wait, duration::zero());
    EXPECT_GT(of.take("a", now + wait - duration(1ns)), duration::zero()) << i;
    now += wait;
    ASSERT_EQ(of.take("a", now), duration::zero()) << i;
  }
  EXPECT_GE(now - begin, duration(33'333'333'333ns)) << "never more than is allowed";
  EXPECT_LE(now - begin, duration(33'333'334'333ns));
  EXPECT_EQ(of.held_back(), 201U) << "two for each, and the one behind the burst";
}

TEST(RateLimits, ARefusalTakesNothing) {
  rate_limits of({.each_second = 1, .burst = 1});
  EXPECT_EQ(of.take("a", begin), duration::zero());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(of.take("a", begin), duration(1s));
  EXPECT_EQ(of.take("a", begin + duration(1s)), duration::zero());
}

TEST(RateLimits, WhatIsTakenAheadWaitsInItsOrder) {
  rate_limits of({.each_second = 2, .burst = 1});
  EXPECT_EQ(of.take_ahead("a", begin), duration::zero());
  EXPECT_EQ(of.take_ahead("a", begin), duration(500ms));
  EXPECT_EQ(of.take_ahead("a", begin), duration(1s));
  EXPECT_EQ(of.take("a", begin + duration(1s)), duration(500ms)) << "behind those that wait";
  request_rates both({.each_second = 2, .burst = 1}, {.each_second = 1, .burst = 1});
  EXPECT_EQ(both.take_ahead("a", "t", begin), duration::zero());
  EXPECT_EQ(both.take_ahead("a", "t", begin), duration(1s)) << "the longer wait of the two";
  EXPECT_EQ(both.take_ahead("", "", begin), duration::zero()) << "no key, no limit";
}

/// Clients that give up, and come again, do not push the turns of all others away.
TEST(RateLimits, NoTurnIsFurtherAheadThanTheLongest) {
  rate_limits of({.each_second = 1, .burst = 1});
  for (int i = 0; i <= 5; ++i) EXPECT_EQ(of.take_ahead("a", begin), duration(i * 1s));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(of.take_ahead("a", begin), duration(6s)) << "nothing was taken";
  EXPECT_EQ(of.take_ahead("a", begin + duration(1s)), rate_limits::longest_turn);
  request_rates both({.each_second = 1, .burst = 1}, {.each_second = 10, .burst = 1});
  for (int i = 0; i < 100; ++i) static_cast<void>(both.take_ahead("a", "t", begin));
  EXPECT_EQ(both.take_ahead("b", "t", begin), duration(600ms))
      << "what an address is refused takes no turn of its token";
}

TEST(RateLimits, WithoutALimitNothingIsRemembered) {
  rate_limits none({});
  EXPECT_FALSE(none.has_limit());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(none.take("a", begin), duration::zero());
  EXPECT_EQ(none.keys(), 0U);
}

TEST(RateLimits, MillionsOfKeysTakeABoundedMemory) {
  rate_limits of({.each_second = 1, .burst = 1});
  EXPECT_EQ(of.take("first", begin), duration::zero());
  for (std::size_t i = 0; i < 3 * rate_limits::most_keys; ++i) {
    EXPECT_EQ(of.take(std::to_string(i), begin), duration::zero());
  }
  EXPECT_EQ(of.keys(), rate_limits::most_keys);
  EXPECT_EQ(of.take("first", begin), duration::zero()) << "it was forgotten";
  EXPECT_GT(of.take(std::to_string(3 * rate_limits::most_keys - 1), begin), duration::zero()) << "this one was not";
  const instant later = begin + duration(1s);
  for (std::size_t i = 0; i < rate_limits::most_keys; ++i)
    EXPECT_EQ(of.take("other", later + duration(i * 1s)), duration::zero());
  EXPECT_EQ(of.keys(), 1U) << "full buckets are forgotten";
}

}  // namespace
}  // namespace foliot::program
