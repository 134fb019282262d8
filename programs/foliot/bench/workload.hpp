// What is measured: the workloads by name. What each of them does is in throughput.hpp, latency.hpp,
// threads/crew.hpp, sleeps/ and idle/; docs/bench.md tells users.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

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
};

/// What a workload's figures are, and so how they are come by.
enum class figure_kind {
  cost,      ///< ns an operation, of many together, in one thread
  calls,     ///< ns of single calls
  threads,   ///< ns an operation of all threads together
  lateness,  ///< ns between a deadline and the moment when it was acted on
  wake_ups,  ///< a second
};

inline constexpr std::array all_workloads = {workload::w1,
                                             workload::w1p,
                                             workload::w2,
                                             workload::w2p,
                                             workload::w3,
                                             workload::w4,
                                             workload::worst_uniform,
                                             workload::worst_one_slot,
                                             workload::w5w1,
                                             workload::w5w1_remote,
                                             workload::w5w2,
                                             workload::w6_100us,
                                             workload::w6_1ms,
                                             workload::w6_10ms,
                                             workload::idle,
                                             workload::idle_ticker};

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

/// The workload of this name, in capitals or not.
[[nodiscard]] std::optional<workload> find_workload(std::string_view name);
/// All names, for a sentence: "W1, W1P, …".
[[nodiscard]] std::string workload_names();

}  // namespace foliot::program::bench
