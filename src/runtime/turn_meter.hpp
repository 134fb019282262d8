// What a processor measures of the turns that its worker gives to tasks, if the options ask for it.
//
// Thread safety: the worker records; any thread reads.
#pragma once

#include <memory>

#include <foliot/core/histogram.hpp>
#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/statistics.hpp>

#include "watched_turn.hpp"

namespace foliot::runtime::detail {

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
