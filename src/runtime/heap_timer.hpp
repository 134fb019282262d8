// The record of a timer in processor_heaps. It may stay in a heap after the timer itself was stopped and destroyed.
//
// Thread safety: the status decides which thread owns the other fields; see timer_status.hpp.
#pragma once

#include <memory>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

#include "timer_status.hpp"

namespace foliot::runtime::detail {

class processor_heaps;

/// Pooled: a task that sleeps again and again uses the same few pieces.
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

}  // namespace foliot::runtime::detail
