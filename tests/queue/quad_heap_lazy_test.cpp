// Tests of the lazy heap alone: its marks, and postponements. The tests of every queue are in conformance/.
#include <foliot/queue/quad_heap_lazy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using nodes = std::unique_ptr<lazy_heap_node[]>;

instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

/// Starts `count` timers at 1, 2, 3, … nanoseconds.
nodes start_many(quad_heap_lazy& queue, std::size_t count) {
  nodes all = std::make_unique<lazy_heap_node[]>(count);
  for (std::size_t i = 0; i < count; ++i) queue.start(all[i], at(static_cast<std::int64_t>(i) + 1));
  return all;
}

/// Fires the timers that are due at `now`. Returns their deadlines in the order of the firings.
std::vector<std::int64_t> fired_by(quad_heap_lazy& queue, instant now) {
  std::vector<std::int64_t> result;
  queue.expire(now, unlimited, [&](lazy_heap_node& node) { result.push_back(node.deadline().nanoseconds()); });
  EXPECT_TRUE(queue.check()) << queue.check().error();
  return result;
}

using times = std::vector<std::int64_t>;

TEST(QuadHeapLazy, ANodeIsSmall) { EXPECT_LE(sizeof(lazy_heap_node), 32u); }

TEST(QuadHeapLazy, AStopOnlyMarks) {
  quad_heap_lazy queue;
  const nodes all = start_many(queue, 8);
  queue.stop(all[0]);
  EXPECT_EQ(queue.size(), 7u);
  EXPECT_EQ(queue.next_deadline(), at(1));  // the stopped timer is still the head
  queue.expire(at(0), unlimited, [](lazy_heap_node&) {});
  EXPECT_EQ(queue.next_deadline(), at(2));
  EXPECT_EQ(fired_by(queue, at(8)), (times{2, 3, 4, 5, 6, 7, 8}));
}

TEST(QuadHeapLazy, AResetOnlyMarks) {
  quad_heap_lazy queue;
  const nodes all = start_many(queue, 8);
  queue.reset(all[0], at(100));
  EXPECT_EQ(queue.next_deadline(), at(1));  // later: the entry stays where it is
  queue.reset(all[7], at(-5));
  EXPECT_EQ(queue.next_deadline(), at(-5));  // earlier: the bound comes down
  EXPECT_EQ(fired_by(queue, at(5)), (times{-5, 2, 3, 4, 5}));
  EXPECT_EQ(fired_by(queue, at(1000)), (times{6, 7, 100}));
}

TEST(QuadHeapLazy, AResetDownAndUpAgainKeepsItsPlace) {
  quad_heap_lazy queue;
  const nodes all = start_many(queue, 8);
  queue.reset(all[7], at(1));
  queue.reset(all[7], at(3));
  queue.reset(all[6], at(50));
  queue.reset(all[6], at(4));  // above the key, below it, in one
  EXPECT_TRUE(queue.check());
  EXPECT_EQ(fired_by(queue, at(100)), (times{1, 2, 3, 3, 4, 4, 5, 6}));
}

TEST(QuadHeapLazy, AStoppedNodeMayBeDestroyedAtOnce) {
  quad_heap_lazy queue;
  std::vector<std::unique_ptr<lazy_heap_node>> all(1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    queue.start(*(all[i] = std::make_unique<lazy_heap_node>()), at(static_cast<std::int64_t>(i * 7919 % 1000)));
  }
  for (std::size_t i = 0; i < 1000; i += 2) {
    queue.stop(*all[i]);
    all[i].reset();
    ASSERT_TRUE(queue.check());
  }
  EXPECT_EQ(fired_by(queue, at(1000)).size(), 500u);
}

TEST(QuadHeapLazy, AStoppedNodeMayBeStartedAgainAtOnce) {
  quad_heap_lazy queue;
  const nodes all = start_many(queue, 8);
  queue.stop(all[3]);
  queue.start(all[3], at(20));
  queue.stop(all[3]);
  queue.start(all[3], at(2));
  EXPECT_EQ(queue.size(), 8u);
  EXPECT_EQ(fired_by(queue, at(100)), (times{1, 2, 2, 3, 5, 6, 7, 8}));
}

TEST(QuadHeapLazy, ABoundLeftBehindIsForgottenWithTheLastTimer) {
  quad_heap_lazy queue;
  lazy_heap_node node;
  queue.start(node, at(100));
  queue.reset(node, at(5));
  queue.stop(node);
  EXPECT_EQ(queue.next_deadline(), instant::never());
  queue.start(node, at(200));
  EXPECT_EQ(queue.next_deadline(), at(200));
  queue.reset(node, at(5));
  EXPECT_EQ(fired_by(queue, at(5)), (times{5}));  // the same when it fires
  queue.start(node, at(200));
  EXPECT_EQ(queue.next_deadline(), at(200));
  queue.stop(node);
}

TEST(QuadHeapLazy, AStopStormLeavesAtMostAQuarter) {
  quad_heap_lazy queue;
  const nodes all = start_many(queue, 10'000);
  random_stream random(5);
  for (int i = 0; i < 9'000; ++i) {
    queue.stop(all[random.below(10'000)]);
    if (i % 100 == 0) {
      ASSERT_TRUE(queue.check());  // its fifth invariant
    }
  }
  const std::size_t left = queue.size();
  EXPECT_EQ(fired_by(queue, at(10'000)).size(), left);
}

TEST(QuadHeapLazy, ASinkMayStopAQuarterAndMore) {
  quad_heap_lazy queue;
  const nodes all = start_many(queue, 1000);
  times order;
  queue.expire(at(1000), unlimited, [&](lazy_heap_node& node) {
    order.push_back(node.deadline().nanoseconds());
    for (std::size_t i = order.size() * 7; i < 1000 && order.size() < 20; i += 11) queue.stop(all[i]);
    if (order.size() == 3) queue.reset(all[900], at(1));  // earlier, and due
    ASSERT_TRUE(queue.check());
  });
  EXPECT_EQ(order[3], 1);
  EXPECT_TRUE(std::is_sorted(order.begin() + 4, order.end()));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(QuadHeapLazy, HeartbeatsFireInExactOrder) {
  constexpr std::size_t count = 5000;
  quad_heap_lazy queue;
  const nodes all = std::make_unique<lazy_heap_node[]>(count);
  random_stream random(1);
  std::int64_t now = 0;
  const auto soon = [&] { return at(now + 1 + static_cast<std::int64_t>(random.below(100'000))); };
  for (std::size_t i = 0; i < count; ++i) queue.start(all[i], soon());
  std::size_t fired = 0;
  for (int i = 0; i < 50'000; ++i) {
    lazy_heap_node& node = all[random.below(count)];
    if (random.below(10) == 0) {
      queue.stop(node);
    } else {
      queue.reset(node, soon());
    }
    if (i % 10 != 0) continue;
    now += static_cast<std::int64_t>(random.below(500));
    instant last = instant::earliest();
    const expiry turn = queue.expire(at(now), 1 + random.below(50), [&](lazy_heap_node& due) {
      EXPECT_LE(last, due.deadline());
      EXPECT_LE(due.deadline(), at(now));
      last = due.deadline();
    });
    fired += turn.fired;
    if (!turn.more) {
      EXPECT_GT(queue.next_deadline(), at(now));
      for (std::size_t k = 0; i % 1000 == 0 && k < count; ++k) {
        EXPECT_TRUE(!all[k].pending() || all[k].deadline() > at(now));
      }
    }
  }
  EXPECT_GT(fired, 1000u);
  while (queue.pop_any() != nullptr) {
  }
}

TEST(QuadHeapLazy, CheckNamesTheFirstBrokenInvariant) {
  quad_heap_lazy queue;
  const nodes all = start_many(queue, 20);
  EXPECT_TRUE(queue.check());
  timer_node_access::place(all[5]) = 3000;
  EXPECT_EQ(queue.check().error(), "quad_heap_lazy: entry 5 is not at the index that its node knows");
  timer_node_access::place(all[5]) = 5;
  timer_node_access::deadline(all[5]) = at(77);
  EXPECT_EQ(queue.check().error(), "quad_heap_lazy: entry 5 has another deadline than its node");
  queue.reset(all[5], at(78));
  EXPECT_TRUE(queue.check());
  timer_node_access::deadline(all[5]) = at(-1);
  EXPECT_EQ(queue.check().error(), "quad_heap_lazy: entry 5 was reset to before min_when_modified");
  while (queue.pop_any() != nullptr) {
  }
}

TEST(QuadHeapLazy, MillionsOfStartsAndStopsLeaveNothing) {
  quad_heap_lazy queue;
  const nodes live = start_many(queue, 100);
  const std::size_t before = test::live_bytes();
  lazy_heap_node node;
  for (int i = 0; i < 1'000'000; ++i) {
    queue.start(node, instant{} + 1h);
    queue.stop(node);
  }
  EXPECT_LE(test::live_bytes() - before, 4096u);
  EXPECT_TRUE(queue.check());
  while (queue.pop_any() != nullptr) {
  }
}

}  // namespace
}  // namespace foliot
