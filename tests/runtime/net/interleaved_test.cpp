// The order in which the addresses of a host are tried.
#include "net/interleaved.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>

namespace foliot::runtime {
namespace {

/// Each digit 4 and 6 is an address of that family; the answer has their places in the given order.
std::string order_of(const std::string& families) {
  std::vector<address> all;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const auto port = static_cast<std::uint16_t>(i + 1);
    all.push_back(families[i] == '4' ? address::loopback(port) : address::loopback6(port));
  }
  std::string order;
  for (const address& each : detail::interleaved(all)) {
    order += (order.empty() ? "" : " ") + std::to_string(each.port() - 1);
  }
  return order;
}

TEST(Interleaved, TheFamiliesTakeTurns) {
  EXPECT_EQ(order_of(""), "");
  EXPECT_EQ(order_of("6"), "0");
  EXPECT_EQ(order_of("64"), "0 1");
  EXPECT_EQ(order_of("6644"), "0 2 1 3");
  EXPECT_EQ(order_of("4466"), "0 2 1 3");
  EXPECT_EQ(order_of("66664"), "0 4 1 2 3");
  EXPECT_EQ(order_of("64444"), "0 1 2 3 4");
  EXPECT_EQ(order_of("46444"), "0 1 2 3 4");
  EXPECT_EQ(order_of("444"), "0 1 2");
}

TEST(Interleaved, NothingIsLostAndEachFamilyKeepsItsOrder) {
  const std::uint64_t seed = random_stream::entropy();
  SCOPED_TRACE(seed);
  random_stream random(seed);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<address> all;
    for (std::uint64_t n = random.below(9); n > 0; --n) {
      const auto port = static_cast<std::uint16_t>(random.below(60'000));
      all.push_back(random.below(2) == 0 ? address::loopback(port) : address::loopback6(port));
    }
    const std::vector<address> order = detail::interleaved(all);
    for (const auto family : {seam::address_family::ip4, seam::address_family::ip6}) {
      const auto of = [&](std::vector<address> from) {
        std::erase_if(from, [&](const address& each) { return each.system().family() != family; });
        return from;
      };
      ASSERT_EQ(of(order), of(all));
    }
    ASSERT_EQ(order.size(), all.size());
    if (!all.empty()) {
      ASSERT_EQ(order.front(), all.front());
    }
  }
}

}  // namespace
}  // namespace foliot::runtime
