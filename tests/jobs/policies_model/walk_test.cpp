// Random walks over a policy_store in memory. FOLIOT_WALKS=N walks N of each kind; FOLIOT_FIRST_WALK=S begins with the
// seed S, which a failure names.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "courses.hpp"

namespace foliot::jobs::policies_model {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const wanted = std::getenv(name);
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}

outcome walk_all(const course& over, std::uint64_t count) {
  const std::uint64_t first = from_environment("FOLIOT_FIRST_WALK", 1);
  outcome all;
  for (std::uint64_t seed = first; seed < first + from_environment("FOLIOT_WALKS", count); ++seed) {
    const outcome one = walk(over, seed);
    EXPECT_EQ(one.failure.value_or(""), "") << "seed " << seed;
    if (one.failure) break;
    add(all, one);
  }
  return all;
}

bool is_whole() { return std::getenv("FOLIOT_WALKS") == nullptr && std::getenv("FOLIOT_FIRST_WALK") == nullptr; }

// The walks of a seed are the same in each run, so what is counted is, too: the bounds are a half of that, or less.

TEST(PolicyWalk, KeepsThePolicies) {
  const outcome all = walk_all(strict_course(), 150);
  if (!is_whole()) return;
  EXPECT_GT(all.seen.handed_out, 3000U);
  EXPECT_GT(all.seen.condemned, 300U);
  EXPECT_GT(all.seen.moved, 50U);
  EXPECT_GT(all.seen.expired, 300U);
  EXPECT_GT(all.seen.retried, 500U);
  EXPECT_GT(all.seen.timed_out, 500U);
  EXPECT_GT(all.seen.kicked, 50U);
  EXPECT_GT(all.seen.full, 100U);
  EXPECT_GT(all.replays, 100U);
}

TEST(PolicyWalk, KeepsThePoliciesOverAStoreThatRefuses) {
  const outcome all = walk_all(loose_course(), 120);
  if (!is_whole()) return;
  EXPECT_GT(all.refused, 1000U);
  EXPECT_GT(all.seen.in_doubt, 1000U);
  EXPECT_GT(all.seen.moved, 30U);
  EXPECT_GT(all.seen.handed_out, 2000U);
}

TEST(PolicyWalk, KeepsThePoliciesOverReopenings) {
  const outcome all = walk_all(reopened_course(), 100);
  if (!is_whole()) return;
  EXPECT_GT(all.reopened, 100U);
  EXPECT_GT(all.seen.handed_out, 1000U);
}

}  // namespace
}  // namespace foliot::jobs::policies_model
