// The state of a schedule: its encoding, its bound, and what no program has written.
#include "server/schedules/schedule_state.hpp"

#include <chrono>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>

#include <foliot/schedule/zone.hpp>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr auto greatest_32 = std::numeric_limits<std::uint32_t>::max();
constexpr auto greatest_64 = std::numeric_limits<std::uint64_t>::max();

/// Each list full, each number the longest.
schedule_state largest_state() {
  const sys_seconds last = schedule::latest;
  const local_seconds local(last.time_since_epoch());
  const occurrence_name name{last, greatest_32};
  schedule_state made;
  made.incarnation = greatest_64;
  made.version = greatest_32;
  made.plan_digest = greatest_64;
  made.made = last;
  made.changed = last;
  made.cursor = last;
  made.cursor_offset = -14h;
  made.will_repeat = true;
  made.zone_data = std::string(64, 'z');
  made.refit = zone_refit{last, last, last, -14h, true};
  made.next = next_occurrence{last, local, -14h};
  made.delay_from = last;
  made.wanted = instant_stretch{last, last};
  made.counted = greatest_32;
  for (std::size_t i = 0; i < schedule_state::most_pauses; ++i) made.pauses.push_back({last, last});
  made.pauses.back().until.reset();
  made.pause_note = std::string(schedule_state::longest_text, 'n');
  made.paused_by = std::string(schedule_state::longest_text, 'p');
  for (std::size_t i = 0; i < schedule_state::most_skips; ++i) made.skips.push_back({last, local});
  for (std::size_t i = 0; i < schedule_state::most_queued; ++i)
    made.queue.push_back({last, local, schedule::overlap_pass::second, true, occurrence_reason::by_hand});
  made.by_hand.assign(schedule_state::most_by_hand, name);
  made.last_ordinal = greatest_32;
  made.backfills.assign(schedule_state::most_backfills, {{last, last}, greatest_32});
  for (std::size_t i = 0; i < schedule_state::most_holes; ++i) {
    const sys_seconds at = last - seconds(2 * (schedule_state::most_holes - i));
    made.holes.push_back({at, at});
  }
  made.made_to = last;
  made.living.assign(schedule_state::most_living, {name, name, occurrence_reason::by_hand});
  made.look_after = greatest_32;
  const recent_occurrence recent{name, occurrence_reason::by_hand, occurrence_outcome::expired_by_window, last};
  made.recent.assign(schedule_state::most_recent, recent);
  made.counters.decided = greatest_64;
  made.counters.made.fill(greatest_64);
  made.counters.outcomes.fill(greatest_64);
  made.counters.not_followed = greatest_64;
  made.counters.uncounted = greatest_64;
  made.last_success = recent;
  made.last_failure = recent;
  made.ended = end_reason::never;
  made.refused = std::string(schedule_state::longest_text, 'r');
  return made;
}

TEST(ScheduleState, TheLargestFitsIntoAHistory) {
  const schedule_state state = largest_state();
  EXPECT_LE(state.encoding().size(), longest_state);
  const auto read = schedule_state::in(state.history());
  ASSERT_TRUE(read);
  ASSERT_TRUE(*read);
  EXPECT_EQ(**read, state);
}

TEST(ScheduleState, AnEmptyOneIsShort) {
  schedule_state state;
  state.holes.push_back({schedule::earliest, sys_seconds()});
  EXPECT_LT(state.encoding().size(), 100u);
  EXPECT_EQ(schedule_state::parse(state.encoding()), state);
}

TEST(ScheduleState, ARecordMayHaveNone) {
  const auto none = schedule_state::in(jobs::job_fields());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(ScheduleState, ALaterVersionIsLeftToItsProgram) {
  std::string bytes = largest_state().encoding();
  bytes.front() = state_format + 1;
  EXPECT_EQ(schedule_state::parse(bytes).error(), state_error::later_version);
  EXPECT_EQ(schedule_state::parse("\x02").error(), state_error::later_version);
  EXPECT_EQ(schedule_state::parse(std::string("\xFF\x7F", 2)).error(), state_error::later_version);
  bytes.front() = 0;
  EXPECT_EQ(schedule_state::parse(bytes).error(), state_error::malformed);
  EXPECT_EQ(schedule_state::parse("").error(), state_error::malformed);
}

TEST(ScheduleState, TextsAreCutBetweenCharacters) {
  schedule_state state;
  state.refused = std::string(schedule_state::longest_text - 1, 'x') + "\u00e4";
  const auto read = schedule_state::parse(state.encoding());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->refused, std::string(schedule_state::longest_text - 1, 'x'));
}

TEST(ScheduleState, WhatDoesNotHoldIsMalformed) {
  const auto is_refused = [](auto change) {
    schedule_state state = largest_state();
    change(state);
    return schedule_state::parse(state.encoding()) == std::unexpected(state_error::malformed);
  };
  EXPECT_FALSE(is_refused([](schedule_state&) {}));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.holes[3].to = it.holes[4].from; }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.holes[3].to = it.holes[3].from - 1s; }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.cursor = it.holes.back().to - 1s; }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.pauses.front().until.reset(); }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.pauses.front().until = it.pauses.front().since - 1s; }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.skips.back().at -= 1s; }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.by_hand.back().ordinal = 0; }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.living.push_back(it.living.front()); }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.cursor = schedule::latest + 240h; }));
  EXPECT_TRUE(is_refused([](schedule_state& it) { it.ended = static_cast<end_reason>(3); }));
}

TEST(ScheduleState, ManyBytesAreReadAsNothing) {
  const char* const text = std::getenv("FOLIOT_SEED");
  const std::uint64_t seed = text == nullptr ? 42 : std::strtoull(text, nullptr, 10);
  SCOPED_TRACE("FOLIOT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string whole = largest_state().encoding();
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(schedule_state::parse(whole.substr(0, size)));
  EXPECT_FALSE(schedule_state::parse(whole + '\0'));
  EXPECT_FALSE(schedule_state::parse(std::string(longest_state + 1, '\1')));
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (auto changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto found = schedule_state::parse(bytes);
    if (!found) continue;
    ++read;
    EXPECT_EQ(found->encoding(), bytes) << "two encodings mean the same";
  }
  EXPECT_GT(read, 0);
}

TEST(ScheduleState, TellsTheLatestOnes) {
  schedule_state state;
  for (int i = 0; i < 12; ++i) {
    state.tell({{sys_seconds(seconds(i)), 0}, occurrence_reason::regular, occurrence_outcome::made, {}});
  }
  ASSERT_EQ(state.recent.size(), schedule_state::most_recent);
  EXPECT_EQ(state.recent.front().name.at, sys_seconds(2s));
  state.tell({{sys_seconds(5s), 0}, occurrence_reason::regular, occurrence_outcome::failed, {}});
  EXPECT_EQ(state.recent.size(), schedule_state::most_recent);
  EXPECT_EQ(state.recent[3].outcome, occurrence_outcome::failed);
}

}  // namespace
}  // namespace foliot::program
