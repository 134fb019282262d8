#include <foliot/queue/detail/quad_sift.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>

namespace foliot::detail {
namespace {

struct item {
  int key;
  std::size_t* index;  // where the heap last stored it
};
struct order {
  static bool comes_before(const item& a, const item& b) noexcept { return a.key < b.key; }
  static void moved(const item& at, std::size_t index) noexcept { *at.index = index; }
};
using sift = quad_sift<order>;

class QuadSift : public ::testing::Test {
 protected:
  static constexpr std::size_t most = 200;

  void push(int key) {
    heap_.push_back({key, &indices_[pushed_++]});
    sift::up(heap_, heap_.size() - 1, heap_.back());
  }
  void expect_order() {
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      EXPECT_TRUE(sift::is_ordered(heap_, i)) << i;
      EXPECT_EQ(*heap_[i].index, i);
    }
  }

  std::vector<item> heap_;
  std::size_t indices_[most] = {};
  std::size_t pushed_ = 0;
};

TEST_F(QuadSift, TheRootComesFirstWhileEntriesComeAndGo) {
  random_stream random(1);
  std::vector<int> keys;
  for (std::size_t i = 0; i < most; ++i) {
    keys.push_back(static_cast<int>(random.below(50)));
    push(keys.back());
  }
  expect_order();
  std::ranges::sort(keys);
  for (const int least : keys) {
    ASSERT_EQ(heap_.front().key, least);
    sift::remove(heap_, 0);
    expect_order();
  }
  EXPECT_TRUE(heap_.empty());
}

TEST_F(QuadSift, RemovesAtAnyIndex) {
  random_stream random(2);
  for (std::size_t i = 0; i < most; ++i) push(static_cast<int>(random.below(1000)));
  while (!heap_.empty()) {
    sift::remove(heap_, static_cast<std::size_t>(random.below(heap_.size())));
    expect_order();
  }
}

TEST_F(QuadSift, TheEntryThatFillsTheGapMayMoveUp) {
  for (const int key : {0, 10, 1, 1, 1, 20, 20, 20, 20, 2}) push(key);  // the last one, 2, is below the third
  ASSERT_EQ(heap_.back().key, 2);
  sift::remove(heap_, 5);  // below the second, 10, before which 2 comes
  expect_order();
  EXPECT_EQ(heap_[1].key, 2);
}

TEST_F(QuadSift, BuildsAHeapOfAnyOrder) {
  for (std::size_t i = 0; i < most; ++i) heap_.push_back({static_cast<int>(most - i), &indices_[i]});
  EXPECT_FALSE(sift::is_ordered(heap_, 1));
  sift::build(heap_);
  expect_order();
  EXPECT_EQ(heap_.front().key, 1);
}

}  // namespace
}  // namespace foliot::detail
