// job_tries.hpp: how the tries are kept in a history.
#include <foliot/jobs/job_tries.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace foliot::jobs {
namespace {

using kind = failed_try::kind;

utc_time at(std::int64_t ms) { return utc_time(milliseconds(ms)); }

job_tries some_tries() {
  job_tries made{.failed = 3, .seen_timeouts = 4'000'000'000, .seen_kicks = 7};
  made.note({.when = at(1'700'000'000'123), .how = kind::timed_out});
  made.note({.when = at(-5), .how = kind::released, .why = "the mailbox is full", .worker = "host 7"});
  made.note({.when = utc_time::max(), .how = kind::moved, .why = "mail", .worker = "17 a key"});
  return made;
}

TEST(JobTries, AreReadAsTheyWereWritten) {
  job_fields history;
  EXPECT_TRUE(some_tries().write(history));
  EXPECT_EQ(job_tries::in(history), some_tries());
  EXPECT_TRUE(job_tries{}.write(history));
  EXPECT_EQ(job_tries::in(history), job_tries{});
  EXPECT_EQ(job_tries::in({}), job_tries{});
}

TEST(JobTries, KeepOtherFields) {
  job_fields history;
  ASSERT_TRUE(history.set(first_own_tag, "mine"));
  ASSERT_TRUE(some_tries().write(history));
  EXPECT_EQ(history.find(first_own_tag), "mine");
}

TEST(JobTries, TheirFormatStays) {
  job_fields history;
  job_tries it{.failed = 1, .seen_timeouts = 2, .seen_kicks = 3};
  it.note({.when = at(258), .how = kind::buried, .why = "ab", .worker = "c"});
  ASSERT_TRUE(it.write(history));
  const std::string expected(
      "\x01\0\0\0\x01\0\0\0\x02\0\0\0\x03\x01\0\0\0\0\0\0\x01\x02\x02\0\x02"
      "ab\0\x01"
      "c",
      30);
  EXPECT_EQ(history.find(tag_of_tries), expected);
}

TEST(JobTries, TheLastOnesAreKept) {
  job_tries it;
  for (int i = 1; i <= 20; ++i) it.note({.when = at(i)});
  ASSERT_EQ(it.last.size(), most_kept_tries);
  EXPECT_EQ(it.last.front().when, at(13));
  EXPECT_EQ(it.last.back().when, at(20));
  EXPECT_EQ(it.failed, 0U);
}

TEST(JobTries, TextsAreCutBetweenTwoCharacters) {
  const auto noted = [](std::string why) {
    job_tries it;
    it.note({.why = std::move(why), .worker = std::string(101, 'w')});
    EXPECT_EQ(it.last.at(0).worker.size(), most_worker_bytes);
    return it.last.at(0).why;
  };
  const std::string full(most_reason_bytes, 'x');
  EXPECT_EQ(noted(full), full);
  EXPECT_EQ(noted(full + "y"), full);
  const std::string three = "\xe2\x82\xac";
  EXPECT_EQ(noted(full.substr(3) + three), full.substr(3) + three);
  EXPECT_EQ(noted(full.substr(2) + three), full.substr(2));
  EXPECT_EQ(noted(full.substr(1) + three), full.substr(1));
  const std::string four = "\xf0\x9f\x98\x80";
  EXPECT_EQ(noted(full.substr(1) + four), full.substr(1));
  EXPECT_EQ(noted(full.substr(3) + four), full.substr(3));
  EXPECT_EQ(noted(std::string(400, '\x80')).size(), most_reason_bytes);  // which is no UTF-8
}

TEST(JobTries, TheLargestOnesNeedLessThanHalfOfTheFields) {
  job_tries it;
  for (std::size_t i = 0; i < most_kept_tries; ++i) {
    it.note({.why = std::string(most_reason_bytes, 'x'), .worker = std::string(most_worker_bytes, 'y')});
  }
  job_fields history;
  ASSERT_TRUE(it.write(history));
  EXPECT_LT(history.bytes().size(), most_field_bytes / 2);
}

TEST(JobTries, WithoutRoomTheOldestOnesGoAndThenNothingIsWritten) {
  job_tries it = some_tries();
  job_fields history;
  ASSERT_TRUE(history.set(first_own_tag, std::string(most_field_bytes - 4 - 4 - 60, 'x')));
  ASSERT_TRUE(it.write(history));
  const job_tries kept = job_tries::in(history).value();
  EXPECT_EQ(kept.failed, 3U);
  EXPECT_EQ(kept.last, std::vector<failed_try>(1, it.last.back()));
  ASSERT_TRUE(history.erase(tag_of_tries));
  ASSERT_TRUE(history.set(first_own_tag, std::string(most_field_bytes - 4 - 4 - 14, 'x')));
  EXPECT_TRUE(it.write(history));
  EXPECT_TRUE(job_tries::in(history).value().last.empty());
  ASSERT_TRUE(history.erase(tag_of_tries));
  ASSERT_TRUE(history.set(first_own_tag, std::string(most_field_bytes - 4 - 4 - 13, 'x')));
  const job_fields before = history;
  EXPECT_FALSE(it.write(history));
  EXPECT_EQ(history, before);
}

TEST(JobTries, WhatIsCutOrOfALaterVersionIsNotRead) {
  job_fields history;
  ASSERT_TRUE(some_tries().write(history));
  const std::string whole(history.find(tag_of_tries).value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    job_fields cut;
    ASSERT_TRUE(cut.set(tag_of_tries, whole.substr(0, size)));
    EXPECT_FALSE(job_tries::in(cut).has_value()) << size;
  }
  ASSERT_TRUE(history.set(tag_of_tries, whole + "x"));
  EXPECT_FALSE(job_tries::in(history).has_value());
  std::string later = whole;
  later[0] = 2;
  ASSERT_TRUE(history.set(tag_of_tries, later));
  EXPECT_FALSE(job_tries::in(history).has_value());
}

TEST(JobTries, AnyBytesAreReadOrRefused) {
  job_fields whole;
  ASSERT_TRUE(some_tries().write(whole));
  const std::string good(whole.find(tag_of_tries).value());
  constexpr std::uint32_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    job_fields history;
    ASSERT_TRUE(history.set(tag_of_tries, bytes));
    if (const auto read = job_tries::in(history)) {
      job_fields again;
      ASSERT_TRUE(read->write(again));
      ASSERT_EQ(job_tries::in(again), *read);
    }
  }
}

TEST(JobTries, TheWaitOfAParkedJobIsKept) {
  job_tries tries{.failed = 2,
                  .seen_timeouts = 1,
                  .waits_since = utc_time(milliseconds(5)),
                  .parked_until = utc_time(milliseconds(77))};
  tries.note({.when = utc_time(milliseconds(3)), .why = "why"});
  job_fields history;
  ASSERT_TRUE(tries.write(history));
  EXPECT_EQ(history.find(tag_of_tries).value().front(), 2);
  EXPECT_EQ(job_tries::in(history), tries);
  tries.waits_since = tries.parked_until = utc_time{};
  ASSERT_TRUE(tries.write(history));
  EXPECT_EQ(history.find(tag_of_tries).value().front(), 1) << "for the readers of the first version";
  EXPECT_EQ(job_tries::in(history), tries);
}

}  // namespace
}  // namespace foliot::jobs
