// Brokers over a store that several nodes share: news, scans, and the thread that executes the batches.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "jobs/kit/two_nodes.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

TEST(BrokerNodes, AJobIsReservedByTheNodeThatWaits) {
  in_node_worlds([](two_nodes& world) -> task<> {
    EXPECT_TRUE(world.here.has_other_nodes());
    auto taking = spawn(take_one(world.there, "mail"));
    co_await wait_idle();
    co_await sleep(300ms);
    const instant begin = now();
    const job_id id = co_await put_job(world.here, mail("hello"));
    const received came = co_await taking.join();
    EXPECT_EQ(came.id, id);
    EXPECT_EQ(came.when, begin);
    EXPECT_EQ(world.here_nodes.told, std::vector<std::string>{"mail"});
    co_await sleep(3s);
    EXPECT_TRUE(world.there_nodes.told.empty()) << "an echo";
  });
}

TEST(BrokerNodes, AScanFindsWhatNoMessageTold) {
  in_node_worlds([](two_nodes& world) -> task<> {
    world.here_nodes.drops = true;
    auto taking = spawn(take_one(world.there, "mail"));
    co_await wait_idle();
    const instant begin = now();
    co_await sleep(300ms);
    co_await put_job(world.here, mail("hello"));
    const received came = co_await taking.join();
    EXPECT_EQ(came.when, begin + duration(1s));
    EXPECT_TRUE(world.there_nodes.told.empty()) << "found by a scan";
  });
}

TEST(BrokerNodes, NobodyIsScannedForWhileNobodyWaits) {
  in_node_worlds([](two_nodes& world) -> task<> {
    client idle(world.here);
    idle.watch("mail");
    const reserve_answer none = co_await idle.reserve(1500ms);
    EXPECT_EQ(none.what, reserve_answer::kind::timed_out);
    const std::size_t before = world.batches();
    EXPECT_EQ(before, 2U);  // at the beginning of the wait, and after a second
    co_await sleep(60s);
    EXPECT_EQ(world.batches(), before);
  });
}

TEST(BrokerNodes, ABrokerThatNobodyHasUsedLeavesDueJobsAlone) {
  virtual_clock clock;
  broker_world world(clock, {}, shared::yes);
  execute_one(world.memory, mail("by another node", 1s));
  broker& unused = world.jobs;
  const auto body = [&]() -> task<> {
    auto running = spawn(unused.run());
    co_await sleep(3s);
    EXPECT_TRUE(world.store.sizes.empty());
    co_await put_job(unused, mail("here", 1s));
    EXPECT_EQ(world.store.sizes.size(), 1U);
    co_await sleep(3s);
    EXPECT_EQ(world.store.sizes.size(), 2U);
    EXPECT_EQ(execute_one(world.memory, count_all{}).counts.ready, 2U);
    unused.close();
    co_await running.join();
  };
  on_virtual_time(clock, body);
}

TEST(BrokerNodes, NewsOfAnyTubeServeAll) {
  in_node_worlds([](two_nodes& world) -> task<> {
    world.here_nodes.drops = true;
    auto first = spawn(take_one(world.there, "mail"));
    auto second = spawn(take_one(world.there, "other"));
    co_await wait_idle();
    const instant begin = now();
    co_await put_job(world.here, mail("hello"));
    put other = mail("hello");
    other.tube = "other";
    co_await put_job(world.here, std::move(other));
    world.there_nodes.hear({{}, true});
    const received one = co_await first.join();
    const received two = co_await second.join();
    EXPECT_EQ(one.when, begin);
    EXPECT_EQ(two.when, begin);
  });
}

TEST(BrokerNodes, WhatClientsHereTakeIsNotTold) {
  in_node_worlds([](two_nodes& world) -> task<> {
    std::vector<runtime::join_handle<received>> taking;
    for (int i = 0; i < 70; ++i) taking.push_back(spawn(take_one(world.here, "mail")));
    co_await wait_idle();
    // More than one claim serves: after each batch clients are left.
    std::vector<runtime::join_handle<job_id>> putting;
    for (int i = 0; i < 69; ++i) putting.push_back(spawn(put_job(world.here, mail("hello"))));
    for (auto& each : putting) co_await each.join();
    co_await wait_idle();
    EXPECT_TRUE(world.here_nodes.told.empty());
    co_await put_job(world.here, mail("the last"));
    for (auto& each : taking) co_await each.join();
  });
}

// A claim has shown that nothing is left, also when the clients that waited in vain give up.
TEST(BrokerNodes, NothingIsToldOfATubeThatIsEmpty) {
  in_node_worlds([](two_nodes& world) -> task<> {
    auto taking = spawn(take_one(world.here, "mail"));
    co_await wait_idle();
    client second(world.here);
    second.watch("mail");
    auto waiting = spawn(second.reserve(duration(500ms)));
    co_await wait_idle();
    co_await put_job(world.here, mail("hello"));
    co_await taking.join();
    const reserve_answer none = co_await waiting.join();
    EXPECT_EQ(none.what, reserve_answer::kind::timed_out);
    co_await sleep(1s);
    EXPECT_TRUE(world.here_nodes.told.empty());
  });
}

TEST(BrokerNodes, WhatIsLeftIsTold) {
  in_node_worlds([](two_nodes& world) -> task<> {
    auto here = spawn(take_one(world.here, "mail"));
    auto there = spawn(take_one(world.there, "mail"));
    co_await wait_idle();
    const instant begin = now();
    auto first = world.here.execute(mail("one"));
    auto second = world.here.execute(mail("two"));
    co_await first;
    co_await second;
    const received one = co_await here.join();
    const received two = co_await there.join();
    EXPECT_EQ(one.when, begin);
    EXPECT_EQ(two.when, begin);
    EXPECT_EQ(world.here_nodes.told, std::vector<std::string>{"mail"});
  });
}

TEST(BrokerNodes, AJobThatIsGivenBackIsTold) {
  in_node_worlds([](two_nodes& world) -> task<> {
    co_await put_job(world.here, mail("hello"));
    auto worker = std::make_unique<client>(world.here);
    worker->watch("mail");
    const reserve_answer reserved = co_await worker->reserve(0ms);
    static_cast<void>(got(reserved));
    auto there = spawn(take_one(world.there, "mail"));
    co_await sleep(100ms);
    const instant begin = now();
    worker.reset();
    const received came = co_await there.join();
    EXPECT_EQ(came.when, begin);
  });
}

// Its client knows that there was no job, but news have come since.
TEST(BrokerNodes, APauseLastsItsTime) {
  in_node_worlds([](two_nodes& world) -> task<> {
    pause what;
    what.tube = "mail";
    what.length = 10s;
    co_await world.here.execute(std::move(what));
    {
      client gone(world.here);
      gone.use("mail");
    }
    co_await wait_idle();
    const instant begin = now();
    co_await put_job(world.there, mail("hello"));
    const received came = co_await take_one(world.there, "mail");
    EXPECT_GE(came.when, begin + duration(9s));
  });
}

// Operations that are queued while no task is in run() wait for one.
TEST(BrokerNodes, OperationsWaitForRun) {
  virtual_clock clock;
  broker_world world(clock, {}, shared::yes);
  on_virtual_time(clock, [&]() -> task<> {
    auto putting = spawn(put_job(world.jobs, mail("hello")));
    co_await sleep(1s);
    EXPECT_FALSE(putting.done());
    auto running = spawn(world.jobs.run());
    co_await putting.join();
    running.request_stop();
    EXPECT_THROW(co_await running.join(), runtime::cancelled);
    auto again = spawn(world.jobs.run());
    co_await put_job(world.jobs, mail("hello"));
    world.jobs.close();
    co_await again.join();
  }());
  const check_result broker = world.jobs.check();
  EXPECT_TRUE(broker) << broker.error();
}

// No processor waits for the store: a task goes on while a batch is executed, and its operations are the next batch.
TEST(BrokerNodes, OperationsQueueUpWhileABatchIsExecuted) {
  broker_world world({}, shared::yes);
  note entered;
  note go_on;
  bool is_first = true;
  world.store.before = [&](std::span<operation>) {
    if (!std::exchange(is_first, false)) return;
    entered.wake();
    go_on.sleep_until(instant::never());
  };
  runtime::run_options options;
  options.processors = 1;
  runtime::run(
      [&]() -> task<> {
        auto running = spawn(world.jobs.run());
        std::vector<runtime::join_handle<job_id>> putting;
        putting.push_back(spawn(put_job(world.jobs, mail("hello"))));
        while (!entered.woken()) co_await runtime::yield();
        for (int i = 0; i < 20; ++i) putting.push_back(spawn(put_job(world.jobs, mail("hello"))));
        while (world.jobs.counters().queued != 20) co_await runtime::yield();
        go_on.wake();
        for (auto& each : putting) co_await each.join();
        world.jobs.close();
        co_await running.join();
      }(),
      options);
  EXPECT_EQ(world.store.sizes, (std::vector<std::size_t>{1, 20}));
}

// The store is used until the call returns.
TEST(BrokerNodes, ARunThatEndsDuringABatchWaitsForIt) {
  broker_world world({}, shared::yes);
  note entered;
  note go_on;
  bool finished = false;
  world.store.before = [&](std::span<operation>) {
    entered.wake();
    go_on.sleep_until(instant::never());
    finished = true;
  };
  runtime::run_options options;
  options.processors = 1;  // so run() does not go on before the end
  runtime::run(
      [&]() -> task<> {
        spawn(world.jobs.run());
        spawn(put_job(world.jobs, mail("hello")));
        spawn(take_one(world.jobs, "mail"));
        while (!entered.woken()) co_await runtime::yield();
        go_on.wake();
      }(),
      options);
  EXPECT_TRUE(finished);
  EXPECT_EQ(world.jobs.counters().clients, 0U);
  EXPECT_EQ(world.jobs.counters().unavailable, 1U) << "it is in doubt for the broker";
  EXPECT_TRUE(world.jobs.tubes_in_use().empty());
  const check_result broker = world.jobs.check();
  EXPECT_TRUE(broker) << broker.error();
}

// The batch that is being executed is answered, and what comes later waits for the next run().
TEST(BrokerNodes, AStopOfRunWaitsForTheBatch) {
  broker_world world({}, shared::yes);
  note entered;
  note go_on;
  world.store.before = [&](std::span<operation>) {
    entered.wake();
    go_on.sleep_until(instant::never());
  };
  runtime::run([&]() -> task<> {
    auto running = spawn(world.jobs.run());
    auto putting = spawn(put_job(world.jobs, mail("hello")));
    while (!entered.woken()) co_await runtime::yield();
    running.request_stop();
    go_on.wake();
    const job_id id = co_await putting.join();
    EXPECT_NE(id, 0U);
    EXPECT_THROW(co_await running.join(), runtime::cancelled);
  }());
  EXPECT_EQ(world.store.sizes.size(), 1U);
}

TEST(BrokerNodes, ADescriptorThatCannotBeWatchedFailsTheBroker) {
  in_node_worlds([](two_nodes& world) -> task<> {
    broker second(world.here_store);  // its store's descriptor is watched already
    auto running = spawn(second.run());
    EXPECT_THROW(co_await running.join(), store_failure);
    EXPECT_THROW(co_await second.execute(mail("hello")), store_failure);
    EXPECT_NE(second.failure().find("cannot be watched"), std::string::npos);
  });
}

}  // namespace
}  // namespace foliot::jobs
