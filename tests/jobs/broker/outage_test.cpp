// Brokers over a shared store that is unavailable at times.
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
using unavailable = store_unavailable::kind;

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

task<> expect_refused(client& by, duration timeout, std::string text) {
  try {
    co_await by.reserve(timeout);
    ADD_FAILURE() << "it is not known whether there is a job";
  } catch (const store_unavailable& refused) {
    EXPECT_FALSE(refused.is_in_doubt());
    EXPECT_EQ(refused.what(), text);
  }
}

task<std::size_t> count_ready(broker& by) {
  count_tube what;
  what.tube = "mail";
  const count_answer found = co_await by.execute(std::move(what));
  co_return found.counts.ready;
}

TEST(BrokerOutage, WhatAClientThatGaveUpLeavesIsTold) {
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
    co_await sleep(300ms);  // run() does nothing while it holds back
    EXPECT_EQ(world.here_nodes.told, std::vector<std::string>{"mail"});
    world.accept();
  });
}

// As by a batch that was divided, of which the second half took longer than the TTR.
TEST(BrokerOutage, AReservationMayBeOverInTheBatchThatMadeIt) {
  in_node_worlds([](two_nodes& world) -> task<> {
    co_await put_job(world.here, mail("brief"));
    world.here_store.after = [](execution& done) {
      for (const answer& each : done.answers) {
        const auto* const claimed = std::get_if<claim_answer>(&each);
        if (claimed == nullptr) continue;
        for (const claimed_job& job : claimed->jobs) done.expired.push_back(job.token);
      }
    };
    client worker(world.here);
    worker.watch("mail");
    const reserve_answer got = co_await worker.reserve(0ms);
    EXPECT_EQ(got.what, reserve_answer::kind::reserved);
    EXPECT_FALSE(worker.held(got.job->job.id));
    const reserve_answer none = co_await worker.reserve(0ms);
    EXPECT_EQ(none.what, reserve_answer::kind::timed_out) << "not deadline_soon";
    world.here_store.after = nullptr;
  });
}

TEST(BrokerOutage, ARefusedBatchEndsItsOperations) {
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

TEST(BrokerOutage, OnlyWhatChangesSomethingIsInDoubt) {
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

// Another program holds the job in the database, or its key.
TEST(BrokerOutage, AnOperationThatIsPassedOverIsRefusedAlone) {
  in_node_worlds([](two_nodes& world) -> task<> {
    world.here_store.after = [](execution& done) {
      for (answer& each : done.answers) {
        if (std::holds_alternative<change_answer>(each)) each = passed_over_answer{};
      }
    };
    auto putting = spawn(refusal_of(world.here, mail("hello"), ""));
    auto cancelling =
        spawn(refusal_of(world.here, cancel{job_id{1}}, detail::refusal_in(passed_over_answer{})->what()));
    const auto put_ended = co_await putting.join();
    EXPECT_EQ(put_ended, std::nullopt);
    const auto cancel_ended = co_await cancelling.join();
    EXPECT_EQ(cancel_ended, unavailable::not_executed);
    EXPECT_EQ(world.here.counters().unavailable, 0U);
    world.here_store.after = nullptr;
    const cancel first{job_id{1}};
    const auto again = co_await refusal_of(world.here, first, "");
    EXPECT_EQ(again, std::nullopt);
  });
}

// Of several databases one does not answer.
TEST(BrokerOutage, AnOperationWithoutItsDatabaseIsRefusedAlone) {
  in_node_worlds([](two_nodes& world) -> task<> {
    world.here_store.after = [](execution& done) {
      for (answer& each : done.answers) {
        if (std::holds_alternative<change_answer>(each)) each = unavailable_answer{true, "db2 is down"};
        if (std::holds_alternative<count_answer>(each)) each = unavailable_answer{true, "db2 is down"};
        if (std::holds_alternative<claim_answer>(each)) each = unavailable_answer{false, "db2 is down"};
      }
    };
    auto putting = spawn(refusal_of(world.here, mail("hello"), ""));
    auto cancelling = spawn(refusal_of(world.here, cancel{job_id{7}}, "db2 is down"));
    auto counting = spawn(refusal_of(world.here, count_all{}, "db2 is down"));
    const auto put_ended = co_await putting.join();
    EXPECT_EQ(put_ended, std::nullopt);
    const auto cancel_ended = co_await cancelling.join();
    EXPECT_EQ(cancel_ended, unavailable::in_doubt);
    const auto count_ended = co_await counting.join();
    EXPECT_EQ(count_ended, unavailable::not_executed) << "it only looks";
    EXPECT_EQ(world.here.counters().refused, 2U);
    client worker(world.here);
    worker.watch("other");
    auto waiting = spawn(try_reserve(worker, 10s));
    co_await sleep(3s);
    world.here_store.after = nullptr;
    put later{.tube = "other", .body = "late"};
    co_await world.here.execute(later);
    const auto reserved = co_await waiting.join();
    EXPECT_TRUE(reserved && reserved->job) << "the client goes on waiting";
    EXPECT_EQ(world.here.counters().unavailable, 0U);
  });
}

TEST(BrokerOutage, AClaimThatIsRefusedAloneDoesNotSayThatThereIsNoJob) {
  in_node_worlds([](two_nodes& world) -> task<> {
    client worker(world.here);
    worker.watch("mail");
    bool is_down = true;
    world.here_store.after = [&is_down](execution& done) {
      for (answer& each : done.answers) {
        if (is_down && std::holds_alternative<claim_answer>(each)) each = unavailable_answer{false, "db2 is down"};
      }
    };
    co_await expect_refused(worker, 0ms, "db2 is down");
    co_await expect_refused(worker, 3s, "db2 is down");
    // It answers before the timeout has ended, and there is no job.
    auto waiting = spawn(try_reserve(worker, 5s));
    co_await sleep(1s);
    is_down = false;
    const auto none = co_await waiting.join();
    EXPECT_TRUE(none && none->what == reserve_answer::kind::timed_out);
    // And the other way round.
    auto more = spawn(expect_refused(worker, 5s, "db2 is down"));
    co_await sleep(1s);
    is_down = true;
    co_await more.join();
    is_down = false;
    const auto again = co_await try_reserve(worker, 0ms);
    EXPECT_TRUE(again && again->what == reserve_answer::kind::timed_out);
    EXPECT_GE(world.here.counters().refused, 3U);
    EXPECT_EQ(world.here.counters().unavailable, 0U);
  });
}

TEST(BrokerOutage, WhatIsToBeGivenBackIsKept) {
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

/// Their reservations end in the outage, after the broker has tried to give them back.
TEST(BrokerOutage, TheFlowLeavesOutJobsOfTheProgramThatAreToBeGivenBack) {
  in_node_worlds([](two_nodes& world) -> task<> {
    job_id own = 0;
    for (const std::string tube : {"-own.records", "mail"}) {
      put what = mail("hello");
      what.tube = tube;
      what.ttr = 10s;
      const job_id made = co_await put_job(world.here, what);
      if (own == 0) own = made;
    }
    {
      client worker(world.here);
      worker.watch("-own.records");
      worker.watch("mail");
      for (int i = 0; i < 2; ++i) {
        const reserve_answer reserved = co_await worker.reserve(0ms);
        static_cast<void>(got(reserved));
      }
      world.refuse();
      world.there_store.refuse();
    }
    co_await sleep(15s);
    world.accept();
    co_await sleep(300ms);
    auto looking = world.here.execute(peek{own});
    const peek_answer seen = co_await looking;
    EXPECT_EQ(seen.job.value().counters.timeouts, 1U);
    EXPECT_EQ(world.here.flow().expired, 1U) << "of the mail";
    EXPECT_EQ(world.here.counters().expired, 1U);
    world.there_store.accept();
  });
}

TEST(BrokerOutage, AHoldingInDoubtIsKept) {
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

TEST(BrokerOutage, AWaitLastsThroughAnOutage) {
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

TEST(BrokerOutage, ATimeoutInAnOutageIsNotCalledOne) {
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

TEST(BrokerOutage, NewsThatNoClaimCouldFollowAreNotATimeout) {
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

TEST(BrokerOutage, CloseEndsInAnOutage) {
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

TEST(BrokerOutage, WhoIsGoneDuringABatchLeavesNothingReserved) {
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

TEST(BrokerOutage, ManyClientsAreServedAfterAnOutage) {
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

// Nobody knows of its reservation, so its TTR ends it.
TEST(BrokerOutage, AJobOfAClaimInDoubtComesBackAtTheEndOfItsTtr) {
  in_node_worlds([](two_nodes& world) -> task<> {
    put what = mail("hello");
    what.ttr = 2s;
    const instant begin = now();
    co_await put_job(world.here, std::move(what));
    world.refuse(store_unavailable::kind::in_doubt);
    auto taking = spawn(take_one(world.here, "mail"));
    co_await sleep(100ms);
    world.accept();
    co_await sleep(1s);
    EXPECT_EQ(world.here.counters().reservations, 0U);
    const received came = co_await taking.join();
    EXPECT_GT(came.when, begin + duration(2s));
    EXPECT_LT(came.when, begin + duration(2001ms));
  });
}

TEST(BrokerCounters, TellOfALackOfRoom) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client one(world.jobs);
    co_await world.jobs.execute(mail("fits"));
    EXPECT_FALSE(world.jobs.counters().lacks_room);
    world.store.after = [](execution& done) {
      done.has_room = false;
      for (answer& each : done.answers) {
        if (auto* const made = std::get_if<put_answer>(&each)) made->what = put_answer::kind::no_space;
      }
    };
    co_await world.jobs.execute(mail("does not"));
    EXPECT_TRUE(world.jobs.counters().lacks_room);
    EXPECT_EQ(world.jobs.counters().no_space, 1U);
    world.store.accept();
    peek look{job_id{1}};
    co_await world.jobs.execute(std::move(look));
    EXPECT_FALSE(world.jobs.counters().lacks_room) << "each batch tells it anew";
    EXPECT_EQ(world.jobs.counters().no_space, 1U);
  });
}

}  // namespace
}  // namespace foliot::jobs
