// The times of one rule in a zone: local times become instants, across the changes of the zone's clocks.
//
// The zone's periods, in each of which its clock runs evenly, are looked at one after the other. A period has the
// rule's local times between two bounds. With fixed times, a bound leaves out what another period has: of an overlap,
// the second period has nothing if the first pass counts, and the first period nothing if the last one does. The period
// behind a gap has, at its first instant, what the gap left out.
//
// Thread safety: pure functions.
#pragma once

#include <optional>

#include <foliot/schedule/timetable.hpp>

#include "schedule/rule_body.hpp"

namespace foliot::schedule {

/// A gap that is longer is a change of date.
inline constexpr seconds longest_shifted_gap = std::chrono::hours(3);

/// How a rule's local times become instants.
struct clock_policy {
  gap_policy gap = gap_policy::skip;
  overlap_policy overlap = overlap_policy::both;
};

/// That of a rule: one without fixed times means the minutes that really happen.
[[nodiscard]] clock_policy policy_of(const rule& which, const timetable_options& options) noexcept;

/// The first local time of a rule that is not before `from`; nothing for rules of elapsed time.
[[nodiscard]] std::optional<local_seconds> next_local(const detail::rule_body& body, local_seconds from);
/// The last local time of a rule that is not after `from`.
[[nodiscard]] std::optional<local_seconds> previous_local(const detail::rule_body& body, local_seconds from);

/// Who does not come within 400 years of a question does not come for so long behind it.
inline constexpr seconds never_comes_for = std::chrono::days(146'000);

/// Answers from its last answer if it can: there is nothing between a question and its answer. For one direction.
class local_search {
 public:
  explicit local_search(const detail::rule_body& body) noexcept : body_(&body) {}

  [[nodiscard]] std::optional<local_seconds> next(local_seconds from) {
    if (!is_known_ || from < asked_ || (found_ ? from > *found_ : from > asked_ + never_comes_for)) {
      found_ = next_local(*body_, from);
      asked_ = from;
      is_known_ = true;
    }
    return found_;
  }
  [[nodiscard]] std::optional<local_seconds> previous(local_seconds from) {
    if (!is_known_ || from > asked_ || (found_ ? from < *found_ : from < asked_ - never_comes_for)) {
      found_ = previous_local(*body_, from);
      asked_ = from;
      is_known_ = true;
    }
    return found_;
  }

 private:
  const detail::rule_body* body_;  // never null
  bool is_known_ = false;
  local_seconds asked_{};
  std::optional<local_seconds> found_{};
};

/// The first occurrence after `after`, of a rule of local times.
[[nodiscard]] std::optional<occurrence> next_by_clock(const detail::rule_body& body, const zone& where,
                                                      clock_policy policy, sys_seconds after);
/// The last occurrence before `before`.
[[nodiscard]] std::optional<occurrence> previous_by_clock(const detail::rule_body& body, const zone& where,
                                                          clock_policy policy, sys_seconds before);

/// The occurrence at an instant that the rule itself names.
[[nodiscard]] occurrence occurrence_at(const zone& where, sys_seconds at);

}  // namespace foliot::schedule
