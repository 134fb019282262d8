// Nodes that serve clients over HTTP, over simulated databases: no world may break a promise, and each way in which
// what lies below can be wrong must show.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "canary_search.hpp"
#include "foliot_simulation/world.hpp"
#include "node_world.hpp"
#include "server/worlds/checker.hpp"

namespace foliot::program::worlds {
namespace {

using jobs::nodes::flaw;

/// explore() multiplies it by 10 in builds without sanitizers, and divides it by 4 with them.
constexpr std::uint64_t worlds_here = 100;
constexpr std::uint64_t worlds_with_actions = 20;
constexpr std::uint64_t worlds_with_schedules = 20;
constexpr simulation::faults quiet{};

TEST(NodesOverHttp, KeepTheirPromises) {
  simulation::explore(worlds_here, quiet, [] {
    const node_outcome left = live_with_http(flaw::none);
    for (const std::string& each : left.breaches) ADD_FAILURE() << each;
    if (left.breaches.empty() || std::getenv("FOLIOT_SIMULATION_SEED") == nullptr) return;
    for (const event& each : left.seen.events) std::cout << shown(each) << '\n';
  });
}

/// A failure could not be repeated otherwise.
TEST(NodesOverHttp, ASeedIsTheSameWorld) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    node_outcome one;
    node_outcome other;
    EXPECT_FALSE(simulation::run(seed, quiet, [&] { one = live_with_http(flaw::none); }));
    EXPECT_FALSE(simulation::run(seed, quiet, [&] { other = live_with_http(flaw::none); }));
    ASSERT_EQ(one.seen.events.size(), other.seen.events.size()) << "seed " << seed;
    EXPECT_EQ(one.seen.left, other.seen.left) << "seed " << seed;
    for (std::size_t i = 0; i < one.seen.events.size(); ++i) {
      EXPECT_EQ(one.seen.events[i].begin, other.seen.events[i].begin) << "seed " << seed << ", event " << i;
      EXPECT_EQ(one.seen.events[i].answer, other.seen.events[i].answer) << "seed " << seed << ", event " << i;
    }
  }
}

/// The worlds have what they are there for.
TEST(NodesOverHttp, HaveTroubles) {
  std::size_t answered = 0;
  std::size_t unanswered = 0;
  std::size_t deaths = 0;
  std::size_t used_elsewhere = 0;
  std::size_t used_after_death = 0;
  std::size_t repeated_elsewhere = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    node_outcome left;
    EXPECT_FALSE(simulation::run(seed, quiet, [&] { left = live_with_http(flaw::none); }));
    for (const event& each : left.seen.events) ++(each.end ? answered : unanswered);
    deaths += left.deaths;
    used_elsewhere += left.used_elsewhere;
    used_after_death += left.used_after_death;
    repeated_elsewhere += left.repeated_elsewhere;
  }
  EXPECT_GT(answered, 1000U);
  EXPECT_GT(unanswered, 100U);
  EXPECT_GT(deaths, 10U);
  EXPECT_GT(used_elsewhere, 30U);
  EXPECT_GT(used_after_death, 1U);
  EXPECT_GT(repeated_elsewhere, 50U);
}

/// Changes by filter, while nodes die.
TEST(NodesOverHttp, ChangeEachJobThatFitsOnce) {
  simulation::explore(worlds_with_actions, quiet, [] {
    for (const std::string& each : live_with_an_action(flaw::none).breaches) ADD_FAILURE() << each;
  });
}

TEST(NodesOverHttp, DieWhileAnActionRuns) {
  std::size_t deaths = 0;
  for (std::uint64_t seed = 0; seed < 100 && deaths < 3; ++seed) {
    EXPECT_FALSE(
        simulation::run(seed, quiet, [&] { deaths += live_with_an_action(flaw::none).died_meanwhile ? 1U : 0U; }));
  }
  EXPECT_EQ(deaths, 3U);
}

/// Schedules, while nodes die and clocks change.
TEST(NodesOverHttp, MakeEachOccurrenceOnce) {
  simulation::explore(worlds_with_schedules, quiet, [] {
    for (const std::string& each : live_with_schedules(runner_flaw::none).breaches) ADD_FAILURE() << each;
  });
}

TEST(NodesOverHttp, HaveTroublesBetweenOccurrences) {
  std::size_t made = 0;
  std::size_t deaths = 0;
  std::size_t struck_turns = 0;
  std::size_t clock_steps = 0;
  std::size_t zones_apart = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    schedule_outcome_seen left;
    EXPECT_FALSE(simulation::run(seed, quiet, [&] { left = live_with_schedules(runner_flaw::none); }));
    made += left.made;
    deaths += left.deaths;
    struck_turns += left.struck_turns;
    clock_steps += left.clock_steps;
    zones_apart += left.has_zones_apart ? 1U : 0U;
  }
  EXPECT_GT(made, 1000U);
  EXPECT_GT(deaths, 10U);
  EXPECT_GT(struck_turns, 20U);
  EXPECT_GT(clock_steps, 5U);
  EXPECT_GT(zones_apart, 2U);
}

/// Whether worlds over a broken database break this rule.
bool shows_over(flaw wrong, std::string_view rule, std::uint64_t first = 0) {
  return shows(rule, [&] { return live_with_http(wrong).breaches; }, first);
}

/// The same of schedules: an occurrence is made twice, or not at all.
bool shows_in_schedules(runner_flaw wrong, std::uint64_t first = 0) {
  return shows("schedule:", [=] { return live_with_schedules(wrong).breaches; }, first);
}

/// The same of a change by filter: a job is changed twice, or not at all.
bool shows_in_action(flaw wrong, std::string_view kind = "") {
  return shows("action: job", [=] { return live_with_an_action(wrong, kind).breaches; });
}

TEST(NodesOverHttpCanary, EndsReservationsWithTheirConnection) {
  EXPECT_TRUE(shows_over(flaw::ends_with_connections, "refused"));
}
TEST(NodesOverHttpCanary, EndsReservationsWithTheirNode) { EXPECT_TRUE(shows_over(flaw::ends_lasting, "refused")); }
TEST(NodesOverHttpCanary, TakesNodesForDeadEarly) { EXPECT_TRUE(shows_over(flaw::takes_for_dead_early, "ended")); }
TEST(NodesOverHttpCanary, AcceptsTheTokenOfAnOldAttempt) { EXPECT_TRUE(shows_over(flaw::ends_by_id, "stale")); }
TEST(NodesOverHttpCanary, AnswersBeforeTheCommit) {
  EXPECT_TRUE(shows_over(flaw::answers_before_commit, "back"));
  EXPECT_TRUE(shows_over(flaw::answers_before_commit, "lost"));
}
TEST(NodesOverHttpCanary, RepeatsTokens) { EXPECT_TRUE(shows_over(flaw::repeats_tokens, "same token")); }
TEST(NodesOverHttpCanary, ChangesAJobTwice) { EXPECT_TRUE(shows_in_action(flaw::ignores_versions, "reschedule")); }
/// Then a node changes what another one has made of a job.
TEST(NodesOverHttpCanary, HoldsWhatIsOver) { EXPECT_TRUE(shows_in_action(flaw::holds_what_is_over)); }
TEST(NodesOverHttpCanary, ForgetsAChange) { EXPECT_TRUE(shows_in_action(flaw::answers_before_commit)); }
TEST(NodesOverHttpCanary, DecidesAnOccurrenceAgain) { EXPECT_TRUE(shows_in_schedules(runner_flaw::decides_again)); }
TEST(NodesOverHttpCanary, CommitsATurnInTwoSteps) { EXPECT_TRUE(shows_in_schedules(runner_flaw::commits_in_two, 70)); }
TEST(NodesOverHttpCanary, IsEarly) { EXPECT_TRUE(shows_over(flaw::is_early, "early")); }
TEST(NodesOverHttpCanary, KeepsReservations) { EXPECT_TRUE(shows_over(flaw::keeps_lasting, "left")); }
TEST(NodesOverHttpCanary, IgnoresPriorities) { EXPECT_TRUE(shows_over(flaw::ignores_priorities, "out of order")); }
TEST(NodesOverHttpCanary, IgnoresIdempotencyKeys) { EXPECT_TRUE(shows_over(flaw::ignores_once, "once")); }
TEST(NodesOverHttpCanary, ClaimsAgain) { EXPECT_TRUE(shows_over(flaw::claims_again, "once")); }
TEST(NodesOverHttpCanary, GivesBackWhatAnotherNodeHasRepeated) {
  EXPECT_TRUE(shows_over(flaw::leaves_with_first_node, "held by two"));
}
TEST(NodesOverHttpCanary, PutsABatchAgain) { EXPECT_TRUE(shows_over(flaw::puts_all_again, "once")); }
TEST(NodesOverHttpCanary, LeavesJobsOfARefusedBatch) { EXPECT_TRUE(shows_over(flaw::hides_what_is_undone, "refused")); }

}  // namespace
}  // namespace foliot::program::worlds
