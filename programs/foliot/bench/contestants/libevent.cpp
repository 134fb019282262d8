// libevent: a binary heap, microseconds, in its own loop.
//
// A start is event_add, a reset is event_add again, the time is refreshed by
// event_base_update_cache_time, a turn is event_base_loop(EVLOOP_NONBLOCK). The clock is the default one,
// coarse. An overdue timer is added with a negative delay.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "../bout_of.hpp"
#include "contestants.hpp"
#include "peer_firing.hpp"

namespace foliot::program::bench {

namespace {

class libevent_timers {
 public:
  struct timer {
    event watcher;
    libevent_timers* owner;
    std::uint64_t payload;
  };
  static constexpr time_kind time = time_kind::real_time;

  explicit libevent_timers(std::size_t count)
      : timers_(std::make_unique<timer[]>(count)), count_(count), base_(event_base_new()) {
    if (base_ == nullptr) throw std::runtime_error("libevent made no base");
    for (std::size_t i = 0; i < count; ++i) {
      timers_[i].owner = this;
      evtimer_assign(&timers_[i].watcher, base_, &libevent_timers::fire, &timers_[i]);
    }
  }
  ~libevent_timers() {
    for (std::size_t i = 0; i < count_; ++i) event_del(&timers_[i].watcher);
    event_base_free(base_);
  }
  libevent_timers(const libevent_timers&) = delete;
  libevent_timers& operator=(const libevent_timers&) = delete;

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }

  void start(timer& each, std::int64_t /*now*/, std::int64_t delay) {
    const timeval after = {.tv_sec = delay / nanoseconds_a_second, .tv_usec = delay % nanoseconds_a_second / 1000};
    event_add(&each.watcher, &after);
  }
  void start_overdue(timer& each, std::int64_t ago) {
    const std::int64_t after = hour - ago;  // rounded down, and the hour taken off again
    const timeval delay = {.tv_sec = after / nanoseconds_a_second - hour / nanoseconds_a_second,
                           .tv_usec = after % nanoseconds_a_second / 1000};
    event_add(&each.watcher, &delay);
  }
  bool stop(timer& each) {
    const bool pending = (each.watcher.ev_evcallback.evcb_flags & EVLIST_TIMEOUT) != 0;
    event_del(&each.watcher);
    return pending;
  }
  void reset(timer& each, std::int64_t now, std::int64_t delay) { start(each, now, delay); }

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
  template <class Sink>
  void refresh(std::int64_t /*now*/, Sink&& /*sink*/) {
    event_base_update_cache_time(base_);
  }
  template <class Sink>
  expiry expire(std::int64_t /*now*/, budget /*limit*/, Sink&& sink) {
    return {.fired = firing_.during(sink, [this] { event_base_loop(base_, EVLOOP_NONBLOCK); })};
  }

 private:
  static constexpr std::int64_t nanoseconds_a_second = 1'000'000'000;
  static constexpr std::int64_t hour = 3600 * nanoseconds_a_second;

  static void fire(evutil_socket_t /*none*/, short /*events*/, void* due) {
    timer& fired = *static_cast<timer*>(due);
    fired.owner->firing_(fired);
  }

  std::unique_ptr<timer[]> timers_;
  std::size_t count_;
  event_base* base_;
  peer_firing<timer> firing_;
};

}  // namespace

void add_libevent(std::vector<contestant>& to) {
  to.push_back(make_contestant<libevent_timers>(
      "libevent", event_get_version(),
      "a coarse clock; on real time, so W2 is flattered, and a turn of its loop fires all that is due"));
}

}  // namespace foliot::program::bench
