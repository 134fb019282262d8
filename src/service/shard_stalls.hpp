// Waits for callbacks, and reports of callbacks that do not end: a part of shard.hpp.
//
// While a callback is reported the lock is released, so it may end meanwhile: a report is made of copies.
#pragma once

#include <algorithm>
#include <exception>

#include "shard.hpp"

namespace foliot::detail {

/// Waits until `is_over()`, which is called under the lock and after every notification of done_, at most until the
/// monotonic clock shows `until`. With a stall report, tells it which callback the wait is for when that callback and
/// the wait have lasted for too long, and again each time when the wait has doubled. `of`: the timer whose callback it
/// is; null: any.
template <class Design>
template <class IsOver>
void shard<Design>::wait_for_callbacks(stall_kind kind, const record* of, instant until, IsOver is_over) noexcept {
  const duration limit = options_.stalls.longer_than;
  instant began;
  instant look = instant::never();
  if (is_over()) return;
  if (options_.stalls.tell) {
    began = seam::monotonic_now();
    look = began + limit;
  }
  do {
    const instant next = std::min(until, look);
    done_.wait_until(lock_, next);
    if (next == instant::never()) continue;
    const instant now = seam::monotonic_now();
    if (now < look) {
      if (now >= until) return;
      continue;
    }
    look = now + limit;
    if (const running_callback* const one = running_.oldest(of); one != nullptr) {
      if (one->began + limit <= now) {
        look = now + (now - began);
        tell_stall(kind, *one, now, now - began);
      } else {
        look = one->began + limit;
      }
    }
  } while (!is_over());
}

template <class Design>
instant shard<Design>::report_stalls(const bool& is_over) noexcept {
  const lock held(lock_);
  while (!is_over) {
    const instant now = seam::monotonic_now();
    running_callback* const one = running_.next_to_report();
    if (one == nullptr) return instant::never();
    if (one->report_at > now) return one->report_at;
    one->report_at = now + (now - one->began);
    tell_stall(stall_kind::callback_runs, *one, now, duration::zero());
  }
  return instant::never();
}

/// Releases the lock meanwhile. The callback's timer exists now: its closure is in use.
template <class Design>
void shard<Design>::tell_stall(stall_kind kind, const running_callback& one, instant now, duration waited) noexcept {
  const shared_name name = name_of(static_cast<const record&>(*one.timer));
  const stall report_of{kind, now - one.began, waited, one.system_thread, one.armed_at, one.fired, view_of(name)};
  lock_.unlock();
  try {
    options_.stalls.tell(report_of);
  } catch (...) {
    report({.error = std::current_exception()});
  }
  lock_.lock();
}

}  // namespace foliot::detail
