// The figures: one record for each workload, contestant, number of timers and number of threads, and for single calls
// one for each kind of call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmark.hpp"
#include "roster.hpp"
#include "statistics.hpp"

namespace foliot::program::bench {

/// In unit_of(what).
struct record {
  workload what = workload::w1;
  std::string call{};  ///< start, stop, reset or expire, where single calls are timed; else empty
  std::string contestant{};
  std::size_t timers = 0;
  int threads = 1;
  spread cost{};                       ///< over the repetitions; of single calls and of sleeps: of their medians
  std::optional<percentiles> calls{};  ///< of single calls: the median repetition's; of sleeps: of all together
  std::optional<double> worst{};       ///< of single calls, sleeps and averages of them: the longest in any repetition
  std::optional<double> per_fired{};   ///< of expire: all calls together, for each timer that fired
  std::optional<double> bytes_per_timer{};
  std::optional<double> bytes_per_task{};
};

/// A contestant that was measured.
struct participant {
  std::string name{};
  std::string version{};
  std::string time{};  ///< virtual, real or none
  std::string remark{};
};

/// A workload that was chosen and is not measured, with the reason.
struct omission {
  workload what = workload::w1;
  std::string reason{};  ///< "none of the contestants named takes part"

  friend bool operator==(const omission&, const omission&) = default;
};

/// Facts of the machine and the build, name and value, in the order in which people read them: processor, cores, …
using machine_facts = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] machine_facts describe_machine();

/// A sentence on why the figures of this build mean little; nothing for an optimised build without checks.
[[nodiscard]] std::optional<std::string> build_warning();

struct results {
  machine_facts machine{};
  std::vector<participant> contestants{};
  std::vector<absence> left_out{};
  std::vector<omission> not_measured{};
  bool with_generations = false;  ///< the text and the page begin with the story of the generations
  std::string reference{};        ///< the contestant that ratios refer to; may be empty
  int repetitions = 0;
  std::vector<record> records{};

  /// The record, or null. `call` is empty but for single calls.
  [[nodiscard]] const record* find(workload what, std::string_view contestant, std::size_t timers,
                                   std::string_view call = {}, int threads = 1) const noexcept {
    for (const record& each : records) {
      if (each.what == what && each.contestant == contestant && each.timers == timers && each.call == call &&
          each.threads == threads)
        return &each;
    }
    return nullptr;
  }

  /// The cost as a multiple of the reference's, if that was measured too.
  [[nodiscard]] std::optional<double> ratio(const record& of) const noexcept {
    const record* base = find(of.what, reference, of.timers, of.call, of.threads);
    if (base == nullptr || base->cost.median <= 0) return std::nullopt;
    return of.cost.median / base->cost.median;
  }
};

}  // namespace foliot::program::bench
