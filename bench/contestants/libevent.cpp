// libevent: a binary heap, microseconds, in its own loop.
//
// A start is event_add, a reset is event_add again, the time is refreshed by event_base_update_cache_time, a turn is
// event_base_loop(EVLOOP_NONBLOCK). The clock is the default one, which is coarse: a timer may fire early, and is often
// late. An overdue timer is added with a negative delay.
//
// For threads there is one event_base with its locks, and a thread of its own that dispatches. Unlike with Asio,
// several threads may call on one timer.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include <event2/event.h>
#include <event2/event_struct.h>
#ifdef FOLIOT_WITH_LIBEVENT_THREADS
#include <event2/thread.h>
#endif

#include "bench/workloads/crew.hpp"
#include "peer_loop.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::int64_t nanoseconds_a_second = 1'000'000'000;

timeval to_timeval(duration length) noexcept {
  return {.tv_sec = length.count() / nanoseconds_a_second, .tv_usec = length.count() % nanoseconds_a_second / 1000};
}

class libevent_timers;

struct libevent_timer {
  event watcher;
  libevent_timers* owner;
  std::uint64_t payload;
};

class libevent_timers : public timer_array<libevent_timer>, public peer_loop<libevent_timers, libevent_timer> {
 public:
  explicit libevent_timers(std::size_t count) : timer_array(count), base_(event_base_new()) {
    if (base_ == nullptr) throw std::runtime_error("libevent made no base");
    for (timer& each : *this) {
      each.owner = this;
      evtimer_assign(&each.watcher, base_, &libevent_timers::fire, &each);
    }
  }
  ~libevent_timers() {
    for (timer& each : *this) event_del(&each.watcher);
    event_base_free(base_);
  }
  libevent_timers(const libevent_timers&) = delete;
  libevent_timers& operator=(const libevent_timers&) = delete;

  void start(timer& each, instant /*now*/, duration delay) {
    const timeval after = to_timeval(delay);
    event_add(&each.watcher, &after);
  }
  void start_overdue(timer& each, duration ago) {
    const std::int64_t after = hour - ago.count();  // rounded down, and the hour taken off again
    const timeval delay = {.tv_sec = after / nanoseconds_a_second - hour / nanoseconds_a_second,
                           .tv_usec = after % nanoseconds_a_second / 1000};
    event_add(&each.watcher, &delay);
  }
  bool stop(timer& each) {
    const bool pending = (each.watcher.ev_evcallback.evcb_flags & EVLIST_TIMEOUT) != 0;
    event_del(&each.watcher);
    return pending;
  }

  void update_time() { event_base_update_cache_time(base_); }
  void turn() { event_base_loop(base_, EVLOOP_NONBLOCK); }
  void wait() { event_base_dispatch(base_); }

 private:
  static constexpr std::int64_t hour = 3600 * nanoseconds_a_second;

  static void fire(evutil_socket_t /*none*/, short /*events*/, void* due) {
    timer& one = *static_cast<timer*>(due);
    one.owner->fired(one);
  }

  event_base* base_;
};

// ---------------------------------------------------------------- threads

#ifdef FOLIOT_WITH_LIBEVENT_THREADS

class shared_libevent {
 public:
  struct hand {};

  explicit shared_libevent(std::size_t count) : timers_(count) {
    // For all bases that are made from now on: the workloads of one thread come before this one.
    if (evthread_use_pthreads() != 0) throw std::runtime_error("libevent has no threads");
    base_ = event_base_new();
    if (base_ == nullptr) throw std::runtime_error("libevent made no base");
    dispatcher_ = seam::thread("libevent", [this] { event_base_loop(base_, EVLOOP_NO_EXIT_ON_EMPTY); });
  }
  ~shared_libevent() {
    const timeval at_once{};
    event_base_loopexit(base_, &at_once);  // by an event, which is not lost on a loop that has yet to begin
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
  void start(const hand& mine, std::size_t index, duration delay) { reset(mine, index, delay); }
  bool stop(const hand& /*mine*/, std::size_t index) {
    timer& each = timers_[index];
    // relaxed, here and below: libevent's own lock orders the calls on the timer.
    if (!each.pending.exchange(false, seam::relaxed)) return false;
    event_del(&each.watcher);
    return true;
  }
  void reset(const hand& /*mine*/, std::size_t index, duration delay) {
    timer& each = timers_[index];
    const timeval after = to_timeval(delay);
    event_add(&each.watcher, &after);
    each.pending.store(true, seam::relaxed);
  }
  void refresh(hand& /*mine*/) {}

 private:
  struct timer {
    event watcher{};
    seam::atomic<bool> pending{false};  // written by the thread that starts, stops or fires it; publishes nothing
    bool made = false;
  };

  static void fire(evutil_socket_t /*none*/, short /*events*/, void* due) {
    static_cast<timer*>(due)->pending.store(false, seam::relaxed);
  }

  std::vector<timer> timers_;
  event_base* base_ = nullptr;
  seam::thread dispatcher_;
};

void add_threads(roster& to) {
  to.add("libevent", shared_by_threads(
                         [](const request& asked) { return std::make_unique<shared_libevent>(timers_of_all(asked)); }));
}

#else

void add_threads(roster& to) {
  to.left_out.push_back({"libevent", "W5", "its part for threads was not installed when this program was built"});
}

#endif

}  // namespace

void add_libevent(roster& to) {
  add_loop<libevent_timers>(
      to, "libevent", event_get_version(),
      "a coarse clock; on real time, so W2 is flattered, and a turn of its loop fires all that is due");
  add_threads(to);
}

}  // namespace foliot::program::bench
