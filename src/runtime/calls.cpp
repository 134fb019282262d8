// The functions through which the headers call the scheduler: scheduler_calls.hpp, task_state.hpp and timer_entry.hpp
// declare them, and so need not include scheduler.hpp.
#include <stdexcept>
#include <string>

#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

#include "scheduler.hpp"
#include "this_thread.hpp"

namespace foliot::runtime::detail {

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

void start_timer(scheduler& owner, timer_entry& entry, instant deadline, starter next) {
  owner.start_timer(entry, deadline, next);
}
void start_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period, starter next) {
  owner.start_timer_every(entry, first, period, next);
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
    const home_answer answer = home->stop(entry);
    if (answer != home_answer::moved) return answer == home_answer::was_pending;
  }
}

}  // namespace foliot::runtime::detail
