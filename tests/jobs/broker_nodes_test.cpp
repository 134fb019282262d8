// Brokers over a store that several nodes share: news, scans, and a store that is unavailable at times.
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
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "broker_world.hpp"
#include "simulated_nodes.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using runtime::now;
using runtime::sleep;
using runtime::spawn;
using runtime::wait_idle;
using test::got;
using test::mail;
using test::put_job;
using test::received;
using test::simulated_nodes;
using test::take_one;
using unavailable = store_unavailable::kind;

/// One store, and two nodes that share it.
struct two_nodes {
  explicit two_nodes(const virtual_clock& time)
      : wall(time),
        memory(store_clocks{&wall, &time}),
        here_store(memory, &here_nodes),
        there_store(memory, &there_nodes),
        here(here_store),
        there(there_store) {
    here_nodes.peer = &there_nodes;
    there_nodes.peer = &here_nodes;
  }

  /// From now on the store refuses the batches of `here` before they are executed, or in doubt after that.
  void refuse(unavailable known = unavailable::not_executed, bool executes = true) {
    if (known == unavailable::in_doubt && executes) {
      here_store.after = [](execution&) { throw store_unavailable(unavailable::in_doubt, "the line is cut"); };
    } else {
      here_store.before = [known](std::span<operation>) { throw store_unavailable(known, "the line is dead"); };
    }
  }
  void accept() {
    here_store.before = nullptr;
    here_store.after = nullptr;
  }
  [[nodiscard]] std::size_t batches() const { return here_store.sizes.size(); }

  virtual_wall_clock wall;
  memory_store memory;
  simulated_nodes here_nodes;
  simulated_nodes there_nodes;
  test::spy_store here_store;
  test::spy_store there_store;
  broker here;
  broker there;
};

template <class Body>
task<> with_running_nodes(two_nodes& world, Body& body) {
  auto running_here = spawn(world.here.run(), "here");
  auto running_there = spawn(world.there.run(), "there");
  co_await wait_idle();
  co_await body(world);
  world.here.close();
  world.there.close();
  co_await running_here.join();
  co_await running_there.join();
}

/// Runs `body` with two nodes in several schedules of virtual time.
template <class Body>
void in_node_worlds(Body body) {
  for (const std::size_t processors : {1U, 3U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE("processors " + std::to_string(processors) + ", seed " + std::to_string(seed));
      virtual_clock clock;
      two_nodes world(clock);
      runtime::run_options options;
      options.processors = processors;
      options.seed = seed;
      options.clock = &clock;
      runtime::run(with_running_nodes(world, body), options);
      for (const check_result& each : {world.here.check(), world.there.check(), world.memory.check()}) {
        EXPECT_TRUE(each) << each.error();
      }
    }
  }
}

/// How an operation has ended: nothing if it was executed.
template <class Operation>
task<std::optional<unavailable>> refusal_of(broker& by, Operation what, std::string text) {
  try {
    co_await by.execute(std::move(what));
  } catch (const store_unavailable& refused) {
    EXPECT_EQ(refused.what(), text);
    co_return refused.what_is_known();
  }
  co_return std::nullopt;
}

task<std::optional<reserve_answer>> try_reserve(client& by, duration timeout) {
  try {
    const reserve_answer done = co_await by.reserve(timeout);
    co_return done;
  } catch (const store_unavailable& refused) {
    EXPECT_FALSE(refused.is_in_doubt());
    EXPECT_STREQ(refused.what(), "the line is dead");
  }
  co_return std::nullopt;
}

task<std::size_t> count_ready(broker& by) {
  count_tube what;
  what.tube = "mail";
  const count_answer found = co_await by.execute(std::move(what));
  co_return found.counts.ready;
}

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

TEST(BrokerNodes, WhatAClientThatGaveUpLeavesIsTold) {
  in_node_worlds([](two_nodes& world) -> task<> {
    co_await put_job(world.here, mail("later", 100ms));
    client worker(world.here);
    worker.watch("mail");
    auto waiting = spawn(try_reserve(worker, 150ms));
    co_await wait_idle();
    // The batch that makes the job ready is executed, and the claim after it is not.
    world.here_store.after = [&world](execution& done) {
      if (done.ready_tubes.empty()) return;
      world.refuse();
    };
    const std::optional<reserve_answer> none = co_await waiting.join();
    EXPECT_FALSE(none.has_value());
    EXPECT_TRUE(world.here_nodes.told.empty());
    co_await sleep(200ms);  // run() does nothing while it holds back
    EXPECT_EQ(world.here_nodes.told, std::vector<std::string>{"mail"});
    world.accept();
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

TEST(BrokerNodes, ARefusedBatchEndsItsOperations) {
  in_node_worlds([](two_nodes& world) -> task<> {
    world.refuse();
    const auto refused = co_await refusal_of(world.here, mail("lost"), "the line is dead");
    EXPECT_EQ(refused, unavailable::not_executed);
    EXPECT_EQ(world.here.counters().unavailable, 1U);
    EXPECT_EQ(world.here.failure(), "");
    world.accept();
    // Held back for 250 ms, then executed.
    const instant begin = now();
    const std::size_t before = world.batches();
    auto putting = spawn(put_job(world.here, mail("kept")));
    co_await sleep(249ms);
    EXPECT_EQ(world.batches(), before);
    EXPECT_FALSE(putting.done());
    co_await putting.join();
    EXPECT_EQ(now(), begin + duration(250ms));
    const std::size_t ready = co_await count_ready(world.here);
    EXPECT_EQ(ready, 1U);
    EXPECT_EQ(world.here.counters().unavailable, 1U);
    auto chosen = co_await runtime::select(world.here.failed(), runtime::otherwise());
    EXPECT_EQ(chosen.index(), 1U);
  });
}

TEST(BrokerNodes, OnlyWhatChangesSomethingIsInDoubt) {
  in_node_worlds([](two_nodes& world) -> task<> {
    world.refuse(unavailable::in_doubt);
    auto putting = spawn(refusal_of(world.here, mail("perhaps"), "the line is cut"));
    auto peeking = spawn(refusal_of(world.here, peek{job_id{1}}, "the line is cut"));
    auto counting = spawn(refusal_of(world.here, count_all{}, "the line is cut"));
    auto listing = spawn(refusal_of(world.here, list_tubes{}, "the line is cut"));
    auto looking = spawn(refusal_of(world.here, peek_first{"mail"}, "the line is cut"));
    auto of_tube = spawn(refusal_of(world.here, count_tube{"mail"}, "the line is cut"));
    const auto put_ended = co_await putting.join();
    EXPECT_EQ(put_ended, unavailable::in_doubt);
    for (auto* each : {&peeking, &counting, &listing, &looking, &of_tube}) {
      const auto ended = co_await each->join();
      EXPECT_EQ(ended, unavailable::not_executed);
    }
    world.accept();
    const std::size_t ready = co_await count_ready(world.here);
    EXPECT_EQ(ready, 1U);
  });
}

TEST(BrokerNodes, WhatIsToBeGivenBackIsKept) {
  in_node_worlds([](two_nodes& world) -> task<> {
    for (int i = 0; i < 3; ++i) co_await put_job(world.here, mail("hello"));
    {
      client worker(world.here);
      worker.watch("mail");
      for (int i = 0; i < 3; ++i) {
        const reserve_answer reserved = co_await worker.reserve(0ms);
        static_cast<void>(got(reserved));
      }
      world.refuse();
    }
    co_await sleep(1900ms);
    EXPECT_EQ(world.here.counters().reservations, 3U);
    EXPECT_EQ(world.here.counters().unavailable, 8U) << "tried again every 250 ms";
    world.accept();
    co_await sleep(250ms);
    EXPECT_EQ(world.here.counters().reservations, 0U);
    const std::size_t ready = co_await count_ready(world.there);
    EXPECT_EQ(ready, 3U);
  });
}

TEST(BrokerNodes, AHoldingInDoubtIsKept) {
  in_node_worlds([](two_nodes& world) -> task<> {
    const job_id id = co_await put_job(world.here, mail("hello"));
    client worker(world.here);
    worker.watch("mail");
    const reserve_answer reserved = co_await worker.reserve(0ms);
    static_cast<void>(got(reserved));
    world.refuse(unavailable::in_doubt, false);
    EXPECT_THROW(co_await worker.touch(id), store_unavailable);
    EXPECT_TRUE(worker.held(id).has_value());
    EXPECT_THROW(co_await worker.finish(id), store_unavailable);
    EXPECT_TRUE(worker.held(id).has_value());
    world.accept();
    world.refuse(unavailable::in_doubt);
    EXPECT_THROW(co_await worker.finish(id), store_unavailable);  // this one was executed
    EXPECT_TRUE(worker.held(id).has_value());
    world.accept();
    const holder_answer told = co_await worker.finish(id);
    EXPECT_EQ(told.what, holder_answer::kind::not_held);
    EXPECT_FALSE(worker.held(id).has_value());
  });
}

TEST(BrokerNodes, AWaitLastsThroughAnOutage) {
  in_node_worlds([](two_nodes& world) -> task<> {
    world.refuse();
    auto taking = spawn(take_one(world.here, "mail"));
    co_await sleep(3s);
    const job_id id = co_await put_job(world.there, mail("hello"));
    co_await sleep(2s);
    EXPECT_FALSE(taking.done());
    EXPECT_EQ(world.here.counters().waiting, 1U);
    world.accept();
    const received came = co_await taking.join();
    EXPECT_EQ(came.id, id);
  });
}

TEST(BrokerNodes, ATimeoutInAnOutageIsNotCalledOne) {
  in_node_worlds([](two_nodes& world) -> task<> {
    client worker(world.here);
    worker.watch("mail");
    world.refuse();
    const instant begin = now();
    const auto none = co_await try_reserve(worker, 600ms);
    EXPECT_FALSE(none.has_value());
    EXPECT_EQ(now(), begin + duration(600ms));
    const auto at_once = co_await try_reserve(worker, 0ms);
    EXPECT_FALSE(at_once.has_value());
    EXPECT_EQ(now(), begin + duration(600ms));
    // Nobody has tried since, so this one does.
    world.accept();
    co_await sleep(10s);
    const auto tried = co_await try_reserve(worker, 0ms);
    EXPECT_TRUE(tried.has_value());
    if (tried) {
      EXPECT_EQ(tried->what, reserve_answer::kind::timed_out);
    }
  });
}

// Its client knows that there was no job, but news have come since.
TEST(BrokerNodes, NewsThatNoClaimCouldFollowAreNotATimeout) {
  for (const bool has_news : {false, true}) {
    in_node_worlds([has_news](two_nodes& world) -> task<> {
      client worker(world.here);
      worker.watch("mail");
      auto waiting = spawn(try_reserve(worker, 600ms));
      co_await wait_idle();
      world.refuse();
      if (has_news) world.here_nodes.hear({{"mail"}, false});
      const auto ended = co_await waiting.join();
      EXPECT_EQ(ended.has_value(), !has_news);
      world.accept();
    });
  }
}

TEST(BrokerNodes, CloseEndsInAnOutage) {
  in_node_worlds([](two_nodes& world) -> task<> {
    auto running = spawn(world.there.run());
    EXPECT_THROW(co_await running.join(), std::logic_error);
    co_await put_job(world.here, mail("hello"));
    {
      client worker(world.here);
      worker.watch("mail");
      const reserve_answer reserved = co_await worker.reserve(0ms);
      static_cast<void>(got(reserved));
      world.refuse();
    }
    // with_running_nodes() closes and joins: what could not be given back is left to the store.
  });
}

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

// What a task destroys while its operation is being executed.
TEST(BrokerNodes, WhoIsGoneDuringABatchLeavesNothingReserved) {
  for (const bool in_doubt : {false, true}) {
    in_node_worlds([in_doubt](two_nodes& world) -> task<> {
      co_await put_job(world.here, mail("one"));
      auto worker = std::make_unique<client>(world.here);
      std::optional<in_flight<claim>> claiming;
      claim what;
      what.tubes = {"mail"};
      what.count = 1;
      claiming.emplace(*worker, std::move(what));
      bool was_called = false;
      world.here_store.before = [&](std::span<operation>) {
        was_called = true;
        claiming.reset();
        worker.reset();
        if (in_doubt) throw store_unavailable(unavailable::in_doubt, "the line is cut");
        world.here_store.before = nullptr;
      };
      auto counting = spawn(refusal_of(world.here, count_all{}, "the line is cut"));  // wakes run()
      co_await counting.join();
      world.accept();
      co_await sleep(1s);
      EXPECT_TRUE(was_called);
      EXPECT_EQ(world.here.counters().reservations, 0U);
      const std::size_t ready = co_await count_ready(world.there);
      EXPECT_EQ(ready, 1U);
    });
  }
}

TEST(BrokerNodes, ManyClientsAreServedAfterAnOutage) {
  in_node_worlds([](two_nodes& world) -> task<> {
    constexpr std::size_t clients = 1500;
    std::vector<runtime::join_handle<received>> taking;
    const auto tube_of = [](std::size_t number) { return "tube " + std::to_string(number % 300); };
    world.refuse();
    for (std::size_t i = 0; i < clients; ++i) taking.push_back(spawn(take_one(world.here, tube_of(i))));
    co_await sleep(1s);
    for (std::size_t i = 0; i < clients; ++i) {
      put what = mail("hello");
      what.tube = tube_of(i);
      co_await put_job(world.there, std::move(what));
    }
    const instant begin = now();
    world.accept();
    for (auto& each : taking) co_await each.join();
    EXPECT_LE(now(), begin + duration(250ms));
    EXPECT_TRUE(world.here.tubes_in_use().empty());
  });
}

// Operations that are queued while no task is in run() wait for one.
TEST(BrokerNodes, OperationsWaitForRun) {
  virtual_clock clock;
  test::simulated_nodes nodes;
  test::broker_world world(clock, {}, &nodes);
  runtime::run_options options;
  options.clock = &clock;
  runtime::run(
      [&]() -> task<> {
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
      }(),
      options);
  const check_result broker = world.jobs.check();
  EXPECT_TRUE(broker) << broker.error();
}

// No processor waits for the store: a task goes on while a batch is executed, and its operations are the next batch.
TEST(BrokerNodes, OperationsQueueUpWhileABatchIsExecuted) {
  test::simulated_nodes nodes;
  test::broker_world world({}, &nodes);
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
  test::simulated_nodes nodes;
  test::broker_world world({}, &nodes);
  note entered;
  note go_on;
  bool finished = false;
  world.store.before = [&](std::span<operation>) {
    entered.wake();
    go_on.sleep_until(instant::never());
    finished = true;
  };
  runtime::run([&]() -> task<> {
    spawn(world.jobs.run());
    spawn(put_job(world.jobs, mail("hello")));
    spawn(take_one(world.jobs, "mail"));
    while (!entered.woken()) co_await runtime::yield();
    go_on.wake();
  }());
  EXPECT_TRUE(finished);
  EXPECT_EQ(world.jobs.counters().clients, 0U);
  const check_result broker = world.jobs.check();
  EXPECT_TRUE(broker) << broker.error();
}

}  // namespace
}  // namespace foliot::jobs
