// The state machine of a job, as pure functions over one table. Every store goes by it, and the tests hold the stores
// against it.
#pragma once

#include <foliot/core/language.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <foliot/jobs/job.hpp>

namespace foliot::jobs {

/// What can happen to a job. Those from `finish` to `touch` need the job's reservation: without it they are refused
/// before the table is used.
enum class job_event : std::uint8_t {
  due,         ///< the store's clock has reached its due time
  claim,       ///< a worker takes the first ready job of its tubes
  claim_job,   ///< a worker takes this job, in whatever state it waits
  expire,      ///< its TTR has ended, or its worker has gone
  finish,      ///< its worker has done it
  release,     ///< its worker gives it back, at once or after a delay
  bury,        ///< its worker sets it aside
  touch,       ///< its worker needs another TTR
  kick,        ///< a client wants it ready now; a kick of a whole tube is a kick of several jobs
  cancel,      ///< a client wants it gone
  reschedule,  ///< a client gives it a new due time
  fire_now,    ///< a client wants it ready now, without waiting for its due time
};
inline constexpr std::size_t job_events = 12;

/// What a table entry says: where the job is after the event.
enum class transition : std::uint8_t {
  refused,  ///< the event does not apply in this state: nothing changes
  delayed,  ///< and stays so until the due time
  ready,
  by_delay,  ///< delayed if the event brings a due time that lies ahead, ready if not
  reserved,
  buried,
  gone,
};

namespace detail {
using enum transition;
/// Rows: events. Columns: delayed, ready, reserved, buried.
inline constexpr std::array<std::array<transition, 4>, job_events> transitions{{
    /* due        */ {ready, refused, refused, refused},
    /* claim      */ {refused, reserved, refused, refused},
    /* claim_job  */ {reserved, reserved, refused, reserved},
    /* expire     */ {refused, refused, ready, refused},
    /* finish     */ {refused, refused, gone, refused},
    /* release    */ {refused, refused, by_delay, refused},
    /* bury       */ {refused, refused, buried, refused},
    /* touch      */ {refused, refused, reserved, refused},
    /* kick       */ {ready, refused, refused, ready},
    /* cancel     */ {gone, gone, refused, gone},
    /* reschedule */ {by_delay, by_delay, refused, by_delay},
    /* fire_now   */ {ready, ready, refused, ready},
}};
}  // namespace detail

/// What `event` does to a job in `state`. Constant time.
[[nodiscard]] constexpr transition transition_of(job_state state, job_event event) noexcept {
  return detail::transitions[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
}

/// The state of a job with this due time that nobody has: delayed until the store's clock has reached it.
[[nodiscard]] constexpr job_state waiting_state(utc_time due, utc_time now) noexcept {
  return due > now ? job_state::delayed : job_state::ready;
}

}  // namespace foliot::jobs
