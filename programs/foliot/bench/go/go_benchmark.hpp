// Go's benchmarks, done with foliot's runtime: for each of them what one operation is, in a file for each group. They
// go by Go's names, up to the first slash; what follows it is the variant. bench/peers/go does the same with Go's
// runtime.
//
// Thread safety: none, one thread; what a benchmark measures runs on the processors of a runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/task.hpp>

#include "../contestant.hpp"
#include "shares.hpp"

namespace foliot::program::bench {

/// What is asked of a benchmark.
struct go_request {
  std::string_view variant;
  std::size_t processors = 1;
  duration budget{};
  bool quick = false;
};

/// Measures, in a task of the runtime. Throws failure, or what the runtime throws.
using go_benchmark = std::function<runtime::task<sample>(go_request asked)>;
using go_benchmarks = std::map<std::string_view, go_benchmark>;

/// Offers all of them for this contestant, with a runtime whose processors have these timers.
void add_go_benchmarks(contestant& to, const std::string& timers);

/// A benchmark whose operations tasks share, while timers of an hour are pending at each processor. `work` is given the
/// variant, and returns what does the operations of a share.
[[nodiscard]] go_benchmark beside_pending_timers(std::function<share_work(std::string_view variant)> work);
/// A benchmark without such timers. `make` is given the variant.
[[nodiscard]] go_benchmark alone(std::function<counted_work(std::string_view variant)> make);

/// The number behind "key=" in a variant, such as "depth=10". Throws std::invalid_argument.
[[nodiscard]] std::uint64_t number_in(std::string_view variant, std::string_view key);
/// The time behind "key=", such as "300us"; with an empty key the variant is the time. Throws std::invalid_argument.
[[nodiscard]] duration time_in(std::string_view variant, std::string_view key);

/// The average and the worst of so many latenesses. Throws failure if there are none.
[[nodiscard]] sample average_of(const std::vector<duration>& lateness);

void add_context_benchmarks(go_benchmarks& to);
void add_lateness_benchmarks(go_benchmarks& to);
void add_sleep_benchmarks(go_benchmarks& to);
void add_socket_benchmarks(go_benchmarks& to);
void add_timer_benchmarks(go_benchmarks& to);
void add_wake_up_benchmarks(go_benchmarks& to);

}  // namespace foliot::program::bench
