// How a worker finds what to run next, and where a task goes that can run.
#include <algorithm>
#include <utility>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

namespace {

/// Every so many rounds the global run queue comes first, so that it is not starved. (Go: 61 as well.)
constexpr std::uint64_t global_every = 61;
/// How many tasks may go on in the run-next slot one after the other before the queue has its turn.
constexpr std::uint32_t most_in_a_row = 64;
constexpr int steal_passes = 4;
constexpr int most_turns = 16;  // of timers, before tasks have theirs
constexpr duration shortest_sleep = duration::nanoseconds(3'000);
constexpr int looks_before_sleep = 60;  // some 20 us
constexpr int looks_for_overdue = 4;    // every so many of them are at run-next slots too
/// Of so many tasks that go to a run-next slot one is measured. Odd, since those that hand over often take turns.
constexpr std::uint32_t measured_every = 7;
/// What stays there for so long is worth a wake-up, which takes some 25 us.
constexpr duration worth_a_wake_up = duration::nanoseconds(30'000);
/// And for so long one now and then: who has come stays awake if more follows soon.
constexpr duration worth_a_try = duration::nanoseconds(4'000);

}  // namespace

/// Null: the processor retires, or the runtime ends.
task_state* scheduler::find_task(processor& p) noexcept {
  for (;;) {
    const std::uint64_t round = p.rounds.load(seam::relaxed) + 1;
    p.rounds.store(round, seam::relaxed);  // the worker's own
    p.in_task.store(false, seam::relaxed);
    if (!p.measured_since.is_never()) [[unlikely]]
      end_measurement(p);
    if (p.stuck.load(seam::relaxed)) [[unlikely]]
      p.stuck.store(false, seam::relaxed);
    if (ending_.load(seam::relaxed) || p.is_to_leave()) [[unlikely]]
      return nullptr;
    // Callbacks start timers, which may be due at once.
    int turns = 0;
    while (run_timers(p, &p) && ++turns < most_turns) {
    }
    const bool others_first = round % global_every == 0;
    if (others_first) p.keeps_timers = false;  // there may be memory now
    task_state* task = others_first ? take_global(p) : nullptr;
    // With tasks that always run nobody would ever come to the poller. (Go has its monitor look after 10 ms.)
    if (others_first && !descriptors_.empty() && polls_.load(seam::relaxed) == nullptr) poll(&p, instant::earliest());
    if (task == nullptr) task = take_local(p);
    if (task == nullptr) task = take_global(p);
    if (task == nullptr && !descriptors_.empty() && polls_.load(seam::relaxed) == nullptr) {
      poll(&p, instant::earliest());
      task = take_local(p);
    }
    // There is more to fire, which is work as well. What waits behind others' tasks has its turn now and then.
    if (task == nullptr && turns == most_turns && !others_first) {
      stop_spinning(p);
      continue;
    }
    if (task == nullptr) task = steal(p);
    if (task != nullptr) {
      stop_spinning(p);
      p.in_task.store(true, seam::relaxed);  // before the alarm, whose ring looks at it
      // H8: what callbacks and tasks that wait have started may be due while this task runs.
      if (idle_count_.load(seam::relaxed) != 0) monitor_.guard(p.timers->first());
      return task;
    }
    if (!wait_awake(p)) sleep(p);
  }
}

/// Whether it is not worth to sleep: a timer is about to be due, or others are at work and may soon have some to share.
/// A sleep and a wake-up cost some 20 us together, so nobody should wait much longer than that for work, or sleep for
/// much less.
bool scheduler::wait_awake(processor& p) noexcept {
  if (virtual_time() != nullptr) return true;
  const instant first = p.timers->first();
  if (!first.is_never() && first <= time_.now_or_later() + shortest_sleep) return true;
  if (!p.spinning) return false;
  for (int i = 0; i < looks_before_sleep; ++i) {
    if (idle_count_.load(seam::relaxed) + 1 >= count_.load(seam::relaxed)) return false;  // nobody is at work
    if (global_size_.load(seam::relaxed) != 0 || ending_.load(seam::relaxed)) return true;
    const std::size_t made = made_.load(seam::acquire);
    for (std::size_t other = 0; other < made; ++other) {
      if (!processors_[other]->queue.empty()) return true;
    }
    if (i % looks_for_overdue == 0 && sees_overdue(p)) return true;
    for (int pause = 0; pause < 8; ++pause) seam::spin_pause();
  }
  return false;
}

/// Whether another's run-next slot is taken since an earlier look, in the same round: who put a task there computes on.
/// It is steal()'s then. (Go's thieves leave a run-next slot 3 us.)
bool scheduler::sees_overdue(processor& p) noexcept {
  if (p.has_seen_overdue()) return true;
  const std::size_t made = made_.load(seam::acquire);
  const std::size_t start = p.draw_below(made);  // or those that hand over all the time would hide the others
  for (std::size_t i = 0; i < made; ++i) {
    const processor& other = *processors_[(start + i) % made];
    if (other.next_task.load(seam::relaxed) == nullptr) continue;
    p.sees_next_of(other);
    break;
  }
  return false;
}

/// Fires what is due of `of`, and puts what becomes ready to `by`; null: to the global run queue. True: something was
/// due.
bool scheduler::run_timers(processor& of, processor* by) noexcept {
  const instant first = of.timers->first();
  if (first.is_never() || time_.now_or_later() < first) [[likely]]
    return false;
  const instant now = time_.now();
  if (!is_due(first, now)) return false;
  ready_list ready;
  call_list calls;
  static_cast<void>(of.timers->run_due(now, ready, calls));  // the next round goes on
  put(by, ready);
  while (timer_entry* const each = calls.take_first()) timer_entry_access::call(*each);
  return true;
}

void scheduler::put(processor* by, ready_list& ready) noexcept {
  if (ready.empty()) return;
  if (by == nullptr) {
    while (task_state* const task = ready.pop_front()) make_ready(*task);
    return;
  }
  const bool several = ready.size() > 1;
  while (task_state* const task = ready.pop_front()) push(*by, *task);
  if (several && made_.load(seam::relaxed) > 1) {
    seam::full_fence();  // H2: pairs with the one in sleep()
    wake_one();
  }
}

/// At the end of its queue; half of that goes to the common one when it is full.
void scheduler::push(processor& p, task_state& task) noexcept {
  while (!p.queue.push(task)) {
    const lock held(lock_);
    for (std::uint32_t i = 0; i < run_queue::capacity / 2; ++i) {
      task_state* const oldest = p.queue.pop();
      if (oldest == nullptr) break;
      global_.push_back(*oldest);
    }
    global_size_.store(global_.size(), seam::relaxed);
  }
}

task_state* scheduler::take_local(processor& p) noexcept {
  if (p.in_a_row < most_in_a_row) {
    // acquire: pairs with the release in make_ready(), where a thief has put nothing.
    if (p.next_task.load(seam::relaxed) != nullptr) {
      if (task_state* const next = p.next_task.exchange(nullptr, seam::acq_rel)) {
        ++p.in_a_row;
        return next;
      }
    }
    p.in_a_row = 0;
    return p.queue.pop();
  }
  p.in_a_row = 0;
  if (task_state* const next = p.next_task.exchange(nullptr, seam::acq_rel)) push(p, *next);
  return p.queue.pop();
}

/// One task, and its share of the others.
task_state* scheduler::take_global(processor& p) noexcept {
  if (global_size_.load(seam::relaxed) == 0) return nullptr;
  const lock held(lock_);
  const std::size_t share =
      std::min<std::size_t>(global_.size() / count_.load(seam::relaxed) + 1, run_queue::capacity / 2);
  task_state* const first = global_.pop_front();
  for (std::size_t i = 1; i < share; ++i) {
    task_state* const task = global_.pop_front();
    if (task == nullptr) break;
    if (!p.queue.push(*task)) {
      global_.push_back(*task);
      break;
    }
  }
  global_size_.store(global_.size(), seam::relaxed);
  return first;
}

task_state* scheduler::steal(processor& p) noexcept {
  const std::size_t made = made_.load(seam::acquire);
  if (made == 1) return nullptr;
  if (!p.spinning) {
    // As in Go: at most half of the busy ones look for work, so that looking does not cost more than work.
    const std::size_t busy =
        count_.load(seam::relaxed) - std::min(count_.load(seam::relaxed), idle_count_.load(seam::relaxed));
    if (2 * spinning_.load(seam::relaxed) >= busy) return nullptr;
    p.spinning = true;
    spinning_.fetch_add(1, seam::seq_cst);
  }
  for (int pass = 1; pass <= steal_passes; ++pass) {
    const std::size_t start = p.draw_below(made);
    for (std::size_t i = 0; i < made; ++i) {
      processor& victim = *processors_[(start + i) % made];
      if (&victim == &p) continue;
      if (task_state* const task = victim.queue.steal_half(p.queue)) return task;
      if (pass < steal_passes) continue;
      if (victim.stuck.load(seam::relaxed) || (p.seen.of == &victim && p.has_seen_overdue())) {
        if (task_state* const next = victim.next_task.exchange(nullptr, seam::acq_rel)) return next;
      }
      if (!victim.sees_to_timers() && run_timers(victim, &p)) {
        if (task_state* const task = take_local(p)) return task;
      }
    }
  }
  return nullptr;
}

/// It has found work: others may look again. Where there is more of it, one does.
void scheduler::stop_spinning(processor& p) noexcept {
  if (!p.spinning) return;
  p.spinning = false;
  spinning_.fetch_sub(1, seam::seq_cst);
  // H2: who made work meanwhile relied on this one, wherever that work is. Pairs with the maker's; who is listed as
  // idle later looks again.
  seam::full_fence();
  if (idle_count_.load(seam::relaxed) == 0) return;
  bool more = global_size_.load(seam::relaxed) != 0;
  const std::size_t made = made_.load(seam::acquire);
  for (std::size_t i = 0; i < made && !more; ++i) {
    more = !processors_[i]->queue.empty() || processors_[i]->has_slow_next();
  }
  if (more) wake_one();
}

/// What the poller has to tell; `by` waits for it until then, null: does not wait. True: a task became ready.
bool scheduler::poll(processor* by, instant until) noexcept {
  ready_list ready;
  looks_.fetch_add(1, seam::relaxed);  // a count
  const auto [broken, rung] = descriptors_.wait(until, ready);
  if (rung) wall_.fire(ready);
  // H1: who looks into the poller while another one sleeps there may have heard the break that was for that one.
  // relaxed: that one's word, who broke the wait, and the break have each published it.
  if (broken) {
    const processor* const sleeper = polls_.load(seam::relaxed);
    if (sleeper != nullptr && sleeper != by) descriptors_.break_wait();
  }
  const bool any = !ready.empty();
  put(by, ready);
  // On virtual time a break says that a thread outside has made a task ready, which the driver has to look for.
  return any || (broken && virtual_time() != nullptr);
}

/// A task was put into the run-next slot. It is the next to run here, and nobody is woken for it, unless the one that
/// runs is likely to run on for long.
bool scheduler::should_wake_for_next(processor& p) noexcept {
  if (p.running == nullptr) return false;  // a callback's, and taken at once
  const bool measured = ++p.handovers % measured_every == 0;
  if (measured) p.measured_since = time_.now_or_later();
  return p.runs_on.load(seam::relaxed) || (measured && p.stayed >= worth_a_try);
}

/// The measured one leaves the run-next slot, or would do so now if no thief had come.
void scheduler::end_measurement(processor& p) noexcept {
  p.stayed = time_.now_or_later() - std::exchange(p.measured_since, instant::never());
  p.runs_on.store(p.stayed >= worth_a_wake_up, seam::relaxed);
}

void scheduler::make_ready(task_state& task) noexcept {
  if (ending_.load(seam::relaxed)) return;  // no task runs any more
  processor* const p = this_processor();
  if (p != nullptr) {
    // release: publishes the task, for a thief.
    task_state* const other = p->next_task.exchange(&task, seam::acq_rel);
    if (other != nullptr) push(*p, *other);
    if (virtual_time() != nullptr || made_.load(seam::relaxed) == 1) return;  // there is nobody else
    if (other == nullptr && !should_wake_for_next(*p)) return;
    seam::full_fence();  // H2: pairs with the one in sleep()
    wake_one();
  } else {
    make_ready_last(task);
  }
}

void scheduler::make_ready_last(task_state& task) noexcept {
  if (ending_.load(seam::relaxed)) return;
  processor* const p = this_processor();
  if (p != nullptr) {
    push(*p, task);
  } else {
    const lock held(lock_);
    // Again, under the lock: end_workers() has emptied the queue under it. Tasks that were queued before that are freed
    // by the end, and must not be written to as the last of the queue.
    if (ending_.load(seam::relaxed)) return;
    global_.push_back(task);
    global_size_.store(global_.size(), seam::relaxed);
  }
  if (virtual_time() != nullptr && p == nullptr) descriptors_.break_wait();  // the driver may be in the poller
  if (virtual_time() != nullptr || (p != nullptr && made_.load(seam::relaxed) == 1)) return;  // there is nobody else
  seam::full_fence();  // H2: pairs with the one in sleep()
  wake_one();
}

/// Requeues a task that has spent its budget at the back. If the queue is empty otherwise, no idle worker is woken:
/// this worker takes the task again in its next round.
void scheduler::end_turn(processor& p, task_state& task) noexcept {
  task.turn.end(task.wait().has_interrupt() && task.must_leave_wait());  // one whose reason has gone is forgotten
  if (ending_.load(seam::relaxed)) return;
  const bool alone = p.queue.empty() && p.next_task.load(seam::relaxed) == nullptr;
  push(p, task);
  if (alone || virtual_time() != nullptr || made_.load(seam::relaxed) == 1) return;
  seam::full_fence();  // H2: pairs with the one in sleep()
  wake_one();
}

}  // namespace foliot::runtime::detail
