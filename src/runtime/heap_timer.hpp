// The record of a timer in processor_heaps: what stays in a heap when the timer itself is stopped, and gone.
//
// Thread safety: the status says whose the other fields are; see timer_status.hpp.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

#include "timer_status.hpp"

namespace foliot::runtime::detail {

class processor_heaps;

/// Lies in a piece of the kind that each thread keeps some of: a task that sleeps again and again has the same few.
struct heap_timer : pooled {
  explicit heap_timer(timer_entry& of) noexcept : entry(&of) {}
  heap_timer(const heap_timer&) = delete;
  heap_timer& operator=(const heap_timer&) = delete;

  timer_status status;
  /// What it stands at in its heap. (Go: when)
  seam::plain<instant> when;
  /// Where it belongs, while it is modified. (Go: nextwhen)
  seam::plain<instant> next_when;
  /// The length of a beat of a timer that stays in the heap when it has run; zero: it runs once. (Go: period)
  seam::plain<duration> period;
  /// Whose heap it stands in, or stood last. (Go: pp)
  seam::plain<processor_heaps*> home{nullptr};
  /// To be touched only while it is pending or running, by who owns the record, and by the entry's own callers.
  timer_entry* const entry;
};

/// A short wait for somebody who owns a timer, and is some instructions from leaving it. (Go: osyield)
class transient_wait {
 public:
  void pause() noexcept {
    if (++times_ <= spins) {
      seam::spin_pause();
    } else {
      seam::yield_thread();  // he may have lost his processor
    }
  }

 private:
  static constexpr int spins = 32;
  int times_ = 0;
};

}  // namespace foliot::runtime::detail
