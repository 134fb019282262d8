// One sleep after the other, and how late each of them ended: the clock after it, less its deadline. The deadline is
// the clock before the sleep, plus the length.
//
//   sleep_log sleeps(asked);
//   while (sleeps.more()) {
//     const instant deadline = sleeps.begin();
//     … sleep until then …
//     sleeps.end();
//   }
//   return sleeps.found();
//
// Thread safety: one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

#include "bench/contestant.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

/// How long the sleeps of this workload are.
[[nodiscard]] constexpr duration sleep_length(workload what) noexcept {
  switch (what) {
    case workload::w6_100us: return std::chrono::microseconds(100);
    case workload::w6_1ms: return std::chrono::milliseconds(1);
    default: return std::chrono::milliseconds(10);
  }
}

/// How a sleep that ends early is judged: as a failure, or as in time if the library rounds the time down.
enum class early { is_wrong, counts_as_zero };

class sleep_log {
 public:
  explicit sleep_log(const request& asked, early what = early::is_wrong)
      : length_(sleep_length(asked.what)), wanted_(asked.sleeps), early_(what) {
    lateness_.reserve(wanted_);  // so that nothing is allocated between two sleeps
  }

  [[nodiscard]] bool more() const noexcept { return wrong_.empty() && lateness_.size() < wanted_; }
  [[nodiscard]] duration length() const noexcept { return length_; }

  /// The deadline of the sleep that now begins.
  instant begin() noexcept { return deadline_ = clock_.now() + length_; }

  void end() {
    const std::int64_t late = (clock_.now() - deadline_).count();
    if (late < 0 && early_ == early::is_wrong) return fail(fmt::format("it woke up {} ns early", -late));
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    lateness_.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(late, 0, most)));
  }

  /// Ends the log: no further sleep is possible, for this reason.
  void fail(std::string why) { wrong_ = std::move(why); }

  /// The lateness of each sleep. Throws failure if one of them went wrong.
  [[nodiscard]] samples found() const {
    if (!wrong_.empty()) throw failure(wrong_);
    return {{.each = lateness_}};
  }

 private:
  const duration length_;
  const std::size_t wanted_;
  const early early_;
  const monotonic_clock& clock_ = monotonic_clock::instance();
  instant deadline_{};
  std::vector<std::uint32_t> lateness_;
  std::string wrong_;
};

inline const std::vector<workload> all_sleeps = {workload::w6_100us, workload::w6_1ms, workload::w6_10ms};

}  // namespace foliot::program::bench
