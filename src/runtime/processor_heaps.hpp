// A processor's timers as Go 1.14 to 1.22 kept them: a 4-ary heap that only the processor's worker, or a thread that
// steals from it, changes, under the lock; a stop and a reset, from any thread, mark the timer and leave the heap
// alone.
//
// The start of a timer that is in no heap takes the lock. Every other operation is a compare-and-swap on the timer's
// status (timer_status.hpp), a store of the deadline, and a store of the status. The heap is repaired when its lock is
// held anyway: at the head by clean_timers and run_timer; all of it, in one pass, by adjust_timers, when a timer that
// was brought forward is due, and by clear_deleted_timers, when more than a quarter of the timers are deleted.
//
// Go 1.14 and 1.15 looked for timers that were brought forward in every round in which there was one, by their count
// (adjustTimers): that form is here as well, see `adjusting`.
//
// Thread safety: as processor_timers. `run_due` and every other function that holds the lock waits for a timer that
// another thread modifies at that moment; a thread that modifies a timer in a heap takes no lock.
//
// Invariants (check(), while no thread modifies a timer):
//   1. A pending timer is in the heap of its home, which is also its entry's; a waiting one lies at its deadline.
//   2. A timer that was brought forward has a deadline that is not before `modified_earliest`.
//   3. first(), the earlier of the head's deadline and `modified_earliest`, comes before no pending timer's deadline.
//   4. Deleted timers are counted before a thread can find them; and by_count, those that were brought forward.
//
// The hazards that Go met, by its issues' numbers, are named where they are closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <foliot/core/contract.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

#include "processor_timers.hpp"
#include "timer_heap.hpp"
#include "timer_status.hpp"

namespace foliot::runtime::detail {

class processor_heaps;

/// The record of a timer in processor_heaps. It may stay in a heap after the timer itself was stopped and destroyed.
/// Pooled: a task that sleeps again and again uses the same few pieces.
///
/// Thread safety: the status decides which thread owns the other fields; see timer_status.hpp.
struct heap_timer : pooled {
  explicit heap_timer(timer_entry& of) noexcept : entry(&of) {}
  heap_timer(const heap_timer&) = delete;
  heap_timer& operator=(const heap_timer&) = delete;

  /// The entry's record; null: the entry was never started.
  [[nodiscard]] static heap_timer* of(timer_entry& entry) noexcept {
    // acquire: pairs with the release in made_for().
    return static_cast<heap_timer*>(timer_entry_access::record(entry).load(seam::acquire));
  }
  /// The entry's record, which is made if there is none. Throws std::bad_alloc.
  [[nodiscard]] static heap_timer& made_for(timer_entry& entry) {
    if (heap_timer* const known = of(entry)) [[likely]]
      return *known;
    auto fresh = std::make_unique<heap_timer>(entry);
    void* first = nullptr;
    // release: publishes the record; acquire: sees that of a thread that was quicker.
    if (timer_entry_access::record(entry).compare_exchange_strong(first, fresh.get(), seam::release, seam::acquire)) {
      return *fresh.release();
    }
    return *static_cast<heap_timer*>(first);
  }

  timer_status status;
  /// The deadline at which it is queued in its heap. (Go: when)
  seam::plain<instant> when;
  /// Its deadline, while it is modified_earlier or modified_later. (Go: nextwhen)
  seam::plain<instant> next_when;
  /// The period of a timer that stays in the heap when it has run; zero: it runs once. (Go: period)
  seam::plain<duration> period;
  /// The heap that it is in, or was in last. (Go: pp)
  seam::plain<processor_heaps*> home{nullptr};
  /// Touched only while it is pending or running, by the thread that owns the record, and by the entry's own callers.
  timer_entry* const entry;
};

/// A short wait for a thread that owns a timer, and is some instructions from leaving it. (Go: osyield)
class transient_wait {
 public:
  void pause() noexcept {
    if (++times_ <= spins) {
      seam::spin_pause();
    } else {
      seam::yield_thread();  // that thread may have been preempted
    }
  }

 private:
  static constexpr int spins = 32;
  int times_ = 0;
};

/// When a heap looks for the timers that were brought forward (timerModifiedEarlier), which may be anywhere in it.
enum class adjusting : std::uint8_t {
  by_count,  ///< Go 1.14, 1.15: in the next round, if their count is not zero
  when_due,  ///< Go 1.16 to 1.22: in the first round in which one of them is due
};

class processor_heaps final : public processor_timers {
 public:
  /// How many deleted timers a heap of any size may have until a stop clears them away.
  static constexpr std::size_t few_deleted = 32;

  explicit processor_heaps(std::uint32_t processor, adjusting when = adjusting::when_due) noexcept
      : processor_timers(processor), adjusting_(when) {}
  /// Frees the records of stopped timers that are still in the heap.
  ~processor_heaps() override { forget_all(); }

  /// Go: resettimer, which is addtimer, or modtimer.
  home_answer reset_every(timer_entry& entry, instant first, duration period) override;
  bool keeps_periods() const noexcept override { return true; }
  /// Go: deltimer.
  home_answer stop(timer_entry& entry) noexcept override;

  /// Go: the part of checkTimers that has the lock.
  bool run_due(instant now, ready_list& ready, call_list& calls) noexcept override;
  void refresh_first() noexcept override;

  void take_all(processor_timers& from) override;
  void reopen() noexcept override;
  void forget_all() noexcept override;

  std::size_t size() const noexcept override;

  // For tests.

  /// The first invariant that does not hold. Precondition: no thread modifies a timer meanwhile.
  [[nodiscard]] check_result check() const;
  /// How many timers are in the array, deleted ones included.
  [[nodiscard]] std::size_t heap_size() const noexcept;
  /// For how many timers the array has room.
  [[nodiscard]] std::size_t room() const noexcept;

 private:
  /// As foliot_timers.
  static constexpr std::size_t most_at_once = 256;

  using state = timer_status::state;
  enum class head : std::uint8_t { ran, not_due };

  // Any thread, without the lock.
  home_answer add_timer(timer_entry& entry, heap_timer& timer, state was, instant deadline, duration period);
  home_answer modify_timer(heap_timer& timer, state was, instant deadline, duration period) noexcept;
  void lower_modified_earliest(instant to) noexcept;
  /// A timer goes from the state `was` to `next`: counts those that are modified_earlier. The caller owns the timer.
  void count_earlier(state was, state next) noexcept {
    const bool earlier = next == state::modified_earlier;
    if (adjusting_ == adjusting::when_due || (was == state::modified_earlier) == earlier) [[likely]]
      return;
    // relaxed: a pass reads it after the bound, which is lowered after the count was raised here.
    static_cast<void>(earlier ? adjust_timers_.fetch_add(1, seam::relaxed)
                              : adjust_timers_.fetch_sub(1, seam::relaxed));
  }
  void bound_deleted() noexcept;

  [[nodiscard]] bool too_many_deleted(std::size_t of) const noexcept {
    // relaxed: a count; the timers are looked for under the lock.
    return deleted_timers_.load(seam::relaxed) > of / 4;
  }

  // Under the lock.
  void clean_timers() noexcept FOLIOT_REQUIRES(lock_);
  void adjust_timers(instant now) noexcept FOLIOT_REQUIRES(lock_);
  void adjust_by_count() noexcept FOLIOT_REQUIRES(lock_);
  void forget_bound() noexcept FOLIOT_REQUIRES(lock_);
  head run_timer(instant now, ready_list& ready, call_list& calls) noexcept FOLIOT_REQUIRES(lock_);
  void run_one_timer(heap_timer& timer, instant now, ready_list& ready, call_list& calls) noexcept
      FOLIOT_REQUIRES(lock_);
  void clear_deleted_timers() noexcept FOLIOT_REQUIRES(lock_);
  void move_timers(processor_heaps& from) noexcept;
  void repair_all() noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool repair(timer_heap::entry& each) noexcept;
  [[nodiscard]] bool clean(heap_timer& timer) noexcept;
  void publish() noexcept FOLIOT_REQUIRES(lock_);
  /// The caller owns the timer. (Go throws "bad p".)
  void require_home(heap_timer& timer) const noexcept {
    if (timer.home != this) [[unlikely]]
      timer.status.bad_timer("that of a timer whose home is the heap that it is in");
  }

  const adjusting adjusting_;
  mutable mutex lock_{lock_rank::timers};
  // Go: pp.timers.
  timer_heap heap_ FOLIOT_GUARDED_BY(lock_);
  // Where the timers that were here are now; null: they are here.
  processor_heaps* successor_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  // Go: pp.numTimers. Written under the lock, at its end; read by threads that stop a timer.
  seam::atomic<std::size_t> num_timers_{0};
  // Go: pp.deletedTimers. Raised by the thread that stops a timer, before it marks the timer; lowered by the thread
  // that takes the timer out, or resets it.
  seam::atomic<std::size_t> deleted_timers_{0};
  // Go 1.14: pp.adjustTimers. How many timers here are modified_earlier; by_count alone. Changed by the
  // thread that owns such a timer, read under the lock.
  seam::atomic<std::size_t> adjust_timers_{0};
};

}  // namespace foliot::runtime::detail
