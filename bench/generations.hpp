// The generations of timers: a story in the order of their years. Each is a contestant, with a sentence on what it
// changed; docs/lineage.md has the whole story. `foliot bench generations` measures them side by side.
//
// Thread safety: constants and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

#include "benchmark.hpp"

namespace foliot::program::bench {

struct generation {
  std::string_view contestant;
  std::string_view years;     ///< "2009 to 2017"
  std::string_view original;  ///< "Go up to 1.9"
  std::string_view step;      ///< what it changed, and what that cost
};

/// In the order of the years in which they began.
inline constexpr std::array generations = {
    generation{"global-heap", "2009 to 2017", "Go up to 1.9",
               "one heap, one lock and one timer thread for everything; all threads meet at the lock"},
    generation{"goim", "2014 to today", "goim, a server for long connections",
               "an application's own heaps, to stay away from that lock: several, each for some of the connections"},
    generation{"erlang-wheel", "2015 to 2018", "Erlang/OTP 18",
               "a wheel of lists for each scheduler: no heap, and O(1), but timers fire by the millisecond"},
    generation{"bucket-heaps", "2018 to 2020", "Go 1.10 to 1.13",
               "64 heaps with a lock and a timer thread each; threads that keep to their own timers do not meet"},
    generation{"processor-heaps-1.14", "2020 to 2021", "Go 1.14 and 1.15",
               "a heap for each processor of the runtime, no timer threads; a stop or a reset by any thread only marks "
               "the timer, and the processor looks through its heap in each round in which one was brought forward"},
    generation{"processor-heaps", "2021 to 2024", "Go 1.16 to 1.22",
               "the same with a bound: the processor looks through its heap when the first of those timers is due"},
    generation{"foliot", "2026", "foliot's services",
               "a shard for each processor, O(1) in exact order; most stops and resets take no lock"},
    generation{"foliot-runtime", "2026", "foliot's runtime",
               "the same queue at each processor of a runtime, in the place of processor-heaps"},
};

/// Null if the contestant is none of them.
[[nodiscard]] inline const generation* generation_of(std::string_view contestant) noexcept {
  const auto found = std::ranges::find(generations, contestant, &generation::contestant);
  return found == generations.end() ? nullptr : &*found;
}

/// Whether the table and the chart of the generations have this workload: threads that share a service, one sleep, idle
/// threads, and the lateness of Go's benchmarks.
[[nodiscard]] inline bool is_of_generations(workload what) noexcept {
  switch (kind_of(what)) {
    case figure_kind::cost:
    case figure_kind::calls: return false;
    case figure_kind::processors: return about(what).has_worst;
    default: return true;
  }
}

/// These workloads, in the order in which they are measured.
[[nodiscard]] inline std::vector<workload> generation_workloads() {
  std::vector<workload> all;
  std::ranges::copy_if(all_workloads, std::back_inserter(all), is_of_generations);
  return all;
}

}  // namespace foliot::program::bench
