// The shipped timer service with its thread: start, stop, reset and the end, against the thread that sleeps, wakes and
// fires.
#include <memory>

#include <foliot/core/sync/note.hpp>
#include <foliot/service.hpp>

#include "check.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;

void an_earlier_timer_wakes_the_thread() {
  timer_service timers;
  timer far(timers, 1h, [] {});
  seam::plain<bool> fired{false};
  name(fired, "fired");
  note done;
  timer near(timers, 1ms, [&](const firing& now) {
    require(now.lateness() >= duration::zero(), "the timer fired early");
    fired = true;
    done.wake();
  });
  require(done.sleep_until(instant::never()), "the timer must fire");
  require(fired, "the callback's writes are visible");
}

TEST(Service, AnEarlierTimerWakesTheThread) {
  holds({.name = "service, an earlier timer", .preemptions = 0}, an_earlier_timer_wakes_the_thread);
  finds({.name = "service, drops a wake-up", .preemptions = 1, .timeouts_at_any_time = false, .drop_wake = 1}, "",
        an_earlier_timer_wakes_the_thread);
}

void stop_and_wait_waits() {
  auto captured = std::make_unique<seam::plain<int>>(0);
  timer_service timers;
  timer t(timers, 1ms, [&] { ++*captured; });
  static_cast<void>(t.stop_and_wait());
  captured.reset();  // a race, if the callback could still run
}

TEST(Service, StopAndWaitIsCertain) {
  holds({.name = "service, stop and wait", .preemptions = 1}, stop_and_wait_waits);
}

}  // namespace
}  // namespace foliot::model
