#include "replay/distinct_counter.hpp"

#include <string>
#include <unordered_set>

#include <foliot/core/seam/random.hpp>
#include <gtest/gtest.h>

#include "text_hash.hpp"

namespace foliot::program {
namespace {

TEST(DistinctCounter, CountsEachThingOnce) {
  distinct_counter counter;
  EXPECT_EQ(counter.count(), 0U);
  random_stream random(4);
  std::unordered_set<std::uint64_t> model;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t number = random.below(30'000);
    model.insert(number);
    counter.add(text_hash(std::to_string(number)));
    if (i % 1000 == 0) {
      ASSERT_EQ(counter.count(), model.size());
    }
  }
  EXPECT_EQ(counter.count(), model.size());
  EXPECT_TRUE(counter.exact());
}

TEST(DistinctCounter, CountsAHashOfZero) {
  distinct_counter counter;
  counter.add(0);
  counter.add(0);
  EXPECT_EQ(counter.count(), 1U);
}

TEST(DistinctCounter, IsExactUpToItsLimitAndSaysWhenItIsNot) {
  distinct_counter counter(100'000);
  for (int i = 0; i < 100'000; ++i) counter.add(text_hash(std::to_string(i)));
  EXPECT_TRUE(counter.exact());
  EXPECT_EQ(counter.count(), 100'000U);
  counter.add(text_hash("one more"));
  EXPECT_FALSE(counter.exact());
  EXPECT_NEAR(static_cast<double>(counter.count()), 100'001, 3'000);
}

TEST(DistinctCounter, EstimatesWithinThreePercent) {
  distinct_counter counter(1'000);
  std::uint64_t count = 0;
  for (const std::uint64_t stage : {100'000U, 300'000U, 1'000'000U}) {
    for (; count < stage; ++count) {
      const std::uint64_t hash = text_hash("client" + std::to_string(count));
      counter.add(hash);
      counter.add(hash);
    }
    EXPECT_NEAR(static_cast<double>(counter.count()), static_cast<double>(count), static_cast<double>(count) * 0.03);
  }
}

}  // namespace
}  // namespace foliot::program
