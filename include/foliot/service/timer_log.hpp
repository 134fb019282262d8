// A log of what becomes of timers, one entry for each thing that happens: what goim writes when it is told to debug.
//
//   foliot::service_options options{.engine = "goim"};
//   options.log = [](const foliot::timer_log_entry& entry) { std::puts(foliot::log_line(entry).c_str()); };
//   foliot::timer_service timers{std::move(options)};
//   foliot::timer idle{timers, [] {}};
//   idle.name("session 17");
//   idle.start(30s);              // timer: push item key: session 17, expire: 30000000000, index: 0
//
// The engine `goim` keeps one; others refuse the option. A service without a log pays nothing for it; with one, each
// timer has a larger record, which has room for its name.
//
// Thread safety: values. The log is called by the thread that did what the entry tells, without any lock: by several
// at once, where there are several threads, and then the entries of two threads may come in either order. An entry's
// name is valid during the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>

namespace foliot::inline service {

/// What has happened.
enum class timer_event : std::uint8_t {
  added,        ///< a timer is in the heap
  removed,      ///< a timer has left it: stopped, started again, or about to fire
  not_there,    ///< a timer was stopped, and is not in the heap: as a rule it has fired
  expired,      ///< a timer's callback is called next, unless the log ends the timer for good
  none_left,    ///< the thread has found the heap empty
  alarm_moved,  ///< a timer has become the earliest: the alarm is set to its deadline, now or when the thread sleeps
  alarm_set,    ///< the thread has fired what was due: the alarm is set to the earliest deadline that is left
};

struct timer_log_entry {
  timer_event what = timer_event::added;
  /// What timer_handle::name() said; empty, where there is no timer, or it has no name.
  std::string_view name{};
  /// Tells timers apart while they live; null where there is no timer.
  const void* timer = nullptr;
  /// The timer's deadline; of an alarm what it is set to, never where nothing is left.
  instant deadline{};
  /// Where in the heap the timer stands; -1 where it does not.
  std::ptrdiff_t index = -1;
  /// Of an alarm: how long until then.
  duration delay{};
};

/// Gets the entries. What it throws goes to the service's on_exception. It may use the service's timers, whose entries
/// it then gets as well.
using timer_log = callable<void(const timer_log_entry&)>;

/// The entry as goim has it, without an end of line; instants are in nanoseconds of the service's clock. Throws
/// std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string log_line(const timer_log_entry& entry);

}  // namespace foliot::inline service
