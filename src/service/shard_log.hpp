// The entries that a shard writes to its log, where the design keeps one: a part of shard.hpp. Without a log these
// functions are empty.
#pragma once

#include "shard.hpp"

namespace foliot::detail {

/// The timer has been queued. `queued_until`: the deadline that it was queued at before, if it was.
template <class Design>
void shard<Design>::log_start(log_entries& to, record& r, std::optional<instant> queued_until) noexcept {
  if constexpr (keeps_log) {
    if (!to.wanted()) [[likely]]
      return;
    if (queued_until) to.add(timer_event::removed, r, &r, *queued_until, name_of(r));
    if (timer_node_access::place(r) == 0) to.add_move(&r, r.deadline());
    to.add(timer_event::added, r, &r, r.deadline(), name_of(r));
  }
}

/// A stop is about to remove the timer from the queue, if it is queued.
template <class Design>
void shard<Design>::log_stop(log_entries& to, record& r) noexcept {
  if constexpr (keeps_log) {
    if (!to.wanted()) [[likely]]
      return;
    const timer_event what = r.pending() ? timer_event::removed : timer_event::not_there;
    to.add(what, r, &r, r.deadline(), name_of(r));
  }
}

/// The end of the timer is about to remove it from the queue, if it is queued.
template <class Design>
void shard<Design>::log_end(log_entries& to, record& r) noexcept {
  if constexpr (keeps_log) {
    if (to.wanted() && r.pending()) [[unlikely]]
      to.add(timer_event::removed, r, &r, r.deadline(), name_of(r));
  }
}

/// The timer has left the queue, since it is due. A ticker may have been queued again, for its next tick.
template <class Design>
void shard<Design>::log_expiry(log_entries& to, record& r, instant was_until) noexcept {
  if constexpr (keeps_log) {
    if (!to.wanted()) [[likely]]
      return;
    to.add(timer_event::removed, r, &r, was_until, name_of(r));
    if (r.pending()) to.add(timer_event::added, r, &r, r.deadline(), name_of(r));
  }
}

/// The timer's callback is called next.
template <class Design>
void shard<Design>::log_call(log_entries& to, record& r, instant was_until) noexcept {
  if constexpr (keeps_log) {
    if (to.wanted()) [[unlikely]]
      to.add(timer_event::expired, r, &r, was_until, name_of(r));
  }
}

/// All due timers have fired, and `until` is the queue's next deadline.
template <class Design>
void shard<Design>::log_alarm(log_entries& to, instant until) noexcept {
  if constexpr (keeps_log) {
    if (to.wanted()) [[unlikely]]
      to.add_alarm(until);
  }
}

}  // namespace foliot::detail
