// Operations that happen once, in one database: what is repeated, at the same node and at another one, at once and
// later.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "clock_node.hpp"
#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"
#include "jobs/postgresql/batch_plan.hpp"
#include "once_keys.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::broken_node;
using foliot_test::once_of;
using foliot_test::postgresql_connection;
using held = holder_answer::kind;
using kind = put_answer::kind;

put plain(std::uint32_t key, std::uint32_t request = 1) {
  return {.tube = "t", .body = "x", .once = once_of(key, request)};
}
put keyed(on_existing existing, std::uint32_t key) {
  return {.tube = "t", .key = "k", .body = "x", .existing = existing, .once = once_of(key)};
}
claim two_jobs(std::uint32_t key, std::uint32_t request = 1) {
  return {.tubes = {"t"}, .count = 2, .once = once_of(key, request)};
}
put_answer replayed(put_answer first) {
  first.is_replayed = true;
  first.version = 0;
  return first;
}
std::vector<reservation> tokens_in(const claim_answer& got) {
  std::vector<reservation> all;
  for (const claimed_job& each : got.jobs) all.push_back(each.token);
  return all;
}
/// A batch that is executed again while it waits for others.
answer until_executed(job_store& by, operation what) {
  for (;;) {
    answer got = by.execute(std::span(&what, 1)).answers.at(0);
    if (!std::holds_alternative<passed_over_answer>(got)) return got;
  }
}

/// The names of the statements that execute the batch, and how many arguments each has.
std::vector<std::string> calls_of(const std::vector<operation>& batch) {
  const detail::batch_plan plan(batch, {});
  std::vector<std::string> names;
  for (const detail::call& each : plan.calls())
    names.push_back(each.what().name + (" " + std::to_string(each.count())));
  return names;
}

/// So it costs what it did before there were such operations.
TEST(BatchPlanOnce, ABatchInWhichNothingHappensOnceIsSentAsEver) {
  const put no_key{.tube = "t", .body = "x"};
  const put with_key{.tube = "t", .key = "k", .body = "x"};
  const std::vector<operation> before{no_key, claim{{"t"}}, with_key, put_all{{no_key}}, put_all{{with_key}}};
  EXPECT_EQ(calls_of(before), (std::vector<std::string>{"begin_batch 10", "put_plain 7", "claim_best 6", "put_keyed 9",
                                                        "put_plain 7", "put_keyed 9", "end_batch 4"}));
  put once = no_key;
  once.once = once_of(1);
  std::vector<operation> after = before;
  after.emplace_back(two_jobs(2));
  EXPECT_EQ(calls_of(after).front(), "begin_batch 10") << "a claim begins no record";
  after.emplace_back(once);
  EXPECT_EQ(calls_of(after),
            (std::vector<std::string>{"begin_batch_once 12", "put_plain 7", "claim_best 6", "put_keyed 9",
                                      "put_plain 7", "put_keyed 9", "claim_once 9", "put_once 15", "end_batch 4"}));
  const std::vector<operation> together{with_key, once, no_key, put_all{{no_key}, once_of(3)}};
  EXPECT_EQ(calls_of(together),
            (std::vector<std::string>{"begin_batch_once 12", "put_once 15", "put_all_once 15", "end_batch 4"}));
}

class PostgresqlOnce : public foliot_test::postgresql_one_node {
 protected:
  std::string jobs() { return sql("SELECT count(*) FROM foliot.job"); }
  std::string records() { return sql("SELECT count(*) FROM foliot.once WHERE answer IS NOT NULL"); }
  std::string unfinished() { return sql("SELECT count(*) FROM foliot.once WHERE answer IS NULL"); }
};

TEST_F(PostgresqlOnce, APutIsAnsweredOnceMoreAtEachNode) {
  const auto other = open("other");
  const put_answer first = execute_one(*node_, plain(1));
  EXPECT_EQ(first.what, kind::inserted);
  EXPECT_FALSE(first.is_replayed);
  EXPECT_EQ(execute_one(*node_, plain(1)), replayed(first));
  EXPECT_EQ(execute_one(*other, plain(1)), replayed(first));
  EXPECT_EQ(execute_one(*other, plain(1, 2)).what, kind::other_request);
  EXPECT_EQ(execute_one(*other, plain(2)).what, kind::inserted);
  EXPECT_EQ(jobs(), "2");
  EXPECT_EQ(records(), "2");
}

TEST_F(PostgresqlOnce, APutIsAnsweredOnceMoreAfterItsJobHasGone) {
  const put_answer first = execute_one(*node_, plain(1));
  EXPECT_EQ(execute_one(*node_, cancel{first.id}).what, change_answer::kind::done);
  EXPECT_EQ(execute_one(*node_, plain(1)), replayed(first));
  EXPECT_EQ(jobs(), "0");
}

TEST_F(PostgresqlOnce, ARefusalIsNotKept) {
  const put_answer first = execute_one(*node_, keyed(on_existing::keep, 1));
  EXPECT_EQ(execute_one(*node_, keyed(on_existing::refuse, 2)).what, kind::exists);
  put other_version = keyed(on_existing::replace, 3);
  other_version.expected = 1;
  EXPECT_EQ(execute_one(*node_, other_version).what, kind::other_version);
  EXPECT_EQ(unfinished(), "0");
  EXPECT_EQ(records(), "1");
  const put_answer kept = execute_one(*node_, keyed(on_existing::keep, 4));
  EXPECT_EQ(kept.what, kind::kept);
  execute_one(*node_, cancel{job_key{"t", "k"}});
  const put_answer second = execute_one(*node_, keyed(on_existing::refuse, 2));
  EXPECT_EQ(second.what, kind::inserted);
  EXPECT_EQ(execute_one(*node_, keyed(on_existing::keep, 1)), replayed(first));
  EXPECT_EQ(execute_one(*node_, keyed(on_existing::keep, 4)), replayed(kept));
  const put_answer third = execute_one(*node_, keyed(on_existing::replace, 5));
  EXPECT_EQ(third.what, kind::replaced);
  EXPECT_EQ(execute_one(*node_, keyed(on_existing::replace, 5)), replayed(third));
  EXPECT_EQ(jobs(), "1");
}

TEST_F(PostgresqlOnce, TwinsInOneBatchAreOnePut) {
  std::vector<operation> batch{
      plain(1), put{.tube = "t", .body = "y"}, plain(1), keyed(on_existing::refuse, 2), plain(1, 2),
      plain(3), keyed(on_existing::refuse, 2)};
  const std::vector<answer> got = node_->execute(batch).answers;
  const auto& first = std::get<put_answer>(got.at(0));
  EXPECT_EQ(first.what, kind::inserted);
  EXPECT_EQ(std::get<put_answer>(got.at(2)), replayed(first));
  EXPECT_EQ(std::get<put_answer>(got.at(4)).what, kind::other_request);
  EXPECT_EQ(std::get<put_answer>(got.at(6)), replayed(std::get<put_answer>(got.at(3))));
  EXPECT_EQ(jobs(), "4");
  EXPECT_EQ(records(), "3");
}

TEST_F(PostgresqlOnce, OtherOperationsOfABatchAreThoseOfBefore) {
  std::vector<operation> batch{put{.tube = "t", .body = "1"}, put{.tube = "t", .key = "k", .body = "2"}, plain(1),
                               plain(2), claim{.tubes = {"t"}, .count = 4}};
  const std::vector<answer> got = node_->execute(batch).answers;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(std::get<put_answer>(got.at(i)).what, kind::inserted);
  EXPECT_EQ(std::get<claim_answer>(got.at(4)).jobs.size(), 4U);
}

TEST_F(PostgresqlOnce, APutAllIsAnsweredOnceMore) {
  const put_all all{
      {put{.tube = "a", .body = "1"}, put{.tube = "b", .key = "k", .body = "2"}, put{.tube = "a", .body = "3"}},
      once_of(1)};
  const put_all_answer first = execute_one(*node_, all);
  ASSERT_EQ(first.what, put_all_answer::kind::done);
  EXPECT_FALSE(first.is_replayed);
  ASSERT_EQ(first.puts.size(), 3U);
  const put_all_answer again = execute_one(*node_, all);
  EXPECT_TRUE(again.is_replayed);
  EXPECT_EQ(again.what, put_all_answer::kind::done);
  EXPECT_EQ(again.puts, first.puts);
  put_all other = all;
  other.once = once_of(1, 2);
  EXPECT_EQ(execute_one(*node_, other).what, put_all_answer::kind::other_request);
  EXPECT_EQ(execute_one(*node_, plain(1)).what, kind::other_request) << "the record of another operation";
  EXPECT_EQ(jobs(), "3");
}

TEST_F(PostgresqlOnce, ARefusedPutAllIsNotKept) {
  execute_one(*node_, put{.tube = "t", .key = "k", .body = "x"});
  const put_all all{
      {put{.tube = "t", .body = "1"}, put{.tube = "t", .key = "k", .body = "2", .existing = on_existing::refuse}},
      once_of(1)};
  for (int i = 0; i < 2; ++i) {
    const put_all_answer refused = execute_one(*node_, all);
    EXPECT_EQ(refused.what, put_all_answer::kind::refused);
    EXPECT_EQ(refused.place, 1U);
  }
  EXPECT_EQ(unfinished(), "0");
  EXPECT_EQ(records(), "0");
  execute_one(*node_, cancel{job_key{"t", "k"}});
  EXPECT_FALSE(execute_one(*node_, all).is_replayed);
  EXPECT_TRUE(execute_one(*node_, all).is_replayed);
  EXPECT_EQ(jobs(), "2");
}

TEST_F(PostgresqlOnce, AClaimGetsItsReservationsAgainAtEachNode) {
  const auto other = open("other");
  for (int i = 0; i < 4; ++i) execute_one(*node_, put{.tube = "t", .body = std::to_string(i), .ttr = 1h});
  const claim_answer first = execute_one(*node_, two_jobs(1));
  ASSERT_EQ(first.jobs.size(), 2U);
  EXPECT_FALSE(first.is_replayed);
  for (postgresql_store* const each : {node_.get(), other.get()}) {
    const claim_answer again = execute_one(*each, two_jobs(1));
    EXPECT_TRUE(again.is_replayed);
    EXPECT_EQ(again.what, claim_answer::kind::done);
    EXPECT_EQ(tokens_in(again), tokens_in(first));
    EXPECT_EQ(again.jobs.at(0).job.body, "0");
    EXPECT_EQ(again.jobs.at(1).job.counters.reserves, 1U);
  }
  EXPECT_EQ(execute_one(*other, two_jobs(1, 2)).what, claim_answer::kind::other_request);
  EXPECT_EQ(execute_one(*other, two_jobs(2)).jobs.size(), 2U) << "another claim";
  // Any node takes the holder's word, and a reservation that has ended is not given again.
  EXPECT_EQ(execute_one(*other, finish{first.jobs[0].token}).what, holder_answer::kind::done);
  EXPECT_EQ(tokens_in(execute_one(*node_, two_jobs(1))), std::vector<reservation>{first.jobs[1].token});
  EXPECT_EQ(execute_one(*other, release{first.jobs[1].token}).what, holder_answer::kind::done);
  const claim_answer none = execute_one(*node_, two_jobs(1));
  EXPECT_TRUE(none.is_replayed);
  EXPECT_TRUE(none.jobs.empty());
  EXPECT_EQ(execute_one(*other, claim{{"t"}}).jobs.at(0).job.id, first.jobs[1].job.id);
  EXPECT_TRUE(execute_one(*node_, two_jobs(1)).jobs.empty()) << "its job is that of another worker";
  expect_right();
}

/// No program gives operations of two kinds one key, but one that did must not hang.
TEST_F(PostgresqlOnce, AKeyBelongsToOneOperation) {
  execute_one(*node_, put{.tube = "t", .body = "x"});
  std::vector<operation> batch{two_jobs(1), plain(1), put_all{{put{.tube = "t", .body = "1"}}, once_of(1)}};
  const std::vector<answer> got = node_->execute(batch).answers;
  EXPECT_EQ(std::get<claim_answer>(got.at(0)).jobs.size(), 1U);
  EXPECT_EQ(std::get<put_answer>(got.at(1)).what, kind::other_request);
  EXPECT_EQ(std::get<put_all_answer>(got.at(2)).what, put_all_answer::kind::other_request);
  batch = {plain(2), two_jobs(2)};
  EXPECT_EQ(std::get<claim_answer>(node_->execute(batch).answers.at(1)).what, claim_answer::kind::other_request);
  EXPECT_EQ(unfinished(), "0");
}

TEST_F(PostgresqlOnce, AClaimWithoutJobsIsNotRemembered) {
  EXPECT_TRUE(execute_one(*node_, two_jobs(1)).jobs.empty());
  EXPECT_EQ(records(), "0");
  execute_one(*node_, put{.tube = "t", .body = "x"});
  const claim_answer none = execute_one(*node_, claim{.tubes = {"t"}, .count = 2, .bytes = 0, .once = once_of(1)});
  EXPECT_EQ(none.what, claim_answer::kind::cut_short);
  EXPECT_TRUE(none.jobs.empty());
  const claim_answer first = execute_one(*node_, two_jobs(1));
  EXPECT_EQ(first.jobs.size(), 1U);
  EXPECT_FALSE(first.is_replayed);
}

/// A primary without its standby does not know what has happened since, so the commit of a repeat waits, too.
TEST_F(PostgresqlOnce, ARepeatTellsWhatTheDatabaseKnows) {
  const auto tells = [](const operation& what) {
    const std::vector<operation> batch{what};
    const detail::batch_plan plan(batch, {});
    const std::optional<std::string>& last = plan.calls().back().value(3);
    return last->back() != '\0';
  };
  EXPECT_FALSE(tells(claim{{"t"}}));
  EXPECT_TRUE(tells(two_jobs(1)));
  EXPECT_TRUE(tells(plain(1)));
}

/// It belongs to that node from then on, whose client may have it.
TEST_F(PostgresqlOnce, ANodeDoesNotGiveBackWhatAnotherOneHasRepeated) {
  const auto other = open("other");
  for (const bool lasts : {true, false}) {
    SCOPED_TRACE(lasts);
    for (int i = 0; i < 2; ++i) execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
    claim wanted = two_jobs(lasts ? 1 : 2);
    wanted.lasting = lasts;
    const std::vector<reservation> mine = tokens_in(execute_one(*node_, wanted));
    ASSERT_EQ(mine.size(), 2U);
    EXPECT_EQ(tokens_in(execute_one(*node_, wanted)), mine) << "its own repeat takes nothing over";
    EXPECT_EQ(execute_one(*node_, abandon{mine[0]}).what, held::done);
    EXPECT_EQ(tokens_in(execute_one(*other, wanted)), std::vector<reservation>{mine[1]}) << "it came too late for one";
    EXPECT_EQ(execute_one(*node_, abandon{mine[1]}).what, held::not_held);
    EXPECT_EQ(execute_one(*node_, touch{mine[1]}).what, held::done) << "else any node takes the token";
    EXPECT_EQ(tokens_in(execute_one(*node_, wanted)), std::vector<reservation>{mine[1]});
    EXPECT_EQ(execute_one(*other, abandon{mine[1]}).what, held::not_held) << "the last one that has repeated it has it";
    EXPECT_EQ(execute_one(*other, finish{mine[1]}).what, held::done);
    EXPECT_EQ(execute_one(*node_, finish{execute_one(*node_, claim{{"t"}}).jobs.at(0).token}).what, held::done);
  }
  expect_right();
}

TEST_F(PostgresqlOnce, Canary) {
  const auto other = open("other");
  sql("CREATE OR REPLACE FUNCTION foliot.is_of_other_node(job_id bigint) RETURNS boolean LANGUAGE sql AS 'SELECT "
      "false'");
  execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
  const reservation mine = execute_one(*node_, two_jobs(1)).jobs.at(0).token;
  EXPECT_EQ(tokens_in(execute_one(*other, two_jobs(1))), std::vector<reservation>{mine});
  EXPECT_EQ(execute_one(*node_, abandon{mine}).what, held::done);
  EXPECT_EQ(execute_one(*other, finish{mine}).what, held::not_held);
}

/// The jobs of a dead node are ready again, so the claim that it has repeated last has none.
TEST_F(PostgresqlOnce, TheReservationsOfAClaimEndWithTheNodeThatHasThem) {
  execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
  auto first = open("first");
  auto second = open("second");
  EXPECT_EQ(execute_one(*first, two_jobs(1)).jobs.size(), 1U);
  EXPECT_EQ(execute_one(*second, two_jobs(1)).jobs.size(), 1U);
  first->close();
  const reservation mine = execute_one(*second, two_jobs(1)).jobs.at(0).token;
  EXPECT_EQ(execute_one(*node_, touch{mine}).what, held::done);
  second->close();
  const claim_answer again = execute_one(*node_, two_jobs(1));
  EXPECT_TRUE(again.is_replayed);
  EXPECT_TRUE(again.jobs.empty());
  EXPECT_EQ(execute_one(*node_, two_jobs(2)).jobs.size(), 1U);
  expect_right();
}

/// Its reservations are over, although their rows are still there.
TEST_F(PostgresqlOnce, WhatEndsWithItsNodeIsNotTakenOver) {
  execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
  const auto other = open("other");
  EXPECT_EQ(execute_one(*other, two_jobs(1)).jobs.size(), 1U);
  sql("UPDATE foliot.node SET name = NULL WHERE name = 'other'");
  const claim_answer again = execute_one(*node_, two_jobs(1));
  EXPECT_TRUE(again.is_replayed);
  EXPECT_TRUE(again.jobs.empty());
}

/// The first one is under way until the second one waits for it.
class PostgresqlOnceAtOnce : public PostgresqlOnce {
 protected:
  PostgresqlOnceAtOnce() { sql("ALTER FUNCTION foliot.begin_once SET lock_timeout = '10min'"); }
  static std::string bytes_of(const sha256& digest) {
    std::string text = "'\\x";
    for (const std::byte each : digest) {
      constexpr const char* digits = "0123456789abcdef";
      text += digits[static_cast<std::size_t>(each >> 4)];
      text += digits[static_cast<std::size_t>(each & std::byte{15})];
    }
    return text + "'::bytea";
  }
  /// Another node's put, in a transaction that stays open.
  std::string begin_put(std::uint32_t key, const std::string& job_key_and_existing =
                                               "'{\"\"}', '{x}', '{1}', '{0}', '{0}', '{60000}', '{0}'") {
    first_.sql("BEGIN");
    return first_.sql("SELECT foliot.put_once(NULL, '{t}', " + job_key_and_existing +
                      ", '{\"\"}', '{\"\"}', '{0}', ARRAY[" + bytes_of(foliot_test::digest_of(key)) + "], ARRAY[" +
                      bytes_of(foliot_test::digest_of(1)) + "], '{3600000}')");
  }
  std::future<answer> begin(operation what) {
    return std::async(std::launch::async, [this, what = std::move(what)] { return until_executed(*node_, what); });
  }
  void until_it_waits() {
    while (sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
               "AND application_name = 'foliot'") == "0") {
      std::this_thread::yield();
    }
  }

  postgresql_connection first_{database_};
};

TEST_F(PostgresqlOnceAtOnce, TheSecondTwinWaitsAndIsAnsweredAsTheFirst) {
  const std::string made = begin_put(1);
  auto second = begin(plain(1));
  until_it_waits();
  first_.sql("COMMIT");
  const auto got = std::get<put_answer>(second.get());
  EXPECT_TRUE(got.is_replayed);
  EXPECT_EQ(made, "{0," + std::to_string(got.id) + ",0,0}");
  EXPECT_EQ(jobs(), "1");
}

TEST_F(PostgresqlOnceAtOnce, TheSecondTwinIsExecutedIfTheFirstWasNot) {
  begin_put(1);
  auto second = begin(plain(1));
  until_it_waits();
  first_.sql("ROLLBACK");
  const auto got = std::get<put_answer>(second.get());
  EXPECT_FALSE(got.is_replayed);
  EXPECT_EQ(got.what, kind::inserted);
  EXPECT_EQ(jobs(), "1");
}

TEST_F(PostgresqlOnceAtOnce, TheSecondTwinIsExecutedIfTheFirstWasRefused) {
  execute_one(*node_, put{.tube = "t", .key = "k", .body = "x"});
  EXPECT_EQ(begin_put(1, "'{k}', '{x}', '{1}', '{0}', '{0}', '{60000}', '{2}'").substr(0, 3), "{3,");
  auto second = begin(plain(1));
  until_it_waits();
  first_.sql("COMMIT");
  const auto got = std::get<put_answer>(second.get());
  EXPECT_FALSE(got.is_replayed);
  EXPECT_EQ(jobs(), "2");
}

TEST_F(PostgresqlOnceAtOnce, ATwinThatWaitsForLongIsPassedOver) {
  sql("ALTER FUNCTION foliot.begin_once RESET lock_timeout");
  execute_one(*node_, put{.tube = "t", .body = "x"});  // makes the tube, for which other puts would wait, too
  begin_put(1);
  std::vector<operation> batch{plain(1), plain(2), put_all{{put{.tube = "t", .body = "1"}}, once_of(1)}};
  const std::vector<answer> got = node_->execute(batch).answers;
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(got.at(0)));
  EXPECT_EQ(std::get<put_answer>(got.at(1)).what, kind::inserted);
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(got.at(2)));
  first_.sql("COMMIT");
  EXPECT_TRUE(execute_one(*node_, plain(1)).is_replayed);
}

/// A twin has claimed since this claim has looked for a record: the jobs that it has locked are ready again.
TEST_F(PostgresqlOnceAtOnce, TheSecondClaimGetsWhatTheFirstHas) {
  for (int i = 0; i < 3; ++i) execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
  const std::string record = bytes_of(foliot_test::digest_of(1));
  first_.sql("BEGIN");
  const std::string id = first_.sql("SELECT (shown).id FROM foliot.claim_once(1, 77, NULL, '{t}', 1, NULL, " + record +
                                    ", " + record + ", 3600000) OFFSET 1");
  sql("ALTER FUNCTION foliot.claim_once SET lock_timeout = '10min'");
  auto second = begin(claim{.tubes = {"t"}, .once = {foliot_test::digest_of(1), foliot_test::digest_of(1), 1h}});
  until_it_waits();
  first_.sql("COMMIT");
  const auto got = std::get<claim_answer>(second.get());
  EXPECT_TRUE(got.is_replayed);
  ASSERT_EQ(got.jobs.size(), 1U);
  EXPECT_EQ(std::to_string(got.jobs[0].job.id), id);
  EXPECT_EQ(got.jobs[0].token.opening, 77U);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), "2");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.reserved"), "1");
}

/// A batch gives the job back meanwhile: it may be one of this node, whose commit is in doubt.
TEST_F(PostgresqlOnceAtOnce, ARepeatWaitsForWhatIsGivenBack) {
  sql("ALTER FUNCTION foliot.claim_once SET lock_timeout = '10min'");
  const auto other = open("other");
  std::uint32_t key = 0;
  for (postgresql_store* const each : {other.get(), node_.get()}) {
    execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
    const claim wanted{.tubes = {"t"}, .once = once_of(++key)};
    EXPECT_EQ(execute_one(*each, wanted).jobs.size(), 1U);
    first_.sql("BEGIN");
    first_.sql(
        "SELECT foliot.change_held(NULL, '{0}', ARRAY[id], ARRAY[opening], ARRAY[reserves], '{NULL}', '{0}', '{0}') "
        "FROM foliot.reserved");
    auto again = begin(wanted);
    until_it_waits();
    first_.sql("COMMIT");
    const auto got = std::get<claim_answer>(again.get());
    EXPECT_TRUE(got.is_replayed);
    EXPECT_TRUE(got.jobs.empty());
    execute_one(*node_, finish{execute_one(*node_, claim{{"t"}}).jobs.at(0).token});
  }
}

TEST_F(PostgresqlOnceAtOnce, WhatIsGivenBackWaitsForTheRepeat) {
  sql("ALTER FUNCTION foliot.lock_jobs SET lock_timeout = '10min'");
  const auto other = open("other");
  const claim wanted{.tubes = {"t"}, .once = {foliot_test::digest_of(1), foliot_test::digest_of(1), 1h}};
  execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
  const reservation mine = execute_one(*node_, wanted).jobs.at(0).token;
  const std::string record = bytes_of(foliot_test::digest_of(1));
  first_.sql("BEGIN");
  first_.sql(
      "SELECT foliot.claim_once((SELECT session FROM foliot.node WHERE name = 'other'), 77, NULL, '{t}', 1, NULL, " +
      record + ", " + record + ", 3600000)");
  auto giving = begin(abandon{mine});
  until_it_waits();
  first_.sql("COMMIT");
  EXPECT_EQ(std::get<holder_answer>(giving.get()).what, held::not_held);
  EXPECT_EQ(execute_one(*other, finish{mine}).what, held::done);
}

/// Batches of two nodes have the same keys in opposite orders, and jobs with keys.
TEST_F(PostgresqlOnce, ManyTwinsAtTwoNodesArePutOnce) {
  constexpr std::uint32_t count = 60;
  const auto other = open("other");
  std::vector<std::vector<put_answer>> got(2, std::vector<put_answer>(count));
  const auto send = [&](postgresql_store& by, std::vector<put_answer>& into, bool backwards) {
    for (std::uint32_t first = 0; first < count; first += 6) {
      std::vector<operation> batch;
      std::vector<std::uint32_t> numbers;
      for (std::uint32_t i = 0; i < 6; ++i) numbers.push_back(backwards ? first + 5 - i : first + i);
      for (const std::uint32_t each : numbers) {
        put made = plain(each);
        if (each % 2 == 0) made.key = std::to_string(each);
        batch.emplace_back(made);
      }
      std::vector<answer> answers = by.execute(batch).answers;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (std::holds_alternative<passed_over_answer>(answers[i])) answers[i] = until_executed(by, batch[i]);
        into[numbers[i]] = std::get<put_answer>(answers[i]);
      }
    }
  };
  auto second = std::async(std::launch::async, [&] { send(*other, got[1], true); });
  send(*node_, got[0], false);
  second.get();
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(got[0][i].id, got[1][i].id) << i;
    EXPECT_NE(got[0][i].is_replayed, got[1][i].is_replayed) << i;
  }
  EXPECT_EQ(jobs(), std::to_string(count));
  EXPECT_EQ(records(), std::to_string(count));
}

/// With a clock of the test.
class PostgresqlOnceInTime : public foliot_test::postgresql_clock_node {
 protected:
  answer run(operation what) { return (*node_).execute(std::span(&what, 1)).answers.at(0); }
  put_answer run_put(const put& what) { return std::get<put_answer>(run(what)); }
};

TEST_F(PostgresqlOnceInTime, ARecordCountsUntilItsLifetimeIsOver) {
  put what = plain(1);
  what.once = once_of(1, 1, 10ms);
  const put_answer first = run_put(what);
  time_.advance(9ms);
  EXPECT_EQ(run_put(what), replayed(first));
  time_.advance(1ms);
  put other = what;
  other.once = once_of(1, 2, 10ms);
  const put_answer second = run_put(other);
  EXPECT_EQ(second.what, kind::inserted);
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(run_put(what).what, kind::other_request);
  time_.advance(9ms);
  EXPECT_EQ(run_put(other), replayed(second)) << "the lifetime is that of the new record";
}

TEST_F(PostgresqlOnceInTime, AReservationThatIsOverIsNotGivenAgain) {
  run(put{.tube = "t", .body = "x", .ttr = 1s});
  run(put{.tube = "t", .body = "y", .ttr = 10s});
  const auto first = std::get<claim_answer>(run(two_jobs(1)));
  ASSERT_EQ(first.jobs.size(), 2U);
  time_.advance(2s);
  const auto again = std::get<claim_answer>(run(two_jobs(1)));
  EXPECT_TRUE(again.is_replayed);
  ASSERT_EQ(again.jobs.size(), 1U);
  EXPECT_EQ(again.jobs[0].token, first.jobs[1].token);
  EXPECT_EQ(again.jobs[0].job.expires, first.jobs[1].job.expires);
}

TEST_F(PostgresqlOnceInTime, ANodeEndsWhatItHasRepeated) {
  postgresql_options made = foliot_test::options_of(for_nodes_, "b", give_up_after_);
  made.clocks = store_clocks{&wall_, &time_};
  postgresql_store other(made);
  run(put{.tube = "t", .body = "x", .ttr = 10s});
  const std::vector<reservation> its = tokens_in(execute_one(other, two_jobs(1)));
  ASSERT_EQ(its.size(), 1U);
  EXPECT_EQ(tokens_in(std::get<claim_answer>(run(two_jobs(1)))), its);
  EXPECT_LE((*node_).next().expiry, time_.now() + 10s + 1ns);
  time_.advance(10s);
  EXPECT_TRUE((*node_).execute({}).expired.empty()) << "the last instant is the holder's";
  time_.advance(1ns);
  EXPECT_EQ((*node_).execute({}).expired, its);
  EXPECT_EQ(sql("SELECT string_agg(timeouts::text, ' ') FROM foliot.ready"), "1");
  expect_right();
}

/// A node that gives up at once does not know whether its claim was committed. It keeps what it may have, for the
/// client that claims again.
class PostgresqlOnceInDoubt : public foliot_test::postgresql_clock_node {
 protected:
  PostgresqlOnceInDoubt() : postgresql_clock_node(20ms) {}
  /// The commit of this claim stays in doubt, and has happened; then the node has found that out.
  void lose(const claim& what) {
    execute_one(*node_, put{.tube = "t", .body = "x", .ttr = 1h});
    node_.break_from(3);  // the commit was sent
    EXPECT_THROW(execute_one(*node_, what), store_unavailable);
    node_.heal();
    while (sql("SELECT count(*) FROM foliot.reserved") != "1") {  // the server may not have come to it yet
    }
    for (int i = 0; i < 3; ++i) {
      time_.advance(1s);
      foliot_test::until_available([&] { (*node_).execute({}); });
    }
  }
};

/// The connection breaks at each exchange of a batch, and the client sends it again.
TEST_F(PostgresqlOnceInDoubt, WhatIsSentAgainAfterALostAnswerHasHappenedOnce) {
  std::uint32_t key = 0;
  const auto send = [&](operation what) {
    for (;;) {
      try {
        return (*node_).execute(std::span(&what, 1)).answers.at(0);
      } catch (const store_unavailable&) {
        node_.heal();
      }
    }
  };
  for (int at = 1; at <= 6; ++at) {
    SCOPED_TRACE(at);
    node_.break_from(at);
    const auto made = std::get<put_answer>(send(plain(++key)));
    node_.heal();
    EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), std::to_string(key));
    EXPECT_EQ(std::get<put_answer>(send(plain(key))), replayed(made));
  }
}

TEST_F(PostgresqlOnceInDoubt, AClaimKeepsItsJobsForTheRepeat) {
  lose(two_jobs(1));
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.reserved"), "1");
  const claim_answer again = execute_one(*node_, two_jobs(1));
  EXPECT_TRUE(again.is_replayed);
  ASSERT_EQ(again.jobs.size(), 1U);
  time_.advance(30min);
  EXPECT_EQ(execute_one(*node_, touch{again.jobs[0].token}).what, holder_answer::kind::done);
  time_.advance(45min);
  EXPECT_EQ(execute_one(*node_, finish{again.jobs[0].token}).what, holder_answer::kind::done);
}

TEST_F(PostgresqlOnceInDoubt, AClaimThatIsNotRepeatedEndsByItsTime) {
  lose(two_jobs(1));
  time_.advance(1h);
  (*node_).execute({});
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), "1");
}

/// Nobody can have its jobs.
TEST_F(PostgresqlOnceInDoubt, AClaimThatMayHappenAgainGivesItsJobsBack) {
  lose(claim{{"t"}});
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), "1");
}

// Room.

TEST_F(PostgresqlOnceInTime, AReplayNeedsNoRoomAndANewPutDoes) {
  const put_answer first = run_put(plain(1));
  const auto all = put_all{{put{.tube = "t", .body = "1"}}, once_of(2)};
  const auto done = std::get<put_all_answer>(run(all));
  run(put{.tube = "t", .key = "k", .body = "x"});
  const auto claimed = std::get<claim_answer>(run(two_jobs(3)));
  ASSERT_EQ(claimed.jobs.size(), 2U);
  sql("SELECT setval('foliot.refusing_puts', 1)");
  std::vector<operation> batch{
      plain(1),    plain(4),   all, put_all{{put{.tube = "t", .body = "1"}}, once_of(5)}, keyed(on_existing::keep, 6),
      two_jobs(3), two_jobs(7)};
  const std::vector<answer> got = (*node_).execute(batch).answers;
  EXPECT_EQ(std::get<put_answer>(got.at(0)), replayed(first));
  EXPECT_EQ(std::get<put_answer>(got.at(1)).what, kind::no_space);
  EXPECT_TRUE(std::get<put_all_answer>(got.at(2)).is_replayed);
  EXPECT_EQ(std::get<put_all_answer>(got.at(2)).puts, done.puts);
  EXPECT_EQ(std::get<put_all_answer>(got.at(3)).why.what, kind::no_space);
  EXPECT_EQ(std::get<put_answer>(got.at(4)).what, kind::no_space) << "its record needs room";
  EXPECT_EQ(tokens_in(std::get<claim_answer>(got.at(5))), tokens_in(claimed));
  EXPECT_EQ(std::get<claim_answer>(got.at(6)).jobs.size(), 1U) << "a claim is not refused for want of room";
  sql("SELECT setval('foliot.refusing_puts', 0)");
  EXPECT_EQ(run_put(plain(4)).what, kind::inserted);
  expect_right();
}

/// Records for which there is no room: each operation is refused by itself.
TEST_F(PostgresqlOnceInTime, WithoutRoomForTheRecordNothingHappens) {
  run(put{.tube = "t", .body = "x"});
  sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$");
  sql("CREATE TRIGGER refuse BEFORE INSERT ON foliot.once FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  std::vector<operation> batch{plain(1), put_all{{put{.tube = "t", .body = "1"}}, once_of(2)}, two_jobs(3)};
  const std::vector<answer> got = (*node_).execute(batch).answers;
  EXPECT_EQ(std::get<put_answer>(got.at(0)).what, kind::no_space);
  EXPECT_EQ(std::get<put_all_answer>(got.at(1)).why.what, kind::no_space);
  EXPECT_TRUE(std::get<claim_answer>(got.at(2)).jobs.empty());
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "1");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.ready"), "1");
}

/// It cannot be written down whose the reservations are.
TEST_F(PostgresqlOnceInTime, WithoutRoomARepeatAtAnotherNodeIsRefused) {
  postgresql_options made = foliot_test::options_of(for_nodes_, "b", give_up_after_);
  made.clocks = store_clocks{&wall_, &time_};
  postgresql_store other(made);
  run(put{.tube = "t", .body = "x"});
  const std::vector<reservation> its = tokens_in(execute_one(other, two_jobs(1)));
  ASSERT_EQ(its.size(), 1U);
  sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$");
  sql("CREATE TRIGGER refuse BEFORE UPDATE ON foliot.reserved FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  const auto refused = std::get<claim_answer>(run(two_jobs(1)));
  EXPECT_EQ(refused.what, claim_answer::kind::no_space);
  EXPECT_TRUE(refused.jobs.empty());
  EXPECT_EQ(tokens_in(execute_one(other, two_jobs(1))), its) << "they are its own";
  sql("DROP TRIGGER refuse ON foliot.reserved");
  EXPECT_EQ(tokens_in(std::get<claim_answer>(run(two_jobs(1)))), its);
}

// What has ended.

TEST_F(PostgresqlOnce, TurnsDeleteWhatHasEndedInPieces) {
  const std::string now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
  execute_one(*node_, plain(1));
  sql("SELECT setval('foliot.once_floor', 0)");  // a turn of the node may have raised it
  sql("INSERT INTO foliot.once SELECT int4send(i), '', 0, " + now +
      " - 2000000 + i, '{t}', '{0,1}' FROM generate_series(1, "
      "2500) i");
  const std::string ended = "SELECT count(*) FROM foliot.once WHERE ends < " + now;
  EXPECT_EQ(sql("SELECT foliot.forget_once(" + now + ", false)"), "t");
  EXPECT_EQ(sql(ended), "1500");
  EXPECT_EQ(sql("SELECT foliot.forget_once(" + now + ", false)"), "t");
  EXPECT_EQ(sql("SELECT foliot.forget_once(" + now + ", false)"), "f");
  EXPECT_EQ(sql(ended), "0");
  EXPECT_EQ(records(), "1") << "this one has not ended";
  // A record below the floor, as one that was committed late.
  sql("INSERT INTO foliot.once VALUES ('late', '', 0, 1, '{t}', '{0,1}')");
  EXPECT_EQ(sql("SELECT foliot.forget_once(" + now + ", false)"), "f");
  EXPECT_EQ(sql(ended), "1");
  EXPECT_EQ(sql("SELECT foliot.forget_once(" + now + ", true)"), "f");
  EXPECT_EQ(sql(ended), "0");
  // The clock was set back.
  sql("SELECT setval('foliot.once_floor', " + now + " + 1000000000)");
  sql("INSERT INTO foliot.once VALUES ('late', '', 0, 1, '{t}', '{0,1}')");
  EXPECT_EQ(sql("SELECT foliot.forget_once(" + now + ", false)"), "f");
  EXPECT_EQ(sql(ended), "0");
}

TEST_F(PostgresqlOnce, ATurnOfTheRotationDoesSo) {
  sql("SELECT setval('foliot.once_floor', 0)");  // a turn of the node may have raised it
  sql("INSERT INTO foliot.once SELECT int4send(i), '', 0, 1, '{t}', '{0,1}' FROM generate_series(1, 1500) i");
  rotate();
  while (records() != "0") rotate();
  EXPECT_EQ(execute_one(*node_, plain(1)).what, kind::inserted);
  rotate();
  EXPECT_EQ(records(), "1");
}

/// As long as a transaction is open, the entries of what was deleted stay in the index.
TEST_F(PostgresqlOnce, ATurnDoesNotMeetWhatEarlierOnesHaveDeleted) {
  const std::string now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
  postgresql_connection pin(database_);
  pin.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  pin.sql("SELECT 1");
  sql("SELECT setval('foliot.once_floor', 0)");  // a turn of the node may have raised it
  sql("INSERT INTO foliot.once SELECT int4send(i), '', 0, " + now +
      " - 9000000 + i, '{t}', '{0,1}' FROM generate_series(1, "
      "20000) i");
  sql(foliot_test::plans_of_nodes);
  while (sql("SELECT foliot.forget_once(" + now + ", false)") == "t") {
  }
  const auto pages = [&](const std::string& from_all) {
    return pages_of("SELECT foliot.forget_once(" + now + ", " + from_all + ")");
  };
  pages("false");  // reads the catalog
  const int from_floor = pages("false");
  EXPECT_LT(from_floor, 100);
  EXPECT_GT(pages("true"), 10 * from_floor) << "the index has no dead entries: the test shows nothing";
}

/// The role of the nodes has the rights that a node of version 4 needs, and a node runs meanwhile.
TEST_F(PostgresqlOnce, AMigrationFromVersion4MakesTheTableAndGivesTheRights) {
  sql("DROP TABLE foliot.once CASCADE");  // with the functions that have its rows
  sql("DROP SEQUENCE foliot.once_floor");
  sql("DROP FUNCTION foliot.leave(bytea, boolean)");
  sql("CREATE FUNCTION foliot.leave(of_tube bytea) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'");
  sql("ALTER TABLE foliot.node DROP COLUMN looks_at");
  sql("CREATE OR REPLACE FUNCTION foliot.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 4'");
  const put again{.tube = "t", .body = "x"};
  execute_one(*node_, again);
  const auto done = postgresql_store::migrate(database_);
  EXPECT_EQ(done.from, 4);
  EXPECT_EQ(done.to, 7);
  execute_one(*node_, again);
  const auto other = open("other");
  EXPECT_FALSE(execute_one(*other, plain(1)).is_replayed);
  EXPECT_TRUE(execute_one(*node_, plain(1)).is_replayed);
  EXPECT_EQ(jobs(), "3");
  EXPECT_EQ(sql("SELECT count(*) FROM pg_proc WHERE proname = 'leave' AND pronamespace = 'foliot'::regnamespace"), "1");
}

}  // namespace
}  // namespace foliot::jobs
