// Waiting clients of the broker whose tasks are stopped, or that go away.
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/virtual_time.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

task<> reserve_until_stopped(client& worker) { co_await worker.reserve(); }

/// So that run() need not wake for the end of the next reservation.
task<> hold_one(broker& jobs, client& by) {
  by.watch("mail");
  put short_one = mail("x");
  short_one.ttr = 30s;
  co_await put_job(jobs, short_one);
  got(co_await by.reserve());
}

TEST(BrokerCancel, AJobThatIsClaimedForAStoppedTaskGoesToTheNextClient) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client other(world.jobs);
    co_await hold_one(world.jobs, other);
    client worker(world.jobs);
    worker.watch("mail");
    auto stopped = spawn(reserve_until_stopped(worker), "stopped");
    co_await wait_idle();
    auto next = spawn(take_one(world.jobs, "mail"), "next");
    co_await wait_idle();
    stopped.request_stop();
    const instant start = now();
    const job_id id = co_await put_job(world.jobs, mail("x"));  // claimed before the stopped task runs
    EXPECT_THROW(co_await stopped.join(), runtime::cancelled);
    const received result = co_await next.join();
    EXPECT_EQ(result.id, id);
    EXPECT_EQ(result.when, start);
    EXPECT_EQ(worker.reservations(), 0U);
  });
}

TEST(BrokerCancel, AJobThatIsClaimedForAStoppedTaskIsGivenBackAtOnce) {
  in_broker_worlds([](broker_world& world) -> task<> {
    if (runtime::processors() == 1) co_return;  // there run() leads, and the stopped task runs before it
    client other(world.jobs);
    co_await hold_one(world.jobs, other);
    client worker(world.jobs);
    worker.watch("mail");
    auto stopped = spawn(reserve_until_stopped(worker), "stopped");
    co_await wait_idle();
    stopped.request_stop();
    co_await put_job(world.jobs, mail("y"));  // claimed before the stopped task runs
    EXPECT_EQ(world.jobs.counters().reservations, 2U);
    EXPECT_THROW(co_await stopped.join(), runtime::cancelled);
    co_await wait_idle();
    EXPECT_EQ(world.jobs.counters().reservations, 1U);
  });
}

TEST(BrokerCancel, AJobThatIsClaimedForAClientThatGoesMeanwhileIsGivenBack) {
  broker_world world;
  runtime::join_handle<> leaving;
  seam::atomic<bool> claims{false};
  // Holds up the batch with the claim until the client does not wait any more.
  world.store.before = [&](std::span<operation>) {
    if (!claims.exchange(false, seam::acq_rel)) return;
    leaving.request_stop();
    while (world.jobs.counters().waiting != 0) seam::spin_pause();
  };
  runtime::run_options options;
  options.processors = 3;
  runtime::run(
      [&]() -> task<> {
        auto running = spawn(world.jobs.run(), "broker");
        {
          client worker(world.jobs);
          worker.watch("mail");
          leaving = spawn(reserve_until_stopped(worker), "leaving");
          while (world.jobs.counters().batches == 0) co_await runtime::yield();  // it has found no job
          claims.store(true, seam::release);
          co_await put_job(world.jobs, mail("x"));
          EXPECT_THROW(co_await leaving.join(), runtime::cancelled);
          got(co_await worker.reserve(duration{}));
          EXPECT_EQ(worker.reservations(), 1U);
        }
        world.jobs.close();
        co_await running.join();
      },
      options);
}

TEST(BrokerCancel, AReserveThatIsCancelledGivesItsJobBack) {
  in_broker_worlds([](broker_world& world) -> task<> {
    for (int i = 0; i < 20; ++i) {
      auto first = spawn(take_one(world.jobs, "mail"), "first");
      co_await sleep(1ms);
      auto second = spawn(take_one(world.jobs, "mail"), "second");
      co_await sleep(1ms);
      const job_id id = co_await put_job(world.jobs, mail("x"));
      first.request_stop();
      job_id first_got = 0;
      try {
        const received result = co_await first.join();
        first_got = result.id;
      } catch (const runtime::cancelled&) {
      }
      if (first_got == id) co_await put_job(world.jobs, mail("y"));
      const received result = co_await second.join();
      EXPECT_EQ(result.id, first_got == id ? id + 1 : id);
    }
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.all(), 0U);
  });
}

TEST(BrokerCancel, AClientMayWaitAgainAfterATimeLimitEndedItsReserve) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client worker(world.jobs);
    worker.watch("mail");
    for (int i = 0; i < 3; ++i) {
      auto waiting = worker.reserve();
      const auto none = co_await runtime::with_timeout(std::move(waiting), 1s);
      EXPECT_FALSE(none.has_value());
      EXPECT_EQ(world.jobs.counters().waiting, 0U);
    }
    co_await put_job(world.jobs, mail("x"));
    got(co_await worker.reserve());
  });
}

}  // namespace
}  // namespace foliot::jobs
