// A contestant: a queue, a service or a runtime of the project, a floor, another library, or another language.
//
// A contestant offers functions that do workloads. Such a function makes its timers, warms up, measures, and returns
// samples. The caller repeats it, and shuffles the contestants (measure.hpp).
//
//   for (const sample& each : one.offer_for(workload::w1)->run({.what = workload::w1, .timers = 1'000'000, …})) …
//
// Thread safety: none, one thread. An offer may use as many threads and processes as it likes until it returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>

#include "benchmark.hpp"

namespace foliot::program::bench {

/// The clock by which the timers of a contestant fire.
enum class time_kind : std::uint8_t {
  virtual_time,  ///< the workload sets the time
  real_time,     ///< the contestant reads the system's clock
  no_time,       ///< a floor: nothing fires
};

/// As JSON has it.
[[nodiscard]] constexpr std::string_view name(time_kind kind) noexcept {
  if (kind == time_kind::no_time) return "none";
  return kind == time_kind::virtual_time ? "virtual" : "real";
}

/// The measurement that an offer is asked for.
struct request {
  workload what = workload::w1;
  std::size_t timers = 1;  ///< pending, of all threads together
  int threads = 1;         ///< that work at the same time, or processors of a runtime
  duration time{};         ///< how long to measure, after warming up
  std::size_t sleeps = 0;  ///< of lateness: how many, one after the other
  std::uint64_t seed = 1;
  bool quick = false;  ///< hardly warms up
};

/// The result of one measurement.
struct sample {
  double figure = 0;                  ///< in unit_of(workload); where `each` is not empty, it counts instead
  std::vector<std::uint32_t> each{};  ///< ns: of every single call, or of every sleep's lateness; at most 4.29 s
  std::string_view call{};            ///< start, stop, reset or expire, where single calls are timed
  std::optional<double> worst{};      ///< ns, where the figure is an average
  std::optional<double> bytes{};      ///< of memory, for each task
  std::optional<double> per_fired{};  ///< ns of all calls of expire together, for each timer that fired
};
/// One, or one for each call.
using samples = std::vector<sample>;

/// Some workloads that a contestant takes part in, and how it does them.
struct offer {
  std::vector<workload> takes{};
  time_kind time = time_kind::real_time;
  std::string remark{};  ///< shown beside these figures; may be empty
  /// A failure leaves the contestant out of the workload, with the reason, and does not end the run: the offer needs a
  /// toolchain or a system call that may be missing.
  bool may_be_left_out = false;
  /// Throws failure if the contestant does not do the workload as it is defined: its figures would be wrong.
  std::function<samples(const request& asked)> run{};
};

struct contestant {
  std::string name{};
  std::string version{};  ///< of a library or a language; empty for code of this program
  bool project_queue = false;
  std::vector<offer> offers{};
  /// Resident bytes of each of `timers` timers; nothing where the system does not report them. May be empty.
  std::function<std::optional<double>(std::size_t timers)> bytes_per_timer{};
  /// Makes the contestant ready, and returns its version. Called once, before its first run. Throws failure. May be
  /// empty.
  std::function<std::string()> prepare{};

  /// How it does the workload; null if it does not take part.
  [[nodiscard]] const offer* offer_for(workload what) const noexcept {
    const auto found = std::ranges::find_if(
        offers, [what](const offer& each) { return std::ranges::find(each.takes, what) != each.takes.end(); });
    return found == offers.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool takes_part(workload what) const noexcept { return offer_for(what) != nullptr; }
};

}  // namespace foliot::program::bench
