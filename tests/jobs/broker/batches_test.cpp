// Requests, leaders and batches of the broker.
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

TEST(BrokerBatches, AnOperationHasTheAnswerOfItsType) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const put_answer put = co_await world.jobs.execute(mail("hello"));
    EXPECT_EQ(put.what, put_answer::kind::inserted);
    peek what;
    what.name = put.id;
    const peek_answer seen = co_await world.jobs.execute(std::move(what));
    EXPECT_EQ(seen.job.value().body, "hello");
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.ready, 1U);
  });
}

TEST(BrokerBatches, OperationsThatOneTaskQueuesAreOneBatch) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::deque<in_flight<put>> puts;
    for (int i = 0; i < 20; ++i) puts.emplace_back(world.jobs, mail(std::to_string(i)));
    EXPECT_EQ(world.jobs.counters().queued, 20U);
    job_id before = 0;
    for (auto& each : puts) {
      const put_answer done = co_await each;
      EXPECT_GT(done.id, before);
      before = done.id;
    }
    EXPECT_EQ(world.store.sizes, std::vector<std::size_t>{20});
  });
}

TEST(BrokerBatches, RequestsThatMayBringLargeBodiesAreDivided) {
  broker_limits limits;
  limits.job.max_body = std::size_t{6} << 20;  // three of them are more than 16 MiB
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        const put_answer put = co_await world.jobs.execute(mail("hello"));
        world.store.sizes.clear();
        std::deque<in_flight<peek>> peeks;
        for (int i = 0; i < 7; ++i) {
          peek what;
          what.name = put.id;
          peeks.emplace_back(world.jobs, std::move(what));
        }
        for (auto& each : peeks) {
          const peek_answer seen = co_await each;
          EXPECT_EQ(seen.job.value().body, "hello");
        }
        EXPECT_EQ(world.store.sizes, (std::vector<std::size_t>{3, 3, 1}));
      },
      limits);
}

TEST(BrokerBatches, WithoutRunTheLeaderGoesOnUntilNothingIsLeft) {
  virtual_clock clock;
  broker_world world(clock);
  on_virtual_time(clock, [&]() -> task<> {
    std::deque<in_flight<put>> puts;
    for (int i = 0; i < 3000; ++i) puts.emplace_back(world.jobs, mail(std::to_string(i)));
    co_await puts.front();
    EXPECT_EQ(world.jobs.counters().queued, 0U);
    EXPECT_GT(world.store.sizes.size(), 1U);
    co_await puts.back();
  });
}

TEST(BrokerBatches, TheLeaderOfOneBatchDoesNotLeadForOthers) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::deque<in_flight<put>> puts;
    for (int i = 0; i < 3000; ++i) puts.emplace_back(world.jobs, mail(std::to_string(i)));
    if (runtime::processors() == 1) co_return;  // there run() leads
    co_await puts.front();
    EXPECT_EQ(world.store.sizes.size(), 1U);
    EXPECT_GT(world.jobs.counters().queued, 0U);
    co_await puts.back();
    EXPECT_EQ(world.jobs.counters().queued, 0U);
  });
}

TEST(BrokerBatches, ABatchHasABoundedSizeOfBodies) {
  broker_limits limits;
  limits.job.max_body = 1'000'000;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::deque<in_flight<put>> puts;
        for (int i = 0; i < 8; ++i) puts.emplace_back(world.jobs, mail(std::string(600'000, 'x')));
        for (auto& each : puts) co_await each;
        EXPECT_EQ(world.store.sizes, (std::vector<std::size_t>{2, 2, 2, 2}));
      },
      limits);
}

TEST(BrokerBatches, OperationsThatComeWhileABatchExecutesShareTheNext) {
  constexpr std::size_t clients = 50;
  broker_world world;
  // The first batch does not end before all operations that are not in it are queued.
  world.store.before = [&](std::span<operation> batch) {
    const bool is_first = world.store.sizes.size() == 1;
    while (is_first && world.jobs.counters().queued + batch.size() < clients) seam::spin_pause();
  };
  runtime::run_options options;
  options.processors = 3;
  runtime::run(
      [&]() -> task<> {
        auto running = spawn(world.jobs.run(), "broker");
        std::vector<runtime::join_handle<job_id>> all;
        for (std::size_t i = 0; i < clients; ++i) all.push_back(spawn(put_job(world.jobs, mail("x")), "put"));
        for (auto& each : all) co_await each.join();
        world.jobs.close();
        co_await running.join();
      },
      options);
  EXPECT_LE(world.store.sizes.size(), 2U);
  EXPECT_EQ(world.jobs.counters().operations, clients);
}

TEST(BrokerBatches, TasksOnASingleProcessorShareABatch) {
  in_broker_worlds([](broker_world& world) -> task<> {
    if (runtime::processors() != 1) co_return;
    std::vector<runtime::join_handle<job_id>> all;
    for (std::size_t i = 0; i < 20; ++i) all.push_back(spawn(put_job(world.jobs, mail("x")), "put"));
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(world.store.sizes, std::vector<std::size_t>{20});
  });
}

/// Puts one job by each of so many tasks, and returns how many batches that took.
task<std::size_t> batches_of(broker_world& world, std::size_t tasks) {
  const std::size_t before = world.store.sizes.size();
  std::vector<runtime::join_handle<job_id>> all;
  for (std::size_t i = 0; i < tasks; ++i) all.push_back(spawn(put_job(world.jobs, mail("x")), "put"));
  for (auto& each : all) co_await each.join();
  co_return world.store.sizes.size() - before;
}

task<> put_at_once(broker_world& world, std::size_t jobs) {
  std::deque<in_flight<put>> puts;
  for (std::size_t i = 0; i < jobs; ++i) puts.emplace_back(world.jobs, mail("x"));
  for (auto& each : puts) co_await each;
}

TEST(BrokerBatches, ACrowdOfASyncedStoreSharesItsBatches) {
  constexpr broker_limits limits{.commit_delay = 5ms};
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        const std::size_t at_first = co_await batches_of(world, 20);
        const std::size_t alone = runtime::processors() > 1 ? 20 : 1;  // each task leads a batch of its own
        EXPECT_EQ(at_first, alone);
        co_await put_at_once(world, 64);
        const std::size_t behind_a_burst = co_await batches_of(world, 20);
        EXPECT_EQ(behind_a_burst, alone);
        for (int i = 0; i < 8; ++i) co_await put_at_once(world, 64);
        const std::size_t of_a_crowd = co_await batches_of(world, 20);
        EXPECT_LE(of_a_crowd, 15U);
        for (int i = 0; i < 50; ++i) co_await put_job(world.jobs, mail("x"));  // alone: the crowd has gone
        const std::size_t at_last = co_await batches_of(world, 20);
        EXPECT_EQ(at_last, alone);
      },
      limits);
}

task<> work_once(broker_world& world) {
  client worker(world.jobs);
  worker.watch("mail");
  const reserve_answer got = co_await worker.reserve(1h);
  EXPECT_TRUE(got.job);
}

task<> count_turns(std::size_t& turns, const bool& ends) {
  while (!ends) {
    ++turns;
    co_await runtime::yield();
  }
}

TEST(BrokerBatches, WorkersThatWaitAreNoCrowd) {
  constexpr broker_limits limits{.commit_delay = 5ms};
  constexpr int puts = 20;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        if (runtime::processors() == 1) co_return;
        std::vector<runtime::join_handle<void>> workers;
        for (int i = 0; i < 2 * puts; ++i) workers.push_back(spawn(work_once(world), "worker"));
        while (world.jobs.counters().waiting < workers.size()) co_await runtime::yield();
        std::size_t turns = 0;
        bool ends = false;
        auto others = spawn(count_turns(turns, ends), "others");
        for (int i = 0; i < puts; ++i) {
          for (int look = 0; look < 100; ++look) co_await runtime::yield();  // a worker gets the job of before
          const std::size_t before = turns;
          co_await put_job(world.jobs, mail("x"));
          EXPECT_EQ(turns, before) << "put " << i << ": its task has not led the batch";
        }
        ends = true;
        co_await others.join();
        for (int i = 0; i < puts; ++i) co_await put_job(world.jobs, mail("x"));
        for (auto& each : workers) co_await each.join();
      },
      limits);
}

TEST(BrokerBatches, WithoutASyncACrowdSharesNothing) {
  in_broker_worlds([](broker_world& world) -> task<> {
    if (runtime::processors() == 1) co_return;
    for (int i = 0; i < 8; ++i) co_await put_at_once(world, 64);
    const std::size_t of_a_crowd = co_await batches_of(world, 20);
    EXPECT_EQ(of_a_crowd, 20U);
  });
}

TEST(BrokerBatches, AnOperationThatIsDestroyedInTheQueueIsNotExecuted) {
  in_broker_worlds([](broker_world& world) -> task<> {
    {
      const in_flight<put> dropped(world.jobs, mail("dropped"));
    }
    EXPECT_EQ(world.jobs.counters().queued, 0U);
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.all(), 0U);
  });
}

TEST(BrokerBatches, AReservationWhoseTaskDoesNotTakeItIsGivenBack) {
  in_broker_worlds([](broker_world& world) -> task<> {
    co_await put_job(world.jobs, mail("one"));
    co_await put_job(world.jobs, mail("two"));
    claim any;
    any.tubes = {"mail"};
    {
      client worker(world.jobs);
      auto mine = std::make_optional<in_flight<claim>>(worker, any);
      auto nobodys = std::make_optional<in_flight<claim>>(world.jobs, any);
      co_await world.jobs.execute(count_all{});  // executes all three
      mine.reset();
      nobodys.reset();
      EXPECT_EQ(worker.reservations(), 0U);
    }
    co_await sleep(1ms);
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.ready, 2U);
  });
}

TEST(BrokerBatches, AStopDoesNotEndTheWaitForAnAnswer) {
  in_broker_worlds([](broker_world& world) -> task<> {
    auto puts = [](broker& into, put_answer& result) -> task<> {
      result = co_await into.execute(mail("x"));
      co_await sleep(1h);
    };
    put_answer result;
    auto putting = spawn(puts(world.jobs, result), "put");
    putting.request_stop();
    try {
      co_await putting.join();
      ADD_FAILURE() << "the sleep was not cancelled";
    } catch (const runtime::cancelled&) {
    }
    EXPECT_EQ(result.id, 1U);
  });
}

TEST(BrokerBatches, OperationsOutOfRangeAreRefused) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put without_tube;
    EXPECT_THROW(static_cast<void>(world.jobs.execute(without_tube)), std::invalid_argument);
    put too_big = mail(std::string(65'536, 'x'));
    EXPECT_THROW(static_cast<void>(world.jobs.execute(too_big)), std::invalid_argument);
    EXPECT_EQ(world.jobs.counters().queued, 0U);
    co_return;
  });
}

TEST(BrokerBatches, TheQueueHasALimit) {
  broker_limits limits;
  limits.operations = 3;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::deque<in_flight<put>> puts;
        for (int i = 0; i < 3; ++i) puts.emplace_back(world.jobs, mail("x"));
        EXPECT_THROW(puts.emplace_back(world.jobs, mail("x")), broker_full);
        for (auto& each : puts) {
          const put_answer done = co_await each;
          EXPECT_EQ(done.what, put_answer::kind::inserted);
        }
        co_await put_job(world.jobs, mail("x"));
      },
      limits);
}

}  // namespace
}  // namespace foliot::jobs
