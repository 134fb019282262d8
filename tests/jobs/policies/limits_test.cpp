// Policies of tubes: how many of a tube and of a group are reserved at once, and how many a second.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policy_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

bool names(const execution& it, const std::string& tube) {
  return std::ranges::find(it.ready_tubes, tube) != it.ready_tubes.end();
}

TEST(PolicyLimits, ATubeThatIsFullIsLeftOutUntilAReservationEnds) {
  policy_world world(mail({.most_reserved = 2}));
  for (int i = 0; i < 6; ++i) world.put_one();
  const auto one = world.claim_one();
  const auto two = world.claim_one();
  ASSERT_TRUE(one && two);
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.ready, 4U);
  world.only(finish{one->token});
  EXPECT_TRUE(names(world.last, "mail"));
  const auto three = world.claim_one();
  ASSERT_TRUE(three);
  EXPECT_FALSE(world.claim_one());
  world.only(release{.token = three->token});
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  world.only(bury{.token = two->token});
  const auto four = world.claim_one();
  ASSERT_TRUE(four);
  EXPECT_FALSE(world.claim_one());
  world.only(abandon{four->token});
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicyLimits, AnEndedTtrFreesASlot) {
  policy_world world(mail({.most_reserved = 1}));
  world.put_one();
  world.put_one();
  ASSERT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  world.time.advance(duration(10s) + duration(1ms));
  world.last = world.store->execute({});
  EXPECT_TRUE(names(world.last, "mail"));
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicyLimits, AClaimOfManyBringsAsManyAsThereAreSlots) {
  policy_world world(mail({.most_reserved = 3}));
  for (int i = 0; i < 9; ++i) world.put_one();
  EXPECT_EQ(world.only(claim{.tubes = {"mail"}, .count = 10}).jobs.size(), 3U);
  EXPECT_EQ(world.inner.execute({}).answers.size(), 0U);
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.reserved, 3U);
}

TEST(PolicyLimits, TwoClaimsOfABatchShareTheSlots) {
  policy_world world(mail({.most_reserved = 3}));
  for (int i = 0; i < 9; ++i) world.put_one();
  std::vector<operation> batch(3, claim{.tubes = {"mail"}, .count = 2});
  const execution done = world.store->execute(batch);
  std::vector<std::size_t> sizes;
  for (const answer& each : done.answers) sizes.push_back(std::get<claim_answer>(each).jobs.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_FALSE(names(done, "mail"));
}

TEST(PolicyLimits, OtherTubesOfAClaimAreNotHeldBack) {
  policy_world world(mail({.most_reserved = 1}));
  world.put_one();
  world.put_one();
  const job_id other = world.put_one("other");
  ASSERT_TRUE(world.claim_one());
  const claim_answer got = world.only(claim{.tubes = {"mail", "other"}, .count = 2});
  ASSERT_EQ(got.jobs.size(), 1U);
  EXPECT_EQ(got.jobs[0].token.id, other);
}

TEST(PolicyLimits, AClaimOfSeveralTubesIsNamedAgainUntilItHasWhatThereIs) {
  policy_world world(mail({.most_reserved = 1}));
  for (int i = 0; i < 3; ++i) world.put_one();
  for (int i = 0; i < 3; ++i) world.put_one("other");
  std::size_t got = 0;
  int turns = 0;
  do {
    ASSERT_LT(++turns, 20);
    got += world.only(claim{.tubes = {"mail", "other"}, .count = static_cast<std::uint32_t>(10 - got)}).jobs.size();
  } while (names(world.last, "other") || names(world.last, "mail"));
  EXPECT_EQ(got, 4U);
}

TEST(PolicyLimits, AnEmptyTubeIsNotNamedWithoutEnd) {
  policy_world world(mail({.most_reserved = 2, .most_per_second = 10, .burst = 1}));
  std::vector<operation> batch(3, claim{.tubes = {"mail"}, .count = 2});
  const execution done = world.store->execute(batch);
  EXPECT_FALSE(names(done, "mail"));
  EXPECT_FALSE(world.wants_turn());
  EXPECT_EQ(world.store->next(), next_change{});
}

TEST(PolicyLimits, AJobThatIsNamedIsHandedOutAndTakesASlot) {
  policy_world world(mail({.most_reserved = 1}));
  world.put_one();
  const job_id second = world.put_one();
  const auto one = world.claim_one();
  EXPECT_EQ(world.only(claim_job{second}).jobs.size(), 1U);
  world.only(finish{one->token});
  world.put_one();
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicyLimits, APutThatReplacesItsHoldersJobFreesASlot) {
  policy_world world(mail({.most_reserved = 1}));
  world.put_one(put{.tube = "mail", .key = "k", .body = "b"});
  const auto got = world.claim_one();
  const put next{.tube = "mail", .key = "k", .body = "c", .existing = on_existing::replace, .holder = got->token};
  EXPECT_EQ(world.only(put_all{.puts = {next}}).puts.at(0).what, put_answer::kind::replaced);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyLimits, ReservationsFromBeforeThePolicyCountUntilTheyEnd) {
  policy_world world;
  for (int i = 0; i < 5; ++i) world.put_one();
  const auto one = world.claim_one();
  const auto two = world.claim_one();
  world.set(mail({.most_reserved = 2}));
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.ready, 3U);
  world.only(finish{one->token});
  EXPECT_TRUE(names(world.last, "mail"));
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  world.only(finish{two->token});
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicyLimits, AWiderLimitIsNamed) {
  policy_world world(mail({.most_reserved = 1}));
  for (int i = 0; i < 3; ++i) world.put_one();
  ASSERT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  world.set(mail({.most_reserved = 2}));
  EXPECT_TRUE(world.wants_turn());
  world.settle();
  EXPECT_NE(std::ranges::find(world.ready, "mail"), world.ready.end());
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  world.set({});
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyLimits, OtherNodesReservationsCount) {
  policy_world world(mail({.most_reserved = 2}), {}, true);
  policy_store other(world.spied, world.clocks);
  other.set_policies(world.table);
  for (int i = 0; i < 5; ++i) world.put_one();
  operation there(claim{.tubes = {"mail"}, .count = 5});
  const execution got = other.execute(std::span(&there, 1));
  const auto& jobs = std::get<claim_answer>(got.answers.at(0)).jobs;
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.reserved, 2U);
  operation ends(finish{jobs[0].token});
  other.execute(std::span(&ends, 1));
  EXPECT_TRUE(world.claim_one());  // which has looked
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicyLimits, OtherNodesReservationsCountAlsoBehindACountOfNone) {
  policy_world world(mail({.most_reserved = 2}), {}, true);
  for (int i = 0; i < 5; ++i) world.put_one();
  world.run(finish{world.claim_one()->token});
  operation there(claim{.tubes = {"mail"}, .count = 2});
  world.inner.execute(std::span(&there, 1));
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.reserved, 2U);
}

TEST(PolicyLimits, ARepeatedClaimGetsItsJobsThoughTheTubeIsFull) {
  policy_world world(mail({.most_reserved = 1}));
  world.put_one();
  world.put_one();
  claim what{.tubes = {"mail"}, .count = 1};
  sha256 key{};
  key[0] = std::byte{1};
  what.once = once(key, key, 1h);
  const claim_answer first = world.only(what);
  const claim_answer again = world.only(what);
  ASSERT_EQ(first.jobs.size(), 1U);
  EXPECT_TRUE(again.is_replayed);
  EXPECT_EQ(again.jobs, first.jobs);
}

TEST(PolicyLimits, ARepeatedClaimDoesNotGetAJobThatWasTakenOut) {
  policy_world world({{"mail", {.tries = 1}}}, {}, true);
  job_fields spent;
  ASSERT_TRUE((job_tries{.failed = 1}.write(spent)));
  const job_id id = world.put_one(put{.tube = "mail", .body = "b", .history = spent});
  claim what{.tubes = {"mail"}, .count = 1};
  sha256 key{};
  key[0] = std::byte{1};
  what.once = once(key, key, 1h);
  EXPECT_TRUE(world.only(what).jobs.empty());
  world.restart();  // another node, before the step
  EXPECT_TRUE(world.only(what).jobs.empty());
  world.settle();
  EXPECT_EQ(world.state_of(id), job_state::buried);
}

TEST(PolicyLimits, ARepeatedClaimDoesNotGetAJobWhoseStepWaits) {
  policy_world world({{"mail", {.tries = 1}}}, {}, true);
  job_fields spent;
  ASSERT_TRUE((job_tries{.failed = 1}.write(spent)));
  world.put_one(put{.tube = "mail", .body = "b", .history = spent});
  world.pass_over([](const operation& each) { return std::holds_alternative<bury>(each); });
  claim what{.tubes = {"mail"}, .count = 1};
  sha256 key{};
  key[0] = std::byte{1};
  what.once = once(key, key, 1h);
  EXPECT_TRUE(world.only(what).jobs.empty());
  EXPECT_TRUE(world.only(what).jobs.empty());
}

// The rate.

TEST(PolicyRate, SoManyAreReservedInASecond) {
  policy_world world(mail({.most_per_second = 4}));
  for (int i = 0; i < 100; ++i) world.put_one();
  int got = 0;
  for (int ms = 0; ms < 10'000; ++ms) {
    while (world.claim_one()) ++got;
    world.time.advance(1ms);
  }
  EXPECT_EQ(got, 40);
}

TEST(PolicyRate, ABurstFollowsAPause) {
  policy_world world(mail({.most_per_second = 2, .burst = 5}));
  for (int i = 0; i < 50; ++i) world.put_one();
  EXPECT_EQ(world.only(claim{.tubes = {"mail"}, .count = 50}).jobs.size(), 5U);
  EXPECT_FALSE(world.claim_one());
  world.time.advance(500ms);
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  world.time.advance(1h);
  EXPECT_EQ(world.only(claim{.tubes = {"mail"}, .count = 50}).jobs.size(), 5U);
}

TEST(PolicyRate, ATubeIsNamedWhenTheNextJobMayGo) {
  policy_world world(mail({.most_per_second = 4}));
  for (int i = 0; i < 3; ++i) world.put_one();
  const instant begin = world.time.now();
  ASSERT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.store->next().expiry, std::min(begin + 250ms, begin + 10s));
  world.ready.clear();
  world.pass(250ms);
  EXPECT_EQ(world.ready, std::vector<std::string>{"mail"});
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyRate, IsDividedAmongThoseThatShareTheJobs) {
  policy_world world(mail({.most_per_second = 4}));
  world.store->share(2);
  for (int i = 0; i < 9; ++i) world.put_one();
  const instant begin = world.time.now();
  ASSERT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.store->next().expiry, begin + 500ms);
  world.store->share(0);  // as 1
  world.pass(1h);
  world.put_one();
  const instant later = world.time.now();
  ASSERT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.store->next().expiry, later + 250ms);
}

TEST(PolicyRate, IsNotExceededByRounding) {
  policy_world world(mail({.most_per_second = 3}));
  for (int i = 0; i < 9; ++i) world.put_one();
  ASSERT_TRUE(world.claim_one());
  world.time.advance(333'333'333ns);
  EXPECT_FALSE(world.claim_one());
  world.time.advance(1ns);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyRate, BehindABurstTheNextOneComesWithTheRate) {
  policy_world world(mail({.most_per_second = 2, .burst = 5}));
  for (int i = 0; i < 9; ++i) world.put_one();
  const instant begin = world.time.now();
  EXPECT_EQ(world.only(claim{.tubes = {"mail"}, .count = 50}).jobs.size(), 5U);
  EXPECT_EQ(world.store->next().expiry, begin + 500ms);
}

TEST(PolicyRate, ATubeThatIsFullWaitsForASlotAndNotForTheRate) {
  policy_world world(mail({.most_reserved = 1, .most_per_second = 10}));
  world.put_one();
  world.put_one();
  const instant begin = world.time.now();
  ASSERT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.store->next().expiry, begin + 10s + 1ns);  // behind the TTR
}

// Groups.

TEST(PolicyGroups, AJobWhoseGroupIsFullWaitsAndOthersGo) {
  policy_world world(mail({.most_reserved_of_group = 1}));
  const job_id a1 = world.put_one("mail", in_group("a"));
  const job_id a2 = world.put_one("mail", in_group("a"));
  const job_id a3 = world.put_one("mail", in_group("a"));
  const job_id b1 = world.put_one("mail", in_group("b"));
  const job_id none1 = world.put_one();
  const job_id none2 = world.put_one();
  std::vector<job_id> got;
  std::vector<reservation> tokens;
  while (const auto one = world.claim_one()) {
    got.push_back(one->token.id);
    tokens.push_back(one->token);
  }
  EXPECT_EQ(got, (std::vector<job_id>{a1, b1, none1, none2}));
  EXPECT_EQ(world.state_of(a2), job_state::delayed);
  EXPECT_EQ(world.store->counters().parked, 2U);
  world.run(finish{tokens[0]});
  EXPECT_EQ(world.state_of(a2), job_state::ready);
  EXPECT_EQ(world.state_of(a3), job_state::delayed);
  const auto next = world.claim_one();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->token.id, a2);
  EXPECT_FALSE(world.claim_one());
  world.run(release{.token = next->token});
  const auto after = world.claim_one();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->token.id, a2);  // it comes first
}

TEST(PolicyGroups, AParkedJobIsLookedAtAgainAfterItsTime) {
  policy_world world(mail({.most_reserved_of_group = 1}));
  world.put_one(put{.tube = "mail", .body = "b", .ttr = 1h, .fields = in_group("a")});
  const job_id second = world.put_one("mail", in_group("a"));
  ASSERT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
  world.restart();  // the one that knows of the group is gone
  world.pass(parking_time);
  const auto got = world.claim_one();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->token.id, second);
}

TEST(PolicyGroups, AParkedJobExpiresInItsTime) {
  policy_world world(mail({.expires = 30s, .most_reserved_of_group = 1}));
  world.put_one(put{.tube = "mail", .body = "b", .ttr = 1h, .fields = in_group("a")});
  const job_id second = world.put_one("mail", in_group("a"));
  const auto first = world.claim_one();
  world.time.advance(10s);
  EXPECT_FALSE(world.claim_one());
  world.pass(duration(20s) - duration(1ms));
  EXPECT_EQ(world.state_of(second), job_state::delayed);
  world.pass(1ms);
  EXPECT_FALSE(world.claim_one());
  EXPECT_FALSE(world.show(second));
  EXPECT_EQ(world.store->counters().expired, 1U);
}

TEST(PolicyGroups, AParkedJobThatFailedElsewhereKeepsItsDelay) {
  policy_world world(mail({.delay = {.first = 1h}, .most_reserved_of_group = 1}));
  world.put_one(put{.tube = "mail", .body = "b", .ttr = 1h, .fields = in_group("a")});
  const job_id second = world.put_one("mail", in_group("a"));
  const auto first = world.claim_one();
  EXPECT_FALSE(world.claim_one());
  // Another node has it, and its worker gives it back.
  operation claims(claim_job{second});
  const execution got = world.inner.execute(std::span(&claims, 1));
  operation gives(release{.token = std::get<claim_answer>(got.answers.at(0)).jobs.at(0).token, .due = 1h});
  world.inner.execute(std::span(&gives, 1));
  world.run(finish{first->token});
  EXPECT_EQ(world.state_of(second), job_state::delayed);
}

TEST(PolicyGroups, AParkedJobThatIsGoneMakesRoomForTheNext) {
  policy_world world(mail({.most_reserved_of_group = 1}));
  for (int i = 0; i < 4; ++i) world.put_one("mail", in_group("a"));
  const auto first = world.claim_one();
  EXPECT_FALSE(world.claim_one());
  world.run(cancel{job_id{2}});
  world.run(finish{first->token});
  const auto next = world.claim_one();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->token.id, 3U);
}

TEST(PolicyGroups, AJobThatIsParkedBehindTheEndOfTheOtherGoesOn) {
  policy_world world(mail({.most_reserved_of_group = 1}), {}, true);
  world.put_one("mail", in_group("a"));
  const job_id second = world.put_one("mail", in_group("a"));
  const std::vector<claimed_job> got = world.only(claim{.tubes = {"mail"}, .count = 2}).jobs;
  ASSERT_EQ(got.size(), 1U);
  world.pass_over([](const operation& each) { return std::holds_alternative<release>(each); });
  world.only(finish{got[0].token});
  world.spied.accept();
  world.pass(1s);
  EXPECT_EQ(world.state_of(second), job_state::ready);
}

TEST(PolicyGroups, TheirSizeIsThatOfThePolicy) {
  policy_world world(mail({.most_reserved_of_group = 3}));
  for (int i = 0; i < 9; ++i) world.put_one("mail", in_group("a"));
  std::vector<claimed_job> got = world.only(claim{.tubes = {"mail"}, .count = 9}).jobs;
  EXPECT_EQ(got.size(), 3U);
  world.settle();
  for (const claimed_job& each : got) world.only(finish{each.token});
  world.settle();
  int more = 0;
  while (world.claim_one()) ++more;
  EXPECT_EQ(more, 3);
}

// What other nodes do.

/// Two nodes that share a store: `there` is the other one.
struct two_nodes : policy_world {
  explicit two_nodes(policy_table policies) : policy_world(std::move(policies), {}, true), there(spied, clocks) {
    there.set_policies(table);
  }
  template <class Operation>
  answer_of<Operation> run_there(Operation what) {
    operation one(std::move(what));
    execution done = there.execute(std::span(&one, 1));
    while (there.next().expiry <= time.now()) there.execute({});
    last_there = std::move(done);
    return std::get<answer_of<Operation>>(last_there.answers.at(0));
  }
  policy_store there;
  execution last_there;
};

TEST(PolicyNodes, AReservationThatEndsElsewhereFreesItsSlot) {
  two_nodes world(mail({.most_reserved = 1}));
  world.put_one(put{.tube = "mail", .body = "b", .ttr = 1h});
  world.put_one(put{.tube = "mail", .body = "b", .ttr = 1h});
  const auto one = world.claim_one();
  ASSERT_TRUE(one);
  EXPECT_FALSE(world.claim_one());
  world.run_there(finish{one->token});
  EXPECT_TRUE(world.claim_one()) << "a count says that none is reserved";
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicyNodes, AReservationThatEndsElsewhereFreesTheSlotOfItsGroup) {
  two_nodes world(mail({.most_reserved_of_group = 1}));
  const put what{.tube = "mail", .body = "b", .ttr = 1h, .fields = in_group("a")};
  world.put_one(what);
  const job_id second = world.put_one(what);
  const job_id third = world.put_one(what);
  const auto one = world.claim_one();
  EXPECT_FALSE(world.claim_one());
  ASSERT_EQ(world.state_of(second), job_state::delayed);
  world.run_there(finish{one->token});
  world.pass(5s);  // long before the parking ends
  EXPECT_EQ(world.state_of(second), job_state::ready);
  const auto two = world.claim_one();
  ASSERT_TRUE(two);
  EXPECT_EQ(two->token.id, second);
  EXPECT_FALSE(world.claim_one());
  EXPECT_EQ(world.state_of(third), job_state::delayed);
}

TEST(PolicyNodes, AReservationThatIsTouchedElsewhereKeepsItsGroupFull) {
  two_nodes world(mail({.most_reserved_of_group = 1}));
  const put what{.tube = "mail", .body = "b", .ttr = 1min, .fields = in_group("a")};
  world.put_one(what);
  world.put_one(what);
  const auto one = world.claim_one();
  for (int i = 0; i < 20; ++i) {
    world.pass(30s);
    ASSERT_EQ(world.run_there(touch{one->token}).what, holder_answer::kind::done);
    ASSERT_FALSE(world.claim_one()) << "touch " << i;
  }
  world.run_there(finish{one->token});
  world.pass(5s);
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyNodes, AReservationThatEndsElsewhereIsForgotten) {
  two_nodes world(mail({.most_reserved_of_group = 1}));
  world.put_one("mail", in_group("a"));
  const auto one = world.claim_one();
  world.run_there(finish{one->token});
  world.pass(1h);
  EXPECT_EQ(world.store->next().expiry, instant::never());
  world.put_one("mail", in_group("a"));
  EXPECT_TRUE(world.claim_one());
}

TEST(PolicyNodes, AFreedSlotIsNamedSoThatOthersHearOfIt) {
  two_nodes world(mail({.most_reserved = 1}));
  world.put_one();
  world.put_one();
  world.put_one();
  const auto one = world.claim_one();
  world.run(finish{one->token});
  world.ready.clear();
  const auto two = world.claim_one();
  ASSERT_TRUE(two);
  world.only(finish{two->token});  // nobody waits here
  EXPECT_TRUE(names(world.last, "mail"));
  world.set(mail({.most_reserved = 2}));
  const auto three = world.claim_one();
  ASSERT_TRUE(three);
  world.only(finish{three->token});
  EXPECT_FALSE(names(world.last, "mail")) << "it was not full";
}

// Stores that count together.

/// Two sessions of a server: `there` is the other one, over the same jobs.
struct two_sessions : policy_world {
  explicit two_sessions(policy_table policies)
      : policy_world(std::move(policies), {}, true), there_spied(inner, &nodes), there(there_spied, *store, clocks) {
    there.set_policies(table);
  }
  execution run_there(operation what) {
    execution done = there.execute(std::span(&what, 1));
    check_there();
    return done;
  }
  claim_answer claim_there(std::uint32_t count = 1) {
    return std::get<claim_answer>(run_there(claim{.tubes = {"mail"}, .count = count}).answers.at(0));
  }
  void check_there() {
    const check_result right = there.check();
    EXPECT_TRUE(right.has_value()) << right.error();
  }
  foliot::test::spy_store there_spied;
  policy_store there;
};

TEST(PolicySessions, TheSlotsOfAGroupAreThoseOfTheServer) {
  two_sessions world(mail({.most_reserved_of_group = 1}));
  const put what{.tube = "mail", .body = "b", .ttr = 1h, .fields = in_group("a")};
  world.put_one(what);
  const job_id second = world.put_one(what);
  const auto one = world.claim_one();
  ASSERT_TRUE(one);
  EXPECT_TRUE(world.claim_there().jobs.empty());
  world.there.execute({});
  EXPECT_EQ(world.state_of(second), job_state::delayed);
  world.run(finish{one->token});
  EXPECT_EQ(world.state_of(second), job_state::ready) << "the session that has the end wakes the job of the other";
  EXPECT_EQ(world.claim_there().jobs.size(), 1U);
}

TEST(PolicySessions, AReservationThatEndsAtAnotherSessionFreesItsSlotAtOnce) {
  two_sessions world(mail({.most_reserved_of_group = 1}));
  const put what{.tube = "mail", .body = "b", .ttr = 1h, .fields = in_group("a")};
  world.put_one(what);
  world.put_one(what);
  const auto one = world.claim_one();
  ASSERT_TRUE(one);
  EXPECT_FALSE(world.claim_one());
  world.run_there(finish{one->token});
  while (world.there.next().expiry <= world.time.now()) world.there.execute({});
  EXPECT_TRUE(world.claim_one());
  EXPECT_FALSE(world.claim_one());
}

TEST(PolicySessions, ASlotThatAClaimUnderWayMayTakeIsLookedAtAgain) {
  two_sessions world(mail({.most_reserved = 1}));
  // Its claim finds nothing; in between another job comes, and a client of the other session asks.
  bool is_first = true;
  world.spied.after = [&](execution&) {
    if (!std::exchange(is_first, false)) return;
    operation puts(put{.tube = "mail", .body = "b", .ttr = 1h});
    world.inner.execute(std::span(&puts, 1));
    EXPECT_TRUE(world.claim_there().jobs.empty()) << "the claim under way may have it";
  };
  EXPECT_TRUE(world.only(claim{.tubes = {"mail"}}).jobs.empty());
  world.spied.accept();
  const instant next = world.there.next().expiry;
  ASSERT_LE(next, world.time.now() + 5ms);
  world.time.advance_to(std::max(next, world.time.now()));
  EXPECT_TRUE(names(world.there.execute({}), "mail"));
  EXPECT_EQ(world.claim_there().jobs.size(), 1U);
}

TEST(PolicySessions, ACountWhileAnotherSessionHandsOutFreesNothing) {
  two_sessions world(mail({.most_reserved = 1}));
  for (int i = 0; i < 3; ++i) world.put_one();
  // Behind the count, and before its answer is read, the other session claims.
  std::size_t got = 0;
  world.spied.before = [&](std::span<operation>) { got += world.claim_there().jobs.size(); };
  got += world.only(claim{.tubes = {"mail"}}).jobs.size();
  world.spied.accept();
  world.spied.after = [&](execution&) { got += world.claim_there().jobs.size(); };
  got += world.only(claim{.tubes = {"mail"}}).jobs.size();
  world.spied.accept();
  EXPECT_EQ(got, 1U);
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.reserved, 1U);
}

TEST(PolicySessions, TheRateIsThatOfTheServer) {
  two_sessions world(mail({.most_per_second = 4}));
  for (int i = 0; i < 20; ++i) world.put_one();
  std::size_t got = 0;
  for (int ms = 0; ms < 2'000; ++ms) {
    got += world.only(claim{.tubes = {"mail"}}).jobs.size() + world.claim_there().jobs.size();
    world.time.advance(1ms);
  }
  EXPECT_EQ(got, 8U);
}

TEST(PolicySessions, OneThatEndsLeavesItsSlots) {
  policy_world world(mail({.most_reserved_of_group = 1}), {}, true);
  auto there = std::make_unique<policy_store>(world.spied, *world.store, world.clocks);
  there->set_policies(world.table);
  world.put_one("mail", in_group("a"));
  operation claims(claim{.tubes = {"mail"}});
  ASSERT_EQ(std::get<claim_answer>(there->execute(std::span(&claims, 1)).answers.at(0)).jobs.size(), 1U);
  world.check();
  there.reset();
  world.check();
  world.put_one("mail", in_group("a"));
  EXPECT_TRUE(world.claim_one());
}

/// The beginning of the wait is with the job, not with the node.
TEST(PolicyNodes, AParkedJobExpiresThoughItsNodeIsGone) {
  policy_world world(mail({.expires = 10min, .most_reserved_of_group = 1}), {}, true);
  const put what{.tube = "mail", .body = "b", .ttr = 24h, .fields = in_group("a")};
  world.put_one(what);
  ASSERT_TRUE(world.claim_one());
  const job_id second = world.put_one(what);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(world.claim_one());
    world.pass(58s);
  }
  world.restart();
  ASSERT_TRUE(world.show(second));
  world.pass(duration(20s) - duration(1ms));
  EXPECT_TRUE(world.show(second));
  world.pass(1ms);
  EXPECT_FALSE(world.claim_one());
  EXPECT_FALSE(world.show(second)) << "the node that took over had no other wait in mind";
}

TEST(PolicyNodes, ADueTimeOfAClientBeginsTheWaitOfAParkedJobAnew) {
  policy_world world(mail({.expires = 10min, .most_reserved_of_group = 1}));
  const put what{.tube = "mail", .body = "b", .ttr = 24h, .fields = in_group("a")};
  world.put_one(what);
  const auto first = world.claim_one();
  const job_id second = world.put_one(what);
  EXPECT_FALSE(world.claim_one());
  ASSERT_EQ(world.run(reschedule{second, 30min}).what, change_answer::kind::done);
  world.run(finish{first->token});
  EXPECT_EQ(world.state_of(second), job_state::delayed) << "it is early";
  EXPECT_FALSE(world.claim_one());
  world.pass(duration(39min));
  const auto got = world.claim_one();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->token.id, second);
}

TEST(PolicyGroups, MoreWaitingJobsAreParkedForLonger) {
  policy_world world(mail({.most_reserved_of_group = 1}));
  const put what{.tube = "mail", .body = "b", .ttr = 24h, .fields = in_group("a")};
  std::vector<operation> puts(5001, what);
  world.store->execute(puts);
  ASSERT_TRUE(world.claim_one());
  for (int i = 0; i < 20; ++i) {
    world.only(claim{.tubes = {"mail"}, .count = 500});
    world.settle();
  }
  ASSERT_EQ(world.run(count_tube{"mail"}).counts.delayed, 5000U);
  EXPECT_EQ(world.store->counters().parked, 5000U);
  world.pass(parking_time);
  EXPECT_LE(world.run(count_tube{"mail"}).counts.ready, 1000U + 500U);
  world.pass(10 * parking_time);
  EXPECT_EQ(world.run(count_tube{"mail"}).counts.ready, 5000U);
}

TEST(PolicyLimits, AClaimThatHappensOnceIsLookedForInAllItsTubes) {
  policy_world world({{"mail", {.most_reserved = 1}}}, {}, true);
  world.put_one();
  world.put_one("other");
  claim what{.tubes = {"mail", "other"}, .count = 1};
  sha256 key{};
  key[0] = std::byte{1};
  what.once = once(key, key, 1h);
  const claim_answer first = world.only(what);
  ASSERT_EQ(first.jobs.size(), 1U);
  ASSERT_EQ(first.jobs[0].job.tube, "mail");
  // A map of databases looks for the record only where the claim's tubes are.
  std::vector<std::vector<std::string>> looked_in;
  world.spied.before = [&looked_in](std::span<operation> batch) {
    for (const operation& each : batch) {
      const auto* const claims = std::get_if<claim>(&each);
      if (claims != nullptr) looked_in.push_back(claims->tubes);
    }
  };
  const claim_answer again = world.only(what);
  EXPECT_TRUE(again.is_replayed);
  EXPECT_EQ(again.jobs, first.jobs);
  for (const auto& tubes : looked_in) EXPECT_EQ(tubes, what.tubes);
  EXPECT_FALSE(looked_in.empty());
}

TEST(PolicyLimits, AClaimThatHappensOnceWithTubesLeftOutClaimsFromTheOthers) {
  policy_world world({{"mail", {.most_reserved = 1}}}, {}, true);
  world.put_one();
  world.put_one();
  const job_id other = world.put_one("other");
  ASSERT_TRUE(world.claim_one());
  claim what{.tubes = {"mail", "other"}, .count = 1};
  sha256 key{};
  key[0] = std::byte{1};
  what.once = once(key, key, 1h);
  world.spied.refuse(store_unavailable::kind::not_executed, [](const operation& each) {
    const auto* const claims = std::get_if<claim>(&each);
    return claims != nullptr && claims->count == 0;
  });
  EXPECT_THROW(world.only(what), store_unavailable) << "it is not known whether it was claimed before";
  world.spied.accept();
  const claim_answer got = world.only(what);
  ASSERT_EQ(got.jobs.size(), 1U);
  EXPECT_EQ(got.jobs[0].token.id, other);
  EXPECT_FALSE(got.is_replayed);
}

TEST(PolicyLimits, AClaimOfFullTubesAloneIsNotSent) {
  policy_world world(mail({.most_reserved = 1}));
  world.put_one();
  world.put_one();
  ASSERT_TRUE(world.claim_one());
  std::size_t claims = 0;
  world.spied.before = [&claims](std::span<operation> batch) {
    claims += static_cast<std::size_t>(
        std::ranges::count_if(batch, [](const operation& each) { return std::holds_alternative<claim>(each); }));
  };
  EXPECT_EQ(world.only(claim{.tubes = {"mail"}}), claim_answer{});
  EXPECT_EQ(claims, 0U);
}

/// What clients hold never exceeds a limit, whatever they do; and in the end each job is handed out.
TEST(PolicyLimits, AtRandomNoLimitIsExceededAndNoJobIsForgotten) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 engine(seed);
    const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
    const tube_policy by{.most_reserved = 1 + random() % 4, .most_reserved_of_group = 1 + random() % 2};
    policy_world world(mail(by));
    std::deque<claimed_job> held;
    std::size_t finished = 0;
    std::size_t put_in = 0;
    const auto count_group = [&held](const std::string& name) {
      return std::ranges::count_if(
          held, [&name](const claimed_job& each) { return each.job.fields.find(tag_of_group) == name; });
    };
    const auto step = [&](unsigned what) {
      if (what < 3) {
        const auto group = random() % 3;
        world.put_one("mail", group == 0 ? job_fields() : in_group(std::to_string(group)));
        ++put_in;
      } else if (what < 6) {
        for (claimed_job& each : world.only(claim{.tubes = {"mail"}, .count = 1 + random() % 3}).jobs) {
          held.push_back(std::move(each));
        }
      } else if (!held.empty()) {
        const reservation token = held.front().token;
        held.pop_front();
        if (what == 6) {
          world.only(release{.token = token});
        } else if (what == 7) {
          world.only(abandon{token});
        } else {
          world.only(finish{token});
          ++finished;
        }
      }
      if (random() % 2 == 0) world.settle();
      ASSERT_LE(held.size(), by.most_reserved);
      ASSERT_LE(count_group("1"), by.most_reserved_of_group);
      ASSERT_LE(count_group("2"), by.most_reserved_of_group);
    };
    for (int i = 0; i < 200; ++i) ASSERT_NO_FATAL_FAILURE(step(random() % 9));
    for (int turns = 0; finished < put_in; ++turns) {
      ASSERT_LT(turns, 1000) << finished << " of " << put_in;
      if (const auto got = world.claim_one()) held.push_back(*got);
      while (!held.empty()) {
        world.run(finish{held.front().token});
        held.pop_front();
        ++finished;
      }
    }
  }
}

}  // namespace
}  // namespace foliot::jobs
