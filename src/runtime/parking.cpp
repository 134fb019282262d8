// How a worker sleeps, and how it is woken.
//
// A worker that goes to sleep lists itself as idle, stores until when it sleeps, passes a full barrier, looks once more
// for anything that keeps it awake, and sleeps. A thread that makes work available, or starts an earlier timer, does
// that first, passes a full barrier, and then looks at the workers that sleep. One of the two sees the other.
#include "core/seam/probes.hpp"
#include "scheduler.hpp"

namespace foliot::runtime::detail {

namespace {

void note_park(processor& p, instant until) noexcept {
  p.counts.count_park();
  foliot::detail::probes::park(p.id, until);
}

}  // namespace

void scheduler::sleep(processor& p) noexcept {
  bool was_spinning = false;
  {
    const lock held(lock_);
    if (!global_.empty(lock_) || p.must_leave_now()) return;
    was_spinning = idle_.add(p, lock_);
    if (idle_.size(lock_) >= processors_.count()) monitor_.disarm();
  }
  if (was_spinning) idle_.leave_spinning();
  p.timers->refresh_first();
  const instant until = p.timers->first();
  p.status.begin_sleep(until);
  seam::full_fence();  // H1, H2, H3: pairs with the one before wake_one() and the one in wake_for()
  guard_busy_workers();
  if (!look_again(p) && p.timers->first() == until) {
    if (until.is_never()) look_for_deadlock();  // if it ends the run, its wake-up prevents the sleep
    if (!descriptors_.empty() && poll_turn_.take(p)) {
      if (p.park.begin(parker::way::in_the_poller)) {
        note_park(p, until);
        poll(p, until);
        foliot::detail::probes::unpark(p.id);
      }
      poll_turn_.give_back();
    } else if (p.park.begin(parker::way::on_the_word)) {
      note_park(p, until);
      p.park.sleep_until(until);
      foliot::detail::probes::unpark(p.id);
    }
  }
  p.park.end();
  p.status.end_sleep();
  p.own().hand_over_failed = false;
  leave_idle(p);
}

/// H8: there is one more idle worker from now on, so the monitor should guard the timers of busy workers.
void scheduler::guard_busy_workers() noexcept {
  for (const auto& other : processors_.all()) {
    if (other->status.has_worker() && other->status.is_awake()) monitor_.guard(other->timers->first());
  }
}

/// Whether there is a reason to stay awake after all.
bool scheduler::look_again(processor& p) noexcept {
  if (p.must_leave_now() || is_ending()) return true;
  if (global_.size_hint() != 0) return true;
  // While other workers spin, one of them takes the work: the last one calls this function, or stop_spinning(), and
  // then sees that this worker is listed. Without that look this worker, which may not spin as well, would go to and
  // fro for as long as the system gives the spinning one no processor.
  for (const auto& each : processors_.all()) {
    if (!each->queue.empty() && !idle_.has_spinning()) return true;
    if (each->has_slow_run_next() && !idle_.has_spinning()) {
      p.own().seen.note(*each);  // and takes it, if it is still there when this worker steals
      return true;
    }
  }
  const instant first = p.timers->first();
  return !first.is_never() && is_due(first, time_.now());
}

/// Takes the worker out of the list, unless the thread that woke it has done so.
void scheduler::leave_idle(processor& p) noexcept {
  const lock held(lock_);
  if (!p.is_listed(lock_)) return;
  if (idle_.size(lock_) >= processors_.count()) monitor_.arm(p.timers->first());
  idle_.remove(p, lock_);
}

void scheduler::wake_one() noexcept {
  processor* const woken = idle_.claim_one(lock_, [this](processor& claimed) {
    lock_.assert_held();
    if (idle_.size(lock_) >= processors_.count()) monitor_.arm(claimed.timers->first());
  });
  if (woken != nullptr) notify(*woken);
}

void scheduler::notify(processor& p) noexcept {
  if (p.park.notify() == parker::must::break_the_poll) descriptors_.break_wait();
}

/// A timer was started at `home`, or made earlier there. If the caller is a task that waits next, at its own processor,
/// its worker looks at its timers before it does anything else.
void scheduler::wake_for(processor_timers& home, instant deadline, starter next) noexcept {
  if (virtual_time() != nullptr) return;
  processor& at = processors_[home.processor_number()];
  if (&at == this_processor()) {
    // A callback between two tasks returns to a worker that looks at its timers again: find_task().
    const bool in_a_task = at.running.load(seam::relaxed) != nullptr;
    if (next == starter::goes_on && in_a_task && idle_.listed() != 0) monitor_.guard(deadline);
    return;
  }
  seam::full_fence();  // H1: pairs with the one in sleep()
  switch (at.status.sleeps_past(deadline)) {
    case worker_status::sleep::none: return monitor_.guard(deadline);
    case worker_status::sleep::too_long: return notify(at);
    case worker_status::sleep::short_enough: return;
  }
}

}  // namespace foliot::runtime::detail
