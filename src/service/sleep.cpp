#include <foliot/service/sleep.hpp>

#include <stdexcept>
#include <utility>

#include <foliot/core/sync/note.hpp>
#include <foliot/service/timer.hpp>

namespace foliot::inline service {

namespace {

/// Wakes its note when it is destroyed: after the callback that holds it has run, or when the service
/// ended and dropped the timer.
class wakes_at_end {
 public:
  explicit wakes_at_end(note& sleeper) noexcept : sleeper_(&sleeper) {}
  wakes_at_end(wakes_at_end&& other) noexcept : sleeper_(std::exchange(other.sleeper_, nullptr)) {}
  ~wakes_at_end() {
    if (sleeper_ != nullptr) sleeper_->wake();
  }
  void wake() noexcept { std::exchange(sleeper_, nullptr)->wake(); }

 private:
  note* sleeper_;
};

}  // namespace

bool sleep_for(timer_service& service, duration length) {
  return sleep_until(service, deadline_after(service.now(), length));
}

bool sleep_until(timer_service& service, instant deadline) {
  if (deadline <= service.now()) return true;
  if (service.runs_on_caller()) {
    throw std::logic_error(
        "foliot: a callback must not sleep on the service, or the virtual clock, that runs it: the sleep could not "
        "end; "
        "start a timer instead");
  }
  note woken;
  bool slept = false;
  // The timer's end waits for its callback, so the note outlives whoever wakes it.
  timer alarm(service, [&slept, waker = wakes_at_end(woken)]() mutable {
    slept = true;
    waker.wake();
  });
  if (alarm.reset_at(deadline) == reset_result::closed) return false;
  woken.sleep_until(instant::never());
  return slept;
}

}  // namespace foliot::inline service
