#include "workload.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace foliot::program::bench {

namespace {

struct description {
  workload what;
  std::string_view name;
  std::string_view title;
  std::string_view operation;
  figure_kind kind = figure_kind::cost;
};

constexpr std::array descriptions = {
    description{workload::w1, "W1", "start one, stop a random one", "start and stop"},
    description{workload::w1p, "W1P", "W1, the victim prefetched 16 ahead", "start and stop"},
    description{workload::w2, "W2", "heartbeats: reset a random one to 30 s from now", "reset"},
    description{workload::w2p, "W2P", "W2, the victim prefetched 16 ahead", "reset"},
    description{workload::w3, "W3", "fire all, due over 1 s", "fired timer"},
    description{workload::w4, "W4", "90 % reset, 9 % start and stop, 1 % fire", "operation"},
    description{workload::worst_uniform, "worst-uniform", "single calls, timeouts uniform from 1 ms to 1 h", "call",
                figure_kind::calls},
    description{workload::worst_one_slot, "worst-one-slot", "single calls, all timers due within 262,144 ns", "call",
                figure_kind::calls},
    description{workload::w5w1, "W5W1", "threads share a service: start one, stop a random one", "start and stop",
                figure_kind::threads},
    description{workload::w5w1_remote, "W5W1-remote", "as W5W1, each timer stopped by another thread than its own",
                "start and stop", figure_kind::threads},
    description{workload::w5w2, "W5W2", "threads share a service: reset a random one to 30 s from now", "reset",
                figure_kind::threads},
    description{workload::w6_100us, "W6-100us", "how late a sleep of 100 µs ends", "sleep", figure_kind::lateness},
    description{workload::w6_1ms, "W6-1ms", "how late a sleep of 1 ms ends", "sleep", figure_kind::lateness},
    description{workload::w6_10ms, "W6-10ms", "how late a sleep of 10 ms ends", "sleep", figure_kind::lateness},
    description{workload::idle, "idle", "wake-ups of a service's threads while nothing is due", "second",
                figure_kind::wake_ups},
    description{workload::idle_ticker, "idle-ticker", "the same beside one ticker of 10 ms", "second",
                figure_kind::wake_ups},
};

static_assert(descriptions.size() == workloads_of_go);

/// Null: it is none of Go's.
const go_benchmark* go_benchmark_of(workload what) noexcept {
  const auto place = static_cast<std::size_t>(what);
  return place < workloads_of_go ? nullptr : &go_benchmarks[place - workloads_of_go];
}

description describe(workload what) noexcept {
  if (const go_benchmark* const go = go_benchmark_of(what)) {
    return {what, go->name, go->title, go->operation, figure_kind::processors};
  }
  return *std::ranges::find(descriptions, what, &description::what);
}

std::string_view family_of(std::string_view name) { return name.substr(0, name.find('/')); }

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string_view name(workload what) noexcept { return describe(what).name; }
std::string_view title(workload what) noexcept { return describe(what).title; }
std::string_view operation_of(workload what) noexcept { return describe(what).operation; }

figure_kind kind_of(workload what) noexcept { return describe(what).kind; }

std::string_view name(figure_kind kind) noexcept {
  switch (kind) {
    case figure_kind::cost: return "cost";
    case figure_kind::calls: return "calls";
    case figure_kind::threads: return "threads";
    case figure_kind::lateness: return "lateness";
    case figure_kind::wake_ups: return "wake-ups";
    case figure_kind::processors: break;
  }
  return "processors";
}

std::string_view unit_of(workload what) noexcept {
  return kind_of(what) == figure_kind::wake_ups ? "wake-ups/s" : "ns";
}

bool is_trial(workload what) noexcept {
  const figure_kind kind = kind_of(what);
  return kind != figure_kind::cost && kind != figure_kind::calls;
}

bool times_calls(workload what) noexcept { return kind_of(what) == figure_kind::calls; }

bool needs_fires(workload what) noexcept { return what == workload::w3 || times_calls(what); }

int fewest_threads(workload what) noexcept {
  if (what == workload::w5w1_remote) return 2;  // with one there is no other thread
  const go_benchmark* const go = go_benchmark_of(what);
  return go != nullptr && go->must_have == needs_two ? 2 : 1;
}

bool tells_worst(workload what) noexcept {
  const go_benchmark* const go = go_benchmark_of(what);
  return go != nullptr && go->what == tells_lateness;
}

bool tells_memory(workload what) noexcept {
  const go_benchmark* const go = go_benchmark_of(what);
  return go != nullptr && go->what == go_benchmark::tells::memory;
}

std::vector<workload> find_workloads(std::string_view wanted) {
  std::vector<workload> found;
  for (const workload each : all_workloads) {
    if (same_letters(name(each), wanted) || same_letters(family_of(name(each)), wanted)) found.push_back(each);
  }
  return found;
}

std::vector<std::string_view> workload_names() {
  std::vector<std::string_view> names;
  for (const workload each : all_workloads) {
    if (const std::string_view family = family_of(name(each)); names.empty() || names.back() != family) {
      names.push_back(family);
    }
  }
  return names;
}

}  // namespace foliot::program::bench
