#include <foliot/schedule/timetable_cursor.hpp>

#include <algorithm>
#include <utility>

namespace foliot::schedule {

timetable_cursor::timetable_cursor(timetable of) noexcept : table_(std::move(of)) {}

std::expected<occurrence, absence> timetable_cursor::next(std::chrono::sys_time<std::chrono::nanoseconds> now) {
  // A timetable gives what is behind an instant; what is due at `now` itself has not passed.
  const bool counts_from_now = table_.options().rules.front().kind() == rule_kind::delay;
  std::chrono::sys_seconds after =
      std::chrono::ceil<std::chrono::seconds>(now) - std::chrono::seconds(counts_from_now ? 0 : 1);
  if (last_) after = std::max(after, *last_);
  std::expected<occurrence, absence> found = table_.next(after);
  if (found) last_ = found->at;
  return found;
}

void timetable_cursor::follow(timetable another) noexcept { table_ = std::move(another); }

}  // namespace foliot::schedule
