// The named numbers of sql/constants.sql beside those of the program: a node and a function that take a number for
// different things would corrupt jobs without an error.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

#include "database.hpp"
#include "jobs/postgresql/batch_plan.hpp"
#include "jobs/postgresql/lasting.hpp"
#include "jobs/postgresql/sql_constants.hpp"

namespace foliot::jobs {
namespace {

namespace names = detail::sql_constants;

class PostgresqlConstants : public foliot_test::postgresql_database {
 protected:
  template <class T>
  void expect(const std::string& name, T wanted) {
    EXPECT_EQ(sql("SELECT foliot." + name + "()"), std::to_string(static_cast<std::int64_t>(wanted))) << name;
  }
};

TEST_F(PostgresqlConstants, AreThoseOfTheProgram) {
  expect("state_delayed", job_state::delayed);
  expect("state_ready", job_state::ready);
  expect("state_reserved", job_state::reserved);
  expect("state_buried", job_state::buried);
  expect("answer_passed_over", names::answer_passed_over);
  expect("answer_no_room", names::answer_no_room);
  expect("put_inserted", put_answer::kind::inserted);
  expect("put_kept", put_answer::kind::kept);
  expect("put_replaced", put_answer::kind::replaced);
  expect("put_exists", put_answer::kind::exists);
  expect("put_reserved", put_answer::kind::reserved);
  expect("put_elsewhere", names::put_elsewhere);
  expect("put_other_version", put_answer::kind::other_version);
  expect("no_id", names::no_id);
  expect("existing_keep", on_existing::keep);
  expect("existing_replace", on_existing::replace);
  expect("existing_refuse", on_existing::refuse);
  expect("to_abandon", names::to_abandon);
  expect("to_release", names::to_release);
  expect("to_bury", names::to_bury);
  expect("to_touch", names::to_touch);
  expect("to_cancel", names::to_cancel);
  expect("to_reschedule", names::to_reschedule);
  expect("to_fire_now", names::to_fire_now);
  expect("to_kick", names::to_kick);
  expect("change_done", change_answer::kind::done);
  expect("change_reserved", change_answer::kind::reserved);
  expect("change_refused", change_answer::kind::refused);
  expect("change_gone", change_answer::kind::gone);
  expect("change_other_version", change_answer::kind::other_version);
  expect("due_by_delay", names::due_by_delay);
  expect("due_by_time", names::due_by_time);
  using turns = detail::batch_frame::turn_taking;
  expect("turns_if_taken", turns::if_taken);
  expect("turns_begin", turns::begin);
  expect("turns_ignore", turns::ignore);
  expect("turns_end", turns::end);
  expect("no_partition", names::no_partition);
  expect("rotation_locked", names::rotation_locked);
  expect("rotation_done", names::rotation_done);
  expect("rotation_more", names::rotation_more);
  expect("rotation_early", names::rotation_early);
  expect("most_at_once", names::most_at_once);
  expect("lasting_bits", names::lasting_bits);
}

TEST_F(PostgresqlConstants, SayWhichOpeningsAreOfReservationsThatLast) {
  for (const std::int64_t random : {std::int64_t{0}, std::int64_t{255}, std::numeric_limits<std::int64_t>::max()}) {
    const std::int64_t opening = detail::opening_from(random);
    for (const bool lasting : {false, true}) {
      const std::int64_t its = detail::opening_of(claim{.tubes = {}, .lasting = lasting}, opening);
      EXPECT_EQ(sql("SELECT foliot.is_lasting(" + std::to_string(its) + ")"), lasting ? "t" : "f");
      EXPECT_EQ(detail::is_lasting({1, static_cast<std::uint64_t>(its), 1}), lasting);
    }
  }
}

// Numbers that functions alone know are none of those that the program reads as an enumerator.
TEST_F(PostgresqlConstants, ThatOnlyFunctionsKnowAreOthers) {
  EXPECT_GT(names::put_elsewhere, static_cast<std::int64_t>(put_answer::kind::reserved));
  EXPECT_NE(names::put_elsewhere, static_cast<std::int64_t>(put_answer::kind::other_version));
  EXPECT_LT(names::answer_passed_over, 0);
  EXPECT_LT(names::answer_no_room, 0);
  EXPECT_EQ(
      sql("SELECT foliot.state_leaving() > foliot.state_buried() AND foliot.state_gone() > foliot.state_leaving()"),
      "t");
}

// The planner replaces a name by its number before it chooses partitions: so a plan has neither the call nor the
// partitions of other rows.
TEST_F(PostgresqlConstants, LeaveOutPartitionsAsNumbersDo) {
  const std::string explain = "EXPLAIN (COSTS OFF, FORMAT JSON) SELECT id FROM foliot.ready WHERE part = ";
  const std::string plan = sql(explain + "foliot.lasting_partition()");
  EXPECT_EQ(plan, sql(explain + "9"));
  EXPECT_NE(plan.find("ready_9"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("ready_0"), std::string::npos) << plan;
}

}  // namespace
}  // namespace foliot::jobs
