// What is particular to the 4-ary heap; what every queue does is in conformance/.
#include <foliot/queue/quad_heap.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using nodes = std::unique_ptr<timer_node[]>;

nodes start_many(quad_heap& queue, std::size_t count) {
  nodes all = std::make_unique<timer_node[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    queue.start(all[i], instant::from_nanoseconds(static_cast<std::int64_t>((i * 7919) % count)));
  }
  return all;
}

TEST(QuadHeap, ANodeIsSmall) { EXPECT_LE(sizeof(timer_node), 24u); }

TEST(QuadHeap, CheckNamesTheFirstBrokenInvariant) {
  quad_heap queue;
  const nodes all = start_many(queue, 20);
  EXPECT_TRUE(queue.check());

  const std::size_t place = timer_node_access::place(all[5]);
  timer_node_access::place(all[5]) = 3000;
  EXPECT_EQ(queue.check().error(), "quad_heap: entry " + std::to_string(place) + " is not where its node says");
  timer_node_access::place(all[5]) = place;

  const instant deadline = all[5].deadline();
  timer_node_access::deadline(all[5]) = instant::earliest();
  EXPECT_EQ(queue.check().error(), "quad_heap: entry " + std::to_string(place) + " has another deadline than its node");
  timer_node_access::deadline(all[5]) = deadline;

  EXPECT_TRUE(queue.check());
  while (queue.pop_any() != nullptr) {
  }
}

TEST(QuadHeap, StartsWithinWhatIsReservedDoNotAllocate) {
  quad_heap queue;
  queue.reserve(1000);
  const nodes all = std::make_unique<timer_node[]>(1000);
  const test::allocation_count allocations;
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 1000; ++i) queue.start(all[i], instant::from_nanoseconds(static_cast<std::int64_t>(i)));
    for (std::size_t i = 0; i < 1000; ++i)
      queue.reset(all[i], instant::from_nanoseconds(static_cast<std::int64_t>(i ^ 77)));
    for (std::size_t i = 0; i < 1000; ++i) queue.stop(all[i]);
  }
  EXPECT_EQ(allocations.so_far(), 0u);
}

TEST(QuadHeap, AFailedAllocationIsReportedAndLosesNothing) {
  quad_heap queue;
  const nodes all = start_many(queue, 1024);  // the array is full now, or the next ones fill it
  timer_node late[2048];
  std::size_t refused = 0;
  {
    const test::failing_allocations fail;
    for (timer_node& node : late) {
      try {
        queue.start(node, instant{});
      } catch (const std::bad_alloc&) {
        ++refused;
        EXPECT_FALSE(node.pending());
      }
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(queue.size(), 1024 + 2048 - refused);
  EXPECT_TRUE(queue.check());
  while (queue.pop_any() != nullptr) {
  }
}

TEST(QuadHeap, GivesMemoryBackAfterAPeak) {
  quad_heap queue;
  const std::size_t before = test::live_bytes();
  {
    const nodes all = start_many(queue, 1'000'000);
    while (queue.pop_any() != nullptr) {
    }
  }
  EXPECT_LE(test::live_bytes() - before, 64u * 1024);  // a small array stays
}

TEST(QuadHeap, StaysWholeWhenTheArrayCannotBeMadeSmaller) {
  quad_heap queue;
  const nodes all = start_many(queue, 10'000);
  const test::failing_allocations fail;
  for (std::size_t i = 0; i < 10'000; ++i) EXPECT_TRUE(queue.stop(all[i]));
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace foliot
