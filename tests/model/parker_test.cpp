// The shipped parker: a worker sleeps on its word or in the poller, and other threads wake it.
#include <array>
#include <vector>

#include <foliot/core/seam/poller.hpp>

#include "audited.hpp"
#include "runtime/parker.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;
using runtime::detail::parker;

/// A worker's parker, and the message that its waker writes.
class bed {
 public:
  bed() {
    name(park_, "park");
    name(poller_, "poller");
  }

  void tell(unsigned what) {
    said_[what].store(1, seam::relaxed);
    if (park_.notify() == parker::must::break_the_poll) poller_.wake();
  }
  /// Sleeps in both ways in turn, until all messages have come.
  void hear(unsigned all, parker::way first, bool both_ways = false) {
    parker::way how = first;
    std::array<seam::poll_event, 1> events{};
    for (;;) {
      unsigned heard = 0;
      for (unsigned i = 0; i < all; ++i) heard += said_[i].load(seam::relaxed);
      if (heard == all) return;
      if (park_.begin(how)) {
        if (how == parker::way::on_the_word) {
          park_.sleep_until(instant::never());
        } else {
          static_cast<void>(poller_.wait(instant::never(), events));
        }
      }
      static_cast<void>(park_.end());
      if (both_ways) {
        how = how == parker::way::on_the_word ? parker::way::in_the_poller : parker::way::on_the_word;
      }
    }
  }

 private:
  parker park_;
  seam::poller poller_;
  std::array<seam::atomic<unsigned>, 2> said_{};
};

void wake(unsigned wakers, parker::way how, bool both_ways = false) {
  bed of;
  std::vector<seam::thread> others;
  for (unsigned w = 0; w < wakers; ++w) others.emplace_back("waker", [&of, w] { of.tell(w); });
  of.hear(wakers, how, both_ways);
  for (seam::thread& each : others) each.join();
}

constexpr auto word = parker::way::on_the_word;
constexpr auto poll = parker::way::in_the_poller;

TEST(Parker, LosesNoWakeUp) {
  holds({.name = "parker, a waker", .preemptions = unlimited}, [] { wake(1, word); });
  holds({.name = "parker, in the poller", .preemptions = unlimited}, [] { wake(1, poll); });
  holds({.name = "parker, two wakers", .preemptions = 3}, [] { wake(2, word); });
  holds({.name = "parker, two wakers and the poller", .preemptions = 2}, [] { wake(2, poll); });
  holds({.name = "parker, both ways", .preemptions = 2}, [] { wake(2, poll, true); });
  holds({.name = "parker, interrupted", .interruptions = 2}, [] { wake(2, word); });
  finds({.name = "parker, drops a wake-up", .drop_wake = 1}, "deadlock", [] { wake(1, word); });
  finds({.name = "parker, drops a break", .drop_wake = 1}, "deadlock", [] { wake(1, poll); });
}

/// As in scheduler::wake_for and sleep(): the waker sees until when the worker sleeps, or the worker sees the earlier
/// deadline. Here only the words publish, without a barrier.
void publish() {
  parker park;
  seam::plain<int> slept_after{0};
  seam::plain<int> message{0};
  name(park, "park");
  seam::thread waker("waker", [&] {
    message = 1;
    static_cast<void>(park.notify());
  });
  slept_after = 1;
  bool notified = !park.begin(word);
  if (!notified) park.sleep_until(seam::monotonic_now() + 1ms);
  notified = park.end() || notified;
  if (notified) require(message == 1, "the woken thread must see the waker's write");
  waker.join();
}

/// A wake-up that comes before the sleep.
void publish_before() {
  parker park;
  seam::plain<int> message{0};
  name(park, "park");
  seam::thread waker("waker", [&] {
    message = 1;
    static_cast<void>(park.notify());
  });
  if (!park.begin(word)) require(message == 1, "the woken thread must see the waker's write");
  waker.join();
}

TEST(Parker, AWakeUpPublishes) {
  holds({.name = "parker, a message", .preemptions = unlimited}, publish);
  holds({.name = "parker, a message before the sleep", .preemptions = unlimited}, publish_before);
}

/// Another thread looks into the poller, and may take the break that was meant for the worker which sleeps there: it
/// passes the break on, as in scheduler::poll. With `passes_on` false it does not, which is a canary.
void break_heard_by_another(bool passes_on) {
  parker park;
  seam::poller poller;
  seam::atomic<unsigned> polls{0};
  seam::atomic<unsigned> looks{0};
  seam::atomic<unsigned> said{0};
  name(park, "park");
  name(poller, "poller");
  name(polls, "polls");
  std::array<seam::poll_event, 1> events{};
  seam::thread waker("waker", [&] {
    said.store(1, seam::relaxed);
    if (park.notify() == parker::must::break_the_poll) poller.wake();
  });
  seam::thread other("looks in", [&] {
    std::array<seam::poll_event, 1> own{};
    const bool broken = poller.wait(instant::earliest(), own).woken;
    if (passes_on && broken && polls.load(seam::relaxed) != 0) poller.wake();
  });
  while (said.load(seam::relaxed) == 0) {
    polls.exchange(1, seam::relaxed);
    if (park.begin(poll)) {
      looks.fetch_add(1, seam::relaxed);
      static_cast<void>(poller.wait(instant::never(), events));
    }
    polls.store(0, seam::relaxed);
    static_cast<void>(park.end());
  }
  waker.join();
  other.join();
}

TEST(Parker, ABreakThatAnotherHearsIsPassedOn) {
  holds({.name = "parker, another one looks in", .preemptions = 3}, [] { break_heard_by_another(true); });
  finds({.name = "parker, a break is not passed on"}, "deadlock", [] { break_heard_by_another(false); });
}

TEST(Orders, OfTheParker) {
  needs_its_orders({.name = "orders of the parker", .preemptions = 3}, [] {
    switch (choose(4)) {
      case 0: return publish();
      case 1: return publish_before();
      case 2: return wake(2, word);
      default: return break_heard_by_another(true);
    }
  });
}

}  // namespace
}  // namespace foliot::model
