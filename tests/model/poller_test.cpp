// The wake-ups of the shipped poller: they are merged and never lost, and each memory order is needed.
#include <array>
#include <vector>

#include <foliot/core/seam/poller.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/service.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;

/// Each waker writes a message, and the waiter waits until it has read all.
void wake(unsigned wakers) {
  seam::poller poller;
  std::array<seam::atomic<unsigned>, 2> said{};
  name(poller, "poller");
  std::vector<seam::thread> others;
  for (unsigned w = 0; w < wakers; ++w) {
    others.emplace_back("waker", [&, w] {
      said[w].store(1, seam::relaxed);
      poller.wake();
    });
  }
  std::array<seam::poll_event, 1> events{};
  for (;;) {
    unsigned heard = 0;
    for (unsigned w = 0; w < wakers; ++w) heard += said[w].load(seam::relaxed);
    if (heard == wakers) break;
    static_cast<void>(poller.wait(instant::never(), events));
  }
  for (seam::thread& each : others) each.join();
}

TEST(Poller, LosesNoWakeUp) {
  holds({.name = "poller", .preemptions = unlimited}, [] { wake(1); });
  holds({.name = "poller, two wakers"}, [] { wake(2); });
  holds({.name = "poller, interrupted", .interruptions = 2}, [] { wake(2); });
  finds({.name = "poller, drops a wake-up", .drop_wake = 1}, "deadlock", [] { wake(1); });
}

/// A thread whose wait says that it was woken sees what the waker wrote.
void publish() {
  seam::poller poller;
  seam::plain<int> message{0};
  name(poller, "poller");
  name(message, "message");
  seam::thread waker("waker", [&] {
    message = 1;
    poller.wake();
    poller.wake();
  });
  std::array<seam::poll_event, 1> events{};
  while (!poller.wait(instant::never(), events).woken) {
  }
  require(message == 1, "the woken thread must see the waker's write");
  waker.join();
}

TEST(Poller, AWakeUpPublishes) { holds({.name = "poller, a message", .preemptions = unlimited}, publish); }

TEST(Orders, OfThePoller) { needs_its_orders({.name = "orders of the poller", .preemptions = unlimited}, publish); }

/// The shipped reactor, without descriptors.
void an_earlier_timer_wakes_the_thread() {
  service_options options;
  options.engine = "epoll-heap";
  timer_service timers(std::move(options));
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
  require(fired, "the callback's write must be visible");
}

TEST(Poller, AnEarlierTimerWakesTheThread) {
  holds({.name = "epoll-heap, an earlier timer", .preemptions = 0}, an_earlier_timer_wakes_the_thread);
  finds({.name = "epoll-heap, drops a wake-up", .preemptions = 1, .timeouts_at_any_time = false, .drop_wake = 1}, "",
        an_earlier_timer_wakes_the_thread);
}

}  // namespace
}  // namespace foliot::model
