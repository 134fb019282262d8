// Tests of the simple wheel alone: rounds, turns, and the search for the next tick. The tests of all wheels are in
// wheels_test.cpp.
#include <foliot/queue/hashed_wheel.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;

constexpr auto nothing = [](wheel_node&) {};
constexpr auto turn_length = 1ms * static_cast<std::int64_t>(hashed_wheel::slot_count);

TEST(HashedWheel, ANodeIsSmall) { EXPECT_LE(sizeof(wheel_node), 48u); }

TEST(HashedWheel, EachTimerOfASlotFiresInItsOwnRound) {
  constexpr std::size_t rounds = 50;
  hashed_wheel wheel;
  wheel_node nodes[rounds];
  wheel.expire(instant{}, unlimited, nothing);
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto round = static_cast<std::int64_t>((i * 7) % rounds);
    wheel.start(nodes[i], instant{} + 5ms + turn_length * round);
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    const instant due = instant{} + 5ms + turn_length * static_cast<std::int64_t>(round);
    EXPECT_EQ(wheel.expire(due - duration::nanoseconds(1), unlimited, nothing).fired, 0u);
    EXPECT_EQ(wheel.expire(due, unlimited, [&](wheel_node& node) { EXPECT_EQ(node.deadline(), due); }).fired, 1u);
    EXPECT_TRUE(wheel.check());
  }
}

TEST(HashedWheel, FiresOnTimeTickByTickOverManyTurns) {
  hashed_wheel wheel;
  std::vector<wheel_node> nodes(2000);
  wheel.expire(instant{} - 700ms, unlimited, nothing);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    wheel.start(nodes[i], instant{} - 700ms + 1ms * static_cast<std::int64_t>(i));
  for (std::int64_t i = 0; i < 2000; ++i) {
    const instant now = instant{} - 700ms + 1ms * i;
    EXPECT_EQ(wheel.expire(now - duration::nanoseconds(1), unlimited, nothing).fired, 0u);
    EXPECT_EQ(wheel.expire(now, unlimited, nothing).fired, 1u);
  }
}

TEST(HashedWheel, LeapsOfExactlyATurnAndOneTickMore) {
  for (const std::int64_t leap : {511, 512, 513, 1024, 1025}) {
    hashed_wheel wheel;
    std::vector<wheel_node> nodes(1200);
    wheel.expire(instant{}, unlimited, nothing);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      wheel.start(nodes[i], instant{} + 1ms * static_cast<std::int64_t>(i + 1));
    instant last = instant{};
    const expiry turn = wheel.expire(instant{} + 1ms * leap, unlimited, [&](wheel_node& node) {
      EXPECT_LT(last, node.deadline());
      last = node.deadline();
    });
    EXPECT_EQ(turn.fired, static_cast<std::size_t>(leap));
    EXPECT_TRUE(wheel.check());
    EXPECT_EQ(wheel.next_deadline(), instant{} + 1ms * (leap + 1));
    while (wheel.pop_any() != nullptr) {
    }
  }
}

TEST(HashedWheel, TheNextTickIsExactWhenItIsSearchedFor) {
  hashed_wheel wheel;
  wheel_node nodes[3];
  wheel.start(nodes[0], instant{} + 1ms);
  wheel.start(nodes[1], instant{} + 10h);
  wheel.start(nodes[2], instant{} + 10h + 3ms);
  wheel.expire(instant{} + 1ms, unlimited, nothing);
  EXPECT_EQ(wheel.next_deadline(), instant{} + 10h);
  wheel.stop(nodes[1]);
  EXPECT_EQ(wheel.next_deadline(), instant{} + 10h);  // a stop does not change it
  wheel.expire(instant{} + 10h, unlimited, nothing);
  EXPECT_EQ(wheel.next_deadline(), instant{} + 10h + 3ms);
  wheel.stop(nodes[2]);
  EXPECT_EQ(wheel.next_deadline(), instant::never());
}

TEST(HashedWheel, ASearchEndsAtACrowdedSlot) {
  hashed_wheel wheel;
  std::vector<wheel_node> nodes(5000);
  wheel.expire(instant{}, unlimited, nothing);
  for (wheel_node& node : nodes) wheel.start(node, instant{} + 7ms + 1000 * turn_length);
  wheel_node early;
  wheel.start(early, instant{} + 1ms);
  wheel.expire(instant{} + 1ms, unlimited, nothing);
  EXPECT_EQ(wheel.next_deadline(), instant{} + 7ms);  // not after the slot that has too many timers to search
  while (wheel.pop_any() != nullptr) {
  }
}

TEST(HashedWheel, NothingEverAllocates) {
  hashed_wheel wheel;
  std::vector<wheel_node> nodes(1000);
  const test::allocation_count allocations;
  for (std::int64_t round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      wheel.reset(nodes[i], instant{} + 1s * round + 1ms * static_cast<std::int64_t>(i * i % 5000));
    }
    wheel.expire(instant{} + 1s * round, unlimited, nothing);
  }
  while (wheel.pop_any() != nullptr) {
  }
  EXPECT_EQ(allocations.so_far(), 0u);
}

TEST(HashedWheel, CheckNamesWhatIsBroken) {
  hashed_wheel wheel;
  wheel_node node;
  wheel.expire(instant{}, unlimited, nothing);
  wheel.start(node, instant{} + 5ms);
  EXPECT_TRUE(wheel.check());
  timer_node_access::deadline(node) = instant{} + 6ms;
  EXPECT_NE(wheel.check().error().find("has a timer that belongs elsewhere"), std::string::npos);
  timer_node_access::deadline(node) = instant{} + 5ms;
  EXPECT_TRUE(wheel.check());
  wheel.stop(node);
}

}  // namespace
}  // namespace foliot
