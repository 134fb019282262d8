// How a worker sleeps, and how it is woken.
//
// A worker that sleeps: lists itself as idle; says until when; passes a full barrier; looks once more at all that could
// keep it awake; sleeps. Who makes work or an earlier timer: makes it; passes a full barrier; looks at who sleeps. One
// of the two sees the other.
#include <algorithm>
#include <utility>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

void scheduler::sleep(processor& p) noexcept {
  bool was_spinning = false;
  {
    const lock held(lock_);
    if (!global_.empty() || p.is_to_leave()) return;
    was_spinning = std::exchange(p.spinning, false);  // from here on who wakes it may set that
    p.idle = true;
    idle_.push_back(&p);
    idle_count_.store(idle_.size(), seam::relaxed);
    if (idle_.size() >= count_.load(seam::relaxed)) monitor_.rest();
  }
  if (was_spinning) spinning_.fetch_sub(1, seam::seq_cst);
  p.timers->refresh_first();
  const instant until = p.timers->first();
  p.sleeps_until.store(until.nanoseconds(), seam::relaxed);
  seam::full_fence();  // H1, H2, H3: pairs with the one in wake_one() and wake_for()
  guard_those_at_work();
  if (!look_again(p) && p.timers->first() == until) {
    if (until.is_never()) look_for_deadlock();  // which ends the run by a wake-up that sticks
    processor* nobody = nullptr;
    // relaxed: the word publishes it, for who must know who sleeps in the poller.
    if (!descriptors_.empty() && polls_.compare_exchange_strong(nobody, &p, seam::relaxed, seam::relaxed)) {
      if (p.park.begin(parker::way::in_the_poller)) poll(&p, until);
      polls_.store(nullptr, seam::relaxed);  // a turn, which publishes nothing
    } else if (p.park.begin(parker::way::on_the_word)) {
      p.park.sleep_until(until);
    }
  }
  p.park.end();
  p.sleeps_until.store(processor::awake, seam::relaxed);
  p.keeps_timers = false;
  leave_idle(p);
}

/// H8: one processor more is free from now on; what those who compute may miss is worth to be watched.
void scheduler::guard_those_at_work() noexcept {
  const std::size_t made = made_.load(seam::acquire);
  for (std::size_t i = 0; i < made; ++i) {
    const processor& other = *processors_[i];
    const bool works = other.has_worker.load(seam::relaxed);
    if (works && other.sleeps_until.load(seam::relaxed) == processor::awake) monitor_.guard(other.timers->first());
  }
}

/// Whether there is something to do after all.
bool scheduler::look_again(processor& p) noexcept {
  if (p.is_to_leave() || ending_.load(seam::relaxed)) return true;
  if (global_size_.load(seam::relaxed) != 0) return true;
  const std::size_t made = made_.load(seam::acquire);
  for (std::size_t i = 0; i < made; ++i) {
    const processor& each = *processors_[i];
    if (!each.queue.empty()) return true;
    // While others look for work it is theirs: the last of them comes here, or to stop_spinning().
    if (each.has_slow_next() && spinning_.load(seam::relaxed) == 0) {
      p.sees_next_of(each);  // and takes it, if it stays there until it steals
      return true;
    }
  }
  const instant first = p.timers->first();
  return !first.is_never() && is_due(first, time_.now());
}

/// Unless somebody who wakes it has done so.
void scheduler::leave_idle(processor& p) noexcept {
  const lock held(lock_);
  if (!p.idle) return;
  if (idle_.size() >= count_.load(seam::relaxed)) monitor_.begin(p.timers->first());
  p.idle = false;
  std::erase(idle_, &p);
  idle_count_.store(idle_.size(), seam::relaxed);
}

/// There is work, or there may be: one idle worker comes and looks for it, unless one is looking already. After a full
/// barrier behind the work.
void scheduler::wake_one() noexcept {
  while (idle_count_.load(seam::relaxed) != 0) {
    std::uint32_t none = 0;
    if (!spinning_.compare_exchange_strong(none, 1, seam::seq_cst, seam::relaxed)) return;
    processor* woken = nullptr;
    {
      const lock held(lock_);
      if (!idle_.empty()) {
        woken = idle_.back();
        if (idle_.size() >= count_.load(seam::relaxed)) monitor_.begin(woken->timers->first());
        idle_.pop_back();
        idle_count_.store(idle_.size(), seam::relaxed);
        woken->idle = false;
        woken->spinning = true;
      }
    }
    if (woken != nullptr) return notify(*woken);
    // H3: who lists itself from now on looks again after that, and finds the work. But others have made work meanwhile
    // and woken nobody, since the caller was counted, and a worker may have been listed since: hence once more.
    spinning_.fetch_sub(1, seam::seq_cst);
    seam::full_fence();
  }
}

void scheduler::notify(processor& p) noexcept {
  if (p.park.notify() == parker::must::break_the_poll) descriptors_.break_wait();
}

/// A timer was started, or made earlier, at `home`. `parks`: by a task that is about to wait, at its own processor,
/// whose worker looks at its timers before it does anything else.
void scheduler::wake_for(processor_timers& home, instant deadline, bool parks) noexcept {
  if (virtual_time() != nullptr) return;
  processor& at = *processors_[home.processor_number()];
  if (&at == this_processor()) {
    // A callback between two tasks comes back to a worker that looks at its timers again: find_task().
    const bool in_a_task = at.running != nullptr;
    if (!parks && in_a_task && idle_count_.load(seam::relaxed) != 0) monitor_.guard(deadline);
    return;
  }
  seam::full_fence();  // H1: pairs with the one in sleep()
  const std::int64_t until = at.sleeps_until.load(seam::relaxed);
  if (until == processor::awake) {
    monitor_.guard(deadline);
  } else if (deadline.nanoseconds() < until) {
    notify(at);
  }
}

}  // namespace foliot::runtime::detail
