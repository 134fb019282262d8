// What the scheduler tells of itself while it runs: counters, histograms, and what each task does.
#include <foliot/runtime/statistics.hpp>

#include <algorithm>
#include <vector>

#include <foliot/runtime/detail/scheduler_calls.hpp>

#include "scheduler.hpp"

namespace foliot::runtime {

namespace detail {

runtime_counters scheduler::counters() const noexcept {
  runtime_counters now;
  const living_tasks::counts living = living_.count();
  now.tasks = living.size;
  now.spawned = living.added;
  now.ready = global_.size_hint();
  for (const auto& each : processors_.all()) {
    const processor& p = *each;
    p.counts.add_to(now);
    now.rounds += p.status.rounds();
    now.fired += p.timers->fired();
    now.timers += p.timers->size();
    now.ready += p.queue.size() + (p.run_next.is_empty() ? 0U : 1U);
    now.running += p.running.load(seam::relaxed) != nullptr ? 1U : 0U;
  }
  now.rescues = monitor_.rescues();
  now.polls = poll_turn_.polls();
  now.descriptor_waits = descriptors_.waits();
  now.blocking_calls = blocking_.calls();
  now.blocking_threads = blocking_.threads();
  now.processors = processors_.count();
  now.idle = idle_.listed();
  return now;
}

runtime_statistics scheduler::statistics() const noexcept {
  runtime_statistics now;
  now.counters = counters();
  now.measured = options_.measure;
  for (const auto& each : processors_.all()) {
    if (each->meter != nullptr) each->meter->add_to(now);
    if (const histogram_recorder* const lateness = each->timers->lateness()) now.lateness += lateness->snapshot();
  }
  return now;
}

void scheduler::visit_tasks(const task_visitor& visit) const {
  std::vector<const task_state*> running;
  for (const auto& each : processors_.all()) {
    if (const task_state* const task = each->running.load(seam::relaxed)) running.push_back(task);
  }
  const instant now = time_.now();
  living_.for_each([&](const task_state& task) {
    // A task that parks, or goes on, between the two looks is said to be ready.
    const task_phase phase = task.wait().is_parked()                              ? task_phase::waiting
                             : std::ranges::find(running, &task) != running.end() ? task_phase::running
                                                                                  : task_phase::ready;
    std::optional<duration> for_so_long;
    if (options_.measure) {
      const duration since_then = now - instant::from_nanoseconds(task.since.load(seam::relaxed));
      for_so_long = std::max(since_then, duration::zero());
    }
    visit(task, phase, for_so_long);
  });
}

}  // namespace detail

runtime_counters counters() { return detail::this_scheduler("counters").counters(); }
runtime_statistics statistics() { return detail::this_scheduler("statistics").statistics(); }

}  // namespace foliot::runtime
