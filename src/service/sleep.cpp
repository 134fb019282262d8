#include <foliot/service/sleep.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

#include <foliot/core/sync/note.hpp>
#include <foliot/service/timer.hpp>

namespace foliot::inline service {

namespace {

/// What the sleeping thread and its timer's callback share, since either may be done with it first.
struct one_sleep {
  note woken;
  bool whole = false;  // written before the wake-up
};

/// The timer's callback. When it is called the whole time was slept; when it is destroyed without that, the timer's
/// start was dropped. Both wake the sleeping thread.
class wakes_sleeper {
 public:
  explicit wakes_sleeper(std::shared_ptr<one_sleep> of) noexcept : of_(std::move(of)) {}
  wakes_sleeper(wakes_sleeper&&) noexcept = default;
  wakes_sleeper& operator=(wakes_sleeper&&) = delete;
  ~wakes_sleeper() {
    if (of_ != nullptr) of_->woken.wake();
  }
  void operator()() noexcept {
    of_->whole = true;
    std::exchange(of_, nullptr)->woken.wake();
  }

 private:
  std::shared_ptr<one_sleep> of_;
};

}  // namespace

bool sleep_for(timer_service& service, duration length) {
  return sleep_until(service, deadline_after(service.now(), length));
}

bool sleep_until(timer_service& service, instant deadline) {
  if (service.runs_on_caller()) {
    throw std::logic_error(
        "foliot: a callback must not sleep on the service, or the virtual clock, that runs it: the sleep could not "
        "end; "
        "start a timer instead");
  }
  if (deadline <= service.now()) return true;
  const auto sleep = std::make_shared<one_sleep>();
  timer alarm(service, wakes_sleeper(sleep));
  if (alarm.reset_at(deadline) == reset_result::closed) return false;
  // Without a handle: whatever becomes of the start, it ends the timer, and so destroys the callback.
  alarm.detach();
  sleep->woken.sleep_until(instant::never());
  return sleep->whole;
}

}  // namespace foliot::inline service
