// The project's services.
//
// Shared by threads, `foliot` resets by a duration and reads the clock itself, as Go's Reset does; `foliot-now` passes
// a deadline, from a time that the thread reads every 64 operations, as event loops do. `goim` and `erlang-wheel`
// have as many heaps or wheels as there are threads, as their originals had several: goim one for each group of
// connections, Erlang one for each scheduler.
//
// A sleep is a timer that its own callback starts again. Idle services hold timers that are far from due, made by as
// many threads as there are processors, so that each shard has some.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/service.hpp>

#include "bench/roster.hpp"
#include "bench/workloads/crew.hpp"
#include "bench/workloads/sleep_log.hpp"
#include "bench/workloads/wake_ups.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

// ---------------------------------------------------------------- threads

enum class deadlines { by_service, by_caller };

template <deadlines From>
class service_timers {
 public:
  struct hand {
    instant now{};
  };

  service_timers(std::size_t count, service_options options) : service_(std::move(options)), timers_(count) {
    service_.reserve(count);
  }

  void make(std::size_t index) {
    timers_[index] = timer(service_, [] {});
  }
  void start(const hand& mine, std::size_t index, duration delay) { reset(mine, index, delay); }
  bool stop(const hand& /*mine*/, std::size_t index) { return timers_[index].stop() == stop_result::stopped; }
  void reset(const hand& mine, std::size_t index, duration delay) {
    if constexpr (From == deadlines::by_caller) {
      timers_[index].reset_at(mine.now + delay);
    } else {
      timers_[index].reset(delay);
    }
  }
  void refresh(hand& mine) {
    if constexpr (From == deadlines::by_caller) mine.now = service_.now();
  }

 private:
  timer_service service_;
  std::vector<timer> timers_;
};

enum class shards { by_engine, one_for_each_thread };

template <deadlines From = deadlines::by_service>
offer shared_service(const std::string& engine, std::string remark = {}, shards wanted = shards::by_engine) {
  const auto make = [engine, wanted](const request& asked) {
    service_options options{.engine = engine};
    if (wanted == shards::one_for_each_thread) options.shards = static_cast<std::size_t>(asked.threads);
    return std::make_unique<service_timers<From>>(timers_of_all(asked), std::move(options));
  };
  return shared_by_threads(make, std::move(remark));
}

// ---------------------------------------------------------------- one sleep

samples sleep_in(const std::string& engine, bool precise, const request& asked) {
  sleep_log sleeps(asked);
  note done;
  timer_service service(service_options{.engine = engine, .precise = precise});
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

// ---------------------------------------------------------------- idle

std::vector<timer> far_timers(timer_service& service, const request& asked) {
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

samples wake_ups_of(std::string_view engine, const request& asked) {
  timer_service service(service_options{.engine = std::string(engine)});
  service.reserve(asked.timers);
  const std::vector<timer> timers = far_timers(service, asked);
  const ticker beat = asked.what == workload::idle_ticker ? ticker(service, 10ms, [] {}) : ticker();
  return count_wake_ups(asked);
}

}  // namespace

void add_services(roster& to) {
  to.add("foliot", shared_service("foliot"));
  to.add("foliot-now", shared_service<deadlines::by_caller>(
                           "foliot", "foliot; the caller passes the time, and reads it each 64 operations"));
  to.add("global-heap", shared_service("global-heap"));
  to.add("bucket-heaps", shared_service("bucket-heaps"));
  to.add("goim", shared_service("goim", "in W5 with one heap for each thread", shards::one_for_each_thread));
  to.add("erlang-wheel",
         shared_service("erlang-wheel", "in W5 with one wheel for each thread", shards::one_for_each_thread));
  to.add("epoll-heap", shared_service("epoll-heap"));
  const auto add_sleeps = [&to](std::string_view name, const std::string& engine, bool precise) {
    to.add(name, {.takes = all_sleeps,
                  .run = [engine, precise](const request& asked) { return sleep_in(engine, precise, asked); }});
  };
  add_sleeps("foliot-precise", "foliot", true);
  for (const std::string engine : {"foliot", "global-heap", "bucket-heaps", "goim", "erlang-wheel", "epoll-heap"}) {
    add_sleeps(engine, engine, false);
  }
  for (const std::string_view engine : timer_service::engines()) {
    to.add(engine, {.takes = all_idle,
                    .may_be_left_out = true,  // not every system counts context switches
                    .run = [engine](const request& asked) { return wake_ups_of(engine, asked); }});
  }
}

}  // namespace foliot::program::bench
