// The whole server in simulated worlds: no world may break a promise, and each way in which a store can be wrong must
// show.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "explore.hpp"
#include "jobs/conformance/journal_store.hpp"

namespace foliot::program::worlds {
namespace {

using jobs::conformance::flaw;
using jobs::conformance::journal_under_test;

#if defined(FOLIOT_SANITIZED)
constexpr std::uint64_t worlds_here = 75;
#else
constexpr std::uint64_t worlds_here = 300;
#endif
/// Each flaw shows in one of the first few dozen worlds.
constexpr std::uint64_t worlds_of_a_canary = 1000;

std::unique_ptr<simulated_disk> sound(std::uint64_t) { return std::make_unique<journal_under_test>(flaw::none); }

bool shows(flaw wrong, std::string_view rule) {
  return finds(rule, worlds_of_a_canary, [&](std::uint64_t) { return std::make_unique<journal_under_test>(wrong); });
}

/// What is wrong with the conversations of a broken server of HTTP.
enum class http_flaw : std::uint8_t {
  keeps_jobs_for_gone_clients,  ///< reserves them, too, for those that have gone while they waited
  gives_back_what_was_sent,     ///< when the connection ends, as over beanstalk
};

class broken_service final : public http::service {
 public:
  broken_service(http::service& inner, http_flaw wrong) : inner_(inner), flaw_(wrong) {}

  std::unique_ptr<http::conversation> begin(byte_stream& peer) override {
    return std::make_unique<conversation>(*this, inner_.begin(peer));
  }

 private:
  class conversation final : public http::conversation {
   public:
    conversation(broken_service& of, std::unique_ptr<http::conversation> inner)
        : owner_(of), inner_(std::move(inner)) {}
    ~conversation() override {
      if (owner_.flaw_ == http_flaw::keeps_jobs_for_gone_clients) owner_.kept_.push_back(std::move(inner_));
    }

    std::optional<http::response> refuse(const http::request& head) override { return inner_->refuse(head); }
    task<http::response> answer(http::request& what, http::answering_side& side) override {
      if (owner_.flaw_ != http_flaw::keeps_jobs_for_gone_clients) return inner_->answer(what, side);
      return answer_blindly(what, side);
    }
    void note_sent() noexcept override {
      if (owner_.flaw_ != http_flaw::gives_back_what_was_sent) inner_->note_sent();
    }

   private:
    /// Does not look at the connection during a wait.
    class blind_side final : public http::answering_side {
     public:
      explicit blind_side(http::answering_side& below) : below_(below) {}
      task<bool> take_room(std::size_t bytes) override { return below_.take_room(bytes); }
      task<bool> wait_for(task<> what) override {
        co_await what;
        co_return true;
      }
      task<http::response> stream(const http::response& head, http::streamed_body& body) override {
        return below_.stream(head, body);
      }

     private:
      http::answering_side& below_;
    };

    task<http::response> answer_blindly(http::request& what, http::answering_side& side) {
      blind_side blind(side);
      auto answering = inner_->answer(what, blind);
      http::response made = co_await answering;
      co_return made;
    }

    broken_service& owner_;
    std::unique_ptr<http::conversation> inner_;
  };

  http::service& inner_;
  const http_flaw flaw_;
  std::vector<std::unique_ptr<http::conversation>> kept_;
};

bool shows(http_flaw wrong, std::string_view rule) {
  return finds(rule, worlds_of_a_canary, sound,
               [&](http::service& inner) { return std::make_unique<broken_service>(inner, wrong); });
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
TEST(ServerCanary, IgnoresAttempts) {
  EXPECT_TRUE(shows(flaw::ignores_attempts, "refused"));
  EXPECT_TRUE(shows(flaw::ignores_attempts, "stale"));
}
TEST(ServerCanary, RepeatsTokens) { EXPECT_TRUE(shows(flaw::repeats_tokens, "same token")); }
TEST(ServerCanary, IgnoresVersions) { EXPECT_TRUE(shows(flaw::ignores_versions, "version")); }
TEST(ServerCanary, KeepsVersions) { EXPECT_TRUE(shows(flaw::keeps_versions, "version")); }
TEST(ServerCanary, ChangesVersionsOfWhatIsDue) { EXPECT_TRUE(shows(flaw::changes_due_versions, "lie: other version")); }
TEST(ServerCanary, KeepsJobsForClientsThatHaveGone) {
  EXPECT_TRUE(shows(http_flaw::keeps_jobs_for_gone_clients, "late"));
}
TEST(ServerCanary, GivesBackWhatWasSent) { EXPECT_TRUE(shows(http_flaw::gives_back_what_was_sent, "refused")); }
TEST(ServerCanary, IsReadyEarly) { EXPECT_TRUE(shows(flaw::is_ready_early, "early")); }
TEST(ServerCanary, PrefersHighNumbers) { EXPECT_TRUE(shows(flaw::prefers_high_numbers, "out of order")); }
TEST(ServerCanary, LiesAboutCancels) { EXPECT_TRUE(shows(flaw::lies_about_cancels, "back")); }
TEST(ServerCanary, GivesAnIdTwice) { EXPECT_TRUE(shows(flaw::gives_an_id_twice, "same id")); }
TEST(ServerCanary, PutsTwiceWhatHappensOnce) { EXPECT_TRUE(shows(flaw::ignores_once, "once")); }
TEST(ServerCanary, ForgetsWhatHappenedOnce) { EXPECT_TRUE(shows(flaw::forgets_once, "once")); }
TEST(ServerCanary, PutsABatchAgain) { EXPECT_TRUE(shows(flaw::puts_all_again, "once")); }
TEST(ServerCanary, ClaimsAgain) { EXPECT_TRUE(shows(flaw::claims_again, "once")); }
TEST(ServerCanary, PutsSomeOfARefusedBatch) { EXPECT_TRUE(shows(flaw::puts_only_some, "refused")); }
TEST(ServerCanary, SaysDueTooLate) { EXPECT_TRUE(shows(flaw::says_due_too_late, "late")); }
TEST(ServerCanary, LeavesOutTheLastOfEqualTimes) { EXPECT_TRUE(shows(flaw::leaves_out_equal_times, "wrong page")); }
TEST(ServerCanary, KeepsReservations) { EXPECT_TRUE(shows(flaw::keeps_reservations, "left")); }

}  // namespace
}  // namespace foliot::program::worlds
