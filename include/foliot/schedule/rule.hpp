// Rules of recurrence: at which times something is due, as a text says it.
//
//   0 9 * * MON-FRI                                    cron, in five fields as Vixie's; also @daily, L, W, #
//   every 4h                                           elapsed time, from rule_options::anchor
//   every 4h from 2026-02-01T23:40:00Z                 elapsed time, from an instant of one's own
//   every 2 weeks on MON,THU at 09:00 from 2026-01-05  weeks, which begin on Monday; the one with the date is the first
//   once 2026-10-25T02:30                              by the clock of the timetable's zone
//   once 2026-10-25T02:30:00+02:00                     an instant
//   after 10m                                          from the end of the last run
//
// A rule has no zone and no policies for changes of clocks: a timetable has these, and computes the times.
//
// Cron: a field whose first character is `*` is a wildcard. If day of month and day of week are both none, a day needs
// only fit one of them; else it must fit both. If the minute or the hour (or the second) is a wildcard, the rule means
// the minutes that really happen, else times of day. `?` is `*`, in the fields of days. L is the last day of the month,
// LW its last weekday (Monday to Friday), 15W the weekday nearest to the 15th within the month, FRIL the last Friday,
// FRI#2 the second one. Ranges do not run backwards, except that one of weekdays may end with SUN: FRI-SUN.
//
// Thread safety: a rule is an immutable value.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/export.h>

namespace foliot::schedule {

namespace detail {
struct rule_body;
}  // namespace detail

/// How a text of cron is read that has not the five fields of Vixie's, or reads them otherwise.
enum class dialect : std::uint8_t {
  /// Five fields: minute, hour, day of month, month, day of week, where 0 and 7 are Sunday. Or seven, which nobody can
  /// take for anything else: with seconds in front and years behind.
  vixie,
  /// Six fields: with seconds in front. Its name is "seconds".
  with_seconds,
  /// Quartz: with seconds in front, and years behind if there are seven. Sunday is 1. One field of days is `?`; a step
  /// may follow a number.
  quartz,
  /// EventBridge: six fields, with years behind. Days and steps as in Quartz.
  eventbridge,
};

/// "quartz".
[[nodiscard]] FOLIOT_EXPORT std::string_view name_of(dialect which) noexcept;
/// The dialect with this name; nothing if there is none.
[[nodiscard]] FOLIOT_EXPORT std::optional<dialect> dialect_named(std::string_view name) noexcept;

/// Why a text is no rule.
struct rule_error {
  /// The field of cron: "hour". "" if the mistake is in none.
  std::string field{};
  /// Which character of the text, from 1; 0 if the mistake is at none.
  std::size_t position = 0;
  /// What is wrong: "24 is larger than 23".
  std::string problem{};
  /// What would be right: "midnight is 0".
  std::string remedy{};

  /// All of it, as a sentence without its full stop: "hour, character 3: 24 is larger than 23: midnight is 0".
  [[nodiscard]] FOLIOT_EXPORT std::string message() const;
};

/// How a text is read.
struct rule_options {
  /// Of cron.
  dialect cron = dialect::vixie;
  /// From when `every` counts if the text does not say it. It must be stored with the rule: a rule that counts from the
  /// start of a process loses its phase with each. Between `earliest` and `latest` (zone.hpp).
  std::chrono::sys_seconds anchor{};
  /// The shortest interval of `every` and `after`; never less than a second.
  std::chrono::seconds shortest_interval{1};
};

/// What a rule goes by.
enum class rule_kind : std::uint8_t {
  /// The fields of cron.
  cron,
  /// Elapsed time.
  every,
  /// Every N weeks, on weekdays, at times of day.
  weeks,
  /// One time.
  once,
  /// A delay from the end of the last run.
  delay,
};

/// A rule.
class FOLIOT_EXPORT rule {
 public:
  /// Reads a text.
  [[nodiscard]] static std::expected<rule, rule_error> parse(std::string_view text, const rule_options& how = {});

  /// The text that it was read from.
  [[nodiscard]] const std::string& text() const noexcept;
  /// What it goes by.
  [[nodiscard]] rule_kind kind() const noexcept;
  /// What it means, in English, without a full stop: "At 09:00 on Monday to Friday".
  [[nodiscard]] std::string words() const;
  /// What its author may have overlooked, each as a sentence without its full stop.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept;
  /// Whether it names times of day, which a change of clocks may take away or repeat: the policies of a timetable say
  /// what becomes of them. Else it goes by elapsed time, or means the minutes that really happen.
  [[nodiscard]] bool has_fixed_times() const noexcept;

 private:
  friend class timetable;
  explicit rule(std::shared_ptr<const detail::rule_body> body) noexcept;

  std::shared_ptr<const detail::rule_body> body_;  // never null
};

}  // namespace foliot::schedule
