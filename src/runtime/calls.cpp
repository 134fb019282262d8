// What the headers ask of the scheduler: see scheduler_calls.hpp, task_state.hpp and timer_entry.hpp.
#include <stdexcept>
#include <string>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/cancel_scope.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

#include "scheduler.hpp"
#include "this_thread.hpp"

namespace foliot::runtime::detail {

// A coroutine goes on in another thread after it has waited: what belongs to the thread is asked for anew each time.
[[gnu::noinline]] scheduler* this_scheduler_or_null() noexcept {
  if (processor* const worker = this_worker()) return &worker->owner;
  return this_monitored();
}

scheduler& this_scheduler(const char* what) {
  if (scheduler* const here = this_scheduler_or_null()) return *here;
  throw std::logic_error(std::string("foliot: ") + what + " needs a runtime: call it from a task");
}

[[gnu::noinline]] bool is_worker_of(const scheduler& owner) noexcept { return owner.this_processor() != nullptr; }

[[gnu::noinline]] std::uint64_t random_below(std::uint64_t bound) noexcept { return this_worker()->draw_below(bound); }

runtime_ref reference_to(const scheduler& which) noexcept { return which.ref(); }

void launch(task_state& task, frame& body) noexcept { task.owner().launch(task, body); }
void make_ready(task_state& task) noexcept { task.owner().make_ready(task); }
void make_ready_last(task_state& task) noexcept { task.owner().make_ready_last(task); }

void begin_outside_wait(scheduler& owner) noexcept { owner.begin_outside_wait(); }
void end_outside_wait(scheduler& owner) noexcept { owner.end_outside_wait(); }

void report_failure(scheduler& owner, const task_state& task, const std::exception_ptr& failure) noexcept {
  owner.report(task.name(), failure);
}
void report_failure(scheduler& owner, const char* name, const std::exception_ptr& failure) noexcept {
  owner.report(name, failure);
}

instant now(const scheduler& owner) noexcept { return owner.time().now(); }
instant now_or_later(const scheduler& owner) noexcept { return owner.time().now_or_later(); }
instant deadline_in(const scheduler& owner, duration length) noexcept {
  // The cheaper clock may be some microseconds ahead, which for these would be much.
  constexpr duration short_lengths = duration::nanoseconds(100'000);
  const clock& time = owner.time();
  return deadline_after(length < short_lengths ? time.now() : time.now_or_later(), length);
}

void start_timer(scheduler& owner, timer_entry& entry, instant deadline, bool parks) {
  owner.start_timer(entry, deadline, parks);
}
void start_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period, bool parks) {
  owner.start_timer_every(entry, first, period, parks);
}
bool reset_timer(scheduler& owner, timer_entry& entry, instant deadline) { return owner.reset_timer(entry, deadline); }
bool reset_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period) {
  return owner.reset_timer_every(entry, first, period);
}

bool keeps_period(timer_entry& entry) noexcept {
  const processor_timers* const home = timer_entry_access::home(entry).load(seam::relaxed);
  return home != nullptr && home->keeps_periods();
}

bool stop_timer(timer_entry& entry) noexcept {
  for (;;) {
    processor_timers* const home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) return false;
    const at_home answer = home->stop(entry);
    if (answer != at_home::lives_on) return answer == at_home::yes;
  }
}

/// Where a timer that has no home yet is started: at the caller's processor; from elsewhere, as from a callback that
/// the monitor runs, at one that has nothing to do, if there is one.
processor& scheduler::processor_for_start() noexcept {
  if (processor* const p = this_processor()) return *p;
  if (idle_count_.load(seam::relaxed) != 0) {
    const lock held(lock_);
    if (!idle_.empty()) return *idle_.back();
  }
  return *processors_[0];
}

template <class Arm>
void scheduler::start_timer(timer_entry& entry, instant deadline, bool parks, const Arm& arm) {
  for (;;) {
    processor_timers* home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) {
      home = processor_for_start().timers.get();
      if (!home->adopt(entry)) continue;
    }
    if (arm(*home) == at_home::lives_on) continue;
    wake_for(*home, deadline, parks);
    return;
  }
}

template <class Arm>
bool scheduler::reset_timer(timer_entry& entry, instant deadline, const Arm& arm) {
  for (;;) {
    processor_timers* const home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) {
      start_timer(entry, deadline, false, arm);
      return false;
    }
    const at_home answer = arm(*home);
    if (answer == at_home::lives_on) continue;
    wake_for(*home, deadline, false);
    return answer == at_home::yes;
  }
}

void scheduler::start_timer(timer_entry& entry, instant deadline, bool parks) {
  start_timer(entry, deadline, parks, [&](processor_timers& home) { return home.reset(entry, deadline); });
}
void scheduler::start_timer_every(timer_entry& entry, instant first, duration period, bool parks) {
  start_timer(entry, first, parks, [&](processor_timers& home) { return home.reset_every(entry, first, period); });
}
bool scheduler::reset_timer(timer_entry& entry, instant deadline) {
  return reset_timer(entry, deadline, [&](processor_timers& home) { return home.reset(entry, deadline); });
}
bool scheduler::reset_timer_every(timer_entry& entry, instant first, duration period) {
  return reset_timer(entry, first, [&](processor_timers& home) { return home.reset_every(entry, first, period); });
}

// The rest of a task's own state.

void task_state::request_stop() noexcept {
  stop_.store(true, seam::release);  // pairs with stop_requested()
  if (wait_.interrupt()) make_ready(*this);
}

bool task_state::must_leave_wait() noexcept {
  const auto has_reason = [this] {
    if (stop_requested()) return true;
    for (const cancel_scope* scope = scopes; scope != nullptr; scope = scope->outer()) {
      if (scope->expired()) return true;
    }
    return false;
  };
  if (has_reason()) return true;
  wait_.clear_interrupt();
  if (!has_reason()) return false;
  static_cast<void>(wait_.interrupt());  // it came in between
  return true;
}

void task_state::throw_interrupt() {
  // The outermost reason wins: what is inside of it ends as well.
  if (stop_requested()) throw cancelled();
  cancel_scope* outermost = nullptr;
  for (cancel_scope* scope = scopes; scope != nullptr; scope = scope->outer()) {
    if (scope->expired()) outermost = scope;
  }
  if (outermost != nullptr) throw scope_expired(*outermost);
}

}  // namespace foliot::runtime::detail
