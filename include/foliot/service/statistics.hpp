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
#include <cstdint>
#include <string>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/core/histogram.hpp>

namespace foliot::inline service {

/// What a service has done since it began.
struct FOLIOT_EXPORT service_counters {
  std::uint64_t started = 0;     ///< starts of timers that were not pending
  std::uint64_t superseded = 0;  ///< resets of timers that were pending
  std::uint64_t stopped = 0;     ///< stops that found the timer pending
  std::uint64_t fired = 0;       ///< callbacks run, those of tickers included
  std::uint64_t skipped = 0;     ///< ticks of tickers that were left out because they came too late
  std::uint64_t dropped = 0;     ///< timers that were pending when the service ended
  /// Starts, sleeps and watches that began nothing, since the service drained or had ended, or the timer was closed:
  /// each `reset_result::closed`, also in a constructor; each sleep that found the service ended; each watch that was
  /// closed when it was made or modified.
  std::uint64_t refused = 0;
  std::uint64_t wake_ups = 0;            ///< times that a thread of the service was woken before its time
  std::uint64_t wakes_with_work = 0;     ///< times that a thread woke, for any reason, and a timer was due
  std::uint64_t wakes_without_work = 0;  ///< times that a thread woke, and no timer was due
  std::size_t pending = 0;               ///< timers that are pending now
  /// The largest number of pending timers so far, or a little more: `foliot` also counts timers that were stopped and
  /// are still queued, up to 1,024 a shard. With several shards the sum of their peaks.
  std::size_t peak_pending = 0;

  friend bool operator==(const service_counters&, const service_counters&) = default;
  /// Adds the counters of another service, or of another shard.
  service_counters& operator+=(const service_counters& other) noexcept;
};

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

/// Callbacks of timers that one line armed, and that have one name.
struct slowest_callback {
  duration took;           ///< the longest of them
  std::string name{};      ///< as set by timer_handle::name; empty if there is none
  std::string armed_at{};  ///< the file, without its folder, and the line: "server.cpp:31"

  friend bool operator==(const slowest_callback&, const slowest_callback&) = default;
};

/// How many slowest callbacks a service tells, at most.
inline constexpr std::size_t most_slowest_callbacks = 8;

/// What a service shows to other processes.
struct service_snapshot {
  service_statistics statistics{};
  std::vector<slowest_callback> slowest{};

  friend bool operator==(const service_snapshot&, const service_snapshot&) = default;
};

}  // namespace foliot::inline service
