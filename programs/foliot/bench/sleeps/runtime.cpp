// A task of foliot's runtime that sleeps.
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
  to.push_back({.name = "foliot-runtime", .takes = all_sleeps, .run = [](const trial& asked) {
                  return runtime::run(sleep_in_a_task(asked));
                }});
}

}  // namespace foliot::program::bench
