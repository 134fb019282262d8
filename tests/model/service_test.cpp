// The shipped timer service with its thread: start, stop, reset and the end, against the thread that sleeps, wakes and
// fires.
#include <functional>
#include <memory>
#include <utility>

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

// ---------------------------------------------------------------- pinned timers

/// An object with an idle timer, whose closure may name its type.
template <class Function>
struct object {
  object(timer_service& timers, Function function) : timer(timers, std::move(function)) {}
  pinned_timer<Function> timer;
};

/// After the destructor the callback does not run, and the captures are free to go.
void destroy_against_fire() {
  auto captured = std::make_unique<seam::plain<int>>(0);
  timer_service timers;
  {
    const pinned_timer t(timers, 1ms, [raw = captured.get()] { ++*raw; });
  }
  captured.reset();  // a race, if the callback could still run
}

TEST(PinnedService, DestroyAgainstFire) {
  holds({.name = "pinned, destroy against fire", .preemptions = 1}, destroy_against_fire);
}

/// The callback destroys the object while another thread ends the service. It waits until that thread's reset has
/// returned, which may touch the timer after it has armed it.
void destroy_inside_the_callback() {
  timer_service timers;
  seam::plain<int> destroyed{0};
  struct end {
    object<end>** self;
    seam::plain<int>* destroyed;
    note* reset_has_returned;
    void operator()() const {
      require(reset_has_returned->sleep_until(instant::never()), "the note was not written");
      delete std::exchange(*self, nullptr);
      ++*destroyed;  // the closure is on the stack: its captures are as before
    }
  };
  note reset_has_returned;
  object<end>* self = nullptr;
  self = new object<end>(timers, end{&self, &destroyed, &reset_has_returned});
  self->timer.reset(1ms);  // the last use by this thread, unless the timer is dropped
  reset_has_returned.wake();
  timers.shut_down();
  require((destroyed == 1) == (self == nullptr), "the callback has not destroyed the object");
  require(timers.counters().fired == (self == nullptr ? 1u : 0u), "the count of firings is wrong");
  delete self;
}

TEST(PinnedService, DestroyInsideTheCallback) {
  holds({.name = "pinned, destroyed inside its callback", .preemptions = 1}, destroy_inside_the_callback);
}

/// The callback arms its timer again, while another thread stops it: each start has one outcome.
void stop_against_a_reset_from_the_callback() {
  timer_service timers;
  seam::plain<int> runs{0};
  pinned_timer<std::function<void()>>* self = nullptr;
  int armed_by_callback = 0;
  pinned_timer<std::function<void()>> t(timers, [&] {
    ++runs;
    if (runs < 2 && self->reset(0ns) == reset_result::running) ++armed_by_callback;
  });
  self = &t;
  t.reset(0ns);
  int stopped = t.stop() == stop_result::stopped ? 1 : 0;
  if (t.stop_and_wait() == stop_result::stopped) ++stopped;
  require(runs + stopped == 1 + armed_by_callback, "a start has no outcome, or two");
}

TEST(PinnedService, StopAgainstAResetFromTheCallback) {
  holds({.name = "pinned, stop against a reset from the callback", .preemptions = 1},
        stop_against_a_reset_from_the_callback);
}

/// A thread stops and resets the timer while it fires; then the destructor ends it.
void stop_by_another_thread() {
  auto captured = std::make_unique<seam::plain<int>>(0);
  timer_service timers;
  {
    pinned_timer t(timers, 1ms, [raw = captured.get()] { ++*raw; });
    seam::thread other("other", [&t] {
      if (t.stop() == stop_result::stopped) t.reset(1ms);
    });
    other.join();
  }
  require(*captured <= 1, "one start has fired twice");
  captured.reset();
}

TEST(PinnedService, StopByAnotherThread) {
  holds({.name = "pinned, stopped by another thread", .preemptions = 0}, stop_by_another_thread);
}

}  // namespace
}  // namespace foliot::model
