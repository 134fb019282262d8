// A snapshot of a service's counters and histograms.
//
//   foliot::service_options options;
//   options.measure = true;
//   foliot::timer_service timers{std::move(options)};
//   …
//   timers.statistics().lateness.percentile(99.9);
//
// Thread safety: plain values. service_statistics is about 20 KiB.
#pragma once

#include <cstddef>

#include <foliot/core/histogram.hpp>
#include <foliot/service/engine.hpp>

namespace foliot::inline service {

/// The result of timer_service::statistics.
struct service_statistics {
  service_counters counters;
  std::size_t shards = 0;
  /// Whether the service measures (service_options::measure). If not, the histograms are empty.
  bool measured = false;
  /// How long after its deadline each callback began; with an executor, how long after it the executor got the job.
  histogram lateness;
  /// How long each callback ran, by the monotonic clock, or by the service's virtual one.
  histogram callback_time;

  friend bool operator==(const service_statistics&, const service_statistics&) = default;
};

}  // namespace foliot::inline service
