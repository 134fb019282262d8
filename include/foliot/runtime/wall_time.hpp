// Waits for a time of the wall clock, as std::chrono::system_clock shows it.
//
//   co_await foliot::runtime::sleep_until(std::chrono::sys_days{2030y / 1 / 1});    // until 2030 begins, in UTC
//   auto chosen = co_await select(jobs.receive(), at(midnight));                     // or as the case of a select
//
// The task wakes when the wall clock shows that time, and not a nanosecond earlier by it. If the clock is set forward
// past it, the task wakes at once; if the clock is set back, the task waits until the time comes again. Time that the
// machine is suspended counts; a suspended machine is not woken. A time that has passed returns at once.
//
// On virtual time the wall clock is the one beside the virtual clock: virtual_clock::set_wall() sets it.
//
// Everything that goes by the runtime's own clock (sleep, after, timers, timeouts) ignores the wall clock. A time of
// day by the clock of a time zone, with the hours that a change of clocks leaves out or repeats, is computed by
// foliot::schedule: <foliot/schedule/timetable_cursor.hpp>.
//
// Thread safety: only the task that waits uses it. Complexity: O(log n) for n such waits. Allocates nothing itself, but
// the runtime's list of such waits grows. The first wait of a runtime makes one timerfd, which all share. Costs no
// wake-up before the time comes.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>

#include <foliot/core/clock.hpp>
#include <foliot/core/export.h>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wall_wait.hpp>

namespace foliot::runtime {

/// What the wall clock shows: the system's, or the one beside the virtual clock of the caller's runtime. For tasks, and
/// for callbacks of the runtime's timers. Throws std::logic_error outside of a runtime.
[[nodiscard]] FOLIOT_EXPORT std::chrono::sys_time<std::chrono::nanoseconds> wall_now();

/// A task must await the result: it waits until the wall clock shows `when`, which may have any precision and is
/// rounded up to nanoseconds. A time past the end of an instant, in 2262, means never. Throws std::logic_error outside
/// of a runtime; the wait throws `cancelled` in a task that is asked to stop, std::bad_alloc, and std::system_error if
/// the file descriptor for the first wait cannot be made.
template <class Duration>
[[nodiscard]] detail::operation_awaiter<detail::wall_sleep> sleep_until(std::chrono::sys_time<Duration> when) {
  return detail::operation_awaiter<detail::wall_sleep>(detail::this_scheduler("sleep_until"),
                                                       wall_clock::from_sys(when));
}

/// The same, alone or as a case of a select; gives the time that it was set for.
template <class Duration>
[[nodiscard]] detail::operation_awaiter<detail::wall_wait> at(std::chrono::sys_time<Duration> when) {
  return detail::operation_awaiter<detail::wall_wait>(detail::this_scheduler("at"), wall_clock::from_sys(when));
}

}  // namespace foliot::runtime
