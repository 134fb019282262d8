// libevent with its locks: one event_base for all threads, and a thread of its own that dispatches. Unlike
// Asio, its calls may be made on one timer by several threads.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

#include <foliot/core/seam/sync.hpp>

#include "../trials/trial_contestants.hpp"
#include "crew.hpp"

namespace foliot::program::bench {

namespace {

class shared_libevent {
 public:
  struct hand {};

  explicit shared_libevent(std::size_t count) : timers_(count) {
    // For all bases that are made from now on, so that those of one thread are measured before.
    if (evthread_use_pthreads() != 0) throw std::runtime_error("libevent has no threads");
    base_ = event_base_new();
    if (base_ == nullptr) throw std::runtime_error("libevent made no base");
    dispatcher_ = seam::thread("libevent", [this] { event_base_loop(base_, EVLOOP_NO_EXIT_ON_EMPTY); });
  }
  ~shared_libevent() {
    const timeval at_once{};
    event_base_loopexit(base_, &at_once);  // by an event, so that it is not lost on a loop that only begins
    dispatcher_.join();
    for (timer& each : timers_) {
      if (each.made) event_del(&each.watcher);
    }
    event_base_free(base_);
  }
  shared_libevent(const shared_libevent&) = delete;
  shared_libevent& operator=(const shared_libevent&) = delete;

  void make(std::size_t index) {
    evtimer_assign(&timers_[index].watcher, base_, &shared_libevent::fire, &timers_[index]);
    timers_[index].made = true;
  }
  void start(const hand& mine, std::size_t index, std::int64_t delay) { reset(mine, index, delay); }
  bool stop(const hand& /*mine*/, std::size_t index) {
    timer& each = timers_[index];
    // relaxed, here and below: libevent's own lock orders what is done to the timer.
    if (!each.pending.exchange(false, seam::relaxed)) return false;
    event_del(&each.watcher);
    return true;
  }
  void reset(const hand& /*mine*/, std::size_t index, std::int64_t delay) {
    timer& each = timers_[index];
    const timeval after = {.tv_sec = delay / 1'000'000'000, .tv_usec = delay % 1'000'000'000 / 1'000};
    event_add(&each.watcher, &after);
    each.pending.store(true, seam::relaxed);
  }
  void refresh(hand& /*mine*/) {}

 private:
  struct timer {
    event watcher{};
    seam::atomic<bool> pending{false};  // written by who starts, stops or fires it; publishes nothing
    bool made = false;
  };

  static void fire(evutil_socket_t /*none*/, short /*events*/, void* due) {
    static_cast<timer*>(due)->pending.store(false, seam::relaxed);
  }

  std::vector<timer> timers_;
  event_base* base_ = nullptr;
  seam::thread dispatcher_;
};

}  // namespace

void add_shared_libevent(std::vector<trial_contestant>& to) {
  to.push_back(shared_contestant(
      "libevent", [](const trial& asked) { return std::make_unique<shared_libevent>(timers_of_all(asked)); }));
}

}  // namespace foliot::program::bench
