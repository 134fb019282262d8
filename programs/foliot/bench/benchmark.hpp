// The table of benchmarks: a row for each workload. contestants/ has the code that does them, docs/bench.md describes
// them.
//
// Thread safety: constants and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace foliot::program::bench {

/// A row of `benchmarks`, by its index. Those that code refers to have names here; the others are found by theirs.
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

/// What the figures of a workload are. It decides with which numbers of timers and threads the workload is measured,
/// and how its figures are shown.
enum class figure_kind : std::uint8_t {
  cost,        ///< ns an operation, of many together, in one thread
  calls,       ///< ns of single calls
  threads,     ///< ns an operation of all threads together
  lateness,    ///< ns from a deadline to the end of the sleep
  wake_ups,    ///< a second
  processors,  ///< ns an operation of a runtime with so many processors, as Go's `testing` counts it
};

struct benchmark {
  std::string_view name;       ///< on the command line and in JSON: "W1", "worst-uniform"
  std::string_view title;      ///< for people: "start one, stop a random one"
  std::string_view operation;  ///< what is counted: "start and stop", "fired timer"
  figure_kind kind = figure_kind::processors;
  int fewest_threads = 1;    ///< or processors
  bool timers_fire = false;  ///< a contestant without timers that fire cannot take part
  bool has_worst = false;    ///< the figure is an average of latenesses, and the record has the worst of them too
  bool has_memory = false;   ///< the record has the resident bytes of a task too
};

/// Rows of Go's own benchmarks, which bear the names that Go's test suites give them.
struct go_row {
  static constexpr benchmark any(std::string_view name, std::string_view title,
                                 std::string_view operation = "operation") {
    return {.name = name, .title = title, .operation = operation};
  }
  static constexpr benchmark late(std::string_view name, std::string_view title, std::string_view operation) {
    return {.name = name, .title = title, .operation = operation, .fewest_threads = 2, .has_worst = true};
  }
  static constexpr benchmark round(std::string_view name, std::string_view title) {
    return {.name = name, .title = title, .operation = "round", .fewest_threads = 2};
  }

  static constexpr std::string_view stop = "a timer of 1 s is made and stopped";
  static constexpr std::string_view reset = "one timer of 1 h is reset, again and again";
  static constexpr std::string_view staggered = "how late tickers of 3 ms tick whose tasks compute after each tick";
  static constexpr std::string_view timeout = "ten contexts with a timeout of 1 h are made and cancelled";
  static constexpr std::string_view tree =
      "chains of contexts below one without end, one that ends, one that has ended";
  static constexpr std::string_view one_shot = "connect, 512 bytes and back, with deadlines, close";
  static constexpr std::string_view persistent = "512 bytes and back, with deadlines";
  static constexpr std::string_view spinning = "two tasks compute and hand over to each other, in turn";
  static constexpr std::string_view syscall = "two tasks sleep in the kernel and hand over to each other, in turn";
};

/// In the order in which they are measured.
inline constexpr std::array benchmarks = {
    benchmark{"W1", "start one, stop a random one", "start and stop", figure_kind::cost},
    benchmark{"W1P", "W1, the victim prefetched 16 ahead", "start and stop", figure_kind::cost},
    benchmark{"W2", "heartbeats: reset a random one to 30 s from now", "reset", figure_kind::cost},
    benchmark{"W2P", "W2, the victim prefetched 16 ahead", "reset", figure_kind::cost},
    benchmark{"W3", "fire all, due over 1 s", "fired timer", figure_kind::cost, 1, true},
    benchmark{"W4", "90 % reset, 9 % start and stop, 1 % fire", "operation", figure_kind::cost},
    benchmark{"worst-uniform", "single calls, timeouts uniform from 1 ms to 1 h", "call", figure_kind::calls, 1, true},
    benchmark{"worst-one-slot", "single calls, all timers due within 262,144 ns", "call", figure_kind::calls, 1, true},
    benchmark{"W5W1", "threads share a service: start one, stop a random one", "start and stop", figure_kind::threads},
    benchmark{"W5W1-remote", "as W5W1, each timer stopped by another thread than its own", "start and stop",
              figure_kind::threads, 2},
    benchmark{"W5W2", "threads share a service: reset a random one to 30 s from now", "reset", figure_kind::threads},
    benchmark{"W6-100us", "how late a sleep of 100 µs ends", "sleep", figure_kind::lateness},
    benchmark{"W6-1ms", "how late a sleep of 1 ms ends", "sleep", figure_kind::lateness},
    benchmark{"W6-10ms", "how late a sleep of 10 ms ends", "sleep", figure_kind::lateness},
    benchmark{"idle", "wake-ups of a service's threads while nothing is due", "second", figure_kind::wake_ups},
    benchmark{"idle-ticker", "the same beside one ticker of 10 ms", "second", figure_kind::wake_ups},
    go_row::any("AfterFunc1000", "1,001 timers of 0, each started by the one before"),
    go_row::any("After", "a wait for a timer of 1 ns"),
    go_row::any("Stop/impl=chan", go_row::stop),
    go_row::any("Stop/impl=func", go_row::stop),
    go_row::any("SimultaneousAfterFunc1000", "1,000 timers of 0 at the same time"),
    go_row::any("StartStop1000", "1,000 timers of 1 h are started, then stopped"),
    go_row::any("Reset/impl=chan", go_row::reset, "reset"),
    go_row::any("Reset/impl=func", go_row::reset, "reset"),
    go_row::any("Sleep1000", "1,000 tasks are spawned that sleep for 1 ns"),
    go_row::any("Ticker", "a tick of a ticker of 1 ns", "tick"),
    go_row::any("TickerReset", "one ticker is reset, again and again", "reset"),
    go_row::any("TickerResetNaive", "a ticker is stopped, another one is made"),
    go_row::any("AdjustTimers10000", "10,000 timers of 1 h are started, one is reset to 1 ns, all are stopped"),
    go_row::late("ParallelTimerLatency", "how late timers of 1 ms fire while the task that started them computes",
                 "timer"),
    go_row::late("StaggeredTickerLatency/work=300us/tickers=1", go_row::staggered, "tick"),
    go_row::late("StaggeredTickerLatency/work=300us/tickers=2", go_row::staggered, "tick"),
    go_row::late("StaggeredTickerLatency/work=300us/tickers=5", go_row::staggered, "tick"),
    go_row::late("StaggeredTickerLatency/work=300us/tickers=10", go_row::staggered, "tick"),
    go_row::late("StaggeredTickerLatency/work=2ms/tickers=1", go_row::staggered, "tick"),
    go_row::any("WithTimeout/concurrency=40", go_row::timeout),
    go_row::any("WithTimeout/concurrency=4000", go_row::timeout),
    go_row::any("WithTimeout/concurrency=400000", go_row::timeout),
    go_row::any("CancelTree/depth=1", go_row::tree),
    go_row::any("CancelTree/depth=10", go_row::tree),
    go_row::any("CancelTree/depth=100", go_row::tree),
    go_row::any("CancelTree/depth=1000", go_row::tree),
    go_row::any("SetReadDeadline", "a connection's read deadline is postponed by 1 ns"),
    go_row::any("TCP4OneShotTimeout", go_row::one_shot),
    go_row::any("TCP6OneShotTimeout", go_row::one_shot),
    go_row::any("TCP4PersistentTimeout", go_row::persistent),
    go_row::any("TCP6PersistentTimeout", go_row::persistent),
    go_row::round("WakeupParallelSpinning/0s", go_row::spinning),
    go_row::round("WakeupParallelSpinning/1us", go_row::spinning),
    go_row::round("WakeupParallelSpinning/2us", go_row::spinning),
    go_row::round("WakeupParallelSpinning/5us", go_row::spinning),
    go_row::round("WakeupParallelSpinning/10us", go_row::spinning),
    go_row::round("WakeupParallelSpinning/20us", go_row::spinning),
    go_row::round("WakeupParallelSpinning/50us", go_row::spinning),
    go_row::round("WakeupParallelSpinning/100us", go_row::spinning),
    go_row::round("WakeupParallelSyscall/0s", go_row::syscall),
    go_row::round("WakeupParallelSyscall/1us", go_row::syscall),
    go_row::round("WakeupParallelSyscall/2us", go_row::syscall),
    go_row::round("WakeupParallelSyscall/5us", go_row::syscall),
    go_row::round("WakeupParallelSyscall/10us", go_row::syscall),
    go_row::round("WakeupParallelSyscall/20us", go_row::syscall),
    go_row::round("WakeupParallelSyscall/50us", go_row::syscall),
    go_row::round("WakeupParallelSyscall/100us", go_row::syscall),
    benchmark{.name = "SleepingTasks100000",
              .title = "100,000 tasks are spawned that sleep for 1 h",
              .operation = "task",
              .has_memory = true},
};

/// The one of Go's benchmarks that is missing here: what it calls is not public outside of Go's package runtime.
inline constexpr std::string_view missing_of_go = "NetpollBreak";

inline constexpr auto all_workloads = [] {
  std::array<workload, benchmarks.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<workload>(i);
  return all;
}();
/// What is measured where the command line names nothing, and what `foliot bench go` measures.
inline constexpr std::span<const workload> usual_workloads(all_workloads.begin(),
                                                           static_cast<std::size_t>(workload::first_of_go));
inline constexpr std::span<const workload> go_workloads(all_workloads.begin() + usual_workloads.size(),
                                                        all_workloads.end());

[[nodiscard]] constexpr const benchmark& about(workload what) noexcept {
  return benchmarks[static_cast<std::size_t>(what)];
}
[[nodiscard]] constexpr std::string_view name(workload what) noexcept { return about(what).name; }
[[nodiscard]] constexpr figure_kind kind_of(workload what) noexcept { return about(what).kind; }
/// The name up to the first slash: "Stop" of "Stop/impl=chan". What follows the slash is the variant.
[[nodiscard]] constexpr std::string_view family_of(workload what) noexcept {
  return name(what).substr(0, name(what).find('/'));
}
[[nodiscard]] constexpr std::string_view variant_of(workload what) noexcept {
  const std::size_t slash = name(what).find('/');
  return slash == std::string_view::npos ? std::string_view() : name(what).substr(slash + 1);
}
/// "ns", "wake-ups/s".
[[nodiscard]] constexpr std::string_view unit_of(workload what) noexcept {
  return kind_of(what) == figure_kind::wake_ups ? "wake-ups/s" : "ns";
}
/// Whether one thread does it, on one core: W1 to W4 and the single calls.
[[nodiscard]] constexpr bool in_one_thread(workload what) noexcept {
  return kind_of(what) == figure_kind::cost || kind_of(what) == figure_kind::calls;
}

/// As JSON has it: "cost", "wake-ups".
[[nodiscard]] std::string_view name(figure_kind kind) noexcept;

/// The workload of this name, or all of this family; capitals do not count.
[[nodiscard]] std::vector<workload> find_workloads(std::string_view wanted);
/// The names of all families, in their order.
[[nodiscard]] std::vector<std::string_view> family_names();

}  // namespace foliot::program::bench
