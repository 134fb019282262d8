// The conformance suite at random: sequences of operations, compared with the reference step by step.
// On a failure rapidcheck prints the shortest script it found and `RC_PARAMS="reproduce=…"`, which
// repeats it; RC_PARAMS="seed=N max_success=100000" runs others, or more.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <foliot/core/seam/random.hpp>

#include "all_queues.hpp"
#include "random_scripts.hpp"
#include "twin.hpp"

namespace foliot::conformance {
namespace {

constexpr std::size_t many = 600;

template <class Queue>
class Random : public ::testing::Test {};

TYPED_TEST_SUITE(Random, FOLIOT_TESTED_QUEUES, queue_name);

TYPED_TEST(Random, AgreesWithTheReference) {
  EXPECT_TRUE(rc::check("agrees with the reference", [] {
    const script s = *arbitrary_script();
    twin<TypeParam> queue(timers_at_random, s.origin);
    const std::optional<std::string> failure = queue.run(s);
    if (failure) RC_FAIL(*failure);
  }));
}

/// Many timers: the deep parts of a structure that twelve of them never reach.
TYPED_TEST(Random, AgreesWithTheReferenceWhenThereAreMany) {
  EXPECT_TRUE(rc::check("agrees with the reference when there are many", [] {
    random_stream random(*rc::gen::arbitrary<std::uint64_t>());
    twin<TypeParam> queue(many);
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
