// Where the scheduler starts and resets timers: at the processor that is the timer's home, or becomes it.
#include "scheduler.hpp"

namespace foliot::runtime::detail {

/// The processor for a timer that has no home yet: the caller's. From elsewhere, as from a callback that the monitor
/// runs, an idle one if there is one.
processor& scheduler::processor_for_start() noexcept {
  if (processor* const p = this_processor()) return *p;
  if (idle_.listed() != 0) {
    const lock held(lock_);
    if (processor* const idle = idle_.last(lock_)) return *idle;
  }
  return processors_[0];
}

template <class Arm>
void scheduler::start_timer(timer_entry& entry, instant deadline, starter next, const Arm& arm) {
  for (;;) {
    processor_timers* home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) {
      home = processor_for_start().timers.get();
      if (!home->adopt(entry)) continue;
    }
    if (arm(*home) == home_answer::moved) continue;
    wake_for(*home, deadline, next);
    return;
  }
}

template <class Arm>
bool scheduler::reset_timer(timer_entry& entry, instant deadline, const Arm& arm) {
  for (;;) {
    processor_timers* const home = timer_entry_access::home(entry).load(seam::relaxed);
    if (home == nullptr) {
      start_timer(entry, deadline, starter::goes_on, arm);
      return false;
    }
    const home_answer answer = arm(*home);
    if (answer == home_answer::moved) continue;
    wake_for(*home, deadline, starter::goes_on);
    return answer == home_answer::was_pending;
  }
}

void scheduler::start_timer(timer_entry& entry, instant deadline, starter next) {
  start_timer(entry, deadline, next, [&](processor_timers& home) { return home.reset(entry, deadline); });
}
void scheduler::start_timer_every(timer_entry& entry, instant first, duration period, starter next) {
  start_timer(entry, first, next, [&](processor_timers& home) { return home.reset_every(entry, first, period); });
}
bool scheduler::reset_timer(timer_entry& entry, instant deadline) {
  return reset_timer(entry, deadline, [&](processor_timers& home) { return home.reset(entry, deadline); });
}
bool scheduler::reset_timer_every(timer_entry& entry, instant first, duration period) {
  return reset_timer(entry, first, [&](processor_timers& home) { return home.reset_every(entry, first, period); });
}

}  // namespace foliot::runtime::detail
