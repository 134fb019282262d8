// libev: a 4-ary heap, seconds as doubles, in its own loop.
//
// A start is ev_timer_start, a reset is ev_timer_again (which is what libev's manual recommends for
// timeouts that are pushed back), the time is refreshed by ev_now_update, a turn is
// ev_run(EVRUN_NOWAIT). An overdue timer is started with a negative delay.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <ev.h>

#include "../bout_of.hpp"
#include "contestants.hpp"
#include "peer_firing.hpp"

namespace foliot::program::bench {

namespace {

class libev_timers {
 public:
  struct timer {
    ev_timer watcher;
    std::uint64_t payload;
  };
  static constexpr time_kind time = time_kind::real_time;

  explicit libev_timers(std::size_t count)
      : timers_(std::make_unique<timer[]>(count)), count_(count), loop_(ev_loop_new(EVFLAG_AUTO)) {
    if (loop_ == nullptr) throw std::runtime_error("libev made no loop");
    ev_set_userdata(loop_, this);
    for (std::size_t i = 0; i < count; ++i) timers_[i].watcher.cb = &libev_timers::fire;
  }
  ~libev_timers() {
    for (std::size_t i = 0; i < count_; ++i) stop(timers_[i]);
    ev_loop_destroy(loop_);
  }
  libev_timers(const libev_timers&) = delete;
  libev_timers& operator=(const libev_timers&) = delete;

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }

  void start(timer& each, std::int64_t /*now*/, std::int64_t delay) { start_after(each, seconds(delay)); }
  void start_overdue(timer& each, std::int64_t ago) { start_after(each, -seconds(ago)); }
  bool stop(timer& each) {
    const bool pending = each.watcher.active != 0;
    ev_timer_stop(loop_, &each.watcher);
    return pending;
  }
  void reset(timer& each, std::int64_t now, std::int64_t delay) {
    if (delay == 0) {  // for ev_timer_again this means stop
      stop(each);
      return start(each, now, delay);
    }
    each.watcher.repeat = seconds(delay);
    ev_timer_again(loop_, &each.watcher);
    each.watcher.repeat = 0;  // once
  }

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
  template <class Sink>
  void refresh(std::int64_t /*now*/, Sink&& /*sink*/) {
    ev_now_update(loop_);
  }
  template <class Sink>
  expiry expire(std::int64_t /*now*/, budget /*limit*/, Sink&& sink) {
    return {.fired = firing_.during(sink, [this] { ev_run(loop_, EVRUN_NOWAIT); })};
  }

 private:
  static double seconds(std::int64_t nanoseconds) noexcept { return static_cast<double>(nanoseconds) * 1e-9; }

  void start_after(timer& each, double delay) {
    each.watcher.at = delay;
    ev_timer_start(loop_, &each.watcher);
  }

  static void fire(struct ev_loop* loop, ev_timer* due, int /*events*/) {
    // The watcher is the first member of its timer.
    static_cast<libev_timers*>(ev_userdata(loop))->firing_(*reinterpret_cast<timer*>(due));
  }

  std::unique_ptr<timer[]> timers_;
  std::size_t count_;
  struct ev_loop* loop_;
  peer_firing<timer> firing_;
};

}  // namespace

void add_libev(std::vector<contestant>& to) {
  to.push_back(make_contestant<libev_timers>(
      "libev", std::to_string(ev_version_major()) + '.' + std::to_string(ev_version_minor()),
      "on real time, so W2 is flattered, and a turn of its loop fires all that is due"));
}

}  // namespace foliot::program::bench
