// Counts what the batches of a broker do to jobs, and how long jobs wait for their workers and are with them.
// Thread safety: the lock of the broker guards everything. O(1) for each job.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/time_histogram.hpp>

namespace foliot::jobs::detail {

class flow_counter {
 public:
  using wall_time = std::chrono::sys_time<std::chrono::nanoseconds>;

  void note(const put_answer& put) noexcept {
    const bool is_new = put.what == put_answer::kind::inserted || put.what == put_answer::kind::replaced;
    if (is_new && !put.is_replayed) ++now_.put;
  }
  /// A job was reserved at this time of the wall clock.
  void note_reserved(const job& it, wall_time when) noexcept {
    ++now_.reserved;
    // If each earlier reservation has ended by an operation that has set a new due time, this one is the first of it.
    const job_counters& so_far = it.counters;
    const bool has_new_due = so_far.reserves <= std::uint64_t{so_far.releases} + so_far.buries + 1;
    // A job that was due before it was put has waited since its put.
    if (has_new_due) lateness_.record(when - std::max(it.due, it.made));
  }
  /// A reservation that has begun then, or at a time that is not known (never()), was finished.
  void note_finished(instant began, instant when) noexcept {
    ++now_.finished;
    if (!began.is_never()) work_.record(when - began);
  }
  void note_released() noexcept { ++now_.released; }
  void note_buried() noexcept { ++now_.buried; }
  void note_expired() noexcept { ++now_.expired; }

  [[nodiscard]] std::uint64_t expired() const noexcept { return now_.expired; }
  [[nodiscard]] job_flow seen() const noexcept {
    job_flow all = now_;
    all.lateness = lateness_.seen();
    all.work = work_.seen();
    return all;
  }

 private:
  job_flow now_;  // without its histograms
  time_histogram lateness_;
  time_histogram work_;
};

}  // namespace foliot::jobs::detail
