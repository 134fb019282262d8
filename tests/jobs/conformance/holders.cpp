// The conformance suite case by case: puts that replace the job which their worker holds.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using end_kind = holder_answer::kind;
using kind_of_put = put_answer::kind;

/// The put by which the holder of the job "k" of the tube "a" replaces it.
put by_holder(const reservation& token, due_at due = milliseconds(1h)) {
  return {.tube = "a", .key = "k", .body = "new", .due = due, .existing = on_existing::replace, .holder = token};
}

TEST_P(JobStore, APutReplacesTheJobThatItsWorkerHolds) {
  const job_id old = run(put{.tube = "a", .key = "k", .body = "old", .priority = 3}).id;
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  ASSERT_EQ(token.id, old);
  const utc_time now = store_.utc();
  put what = by_holder(token);
  what.priority = 9;
  const put_answer done = run(what);
  EXPECT_EQ(done.what, kind_of_put::replaced);
  EXPECT_GT(done.id, old);
  EXPECT_EQ(run(count_all{}).counts, (job_counts{.delayed = 1}));
  EXPECT_EQ(run(count_tube{"a"}).counts, (job_counts{.delayed = 1}));
  EXPECT_FALSE(run(peek{old}).job);
  const job made = run(peek{job_key{"a", "k"}}).job.value();
  EXPECT_EQ(made.id, done.id);
  EXPECT_EQ(made.body, "new");
  EXPECT_EQ(made.state, job_state::delayed);
  EXPECT_EQ(made.made, now);
  EXPECT_EQ(made.due, now + 1h);
  EXPECT_EQ(made.priority, 9U);
  EXPECT_EQ(made.counters, job_counters{});
  EXPECT_EQ(next_when_settled().expiry, instant::never()) << "the reservation has ended with its job";

  for (const operation& late :
       std::vector<operation>{finish{token}, release{token}, abandon{token}, bury{token}, touch{token}}) {
    operation only = late;
    const execution got = store_->execute(std::span(&only, 1));
    EXPECT_EQ(std::get<holder_answer>(got.answers.at(0)).what, end_kind::not_held) << late.index();
  }
  EXPECT_EQ(run(peek{done.id}).job.value(), made) << "the new job is no matter of the old reservation";
  store_.pass(2h);
  EXPECT_TRUE(settle().expired.empty());
  EXPECT_EQ(run(claim{{"a"}}).jobs.at(0).job.id, done.id);
}

TEST_P(JobStore, ANewJobOfAHolderIsReadyAtOnceIfItIsDue) {
  run(put{.tube = "a", .key = "k", .body = "old", .due = 1h});
  const job_id old = run(peek{job_key{"a", "k"}}).job.value().id;
  const reservation token = run(claim_job{old}).jobs.at(0).token;
  const put_answer done = run(by_holder(token, milliseconds(0)));
  EXPECT_EQ(done.what, kind_of_put::replaced);
  EXPECT_EQ(last_.ready_tubes, std::vector<std::string>{"a"});
  const claim_answer again = run(claim{{"a"}});
  ASSERT_EQ(again.jobs.size(), 1U);
  EXPECT_EQ(again.jobs[0].job.id, done.id);
  EXPECT_NE(again.jobs[0].token, token);
  EXPECT_EQ(run(by_holder(token)), (put_answer{kind_of_put::reserved, done.id})) << "another reservation has it";
  EXPECT_EQ(run(by_holder(again.jobs[0].token)).what, kind_of_put::replaced);
}

TEST_P(JobStore, APutOfAnotherHolderReplacesNothing) {
  const job_id id = run(put{.tube = "a", .key = "k", .body = "old"}).id;
  const job_id other = run(put{.tube = "a", .key = "other", .body = "old"}).id;
  const reservation of_other = run(claim_job{other}).jobs.at(0).token;
  const reservation first = run(claim_job{id}).jobs.at(0).token;
  run(release{first});
  const reservation token = run(claim_job{id}).jobs.at(0).token;
  const job before = run(peek{id}).job.value();
  reservation other_opening = token;
  other_opening.opening += 1;
  reservation other_attempt = token;
  other_attempt.attempt += 1;
  for (const reservation& wrong : {first, of_other, other_opening, other_attempt, reservation{}}) {
    EXPECT_EQ(run(by_holder(wrong)), (put_answer{kind_of_put::reserved, id}));
    EXPECT_EQ(run(peek{id}).job.value(), before);
  }
  EXPECT_EQ(run(count_all{}).counts, (job_counts{.reserved = 2}));
  EXPECT_EQ(run(finish{token}).what, end_kind::done);
  EXPECT_EQ(run(finish{of_other}).what, end_kind::done);
}

TEST_P(JobStore, APutOfAHolderReplacesNoJobThatIsNotReserved) {
  EXPECT_EQ(run(by_holder({1, 1, 1})), (put_answer{kind_of_put::other_version, 0, 0})) << "neither job nor tube";
  run(put{.tube = "a", .key = "other", .body = "old"});
  EXPECT_EQ(run(by_holder({1, 1, 1})), (put_answer{kind_of_put::other_version, 0, 0})) << "no job has the key";
  EXPECT_EQ(run(count_all{}).counts.all(), 1U);
  const job_id id = run(put{.tube = "a", .key = "k", .body = "old"}).id;
  const auto refused = [this, id](const reservation& token) {
    const peek_answer present = run(peek{id});
    EXPECT_EQ(run(by_holder(token)), (put_answer{kind_of_put::other_version, id, present.version}));
    EXPECT_EQ(run(peek{id}), present);
  };
  refused({id, 1, 1});
  const auto claimed = [this, id] { return run(claim_job{id}).jobs.at(0).token; };
  reservation token = claimed();
  run(release{.token = token, .due = 1h});
  refused(token);
  token = claimed();
  run(bury{token});
  refused(token);
  token = claimed();
  run(abandon{token});
  refused(token);
  token = claimed();
  run(finish{token});
  EXPECT_EQ(run(by_holder(token)), (put_answer{kind_of_put::other_version, 0, 0}));
}

/// At its last instant a reservation is alive, and a nanosecond later it is over.
TEST_P(JobStore, APutOfAHolderComesBeforeItsTTREnds) {
  for (const bool is_in_time : {true, false}) {
    const std::string key = is_in_time ? "k" : "late";
    const job_id id = run(put{.tube = "a", .key = key, .body = "old", .ttr = 10ms}).id;
    const reservation token = run(claim_job{id}).jobs.at(0).token;
    store_.pass(8ms);
    EXPECT_EQ(run(touch{token}).what, end_kind::done);
    store_.pass(10ms);
    if (!is_in_time) store_.pass(duration::nanoseconds(1));
    put what = by_holder(token);
    what.key = key;
    const put_answer done = run(what);
    EXPECT_EQ(last_.expired, is_in_time ? std::vector<reservation>() : std::vector{token});
    if (is_in_time) {
      EXPECT_EQ(done.what, kind_of_put::replaced);
    } else {
      EXPECT_EQ(done, (put_answer{kind_of_put::other_version, id, run(peek{id}).version}));
      EXPECT_EQ(run(peek{id}).job.value().state, job_state::ready);
    }
  }
}

TEST_P(JobStore, PutsAllTogetherWithThatOfAHolder) {
  const job_id old = run(put{.tube = "a", .key = "k", .body = "old"}).id;
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  run(put{.tube = "c", .key = "there", .body = "old", .due = 1h});
  const auto all_of = [](const reservation& by, on_existing existing) {
    return put_all{{{.tube = "b", .body = "first"},
                    by_holder(by),
                    {.tube = "c", .key = "there", .body = "last", .due = 1h, .existing = existing}}};
  };
  reservation wrong = token;
  wrong.attempt += 1;
  const put_all_answer refused = run(all_of(wrong, on_existing::keep));
  EXPECT_EQ(refused.what, put_all_answer::kind::refused);
  EXPECT_EQ(refused.place, 1U);
  EXPECT_EQ(refused.why, (put_answer{kind_of_put::reserved, old}));
  EXPECT_EQ(run(count_all{}).counts, (job_counts{.reserved = 1, .delayed = 1}));
  EXPECT_EQ(run(all_of(token, on_existing::refuse)).place, 2U) << "another put is refused";
  EXPECT_EQ(run(count_all{}).counts, (job_counts{.reserved = 1, .delayed = 1}));
  EXPECT_EQ(run(touch{token}).what, end_kind::done) << "so the job is still held";

  const put_all_answer done = run(all_of(token, on_existing::replace));
  ASSERT_EQ(done.what, put_all_answer::kind::done);
  ASSERT_EQ(done.puts.size(), 3U);
  EXPECT_EQ(done.puts[0].what, kind_of_put::inserted);
  EXPECT_EQ(done.puts[1].what, kind_of_put::replaced);
  EXPECT_EQ(done.puts[2].what, kind_of_put::replaced);
  EXPECT_TRUE(done.puts[0].id < done.puts[1].id && done.puts[1].id < done.puts[2].id);
  EXPECT_EQ(run(count_all{}).counts, (job_counts{.urgent = 1, .ready = 1, .delayed = 2}));
  EXPECT_EQ(run(finish{token}).what, end_kind::not_held);
  const put_all_answer again = run(all_of(token, on_existing::replace));
  EXPECT_EQ(again.what, put_all_answer::kind::refused);
  EXPECT_EQ(again.why, (put_answer{kind_of_put::other_version, done.puts[1].id, run(peek{done.puts[1].id}).version}));
}

TEST_P(JobStore, ABatchSeesWhatItsHoldersHaveReplaced) {
  run(put{.tube = "a", .key = "k", .body = "old"});
  run(put{.tube = "a", .key = "l", .body = "old"});
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  const reservation other = run(claim{{"a"}}).jobs.at(0).token;
  put of_other = by_holder(other, milliseconds(0));
  of_other.key = "l";
  std::vector<operation> batch{touch{token},  by_holder(token), by_holder(token), finish{token},
                               finish{other}, of_other,         count_tube{"a"},  peek{job_key{"a", "k"}}};
  last_ = store_->execute(batch);
  check();
  const std::vector<answer>& got = last_.answers;
  const auto put_at = [&got](std::size_t place) { return std::get<put_answer>(got.at(place)); };
  EXPECT_EQ(std::get<holder_answer>(got.at(0)).what, end_kind::done);
  EXPECT_EQ(put_at(1).what, kind_of_put::replaced);
  EXPECT_EQ(put_at(2).what, kind_of_put::other_version);
  EXPECT_EQ(put_at(2).id, put_at(1).id);
  EXPECT_EQ(put_at(2).version, std::get<peek_answer>(got.at(7)).version);
  EXPECT_EQ(std::get<holder_answer>(got.at(3)).what, end_kind::not_held);
  EXPECT_EQ(std::get<holder_answer>(got.at(4)).what, end_kind::done);
  EXPECT_EQ(put_at(5), (put_answer{kind_of_put::other_version, 0, 0})) << "it has been finished";
  EXPECT_EQ(std::get<count_answer>(got.at(6)).counts, (job_counts{.delayed = 1}));
}

TEST_P(JobStore, APausedTubeIsEmptiedByNoHolder) {
  run(put{.tube = "a", .key = "k", .body = "old"});
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  run(pause{"a", 1h});
  EXPECT_EQ(run(by_holder(token, milliseconds(0))).what, kind_of_put::replaced);
  EXPECT_TRUE(last_.emptied_tubes.empty());
  EXPECT_TRUE(run(claim{{"a"}}).jobs.empty());
}

TEST_P(ReopenedJobStore, KeepsWhatAHolderHasPut) {
  const job_id old = run(put{.tube = "a", .key = "k", .body = "old"}).id;
  const job_id other = run(put{.tube = "a", .key = "other", .body = "old", .priority = 1}).id;
  const reservation token = run(claim{{"a"}}).jobs.at(0).token;
  const reservation of_other = run(claim{{"a"}}).jobs.at(0).token;
  const put_answer done = run(by_holder(token));
  ASSERT_EQ(done.what, kind_of_put::replaced);
  for (const ending each : {ending::orderly, ending::crash}) {
    store_.reopen(each);
    EXPECT_FALSE(run(peek{old}).job);
    EXPECT_EQ(run(peek{job_key{"a", "k"}}).job.value().id, done.id);
    EXPECT_EQ(run(count_all{}).counts, (job_counts{.urgent = 1, .ready = 1, .delayed = 1}));
    put late = by_holder(of_other);
    late.key = "other";
    EXPECT_EQ(run(late), (put_answer{kind_of_put::other_version, other, run(peek{other}).version}))
        << "the reservation has ended with its opening";
  }
}

}  // namespace
}  // namespace foliot::jobs::conformance
