// The number of processors: how their workers start, leave, and hand over their tasks and timers.
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <foliot/core/seam/system.hpp>

#include "scheduler.hpp"
#include "this_thread.hpp"
#include "timers_by_name.hpp"
#include "worker_slack.hpp"

namespace foliot::runtime::detail {

processor& scheduler::make_processor() {
  const auto id = static_cast<std::uint32_t>(processors_.made());
  auto timers = make_timers(options_, id, time_.now());
  if (options_.measure) timers->measure_lateness();
  return processors_.add(std::make_unique<processor>(*this, id, std::move(timers), turn_meter::wanted_by(options_),
                                                     options_.seed * processor_set::most + id));
}

void scheduler::start_workers() {
  const lock one_at_a_time(changing_);  // the main task may run already, and change the number of processors
  for (std::size_t i = 1; i < processors_.count(); ++i) start_worker(processors_[i]);
}

void scheduler::start_worker(processor& p) {
  {
    const lock held(lock_);
    p.tenure.begin(lock_);
  }
  const auto body = [this, &p] {
    seam::set_timer_slack(worker_slack);
    set_this_worker(&p);
    p.status.begin_work();
    work(p);
    p.status.end_work();
    if (!is_ending()) retire(p);
    set_this_worker(nullptr);
  };
  try {
    p.thread = seam::thread("foliot-worker", body);
  } catch (...) {
    const lock held(lock_);
    p.tenure.end(lock_);
    throw;
  }
}

/// Returns true if the worker leaves: because the run ends, or because it was asked to leave and has handed over its
/// timers. Returns false if there is no memory for that, or if set_processors() wants it back.
bool scheduler::try_leave(processor& p) noexcept {
  stop_spinning(p);  // a worker that left while it is counted would keep all others from being woken
  if (is_ending()) return true;
  if (!hand_over_timers(p)) {
    p.own().hand_over_failed = true;
    return false;
  }
  bool left = false;
  {
    const lock held(lock_);
    left = p.tenure.leave(lock_);
  }
  if (!left) p.timers->reopen();
  return left;
}

/// A processor that was to go away comes back. Returns false if its worker has left already, or never started.
bool scheduler::try_keep(processor& p) noexcept {
  if (!p.thread.joinable()) return false;
  const lock held(lock_);
  return p.tenure.stay(lock_);
}

void scheduler::set_processors(std::size_t count) {
  if (count == 0 || count > processor_set::most) {
    throw std::invalid_argument("foliot: a runtime can have 1 to 256 processors, not " + std::to_string(count));
  }
  const lock one_at_a_time(changing_);
  if (virtual_time() != nullptr) return set_processors_virtually(count);
  std::size_t now = processors_.count();
  for (; now < count && !is_ending(); ++now) {
    processor& p = now == processors_.made() ? make_processor() : processors_[now];
    if (!try_keep(p)) {
      if (p.thread.joinable()) p.thread.join();  // it runs no tasks any more, which could wait for changing_
      start_worker(p);
      p.timers->reopen();  // last: without a worker no thread would run them
    }
    const lock held(lock_);
    processors_.set_count(now + 1);
  }
  for (; now > count; --now) {
    processor& p = processors_[now - 1];
    {
      const lock held(lock_);
      processors_.set_count(now - 1);
    }
    p.tenure.ask_to_leave();
    notify(p);
  }
}

void scheduler::set_processors_virtually(std::size_t count) {
  std::size_t now = processors_.count();
  for (; now < count; ++now) {
    processor& p = now == processors_.made() ? make_processor() : processors_[now];
    p.timers->reopen();
    processors_.set_count(now + 1);
  }
  for (; now > count; --now) {
    processor& p = processors_[now - 1];
    if (!hand_over_timers(p)) throw std::bad_alloc();
    processors_.set_count(now - 1);
    retire(p);
  }
}

/// Moves the timers of a processor that is about to go away to the first processor. Returns false, with nothing
/// changed, if there is no memory for that. Called by the processor's worker, or on virtual time by the driver.
bool scheduler::hand_over_timers(processor& p) noexcept {
  processor& heir = processors_[0];
  try {
    heir.timers->take_all(*p.timers);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (virtual_time() != nullptr) return true;
  seam::full_fence();  // pairs with the one in sleep()
  notify(heir);
  monitor_.guard(heir.timers->first());  // H8: the heir's worker may be in a task that computes
  return true;
}

/// Moves the tasks of a processor that has gone away to the global run queue. Called by the processor's worker, or on
/// virtual time by the driver.
void scheduler::retire(processor& p) noexcept {
  while (task_state* const task = p.queue.pop()) {
    const lock held(lock_);
    global_.push_back(*task, lock_);
  }
  if (task_state* const task = p.run_next.take()) {
    const lock held(lock_);
    global_.push_back(*task, lock_);
  }
  if (virtual_time() != nullptr) return;
  {
    const lock held(lock_);
    p.tenure.end(lock_);  // before the wake-up: the worker that is woken sleeps again, and looks for a deadlock
  }
  seam::full_fence();  // pairs with the one in sleep()
  wake_one();
}

/// Threads of processors that have gone away may not have ended yet, and must not be taken for threads from outside of
/// the runtime.
void scheduler::join_retired() noexcept {
  const lock one_at_a_time(changing_);
  if (is_ending()) return;  // end_workers() joins them
  for (const auto& each : processors_.all().subspan(1)) {
    if (!each->thread.joinable()) continue;
    bool left = false;
    {
      const lock held(lock_);
      left = each->tenure.has_left(lock_);
    }
    if (left) each->thread.join();
  }
}

}  // namespace foliot::runtime::detail
