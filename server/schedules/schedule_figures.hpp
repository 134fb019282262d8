// What the turns of schedules at this server have come to since its start: for metrics.
//
//   schedule_figures figures;
//   figures.note_made(occurrence_reason::regular, late);   // its job is committed
//   figures.note_refused();                                // a turn has ended with a plan that cannot be followed
//   const schedule_figures::counts seen = figures.seen();
//
// Thread safety: any thread. O(1). The lock is held for some ten comparisons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/time_histogram.hpp>

#include "schedule_state.hpp"

namespace foliot::program {

class schedule_figures {
 public:
  /// A plain value.
  struct counts {
    std::array<std::uint64_t, names_of_reasons.size()> made{};  ///< occurrences whose jobs were put, by reason
    std::uint64_t refused = 0;                                  ///< turns whose plan could not be followed
    /// From the instant of an occurrence to the commit of its job, of those that are regular or late.
    jobs::time_histogram::counts lateness = {};
  };

  schedule_figures() = default;
  schedule_figures(const schedule_figures&) = delete;
  schedule_figures& operator=(const schedule_figures&) = delete;

  /// `late`: how long after its instant the job was committed. It counts for those that the rules have brought: by hand
  /// and of a backfill nothing is late.
  void note_made(occurrence_reason why, duration late) noexcept {
    const lock held(lock_);
    ++counted_.made[static_cast<std::size_t>(why)];
    if (why == occurrence_reason::regular || why == occurrence_reason::late) lateness_.record(late);
  }
  void note_refused() noexcept {
    const lock held(lock_);
    ++counted_.refused;
  }
  [[nodiscard]] counts seen() const noexcept {
    const lock held(lock_);
    counts all = counted_;
    all.lateness = lateness_.seen();
    return all;
  }

 private:
  mutable mutex lock_{lock_rank::object};
  counts counted_ FOLIOT_GUARDED_BY(lock_);                 // but the lateness
  jobs::time_histogram lateness_ FOLIOT_GUARDED_BY(lock_);  // has one writer at a time
};

}  // namespace foliot::program
