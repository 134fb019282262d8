// The job store that keeps everything in memory: the reference for the other stores, and a store for programs and
// servers whose jobs may end with their process. Nothing is durable.
//
// Every index is an ordered container, and every change of a job takes it out of the indexes of its old state and puts
// it into those of its new one: obvious rather than fast. O(log n) for each job that an operation touches.
//
// Invariants, which check() proves:
//   1. A job lies in exactly the index of its state: ready, delayed or buried in its tube, or expiring.
//   2. The key of each living job that has one leads to it, and no other key does.
//   3. A tube is known while it has a job or is paused; its counts, and those of the store, are those of its jobs.
//   4. Ids, and the numbers of burials, are below the next ones to be given.
//
// One thread at a time may use a store.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/jobs/transitions.hpp>

namespace foliot::jobs {
namespace detail {
class once_table;
}  // namespace detail

/// How much a memory_store holds at most. A put beyond it is answered with `no_space`, and so is a release or a bury
/// that brings a longer history for which there is no room, and an operation that the store could not remember
/// (once.hpp).
struct memory_bounds {
  std::uint64_t jobs = std::numeric_limits<std::uint64_t>::max();
  /// Of bodies, fields, histories, keys and names of tubes, and job_overhead for each job; once_overhead for each
  /// operation that happens once, as long as it is remembered, 32 for each answer of a put_all, and 24 for each
  /// reservation of a claim. Claims that happen once may exceed it by a sixteenth and the last one of them, so that a
  /// full store can be emptied by them.
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
};

/// A job store in memory.
class FOLIOT_EXPORT memory_store final : public job_store {
 public:
  /// An empty store on the system's clocks.
  memory_store() : memory_store(store_clocks{}) {}
  /// An empty store on these clocks.
  explicit memory_store(store_clocks clocks, memory_bounds bounds = {});
  ~memory_store() override;

  /// As job_store says. Of the failures there is one, a lack of memory: it throws std::bad_alloc, and every later batch
  /// throws store_failure.
  execution execute(std::span<operation> batch) override;
  /// O(1).
  [[nodiscard]] next_change next() const noexcept override;
  /// O(n log n).
  [[nodiscard]] check_result check() override;
  /// Its bounds, and the bytes of its jobs behind the latest batch.
  [[nodiscard]] store_figures figures() const override;

  /// About what the store needs for a job besides its texts, in bytes.
  static constexpr std::uint64_t job_overhead = 400;
  /// About what it needs to remember an operation that happens once.
  static constexpr std::uint64_t once_overhead = 300;

 private:
  struct tube;

  /// A living job.
  struct record {
    jobs::job job;
    tube* home = nullptr;
    /// How many reservations it has had. The last of them is alive while the job is reserved.
    std::uint64_t attempts = 0;
    /// The number of its burial, by which the buried of its tube are ordered; it counts only while the job is buried.
    std::uint64_t burial = 0;
  };

  struct tube {
    std::set<std::pair<priority, job_id>> ready;
    std::set<std::pair<utc_time, job_id>> delayed;
    std::map<std::uint64_t, job_id> buried;
    std::map<std::string, job_id, std::less<>> keys;
    job_counts counts;
    /// When its pause ends; never(): it is not paused.
    instant paused_until = instant::never();
  };

  using tubes_by_name = std::map<std::string, tube, std::less<>>;
  class executor;

  [[nodiscard]] check_result check_job(job_id id, const record& it) const;
  [[nodiscard]] check_result check_tube(const std::string& name, const tube& it) const;
  [[nodiscard]] check_result check_counts() const;

  store_clocks clocks_;
  memory_bounds bounds_;
  std::uint64_t bytes_ = 0;  // of the jobs that there are, as memory_bounds counts them
  std::map<job_id, record> jobs_;
  tubes_by_name tubes_;
  /// The delayed jobs of all tubes.
  std::set<std::pair<utc_time, job_id>> due_;
  /// The reserved jobs of all tubes, by the end of their reservations.
  std::set<std::pair<instant, job_id>> expiring_;
  /// The same by their ids.
  std::set<job_id> reserved_;
  /// The paused tubes, by the end of their pauses.
  std::set<std::pair<instant, std::string>> pauses_;
  job_counts counts_;
  std::unique_ptr<detail::once_table> once_;
  job_id next_id_ = 1;
  std::uint64_t next_burial_ = 1;
  bool failed_ = false;
  /// What counts for memory_bounds::bytes behind the latest batch: for figures(). Relaxed, it publishes nothing.
  seam::atomic<std::uint64_t> shown_bytes_{0};
};

}  // namespace foliot::jobs
