// The operations of processor_heaps that any thread may call for a timer of any processor.
#include "processor_heaps.hpp"

#include <algorithm>
#include <memory>

namespace foliot::runtime::detail {

namespace {

/// The entry's record; null: the entry was never started.
heap_timer* timer_of(timer_entry& entry) noexcept {
  // acquire: pairs with the release in make_timer_of().
  return static_cast<heap_timer*>(timer_entry_access::record(entry).load(seam::acquire));
}

heap_timer& make_timer_of(timer_entry& entry) {
  if (heap_timer* const known = timer_of(entry)) [[likely]]
    return *known;
  auto fresh = std::make_unique<heap_timer>(entry);
  void* first = nullptr;
  // release: publishes the record; acquire: sees that of a thread that was quicker.
  if (timer_entry_access::record(entry).compare_exchange_strong(first, fresh.get(), seam::release, seam::acquire)) {
    return *fresh.release();
  }
  return *static_cast<heap_timer*>(first);
}

}  // namespace

void abandon_record(void* record) noexcept {
  auto* const timer = static_cast<heap_timer*>(record);
  if (timer->status.abandon() == timer_status::last_holder::caller) delete timer;
}

// Go's three functions are one decision by the status: a timer that is in no heap is added (addtimer), one that is in a
// heap is modified there (modtimer).
home_answer processor_heaps::reset_every(timer_entry& entry, instant first, duration period) {
  heap_timer& timer = make_timer_of(entry);
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
  heap_timer* const timer = timer_of(entry);
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
