#include "benchmark.hpp"

#include <algorithm>
#include <cctype>

namespace foliot::program::bench {

static_assert(about(workload::worst_one_slot).name == "worst-one-slot");
static_assert(about(workload::idle_ticker).name == "idle-ticker");
static_assert(about(workload::first_of_go).name == "AfterFunc1000");

namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

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
