// The locks under every kind of schedule: thousands of seeded worlds each, also with interrupted waits.
#include <gtest/gtest.h>

#include <vector>

#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>

#include "foliot_simulation/world.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t worlds = 2000;

class Locks : public ::testing::TestWithParam<faults> {};

INSTANTIATE_TEST_SUITE_P(, Locks, ::testing::Values(faults{}, faults{.interrupts = true}),
                         [](const auto& chosen) { return chosen.param.interrupts ? "interrupted" : "quiet"; });

TEST_P(Locks, AMutexLetsInOneAtATimeAndForgetsNobody) {
  explore(worlds, GetParam(), [] {
    mutex guard(lock_rank::engine);
    int inside = 0;
    int visits = 0;
    const auto visit = [&] {
      for (int i = 0; i < 3; ++i) {
        const lock held(guard);
        require(++inside == 1, "two threads hold the lock");
        point();
        ++visits;
        --inside;
      }
    };
    std::vector<seam::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back("visitor", visit);
    visit();
    for (seam::thread& each : threads) each.join();
    require(visits == 12, "a visit is missing");
  });
}

TEST_P(Locks, ANoteLosesNoWakeUp) {
  explore(worlds, GetParam(), [] {
    note n;
    bool told = false;
    seam::thread waker("waker", [&] {
      point();
      told = true;
      n.wake();
      n.wake();
    });
    require(n.sleep_until(instant::never()), "the wait ended without a wake-up");
    require(told, "the thread woke before the waker");
    waker.join();
  });
}

TEST_P(Locks, ANoteEndsAtItsDeadlineAndNotBefore) {
  explore(worlds, GetParam(), [] {
    note n;
    const instant deadline = seam::monotonic_now() + 1ms;
    require(!n.sleep_until(deadline), "the wait reported a wake-up that did not happen");
    require(seam::monotonic_now() >= deadline, "the wait ended before its deadline");
  });
}

TEST_P(Locks, ANoteThatIsWokenAtItsDeadlineSaysOneOrTheOther) {
  explore(worlds, GetParam(), [] {
    note n;
    const instant deadline = seam::monotonic_now() + 1ms;
    bool called = false;
    seam::thread waker("waker", [&] {
      pass_time(1ms);
      called = true;
      n.wake();
    });
    if (n.sleep_until(deadline)) {
      require(called, "a wait ended without a wake-up");
    } else {
      require(seam::monotonic_now() >= deadline, "early");
    }
    waker.join();
  });
}

TEST_P(Locks, AConditionWakesAllWhoWait) {
  explore(worlds, GetParam(), [] {
    mutex guard(lock_rank::engine);
    condition changed;
    int stage = 0;
    const auto wait_for = [&](int wanted) {
      const lock held(guard);
      while (stage < wanted) changed.wait(guard);
    };
    std::vector<seam::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back("waiter", [&wait_for, t] { wait_for(1 + t % 2); });
    for (int i = 0; i < 2; ++i) {
      const lock held(guard);
      ++stage;
      changed.notify_all();
    }
    for (seam::thread& each : threads) each.join();
  });
}

}  // namespace
}  // namespace foliot::simulation
