// The canaries of the model of policies: for each rule a store that breaks it, which the walks must find, or they find
// nothing. Some get other policies than the judge, some are spoilt below or above the policy_store.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "courses.hpp"

namespace foliot::jobs::policies_model {
namespace {

/// What the walks find: the same in each run. Empty: nothing.
std::string found_by(const course& over) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const outcome one = walk(over, seed);
    if (one.failure) return *one.failure;
  }
  return "";
}

/// They must find it, and say something of this kind.
void expect_found(const course& over, std::string_view part) {
  const std::string what = found_by(over);
  EXPECT_NE(what.find(part), std::string::npos) << what;
}

course with_policies(const std::function<void(tube_policy&)>& distort, course over = strict_course()) {
  over.distort = [distort](policy_table& all) {
    for (auto& [name, each] : all) distort(each);
  };
  return over;
}

/// `spoil` is called with each operation of the kind that reaches the store below.
template <class Operation>
course with_operations(std::function<void(Operation&)> spoil, course over = strict_course()) {
  over.below = [spoil = std::move(spoil)](std::span<operation> batch) {
    for (operation& each : batch) {
      if (auto* const it = std::get_if<Operation>(&each)) spoil(*it);
    }
  };
  return over;
}

// Tries.

TEST(PolicyCanary, GivesOneMoreTry) {
  expect_found(with_policies([](tube_policy& it) { it.tries += it.tries == 0 ? 0 : 1; }), "last try");
}
TEST(PolicyCanary, GivesOneTryLess) {
  expect_found(with_policies([](tube_policy& it) { it.tries -= it.tries > 1 ? 1 : 0; }), "at rest");
}
TEST(PolicyCanary, CountsNoTimeouts) {
  EXPECT_NE(found_by(with_policies([](tube_policy& it) { it.counts_timeouts = false; })), "");
}
TEST(PolicyCanary, CountsEachTimeout) {
  EXPECT_NE(found_by(with_policies([](tube_policy& it) { it.counts_timeouts = true; })), "");
}
TEST(PolicyCanary, CountsNoReleases) {
  EXPECT_NE(found_by(with_policies([](tube_policy& it) { it.counts_releases = false; })), "");
}
TEST(PolicyCanary, CountsEachRelease) {
  EXPECT_NE(found_by(with_policies([](tube_policy& it) { it.counts_releases = true; })), "");
}
TEST(PolicyCanary, LosesTheTriesOfReleases) {
  EXPECT_NE(found_by(with_operations<release>([](release& it) { it.history.reset(); })), "");
}
TEST(PolicyCanary, LosesTheTriesOfBuries) {
  EXPECT_NE(found_by(with_operations<bury>([](bury& it) { it.history.reset(); })), "");
}
TEST(PolicyCanary, LosesTheReasons) {
  const auto forget = [](release& it) {
    if (!it.history) return;
    std::optional<job_tries> tries = job_tries::in(*it.history);
    if (!tries) return;
    for (failed_try& each : tries->last) each.why.clear();
    static_cast<void>(tries->write(*it.history));
  };
  expect_found(with_operations<release>(forget), "is not in its history");
}

// Delays.

TEST(PolicyCanary, IsTriedAgainAMillisecondEarly) {
  const auto shorter = [](tube_policy& it) {
    if (it.delay.first.count() != 0) it.delay.first -= milliseconds(1);
    for (milliseconds& each : it.delay.listed) each -= milliseconds(each.count() == 0 ? 0 : 1);
  };
  EXPECT_NE(found_by(with_policies(shorter)), "");
}
TEST(PolicyCanary, IsTriedAgainAMillisecondLate) {
  expect_found(with_policies([](tube_policy& it) {
                 for (milliseconds& each : it.delay.listed) each += milliseconds(1);
               }),
               "it is delayed until");
}
TEST(PolicyCanary, GrowsBeyondItsMost) {
  EXPECT_NE(found_by(with_policies([](tube_policy& it) { it.delay.most = std::chrono::hours(1); })), "");
}
TEST(PolicyCanary, IsReleasedWithoutADelay) {
  expect_found(with_operations<release>([](release& it) { it.due = milliseconds(0); }), "early");
}

// The last try.

TEST(PolicyCanary, BuriesInsteadOfMoving) {
  expect_found(with_policies([](tube_policy& it) { it.dead_letters.clear(); }), "buried instead of moved");
}
TEST(PolicyCanary, MovesElsewhere) {
  expect_found(with_policies([](tube_policy& it) { it.dead_letters = it.dead_letters.empty() ? "" : "plain"; }),
               "it is in tube plain");
}
/// The put of a dead letter, which happens once.
bool is_dead_letter(const put& what) {
  return what.tube == "dead" && job_tries::in(what.history).value_or(job_tries{}) != job_tries{};
}

TEST(PolicyCanary, PutsDeadLettersAgain) {
  const auto forget = [](put& it) {
    if (is_dead_letter(it)) it.once = {};
  };
  EXPECT_NE(found_by(with_operations<put>(forget, loose_course())), "");
}
TEST(PolicyCanary, LosesDeadLetters) {
  course over = strict_course();
  over.below = [](std::span<operation> batch) {
    for (operation& each : batch) {
      auto* const it = std::get_if<put>(&each);
      if (it != nullptr && is_dead_letter(*it)) it->tube = "lost";
    }
  };
  EXPECT_NE(found_by(over), "");
}
TEST(PolicyCanary, LosesTheHistoryOfDeadLetters) {
  const auto forget = [](put& it) {
    if (is_dead_letter(it)) it.history = {};
  };
  EXPECT_NE(found_by(with_operations<put>(forget)), "");
}
TEST(PolicyCanary, LosesTheFieldsOfDeadLetters) {
  const auto forget = [](put& it) {
    if (is_dead_letter(it)) it.fields = {};
  };
  expect_found(with_operations<put>(forget), "it has other fields");
}
TEST(PolicyCanary, KeepsTheOriginalOfADeadLetter) {
  course over = strict_course();
  over.below = [moves = std::make_shared<bool>(false)](std::span<operation> batch) {
    for (operation& each : batch) {
      if (const auto* const it = std::get_if<finish>(&each); it != nullptr && std::exchange(*moves, false)) {
        each = abandon{it->token};
      } else if (const auto* const moved = std::get_if<put>(&each)) {
        *moves = *moves || is_dead_letter(*moved);
      }
    }
  };
  EXPECT_NE(found_by(over), "");
}

// Expiry.

TEST(PolicyCanary, ExpiresLate) {
  expect_found(with_policies([](tube_policy& it) { it.expires += milliseconds(it.expires.count() == 0 ? 0 : 1); }),
               "expired");
}
TEST(PolicyCanary, ExpiresEarly) {
  EXPECT_NE(
      found_by(with_policies([](tube_policy& it) { it.expires -= milliseconds(it.expires.count() == 0 ? 0 : 1); })),
      "");
}
TEST(PolicyCanary, NeverExpires) {
  expect_found(with_policies([](tube_policy& it) { it.expires = {}; }), "expired");
}
TEST(PolicyCanary, IgnoresTheExpiryOfAJob) {
  course over = strict_course();
  over.below = [](std::span<operation> batch) {
    for (operation& each : batch) {
      if (auto* const it = std::get_if<put>(&each)) it->fields.erase(tag_of_expiry);
    }
  };
  EXPECT_NE(found_by(over), "");
}

// Limits.

TEST(PolicyCanary, ReservesOneTooMany) {
  expect_found(with_policies([](tube_policy& it) { it.most_reserved += it.most_reserved == 0 ? 0 : 1; }),
               "are reserved at once");
}
TEST(PolicyCanary, ReservesOneTooManyOfAGroup) {
  expect_found(
      with_policies([](tube_policy& it) { it.most_reserved_of_group += it.most_reserved_of_group == 0 ? 0 : 1; }),
      "are reserved of a group");
}
TEST(PolicyCanary, ReservesTooFast) {
  expect_found(with_policies([](tube_policy& it) { it.most_per_second *= 2; }), " within ");
}
TEST(PolicyCanary, ReservesOneMoreInABurst) {
  expect_found(with_policies([](tube_policy& it) { ++it.burst; }), " within ");
}
TEST(PolicyCanary, WithholdsATube) {
  EXPECT_NE(found_by(with_operations<claim>([](claim& it) {
              if (it.tubes.size() == 1 && it.tubes[0] == "b") it.tubes[0] = "none";
            })),
            "");
}

// Steps.

TEST(PolicyCanary, IsNeverAskedToGoOn) {
  course over = strict_course();
  over.forgets_next = true;
  EXPECT_NE(found_by(over), "");
}
TEST(PolicyCanary, AbandonsInsteadOfReleasing) {
  course over = strict_course();
  over.below = [](std::span<operation> batch) {
    for (operation& each : batch) {
      if (const auto* const it = std::get_if<release>(&each)) each = abandon{it->token};
    }
  };
  EXPECT_NE(found_by(over), "");
}
TEST(PolicyCanary, HandsOutTwice) {
  course over = strict_course();
  over.above = [last = std::make_shared<claimed_job>()](std::span<const operation>, execution& done) {
    for (answer& each : done.answers) {
      auto* const it = std::get_if<claim_answer>(&each);
      if (it == nullptr) continue;
      if (it->jobs.empty() && last->token.id != 0) it->jobs.push_back(std::exchange(*last, {}));
      if (!it->jobs.empty()) *last = it->jobs.back();
    }
  };
  EXPECT_NE(found_by(over), "");
}
TEST(PolicyCanary, SwallowsAJob) {
  course over = strict_course();
  over.above = [](std::span<const operation>, execution& done) {
    for (answer& each : done.answers) {
      if (auto* const it = std::get_if<claim_answer>(&each); it != nullptr && it->jobs.size() > 1) it->jobs.pop_back();
    }
  };
  EXPECT_NE(found_by(over), "");
}
TEST(PolicyCanary, LosesTriesOverReopenings) {
  course over = reopened_course();
  over.below = [](std::span<operation> batch) {
    for (operation& each : batch) {
      if (auto* const it = std::get_if<release>(&each); it != nullptr && it->history) it->history->erase(tag_of_tries);
    }
  };
  EXPECT_NE(found_by(over), "");
}

}  // namespace
}  // namespace foliot::jobs::policies_model
