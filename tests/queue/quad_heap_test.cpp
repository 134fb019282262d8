// Tests of the 4-ary heap alone. The tests of every queue are in conformance/.
#include <foliot/queue/quad_heap.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

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
  EXPECT_EQ(queue.check().error(),
            "quad_heap: entry " + std::to_string(place) + " is not at the index that its node knows");
  timer_node_access::place(all[5]) = place;

  const instant deadline = all[5].deadline();
  timer_node_access::deadline(all[5]) = instant::earliest();
  EXPECT_EQ(queue.check().error(), "quad_heap: entry " + std::to_string(place) + " has another deadline than its node");
  timer_node_access::deadline(all[5]) = deadline;

  EXPECT_TRUE(queue.check());
  while (queue.pop_any() != nullptr) {
  }
}

// Found by a mutant: room for one more was made although there was room for just one.
TEST(QuadHeap, MakesRoomOnlyWhereThereIsNone) {
  quad_heap queue;
  queue.reserve(20);
  const nodes all = start_many(queue, 19);
  const test::allocation_count allocations;
  queue.make_room();
  EXPECT_EQ(allocations.so_far(), 0u);
  while (queue.pop_any() != nullptr) {
  }
}

}  // namespace
}  // namespace foliot
