// A task of foliot's runtime that sleeps, with each of the timers that its processors can have.
#include <string>
#include <utility>
#include <vector>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/task.hpp>

#include "../trials/trial_contestants.hpp"
#include "sleep_log.hpp"

namespace foliot::program::bench {

namespace {

runtime::task<finding> sleep_in_a_task(trial asked) {
  sleep_log sleeps(asked);
  while (sleeps.more()) {
    const instant deadline = sleeps.begin();
    co_await runtime::sleep_until(deadline);
    sleeps.end();
  }
  co_return sleeps.found();
}

}  // namespace

void add_runtime_sleeps(std::vector<trial_contestant>& to) {
  const auto add = [&to](std::string name, std::string timers) {
    to.push_back({.name = std::move(name), .takes = all_sleeps, .run = [timers](const trial& asked) {
                    runtime::run_options options;
                    options.timers = timers;
                    return runtime::run(sleep_in_a_task(asked), options);
                  }});
  };
  add("foliot-runtime", "foliot");
  add("processor-heaps", "processor-heaps");
}

}  // namespace foliot::program::bench
