// Goes through the occurrences of a timetable beside a clock: each once, whatever is done to the clock.
//
//   timetable_cursor nights(table);
//   while (const auto night = nights.next(foliot::runtime::wall_now())) {
//     co_await foliot::runtime::sleep_until(night->at);
//     …                                                          // the job
//   }
//
// So a task does something at a time of day, by the clock of a time zone, without arithmetic: on the night in which
// clocks change, as the timetable's policies say. If the clock is set back, nothing comes twice: the next occurrence is
// behind the one that was given last. If it is set forward, or the job takes longer than the time between two
// occurrences, those that have passed meanwhile are left out, but for the one that was waited for, which is late.
//
// It has no clock of its own: the caller says what time it is, and waits. It lives as long as the process; what must
// survive that is a schedule of a server, or jobs in a store.
//
// Thread safety: as any value. Complexity: as timetable::next().
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <expected>
#include <optional>

#include <foliot/core/export.h>
#include <foliot/schedule/timetable.hpp>

namespace foliot::schedule {

/// A place in the occurrences of a timetable.
class FOLIOT_EXPORT timetable_cursor {
 public:
  /// Before the first one.
  explicit timetable_cursor(timetable of) noexcept;

  /// The first occurrence that is not before `now`, and behind the one that was given last; nothing as
  /// timetable::next() says, and then another call asks again. Of a rule of the kind `delay` the one that follows the
  /// end of a run at `now`.
  [[nodiscard]] std::expected<occurrence, absence> next(std::chrono::sys_time<std::chrono::nanoseconds> now);

  /// From now on by another timetable, as when there are new data of its time zone, or another rule: an instant that
  /// was given is not given again.
  void follow(timetable another) noexcept;

  /// The instant of the occurrence that was given last.
  [[nodiscard]] std::optional<std::chrono::sys_seconds> last() const noexcept { return last_; }
  /// What it goes through.
  [[nodiscard]] const timetable& table() const noexcept { return table_; }

 private:
  timetable table_;
  std::optional<std::chrono::sys_seconds> last_;
};

}  // namespace foliot::schedule
