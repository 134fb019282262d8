// Tests of goim's heap alone. The tests of every queue are in conformance/.
#include <foliot/queue/goim_heap.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <foliot/queue/node_pool.hpp>

namespace foliot {
namespace {

using namespace std::chrono_literals;
using nodes = std::unique_ptr<timer_node[]>;

void empty(goim_heap& queue) {
  while (queue.pop_any() != nullptr) {
  }
}

nodes start_many(goim_heap& queue, std::size_t count) {
  nodes all = std::make_unique<timer_node[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    queue.start(all[i], instant::from_nanoseconds(static_cast<std::int64_t>((i * 7919) % count)));
  }
  return all;
}

/// The heap as goim uses it: nodes come from a pool, and users identify them by tickets, which may be stale.
class goim_timer {
 public:
  using ticket = node_pool<timer_node>::ticket;

  ticket add(instant deadline) {
    timer_node& node = pool_.get();
    heap_.start(node, deadline);
    return pool_.ticket_of(node);
  }
  bool del(const ticket& timer) {
    timer_node* node = pool_.find(timer);
    if (node == nullptr) return false;
    heap_.stop(*node);
    return pool_.put(*node);
  }
  bool set(const ticket& timer, instant deadline) {
    timer_node* node = pool_.find(timer);
    if (node == nullptr) return false;
    heap_.reset(*node, deadline);
    return true;
  }
  [[nodiscard]] bool pending(const ticket& timer) const {
    const timer_node* node = pool_.find(timer);
    return node != nullptr && node->pending();
  }
  std::size_t expire(instant now) {
    return heap_.expire(now, unlimited, [](timer_node&) {}).fired;
  }
  void check(std::size_t size) {
    EXPECT_TRUE(heap_.check());
    EXPECT_TRUE(pool_.check());
    EXPECT_EQ(heap_.size(), size);
  }

 private:
  node_pool<timer_node> pool_{4};  // before the heap, which must be empty first
  goim_heap heap_;
};

// In goim a second Del puts the node on the free list twice. The next two Adds then get the same node, and a Del of one
// ends the other.
TEST(GoimHeap, ASecondDelGivesNobodyTheNodeOfAnother) {
  goim_timer timers;
  const auto old = timers.add(instant{} + 1s);
  EXPECT_TRUE(timers.del(old));
  EXPECT_FALSE(timers.del(old));
  const auto first = timers.add(instant{} + 2s);
  const auto second = timers.add(instant{} + 3s);
  EXPECT_FALSE(timers.del(old));  // its node is in use again
  timers.check(2);
  EXPECT_TRUE(timers.del(first));
  EXPECT_TRUE(timers.pending(second));
  timers.check(1);
  EXPECT_TRUE(timers.del(second));
  timers.check(0);
}

TEST(GoimHeap, ALateSetMovesNoStranger) {
  goim_timer timers;
  const auto old = timers.add(instant{} + 1s);
  EXPECT_TRUE(timers.del(old));
  EXPECT_FALSE(timers.set(old, instant{} + 1h));  // in goim: a node of the free list is in the heap
  timers.check(0);
  const auto stranger = timers.add(instant{} + 2s);
  EXPECT_FALSE(timers.set(old, instant{} + 1h));
  EXPECT_EQ(timers.expire(instant{} + 2s), 1u);
  timers.check(0);
  EXPECT_TRUE(timers.del(stranger));
}

TEST(GoimHeap, AfterItHasFiredSetIsAStartAndDelPutsBack) {
  goim_timer timers;
  const auto timer = timers.add(instant{} + 1s);
  EXPECT_EQ(timers.expire(instant{} + 1s), 1u);
  EXPECT_TRUE(timers.set(timer, instant{} + 2s));
  timers.check(1);
  EXPECT_EQ(timers.expire(instant{} + 2s), 1u);
  EXPECT_TRUE(timers.del(timer));
  EXPECT_FALSE(timers.del(timer));
  EXPECT_FALSE(timers.set(timer, instant{} + 3s));
  timers.check(0);
}

/// A node that is not in the heap keeps its old index, at which the heap now has another node. No operation may touch
/// that other node.
TEST(GoimHeap, AStopAfterFiringOrStoppingRemovesNoStranger) {
  goim_heap queue;
  timer_node fired;
  timer_node stopped;
  queue.start(fired, instant{});
  queue.start(stopped, instant{} + 1ns);
  queue.expire(instant{}, unlimited, [](timer_node&) {});
  queue.stop(stopped);
  const nodes strangers = start_many(queue, 10);
  for (int again = 0; again < 2; ++again) {
    EXPECT_FALSE(queue.stop(fired));
    EXPECT_FALSE(queue.stop(stopped));
    EXPECT_EQ(queue.size(), 10u);
  }
  EXPECT_FALSE(queue.reset(fired, instant{} + 5ns));
  EXPECT_FALSE(queue.reset(stopped, instant{} + 6ns));
  EXPECT_EQ(queue.size(), 12u);
  EXPECT_TRUE(queue.check());
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(queue.stop(strangers[i]));
  EXPECT_TRUE(queue.stop(fired));
  EXPECT_TRUE(queue.stop(stopped));
}

TEST(GoimHeap, CheckNamesTheFirstBrokenInvariant) {
  goim_heap queue;
  const nodes all = start_many(queue, 20);
  const std::size_t place = timer_node_access::place(all[5]);
  timer_node_access::place(all[5]) = 3000;
  EXPECT_EQ(queue.check().error(),
            "goim_heap: timer " + std::to_string(place) + " is not at the index that its node knows");
  timer_node_access::place(all[5]) = place;

  const instant deadline = all[5].deadline();
  timer_node_access::deadline(all[5]) = instant::earliest();
  EXPECT_EQ(queue.check().error(), "goim_heap: timer " + std::to_string(place) + " comes before its parent");
  timer_node_access::deadline(all[5]) = deadline;
  EXPECT_TRUE(queue.check());
  empty(queue);
}

TEST(GoimHeap, AMillionAtOneInstantFireOnceEachWithABudget) {
  goim_heap queue;
  constexpr std::size_t count = 1'000'000;
  const nodes all = std::make_unique<timer_node[]>(count);
  for (std::size_t i = 0; i < count; ++i) queue.start(all[i], instant{} + 1ms);
  std::vector<std::uint8_t> fired(count);
  expiry turn{0, true};
  while (turn.more) {
    turn = queue.expire(instant{} + 1ms, 100,
                        [&](timer_node& due) { ++fired[static_cast<std::size_t>(&due - all.get())]; });
    ASSERT_EQ(turn.fired, 100u);
  }
  EXPECT_EQ(fired, std::vector<std::uint8_t>(count, 1));
}

}  // namespace
}  // namespace foliot
