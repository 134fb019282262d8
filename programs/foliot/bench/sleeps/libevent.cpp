// libevent: one event and its default clock, which is coarse: it may fire early, and is often late.
#include <memory>
#include <vector>

#include <event2/event.h>

#include "../trials/trial_contestants.hpp"
#include "sleep_log.hpp"

namespace foliot::program::bench {

namespace {

void woken(evutil_socket_t /*none*/, short /*events*/, void* sleeps) { static_cast<sleep_log*>(sleeps)->end(); }

finding sleep_in_libevent(const trial& asked) {
  sleep_log sleeps(asked, early::counts_as_zero);
  const std::unique_ptr<event_base, decltype(&event_base_free)> base(event_base_new(), event_base_free);
  if (!base) return {.wrong = "it made no base"};
  const std::unique_ptr<event, decltype(&event_free)> timer(evtimer_new(base.get(), woken, &sleeps), event_free);
  const timeval length = {.tv_sec = 0, .tv_usec = sleeps.length().count() / 1'000};
  while (sleeps.more()) {
    sleeps.begin();
    event_add(timer.get(), &length);
    event_base_dispatch(base.get());
  }
  return sleeps.found();
}

}  // namespace

void add_libevent_sleeps(std::vector<trial_contestant>& to) {
  to.push_back({.name = "libevent", .takes = all_sleeps, .run = sleep_in_libevent});
}

}  // namespace foliot::program::bench
