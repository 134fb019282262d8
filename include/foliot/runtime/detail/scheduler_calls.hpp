// The functions of the scheduler that the runtime's headers call.
//
// Thread safety: all functions from any thread, but random_below() and make_ready_last(), which a task calls.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <exception>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/runtime_deadline.hpp>

namespace foliot::runtime::detail {

class frame;
class scheduler;
class task_state;
class timer_entry;

/// The scheduler that runs the caller: a task, or a callback of its timers. Throws std::logic_error if there is none,
/// with a text that names `what`, the caller's operation.
[[nodiscard]] FOLIOT_EXPORT scheduler& this_scheduler(const char* what);

/// Whether one of the scheduler's workers runs the caller: then the scheduler does not end meanwhile.
[[nodiscard]] FOLIOT_EXPORT bool is_worker_of(const scheduler& owner) noexcept;

/// Queues a new task, which begins with `body`. The scheduler takes over one reference.
FOLIOT_EXPORT void launch(task_state& task, frame& body) noexcept;

/// Reports the failure of a task that will never be joined, by run_options::on_failure.
FOLIOT_EXPORT void report_failure(scheduler& owner, const task_state& task, const std::exception_ptr& failure) noexcept;
/// The same for a failure outside of a task, as in a callback.
FOLIOT_EXPORT void report_failure(scheduler& owner, const char* name, const std::exception_ptr& failure) noexcept;

/// The instant that the scheduler's clock shows.
[[nodiscard]] FOLIOT_EXPORT instant now(const scheduler& owner) noexcept;
/// The same, or some microseconds later where that is cheaper.
[[nodiscard]] FOLIOT_EXPORT instant now_or_later(const scheduler& owner) noexcept;
/// The deadline `length` from now: never early, and for lengths below 100 us not late either.
[[nodiscard]] FOLIOT_EXPORT instant deadline_in(const scheduler& owner, duration length) noexcept;

/// The scheduler's clock.
[[nodiscard]] FOLIOT_EXPORT const clock& clock_of(const scheduler& owner) noexcept;
/// The deadline as an instant of that clock. Throws std::invalid_argument for a time point of another one.
[[nodiscard]] inline instant instant_on(const scheduler& owner, runtime_deadline deadline) {
  return deadline.on([&owner]() -> const clock& { return clock_of(owner); });
}

/// Uniform in [0, bound), by the random source of the processor that the calling task runs on.
[[nodiscard]] FOLIOT_EXPORT std::uint64_t random_below(std::uint64_t bound) noexcept;

/// Counts a task that waits at a foreign awaiter, until its wait ends: another thread may resume it, so that the
/// runtime is not deadlocked meanwhile.
FOLIOT_EXPORT void begin_outside_wait(scheduler& owner) noexcept;
FOLIOT_EXPORT void end_outside_wait(scheduler& owner) noexcept;

/// Queues the calling task, which has parked, behind all others.
FOLIOT_EXPORT void make_ready_last(task_state& task) noexcept;

}  // namespace foliot::runtime::detail
