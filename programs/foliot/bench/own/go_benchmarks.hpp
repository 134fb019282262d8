// Go's own benchmarks of its timers, by the names that Go's test suites give them: what is measured of a runtime.
// `own/` does them with foliot's, bench/peers/go with Go's.
//
// One is not among them, see missing_of_go.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace foliot::program::bench {

struct go_benchmark {
  enum class needs : std::uint8_t { nothing, two_processors };
  enum class tells : std::uint8_t { cost, lateness, memory };

  std::string_view name;
  std::string_view title;
  std::string_view operation = "operation";
  needs must_have = needs::nothing;
  tells what = tells::cost;
};

inline constexpr auto needs_two = go_benchmark::needs::two_processors;
inline constexpr auto tells_lateness = go_benchmark::tells::lateness;

/// What it calls is not public outside of Go's package runtime.
inline constexpr std::string_view missing_of_go = "NetpollBreak";

inline constexpr std::string_view chain_title = "1,001 timers of 0, each started by the one before";
inline constexpr std::string_view stop_title = "a timer of 1 s is made and stopped";
inline constexpr std::string_view reset_title = "one timer of 1 h is reset, again and again";
inline constexpr std::string_view latency_title =
    "how late timers of 1 ms fire while the task that started them computes";
inline constexpr std::string_view staggered_title = "how late tickers of 3 ms beat whose tasks compute after each beat";
inline constexpr std::string_view timeout_title = "ten contexts with a timeout of 1 h are made and cancelled";
inline constexpr std::string_view tree_title =
    "chains of contexts below one without end, one that ends, one that has ended";
inline constexpr std::string_view one_shot_title = "connect, 512 bytes and back, with deadlines, close";
inline constexpr std::string_view persistent_title = "512 bytes and back, with deadlines";
inline constexpr std::string_view spinning_title = "two tasks compute and hand over to each other, in turn";
inline constexpr std::string_view syscall_title = "two tasks sleep in the kernel and hand over to each other, in turn";

/// In the order in which they are measured.
inline constexpr std::array go_benchmarks = {
    go_benchmark{"AfterFunc1000", chain_title},
    go_benchmark{"After", "a wait for a timer of 1 ns"},
    go_benchmark{"Stop/impl=chan", stop_title},
    go_benchmark{"Stop/impl=func", stop_title},
    go_benchmark{"SimultaneousAfterFunc1000", "1,000 timers of 0 at the same time"},
    go_benchmark{"StartStop1000", "1,000 timers of 1 h are started, then stopped"},
    go_benchmark{"Reset/impl=chan", reset_title, "reset"},
    go_benchmark{"Reset/impl=func", reset_title, "reset"},
    go_benchmark{"Sleep1000", "1,000 tasks are spawned that sleep for 1 ns"},
    go_benchmark{"Ticker", "a beat of a ticker of 1 ns", "beat"},
    go_benchmark{"TickerReset", "one ticker is reset, again and again", "reset"},
    go_benchmark{"TickerResetNaive", "a ticker is stopped, another one is made"},
    go_benchmark{"AdjustTimers10000", "10,000 timers of 1 h are started, one is reset to 1 ns, all are stopped"},
    go_benchmark{"ParallelTimerLatency", latency_title, "timer", needs_two, tells_lateness},
    go_benchmark{"StaggeredTickerLatency/work=300us/tickers=1", staggered_title, "beat", needs_two, tells_lateness},
    go_benchmark{"StaggeredTickerLatency/work=300us/tickers=2", staggered_title, "beat", needs_two, tells_lateness},
    go_benchmark{"StaggeredTickerLatency/work=300us/tickers=5", staggered_title, "beat", needs_two, tells_lateness},
    go_benchmark{"StaggeredTickerLatency/work=300us/tickers=10", staggered_title, "beat", needs_two, tells_lateness},
    go_benchmark{"StaggeredTickerLatency/work=2ms/tickers=1", staggered_title, "beat", needs_two, tells_lateness},
    go_benchmark{"WithTimeout/concurrency=40", timeout_title},
    go_benchmark{"WithTimeout/concurrency=4000", timeout_title},
    go_benchmark{"WithTimeout/concurrency=400000", timeout_title},
    go_benchmark{"CancelTree/depth=1", tree_title},
    go_benchmark{"CancelTree/depth=10", tree_title},
    go_benchmark{"CancelTree/depth=100", tree_title},
    go_benchmark{"CancelTree/depth=1000", tree_title},
    go_benchmark{"SetReadDeadline", "a connection's read deadline is put off by 1 ns"},
    go_benchmark{"TCP4OneShotTimeout", one_shot_title},
    go_benchmark{"TCP6OneShotTimeout", one_shot_title},
    go_benchmark{"TCP4PersistentTimeout", persistent_title},
    go_benchmark{"TCP6PersistentTimeout", persistent_title},
    go_benchmark{"WakeupParallelSpinning/0s", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSpinning/1us", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSpinning/2us", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSpinning/5us", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSpinning/10us", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSpinning/20us", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSpinning/50us", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSpinning/100us", spinning_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/0s", syscall_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/1us", syscall_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/2us", syscall_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/5us", syscall_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/10us", syscall_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/20us", syscall_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/50us", syscall_title, "round", needs_two},
    go_benchmark{"WakeupParallelSyscall/100us", syscall_title, "round", needs_two},
    go_benchmark{"SleepingTasks100000", "100,000 tasks are spawned that sleep for 1 h", "task",
                 go_benchmark::needs::nothing, go_benchmark::tells::memory},
};

}  // namespace foliot::program::bench
