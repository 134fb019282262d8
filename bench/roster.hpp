// A contestant: a queue, a service or a runtime of the project, a floor, another library, or another language; and the
// roster of all, or of those that the user names.
//
// A contestant offers functions that do workloads. Such a function makes its timers, warms up, measures, and returns
// samples. The caller repeats it, and shuffles the contestants (measure.cpp).
//
//   for (const sample& each : one.offer_for(workload::w1)->run({.what = workload::w1, .timers = 1'000'000, …})) …
//
// A file of contestants/ has a function that adds its contestants, with all that they offer. A library that was not
// installed when the program was configured has no such function.
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

/// A contestant that takes no part in some workloads, with the reason.
struct absence {
  std::string name{};
  std::string from{};    ///< the workload, or the beginning of several names: "W5"; empty: from all
  std::string reason{};  ///< "not installed when this program was built"

  friend bool operator==(const absence&, const absence&) = default;
};

/// Whether the absence is one from this workload.
[[nodiscard]] inline bool concerns(const absence& each, workload what) noexcept {
  // NetpollBreak is missing from all of Go's benchmarks.
  return name(what).starts_with(each.from) || (each.from == missing_of_go && kind_of(what) == figure_kind::processors);
}

struct roster {
  std::vector<contestant> contestants{};  ///< each name once
  std::vector<absence> left_out{};  ///< libraries that were not installed, and workloads that a contestant cannot do

  /// The contestant of this name, added at the end if there is none yet.
  contestant& add(std::string_view name);
  /// The contestant of this name, with this offer beside those that it has.
  contestant& add(std::string_view name, offer also);

  /// Null if there is none of this name.
  [[nodiscard]] const contestant* find(std::string_view name) const noexcept {
    const auto known = std::ranges::find(contestants, name, &contestant::name);
    return known == contestants.end() ? nullptr : &*known;
  }
  [[nodiscard]] std::vector<std::string> names() const;
};

void add_queues(roster& to);
void add_plain_sets(roster& to);
void add_libuv(roster& to);
void add_libev(roster& to);
void add_libevent(roster& to);
void add_asio(roster& to);
void add_services(roster& to);
void add_runtimes(roster& to);
void add_system_calls(roster& to);
void add_other_languages(roster& to);

/// The queues of the project first, then the floors, the libraries, the services and runtimes, the system calls, and
/// the other languages.
[[nodiscard]] roster all_contestants();

/// Those of these names, in this order; all contestants if there are no names. Throws failure for a name that does not
/// exist.
[[nodiscard]] roster select(roster all, const std::vector<std::string>& names);

/// The names of those that take part in any of these workloads.
[[nodiscard]] std::vector<std::string> taking_part(const roster& all, const std::vector<workload>& in);

/// The contestant that ratios refer to: foliot, or else the first queue of the project; empty if there is neither.
[[nodiscard]] std::string_view reference_of(const roster& all);

}  // namespace foliot::program::bench
