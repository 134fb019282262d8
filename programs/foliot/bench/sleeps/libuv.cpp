// libuv: a uv_timer_t, whole milliseconds; the time is updated before each start. Its time is cut off at
// the millisecond, so that it may fire up to one early.
#include <cstdint>
#include <vector>

#include <uv.h>

#include "../trials/trial_contestants.hpp"
#include "sleep_log.hpp"

namespace foliot::program::bench {

namespace {

finding sleep_in_libuv(const trial& asked) {
  sleep_log sleeps(asked, early::counts_as_zero);
  uv_loop_t loop;
  if (const int error = uv_loop_init(&loop); error != 0) return {.wrong = uv_strerror(error)};
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

void add_libuv_sleeps(std::vector<trial_contestant>& to) {
  to.push_back({.name = "libuv", .takes = {workload::w6_1ms, workload::w6_10ms}, .run = sleep_in_libuv});
}

}  // namespace foliot::program::bench
