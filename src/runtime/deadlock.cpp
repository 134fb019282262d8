// When all tasks wait and nothing can end their waits, on real time. (Go's checkdead.)
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
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/seam/system.hpp>

#include "core/place_text.hpp"
#include "scheduler.hpp"
#include "wait_words.hpp"

namespace foliot::runtime::detail {

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

}  // namespace foliot::runtime::detail
