// The end of a timer, of a drain, of the shard, and of its threads in the child of a fork: a part of shard.hpp.
#pragma once

#include <memory>
#include <utility>

#include "shard.hpp"
#include "watcher.hpp"

namespace foliot::detail {

template <class Design>
stop_result shard<Design>::stop_and_wait_here(record& r, log_entries& entries) noexcept {
  log_end(entries, r);
  const stop_result result = cancel(r);
  r.life().close();
  if (wait_for_closure(r)) retire(r);
  return result;
}

template <class Design>
void shard<Design>::destroy_here(record& r, log_entries& entries) noexcept {
  log_end(entries, r);
  cancel(r);
  r.life().close();
  const bool unused = wait_for_closure(r);
  r.life().orphan();  // not before: the closure's user would free the record, and this thread waits on it
  if (unused) retire(r);
}

template <class Design>
void shard<Design>::detach_here(record& r) noexcept {
  forked_ ? static_cast<void>(cancel(r)) : unqueue_if_stopped(r);
  r.life().orphan();
  if (!is_pending(r) && !r.life().in_use()) retire(r);
}

/// Waits until no thread uses the closure. Returns false if the caller is inside the callback or the closure's
/// destructor: settle() then completes the end, after that has returned.
template <class Design>
bool shard<Design>::wait_for_closure(record& r) noexcept {
  wait_for_callbacks(stall_kind::end_waits, &r, instant::never(), [this, &r] {
    lock_.assert_held();
    if (forked_) [[unlikely]]  // a report may have forked, too
      r.life().abandon_if_used_in_parent(forks_);
    return !r.life().in_use() || r.life().in_use_by_caller();
  });
  return !r.life().in_use();
}

/// Ends a record that is not pending and whose closure no thread uses.
template <class Design>
void shard<Design>::retire(record& r) noexcept {
  r.life().begin_use(forks_);
  r.life().close();
  settle(r);
}

/// The caller, until now the closure's user, is done with it: destroys the closure if the timer has ended, and frees
/// the record if no handle has it.
template <class Design>
void shard<Design>::settle(record& r) noexcept {
  if (r.life().closed() || (r.life().orphaned() && !is_pending(r))) r.life().destroy_closure(lock_);
  r.life().end_use(done_);
  if (!r.life().orphaned() || is_pending(r)) return;
  if (has_job(r)) return end_sleep_before_job(r);
  if (forked_) cancel(r);  // in the child no thread empties the queue in time
  free_record(r);
}

/// Nothing is started from now on. Calls without the lock that are under way either see this, or are counted by the
/// caller.
template <class Design>
void shard<Design>::close(phase to) noexcept {
  phase_ = to;
  lockless_.close();
}

template <class Design>
void shard<Design>::begin_to_drain() noexcept {
  const lock held(lock_);
  if (phase_ != phase::ended) close(phase::draining);
}

template <class Design>
void shard<Design>::wait_until_drained(instant until) noexcept {
  const lock held(lock_);
  wait_for_callbacks(stall_kind::service_waits, nullptr, until, [this] {
    lock_.assert_held();
    return phase_ != phase::draining || try_finish_drain();
  });
}

/// Ends the drain if nothing is pending and no callback runs, and returns whether it did; it stays ended.
///
/// A stopped timer that is still queued could yet be started by a thread that has not seen that the shard is closing.
/// So stopped timers leave the queue: their words are open then, and such a start takes the lock, which refuses it. If
/// a timer has been started in time, the thread that started it notifies this one (lockless_path.hpp).
template <class Design>
bool shard<Design>::try_finish_drain() noexcept {
  if (count_pending() > 0 || callbacks_running_ > 0) return false;
  if constexpr (lockless) {
    while (node_type* const node = queue_.any()) {
      record& r = static_cast<record&>(*node);
      const auto was = r.word().take();
      if (!was.stopped()) {
        r.word().restore(was);
        return false;
      }
      queue_.stop(r);
      count_dequeued();
    }
  }
  return true;
}

template <class Design>
std::size_t shard<Design>::end() noexcept {
  const std::shared_ptr<engine> keep = this->shared_from_this();  // a closure may own the service
  if (options_.watcher != nullptr) options_.watcher->end();
  std::shared_ptr<engine> last;
  const lock held(lock_);
  const bool has_ended = phase_ == phase::ended;
  close(phase::ended);
  done_.notify_all();  // a thread that drains the service waits for nothing any more
  if (thread_.must_wake()) thread_.wake();
  const std::uint64_t dropped_before = counters_.dropped;
  drop_pending();
  last = take_unreferenced();
  return has_ended ? 0 : counters_.dropped - dropped_before;
}

template <class Design>
void shard<Design>::wait_for_end() noexcept {
  const std::shared_ptr<engine> keep = this->shared_from_this();
  lock held(lock_);
  wait_for_callbacks(stall_kind::service_waits, nullptr, instant::never(), [this] {
    lock_.assert_held();
    return callbacks_running_ == 0;
  });
  seam::thread thread = thread_.release();
  held.leave();
  if (thread.joinable()) thread.join();
}

/// Drops all pending timers, wherever they are. The lock is released for each closure: other threads may end timers
/// meanwhile.
template <class Design>
void shard<Design>::drop_pending() noexcept {
  for (;;) {
    if (extended* const posted = posted_timers_.front(); posted != nullptr) {
      unpost(*posted);
      drop(*posted);
      continue;
    }
    node_type* const node = queue_.pop_any();
    if (node == nullptr) break;
    record& r = static_cast<record&>(*node);
    r.word().take().stopped() ? count_dequeued() : drop(r);
  }
}

/// Drops one start of a timer that was pending when the shard ended. It has just left the queue, or the list of posted
/// timers. A ticker may have another start pending.
template <class Design>
void shard<Design>::drop(record& r) noexcept {
  ++counters_.dropped;
  r.life().close();
  if (!r.life().in_use()) retire(r);  // else the closure's user settles it
}

/// The shard has ended: a pending timer stays for drop_pending() to find, with its closure.
template <class Design>
stop_result shard<Design>::stop_after_end(record& r) noexcept {
  if (r.word().take().stopped()) {  // with an open word no thread postpones or stops it any more
    queue_.stop(r);
    count_dequeued();
  }
  return r.running_ ? stop_result::running : stop_result::idle;
}

/// Only the thread that forked exists here. The locks are free again, and nothing waits for the other threads.
template <class Design>
void shard<Design>::after_fork_in_child() noexcept {
  running_.forget_other_threads();
  if (options_.on_virtual_time) {  // the shard goes on: the thread that advances the clock is the one that forked
    forget_sleeping_threads();
    return lock_.unlock_beside_others();
  }
  forked_ = true;
  ++forks_;
  phase_ = phase::ended;
  lockless_.close_in_child();
  if (thread_.forget_in_child()) --references_;
  callbacks_running_ = 0;
  for (const seam::callback_frame* frame = seam::this_thread().inside; frame != nullptr; frame = frame->outer) {
    if (frame->owner == this) ++callbacks_running_;
  }
  forget_sleeping_threads();
  lock_.unlock_beside_others();
}

}  // namespace foliot::detail
