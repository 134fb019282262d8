// A job store whose slow batches are reported, and the times in which it is unavailable: a disk that stalls and a
// database that does not answer are things that an operator should know.
//
// Where the store lacks memory, the process ends (process_end.hpp): no library below it can go on then, and locks may
// be held for ever.
//
// Thread safety: as job_store; any thread may call busy_for(), batches(), figures() and next_due().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/time_histogram.hpp>

namespace foliot::program {

/// A batch that takes longer than this is reported.
inline constexpr duration slow_batch = duration::nanoseconds(1'000'000'000);
/// How long after a warning further slow batches are only counted.
inline constexpr duration between_warnings = duration::nanoseconds(10'000'000'000);

class watched_store final : public jobs::job_store {
 public:
  /// `warn` gets a sentence on the thread that executed the batch, after the batch. It must not throw.
  watched_store(jobs::job_store& inner, std::function<void(std::string)> warn,
                const clock& time = monotonic_clock::instance())
      : inner_(inner), warn_(std::move(warn)), time_(time) {}

  jobs::execution execute(std::span<jobs::operation> batch) override;
  [[nodiscard]] jobs::next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }
  void close() override;
  [[nodiscard]] jobs::other_nodes* others() noexcept override { return inner_.others(); }

  [[nodiscard]] jobs::store_figures figures() const override { return inner_.figures(); }

  /// How long the batches have taken that the store has executed or refused. Any thread.
  [[nodiscard]] jobs::time_histogram::counts batches() const noexcept { return batches_.seen(); }
  /// For how long the present batch has been executing; zero: there is none.
  [[nodiscard]] duration busy_for() const noexcept;
  /// When the next delayed job becomes ready, as the store said after the latest batch that it executed.
  [[nodiscard]] jobs::utc_time next_due() const noexcept {
    return jobs::utc_time(jobs::milliseconds(next_due_.load(seam::relaxed)));
  }

 private:
  /// The value of began_ while no batch executes.
  static constexpr std::int64_t idle = std::numeric_limits<std::int64_t>::min();

  jobs::job_store& inner_;
  std::function<void(std::string)> warn_;
  const clock& time_;
  void say_if_slow(duration took, std::size_t operations);
  void say_unavailable(instant began, const char* why);
  void say_available();

  // Of the thread that executes a batch.
  jobs::time_histogram batches_;
  instant next_warning_ = instant::earliest();
  std::uint64_t slow_batches_ = 0;                // since the last warning
  instant unavailable_since_ = instant::never();  // the beginning of the first batch that was refused
  /// When the present batch began. Written by the thread that executes it, read by busy_for(). Relaxed: it publishes
  /// nothing.
  seam::atomic<std::int64_t> began_{idle};
  /// In milliseconds since 1970. As began_.
  seam::atomic<std::int64_t> next_due_{jobs::utc_time::max().time_since_epoch().count()};
};

}  // namespace foliot::program
