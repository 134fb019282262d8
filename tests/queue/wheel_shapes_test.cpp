// Tests of wheels whose tick and size the user chooses: refused shapes, rounding, and the end of time.
#include <foliot/queue/wheel_shape.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;

constexpr auto nothing = [](wheel_node&) {};

template <class Wheel>
std::string refused(wheel_shape shape) {
  try {
    const Wheel wheel(shape);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

template <class Wheel>
class ChosenWheels : public ::testing::Test {};

using chosen_wheels = ::testing::Types<chosen_hashed_wheel, chosen_hierarchical_wheel>;
TYPED_TEST_SUITE(ChosenWheels, chosen_wheels);

TYPED_TEST(ChosenWheels, AShapeThatCannotBeIsRefusedWithWhatCan) {
  EXPECT_EQ(refused<TypeParam>({.tick = 0ns, .slots = 20}),
            "foliot: the tick of a wheel must be from 1 ns to 24 h, got 0 ns");
  EXPECT_EQ(refused<TypeParam>({.tick = -5ms}),
            "foliot: the tick of a wheel must be from 1 ns to 24 h, got -5000000 ns");
  EXPECT_EQ(refused<TypeParam>({.tick = duration(24h) + 1ns}),
            "foliot: the tick of a wheel must be from 1 ns to 24 h, got 86400000000001 ns");
  EXPECT_EQ(refused<TypeParam>({.slots = (std::size_t{1} << 30) + 1}),
            "foliot: a wheel must have from 1 to 1073741824 slots, or 0 for the wheel's default, got 1073741825");
  EXPECT_EQ(refused<TypeParam>({.tick = 24h, .slots = 1}), "accepted");
}

TYPED_TEST(ChosenWheels, IsAsPreciseAsItsTick) {
  EXPECT_EQ(TypeParam().precision, duration(1ms));
  EXPECT_EQ(TypeParam({.tick = 100ms}).precision, duration(100ms));
}

TEST(ChosenHashedWheel, RoundsItsSlotsUpToAPowerOfTwo) {
  EXPECT_EQ(chosen_hashed_wheel().slot_count, 512u);
  EXPECT_EQ(chosen_hashed_wheel({.slots = 1}).slot_count, 1u);
  EXPECT_EQ(chosen_hashed_wheel({.slots = 20}).slot_count, 32u);
  EXPECT_EQ(chosen_hashed_wheel({.slots = 513}).slot_count, 1024u);
  EXPECT_EQ((basic_hashed_wheel<fixed_wheel<1, 20>>::slot_count), 32u);
}

TEST(ChosenHashedWheel, AllocatesInItsConstructorAlone) {
  const test::allocation_count allocations;
  chosen_hashed_wheel wheel({.tick = 1us, .slots = 64});
  EXPECT_EQ(allocations.so_far(), 1u);
  wheel_node nodes[100];
  for (int i = 0; i < 100; ++i) wheel.start(nodes[i], instant{} + 1us * (i * i));
  wheel.expire(instant{} + 1ms, unlimited, nothing);
  while (wheel.pop_any() != nullptr) {
  }
  EXPECT_EQ(allocations.so_far(), 1u);
}

TEST(ChosenHashedWheel, WithoutMemoryForItsSlotsThereIsNone) {
  const test::failing_allocations fail;
  EXPECT_THROW(chosen_hashed_wheel({.slots = 64}), std::bad_alloc);
}

/// The ticks of a nanosecond fill all 64 bits: the wheel's turn ends where time does.
TEST(ChosenHashedWheel, FindsTheNextTickWhereTimeEndsBeforeTheTurn) {
  chosen_hashed_wheel wheel({.tick = 1ns, .slots = 512});
  wheel.expire(instant::latest() - 100ns, unlimited, nothing);
  wheel_node nodes[3];
  wheel.start(nodes[0], instant::latest() - 90ns);
  wheel.start(nodes[1], instant::latest() - 50ns);
  wheel.start(nodes[2], instant::latest());
  EXPECT_EQ(wheel.expire(instant::latest() - 90ns, unlimited, nothing).fired, 1u);
  EXPECT_EQ(wheel.next_deadline(), instant::latest() - 50ns);
  EXPECT_EQ(wheel.expire(instant::latest() - 50ns, unlimited, nothing).fired, 1u);
  EXPECT_EQ(wheel.next_deadline(), instant::latest());
  EXPECT_EQ(wheel.expire(instant::latest(), unlimited, nothing).fired, 1u);
  EXPECT_TRUE(wheel.check());
}

/// Wakes at next_deadline() until the timer has fired. Returns the number of wake-ups.
std::size_t wakes_until_fired(chosen_hierarchical_wheel& wheel, wheel_node& node) {
  std::size_t wakes = 0;
  for (; node.pending(); ++wakes) {
    const instant next = wheel.next_deadline();
    wheel.expire(next, unlimited, [&](wheel_node& due) {
      EXPECT_GE(next, due.deadline());
      EXPECT_LE(next, due.deadline() + wheel.precision);
    });
    EXPECT_TRUE(wheel.check());
  }
  return wakes;
}

TEST(ChosenHierarchicalWheel, HoldsAllOfTimeOnItsLevels) {
  for (const duration tick : {duration(1ns), duration(3ns), duration(10ms), duration(1s), duration(24h)}) {
    for (const std::size_t slots : {2u, 3u, 20u, 64u, 65u, 512u, 1000u}) {
      for (const instant now : {instant::earliest(), instant{} - 1s, instant{}, instant::latest() - 1h}) {
        chosen_hierarchical_wheel wheel({.tick = tick, .slots = slots});
        wheel.expire(now, unlimited, nothing);
        wheel_node node;
        wheel.start(node, instant::latest());
        EXPECT_LE(wakes_until_fired(wheel, node), 65u) << tick.count() << " ns, " << slots;
        wheel.start(node, instant::never());
        EXPECT_EQ(wheel.expire(instant::latest(), unlimited, nothing).fired, 0u);
        wheel.stop(node);
      }
    }
  }
}

TEST(ChosenHierarchicalWheel, CascadesOnceALevel) {
  chosen_hierarchical_wheel wheel({.tick = 1ns, .slots = 2});
  wheel.expire(instant{}, unlimited, nothing);
  wheel_node node;
  wheel.start(node, instant{} + 1h);  // less than 2^42 ns
  EXPECT_LE(wakes_until_fired(wheel, node), 43u);
}

TEST(ChosenHierarchicalWheel, WithOneBucketEverythingIsInTheHeap) {
  chosen_hierarchical_wheel wheel({.tick = 1ms, .slots = 1});
  wheel.expire(instant{}, unlimited, nothing);
  const test::allocation_count allocations;
  std::vector<wheel_node> nodes(100);
  const std::size_t before = allocations.so_far();
  for (std::size_t i = 0; i < nodes.size(); ++i) wheel.start(nodes[i], instant{} + 1ms * static_cast<int>(99 - i));
  EXPECT_EQ(allocations.so_far(), before);
  instant last = instant::earliest();
  wheel.expire(instant{} + 1s, unlimited, [&](wheel_node& due) {
    EXPECT_LE(last, due.deadline());
    last = due.deadline();
  });
  EXPECT_EQ(wheel.size(), 0u);
}

/// Buckets at both ends of each word of the bit map, searched from all positions of the hand.
TEST(ChosenHierarchicalWheel, FindsTheFirstBucketRoundAbout) {
  for (const std::size_t slots : {63u, 64u, 65u, 128u, 130u}) {
    for (std::int64_t hand = 0; hand < static_cast<std::int64_t>(slots); ++hand) {
      for (std::int64_t away = 1; away < static_cast<std::int64_t>(slots); away += away < 60 ? 13 : 1) {
        chosen_hierarchical_wheel wheel({.tick = 1ns, .slots = slots});
        wheel.expire(instant{} + duration::nanoseconds(hand), unlimited, nothing);
        wheel_node node;
        const instant due = instant{} + duration::nanoseconds(hand + away);
        wheel.start(node, due);
        ASSERT_EQ(wheel.next_deadline(), due) << slots << " buckets, hand " << hand << ", away " << away;
        ASSERT_EQ(wheel.expire(due, unlimited, nothing).fired, 1u);
      }
    }
  }
}

TEST(ChosenHierarchicalWheel, AReserveMakesAllLevels) {
  chosen_hierarchical_wheel wheel({.tick = 1ms, .slots = 512});
  wheel.expire(instant{}, unlimited, nothing);
  wheel.reserve(1);
  const test::allocation_count allocations;
  wheel_node node;
  wheel.start(node, instant::latest());
  EXPECT_EQ(allocations.so_far(), 0u);
  wheel.stop(node);
}

/// A search that gives up early returns a bound that is far enough away to be worth a sleep, however short the ticks
/// are.
TEST(ChosenHashedWheel, ABoundIsSomeWayAhead) {
  for (const duration tick : {duration(1ns), duration(1us), duration(10us), duration(1ms)}) {
    chosen_hashed_wheel wheel({.tick = tick, .slots = 512});
    wheel.expire(instant{}, unlimited, nothing);
    std::vector<wheel_node> far(5000);
    for (std::size_t i = 0; i < far.size(); ++i) {
      wheel.start(far[i], instant{} + 1h + duration::nanoseconds(static_cast<std::int64_t>(i) * 977));
    }
    wheel_node soon;
    wheel.start(soon, instant{} + 5ms);
    const instant now = instant{} + 6ms;
    EXPECT_EQ(wheel.expire(now, unlimited, nothing).fired, 1u);
    EXPECT_GE(wheel.next_deadline(), now + 1ms) << tick.count();
    EXPECT_LE(wheel.next_deadline(), instant{} + 1h + tick);
    while (wheel.pop_any() != nullptr) {
    }
  }
}

/// All timers are dropped in one round over the slots.
TEST(ChosenHashedWheel, IsEmptiedWhateverItsSize) {
  chosen_hashed_wheel wheel({.tick = 1us, .slots = 1u << 20});
  wheel.expire(instant{}, unlimited, nothing);
  std::vector<wheel_node> all(20'000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    wheel.start(all[i], instant{} + 1ms + duration::nanoseconds(static_cast<std::int64_t>(i) * 50'000));
  }
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NE(wheel.pop_any(), nullptr);
  EXPECT_EQ(wheel.pop_any(), nullptr);
  wheel.start(all[0], instant{} + 1ms);  // before the slots that the search has passed
  EXPECT_EQ(wheel.pop_any(), &all[0]);
}

}  // namespace
}  // namespace foliot
