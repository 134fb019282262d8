// b.N operations, done by as many tasks as there are processors, and counted as Go's `testing` counts them.
//
//   task<> each(share& mine) {
//     while (mine.next()) { … one operation … }
//     co_return;
//   }
//   const double ns = co_await calibrated(in_shares(each), budget, processors);
//
// Thread safety: a share belongs to one task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::program::bench {

/// The operations that one task takes from those that all tasks share, some 100 us of work at a time (Go: testing.PB).
// Each has a cache line of its own, since its task counts every operation. (Go: each goroutine makes its own.)
class alignas(64) share {
 public:
  share(seam::atomic<std::uint64_t>& taken, std::uint64_t operations, std::uint64_t grain) noexcept
      : taken_(taken), operations_(operations), grain_(grain) {}

  /// Whether there is another operation to do.
  [[nodiscard]] bool next() noexcept {
    if (left_ == 0 && !take()) return false;
    --left_;
    return true;
  }

 private:
  bool take() noexcept {
    const std::uint64_t begin = taken_.fetch_add(grain_, seam::relaxed);  // a number, which publishes nothing
    if (begin >= operations_) return false;
    left_ = operations_ - begin < grain_ ? operations_ - begin : grain_;
    return true;
  }

  seam::atomic<std::uint64_t>& taken_;  // written by all
  const std::uint64_t operations_;
  const std::uint64_t grain_;
  std::uint64_t left_ = 0;
};

/// How much is to be done.
struct stretch {
  std::uint64_t operations = 1;
  std::uint64_t grain = 1;  ///< operations that take some 100 us
  std::size_t processors = 1;
};

/// Does that much, and returns how long it took.
using counted_work = std::function<runtime::task<duration>(const stretch&)>;

/// Does the operations of a share.
using share_work = std::function<runtime::task<>(share&)>;

/// As many tasks as there are processors, each of which does the operations of its share. (Go: B.RunParallel.)
[[nodiscard]] counted_work in_shares(share_work each);

/// ns an operation: does more and more operations, until they take as long as the budget. (Go: B.launch.)
[[nodiscard]] runtime::task<double> calibrated(counted_work what, duration budget, std::size_t processors);

/// Keeps the processor of the calling task for so long.
void compute_for(duration length) noexcept;

/// Calls `each` in so many tasks, one on each processor at the same time: none calls before all tasks run.
[[nodiscard]] runtime::task<> on_every_processor(std::size_t processors, std::function<void(std::size_t index)> each);

}  // namespace foliot::program::bench
