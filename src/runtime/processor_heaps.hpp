// A processor's timers as Go 1.14 to 1.22 kept them: a 4-ary heap in which only the processor, or who steals from it,
// moves anything, under the lock; a stop and a reset, from any thread, mark the timer and leave the heap alone.
//
// A start of a timer that is in no heap takes the lock. Every other operation is a compare-and-swap on the timer's
// status (timer_status.hpp), a store of the deadline, and a store of the status. What it has left behind is repaired
// when the heap's lock is held anyway: at the head by clean_timers and run_timer, and all of it, in one pass, by
// adjust_timers, when a timer that was brought forward is due, and by clear_deleted_timers, when more than a
// quarter are deleted.
//
// Thread safety: as processor_timers. `run_due` and whatever else holds the lock waits for a timer that somebody
// modifies just now; nobody who modifies one that is in a heap takes a lock.
//
// Invariants (check; while nobody modifies a timer):
//   1. A pending timer is in the heap of its home, which is also its entry's; one that waits stands at its deadline.
//   2. One that was brought forward has a deadline that is not before `modified_earliest`.
//   3. `first`, the earlier of the head's deadline and `modified_earliest`, comes before no pending timer's deadline.
//   4. The deleted ones are counted, before they can be found.
//
// The hazards that Go met, by its issues' numbers, are named where they are closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <foliot/core/sync/mutex.hpp>

#include "heap_timer.hpp"
#include "processor_timers.hpp"
#include "timer_heap.hpp"

namespace foliot::runtime::detail {

class processor_heaps final : public processor_timers {
 public:
  /// How many deleted timers a heap may have, whatever its size, until a stop clears them away.
  static constexpr std::size_t few_deleted = 32;

  explicit processor_heaps(std::uint32_t processor) noexcept : processor_timers(processor) {}
  /// What was stopped, and still stands here, goes with it.
  ~processor_heaps() override { forget_all(); }

  /// Go: resettimer, which is addtimer, or modtimer.
  at_home reset(timer_entry& entry, instant deadline) override {
    return reset_every(entry, deadline, duration::zero());
  }
  at_home reset_every(timer_entry& entry, instant first, duration period) override;
  bool keeps_periods() const noexcept override { return true; }
  /// Go: deltimer.
  at_home stop(timer_entry& entry) noexcept override;

  /// Go: the part of checkTimers that has the lock.
  bool run_due(instant now, ready_list& ready, call_list& calls) noexcept override;
  void refresh_first() noexcept override;

  void take_all(processor_timers& from) override;
  void begin_again() noexcept override;
  void forget_all() noexcept override;

  std::size_t size() const noexcept override;

  // For tests.

  /// Empty, or which invariant does not hold. While nobody modifies a timer.
  [[nodiscard]] std::string check() const;
  /// How many stand in the array, deleted ones too, and how many it has room for.
  [[nodiscard]] std::size_t standing() const noexcept;
  [[nodiscard]] std::size_t room() const noexcept;

 private:
  /// As foliot_timers.
  static constexpr std::size_t most_at_once = 256;

  using state = timer_status::state;
  enum class head : std::uint8_t { ran, not_due };

  // Any thread, without the lock.
  at_home add_timer(timer_entry& entry, heap_timer& timer, state was, instant deadline, duration period);
  at_home modify_timer(heap_timer& timer, state was, instant deadline, duration period) noexcept;
  void lower_modified_earliest(instant to) noexcept;
  void bound_deleted() noexcept;

  [[nodiscard]] bool too_many_deleted(std::size_t of) const noexcept {
    // relaxed: a count, and what is counted is looked for under the lock.
    return deleted_timers_.load(seam::relaxed) > of / 4;
  }

  // processor_heaps_run.cpp: the heap's own business.
  void clean_timers() noexcept FOLIOT_REQUIRES(lock_);
  void adjust_timers(instant now) noexcept FOLIOT_REQUIRES(lock_);
  head run_timer(instant now, ready_list& ready, call_list& calls) noexcept FOLIOT_REQUIRES(lock_);
  void run_one_timer(heap_timer& timer, instant now, ready_list& ready, call_list& calls) noexcept
      FOLIOT_REQUIRES(lock_);
  void clear_deleted_timers() noexcept FOLIOT_REQUIRES(lock_);
  void move_timers(processor_heaps& from) noexcept;
  void repair_all() noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool repair(timer_heap::place& each) noexcept;
  [[nodiscard]] bool clean(heap_timer& timer) noexcept;
  void publish() noexcept FOLIOT_REQUIRES(lock_);
  /// The caller owns the timer. (Go throws "bad p".)
  void require_home(heap_timer& timer) const noexcept {
    if (timer.home != this) [[unlikely]]
      timer.status.bad_timer("that of a timer whose home is the heap that it stands in");
  }

  mutable mutex lock_{lock_rank::timers};
  // Go: pp.timers.
  timer_heap heap_ FOLIOT_GUARDED_BY(lock_);
  processor_heaps* successor_ FOLIOT_GUARDED_BY(lock_) = nullptr;  // whose what was here is
  // Go: pp.numTimers. Written under the lock, at its end; read by who stops one.
  seam::atomic<std::size_t> num_timers_{0};
  // Go: pp.deletedTimers. Raised by who stops one, before the timer is marked; lowered by who takes it out, or takes it
  // back.
  seam::atomic<std::size_t> deleted_timers_{0};
};

}  // namespace foliot::runtime::detail
