// The record of an action has all of it.
#include "server/actions/action.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "server/access/server_tubes.hpp"
#include "server/actions/action_turn.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();

action_plan whole_plan() {
  action_plan made;
  made.what = action_kind::reschedule;
  made.filter.prefix = "mail\n\"\xFF";
  made.filter.within = {"mail.a", "mail\xFF.b"};
  made.filter.state = jobs::job_state::buried;
  made.filter.key_prefix = "key";
  made.filter.text = std::string("a\x01 text", 7);
  made.due = jobs::milliseconds(90s);
  made.owner = "4f7k2m9q";
  made.proof.fill(0xAB);
  return made;
}

action_progress whole_progress() {
  action_progress made;
  made.state = action_state::stopped;
  made.reason = "somebody has asked for it";
  made.turns = 7;
  made.place = greatest;
  made.counted = greatest;
  made.counted_to = greatest;
  made.partly = 3;
  made.matched = 12;
  for (std::size_t i = 0; i < 2 * action_progress::most_named; ++i) made.note(greatest - i, action_outcome::refused);
  made.note(1, action_outcome::done);
  made.doing = 5;
  made.doing_to = 99;
  made.doing_versions.assign(action_turn::most_of_run_turn, greatest);
  made.due = jobs::utc_time(1ms);
  made.started = jobs::utc_time(2ms);
  made.ended = jobs::utc_time(3ms);
  made.kept_until = jobs::utc_time(4ms);
  return made;
}

jobs::job record_of(const action_plan& plan, const action_progress& progress) {
  jobs::job made;
  made.id = 17;
  made.tube = std::string(tube_of_actions);
  made.fields = plan.fields().value();
  made.history = progress.history();
  return made;
}

TEST(Action, ItsRecordHasAllOfIt) {
  const auto read = action::in(record_of(whole_plan(), whole_progress()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, 17u);
  EXPECT_EQ(read->plan, whole_plan());
  EXPECT_EQ(read->progress, whole_progress());
  action_plan other;
  other.filter.tube = "mail";
  other.due = jobs::utc_time(5ms);
  const auto least = action::in(record_of(other, action_progress()));
  ASSERT_TRUE(least);
  EXPECT_EQ(least->plan, other);
  EXPECT_EQ(least->progress, action_progress());
}

TEST(Action, ANewOneHasNoHistory) {
  jobs::job record = record_of(whole_plan(), action_progress());
  record.history = {};
  ASSERT_TRUE(action::in(record));
  EXPECT_EQ(action::in(record)->progress, action_progress());
}

TEST(Action, WhatIsNoRecordIsNone) {
  jobs::job record = record_of(whole_plan(), whole_progress());
  record.tube = "mail";
  EXPECT_FALSE(action::in(record)) << "a job of a client";
  record = record_of(whole_plan(), whole_progress());
  record.fields = {};
  EXPECT_FALSE(action::in(record));
  for (const char* const text : {"", "[]", "7", "{}", "{\"state\":\"resting\"}", "{\"state\":7}"}) {
    record = record_of(whole_plan(), whole_progress());
    const auto tag = (*record.history.begin()).tag;
    ASSERT_TRUE(record.history.set(tag, text));
    EXPECT_FALSE(action::in(record)) << text;
  }
}

TEST(Action, ItsHistoryHasABound) {
  action_progress progress = whole_progress();
  progress.outcomes.fill(greatest);
  EXPECT_LT(progress.history().bytes().size(), jobs::most_field_bytes / 2);
  EXPECT_EQ(progress.named.size(), action_progress::most_named);
}

TEST(Action, AFilterThatHasNoRoomIsNoPlan) {
  action_plan plan = whole_plan();
  plan.filter.within.assign(100, std::string(200, 'a'));
  EXPECT_FALSE(plan.fields());
}

TEST(Action, NeedsWhatItDoes) {
  action_plan plan = whole_plan();
  EXPECT_TRUE(plan.needs()->may(scope::change));
  EXPECT_TRUE(plan.needs()->may(scope::look)) << "it reads bodies";
  EXPECT_EQ(plan.needs()->prefixes(), plan.filter.within);
  plan.filter = {};
  plan.filter.tube = "mail";
  EXPECT_FALSE(plan.needs()->may(scope::look));
  EXPECT_EQ(plan.needs()->prefixes(), std::vector<std::string>{"mail"});
}

TEST(Action, APieceThatIsCutOffIsUnknownInTheEnd) {
  action_progress progress;
  progress.state = action_state::running;
  progress.matched = 10;
  progress.doing = 5;
  progress.end(action_state::stopped, "why", jobs::utc_time(1h));
  EXPECT_EQ(progress.matched, 15u);
  EXPECT_EQ(progress.outcomes.back(), 5u);
  EXPECT_EQ(progress.doing, 0u);
  EXPECT_EQ(progress.kept_until, jobs::utc_time(25h));
}

}  // namespace
}  // namespace foliot::program
