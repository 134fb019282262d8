// The free list of nodes.
#include <foliot/queue/node_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <set>
#include <vector>

#include "support/allocations.hpp"

namespace foliot {
namespace {

struct session_timer : timer_node {
  int session = 0;
};

using pool_type = node_pool<session_timer>;

TEST(NodePool, GrowsByBlocks) {
  pool_type pool(4);
  EXPECT_EQ(pool.capacity(), 0u);
  std::set<session_timer*> out;
  for (std::size_t i = 1; i <= 9; ++i) {
    out.insert(&pool.get());
    EXPECT_EQ(out.size(), i);
    EXPECT_EQ(pool.in_use(), i);
    EXPECT_EQ(pool.capacity(), (i + 3) / 4 * 4);
    EXPECT_TRUE(pool.check());
  }
}

TEST(NodePool, ABlockOfNothingIsABlockOfOne) {
  pool_type pool(0);
  EXPECT_NE(&pool.get(), &pool.get());
  EXPECT_EQ(pool.capacity(), 2u);
}

TEST(NodePool, UsesTheLastOneAgainFirst) {
  pool_type pool(4);
  session_timer& first = pool.get();
  session_timer& second = pool.get();
  first.session = 7;
  EXPECT_TRUE(pool.put(first));
  EXPECT_TRUE(pool.put(second));
  EXPECT_EQ(&pool.get(), &second);
  EXPECT_EQ(&pool.get(), &first);
  EXPECT_EQ(first.session, 7);  // as its last user left it
}

TEST(NodePool, ASecondPutChangesNothing) {
  pool_type pool(4);
  session_timer& node = pool.get();
  EXPECT_TRUE(pool.put(node));
  EXPECT_FALSE(pool.put(node));
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_TRUE(pool.check());
  EXPECT_NE(&pool.get(), &pool.get());  // a node in use is not given out again
}

TEST(NodePool, ATicketNamesOneUse) {
  pool_type pool(1);
  EXPECT_EQ(pool.find({}), nullptr);
  session_timer& node = pool.get();
  const auto first = pool.ticket_of(node);
  EXPECT_EQ(first, pool.ticket_of(node));
  EXPECT_EQ(pool.find(first), &node);
  pool.put(node);
  EXPECT_EQ(pool.find(first), nullptr);
  EXPECT_EQ(&pool.get(), &node);
  EXPECT_EQ(pool.find(first), nullptr);
  EXPECT_NE(first, pool.ticket_of(node));
  EXPECT_EQ(pool.find(pool.ticket_of(node)), &node);
}

TEST(NodePool, AFailedAllocationIsReportedAndChangesNothing) {
  // A block, and the list of blocks: each of the two may fail.
  for (std::size_t succeeding = 0; succeeding < 2; ++succeeding) {
    pool_type pool(2);
    static_cast<void>(pool.get());
    static_cast<void>(pool.get());
    const std::size_t before = test::live_bytes();
    {
      const test::failing_allocations fail(succeeding);
      EXPECT_THROW(static_cast<void>(pool.get()), std::bad_alloc);
    }
    EXPECT_EQ(test::live_bytes(), before);
    EXPECT_EQ(pool.capacity(), 2u);
    EXPECT_EQ(pool.in_use(), 2u);
    EXPECT_TRUE(pool.check());
    static_cast<void>(pool.get());
    EXPECT_EQ(pool.in_use(), 3u);
  }
}

TEST(NodePool, OnlyNewBlocksAllocate) {
  pool_type pool(1000);
  std::vector<session_timer*> out(1000);
  for (auto& node : out) node = &pool.get();
  const test::allocation_count allocations;
  for (int round = 0; round < 3; ++round) {
    for (auto* node : out) pool.put(*node);
    for (auto& node : out) node = &pool.get();
  }
  EXPECT_EQ(allocations.so_far(), 0u);
  EXPECT_EQ(pool.capacity(), 1024u);
}

TEST(NodePool, KeepsItsMemoryUntilItsEnd) {
  const std::size_t before = test::live_bytes();
  {
    pool_type pool(100);
    std::vector<session_timer*> out;
    out.reserve(1000);
    for (int i = 0; i < 1000; ++i) out.push_back(&pool.get());
    const std::size_t peak = test::live_bytes();
    for (auto* node : out) pool.put(*node);
    EXPECT_EQ(test::live_bytes(), peak);
  }
  EXPECT_EQ(test::live_bytes(), before);
}

TEST(NodePool, AReserveThatCannotBeChangesNothing) {
  pool_type pool(100);
  session_timer& out = pool.get();
  const auto ticket = pool.ticket_of(out);
  const std::size_t capacity = pool.capacity();
  const std::size_t before = test::live_bytes();
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t count : {most, most - 100, most / 2 + 1, (std::size_t{1} << 32) + 1}) {
    EXPECT_THROW(pool.reserve(count), std::bad_alloc) << count;
  }
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    const test::failing_allocations fail(n);
    try {
      pool.reserve(10'000);
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(pool.capacity(), capacity);
      EXPECT_EQ(test::live_bytes(), before) << "after " << n << " allocations";
      EXPECT_TRUE(pool.check());
    }
    any_failed = fail.failed();
  }
  EXPECT_GE(pool.capacity(), 10'000u);
  EXPECT_TRUE(pool.check());
  EXPECT_EQ(pool.find(ticket), &out);
  const test::allocation_count allocations;
  for (int i = 1; i < 10'000; ++i) static_cast<void>(pool.get());
  EXPECT_EQ(allocations.so_far(), 0u);
}

TEST(NodePool, CheckNamesTheFirstBrokenInvariant) {
  pool_type pool(4);
  session_timer& node = pool.get();
  pool.put(node);
  timer_node_access::place(node) = 0;
  EXPECT_EQ(pool.check().error(), "node_pool: a node on the free list is pending");
  timer_node_access::place(node) = timer_node_access::nowhere;
  EXPECT_TRUE(pool.check());
}

TEST(NodePool, ANodeWhoseUsesAreAllCountedIsRetired) {
  using pool = node_pool<timer_node, std::uint8_t>;
  pool nodes(1);
  std::vector<pool::ticket> stale;
  for (int use = 0; use < 1000; ++use) {
    timer_node& node = nodes.get();
    const pool::ticket ticket = nodes.ticket_of(node);
    for (const pool::ticket& each : stale) ASSERT_EQ(nodes.find(each), nullptr) << "use " << use;
    ASSERT_EQ(nodes.find(ticket), &node);
    nodes.put(node);
    stale.push_back(ticket);
    ASSERT_TRUE(nodes.check());
  }
  EXPECT_EQ(nodes.capacity(), 8u);  // 128 uses of each node
}

}  // namespace
}  // namespace foliot
