// The whole server in simulated worlds: no world may break a promise, and each way in which a store can be wrong must
// show.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "explore.hpp"
#include "jobs/conformance/journal_store.hpp"

namespace foliot::program::worlds {
namespace {

using jobs::conformance::flaw;
using jobs::conformance::journal_under_test;

#if defined(FOLIOT_SANITIZED)
constexpr std::uint64_t worlds_here = 150;
#else
constexpr std::uint64_t worlds_here = 2000;
#endif
/// Each flaw shows in one of the first few dozen worlds.
constexpr std::uint64_t worlds_of_a_canary = 1000;

std::unique_ptr<simulated_disk> sound(std::uint64_t) { return std::make_unique<journal_under_test>(flaw::none); }

bool shows(flaw wrong, std::string_view rule) {
  return finds(rule, worlds_of_a_canary, [&](std::uint64_t) { return std::make_unique<journal_under_test>(wrong); });
}

TEST(SimulatedServer, KeepsItsPromises) { EXPECT_GT(explore(worlds_here, sound), 0U); }

/// A failure could not be repeated otherwise.
TEST(SimulatedServer, ASeedIsTheSameWorld) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const history one = play(seed, *sound(seed)).seen;
    const history other = play(seed, *sound(seed)).seen;
    ASSERT_EQ(one.events.size(), other.events.size()) << "seed " << seed;
    EXPECT_EQ(one.left, other.left) << "seed " << seed;
    for (std::size_t i = 0; i < one.events.size(); ++i) {
      EXPECT_EQ(one.events[i].begin, other.events[i].begin) << "seed " << seed << ", event " << i;
      EXPECT_EQ(one.events[i].end, other.events[i].end) << "seed " << seed << ", event " << i;
      EXPECT_EQ(one.events[i].answer, other.events[i].answer) << "seed " << seed << ", event " << i;
    }
  }
}

TEST(ServerCanary, AcknowledgesBeforeTheSync) { EXPECT_TRUE(shows(flaw::loses_batches_at_a_crash, "lost")); }
TEST(ServerCanary, MovesItsFloorTooSoon) { EXPECT_TRUE(shows(flaw::moves_its_floor_too_soon, "lost")); }
TEST(ServerCanary, IgnoresAttempts) { EXPECT_TRUE(shows(flaw::ignores_attempts, "refused")); }
TEST(ServerCanary, IsReadyEarly) { EXPECT_TRUE(shows(flaw::is_ready_early, "early")); }
TEST(ServerCanary, PrefersHighNumbers) { EXPECT_TRUE(shows(flaw::prefers_high_numbers, "out of order")); }
TEST(ServerCanary, LiesAboutCancels) { EXPECT_TRUE(shows(flaw::lies_about_cancels, "back")); }
TEST(ServerCanary, GivesAnIdTwice) { EXPECT_TRUE(shows(flaw::gives_an_id_twice, "same id")); }
TEST(ServerCanary, SaysDueTooLate) { EXPECT_TRUE(shows(flaw::says_due_too_late, "late")); }
TEST(ServerCanary, LeavesOutTheLastOfEqualTimes) { EXPECT_TRUE(shows(flaw::leaves_out_equal_times, "wrong page")); }
TEST(ServerCanary, KeepsReservations) { EXPECT_TRUE(shows(flaw::keeps_reservations, "left")); }

}  // namespace
}  // namespace foliot::program::worlds
