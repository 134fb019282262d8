// Wake-ups of a runtime whose tasks sleep for an hour and longer: none, or as many as a ticker's beats.
#include <cstddef>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "../quick_random.hpp"
#include "../trials/trial_contestants.hpp"
#include "wake_ups.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::task;

using count = seam::atomic<std::size_t>;

task<> sleep_for(duration length, count& asleep) {
  asleep.fetch_add(1, seam::relaxed);  // a number, which publishes nothing
  co_await runtime::sleep(length);
}

task<> beat() {
  for (instant next = runtime::now() + duration(10ms);; next = next + duration(10ms)) {
    co_await runtime::sleep_until(next);
  }
}

/// Until it is stopped.
task<> have_far_timers(trial asked, count& asleep) {
  quick_random random(asked.seed);
  for (std::size_t i = 0; i < asked.timers; ++i) {
    static_cast<void>(runtime::spawn(sleep_for(far_from(random.next()), asleep), "far"));
  }
  if (asked.what == workload::idle_ticker) static_cast<void>(runtime::spawn(beat(), "ticker"));
  co_await runtime::sleep_until(instant::never());
}

task<> main_task(trial asked, std::stop_token ends, count& asleep) {
  auto inner = runtime::spawn(have_far_timers(asked, asleep), std::move(ends), "timers");
  try {
    co_await inner.join();
  } catch (const runtime::cancelled&) {  // that was to be
  }
}

finding wake_ups_of_runtime(const std::string& timers, const trial& asked) {
  runtime::run_options options;
  options.timers = timers;
  std::stop_source ends;
  const std::set<int> before = threads_alive();
  count asleep{0};
  seam::thread runs("bench", [&] { runtime::run(main_task(asked, ends.get_token(), asleep), options); });
  while (asleep.load(seam::relaxed) < asked.timers)
    note().sleep_until(monotonic_clock::instance().now() + duration(1ms));
  finding found = count_wake_ups(before, asked);
  ends.request_stop();
  runs.join();
  return found;
}

}  // namespace

void add_idle_runtime(std::vector<trial_contestant>& to) {
  const auto add = [&to](std::string name, std::string timers) {
    to.push_back({.name = std::move(name),
                  .takes = {workload::idle, workload::idle_ticker},
                  .may_be_left_out = true,  // there may be no /proc
                  .run = [timers](const trial& asked) { return wake_ups_of_runtime(timers, asked); }});
  };
  add("foliot-runtime", "foliot");
  add("processor-heaps", "processor-heaps");
}

}  // namespace foliot::program::bench
