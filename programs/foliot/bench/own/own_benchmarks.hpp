// Go's benchmarks, done with foliot's runtime: for each of them what one operation is, in a file for each group. They
// go by Go's names, up to the first slash; what comes behind it is the variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/runtime/task.hpp>

#include "../trials/trial.hpp"
#include "shares.hpp"

namespace foliot::program::bench {

/// What a benchmark of a runtime is asked.
struct own_trial {
  std::string_view variant;
  std::size_t processors = 1;
  std::int64_t budget = 0;  ///< ns
  bool quick = false;
};

/// Measures it, in a task of the runtime.
using own_benchmark = std::function<runtime::task<finding>(own_trial asked)>;
using own_benchmarks = std::map<std::string_view, own_benchmark>;

/// A benchmark of its own, while timers of an hour are pending at each processor. Given a variant it says what the
/// operations of a share are.
[[nodiscard]] own_benchmark in_garbage(std::function<share_work(std::string_view)> shares);
/// The same without those timers.
[[nodiscard]] own_benchmark alone(std::function<benchmark(std::string_view)> make);

/// The number behind "key=" in a variant, such as "depth=10". Throws std::invalid_argument.
[[nodiscard]] std::uint64_t number_in(std::string_view variant, std::string_view key);
/// The time behind "key=", such as "300us", in ns; an empty key: the variant is the time.
[[nodiscard]] std::int64_t time_in(std::string_view variant, std::string_view key);

/// The average and the worst of so many latenesses, in ns.
[[nodiscard]] finding average_of(const std::vector<std::int64_t>& lateness);

void add_context_benchmarks(own_benchmarks& to);
void add_lateness_benchmarks(own_benchmarks& to);
void add_sleep_benchmarks(own_benchmarks& to);
void add_socket_benchmarks(own_benchmarks& to);
void add_ticker_benchmarks(own_benchmarks& to);
void add_timer_benchmarks(own_benchmarks& to);
void add_wake_up_benchmarks(own_benchmarks& to);

}  // namespace foliot::program::bench
