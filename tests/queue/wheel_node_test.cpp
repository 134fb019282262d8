// The rings and the heap that the timer wheels are made of.
#include <foliot/queue/detail/wheel_node.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/queue/detail/ticks.hpp>

namespace foliot::detail {
namespace {

instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

std::vector<const wheel_node*> all_of(const ring& list) {
  std::vector<const wheel_node*> result;
  list.for_each([&](wheel_node& node) {
    result.push_back(&node);
    return true;
  });
  return result;
}

using order = std::vector<const wheel_node*>;

TEST(Ticks, DeadlinesAreRoundedUpAndTheClockDown) {
  constexpr tick_scale<fixed_tick<1'000'000>> ticks;
  for (const std::int64_t origin :
       {std::int64_t{0}, std::int64_t{-7'000'000}, std::int64_t{9'000'000'000'000'000'000}}) {
    const tick here = ticks.over_at(at(origin));
    EXPECT_EQ(ticks.of(at(origin - 1)), here);
    EXPECT_EQ(ticks.of(at(origin)), here);
    EXPECT_EQ(ticks.of(at(origin + 1)), here + 1);
    EXPECT_EQ(ticks.over_at(at(origin - 1)), here - 1);
    EXPECT_EQ(ticks.over_at(at(origin + 999'999)), here);
    EXPECT_EQ(ticks.over_at(at(origin + 1'000'000)), here + 1);
    EXPECT_EQ(ticks.instant_of(here), at(origin));
  }
}

/// From a nanosecond, whose ticks fill all 64 bits, to the longest.
constexpr std::int64_t lengths[] = {1, 2, 3, 1'000, 1'024, 10'000'000, 1'000'000'000, 86'400'000'000'000};

TEST(Ticks, TheEndsOfTimeHaveTicks) {
  for (const std::int64_t length : lengths) {
    const tick_scale<chosen_tick> ticks(length);
    EXPECT_EQ(ticks.of(instant::never()), never_tick);
    EXPECT_EQ(ticks.instant_of(never_tick), instant::never());
    EXPECT_EQ(ticks.last(), ticks.of(instant::latest()));
    EXPECT_LT(ticks.last(), never_tick);
    EXPECT_EQ(ticks.reached(instant::latest()), ticks.last());
    EXPECT_LT(ticks.reached(instant::latest() - duration::nanoseconds(1)), ticks.last());
    EXPECT_EQ(ticks.instant_of(ticks.last()), instant::latest());
    EXPECT_EQ(ticks.over_at(instant::earliest()), 0u);
    EXPECT_GE(ticks.instant_of(ticks.of(instant::earliest())), instant::earliest());
  }
}

TEST(Ticks, OfAnyLengthAreNeverEarlyAndLessThanOneLate) {
  for (const std::int64_t length : lengths) {
    const tick_scale<chosen_tick> ticks(length);
    for (const instant centre : {instant::earliest() + duration::nanoseconds(3), at(-length), at(0), at(length),
                                 instant::latest() - duration::nanoseconds(3)}) {
      for (std::int64_t near = -3; near <= 3; ++near) {
        const instant deadline = centre + duration::nanoseconds(near);
        if (deadline.is_never()) continue;
        const instant fires = ticks.instant_of(ticks.of(deadline));
        EXPECT_GE(fires, deadline) << length;
        EXPECT_LT((fires - deadline).count(), length);
        EXPECT_EQ(ticks.reached(fires), ticks.of(deadline)) << length;
        EXPECT_LE(ticks.over_at(deadline), ticks.of(deadline));
      }
    }
  }
}

TEST(Ring, KeepsTheOrderAndLosesNothing) {
  ring list;
  ring other;
  wheel_node nodes[5];
  EXPECT_TRUE(list.empty());
  for (int i = 0; i < 3; ++i) list.push_back(nodes[i]);
  ring::unlink(nodes[1]);
  EXPECT_EQ(all_of(list), (order{&nodes[0], &nodes[2]}));
  other.push_back(nodes[3]);
  other.push_back(nodes[4]);
  list.take_all(other);
  list.take_all(other);
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(all_of(list), (order{&nodes[0], &nodes[2], &nodes[3], &nodes[4]}));
  EXPECT_TRUE(list.sound() && other.sound());
  other.take_all(list);
  EXPECT_TRUE(list.empty());
  ring::unlink(nodes[0]);
  ring::unlink(nodes[4]);
  EXPECT_EQ(&other.front(), &nodes[2]);
  EXPECT_TRUE(other.sound());
}

TEST(DeadlineHeap, AgreesWithASortedList) {
  constexpr std::size_t count = 200;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    random_stream random(seed);
    wheel_node nodes[count];
    std::vector<wheel_node*> in;
    std::vector<wheel_node*> out;
    for (wheel_node& node : nodes) out.push_back(&node);
    pairing_heap heap;
    for (int step = 0; step < 2000; ++step) {
      std::vector<wheel_node*>& from = !out.empty() && random.below(100) < 55 ? out : in;
      if (from.empty()) continue;
      const bool first = &from == &in && random.below(3) == 0;
      auto chosen = first ? std::ranges::find(in, heap.top())
                          : from.begin() + static_cast<std::ptrdiff_t>(random.below(from.size()));
      wheel_node* const node = *chosen;
      from.erase(chosen);
      if (&from == &out) {
        timer_node_access::deadline(*node) = at(static_cast<std::int64_t>(random.below(300)));
        heap.push(*node);
        in.push_back(node);
      } else {
        heap.erase(*node);
        out.push_back(node);
      }
      ASSERT_TRUE(heap.sound());
      const auto least = std::ranges::min_element(in, {}, [](const wheel_node* each) { return each->deadline(); });
      ASSERT_EQ(heap.top() == nullptr, in.empty());
      if (!in.empty()) {
        ASSERT_EQ(heap.top()->deadline(), (*least)->deadline());
      }
      std::size_t seen = 0;
      heap.for_each([&](wheel_node&) { return ++seen, true; });
      ASSERT_EQ(seen, in.size());
    }
    std::vector<wheel_node*> drained;
    heap.drain([&](wheel_node& node) { drained.push_back(&node); });
    EXPECT_EQ(heap.top(), nullptr);
    std::ranges::sort(drained);
    std::ranges::sort(in);
    EXPECT_EQ(drained, in);
  }
}

}  // namespace
}  // namespace foliot::detail
