// libuv: a binary heap, milliseconds, in its own loop.
//
// A start is uv_timer_start, a reset is uv_timer_start again, the time is refreshed by uv_update_time, a
// turn is uv_run(UV_RUN_NOWAIT). Delays are rounded up to milliseconds. An overdue timer is started with
// the loop's clock put back for that moment (uv_loop_t::time), so that the heap holds the deadlines that
// it would hold if it had been started then.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <uv.h>

#include "../bout_of.hpp"
#include "contestants.hpp"
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

  void start(timer& each, std::int64_t /*now*/, std::int64_t delay) {
    uv_timer_start(&each.handle, &libuv_timers::fire, milliseconds(delay), 0);
  }
  void start_overdue(timer& each, std::int64_t ago) {
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
  void reset(timer& each, std::int64_t now, std::int64_t delay) { start(each, now, delay); }

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
  template <class Sink>
  void refresh(std::int64_t /*now*/, Sink&& /*sink*/) {
    uv_update_time(&loop_);
  }
  template <class Sink>
  expiry expire(std::int64_t /*now*/, budget /*limit*/, Sink&& sink) {
    return {.fired = firing_.during(sink, [this] { uv_run(&loop_, UV_RUN_NOWAIT); })};
  }

 private:
  static uv_handle_t* handle(timer& each) noexcept { return reinterpret_cast<uv_handle_t*>(&each.handle); }

  static std::uint64_t milliseconds(std::int64_t delay) noexcept {
    return static_cast<std::uint64_t>((delay + 999'999) / 1'000'000);
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

}  // namespace

void add_libuv(std::vector<contestant>& to) {
  to.push_back(make_contestant<libuv_timers>(
      "libuv", uv_version_string(),
      "milliseconds; on real time, so W2 is flattered, and a turn of its loop fires all that is due"));
}

}  // namespace foliot::program::bench
