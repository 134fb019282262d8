// libuv: a binary heap, milliseconds, in its own loop.
//
// A start is uv_timer_start, a reset is uv_timer_start again, the time is refreshed by uv_update_time, a turn is
// uv_run(UV_RUN_NOWAIT). Delays are rounded up to milliseconds. An overdue timer is started with the loop's clock put
// back for that moment (uv_loop_t::time), so that the heap holds the deadlines that it would hold if the timer had been
// started then.
//
// libuv's time is cut off at the millisecond, so that a sleep may end up to one early.
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <uv.h>

#include "peer_loop.hpp"

namespace foliot::program::bench {

namespace {

struct libuv_timer {
  uv_timer_t handle;
  std::uint64_t payload;
};

class libuv_timers : public timer_array<libuv_timer>, public peer_loop<libuv_timers, libuv_timer> {
 public:
  explicit libuv_timers(std::size_t count) : timer_array(count) {
    if (uv_loop_init(&loop_) != 0) throw std::runtime_error("libuv made no loop");
    loop_.data = this;
    for (timer& each : *this) uv_timer_init(&loop_, &each.handle);
  }
  ~libuv_timers() {
    for (timer& each : *this) uv_close(handle(each), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }
  libuv_timers(const libuv_timers&) = delete;
  libuv_timers& operator=(const libuv_timers&) = delete;

  void start(timer& each, instant /*now*/, duration delay) {
    uv_timer_start(&each.handle, &libuv_timers::fire, milliseconds(delay), 0);
  }
  void start_overdue(timer& each, duration ago) {
    const std::uint64_t now = loop_.time;
    loop_.time -= milliseconds(ago);
    uv_timer_start(&each.handle, &libuv_timers::fire, 0, 0);
    loop_.time = now;
  }
  bool stop(timer& each) {
    const bool pending = uv_is_active(handle(each)) != 0;
    uv_timer_stop(&each.handle);
    return pending;
  }

  void update_time() { uv_update_time(&loop_); }
  void turn() { uv_run(&loop_, UV_RUN_NOWAIT); }
  void wait() { uv_run(&loop_, UV_RUN_DEFAULT); }

 private:
  static uv_handle_t* handle(timer& each) noexcept { return reinterpret_cast<uv_handle_t*>(&each.handle); }

  static std::uint64_t milliseconds(duration delay) noexcept {
    return static_cast<std::uint64_t>((delay.count() + 999'999) / 1'000'000);
  }

  static void fire(uv_timer_t* due) {
    // The handle is the first member of its timer.
    static_cast<libuv_timers*>(due->loop->data)->fired(*reinterpret_cast<timer*>(due));
  }

  uv_loop_t loop_{};
};

}  // namespace

void add_libuv(roster& to) {
  add_loop<libuv_timers>(to, "libuv", uv_version_string(),
                         "milliseconds; on real time, so W2 is flattered, and a turn of its loop fires all that is due",
                         {workload::w6_1ms, workload::w6_10ms});
  to.left_out.push_back({"libuv", "W5", "its loop is for one thread"});
  to.left_out.push_back({"libuv", "W6-100us", "it counts milliseconds"});
}

}  // namespace foliot::program::bench
