// Plays many worlds one after the other, and reports the first that breaks a promise to GoogleTest.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "checker.hpp"
#include "world.hpp"

namespace foliot::program::worlds {

/// Makes the disk of the world of a seed.
using disk_maker = std::function<std::unique_ptr<simulated_disk>(std::uint64_t seed)>;

/// The worlds from seed 0 on; FOLIOT_SIMULATION_FIRST, _WORLDS and _SEED choose others. Returns how many
/// commands were answered.
inline std::size_t explore(std::uint64_t count, const disk_maker& disk) {
  std::uint64_t first = 0;
  if (const char* more = std::getenv("FOLIOT_SIMULATION_WORLDS")) count = std::strtoull(more, nullptr, 10);
  if (const char* from = std::getenv("FOLIOT_SIMULATION_FIRST")) first = std::strtoull(from, nullptr, 10);
  if (const char* only = std::getenv("FOLIOT_SIMULATION_SEED")) {
    first = std::strtoull(only, nullptr, 10);
    count = 1;
  }
  std::size_t answered = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const outcome left = play(seed, *disk(seed));
    for (const event& each : left.seen.events) answered += each.end ? 1U : 0U;
    for (const std::string& each : left.breaches) ADD_FAILURE() << each;
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "in the world of seed " << seed
                    << "; to see it alone, and whole: FOLIOT_SIMULATION_SEED=" << seed;
      if (count > 1) break;
      std::cout << "nodes: " << left.nodes << '\n';
      for (const event& each : left.seen.events) std::cout << shown(each) << '\n';
      break;
    }
  }
  return answered;
}

/// Whether one of so many worlds over a broken store breaks this rule of the checker.
inline bool finds(std::string_view rule, std::uint64_t count, const disk_maker& disk,
                  const service_maker& make = nullptr) {
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    for (const std::string& each : play(seed, *disk(seed), make).breaches) {
      if (each.starts_with(rule)) return true;
    }
  }
  return false;
}

}  // namespace foliot::program::worlds
