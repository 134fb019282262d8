#include "replay/distinct_counter.hpp"

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <gtest/gtest.h>

#include "programs/colliding_names.hpp"
#include "text_hash.hpp"

namespace foliot::program {
namespace {

/// Counts names by their hash under a key that is always the same: no test depends on chance.
class name_counter : public distinct_counter {
 public:
  using distinct_counter::distinct_counter;
  void add(std::string_view name) { distinct_counter::add(name, hash_(name)); }

 private:
  keyed_hash hash_{1, 2};
};

TEST(DistinctCounter, CountsEachNameOnce) {
  name_counter counter;
  EXPECT_EQ(counter.count(), 0U);
  random_stream random(4);
  std::unordered_set<std::uint64_t> model;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t number = random.below(30'000);
    model.insert(number);
    counter.add(std::to_string(number));
    if (i % 1000 == 0) {
      ASSERT_EQ(counter.count(), model.size());
    }
  }
  EXPECT_EQ(counter.count(), model.size());
  EXPECT_TRUE(counter.exact());
}

TEST(DistinctCounter, CountsAHashOfZero) {
  distinct_counter counter;
  counter.add("a", 0);
  counter.add("a", 0);
  EXPECT_EQ(counter.count(), 1U);
}

TEST(DistinctCounter, IsExactUpToItsLimitAndSaysWhenItIsNot) {
  name_counter counter(100'000);
  for (int i = 0; i < 100'000; ++i) counter.add(std::to_string(i));
  EXPECT_TRUE(counter.exact());
  EXPECT_EQ(counter.count(), 100'000U);
  counter.add("one more");
  EXPECT_FALSE(counter.exact());
  EXPECT_NEAR(static_cast<double>(counter.count()), 100'001, 3'000);
}

TEST(DistinctCounter, EstimatesWithinThreePercent) {
  name_counter counter(1'000);
  std::uint64_t count = 0;
  for (const std::uint64_t stage : {100'000U, 300'000U, 1'000'000U}) {
    for (; count < stage; ++count) {
      const std::string name = "client" + std::to_string(count);
      counter.add(name);
      counter.add(name);
    }
    EXPECT_NEAR(static_cast<double>(counter.count()), static_cast<double>(count), static_cast<double>(count) * 0.03);
  }
}

TEST(DistinctCounter, EstimatesTheSameInEachRunWhateverTheKeyIs) {
  const auto counted = [](const keyed_hash& hash) {
    distinct_counter counter(1'000);
    for (int i = 0; i < 20'000; ++i) {
      const std::string name = std::to_string(i);
      counter.add(name, hash(name));
    }
    EXPECT_FALSE(counter.exact());
    return counter.count();
  };
  EXPECT_EQ(counted(keyed_hash::with_random_key()), counted(keyed_hash::with_random_key()));
}

TEST(DistinctCounter, IsExactForNamesThatWereChosenToCollide) {
  name_counter counter(1'000);
  const std::vector<std::string> names = colliding_names(1'001);
  for (std::size_t i = 0; i < 1'000; ++i) counter.add(names[i]);
  EXPECT_TRUE(counter.exact());
  EXPECT_EQ(counter.count(), 1'000U);
  counter.add(names.back());
  EXPECT_FALSE(counter.exact());
  EXPECT_GE(counter.count(), 1'001U) << "it has seen that many";
}

}  // namespace
}  // namespace foliot::program
