// A log of timers, one entry for each event: the lines that goim writes with debugging on.
//
//   foliot::service_options options{.engine = "goim"};
//   options.log = [](const foliot::timer_log_entry& entry) { std::puts(foliot::log_line(entry).c_str()); };
//   foliot::timer_service timers{std::move(options)};
//   foliot::timer idle{timers, [] {}};
//   idle.name("session 17");
//   idle.reset(30s);              // timer: push item key: session 17, expire: 30000000000, index: 0
//
// Only the engine `goim` has a log; the others refuse the option. A service without a log pays nothing for it. With a
// log each timer has a larger record, with room for its name.
//
// Thread safety: the thread that causes an event calls the log, without any lock. Several threads may call it at once,
// and the entries of two threads may arrive in either order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/shared_callable.hpp>

namespace foliot::inline service {

/// The kind of an event.
enum class timer_event : std::uint8_t {
  added,        ///< a timer is in the heap
  removed,      ///< a timer has left the heap: it was stopped, is started again, or is about to fire
  not_there,    ///< a timer was stopped that is not in the heap: usually it has fired
  expired,      ///< a timer's callback is called next, unless the log itself closes the timer
  none_left,    ///< the thread has found the heap empty
  alarm_moved,  ///< a timer has become the earliest: the alarm is set to its deadline, now or when the thread sleeps
  alarm_set,    ///< the thread has fired all due timers: the alarm is set to the earliest deadline that is left
};

/// One event.
struct timer_log_entry {
  timer_event what = timer_event::added;
  /// The timer's name as set by timer_handle::name; empty if it has none, or if the event is not about one timer. Valid
  /// during the call of the log.
  std::string_view name{};
  /// Distinct for each timer that exists; null if the event is not about one timer.
  const void* timer = nullptr;
  /// The timer's deadline. For events of the alarm, the instant that it is set to; never if no timer is left.
  instant deadline{};
  /// The timer's index in the heap; -1 if it is not in the heap.
  std::ptrdiff_t index = -1;
  /// For events of the alarm: the time from now to `deadline`.
  duration delay{};
};

/// Receives the entries. Its exceptions go to service_options::on_exception. It may use timers of the service, and then
/// receives the entries of those calls too.
using timer_log = shared_callable<void(const timer_log_entry&)>;

/// Returns the entry as goim writes it, without an end of line; instants are in nanoseconds of the service's clock. A
/// pure function, for any thread. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string log_line(const timer_log_entry& entry);

}  // namespace foliot::inline service
