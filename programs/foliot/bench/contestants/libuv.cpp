// libuv: a binary heap, milliseconds, in its own loop.
//
// A start is uv_timer_start, a reset is uv_timer_start again, the time is refreshed by uv_update_time, a turn is
// uv_run(UV_RUN_NOWAIT). Delays are rounded up to milliseconds. An overdue timer is started with the loop's clock put
// back for that moment (uv_loop_t::time), so that the heap holds the deadlines that it would hold if the timer had been
// started then.
//
// A sleep is one timer and whole milliseconds; the time is updated before each start. libuv's time is cut off at the
// millisecond, so that a timer may fire up to one early.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <uv.h>

#include "../workloads/one_thread.hpp"
#include "../workloads/sleep_log.hpp"
#include "all.hpp"
#include "peer_firing.hpp"

namespace foliot::program::bench {

namespace {

class libuv_timers {
 public:
  struct timer {
    uv_timer_t handle;
    std::uint64_t payload;
  };
  static constexpr time_kind time = time_kind::real_time;

  explicit libuv_timers(std::size_t count) : timers_(std::make_unique<timer[]>(count)), count_(count) {
    if (uv_loop_init(&loop_) != 0) throw std::runtime_error("libuv made no loop");
    loop_.data = this;
    for (std::size_t i = 0; i < count; ++i) uv_timer_init(&loop_, &timers_[i].handle);
  }
  ~libuv_timers() {
    for (std::size_t i = 0; i < count_; ++i) uv_close(handle(timers_[i]), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }
  libuv_timers(const libuv_timers&) = delete;
  libuv_timers& operator=(const libuv_timers&) = delete;

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }

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
  void reset(timer& each, instant now, duration delay) { start(each, now, delay); }

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
  template <class Sink>
  void refresh(instant /*now*/, Sink&& /*sink*/) {
    uv_update_time(&loop_);
  }
  template <class Sink>
  expiry expire(instant /*now*/, budget /*limit*/, Sink&& sink) {
    return {.fired = firing_.during(sink, [this] { uv_run(&loop_, UV_RUN_NOWAIT); })};
  }

 private:
  static uv_handle_t* handle(timer& each) noexcept { return reinterpret_cast<uv_handle_t*>(&each.handle); }

  static std::uint64_t milliseconds(duration delay) noexcept {
    return static_cast<std::uint64_t>((delay.count() + 999'999) / 1'000'000);
  }

  static void fire(uv_timer_t* due) {
    // The handle is the first member of its timer.
    static_cast<libuv_timers*>(due->loop->data)->firing_(*reinterpret_cast<timer*>(due));
  }

  std::unique_ptr<timer[]> timers_;
  std::size_t count_;
  uv_loop_t loop_{};
  peer_firing<timer> firing_;
};

samples sleep_in_libuv(const request& asked) {
  sleep_log sleeps(asked, early::counts_as_zero);
  uv_loop_t loop;
  if (const int error = uv_loop_init(&loop); error != 0) throw failure(uv_strerror(error));
  uv_timer_t timer;
  uv_timer_init(&loop, &timer);
  timer.data = &sleeps;
  const auto milliseconds = static_cast<std::uint64_t>(sleeps.length().count() / 1'000'000);
  while (sleeps.more()) {
    uv_update_time(&loop);
    sleeps.begin();
    uv_timer_start(&timer, [](uv_timer_t* fired) { static_cast<sleep_log*>(fired->data)->end(); }, milliseconds, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
  }
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return sleeps.found();
}

}  // namespace

void add_libuv(roster& to) {
  contestant& libuv = to.add("libuv");
  libuv.version = uv_version_string();
  add_timers<libuv_timers>(
      libuv, "milliseconds; on real time, so W2 is flattered, and a turn of its loop fires all that is due");
  to.add("libuv", {.takes = {workload::w6_1ms, workload::w6_10ms}, .run = sleep_in_libuv});
  to.left_out.push_back({"libuv", "W5", "its loop is for one thread"});
  to.left_out.push_back({"libuv", "W6-100us", "it counts milliseconds"});
}

}  // namespace foliot::program::bench
