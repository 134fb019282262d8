// foliot's services: a timer that is started again from its own callback.
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/sync/note.hpp>
#include <foliot/service.hpp>

#include "../trials/trial_contestants.hpp"
#include "sleep_log.hpp"

namespace foliot::program::bench {

namespace {

finding sleep_in(service_options options, const trial& asked) {
  sleep_log sleeps(asked);
  note done;
  timer_service service(std::move(options));
  timer each(service, [&] {
    sleeps.end();
    if (sleeps.more()) {
      each.reset_at(sleeps.begin());
    } else {
      done.wake();
    }
  });
  each.reset_at(sleeps.begin());
  done.sleep_until(instant::never());
  each.stop_and_wait();
  return sleeps.found();
}

}  // namespace

void add_service_sleeps(std::vector<trial_contestant>& to) {
  const auto add = [&to](std::string name, std::string engine, bool precise) {
    to.push_back({.name = std::move(name), .takes = all_sleeps, .run = [engine, precise](const trial& asked) {
                    return sleep_in({.engine = engine, .precise = precise}, asked);
                  }});
  };
  // Another way to make a service is a line here.
  add("foliot", "foliot", false);
  add("foliot-precise", "foliot", true);
  for (const std::string engine : {"global-heap", "bucket-heaps", "goim", "erlang-wheel", "epoll-heap"}) {
    add(engine, engine, false);
  }
}

}  // namespace foliot::program::bench
