// libev: a 4-ary heap, seconds as doubles, in its own loop.
//
// A start is ev_timer_start, a reset is ev_timer_again (which libev's manual recommends for timeouts that are pushed
// back), the time is refreshed by ev_now_update, a turn is ev_run(EVRUN_NOWAIT). An overdue timer is started with a
// negative delay. For a sleep the time is updated before each start.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <ev.h>

#include "../workloads/one_thread.hpp"
#include "../workloads/sleep_log.hpp"
#include "all.hpp"
#include "peer_firing.hpp"

namespace foliot::program::bench {

namespace {

double seconds(duration length) noexcept { return static_cast<double>(length.count()) * 1e-9; }

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

  void start(timer& each, instant /*now*/, duration delay) { start_after(each, seconds(delay)); }
  void start_overdue(timer& each, duration ago) { start_after(each, -seconds(ago)); }
  bool stop(timer& each) {
    const bool pending = each.watcher.active != 0;
    ev_timer_stop(loop_, &each.watcher);
    return pending;
  }
  void reset(timer& each, instant now, duration delay) {
    if (delay == duration::zero()) {  // for ev_timer_again this means stop
      stop(each);
      return start(each, now, delay);
    }
    each.watcher.repeat = seconds(delay);
    ev_timer_again(loop_, &each.watcher);
    each.watcher.repeat = 0;  // once
  }

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
  template <class Sink>
  void refresh(instant /*now*/, Sink&& /*sink*/) {
    ev_now_update(loop_);
  }
  template <class Sink>
  expiry expire(instant /*now*/, budget /*limit*/, Sink&& sink) {
    return {.fired = firing_.during(sink, [this] { ev_run(loop_, EVRUN_NOWAIT); })};
  }

 private:
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

void end_sleep(struct ev_loop* /*loop*/, ev_timer* fired, int /*events*/) {
  static_cast<sleep_log*>(fired->data)->end();
}

samples sleep_in_libev(const request& asked) {
  sleep_log sleeps(asked, early::counts_as_zero);
  struct ev_loop* loop = ev_loop_new(EVFLAG_AUTO);
  if (loop == nullptr) throw failure("it made no loop");
  ev_timer timer;
  ev_init(&timer, end_sleep);
  timer.data = &sleeps;
  while (sleeps.more()) {
    ev_now_update(loop);
    sleeps.begin();
    ev_timer_set(&timer, seconds(sleeps.length()), 0.0);
    ev_timer_start(loop, &timer);
    ev_run(loop, 0);
  }
  ev_loop_destroy(loop);
  return sleeps.found();
}

}  // namespace

void add_libev(roster& to) {
  contestant& libev = to.add("libev");
  libev.version = std::to_string(ev_version_major()) + '.' + std::to_string(ev_version_minor());
  add_timers<libev_timers>(libev, "on real time, so W2 is flattered, and a turn of its loop fires all that is due");
  to.add("libev", {.takes = all_sleeps, .run = sleep_in_libev});
  to.left_out.push_back({"libev", "W5", "its loop is for one thread"});
}

}  // namespace foliot::program::bench
