// foliot's runtime, with each of the timers that its processors can have, where others share a service: a task on each
// processor does what a thread does there, and the timers that it starts lie at its processor.
//
// A processor looks at its timers between two tasks. So each task lets go of it after 1,024 operations, and goes on at
// once: what the timers of a processor want done is done inside the figure. The tasks keep to their processors, since
// none of these is ever without a task.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "../trials/trial_contestants.hpp"
#include "crew.hpp"

namespace foliot::program::bench {

namespace {

using runtime::task;

class runtime_timers {
 public:
  struct hand {};

  explicit runtime_timers(std::size_t count) : timers_(count) {}

  void make(std::size_t index) {
    timers_[index] = runtime::callback_timer([] {});
  }
  void start(hand /*mine*/, std::size_t index, std::int64_t delay) {
    timers_[index].reset(duration::nanoseconds(delay));
  }
  bool stop(hand /*mine*/, std::size_t index) { return timers_[index].stop() == stop_result::stopped; }
  void reset(hand /*mine*/, std::size_t index, std::int64_t delay) {
    timers_[index].reset(duration::nanoseconds(delay));
  }
  void refresh(hand /*mine*/) {}

 private:
  std::vector<runtime::callback_timer> timers_;
};

task<> work(crew<runtime_timers>& all, int index) {
  if (!all.begin(index)) co_return;
  while (all.go_on(index)) co_await runtime::yield();
}

/// All members at the same time: none of them begins before each has a processor.
void spawn_members(crew<runtime_timers>& all, int count, std::vector<runtime::join_handle<>>& members) {
  try {
    for (int i = 0; i < count; ++i) members.push_back(runtime::spawn(work(all, i), "member"));
  } catch (const std::exception& error) {
    all.give_up(error.what());
  }
}

task<finding> share_a_runtime(trial asked) {
  runtime_timers timers(timers_of_all(asked));
  crew<runtime_timers> all(timers, asked);
  std::vector<runtime::join_handle<>> members;
  spawn_members(all, asked.threads, members);
  for (runtime::join_handle<>& each : members) co_await each.join();
  co_return all.result();
}

finding share_a_runtime_with(const std::string& timers, const trial& asked) {
  finding found;
  // In a thread that ends with it: each worker is kept on a core from some point on.
  seam::thread runs("bench", [&] {
    runtime::run_options options;
    options.processors = static_cast<std::size_t>(asked.threads);
    options.timers = timers;
    try {
      found = runtime::run(share_a_runtime(asked), options);
    } catch (const std::exception& error) {
      found.wrong = error.what();
    }
  });
  runs.join();
  return found;
}

}  // namespace

void add_shared_runtimes(std::vector<trial_contestant>& to) {
  const auto add = [&to](std::string name, std::string timers) {
    to.push_back(
        {.name = std::move(name),
         .remark = "in W5 a runtime, with a task on each processor instead of threads",
         .takes = {workload::w5w1, workload::w5w1_remote, workload::w5w2},
         .run = [timers = std::move(timers)](const trial& asked) { return share_a_runtime_with(timers, asked); }});
  };
  add("processor-heaps", "processor-heaps");
  add("foliot-runtime", "foliot");
}

}  // namespace foliot::program::bench
