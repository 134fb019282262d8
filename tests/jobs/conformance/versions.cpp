// The conformance suite case by case: versions of jobs, and operations that expect one.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using change = change_answer::kind;
using put_kind = put_answer::kind;

/// The operations that may expect a version, for this job; each with what it does to a waiting one.
std::vector<operation> changes_of(const job_name& name, job_id id, job_version expected) {
  return {kick_job{id, expected}, reschedule{name, 2h, expected}, fire_now{name, expected}, cancel{name, expected}};
}

change_answer answer_of_change(const answer& from) { return std::get<change_answer>(from); }

TEST_P(VersionsOfJobs, EachChangeGivesAnotherOne) {
  const job_id id = run(put{.tube = "a", .key = "k", .body = "b", .due = 1h, .ttr = 10ms}).id;
  std::set<job_version> seen;
  const auto expect_new = [&](const char* after) {
    const job_version version = version_of(id);
    EXPECT_NE(version, 0U) << after;
    EXPECT_EQ(version >> 63U, 0U) << after;
    EXPECT_TRUE(seen.insert(version).second) << after;
    EXPECT_EQ(version_of(job_key{"a", "k"}), version) << after;
    EXPECT_EQ(run(peek{id}).version, version) << after;
  };
  expect_new("the put");
  run(reschedule{id, 2h});
  expect_new("another due time");
  store_.pass(1ms);
  run(fire_now{id});
  expect_new("fire_now");
  const reservation token = claimed(id);
  expect_new("a claim");
  store_.pass(1ms);
  run(touch{token});
  expect_new("a touch");
  run(release{token, 5U});
  expect_new("a release");
  run(release{claimed(id), std::nullopt, 1h});
  expect_new("a release with a delay");
  run(abandon{claimed(id)});
  expect_new("its worker has gone");
  run(bury{claimed(id), 7U});
  expect_new("a bury");
  run(kick_job{id});
  expect_new("a kick of the job");
  run(bury{claimed(id)});
  expect_new("another bury");
  run(kick{"a"});
  expect_new("a kick of the tube");
  EXPECT_EQ(run(claim{{"a"}}).jobs.size(), 1U);
  expect_new("a claim from the tube");
  store_.pass(11ms);
  settle();
  expect_new("the end of its reservation");
  run(bury{claimed(id)});
  expect_new("a third bury");
  const job buried = run(peek{id}).job.value();
  run(reschedule{id, buried.due});
  expect_new("a buried job is buried no more");
}

TEST_P(VersionsOfJobs, ANewHistoryGivesAnotherOne) {
  const job_id id = run(put{.tube = "a", .body = "b"}).id;
  std::set<job_version> seen;
  for (const char* const value : {"one", "two"}) {
    job_fields history;
    ASSERT_TRUE(history.set(first_own_tag, value));
    run(release{claimed(id), std::nullopt, 0ms, history});
    EXPECT_TRUE(seen.insert(version_of(id)).second) << value;
  }
}

TEST_P(VersionsOfJobs, WhatChangesNothingKeepsIt) {
  const job_id id = run(put{.tube = "a", .key = "k", .body = "b", .due = 5ms}).id;
  const job_version version = version_of(id);
  const auto expect_kept = [&](const char* after) { EXPECT_EQ(version_of(id), version) << after; };
  run(put{.tube = "a", .key = "k", .body = "other"});
  expect_kept("a put that keeps it");
  run(put{.tube = "a", .key = "k", .body = "other", .existing = on_existing::refuse});
  expect_kept("a put that is refused");
  run(pause{"a", 1h});
  expect_kept("a pause of its tube");
  run(pause{"a", 0ms});
  store_.pass(5ms);
  settle();
  EXPECT_EQ(run(peek{id}).job.value().state, job_state::ready);
  expect_kept("its due time");
  EXPECT_EQ(run(peek_first{"a"}).version, version) << "the first job of its tube";
  run(kick_job{id});
  expect_kept("a kick that is refused");
  run(fire_now{id});
  expect_kept("fire_now of a ready job");
  run(put{.tube = "a", .body = "another job"});
  expect_kept("a put of another job");
  const reservation token = claimed(id);
  const job_version reserved = version_of(id);
  for (operation& each : changes_of(id, id, 0)) {
    const execution done = store_->execute(std::span(&each, 1));
    EXPECT_EQ(answer_of_change(done.answers.at(0)).what, change::reserved);
    EXPECT_EQ(version_of(id), reserved);
  }
  EXPECT_EQ(run(touch{{id, token.opening, token.attempt + 1}}).what, holder_answer::kind::not_held);
  EXPECT_EQ(version_of(id), reserved) << "a token that does not hold it";
}

TEST_P(VersionsOfJobs, JobsWithTheSameContentHaveTheirOwn) {
  const job_version first = version_of(run(put{.tube = "a", .key = "k", .body = "b"}).id);
  const job_version second = version_of(run(put{.tube = "a", .body = "b"}).id);
  EXPECT_NE(first, second);
  run(put{.tube = "a", .key = "k", .body = "b", .existing = on_existing::replace});
  EXPECT_NE(version_of(job_key{"a", "k"}), first) << "a job that replaces another one";
}

TEST_P(VersionsOfJobs, AChangeHappensIfTheVersionIsTheExpectedOne) {
  for (const bool by_key : {false, true}) {
    for (std::size_t which = 0; which < 4; ++which) {
      const job_id id = run(put{.tube = "a", .key = "k", .body = "b", .due = 1h}).id;
      const job_name name = by_key ? job_name(job_key{"a", "k"}) : job_name(id);
      const job before = run(peek{id}).job.value();
      const job_version version = version_of(id);
      for (const job_version other : {version ^ 1U, version + 1, job_version{1}, ~job_version{0}}) {
        operation wrong = changes_of(name, id, other).at(which);
        const execution refused = store_->execute(std::span(&wrong, 1));
        EXPECT_EQ(answer_of_change(refused.answers.at(0)), (change_answer{change::other_version, id, version}))
            << which;
        EXPECT_EQ(run(peek{id}).job, before) << which;
      }
      operation right = changes_of(name, id, version).at(which);
      const execution done = store_->execute(std::span(&right, 1));
      check();
      EXPECT_EQ(answer_of_change(done.answers.at(0)), (change_answer{change::done, id})) << which;
      EXPECT_NE(version_of(id), version) << which;
      run(cancel{id});
      operation late = changes_of(name, id, version).at(which);
      EXPECT_EQ(answer_of_change(store_->execute(std::span(&late, 1)).answers.at(0)), (change_answer{change::gone}));
    }
  }
}

TEST_P(VersionsOfJobs, AVersionIsComparedBeforeAnythingElseIs) {
  const job_id id = run(put{.tube = "a", .body = "b"}).id;
  const job_version ready = version_of(id);
  EXPECT_EQ(run(kick_job{id, ready}).what, change::refused);
  EXPECT_EQ(run(kick_job{id, ready + 1}).what, change::other_version);
  const reservation token = claimed(id);
  const job_version reserved = version_of(id);
  EXPECT_EQ(run(cancel{id, ready}), (change_answer{change::other_version, id, reserved}));
  EXPECT_EQ(run(cancel{id, reserved}).what, change::reserved);
  run(finish{token});
  EXPECT_EQ(run(cancel{id, reserved}).what, change::gone);
}

TEST_P(VersionsOfJobs, APutReplacesTheJobWithTheExpectedVersion) {
  const auto put_if = [this](job_version expected) {
    return run(put{.tube = "a", .key = "k", .body = "new", .existing = on_existing::replace, .expected = expected});
  };
  EXPECT_EQ(put_if(7), (put_answer{put_kind::other_version, 0, 0})) << "no job has the key, and no job its tube";
  run(put{.tube = "a", .key = "other", .body = "old"});
  EXPECT_EQ(put_if(7), (put_answer{put_kind::other_version, 0, 0})) << "no job has the key";
  EXPECT_EQ(run(count_all{}).counts.all(), 1U);
  const job_id first = run(put{.tube = "a", .key = "k", .body = "old"}).id;
  const job_version version = version_of(first);
  for (const job_version other : {version ^ 1U, job_version{1}, ~job_version{0}}) {
    EXPECT_EQ(put_if(other), (put_answer{put_kind::other_version, first, version}));
    EXPECT_EQ(run(peek{first}).job.value().body, "old");
  }
  const put_answer second = put_if(version);
  EXPECT_EQ(second.what, put_kind::replaced);
  EXPECT_GT(second.id, first);
  EXPECT_FALSE(run(peek{first}).job);
  EXPECT_EQ(run(peek{job_key{"a", "k"}}).job.value().body, "new");
  EXPECT_EQ(put_if(version).what, put_kind::other_version);
  claimed(second.id);
  EXPECT_EQ(put_if(version_of(second.id)), (put_answer{put_kind::reserved, second.id}));
}

TEST_P(VersionsOfJobs, ABatchSeesItsOwnChanges) {
  const job_id id = run(put{.tube = "a", .key = "k", .body = "b", .due = 1h}).id;
  const job_id other = run(put{.tube = "a", .key = "o", .body = "b", .due = 1h}).id;
  const job_version version = version_of(id);
  const job_version of_other = version_of(other);
  const put replacing{
      .tube = "a", .key = "k", .body = "new", .due = 1h, .existing = on_existing::replace, .expected = version};
  std::vector<operation> batch{reschedule{id, 2h, version},
                               reschedule{job_key{"a", "k"}, 3h, version},
                               replacing,
                               peek{id},
                               reschedule{other, 2h, of_other + 1},
                               cancel{job_key{"a", "o"}, of_other},
                               fire_now{other, of_other},
                               reschedule{id, 4h}};
  const execution done = store_->execute(batch);
  check();
  const job_version present = std::get<peek_answer>(done.answers.at(3)).version;
  EXPECT_NE(present, version);
  EXPECT_EQ(answer_of_change(done.answers[0]), (change_answer{change::done, id}));
  EXPECT_EQ(answer_of_change(done.answers[1]), (change_answer{change::other_version, id, present}));
  EXPECT_EQ(std::get<put_answer>(done.answers[2]), (put_answer{put_kind::other_version, id, present}));
  EXPECT_EQ(answer_of_change(done.answers[4]), (change_answer{change::other_version, other, of_other}));
  EXPECT_EQ(answer_of_change(done.answers[5]), (change_answer{change::done, other}));
  EXPECT_EQ(answer_of_change(done.answers[6]), (change_answer{change::gone}));
  EXPECT_EQ(answer_of_change(done.answers[7]), (change_answer{change::done, id})) << "expects nothing";

  std::vector<operation> puts(3, replacing);
  std::get<put>(puts[0]).expected = version_of(id);
  std::get<put>(puts[1]).expected = version_of(id);
  std::get<put>(puts[2]).expected = 0;
  const execution replaced = store_->execute(puts);
  check();
  const put_answer first = std::get<put_answer>(replaced.answers.at(0));
  EXPECT_EQ(first.what, put_kind::replaced);
  const put_answer second = std::get<put_answer>(replaced.answers.at(1));
  EXPECT_EQ(second.what, put_kind::other_version);
  EXPECT_EQ(second.id, first.id);
  EXPECT_NE(second.version, 0U);
  EXPECT_EQ(std::get<put_answer>(replaced.answers.at(2)).what, put_kind::replaced) << "expects nothing";
}

/// A reservation whose time is over ends before the version is compared.
TEST_P(VersionsOfJobs, AReservationThatIsOverIsNoneAnyMore) {
  const job_id id = run(put{.tube = "a", .body = "b", .ttr = 10ms}).id;
  claimed(id);
  const job_version reserved = version_of(id);
  store_.pass(11ms);
  const change_answer refused = run(cancel{id, reserved});
  EXPECT_EQ(refused.what, change::other_version);
  EXPECT_EQ(refused.version, version_of(id));
  EXPECT_EQ(run(cancel{id, refused.version}).what, change::done);
}

TEST_P(ReopenedVersionsOfJobs, StayTheSame) {
  std::vector<job_id> ids;
  for (const due_at due : {due_at(0ms), due_at(1h)}) {
    ids.push_back(run(put{.tube = "a", .body = "b", .due = due}).id);
    ids.push_back(run(put{.tube = "a", .body = std::string(5000, 'b'), .due = due}).id);
    run(bury{claimed(ids.back()), 3U});
    ids.push_back(run(put{.tube = "a", .key = "k" + std::to_string(ids.size()), .body = "b", .due = due}).id);
    run(release{claimed(ids.back()), 5U, 1h});
  }
  std::vector<job_version> versions;
  for (const job_id id : ids) versions.push_back(version_of(id));
  for (const ending how : {ending::orderly, ending::crash}) {
    store_.reopen(how);
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(version_of(ids[i]), versions[i]) << i;
  }
}

/// The end of a reservation by the end of its store is one, too.
TEST_P(ReopenedVersionsOfJobs, AReservationThatTheRestartEndsIsNoneAnyMore) {
  const job_id id = run(put{.tube = "a", .body = "b"}).id;
  claimed(id);
  const job_version reserved = version_of(id);
  store_.reopen(ending::crash);
  settle();
  EXPECT_NE(version_of(id), reserved);
  EXPECT_EQ(run(cancel{id, reserved}).what, change::other_version);
  EXPECT_EQ(run(cancel{id, version_of(id)}).what, change::done);
}

}  // namespace
}  // namespace foliot::jobs::conformance
