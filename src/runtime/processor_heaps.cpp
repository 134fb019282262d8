#include "processor_heaps.hpp"

#include <algorithm>

namespace foliot::runtime::detail {

namespace {

/// The first instant after `now` on the grid of a tick that is due; past the end of time: never. (Go: when += period *
/// (1 + -delta / period))
instant first_tick_after(instant now, instant tick, duration period) noexcept {
  return tick + period * ((now - tick) / period) + period;
}

}  // namespace

// ---------------------------------------------------------------- any thread, for a timer of any processor

void abandon_record(void* record) noexcept {
  auto* const timer = static_cast<heap_timer*>(record);
  if (timer->status.abandon() == timer_status::last_holder::caller) delete timer;
}

// Go's three functions are one decision by the status: a timer that is in no heap is added (addtimer), one that is in a
// heap is modified there (modtimer).
home_answer processor_heaps::reset_every(timer_entry& entry, instant first, duration period) {
  heap_timer& timer = heap_timer::made_for(entry);
  transient_wait wait;
  for (;;) {
    const timer_status::claim claim = timer.status.modify();
    if (claim.what == timer_status::outcome::busy) {
      wait.pause();
      continue;
    }
    if (claim.was == state::none || claim.was == state::removed)
      return add_timer(entry, timer, claim.was, first, period);
    return modify_timer(timer, claim.was, first, period);
  }
}

home_answer processor_heaps::stop(timer_entry& entry) noexcept {
  heap_timer* const timer = heap_timer::of(entry);
  if (timer == nullptr) return home_answer::was_idle;
  transient_wait wait;
  for (;;) {
    const timer_status::claim claim = timer->status.remove();
    if (claim.what == timer_status::outcome::not_needed) return home_answer::was_idle;
    if (claim.what == timer_status::outcome::busy) {
      wait.pause();
      continue;
    }
    processor_heaps& home = *timer->home;  // it may have moved since the caller looked
    home.count_earlier(claim.was, state::deleted);
    // Before a thread can find it deleted, and lower the count.
    home.deleted_timers_.fetch_add(1, seam::relaxed);
    timer->status.marked();
    home.bound_deleted();
    return home_answer::was_pending;
  }
}

// Adds a timer, which the caller owns and which is in no heap, to the heap of its home.
//
// The decision for a processor and the addition there happen under one lock, so that no timer goes to a processor that
// is going away (Go's issues 44868 and 45716: a task was preempted between the two).
home_answer processor_heaps::add_timer(timer_entry& entry, heap_timer& timer, state was, instant deadline,
                                       duration period) {
  const lock held(lock_);
  if (successor_ != nullptr && timer_entry_access::home(entry).load(seam::relaxed) == this) {
    timer_entry_access::home(entry).store(successor_, seam::relaxed);
  }
  if (timer_entry_access::home(entry).load(seam::relaxed) != this) {
    timer.status.give_back(was);
    return home_answer::moved;
  }
  try {
    heap_.make_room(1);
  } catch (...) {
    timer.status.give_back(was);
    throw;
  }
  clean_timers();
  timer.when = deadline;
  timer.period = period;
  timer.home = this;
  heap_.add(deadline, timer);
  publish();
  timer.status.added();
  return home_answer::was_idle;
}

// Modifies a timer that the caller owns, and that is in a heap.
home_answer processor_heaps::modify_timer(heap_timer& timer, state was, instant deadline, duration period) noexcept {
  if (timer.home != this) {
    // It has moved since the caller looked. The caller has to know where it is, to wake that processor.
    timer.status.give_back(was);
    return home_answer::moved;
  }
  if (was == state::deleted) deleted_timers_.fetch_sub(1, seam::relaxed);
  timer.next_when = deadline;
  timer.period = period;
  const bool earlier = deadline < timer.when;
  const state next = earlier ? state::modified_earlier : state::modified_later;
  count_earlier(was, next);
  if (deadline == timer.when) {
    // It is queued there already: a ticker's next tick after a stop in between, or a timeout that is set again to the
    // same deadline. (Go: timerModifiedLater, which the head then repairs.)
    timer.status.put_back();
    return was == state::deleted ? home_answer::was_idle : home_answer::was_pending;
  }
  // While the timer is being modified: a pass over all timers resets the bound first and then looks at each timer. If
  // it resets the bound that is written here, it finds this timer being modified, and waits (issues 47329 and 47762).
  // Later the timer may have fired, and the bound would be left behind on an empty heap (51654).
  if (earlier) lower_modified_earliest(adjusting_ == adjusting::when_due ? deadline : instant::earliest());
  timer.status.modified(next);
  return was == state::deleted ? home_answer::was_idle : home_answer::was_pending;
}

// A thread brings a timer forward. (Go: updateTimerModifiedEarliest)
void processor_heaps::lower_modified_earliest(instant to) noexcept {
  std::int64_t seen = modified_earliest_.load(seam::relaxed);
  // It is written even where it is early enough: the writes have an order, so that repair_all() either comes after this
  // one, and sees the timer's status by that, or before it, and this one sees that the old bound is forgotten.
  // release: pairs with the acquire there.
  while (
      !modified_earliest_.compare_exchange_weak(seen, std::min(seen, to.nanoseconds()), seam::release, seam::relaxed)) {
  }
}

// Clears deleted timers when they are more than a quarter. In Go the owner does that in its next round. Here the owner
// may sleep for long, and the deleted timers must be bounded at all times, also if millions of timeouts are started and
// stopped while none is ever due.
void processor_heaps::bound_deleted() noexcept {
  if (!too_many_deleted(std::max(num_timers_.load(seam::relaxed), 4 * few_deleted))) [[likely]]
    return;
  const lock held(lock_);
  if (!too_many_deleted(std::max(heap_.size(), 4 * few_deleted))) return;
  clear_deleted_timers();
  publish();
}

// ---------------------------------------------------------------- under the lock: repairs, runs and moves timers

// Publishes the first deadline and the number of timers in the heap to threads without the lock. (Go: updateTimer0When,
// numTimers)
void processor_heaps::publish() noexcept {
  num_timers_.store(heap_.size(), seam::relaxed);
  if (!heap_.empty()) {
    set_first(heap_.first().when);
    return;
  }
  set_first(instant::never());
  // The heap is empty, and no thread modifies a timer that is in no heap, so the bound belongs to no timer: left
  // behind, it would keep the processor looking for ever (issue 51654). relaxed: no timer can be late, whichever of the
  // two values a thread reads.
  modified_earliest_.store(instant::never().nanoseconds(), seam::relaxed);
}

/// Releases the heap's hold on the record of a deleted timer. Returns false if the timer is not deleted any more.
bool processor_heaps::clean(heap_timer& timer) noexcept {
  if (!timer.status.clean()) return false;
  require_home(timer);
  if (deleted_timers_.fetch_sub(1, seam::relaxed) == 0) [[unlikely]]
    timer.status.bad_timer("counted as deleted");
  if (timer.status.cleaned() == timer_status::last_holder::caller) delete &timer;
  return true;
}

// Repairs the head until it is a timer that belongs there: else programs that start and stop timers would leave the
// heap full of deleted ones. A head that is being modified is left alone. (Go: cleantimers)
void processor_heaps::clean_timers() noexcept {
  while (!heap_.empty()) {
    heap_timer& timer = *heap_.first().timer;
    const state seen = timer.status.seen();
    if (seen == state::deleted) {
      if (clean(timer)) heap_.remove_first();
    } else if (seen == state::modified_earlier || seen == state::modified_later) {
      if (!timer.status.move(seen)) continue;
      require_home(timer);
      count_earlier(seen, state::waiting);
      timer.when = timer.next_when;
      heap_.requeue_first(timer.when);
      timer.status.moved();
    } else {
      return;
    }
  }
}

/// Steps 1 and 2 of repair_all().
void processor_heaps::forget_bound() noexcept {
  set_first(first());
  // acquire: sees the statuses that the threads which lowered it have set (lower_modified_earliest); release: publishes
  // step 1 to the threads that call first().
  static_cast<void>(modified_earliest_.exchange(instant::never().nanoseconds(), seam::acq_rel));
}

/// Gives the entry the timer's deadline, or returns false: the timer is deleted, and leaves the heap.
bool processor_heaps::repair(timer_heap::entry& each) noexcept {
  heap_timer& timer = *each.timer;
  transient_wait wait;
  for (;;) {
    const state seen = timer.status.seen();
    switch (seen) {
      case state::waiting: return true;
      case state::deleted:
        if (clean(timer)) return false;
        break;
      case state::modified_earlier:
      case state::modified_later:
        if (!timer.status.move(seen)) break;
        require_home(timer);
        count_earlier(seen, state::waiting);
        timer.when = timer.next_when;
        each.when = timer.when;
        timer.status.moved();
        return true;
      case state::modifying: wait.pause(); break;
      default: timer.status.bad_timer("that of a timer in a heap");
    }
  }
}

// One pass over all timers, after which each is queued at its deadline, and none is deleted.
//
// A thread that calls first() meanwhile must not get a later deadline than there is, and a timer that is brought
// forward meanwhile must not be forgotten. So, in this order (Go's since 1.23; until then a thread could go by a
// deadline that was too late):
//   1. the head's deadline takes over what modified_earliest says;
//   2. modified_earliest is reset: a value from here on is of a later modification;
//   3. the pass looks at all timers; it sees that a timer was modified before 2, or is being modified;
//   4. the head's deadline is published: publish().
//
// All are queued in one go at the end, so that no timer moves to an index that the pass has left behind already
// (47762).
void processor_heaps::repair_all() noexcept {
  forget_bound();
  heap_.rebuild([this](timer_heap::entry& each) { return repair(each); });
}

// Go 1.14 and 1.15. A thread that brings a timer forward counts it, and then lowers the bound to the earliest instant
// of all, so the next round calls this. If the count is zero, because those timers were stopped or postponed again, the
// pass looks at no timer; else it ends when it has found all of them. A timer that is counted after the pass has reset
// the bound lowers it again, so none is missed: in Go a pass ended too early (47329, 47762) because the array moved
// under it.
void processor_heaps::adjust_by_count() noexcept {
  if (modified_earliest().is_never()) return;
  forget_bound();
  const auto any = [this] { return adjust_timers_.load(seam::relaxed) != 0; };
  if (!any()) return;
  bool more = true;
  heap_.rebuild([&](timer_heap::entry& each) {
    if (!more) return true;
    const bool stays = repair(each);
    more = any();
    return stays;
  });
}

// Timers that were brought forward are anywhere in the heap. The pass waits until the first of them is due: else a
// server that moves its timers to and fro would do little else (issue 41699). (Go: adjusttimers)
void processor_heaps::adjust_timers(instant now) noexcept {
  if (adjusting_ == adjusting::by_count) [[unlikely]]
    return adjust_by_count();
  if (is_due(modified_earliest(), now)) repair_all();
}

// (Go: clearDeletedTimers)
void processor_heaps::clear_deleted_timers() noexcept { repair_all(); }

// Runs the head if it is due, after repairing it. (Go: runtimer)
processor_heaps::head processor_heaps::run_timer(instant now, ready_list& ready, call_list& calls) noexcept {
  transient_wait wait;
  for (;;) {
    clean_timers();
    if (heap_.empty()) return head::not_due;
    heap_timer& timer = *heap_.first().timer;
    switch (timer.status.seen()) {
      case state::waiting:
        // Every value is a deadline: none stands for "no timer" (issue 42424: zero did).
        if (!is_due(heap_.first().when, now)) return head::not_due;
        if (timer.status.run()) {
          run_one_timer(timer, now, ready, calls);
          return head::ran;
        }
        break;
      case state::modifying: wait.pause(); break;
      case state::deleted:
      case state::modified_earlier:
      case state::modified_later: break;  // since clean_timers() looked
      default: timer.status.bad_timer("that of a timer in a heap");
    }
  }
}

// While the status is `running`, a thread that stops the timer waits, so the entry stays alive. An action's `call`
// follows when the lock has been released (issue 35532: it deadlocked). (Go: runOneTimer)
//
// A timer with a period never leaves the heap: it sinks to its next tick that is not due yet.
void processor_heaps::run_one_timer(heap_timer& timer, instant now, ready_list& ready, call_list& calls) noexcept {
  require_home(timer);
  const duration period = timer.period;
  const bool repeats = period > duration::zero();
  count_fired(timer.when, now);
  if (repeats) [[unlikely]] {
    timer.when = first_tick_after(now, timer.when, period);
    heap_.requeue_first(timer.when);
  } else {
    heap_.remove_first();
  }
  act(*timer.entry, ready, calls);
  if (repeats) [[unlikely]]
    return timer.status.repeats();  // its entry lives until it is stopped
  // From the action on the entry may have been destroyed by the thread that waited for it.
  if (timer.status.has_run() == timer_status::last_holder::caller) delete &timer;
}

bool processor_heaps::run_due(instant now, ready_list& ready, call_list& calls) noexcept {
  const lock held(lock_);
  adjust_timers(now);
  std::size_t ran = 0;
  while (ran < most_at_once && run_timer(now, ready, calls) == head::ran) ++ran;
  if (too_many_deleted(heap_.size())) clear_deleted_timers();
  publish();
  return ran == most_at_once;
}

// For a worker that is about to sleep: a head that was stopped or postponed would wake it for nothing. Timers that were
// brought forward are left to adjust_timers; by_count their deadline is known only after that. If the only pending
// timers are due never, the bound may be that of a timer that was stopped since: then all are repaired.
void processor_heaps::refresh_first() noexcept {
  const lock held(lock_);
  if (adjusting_ == adjusting::by_count) [[unlikely]]
    adjust_by_count();
  clean_timers();
  const bool may_be_stale = !heap_.empty() && heap_.first().when.is_never() && !modified_earliest().is_never();
  if (may_be_stale) [[unlikely]]
    repair_all();
  publish();
}

// Go: moveTimers. Both locks are held, and there is room. Other threads go on: this waits for a thread that modifies a
// timer, and a thread that comes later finds the timer here.
void processor_heaps::move_timers(processor_heaps& from) noexcept FOLIOT_NO_ANALYSIS {
  for (const timer_heap::entry& each : from.heap_.entries()) {
    heap_timer& timer = *each.timer;
    transient_wait wait;
    for (bool moved = false; !moved;) {
      const state seen = timer.status.seen();
      switch (seen) {
        case state::waiting:
        case state::modified_earlier:
        case state::modified_later:
          if (!timer.status.move(seen)) break;
          from.require_home(timer);
          from.count_earlier(seen, state::waiting);
          if (seen != state::waiting) timer.when = timer.next_when;
          timer.home = this;
          timer_entry_access::home(*timer.entry).store(this, seam::relaxed);  // published by the status
          heap_.add(timer.when, timer);
          timer.status.moved();
          moved = true;
          break;
        case state::deleted: moved = from.clean(timer); break;
        case state::modifying: wait.pause(); break;
        default: timer.status.bad_timer("that of a timer in a heap");
      }
    }
  }
  from.heap_.clear();
  from.publish();
  publish();
}

void processor_heaps::take_all(processor_timers& from) FOLIOT_NO_ANALYSIS {
  auto& other = static_cast<processor_heaps&>(from);
  // One move runs at a time, and no other code takes two of these locks.
  const lock held(other.lock_);
  lock_.lock_beside_others();
  try {
    heap_.make_room(other.heap_.size());
  } catch (...) {
    lock_.unlock_beside_others();
    throw;
  }
  other.successor_ = this;
  move_timers(other);
  lock_.unlock_beside_others();
}

void processor_heaps::reopen() noexcept {
  const lock held(lock_);
  successor_ = nullptr;
}

// No other thread uses the timers by now.
void processor_heaps::forget_all() noexcept {
  const lock held(lock_);
  for (const timer_heap::entry& each : heap_.entries()) {
    heap_timer& timer = *each.timer;
    if (timer.status.seen() != state::deleted) {
      const timer_status::claim claim = timer.status.remove();
      count_earlier(claim.was, state::deleted);
      if (claim.what != timer_status::outcome::taken) [[unlikely]]
        timer.status.bad_timer("that of a timer that no thread uses, at the end of its runtime");
      timer_entry_access::home(*timer.entry).store(nullptr, seam::relaxed);
      deleted_timers_.fetch_add(1, seam::relaxed);
      timer.status.marked();
    }
    static_cast<void>(clean(timer));
  }
  heap_.clear();
  publish();
}

// ---------------------------------------------------------------- for tests, and statistics

std::size_t processor_heaps::size() const noexcept {
  const lock held(lock_);
  return heap_.size() - std::min(deleted_timers_.load(seam::relaxed), heap_.size());
}

std::size_t processor_heaps::heap_size() const noexcept {
  const lock held(lock_);
  return heap_.size();
}

std::size_t processor_heaps::room() const noexcept {
  const lock held(lock_);
  return heap_.capacity();
}

check_result processor_heaps::check() const {
  const lock held(lock_);
  if (!heap_.ordered()) return std::unexpected("processor_heaps: a timer is due before its parent");
  std::size_t deleted = 0;
  std::size_t earlier = 0;
  for (const timer_heap::entry& each : heap_.entries()) {
    const heap_timer& timer = *each.timer;
    const state status = timer.status.seen();
    if (timer_status::is_transient(status)) return std::unexpected("processor_heaps: a thread owns a timer");
    if (status == state::none || status == state::removed)
      return std::unexpected("processor_heaps: the status of a timer in the heap is that of a timer in none");
    if (timer.when != each.when)
      return std::unexpected("processor_heaps: a timer and its heap entry differ in the deadline");
    if (timer.home != this) return std::unexpected("processor_heaps: a timer in the heap has another home");
    if (status == state::deleted) {
      ++deleted;
      continue;
    }
    if (status == state::modified_earlier) ++earlier;
    const instant due = status == state::waiting ? each.when : instant(timer.next_when);
    if (timer_entry_access::home(*timer.entry).load(seam::relaxed) != this)
      return std::unexpected("processor_heaps: the entry of a timer in the heap has another home");
    if (status == state::modified_earlier && due < modified_earliest())
      return std::unexpected("processor_heaps: a timer that was brought forward is due before modified_earliest");
    if (due < first()) return std::unexpected("processor_heaps: a timer is due before first()");
  }
  if (deleted != deleted_timers_.load(seam::relaxed))
    return std::unexpected("processor_heaps: the deleted timers are miscounted");
  if (adjusting_ == adjusting::by_count && earlier != adjust_timers_.load(seam::relaxed)) {
    return std::unexpected("processor_heaps: the timers that were brought forward are miscounted");
  }
  return {};
}

}  // namespace foliot::runtime::detail
