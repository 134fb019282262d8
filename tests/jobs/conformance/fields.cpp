// The conformance suite case by case: fields and histories of jobs.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance.hpp"

namespace foliot::jobs::conformance {
namespace {

using namespace std::chrono_literals;
using holder = holder_answer::kind;
using put_kind = put_answer::kind;

/// One field with this value.
job_fields one_field(std::string_view value, field_tag tag = first_own_tag) {
  job_fields made;
  EXPECT_TRUE(made.set(tag, value));
  return made;
}

/// As much as there may be, in fields of which no program knows all.
job_fields most_fields(char filling) {
  job_fields made;
  EXPECT_TRUE(made.set(1, ""));
  EXPECT_TRUE(made.set(0x7fff, std::string("\0\xff\r\n", 4)));
  EXPECT_TRUE(made.set(0xffff, std::string(most_field_bytes - made.bytes().size() - 4, filling)));
  EXPECT_EQ(made.bytes().size(), most_field_bytes);
  return made;
}

/// Bodies that a store may keep in different places.
constexpr std::size_t small_body = 10;
constexpr std::size_t large_body = 5000;

TEST_P(FieldsOfJobs, AreWhatThePutBrought) {
  for (const std::size_t body : {std::size_t{0}, small_body, large_body}) {
    for (const job_fields& fields : {job_fields(), one_field(""), most_fields('f')}) {
      for (const job_fields& history : {job_fields(), one_field("h"), most_fields('h')}) {
        const std::string content(body, 'b');
        const job_id id = run(put{.tube = "a", .key = "k", .body = content, .fields = fields, .history = history}).id;
        const auto is_right = [&](const std::optional<job>& it) {
          return it && it->fields == fields && it->history == history && it->body == content;
        };
        EXPECT_TRUE(is_right(run(peek{id}).job));
        EXPECT_TRUE(is_right(run(peek{job_key{"a", "k"}}).job));
        EXPECT_TRUE(is_right(run(peek_first{"a"}).job));
        const std::optional<job> without_body = run(peek{id, false}).job;
        EXPECT_TRUE(without_body && without_body->fields == fields && without_body->history == history);
        const claimed_job got = run(claim{{"a"}}).jobs.at(0);
        EXPECT_TRUE(is_right(got.job));
        EXPECT_TRUE(is_right(run(peek{id}).job)) << "while it is reserved";
        EXPECT_EQ(run(finish{got.token}).what, holder::done);
      }
    }
  }
}

/// Whatever becomes of a job, its fields stay, and so does a history that nobody replaces.
TEST_P(FieldsOfJobs, StayWithTheJob) {
  for (const std::size_t body : {small_body, large_body}) {
    const job_fields fields = most_fields('f');
    const job_fields history = most_fields('h');
    const job_id id =
        run(put{.tube = "a", .body = std::string(body, 'b'), .due = 5ms, .ttr = 10ms, .fields = fields}).id;
    const auto expect_both = [&](const char* after, const job_fields& past) {
      const job it = run(peek{id}).job.value();
      EXPECT_EQ(it.fields, fields) << after;
      EXPECT_EQ(it.history, past) << after;
      EXPECT_EQ(it.body, std::string(body, 'b')) << after;
    };
    expect_both("the put", {});
    store_.pass(5ms);
    settle();
    expect_both("its due time", {});
    EXPECT_EQ(run(release{claimed(id), 5U, 5ms}).what, holder::done);
    expect_both("a release", {});
    EXPECT_EQ(run(release{claimed(id), std::nullopt, 0ms, history}).what, holder::done);
    expect_both("a release with a history", history);
    run(touch{claimed(id)});
    expect_both("a touch", history);
    store_.pass(11ms);
    settle();
    expect_both("the end of its reservation", history);
    run(abandon{claimed(id)});
    expect_both("its worker has gone", history);
    EXPECT_EQ(run(bury{claimed(id)}).what, holder::done);
    expect_both("a bury", history);
    run(kick{"a"});
    expect_both("a kick", history);
    run(reschedule{id, 1h});
    expect_both("another due time", history);
    run(fire_now{id});
    expect_both("fire_now", history);
    EXPECT_EQ(run(bury{claimed(id), 7U, one_field("buried")}).what, holder::done);
    expect_both("a bury with a history", one_field("buried"));
    run(kick_job{id});
    expect_both("a kick of the job", one_field("buried"));
    EXPECT_EQ(run(release{claimed(id), std::nullopt, 0ms, job_fields()}).what, holder::done);
    expect_both("a release with an empty history", {});
    run(cancel{id});
    EXPECT_FALSE(run(peek{id}).job);
  }
}

TEST_P(FieldsOfJobs, ARequestThatIsRefusedChangesNoHistory) {
  const job_id id = run(put{.tube = "a", .body = "", .ttr = 10ms, .history = one_field("first")}).id;
  const reservation old = claimed(id);
  store_.pass(11ms);
  EXPECT_EQ(run(release{old, std::nullopt, 0ms, one_field("late")}).what, holder::not_held);
  EXPECT_EQ(run(bury{old, std::nullopt, one_field("late")}).what, holder::not_held);
  EXPECT_EQ(history_of(id), one_field("first"));
}

TEST_P(FieldsOfJobs, AReplacedJobHasItsOwn) {
  const job_id first = run(put{.tube = "a", .key = "k", .body = "", .fields = one_field("old")}).id;
  EXPECT_EQ(run(release{claimed(first), std::nullopt, 0ms, one_field("past")}).what, holder::done);
  const put kept{.tube = "a", .key = "k", .body = "", .fields = one_field("kept"), .history = one_field("kept")};
  EXPECT_EQ(run(kept).what, put_kind::kept);
  EXPECT_EQ(fields_of(first), one_field("old"));
  EXPECT_EQ(history_of(first), one_field("past"));
  put replacing = kept;
  replacing.existing = on_existing::replace;
  replacing.fields = one_field("new");
  replacing.history = {};
  const put_answer second = run(replacing);
  EXPECT_EQ(second.what, put_kind::replaced);
  EXPECT_EQ(fields_of(second.id), one_field("new"));
  EXPECT_EQ(history_of(second.id), job_fields());
}

/// Each job has its own, whichever of its neighbours in a batch have some.
TEST_P(FieldsOfJobs, AreThoseOfTheirJobInABatch) {
  std::vector<operation> puts;
  std::vector<job_fields> fields;
  std::vector<job_fields> histories;
  for (int i = 0; i < 12; ++i) {
    fields.push_back(i % 2 == 0 ? job_fields() : one_field("fields " + std::to_string(i)));
    histories.push_back(i % 3 == 0 ? job_fields() : one_field("history " + std::to_string(i)));
    puts.emplace_back(
        put{.tube = "a", .body = std::to_string(i), .fields = fields.back(), .history = histories.back()});
  }
  const execution all_put = store_->execute(puts);
  const claim_answer got = run(claim{{"a"}, 100});
  ASSERT_EQ(got.jobs.size(), fields.size());
  std::vector<operation> changes;
  for (std::size_t i = 0; i < got.jobs.size(); ++i) {
    EXPECT_EQ(got.jobs[i].job.fields, fields[i]) << i;
    EXPECT_EQ(got.jobs[i].job.history, histories[i]) << i;
    if (i % 4 == 0) {
      changes.emplace_back(release{got.jobs[i].token});
    } else if (i % 4 == 1) {
      changes.emplace_back(bury{got.jobs[i].token});
    } else if (i % 4 == 2) {
      histories[i] = one_field("released " + std::to_string(i));
      changes.emplace_back(release{got.jobs[i].token, std::nullopt, 1h, histories[i]});
    } else {
      histories[i] = i == 3 ? job_fields() : one_field("buried " + std::to_string(i));
      changes.emplace_back(bury{got.jobs[i].token, std::nullopt, histories[i]});
    }
  }
  store_->execute(changes);
  check();
  for (std::size_t i = 0; i < got.jobs.size(); ++i) {
    const job seen = run(peek{got.jobs[i].job.id}).job.value();
    EXPECT_EQ(seen.fields, fields[i]) << i;
    EXPECT_EQ(seen.history, histories[i]) << i;
  }
}

/// A claim's bound of bytes counts what a job brings besides its body, too.
TEST_P(FieldsOfJobs, CountForTheBoundOfAClaim) {
  for (int i = 0; i < 3; ++i) {
    run(put{.tube = "a", .body = "b", .fields = most_fields('f'), .history = most_fields('h')});
  }
  const std::uint64_t one = 1 + 2 * most_field_bytes;
  const claim_answer first = run(claim{.tubes = {"a"}, .count = 3, .bytes = one});
  EXPECT_EQ(first.what, claim_answer::kind::cut_short);
  ASSERT_EQ(first.jobs.size(), 1U);
  EXPECT_EQ(content_bytes(first.jobs[0].job), one);
  const claim_answer rest = run(claim{.tubes = {"a"}, .count = 3, .bytes = one + 1});
  EXPECT_EQ(rest.what, claim_answer::kind::done);
  EXPECT_EQ(rest.jobs.size(), 2U);
}

TEST_P(ReopenedFieldsOfJobs, AreThereInTheNextOpening) {
  for (const ending how : {ending::orderly, ending::crash}) {
    std::vector<job_id> ids;
    std::vector<job> before;
    for (const std::size_t body : {small_body, large_body}) {
      const put one{.tube = "a", .body = std::string(body, 'b'), .due = 1h, .fields = most_fields('f')};
      const job_id delayed = run(one).id;
      const job_id buried = run(one).id;
      run(bury{claimed(buried), std::nullopt, most_fields('b')});
      const job_id released = run(one).id;
      run(release{claimed(released), std::nullopt, 1h, one_field("released")});
      const job_id emptied = run(one).id;
      run(release{claimed(emptied), std::nullopt, 1h, one_field("released")});
      run(release{claimed(emptied), std::nullopt, 1h, job_fields()});
      const job_id held = run(one).id;
      run(release{claimed(held), std::nullopt, 0ms, one_field("held")});
      run(claim{{"a"}});
      ids.insert(ids.end(), {delayed, buried, released, emptied, held});
    }
    for (const job_id id : ids) before.push_back(run(peek{id}).job.value());
    store_.reopen(how);
    settle();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const job after = run(peek{ids[i]}).job.value();
      EXPECT_EQ(after.fields, before[i].fields) << i;
      EXPECT_EQ(after.history, before[i].history) << i;
      EXPECT_EQ(after.body, before[i].body) << i;
      run(cancel{ids[i]});
    }
  }
}

}  // namespace
}  // namespace foliot::jobs::conformance
