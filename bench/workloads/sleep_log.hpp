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
// And how often the threads of a service or of a runtime wake up while nothing is due.
//
// Thread safety: a log is used by one thread at a time. While wake-ups are counted, no other threads of this process
// may run than those that are measured.
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
#include <foliot/core/sync/note.hpp>
#include <sys/resource.h>

#include "bench/roster.hpp"
#include "quick_random.hpp"
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

// ---------------------------------------------------------------- wake-ups

// Wake-ups are counted by the voluntary context switches of threads: a thread that gives up its core by itself has
// woken up once before.

/// From one hour to two: no such timer becomes due while it is measured.
[[nodiscard]] inline duration far_from(std::uint64_t draw) {
  return std::chrono::hours(1) + duration::nanoseconds(static_cast<std::int64_t>(lower_below(draw, 3'600'000'000'000)));
}

/// The voluntary context switches of the calling thread, or of all other threads of this process, in their lives so
/// far.
[[nodiscard]] inline std::int64_t own_switches() noexcept {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}
[[nodiscard]] inline std::int64_t other_switches() noexcept {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_nvcsw - own_switches();
}

/// The wake-ups a second of all threads but the calling one, for as long as the request asks, after they have come to
/// rest. Throws failure if the system does not count context switches.
[[nodiscard]] inline samples count_wake_ups(const request& asked) {
  const monotonic_clock& clock = monotonic_clock::instance();
  const auto wait = [&clock](duration length) { note().sleep_until(clock.now() + length); };
  // Until the threads have gone to sleep, and those that only made the timers have ended.
  wait(asked.quick ? std::chrono::milliseconds(10) : std::chrono::milliseconds(100));
  if (own_switches() + other_switches() == 0)
    throw failure("the system does not count the context switches of threads");
  const instant begin = clock.now();
  const std::int64_t first = other_switches();
  wait(asked.time);
  const auto count = static_cast<double>(other_switches() - first);
  return {{.figure = count * 1e9 / static_cast<double>((clock.now() - begin).count())}};
}

inline const std::vector<workload> all_idle = {workload::idle, workload::idle_ticker};

}  // namespace foliot::program::bench
