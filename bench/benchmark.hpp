// The benchmarks: a row for each workload. contestants/ has the code that does them, docs/bench.md describes them.
//
// Thread safety: constants and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program::bench {

/// A row of `benchmarks`, by its index. Rows that code refers to have names here; the others are found by
/// the names in the table.
enum class workload : std::uint8_t {
  w1,
  w1p,
  w2,
  w2p,
  w3,
  w4,
  worst_uniform,
  worst_one_slot,
  w5w1,
  w5w1_remote,
  w5w2,
  w6_100us,
  w6_1ms,
  w6_10ms,
  idle,
  idle_ticker,
  first_of_go,  ///< Go's own benchmarks, from here to the end
};

/// The kind of figure that a workload has. It decides with which numbers of timers and threads the workload is
/// measured, and how its figures are shown.
enum class figure_kind : std::uint8_t {
  cost,        ///< ns an operation, of many together, in one thread
  calls,       ///< ns of single calls
  threads,     ///< ns an operation of all threads together
  lateness,    ///< ns from a deadline to the end of the sleep
  wake_ups,    ///< a second
  processors,  ///< ns an operation of a runtime with so many processors, as Go's `testing` counts it
};

struct benchmark {
  std::string name;            ///< on the command line and in JSON: "W1", "worst-uniform"
  std::string_view title;      ///< for people: "start one, stop a random one"
  std::string_view operation;  ///< the unit of the count: "start and stop", "fired timer"
  figure_kind kind = figure_kind::processors;
  int fewest_threads = 1;    ///< or processors
  bool timers_fire = false;  ///< a contestant without timers that fire cannot take part
  bool has_worst = false;    ///< the figure is an average of latenesses, and the record has the worst of them too
  bool has_memory = false;   ///< the record has the resident bytes of a task too
};

[[nodiscard]] std::vector<benchmark> table_of_benchmarks();
[[nodiscard]] std::vector<workload> workloads_from(std::size_t first, std::size_t last);

/// In the order in which they are measured.
inline const std::vector<benchmark> benchmarks = table_of_benchmarks();
inline const std::vector<workload> all_workloads = workloads_from(0, benchmarks.size());

/// The workloads of `foliot bench` if the command line names none, and those of `foliot bench go`.
inline const std::span usual_workloads = std::span(all_workloads).first(std::size_t(workload::first_of_go));
inline const std::span go_workloads = std::span(all_workloads).subspan(std::size_t(workload::first_of_go));

/// The one of Go's benchmarks that is missing here: it calls functions that only Go's package runtime has.
inline constexpr std::string_view missing_of_go = "NetpollBreak";

[[nodiscard]] inline const benchmark& about(workload what) noexcept {
  return benchmarks[static_cast<std::size_t>(what)];
}
[[nodiscard]] inline std::string_view name(workload what) noexcept { return about(what).name; }
[[nodiscard]] inline figure_kind kind_of(workload what) noexcept { return about(what).kind; }
/// The name up to the first slash: "Stop" of "Stop/impl=chan". The rest is the variant.
[[nodiscard]] inline std::string_view family_of(workload what) noexcept {
  return name(what).substr(0, name(what).find('/'));
}
[[nodiscard]] inline std::string_view variant_of(workload what) noexcept {
  const std::size_t slash = name(what).find('/');
  return slash == std::string_view::npos ? std::string_view() : name(what).substr(slash + 1);
}
/// "ns", "wake-ups/s".
[[nodiscard]] inline std::string_view unit_of(workload what) noexcept {
  return kind_of(what) == figure_kind::wake_ups ? "wake-ups/s" : "ns";
}
/// Whether one thread does it, on one core: W1 to W4 and the single calls.
[[nodiscard]] inline bool in_one_thread(workload what) noexcept {
  return kind_of(what) == figure_kind::cost || kind_of(what) == figure_kind::calls;
}

/// As JSON has it: "cost", "wake-ups".
[[nodiscard]] std::string_view name(figure_kind kind) noexcept;

/// The workload of this name, or all of this family; capitals do not count.
[[nodiscard]] std::vector<workload> find_workloads(std::string_view wanted);
/// The names of all families, in their order.
[[nodiscard]] std::vector<std::string_view> family_names();

// ---------------------------------------------------------------- generations

// The generations of timers: a story in the order of their years. Each is a contestant, with a sentence on what it
// changed; docs/lineage.md has the whole story. `foliot bench generations` measures them side by side.

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
