// The canaries of the conformance suite: stores with one flaw each. The random test must find every one, or it finds
// nothing. Without a flaw the same store passes the whole suite, reopenings and failing calls included.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "jobs/conformance/journal_store.hpp"
#include "random_steps.hpp"
#include "twin.hpp"

namespace foliot::jobs::conformance {
namespace {

FOLIOT_CONFORMING_STORE(journal, [] { return std::make_unique<journal_under_test>(flaw::none); });

/// What the random test finds in some hundreds of sequences, which are the same in each run.
std::string found(flaw wrong) {
  const store_kind kind{"flawed", [wrong] { return std::make_unique<journal_under_test>(wrong); }};
  const auto sequences = arbitrary_steps();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    twin both(kind);
    for (const step& each : sequences(rc::Random(seed), 60).value()) both.perform(each);
    if (both.failure()) return *both.failure();
  }
  return "";
}

TEST(JobCanary, IsReadyEarly) { EXPECT_NE(found(flaw::is_ready_early), ""); }
TEST(JobCanary, LosesBatchesAtACrash) { EXPECT_NE(found(flaw::loses_batches_at_a_crash), ""); }
TEST(JobCanary, TearsAFailedBatch) { EXPECT_NE(found(flaw::tears_a_failed_batch), ""); }
TEST(JobCanary, GoesOnAfterAFailure) { EXPECT_NE(found(flaw::goes_on_after_a_failure), ""); }
TEST(JobCanary, RepeatsTokens) { EXPECT_NE(found(flaw::repeats_tokens), ""); }
TEST(JobCanary, KeepsReservations) { EXPECT_NE(found(flaw::keeps_reservations), ""); }
TEST(JobCanary, ForgetsAReadyTube) { EXPECT_NE(found(flaw::forgets_a_ready_tube), ""); }
TEST(JobCanary, ForgetsAnEmptiedTube) { EXPECT_NE(found(flaw::forgets_an_emptied_tube), ""); }
TEST(JobCanary, HidesAnExpiry) { EXPECT_NE(found(flaw::hides_an_expiry), ""); }
TEST(JobCanary, SaysNextTooLate) { EXPECT_NE(found(flaw::says_next_too_late), ""); }
TEST(JobCanary, ClaimsTheLastFirst) { EXPECT_NE(found(flaw::claims_the_last_first), ""); }
TEST(JobCanary, MovesItsFloorTooSoon) { EXPECT_NE(found(flaw::moves_its_floor_too_soon), ""); }
TEST(JobCanary, IgnoresAttempts) { EXPECT_NE(found(flaw::ignores_attempts), ""); }
TEST(JobCanary, PrefersHighNumbers) { EXPECT_NE(found(flaw::prefers_high_numbers), ""); }
TEST(JobCanary, LiesAboutCancels) { EXPECT_NE(found(flaw::lies_about_cancels), ""); }
TEST(JobCanary, GivesAnIdTwice) { EXPECT_NE(found(flaw::gives_an_id_twice), ""); }
TEST(JobCanary, SaysDueTooLate) { EXPECT_NE(found(flaw::says_due_too_late), ""); }
TEST(JobCanary, PutsOnlySome) { EXPECT_NE(found(flaw::puts_only_some), ""); }
TEST(JobCanary, DropsFields) { EXPECT_NE(found(flaw::drops_fields), ""); }
TEST(JobCanary, DropsHistories) { EXPECT_NE(found(flaw::drops_histories), ""); }
TEST(JobCanary, IgnoresVersions) { EXPECT_NE(found(flaw::ignores_versions), ""); }
TEST(JobCanary, KeepsVersions) { EXPECT_NE(found(flaw::keeps_versions), ""); }
TEST(JobCanary, ChangesDueVersions) { EXPECT_NE(found(flaw::changes_due_versions), ""); }
TEST(JobCanary, IgnoresOnce) { EXPECT_NE(found(flaw::ignores_once), ""); }
TEST(JobCanary, ClaimsAgain) { EXPECT_NE(found(flaw::claims_again), ""); }
TEST(JobCanary, PutsAllAgain) { EXPECT_NE(found(flaw::puts_all_again), ""); }
TEST(JobCanary, ForgetsOnce) { EXPECT_NE(found(flaw::forgets_once), ""); }
TEST(JobCanary, TakesAnyRequest) { EXPECT_NE(found(flaw::takes_any_request), ""); }
TEST(JobCanary, RemembersTooLong) { EXPECT_NE(found(flaw::remembers_too_long), ""); }
TEST(JobCanary, ForgetsTooSoon) { EXPECT_NE(found(flaw::forgets_too_soon), ""); }
TEST(JobCanary, RepeatsEndedClaims) { EXPECT_NE(found(flaw::repeats_ended_claims), ""); }
TEST(JobCanary, IgnoresHolders) { EXPECT_NE(found(flaw::ignores_holders), ""); }
TEST(JobCanary, IgnoresHoldersInAll) { EXPECT_NE(found(flaw::ignores_holders_in_all), ""); }
TEST(JobCanary, TakesAnyHolder) { EXPECT_NE(found(flaw::takes_any_holder), ""); }
TEST(JobCanary, EndsRefusedHolders) { EXPECT_NE(found(flaw::ends_refused_holders), ""); }
TEST(JobCanary, PutsAllButTheRefusedHolder) { EXPECT_NE(found(flaw::puts_all_but_the_refused), ""); }
TEST(JobCanary, KeepsReplacedReservations) { EXPECT_NE(found(flaw::keeps_replaced_reservations), ""); }
TEST(JobCanary, LeavesOutTheLastOfEqualTimes) { EXPECT_NE(found(flaw::leaves_out_equal_times), ""); }
TEST(JobCanary, BeginsPagesTooSoon) { EXPECT_NE(found(flaw::begins_pages_too_soon), ""); }
TEST(JobCanary, EndsPagesTooSoon) { EXPECT_NE(found(flaw::ends_pages_too_soon), ""); }
TEST(JobCanary, ListsEqualsReversed) { EXPECT_NE(found(flaw::lists_equals_reversed), ""); }
TEST(JobCanary, ListsOtherTubes) { EXPECT_NE(found(flaw::lists_other_tubes), ""); }
TEST(JobCanary, HidesTheNextPage) { EXPECT_NE(found(flaw::hides_the_next_page), ""); }
TEST(JobCanary, DropsTheRankOfNext) { EXPECT_NE(found(flaw::drops_the_rank_of_next), ""); }

/// The random test is worth little if it does not come to the failures, and to jobs that their holders replace. The
/// sequences of a seed are the same in each run, so what is counted is, too: the bounds are some half of that, or less.
TEST(JobCanary, TheRandomTestFailsCallsAndReopens) {
  const store_kind kind{"sound", [] { return std::make_unique<journal_under_test>(flaw::none); }};
  const auto sequences = arbitrary_steps();
  int failed = 0;
  twin::holders met;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    twin both(kind);
    for (const step& each : sequences(rc::Random(seed), 60).value()) both.perform(each);
    ASSERT_EQ(both.failure().value_or(""), "") << "seed " << seed;
    failed += both.failed_batches();
    const twin::holders& its = both.met_holders();
    met.replaced += its.replaced;
    met.refused += its.refused;
    met.replaced_in_all += its.replaced_in_all;
    met.refused_in_all += its.refused_in_all;
    met.refused_behind += its.refused_behind;
  }
  EXPECT_GT(failed, 20);
  EXPECT_GT(met.replaced, 20);
  EXPECT_GT(met.refused, 20);
  EXPECT_GT(met.replaced_in_all, 3);
  EXPECT_GT(met.refused_in_all, 10);
  EXPECT_GT(met.refused_behind, 0);
}

}  // namespace
}  // namespace foliot::jobs::conformance
