#include "roster.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "../failure.hpp"
#include "contestants/contestants.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::string_view own_queue = "foliot";

void add_peers(roster& all) {
  add_multimap(all.contestants);
  add_priority_queue(all.contestants);
#ifdef FOLIOT_WITH_LIBUV
  add_libuv(all.contestants);
#else
  all.left_out.emplace_back("libuv");
#endif
#ifdef FOLIOT_WITH_LIBEV
  add_libev(all.contestants);
#else
  all.left_out.emplace_back("libev");
#endif
#ifdef FOLIOT_WITH_LIBEVENT
  add_libevent(all.contestants);
#else
  all.left_out.emplace_back("libevent");
#endif
#ifdef FOLIOT_WITH_ASIO
  add_asio(all.contestants);
#else
  all.left_out.emplace_back("asio");
#endif
}

failure unknown(const roster& all, std::string_view name) {
  if (std::ranges::find(all.left_out, name) != all.left_out.end()) {
    return failure(fmt::format("--contestants: {} was not installed when this program was built", name));
  }
  std::string names;
  for (const contestant& each : all.contestants) {
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return failure(fmt::format("--contestants: there is no '{}'; there are {}", name, names));
}

}  // namespace

roster everybody() {
  roster all;
  add_queues(all.contestants);
  add_floors(all.contestants);
  add_peers(all);
  return all;
}

roster select(roster all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  roster chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all.contestants, name, &contestant::name);
    if (found == all.contestants.end()) throw unknown(all, name);
    if (std::ranges::find(chosen.contestants, name, &contestant::name) == chosen.contestants.end()) {
      chosen.contestants.push_back(*found);
    }
  }
  return chosen;
}

std::string_view reference_of(const std::vector<contestant>& contestants) {
  for (const contestant& each : contestants) {
    if (each.name == own_queue) return each.name;
  }
  const auto first = std::ranges::find(contestants, true, &contestant::project_queue);
  return first == contestants.end() ? std::string_view() : std::string_view(first->name);
}

}  // namespace foliot::program::bench
