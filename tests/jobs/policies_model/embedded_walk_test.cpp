// Random walks over a policy_store over an embedded store, which is opened again, also behind crashes.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "courses.hpp"
#include "jobs/embedded/under_test.hpp"

namespace foliot::jobs::policies_model {
namespace {

void walk_embedded(std::size_t widest_window, std::uint64_t first) {
  outcome all;
  for (std::uint64_t seed = first; seed < first + 8; ++seed) {
    course over{.store = [=] { return std::make_unique<conformance::embedded_under_test>(widest_window, seed); },
                .steps = 150,
                .reopens_one_of = 15};
    const outcome one = walk(over, seed);
    ASSERT_EQ(one.failure.value_or(""), "") << "seed " << seed;
    add(all, one);
  }
  EXPECT_GT(all.reopened, 30U);
  EXPECT_GT(all.seen.handed_out, 150U);
}

TEST(EmbeddedPolicyWalk, KeepsThePoliciesOverReopenings) { walk_embedded(std::size_t{1} << 14, 1); }
TEST(EmbeddedPolicyWalk, KeepsThePoliciesWhereMostJobsAreOnDiskAlone) { walk_embedded(2, 101); }

}  // namespace
}  // namespace foliot::jobs::policies_model
