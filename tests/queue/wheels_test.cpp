// Tests of all timer wheels: edges of ticks and turns, stalls, leaps, crowded slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>

#include "conformance/all_queues.hpp"
#include "conformance/kind_of.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using conformance::lateness;

constexpr std::int64_t tick = 1'000'000;
constexpr instant origin = instant::from_nanoseconds(1'700'000'000'000'000'000);

template <class Wheel>
class Wheels : public ::testing::Test {
 protected:
  /// Fires the due timers, and checks that none is early or later than the wheel allows.
  expiry expire(instant now, budget limit = unlimited) {
    return wheel_.expire(now, limit, [&](wheel_node& node) {
      EXPECT_LE(node.deadline(), now);
      fired_.push_back(node.deadline());
    });
  }

  /// Sleeps until next_deadline() again and again, at most until `end`. Returns the number of wake-ups.
  std::size_t run_until(instant end) {
    std::size_t wakes = 0;
    for (instant now; (now = wheel_.next_deadline()) <= end && !now.is_never(); ++wakes) {
      EXPECT_FALSE(expire(now).more);
      EXPECT_GT(wheel_.next_deadline(), now);
      EXPECT_TRUE(wheel_.check());
    }
    return wakes;
  }

  Wheel wheel_;
  std::vector<instant> fired_;
};

using wheels = ::testing::Types<hashed_wheel, hierarchical_wheel, linux_wheel>;
TYPED_TEST_SUITE(Wheels, wheels, conformance::queue_name);

/// Distances around every turn and level of every wheel, in ticks.
std::vector<std::int64_t> edges() {
  std::vector<std::int64_t> result;
  const auto add = [&](std::int64_t edge) {
    for (std::int64_t near = -2; near <= 2; ++near) result.push_back(edge + near);
  };
  for (std::int64_t edge = 1; edge < std::int64_t{1} << 38; edge *= 8) add(edge), add(edge * 63), add(edge * 64);
  for (std::int64_t edge = 1; edge < std::int64_t{1} << 38; edge *= 20) add(edge), add(edge * 19);
  for (const std::int64_t edge : {511, 512, 513, 1024, 51'200}) add(edge);
  std::erase_if(result, [](std::int64_t edge) { return edge < 0; });
  return result;
}

TYPED_TEST(Wheels, FiresOnTimeAroundEveryEdge) {
  const auto distances = edges();
  for (const std::int64_t hand :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{63}, std::int64_t{399}, std::int64_t{511},
        std::int64_t{8 * 64 * 64 - 1}, std::int64_t{20 * 20 * 20 * 20 - 1}}) {
    for (const std::int64_t distance : distances) {
      for (const std::int64_t inside : {-1, 0, 1}) {
        TypeParam wheel;
        const instant now = instant{} + duration::nanoseconds(hand * tick);
        wheel.expire(now, unlimited, [](wheel_node&) {});
        wheel_node node;
        const duration timeout = duration::nanoseconds(distance * tick + inside);
        wheel.start(node, now + timeout);
        ASSERT_TRUE(wheel.check());
        const instant due = now + timeout;
        const instant latest = due + lateness<TypeParam>(timeout);
        std::size_t wakes = 0;
        while (node.pending()) {
          const instant next = wheel.next_deadline();
          ASSERT_LE(next, latest) << hand << " + " << distance;
          ++wakes;
          wheel.expire(std::max(next, now), unlimited, [&](wheel_node& fired) { ASSERT_GE(next, fired.deadline()); });
        }
        ASSERT_LE(wakes, 12u) << hand << " + " << distance;  // at most one for each level, not one for each tick
      }
    }
  }
}

TYPED_TEST(Wheels, CatchesUpAfterStallsInOrder) {
  for (const duration stall : {duration(1s), duration(10s), duration(1h), duration(24h * 30)}) {
    for (const budget limit : {budget{1}, budget{7}, unlimited}) {
      TypeParam wheel;
      std::vector<wheel_node> nodes(2000);
      wheel.expire(origin, unlimited, [](wheel_node&) {});
      random_stream random(3);
      for (wheel_node& node : nodes) {
        wheel.start(node, origin + duration::nanoseconds(static_cast<std::int64_t>(
                                       random.below(static_cast<std::uint64_t>(stall.count())))));
      }
      // Timers may fire out of order, but no later than the wheel allows.
      std::size_t fired = 0;
      instant furthest = instant::earliest();
      const instant now = origin + stall + lateness<TypeParam>(stall);
      for (expiry turn{0, true}; turn.more; fired += turn.fired) {
        turn = wheel.expire(now, limit, [&](wheel_node& node) {
          EXPECT_LE(furthest, node.deadline() + lateness<TypeParam>(node.deadline() - origin));
          furthest = std::max(furthest, node.deadline());
        });
        ASSERT_LE(turn.fired, limit);
      }
      EXPECT_EQ(fired, nodes.size());
    }
  }
}

TYPED_TEST(Wheels, AMillionInOneSlotInTurnsOfAHundred) {
  constexpr std::size_t count = 1'000'000;
  const auto nodes = std::make_unique<wheel_node[]>(count);
  std::vector<bool> seen(count);
  this->expire(origin);
  for (std::size_t i = 0; i < count; ++i) this->wheel_.start(nodes[i], origin + 40ms);
  std::size_t fired = 0;
  for (expiry turn{0, true}; turn.more; fired += turn.fired) {
    turn = this->wheel_.expire(origin + 40ms, 100, [&](wheel_node& node) {
      const auto index = static_cast<std::size_t>(&node - nodes.get());
      EXPECT_FALSE(seen[index]);
      seen[index] = true;
    });
    ASSERT_EQ(turn.fired, 100u);
  }
  EXPECT_EQ(fired, count);
}

TYPED_TEST(Wheels, LeapsOfCenturiesTakeNoLongerThanOthers) {
  constexpr std::size_t count = 20'000;
  const auto nodes = std::make_unique<wheel_node[]>(count);
  this->expire(instant::earliest());
  random_stream random(9);
  for (std::size_t i = 0; i < count; ++i) {
    this->wheel_.start(nodes[i], instant::from_nanoseconds(static_cast<std::int64_t>(random.below(UINT64_MAX))));
  }
  this->expire(instant{});
  const std::size_t half = this->fired_.size();
  EXPECT_GT(half, count / 3);
  EXPECT_TRUE(this->wheel_.check());
  this->expire(instant::latest());
  EXPECT_EQ(this->wheel_.size(),
            static_cast<std::size_t>(std::count_if(nodes.get(), nodes.get() + count,
                                                   [](auto& node) { return node.deadline().is_never(); })));
}

TYPED_TEST(Wheels, TheLastTickEndsWithTime) {
  const instant now = instant::latest() - 1h;
  this->expire(now);
  wheel_node nodes[3];
  this->wheel_.start(nodes[0], instant::latest());
  this->wheel_.start(nodes[1], instant::latest() - 30min);
  this->wheel_.start(nodes[2], instant::latest() - duration::nanoseconds(1));
  EXPECT_TRUE(this->wheel_.check());
  this->expire(instant::latest() - duration::nanoseconds(2));
  EXPECT_TRUE(nodes[0].pending() && nodes[2].pending());
  this->expire(instant::latest());
  EXPECT_EQ(this->wheel_.size(), 0u);
  this->wheel_.start(nodes[0], instant::latest());
  EXPECT_EQ(this->expire(instant::latest()).fired, 1u);
}

TYPED_TEST(Wheels, WhatIsStartedTooLateFiresInOrder) {
  this->expire(origin);
  std::vector<wheel_node> nodes(300);
  random_stream random(11);
  for (wheel_node& node : nodes) {
    this->wheel_.start(node,
                       origin - duration::nanoseconds(static_cast<std::int64_t>(random.below(3'600'000'000'000))));
  }
  EXPECT_LE(this->wheel_.next_deadline(), origin);
  this->expire(origin);
  EXPECT_EQ(this->fired_.size(), nodes.size());
  EXPECT_TRUE(std::ranges::is_sorted(this->fired_));
}

TYPED_TEST(Wheels, WhatIsOverdueGoesBeforeTheRestOfTheSlot) {
  wheel_node nodes[5];
  this->expire(origin);
  for (int i = 0; i < 4; ++i) this->wheel_.start(nodes[i], origin + 10ms);
  EXPECT_EQ(this->expire(origin + 10ms, 2).fired, 2u);
  this->wheel_.start(nodes[4], origin - 1h);
  EXPECT_EQ(this->wheel_.next_deadline(), origin - 1h);
  this->expire(origin + 10ms, 1);
  EXPECT_EQ(this->fired_.back(), origin - 1h);
  EXPECT_EQ(this->expire(origin + 10ms), (expiry{2, false}));
}

TYPED_TEST(Wheels, WhoStartsAgainAtOnceWaitsForTheOthersOfItsTick) {
  wheel_node nodes[10];
  this->expire(origin);
  for (wheel_node& node : nodes) this->wheel_.start(node, origin + 10ms);
  std::vector<std::size_t> firings(10);
  for (int turn = 0; turn < 20; ++turn) {
    this->wheel_.expire(origin + 10ms, 1, [&](wheel_node& node) {
      ++firings[static_cast<std::size_t>(&node - nodes)];
      this->wheel_.start(node, origin + 10ms);
    });
    ASSERT_TRUE(this->wheel_.check());
  }
  EXPECT_EQ(firings, std::vector<std::size_t>(10, 2));
  EXPECT_EQ(this->expire(origin + 10ms).fired, 10u);
}

TYPED_TEST(Wheels, AClockThatStepsBackFiresNothingEarly) {
  wheel_node nodes[3];
  this->expire(origin + 10s);
  this->wheel_.start(nodes[0], origin + 5s);
  this->wheel_.start(nodes[1], origin + 10s);
  this->wheel_.start(nodes[2], origin + 11s);
  EXPECT_EQ(this->expire(origin + 4s).fired, 0u);
  EXPECT_EQ(this->expire(origin + 5s).fired, 1u);
  EXPECT_EQ(this->expire(origin + 9s).fired, 0u);
  EXPECT_EQ(this->expire(origin + 10s).fired, 1u);
  EXPECT_TRUE(this->wheel_.check());
  this->run_until(origin + 1h);
  EXPECT_EQ(this->fired_.size(), 3u);
}

TYPED_TEST(Wheels, WhatIsStartedBeforeTheFirstExpireIsNotLost) {
  std::vector<wheel_node> nodes(200);
  for (std::size_t i = 0; i < 200; ++i)
    this->wheel_.start(nodes[i], origin + 100ms * static_cast<std::int64_t>(199 - i));
  this->wheel_.stop(nodes[5]);
  this->wheel_.reset(nodes[7], origin);
  EXPECT_LE(this->wheel_.next_deadline(), origin);
  EXPECT_TRUE(this->wheel_.check());
  EXPECT_EQ(this->expire(origin + 1s, 3).fired, 3u);
  EXPECT_TRUE(this->wheel_.check());
  this->expire(origin + 1s);
  EXPECT_EQ(this->fired_.size(), 12u);
  this->run_until(origin + 1h);
  EXPECT_EQ(this->fired_.size(), 199u);
}

TYPED_TEST(Wheels, ASinkMayTakeTheRestOfTheSlotAway) {
  constexpr std::size_t count = 100;
  auto nodes = std::make_unique<std::unique_ptr<wheel_node>[]>(count);
  this->expire(origin);
  for (std::size_t i = 0; i < count; ++i) {
    nodes[i] = std::make_unique<wheel_node>();
    this->wheel_.start(*nodes[i], origin + 30ms);
  }
  std::size_t fired = 0;
  this->wheel_.expire(origin + 1s, unlimited, [&](wheel_node& node) {
    ++fired;
    for (std::size_t i = 0; i < count; ++i) {
      if (nodes[i].get() == &node) {
        nodes[i].reset();
      } else if (nodes[i] && i % 3 == 0) {
        this->wheel_.stop(*nodes[i]);
        nodes[i].reset();
      } else if (nodes[i] && i % 3 == 1) {
        this->wheel_.reset(*nodes[i], origin + 2s);
      }
    }
    EXPECT_TRUE(this->wheel_.check());
  });
  EXPECT_EQ(fired, 34u);  // the first timer, and those of the last third
  EXPECT_EQ(this->expire(origin + 4s).fired, 33u);
  EXPECT_EQ(this->wheel_.size(), 0u);
}

TYPED_TEST(Wheels, SleepsWhileNothingIsDue) {
  wheel_node nodes[2];
  this->expire(origin);
  this->wheel_.start(nodes[0], origin + 1h);
  this->wheel_.start(nodes[1], instant::never());
  EXPECT_LE(this->run_until(origin + 2h), 6u);  // at most one for each level
  EXPECT_EQ(this->fired_.size(), 1u);
  EXPECT_EQ(this->wheel_.next_deadline(), instant::never());
  this->wheel_.stop(nodes[1]);
}

}  // namespace
}  // namespace foliot
