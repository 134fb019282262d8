// A run of the runtime, from its beginning to its end: how it starts, how a task runs, and how the tasks that have not
// ended are destroyed.
#include "scheduler.hpp"
#include "task_name_copy.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include <foliot/core/seam/system.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>

#include "core/seam/perturb.hpp"
#include "core/seam/probes.hpp"
#include "this_thread.hpp"
#include "timers_by_name.hpp"
#include "virtual_driver.hpp"
#include "worker_slack.hpp"

namespace foliot::runtime::detail {

namespace probes = foliot::detail::probes;

namespace {

std::size_t processors_of(std::size_t wanted) {
  if (wanted > processor_set::most) {
    throw std::invalid_argument("foliot: a runtime can have 1 to 256 processors, not " + std::to_string(wanted));
  }
  return wanted != 0 ? wanted : std::min(seam::processors(), processor_set::most);
}

const clock& clock_of(const run_options& options) noexcept {
  if (options.clock != nullptr) return *options.clock;
  return monotonic_clock::instance();
}

void report_to_standard_error(std::string_view task, const std::exception_ptr& failure) {
  const int length = static_cast<int>(task.size());
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "foliot: the task '%.*s' failed, and no task joins it: %s\n", length, task.data(),
                 error.what());
  } catch (...) {
    std::fprintf(stderr, "foliot: the task '%.*s' failed, and no task joins it\n", length, task.data());
  }
}

/// Whether a task ended by this because it was asked to stop.
bool is_expected(const std::exception_ptr& failure, bool was_stopped) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const join_cancelled&) {  // the stop of another task
    return was_stopped;
  } catch (const cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

run_options checked(run_options options) {
  // On virtual time a run is the same on every machine.
  options.processors = processors_of(options.clock != nullptr && options.processors == 0 ? 1 : options.processors);
  if (options.blocking_threads == 0) {
    throw std::invalid_argument("foliot: a runtime needs at least 1 thread for blocking calls, not 0");
  }
  if (options.slow_task.tell && options.slow_task.longer_than < duration::zero()) {
    throw std::invalid_argument("foliot: slow_task.longer_than must not be negative, but is " +
                                to_string(options.slow_task.longer_than));
  }
  if (options.stuck_task.tell && options.stuck_task.longer_than <= duration::zero()) {
    throw std::invalid_argument("foliot: stuck_task.longer_than must be positive, but is " +
                                to_string(options.stuck_task.longer_than));
  }
  check_timers_name(options.timers);
  if (!options.on_failure) options.on_failure = report_to_standard_error;
  return options;
}

}  // namespace

scheduler::scheduler(const run_options& options)
    : options_(checked(options)),
      time_(clock_of(options_)),
      blocking_(options_.blocking_threads, this),
      monitor_(*this) {
  for (std::size_t i = 0; i < options_.processors; ++i) make_processor();
  processors_.set_count(options_.processors);
}

scheduler::~scheduler() { gate_->close(); }

processor* scheduler::this_processor() const noexcept {
  processor* const p = this_worker();
  return p != nullptr && &p->owner == this ? p : nullptr;
}

void scheduler::run(task_state& main, frame& body) {
  if (this_worker() != nullptr) {
    main.finish(task_state::ending::abandoned);  // it was never launched
    main.release();
    throw std::logic_error("foliot: a task must not run a runtime inside it: spawn another task");
  }
  // The calling thread is a worker, and its timers are as exact as the others'.
  const duration slack = seam::set_timer_slack(worker_slack);
  const auto leave = [this, slack] {
    end_workers();
    abandon_tasks();
    set_this_worker(nullptr);
    seam::set_timer_slack(slack);
  };
  processor& first = processors_[0];
  set_this_worker(&first);
  try {
    launch(main, body);
    if (virtual_time() != nullptr) {
      virtual_driver(*this).drive();
    } else {
      monitor_.start();
      {
        const lock held(lock_);
        first.tenure.begin(lock_);
        monitor_.arm(instant::never());  // all processors begin busy
      }
      start_workers();
      first.status.begin_work();
      work(first);
      throw_if_dead();
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

void scheduler::work(processor& p) noexcept {
  do {
    while (task_state* const task = find_task(p)) run_task(p, *task);
  } while (!try_leave(p));
}

void scheduler::run_task(processor& p, task_state& task) noexcept {
  task.on = &p;
  p.running.store(&task, seam::relaxed);
  p.counts.count_turn();
  probes::task_run(&task, task.name(), p.id);
  if (virtual_time() == nullptr) seam::perturb(6);
  if (p.meter == nullptr) [[likely]] {
    give_turn(p, task);
  } else {
    give_measured_turn(p, task);
  }
  probes::task_stop(&task, p.id);
  p.running.store(nullptr, seam::relaxed);
  if (task_state* const ended = std::exchange(p.ended, nullptr)) end_task(*ended);
}

inline void scheduler::give_turn(processor& p, task_state& task) noexcept {
  task.turn.begin();
  p.next = task.resume;
  for (;;) {
    std::exchange(p.next, nullptr)->resume();
    if (virtual_time() == nullptr) seam::perturb(40);
    if (p.next == nullptr) break;  // the task has ended, or it waits, and another worker may run it already
    if (!task.turn.spend()) [[likely]]
      continue;
    task.resume = std::exchange(p.next, nullptr);
    end_turn(p, task);
    break;
  }
}

/// After the turn another worker may have ended the task already, and its owner may have freed its name: both are read
/// before it.
void scheduler::give_measured_turn(processor& p, task_state& task) noexcept {
  const instant begin = time_.now();
  if (p.meter->measures()) {
    p.meter->record_queue_time(begin - instant::from_nanoseconds(task.since.load(seam::relaxed)));
    task.since.store(begin.nanoseconds(), seam::relaxed);
  }
  const slow_task_report& slow = options_.slow_task;
  const stuck_task_report& stuck = options_.stuck_task;
  task_name_copy name;
  if (slow.tell || stuck.tell) name = task_name_copy(task.name());
  const std::source_location where = task.where.load(seam::relaxed);
  if (stuck.tell) p.meter->watched().begin(begin, name, where, stuck.longer_than);
  give_turn(p, task);
  if (stuck.tell) p.meter->watched().end();
  const duration took = time_.now() - begin;
  p.meter->record_turn(took);
  if (!slow.tell || took <= slow.longer_than) return;
  try {
    slow.tell({.took = took, .name = name.get(), .resumed_at = where});
  } catch (...) {
    report(name.get(), std::current_exception());
  }
}

inline void scheduler::end_task(task_state& ended) noexcept {
  living_.remove(ended);
  probes::task_end(&ended);
  ended.finish(task_state::ending::returned);
  if (ended.is_main) {
    ending_.store(true, seam::seq_cst);
    blocking_.close();
    if (virtual_time() == nullptr) notify_all();
  }
  ended.release();
}

void scheduler::launch(task_state& task, frame& body) noexcept {
  processor* const p = this_processor();
  probes::task_spawn(&task, task.name());
  task.resume = &body;
  living_.add(task, p != nullptr ? p->id : 0);
  make_ready_last(task);
}

void scheduler::report(const char* name, const std::exception_ptr& failure, bool was_stopped) noexcept {
  if (is_expected(failure, was_stopped)) return;
  try {
    options_.on_failure(name, failure);
  } catch (...) {
    // There is nowhere to report that the handler failed. The run goes on.
  }
}

void scheduler::notify_all() noexcept {
  for (const auto& each : processors_.all()) notify(*each);
}

void scheduler::end_workers() noexcept {
  ending_.store(true, seam::seq_cst);
  blocking_.close();
  // With reports of stuck tasks it goes on until the workers have ended: one of them may be stuck.
  if (!options_.stuck_task.tell) monitor_.end();
  {
    // A thread that changes the number of processors has done so when this has the lock, or then sees ending_. If a
    // task waits for the lock, one of the workers that are joined below runs it.
    const lock until_then(changing_);
  }
  for (const auto& each : processors_.all().subspan(1)) {
    notify(*each);
    if (each->thread.joinable()) each->thread.join();
  }
  monitor_.end();
  gate_->close();
  // A function of blocking() may wait for a thread that waits for the end of a call, whose task is destroyed only after
  // that function.
  if (blocking_.is_busy()) gate_->release_calls();
  blocking_.end();
  // Threads outside of the runtime may still make tasks ready. Those that take the lock from now on see ending_.
  const lock held(lock_);
  global_.clear(lock_);
}

/// Destroys each task that has not ended where it waits. Destructors may make other tasks ready, or spawn some: those
/// are destroyed as well.
void scheduler::abandon_tasks() noexcept {
  while (task_state* const task = living_.any()) {
    living_.remove(*task);
    task->wait().leave();  // so that a stop by a handle that outlives the runtime finds no wait to end
    task->finish(task_state::ending::abandoned);
    task->release();
  }
  life_.end();  // from now on timers that outlive the runtime cannot be started
  for (const auto& each : processors_.all()) each->timers->forget_all();
}

instant scheduler::next_deadline() {
  instant next = std::min(virtual_time()->next_deadline(), wall_.next_deadline());
  for (const auto& each : processors_.all()) {
    each->timers->refresh_first();
    next = std::min(next, each->timers->first());
  }
  return next;
}

}  // namespace foliot::runtime::detail
