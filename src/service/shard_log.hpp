// What a shard writes to its log, where the design keeps one: a part of shard.hpp. Without one nothing is left of this.
#pragma once

#include "shard.hpp"

namespace foliot::detail {

/// A timer is in the queue now; before that it was, or was not, for another deadline.
template <class Design>
void shard<Design>::log_start(log_entries& to, record& r, bool was_queued, instant was_until) noexcept {
  if constexpr (keeps_log) {
    if (!to.wanted()) [[likely]]
      return;
    if (was_queued) to.add(timer_event::removed, r, &r, was_until, name_of(r));
    if (timer_node_access::place(r) == 0) to.add_move(&r, r.deadline());
    to.add(timer_event::added, r, &r, r.deadline(), name_of(r));
  }
}

/// A timer is about to be taken back.
template <class Design>
void shard<Design>::log_stop(log_entries& to, record& r, bool tells_if_not_there) noexcept {
  if constexpr (keeps_log) {
    if (!to.wanted()) [[likely]]
      return;
    if (r.pending()) {
      to.add(timer_event::removed, r, &r, r.deadline(), name_of(r));
    } else if (tells_if_not_there) {
      to.add(timer_event::not_there, r, &r, r.deadline(), name_of(r));
    }
  }
}

/// A timer has left the queue, since it is due. A ticker may be in it again, for its next beat.
template <class Design>
void shard<Design>::log_expiry(log_entries& to, record& r, instant was_until) noexcept {
  if constexpr (keeps_log) {
    if (!to.wanted()) [[likely]]
      return;
    to.add(timer_event::removed, r, &r, was_until, name_of(r));
    if (r.pending()) to.add(timer_event::added, r, &r, r.deadline(), name_of(r));
  }
}

/// Its callback is called next.
template <class Design>
void shard<Design>::log_call(log_entries& to, record& r, instant was_until) noexcept {
  if constexpr (keeps_log) {
    if (to.wanted()) [[unlikely]]
      to.add(timer_event::expired, r, &r, was_until, name_of(r));
  }
}

/// What was due has fired, and the queue's next deadline is this.
template <class Design>
void shard<Design>::log_alarm(log_entries& to, instant until) noexcept {
  if constexpr (keeps_log) {
    if (to.wanted()) [[unlikely]]
      to.add_alarm(until);
  }
}

}  // namespace foliot::detail
