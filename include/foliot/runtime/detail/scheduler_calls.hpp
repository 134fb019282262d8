// What the headers of the runtime ask of its scheduler.
//
// Thread safety: each from any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <exception>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>

namespace foliot::runtime::detail {

class frame;
class scheduler;
class task_state;
class timer_entry;

/// The scheduler that runs the caller: a task, or a callback of its timers. Throws std::logic_error where there is
/// none; `what` is what the caller wanted to do.
[[nodiscard]] FOLIOT_EXPORT scheduler& this_scheduler(const char* what);

/// Whether the caller is run by one of its workers: then it does not end meanwhile.
[[nodiscard]] FOLIOT_EXPORT bool is_worker_of(const scheduler& owner) noexcept;

/// A new task, which will be run: one reference goes to the scheduler.
FOLIOT_EXPORT void launch(task_state& task, frame& body) noexcept;

/// Nobody will join a task that has failed: reports it.
FOLIOT_EXPORT void report_failure(scheduler& owner, const task_state& task, const std::exception_ptr& failure) noexcept;
/// The same for what is not a task.
FOLIOT_EXPORT void report_failure(scheduler& owner, const char* name, const std::exception_ptr& failure) noexcept;

/// The scheduler's clock: as it is, or somewhat later where that is cheaper.
[[nodiscard]] FOLIOT_EXPORT instant now(const scheduler& owner) noexcept;
[[nodiscard]] FOLIOT_EXPORT instant now_or_later(const scheduler& owner) noexcept;
/// The deadline of what is to happen `length` from now: never early, and for short lengths not late either.
[[nodiscard]] FOLIOT_EXPORT instant deadline_in(const scheduler& owner, duration length) noexcept;

/// Uniform in [0, bound), by the random source of the processor that the calling task runs on.
[[nodiscard]] FOLIOT_EXPORT std::uint64_t random_below(std::uint64_t bound) noexcept;

/// Counts a task that waits at a foreign awaiter: another thread may resume it, so it is no deadlock.
FOLIOT_EXPORT void begin_outside_wait(scheduler& owner) noexcept;
FOLIOT_EXPORT void end_outside_wait(scheduler& owner) noexcept;

/// Puts the caller's task back, so that others run first. The caller has parked.
FOLIOT_EXPORT void make_ready_last(task_state& task) noexcept;

}  // namespace foliot::runtime::detail
