#include "benchmark.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace foliot::program::bench {

namespace {

/// One or more of Go's own benchmarks, which have the names that Go's test suites give them.
struct go_family {
  std::string_view name;
  std::vector<std::string_view> variants;
  std::string_view title;
  std::string_view operation = "operation";
  int fewest_processors = 1;
  bool has_worst = false;
};

std::vector<go_family> go_families() {
  const std::vector<std::string_view> kinds = {"impl=chan", "impl=func"};
  const std::vector<std::string_view> delays = {"0s", "1us", "2us", "5us", "10us", "20us", "50us", "100us"};
  const std::vector<std::string_view> works = {"work=300us/tickers=1", "work=300us/tickers=2", "work=300us/tickers=5",
                                               "work=300us/tickers=10", "work=2ms/tickers=1"};
  const std::string_view late_timers = "how late timers of 1 ms fire while the task that started them computes";
  const std::string_view late_tickers = "how late tickers of 3 ms tick whose tasks compute after each tick";
  const std::string_view one_shot = "connect, 512 bytes and back, with deadlines, close";
  const std::string_view persistent = "512 bytes and back, with deadlines";
  return {
      {"AfterFunc1000", {}, "1,001 timers of 0, each started by the one before"},
      {"After", {}, "a wait for a timer of 1 ns"},
      {"Stop", kinds, "a timer of 1 s is made and stopped"},
      {"SimultaneousAfterFunc1000", {}, "1,000 timers of 0 at the same time"},
      {"StartStop1000", {}, "1,000 timers of 1 h are started, then stopped"},
      {"Reset", kinds, "one timer of 1 h is reset, again and again", "reset"},
      {"Sleep1000", {}, "1,000 tasks are spawned that sleep for 1 ns"},
      {"Ticker", {}, "a tick of a ticker of 1 ns", "tick"},
      {"TickerReset", {}, "one ticker is reset, again and again", "reset"},
      {"TickerResetNaive", {}, "a ticker is stopped, another one is made"},
      {"AdjustTimers10000", {}, "10,000 timers of 1 h are started, one is reset to 1 ns, all are stopped"},
      {"ParallelTimerLatency", {}, late_timers, "timer", 2, true},
      {"StaggeredTickerLatency", works, late_tickers, "tick", 2, true},
      {"WithTimeout",
       {"concurrency=40", "concurrency=4000", "concurrency=400000"},
       "ten contexts with a timeout of 1 h are made and cancelled"},
      {"CancelTree",
       {"depth=1", "depth=10", "depth=100", "depth=1000"},
       "chains of contexts below one without end, one that ends, one that has ended"},
      {"SetReadDeadline", {}, "a connection's read deadline is postponed by 1 ns"},
      {"TCP4OneShotTimeout", {}, one_shot},
      {"TCP6OneShotTimeout", {}, one_shot},
      {"TCP4PersistentTimeout", {}, persistent},
      {"TCP6PersistentTimeout", {}, persistent},
      {"WakeupParallelSpinning", delays, "two tasks compute and hand over to each other, in turn", "round", 2},
      {"WakeupParallelSyscall", delays, "two tasks sleep in the kernel and hand over to each other, in turn", "round",
       2},
  };
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::vector<benchmark> table_of_benchmarks() {
  using enum figure_kind;
  std::vector<benchmark> all = {
      {"W1", "start one, stop a random one", "start and stop", cost},
      {"W1P", "W1, the victim prefetched 16 ahead", "start and stop", cost},
      {"W2", "heartbeats: reset a random one to 30 s from now", "reset", cost},
      {"W2P", "W2, the victim prefetched 16 ahead", "reset", cost},
      {"W3", "fire all, due over 1 s", "fired timer", cost, 1, true},
      {"W4", "90 % reset, 9 % start and stop, 1 % fire", "operation", cost},
      {"worst-uniform", "single calls, timeouts uniform from 1 ms to 1 h", "call", calls, 1, true},
      {"worst-one-slot", "single calls, all timers due within 262,144 ns", "call", calls, 1, true},
      {"W5W1", "threads share a service: start one, stop a random one", "start and stop", threads},
      {"W5W1-remote", "as W5W1, each timer stopped by another thread than its own", "start and stop", threads, 2},
      {"W5W2", "threads share a service: reset a random one to 30 s from now", "reset", threads},
      {"W6-100us", "how late a sleep of 100 µs ends", "sleep", lateness},
      {"W6-1ms", "how late a sleep of 1 ms ends", "sleep", lateness},
      {"W6-10ms", "how late a sleep of 10 ms ends", "sleep", lateness},
      {"idle", "wake-ups of a service's threads while nothing is due", "second", wake_ups},
      {"idle-ticker", "the same beside one ticker of 10 ms", "second", wake_ups},
  };
  for (const go_family& each : go_families()) {
    benchmark row{.name = std::string(each.name),
                  .title = each.title,
                  .operation = each.operation,
                  .fewest_threads = each.fewest_processors,
                  .has_worst = each.has_worst};
    if (each.variants.empty()) all.push_back(row);
    for (const std::string_view variant : each.variants) {
      row.name = fmt::format("{}/{}", each.name, variant);
      all.push_back(row);
    }
  }
  all.push_back({.name = "SleepingTasks100000",
                 .title = "100,000 tasks are spawned that sleep for 1 h",
                 .operation = "task",
                 .has_memory = true});
  return all;
}

std::vector<workload> workloads_from(std::size_t first, std::size_t last) {
  std::vector<workload> all;
  for (; first < last; ++first) all.push_back(static_cast<workload>(first));
  return all;
}

std::string_view name(figure_kind kind) noexcept {
  constexpr std::array names = {"cost", "calls", "threads", "lateness", "wake-ups", "processors"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<workload> find_workloads(std::string_view wanted) {
  std::vector<workload> found;
  for (const workload each : all_workloads) {
    if (same_letters(name(each), wanted) || same_letters(family_of(each), wanted)) found.push_back(each);
  }
  return found;
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const workload each : all_workloads) {
    if (names.empty() || names.back() != family_of(each)) names.push_back(family_of(each));
  }
  return names;
}

}  // namespace foliot::program::bench
