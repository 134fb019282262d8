// Puts that replace the jobs which their workers hold (put::holder), over PostgreSQL: several nodes and databases,
// locks and a full disk.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"
#include "once_keys.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;
using put_kind = put_answer::kind;
using holder = holder_answer::kind;

put with_key(const std::string& body = "old") { return {.tube = "t", .key = "k", .body = body, .ttr = 1h}; }
put by_holder_of(const reservation& token) {
  put made = with_key("new");
  made.due = milliseconds(1h);
  made.existing = on_existing::replace;
  made.holder = token;
  return made;
}

class PostgresqlHolders : public foliot_test::postgresql_database {
 protected:
  reservation put_and_claim(bool lasts = false) {
    execute_one(*a_, with_key());
    return execute_one(*a_, claim{.tubes = {"t"}, .lasting = lasts}).jobs.at(0).token;
  }
  /// The node "b" takes "a" for dead.
  void let_a_die() {
    sql("UPDATE foliot.heard h SET seen = 1 FROM foliot.node n WHERE n.session = h.session AND n.name = 'a'");
    sql("UPDATE foliot.heard h SET since = 0 FROM foliot.node n WHERE n.session = h.session AND n.name = 'b'");
    while (sql("SELECT foliot.beat((SELECT session FROM foliot.node WHERE name = 'b'), 0, 0, NULL)") == "t") {
    }
  }
  void expect_right() {
    const check_result right = b_->check();
    EXPECT_TRUE(right) << right.error();
  }

  const std::unique_ptr<postgresql_store> a_ = open("a");
  const std::unique_ptr<postgresql_store> b_ = open("b");
};

TEST_F(PostgresqlHolders, AnyNodeReplacesAJobByItsToken) {
  const reservation mine = put_and_claim();
  const put_answer done = execute_one(*b_, by_holder_of(mine));
  EXPECT_EQ(done.what, put_kind::replaced);
  EXPECT_EQ(execute_one(*a_, finish{mine}).what, holder::not_held);
  EXPECT_EQ(execute_one(*a_, peek{job_key{"t", "k"}}).job.value().id, done.id);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.reserved"), "0");
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "1");
  expect_right();
}

/// As for a release.
TEST_F(PostgresqlHolders, ANodeThatIsTakenForDeadHoldsNothingButWhatLasts) {
  const reservation lost = put_and_claim();
  let_a_die();
  const peek_answer present = execute_one(*b_, peek{job_key{"t", "k"}});
  EXPECT_EQ(execute_one(*b_, by_holder_of(lost)), (put_answer{put_kind::other_version, lost.id, present.version}));
  execute_one(*b_, cancel{lost.id});

  const reservation lasting = put_and_claim(true);
  let_a_die();
  EXPECT_EQ(execute_one(*b_, by_holder_of(lasting)).what, put_kind::replaced);
  EXPECT_EQ(execute_one(*b_, touch{lasting}).what, holder::not_held);
  expect_right();
}

/// Its reservations are over, and their rows are still there.
TEST_F(PostgresqlHolders, ARegistrationThatHasEndedHoldsNothing) {
  const reservation mine = put_and_claim();
  sql("UPDATE foliot.node SET name = NULL WHERE name = 'a'");
  EXPECT_EQ(execute_one(*b_, by_holder_of(mine)), (put_answer{put_kind::reserved, mine.id}));
  EXPECT_EQ(execute_one(*b_, release{mine}).what, holder::not_held);
}

/// Beside each other in one batch, they go to different functions. All that is there was put by one transaction.
TEST_F(PostgresqlHolders, TheyComeBetweenPutsOfOtherKinds) {
  const reservation mine = put_and_claim();
  put once_only{.tube = "t", .key = "once", .body = "x", .due = 1h};
  once_only.once = foliot_test::once_of(7);
  const put plain{.tube = "u", .body = "x"};
  put expecting{.tube = "u", .key = "none", .body = "x", .existing = on_existing::replace, .expected = 5};
  put wrong = by_holder_of(mine);
  wrong.holder->attempt += 1;
  put nobody = by_holder_of(reservation{});
  std::vector<operation> batch{plain, once_only, wrong, expecting, nobody, by_holder_of(mine), once_only, plain};
  const execution done = a_->execute(batch);
  const auto kind_at = [&done](std::size_t place) { return std::get<put_answer>(done.answers.at(place)).what; };
  EXPECT_EQ(kind_at(0), put_kind::inserted);
  EXPECT_EQ(kind_at(1), put_kind::inserted);
  EXPECT_EQ(kind_at(2), put_kind::reserved);
  EXPECT_EQ(kind_at(3), put_kind::other_version);
  EXPECT_EQ(kind_at(4), put_kind::reserved);
  EXPECT_EQ(kind_at(5), put_kind::replaced);
  EXPECT_TRUE(std::get<put_answer>(done.answers.at(6)).is_replayed);
  EXPECT_EQ(kind_at(7), put_kind::inserted);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "4");
  EXPECT_EQ(sql("SELECT count(DISTINCT j.xmin::text) FROM foliot.job j"), "1");

  const put_all_answer all = execute_one(*a_, put_all{{plain, by_holder_of(mine), plain}});
  EXPECT_EQ(all.what, put_all_answer::kind::refused);
  EXPECT_EQ(all.place, 1U);
  EXPECT_EQ(all.why.what, put_kind::other_version);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "4");
  expect_right();
}

/// One that is refused after others were put is rolled back, and the rest of its batch is executed in parts.
TEST_F(PostgresqlHolders, TheyComeBesideAPutAllThatIsRolledBack) {
  const reservation mine = put_and_claim();
  const put plain{.tube = "u", .body = "x"};
  put refusing = with_key();
  refusing.key = "other";
  execute_one(*a_, refusing);
  refusing.existing = on_existing::refuse;
  std::vector<operation> batch{plain, put_all{{plain, by_holder_of(mine), refusing}}, touch{mine}, by_holder_of(mine),
                               plain};
  const execution done = a_->execute(batch);
  const auto& all = std::get<put_all_answer>(done.answers.at(1));
  EXPECT_EQ(all.what, put_all_answer::kind::refused);
  EXPECT_EQ(all.place, 2U);
  EXPECT_EQ(all.why.what, put_kind::exists);
  EXPECT_EQ(std::get<holder_answer>(done.answers.at(2)).what, holder::done) << "the job stays held";
  EXPECT_EQ(std::get<put_answer>(done.answers.at(3)).what, put_kind::replaced);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "4");
  expect_right();
}

/// A node that comes back after its registration has ended may have hundreds of such put_alls. The reservations are
/// compared before anything is put, so the batch is one transaction.
TEST_F(PostgresqlHolders, RefusedPutAllsAreNotRolledBack) {
  constexpr std::size_t count = 64;
  const put plain{.tube = "u", .body = "x"};
  std::vector<operation> batch;
  for (std::size_t i = 0; i < count; ++i) {
    put record = with_key("new");
    record.key = std::to_string(i);
    execute_one(*a_, record);
    record.existing = on_existing::replace;
    record.holder = execute_one(*a_, claim{.tubes = {"t"}}).jobs.at(0).token;
    if (i % 4 == 3) record.holder->attempt += 1;
    batch.emplace_back(put_all{{record, plain, plain}});
    if (i % 4 != 3) execute_one(*a_, release{.token = *record.holder, .due = 1h});
  }
  batch.emplace_back(plain);
  const std::string ids = "SELECT last_value FROM foliot.job_id";
  const std::int64_t before = std::stoll(sql(ids));
  const std::int64_t began = std::stoll(sql("SELECT pg_current_xact_id()"));
  const execution done = a_->execute(batch);
  EXPECT_LT(std::stoll(sql("SELECT pg_current_xact_id()")) - began, std::int64_t{count / 2}) << "transactions";
  EXPECT_EQ(std::stoll(sql(ids)), before + 1) << "nothing was put but the last one";
  for (std::size_t i = 0; i < count; ++i) {
    const auto& all = std::get<put_all_answer>(done.answers.at(i));
    ASSERT_EQ(all.what, put_all_answer::kind::refused) << i;
    EXPECT_EQ(all.place, 0U) << i;
    EXPECT_EQ(all.why.what, i % 4 == 3 ? put_kind::reserved : put_kind::other_version) << i;
  }
  EXPECT_EQ(std::get<put_answer>(done.answers.at(count)).what, put_kind::inserted);
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), std::to_string(count + 1));
  expect_right();
}

/// The first put that is refused is told, whichever puts come before the refused holder.
TEST_F(PostgresqlHolders, APutAllTellsItsFirstRefusal) {
  const reservation mine = put_and_claim();
  put other = with_key();
  other.key = "other";
  execute_one(*a_, other);
  put wrong = by_holder_of(mine);
  wrong.holder->attempt += 1;
  put refusing = other;
  refusing.existing = on_existing::refuse;
  put replacing = other;
  replacing.existing = on_existing::replace;
  const put plain{.tube = "u", .body = "x"};
  const std::string rows = "SELECT string_agg(j::text, ' ' ORDER BY j.id) FROM foliot.job j";
  const std::string before = sql(rows);
  std::vector<operation> batch{put_all{{plain, refusing, wrong, plain}}, put_all{{plain, replacing, wrong, plain}},
                               put_all{{wrong, refusing}}, put_all{{other, plain, wrong}}};
  const execution done = a_->execute(batch);
  const auto refused_at = [](std::size_t place, const put_answer& why) {
    return put_all_answer{.what = put_all_answer::kind::refused, .place = place, .why = why};
  };
  const job_id present = execute_one(*b_, peek{job_key{"t", "other"}}).job.value().id;
  EXPECT_EQ(std::get<put_all_answer>(done.answers.at(0)), refused_at(1, {put_kind::exists, present}));
  EXPECT_EQ(std::get<put_all_answer>(done.answers.at(1)), refused_at(2, {put_kind::reserved, mine.id}));
  EXPECT_EQ(std::get<put_all_answer>(done.answers.at(2)), refused_at(0, {put_kind::reserved, mine.id}));
  EXPECT_EQ(std::get<put_all_answer>(done.answers.at(3)), refused_at(2, {put_kind::reserved, mine.id}));
  EXPECT_TRUE(done.ready_tubes.empty());
  EXPECT_EQ(sql(rows), before);
  EXPECT_EQ(execute_one(*a_, put_all{{plain, by_holder_of(mine), replacing}}).what, put_all_answer::kind::done);
  expect_right();
}

/// A finish takes the job's row in `reserved` first, and waits for the one in `job`, which the put has.
TEST_F(PostgresqlHolders, APutDoesNotWaitForAFinish) {
  const reservation mine = put_and_claim();
  postgresql_connection finishing(database_);
  finishing.sql("BEGIN");
  finishing.sql("DELETE FROM foliot.reserved");
  std::vector<operation> batch{by_holder_of(mine), put_all{{put{.tube = "u", .body = "x"}, by_holder_of(mine)}}};
  const execution done = a_->execute(batch);
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(done.answers.at(0)));
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(done.answers.at(1)));
  postgresql_connection putting(database_);
  putting.sql("SET lock_timeout = '10s'");
  EXPECT_EQ(
      putting.sql("SELECT foliot.put_keyed_held(NULL, '{t}', '{k}', '{y}', '{1}', '{0}', '{0}', '{60000}', '{1}', "
                  "'{\"\"}', '{\"\"}', '{0}', '{" +
                  std::to_string(mine.id) + "}', (SELECT ARRAY[r.opening] FROM foliot.reserved r), '{" +
                  std::to_string(mine.attempt) + "}')"),
      "{-1," + std::to_string(mine.id) + ",0}");
  finishing.sql("SET lock_timeout = '10s'");
  finishing.sql("DELETE FROM foliot.job");  // the put has let its row go
  finishing.sql("COMMIT");
  EXPECT_EQ(execute_one(*a_, by_holder_of(mine)), (put_answer{put_kind::other_version, 0, 0}));
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "0");
  expect_right();
}

TEST_F(PostgresqlHolders, WithoutRoomTheJobStaysHeld) {
  const reservation mine = put_and_claim();
  const std::string row = "SELECT r FROM foliot.reserved r";
  const std::string before = sql(row);
  sql("SELECT setval('foliot.refusing_puts', 1)");
  EXPECT_EQ(execute_one(*a_, by_holder_of(mine)).what, put_kind::no_space);
  EXPECT_EQ(sql(row), before);
  put wrong = by_holder_of(mine);
  wrong.holder->attempt += 1;
  EXPECT_EQ(execute_one(*a_, wrong), (put_answer{put_kind::reserved, mine.id})) << "that is told before";
  sql("SELECT setval('foliot.refusing_puts', 0)");
  EXPECT_EQ(execute_one(*a_, by_holder_of(mine)).what, put_kind::replaced);
  expect_right();
}

TEST_F(PostgresqlHolders, APutWhoseJobIsLockedIsPassedOver) {
  const reservation mine = put_and_claim();
  postgresql_connection shop(database_);
  shop.sql("BEGIN");
  shop.sql("SELECT FROM foliot.job WHERE key = 'k' FOR UPDATE");
  std::vector<operation> batch{by_holder_of(mine), put_all{{by_holder_of(mine)}}, count_tube{"t"}};
  const execution done = a_->execute(batch);
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(done.answers.at(0)));
  EXPECT_TRUE(std::holds_alternative<passed_over_answer>(done.answers.at(1)));
  EXPECT_EQ(std::get<count_answer>(done.answers.at(2)).counts.reserved, 1U);
  shop.sql("COMMIT");
  EXPECT_EQ(execute_one(*a_, by_holder_of(mine)).what, put_kind::replaced);
  expect_right();
}

/// The functions for a batch that does not fail as a whole answer as the others do.
TEST_F(PostgresqlHolders, AllFormsOfTheFunctionAnswerAlike) {
  for (const std::string function : {"put_keyed_held", "put_held_or_pass", "put_all_held", "put_all_held_or_pass"}) {
    const reservation mine = put_and_claim();
    const auto ask = [&](const std::string& ids, std::uint64_t attempt) {
      return sql("SELECT foliot." + function +
                 "(NULL, '{t}', '{k}', '{y}', '{1}', '{0}', '{0}', '{60000}', '{1}', '{\"\"}', '{\"\"}', '{0}', '{" +
                 ids + "}', (SELECT ARRAY[r.opening] FROM foliot.reserved r), '{" + std::to_string(attempt) + "}')");
    };
    const std::string id = std::to_string(mine.id);
    EXPECT_EQ(ask(id, mine.attempt + 1), "{4," + id + ",0}") << function;
    EXPECT_EQ(ask("7777", mine.attempt), "{4," + id + ",0}") << function;
    EXPECT_EQ(ask("NULL", mine.attempt), "{4," + id + ",0}") << function << ": a put without a holder";
    EXPECT_EQ(ask(id, mine.attempt).substr(0, 3), "{2,") << function;
    EXPECT_EQ(ask(id, mine.attempt).substr(0, 3), "{6,") << function;
    execute_one(*a_, cancel{job_key{"t", "k"}});
    EXPECT_EQ(ask(id, mine.attempt), "{6,0,0}") << function;
  }
  expect_right();
}

class PostgresqlHoldersOverTwo : public foliot_test::two_databases {};

TEST_F(PostgresqlHoldersOverTwo, AJobThatStaysBehindItsTubeIsReplacedWhereItIs) {
  const auto node = open("a");
  execute_one(*node, with_key());
  const reservation mine = foliot_test::claim_one(*node, "t").token;
  database_map map(first_);
  map.add(second_);
  map.move("t", 1, [](const database_map::progress& so_far) { return !so_far.waits; });
  put wrong = by_holder_of(mine);
  wrong.key = "other";
  EXPECT_EQ(execute_one(*node, wrong), (put_answer{put_kind::other_version, 0, 0}));
  wrong = by_holder_of(mine);
  wrong.holder->opening += 1;
  EXPECT_EQ(execute_one(*node, wrong), (put_answer{put_kind::reserved, mine.id}));
  const put_answer done = execute_one(*node, by_holder_of(mine));
  EXPECT_EQ(done.what, put_kind::replaced);
  EXPECT_EQ(execute_one(*node, finish{mine}).what, holder::not_held);
  map.move("t", 1);
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.job"), "0");
  EXPECT_EQ(execute_one(*node, peek{job_key{"t", "k"}}).job.value().id, done.id);

  const reservation there = execute_one(*node, claim_job{done.id}).jobs.at(0).token;
  const put_all_answer all = execute_one(*node, put_all{{by_holder_of(there), {.tube = "t", .body = "x"}}});
  EXPECT_EQ(all.what, put_all_answer::kind::done);
  const put elsewhere{.tube = "here", .body = "x"};
  EXPECT_EQ(execute_one(*node, put_all{{by_holder_of(there), elsewhere}}).what,
            put_all_answer::kind::several_databases);
  const check_result right = node->check();
  EXPECT_TRUE(right) << right.error();
}

}  // namespace
}  // namespace foliot::jobs
