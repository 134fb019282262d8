// Schedules and their occurrences as JSON. Instants are in whole seconds, such as 2026-11-29T05:40:00Z; times of jobs
// have milliseconds. Members of occurrences have the names that `foliot job next --json` has.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/schedule/timetable.hpp>

#include "json.hpp"
#include "server/schedules/occurrence_note.hpp"
#include "server/schedules/schedule_plan.hpp"
#include "server/schedules/schedule_records.hpp"

namespace foliot::program::http {

/// How many occurrences to come are shown with a schedule.
inline constexpr std::size_t shown_upcoming = 10;

/// "+01:00".
[[nodiscard]] std::string offset_text(std::chrono::seconds offset);
/// `only`, `first` or `second`: which time the clock shows a local time.
[[nodiscard]] std::string_view name_of(schedule::overlap_pass pass) noexcept;

/// `active`, `paused`, `ended`, or `refused` if it cannot be followed.
[[nodiscard]] std::string_view state_word(const known_schedule& what) noexcept;
/// The tag of a version, without its quotes: `00000000deadbeef.7`.
[[nodiscard]] std::string tag_text(const schedule_version& version);
/// The version that such a tag names; nothing if no schedule has this tag.
[[nodiscard]] std::optional<schedule_version> version_of_tag(std::string_view tag) noexcept;
/// Adds `version` and `incarnation`.
void add_version(ordered_json& to, const schedule_version& version);

/// A schedule as lists show it. Looks into no timetable. O(rules).
[[nodiscard]] ordered_json entry_of(const known_schedule& what);
/// All that is known of a schedule. `table`: its timetable, by which the next occurrences are computed; null: it has
/// none, and is shown without them. Bounded work: see upcoming_occurrences().
[[nodiscard]] ordered_json shown(const known_schedule& what, const schedule_table* table);
/// What a plan means, and when it would make its next occurrences. `table`: its timetable.
[[nodiscard]] ordered_json preview_of(const known_schedule& what, const schedule_table& table);
/// Occurrences of a timetable: their instants, and what the clock shows.
[[nodiscard]] ordered_json shown(const std::vector<schedule::occurrence>& those);
/// What the job of an occurrence tells its worker.
[[nodiscard]] ordered_json shown(const occurrence_note& what);

}  // namespace foliot::program::http
