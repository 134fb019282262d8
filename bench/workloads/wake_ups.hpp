// Counts how often the threads of a service or of a runtime wake up, by their voluntary context switches: a thread that
// gives up its core by itself has woken up once before.
//
// Thread safety: any thread, but no other threads of this process may run than those that are measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/sync/note.hpp>
#include <sys/resource.h>

#include "bench/contestant.hpp"
#include "quick_random.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

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
