// Go's benchmarks, done with foliot's runtime: what one operation is, in a file for each group. bench/peers/go does the
// same with Go's runtime. Operations are done by as many tasks as there are processors, and counted as Go's `testing`
// counts them:
//
//   task<> each(share& mine) {
//     while (mine.next()) { … one operation … }
//     co_return;
//   }
//   const double ns = co_await calibrated(in_shares(each), budget, processors);
//
// Thread safety: none, one thread. A share belongs to one task; what a benchmark measures runs on the processors of a
// runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/task.hpp>

#include "bench/roster.hpp"

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

/// The average and the worst of so many latenesses. Throws failure if there are none.
[[nodiscard]] sample average_of(const std::vector<duration>& lateness);

/// Measures, in a task of the runtime. Throws failure, or what the runtime throws.
using go_benchmark = std::function<runtime::task<sample>(request asked)>;
/// By the names of the workloads.
using go_benchmarks = std::map<std::string, go_benchmark, std::less<>>;

/// A benchmark whose operations tasks share, while timers of an hour are pending at each processor.
[[nodiscard]] go_benchmark beside_pending_timers(share_work each);
/// A benchmark without such timers.
[[nodiscard]] go_benchmark alone(counted_work what);

void add_lateness_benchmarks(go_benchmarks& to);
void add_socket_benchmarks(go_benchmarks& to);
void add_timer_benchmarks(go_benchmarks& to);

/// Offers all of them for this contestant, with a runtime whose processors have these timers.
void add_go_benchmarks(contestant& to, const std::string& timers);

}  // namespace foliot::program::bench
