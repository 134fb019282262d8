// The scheduler: runs tasks on processors (Go's proc.go, for coroutines).
//
// Each processor has a worker thread; the thread that calls run() is the first one's. A worker goes round: it fires
// what is due of its own timers, takes a task from its run-next slot, its queue, the global run queue, the poller, or
// from another processor's queue, and runs it until it waits. With nothing to do it steals for a while, and then
// sleeps: one worker in the poller, the others on their own words, each until its own processor's first deadline.
//
// Who puts a task to run, or a timer earlier than its processor sleeps until, wakes somebody only if nobody is
// about to find it anyway. The hazards of that, by Go's numbers (docs/runtime/scheduler.md):
//   H1  a sleeper has decided until when, then an earlier timer comes: sleeps_until, below, and parker.hpp
//   H2  the last spinning worker goes to sleep as work comes: look_again()
//   H3  no processor is idle when work comes, and then one is: every worker looks again after it is listed idle
//   H4  a timer is started on a processor that goes away: its home says so, under its lock (foliot_timers.hpp)
//   H8  a due timer behind a task that computes: the monitor (monitor.hpp)
//
// On virtual time there are no workers: drive_virtually() goes round all processors, as the seed says.
//
// Thread safety: what it says at each member.
//
// Lock order: a tree of contexts', an object's, the timers', lock_.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timed_scope.hpp>
#include <foliot/runtime/run_options.hpp>

#include "blocking_pool.hpp"
#include "living_tasks.hpp"
#include "monitor.hpp"
#include "poll_table.hpp"
#include "processor.hpp"
#include "wall_waits.hpp"

namespace foliot::runtime::detail {

class scheduler {
 public:
  static constexpr std::size_t most_processors = 256;

  explicit scheduler(const run_options& options);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Runs until `main` has ended; then what still runs is destroyed where it waits. The caller's thread is a worker
  /// meanwhile. Throws deadlock.
  void run(task_state& main, frame& body);

  // For tasks, and for anybody:

  void launch(task_state& task, frame& body) noexcept;
  void make_ready(task_state& task) noexcept;
  void make_ready_last(task_state& task) noexcept;
  void report(const char* name, const std::exception_ptr& failure) noexcept;

  /// See timer_entry.hpp.
  void start_timer(timer_entry& entry, instant deadline, bool parks);
  void start_timer_every(timer_entry& entry, instant first, duration period, bool parks);
  bool reset_timer(timer_entry& entry, instant deadline);
  bool reset_timer_every(timer_entry& entry, instant first, duration period);

  [[nodiscard]] const clock& time() const noexcept { return time_; }
  [[nodiscard]] virtual_clock* virtual_time() const noexcept { return options_.clock; }
  [[nodiscard]] poll_table& descriptors() noexcept { return descriptors_; }
  [[nodiscard]] wall_waits& wall() noexcept { return wall_; }
  [[nodiscard]] const wall_waits& wall() const noexcept { return wall_; }
  [[nodiscard]] blocking_pool& blocking() noexcept { return blocking_; }
  [[nodiscard]] const run_options& options() const noexcept { return options_; }
  /// For what may outlive this.
  [[nodiscard]] runtime_ref ref() const noexcept { return life_.ref(); }

  /// Changes the number of processors. From any thread; the tasks and timers of those that go away go on elsewhere.
  /// Throws std::invalid_argument; std::system_error and std::bad_alloc where there is no thread, or no memory: those
  /// that there are stay. On real time a processor that is to go away stays as long as there is no memory to hand its
  /// timers over.
  void set_processors(std::size_t count);
  [[nodiscard]] std::size_t processors() const noexcept { return count_.load(seam::relaxed); }

  [[nodiscard]] runtime_counters counters() const noexcept;

  void begin_outside_wait() noexcept { outside_waits_.fetch_add(1, seam::relaxed); }
  void end_outside_wait() noexcept { outside_waits_.fetch_sub(1, seam::relaxed); }
  /// Whether a task waits for something that virtual time cannot bring: a descriptor, or a foreign awaiter.
  [[nodiscard]] bool waits_for_outside() const noexcept {
    return !descriptors_.empty() || outside_waits_.load(seam::relaxed) != 0;
  }

  // On virtual time: tasks that wait until no other can run, and nothing is due.
  void begin_idle_wait(wait_point& wait, wait_word::source by);
  void end_idle_wait(wait_point& wait) noexcept;
  /// The one that waits longest; false: none does.
  bool wake_idle_waiter() noexcept;
  /// What ends only after all that else happens at an instant.
  [[nodiscard]] late_scopes& late() noexcept { return late_; }
  /// The first of all processors, of the waits for the wall clock, and of all else on that clock; or never.
  [[nodiscard]] instant next_deadline();

  /// Ends the run if all tasks wait and nothing will ever happen. For threads of the runtime that are done with
  /// something: the worker that is about to sleep with nothing to wait for, the monitor, a thread of blocking().
  void look_for_deadlock() noexcept;

  /// The processor whose worker the caller is, or null.
  [[nodiscard]] processor* this_processor() const noexcept;

 private:
  friend class monitor;
  friend class virtual_driver;

  processor& make_processor(std::uint32_t id);
  void start_workers();
  void start_worker(processor& p);
  void work(processor& p) noexcept;
  bool leaves(processor& p) noexcept;
  bool stays(processor& p) noexcept;
  void run_task(processor& p, task_state& task) noexcept;
  void end_turn(processor& p, task_state& task) noexcept;

  // How a worker finds a task: find.cpp.
  task_state* find_task(processor& p) noexcept;
  bool run_timers(processor& of, processor* by) noexcept;
  task_state* take_local(processor& p) noexcept;
  task_state* take_global(processor& p) noexcept;
  task_state* steal(processor& p) noexcept;
  bool wait_awake(processor& p) noexcept;
  bool sees_overdue(processor& p) noexcept;
  bool should_wake_for_next(processor& p) noexcept;
  void end_measurement(processor& p) noexcept;
  bool poll(processor* by, instant until) noexcept;
  void push(processor& p, task_state& task) noexcept;
  void put(processor* by, ready_list& ready) noexcept;
  void stop_spinning(processor& p) noexcept;

  // How it sleeps, and is woken: sleep.cpp.
  void sleep(processor& p) noexcept;
  bool look_again(processor& p) noexcept;
  void guard_those_at_work() noexcept;
  void leave_idle(processor& p) noexcept;
  void wake_one() noexcept;
  void notify(processor& p) noexcept;
  void wake_for(processor_timers& home, instant deadline, bool parks) noexcept;

  // When all wait for ever: deadlock.cpp.
  [[nodiscard]] bool may_be_dead() const noexcept;
  [[nodiscard]] bool is_dead() const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t activity() const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool is_alone(std::size_t workers) noexcept;
  void join_retired() noexcept;
  void throw_if_dead();
  [[nodiscard]] std::string with_waiting_tasks(std::string text);

  processor& processor_for_start() noexcept;
  template <class Arm>
  void start_timer(timer_entry& entry, instant deadline, bool parks, const Arm& arm);
  template <class Arm>
  bool reset_timer(timer_entry& entry, instant deadline, const Arm& arm);
  [[nodiscard]] bool hand_over_timers(processor& p) noexcept;
  void retire(processor& p) noexcept;
  void end_workers() noexcept;
  void abandon_tasks() noexcept;

  const run_options options_;
  runtime_life life_{*this};
  const clock& time_;
  living_tasks living_;
  poll_table descriptors_;
  wall_waits wall_{descriptors_, options_.clock};
  blocking_pool blocking_;
  monitor monitor_;

  // Processors are made once and stay; those from count_ on are retired. Published by made_.
  std::array<std::unique_ptr<processor>, most_processors> processors_;
  seam::atomic<std::size_t> made_{0};
  seam::atomic<std::size_t> count_{0};

  mutable mutex lock_{lock_rank::scheduler};
  task_list global_ FOLIOT_GUARDED_BY(lock_);
  std::vector<processor*> idle_ FOLIOT_GUARDED_BY(lock_);
  struct idle_waiter {
    wait_point* wait;
    wait_word::source by;
  };
  std::vector<idle_waiter> idle_waiters_;  // virtual time's, whose tasks share one thread; so is the next
  late_scopes late_;

  // The next three are written under the lock, but for spinning_; read without it, after a full barrier.
  seam::atomic<std::size_t> global_size_{0};
  seam::atomic<std::size_t> idle_count_{0};
  // How many workers look for work in vain. Who makes work wakes nobody while there is one.
  seam::atomic<std::uint32_t> spinning_{0};

  // Whose turn in the poller it is: one at a time.
  seam::atomic<processor*> polls_{nullptr};
  // How often somebody has looked into the poller. The monitor sees by it that nobody does.
  seam::atomic<std::uint64_t> looks_{0};
  // How many tasks wait at foreign awaiters. Those tasks write it; on virtual time the driver's thread reads it.
  seam::atomic<std::size_t> outside_waits_{0};
  // The main task has ended.
  seam::atomic<bool> ending_{false};
  // For deadlock.cpp. The monitor looks, and may have tasks in its hands that are in no queue; how often it has.
  bool monitor_looks_ FOLIOT_GUARDED_BY(lock_) = false;
  std::uint64_t monitor_turns_ FOLIOT_GUARDED_BY(lock_) = 0;
  bool dead_ FOLIOT_GUARDED_BY(lock_) = false;
  // When to look for threads outside of the runtime again, in nanoseconds. Written by those who look; a hint.
  seam::atomic<std::int64_t> next_look_outside_{INT64_MIN};
  mutex changing_{lock_rank::object};  // held by who changes the number of processors
};

}  // namespace foliot::runtime::detail
