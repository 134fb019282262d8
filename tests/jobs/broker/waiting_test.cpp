// Clients of the broker that wait for jobs.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
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
using kind = reserve_answer::kind;

/// Each gets the job that was put after that of the one before.
task<> expect_in_order(std::vector<runtime::join_handle<received>>& all) {
  job_id expected = 1;
  for (auto& each : all) {
    const received result = co_await each.join();
    EXPECT_EQ(result.id, expected++);
  }
}

TEST(BrokerWaiting, AReadyJobIsReservedAtOnce) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id id = co_await put_job(world.jobs, mail("hello"));
    client worker(world.jobs);
    worker.watch("mail");
    const claimed_job mine = got(co_await worker.reserve(duration{}));
    EXPECT_EQ(mine.token.id, id);
    EXPECT_EQ(mine.job.body, "hello");
    EXPECT_EQ(mine.job.state, job_state::reserved);
    EXPECT_EQ(worker.held(id), mine.token);
    EXPECT_EQ(worker.next_deadline(), mine.job.expires);
    const holder_answer done = co_await worker.finish(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
    EXPECT_EQ(worker.reservations(), 0U);
    EXPECT_EQ(worker.next_deadline(), instant::never());
  });
}

TEST(BrokerWaiting, ADelayedJobComesAtItsDueTimeAndTheWaitCostsNothing) {
  in_broker_worlds([](broker_world& world) -> task<> {
    auto taking = spawn(take_one(world.jobs, "mail"), "worker");
    co_await sleep(1s);
    const instant start = now();
    const job_id id = co_await put_job(world.jobs, mail("later", 24h));
    const received result = co_await taking.join();
    EXPECT_EQ(result.id, id);
    EXPECT_EQ(result.when, start + duration(24h));
    EXPECT_LE(world.store.sizes.size(), 6U);  // reserve, put, due, claim, finish
  });
}

TEST(BrokerWaiting, AnEarlierJobIsNoticedWhileALaterOneIsAwaited) {
  in_broker_worlds([](broker_world& world) -> task<> {
    auto taking = spawn(take_one(world.jobs, "mail"), "worker");
    const job_id late = co_await put_job(world.jobs, mail("late", 24h));
    co_await sleep(1s);
    const instant start = now();
    const job_id early = co_await put_job(world.jobs, mail("early", 10ms));
    const received result = co_await taking.join();
    EXPECT_EQ(result.id, early);
    EXPECT_NE(result.id, late);
    EXPECT_EQ(result.when, start + duration(10ms));
  });
}

TEST(BrokerWaiting, NothingIsEarlyWhenTheWallClockIsSetBack) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    virtual_clock clock;
    broker_world world(clock);
    on_virtual_time(clock,
                    [&]() -> task<> {
                      auto running = spawn(world.jobs.run(), "broker");
                      clock.set_wall(instant{} + duration(24h));
                      auto taking = spawn(take_one(world.jobs, "mail"), "worker");
                      const instant start = now();
                      co_await put_job(world.jobs, mail("x", 1min));
                      co_await sleep(30s);
                      clock.set_wall(instant{} + duration(23h));
                      const received result = co_await taking.join();
                      EXPECT_EQ(result.when - start, duration(1h + 1min + 30s));
                      world.jobs.close();
                      co_await running.join();
                    },
                    {.seed = seed});
  }
}

task<job_id> take_one_of_many(broker& from, int number) {
  client worker(from);
  worker.watch("shared");
  for (int i = 0; i < 900; ++i) worker.watch(std::to_string(number) + "-" + std::to_string(i));
  const claimed_job mine = got(co_await worker.reserve());
  co_await worker.finish(mine.token.id);
  co_return mine.token.id;
}

TEST(BrokerWaiting, ClientsThatWatchMoreTubesThanABatchClaimsFromAreAllServed) {
  broker_limits limits;
  limits.tubes = 10'000;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::vector<runtime::join_handle<job_id>> all;
        for (int i = 0; i < 9; ++i) all.push_back(spawn(take_one_of_many(world.jobs, i), "worker"));
        co_await wait_idle();
        for (int i = 0; i < 9; ++i) {
          put one = mail("x");
          one.tube = "shared";
          co_await put_job(world.jobs, std::move(one));
        }
        for (auto& each : all) EXPECT_NE(co_await each.join(), 0U);
      },
      limits);
}

TEST(BrokerWaiting, TheClientThatHasWaitedLongestIsServedFirst) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::vector<runtime::join_handle<received>> all;
    for (int i = 0; i < 10; ++i) {
      all.push_back(spawn(take_one(world.jobs, "mail"), "worker"));
      co_await sleep(1ms);
    }
    std::deque<in_flight<put>> puts;
    for (int i = 0; i < 10; ++i) puts.emplace_back(world.jobs, mail("x"));
    for (auto& each : puts) co_await each;
    co_await expect_in_order(all);
  });
}

/// As take_one(); the reservation may last.
task<received> take_by_token(broker& from, bool lasting) {
  client worker(from);
  worker.watch("mail");
  std::vector<claimed_job> got;
  auto reserving = worker.reserve_into(got, std::nullopt, lasting);
  co_await reserving;
  const reservation token = got.at(0).token;
  EXPECT_TRUE(worker.part_with(token));
  const holder_answer done = co_await from.execute(finish{token});
  EXPECT_EQ(done.what, holder_answer::kind::done);
  co_return received{token.id, now()};
}

/// A claim is of one kind, and the clients are served in their order all the same.
TEST(BrokerWaiting, ClientsWhoseReservationsLastShareNoClaimWithTheOthers) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::vector<runtime::join_handle<received>> all;
    for (const bool lasting : {true, true, false, false, false, true}) {
      all.push_back(spawn(take_by_token(world.jobs, lasting), "worker"));
      co_await sleep(1ms);
    }
    std::vector<std::pair<bool, std::uint32_t>> claims;
    world.store.before = [&](std::span<operation> batch) {
      std::vector<std::pair<bool, std::uint32_t>> its;
      for (const operation& each : batch) {
        if (const auto* const one = std::get_if<claim>(&each)) its.emplace_back(one->lasting, one->count);
      }
      if (its.size() > claims.size()) claims = std::move(its);
    };
    put_all many;
    for (int i = 0; i < 6; ++i) many.puts.push_back(mail("x"));
    co_await world.jobs.execute(std::move(many));
    co_await expect_in_order(all);
    EXPECT_EQ(claims, (std::vector<std::pair<bool, std::uint32_t>>{{true, 2}, {false, 3}, {true, 1}}));
  });
}

/// A client may wait in another way the next time.
TEST(BrokerWaiting, EachWaitSaysWhetherItsReservationLasts) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::vector<bool> claims;
    world.store.before = [&](std::span<operation> batch) {
      for (const operation& each : batch) {
        if (const auto* const one = std::get_if<claim>(&each)) claims.push_back(one->lasting);
      }
    };
    client worker(world.jobs);
    worker.watch("mail");
    std::vector<claimed_job> got;
    for (const bool lasting : {true, false}) {
      auto reserving = worker.reserve_into(got, duration::zero(), lasting);
      co_await reserving;
      auto claiming = worker.reserve(claim{.tubes = {}, .lasting = lasting}, duration::zero());
      static_cast<void>(co_await claiming);
    }
    static_cast<void>(co_await worker.reserve(duration::zero()));
    EXPECT_EQ(claims, (std::vector<bool>{true, true, false, false, false}));
  });
}

TEST(BrokerWaiting, ClientsOfDifferentTubesAreServedInTheOrderOfTheirArrival) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::vector<runtime::join_handle<received>> all;
    for (int i = 0; i < 6; ++i) {
      const char* const second = i % 3 == 1 ? "other" : i % 3 == 2 ? "third" : "";
      all.push_back(spawn(take_one(world.jobs, "mail", second), "worker"));
      co_await sleep(1ms);
    }
    for (int i = 0; i < 6; ++i) co_await put_job(world.jobs, mail("x"));
    co_await expect_in_order(all);
  });
}

TEST(BrokerWaiting, AClientOfSeveralTubesGetsTheBestJob) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put other;
    other.tube = "other";
    other.priority = 5;
    put mine = mail("x", {}, 7);
    in_flight<put> first(world.jobs, mine);
    in_flight<put> second(world.jobs, other);
    co_await first;
    const put_answer best = co_await second;
    const received result = co_await take_one(world.jobs, "mail", "other");
    EXPECT_EQ(result.id, best.id);
  });
}

TEST(BrokerWaiting, AReserveEndsAtItsTimeout) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client worker(world.jobs);
    worker.watch("mail");
    const reserve_answer at_once = co_await worker.reserve(duration{});
    EXPECT_EQ(at_once.what, kind::timed_out);
    const instant start = now();
    const reserve_answer later = co_await worker.reserve(duration(5s));
    EXPECT_EQ(later.what, kind::timed_out);
    EXPECT_EQ(now(), start + duration(5s));
    EXPECT_EQ(world.jobs.counters().waiting, 0U);
    co_await put_job(world.jobs, mail("x"));
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.ready, 1U);
  });
}

TEST(BrokerWaiting, AJobThatIsDueAtTheTimeoutIsInTime) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client worker(world.jobs);
    worker.watch("mail");
    co_await put_job(world.jobs, mail("x", 5s));
    got(co_await worker.reserve(duration(5s)));
  });
}

TEST(BrokerWaiting, AWaitEndsOneSecondBeforeTheEndOfAReservation) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put first = mail("x");
    first.ttr = 10s;
    co_await put_job(world.jobs, first);
    client worker(world.jobs);
    worker.watch("mail");
    const claimed_job mine = got(co_await worker.reserve());
    const reserve_answer soon = co_await worker.reserve();
    EXPECT_EQ(soon.what, kind::deadline_soon);
    EXPECT_EQ(now(), mine.job.expires - duration(1s));
    const reserve_answer again = co_await worker.reserve(duration{});
    EXPECT_EQ(again.what, kind::deadline_soon);  // at once, and before a timeout
    co_await put_job(world.jobs, mail("y"));
    got(co_await worker.reserve());  // a ready job comes first
    const holder_answer touched = co_await worker.touch(mine.token.id);
    EXPECT_EQ(touched.what, holder_answer::kind::done);
    EXPECT_EQ(worker.next_deadline(), touched.expires);
    const reserve_answer later = co_await worker.reserve(duration(2s));
    EXPECT_EQ(later.what, kind::timed_out);
  });
}

TEST(BrokerWaiting, AJobWhoseTtrEndsGoesToTheNextClientAtThatInstant) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put short_one = mail("x");
    short_one.ttr = 3s;
    const job_id id = co_await put_job(world.jobs, short_one);
    client holder(world.jobs);
    holder.watch("mail");
    const claimed_job mine = got(co_await holder.reserve());
    auto taking = spawn(take_one(world.jobs, "mail"), "worker");
    const received result = co_await taking.join();
    EXPECT_EQ(result.id, id);
    EXPECT_EQ(result.when, mine.job.expires + duration::nanoseconds(1));
    EXPECT_EQ(holder.reservations(), 0U);
    const holder_answer late = co_await holder.finish(id);
    EXPECT_EQ(late.what, holder_answer::kind::not_held);
  });
}

TEST(BrokerWaiting, AReservationThatHasEndedIsForgotten) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put short_one = mail("x");
    short_one.ttr = 3s;
    co_await put_job(world.jobs, short_one);
    client holder(world.jobs);
    holder.watch("mail");
    const claimed_job mine = got(co_await holder.reserve());
    co_await sleep(4s);
    EXPECT_EQ(holder.reservations(), 0U);
    EXPECT_EQ(holder.next_deadline(), instant::never());
    EXPECT_EQ(holder.held(mine.token.id), std::nullopt);
    const claimed_job again = got(co_await holder.reserve());
    EXPECT_EQ(again.job.counters.timeouts, 1U);
    const holder_answer done = co_await holder.finish(mine.token.id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
    EXPECT_EQ(world.jobs.counters().expired, 1U);
  });
}

TEST(BrokerWaiting, ABurstDoesNotDelayTheClientsOfAnotherTube) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::vector<runtime::join_handle<received>> all;
    for (int i = 0; i < 1000; ++i) all.push_back(spawn(take_one(world.jobs, "mail"), "busy"));
    co_await wait_idle();
    auto calm = spawn(take_one(world.jobs, "calm"), "calm");
    co_await wait_idle();
    std::deque<in_flight<put>> puts;
    for (int i = 0; i < 1000; ++i) puts.emplace_back(world.jobs, mail("x"));
    put other;
    other.tube = "calm";
    puts.emplace_back(world.jobs, other);
    const std::size_t before = world.store.sizes.size();
    std::size_t served_in = 0;
    std::size_t most_served = 0;
    world.store.after = [&](execution& done) {
      std::size_t served = 0;
      for (const answer& each : done.answers) {
        if (const auto* const claimed = std::get_if<claim_answer>(&each)) {
          served += claimed->jobs.size();
          for (const claimed_job& job : claimed->jobs) {
            if (job.job.tube == "calm") served_in = world.store.sizes.size();
          }
        }
      }
      most_served = std::max(most_served, served);
    };
    for (auto& each : puts) co_await each;
    co_await calm.join();
    for (auto& each : all) co_await each.join();
    EXPECT_LE(served_in, before + 3);
    EXPECT_LE(most_served, 512U);
    EXPECT_GT(most_served, 64U);  // where nobody waits for another tube, there is no need to share
    world.store.after = nullptr;
  });
}

TEST(BrokerWaiting, APausedTubeServesItsClientsWhenThePauseEnds) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client user(world.jobs);
    user.use("mail");
    pause hold;
    hold.tube = "mail";
    hold.length = 5s;
    const instant start = now();
    co_await world.jobs.execute(hold);
    co_await put_job(world.jobs, mail("x"));
    const received result = co_await take_one(world.jobs, "mail");
    EXPECT_EQ(result.when, start + duration(5s));
  });
}

TEST(BrokerWaiting, TheNumberOfWaitingClientsHasALimit) {
  broker_limits limits;
  limits.waiting = 1;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        auto first = spawn(take_one(world.jobs, "mail"), "first");
        co_await sleep(1ms);
        client second(world.jobs);
        second.watch("mail");
        EXPECT_THROW(co_await second.reserve(), broker_full);
        const job_id id = co_await put_job(world.jobs, mail("x"));
        const received result = co_await first.join();
        EXPECT_EQ(result.id, id);
      },
      limits);
}

TEST(BrokerWaiting, ReserveNeedsATube) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client worker(world.jobs);
    EXPECT_THROW(co_await worker.reserve(), std::logic_error);
  });
}

}  // namespace
}  // namespace foliot::jobs
