#include "text_hash.hpp"

#include <bit>
#include <set>
#include <string>

#include <foliot/core/seam/random.hpp>
#include <gtest/gtest.h>

namespace foliot::program {
namespace {

TEST(TextHash, IsTheSameEverywhere) {
  // A change of the hash changes the sample's bytes.
  EXPECT_EQ(text_hash(""), 0x96ebbe173ff72a30U);
}

TEST(TextHash, EveryBitOfTheTextChangesHalfOfTheHash) {
  random_stream random(3);
  for (std::size_t size = 1; size <= 64; ++size) {
    double changed = 0;
    const int rounds = 200;
    for (int round = 0; round < rounds; ++round) {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>(random.below(256));
      const std::uint64_t before = text_hash(text);
      text[random.below(size)] ^= static_cast<char>(1U << random.below(8));
      changed += std::popcount(before ^ text_hash(text));
    }
    EXPECT_NEAR(changed / rounds, 32, 2) << size;
  }
}

TEST(TextHash, TellsNeighboursApart) {
  std::set<std::uint64_t> all;
  std::set<std::uint64_t> lower_halves;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t hash = text_hash("10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256));
    all.insert(hash);
    lower_halves.insert(hash & 0xffffffff);
  }
  EXPECT_EQ(all.size(), 100'000U);
  EXPECT_GT(lower_halves.size(), 99'990U);  // about one pair in 2^32 / 1e10 * 2 would be chance
}

TEST(TextHash, CountsZeros) {
  std::set<std::uint64_t> all;
  for (std::size_t size = 0; size < 100; ++size) all.insert(text_hash(std::string(size, '\0')));
  EXPECT_EQ(all.size(), 100U);
}

}  // namespace
}  // namespace foliot::program
