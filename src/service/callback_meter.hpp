// What a shard measures of its callbacks, if its options ask for it: lateness, duration, which are slow, which stall.
//
// Thread safety: record() and what concerns the slowest callbacks under the shard's lock; the others from any thread.
#pragma once

#include <memory>

#include <foliot/core/histogram.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/service/slow_callback.hpp>
#include <foliot/service/statistics.hpp>

#include "shard_options.hpp"
#include "slowest_callbacks.hpp"

namespace foliot::detail {

class callback_meter {
 public:
  /// Null if the options ask for neither histograms nor reports.
  static std::unique_ptr<callback_meter> wanted_by(const shard_options& options) {
    if (!options.measure && !options.slow_callback.tell && !options.stalls.tell) return nullptr;
    return std::make_unique<callback_meter>(options);
  }

  explicit callback_meter(const shard_options& options)
      : virtual_time_(options.on_virtual_time ? &options.time : nullptr),
        slow_(options.slow_callback),
        measured_(options.measure ? std::make_unique<measured>() : nullptr) {}

  /// By a clock that is never set.
  [[nodiscard]] instant now() const noexcept {
    return virtual_time_ != nullptr ? virtual_time_->now() : seam::monotonic_now();
  }
  /// The report that a callback of this length is due to; null: none.
  [[nodiscard]] const slow_callback_report* too_slow_for(duration took) const noexcept {
    return slow_.tell && took > slow_.longer_than ? &slow_ : nullptr;
  }

  /// Adds a callback to the histograms.
  void record(duration lateness, duration took) noexcept {
    if (measured_ == nullptr) return;
    measured_->lateness.record(lateness);
    measured_->callback_time.record(took);
  }

  /// Whether a callback of this length may belong to the slowest ones.
  [[nodiscard]] bool is_among_slowest(duration took) const noexcept {
    return measured_ != nullptr && measured_->slowest.takes(took);
  }
  /// Precondition: is_among_slowest(took).
  void add_slow(duration took, std::source_location armed_at, const shared_name& name) noexcept {
    measured_->slowest.add({.took = took, .armed_at = armed_at, .name = name});
  }
  [[nodiscard]] slowest_callbacks slowest() const noexcept {
    return measured_ != nullptr ? measured_->slowest : slowest_callbacks();
  }

  void add_to(service_statistics& sum) const noexcept {
    if (measured_ == nullptr) return;
    sum.measured = true;
    sum.lateness += measured_->lateness.snapshot();
    sum.callback_time += measured_->callback_time.snapshot();
  }

 private:
  struct measured {
    histogram_recorder lateness;
    histogram_recorder callback_time;
    slowest_callbacks slowest;
  };

  const clock* const virtual_time_;  // null: the monotonic clock
  const slow_callback_report slow_;
  const std::unique_ptr<measured> measured_;
};

}  // namespace foliot::detail
