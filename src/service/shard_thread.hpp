// What a shard's thread does, or whoever runs a shard by hand: a part of shard.hpp.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "shard.hpp"
#include "watcher.hpp"

namespace foliot::detail {

template <class Design>
void shard<Design>::timerproc() {
  std::shared_ptr<engine> last;
  seam::this_thread().home = index_ + 1;  // what callbacks start stays here
  seam::set_timer_slack(duration::nanoseconds(1));
  lock held(lock_);
  timer_thread_ = self();
  while (phase_ != phase::ended) {
    instant until;
    if (!fire_what_is_due(until)) {
      if constexpr (requires { sleeper_.glance(); }) {
        held.leave();
        sleeper_.glance();
        held.enter();
      }
      continue;
    }
    sleeper_.prepare(until);
    log_entries entries(options_);
    log_alarm(entries, until);
    held.leave();
    entries.write();
    sleeper_.sleep(until);
    held.enter();
    sleeper_.wake_up();
    just_woke_ = true;
  }
  if (options_.watches != nullptr) {
    held.leave();
    options_.watches->close_all();
    held.enter();
  }
  timer_thread_ = nullptr;
  --holders_;
  last = farewell();
}

template <class Design>
expiry shard<Design>::run_due(instant now, budget limit) {
  std::shared_ptr<engine> last;
  log_entries entries(options_);
  const lock held(lock_);
  const expiry turn = run_turn(now, limit);
  if (!turn.more) log_alarm(entries, queue_.next_deadline());
  last = farewell();
  return turn;
}

/// A turn of the thread. True: nothing is left to do until then.
template <class Design>
bool shard<Design>::fire_what_is_due(instant& until) noexcept {
  try {
    in_turn_ = true;
    const expiry turn = run_turn(options_.time.now(), options_.turn);
    end_turn();
    const bool worked = turn.fired > not_due_;
    if (just_woke_ && (worked || !turn.more)) {
      just_woke_ = false;
      ++(worked ? counters_.wakes_with_work : counters_.wakes_without_work);
    }
    // Time has passed while callbacks ran: look again, rather than sleep until what is due already.
    if (phase_ == phase::ended || turn.fired > 0) return false;
    if (turn.more) {
      // The queue has paused, and the lock was held all the time: let others have it.
      lock_.unlock();
      lock_.lock();
      return false;
    }
    until = queue_.next_deadline();
  } catch (const std::bad_alloc&) {
    // The queue could not move timers about; nothing is lost. What is due waits for memory.
    end_turn();
    lock_.unlock();
    report(std::current_exception());
    lock_.lock();
    until = options_.time.now() + wait_for_memory;
  }
  return phase_ != phase::ended;
}

/// Throws std::bad_alloc: what has fired has fired, and nothing is lost.
template <class Design>
expiry shard<Design>::run_turn(instant now, budget limit) {
  if constexpr (lockless) {
    not_due_ = 0;
    if (awaiting_requeue_ != nullptr) [[unlikely]]
      requeue(*awaiting_requeue_, awaiting_requeue_until_);
  }
  return queue_.expire(now, limit, [this](node_type& node) {
    lock_.assert_held();
    record& r = static_cast<record&>(node);
    if constexpr (lockless) {
      const auto was = r.word().take();
      if (was.stopped()) {
        ++not_due_;
        return count_dequeued();
      }
      if (was.armed() && was.deadline() > r.deadline()) {
        ++not_due_;
        return requeue(r, was.deadline());
      }
      if (was.armed()) timer_node_access::set_deadline(r, was.deadline());  // where a start has found it queued_late
    }
    fire(r);
  });
}

/// A timer that was postponed, and left the queue by its old deadline. Where there is no memory to take it
/// in again it waits outside, and the turn ends.
template <class Design>
void shard<Design>::requeue(record& r, instant deadline) {
  awaiting_requeue_ = &r;
  awaiting_requeue_until_ = deadline;
  probes::reset(&r, deadline);  // not at the postponement, of which it would be a tenth
  queue_.start(r, deadline);
  awaiting_requeue_ = nullptr;
  release_lockless(r);
}

template <class Design>
void shard<Design>::fire(record& r) noexcept {
  if (phase_ == phase::ended) [[unlikely]]
    return drop(r);  // it ended while the callback of another ran
  // A wall clock may have been set back since it showed that the timer is due.
  firing now{r.deadline(), std::max(r.deadline(), options_.time.now())};
  std::exception_ptr failure;
  if (r.ticks_) failure = arm_next_beat(as_extended(r), now);
  log_entries entries(options_);
  log_expiry(entries, r, now.deadline);
  if (options_.executor == nullptr) {
    ++counters_.fired;
    call(r, now, entries);
  } else {
    post(as_extended(r), now, entries);
  }
  if (failure == nullptr && !entries.wanted()) [[likely]]
    return;
  lock_.unlock();
  entries.write();
  if (failure != nullptr) report(std::move(failure));
  lock_.lock();
}

/// Calls the callback, without the lock, and writes the log before that.
template <class Design>
void shard<Design>::call(record& r, const firing& now, log_entries& entries) noexcept {
  log_call(entries, r, now.deadline);
  const seam::callback_frame frame{this, seam::this_thread().inside};
  r.life().begin_use();
  r.running_ = true;
  ++callbacks_running_;
  lock_.unlock();
  seam::this_thread().inside = &frame;
  entries.write();
  if (!ended_in_the_log(r, entries)) watch_ == nullptr ? run(r, now) : run_watched(r, now);
  lock_.lock();
  r.running_ = false;
  release_lockless(r);  // it may have been started again meanwhile
  settle(r);
  seam::this_thread().inside = frame.outer;
  --callbacks_running_;  // last: what the callback captured may have been destroyed just now
  done_.notify_all();
}

/// Whether who got the log's entries has ended the timer for good: then its callback, which has not begun, does not
/// run. Without the lock.
template <class Design>
bool shard<Design>::ended_in_the_log([[maybe_unused]] const record& r, const log_entries& entries) noexcept {
  if (!entries.wanted()) [[likely]]
    return false;
  const lock held(lock_);
  if (r.life().closed()) --counters_.fired;
  return r.life().closed();
}

template <class Design>
void shard<Design>::run(record& r, const firing& now) noexcept {
  probes::fire(&r, now.deadline, now.now);
  try {
    r.life().run(now);
  } catch (...) {
    report(std::current_exception());
  }
}

/// The next beat of the grid that lies ahead; those between are skipped. A ticker that cannot be
/// armed again, for lack of memory, is idle from now on: the failure is the answer.
template <class Design>
std::exception_ptr shard<Design>::arm_next_beat(extended& r, firing& now) noexcept {
  const std::int64_t beats_passed = now.lateness() / r.period_;
  now.skipped = static_cast<std::uint64_t>(beats_passed);
  r.skipped_ += now.skipped;
  counters_.skipped += now.skipped;
  if (phase_ == phase::draining) return nullptr;  // this was the last
  try {
    queue_.start(r, now.deadline + r.period_ * beats_passed + r.period_);
    ++beats_;
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

template <class Design>
std::size_t shard<Design>::end() noexcept {
  const std::shared_ptr<engine> keep = this->shared_from_this();  // a closure may own the service
  if (options_.watches != nullptr) options_.watches->end();
  std::shared_ptr<engine> last;
  const lock held(lock_);
  const bool has_ended = phase_ == phase::ended;
  close(phase::ended);
  done_.notify_all();  // a thread that drains the service waits for nothing any more
  if (sleeper_.must_wake()) sleeper_.wake();
  const std::uint64_t dropped_before = counters_.dropped;
  drop_pending();
  last = farewell();
  return has_ended ? 0 : counters_.dropped - dropped_before;
}

/// Drops what is pending, wherever that is. The lock is let go of for each closure: others may end timers meanwhile.
template <class Design>
void shard<Design>::drop_pending() noexcept {
  for (;;) {
    if (extended* const posted = first_posted_; posted != nullptr) {
      take_back_posted(*posted);
      drop(*posted);
      continue;
    }
    node_type* node = awaiting_requeue_ != nullptr ? std::exchange(awaiting_requeue_, nullptr) : queue_.pop_any();
    if (node == nullptr) break;
    record& r = static_cast<record&>(*node);
    r.word().take().stopped() ? count_dequeued() : drop(r);
  }
}

/// A timer that was pending when its service ended, and is out of the queue, or not posted any more.
template <class Design>
void shard<Design>::drop(record& r) noexcept {
  ++counters_.dropped;
  r.life().close();
  if (!r.life().in_use()) retire(r);  // else its user settles it
}

/// Of all threads the one that forked is here. Its locks are free again, and nothing waits for the others.
template <class Design>
void shard<Design>::after_fork_in_child() noexcept {
  if (options_.by_hand) {  // it goes on: whoever advances the clock is here
    forget_sleepers();
    return lock_.unlock_beside_others();
  }
  forked_ = true;
  phase_ = phase::ended;
  closing_.store(true, seam::relaxed);
  if (timer_thread_ != self()) {
    thread_.forget();
    if (std::exchange(timer_thread_, nullptr) != nullptr) --holders_;
  }
  callbacks_running_ = 0;
  for (const seam::callback_frame* frame = seam::this_thread().inside; frame != nullptr; frame = frame->outer) {
    if (frame->owner == this) ++callbacks_running_;
  }
  forget_sleepers();
  lock_.unlock_beside_others();
}

// Out of line: it is called once, and would weigh on every start.
template <class Design>
[[gnu::noinline]] void shard<Design>::start_thread() {
  sleeper_.open(options_);
  thread_ = seam::thread("foliot-timer", [this] { timerproc(); });
  hold();
  phase_ = phase::running;
}

template <class Design>
std::shared_ptr<watcher> shard<Design>::watches() {
  if (options_.watches == nullptr) return nullptr;
  const lock held(lock_);
  if (phase_ == phase::unstarted) start_thread();
  return options_.watches;
}

template <class Design>
void shard<Design>::report(std::exception_ptr failure) noexcept {
  try {
    (*options_.on_exception)(std::move(failure));
  } catch (...) {
    // A handler that fails has nobody to report to, and the service goes on.
  }
}

}  // namespace foliot::detail
