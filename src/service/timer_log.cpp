#include <foliot/service/timer_log.hpp>

namespace foliot::inline service {

namespace {

std::string line_of(std::string_view begin, const timer_log_entry& entry, std::string_view end = {}) {
  std::string line(begin);
  line += entry.name;
  line += ", expire: " + std::to_string(entry.deadline.nanoseconds());
  line += ", index: " + std::to_string(entry.index);
  return line += end;
}

std::string milliseconds(duration delay) { return std::to_string(delay.count() / 1'000'000); }

}  // namespace

std::string log_line(const timer_log_entry& entry) {
  switch (entry.what) {
    case timer_event::added: return line_of("timer: push item key: ", entry);
    case timer_event::removed: return line_of("timer: remove item key: ", entry);
    case timer_event::not_there: return line_of("timer del key: ", entry);
    case timer_event::expired: return line_of("timer key: ", entry, " expired, call fn");
    case timer_event::none_left: return "timer: no other instance";
    case timer_event::alarm_moved: return "timer: add reset delay " + milliseconds(entry.delay) + " ms";
    case timer_event::alarm_set: return "timer: expire reset delay " + milliseconds(entry.delay) + " ms";
  }
  return "timer: unknown event";
}

}  // namespace foliot::inline service
