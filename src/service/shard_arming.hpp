// How a timer is armed and stopped: into the queue and out of it, without the lock where the design has a word. A part
// of shard.hpp.
#pragma once

#include <optional>
#include <utility>

#include "shard.hpp"

namespace foliot::detail {

template <class Design>
reset_result shard<Design>::reset(timer_record& timer, instant deadline) {
  record& r = as_record(timer);
  const auto done = lockless_.reset(r.word(), deadline, [&r] { return timer_node_access::deadline_seen(r); });
  if (done == lockless_reset::postponed) return reset_result::superseded;
  if (done == lockless_reset::refused) return rearm(r, [deadline] { return deadline; });
  if (done == lockless_reset::started_late) [[unlikely]]
    requeue_earlier(r);
  probes::start(&r, deadline);
  notify_drain_if_closing();
  return reset_result::idle;
}

template <class Design>
reset_result shard<Design>::reset(timer_record& timer, duration delay, duration slack) {
  record& r = as_record(timer);
  const auto deadline = [this, delay, slack] {
    return coalesced(deadline_after(options_.precise ? options_.time.now() : options_.time.now_or_later(), delay),
                     slack);
  };
  // With an open word the shard computes the deadline under the lock, unless the timer is closed.
  if (const auto is = r.word().load(); !is.armed() && !is.stopped()) return rearm(r, deadline);
  return reset(timer, deadline());
}

template <class Design>
reset_result shard<Design>::restart(timer_record& timer, duration period) {
  extended& r = as_extended(timer);
  return rearm(
      r, [this, period] { return options_.time.now() + period; },
      [&r, period] {
        r.period_ = period;
        r.skipped_while_running_ = 0;
      });
}

template <class Design>
stop_result shard<Design>::stop(timer_record& timer) noexcept {
  record& r = as_record(timer);
  if (lockless_.stop(r.word())) {
    probes::stop(&r);
    notify_drain_if_closing();
    return stop_result::stopped;
  }
  log_entries entries(options_);  // written without the lock
  return at_home<&shard::stop_here>(*this, r, entries);
}

template <class Design>
bool shard<Design>::pending(const timer_record& timer) const noexcept {
  const record& r = static_cast<const record&>(timer);
  const auto is = r.word().load();
  if ((is.armed() || is.stopped()) && !lockless_.is_closing()) return is.armed();
  return at_home<&shard::pending_here>(*this, r);
}

/// Arms the timer at `deadline_of()`, which is called only if the timer may be armed; then calls `then()`, under the
/// lock.
template <class Design>
template <class DeadlineOf, class Then>
reset_result shard<Design>::rearm(record& r, DeadlineOf deadline_of, Then then) {
  if constexpr (moves) {
    return rearm_at_caller(r, deadline_of, then);
  } else {
    log_entries entries(options_);  // written without the lock
    lock held(lock_);
    const armed done = arm(r, deadline_of, then, entries);
    held.leave();
    if (done.to_wake != nullptr) done.to_wake->wake();
    return done.result;
  }
}

/// rearm() under the lock.
template <class Design>
template <class DeadlineOf, class Then>
[[gnu::always_inline]] inline auto shard<Design>::arm(record& r, DeadlineOf deadline_of, Then then,
                                                      log_entries& entries) -> armed {
  if (phase_ != phase::running || r.life().closed()) [[unlikely]] {
    if (!try_admit(r)) {
      ++counters_.refused;
      return {reset_result::closed};
    }
    if (phase_ == phase::unstarted) start_thread();
  }
  const instant deadline = deadline_of();
  if constexpr (requires { queue_.forward(deadline); }) queue_.forward(options_.time.now());
  std::optional<instant> queued_until;
  if (entries.wanted() && r.pending()) queued_until = r.deadline();
  const bool superseded = enqueue(r, deadline);
  log_start(entries, r, queued_until);
  return count_armed(r, deadline, superseded, then);
}

/// After the timer was queued.
template <class Design>
template <class Then>
[[gnu::always_inline]] inline auto shard<Design>::count_armed(record& r, instant deadline, bool superseded, Then then)
    -> armed {
  superseded ? probes::reset(&r, deadline) : probes::start(&r, deadline);
  arm_word(r);
  then();
  reset_result result = reset_result::superseded;
  if (superseded) {
    ++counters_.superseded;
  } else {
    ++counters_.started;
    if (queue_.size() > counters_.peak_pending) counters_.peak_pending = queue_.size();
    result = r.running_ ? reset_result::running : reset_result::idle;
  }
  if (!thread_.must_wake_for(deadline)) return {result};
  ++counters_.wake_ups;
  return {result, &thread_};
}

/// Returns whether the timer was pending. Throws std::bad_alloc, with nothing changed.
template <class Design>
inline bool shard<Design>::enqueue(record& r, instant deadline) {
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
  return cancel_posted(r) || superseded;
}

/// Cancels the firing of a timer that is posted. Returns whether it was.
template <class Design>
inline bool shard<Design>::cancel_posted(record& r) noexcept {
  if (!options_.executor || !as_extended(r).posted_) return false;
  unpost(as_extended(r));
  return true;
}

/// Cancels the start of a timer, wherever it is pending: in the queue, or posted.
template <class Design>
inline stop_result shard<Design>::cancel(record& r) noexcept {
  const auto was = r.word().take();
  const bool queued = queue_.stop(r) && !was.stopped();
  if (was.stopped()) count_dequeued();
  const bool posted = cancel_posted(r);
  if (phase_ == phase::draining) [[unlikely]]
    done_.notify_all();
  if (phase_ == phase::ended) [[unlikely]] {
    // The end of the service has dropped it. A ticker may have two starts pending: a posted tick and the next one.
    counters_.dropped += (queued ? 1u : 0u) + (posted ? 1u : 0u);
  } else if (queued || posted) {
    probes::stop(&r);
    return stop_result::stopped;
  }
  return r.running_ ? stop_result::running : stop_result::idle;
}

template <class Design>
inline stop_result shard<Design>::stop_here(record& r, log_entries& entries) noexcept {
  if (phase_ == phase::ended) return stop_after_end(r);
  log_stop(entries, r);
  return cancel(r);
}

/// Arms the word of a queued timer: from here on stops and later deadlines go without the lock. Not for tickers, which
/// keep to their grid; nor while the callback runs, since the result of a stop must be `running` then; nor on virtual
/// time, where equal deadlines fire in the order of their starts, which only the queue knows.
template <class Design>
inline void shard<Design>::arm_word(record& r) noexcept {
  if constexpr (lockless) {
    if (r.pending() && !r.is_ticker_ && !r.running_ && !r.life().closed() && !options_.on_virtual_time)
      r.word().arm(r.deadline());
  }
}

/// A start without the lock has found the timer queued for a later deadline: requeues it, unless another thread has
/// taken the word since, and has requeued it. Throws std::bad_alloc; the timer is stopped then.
template <class Design>
[[gnu::noinline]] void shard<Design>::requeue_earlier([[maybe_unused]] record& r) {
  if constexpr (lockless) {
    lock held(lock_);
    const auto was = r.word().take();
    const bool earlier = was.armed() && was.deadline() < r.deadline();
    if (earlier) {
      try {
        queue_.reset(r, was.deadline());
      } catch (...) {
        queue_.stop(r);
        done_.notify_all();
        throw;
      }
    }
    r.word().restore(was);
    if (!earlier || !thread_.must_wake_for(was.deadline())) return;
    ++counters_.wake_ups;
    held.leave();
    thread_.wake();
  }
}

/// Takes a timer out of the queue that was stopped without the lock.
template <class Design>
void shard<Design>::unqueue_if_stopped(record& r) noexcept {
  const auto was = r.word().take();
  if (!was.stopped()) return r.word().restore(was);
  queue_.stop(r);
  count_dequeued();
}

/// Whether a timer may be armed under the lock: not if it is closed or the shard has ended, and not if the shard drains
/// and the timer is not pending.
template <class Design>
[[gnu::noinline]] bool shard<Design>::try_admit(record& r) noexcept {
  // The caller may have tried without the lock first: then a start that is refused was counted meanwhile.
  if (phase_ == phase::draining) done_.notify_all();
  if (phase_ == phase::ended) stop_after_end(r);
  if (phase_ == phase::ended || r.life().closed()) return false;
  if (phase_ != phase::draining) return true;
  // Takes the word: a start without the lock, by a thread that has not seen that the shard is closing, has either
  // happened before, and then the timer is pending, or fails.
  unqueue_if_stopped(r);
  return is_pending(r);
}

/// The thread that drains the shard counts the pending timers again.
template <class Design>
[[gnu::noinline]] void shard<Design>::notify_drain() noexcept {
  const lock held(lock_);
  done_.notify_all();
}

}  // namespace foliot::detail
