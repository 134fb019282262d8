// The scheduler: runs tasks on processors (Go's proc.go, for coroutines).
//
// Each processor has a worker thread; that of the first one is the thread that calls run(). In each round a worker runs
// its timers that are due, takes a task from its run-next slot, its queue, the global run queue, the poller, or another
// processor's queue, and runs it until the task waits. A worker that finds no task goes on looking a while, then
// sleeps until its own processor's first deadline: one worker in the poller, each of the others on its own word.
//
// A thread that makes a task ready, or starts a timer, wakes a worker only if no worker is about to find it anyway. The
// ways in which a wake-up could be lost, by Go's numbers (docs/runtime/scheduler.md):
//   H1  a worker has decided until when it sleeps, then an earlier timer comes: worker_status.hpp and parker.hpp
//   H2  the last spinning worker goes to sleep as work comes: idle_workers.hpp, look_again()
//   H3  no worker is idle when work comes, and then one is: idle_workers.hpp, look_again()
//   H4  a timer is started on a processor that goes away: the old home names its successor (foliot_timers.hpp)
//   H8  a due timer waits behind a task that computes: the monitor (monitor.hpp)
//
// On virtual time there are no workers: virtual_driver runs all processors on one thread, in the order of the seed.
//
// Each part with a state of its own is a class in a header of its own (docs/decisions/0010-the-scheduler.md). What
// remains here is the order of steps among them.
//
// Thread safety: as each section says. A function that takes a processor `p` is called by its worker, or on virtual
// time by the driver, in that worker's place; except notify(), which any thread calls, and start_worker() and
// try_keep(), which the thread that changes the number of processors calls. Lock order: the contexts of a tree, an
// object, the timers, lock_, the monitor (lock_rank).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/runtime_gate.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timed_scope.hpp>
#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/statistics.hpp>
#include <foliot/runtime/task_report.hpp>

#include "blocking_pool.hpp"
#include "global_run_queue.hpp"
#include "idle_waiters.hpp"
#include "idle_workers.hpp"
#include "living_tasks.hpp"
#include "monitor.hpp"
#include "poll_table.hpp"
#include "poll_turn.hpp"
#include "processor.hpp"
#include "wall_waits.hpp"

namespace foliot::runtime::detail {

/// How late the kernel may end the sleep of a thread of the runtime: the least that it takes. The default of 50 us
/// would make each timer that much later.
inline constexpr duration worker_slack = duration::nanoseconds(1);

class scheduler {
 public:
  /// Throws std::invalid_argument if an option is out of range, std::system_error if the poller gets no file
  /// descriptor, and std::bad_alloc.
  explicit scheduler(const run_options& options);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Runs until `main` has ended, and then destroys each task that has not, where it waits. Meanwhile the calling
  /// thread is a worker. Throws deadlock, std::system_error if a thread cannot be started or the
  /// monitor gets no file descriptor, and std::logic_error inside a task.
  void run(task_state& main, frame& body);

  // From any thread.

  void launch(task_state& task, frame& body) noexcept;
  /// Puts a task that was claimed where it runs soon: if a worker calls this, into that worker's run-next slot.
  void make_ready(task_state& task) noexcept;
  /// Puts the task behind all others.
  void make_ready_last(task_state& task) noexcept;
  void report(const char* name, const std::exception_ptr& failure, bool was_stopped = false) noexcept;

  /// See timer_entry.hpp.
  void start_timer(timer_entry& entry, instant first, duration period, starter next);
  bool reset_timer(timer_entry& entry, instant first, duration period);

  [[nodiscard]] const clock& time() const noexcept { return time_; }
  [[nodiscard]] virtual_clock* virtual_time() const noexcept { return options_.clock; }
  [[nodiscard]] poll_table& descriptors() noexcept { return descriptors_; }
  [[nodiscard]] wall_waits& wall() noexcept { return wall_; }
  [[nodiscard]] const wall_waits& wall() const noexcept { return wall_; }
  [[nodiscard]] blocking_pool& blocking() noexcept { return blocking_; }
  [[nodiscard]] const run_options& options() const noexcept { return options_; }
  /// For objects that may outlive the scheduler.
  [[nodiscard]] runtime_ref ref() const noexcept { return life_.ref(); }
  /// For threads outside of the runtime.
  [[nodiscard]] const intrusive_ptr<runtime_gate>& gate() const noexcept { return gate_; }

  /// Changes the number of processors. The tasks and timers of processors that go away go on at others. Throws
  /// std::invalid_argument, with nothing changed; std::system_error and std::bad_alloc if a thread or memory cannot be
  /// had: the processors that were added until then stay. On real time a processor that is to go away stays while there
  /// is no memory to hand its timers over.
  void set_processors(std::size_t count);
  [[nodiscard]] std::size_t processors() const noexcept { return processors_.count(); }

  // Statistics and reports.

  [[nodiscard]] runtime_counters counters() const noexcept;
  [[nodiscard]] runtime_statistics statistics() const noexcept;
  /// Calls `visit(task, phase, for_so_long)` for each task that has not ended, under a lock of its list.
  using task_visitor = std::function<void(const task_state&, task_phase, std::optional<duration>)>;
  void visit_tasks(const task_visitor& visit) const;

  void begin_outside_wait() noexcept { outside_waits_.fetch_add(1, seam::relaxed); }
  void end_outside_wait() noexcept { outside_waits_.fetch_sub(1, seam::relaxed); }
  /// Whether a task waits for an event that virtual time cannot bring: a descriptor, or a foreign awaiter.
  [[nodiscard]] bool waits_for_outside() const noexcept {
    return !descriptors_.empty() || outside_waits_.load(seam::relaxed) != 0;
  }
  /// Whether another thread may spawn tasks by a handle. If not, the caller sees the tasks of those that have. On
  /// virtual time, on its one thread.
  [[nodiscard]] bool waits_for_handles() const noexcept {
    return options_.deadlocks != deadlock_reports::always && gate_->has_handles();
  }

  /// Ends the run if all tasks wait and nothing can end their waits. Called by each thread of the runtime when it has
  /// no more work: a worker that is about to sleep without a deadline, the monitor, a thread of blocking().
  void look_for_deadlock() noexcept;

  /// The processor whose worker the caller is, or null.
  [[nodiscard]] processor* this_processor() const noexcept;

  // On virtual time, on its one thread.

  [[nodiscard]] idle_waiters& waiting_for_idle() noexcept { return idle_waiters_; }
  /// Timeouts that end after everything else that happens at their instant.
  [[nodiscard]] late_scopes& late() noexcept { return late_; }
  /// The earliest deadline of all processors, of the waits for the wall clock, and of all else on the virtual clock; or
  /// never.
  [[nodiscard]] instant next_deadline();

  // For the monitor, and for the driver of virtual time.

  [[nodiscard]] const processor_set& all_processors() const noexcept { return processors_; }
  [[nodiscard]] const poll_turn& turn_in_poller() const noexcept { return poll_turn_; }
  [[nodiscard]] bool has_idle_worker() const noexcept { return idle_.listed() != 0; }
  [[nodiscard]] bool has_global_task() const noexcept { return global_.size_hint() != 0; }
  /// Whether the main task has ended, or the run has failed: no task runs any more.
  [[nodiscard]] bool is_ending() const noexcept { return ending_.load(seam::relaxed); }

  /// Runs the timers of `of` that are due, and puts the tasks that become ready into the queue of `by`; null: into the
  /// global run queue. Returns whether a timer was due.
  bool run_timers(processor& of, processor* by) noexcept;
  /// Waits in the poller until then at most, and puts the tasks that become ready into the queue of `by`. Returns
  /// whether a task became ready; on virtual time also if the wait was broken.
  bool poll(processor& by, instant until) noexcept;
  /// Queues the tasks at the processor `by`; null: as make_ready() does, so from the monitor into the global run queue.
  void queue_all(processor* by, ready_list& ready) noexcept;
  /// The next task of the processor's own, or null.
  task_state* take_local(processor& p) noexcept;
  /// The tasks that `p` takes from the queue of `victim`, and from its run-next slot: the task to run, or null.
  task_state* steal_half(processor& p, processor& victim) noexcept;
  task_state* steal_next(processor& p, processor& victim) noexcept;
  /// A task of the global run queue, or null; a share of the others goes to the processor's own queue.
  task_state* take_global(processor& p) noexcept;
  /// Runs the task until it waits, has ended, or has spent its budget.
  void run_task(processor& p, task_state& task) noexcept;
  /// Wakes an idle worker for work that the caller has made available, unless a worker spins already. Called after a
  /// full barrier.
  void wake_one() noexcept;

  /// Around each of the monitor's turns. Meanwhile it may hold tasks that are in no queue.
  void begin_monitor_turn() noexcept;
  void end_monitor_turn(instant next_turn) noexcept;
  /// Reports the turns that take too long, if run_options::stuck_task asks for it. The monitor's.
  void report_stuck_tasks() noexcept;

  /// The text, and a line for each task that has not ended. Called while no task runs.
  [[nodiscard]] std::string with_waiting_tasks(std::string text);

 private:
  // A run, and turns.
  void work(processor& p) noexcept;
  void end_workers() noexcept;
  void abandon_tasks() noexcept;
  void notify_all() noexcept;
  void give_turn(processor& p, task_state& task) noexcept;
  void give_measured_turn(processor& p, task_state& task) noexcept;
  void end_turn(processor& p, task_state& task) noexcept;
  void end_task(task_state& ended) noexcept;

  // Finding work.
  task_state* find_task(processor& p) noexcept;
  task_state* steal(processor& p) noexcept;
  static void count_steal(processor& p, const processor& victim, std::uint64_t tasks) noexcept;
  bool spin_for_work(processor& p) noexcept;
  bool sees_overdue(processor& p) noexcept;
  void stop_spinning(processor& p) noexcept;

  // Ready tasks.
  void push(processor& p, task_state& task) noexcept;
  void note_ready(task_state& task) const noexcept;

  // Sleeping and waking.
  void sleep(processor& p) noexcept;
  bool look_again(processor& p) noexcept;
  void guard_busy_workers() noexcept;
  void leave_idle(processor& p) noexcept;
  void notify(processor& p) noexcept;

  // Timers.
  processor& processor_for_start() noexcept;
  void wake_for(processor_timers& home, instant deadline, starter next) noexcept;

  // The number of processors.
  processor& make_processor();
  void start_workers();
  void start_worker(processor& p);
  void set_processors_virtually(std::size_t count);
  bool try_leave(processor& p) noexcept;
  bool try_keep(processor& p) noexcept;
  [[nodiscard]] bool hand_over_timers(processor& p) noexcept;
  void retire(processor& p) noexcept;
  void join_retired() noexcept;

  // Deadlocks.
  [[nodiscard]] bool may_be_dead() const noexcept;
  [[nodiscard]] bool is_dead() const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::uint64_t activity() const noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool is_alone(std::size_t workers) noexcept;
  void throw_if_dead();

  const run_options options_;
  runtime_life life_{*this};
  const intrusive_ptr<runtime_gate> gate_{*new runtime_gate(*this)};
  const clock& time_;
  living_tasks living_;
  poll_table descriptors_;
  wall_waits wall_{descriptors_, options_.clock};
  blocking_pool blocking_;
  monitor monitor_;
  processor_set processors_;
  poll_turn poll_turn_;

  // Under it: which workers are idle, which tasks are in the global run queue, how many processors there are.
  mutable mutex lock_{lock_rank::scheduler};
  global_run_queue global_;
  idle_workers<processor> idle_{processor_set::most};
  // Held by the thread that changes the number of processors.
  mutex changing_{lock_rank::object};

  // The main task has ended, or the run has failed. Never cleared.
  seam::atomic<bool> ending_{false};
  // How many tasks wait at foreign awaiters. Written by those tasks; on virtual time the driver's thread reads it.
  seam::atomic<std::size_t> outside_waits_{0};

  // The monitor is in a turn; and how many it has begun.
  bool monitor_in_turn_ FOLIOT_GUARDED_BY(lock_) = false;
  std::uint64_t monitor_turns_ FOLIOT_GUARDED_BY(lock_) = 0;
  bool dead_ FOLIOT_GUARDED_BY(lock_) = false;
  // When to look for threads outside of the runtime again, in nanoseconds. Written by the threads that look; a hint.
  seam::atomic<std::int64_t> next_look_outside_{INT64_MIN};

  // On virtual time, whose tasks share one thread.
  idle_waiters idle_waiters_;
  late_scopes late_;
};

}  // namespace foliot::runtime::detail
