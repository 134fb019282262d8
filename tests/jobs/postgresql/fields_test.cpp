// Fields and histories of jobs in the database: what programs of version 1 of the schema do with them, moves between
// databases, and rows that are damaged.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "two_databases.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;

job_fields fields_with(std::string_view value) {
  job_fields made;
  EXPECT_TRUE(made.set(first_own_tag, value));
  return made;
}

put job_with_fields(const std::string& body, milliseconds delay = {}) {
  return {.tube = "t",
          .body = body,
          .due = delay,
          .ttr = 1h,
          .fields = fields_with("fields of " + body),
          .history = fields_with("history of " + body)};
}

void expect_fields(job_store& in, job_id id, const job_fields& fields, const job_fields& history) {
  const std::optional<job> found = execute_one(in, peek{id}).job;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fields, fields);
  EXPECT_EQ(found->history, history);
}

class PostgresqlFields : public foliot_test::postgresql_database {
 protected:
  [[nodiscard]] std::string stored(job_id id) {
    return sql("SELECT fields IS NOT NULL FROM foliot.job WHERE id = " + std::to_string(id));
  }
  [[nodiscard]] claimed_job claim_one(job_store& from) {
    auto got = execute_one(from, claim{.tubes = {"t"}}).jobs;
    EXPECT_EQ(got.size(), 1U);
    return std::move(got.at(0));
  }

  const std::unique_ptr<postgresql_store> node_ = open("a");
};

/// Jobs with fields so long that they lie apart from the rows (TOAST), and cannot be compressed.
class PostgresqlLongFields : public PostgresqlFields {
 protected:
  PostgresqlLongFields() {
    std::vector<operation> batch;
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < jobs_; ++i) {
      std::string value;
      for (int k = 0; k < 8000; ++k) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        value += static_cast<char>(state >> 56);
      }
      batch.emplace_back(put{.tube = "t", .body = "x", .ttr = 1h, .fields = fields_with(value)});
    }
    EXPECT_EQ(node_->execute(batch).answers.size(), jobs_);
  }
  /// Executes the statement. Returns how many rows it reads from the TOAST tables, and its result.
  std::pair<std::int64_t, std::string> reads_of(const std::string& statement) {
    postgresql_connection fresh(database_);
    fresh.sql("BEGIN");
    std::string returned = fresh.sql(statement);
    return {
        std::stoll(fresh.sql("SELECT coalesce(sum(s.idx_tup_fetch), 0) FROM pg_stat_xact_all_tables s JOIN pg_class c "
                             "ON c.reltoastrelid = s.relid JOIN pg_inherits i ON i.inhrelid = c.oid "
                             "WHERE i.inhparent = 'foliot.job'::regclass")),
        std::move(returned)};
  }

  static constexpr std::size_t jobs_ = 300;
  static constexpr std::int64_t rows_of_one_ = 5;
};

TEST_F(PostgresqlLongFields, AClaimReadsFewFieldsBehindItsBound) {
  const auto [rows, jobs] = reads_of("SELECT count(*) FROM foliot.claim_best(1, 1, NULL, ARRAY['t'::bytea], 300, 1)");
  EXPECT_EQ(jobs, "2") << "a job, and the row that says that the bound has cut the claim short";
  EXPECT_GE(rows, rows_of_one_);
  EXPECT_LT(rows, static_cast<std::int64_t>(jobs_) * rows_of_one_ / 3);
}

TEST_F(PostgresqlLongFields, APieceOfAMoveIsMeasuredWithoutReadingThem) {
  const auto [rows, jobs] = reads_of("SELECT count(p.piece) FROM foliot.send_piece('t', 256, 1000, true) p");
  EXPECT_EQ(jobs, "1");
  EXPECT_EQ(rows, 0);
}

TEST_F(PostgresqlLongFields, TheRotationReadsOnlyThoseThatItMoves) {
  sql("SELECT setval('foliot.part_of_job', (floor(extract(epoch FROM now()) * 1000)::bigint - 60000) << 4 | 1)");
  const auto [rows, fit] = reads_of(
      "WITH m AS MATERIALIZED (SELECT foliot.move_resting() AS more) SELECT 1048576 / pg_column_size(j.fields) "
      "FROM m, foliot.job j LIMIT 1");
  ASSERT_GT(std::stoll(fit), 100);
  EXPECT_GT(rows, rows_of_one_ * std::stoll(fit) / 2) << "else it has moved none";
  EXPECT_LT(rows, 4 * rows_of_one_ * std::stoll(fit));
}

// Else each row without a key would be longer.
TEST_F(PostgresqlFields, AJobWithoutFieldsHasNone) {
  const job_id plain = execute_one(*node_, put{.tube = "t", .body = "x"}).id;
  const job_id keyed = execute_one(*node_, put{.tube = "t", .key = "k", .body = "x"}).id;
  const claimed_job held = claim_one(*node_);
  ASSERT_EQ(held.job.id, plain);
  EXPECT_EQ(execute_one(*node_, release{.token = held.token, .history = job_fields()}).what, holder_answer::kind::done);
  EXPECT_EQ(stored(plain), "f");
  EXPECT_EQ(stored(keyed), "f");
  EXPECT_EQ(sql("SELECT count(*) FROM pg_attribute WHERE attrelid = 'foliot.job'::regclass AND attnum > 0"), "8")
      << "a ninth column costs each row that has a null eight bytes";
}

// In one call with others, which have none: each job has its own.
TEST_F(PostgresqlFields, EachJobOfABatchHasItsOwn) {
  std::vector<operation> batch{put{.tube = "t", .body = "0"},
                               job_with_fields("1"),
                               put{.tube = "t", .body = "2"},
                               job_with_fields("3", 1h),
                               put{.tube = "t", .key = "4", .body = "4", .fields = fields_with("four")},
                               put{.tube = "t", .key = "5", .body = "5"}};
  const execution done = node_->execute(batch);
  std::vector<job_id> ids;
  for (const answer& each : done.answers) ids.push_back(std::get<put_answer>(each).id);
  expect_fields(*node_, ids[0], {}, {});
  expect_fields(*node_, ids[1], fields_with("fields of 1"), fields_with("history of 1"));
  expect_fields(*node_, ids[2], {}, {});
  expect_fields(*node_, ids[3], fields_with("fields of 3"), fields_with("history of 3"));
  expect_fields(*node_, ids[4], fields_with("four"), {});
  expect_fields(*node_, ids[5], {}, {});
  const claim_answer got = execute_one(*node_, claim{.tubes = {"t"}, .count = 5});
  ASSERT_EQ(got.jobs.size(), 5U);
  std::vector<operation> changes;
  for (const claimed_job& each : got.jobs) changes.emplace_back(release{.token = each.token});
  std::get<release>(changes[0]).history = fields_with("zero");
  std::get<release>(changes[1]).history = job_fields();
  changes[3] = bury{.token = got.jobs[3].token, .history = fields_with("new")};
  node_->execute(changes);
  expect_fields(*node_, ids[0], {}, fields_with("zero"));
  expect_fields(*node_, ids[1], fields_with("fields of 1"), {});
  expect_fields(*node_, ids[2], {}, {});
  expect_fields(*node_, ids[4], fields_with("four"), fields_with("new"));
}

// A long body lies apart from its row, and stays where it is.
TEST_F(PostgresqlFields, ANewHistoryDoesNotWriteALongBodyAgain) {
  const std::string body(60'000, 'x');
  const job_id id = execute_one(*node_, put{.tube = "t", .body = body, .fields = fields_with("f")}).id;
  const std::string pages =
      "SELECT sum(pg_relation_size(reltoastrelid)) FROM pg_class WHERE relname ~ '^job_[0-9]$' AND reltoastrelid <> 0";
  const std::string before = sql(pages);
  ASSERT_GT(std::stoll(before), 60'000);
  for (int i = 0; i < 20; ++i) {
    const claimed_job held = claim_one(*node_);
    EXPECT_EQ(execute_one(*node_, release{.token = held.token, .history = fields_with(std::to_string(i))}).what,
              holder_answer::kind::done);
  }
  EXPECT_EQ(sql(pages), before);
  const std::optional<job> found = execute_one(*node_, peek{id}).job;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->body, body);
  EXPECT_EQ(found->history, fields_with("19"));
}

TEST_F(PostgresqlFields, StayWhenARegistrationEnds) {
  const job_id id = execute_one(*node_, job_with_fields("x")).id;
  {
    const auto other = open("b");
    ASSERT_EQ(claim_one(*other).job.fields, fields_with("fields of x"));
  }
  ASSERT_EQ(execute_one(*node_, peek{id}).job->state, job_state::ready);
  expect_fields(*node_, id, fields_with("fields of x"), fields_with("history of x"));
}

TEST_F(PostgresqlFields, StayWhenAnApplicationChangesTheJob) {
  const job_id id = execute_one(*node_, job_with_fields("x")).id;
  EXPECT_EQ(sql("SELECT foliot.reschedule(" + std::to_string(id) + ", '1 h')"), "t");
  ASSERT_EQ(execute_one(*node_, peek{id}).job->state, job_state::delayed);
  expect_fields(*node_, id, fields_with("fields of x"), fields_with("history of x"));
  EXPECT_EQ(sql("SELECT foliot.cancel(" + std::to_string(id) + ")"), "t");
}

// The job with them is refused, and others are not.
TEST_F(PostgresqlFields, DamagedOnesAreReported) {
  for (const char* damaged : {"'{}'", "'{x}'", "'{x,\"\"}'", "ARRAY['', '\\x8000000278']::bytea[]"}) {
    const job_id bad = execute_one(*node_, put{.tube = "bad", .body = "x"}).id;
    sql(std::string("UPDATE foliot.job SET fields = ") + damaged + " WHERE id = " + std::to_string(bad));
    std::vector<operation> batch{peek{bad}, put{.tube = "t", .body = "y"}};
    const execution done = node_->execute(batch);
    const auto* const refused = std::get_if<unavailable_answer>(&done.answers[0]);
    ASSERT_NE(refused, nullptr) << damaged;
    EXPECT_NE(refused->why.find("the fields of the job " + std::to_string(bad) + " are damaged"), std::string::npos)
        << refused->why;
    EXPECT_TRUE(std::holds_alternative<put_answer>(done.answers[1])) << damaged;
  }
}

/// What a node of version 1 sends, by the names and arguments that its statements have.
class PostgresqlVersion1 : public PostgresqlFields {
 protected:
  [[nodiscard]] std::string id() const { return std::to_string(id_); }
  /// A claim of the job by a function of version 1, as that of the node here; then a change.
  void claim_by(const std::string& call) {
    EXPECT_EQ(sql("SELECT count(*) FROM " + call), "1") << call;
    ++attempt_;
  }
  void change_by(const std::string& function, const std::string& what) {
    EXPECT_EQ(sql("SELECT foliot." + function + "(NULL, '{" + what + "}', '{" + id() + "}', '{1}', '{" +
                  std::to_string(attempt_) + "}', '{NULL}', '{0}', '{0}')"),
              "{0}")
        << function << " " << what;
  }
  void expect_kept() { expect_fields(*node_, id_, fields_with("fields of x"), fields_with("history of x")); }

  const std::string session_ = sql("SELECT session FROM foliot.node");
  const job_id id_ = execute_one(*node_, job_with_fields("x")).id;
  int attempt_ = 0;
};

TEST_F(PostgresqlVersion1, ItsChangesLoseNothing) {
  static constexpr std::array<const char*, 3> whats{"0", "1", "2"};  // abandon, release, bury
  for (const char* change : {"change_held", "change_held_or_pass"}) {
    for (const char* what : whats) {
      claim_by("foliot.claim_job(" + session_ + ", 1, NULL, " + id() + ")");
      change_by(change, what);
      expect_kept();
    }
  }
  EXPECT_EQ(sql("SELECT foliot.change_waiting(NULL, '{3}', '{" + id() + "}', '{\"\"}', '{\"\"}', '{0}', '{0}')"),
            "{0," + id() + "}");  // kicked
  for (const char* function : {"claim", "claim_or_pass"}) {
    claim_by(std::string("foliot.") + function + "(" + session_ + ", 1, NULL, '{t}', 1, NULL)");
    change_by("change_held", "1");
    expect_kept();
  }
  claim_by("foliot.claim_job_or_pass(" + session_ + ", 1, NULL, " + id() + ")");
  sql("SELECT foliot.end_over('{" + id() + "}', '{1}', '{" + std::to_string(attempt_) + "}', 9223372036854775807)");
  expect_kept();
}

TEST_F(PostgresqlVersion1, ItsPutsAndLooksGoOn) {
  const std::string rest = "'{1}', '{0}', '{0}', '{60000}'";
  const std::string plain = sql("SELECT (foliot.put_plain(NULL, '{u}', '{y}', " + rest + "))[1]");
  EXPECT_EQ(sql("SELECT encode((shown).body, 'escape') FROM foliot.peek(" + plain + ", '', '', true)"), "y");
  EXPECT_EQ(sql("SELECT (shown).id FROM foliot.peek_first('u', 1)"), plain);
  EXPECT_EQ(sql("SELECT (shown).id FROM foliot.peek(" + id() + ", '', '', false)"), id());
  for (const char* function : {"put_keyed", "put_or_pass"}) {
    const std::string key = function;
    EXPECT_EQ(sql("SELECT (foliot." + key + "(NULL, '{u}', '{" + key + "}', '{z}', " + rest + ", '{0}'))[1]"), "0");
    EXPECT_EQ(sql("SELECT encode((shown).body, 'escape') FROM foliot.peek(0, 'u', '" + key + "')"), "z");
  }
  expect_kept();
}

// A connection of such a node has prepared its statements, and refuses results with other columns.
TEST_F(PostgresqlVersion1, ItsAnswersHaveTheirColumns) {
  EXPECT_EQ(
      sql("SELECT string_agg(a.attname || ' ' || a.atttypid::regtype, ', ' ORDER BY a.attnum) FROM pg_attribute a "
          "WHERE a.attrelid = 'foliot.claimed'::regclass"),
      "id bigint, tube bytea, key bytea, body bytea, pri bigint, made bigint, due bigint, delay bigint, ttr bigint, "
      "expires bigint, reserves bigint, timeouts bigint, releases bigint, buries bigint, kicks bigint");
  EXPECT_EQ(
      sql("SELECT string_agg(format('%s: %s', p.proname, pg_get_function_result(p.oid)), E'\\n' ORDER BY p.proname) "
          "FROM pg_proc p WHERE p.pronamespace = 'foliot'::regnamespace AND p.proname IN ('claim', 'claim_job', "
          "'claim_job_or_pass', 'claim_or_pass', 'peek', 'peek_first', 'sent_piece')"),
      "claim: SETOF foliot.claimed\n"
      "claim_job: SETOF foliot.claimed\n"
      "claim_job_or_pass: SETOF foliot.claimed\n"
      "claim_or_pass: SETOF foliot.claimed\n"
      "peek: TABLE(state bigint, shown foliot.claimed)\n"
      "peek_first: TABLE(state bigint, shown foliot.claimed)\n"
      "sent_piece: TABLE(tube bytea, key bytea, body bytea, numbers bigint[])");
}

class PostgresqlFieldsMoved : public foliot_test::two_databases {
 protected:
};

TEST_F(PostgresqlFieldsMoved, GoWithTheirJobs) {
  const auto node = open("a");
  database_map map(first_);
  map.add(second_);
  const job_id ready = execute_one(*node, job_with_fields("ready")).id;
  const job_id delayed = execute_one(*node, job_with_fields("delayed", 1h)).id;
  const job_id plain = execute_one(*node, put{.tube = "t", .body = "plain"}).id;
  const job_id buried = execute_one(*node, job_with_fields("buried")).id;
  const claim_answer held = execute_one(*node, claim_job{buried});
  ASSERT_EQ(held.jobs.size(), 1U);
  execute_one(*node, bury{.token = held.jobs[0].token, .history = fields_with("why")});
  map.move("t", 1);
  EXPECT_EQ(ask(first_, "SELECT count(*) FROM foliot.job"), "0");
  expect_fields(*node, ready, fields_with("fields of ready"), fields_with("history of ready"));
  expect_fields(*node, delayed, fields_with("fields of delayed"), fields_with("history of delayed"));
  expect_fields(*node, buried, fields_with("fields of buried"), fields_with("why"));
  expect_fields(*node, plain, {}, {});
  EXPECT_EQ(ask(second_, "SELECT fields IS NULL FROM foliot.job WHERE id = " + std::to_string(plain)), "t");
}

// It would store the jobs without their fields.
TEST_F(PostgresqlFieldsMoved, AreNotLeftBehindByAProgramOfVersion1) {
  const auto node = open("a");
  database_map(first_).add(second_);
  execute_one(*node, put{.tube = "plain", .body = "x"});
  const job_id id = execute_one(*node, job_with_fields("x")).id;
  postgresql_connection earlier(first_);
  earlier.sql("SELECT foliot.plan_move('t', 1::smallint)");
  ask(second_, "SELECT foliot.join('t', " + earlier.sql("SELECT foliot.leave('t')") + ")");
  const std::string refusal = "ERROR:  the job " + std::to_string(id) +
                              " has fields, which this program would leave behind: move the tube with a newer program";
  const auto refused = [&](const std::string& call) {
    const std::string error = earlier.error_of(call);
    EXPECT_EQ(error.substr(0, error.find('\n')), refusal);
  };
  refused("SELECT * FROM foliot.send_piece('t', 256, 1000000)");
  EXPECT_EQ(earlier.sql("SELECT count(*) FROM foliot.leaving"), "0");
  EXPECT_EQ(earlier.sql("SELECT is_left FROM foliot.send_piece('plain', 256, 1000000)"), "t");
  EXPECT_EQ(earlier.sql("SELECT count(*) FROM foliot.sent_piece()"), "1");
  earlier.sql("SELECT foliot.forget_piece((SELECT piece FROM foliot.leaving))");
  earlier.sql("SELECT foliot.send_piece('t', 256, 1000000, true)");
  refused("SELECT * FROM foliot.sent_piece()");
  database_map(first_).move("t", 1);
  expect_fields(*node, id, fields_with("fields of x"), fields_with("history of x"));
}

TEST_F(PostgresqlFieldsMoved, AProgramThatChangesTheMapLooksAtTheVersion) {
  ask(second_, "CREATE OR REPLACE FUNCTION foliot.schema_version() RETURNS integer LANGUAGE sql AS 'SELECT 1'");
  database_map map(first_);
  try {
    map.add(second_);
    FAIL() << "it has added a database that knows no fields";
  } catch (const store_failure& error) {
    EXPECT_NE(std::string(error.what()).find("has version 1, and this program needs version 7"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(map.databases().empty());
}

}  // namespace
}  // namespace foliot::jobs
