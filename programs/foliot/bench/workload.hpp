// What is measured: the workloads by name. What each of them does is in throughput.hpp, latency.hpp,
// threads/crew.hpp, sleeps/, idle/ and own/; docs/bench.md tells users.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "own/go_benchmarks.hpp"

namespace foliot::program::bench {

enum class workload {
  w1,              ///< start one, stop a random one
  w1p,             ///< the same, and the caller prefetches the victim
  w2,              ///< heartbeats: reset a random one
  w2p,             ///< the same, and the caller prefetches the victim
  w3,              ///< fire all
  w4,              ///< 90 % reset, 9 % start and stop, 1 % fire
  worst_uniform,   ///< each call by itself, timeouts uniform
  worst_one_slot,  ///< each call by itself, all due within 262,144 ns
  w5w1,            ///< threads start and stop their own timers of one service
  w5w1_remote,     ///< the same, and each timer is stopped by a thread that did not start it
  w5w2,            ///< threads reset their own timers of one service
  w6_100us,        ///< how late one sleep of 100 us ends
  w6_1ms,          ///< of 1 ms
  w6_10ms,         ///< of 10 ms
  idle,            ///< how often threads wake up while nothing is due
  idle_ticker,     ///< the same beside one ticker of 10 ms
  first_of_go,     ///< go_benchmarks[0]; the others follow, each at its place
};

/// What a workload's figures are, and so how they are come by.
enum class figure_kind {
  cost,        ///< ns an operation, of many together, in one thread
  calls,       ///< ns of single calls
  threads,     ///< ns an operation of all threads together
  lateness,    ///< ns between a deadline and the moment when it was acted on
  wake_ups,    ///< a second
  processors,  ///< ns an operation of a runtime with so many processors, as Go's `testing` counts it
};

inline constexpr auto workloads_of_go = static_cast<std::size_t>(workload::first_of_go);  // those before them

inline constexpr auto all_workloads = [] {
  std::array<workload, workloads_of_go + go_benchmarks.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<workload>(i);
  return all;
}();
/// What is measured where nothing is named, and what `foliot bench go` measures.
inline constexpr std::span<const workload> usual_workloads(all_workloads.data(), workloads_of_go);
inline constexpr std::span<const workload> go_workloads(all_workloads.data() + workloads_of_go, go_benchmarks.size());

/// As it is written on the command line and in JSON: W1, worst-uniform.
[[nodiscard]] std::string_view name(workload what) noexcept;
/// For people: "start one, stop a random one".
[[nodiscard]] std::string_view title(workload what) noexcept;
/// What one of them is: "start and stop", "fired timer".
[[nodiscard]] std::string_view operation_of(workload what) noexcept;
[[nodiscard]] figure_kind kind_of(workload what) noexcept;
/// As it is written in JSON: "cost", "wake-ups".
[[nodiscard]] std::string_view name(figure_kind kind) noexcept;
/// "ns", "wake-ups/s".
[[nodiscard]] std::string_view unit_of(workload what) noexcept;
/// Whether a contestant does it as a whole (see trials/trial.hpp), rather than step by step.
[[nodiscard]] bool is_trial(workload what) noexcept;
/// Whether single calls are timed, rather than many together.
[[nodiscard]] bool times_calls(workload what) noexcept;
/// Whether timers must fire in it, so that the floors cannot take part.
[[nodiscard]] bool needs_fires(workload what) noexcept;

/// With how many threads, or processors, it can be measured at least: 1 or 2.
[[nodiscard]] int fewest_threads(workload what) noexcept;
/// Whether the figure is an average of latenesses, told with the worst of them.
[[nodiscard]] bool tells_worst(workload what) noexcept;
/// Whether it also tells what a task takes of memory.
[[nodiscard]] bool tells_memory(workload what) noexcept;

/// The workload of this name, in capitals or not; or all of a family, whose name ends before the first slash.
[[nodiscard]] std::vector<workload> find_workloads(std::string_view name);
/// All names, families by theirs, in their order.
[[nodiscard]] std::vector<std::string_view> workload_names();

}  // namespace foliot::program::bench
