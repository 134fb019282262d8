// The conformance suite at random: sequences of operations, compared with the reference step by step.
// On a failure rapidcheck prints the shortest script it found and `RC_PARAMS="reproduce=…"`, which
// repeats it; RC_PARAMS="seed=N max_success=100000" runs others, or more.
#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <cstdint>
#include <optional>
#include <string>

#include <foliot/core/seam/random.hpp>

#include "random_scripts.hpp"
#include "tested_queue.hpp"
#include "twin.hpp"

namespace foliot::conformance {
namespace {

constexpr std::size_t many = 600;

class Random : public ::testing::TestWithParam<queue_kind> {};

INSTANTIATE_TEST_SUITE_P(, Random, ::testing::ValuesIn(tested_queues()), kind_name{});

TEST_P(Random, AgreesWithTheReference) {
  EXPECT_TRUE(rc::check("agrees with the reference", [] {
    const script s = *arbitrary_script();
    twin queue(GetParam(), timers_at_random, s.origin);
    const std::optional<std::string> failure = queue.run(s);
    if (failure) RC_FAIL(*failure);
  }));
}

/// Many timers: the deep parts of a structure that twelve of them never reach.
TEST_P(Random, AgreesWithTheReferenceWhenThereAreMany) {
  EXPECT_TRUE(rc::check("agrees with the reference when there are many", [] {
    random_stream random(*rc::gen::arbitrary<std::uint64_t>());
    twin queue(GetParam(), many);
    for (int i = 0; i < 3000 && !queue.failure(); ++i) {
      const auto timer = static_cast<std::size_t>(random.below(many));
      const std::uint64_t what = random.below(100);
      if (what < 70) {
        const auto ahead = static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(40)));
        queue.perform({step::kind::reset, timer, duration::nanoseconds(ahead)});
      } else if (what < 85) {
        queue.perform({step::kind::stop, timer});
      } else {
        const auto ahead = static_cast<std::int64_t>(random.below(1 << 24));
        queue.perform({step::kind::expire, 0, duration::nanoseconds(ahead), 1 + random.below(20)});
      }
      if (i % 100 == 0) queue.check();
    }
    queue.check();
    if (queue.failure()) RC_FAIL(*queue.failure());
  }));
}

}  // namespace
}  // namespace foliot::conformance
