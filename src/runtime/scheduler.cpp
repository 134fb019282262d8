// A run of the scheduler in the order in which one reads it: how it begins and ends, what a worker does in a round, how
// it finds a task, runs it, sleeps and is woken; then timers, the number of processors, deadlocks, and what a runtime
// tells of itself. At the end are the functions through which the headers call the scheduler.
#include "scheduler.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/seam/system.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/run.hpp>

#include "core/place_text.hpp"
#include "core/seam/perturb.hpp"
#include "core/seam/probes.hpp"
#include "this_thread.hpp"
#include "virtual_driver.hpp"
#include "wait_words.hpp"
#include "watched_turn.hpp"

namespace foliot::runtime {

namespace detail {

namespace probes = foliot::detail::probes;

// ---------------------------------------------------------------- a run

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

void scheduler::launch(task_state& task, frame& body) noexcept {
  processor* const p = this_processor();
  probes::task_spawn(&task, task.name());
  task.resume = &body;
  living_.add(task, p != nullptr ? p->id : 0);
  make_ready_last(task);
}

void scheduler::work(processor& p) noexcept {
  do {
    while (task_state* const task = find_task(p)) run_task(p, *task);
  } while (!try_leave(p));
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

// ---------------------------------------------------------------- turns

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

/// Requeues a task that has spent its budget at the back. If the queue is empty otherwise, no idle worker is woken:
/// this worker takes the task again in its next round.
void scheduler::end_turn(processor& p, task_state& task) noexcept {
  task.turn.end(task.wait().has_interrupt() && task.confirm_interrupt());
  if (is_ending()) return;
  p.counts.count_spent_turn();
  note_ready(task);
  const bool alone = p.queue.empty() && p.run_next.is_empty();
  push(p, task);
  if (alone || virtual_time() != nullptr || processors_.is_single()) return;
  seam::full_fence();  // H2: pairs with the one in sleep()
  wake_one();
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

void scheduler::report(const char* name, const std::exception_ptr& failure, bool was_stopped) noexcept {
  if (is_expected(failure, was_stopped)) return;
  try {
    options_.on_failure(name, failure);
  } catch (...) {
    // There is nowhere to report that the handler failed. The run goes on.
  }
}

// ---------------------------------------------------------------- finding work

namespace {

/// In every 61st round the global run queue comes first, so that it does not starve. (Go: 61 as well.)
constexpr std::uint64_t global_every = 61;
/// How many tasks may run from the run-next slot one after the other before the queue has its turn.
constexpr std::uint32_t most_in_a_row = 64;
constexpr int steal_passes = 4;
constexpr int most_turns = 16;  // of timers, before tasks have theirs
constexpr duration shortest_sleep = duration::nanoseconds(3'000);
constexpr int looks_before_sleep = 60;  // some 20 us
constexpr int looks_for_overdue = 4;    // every fourth look is also at run-next slots

}  // namespace

/// Returns null if the processor goes away, or the runtime ends.
task_state* scheduler::find_task(processor& p) noexcept {
  worker_state& own = p.own();
  for (;;) {
    const std::uint64_t round = p.status.begin_round();
    if (p.handovers.is_measuring()) [[unlikely]]
      p.handovers.end(time_);
    if (is_ending() || p.must_leave_now()) [[unlikely]]
      return nullptr;
    // Callbacks start timers, which may be due at once.
    int turns = 0;
    while (run_timers(p, &p) && ++turns < most_turns) {
    }
    const bool others_first = round % global_every == 0;
    if (others_first) own.hand_over_failed = false;  // there may be memory now
    task_state* task = others_first ? take_global(p) : nullptr;
    // If all workers always have tasks to run, none would ever sleep in the poller. (Go's monitor looks after 10 ms.)
    if (others_first && !descriptors_.empty() && poll_turn_.is_free()) poll(p, instant::earliest());
    if (task == nullptr) task = take_local(p);
    if (task == nullptr) task = take_global(p);
    if (task == nullptr && !descriptors_.empty() && poll_turn_.is_free()) {
      poll(p, instant::earliest());
      task = take_local(p);
    }
    // More timers are due: that is work as well. Tasks behind other processors' tasks have their turn now and then.
    if (task == nullptr && turns == most_turns && !others_first) {
      stop_spinning(p);
      continue;
    }
    if (task == nullptr) task = steal(p);
    if (task != nullptr) {
      stop_spinning(p);
      p.status.begin_task();  // before the alarm is set: the monitor reads this when the alarm rings
      // H8: timers that were started by callbacks, or by tasks that wait, may be due while this task runs.
      if (idle_.listed() != 0) monitor_.guard(p.timers->first());
      return task;
    }
    if (!spin_for_work(p)) sleep(p);
  }
}

task_state* scheduler::take_local(processor& p) noexcept {
  worker_state& own = p.own();
  if (own.in_a_row < most_in_a_row) {
    if (!p.run_next.is_empty()) {
      if (task_state* const next = p.run_next.take()) {
        ++own.in_a_row;
        return next;
      }
    }
    own.in_a_row = 0;
    return p.queue.pop();
  }
  own.in_a_row = 0;
  if (task_state* const next = p.run_next.take()) push(p, *next);
  return p.queue.pop();
}

task_state* scheduler::take_global(processor& p) noexcept {
  if (global_.size_hint() == 0) return nullptr;
  const lock held(lock_);
  return global_.take(p.queue, processors_.count(), lock_);
}

task_state* scheduler::steal(processor& p) noexcept {
  const auto all = processors_.all();
  if (all.size() == 1) return nullptr;
  worker_state& own = p.own();
  if (!p.is_spinning()) {
    const std::size_t count = processors_.count();
    if (!idle_.begin_spinning(p, count - std::min(count, idle_.listed()))) return nullptr;
  }
  for (int pass = 1; pass <= steal_passes; ++pass) {
    const std::size_t start = own.random.below(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      processor& victim = *all[(start + i) % all.size()];
      if (&victim == &p) continue;
      if (task_state* const task = steal_half(p, victim)) return task;
      if (pass < steal_passes) continue;
      if (victim.status.is_stuck() || (own.seen.is_at(victim) && own.seen.is_overdue())) {
        if (task_state* const next = steal_next(p, victim)) return next;
      }
      if (!victim.status.will_check_timers() && run_timers(victim, &p)) {
        if (task_state* const task = take_local(p)) return task;
      }
    }
  }
  return nullptr;
}

task_state* scheduler::steal_half(processor& p, processor& victim) noexcept {
  task_state* const task = victim.queue.steal_half(p.queue);
  if (task != nullptr) count_steal(p, victim, 1 + std::uint64_t{p.queue.size()});
  return task;
}

task_state* scheduler::steal_next(processor& p, processor& victim) noexcept {
  task_state* const task = victim.run_next.take();
  if (task != nullptr) count_steal(p, victim, 1);
  return task;
}

void scheduler::count_steal(processor& p, const processor& victim, std::uint64_t tasks) noexcept {
  p.counts.count_steal(tasks);
  foliot::detail::probes::task_steal(victim.id, p.id, tasks);
}

/// Returns true if the worker should look for work again instead of sleeping: a timer is about to be due, the run
/// ends, or work has come while it spun here. On virtual time always true. It spins because other workers are busy and
/// may soon have tasks to share. A sleep and a wake-up take some 20 us together, so a worker does not spin much longer
/// than that, and does not sleep for much less.
bool scheduler::spin_for_work(processor& p) noexcept {
  if (virtual_time() != nullptr) return true;
  const instant first = p.timers->first();
  if (!first.is_never() && first <= time_.now_or_later() + shortest_sleep) return true;
  if (!p.is_spinning()) return false;
  for (int i = 0; i < looks_before_sleep; ++i) {
    if (idle_.listed() + 1 >= processors_.count()) return false;  // no other worker is at work
    if (global_.size_hint() != 0 || is_ending()) return true;
    for (const auto& other : processors_.all()) {
      if (!other->queue.empty()) return true;
    }
    if (i % looks_for_overdue == 0 && sees_overdue(p)) return true;
    for (int pause = 0; pause < 8; ++pause) seam::spin_pause();
  }
  return false;
}

/// Whether another processor's run-next slot has been occupied since an earlier look, in the same round: the task that
/// filled it still runs. steal() then takes the task from there. (Go's thieves leave a run-next slot alone for 3 us.)
bool scheduler::sees_overdue(processor& p) noexcept {
  worker_state& own = p.own();
  if (own.seen.is_overdue()) return true;
  const auto all = processors_.all();
  // Begins at a random processor: the same ones, which hand over tasks all the time, would hide the others.
  const std::size_t start = own.random.below(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const processor& other = *all[(start + i) % all.size()];
    if (other.run_next.is_empty()) continue;
    own.seen.note(other);
    break;
  }
  return false;
}

/// The worker has found work, and so another one may spin. If there is more work, this wakes one.
void scheduler::stop_spinning(processor& p) noexcept {
  if (!p.is_spinning()) return;
  idle_.end_spinning(p);
  // H2: threads that made work meanwhile relied on this worker, wherever that work is. Pairs with their barrier; a
  // worker that is listed as idle later looks again.
  seam::full_fence();
  if (idle_.listed() == 0) return;
  bool more = global_.size_hint() != 0;
  for (const auto& each : processors_.all()) {
    if (more) break;
    more = !each->queue.empty() || each->has_slow_run_next();
  }
  if (more) wake_one();
}

bool scheduler::poll(processor& by, instant until) noexcept {
  ready_list ready;
  const auto [broken, rung] = descriptors_.wait(until, ready);
  poll_turn_.note_poll(time_.now_or_later());
  if (rung) wall_.fire(ready);
  // H1: a thread that looks into the poller while a worker sleeps there may take the break that was meant for that
  // worker; it then breaks the worker's wait once more. The turn may be read relaxed: the worker took it before it
  // published its word, which the breaking thread read before the break.
  if (broken) {
    const processor* const sleeper = poll_turn_.holder();
    if (sleeper != nullptr && sleeper != &by) descriptors_.break_wait();
  }
  const bool any = !ready.empty();
  queue_all(&by, ready);
  // On virtual time a break means that a thread outside of the runtime has made a task ready, which the driver has to
  // look for.
  return any || (broken && virtual_time() != nullptr);
}

// ---------------------------------------------------------------- ready tasks

// Where a task goes that has become ready, and whether a worker is woken for it.

void scheduler::make_ready(task_state& task) noexcept {
  if (is_ending()) return;  // no task runs any more
  processor* const p = this_processor();
  if (p != nullptr) {
    note_ready(task);
    task_state* const other = p->run_next.put(task);
    if (other != nullptr) push(*p, *other);
    if (virtual_time() != nullptr || processors_.is_single()) return;  // there is no other worker
    if (other == nullptr) {
      if (p->running.load(seam::relaxed) == nullptr) return;  // a callback made it ready: the worker takes it at once
      if (!p->handovers.begin(time_)) return;
    }
    seam::full_fence();  // H2: pairs with the one in sleep()
    wake_one();
  } else {
    make_ready_last(task);
  }
}

void scheduler::make_ready_last(task_state& task) noexcept {
  if (is_ending()) return;
  note_ready(task);
  processor* const p = this_processor();
  if (p != nullptr) {
    push(*p, task);
  } else {
    const lock held(lock_);
    // Again, under the lock: end_workers() has emptied the queue under it. Tasks that were queued before that are freed
    // by the end, and must not be written to as the last of the queue.
    if (is_ending()) return;
    global_.push_back(task, lock_);
  }
  if (virtual_time() != nullptr && p == nullptr) descriptors_.break_wait();  // the driver may be in the poller
  if (virtual_time() != nullptr || (p != nullptr && processors_.is_single())) return;  // there is no other worker
  seam::full_fence();  // H2: pairs with the one in sleep()
  wake_one();
}

void scheduler::queue_all(processor* by, ready_list& ready) noexcept {
  if (ready.empty()) return;
  if (by == nullptr) {
    while (task_state* const task = ready.pop_front()) make_ready(*task);
    return;
  }
  const bool several = ready.size() > 1;
  while (task_state* const task = ready.pop_front()) {
    note_ready(*task);
    push(*by, *task);
  }
  if (several && !processors_.is_single()) {
    seam::full_fence();  // H2: pairs with the one in sleep()
    wake_one();
  }
}

/// Puts the task at the end of the processor's queue. If the queue is full, half of it goes to the global run queue.
void scheduler::push(processor& p, task_state& task) noexcept {
  while (!p.queue.push(task)) {
    const lock held(lock_);
    global_.take_half(p.queue, lock_);
  }
}

/// From now on the task stands in a queue, for the measurements. Called before another worker can run it.
void scheduler::note_ready(task_state& task) const noexcept {
  if (options_.measure) [[unlikely]]
    task.since.store(time_.now().nanoseconds(), seam::relaxed);
}

// ---------------------------------------------------------------- sleeping and waking

// A worker that goes to sleep lists itself as idle, stores until when it sleeps, passes a full barrier, looks once more
// for anything that keeps it awake, and sleeps. A thread that makes work available, or starts an earlier timer, does
// that first, passes a full barrier, and then looks at the workers that sleep. One of the two sees the other.

namespace {

void note_park(processor& p, instant until) noexcept {
  p.counts.count_park();
  foliot::detail::probes::park(p.id, until);
}

}  // namespace

void scheduler::sleep(processor& p) noexcept {
  bool was_spinning = false;
  {
    const lock held(lock_);
    if (!global_.empty(lock_) || p.must_leave_now()) return;
    was_spinning = idle_.add(p, lock_);
    if (idle_.size(lock_) >= processors_.count()) monitor_.disarm();
  }
  if (was_spinning) idle_.leave_spinning();
  p.timers->refresh_first();
  const instant until = p.timers->first();
  p.status.begin_sleep(until);
  seam::full_fence();  // H1, H2, H3: pairs with the one before wake_one() and the one in wake_for()
  guard_busy_workers();
  if (!look_again(p) && p.timers->first() == until) {
    if (until.is_never()) look_for_deadlock();  // if it ends the run, its wake-up prevents the sleep
    if (!descriptors_.empty() && poll_turn_.take(p)) {
      if (p.park.begin(parker::way::in_the_poller)) {
        note_park(p, until);
        poll(p, until);
        foliot::detail::probes::unpark(p.id);
      }
      poll_turn_.give_back();
    } else if (p.park.begin(parker::way::on_the_word)) {
      note_park(p, until);
      p.park.sleep_until(until);
      foliot::detail::probes::unpark(p.id);
    }
  }
  p.park.end();
  p.status.end_sleep();
  p.own().hand_over_failed = false;
  leave_idle(p);
}

/// H8: there is one more idle worker from now on, so the monitor should guard the timers of busy workers.
void scheduler::guard_busy_workers() noexcept {
  for (const auto& other : processors_.all()) {
    if (other->status.has_worker() && other->status.is_awake()) monitor_.guard(other->timers->first());
  }
}

/// Whether there is a reason to stay awake after all.
bool scheduler::look_again(processor& p) noexcept {
  if (p.must_leave_now() || is_ending()) return true;
  if (global_.size_hint() != 0) return true;
  // While other workers spin, one of them takes the work: the last one calls this function, or stop_spinning(), and
  // then sees that this worker is listed. Without that look this worker, which may not spin as well, would go to and
  // fro for as long as the system gives the spinning one no processor.
  for (const auto& each : processors_.all()) {
    if (!each->queue.empty() && !idle_.has_spinning()) return true;
    if (each->has_slow_run_next() && !idle_.has_spinning()) {
      p.own().seen.note(*each);  // and takes it, if it is still there when this worker steals
      return true;
    }
  }
  const instant first = p.timers->first();
  return !first.is_never() && is_due(first, time_.now());
}

/// Takes the worker out of the list, unless the thread that woke it has done so.
void scheduler::leave_idle(processor& p) noexcept {
  const lock held(lock_);
  if (!p.is_listed(lock_)) return;
  if (idle_.size(lock_) >= processors_.count()) monitor_.arm(p.timers->first());
  idle_.remove(p, lock_);
}

void scheduler::wake_one() noexcept {
  processor* const woken = idle_.claim_one(lock_, [this](processor& claimed) {
    lock_.assert_held();
    if (idle_.size(lock_) >= processors_.count()) monitor_.arm(claimed.timers->first());
  });
  if (woken != nullptr) notify(*woken);
}

void scheduler::notify(processor& p) noexcept {
  if (p.park.notify() == parker::must::break_the_poll) descriptors_.break_wait();
}

// ---------------------------------------------------------------- timers

/// The processor for a timer that has no home yet: the caller's. From elsewhere, as from a callback that the monitor
/// runs, an idle one if there is one.
inline processor& scheduler::processor_for_start() noexcept {
  if (processor* const p = this_processor()) return *p;
  if (idle_.listed() != 0) {
    const lock held(lock_);
    if (processor* const idle = idle_.last(lock_)) return *idle;
  }
  return processors_[0];
}

void scheduler::start_timer(timer_entry& entry, instant first, duration period, starter next) {
  for (;;) {
    processor_timers* home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) {
      home = processor_for_start().timers.get();
      if (!home->adopt(entry)) continue;
    }
    if (home->reset_every(entry, first, period) == home_answer::moved) continue;
    wake_for(*home, first, next);
    return;
  }
}

bool scheduler::reset_timer(timer_entry& entry, instant first, duration period) {
  for (;;) {
    processor_timers* const home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) {
      start_timer(entry, first, period, starter::goes_on);
      return false;
    }
    const home_answer answer = home->reset_every(entry, first, period);
    if (answer == home_answer::moved) continue;
    wake_for(*home, first, starter::goes_on);
    return answer == home_answer::was_pending;
  }
}

/// A timer was started at `home`, or made earlier there. If the caller is a task that waits next, at its own processor,
/// its worker looks at its timers before it does anything else.
void scheduler::wake_for(processor_timers& home, instant deadline, starter next) noexcept {
  if (virtual_time() != nullptr) return;
  processor& at = processors_[home.processor_number()];
  if (&at == this_processor()) {
    // A callback between two tasks returns to a worker that looks at its timers again: find_task().
    const bool in_a_task = at.running.load(seam::relaxed) != nullptr;
    if (next == starter::goes_on && in_a_task && idle_.listed() != 0) monitor_.guard(deadline);
    return;
  }
  seam::full_fence();  // H1: pairs with the one in sleep()
  switch (at.status.sleeps_past(deadline)) {
    case worker_status::sleep::none: return monitor_.guard(deadline);
    case worker_status::sleep::too_long: return notify(at);
    case worker_status::sleep::short_enough: return;
  }
}

bool scheduler::run_timers(processor& of, processor* by) noexcept {
  const instant first = of.timers->first();
  if (first.is_never() || time_.now_or_later() < first) [[likely]]
    return false;
  const instant now = time_.now();
  if (!is_due(first, now)) return false;
  ready_list ready;
  call_list calls;
  static_cast<void>(of.timers->run_due(now, ready, calls));  // the next round goes on
  queue_all(by, ready);
  calls.call_all();
  return true;
}

instant scheduler::next_deadline() {
  instant next = std::min(virtual_time()->next_deadline(), wall_.next_deadline());
  for (const auto& each : processors_.all()) {
    each->timers->refresh_first();
    next = std::min(next, each->timers->first());
  }
  return next;
}

// ---------------------------------------------------------------- the number of processors

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

// ---------------------------------------------------------------- deadlocks

// When all tasks wait and nothing can end their waits, on real time. (Go: checkdead)
//
// A dead runtime stays dead: no worker is at work, no queue has a task, no timer is pending, and no task waits for an
// event from outside. So it is enough that each thread of the runtime checks this when it has finished its work, and
// that the last one sees what the others have done. A worker checks when it is listed as idle and is about to sleep
// without a deadline; the monitor after each of its turns; a thread of blocking() after each call. None of them then
// holds a task that is in no queue. A worker that comes back from the poller may hold some while it is still listed as
// idle: those tasks waited for a descriptor or for the wall clock, and count as waiting until they run.
//
// The runtime cannot see whether a thread outside of it will wake a task. By default the report is made only if the
// process has no such thread. That is read from /proc, which is slow, so it is checked last, and seldom.

namespace {

/// After other threads have been found, /proc is not read again for this long: a program that is woken from outside a
/// hundred thousand times a second pays for ten looks a second.
constexpr duration between_looks_outside = duration::nanoseconds(100'000'000);
/// After this time a thread that was about to end has probably ended.
constexpr duration end_of_a_thread = duration::nanoseconds(1'000'000);

}  // namespace

/// The part of is_dead() that needs no lock. Returns false if a worker is at work, or a task waits for an event from
/// outside.
bool scheduler::may_be_dead() const noexcept {
  if (options_.deadlocks == deadlock_reports::never || virtual_time() != nullptr) return false;
  // relaxed: all of these are read again under the lock. The caller has passed a full barrier: of two threads that are
  // done at once, one sees what the other has done.
  if (idle_.listed() < processors_.count() || is_ending()) return false;
  return !waits_for_outside() && !blocking_.is_busy();
}

/// Whether no thread of the runtime will ever wake a task. While the lock is held a worker that is listed as idle stays
/// listed, and what it did before is seen. It may still be awake: on its way to sleep, or back from it and about to
/// look at its timers. In neither case does it change anything here but the bound of timers that are empty.
bool scheduler::is_dead() const noexcept {
  if (monitor_in_turn_ || !global_.empty(lock_) || idle_.size(lock_) < processors_.count()) return false;
  if (!may_be_dead()) return false;
  for (const auto& each : processors_.all()) {
    if (each->tenure.is_present(lock_) && !each->is_listed(lock_)) return false;
    if (!each->queue.empty() || !each->run_next.is_empty()) return false;
    if (!each->timers->first().is_never()) return false;
  }
  return true;
}

/// A number that changes whenever a thread of the runtime may have run code of the program. A worker that has left the
/// list of idle workers begins a round before it is listed again. Threads of blocking() run calls of such workers only.
std::uint64_t scheduler::activity() const noexcept {
  std::uint64_t sum = monitor_turns_;
  for (const auto& each : processors_.all()) sum += each->status.rounds();
  return sum;
}

/// Whether there is no thread outside of the runtime that could wake a task. `workers`: how many the runtime has. If
/// other threads are about to end, the monitor checks again soon.
bool scheduler::is_alone(std::size_t workers) noexcept {
  if (options_.deadlocks == deadlock_reports::always) return true;
  join_retired();
  constexpr std::size_t monitors = 1;
  const seam::other_threads others = seam::threads_besides(workers + monitors + blocking_.threads());
  if (others == seam::other_threads::none) return true;
  const bool soon = others == seam::other_threads::ending;
  const instant next = time_.now() + (soon ? end_of_a_thread : between_looks_outside);
  next_look_outside_.store(next.nanoseconds(), seam::relaxed);
  if (soon) monitor_.guard(next);
  return false;
}

void scheduler::look_for_deadlock() noexcept {
  if (!may_be_dead()) [[likely]]
    return;
  const instant next_look = instant::from_nanoseconds(next_look_outside_.load(seam::relaxed));
  if (time_.now_or_later() < next_look) {
    monitor_.guard(next_look);  // the monitor looks then, unless a worker is busy by then
    return;
  }
  for (const auto& each : processors_.all()) {
    // first() may be the deadline of a timer that was stopped, and the worker sleeps until then.
    each->timers->refresh_first();
    if (!each->timers->first().is_never()) return;
  }
  std::uint64_t before = 0;
  std::size_t workers = 0;
  {
    const lock held(lock_);
    if (!is_dead()) return;
    before = activity();
    for (const auto& each : processors_.all()) workers += each->tenure.is_present(lock_) ? 1U : 0U;
  }
  // Other threads are counted without the lock. Only a thread of the runtime could have made one since; then there has
  // been activity, and that thread looks again.
  if (!is_alone(workers)) return;
  {
    const lock held(lock_);
    if (!is_dead() || activity() != before) return;
    dead_ = true;
    ending_.store(true, seam::seq_cst);
  }
  notify_all();
}

void scheduler::begin_monitor_turn() noexcept {
  const lock held(lock_);
  monitor_in_turn_ = true;
  ++monitor_turns_;
}

void scheduler::end_monitor_turn(instant next_turn) noexcept {
  {
    const lock held(lock_);
    monitor_in_turn_ = false;
    // If all workers are idle, none can be stuck, and the alarm stays as disarm() has left it. A worker that becomes
    // busy or idle after this calls arm() or disarm() then.
    if (idle_.size(lock_) < processors_.count()) monitor_.wake_by(next_turn);
  }
  look_for_deadlock();  // workers that went to sleep meanwhile left that to the monitor
}

/// Called by the thread that called run(), when its work() has returned. The other workers run no tasks any more.
void scheduler::throw_if_dead() {
  {
    const lock held(lock_);
    if (!dead_) return;
  }
  throw deadlock(with_waiting_tasks("foliot: deadlock: all tasks wait, and nothing can end their waits"));
}

// ---------------------------------------------------------------- statistics and reports

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

void scheduler::report_stuck_tasks() noexcept {
  const auto& tell = options_.stuck_task.tell;
  if (!tell) return;
  const instant now = time_.now();
  for (const auto& each : processors_.all()) {
    const auto overdue = each->meter->watched().overdue(now);
    if (!overdue) continue;
    try {
      tell({.running = overdue->running,
            .name = overdue->name.get(),
            .resumed_at = overdue->resumed_at,
            .thread = overdue->thread});
    } catch (...) {
      report(overdue->name.get(), std::current_exception());
    }
  }
}

std::string scheduler::with_waiting_tasks(std::string text) {
  living_.for_each([&text](const task_state& task) {
    text += "\n  ";
    text += task.name();
    const std::string place = foliot::detail::place_text(task.where.load(seam::relaxed));
    const wait_reason reason = task.waits_for.load(seam::relaxed);
    if (place.empty() && reason == wait_kind::other) {
      text += " has not begun";
      return;
    }
    text.append(" waits").append(wait_phrase(reason));
    if (!place.empty()) text.append(" at ").append(place);
  });
  return text;
}

// ---------------------------------------------------------------- what the headers call

// scheduler_calls.hpp, task_state.hpp, timer_entry.hpp, run.hpp and statistics.hpp declare these functions, and so need
// not include scheduler.hpp.

// After a wait a coroutine may run on another thread. noinline: the compiler must not keep what belongs to the thread.
[[gnu::noinline]] scheduler* this_scheduler_or_null() noexcept {
  if (processor* const worker = this_worker()) return &worker->owner;
  return this_monitored();
}

scheduler& this_scheduler(const char* what) {
  if (scheduler* const here = this_scheduler_or_null()) return *here;
  throw std::logic_error(std::string("foliot: ") + what + " needs a runtime: call it from a task");
}

[[gnu::noinline]] bool is_worker_of(const scheduler& owner) noexcept { return owner.this_processor() != nullptr; }

[[gnu::noinline]] std::uint64_t random_below(std::uint64_t bound) noexcept {
  return this_worker()->own().random.below(bound);
}

runtime_ref reference_to(const scheduler& which) noexcept { return which.ref(); }

void launch(task_state& task, frame& body) noexcept { task.owner().launch(task, body); }
void make_ready(task_state& task) noexcept { task.owner().make_ready(task); }
void make_ready_last(task_state& task) noexcept { task.owner().make_ready_last(task); }

void begin_outside_wait(scheduler& owner) noexcept { owner.begin_outside_wait(); }
void end_outside_wait(scheduler& owner) noexcept { owner.end_outside_wait(); }

void report_failure(scheduler& owner, const task_state& task, const std::exception_ptr& failure) noexcept {
  owner.report(task.name(), failure, task.stop_requested());
}
void report_failure(scheduler& owner, const char* name, const std::exception_ptr& failure) noexcept {
  owner.report(name, failure);
}

instant now(const scheduler& owner) noexcept { return owner.time().now(); }
instant now_or_later(const scheduler& owner) noexcept { return owner.time().now_or_later(); }
const clock& clock_of(const scheduler& owner) noexcept { return owner.time(); }
instant deadline_in(const scheduler& owner, duration length) noexcept {
  // The cheaper clock may be some microseconds ahead, which is much for such a length.
  constexpr duration short_lengths = duration::nanoseconds(100'000);
  const clock& time = owner.time();
  return deadline_after(length < short_lengths ? time.now() : time.now_or_later(), length);
}

void start_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period, starter next) {
  owner.start_timer(entry, first, period, next);
}
bool reset_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period) {
  return owner.reset_timer(entry, first, period);
}

bool keeps_period(timer_entry& entry) noexcept {
  const processor_timers* const home = timer_entry_access::home(entry).load(seam::relaxed);
  return home != nullptr && home->keeps_periods();
}

bool stop_timer(timer_entry& entry) noexcept {
  for (;;) {
    processor_timers* const home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) return false;
    const home_answer answer = home->stop(entry);
    if (answer != home_answer::moved) return answer == home_answer::was_pending;
  }
}

own_scheduler::own_scheduler(const run_options& options) : scheduler_(std::make_unique<scheduler>(options)) {}
own_scheduler::~own_scheduler() = default;
void own_scheduler::run(task_state& main, frame& body) {
  main.is_main = true;
  scheduler_->run(main, body);
}

void submit(scheduler& to, blocking_job& job) {
  if (to.virtual_time() != nullptr) return job.run();
  to.blocking().submit(job);
}

}  // namespace detail

void set_processors(std::size_t count) { detail::this_scheduler("set_processors").set_processors(count); }
std::size_t processors() { return detail::this_scheduler("processors").processors(); }
instant now() { return detail::this_scheduler("now").time().now(); }
runtime_counters counters() { return detail::this_scheduler("counters").counters(); }
runtime_statistics statistics() { return detail::this_scheduler("statistics").statistics(); }

}  // namespace foliot::runtime
