// The digest that is the version of a job in the stores of this process.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>

#include "jobs/version.hpp"

namespace foliot::jobs::detail {
namespace {

constexpr version_parts some{.id = 1,
                             .priority = 2,
                             .due = 3,
                             .delay = 4,
                             .counters = {.reserves = 5, .timeouts = 6, .releases = 7, .buries = 8, .kicks = 9}};

version_parts in_state(job_state state, std::int64_t expires = 11) {
  version_parts parts = some;
  parts.state = state;
  if (state == job_state::reserved) parts.expires = instant::from_nanoseconds(expires);
  return parts;
}

/// Clients have versions of jobs while the program is replaced by a later one.
TEST(Version, IsTheSameInEachProgram) {
  EXPECT_EQ(version_of(in_state(job_state::delayed)), 7729475851042552388U);
  EXPECT_EQ(version_of(in_state(job_state::ready)), 7729475851042552388U);
  EXPECT_EQ(version_of(in_state(job_state::reserved)), 1438812504960317194U);
  EXPECT_EQ(version_of(in_state(job_state::buried)), 4726444466981982422U);
}

TEST(Version, DependsOnEachPart) {
  std::set<job_version> seen{version_of(some), version_of(in_state(job_state::reserved)),
                             version_of(in_state(job_state::reserved, 12)), version_of(in_state(job_state::buried))};
  EXPECT_EQ(seen.size(), 4U);
  std::array<version_parts, 9> others;
  others.fill(some);
  ++others[0].id;
  ++others[1].priority;
  ++others[2].due;
  ++others[3].delay;
  ++others[4].counters.reserves;
  ++others[5].counters.timeouts;
  ++others[6].counters.releases;
  ++others[7].counters.buries;
  ++others[8].counters.kicks;
  for (const version_parts& each : others) EXPECT_TRUE(seen.insert(version_of(each)).second) << seen.size();
}

TEST(Version, IsThatOfTheJobWithTheseParts) {
  const job it{.id = 1,
               .tube = "a",
               .key = "",
               .body = "b",
               .priority = 2,
               .state = job_state::buried,
               .due = utc_time(milliseconds(3)),
               .delay = milliseconds(4),
               .counters = some.counters};
  EXPECT_EQ(version_of(it), version_of(in_state(job_state::buried)));
}

}  // namespace
}  // namespace foliot::jobs::detail
