// What a processor's worker counts, and what it measures of the turns that it gives to tasks, if the options ask for
// it.
//
// Thread safety: the worker counts and records; any thread reads.
#pragma once

#include <cstdint>
#include <memory>

#include <foliot/core/histogram.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/statistics.hpp>

#include "watched_turn.hpp"

namespace foliot::runtime::detail {

/// The counts. The count_ functions are the worker's. relaxed throughout: each number stands for itself, and only the
/// worker changes it.
class worker_counts {
 public:
  void count_turn() noexcept { add(turns_, 1); }
  void count_spent_turn() noexcept { add(spent_turns_, 1); }
  void count_steal(std::uint64_t tasks) noexcept {
    add(steals_, 1);
    add(stolen_, tasks);
  }
  void count_park() noexcept { add(parks_, 1); }

  void add_to(runtime_counters& sum) const noexcept {
    sum.turns += turns_.load(seam::relaxed);
    sum.spent_turns += spent_turns_.load(seam::relaxed);
    sum.steals += steals_.load(seam::relaxed);
    sum.stolen += stolen_.load(seam::relaxed);
    sum.parks += parks_.load(seam::relaxed);
  }

 private:
  using number = seam::atomic<std::uint64_t>;
  static void add(number& to, std::uint64_t more) noexcept { to.store(to.load(seam::relaxed) + more, seam::relaxed); }

  number turns_{0};
  number spent_turns_{0};
  number steals_{0};
  number stolen_{0};
  number parks_{0};
};

class turn_meter {
 public:
  /// Null if the options ask for neither histograms nor reports of slow or stuck tasks.
  static std::unique_ptr<turn_meter> wanted_by(const run_options& options) {
    if (!options.measure && !options.slow_task.tell && !options.stuck_task.tell) return nullptr;
    return std::make_unique<turn_meter>(options);
  }

  explicit turn_meter(const run_options& options)
      : measured_(options.measure ? std::make_unique<measured>() : nullptr) {}

  /// Whether it has histograms.
  [[nodiscard]] bool measures() const noexcept { return measured_ != nullptr; }
  /// Precondition: measures().
  void record_queue_time(duration length) noexcept { measured_->queue_time.record(length); }
  void record_turn(duration took) noexcept {
    if (measures()) measured_->turn_time.record(took);
  }

  /// The turn that goes on. Used if the options ask for reports of stuck tasks.
  [[nodiscard]] watched_turn& watched() noexcept { return watched_; }

  void add_to(runtime_statistics& sum) const noexcept {
    if (!measures()) return;
    sum.queue_time += measured_->queue_time.snapshot();
    sum.turn_time += measured_->turn_time.snapshot();
  }

 private:
  struct measured {
    histogram_recorder queue_time;
    histogram_recorder turn_time;
  };
  const std::unique_ptr<measured> measured_;
  watched_turn watched_;
};

}  // namespace foliot::runtime::detail
