// Runs many worlds one after the other, and reports their failures to GoogleTest. Without sanitizers it runs ten times
// as many as a test names, or FOLIOT_SIMULATION_TIMES times: ctest has a smaller number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "foliot_simulation/world.hpp"
#include "support/leaks.hpp"

namespace foliot::simulation {

void explore(std::uint64_t count, const faults& with, const std::function<void()>& main) {
  std::uint64_t first = 0;
#if defined(FOLIOT_SANITIZED)
  count = std::max(count / 4, std::min<std::uint64_t>(count, 3));  // worlds are slow: the first ones of release's
#else
  const char* times = std::getenv("FOLIOT_SIMULATION_TIMES");
  count *= times != nullptr ? std::strtoull(times, nullptr, 10) : 10;  // worlds are quick in this build
#endif
  if (const char* more = std::getenv("FOLIOT_SIMULATION_WORLDS")) count = std::strtoull(more, nullptr, 10);
  if (const char* from = std::getenv("FOLIOT_SIMULATION_FIRST")) first = std::strtoull(from, nullptr, 10);
  if (const char* only = std::getenv("FOLIOT_SIMULATION_SEED")) {
    first = std::strtoull(only, nullptr, 10);
    count = 1;
  }
  if (count == 0) ADD_FAILURE() << "a test needs a world: FOLIOT_SIMULATION_TIMES and _WORLDS are 1 or more";
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto failure = run(seed, with, main);
    if (failure || ::testing::Test::HasFailure()) {
      ADD_FAILURE() << failure.value_or("see above") << "\nin the world of seed " << seed
                    << "; to repeat it alone: FOLIOT_SIMULATION_SEED=" << seed;
      return;
    }
  }
}

std::optional<std::uint64_t> first_failure(std::uint64_t count, const faults& with, const std::function<void()>& main) {
  const support::leaks_ignored for_what_is_abandoned;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    if (run(seed, with, main)) return seed + 1;
  }
  return std::nullopt;
}

}  // namespace foliot::simulation
