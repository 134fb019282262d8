// The loop of a shard's thread, and one turn of it: out of the queue, and into the callback. On a virtual clock the
// thread that advances the clock takes the turns, by run_due. A part of shard.hpp.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "shard.hpp"
#include "watcher.hpp"

namespace foliot::detail {

// Out of line: it is called once, and would make the code of every start longer.
template <class Design>
[[gnu::noinline]] void shard<Design>::start_thread() {
  thread_.start(options_, [this] { timerproc(); });
  retain();
  phase_ = phase::running;
}

template <class Design>
void shard<Design>::timerproc() {
  std::shared_ptr<engine> last;
  seam::this_thread().home = index_ + 1;  // timers that callbacks make stay on this shard
  seam::set_timer_slack(duration::nanoseconds(1));
  lock held(lock_);
  thread_.begin_loop();
  while (phase_ != phase::ended) {
    if (const std::optional<instant> until = take_turn()) {
      log_entries entries(options_);
      log_alarm(entries, *until);
      thread_.sleep(held, *until, [&entries] { entries.write(); });
    } else {
      thread_.serve_ready(held);
    }
  }
  if (options_.watcher != nullptr) {
    held.leave();
    options_.watcher->close_all();
    held.enter();
  }
  thread_.end_loop();
  --references_;
  last = take_unreferenced();
}

template <class Design>
expiry shard<Design>::run_due(instant now, budget limit) {
  std::shared_ptr<engine> last;
  log_entries entries(options_);
  const lock held(lock_);
  const expiry turn = run_turn(now, limit);
  if (!turn.more) log_alarm(entries, queue_.next_deadline());
  last = take_unreferenced();
  return turn;
}

/// One turn of the thread. Returns the instant until which the thread may sleep; std::nullopt if it must not sleep,
/// because the next turn follows at once or the shard has ended.
template <class Design>
std::optional<instant> shard<Design>::take_turn() noexcept {
  instant until;
  try {
    const expiry turn = run_turn(options_.time.now(), options_.turn);
    thread_.count_wake_up(counters_, turn, not_due_);
    // Time has passed while callbacks ran: look at the clock again, rather than sleep until a deadline that has passed.
    if (phase_ == phase::ended || turn.fired > 0) return std::nullopt;
    if (turn.more) {
      // The queue has paused, and the lock was held all the time: let other threads have it.
      lock_.unlock();
      lock_.lock();
      return std::nullopt;
    }
    until = queue_.next_deadline();
  } catch (const std::bad_alloc&) {
    // The queue had no memory to move timers. No timer is lost; due timers fire once there is memory.
    lock_.unlock();
    report({.error = std::current_exception()});
    lock_.lock();
    until = options_.time.now() + wait_for_memory;
  }
  if (phase_ == phase::ended) return std::nullopt;
  return until;
}

/// Throws std::bad_alloc: some timers may have fired before that, and all others are still pending.
template <class Design>
expiry shard<Design>::run_turn(instant now, budget limit) {
  if constexpr (lockless) not_due_ = 0;
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
      // A start that finds the timer queued_late has an earlier deadline than the queue.
      if (was.armed()) timer_node_access::set_deadline(r, was.deadline());
    }
    fire(r);
  });
}

/// Requeues a postponed timer, which has just left the queue at its old deadline.
template <class Design>
void shard<Design>::requeue(record& r, instant deadline) noexcept {
  probes::reset(&r, deadline);  // not at the postponement: the probe would cost a tenth of it
  queue_.requeue(r, deadline);
  arm_word(r);
}

template <class Design>
void shard<Design>::fire(record& r) noexcept {
  if (phase_ == phase::ended) [[unlikely]]
    return drop(r);  // the shard ended while the callback of another timer ran
  // A wall clock may have been set back since it showed that the timer is due.
  firing current{r.deadline(), std::max(r.deadline(), options_.time.now())};
  callback_failure failure;
  shared_name name;
  if (r.is_ticker_) {
    failure.error = arm_next_tick(as_extended(r), current);
    if (failure.error != nullptr) [[unlikely]] {  // reported when the record may be gone
      failure.armed_at = location_of(r);
      name = name_of(r);
    }
  }
  log_entries entries(options_);
  log_expiry(entries, r, current.deadline);
  if (!options_.executor) {
    ++counters_.fired;
    call(r, current, entries);
  } else {
    post(as_extended(r), current, entries);
  }
  if (failure.error == nullptr && !entries.wanted()) [[likely]]
    return;
  lock_.unlock();
  entries.write();
  if (failure.error != nullptr) {
    failure.name = view_of(name);
    report(failure);
  }
  lock_.lock();
}

/// Queues the ticker for the next tick of its grid that is not past; the ticks between are skipped. Returns the failure
/// if there is no memory: the ticker is idle from now on.
template <class Design>
std::exception_ptr shard<Design>::arm_next_tick(extended& r, firing& current) noexcept {
  const std::int64_t ticks_passed = current.lateness() / r.period_;
  current.skipped = static_cast<std::uint64_t>(ticks_passed);
  r.skipped_ += current.skipped;
  counters_.skipped += current.skipped;
  if (phase_ == phase::draining) return nullptr;  // this tick was the last
  try {
    queue_.start(r, current.deadline + r.period_ * ticks_passed + r.period_);
    ++next_ticks_;
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// Calls the callback without the lock, after it has written the log.
template <class Design>
void shard<Design>::call(record& r, const firing& current, log_entries& entries) noexcept {
  log_call(entries, r, current.deadline);
  const seam::callback_frame frame{this, seam::this_thread().inside};
  r.life().begin_use(forks_);
  r.running_ = true;
  ++callbacks_running_;
  lock_.unlock();
  seam::this_thread().inside = &frame;
  entries.write();
  seam::perturb(6);
  if (!cancel_if_closed_by_log(r, entries)) meter_ == nullptr ? run(r, current) : run_measured(r, current);
  lock_.lock();
  r.running_ = false;
  arm_word(r);  // it may have been started again meanwhile
  settle(r);
  seam::this_thread().inside = frame.outer;
  --callbacks_running_;  // last: settle() may have run the destructors of captures
  done_.notify_all();
}

/// If the log has closed the timer, whose callback has not begun: counts it as not fired, and returns true. Without the
/// lock.
template <class Design>
bool shard<Design>::cancel_if_closed_by_log([[maybe_unused]] const record& r, const log_entries& entries) noexcept {
  if (!entries.wanted()) [[likely]]
    return false;
  const lock held(lock_);
  if (r.life().closed()) --counters_.fired;
  return r.life().closed();
}

template <class Design>
void shard<Design>::run(record& r, const firing& current) noexcept {
  const std::source_location armed_at = location_of(r);  // now: the callback may arm the timer again
  probes::fire(&r, current.deadline, current.now);
  try {
    r.life().run(current);
  } catch (...) {
    const shared_name name = name_while_in_use(r);
    report({std::current_exception(), armed_at, view_of(name)});
  }
}

/// Calls the callback, measures it, reports it if it was slow, and lets others report it while it runs. Without the
/// lock.
template <class Design>
void shard<Design>::run_measured(record& r, const firing& current) noexcept {
  const std::source_location armed_at = location_of(r);
  std::optional<running_callback> running;
  if (options_.stalls.tell) {
    running.emplace(r, current, armed_at, options_.stalls.longer_than);
    const lock held(lock_);
    running_.add(*running);
  }
  const instant began = meter_->now();
  run(r, current);
  const duration took = meter_->now() - began;
  if (const slow_callback_report* const slow = meter_->too_slow_for(took)) {
    const shared_name name = name_while_in_use(r);
    try {
      slow->tell({took, armed_at, current, view_of(name)});
    } catch (...) {
      report({.error = std::current_exception()});
    }
  }
  const lock held(lock_);
  if (running) running_.remove(*running);
  meter_->record(current.lateness(), took);
  if (r.has_location() && meter_->is_among_slowest(took)) meter_->add_slow(took, armed_at, name_of(r));
}

/// Without the lock; no thread frees a record whose closure the caller uses.
template <class Design>
shared_name shard<Design>::name_while_in_use(const record& r) const noexcept {
  if (!r.has_location()) return nullptr;
  const lock held(lock_);
  return name_of(r);
}

template <class Design>
std::shared_ptr<watcher> shard<Design>::start_watcher() {
  if (options_.watcher == nullptr) return nullptr;
  const lock held(lock_);
  if (phase_ == phase::unstarted) start_thread();
  return options_.watcher;
}

template <class Design>
bool shard<Design>::runs_on_caller() const noexcept {
  if (options_.time.moved_by_caller()) return true;
  const lock held(lock_);
  return is_own_thread();
}

template <class Design>
void shard<Design>::report(const callback_failure& failure) noexcept {
  try {
    options_.on_exception(failure);
  } catch (...) {
    // Exceptions of the handler are swallowed: the service goes on.
  }
}

}  // namespace foliot::detail
