// job_tries at its bounds: what is cut and dropped, histories that have little room or none, and values that no
// job_tries has written.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/job_tries.hpp>

namespace foliot::jobs {
namespace {

using ending_kind = failed_try::kind;

utc_time at(std::int64_t since_1970) { return utc_time(milliseconds(since_1970)); }

job_fields with_tries(std::string_view value) {
  job_fields made;
  EXPECT_TRUE(made.set(tag_of_tries, value));
  return made;
}

/// All of the greatest size.
job_tries longest_tries() {
  job_tries made{.failed = 4'000'000'000U, .seen_timeouts = 3, .seen_kicks = 2};
  for (std::size_t i = 0; i < most_kept_tries; ++i) {
    made.note({.when = at(static_cast<std::int64_t>(i)),
               .how = ending_kind::buried,
               .why = std::string(most_reason_bytes, 'r'),
               .worker = std::string(most_worker_bytes, 'w')});
  }
  return made;
}

/// What a history has that was written.
std::string value_of(const job_tries& it) {
  job_fields history;
  EXPECT_TRUE(it.write(history));
  return std::string(history.find(tag_of_tries).value_or(""));
}

TEST(JobTries, AreNoneInAnEmptyHistory) {
  EXPECT_EQ(job_tries::in({}), job_tries{});
  job_fields others;
  ASSERT_TRUE(others.set(tag_of_reason, "a reason"));
  ASSERT_TRUE(others.set(first_own_tag, "x"));
  EXPECT_EQ(job_tries::in(others), job_tries{});
}

TEST(JobTries, AreReadAsTheyWereWritten) {
  constexpr std::uint32_t greatest = std::numeric_limits<std::uint32_t>::max();
  const job_tries all{.failed = greatest,
                      .seen_timeouts = greatest - 1,
                      .seen_kicks = greatest - 2,
                      .last = {{at(0), ending_kind::released, "", ""},
                               {at(std::numeric_limits<std::int64_t>::max()), ending_kind::timed_out, "why", ""},
                               {at(std::numeric_limits<std::int64_t>::min()), ending_kind::buried, "", "worker"},
                               {at(-1), ending_kind::moved, std::string("a\0b\xff", 4), std::string(1, '\0')}}};
  job_fields history;
  ASSERT_TRUE(history.set(first_own_tag, "x"));
  ASSERT_TRUE(all.write(history));
  EXPECT_EQ(job_tries::in(history), all);
  EXPECT_EQ(history.find(first_own_tag), "x");
  const job_tries none;
  ASSERT_TRUE(none.write(history));
  EXPECT_EQ(job_tries::in(history), none) << "they replace the ones from before";
}

TEST(JobTries, KeepTheLastOnesAndDoNotCountThem) {
  job_tries tries{.failed = 5};
  for (int i = 0; i < 20; ++i) {
    tries.note({.when = at(i)});
    ASSERT_EQ(tries.last.size(), std::min<std::size_t>(static_cast<std::size_t>(i) + 1, most_kept_tries));
    EXPECT_EQ(tries.last.back().when, at(i));
    EXPECT_EQ(tries.last.front().when, at(std::max(0, i - static_cast<int>(most_kept_tries) + 1)));
  }
  EXPECT_EQ(tries.failed, 5U);
}

/// Texts of characters that need 1 to 4 bytes each.
std::string text_of(std::mt19937& random, std::size_t least) {
  static constexpr std::string_view characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  std::string made;
  while (made.size() < least) made += characters[random() % 4];
  return made;
}

bool is_cut_between_characters(const std::string& whole, const std::string& cut) {
  return whole.starts_with(cut) &&
         (cut.size() == whole.size() || (static_cast<unsigned char>(whole[cut.size()]) & 0xc0U) != 0x80U);
}

TEST(JobTries, CutTextsBetweenTwoCharacters) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string why = text_of(random, most_reason_bytes - 6 + random() % 12);
    const std::string worker = text_of(random, most_worker_bytes - 6 + random() % 12);
    job_tries tries;
    tries.note({.why = why, .worker = worker});
    const failed_try& noted = tries.last.at(0);
    ASSERT_LE(noted.why.size(), most_reason_bytes);
    ASSERT_LE(noted.worker.size(), most_worker_bytes);
    ASSERT_TRUE(is_cut_between_characters(why, noted.why)) << why;
    ASSERT_TRUE(is_cut_between_characters(worker, noted.worker)) << worker;
    // No more than needed: the next character would not fit.
    ASSERT_TRUE(why.size() <= most_reason_bytes ? noted.why == why : noted.why.size() + 3 >= most_reason_bytes);
    ASSERT_TRUE(worker.size() <= most_worker_bytes ? noted.worker == worker
                                                   : noted.worker.size() + 3 >= most_worker_bytes);
  }
}

TEST(JobTries, CutWhatIsNoTextSomewhere) {
  for (const char byte : {'\x80', '\xbf', '\xc3', '\xf0', '\xff', '\0', 'a'}) {
    for (std::size_t size = most_reason_bytes - 1; size <= most_reason_bytes + 9; ++size) {
      job_tries tries;
      tries.note({.why = std::string(size, byte), .worker = std::string(size, byte)});
      EXPECT_LE(tries.last.at(0).why.size(), most_reason_bytes);
      EXPECT_GE(tries.last.at(0).why.size() + 3, std::min(size, most_reason_bytes));
      EXPECT_LE(tries.last.at(0).worker.size(), most_worker_bytes);
      EXPECT_GE(tries.last.at(0).worker.size() + 3, most_worker_bytes);
    }
  }
}

TEST(JobTries, NeedLessThanHalfOfAHistory) {
  job_fields history;
  ASSERT_TRUE(longest_tries().write(history));
  EXPECT_LT(history.bytes().size(), most_field_bytes / 2);
  EXPECT_EQ(job_tries::in(history), longest_tries());
}

/// For every number of bytes that are left: as many of the last tries as fit, or nothing and no change.
TEST(JobTries, DropTheOldestOnesWhereThereIsNoRoom) {
  const job_tries tries = longest_tries();
  const std::size_t all = value_of(tries).size() + 4;  // and the head of the field
  std::size_t kept_before = 0;
  bool was_written = false;
  for (std::size_t left = 0; left <= all; ++left) {
    job_fields history;
    ASSERT_TRUE(history.set(first_own_tag, std::string(most_field_bytes - 4 - left, 'x')));
    const job_fields before = history;
    if (!tries.write(history)) {
      ASSERT_FALSE(was_written) << left;
      ASSERT_EQ(history, before);
      continue;
    }
    was_written = true;
    ASSERT_LE(history.bytes().size(), most_field_bytes);
    const std::optional<job_tries> read = job_tries::in(history);
    ASSERT_TRUE(read.has_value()) << left;
    ASSERT_EQ(read->failed, tries.failed);
    ASSERT_EQ(read->seen_timeouts, tries.seen_timeouts);
    ASSERT_EQ(read->seen_kicks, tries.seen_kicks);
    const std::size_t kept = read->last.size();
    ASSERT_GE(kept, kept_before);
    ASSERT_TRUE(std::equal(read->last.rbegin(), read->last.rend(), tries.last.rbegin()));
    if (kept > kept_before) {
      job_tries fewer = tries;
      fewer.last.erase(fewer.last.begin(), fewer.last.end() - static_cast<std::ptrdiff_t>(kept));
      ASSERT_EQ(value_of(fewer).size() + 4, left) << "as soon as there is room";
    }
    kept_before = kept;
    ASSERT_EQ(history.find(first_own_tag)->size(), most_field_bytes - 4 - left);
  }
  EXPECT_EQ(kept_before, most_kept_tries);
}

TEST(JobTries, UseTheRoomOfThoseThatTheyReplace) {
  job_fields history;
  ASSERT_TRUE(longest_tries().write(history));
  ASSERT_TRUE(history.set(first_own_tag, std::string(most_field_bytes - 4 - history.bytes().size(), 'x')));
  job_tries more = longest_tries();
  more.note({.why = std::string(most_reason_bytes, 's'), .worker = std::string(most_worker_bytes, 'v')});
  ASSERT_TRUE(more.write(history));
  EXPECT_EQ(job_tries::in(history), more);
}

TEST(JobTries, AreNothingWhereTheyEndTooSoonOrTooLate) {
  const std::string whole = value_of(longest_tries());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(job_tries::in(with_tries(whole.substr(0, size))), std::nullopt) << size;
  }
  EXPECT_EQ(job_tries::in(with_tries(whole + '\0')), std::nullopt);
  const std::string few = value_of({.failed = 1});
  for (std::size_t size = 0; size < few.size(); ++size) {
    EXPECT_EQ(job_tries::in(with_tries(few.substr(0, size))), std::nullopt) << size;
  }
}

TEST(JobTries, AreNothingInAnotherVersion) {
  std::string value = value_of({.failed = 7, .last = {{at(5), ending_kind::released, "why", "worker"}}});
  const char version = value[0];
  for (int other = 0; other < 256; ++other) {
    value[0] = static_cast<char>(other);
    EXPECT_EQ(job_tries::in(with_tries(value)).has_value(), value[0] == version) << other;
  }
}

/// What can be read keeps its meaning when it is written again.
void expect_sound(const std::string& value) {
  const std::optional<job_tries> read = job_tries::in(with_tries(value));
  if (!read) return;
  ASSERT_LE(read->last.size(), most_kept_tries);
  job_fields again;
  ASSERT_TRUE(read->write(again));
  ASSERT_EQ(job_tries::in(again), *read);
  ASSERT_EQ(again.find(tag_of_tries), value) << "there is one encoding of the same tries";
}

TEST(JobTries, AreSoundOrNothingWhicheverByteIsChanged) {
  const std::string whole = value_of({.failed = 7,
                                      .seen_timeouts = 1,
                                      .last = {{at(5), ending_kind::released, "why", "worker"},
                                               {at(6), ending_kind::timed_out, "", ""},
                                               {at(7), ending_kind::moved, "mail", ""}}});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int other = 0; other < 256; ++other) {
      std::string value = whole;
      value[i] = static_cast<char>(other);
      ASSERT_NO_FATAL_FAILURE(expect_sound(value)) << "byte " << i << " is " << other;
    }
  }
}

TEST(JobTries, AreSoundOrNothingForRandomBytes) {
  std::mt19937_64 random(7);
  const std::string whole = value_of(longest_tries());
  for (int round = 0; round < 20'000; ++round) {
    std::string value;
    const bool is_changed = round % 2 == 0;
    if (is_changed) {
      value = whole.substr(0, random() % (whole.size() + 1));
      for (std::uint64_t i = 1 + random() % 4; i != 0 && !value.empty(); --i) {
        value[random() % std::min<std::size_t>(value.size(), 60)] = static_cast<char>(random());
      }
    } else {
      value += whole.front();
      for (std::uint64_t i = random() % 80; i != 0; --i) value += static_cast<char>(random() % 3);
    }
    ASSERT_NO_FATAL_FAILURE(expect_sound(value)) << "round " << round;
  }
}

TEST(JobTries, AreReadAsTheyWereWrittenAtRandom) {
  EXPECT_TRUE(rc::check("round trip", [] {
    job_tries tries;
    tries.failed = *rc::gen::arbitrary<std::uint32_t>();
    tries.seen_timeouts = *rc::gen::arbitrary<std::uint32_t>();
    tries.seen_kicks = *rc::gen::arbitrary<std::uint32_t>();
    for (auto i = *rc::gen::inRange(0, 12); i > 0; --i) {
      tries.note({at(*rc::gen::arbitrary<std::int64_t>()), static_cast<ending_kind>(*rc::gen::inRange(0, 4)),
                  *rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>()});
    }
    job_fields history;
    RC_ASSERT(tries.write(history));
    RC_ASSERT(job_tries::in(history) == tries);
  }));
}

}  // namespace
}  // namespace foliot::jobs
