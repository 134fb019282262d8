// Reports of stalls: callbacks that do not end, reported while they run, and threads that wait for them.
//
//   foliot::service_options options;
//   options.stalls = {.longer_than = 1s, .tell = [](const foliot::stall& each) { log(foliot::to_string(each)); }};
//
// A callback that never returns delays all others of its shard, and the end of its handle, a drain and a shut-down wait
// for it without a word. With this option the function `tell` learns which callback it is. A slow-callback report
// (slow_callback.hpp) comes only when the callback has ended.
//
// The service has one more thread, `foliot-stalls`, from its construction to its destruction, which sleeps for
// `longer_than` at a time. A service on virtual time has none: it reports only what other threads wait for. Each
// callback costs three readings of the clock, a system call and two uncontended locks; every timer stores the source
// location that armed it, in a record that is 88 bytes larger. Without the option nothing of this costs anything.
//
// Libraries that are built for Debug have a report without being asked: waits of 10 s are printed to standard error.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/shared_callable.hpp>
#include <foliot/service/firing.hpp>

namespace foliot::inline service {

/// How a stall was noticed.
enum class stall_kind : std::uint8_t {
  callback_runs,  ///< a callback has been running for longer than the limit
  end_waits,      ///< the end of a timer (its handle's destructor, or stop_and_wait) has been waiting for its callback
  service_waits,  ///< a drain, or the end of a service, has been waiting for callbacks; this is the oldest of them
};

/// A callback that has not ended yet.
struct stall {
  stall_kind kind;
  /// How long the callback has been running, by the monotonic clock, also on virtual time.
  duration running;
  /// How long the caller of `tell` has been waiting; zero for callback_runs.
  duration waited;
  /// The system's number of the thread that runs the callback, as debuggers and /proc show it.
  std::uint32_t thread;
  /// The call that made or armed the timer; for a ticker the call that began its grid.
  std::source_location armed_at;
  /// The callback's argument.
  firing fired;
  /// The timer's name as set by timer_handle::name; empty if it has none. Valid during the call of `tell`.
  std::string_view name{};
};

/// One line for a log: the timer, the thread, the times. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string to_string(const stall& one);

/// The limit, and the function that gets the reports. Off while `tell` is empty.
struct stall_report {
  /// A callback, and each wait for one, is reported when it has lasted for this time, and then each time when it has
  /// lasted twice as long as at the report before. Must be positive.
  duration longer_than{};
  /// Called without any lock: by the thread that waits, or by the service's thread `foliot-stalls`; from several
  /// threads at once. Must not destroy or shut down the service, except on the thread `foliot-stalls`: there, and so in
  /// exit() if the service is static, the end waits neither for callbacks nor for that thread. The end of a static
  /// timer waits for its callback as ever; std::quick_exit() waits for nothing. Its exceptions go to
  /// service_options::on_exception.
  shared_callable<void(const stall&)> tell{};
};

}  // namespace foliot::inline service
