// The database refuses one operation of a batch, because a row is damaged or a trigger raises an error: the other
// operations of the batch are executed. In these tests it is always a trigger.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "clock_node.hpp"
#include "connection.hpp"
#include "jobs/kit/jobs.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

/// Statements that have a table refuse these rows.
std::string refusal(const std::string& table, const std::string& event, const std::string& when,
                    const std::string& state) {
  return "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF " + when +
         " THEN RAISE EXCEPTION 'poison' USING ERRCODE = '" + state +
         "'; END IF; RETURN coalesce(NEW, OLD); END $$; CREATE TRIGGER refuse BEFORE " + event + " ON foliot." + table +
         " FOR EACH ROW EXECUTE FUNCTION public.refuse()";
}

const put_answer* inserted(const answer& got) {
  const auto* const it = std::get_if<put_answer>(&got);
  return it != nullptr && it->what == put_answer::kind::inserted ? it : nullptr;
}
void expect_refused(const answer& got) {
  const auto* const it = std::get_if<unavailable_answer>(&got);
  ASSERT_NE(it, nullptr);
  EXPECT_FALSE(it->is_in_doubt);
  EXPECT_NE(it->why.find("refuses this operation: "), std::string::npos) << it->why;
  EXPECT_NE(it->why.find("poison"), std::string::npos) << it->why;
}

class PostgresqlRefused : public foliot_test::postgresql_clock_node {
 protected:
  PostgresqlRefused() : postgresql_clock_node(200ms) {}
  void refuse(const std::string& table, const std::string& event, const std::string& when,
              const std::string& state = "P0001") {
    sql(refusal(table, event, when, state));
  }
  void refuse_no_more(const std::string& table) {
    sql("DROP TRIGGER refuse ON foliot." + table);
    sql("DROP FUNCTION public.refuse()");
  }
  job_id put_one(const std::string& tube, milliseconds due = 0ms) {
    return execute_one(*node_, put{.tube = tube, .body = "x", .due = due, .ttr = 1h}).id;
  }
};

TEST_F(PostgresqlRefused, OnePutOfManyIsAnsweredByItself) {
  // As by a constraint, a function, a damaged page, a failing disk.
  for (const std::string state : {"23514", "22012", "XX001", "58030"}) {
    refuse("job", "INSERT", "NEW.body = 'bad'", state);
    for (const std::size_t bad : {0U, 4U, 8U}) {
      std::vector<operation> puts(9, put{.tube = "a", .body = "good"});
      std::get<put>(puts[bad]).body = "bad";
      const execution done = (*node_).execute(puts);
      ASSERT_EQ(done.answers.size(), puts.size());
      job_id last = 0;
      for (std::size_t i = 0; i < puts.size(); ++i) {
        if (i == bad) {
          expect_refused(done.answers[i]);
        } else if (const put_answer* const good = inserted(done.answers[i])) {
          EXPECT_GT(good->id, last) << "in the order of the batch";
          last = good->id;
        } else {
          ADD_FAILURE() << i << " of the batch with " << bad << ", " << state;
        }
      }
      EXPECT_EQ(done.ready_tubes, std::vector<std::string>{"a"});
    }
    refuse_no_more("job");
  }
  EXPECT_EQ(execute_one(*node_, count_tube{"a"}).counts.ready, 96U);
  const auto tells = [](const std::string& each) {
    return each.find("refuses an operation, and the rest goes on: ERROR:  poison") != std::string::npos;
  };
  EXPECT_GE(std::ranges::count_if(warnings_, tells), 1);
  expect_right();
}

TEST_F(PostgresqlRefused, OnePutOfAllRefusesThemAllAndNothingElse) {
  refuse("job", "INSERT", "NEW.body = 'bad'");
  const put good{.tube = "a", .body = "good"};
  std::vector<operation> batch{good, put_all{{good, put{.tube = "a", .body = "bad"}, good}}, good,
                               put_all{{good, good}}};
  const execution done = (*node_).execute(batch);
  ASSERT_EQ(done.answers.size(), batch.size());
  EXPECT_NE(inserted(done.answers[0]), nullptr);
  expect_refused(done.answers[1]);
  EXPECT_NE(inserted(done.answers[2]), nullptr);
  EXPECT_EQ(std::get<put_all_answer>(done.answers[3]).puts.size(), 2U);
  refuse_no_more("job");
  EXPECT_EQ(execute_one(*node_, count_tube{"a"}).counts.ready, 4U);
  expect_right();
}

TEST_F(PostgresqlRefused, AJobThatCannotBeMovedHoldsUpItsTubeOnly) {
  const job_id bad = put_one("a");
  const job_id good = put_one("b");
  refuse("ready", "DELETE", "OLD.id = " + std::to_string(bad));
  std::vector<operation> all{claim{{"a"}}, claim{{"b"}}, put{.tube = "c", .body = "x"}, cancel{bad}, peek{bad}};
  const execution done = (*node_).execute(all);
  expect_refused(done.answers.at(0));
  EXPECT_EQ(std::get<claim_answer>(done.answers.at(1)).jobs.at(0).job.id, good);
  EXPECT_NE(inserted(done.answers.at(2)), nullptr);
  expect_refused(done.answers.at(3));
  EXPECT_EQ(std::get<peek_answer>(done.answers.at(4)).job->id, bad);
  refuse_no_more("ready");
  EXPECT_EQ(execute_one(*node_, claim{{"a"}}).jobs.at(0).job.id, bad);
  expect_right();
}

TEST_F(PostgresqlRefused, ADueJobThatCannotBeMovedHoldsUpDueJobsOnly) {
  const job_id due = put_one("a", 5ms);
  put_one("b");
  refuse("delayed", "DELETE", "true");
  time_.advance(10ms);
  (*node_).execute({});
  std::vector<operation> all{put{.tube = "b", .body = "x"}, claim{.tubes = {"b"}, .count = 9}, claim{{"a"}}};
  const execution done = (*node_).execute(all);
  EXPECT_NE(inserted(done.answers.at(0)), nullptr);
  EXPECT_EQ(std::get<claim_answer>(done.answers.at(1)).jobs.size(), 2U);
  EXPECT_TRUE(std::get<claim_answer>(done.answers.at(2)).jobs.empty());
  EXPECT_EQ(execute_one(*node_, peek{due}).job->state, job_state::delayed);
  refuse_no_more("delayed");
  EXPECT_EQ(execute_one(*node_, claim{{"a"}}).jobs.at(0).job.id, due);
  expect_right();
}

TEST_F(PostgresqlRefused, AReservationThatCannotBeEndedHoldsUpNothing) {
  execute_one(*node_, put{.tube = "a", .body = "x", .ttr = 1s});
  const reservation token = execute_one(*node_, claim{{"a"}}).jobs.at(0).token;
  refuse("reserved", "DELETE", "true");
  time_.advance(2s);
  EXPECT_TRUE((*node_).execute({}).expired.empty());
  put_one("b");
  refuse_no_more("reserved");
  time_.advance(2s);
  EXPECT_EQ((*node_).execute({}).expired, std::vector<reservation>{token});
  EXPECT_EQ(execute_one(*node_, claim{{"a"}}).jobs.size(), 1U);
  expect_right();
}

TEST_F(PostgresqlRefused, WhatRefusesAllIsAnOutage) {
  sql("CREATE TABLE public.kept AS SELECT prosrc FROM pg_proc WHERE oid = 'foliot.end_batch'::regproc");
  sql("UPDATE pg_proc SET prosrc = 'BEGIN RAISE EXCEPTION ''poison''; END' WHERE oid = 'foliot.end_batch'::regproc");
  std::vector<operation> puts(3, put{.tube = "b", .body = "x"});
  try {
    (*node_).execute(puts);
    ADD_FAILURE() << "no batch can end, and one is executed";
  } catch (const store_unavailable& error) {
    EXPECT_FALSE(error.is_in_doubt());
    EXPECT_NE(std::string_view(error.what()).find("poison"), std::string_view::npos) << error.what();
  }
  sql("UPDATE pg_proc SET prosrc = k.prosrc FROM public.kept k WHERE oid = 'foliot.end_batch'::regproc");
  EXPECT_EQ(execute_one(*node_, count_tube{"b"}).counts.ready, 0U);
  put_one("b");
  expect_right();
}

TEST_F(PostgresqlRefused, ALineThatBreaksAfterHalfOfABatchDoesNotHideTheOther) {
  refuse("job", "INSERT", "NEW.body = 'bad'");
  node_.at_exchange = [&](int) {
    if (sql("SELECT count(*) FROM foliot.job WHERE body = 'first'") == "0") return;
    node_.at_exchange = nullptr;
    node_.break_from(1);
  };
  std::vector<operation> puts{put{.tube = "a", .body = "first"}, put{.tube = "a", .body = "bad"},
                              put{.tube = "a", .body = "last"}, put{.tube = "a", .body = "last"}};
  const execution done = (*node_).execute(puts);
  node_.heal();
  const put_answer* const first = inserted(done.answers.at(0));
  ASSERT_NE(first, nullptr);
  for (std::size_t i = 1; i < puts.size(); ++i) {
    const auto* const lost = std::get_if<unavailable_answer>(&done.answers.at(i));
    ASSERT_NE(lost, nullptr);
    EXPECT_FALSE(lost->is_in_doubt) << lost->why;
  }
  foliot_test::until_available([&] { (*node_).execute({}); });
  const claim_answer all = execute_one(*node_, claim{.tubes = {"a"}, .count = 9});
  ASSERT_EQ(all.jobs.size(), 1U);
  EXPECT_EQ(all.jobs[0].job.id, first->id);
}

TEST_F(PostgresqlRefused, AfterAnOutageTheOthersAreExecuted) {
  refuse("job", "INSERT", "NEW.body = 'bad'");
  node_.break_from(1);
  EXPECT_THROW((*node_).execute({}), store_unavailable);
  node_.heal();
  std::vector<operation> puts{put{.tube = "a", .body = "bad"}, put{.tube = "a", .body = "good"}};
  const execution done = (*node_).execute(puts);
  expect_refused(done.answers.at(0));
  EXPECT_NE(inserted(done.answers.at(1)), nullptr);
  expect_right();
}

TEST_F(PostgresqlRefused, WhatIsRefusedAtTheCommitIsAnsweredByItself) {
  refuse("job", "INSERT", "false");
  sql("DROP TRIGGER refuse ON foliot.job");
  sql("CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.body = 'bad' "
      "THEN "
      "RAISE EXCEPTION 'poison'; END IF; RETURN NULL; END $$");
  sql("CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON foliot.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE "
      "FUNCTION public.refuse()");
  std::vector<operation> puts{put{.tube = "a", .body = "good"}, put{.tube = "a", .body = "bad"},
                              put{.tube = "a", .body = "good"}};
  const execution done = (*node_).execute(puts);
  EXPECT_NE(inserted(done.answers.at(0)), nullptr);
  expect_refused(done.answers.at(1));
  EXPECT_NE(inserted(done.answers.at(2)), nullptr);
  EXPECT_EQ(execute_one(*node_, count_tube{"a"}).counts.ready, 2U);
  expect_right();
}

TEST_F(PostgresqlRefused, AStoreThatFailsAfterHalfOfABatchDoesNotHideTheOther) {
  refuse("job", "INSERT", "NEW.body = 'bad'");
  node_.at_exchange = [&](int) {
    if (sql("SELECT count(*) FROM foliot.job WHERE body = 'first'") == "0") return;
    node_.at_exchange = nullptr;
    sql("ALTER FUNCTION foliot.schema_version RENAME TO schema_version_away");
    node_.break_at({1});
  };
  std::vector<operation> puts{put{.tube = "a", .body = "first"}, put{.tube = "a", .body = "bad"},
                              put{.tube = "a", .body = "last"}, put{.tube = "a", .body = "last"}};
  const execution done = (*node_).execute(puts);
  EXPECT_NE(inserted(done.answers.at(0)), nullptr);
  for (std::size_t i = 1; i < puts.size(); ++i) {
    EXPECT_TRUE(std::holds_alternative<unavailable_answer>(done.answers.at(i))) << i;
  }
  EXPECT_THROW((*node_).execute({}), store_failure);
  sql("ALTER FUNCTION foliot.schema_version_away RENAME TO schema_version");
}

using PostgresqlRefusedBeats = foliot_test::postgresql_database;

TEST_F(PostgresqlRefusedBeats, ADeadNodeWhoseJobsCannotBeGivenBackHoldsUpNothing) {
  postgresql_options short_timeout = options("living");
  short_timeout.node_timeout = 1s;
  postgresql_store living(short_timeout);
  postgresql_store poisoned(options("poisoned"));
  postgresql_store dead(options("dead"));
  const auto reserve_with = [](postgresql_store& by, const std::string& tube) {
    execute_one(by, put{.tube = tube, .body = "x", .ttr = 1h});
    return execute_one(by, claim{{tube}}).jobs.at(0).job.id;
  };
  const job_id bad = reserve_with(poisoned, "a");
  const job_id good = reserve_with(dead, "b");
  sql(refusal("ready", "INSERT", "NEW.id = " + std::to_string(bad), "P0001"));
  sql("UPDATE foliot.node SET timeout = 1 WHERE name IN ('poisoned', 'dead')");  // which execute nothing from now on
  for (;;) {
    ASSERT_NE(inserted(execute_one(living, put{.tube = "c", .body = "x"})), nullptr);
    const auto jobs = execute_one(living, claim{{"b"}}).jobs;
    if (jobs.empty()) continue;
    EXPECT_EQ(jobs.at(0).job.id, good);
    break;
  }
  EXPECT_EQ(execute_one(living, peek{bad}).job->state, job_state::reserved);
  sql("DROP TRIGGER refuse ON foliot.ready");
  while (execute_one(living, claim{{"a"}}).jobs.empty()) {
  }
}

TEST_F(PostgresqlRefusedBeats, ANodeStartsAlthoughItsOldJobsCannotBeGivenBack) {
  postgresql_options brief = options("a");
  brief.node_timeout = 1s;
  brief.give_up_after = 1s;
  auto old = std::make_unique<postgresql_store>(brief);
  const job_id id = execute_one(*old, put{.tube = "a", .body = "x", .ttr = 1h}).id;
  ASSERT_EQ(execute_one(*old, claim{{"a"}}).jobs.size(), 1U);
  sql(refusal("ready", "INSERT", "true", "P0001"));
  old.reset();
  postgresql_store node(brief);
  EXPECT_EQ(execute_one(node, peek{id}).job->state, job_state::reserved);
  sql("DROP TRIGGER refuse ON foliot.ready");
  claim_answer again;
  while (again.jobs.empty()) again = execute_one(node, claim{{"a"}});
  EXPECT_EQ(again.jobs.at(0).job.id, id);
  const check_result right = node.check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlRefused, APauseThatCannotBeEndedHoldsUpItsTubeOnly) {
  const job_id id = put_one("a");
  execute_one(*node_, pause{"a", 5ms});
  refuse("pause", "DELETE", "true");
  time_.advance(2s);
  put_one("b");
  EXPECT_GT((*node_).next().expiry, time_.now()) << "not again at once, and for ever";
  EXPECT_EQ(execute_one(*node_, claim{.tubes = {"a", "b"}, .count = 9}).jobs.size(), 1U);
  refuse_no_more("pause");
  time_.advance(2s);
  EXPECT_EQ((*node_).execute({}).ready_tubes, std::vector<std::string>{"a"});
  EXPECT_EQ(execute_one(*node_, claim{{"a"}}).jobs.at(0).job.id, id);
  expect_right();
}

// Nobody else would: its client has gone, and its TTR may be long.
TEST_F(PostgresqlRefusedBeats, AJobThatCannotBeGivenBackIsGivenBackLater) {
  postgresql_store node(options("a"));
  const job_id id = execute_one(node, put{.tube = "a", .body = "x", .ttr = 1h}).id;
  const reservation token = execute_one(node, claim{{"a"}}).jobs.at(0).token;
  sql(refusal("reserved", "DELETE", "true", "P0001"));
  std::vector<operation> all{abandon{token}, put{.tube = "b", .body = "x"}};
  const execution done = node.execute(all);
  EXPECT_TRUE(std::holds_alternative<holder_answer>(done.answers.at(0))) << "the caller forgets it";
  EXPECT_NE(inserted(done.answers.at(1)), nullptr);
  EXPECT_LT(node.next().expiry, monotonic_clock::instance().now() + duration(10min)) << "before its next heartbeat";
  EXPECT_EQ(execute_one(node, peek{id}).job->state, job_state::reserved);
  sql("DROP TRIGGER refuse ON foliot.reserved");
  while (node.execute({}).ready_tubes.empty()) {
  }
  EXPECT_EQ(execute_one(node, claim{{"a"}}).jobs.at(0).job.id, id);
  const check_result right = node.check();
  EXPECT_TRUE(right) << right.error();
}

TEST_F(PostgresqlRefused, AReservationThatCannotBeEndedHoldsUpNoOther) {
  for (int i = 0; i < 5; ++i) execute_one(*node_, put{.tube = "a", .body = "x", .ttr = 1s});
  const auto jobs = execute_one(*node_, claim{.tubes = {"a"}, .count = 9}).jobs;
  refuse("reserved", "DELETE", "OLD.id = " + std::to_string(jobs.at(0).job.id));
  time_.advance(2s);
  EXPECT_EQ((*node_).execute({}).expired.size(), 4U);
  EXPECT_EQ(execute_one(*node_, count_tube{"a"}).counts.ready, 4U);
  expect_right();
}

TEST_F(PostgresqlRefused, ADueJobThatCannotBeMovedHoldsUpNoOther) {
  const job_id bad = put_one("a", 5ms);
  for (int i = 0; i < 4; ++i) put_one("b", 5ms);
  refuse("delayed", "DELETE", "OLD.id = " + std::to_string(bad));
  time_.advance(2s);
  (*node_).execute({});
  EXPECT_EQ(execute_one(*node_, count_tube{"b"}).counts.ready, 4U);
  refuse_no_more("delayed");
  EXPECT_EQ(execute_one(*node_, claim{{"a"}}).jobs.at(0).job.id, bad);
  expect_right();
}

using PostgresqlRefusedOnMap = foliot_test::two_databases;

TEST_F(PostgresqlRefusedOnMap, PutsIntoATubeThatHasMovedFollowIt) {
  database_map map(first_);
  map.add(second_);
  postgresql_store node(options("a"));
  execute_one(node, put{.tube = "moves", .body = "x"});
  map.move("moves", 1);  // which the node has not noticed
  ask(first_, refusal("job", "INSERT", "NEW.body = 'bad'", "P0001"));
  const put moves{.tube = "moves", .body = "x"};
  const put stays{.tube = "stays", .body = "x"};
  std::vector<operation> puts{stays, moves, put{.tube = "stays", .body = "bad"}, moves, stays, moves};
  const execution done = node.execute(puts);
  for (std::size_t i = 0; i < puts.size(); ++i) {
    if (i == 2) {
      expect_refused(done.answers.at(i));
    } else {
      EXPECT_NE(inserted(done.answers.at(i)), nullptr) << i;
    }
  }
  EXPECT_EQ(ask(second_, "SELECT count(*) FROM foliot.job"), "4");
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.job"), "2");
}

}  // namespace
}  // namespace foliot::jobs
