// Timetables: rules in a time zone, with exclusions, bounds, and policies for changes of clocks. They tell the next and
// the previous time.
//
//   timetable_options options;
//   options.rules = {*rule::parse("0 9 * * MON-FRI")};
//   options.where = *zone_directory().find("Europe/Berlin");
//   const auto table = timetable::make(std::move(options));
//   const auto next = table->next(now);  // occurrence: the instant, the local time, what a change of clocks did to it
//
// A change of clocks: in a gap (clocks go forward) local times are left out, in an overlap (clocks go back) they come
// twice. A rule with fixed times has each of its local times once, by the policies; a rule that means the minutes that
// really happen has those that do. Two times that meet in one instant are one occurrence.
//
// Invariants: next() is after what it was asked for, previous() before it; next() of what previous() returns is not
// before it; between two neighbours there is none.
//
// Complexity: a call looks at most 400 years ahead or back, within which the calendar repeats itself: some microseconds
// for the usual rules, and about a millisecond for one that never comes. What is excluded is passed over one by one, so
// a call is bounded: it gives up, and says so, after 600,000 occurrences in a row that are excluded (more than a year
// of minutes), or after 2,000,000 questions to rules and exclusions. That is a second or two; rules from strangers
// belong where that does no harm. make() with a count has 2,000,000 questions for all of it.
//
// Thread safety: a timetable is an immutable value.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/schedule/rule.hpp>
#include <foliot/schedule/zone.hpp>

namespace foliot::schedule {

/// What becomes of a fixed time that a change of clocks leaves out. In a gap of more than three hours, which is a
/// change of the date, it is always skipped.
enum class gap_policy : std::uint8_t {
  /// It comes at the first instant behind the gap; several of one rule together, once.
  shift,
  /// It does not come.
  skip,
};

/// What becomes of a fixed time that a change of clocks repeats.
enum class overlap_policy : std::uint8_t {
  /// It comes when the clock shows it for the first time.
  first,
  /// It comes when the clock shows it for the last time.
  last,
  /// It comes both times.
  both,
};

/// Which time the clock shows a local time.
enum class overlap_pass : std::uint8_t {
  /// It shows it once.
  only,
  /// It will show it again.
  first,
  /// It has shown it before.
  second,
};

/// A time at which something is due.
struct occurrence {
  /// The instant.
  std::chrono::sys_seconds at{};
  /// The local time that the rule names. If the occurrence was shifted, the clock never shows it.
  std::chrono::local_seconds nominal{};
  /// What the clock adds to UTC at the instant.
  std::chrono::seconds offset{};
  /// The zone's word for that: "CEST".
  std::string abbreviation{};
  /// Which time the clock shows the local time.
  overlap_pass pass = overlap_pass::only;
  /// Whether a gap moved it.
  bool is_shifted = false;

  /// What the clock shows at the instant.
  [[nodiscard]] std::chrono::local_seconds local() const noexcept {
    return std::chrono::local_seconds(at.time_since_epoch() + offset);
  }
};

/// Why there is no occurrence.
enum class absence : std::uint8_t {
  /// There is none within 400 years, nor one before the end.
  never,
  /// The work was given up: more are excluded than is looked at in one call.
  given_up,
};

/// What a question to a timetable may cost, and what it has come to.
struct search_effort {
  /// So many questions to rules and exclusions may be asked; those that were are taken off. A call has a bound of its
  /// own besides.
  std::size_t questions = 2'000'000;
  /// Of a call that gave up: between the instant that it was asked about and this one, which belongs to that, there is
  /// no occurrence.
  std::chrono::sys_seconds reached{};
};

/// What a change of clocks does to the times of a rule.
enum class change_effect : std::uint8_t {
  /// They come at the end of the gap.
  shifted,
  /// They do not come.
  skipped,
  /// They come when the clock shows them for the first time.
  first,
  /// They come when the clock shows them for the last time.
  last,
  /// They come twice.
  twice,
};

/// A change of clocks that leaves out or repeats times of a rule.
struct clock_change {
  /// The instant.
  std::chrono::sys_seconds at{};
  /// What the clock adds to UTC before it.
  std::chrono::seconds before{};
  /// And from it on.
  std::chrono::seconds after{};
  /// Which rule of the timetable.
  std::size_t rule = 0;
  /// What becomes of its times.
  change_effect effect = change_effect::shifted;
  /// The first of them.
  std::chrono::local_seconds first{};
  /// How many there are; at most 1,000 are counted.
  std::size_t times = 0;

  /// What the clock would show at the instant without the change.
  [[nodiscard]] std::chrono::local_seconds from() const noexcept {
    return std::chrono::local_seconds(at.time_since_epoch() + before);
  }
  /// What it shows.
  [[nodiscard]] std::chrono::local_seconds to() const noexcept {
    return std::chrono::local_seconds(at.time_since_epoch() + after);
  }
};

/// Changes of clocks.
struct clock_change_list {
  /// The earliest first.
  std::vector<clock_change> changes{};
  /// Whether there may be more: as many as were asked for are here, or the work was given up.
  bool is_cut = false;
};

/// What a timetable is made of.
struct timetable_options {
  /// At least one, at most 100. A rule of the kind `delay` is alone.
  std::vector<rule> rules{};
  /// By whose clock.
  zone where{};
  /// For fixed times that do not exist.
  gap_policy gap = gap_policy::shift;
  /// For fixed times that come twice.
  overlap_policy overlap = overlap_policy::first;
  /// Days without occurrences, by the local time that the rule names. At most 10,000.
  std::vector<std::chrono::year_month_day> excluded_dates{};
  /// At the instants of these rules there are no occurrences; at most 100. `* * 25 12 *` excludes all of a day of all
  /// rules of whole minutes; for all of a day of any rule there are excluded_dates.
  std::vector<rule> exclusions{};
  /// The first instant that may be one. Between `earliest` and `latest`, as the end.
  std::optional<std::chrono::sys_seconds> starts{};
  /// The first that may no longer be one.
  std::optional<std::chrono::sys_seconds> ends{};
  /// There are no more than so many, from `starts` on, which is then needed; 0: without end. At most 100,000.
  std::size_t count = 0;
  /// Each is delayed by less than this, by delay_of(). At most a week.
  std::chrono::seconds jitter{};
};

/// Rules with all that belongs to them.
class FOLIOT_EXPORT timetable {
 public:
  /// Returns a sentence that says what is wrong: `once` names a local time that a gap leaves out, or an offset that the
  /// zone does not have then; no rule, too many, dates that do not exist, bounds beyond the years, a count without a
  /// start, or one whose end is not found within the bounded work. A timetable that never comes is none of these.
  [[nodiscard]] static std::expected<timetable, std::string> make(timetable_options options);

  /// The first occurrence after an instant, which is taken for `earliest` or `latest` if it is beyond them; nothing if
  /// there is none within 400 years, or before `latest`, or if the work is given up. With a rule of the kind `delay`
  /// the instant is the end of the last run.
  [[nodiscard]] std::expected<occurrence, absence> next(std::chrono::sys_seconds after) const;
  /// The same, with a bound of the caller's, which may be for many calls together.
  [[nodiscard]] std::expected<occurrence, absence> next(std::chrono::sys_seconds after, search_effort& effort) const;

  /// The last occurrence before an instant, bounded as next(). A rule of the kind `delay` has none.
  [[nodiscard]] std::expected<occurrence, absence> previous(std::chrono::sys_seconds before) const;
  [[nodiscard]] std::expected<occurrence, absence> previous(std::chrono::sys_seconds before,
                                                            search_effort& effort) const;

  /// The changes of clocks in [from, to) that leave out or repeat times of a rule, and what becomes of them: the
  /// earliest first, at most `most`. Rules that go by elapsed time are not among them, nor those that mean each hour
  /// that really happens. Times that are excluded, or beyond the start and the end, do not count: of one that comes
  /// twice, none if one of both is left out. Bounded as next(), and then cut.
  [[nodiscard]] clock_change_list clock_changes(std::chrono::sys_seconds from, std::chrono::sys_seconds to,
                                                std::size_t most = 100) const;

  /// By how much the occurrence at an instant is delayed: in [0, jitter), the same for the same name and instant, in
  /// each process and on each machine. The occurrence's identity stays its instant.
  [[nodiscard]] std::chrono::milliseconds delay_of(std::string_view name, std::chrono::sys_seconds at) const noexcept;

  /// What it means, as an English sentence: "At 09:00 on Monday to Friday, by the clock of Europe/Berlin.".
  [[nodiscard]] std::string words() const;
  /// Those of its rules.
  [[nodiscard]] std::vector<std::string> warnings() const;
  /// What it was made of, with the excluded dates in order.
  [[nodiscard]] const timetable_options& options() const noexcept { return options_; }

 private:
  explicit timetable(timetable_options options) noexcept;

  [[nodiscard]] std::optional<occurrence> next_of(const rule& which, std::chrono::sys_seconds after) const;
  [[nodiscard]] std::optional<occurrence> previous_of(const rule& which, std::chrono::sys_seconds before) const;
  class walk;

  [[nodiscard]] std::string fault() const;
  [[nodiscard]] std::string fault_of_bounds() const;
  [[nodiscard]] std::string set_end();

  timetable_options options_;
  std::optional<std::chrono::sys_seconds> end_{};  // that of the options, or that which the count makes
};

/// The day of a text such as 2026-12-25; nothing if it is none.
[[nodiscard]] FOLIOT_EXPORT std::optional<std::chrono::year_month_day> date_of(std::string_view text) noexcept;
/// "2026-11-29T09:00:00", for messages. Precondition: between `earliest` and `latest`.
[[nodiscard]] FOLIOT_EXPORT std::string text_of(std::chrono::local_seconds time);
/// "2026-11-29T08:00:00Z", for messages. Precondition: between `earliest` and `latest`.
[[nodiscard]] FOLIOT_EXPORT std::string text_of(std::chrono::sys_seconds time);

}  // namespace foliot::schedule
