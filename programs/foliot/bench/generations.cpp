#include "generations.hpp"

#include <algorithm>
#include <iterator>

namespace foliot::program::bench {

const generation* generation_of(std::string_view contestant) noexcept {
  const auto found = std::ranges::find(generations, contestant, &generation::contestant);
  return found == generations.end() ? nullptr : &*found;
}

bool is_of_generations(workload what) noexcept {
  switch (kind_of(what)) {
    case figure_kind::threads:
    case figure_kind::lateness:
    case figure_kind::wake_ups: return true;
    case figure_kind::processors: return about(what).has_worst;
    default: return false;
  }
}

std::vector<workload> generation_workloads() {
  std::vector<workload> all;
  std::ranges::copy_if(all_workloads, std::back_inserter(all), is_of_generations);
  return all;
}

}  // namespace foliot::program::bench
