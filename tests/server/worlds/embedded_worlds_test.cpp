// The same worlds over the embedded store, whose disk tears and loses what was not synced. RocksDB has threads of its
// own, so that a seed decides everything but the calls to the disk that fail.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "explore.hpp"
#include "jobs/embedded/under_test.hpp"

namespace foliot::program::worlds {
namespace {

using jobs::conformance::embedded_under_test;

constexpr std::size_t narrow_window = 4;

TEST(SimulatedServer, KeepsItsPromisesOverTheEmbeddedStore) {
  const auto disk = [](std::uint64_t seed) { return std::make_unique<embedded_under_test>(narrow_window, seed); };
  EXPECT_GT(explore(12, disk), 0U);
}

TEST(ServerCanary, TheEmbeddedStoreAcknowledgesBeforeTheSync) {
  const auto disk = [](std::uint64_t seed) {
    return std::make_unique<embedded_under_test>(narrow_window, seed, std::chrono::hours(1));
  };
  EXPECT_TRUE(finds("lost", 60, disk));
}

}  // namespace
}  // namespace foliot::program::worlds
