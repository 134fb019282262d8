// Tests of the red-black tree that the conformance suite does not have: its shape, its nodes, and its own check.
#include <foliot/queue/red_black_tree.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "support/allocations.hpp"

namespace foliot {
namespace {

using namespace std::chrono_literals;
using nodes = std::unique_ptr<tree_node[]>;
using access = timer_node_access;
using numbers = std::vector<std::size_t>;

static_assert(sizeof(tree_node) == 48);

nodes make(std::size_t count) { return std::make_unique<tree_node[]>(count); }

instant at(std::size_t nanoseconds) { return instant::from_nanoseconds(static_cast<std::int64_t>(nanoseconds)); }

void empty(red_black_tree& tree) {
  while (tree.pop_any() != nullptr) {
  }
}

/// The numbers of the timers that fire at `now`, in their order.
numbers fired_by(red_black_tree& tree, const nodes& all, instant now) {
  numbers fired;
  tree.expire(now, unlimited, [&](tree_node& due) { fired.push_back(static_cast<std::size_t>(&due - all.get())); });
  return fired;
}

numbers shuffled(std::size_t count, random_stream& random) {
  numbers order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

/// Every node of every small tree is removed once, from trees that ascending, descending and shuffled starts made.
TEST(RedBlackTree, StaysBalancedWhicheverNodeIsRemoved) {
  random_stream random(3);
  for (std::size_t count = 1; count <= 40; ++count) {
    for (int kind = 0; kind < 3; ++kind) {
      numbers starts = shuffled(count, random);
      if (kind < 2) std::ranges::sort(starts);
      if (kind == 1) std::ranges::reverse(starts);
      for (std::size_t removed = 0; removed < count; ++removed) {
        red_black_tree tree;
        const nodes all = make(count);
        for (const std::size_t i : starts) {
          tree.start(all[i], at(i));
          ASSERT_TRUE(tree.check()) << tree.check().error();
        }
        ASSERT_TRUE(tree.stop(all[removed]));
        ASSERT_TRUE(tree.check()) << tree.check().error();
        numbers expected(count);
        std::iota(expected.begin(), expected.end(), std::size_t{0});
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(removed));
        ASSERT_EQ(tree.next_deadline(), expected.empty() ? instant::never() : at(expected.front()));
        ASSERT_EQ(fired_by(tree, all, at(count)), expected);
      }
    }
  }
}

TEST(RedBlackTree, StaysBalancedDownToTheLastNode) {
  random_stream random(4);
  for (int round = 0; round < 100; ++round) {
    constexpr std::size_t count = 100;
    red_black_tree tree;
    const nodes all = make(count);
    for (const std::size_t i : shuffled(count, random)) tree.start(all[i], at(random.below(20)));
    for (const std::size_t i : shuffled(count, random)) {
      ASSERT_TRUE(tree.stop(all[i]));
      ASSERT_TRUE(tree.check()) << tree.check().error();
    }
    EXPECT_EQ(tree.next_deadline(), instant::never());
  }
}

TEST(RedBlackTree, EqualDeadlinesFireInTheOrderOfTheirLatestStarts) {
  red_black_tree tree;
  const nodes all = make(6);
  for (std::size_t i = 0; i < 6; ++i) tree.start(all[i], at(5));
  tree.reset(all[0], at(5));
  tree.stop(all[3]);
  tree.start(all[3], at(5));
  tree.reset(all[2], at(9));
  tree.reset(all[2], at(5));
  ASSERT_TRUE(tree.check()) << tree.check().error();
  EXPECT_EQ(fired_by(tree, all, at(5)), (numbers{1, 4, 5, 0, 3, 2}));
}

/// nginx leaves a timeout alone that moves by less than 300 ms: the timer then fires too early, or late.
TEST(RedBlackTree, ATimerThatMovesALittleMoves) {
  red_black_tree tree;
  const nodes all = make(1);
  tree.start(all[0], instant{} + 10s);
  tree.reset(all[0], instant{} + 10s + 1ns);
  EXPECT_EQ(tree.next_deadline(), instant{} + 10s + 1ns);
  EXPECT_EQ(fired_by(tree, all, instant{} + 10s), numbers{});
  tree.reset(all[0], instant{} + 9900ms);
  EXPECT_EQ(fired_by(tree, all, instant{} + 9900ms), numbers{0});
}

TEST(RedBlackTree, NothingAllocates) {
  red_black_tree tree;
  const nodes all = make(1000);
  random_stream random(5);
  const test::failing_allocations fail;
  tree.reserve(1'000'000);
  for (std::size_t round = 0; round < 20'000; ++round) {
    tree_node& some = all[random.below(1000)];
    if (random.below(10) < 3) {
      tree.stop(some);
    } else {
      tree.reset(some, at(random.below(100'000)));
    }
    if (round % 1000 == 0) tree.expire(at(round), 10, [](tree_node&) {});
  }
  empty(tree);
  EXPECT_FALSE(fail.failed());
}

TEST(RedBlackTree, MoreTimersThanAnAddressSpaceHoldsAreRefused) {
  red_black_tree tree;
  EXPECT_THROW(tree.reserve(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
}

/// Started in ascending order, seven timers make a black root, whose right child is red.
TEST(RedBlackTree, CheckNamesTheFirstBrokenInvariant) {
  red_black_tree tree;
  const nodes all = make(7);
  for (std::size_t i = 0; i < 7; ++i) tree.start(all[i], at(i));
  ASSERT_TRUE(tree.check());
  const auto broken = [&tree](auto& field, auto value) {
    const auto kept = field;
    field = value;
    const check_result found = tree.check();
    field = kept;
    return found ? std::string("nothing") : found.error();
  };
  constexpr std::size_t black = 0;
  constexpr std::size_t red = 1;
  EXPECT_EQ(broken(access::place(all[1]), red), "red_black_tree: the root is red");
  EXPECT_EQ(broken(access::place(all[5]), red), "red_black_tree: a red timer has a red child");
  EXPECT_EQ(broken(access::place(all[0]), red),
            "red_black_tree: the paths below timer 1 have different numbers of black timers");
  EXPECT_EQ(broken(access::place(all[6]), black),
            "red_black_tree: the paths below timer 5 have different numbers of black timers");
  EXPECT_EQ(broken(access::place(all[4]), std::size_t{2}), "red_black_tree: timer 4 has no colour");
  EXPECT_EQ(broken(access::deadline(all[2]), at(4)), "red_black_tree: timer 3 comes before its predecessor");
  tree.reset(all[6], at(5));
  EXPECT_EQ(broken(access::sequence(all[6]), std::uint64_t{0}), "red_black_tree: timer 6 comes before its predecessor");
  EXPECT_TRUE(tree.check());
  empty(tree);
}

TEST(RedBlackTree, AMillionAtOneInstantFireInTheirOrderWithABudget) {
  red_black_tree tree;
  constexpr std::size_t count = 1'000'000;
  const nodes all = make(count);
  for (std::size_t i = 0; i < count; ++i) tree.start(all[i], instant{} + 1ms);
  std::size_t next = 0;
  expiry turn{0, true};
  while (turn.more) {
    turn = tree.expire(instant{} + 1ms, 100, [&](tree_node& due) {
      ASSERT_EQ(&due, &all[next]);
      ++next;
    });
    ASSERT_EQ(turn.fired, 100u);
  }
  EXPECT_EQ(next, count);
}

}  // namespace
}  // namespace foliot
