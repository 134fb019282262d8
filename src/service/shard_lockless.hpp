// What a shard's callers do without its lock, by the timer's word: a part of shard.hpp.
//
// Where the shard is closing, that is, where it drains or has ended, they go by the lock. A call that finds out
// afterwards stands, as one that came before the end or the drain. The thread that waits for the drain has perhaps not
// counted it, and is told to look again: see closing_ and finish_drain().
#pragma once

#include <optional>

#include "shard.hpp"

namespace foliot::detail {

/// Nothing: go by the lock.
template <class Design>
std::optional<reset_result> shard<Design>::reset_lockless(record& r, [[maybe_unused]] instant deadline) {
  if constexpr (lockless) {
    // Before the word is touched: in a service that has ended, as it has in the child of a fork, the words of timers
    // that are still to be dropped are armed. A postponement that does not see the end yet counts as one that came
    // before it.
    if (closing_.load(seam::relaxed)) [[unlikely]]
      return std::nullopt;
    if (r.word().postpone(deadline)) {
      lockless_.add_postponed();
      return reset_result::superseded;
    }
    if (r.word().now().stopped()) return start_where_it_lies(r, deadline);
  }
  return std::nullopt;
}

template <class Design>
std::optional<reset_result> shard<Design>::start_where_it_lies(record& r, instant deadline) {
  lockless_.add_start();
  const auto started = r.word().start(deadline, [&r] { return timer_node_access::deadline_seen(r); });
  if (started == timer_word::started::no) {
    lockless_.take_start_back();
    return std::nullopt;
  }
  lockless_.reward_start();
  if (started == timer_word::started::queued_late) [[unlikely]]
    file_earlier(r);
  probes::armed(&r, deadline, false);
  seam::light_barrier();  // pairs with the heavy one in close()
  if (closing_.load(seam::relaxed)) [[unlikely]]
    tell_those_who_wait();
  return reset_result::idle;
}

/// The timer has been started, and perhaps is still queued for later than that; unless somebody has taken it in hand
/// since, who has seen to it. Throws std::bad_alloc: it is stopped.
template <class Design>
[[gnu::noinline]] void shard<Design>::file_earlier(record& r) {
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
  if (!earlier || !sleeper_.must_wake_for(was.deadline())) return;
  ++counters_.wake_ups;
  held.leave();
  sleeper_.wake();
}

template <class Design>
bool shard<Design>::stop_lockless(record& r) noexcept {
  if constexpr (lockless) {
    if (!r.word().armed() || closing_.load(seam::relaxed) || !lockless_.take_credit()) return false;
    if (!r.word().stop()) {
      lockless_.give_credit_back();
      return false;
    }
    lockless_.add_stop();
    probes::stop(&r);
    seam::light_barrier();  // pairs with the heavy one in close()
    if (closing_.load(seam::relaxed)) [[unlikely]]
      tell_those_who_wait();
    return true;
  } else {
    return false;
  }
}

template <class Design>
[[gnu::noinline]] void shard<Design>::tell_those_who_wait() noexcept {
  const lock held(lock_);
  done_.notify_all();
}

/// Nothing is started any more. Whoever has not seen this yet, and stops or starts without the lock, is seen by the
/// caller, who counts what is pending.
template <class Design>
void shard<Design>::close(phase to) noexcept {
  phase_ = to;
  closing_.store(true, seam::relaxed);
  if constexpr (lockless) seam::heavy_barrier();  // pairs with the light ones above
}

/// Ends the drain if nothing is pending and no callback runs, and returns whether that is so; then it stays so. A
/// stopped timer that is still queued could yet be started by a thread that has not seen that the shard is closing, so
/// those leave the queue: then their words are open, and such a start goes by the lock, which refuses it. A timer that
/// has been started in time waits outside the queue, as one does that there is no memory for, until the shard's thread
/// files it again.
template <class Design>
bool shard<Design>::finish_drain() noexcept {
  if (count_pending() > 0 || callbacks_running_ > 0) return false;
  if constexpr (lockless) {
    // The timer outside the queue: its start is perhaps not counted yet. A turn that has paused, while the executor is
    // being called, may take a timer out of the queue itself, and there is one place for it.
    if (awaiting_requeue_ != nullptr || in_turn_) return false;
    while (node_type* const node = queue_.pop_any()) {
      record& r = static_cast<record&>(*node);
      const auto was = r.word().take();
      if (was.stopped()) {
        count_dequeued();
        continue;
      }
      awaiting_requeue_ = &r;
      awaiting_requeue_until_ = was.armed() ? was.deadline() : r.deadline();
      if (sleeper_.must_wake()) {
        ++counters_.wake_ups;
        sleeper_.wake();
      }
      return false;
    }
  }
  return true;
}

/// The queue is whole again: see finish_drain().
template <class Design>
void shard<Design>::end_turn() noexcept {
  in_turn_ = false;
  if (phase_ == phase::draining) [[unlikely]]
    done_.notify_all();
}

/// From here on stops and later deadlines go without the lock, if the timer is in the queue. Not for tickers, which
/// keep to their grid; nor while the callback runs, which the answers must tell; nor on virtual time, where all go
/// by the queue, and equal deadlines in the order of their starts.
template <class Design>
inline void shard<Design>::release_lockless(record& r) noexcept {
  if constexpr (lockless) {
    if (r.pending() && !r.ticks_ && !r.running_ && !r.life().closed() && !options_.by_hand) r.word().arm(r.deadline());
  }
}

/// The service has ended: the timer, if it was pending, stays for drop_pending() to find, with its closure.
template <class Design>
stop_result shard<Design>::leave_to_the_end(record& r) noexcept {
  if (r.word().take().stopped()) {  // open, nobody puts it off or stops it any more
    queue_.stop(r);
    count_dequeued();
  }
  return r.running_ ? stop_result::running : stop_result::idle;
}

/// Lets a timer be started under the lock, or not: an ended shard starts none, and one that drains none that is not
/// pending.
template <class Design>
[[gnu::noinline]] bool shard<Design>::admit_start(record& r) noexcept {
  if (phase_ == phase::ended) leave_to_the_end(r);
  if (phase_ == phase::ended || r.life().closed()) return false;
  if (phase_ != phase::draining) return true;
  // The word decides here, too, whether a start without the lock, of a thread that has not seen that the shard is
  // closing, has come before: that start stands.
  unfile_if_stopped(r);
  return is_pending(r);
}

/// What was stopped without the lock leaves the queue.
template <class Design>
void shard<Design>::unfile_if_stopped(record& r) noexcept {
  const auto was = r.word().take();
  if (!was.stopped()) return r.word().restore(was);
  queue_.stop(r);
  count_dequeued();
}

}  // namespace foliot::detail
