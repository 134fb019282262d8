// Sleeps on a service under seeded schedules: however one ends, no thread uses its timer after the sleeping thread
// continues.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 150;

class Sleeps : public test::engine_suite {
 protected:
  static service_options options() {
    service_options chosen = engine_suite::options();
    if (chosen.engine == "bucket-heaps") chosen.shards = 3;  // a look at 64 buckets takes time
    return chosen;
  }
};
INSTANTIATE_TEST_SUITE_P(, Sleeps, test::every_exact_engine(), test::engine_as_name);

constexpr faults quiet{};
constexpr faults rough{.interrupts = true, .early_timeouts = true, .drift = duration::nanoseconds(2'000'000)};

/// The stack memory of the sleep's timer holds other data by now.
[[gnu::noinline]] void require_that_nobody_writes_here() {
  std::array<volatile unsigned char, 2'000> scratch;
  for (volatile unsigned char& each : scratch) each = 0xa5;
  for (int i = 0; i < 8; ++i) point();
  pass_time(duration::nanoseconds(static_cast<std::int64_t>(choose(200))));
  bool whole = true;
  for (const volatile unsigned char& each : scratch) whole = whole && each == 0xa5;
  require(whole, "a thread wrote to the stack of a sleep that had ended");
}

/// However a sleep ends, no thread uses its timer afterwards. The service may end while the thread still sleeps.
TEST_P(Sleeps, SleepsAndTheEndOfTheServiceRace) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      std::optional<timer_service> timers(std::in_place, options());
      int arriving = 2;
      int whole = 0;
      std::vector<seam::thread> sleepers;
      for (int i = 0; i < 2; ++i) {
        sleepers.emplace_back("sleeper", [&] {
          const duration length =
              choose(3) == 0 ? duration(1h) : duration::nanoseconds(static_cast<std::int64_t>(choose(300)));
          const instant until = timers->now() + length;
          --arriving;
          const bool slept = sleep_until(*timers, until);
          require_that_nobody_writes_here();
          whole += slept;
          if (length == duration(1h)) require(!slept, "a sleep of an hour has ended by its timer");
        });
      }
      while (arriving > 0) point();
      while (timers->counters().started == 0 && choose(4) != 0) point();
      const std::size_t dropped = timers->shut_down();
      for (seam::thread& each : sleepers) each.join();
      const service_counters counted = timers->counters();
      require(counted.dropped == dropped && counted.pending == 0, "a timer is left");
      require(counted.started == counted.fired + dropped, "a sleep has no end, or two");
      require(static_cast<std::uint64_t>(whole) >= counted.fired, "a sleep ended by its timer before its deadline");
    });
  }
}

/// The executor runs the job, drops it, or keeps it beyond the end of the service.
TEST_P(Sleeps, SleepsOnAnExecutorEndOnce) {
  for (const faults& with : {quiet, rough}) {
    explore(worlds, with, [&] {
      std::vector<posted_callback> kept;
      bool end = false;
      service_options posting = options();
      posting.executor = [&kept](posted_callback job) {
        if (choose(4) == 0) return job();
        point();
        kept.push_back(std::move(job));
      };
      std::optional<timer_service> timers(std::in_place, std::move(posting));
      seam::thread worker("worker", [&] {
        while (!end) {
          if (!kept.empty() && choose(8) != 0) {
            posted_callback job = std::move(kept.back());
            kept.pop_back();
            if (choose(4) != 0) job();
          }
          pass_time(1us);
        }
      });
      std::vector<seam::thread> sleepers;
      for (int i = 0; i < 2; ++i) {
        sleepers.emplace_back("sleeper", [&] {
          for (int n = 0; n < 2; ++n) {
            static_cast<void>(sleep_for(*timers, duration::nanoseconds(static_cast<std::int64_t>(choose(300)))));
            require_that_nobody_writes_here();
          }
        });
      }
      if (choose(2) == 0) {
        pass_time(duration::nanoseconds(static_cast<std::int64_t>(choose(500))));
        timers->shut_down();
      }
      for (seam::thread& each : sleepers) each.join();
      end = true;
      worker.join();
      require(timers->counters().pending == 0, "a timer is left");
      timers.reset();
      kept.clear();
    });
  }
}

}  // namespace
}  // namespace foliot::simulation
