// Nodes, routing and brokers over simulated databases: no world may break a promise, and each way in which what lies
// below can be wrong must show.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foliot_simulation/world.hpp"
#include "support/leaks.hpp"
#include "world.hpp"

namespace foliot::jobs::nodes {
namespace {

/// explore() multiplies it by 10 in builds without sanitizers, and divides it by 4 with them.
constexpr std::uint64_t worlds_here = 150;
constexpr std::uint64_t worlds_of_a_canary = 3000;  // the first that shows it ends the search
constexpr simulation::faults quiet{};

TEST(SimulatedNodes, KeepTheirPromises) {
  simulation::explore(worlds_here, quiet, [] {
    for (const std::string& each : live(flaw::none).breaches) ADD_FAILURE() << each;
  });
}

/// A failure could not be repeated otherwise.
TEST(SimulatedNodes, ASeedIsTheSameWorld) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    outcome one;
    outcome other;
    EXPECT_FALSE(simulation::run(seed, quiet, [&] { one = live(flaw::none); }));
    EXPECT_FALSE(simulation::run(seed, quiet, [&] { other = live(flaw::none); }));
    EXPECT_EQ(one.requests, other.requests) << "seed " << seed;
    EXPECT_EQ(one.receipts, other.receipts) << "seed " << seed;
  }
}

/// The worlds have what the judge is there for.
TEST(SimulatedNodes, HaveTroubles) {
  std::map<request::fate, std::size_t> fates;
  std::size_t lost = 0;
  std::size_t confirmed_by_old = 0;
  std::size_t done_edits = 0;
  std::size_t refused_edits = 0;
  std::size_t repeated = 0;
  std::size_t replayed = 0;
  std::size_t replaced = 0;
  std::size_t replaced_together = 0;
  std::size_t refused_holders = 0;
  std::size_t refused_behind_holders = 0;
  std::size_t refused_groups = 0;
  // The last of them is seldom: a primary that was replaced confirms something in one of a hundred worlds or so.
  for (std::uint64_t seed = 0; seed < 50 || (seed < 1000 && confirmed_by_old == 0); ++seed) {
    outcome left;
    EXPECT_FALSE(simulation::run(seed, quiet, [&] { left = live(flaw::none); }));
    for (const request& each : left.requests) ++fates[each.became];
    lost += left.lost_effects;
    confirmed_by_old += left.confirmed_by_old;
    done_edits += left.done_edits;
    refused_edits += left.refused_edits;
    replayed += left.replayed;
    for (const request& each : left.requests) repeated += each.repeated;
    replaced += left.replaced;
    replaced_together += left.replaced_together;
    refused_holders += left.refused_holders;
    refused_behind_holders += left.refused_behind_holders;
    refused_groups += left.refused_groups;
  }
  EXPECT_GT(fates[request::fate::done], 300U);
  EXPECT_GT(fates[request::fate::refused], 5U);
  EXPECT_GT(fates[request::fate::in_doubt], 0U);
  EXPECT_GT(lost, 0U);
  EXPECT_GT(confirmed_by_old, 0U);
  EXPECT_GT(done_edits, 50U);
  EXPECT_GT(refused_edits, 5U);
  EXPECT_GT(repeated, 50U);
  EXPECT_GT(replayed, 5U);
  EXPECT_GT(replaced, 10U);
  EXPECT_GT(replaced_together, 10U);
  EXPECT_GT(refused_holders, 0U);
  EXPECT_GT(refused_behind_holders, 0U);
  EXPECT_GT(refused_groups, 5U);
}

/// Whether a world over such a database breaks this rule of the judge.
bool shows(flaw wrong, std::string_view rule) {
  const support::leaks_ignored of_what_is_abandoned;
  for (std::uint64_t seed = 0; seed < worlds_of_a_canary; ++seed) {
    const auto failure = simulation::run(seed, quiet, [&] {
      for (const std::string& each : live(wrong).breaches) simulation::require(!each.starts_with(rule), each);
    });
    if (failure && failure->starts_with(rule)) return true;
  }
  return false;
}

TEST(NodesCanary, RepeatsBatches) { EXPECT_TRUE(shows(flaw::repeats_batches, "once")); }
TEST(NodesCanary, IgnoresRegistrations) { EXPECT_TRUE(shows(flaw::ignores_registrations, "left")); }
TEST(NodesCanary, KeepsReservations) { EXPECT_TRUE(shows(flaw::keeps_reservations, "left")); }
TEST(NodesCanary, RepeatsTokens) { EXPECT_TRUE(shows(flaw::repeats_tokens, "once")); }
TEST(NodesCanary, IsEarly) { EXPECT_TRUE(shows(flaw::is_early, "early")); }
TEST(NodesCanary, IsEarlyAfterARelease) { EXPECT_TRUE(shows(flaw::is_early_after_release, "early")); }
TEST(NodesCanary, FinishesAbandoned) { EXPECT_TRUE(shows(flaw::finishes_abandoned, "once")); }
TEST(NodesCanary, GivesBackAll) { EXPECT_TRUE(shows(flaw::gives_back_all, "held")); }
TEST(NodesCanary, EndsById) { EXPECT_TRUE(shows(flaw::ends_by_id, "held")); }
TEST(NodesCanary, TakesAnyHolder) { EXPECT_TRUE(shows(flaw::takes_any_holder, "held")); }
TEST(NodesCanary, IgnoresPriorities) { EXPECT_TRUE(shows(flaw::ignores_priorities, "order")); }
TEST(NodesCanary, IgnoresVersions) { EXPECT_TRUE(shows(flaw::ignores_versions, "version")); }
TEST(NodesCanary, IgnoresOnce) { EXPECT_TRUE(shows(flaw::ignores_once, "once")); }
TEST(NodesCanary, LeavesOnceBehind) { EXPECT_TRUE(shows(flaw::leaves_once_behind, "once")); }
TEST(NodesCanary, HidesWhatIsUndone) { EXPECT_TRUE(shows(flaw::hides_what_is_undone, "once")); }
TEST(NodesCanary, ForgetsTimelines) { EXPECT_TRUE(shows(flaw::forgets_timelines, "replaced")); }
TEST(NodesCanary, AnswersBeforeTheCommit) { EXPECT_TRUE(shows(flaw::answers_before_commit, "once")); }
TEST(NodesCanary, TrustsNotifications) { EXPECT_TRUE(shows(flaw::trusts_notifications, "late")); }
TEST(NodesCanary, AcceptsTubesThatLeft) { EXPECT_TRUE(shows(flaw::accepts_tubes_that_left, "left")); }

}  // namespace
}  // namespace foliot::jobs::nodes
