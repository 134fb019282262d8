// Clients that hold more jobs than one batch gives back, and reservations that end together.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::size_t many = 1500;
constexpr std::size_t most_in_a_batch = 512 + 16;  // given back, and the few operations of the tests

/// `by` holds `many` jobs afterwards.
task<> hold_many(broker_world& world, client& by, milliseconds ttr = 1min) {
  std::vector<operation> puts(many, mail("x"));
  for (operation& each : puts) std::get<put>(each).ttr = ttr;
  static_cast<void>(world.memory.execute(puts));
  claim all;
  all.tubes = {"mail"};
  all.count = many;
  auto claiming = by.execute(std::move(all));
  const claim_answer mine = co_await claiming;
  EXPECT_EQ(mine.jobs.size(), many);
}

/// Claims everything that is ready, for no client; notes each id.
task<std::size_t> claim_ready(broker& from, std::set<job_id>& seen) {
  claim all;
  all.tubes = {"mail"};
  all.count = many;
  auto claiming = from.execute(std::move(all));
  const claim_answer got = co_await claiming;
  for (const claimed_job& each : got.jobs) EXPECT_TRUE(seen.insert(each.token.id).second) << "held by two";
  co_return got.jobs.size();
}

TEST(BrokerMany, AClientThatGoesGivesBackInPiecesBetweenWhichOthersAreServed) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::size_t given_back = 0;
    world.store.before = [&](std::span<operation> batch) {
      const auto is_abandon = [](const operation& each) { return std::holds_alternative<abandon>(each); };
      given_back += static_cast<std::size_t>(std::ranges::count_if(batch, is_abandon));
    };
    {
      client gone(world.jobs);
      co_await hold_many(world, gone);
      world.store.sizes.clear();
    }
    EXPECT_EQ(world.jobs.counters().reservations, many);
    std::set<job_id> seen;
    const std::size_t first = co_await claim_ready(world.jobs, seen);
    EXPECT_GT(first, 0U);
    EXPECT_LT(first, many) << "served only after everything was given back";
    EXPECT_LT(given_back, many);
    co_await sleep(1ms);
    co_await claim_ready(world.jobs, seen);
    EXPECT_EQ(seen.size(), many);
    EXPECT_EQ(given_back, many);
    EXPECT_EQ(world.jobs.counters().reservations, 0U);
    for (const std::size_t size : world.store.sizes) EXPECT_LE(size, most_in_a_batch);
  });
}

TEST(BrokerMany, AWaitingClientGetsAJobBeforeAllIsGivenBack) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::size_t given_back = 0;
    std::size_t given_back_before = 0;  // the waiting client got its job
    world.store.before = [&](std::span<operation> batch) {
      const auto is_abandon = [](const operation& each) { return std::holds_alternative<abandon>(each); };
      given_back += static_cast<std::size_t>(std::ranges::count_if(batch, is_abandon));
    };
    runtime::join_handle<received> waiting;
    {
      client gone(world.jobs);
      co_await hold_many(world, gone);
      waiting = spawn(take_one(world.jobs, "mail"), "waits");
      co_await wait_idle();
      world.store.after = [&](execution& done) {
        for (const answer& each : done.answers) {
          const auto* const claimed = std::get_if<claim_answer>(&each);
          if (claimed != nullptr && !claimed->jobs.empty()) given_back_before = given_back;
        }
      };
    }
    co_await waiting.join();
    co_await sleep(1ms);
    EXPECT_GT(given_back_before, 0U);
    EXPECT_LT(given_back_before, many);
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.ready, many - 1);
  });
}

TEST(BrokerMany, AReservationEndsWhileItWaitsToBeGivenBack) {
  in_broker_worlds([](broker_world& world) -> task<> {
    {
      client gone(world.jobs);
      co_await hold_many(world, gone, 5ms);
      co_await sleep(5ms);  // alive still, at the last instant
    }
    co_await sleep(1ms);
    EXPECT_EQ(world.jobs.counters().reservations, 0U);
    std::set<job_id> seen;
    co_await claim_ready(world.jobs, seen);
    EXPECT_EQ(seen.size(), many);
  });
}

TEST(BrokerMany, WithoutRunTheLeaderGivesEverythingBack) {
  virtual_clock clock;
  broker_world world(clock);
  on_virtual_time(clock, [&]() -> task<> {
    {
      client gone(world.jobs);
      co_await hold_many(world, gone);
    }
    const count_answer before = co_await world.jobs.execute(count_all{});
    EXPECT_LT(before.counts.ready, many);
    EXPECT_EQ(world.jobs.counters().reservations, 0U);
  });
  EXPECT_TRUE(world.jobs.check());
}

TEST(BrokerMany, ABrokerMayEndBeforeAllIsGivenBack) {
  virtual_clock clock;
  broker_world world(clock);
  on_virtual_time(clock, [&]() -> task<> {
    client gone(world.jobs);
    co_await hold_many(world, gone);
  });
  EXPECT_EQ(world.jobs.counters().reservations, many);  // no run() and no task has led a batch since
  EXPECT_TRUE(world.jobs.check());
}

TEST(BrokerMany, ABatchClaimsABoundedSizeOfBodies) {
  constexpr std::size_t workers = 10;
  constexpr std::size_t body = std::size_t{4} << 20;
  broker_limits limits;
  limits.job.max_body = body;
  virtual_clock clock;
  broker_world world(clock, limits);
  std::vector<std::size_t> claimed;  // by each batch
  world.store.after = [&](execution& done) {
    std::size_t bytes = 0;
    for (const answer& each : done.answers) {
      const auto* const claims = std::get_if<claim_answer>(&each);
      if (claims == nullptr) continue;
      for (const claimed_job& one : claims->jobs) bytes += one.job.body.size();
    }
    if (bytes != 0) claimed.push_back(bytes);
  };
  on_virtual_time(clock, [&]() -> task<> {
    auto running = spawn(world.jobs.run(), "broker");
    std::vector<runtime::join_handle<received>> all;
    for (std::size_t i = 0; i < workers; ++i) {
      all.push_back(spawn(take_one(world.jobs, "mail"), "worker"));
    }
    co_await wait_idle();
    std::vector<operation> puts(workers, mail(std::string(body, 'x'), 5ms));
    for (operation& each : puts) {
      auto putting = world.jobs.execute(std::get<put>(std::move(each)));
      co_await putting;
    }
    std::set<job_id> seen;
    for (auto& each : all) {
      const received got = co_await each.join();
      EXPECT_TRUE(seen.insert(got.id).second);
    }
    world.jobs.close();
    co_await running.join();
  });
  EXPECT_EQ(claimed, (std::vector<std::size_t>{4 * body, 4 * body, 2 * body}));
}

TEST(BrokerMany, TheQueueHasALimitOfBytes) {
  broker_limits limits;
  limits.queued_bytes = 10;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        {
          const in_flight<put> large(world.jobs, mail(std::string(50, 'x')));  // the first is queued in any case
          EXPECT_EQ(world.jobs.counters().queued_bytes, 50U);
          EXPECT_THROW(static_cast<void>(world.jobs.execute(mail("x"))), broker_full);
          const in_flight<count_all> small(world.jobs, count_all{});
        }
        EXPECT_EQ(world.jobs.counters().queued_bytes, 0U);
        in_flight<put> first(world.jobs, mail("123456"));
        in_flight<put> second(world.jobs, mail("1234"));
        EXPECT_THROW(static_cast<void>(world.jobs.execute(mail("x"))), broker_full);
        co_await first;
        EXPECT_EQ(world.jobs.counters().queued_bytes, 0U);
        co_await second;
        const count_answer all = co_await world.jobs.execute(count_all{});
        EXPECT_EQ(all.counts.ready, 2U);
      },
      limits);
}

TEST(BrokerMany, FieldsAndHistoriesCountForTheLimitOfBytes) {
  test::in_broker_worlds([](broker_world& world) -> task<> {
    job_fields seven_bytes;
    EXPECT_TRUE(seven_bytes.set(first_own_tag, "123"));
    put with_both = mail("x");
    with_both.fields = seven_bytes;
    with_both.history = seven_bytes;
    const in_flight<put> first(world.jobs, with_both);
    EXPECT_EQ(world.jobs.counters().queued_bytes, 15U);
    const in_flight<release> second(world.jobs, release{{1, 1, 1}, std::nullopt, milliseconds(0), seven_bytes});
    EXPECT_EQ(world.jobs.counters().queued_bytes, 22U);
    const in_flight<bury> third(world.jobs, bury{{1, 1, 1}, std::nullopt, seven_bytes});
    EXPECT_EQ(world.jobs.counters().queued_bytes, 29U);
    const in_flight<release> without(world.jobs, release{{1, 1, 1}});
    EXPECT_EQ(world.jobs.counters().queued_bytes, 29U);
    co_return;
  });
}

}  // namespace
}  // namespace foliot::jobs
