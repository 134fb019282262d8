// Which processor runs next on virtual time, and when time moves on.
#include "virtual_driver.hpp"

#include "this_thread.hpp"

#include <algorithm>

namespace foliot::runtime::detail {

namespace {

/// After this many tasks the driver runs the timers that are due.
constexpr std::uint64_t due_every = 61;

}  // namespace

virtual_driver::virtual_driver(scheduler& scheduler) : scheduler_(scheduler), random_(scheduler.options().seed) {}

void virtual_driver::drive() {
  for (std::uint64_t round = 1; !scheduler_.is_ending(); ++round) {
    // Time stands still while tasks run. Timers that are due already must still fire if some task always runs.
    if (round % due_every == 0 && fire_due()) continue;
    if (run_some_task() || fire_due()) continue;
    if (expire_late_scopes()) continue;
    if (scheduler_.waiting_for_idle().wake_first()) continue;
    if (!scheduler_.descriptors().empty() && look_into_poller(instant::earliest())) continue;
    if (!move_time_on()) {
      throw deadlock(scheduler_.with_waiting_tasks(
          "foliot: deadlock on virtual time: all tasks wait, and nothing can end their waits"));
    }
  }
}

bool virtual_driver::look_into_poller(instant until) { return scheduler_.poll(scheduler_.all_processors()[0], until); }

bool virtual_driver::has_task() const noexcept {
  if (scheduler_.has_global_task()) return true;
  for (const auto& each : scheduler_.all_processors().all()) {
    if (!each->queue.empty() || !each->run_next.is_empty()) return true;
  }
  return false;
}

/// Runs one task on a processor that the seed chooses: from its own queue, the global run queue, or another processor's
/// queue. Returns false if no task can run.
bool virtual_driver::run_some_task() {
  if (!has_task()) return false;
  // Any processor may be chosen: one without a task of its own steals, as it would on real time.
  processor& p = scheduler_.all_processors()[random_.below(scheduler_.processors())];
  set_this_worker(&p);
  task_state* task = random_.below(8) == 0 ? scheduler_.take_global(p) : nullptr;
  if (task == nullptr) task = scheduler_.take_local(p);
  if (task == nullptr) task = scheduler_.take_global(p);
  if (task == nullptr) {
    const auto all = scheduler_.all_processors().all();  // retired ones too: a task may have retired its own processor
    const std::size_t start = random_.below(all.size());
    for (std::size_t i = 0; i < all.size() && task == nullptr; ++i) {
      processor& victim = *all[(start + i) % all.size()];
      if (&victim == &p) continue;
      task = scheduler_.steal_half(p, victim);
      if (task == nullptr) task = scheduler_.steal_next(p, victim);
    }
  }
  if (task == nullptr) return true;  // the global run queue's turn came first, and found it empty
  scheduler_.run_task(p, *task);
  return true;
}

/// Fires timers that are due at the present time. Callbacks and tasks take no time, but a stalled clock moves on.
bool virtual_driver::fire_due() {
  const processor_set& processors = scheduler_.all_processors();
  const std::size_t count = processors.count();
  const std::size_t start = random_.below(count);
  ready_list ready;
  if (scheduler_.wall().fire(ready)) {
    scheduler_.queue_all(&processors[start], ready);
    return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    processor& p = processors[(start + i) % count];
    set_this_worker(&p);
    if (scheduler_.run_timers(p, &p)) return true;
  }
  return false;
}

bool virtual_driver::expire_late_scopes() {
  ready_list ready;
  if (!scheduler_.late().expire_all(ready)) return false;
  scheduler_.queue_all(nullptr, ready);
  return true;
}

bool virtual_driver::move_time_on() {
  const instant next = scheduler_.options().time_jumps ? scheduler_.next_deadline() : instant::never();
  if (!next.is_never()) {
    scheduler_.virtual_time()->advance_to(next);
    return true;
  }
  // A task waits for a thread outside of the runtime, where time does not stand still, or such a thread has a handle.
  // It ends this wait when it makes a task ready, or drops the last handle.
  if (scheduler_.waits_for_handles() || scheduler_.waits_for_outside()) {
    look_into_poller(instant::never());
    return true;
  }
  return has_task();  // the last handle may have been dropped after a spawn
}

}  // namespace foliot::runtime::detail
