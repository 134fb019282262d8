// How a worker finds the task that it runs next.
#include <algorithm>

#include "core/seam/probes.hpp"
#include "scheduler.hpp"

namespace foliot::runtime::detail {

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
  while (timer_entry* const each = calls.pop_front()) timer_entry_access::call(*each);
  return true;
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

}  // namespace foliot::runtime::detail
