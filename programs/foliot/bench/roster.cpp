#include "roster.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../failure.hpp"
#include "contestants/contestants.hpp"
#include "trials/trial_contestants.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::string_view own_queue = "foliot";

constexpr std::string_view not_installed = "not installed when this program was built";

[[maybe_unused]] void leave_out(roster& all, std::string_view name) {
  all.left_out.push_back({std::string(name), {}, std::string(not_installed)});
}

void add_peers(roster& all) {
  add_multimap(all.contestants);
  add_priority_queue(all.contestants);
#ifdef FOLIOT_WITH_LIBUV
  add_libuv(all.contestants);
#else
  leave_out(all, "libuv");
#endif
#ifdef FOLIOT_WITH_LIBEV
  add_libev(all.contestants);
#else
  leave_out(all, "libev");
#endif
#ifdef FOLIOT_WITH_LIBEVENT
  add_libevent(all.contestants);
#else
  leave_out(all, "libevent");
#endif
#ifdef FOLIOT_WITH_ASIO
  add_asio(all.contestants);
#else
  leave_out(all, "asio");
#endif
}

/// Who shares one service among threads (W5).
void add_shared(roster& all) {
  add_shared_services(all.trials);
  add_shared_runtimes(all.trials);
  add_shared_multimap(all.trials);
#ifdef FOLIOT_WITH_LIBUV
  all.left_out.push_back({"libuv", "W5", "its loop is for one thread"});
#endif
#ifdef FOLIOT_WITH_LIBEV
  all.left_out.push_back({"libev", "W5", "its loop is for one thread"});
#endif
#ifdef FOLIOT_WITH_LIBEVENT_THREADS
  add_shared_libevent(all.trials);
#elif defined(FOLIOT_WITH_LIBEVENT)
  all.left_out.push_back({"libevent", "W5", "its part for threads was " + std::string(not_installed)});
#endif
#ifdef FOLIOT_WITH_ASIO_THREADS
  add_shared_asio(all.trials);
#endif
}

/// Whose sleeps are waited for (W6), and whose wake-ups are counted.
void add_sleeping(roster& all) {
  add_service_sleeps(all.trials);
  add_runtime_sleeps(all.trials);
#ifdef FOLIOT_WITH_LIBUV_SLEEPS
  add_libuv_sleeps(all.trials);
  all.left_out.push_back({"libuv", "W6-100us", "it counts milliseconds"});
#endif
#ifdef FOLIOT_WITH_LIBEV_SLEEPS
  add_libev_sleeps(all.trials);
#endif
#ifdef FOLIOT_WITH_LIBEVENT_SLEEPS
  add_libevent_sleeps(all.trials);
#endif
#ifdef FOLIOT_WITH_ASIO_SLEEPS
  add_asio_sleeps(all.trials);
#endif
  add_system_sleeps(all.trials);
  add_idle_services(all.trials);
  add_idle_runtime(all.trials);
}

/// Other languages' timers.
void add_foreign(roster& all) {
  add_foreign_peers(all.trials);
  all.left_out.push_back(
      {"go", std::string(missing_of_go), "what it measures is not public outside of Go's package runtime"});
  all.left_out.push_back({"tokio", "W5W1-remote", "a Sleep belongs to its task"});
  all.left_out.push_back({"erlang", "W5W1-remote", "each stop would be a message to the owner"});
  all.left_out.push_back({"erlang", "W6-100us", "it counts milliseconds"});
}

failure unknown(const roster& all, std::string_view name) {
  if (std::ranges::find(all.left_out, name, &absence::name) != all.left_out.end()) {
    return failure(fmt::format("--contestants: {} was {}", name, not_installed));
  }
  return failure(fmt::format("--contestants: there is no '{}'; there are {}", name, fmt::join(all.names(), ", ")));
}

template <class Contestant>
void take(std::vector<Contestant>& to, const std::vector<Contestant>& from, std::string_view name) {
  std::ranges::copy_if(from, std::back_inserter(to), [name](const Contestant& each) { return each.name == name; });
}

}  // namespace

roster everybody() {
  roster all;
  add_queues(all.contestants);
  add_floors(all.contestants);
  add_peers(all);
  add_shared(all);
  add_sleeping(all);
  add_runtimes(all.trials);
  add_foreign(all);
  return all;
}

std::vector<std::string> roster::names() const {
  std::vector<std::string> all;
  const auto add = [&all](const auto& each) {
    if (std::ranges::find(all, each.name) == all.end()) all.push_back(each.name);
  };
  std::ranges::for_each(contestants, add);
  std::ranges::for_each(trials, add);
  return all;
}

roster select(roster all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  const std::vector<std::string> known = all.names();
  roster chosen;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) throw unknown(all, name);
    if (const auto before = chosen.names(); std::ranges::find(before, name) != before.end()) continue;
    take(chosen.contestants, all.contestants, name);
    take(chosen.trials, all.trials, name);
    take(chosen.left_out, all.left_out, name);
  }
  return chosen;
}

std::vector<std::string> taking_part(const roster& all, const std::vector<workload>& in) {
  roster some;
  const auto takes_part = [&in](const auto& each) {
    return std::ranges::any_of(in, [&each](workload what) { return each.takes_part(what); });
  };
  std::ranges::copy_if(all.contestants, std::back_inserter(some.contestants), takes_part);
  std::ranges::copy_if(all.trials, std::back_inserter(some.trials), takes_part);
  return some.names();
}

std::string_view reference_of(const roster& who) {
  const auto own = std::ranges::find(who.contestants, own_queue, &contestant::name);
  const auto own_service = std::ranges::find(who.trials, own_queue, &trial_contestant::name);
  if (own != who.contestants.end() || own_service != who.trials.end()) return own_queue;
  const auto first = std::ranges::find(who.contestants, true, &contestant::project_queue);
  return first == who.contestants.end() ? std::string_view() : std::string_view(first->name);
}

}  // namespace foliot::program::bench
