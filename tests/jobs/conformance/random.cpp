// The conformance suite at random: sequences of steps, after each of which the store must agree with the oracle. On a
// failure rapidcheck prints the shortest sequence that it found and `RC_PARAMS="reproduce=…"`, which repeats it;
// RC_PARAMS="seed=N max_success=100000" runs others, or more. FOLIOT_LONG_SEQUENCES=N plays N of the long sequences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "conformance.hpp"
#include "random_steps.hpp"
#include "twin.hpp"

namespace foliot::jobs::conformance {
namespace {

TEST_P(RandomJobs, AgreeWithTheOracle) {
  EXPECT_TRUE(rc::check("agrees with the oracle", [] {
    const std::vector<step> steps = *arbitrary_steps();
    twin both(GetParam());
    for (const step& each : steps) both.perform(each);
    if (both.failure()) RC_FAIL(*both.failure());
  }));
}

std::uint64_t long_sequences() {
  if (const char* wanted = std::getenv("FOLIOT_LONG_SEQUENCES")) return std::strtoull(wanted, nullptr, 10);
#if defined(FOLIOT_SANITIZED)
  return 3;
#else
  return 8;
#endif
}

/// Hundreds of steps on one store: more jobs, more openings, and tokens that have been stale for long. Without
/// shrinking. Plays every second seed, from the first one on.
void agree_for_long(const store_kind& store, std::uint64_t first) {
  const auto sequences = arbitrary_steps();
  const std::uint64_t last = long_sequences();
  std::size_t longest = 0;
  for (std::uint64_t seed = first; seed <= last; seed += 2) {
    const std::vector<step> steps = sequences(rc::Random(seed), 500).value();
    twin both(store);
    for (const step& each : steps) both.perform(each);
    ASSERT_EQ(both.failure().value_or(""), "") << "seed " << seed;
    longest = std::max(longest, steps.size());
  }
  EXPECT_GT(longest, 300U);
}

// Two tests: over PostgreSQL each takes as long as all others of the suite, and they may run at once.
TEST_P(RandomJobs, AgreeWithTheOracleForLongOnOddSeeds) { agree_for_long(GetParam(), 1); }
TEST_P(RandomJobs, AgreeWithTheOracleForLongOnEvenSeeds) { agree_for_long(GetParam(), 2); }

}  // namespace
}  // namespace foliot::jobs::conformance
