// What the job of an occurrence tells its worker: of which schedule it is, for which instant, and why it was made. A
// field of the job, which never changes: `tag_of_occurrence`.
//
// The encoding is readable in SQL: the members below in their order, each ended by a line feed, times as RFC 3339 has
// them, the first line being the version of the encoding. Later versions add lines.
//
// Thread safety: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/jobs/fields.hpp>
#include <foliot/schedule/timetable.hpp>

#include "schedule_plan.hpp"
#include "schedule_planner.hpp"
#include "schedule_state.hpp"

namespace foliot::program {

/// Of the fields of a job: the occurrence.
inline constexpr jobs::field_tag tag_of_occurrence = 8;

struct occurrence_note {
  std::string schedule = {};      ///< its name
  std::uint64_t incarnation = 0;  ///< of the schedule
  std::uint32_t version = 0;      ///< of its plan
  occurrence_reason reason = occurrence_reason::regular;
  std::uint32_t ordinal = 0;             ///< 0: of the timetable; else the number of the run by hand
  std::chrono::sys_seconds at{};         ///< the nominal instant
  std::chrono::local_seconds nominal{};  ///< the local time that the rule names
  std::chrono::seconds offset{};         ///< what the clock adds to UTC at the instant
  std::string abbreviation = {};         ///< "CET"
  std::string zone = {};                 ///< "Europe/Berlin"
  std::string zone_data = {};            ///< the version of the data by which the instant was computed; "" of UTC
  bool is_shifted = false;               ///< whether a gap moved it
  schedule::overlap_pass pass = schedule::overlap_pass::only;

  /// Of an occurrence that is made by this plan and state.
  [[nodiscard]] static occurrence_note of(std::string_view schedule, const schedule_plan& plan,
                                          const schedule_state& state, const planned_occurrence& made);
  [[nodiscard]] std::string encoding() const;
  /// Nothing if it cannot be read.
  [[nodiscard]] static std::optional<occurrence_note> parse(std::string_view encoding);
  /// That of a job with these fields, if it is an occurrence.
  [[nodiscard]] static std::optional<occurrence_note> in(const jobs::job_fields& fields);

  friend bool operator==(const occurrence_note&, const occurrence_note&) = default;
};

}  // namespace foliot::program
