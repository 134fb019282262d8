// When processor_heaps looks for timers that were brought forward, as Go 1.14 and 1.15 did: by their count. (The later
// form is in processor_heaps_test.cpp.)
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "timers_fixture.hpp"

namespace foliot::runtime::detail {
namespace {

class HeapsByCount : public testing::Test {
 protected:
  HeapsByCount() {
    // In the order of the array.
    for (int i = 0; i < 10; ++i) {
      all.push_back(std::make_unique<counted_timer>());
      all.back()->reset(timers, at(100 + i));
    }
  }
  ~HeapsByCount() override { timers.forget_all(); }

  processor_heaps timers{0, adjusting::by_count};
  std::vector<std::unique_ptr<counted_timer>> all;
};

TEST_F(HeapsByCount, TheNextRoundLooksForWhatWasBroughtForwardThoughNothingIsDue) {
  EXPECT_TRUE(all[9]->reset(timers, at(50)));
  EXPECT_EQ(timers.first(), instant::earliest()) << "the bound makes the next round look";
  EXPECT_EQ(broken_invariant(timers), "");
  run_all_due(timers, at(10));
  EXPECT_EQ(timers.first(), at(50)) << "the timer is queued at its deadline";
  EXPECT_EQ(broken_invariant(timers), "");
  EXPECT_TRUE(all[8]->reset(timers, at(40)));
  EXPECT_EQ(timers.first(), instant::earliest()) << "each round looks again: issue 41699";
  run_all_due(timers, at(10));
  EXPECT_EQ(timers.first(), at(40));
  EXPECT_EQ(all[8]->fired(), 0);
  run_all_due(timers, at(40));
  EXPECT_EQ(all[8]->fired(), 1);
  EXPECT_EQ(timers.first(), at(50));
}

TEST_F(HeapsByCount, WhoGoesToSleepKnowsTheFirstDeadlineOfAll) {
  EXPECT_TRUE(all[9]->reset(timers, at(50)));
  EXPECT_TRUE(all[5]->reset(timers, at(60)));
  timers.refresh_first();
  EXPECT_EQ(timers.first(), at(50));
  EXPECT_EQ(broken_invariant(timers), "");
}

TEST_F(HeapsByCount, APassEndsWhenItHasFoundAllThatWereBroughtForward) {
  EXPECT_TRUE(all[3]->reset(timers, at(50)));
  EXPECT_TRUE(all[9]->stop());
  run_all_due(timers, at(10));
  EXPECT_EQ(timers.first(), at(50));
  EXPECT_EQ(timers.heap_size(), 10u) << "the pass ended before the deleted timer";
  EXPECT_TRUE(all[8]->reset(timers, at(40)));
  run_all_due(timers, at(10));
  EXPECT_EQ(timers.first(), at(40));
  EXPECT_EQ(broken_invariant(timers), "");
}

TEST_F(HeapsByCount, WhatWasStoppedOrPutOffAgainIsNotLookedFor) {
  EXPECT_TRUE(all[5]->reset(timers, at(50)));
  EXPECT_TRUE(all[5]->reset(timers, at(500))) << "postponed";
  EXPECT_TRUE(all[6]->reset(timers, at(50)));
  EXPECT_TRUE(all[6]->reset(timers, at(106))) << "reset to the deadline at which it is queued";
  EXPECT_TRUE(all[7]->reset(timers, at(50)));
  EXPECT_TRUE(all[7]->stop());
  EXPECT_TRUE(all[8]->reset(timers, at(50)));
  EXPECT_TRUE(all[8]->reset(timers, at(60))) << "it stays counted once";
  EXPECT_TRUE(all[8]->stop());
  EXPECT_EQ(broken_invariant(timers), "");
  run_all_due(timers, at(10));
  EXPECT_EQ(timers.heap_size(), 10u) << "the pass looked at no timer";
  EXPECT_EQ(timers.first(), at(100));
  EXPECT_FALSE(all[8]->reset(timers, at(30))) << "a stopped timer that is brought forward counts";
  EXPECT_EQ(broken_invariant(timers), "");
  run_all_due(timers, at(10));
  EXPECT_EQ(timers.first(), at(30));
}

TEST_F(HeapsByCount, TheCountGoesWithTheTimers) {
  processor_heaps heir(1, adjusting::by_count);
  EXPECT_TRUE(all[9]->reset(timers, at(50)));
  heir.take_all(timers);
  EXPECT_EQ(broken_invariant(timers), "");
  EXPECT_EQ(broken_invariant(heir), "");
  EXPECT_EQ(heir.first(), at(50));
  EXPECT_TRUE(all[9]->reset(timers, at(40)));
  EXPECT_EQ(broken_invariant(heir), "");
  heir.forget_all();
  EXPECT_EQ(broken_invariant(heir), "");
  EXPECT_TRUE(heir.first().is_never());
}

}  // namespace
}  // namespace foliot::runtime::detail
