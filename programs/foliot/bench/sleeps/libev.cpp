// libev: an ev_timer; the time is updated before each start.
#include <vector>

#include <ev.h>

#include "../trials/trial_contestants.hpp"
#include "sleep_log.hpp"

namespace foliot::program::bench {

namespace {

void woken(struct ev_loop* /*loop*/, ev_timer* fired, int /*events*/) { static_cast<sleep_log*>(fired->data)->end(); }

finding sleep_in_libev(const trial& asked) {
  sleep_log sleeps(asked, early::counts_as_zero);
  struct ev_loop* loop = ev_loop_new(EVFLAG_AUTO);
  if (loop == nullptr) return {.wrong = "it made no loop"};
  ev_timer timer;
  ev_init(&timer, woken);
  timer.data = &sleeps;
  while (sleeps.more()) {
    ev_now_update(loop);
    sleeps.begin();
    ev_timer_set(&timer, static_cast<double>(sleeps.length().count()) * 1e-9, 0.0);
    ev_timer_start(loop, &timer);
    ev_run(loop, 0);
  }
  ev_loop_destroy(loop);
  return sleeps.found();
}

}  // namespace

void add_libev_sleeps(std::vector<trial_contestant>& to) {
  to.push_back({.name = "libev", .takes = all_sleeps, .run = sleep_in_libev});
}

}  // namespace foliot::program::bench
