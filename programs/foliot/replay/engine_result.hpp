// The result of one engine among several that were compared.
#pragma once

#include <cstdint>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/service/statistics.hpp>

namespace foliot::program {

struct engine_result {
  std::string engine;
  duration lateness;  ///< that it is allowed
  std::uint64_t sessions = 0;
  service_counters timers;
  duration spent;            ///< processor time: finding the sessions of clients, and their timers
  std::string disagreement;  ///< a sentence, without a full stop; empty if it agrees

  [[nodiscard]] bool agrees() const noexcept { return disagreement.empty(); }
  /// Starts, resets and firings.
  [[nodiscard]] std::uint64_t operations() const noexcept { return timers.started + timers.superseded + timers.fired; }
  /// 0 without operations.
  [[nodiscard]] double nanoseconds_an_operation() const noexcept {
    return operations() > 0 ? static_cast<double>(spent.count()) / static_cast<double>(operations()) : 0;
  }
  /// 0 for a run that is too short.
  [[nodiscard]] double operations_per_second() const noexcept {
    return spent > duration::zero() ? static_cast<double>(operations()) * 1e9 / static_cast<double>(spent.count()) : 0;
  }
};

}  // namespace foliot::program
