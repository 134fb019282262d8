#include "roster.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::string_view own = "foliot";
constexpr std::string_view not_installed = "not installed when this program was built";

[[maybe_unused]] void add_missing(roster& all, std::string_view name) {
  all.left_out.push_back({std::string(name), {}, std::string(not_installed)});
}

void add_libraries(roster& all) {
#ifdef FOLIOT_WITH_LIBUV
  add_libuv(all);
#else
  add_missing(all, "libuv");
#endif
#ifdef FOLIOT_WITH_LIBEV
  add_libev(all);
#else
  add_missing(all, "libev");
#endif
#ifdef FOLIOT_WITH_LIBEVENT
  add_libevent(all);
#else
  add_missing(all, "libevent");
#endif
#ifdef FOLIOT_WITH_ASIO
  add_asio(all);
#else
  add_missing(all, "asio");
#endif
}

failure unknown(const roster& all, std::string_view name) {
  if (std::ranges::find(all.left_out, name, &absence::name) != all.left_out.end()) {
    return failure(fmt::format("--contestants: {} was {}", name, not_installed));
  }
  return failure(fmt::format("--contestants: there is no '{}'; there are {}", name, fmt::join(all.names(), ", ")));
}

}  // namespace

contestant& roster::add(std::string_view name) {
  const auto known = std::ranges::find(contestants, name, &contestant::name);
  if (known != contestants.end()) return *known;
  contestants.push_back({.name = std::string(name)});
  return contestants.back();
}

contestant& roster::add(std::string_view name, offer also) {
  contestant& of = add(name);
  of.offers.push_back(std::move(also));
  return of;
}

std::vector<std::string> roster::names() const {
  std::vector<std::string> all;
  for (const contestant& each : contestants) all.push_back(each.name);
  return all;
}

roster all_contestants() {
  roster all;
  add_queues(all);
  add_plain_sets(all);
  add_libraries(all);
  add_services(all);
  add_runtimes(all);
  add_system_calls(all);
  add_other_languages(all);
  return all;
}

roster select(roster all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  roster chosen;
  for (const std::string& name : names) {
    const contestant* const known = all.find(name);
    if (known == nullptr) throw unknown(all, name);
    if (chosen.find(name) != nullptr) continue;
    chosen.contestants.push_back(*known);
    std::ranges::copy_if(all.left_out, std::back_inserter(chosen.left_out),
                         [&name](const absence& each) { return each.name == name; });
  }
  return chosen;
}

std::vector<std::string> taking_part(const roster& all, const std::vector<workload>& in) {
  std::vector<std::string> names;
  for (const contestant& each : all.contestants) {
    if (std::ranges::any_of(in, [&each](workload what) { return each.takes_part(what); })) names.push_back(each.name);
  }
  return names;
}

std::string_view reference_of(const roster& all) {
  if (all.find(own) != nullptr) return own;
  const auto first = std::ranges::find(all.contestants, true, &contestant::project_queue);
  return first == all.contestants.end() ? std::string_view() : std::string_view(first->name);
}

}  // namespace foliot::program::bench
