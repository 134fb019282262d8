#include "text_hash.hpp"

#include <bit>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "colliding_names.hpp"

namespace foliot::program {
namespace {

constexpr std::uint64_t key_low = 0x0706050403020100;
constexpr std::uint64_t key_high = 0x0f0e0d0c0b0a0908;

/// "\x00\x01\x02" and so on, as in the paper.
std::string counting_bytes(int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += static_cast<char>(i);
  return text;
}

/// The hashes of the texts of 0 to 63 counting bytes, folded into one number.
std::uint64_t folded(auto hash) {
  std::uint64_t all = 0;
  for (int size = 0; size < 64; ++size) all = std::rotl(all, 1) ^ hash(counting_bytes(size));
  return all;
}

TEST(KeyedHash, IsTheSipHashOfThePaper) {
  const auto hash = [](const std::string& text) { return detail::sip_hash<2, 4>(key_low, key_high, text); };
  EXPECT_EQ(hash(counting_bytes(15)), 0xa129ca6149be45e5U);  // its appendix A
  EXPECT_EQ(hash(""), 0x726fdb47dd0e0e31U);                  // the reference implementation's first vector
  EXPECT_EQ(hash(counting_bytes(63)), 0x958a324ceb064572U);  // and its last one
  EXPECT_EQ(folded(hash), 0x352de3881954be0aU);
}

TEST(KeyedHash, IsTheSipHash13OfRustAndPython) {
  const keyed_hash hash(key_low, key_high);
  EXPECT_EQ(hash(""), 0xabac0158050fc4dcU);
  EXPECT_EQ(hash(counting_bytes(15)), 0xd320d86d2a519956U);
  EXPECT_EQ(hash(counting_bytes(63)), 0x9d199062b7bbb3a8U);
  EXPECT_EQ(folded(hash), 0x7f4d5086694f99aaU);
  const keyed_hash python(0, 0);  // PYTHONHASHSEED=0
  EXPECT_EQ(python("a"), 0x407448d2b89b1813U);
  EXPECT_EQ(python("192.0.2.7"), 0x020bc78a7a8ab31bU);
  EXPECT_EQ(python("host.example.net"), 0xf9ea8f84874a1d04U);
}

TEST(KeyedHash, TellsNamesApartThatWereChosenToCollide) {
  const keyed_hash hash = keyed_hash::with_random_key();
  std::set<std::uint64_t> unkeyed;
  std::set<std::uint64_t> keyed;
  for (const std::string& name : colliding_names(1'000)) {
    unkeyed.insert(text_hash(name));
    keyed.insert(hash(name));
  }
  EXPECT_EQ(unkeyed.size(), 1U) << "these names collide no more: make others";
  EXPECT_EQ(keyed.size(), 1'000U);
}

TEST(KeyedHash, IsAnotherOneWithEachRandomKey) {
  std::set<std::uint64_t> hashes;
  for (int i = 0; i < 100; ++i) hashes.insert(keyed_hash::with_random_key()("192.0.2.7"));
  EXPECT_EQ(hashes.size(), 100U);
}

}  // namespace
}  // namespace foliot::program
