#include "virtual_driver.hpp"

#include <algorithm>

#include "this_thread.hpp"

namespace foliot::runtime::detail {

namespace {

/// After this many tasks the driver runs the timers that are due.
constexpr std::uint64_t due_every = 61;

}  // namespace

virtual_driver::virtual_driver(scheduler& scheduler) : scheduler_(scheduler), random_(scheduler.options().seed) {
  candidates_.reserve(scheduler::most_processors);
}

void virtual_driver::drive(const task_state& /*main*/) {
  for (std::uint64_t round = 1; !scheduler_.ending_.load(seam::relaxed); ++round) {
    // Time stands still while tasks run. Timers that are due already must still fire if some task always runs.
    if (round % due_every == 0 && fire_what_is_due()) continue;
    if (run_some_task() || fire_what_is_due()) continue;
    if (expire_late_scopes()) continue;
    if (scheduler_.wake_idle_waiter()) continue;
    if (!scheduler_.descriptors_.empty() && scheduler_.poll(scheduler_.processors_[0].get(), instant::earliest()))
      continue;
    if (!move_time_on()) {
      throw deadlock(scheduler_.with_waiting_tasks(
          "foliot: deadlock on virtual time: all tasks wait, and nothing will ever happen"));
    }
  }
}

/// Any processor that can go on does, for one task: from its own queue, the common one, or another's.
bool virtual_driver::run_some_task() {
  candidates_.clear();
  const std::size_t count = scheduler_.count_.load(seam::relaxed);
  bool work = scheduler_.global_size_.load(seam::relaxed) != 0;
  for (std::size_t i = 0; i < scheduler_.made_.load(seam::relaxed); ++i) {
    processor& p = *scheduler_.processors_[i];
    work = work || !p.queue.empty() || p.next_task.load(seam::relaxed) != nullptr;
  }
  if (!work) return false;
  // All that there are: one without work of its own steals, as it would.
  processor& p = *scheduler_.processors_[random_.below(count)];
  set_this_worker(&p);
  task_state* task = random_.below(8) == 0 ? scheduler_.take_global(p) : nullptr;
  if (task == nullptr) task = scheduler_.take_local(p);
  if (task == nullptr) task = scheduler_.take_global(p);
  if (task == nullptr) {
    const std::size_t made = scheduler_.made_.load(seam::relaxed);  // a task may have made its own processor go away
    const std::size_t start = random_.below(made);
    for (std::size_t i = 0; i < made && task == nullptr; ++i) {
      processor& victim = *scheduler_.processors_[(start + i) % made];
      if (&victim == &p) continue;
      task = victim.queue.steal_half(p.queue);
      if (task == nullptr) task = victim.next_task.exchange(nullptr, seam::acq_rel);
    }
  }
  if (task == nullptr) return true;  // the global run queue's turn came first, and found it empty
  scheduler_.run_task(p, *task);
  return true;
}

/// What time has passed already: callbacks and tasks take none, but whoever stalls the clock does.
bool virtual_driver::fire_what_is_due() {
  const std::size_t count = scheduler_.count_.load(seam::relaxed);
  const std::size_t start = random_.below(count);
  ready_list ready;
  if (scheduler_.wall_.fire(ready)) {
    scheduler_.put(scheduler_.processors_[start].get(), ready);
    return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    processor& p = *scheduler_.processors_[(start + i) % count];
    set_this_worker(&p);
    if (scheduler_.run_timers(p, &p)) return true;
  }
  return false;
}

bool virtual_driver::expire_late_scopes() {
  ready_list ready;
  if (!scheduler_.late().expire_all(ready)) return false;
  scheduler_.put(nullptr, ready);
  return true;
}

bool virtual_driver::move_time_on() {
  const instant next = scheduler_.options().time_jumps ? scheduler_.next_deadline() : instant::never();
  if (!next.is_never()) {
    scheduler_.virtual_time()->advance_to(next);
    return true;
  }
  if (!scheduler_.waits_for_outside()) return false;
  // A task waits for a thread outside of the runtime, where time does not stand still. That thread ends this wait when
  // it makes the task ready.
  return scheduler_.poll(scheduler_.processors_[0].get(), instant::never()) || scheduler_.waits_for_outside();
}

}  // namespace foliot::runtime::detail
