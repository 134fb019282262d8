#include "server/schedules/occurrence_note.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "schedule_lives.hpp"

namespace foliot::program {
namespace {

occurrence_note some_note() {
  occurrence_note note;
  note.schedule = "nightly";
  note.incarnation = std::numeric_limits<std::uint64_t>::max() - 5;
  note.version = 7;
  note.reason = occurrence_reason::late;
  note.ordinal = 3;
  note.at = utc(2026, 10, 25, 1, 30);
  note.nominal = std::chrono::local_seconds(utc(2026, 10, 25, 2, 30).time_since_epoch());
  note.offset = std::chrono::hours(1);
  note.abbreviation = "CET";
  note.zone = "Europe/Berlin";
  note.zone_data = "2026f";
  note.is_shifted = true;
  note.pass = schedule::overlap_pass::second;
  return note;
}

TEST(OccurrenceNote, IsReadAsItWasWritten) {
  const occurrence_note note = some_note();
  EXPECT_EQ(occurrence_note::parse(note.encoding()), note);
  EXPECT_EQ(note.encoding().substr(0, 10), "1\nnightly\n");
  occurrence_note west = some_note();
  west.offset = std::chrono::seconds(-12'600);
  west.zone_data = "";
  west.abbreviation = "";
  EXPECT_EQ(occurrence_note::parse(west.encoding()), west);
  EXPECT_EQ(occurrence_note::parse(occurrence_note{.at = schedule::earliest}.encoding()).value().at,
            schedule::earliest);
}

TEST(OccurrenceNote, LaterVersionsMayAddLines) {
  EXPECT_EQ(occurrence_note::parse(some_note().encoding() + "more\n"), some_note());
}

/// Whatever is cut off or changed, nothing is read beyond the text.
TEST(OccurrenceNote, RefusesWhatItHasNotWritten) {
  const std::string whole = some_note().encoding();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(occurrence_note::parse(whole.substr(0, length))) << length;
  }
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string other = whole;
    other[place] = '\xff';
    static_cast<void>(occurrence_note::parse(other));
  }
  EXPECT_FALSE(occurrence_note::parse("2" + whole.substr(1)));
  EXPECT_FALSE(occurrence_note::in(jobs::job_fields()));
}

}  // namespace
}  // namespace foliot::program
