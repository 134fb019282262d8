// The simulated world itself: a seed repeats its schedule, and races, deadlocks and endless worlds are found.
#include "foliot_simulation/world.hpp"
#include "support/leaks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

std::string trace_of(std::uint64_t seed) {
  std::string trace;
  EXPECT_EQ(run(seed, {},
                [&] {
                  std::vector<seam::thread> threads;
                  for (const char* name : {"a", "b", "c"}) {
                    threads.emplace_back(name, [&trace, name] {
                      for (int i = 0; i < 20; ++i) {
                        trace += name;
                        point();
                      }
                    });
                  }
                  for (seam::thread& each : threads) each.join();
                }),
            std::nullopt);
  return trace;
}

TEST(World, TheSameSeedIsTheSameRun) {
  std::vector<std::string> traces;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    traces.push_back(trace_of(seed));
    EXPECT_EQ(trace_of(seed), traces.back());
  }
  EXPECT_NE(traces[0], traces[1]);
}

TEST(World, FindsALostUpdate) {
  const auto lossy = [] {
    seam::atomic<int> counter{0};
    const auto add = [&] { counter.store(counter.load() + 1); };
    seam::thread other("other", add);
    add();
    other.join();
    require(counter.load() == 2, "an update was lost");
  };
  EXPECT_TRUE(first_failure(1000, {}, lossy));
}

TEST(World, FindsADeadlockAndSaysWhoWaits) {
  const support::leaks_ignored for_what_is_abandoned;
  const auto failure = run(1, {}, [] {
    seam::atomic<std::uint32_t> word{0};
    seam::thread waiter("waiter", [&] { static_cast<void>(seam::futex_wait(word, 0, instant::never())); });
    waiter.join();
  });
  EXPECT_EQ(failure.value_or(""), "deadlock: main waits for the end of waiter; waiter waits for a wake-up;");
}

TEST(World, AnAdditionIsOneStep) {
  explore(500, {}, [] {
    seam::atomic<int> sum{0};
    const auto add = [&] {
      for (int i = 0; i < 3; ++i) {
        sum.fetch_add(2);
        sum.fetch_sub(1);
      }
    };
    seam::thread other("other", add);
    add();
    other.join();
    require(sum.load() == 6, "a part of the sum was lost");
  });
}

TEST(World, TimeJumpsWhenAllAreBlocked) {
  EXPECT_EQ(run(1, {},
                [] {
                  const instant before = seam::monotonic_now();
                  seam::thread other("other", [] { pass_time(2h); });
                  pass_time(1h);
                  const duration passed = seam::monotonic_now() - before;
                  require(passed >= 1h && passed < 1h + 1us, "the first wait took another time than an hour");
                  other.join();
                  require(seam::monotonic_now() - before >= 2h, "the second wait ended before two hours had passed");
                }),
            std::nullopt);
}

TEST(World, AFutexComparesBeforeItSleeps) {
  EXPECT_EQ(run(1, {},
                [] {
                  seam::atomic<std::uint32_t> word{1};
                  require(seam::futex_wait(word, 0, instant::never()) == seam::wait_status::changed,
                          "the wait did not report a changed word");
                  require(seam::futex_wait(word, 1, instant{}) == seam::wait_status::timed_out,
                          "the wait did not report a timeout");
                }),
            std::nullopt);
}

TEST(World, SettleRunsTheOthersUntilTheyBlock) {
  EXPECT_EQ(run(1, {},
                [] {
                  int steps = 0;
                  seam::thread other("other", [&] {
                    for (; steps < 100; ++steps) point();
                    pass_time(1h);
                    steps = 1000;
                  });
                  settle();
                  require(steps == 100, "the other thread did not run until it was blocked");
                  other.join();
                  require(steps == 1000, "the other thread has not ended");
                }),
            std::nullopt);
}

}  // namespace
}  // namespace foliot::simulation
