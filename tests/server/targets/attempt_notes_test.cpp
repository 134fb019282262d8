#include "server/targets/attempt_notes.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <foliot/jobs/fields.hpp>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

failed_attempt attempt(int number, std::string why = "the receiver is down") {
  return {jobs::utc_time(1'700'000'000'000ms + number * 1s), "rejected", 500 + number % 90, 12ms, std::move(why)};
}

TEST(AttemptNotes, AreReadAsTheyWereWritten) {
  attempt_notes notes;
  jobs::job_fields history;
  EXPECT_EQ(attempt_notes::in(history), notes);
  for (int i = 1; i <= 20; ++i) {
    notes.note(attempt(i));
    history = notes.noted_in(history);
    EXPECT_EQ(attempt_notes::in(history), notes) << i;
  }
  EXPECT_EQ(notes.failed, 20U);
  ASSERT_EQ(notes.last.size(), attempt_notes::most_kept);
  EXPECT_EQ(notes.last.front(), attempt(20)) << "the latest first";
  EXPECT_EQ(notes.last.back(), attempt(13));
}

TEST(AttemptNotes, ReasonsAreCutBetweenCharacters) {
  attempt_notes notes;
  std::string why;
  for (int i = 0; i < 100; ++i) why += "ä";
  notes.note(attempt(1, why));
  EXPECT_EQ(notes.last.front().why, why.substr(0, attempt_notes::longest_reason));
  notes.note(attempt(2, "x" + why));
  EXPECT_EQ(notes.last.front().why.size(), attempt_notes::longest_reason - 1);
}

/// What others have noted stays, and the count is told even where there is no room for more.
TEST(AttemptNotes, OthersKeepTheirRoom) {
  attempt_notes notes;
  for (int i = 1; i <= 8; ++i) notes.note(attempt(i, std::string(300, 'x')));
  for (std::size_t taken = 0; taken < jobs::most_field_bytes - 100; taken += 97) {
    jobs::job_fields history;
    ASSERT_TRUE(history.set(jobs::first_own_tag, std::string(taken, 'o')));
    const jobs::job_fields noted = notes.noted_in(history);
    EXPECT_EQ(noted.find(jobs::first_own_tag).value(), std::string(taken, 'o'));
    EXPECT_EQ(attempt_notes::in(noted).failed, 8U) << taken;
  }
}

TEST(AttemptNotes, WhatCannotBeReadIsNone) {
  for (const std::string text : {"", "x", "[]", "7", R"({"last":7})", R"({"failed":-1,"last":[7,{}]})"}) {
    jobs::job_fields history;
    ASSERT_TRUE(history.set(tag_of_attempts, text));
    EXPECT_EQ(attempt_notes::in(history).failed, 0U) << text;
  }
}

}  // namespace
}  // namespace foliot::program
