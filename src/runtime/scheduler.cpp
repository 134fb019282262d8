// The life of a runtime: its processors and their workers come, change in number, and go.
#include "scheduler.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

#include <foliot/core/seam/system.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>

#include "this_thread.hpp"
#include "timers_by_name.hpp"
#include "virtual_driver.hpp"

namespace foliot::runtime::detail {

namespace {

constexpr duration workers_slack = duration::nanoseconds(1);

std::size_t processors_of(std::size_t wanted) {
  if (wanted > scheduler::most_processors) {
    throw std::invalid_argument("foliot: a runtime can have 1 to 256 processors, not " + std::to_string(wanted));
  }
  return wanted != 0 ? wanted : std::min(seam::processors(), scheduler::most_processors);
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
    std::fprintf(stderr, "foliot: the task '%.*s' failed, and nobody joins it: %s\n", length, task.data(),
                 error.what());
  } catch (...) {
    std::fprintf(stderr, "foliot: the task '%.*s' failed, and nobody joins it\n", length, task.data());
  }
}

run_options checked(run_options options) {
  options.processors = processors_of(options.processors);
  if (options.blocking_threads == 0) {
    throw std::invalid_argument("foliot: a runtime needs at least 1 thread for blocking calls, not 0");
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
  const lock held(lock_);
  idle_.reserve(most_processors);  // so that going to sleep allocates nothing
  for (std::size_t i = 0; i < options_.processors; ++i) make_processor(static_cast<std::uint32_t>(i));
  count_.store(options_.processors, seam::relaxed);
}

scheduler::~scheduler() = default;

processor& scheduler::make_processor(std::uint32_t id) {
  processors_[id] = std::make_unique<processor>(*this, id, make_timers(options_, id, time_.now()),
                                                options_.seed * most_processors + id);
  made_.store(id + 1, seam::release);  // pairs with the acquire of who goes over them
  return *processors_[id];
}

processor* scheduler::this_processor() const noexcept {
  processor* const p = this_worker();
  return p != nullptr && &p->owner == this ? p : nullptr;
}

void scheduler::run(task_state& main, frame& body) {
  if (this_worker() != nullptr) {
    main.finish(true);  // it was never launched
    main.release();
    throw std::logic_error("foliot: a task must not run a runtime inside it: spawn another task");
  }
  // The caller's thread is a worker: as late as the others, and no later.
  const duration slack = seam::set_timer_slack(workers_slack);
  const auto leave = [this, slack] {
    end_workers();
    abandon_tasks();
    set_this_worker(nullptr);
    seam::set_timer_slack(slack);
  };
  set_this_worker(processors_[0].get());
  try {
    launch(main, body);
    if (virtual_time() != nullptr) {
      virtual_driver(*this).drive(main);
    } else {
      monitor_.start();
      {
        const lock held(lock_);
        processors_[0]->present = true;
        monitor_.begin(instant::never());  // the processors come to life busy
      }
      start_workers();
      processors_[0]->has_worker.store(true, seam::relaxed);
      work(*processors_[0]);
      throw_if_dead();
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

void scheduler::start_workers() {
  const lock one_at_a_time(changing_);  // the main task may be run already, and change the number of processors
  for (std::size_t i = 1; i < count_.load(seam::relaxed); ++i) start_worker(*processors_[i]);
}

void scheduler::start_worker(processor& p) {
  p.retires.store(false, seam::relaxed);  // published by the thread's beginning
  {
    const lock held(lock_);
    p.left = false;
    p.present = true;
  }
  const auto body = [this, &p] {
    seam::set_timer_slack(workers_slack);
    set_this_worker(&p);
    p.has_worker.store(true, seam::relaxed);
    work(p);
    p.has_worker.store(false, seam::relaxed);
    if (!ending_.load(seam::relaxed)) retire(p);
    set_this_worker(nullptr);
  };
  try {
    p.worker = seam::thread("foliot-worker", body);
  } catch (...) {
    const lock held(lock_);
    p.present = false;
    throw;
  }
}

void scheduler::work(processor& p) noexcept {
  do {
    while (task_state* const task = find_task(p)) run_task(p, *task);
  } while (!leaves(p));
}

/// Whether the worker, who has found that it is to leave, is to leave still.
bool scheduler::leaves(processor& p) noexcept {
  stop_spinning(p);  // or nobody would ever be woken again
  if (ending_.load(seam::relaxed)) return true;
  if (!hand_over_timers(p)) {
    p.keeps_timers = true;  // it goes on, and tries again
    return false;
  }
  bool left = false;
  {
    const lock held(lock_);
    left = p.left = p.retires.load(seam::relaxed);
  }
  if (!left) p.timers->begin_again();
  return left;
}

/// A processor that was to go away comes back: true if its worker has not left, and so goes on.
bool scheduler::stays(processor& p) noexcept {
  if (!p.worker.joinable()) return false;
  const lock held(lock_);
  if (!p.left) p.retires.store(false, seam::relaxed);
  return !p.left;
}

void scheduler::run_task(processor& p, task_state& task) noexcept {
  task.on = &p;
  p.running = &task;
  task.turn.begin();
  p.next = task.resume;
  for (;;) {
    std::exchange(p.next, nullptr)->resume();
    if (p.next == nullptr) break;  // it has ended, or it waits, and others may run it already
    if (!task.turn.spend()) [[likely]]
      continue;
    task.resume = std::exchange(p.next, nullptr);
    end_turn(p, task);
    break;
  }
  p.running = nullptr;
  if (task_state* const ended = std::exchange(p.ended, nullptr)) {
    living_.remove(*ended);
    ended->finish(false);
    if (ended->is_main) {
      ending_.store(true, seam::seq_cst);
      blocking_.close();
      if (virtual_time() == nullptr) {
        for (std::size_t i = 0; i < made_.load(seam::acquire); ++i) notify(*processors_[i]);
      }
    }
    ended->release();
  }
}

void scheduler::launch(task_state& task, frame& body) noexcept {
  processor* const p = this_processor();
  task.resume = &body;
  living_.add(task, p != nullptr ? p->id : 0);
  make_ready_last(task);
}

void scheduler::report(const char* name, const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const cancelled&) {
    return;  // as it was asked to
  } catch (...) {
    try {
      options_.on_failure(name, failure);
    } catch (...) {
      // A handler that fails has nobody to report to, and the run goes on.
    }
  }
}

void scheduler::set_processors(std::size_t count) {
  if (count == 0 || count > most_processors) {
    throw std::invalid_argument("foliot: a runtime can have 1 to 256 processors, not " + std::to_string(count));
  }
  const lock one_at_a_time(changing_);
  std::size_t now = count_.load(seam::relaxed);
  if (virtual_time() != nullptr) {
    for (; now < count; ++now) {
      if (now == made_.load(seam::relaxed)) make_processor(static_cast<std::uint32_t>(now));
      processors_[now]->timers->begin_again();
      count_.store(now + 1, seam::relaxed);
    }
    for (; now > count; --now) {
      if (!hand_over_timers(*processors_[now - 1])) throw std::bad_alloc();
      count_.store(now - 1, seam::relaxed);
      retire(*processors_[now - 1]);
    }
    return;
  }
  for (; now < count && !ending_.load(seam::relaxed); ++now) {
    if (now == made_.load(seam::relaxed)) make_processor(static_cast<std::uint32_t>(now));
    processor& p = *processors_[now];
    if (!stays(p)) {
      if (p.worker.joinable()) p.worker.join();  // it runs no tasks any more, which may wait for changing_
      start_worker(p);
      p.timers->begin_again();  // last: without a worker nobody would look after them
    }
    const lock held(lock_);
    count_.store(now + 1, seam::relaxed);
  }
  for (; now > count; --now) {
    processor& p = *processors_[now - 1];
    {
      const lock held(lock_);
      count_.store(now - 1, seam::relaxed);
    }
    p.retires.store(true, seam::seq_cst);  // seen by the worker's next round, or before it sleeps
    notify(p);
  }
}

/// Moves the timers of a processor that is about to go away to the first processor. Returns false, with nothing
/// changed, if there is no memory for that. Called by the processor's worker, or on virtual time by the driver.
bool scheduler::hand_over_timers(processor& p) noexcept {
  processor& heir = *processors_[0];
  try {
    heir.timers->take_all(*p.timers);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (virtual_time() != nullptr) return true;
  seam::full_fence();  // pairs with the one in sleep()
  notify(heir);
  monitor_.guard(heir.timers->first());  // H8: it may be in a task that computes
  return true;
}

/// Moves the tasks of a processor that has gone away to the global run queue. Called by the processor's worker, or on
/// virtual time by the driver.
void scheduler::retire(processor& p) noexcept {
  while (task_state* const task = p.queue.pop()) {
    const lock held(lock_);
    global_.push_back(*task);
    global_size_.store(global_.size(), seam::relaxed);
  }
  if (task_state* const task = p.next_task.exchange(nullptr, seam::acq_rel)) {
    const lock held(lock_);
    global_.push_back(*task);
    global_size_.store(global_.size(), seam::relaxed);
  }
  if (virtual_time() != nullptr) return;
  {
    const lock held(lock_);
    p.present = false;  // before the wake-up: whoever is woken sleeps again, and looks for a deadlock
  }
  seam::full_fence();  // pairs with the one in sleep()
  wake_one();
}

void scheduler::end_workers() noexcept {
  ending_.store(true, seam::seq_cst);
  blocking_.close();
  monitor_.end();
  {
    // Who changes the number of processors has done so after this, or finds that it is too late. A task that waits for
    // that is run by one of those that are joined.
    const lock until_then(changing_);
  }
  for (std::size_t i = 1; i < made_.load(seam::relaxed); ++i) {
    notify(*processors_[i]);
    if (processors_[i]->worker.joinable()) processors_[i]->worker.join();
  }
  blocking_.end();
  // Threads outside of the runtime may still make tasks ready. Those that come to the lock from now on see ending_.
  const lock held(lock_);
  while (global_.pop_front() != nullptr) {
  }
  global_size_.store(0, seam::relaxed);
}

/// What still waits is destroyed where it does. Destructors may make others ready, or spawn: those are destroyed as
/// well.
void scheduler::abandon_tasks() noexcept {
  while (task_state* const task = living_.any()) {
    living_.remove(*task);
    task->wait().leave();  // so that a stop by a handle that outlives the runtime finds no wait to end
    task->finish(true);
    task->release();
  }
  life_.end();  // timers that outlive this are not started any more
  for (std::size_t i = 0; i < made_.load(seam::relaxed); ++i) processors_[i]->timers->forget_all();
}

void scheduler::begin_idle_wait(wait_point& wait, wait_word::source by) { idle_waiters_.push_back({&wait, by}); }
void scheduler::end_idle_wait(wait_point& wait) noexcept {
  std::erase_if(idle_waiters_, [&wait](const idle_waiter& each) { return each.wait == &wait; });
}

bool scheduler::wake_idle_waiter() noexcept {
  if (idle_waiters_.empty()) return false;
  const idle_waiter first = idle_waiters_.front();
  idle_waiters_.erase(idle_waiters_.begin());
  first.wait->claim(first.by);
  return true;
}

instant scheduler::next_deadline() {
  instant next = std::min(virtual_time()->next_deadline(), wall_.next_deadline());
  for (std::size_t i = 0; i < made_.load(seam::relaxed); ++i) {
    processors_[i]->timers->refresh_first();
    next = std::min(next, processors_[i]->timers->first());
  }
  return next;
}

runtime_counters scheduler::counters() const noexcept {
  runtime_counters now;
  for (std::size_t i = 0; i < made_.load(seam::acquire); ++i) {
    now.rounds += processors_[i]->rounds.load(seam::relaxed);
    now.timers += processors_[i]->timers->size();
  }
  now.rescues = monitor_.rescues();
  now.tasks = living_.size();
  return now;
}

}  // namespace foliot::runtime::detail
