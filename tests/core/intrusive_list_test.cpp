#include <foliot/core/intrusive_list.hpp>

#include <initializer_list>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace foliot {
namespace {

struct node {
  list_links<node> all;
  list_links<node> some;
  node* behind = nullptr;
};
using list = intrusive_list<node, &node::all>;
using other_list = intrusive_list<node, &node::some>;
using queue = intrusive_queue<node, &node::behind>;

template <class List>
std::vector<const node*> contents(const List& nodes) {
  std::vector<const node*> found;
  for (const node* each = nodes.front(); each != nullptr; each = List::next(*each)) found.push_back(each);
  return found;
}
using expected = std::vector<const node*>;

TEST(IntrusiveList, KeepsTheOrderOfItsNodes) {
  list nodes;
  EXPECT_TRUE(nodes.empty());
  EXPECT_EQ(nodes.front(), nullptr);
  EXPECT_EQ(nodes.back(), nullptr);
  node a, b, c;
  nodes.push_back(b);
  nodes.push_back(c);
  nodes.push_front(a);
  EXPECT_EQ(contents(nodes), (expected{&a, &b, &c}));
  EXPECT_EQ(nodes.back(), &c);
  EXPECT_TRUE(nodes.check());
}

TEST(IntrusiveList, ErasesAnyNodeAndTakesItAgain) {
  for (int erased = 0; erased < 3; ++erased) {
    node all[3];
    list nodes;
    expected left;
    for (int i = 0; i < 3; ++i) {
      nodes.push_back(all[i]);
      if (i != erased) left.push_back(&all[i]);
    }
    nodes.erase(all[erased]);
    EXPECT_EQ(contents(nodes), left) << erased;
    EXPECT_EQ(nodes.back(), left.back()) << erased;
    EXPECT_TRUE(nodes.check()) << erased;
    nodes.push_front(all[erased]);
    EXPECT_EQ(nodes.front(), &all[erased]);
    EXPECT_TRUE(nodes.check()) << erased;
  }
}

TEST(IntrusiveList, IsEmptyAfterItsOnlyNodeHasLeft) {
  node only;
  list nodes;
  nodes.push_front(only);
  EXPECT_EQ(nodes.pop_front(), &only);
  EXPECT_EQ(nodes.pop_front(), nullptr);
  EXPECT_TRUE(nodes.empty());
  EXPECT_EQ(nodes.back(), nullptr);
  nodes.push_back(only);
  EXPECT_EQ(nodes.front(), &only);
  EXPECT_TRUE(nodes.check());
}

TEST(IntrusiveList, ANodeIsInSeveralListsByDifferentLinks) {
  node a, b;
  list forth;
  other_list back;
  for (node* each : {&a, &b}) {
    forth.push_back(*each);
    back.push_front(*each);
  }
  EXPECT_EQ(contents(back), (expected{&b, &a}));
  forth.erase(a);
  EXPECT_EQ(contents(forth), (expected{&b}));
  EXPECT_EQ(contents(back), (expected{&b, &a}));
}

TEST(IntrusiveList, AMoveLeavesItEmpty) {
  node a, b;
  list from;
  from.push_back(a);
  from.push_back(b);
  list to(std::move(from));
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(contents(to), (expected{&a, &b}));
  from = std::move(to);
  EXPECT_TRUE(to.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(contents(from), (expected{&a, &b}));
  EXPECT_TRUE(from.check());
}

TEST(IntrusiveList, TheCheckSeesALinkThatGoesOneWayOnly) {
  node a, b;
  list nodes;
  nodes.push_back(a);
  nodes.push_back(b);
  b.all.previous = nullptr;
  EXPECT_FALSE(nodes.check());
  b.all.previous = &a;
  a.all.next = nullptr;
  EXPECT_FALSE(nodes.check()) << "the list's last node cannot be reached";
}

TEST(IntrusiveQueue, FirstInFirstOut) {
  node a, b, c;
  queue nodes;
  EXPECT_TRUE(nodes.empty());
  EXPECT_EQ(nodes.pop_front(), nullptr);
  nodes.push_back(a);
  nodes.push_back(b);
  EXPECT_EQ(nodes.pop_front(), &a);
  nodes.push_back(c);
  nodes.push_back(a);
  EXPECT_EQ(contents(nodes), (expected{&b, &c, &a}));
  while (nodes.pop_front() != nullptr) {
  }
  EXPECT_TRUE(nodes.empty());
  nodes.push_back(c);
  EXPECT_EQ(contents(nodes), (expected{&c}));
}

TEST(IntrusiveQueue, PushFrontGoesBeforeAllOthers) {
  node a, b, c;
  queue nodes;
  nodes.push_front(b);
  nodes.push_front(a);
  nodes.push_back(c);
  EXPECT_EQ(contents(nodes), (expected{&a, &b, &c}));
}

TEST(IntrusiveQueue, PrependsAnotherQueueInItsOrder) {
  node a, b, c, d;
  queue nodes;
  queue earlier;
  nodes.prepend(std::move(earlier));
  EXPECT_TRUE(nodes.empty());
  earlier.push_back(b);  // NOLINT(bugprone-use-after-move)
  earlier.push_back(c);
  nodes.prepend(std::move(earlier));
  EXPECT_TRUE(earlier.empty());  // NOLINT(bugprone-use-after-move)
  earlier.push_back(a);
  nodes.prepend(std::move(earlier));
  nodes.push_back(d);
  EXPECT_EQ(contents(nodes), (expected{&a, &b, &c, &d}));
}

TEST(IntrusiveQueue, AMoveLeavesItEmpty) {
  node a, b;
  queue from;
  from.push_back(a);
  queue to = std::exchange(from, {});
  EXPECT_TRUE(from.empty());
  from.push_back(b);
  EXPECT_EQ(contents(to), (expected{&a}));
  EXPECT_EQ(contents(from), (expected{&b}));
}

}  // namespace
}  // namespace foliot
