// How a timer of a shard is armed, and how a start of it is taken back: a part of shard.hpp.
#pragma once

#include <utility>

#include "shard.hpp"

namespace foliot::detail {

/// Arms the record for what `deadline_of` says, which is asked only if the record may be armed; `then` runs under the
/// lock when it has been.
template <class Design>
template <class DeadlineOf, class Then>
reset_result shard<Design>::rearm(record& r, DeadlineOf deadline_of, Then then) {
  if constexpr (moves) {
    return rearm_at_caller(r, deadline_of, then);
  } else {
    log_entries entries(options_);  // written without the lock
    lock held(lock_);
    bool wake = false;
    const reset_result result = arm(r, deadline_of, then, wake, entries);
    held.leave();
    // Outside the lock, which the woken thread takes first thing. The wake-up is not forgotten.
    if (wake) sleeper_.wake();
    return result;
  }
}

/// rearm() under the lock. `wake`: the caller must wake the thread, without the lock.
template <class Design>
template <class DeadlineOf, class Then>
[[gnu::always_inline]] inline reset_result shard<Design>::arm(record& r, DeadlineOf deadline_of, Then then, bool& wake,
                                                              log_entries& entries) {
  if (phase_ != phase::running || r.life().closed()) [[unlikely]] {
    if (!admit_start(r)) return reset_result::closed;
    if (phase_ == phase::unstarted) start_thread();
  }
  const instant deadline = deadline_of();
  if constexpr (requires { queue_.forward(deadline); }) queue_.forward(options_.time.now());
  const bool was_queued = keeps_log && r.pending();
  const instant was_until = keeps_log ? r.deadline() : instant();
  const bool superseded = file(r, deadline);
  log_start(entries, r, was_queued, was_until);
  return count_armed(r, deadline, superseded, then, wake);
}

/// The record has been put into the queue.
template <class Design>
template <class Then>
[[gnu::always_inline]] inline reset_result shard<Design>::count_armed(record& r, instant deadline, bool superseded,
                                                                      Then then, bool& wake) {
  probes::armed(&r, deadline, superseded);  // here, where it holds up nothing
  release_lockless(r);
  then();
  reset_result result = reset_result::superseded;
  if (superseded) {
    ++counters_.superseded;
  } else {
    ++counters_.started;
    if (queue_.size() > counters_.peak_pending) counters_.peak_pending = queue_.size();
    result = r.running_ ? reset_result::running : reset_result::idle;
  }
  wake = sleeper_.must_wake_for(deadline);
  if (wake) ++counters_.wake_ups;
  return result;
}

/// Whether it was pending. Throws std::bad_alloc, with nothing changed.
template <class Design>
inline bool shard<Design>::file(record& r, instant deadline) {
  const auto was = r.word().take();
  bool superseded = false;
  try {
    superseded = queue_.reset(r, deadline);
  } catch (...) {
    r.word().restore(was);
    throw;
  }
  if (was.stopped()) {
    superseded = false;
    count_dequeued();
  }
  return take_back_outside(r) || superseded;
}

/// Of a timer that is pending outside the queue: without memory there, or with the executor.
template <class Design>
inline bool shard<Design>::take_back_outside(record& r) noexcept {
  if (awaiting_requeue_ == &r) [[unlikely]] {
    awaiting_requeue_ = nullptr;
    return true;
  }
  if (options_.executor == nullptr || !as_extended(r).posted_) return false;
  take_back_posted(as_extended(r));
  return true;
}

template <class Design>
inline stop_result shard<Design>::take_back(record& r) noexcept {
  const auto was = r.word().take();
  const bool queued = queue_.stop(r) && !was.stopped();
  if (was.stopped()) count_dequeued();
  const bool outside = take_back_outside(r);
  if (phase_ == phase::draining) [[unlikely]]
    done_.notify_all();
  if (phase_ == phase::ended) [[unlikely]] {
    // The end of the service has dropped it. A ticker may have two starts pending: a posted beat and the next one.
    counters_.dropped += (queued ? 1u : 0u) + (outside ? 1u : 0u);
  } else if (queued || outside) {
    probes::stop(&r);
    return stop_result::stopped;
  }
  return r.running_ ? stop_result::running : stop_result::idle;
}

template <class Design>
inline stop_result shard<Design>::stop_here(record& r, log_entries& entries) noexcept {
  if (phase_ == phase::ended) return leave_to_the_end(r);
  log_stop(entries, r, true);
  return take_back(r);
}

}  // namespace foliot::detail
