// Tests of the wheels with levels alone: cascades, or their absence, and levels that are made on demand. The tests of
// all wheels are in wheels_test.cpp.
#include <foliot/queue/hierarchical_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;

constexpr auto nothing = [](wheel_node&) {};

/// Sleeps until next_deadline until `node` has fired; returns how often it woke, and when it fired.
template <class Wheel>
std::size_t wakes_until_fired(Wheel& wheel, wheel_node& node, instant& fired_at) {
  std::size_t wakes = 0;
  for (; node.pending(); ++wakes) {
    fired_at = wheel.next_deadline();
    wheel.expire(fired_at, unlimited, nothing);
  }
  return wakes;
}

TEST(HierarchicalWheel, ATimerCascadesOnceALevel) {
  hierarchical_wheel wheel;
  wheel.expire(instant{}, unlimited, nothing);
  wheel_node node;
  instant fired_at;
  wheel.start(node, instant{} + 19ms);
  EXPECT_EQ(wakes_until_fired(wheel, node, fired_at), 1u);
  EXPECT_EQ(fired_at, instant{} + 19ms);
  wheel.start(node, instant{} + 19ms + 7999ms);  // level 2 or 3, depending on the hand
  EXPECT_LE(wakes_until_fired(wheel, node, fired_at), 4u);
  EXPECT_EQ(fired_at, instant{} + 8018ms);
  wheel.start(node, instant{} + 1h + 1ms);  // 20^5 ms are under an hour: level 5
  EXPECT_LE(wakes_until_fired(wheel, node, fired_at), 6u);
  EXPECT_EQ(fired_at, instant{} + 1h + 1ms);  // exact to the tick, at any distance
}

TEST(HierarchicalWheel, FarTimersKeepTheirTick) {
  random_stream random(4);
  for (int i = 0; i < 500; ++i) {
    hierarchical_wheel wheel;
    const instant now = instant::from_nanoseconds(static_cast<std::int64_t>(random.below(1ull << 40)));
    wheel.expire(now, unlimited, nothing);
    wheel_node node;
    wheel.start(node, now + duration::nanoseconds(static_cast<std::int64_t>(random.below(1ull << (22 + i % 40)))));
    instant fired_at;
    wakes_until_fired(wheel, node, fired_at);
    EXPECT_LT(fired_at - node.deadline(), duration(1ms));
    EXPECT_GE(fired_at, node.deadline());
  }
}

TEST(HierarchicalWheel, LevelsAreMadeWhenTheyAreNeeded) {
  hierarchical_wheel wheel;
  wheel_node nodes[4];
  wheel.expire(instant{}, unlimited, nothing);
  const test::allocation_count allocations;
  wheel.start(nodes[0], instant{});  // due: on no level
  EXPECT_EQ(allocations.so_far(), 0u);
  wheel.start(nodes[1], instant{} + 10ms);
  EXPECT_EQ(allocations.so_far(), 1u);
  wheel.start(nodes[2], instant{} + 7s);
  EXPECT_EQ(allocations.so_far(), 3u);
  wheel.start(nodes[3], instant::never());
  wheel.reset(nodes[1], instant{} + 5s);
  EXPECT_EQ(allocations.so_far(), 3u);
  wheel.reserve(1);
  EXPECT_EQ(allocations.so_far(), 11u);
  wheel.reset(nodes[0], instant::latest());
  EXPECT_EQ(allocations.so_far(), 11u);
  while (wheel.pop_any() != nullptr) {
  }
}

template <class Wheel>
void a_level_that_cannot_be_made_loses_nothing() {
  Wheel wheel;
  wheel_node near;
  wheel_node far;
  wheel.expire(instant{}, unlimited, nothing);
  wheel.start(near, instant{} + 10ms);
  for (std::size_t succeeding = 0; succeeding < 2; ++succeeding) {
    const test::failing_allocations fail(succeeding);
    EXPECT_THROW(wheel.start(far, instant{} + 24h), std::bad_alloc);
    EXPECT_FALSE(far.pending());
    EXPECT_THROW(wheel.reset(near, instant{} + 24h), std::bad_alloc);
    EXPECT_TRUE(near.pending());
    EXPECT_EQ(near.deadline(), instant{} + 10ms);
    EXPECT_TRUE(wheel.check());
  }
  wheel.start(far, instant{} + 24h);
  EXPECT_EQ(wheel.expire(instant{} + 10ms, unlimited, nothing).fired, 1u);
  EXPECT_EQ(wheel.expire(instant{} + 48h, unlimited, nothing).fired, 1u);
}
TEST(HierarchicalWheel, ALevelThatCannotBeMadeLosesNothing) {
  a_level_that_cannot_be_made_loses_nothing<hierarchical_wheel>();
  a_level_that_cannot_be_made_loses_nothing<linux_wheel>();
}

TEST(HierarchicalWheel, TheFirstExpireNeedsNoMemory) {
  hierarchical_wheel wheel;
  std::vector<wheel_node> nodes(100);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    wheel.start(nodes[i], instant{} + 1s * static_cast<std::int64_t>(i * i));
  instant last = instant::earliest();
  const auto in_order = [&](wheel_node& node) {
    EXPECT_LE(last, node.deadline());
    last = node.deadline();
  };
  {
    const test::failing_allocations fail;
    wheel.expire(instant{} + 1s, unlimited, in_order);
    EXPECT_TRUE(fail.failed());
  }
  EXPECT_TRUE(wheel.check());
  EXPECT_EQ(wheel.next_deadline(), instant{} + 4s);
  wheel.expire(instant{} + 24h, unlimited, in_order);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(LinuxWheel, ALoneTimerWakesOnce) {
  random_stream random(6);
  for (int i = 0; i < 2000; ++i) {
    linux_wheel wheel;
    const instant now = instant::from_nanoseconds(static_cast<std::int64_t>(random.below(1ull << 45)));
    wheel.expire(now, unlimited, nothing);
    wheel_node node;
    wheel.start(node, now + duration::nanoseconds(1 + static_cast<std::int64_t>(random.below(1ull << (22 + i % 27)))));
    instant fired_at;
    EXPECT_EQ(wakes_until_fired(wheel, node, fired_at), 1u);
  }
}

TEST(LinuxWheel, IsLateByAnEighthOfTheTimeoutAtMost) {
  EXPECT_EQ(linux_wheel::lateness_of(duration::zero()), duration(1ms));
  EXPECT_EQ(linux_wheel::lateness_of(duration::lowest()), duration(1ms));
  EXPECT_EQ(linux_wheel::lateness_of(60ms), duration(1ms));
  EXPECT_EQ(linux_wheel::lateness_of(500ms), duration(8ms));
  EXPECT_EQ(linux_wheel::lateness_of(24h * 365), linux_wheel::lateness_of(24h * 12));
  random_stream random(8);
  for (int i = 0; i < 2000; ++i) {
    const duration timeout = duration::nanoseconds(static_cast<std::int64_t>(random.below(1ull << (20 + i % 30))));
    const duration promised = linux_wheel::lateness_of(timeout);
    EXPECT_LE(promised, std::max(duration(1ms), duration::nanoseconds((timeout + 2ms).count() / 63 * 8 + 63 * 8)));

    linux_wheel wheel;
    wheel_node node;
    wheel.expire(instant{} + 12345us, unlimited, nothing);
    wheel.start(node, instant{} + 12345us + timeout);
    instant fired_at;
    wakes_until_fired(wheel, node, fired_at);
    EXPECT_LE(fired_at - node.deadline(), promised);
  }
}

TEST(LinuxWheel, SpreadsTimersThatAreAsFarAwayOverBuckets) {
  // Each is 5 minutes away: level 5, 32.768 s a bucket.
  linux_wheel wheel;
  std::vector<wheel_node> nodes(600);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const instant now = instant{} + 1s * static_cast<std::int64_t>(i);
    wheel.expire(now, unlimited, nothing);
    wheel.start(nodes[i], now + 5min);
  }
  std::size_t most = 0;
  for (instant next; !(next = wheel.next_deadline()).is_never();) {
    most = std::max(most, wheel.expire(next, unlimited, nothing).fired);
  }
  EXPECT_LE(most, 33u);
}

TEST(LinuxWheel, BeyondItsCapacityATimerIsNotEarly) {
  for (const duration timeout :
       {duration(24h * 12), duration(24h * 13), duration(24h * 100), duration(24h * 365 * 100)}) {
    linux_wheel wheel;
    wheel_node node;
    wheel.expire(instant{}, unlimited, nothing);
    wheel.start(node, instant{} + timeout);
    EXPECT_EQ(wheel.expire(instant{} + timeout - duration::nanoseconds(1), unlimited, nothing).fired, 0u);
    EXPECT_EQ(wheel.expire(instant{} + timeout + linux_wheel::lateness_of(timeout), unlimited, nothing).fired, 1u);
  }
}

TEST(LinuxWheel, AfterAnIdleHourAForwardKeepsAShortTimeoutShort) {
  for (const bool forward : {false, true}) {
    linux_wheel wheel;
    wheel_node node;
    wheel.expire(instant{}, unlimited, nothing);
    const instant now = instant{} + 1h;
    if (forward) {
      EXPECT_TRUE(wheel.forward(now));
    }
    wheel.start(node, now + 1s);
    const duration promised = linux_wheel::lateness_of(forward ? duration(1s) : duration(1h + 1s));
    EXPECT_LE(wheel.next_deadline(), now + 1s + promised);
    EXPECT_EQ(wheel.expire(now + 1s + promised, unlimited, nothing).fired, 1u);
  }
  EXPECT_LT(linux_wheel::lateness_of(1s), duration(65ms));
}

TEST(LinuxWheel, AForwardPassesNothingThatIsDue) {
  linux_wheel wheel;
  wheel_node nodes[2];
  EXPECT_TRUE(wheel.forward(instant{}));  // the first one sets the hand
  for (wheel_node& node : nodes) wheel.start(node, instant{} + 10ms);
  EXPECT_TRUE(wheel.forward(instant{} + 9ms));
  EXPECT_FALSE(wheel.forward(instant{} + 10ms));
  EXPECT_FALSE(wheel.forward(instant{} + 1h));
  EXPECT_EQ(wheel.next_deadline(), instant{} + 10ms);
  EXPECT_EQ(wheel.expire(instant{} + 10ms, 1, nothing).fired, 1u);
  EXPECT_FALSE(wheel.forward(instant{} + 1h));  // a timer is left in the open bucket
  EXPECT_EQ(wheel.expire(instant{} + 10ms, 1, nothing).fired, 1u);
  EXPECT_TRUE(wheel.forward(instant{} + 1h));
  EXPECT_TRUE(wheel.forward(instant{} + 30min));  // the hand does not go back
  wheel.start(nodes[0], instant{} + 30min);
  EXPECT_FALSE(wheel.forward(instant{} + 2h));  // overdue
  EXPECT_TRUE(wheel.check());
  EXPECT_EQ(wheel.expire(instant{} + 2h, unlimited, nothing).fired, 1u);
}

TEST(HierarchicalWheel, ForwardSparesCascades) {
  hierarchical_wheel wheel;
  wheel_node node;
  wheel.expire(instant{}, unlimited, nothing);
  EXPECT_TRUE(wheel.forward(instant{} + 1h));
  wheel.start(node, instant{} + 1h + 5ms);
  EXPECT_EQ(wheel.next_deadline(), instant{} + 1h + 5ms);  // on the lowest level
  EXPECT_EQ(wheel.expire(instant{} + 1h + 5ms, unlimited, nothing).fired, 1u);
}

TEST(HierarchicalWheel, CheckNamesWhatIsBroken) {
  hierarchical_wheel wheel;
  wheel_node node;
  wheel.expire(instant{}, unlimited, nothing);
  wheel.start(node, instant{} + 5ms);
  EXPECT_TRUE(wheel.check());
  timer_node_access::deadline(node) = instant{} + 6ms;
  EXPECT_NE(wheel.check().error().find("of level 0 has a timer that belongs elsewhere"), std::string::npos);
  timer_node_access::deadline(node) = instant{} + 5ms;
  EXPECT_TRUE(wheel.check());
  wheel.stop(node);
}

}  // namespace
}  // namespace foliot
