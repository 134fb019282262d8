// libev: a 4-ary heap, seconds as doubles, in its own loop.
//
// A start is ev_timer_start, a reset is ev_timer_again (which libev's manual recommends for timeouts that are pushed
// back), the time is refreshed by ev_now_update, a turn is ev_run(EVRUN_NOWAIT). An overdue timer is started with a
// negative delay.
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <ev.h>
#include <fmt/format.h>

#include "peer_loop.hpp"

namespace foliot::program::bench {

namespace {

double seconds(duration length) noexcept { return static_cast<double>(length.count()) * 1e-9; }

struct libev_timer {
  ev_timer watcher;
  std::uint64_t payload;
};

class libev_timers : public timer_array<libev_timer>, public peer_loop<libev_timers, libev_timer> {
 public:
  explicit libev_timers(std::size_t count) : timer_array(count), loop_(ev_loop_new(EVFLAG_AUTO)) {
    if (loop_ == nullptr) throw std::runtime_error("libev made no loop");
    ev_set_userdata(loop_, this);
    for (timer& each : *this) each.watcher.cb = &libev_timers::fire;
  }
  ~libev_timers() {
    for (timer& each : *this) stop(each);
    ev_loop_destroy(loop_);
  }
  libev_timers(const libev_timers&) = delete;
  libev_timers& operator=(const libev_timers&) = delete;

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

  void update_time() { ev_now_update(loop_); }
  void turn() { ev_run(loop_, EVRUN_NOWAIT); }
  void wait() { ev_run(loop_, 0); }

 private:
  void start_after(timer& each, double delay) {
    each.watcher.at = delay;
    ev_timer_start(loop_, &each.watcher);
  }

  static void fire(struct ev_loop* loop, ev_timer* due, int /*events*/) {
    // The watcher is the first member of its timer.
    static_cast<libev_timers*>(ev_userdata(loop))->fired(*reinterpret_cast<timer*>(due));
  }

  struct ev_loop* loop_;
};

}  // namespace

void add_libev(roster& to) {
  add_loop<libev_timers>(to, "libev", fmt::format("{}.{}", ev_version_major(), ev_version_minor()),
                         "on real time, so W2 is flattered, and a turn of its loop fires all that is due");
  to.left_out.push_back({"libev", "W5", "its loop is for one thread"});
}

}  // namespace foliot::program::bench
