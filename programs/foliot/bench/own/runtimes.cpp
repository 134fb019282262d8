// foliot's runtime, with each of the timers that its processors can have, as contestants of Go.
#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <foliot/runtime/run.hpp>

#include "../own_process.hpp"
#include "../trials/trial_contestants.hpp"
#include "own_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

const own_benchmarks& all_benchmarks() {
  static const own_benchmarks all = [] {
    own_benchmarks made;
    add_context_benchmarks(made);
    add_lateness_benchmarks(made);
    add_sleep_benchmarks(made);
    add_socket_benchmarks(made);
    add_ticker_benchmarks(made);
    add_timer_benchmarks(made);
    add_wake_up_benchmarks(made);
    return made;
  }();
  return all;
}

std::string_view family_of(std::string_view name) { return name.substr(0, name.find('/')); }

finding run(const own_benchmark& what, const own_trial& own, const std::string& timers) {
  runtime::run_options options;
  options.processors = own.processors;
  options.timers = timers;
  try {
    return runtime::run(what(own), options);
  } catch (const std::exception& error) {
    return {.wrong = error.what()};
  }
}

/// In a process of its own, where no memory is used again.
finding run_afresh(const own_benchmark& what, const own_trial& own, const std::string& timers) {
  struct figures {
    double nanoseconds;
    double bytes;
  };
  const auto found = in_own_process([&] {
    const finding told = run(what, own, timers);
    return figures{told.figure, told.bytes.value_or(0)};
  });
  if (!found) return {.wrong = "it got no process of its own"};
  return {.figure = found->nanoseconds, .bytes = found->bytes};
}

finding measure(const std::string& timers, const trial& asked) {
  const std::string_view name = bench::name(asked.what);
  const std::string_view family = family_of(name);
  const own_trial own{.variant = name.substr(std::min(family.size() + 1, name.size())),
                      .processors = static_cast<std::size_t>(asked.threads),
                      .budget = asked.nanoseconds,
                      .quick = asked.quick};
  const own_benchmark& what = all_benchmarks().at(family);
  return tells_memory(asked.what) ? run_afresh(what, own, timers) : run(what, own, timers);
}

}  // namespace

void add_runtimes(std::vector<trial_contestant>& to) {
  // Other timers are a line here.
  for (const std::string timers : {"foliot", "processor-heaps"}) {
    std::vector<workload> takes;
    for (const workload each : go_workloads) {
      if (all_benchmarks().contains(family_of(name(each)))) takes.push_back(each);
    }
    const auto run = [timers](const trial& asked) { return measure(timers, asked); };
    const auto over_ip6 = std::ranges::partition(takes, [](workload each) { return !name(each).starts_with("TCP6"); });
    const std::vector<workload> may_be_impossible(over_ip6.begin(), over_ip6.end());
    takes.erase(over_ip6.begin(), over_ip6.end());
    to.push_back({.name = timers, .takes = std::move(takes), .run = run});
    // Not every machine has IPv6.
    to.push_back({.name = timers, .takes = may_be_impossible, .may_be_left_out = true, .run = run});
  }
}

}  // namespace foliot::program::bench
