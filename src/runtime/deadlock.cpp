// When all tasks wait and nothing will ever happen, on real time. (Go's checkdead.)
//
// A dead runtime stays as it is: no worker is at work, no queue has a task, no timer is pending, nobody waits for what
// comes from outside. So it is enough that each thread of the runtime looks when it is done with something, and that
// the last one sees what the others have done. A worker looks when it is listed as idle and sleeps without a deadline;
// the monitor after each of its turns, and a thread of blocking() after each call. None of them holds a task then that
// is in no queue. A worker that comes back from the poller may hold some while it is still listed as idle: those waited
// for a descriptor or for the wall clock, and count as waiting until they run.
//
// What cannot be seen is whether a thread outside of the runtime will wake a task. By default the report is made only
// where the process has no such thread. That is asked last, and seldom: /proc has the answer.
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/seam/system.hpp>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

namespace {

/// After other threads have been found, /proc is left alone for so long. A program that is woken from outside a hundred
/// thousand times a second pays for ten looks.
constexpr duration between_looks_outside = duration::nanoseconds(100'000'000);
/// A thread that is about to end has done so by then.
constexpr duration end_of_a_thread = duration::nanoseconds(1'000'000);

}  // namespace

/// What can be had without a lock: false where a worker is at work, or tasks wait for what is outside.
bool scheduler::may_be_dead() const noexcept {
  if (options_.deadlocks == deadlock_reports::never || virtual_time() != nullptr) return false;
  // relaxed: all of these are looked at again, under the lock. The caller has passed a full barrier: of two threads
  // that are done at once, one sees what the other has done.
  if (idle_count_.load(seam::relaxed) < count_.load(seam::relaxed) || ending_.load(seam::relaxed)) return false;
  return !waits_for_outside() && !blocking_.is_busy();
}

/// Whether no thread of the runtime will ever do anything. Who is listed as idle stays so while the lock is held, and
/// what it did before is seen. Its worker may be awake still: on its way to sleep, or back from it and about to look
/// at its timers. Neither changes anything but a bound that is raised where there is no timer.
bool scheduler::is_dead() const noexcept {
  if (monitor_looks_ || !global_.empty() || idle_.size() < count_.load(seam::relaxed)) return false;
  if (!may_be_dead()) return false;
  const std::size_t made = made_.load(seam::acquire);
  for (std::size_t i = 0; i < made; ++i) {
    const processor& each = *processors_[i];
    if (each.present && !each.idle) return false;
    if (!each.queue.empty() || each.next_task.load(seam::relaxed) != nullptr) return false;
    if (!each.timers->first().is_never()) return false;
  }
  return true;
}

/// A number that changes whenever a thread of the runtime may have run code of the program. A worker that has left the
/// list goes round before it is listed again. Threads of blocking() are busy only on behalf of such a worker.
std::uint64_t scheduler::activity() const noexcept {
  std::uint64_t sum = monitor_turns_;
  for (std::size_t i = 0; i < made_.load(seam::acquire); ++i) sum += processors_[i]->rounds.load(seam::relaxed);
  return sum;
}

/// Threads of processors that have gone away may not have ended, and must not be taken for others.
void scheduler::join_retired() noexcept {
  const lock one_at_a_time(changing_);
  if (ending_.load(seam::relaxed)) return;  // end_workers() joins them
  for (std::size_t i = 1; i < made_.load(seam::relaxed); ++i) {
    processor& each = *processors_[i];
    if (!each.worker.joinable()) continue;
    bool left = false;
    {
      const lock held(lock_);
      left = each.left;
    }
    if (left) each.worker.join();
  }
}

/// Whether no thread outside of the runtime could wake a task. `workers`: how many there are. Where other threads are
/// about to end, the monitor asks again soon.
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
    monitor_.guard(next_look);  // it looks then, unless somebody has come meanwhile
    return;
  }
  const std::size_t made = made_.load(seam::acquire);
  for (std::size_t i = 0; i < made; ++i) {
    // A stopped timer may have left a bound, and its worker sleeps until then.
    processors_[i]->timers->refresh_first();
    if (!processors_[i]->timers->first().is_never()) return;
  }
  std::uint64_t before = 0;
  std::size_t workers = 0;
  {
    const lock held(lock_);
    if (!is_dead()) return;
    before = activity();
    for (std::size_t i = 0; i < made_.load(seam::relaxed); ++i) workers += processors_[i]->present ? 1U : 0U;
  }
  // Other threads are counted without the lock. Only the runtime's own could have made one since, and then there has
  // been activity: whoever that was looks again.
  if (!is_alone(workers)) return;
  {
    const lock held(lock_);
    if (!is_dead() || activity() != before) return;
    dead_ = true;
    ending_.store(true, seam::seq_cst);
  }
  for (std::size_t i = 0; i < made_.load(seam::acquire); ++i) notify(*processors_[i]);
}

/// Called by the thread that called run(), when its worker has ended. The others run no tasks any more.
void scheduler::throw_if_dead() {
  {
    const lock held(lock_);
    if (!dead_) return;
  }
  throw deadlock(with_waiting_tasks("foliot: deadlock: all tasks wait, and nothing will ever happen"));
}

/// No task runs meanwhile.
std::string scheduler::with_waiting_tasks(std::string text) {
  living_.for_each([&text](const task_state& task) {
    text += "\n  ";
    text += task.name();
    const std::string_view file = task.where.file_name();
    if (file.empty()) {
      text += " has not begun";
    } else {
      text += " waits at ";
      text += file.substr(file.rfind('/') + 1);
      text += ':';
      text += std::to_string(task.where.line());
    }
  });
  return text;
}

}  // namespace foliot::runtime::detail
