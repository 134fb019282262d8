// Where a task goes that has become ready, and whether a worker is woken for it.
#include "scheduler.hpp"

namespace foliot::runtime::detail {

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

/// From now on the task stands in a queue, for the measurements. Called before another worker can run it.
void scheduler::note_ready(task_state& task) const noexcept {
  if (options_.measure) [[unlikely]]
    task.since.store(time_.now().nanoseconds(), seam::relaxed);
}

/// Puts the task at the end of the processor's queue. If the queue is full, half of it goes to the global run queue.
void scheduler::push(processor& p, task_state& task) noexcept {
  while (!p.queue.push(task)) {
    const lock held(lock_);
    global_.take_half(p.queue, lock_);
  }
}

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

}  // namespace foliot::runtime::detail
