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
};

constexpr std::array descriptions = {
    description{workload::w1, "W1", "start one, stop a random one", "start and stop"},
    description{workload::w1p, "W1P", "W1, the victim prefetched 16 ahead", "start and stop"},
    description{workload::w2, "W2", "heartbeats: reset a random one to 30 s from now", "reset"},
    description{workload::w2p, "W2P", "W2, the victim prefetched 16 ahead", "reset"},
    description{workload::w3, "W3", "fire all, due over 1 s", "fired timer"},
    description{workload::w4, "W4", "90 % reset, 9 % start and stop, 1 % fire", "operation"},
    description{workload::worst_uniform, "worst-uniform", "single calls, timeouts uniform from 1 ms to 1 h", "call"},
    description{workload::worst_one_slot, "worst-one-slot", "single calls, all timers due within 262,144 ns", "call"},
};

const description& describe(workload what) noexcept {
  return *std::ranges::find(descriptions, what, &description::what);
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string_view name(workload what) noexcept { return describe(what).name; }
std::string_view title(workload what) noexcept { return describe(what).title; }
std::string_view operation_of(workload what) noexcept { return describe(what).operation; }

bool times_calls(workload what) noexcept { return what == workload::worst_uniform || what == workload::worst_one_slot; }

bool needs_fires(workload what) noexcept { return what == workload::w3 || times_calls(what); }

std::optional<workload> find_workload(std::string_view name) {
  for (const description& each : descriptions) {
    if (same_letters(each.name, name)) return each.what;
  }
  return std::nullopt;
}

std::string workload_names() {
  std::string names;
  for (const description& each : descriptions) {
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return names;
}

}  // namespace foliot::program::bench
