// One sleep after the other, and how late each of them ended: the clock after it, less its deadline, which
// is the clock before it and the length asked for.
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
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

#include "../trials/trial.hpp"

namespace foliot::program::bench {

/// How long the sleeps of this workload are.
[[nodiscard]] constexpr duration sleep_length(workload what) noexcept {
  switch (what) {
    case workload::w6_100us: return duration::nanoseconds(100'000);
    case workload::w6_1ms: return duration::nanoseconds(1'000'000);
    default: return duration::nanoseconds(10'000'000);
  }
}

/// Who wakes up early: by its contract nobody here, but libraries that round the time down do.
enum class early { is_wrong, counts_as_zero };

class sleep_log {
 public:
  explicit sleep_log(const trial& asked, early what = early::is_wrong)
      : length_(sleep_length(asked.what)), wanted_(asked.sleeps), early_(what) {
    found_.lateness.reserve(wanted_);  // so that nothing is allocated between two sleeps
  }

  [[nodiscard]] bool more() const noexcept { return found_.wrong.empty() && found_.lateness.size() < wanted_; }
  [[nodiscard]] duration length() const noexcept { return length_; }

  /// The deadline of the sleep that now begins.
  instant begin() noexcept { return deadline_ = clock_.now() + length_; }

  void end() {
    const std::int64_t late = (clock_.now() - deadline_).count();
    if (late < 0 && early_ == early::is_wrong) {
      found_.wrong = fmt::format("it woke up {} ns early", -late);
      return;
    }
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    found_.lateness.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(late, 0, most)));
  }

  /// No sleep is possible.
  void fail(std::string why) { found_.wrong = std::move(why); }

  [[nodiscard]] finding found() const { return found_; }

 private:
  const duration length_;
  const std::size_t wanted_;
  const early early_;
  const monotonic_clock& clock_ = monotonic_clock::instance();
  instant deadline_{};
  finding found_{};
};

/// Everything that W6 asks.
inline const std::vector<workload> all_sleeps = {workload::w6_100us, workload::w6_1ms, workload::w6_10ms};

}  // namespace foliot::program::bench
