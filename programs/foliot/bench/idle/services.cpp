// Wake-ups of a service with timers that are far from due: none, or as many as a ticker's beats. The timers
// are made by as many threads as there are processors, so that each shard has some.
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/service.hpp>

#include "../quick_random.hpp"
#include "../trials/trial_contestants.hpp"
#include "wake_ups.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

std::vector<timer> far_timers(timer_service& service, const trial& asked) {
  std::vector<timer> timers(asked.timers);
  const std::size_t makers = seam::processors();
  for (std::size_t maker = 0; maker < makers; ++maker) {
    seam::thread made("bench", [&, maker] {
      quick_random random(asked.seed + maker);
      for (std::size_t i = maker; i < timers.size(); i += makers)
        timers[i] = timer(service, far_from(random.next()), [] {});
    });
    made.join();
  }
  return timers;
}

finding wake_ups_of(std::string_view engine, const trial& asked) {
  const std::set<int> before = threads_alive();
  timer_service service(service_options{.engine = std::string(engine)});
  service.reserve(asked.timers);
  const std::vector<timer> timers = far_timers(service, asked);
  const ticker beat = asked.what == workload::idle_ticker ? ticker(service, 10ms, [] {}) : ticker();
  return count_wake_ups(before, asked);
}

}  // namespace

void add_idle_services(std::vector<trial_contestant>& to) {
  for (const std::string_view engine : timer_service::engines()) {
    to.push_back({.name = std::string(engine),
                  .takes = {workload::idle, workload::idle_ticker},
                  .may_be_left_out = true,  // there may be no /proc
                  .run = [engine](const trial& asked) { return wake_ups_of(engine, asked); }});
  }
}

}  // namespace foliot::program::bench
