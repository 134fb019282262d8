// The conformance suite at random: sequences of steps, after each of which the store must agree with the oracle. On a
// failure rapidcheck prints the shortest sequence that it found and `RC_PARAMS="reproduce=…"`, which repeats it;
// RC_PARAMS="seed=N max_success=100000" runs others, or more.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace foliot::jobs::conformance
