// Services of several shards under seeded schedules, of every exact engine that can have them: one thread makes timers,
// another one moves them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>

#include <foliot/service.hpp>

#include "foliot_simulation/world.hpp"
#include "support/engines.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 500;

constexpr faults quiet{};
constexpr faults interrupted{.interrupts = true};

/// Where time only moves when all are blocked, a timer that fires later than this was overslept.
constexpr duration overslept = duration::nanoseconds(10'000);

class EngineOfShards : public test::engine_suite {};

INSTANTIATE_TEST_SUITE_P(, EngineOfShards, test::every_exact_engine_of_shards(), test::engine_as_name);

/// Two threads make timers, which go to two shards, and then both reset and stop all of them: each start has one
/// outcome, and no shard's thread oversleeps a timer that the other thread has brought forward.
TEST_P(EngineOfShards, TimersOfAllShardsAreHeardWhoeverMovesThem) {
  for (const faults& with : {quiet, interrupted}) {
    explore(worlds, with, [&] {
      service_options chosen = options();
      chosen.shards = 2;
      timer_service timers(std::move(chosen));
      std::uint64_t fired = 0;
      std::uint64_t started = 0;
      std::uint64_t taken_back = 0;
      std::array<timer, 4> all;
      const auto make = [&](std::size_t first) {
        for (std::size_t i = first; i < all.size(); i += 2) {
          all[i] = timer(timers, [&](const firing& f) {
            ++fired;
            require(f.now >= f.deadline, "early");
            require(f.lateness() < overslept, "overslept: a wake-up was lost");
          });
        }
      };
      const auto play = [&] {
        for (int i = 0; i < 6; ++i) {
          timer& t = all[choose(all.size())];
          if (choose(4) == 0) {
            taken_back += t.stop() == stop_result::stopped;
          } else {
            ++started;
            const duration delay = duration::nanoseconds(static_cast<std::int64_t>(1 + choose(20'000'000)));
            taken_back += t.reset(delay) == reset_result::superseded;
          }
        }
      };
      seam::thread("makes", [&] { make(0); }).join();
      seam::thread("makes", [&] { make(1); }).join();
      seam::thread other("other", play);
      play();
      other.join();
      pass_time(50ms);
      require(started == fired + taken_back, "each start has exactly one outcome");
      const service_counters now = timers.counters();
      require(now.pending == 0, "a timer is left");
    });
  }
}

}  // namespace
}  // namespace foliot::simulation
