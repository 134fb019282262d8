// broker_limits::commit_delay: requests of clients that ask seldom wait for others, and share their batch. Nobody else
// waits for anything.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr broker_limits limits{.commit_delay = 5ms};
constexpr std::size_t devices = 400;
constexpr duration period = 2s;
constexpr std::size_t heartbeats = 4;

/// What clients have seen.
struct seen_waits {
  duration longest;
  std::size_t puts = 0;
};

/// Sends heartbeats by one client, and notes how long the answers take.
task<> beat(broker_world& world, duration first, duration every, std::size_t times, seen_waits& seen) {
  client device(world.jobs);
  co_await sleep(first);
  for (std::size_t i = 0; i < times; ++i) {
    const instant asked = now();
    auto putting = device.execute(mail("beat"));
    co_await putting;
    seen.longest = std::max(seen.longest, now() - asked);
    ++seen.puts;
    co_await sleep(every);
  }
}

/// When the i-th of so many begins, so that they are spread over a period.
duration beginning_of(std::size_t i, std::size_t all) {
  return duration::nanoseconds(period.count() * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(all));
}

/// Devices that send heartbeats one after the other, each once in a period.
task<> beat_all(broker_world& world, seen_waits& seen) {
  std::vector<runtime::join_handle<>> all;
  for (std::size_t i = 0; i < devices; ++i) {
    all.push_back(spawn(beat(world, beginning_of(i, devices), period, heartbeats, seen)));
  }
  for (auto& each : all) co_await each.join();
}

TEST(BrokerCommitDelay, NobodyWaitsWhereNobodyComes) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        // One asks every 5 ms.
        seen_waits few;
        co_await beat_all(world, few);
        EXPECT_EQ(few.puts, devices * heartbeats);
        EXPECT_EQ(few.longest, duration::zero());
        EXPECT_EQ(world.store.sizes.size(), devices * heartbeats);
      },
      limits);
}

/// As beat_all(), with ten clients in the place of each.
task<> beat_densely(broker_world& world, seen_waits& seen) {
  std::vector<runtime::join_handle<>> all;
  for (std::size_t i = 0; i < 10 * devices; ++i) {
    all.push_back(spawn(beat(world, beginning_of(i, 10 * devices), period, heartbeats, seen)));
  }
  for (auto& each : all) co_await each.join();
}

TEST(BrokerCommitDelay, ClientsThatAskSeldomAndDenselyShareABatch) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        seen_waits dense;
        co_await beat_densely(world, dense);
        EXPECT_EQ(dense.puts, 10 * devices * heartbeats);
        EXPECT_LE(dense.longest, limits.commit_delay);
        // The first heartbeats of all are executed at once; of the others some ten come in 5 ms.
        EXPECT_LE(world.store.sizes.size(), 10 * devices + 10 * devices * (heartbeats - 1) / 8);
      },
      limits);
}

TEST(BrokerCommitDelay, WithoutItEachHasItsOwn) {
  in_broker_worlds([](broker_world& world) -> task<> {
    seen_waits dense;
    co_await beat_densely(world, dense);
    EXPECT_EQ(dense.longest, duration::zero());
    EXPECT_EQ(world.store.sizes.size(), 10 * devices * heartbeats);
  });
}

/// Asks again as soon as it has its answer, a while after the devices have begun.
task<> ask_again(broker_world& world, seen_waits& seen) {
  client quick(world.jobs);
  co_await sleep(period * 2);
  for (int i = 0; i < 200; ++i) {
    const instant asked = now();
    auto looking = quick.execute(count_all{});
    co_await looking;
    seen.longest = std::max(seen.longest, now() - asked);
    co_await sleep(10ms);
  }
}

TEST(BrokerCommitDelay, AClientLosesAtMostAHundredthOfItsTime) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        seen_waits of_devices;
        seen_waits of_one;
        auto asking = spawn(ask_again(world, of_one));
        co_await beat_densely(world, of_devices);
        co_await asking.join();
        EXPECT_LE(of_one.longest, 100us);
        EXPECT_LE(of_devices.longest, limits.commit_delay);
      },
      limits);
}

/// Clients that have asked once, and then others that ask for half a second, 100 us apart.
task<> let_them_wait(broker_world& world, std::vector<client>& made, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    made.emplace_back(world.jobs);
    auto first = made.back().execute(count_all{});
    co_await first;
  }
  for (int i = 0; i < 5000; ++i) {
    co_await world.jobs.execute(count_all{});
    co_await sleep(100us);
  }
}

/// Puts one job of this size by each client at the same time, and returns the longest wait.
task<duration> put_at_once(std::vector<client>& by, std::size_t bytes) {
  seen_waits seen;
  const auto put_one = [](client& device, std::size_t size, seen_waits& into) -> task<> {
    const instant asked = now();
    auto putting = device.execute(mail(std::string(size, 'x')));
    co_await putting;
    into.longest = std::max(into.longest, now() - asked);
  };
  std::vector<runtime::join_handle<>> all;
  for (client& each : by) all.push_back(spawn(put_one(each, bytes, seen)));
  for (auto& each : all) co_await each.join();
  co_return seen.longest;
}

TEST(BrokerCommitDelay, SoManyRequestsDoNotWait) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::vector<client> devices_here;
        co_await let_them_wait(world, devices_here, 256);
        const duration longest = co_await put_at_once(devices_here, 1);
        EXPECT_EQ(longest, duration::zero());
        EXPECT_EQ(world.store.sizes.back(), 256U);
      },
      limits);
}

TEST(BrokerCommitDelay, SoManyBytesDoNotWait) {
  broker_limits large = limits;
  large.job.max_body = 600'000;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::vector<client> devices_here;
        co_await let_them_wait(world, devices_here, 2);
        const duration longest = co_await put_at_once(devices_here, 600'000);
        EXPECT_EQ(longest, duration::zero());
      },
      large);
}

TEST(BrokerCommitDelay, AClientThatHasWaitedForAJobDoesNotWaitToFinishIt) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::vector<client> worker;
        co_await let_them_wait(world, worker, 1);
        worker.front().watch("mail");
        co_await put_job(world.jobs, mail("x"));
        const claimed_job job = got(co_await worker.front().reserve());
        const instant asked = now();
        auto finishing = worker.front().finish(job.token.id);
        co_await finishing;
        EXPECT_EQ(now(), asked);
      },
      limits);
}

TEST(BrokerCommitDelay, ARequestThatIsWithdrawnLeavesTheOthersToTheirTime) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::vector<client> devices_here;
        co_await let_them_wait(world, devices_here, 2);
        {
          const in_flight<put> dropped(devices_here.front(), mail("dropped"));
        }
        EXPECT_EQ(world.jobs.counters().queued, 0U);
        devices_here.erase(devices_here.begin());
        const duration longest = co_await put_at_once(devices_here, 1);
        EXPECT_EQ(longest, limits.commit_delay);
      },
      limits);
}

struct circumstances {
  bool due_soon = false;  // whether a job becomes due within 2 ms
  bool ends_run = false;  // whether the body does
};

task<> ask_late(broker_world& world, client& device, seen_waits& seen) {
  const instant asked = now();
  auto putting = device.execute(mail("late"));
  EXPECT_EQ(world.jobs.counters().queued, 1U);
  co_await putting;
  seen.longest = now() - asked;
  ++seen.puts;
}

/// A client has asked once, others ask for half a second, 100 us apart, and then it asks again and waits for others.
/// `body` ends the wait.
template <class Body>
task<> end_a_wait(broker_world& world, Body& body, circumstances with) {
  auto running = spawn(world.jobs.run(), "broker");
  auto device = std::make_unique<client>(world.jobs);
  {
    auto first = device->execute(mail("first"));
    co_await first;
  }
  for (int i = 0; i < 5000; ++i) {
    co_await world.jobs.execute(count_all{});
    co_await sleep(100us);
  }
  if (with.due_soon) co_await put_job(world.jobs, mail("soon", milliseconds(1)));
  const std::size_t batches = world.store.sizes.size();
  seen_waits seen;
  auto late = spawn(ask_late(world, *device, seen), "late");
  co_await sleep(10us);
  EXPECT_EQ(world.store.sizes.size(), batches);
  EXPECT_EQ(world.jobs.counters().queued, 1U);
  co_await body(world, running);
  co_await late.join();
  EXPECT_EQ(seen.puts, 1U);
  EXPECT_LE(seen.longest, 2ms);
  device.reset();
  world.jobs.close();
  if (!with.ends_run) co_await running.join();
}

template <class Body>
void with_a_request_that_waits(Body body, circumstances with = {}) {
  for (const std::size_t processors : {1U, 2U}) {
    SCOPED_TRACE("processors " + std::to_string(processors));
    virtual_clock clock;
    broker_world world(clock, limits);
    on_virtual_time(clock, end_a_wait(world, body, with), {.processors = processors, .seed = 1});
  }
}

TEST(BrokerCommitDelay, ARequestThatDoesNotWaitTakesTheOthersAlong) {
  with_a_request_that_waits(
      [](broker_world& world, runtime::join_handle<>&) -> task<> { co_await world.jobs.execute(count_all{}); });
}

TEST(BrokerCommitDelay, AClientThatWaitsForAJobTakesTheOthersAlong) {
  with_a_request_that_waits([](broker_world& world, runtime::join_handle<>&) -> task<> {
    client worker(world.jobs);
    worker.watch("mail");
    const reserve_answer reserved = co_await worker.reserve(duration::zero());
    EXPECT_EQ(reserved.what, reserve_answer::kind::reserved);
  });
}

TEST(BrokerCommitDelay, ACloseTakesTheOthersAlong) {
  with_a_request_that_waits([](broker_world& world, runtime::join_handle<>&) -> task<> {
    world.jobs.close();
    co_return;
  });
}

TEST(BrokerCommitDelay, AStopOfRunTakesTheOthersAlong) {
  with_a_request_that_waits(
      [](broker_world&, runtime::join_handle<>& running) -> task<> {
        running.request_stop();
        try {
          co_await running.join();
        } catch (const runtime::cancelled&) {
        }
      },
      {.ends_run = true});
}

TEST(BrokerCommitDelay, AJobThatBecomesDueTakesTheOthersAlong) {
  with_a_request_that_waits(
      [](broker_world& world, runtime::join_handle<>&) -> task<> {
        co_await sleep(2ms);
        EXPECT_EQ(world.jobs.counters().queued, 0U);
      },
      {.due_soon = true});
}

}  // namespace
}  // namespace foliot::jobs
