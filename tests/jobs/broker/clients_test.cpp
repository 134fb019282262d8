// Clients of the broker: their tubes and their reservations.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

task<instant> take_at(broker& from) {
  client worker(from);
  worker.watch("mail");
  const claimed_job mine = got(co_await worker.reserve());
  co_await worker.finish(mine.token.id);
  co_return now();
}

TEST(BrokerClients, ATubeIsInUseWhileAClientUsesOrWatchesIt) {
  in_broker_worlds([](broker_world& world) -> task<> {
    EXPECT_TRUE(world.jobs.tubes_in_use().empty());
    {
      client one(world.jobs);
      client two(world.jobs);
      one.use("a");
      EXPECT_EQ(one.used(), "a");
      EXPECT_EQ(two.used(), "");
      EXPECT_EQ(two.watch("a"), 1U);
      EXPECT_EQ(two.watch("a"), 1U);
      EXPECT_EQ(two.watch("b"), 2U);
      EXPECT_EQ(world.jobs.clients_of("a").users, 1U);
      EXPECT_EQ(world.jobs.clients_of("a").watchers, 1U);
      EXPECT_EQ(two.watched(), (std::vector<std::string>{"a", "b"}));
      EXPECT_EQ(two.ignore("a"), 1U);
      EXPECT_EQ(two.ignore("never watched"), 1U);
      one.use("c");
      EXPECT_EQ(world.jobs.clients_of("a").users, 0U);
      EXPECT_EQ(world.jobs.tubes_in_use(), (std::vector<std::string>{"b", "c"}));
      EXPECT_EQ(world.jobs.counters().tubes, 2U);
      EXPECT_EQ(world.jobs.counters().clients, 2U);
    }
    EXPECT_TRUE(world.jobs.tubes_in_use().empty());
    co_return;
  });
}

TEST(BrokerClients, WaitingClientsAreCountedAtTheirTubes) {
  in_broker_worlds([](broker_world& world) -> task<> {
    auto first = spawn(take_at(world.jobs));
    auto second = spawn(take_at(world.jobs));
    co_await wait_idle();
    EXPECT_EQ(world.jobs.clients_of("mail").waiting, 2U);
    EXPECT_EQ(world.jobs.counters().waiting, 2U);
    co_await put_job(world.jobs, mail("x"));
    co_await put_job(world.jobs, mail("y"));
    co_await first.join();
    co_await second.join();
    EXPECT_EQ(world.jobs.counters().waiting, 0U);
  });
}

TEST(BrokerClients, NamesOutOfRangeAreRefused) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client one(world.jobs);
    one.use("before");
    EXPECT_THROW(one.use(std::string(201, 'x')), std::invalid_argument);
    EXPECT_EQ(one.used(), "before");
    EXPECT_THROW(one.watch(""), std::invalid_argument);
    EXPECT_THROW(one.watch(std::string_view("a\0b", 3)), std::invalid_argument);
    EXPECT_EQ(one.watch(std::string(200, 'x')), 1U);
    one.use("");
    EXPECT_EQ(one.used(), "");
    co_return;
  });
}

TEST(BrokerClients, ClientsAndTubesHaveLimits) {
  broker_limits limits;
  limits.clients = 2;
  limits.tubes = 2;
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        client one(world.jobs);
        {
          client two(world.jobs);
          EXPECT_THROW(client(world.jobs), broker_full);
          one.use("a");
          two.watch("b");
          EXPECT_THROW(one.watch("c"), broker_full);
          EXPECT_THROW(one.use("c"), broker_full);
          EXPECT_EQ(one.used(), "a");
          EXPECT_EQ(one.watch("b"), 1U);
        }
        const client three(world.jobs);
        EXPECT_EQ(one.ignore("b"), 0U);
        EXPECT_EQ(one.watch("c"), 1U);
        co_return;
      },
      limits);
}

TEST(BrokerClients, AClientThatGoesGivesBackAllItsReservationsInOneBatch) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::vector<runtime::join_handle<instant>> others;
    {
      client worker(world.jobs);
      worker.watch("mail");
      for (int i = 0; i < 5; ++i) {
        co_await put_job(world.jobs, mail("x"));
        got(co_await worker.reserve());
      }
      EXPECT_EQ(worker.reservations(), 5U);
      for (int i = 0; i < 5; ++i) others.push_back(spawn(take_at(world.jobs)));
      co_await sleep(1s);
      EXPECT_EQ(world.jobs.counters().waiting, 5U);
    }
    const std::size_t before = world.store.sizes.size();
    const instant gone = now();
    for (auto& each : others) {
      const instant when = co_await each.join();
      EXPECT_EQ(when, gone);
    }
    EXPECT_EQ(world.store.sizes.at(before), 5U);  // five abandons
    const count_answer all = co_await world.jobs.execute(count_all{});
    EXPECT_EQ(all.counts.all(), 0U);
  });
}

TEST(BrokerClients, TheHolderChangesAReservationByItsId) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client worker(world.jobs);
    worker.watch("mail");
    const job_id id = co_await put_job(world.jobs, mail("x"));
    const holder_answer early = co_await worker.finish(id);
    EXPECT_EQ(early.what, holder_answer::kind::not_held);
    got(co_await worker.reserve());
    const holder_answer released = co_await worker.release(id, priority{3}, milliseconds(2000));
    EXPECT_EQ(released.what, holder_answer::kind::done);
    EXPECT_EQ(worker.reservations(), 0U);
    const claimed_job again = got(co_await worker.reserve());
    EXPECT_EQ(again.job.priority, 3U);
    EXPECT_EQ(again.job.counters.releases, 1U);
    const holder_answer buried = co_await worker.bury(id, priority{9});
    EXPECT_EQ(buried.what, holder_answer::kind::done);
    const claim_answer by_id = co_await worker.reserve_job(id);
    EXPECT_EQ(by_id.jobs.size(), 1U);
    EXPECT_EQ(worker.reservations(), 1U);
    co_await sleep(10s);
    const holder_answer touched = co_await worker.touch(id);
    EXPECT_EQ(touched.expires, now() + duration(60s));
    EXPECT_EQ(worker.next_deadline(), touched.expires);
    client other(world.jobs);
    const holder_answer others = co_await other.finish(id);
    EXPECT_EQ(others.what, holder_answer::kind::not_held);
    const holder_answer done = co_await worker.finish(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
    const holder_answer twice = co_await worker.finish(id);
    EXPECT_EQ(twice.what, holder_answer::kind::not_held);
  });
}

TEST(BrokerClients, AReservationThatItsClientHasPartedWithBelongsToItsToken) {
  in_broker_worlds([](broker_world& world) -> task<> {
    co_await put_job(world.jobs, mail("a"));
    co_await put_job(world.jobs, mail("b"));
    reservation first;
    reservation second;
    {
      client worker(world.jobs);
      worker.watch("mail");
      first = got(co_await worker.reserve()).token;
      second = got(co_await worker.reserve()).token;
      EXPECT_TRUE(worker.part_with(first));
      EXPECT_FALSE(worker.part_with(first)) << "the client holds it no more";
      EXPECT_FALSE(worker.part_with(reservation{second.id, second.opening, second.attempt + 1}));
      EXPECT_EQ(worker.reservations(), 1U);
      const holder_answer not_its_own = co_await worker.finish(first.id);
      EXPECT_EQ(not_its_own.what, holder_answer::kind::not_held);
    }
    co_await wait_idle();
    auto looking = world.jobs.execute(peek{first.id});
    const peek_answer kept = co_await looking;
    EXPECT_EQ(kept.job->state, job_state::reserved);
    auto looking_again = world.jobs.execute(peek{second.id});
    const peek_answer given_back = co_await looking_again;
    EXPECT_EQ(given_back.job->state, job_state::ready);
    auto ending = world.jobs.execute(finish{first});
    const holder_answer ended = co_await ending;
    EXPECT_EQ(ended.what, holder_answer::kind::done);
  });
}

TEST(BrokerClients, AReservationThatItsClientHasPartedWithEndsWithItsTtr) {
  in_broker_worlds([](broker_world& world) -> task<> {
    co_await put_job(world.jobs, mail("a"));
    client worker(world.jobs);
    worker.watch("mail");
    const reservation token = got(co_await worker.reserve()).token;
    worker.part_with(token);
    const reserve_answer again = co_await worker.reserve();
    EXPECT_EQ(got(again).token.id, token.id);
    EXPECT_EQ(got(again).job.counters.timeouts, 1U);
    co_await worker.finish(token.id);
  });
}

TEST(BrokerClients, AReleaseAndABuryMayBringAHistory) {
  test::in_broker_worlds([](broker_world& world) -> task<> {
    job_fields fields;
    job_fields history;
    EXPECT_TRUE(fields.set(1, "fields"));
    EXPECT_TRUE(history.set(2, "history"));
    put what = mail("x");
    what.fields = fields;
    const job_id id = co_await put_job(world.jobs, std::move(what));
    client worker(world.jobs);
    const claim_answer first = co_await worker.reserve_job(id);
    EXPECT_EQ(first.jobs.at(0).job.fields, fields);
    EXPECT_EQ(first.jobs.at(0).job.history, job_fields());
    in_flight<release> releasing = worker.release(id, std::nullopt, 0ms, history);
    const holder_answer released = co_await releasing;
    EXPECT_EQ(released.what, holder_answer::kind::done);
    const claim_answer second = co_await worker.reserve_job(id);
    EXPECT_EQ(second.jobs.at(0).job.history, history);
    in_flight<bury> burying = worker.bury(id, std::nullopt, fields);
    const holder_answer buried = co_await burying;
    EXPECT_EQ(buried.what, holder_answer::kind::done);
    const claim_answer third = co_await worker.reserve_job(id);
    EXPECT_EQ(third.jobs.at(0).job.fields, fields);
    EXPECT_EQ(third.jobs.at(0).job.history, fields);
    co_await worker.finish(id);
  });
}

TEST(BrokerClients, RemoveFinishesWhatTheClientHoldsAndCancelsTheRest) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client worker(world.jobs);
    client other(world.jobs);
    worker.watch("mail");
    const job_id held = co_await put_job(world.jobs, mail("x"));
    got(co_await worker.reserve());
    const job_id ready = co_await put_job(world.jobs, mail("y"));
    const change_answer others = co_await other.remove(held);
    EXPECT_EQ(others.what, change_answer::kind::reserved);
    const change_answer mine = co_await worker.remove(held);
    EXPECT_EQ(mine.what, change_answer::kind::done);
    EXPECT_EQ(mine.id, held);
    const change_answer anybodys = co_await other.remove(ready);
    EXPECT_EQ(anybodys.what, change_answer::kind::done);
    const change_answer gone = co_await other.remove(ready);
    EXPECT_EQ(gone.what, change_answer::kind::gone);
  });
}

TEST(BrokerClients, AClientMayBeMoved) {
  in_broker_worlds([](broker_world& world) -> task<> {
    client first(world.jobs);
    first.watch("mail");
    const job_id id = co_await put_job(world.jobs, mail("x"));
    got(co_await first.reserve());
    client second(std::move(first));
    EXPECT_EQ(second.reservations(), 1U);
    client third(world.jobs);
    third = std::move(second);
    EXPECT_EQ(world.jobs.counters().clients, 1U);
    const holder_answer done = co_await third.finish(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
  });
}

/// How long a job that is put into the tube now has to wait for its reserve.
task<duration> put_and_take(broker& jobs) {
  const instant start = now();
  co_await put_job(jobs, mail("x"));
  const instant when = co_await take_at(jobs);
  co_return when - start;
}

task<> pause_mail(broker& jobs, milliseconds length) {
  pause what;
  what.tube = "mail";
  what.length = length;
  co_await jobs.execute(std::move(what));
}

TEST(BrokerClients, APauseEndsWithTheLastClientOfATubeWithoutJobs) {
  in_broker_worlds([](broker_world& world) -> task<> {
    {
      client one(world.jobs);
      one.use("mail");
      client two(world.jobs);
      two.watch("mail");
      co_await pause_mail(world.jobs, 1min);
    }
    co_await wait_idle();
    const duration waited = co_await put_and_take(world.jobs);
    EXPECT_EQ(waited, duration{});
  });
}

TEST(BrokerClients, APauseEndsWithTheLastJobOfATubeWithoutClients) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id id = co_await put_job(world.jobs, mail("x"));
    co_await pause_mail(world.jobs, 1min);
    const instant start = now();
    co_await wait_idle();
    cancel what;
    what.name = id;
    co_await world.jobs.execute(std::move(what));
    co_await wait_idle();
    const duration waited = co_await put_and_take(world.jobs);
    EXPECT_EQ(waited, duration{});
    EXPECT_EQ(now(), start);
  });
}

TEST(BrokerClients, PausedTubesCostTheRequestsForOtherTubesNothing) {
  in_broker_worlds([](broker_world& world) -> task<> {
    for (int i = 0; i < 100; ++i) {
      const std::string tube = std::to_string(i);
      put one = mail("x");
      one.tube = tube;
      co_await put_job(world.jobs, std::move(one));
      pause what;
      what.tube = tube;
      what.length = 1h;
      co_await world.jobs.execute(std::move(what));
    }
    co_await wait_idle();
    const std::uint64_t before = world.jobs.counters().operations;
    for (int i = 0; i < 10; ++i) {
      const job_id id = co_await put_job(world.jobs, mail("x"));
      cancel what;
      what.name = id;
      co_await world.jobs.execute(std::move(what));
    }
    co_await wait_idle();
    EXPECT_EQ(world.jobs.counters().operations - before, 20U);
  });
}

TEST(BrokerClients, APauseStaysWhileItsTubeHasAClientOrAJob) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const instant start = now();
    {
      client one(world.jobs);
      one.use("mail");
      co_await pause_mail(world.jobs, 1min);
      co_await put_job(world.jobs, mail("x"));
    }
    co_await sleep(10s);
    const instant when = co_await take_at(world.jobs);
    EXPECT_EQ(when, start + duration(1min));
  });
}

/// As that of a store with very many jobs.
TEST(BrokerClients, APauseStaysWhereTheCountOfItsTubeIsCutShort) {
  in_broker_worlds([](broker_world& world) -> task<> {
    world.store.after = [](execution& done) {
      for (answer& each : done.answers) {
        if (auto* const count = std::get_if<count_answer>(&each)) {
          count->what = count_answer::kind::cut_short;
          count->counts = {};
        }
      }
    };
    const instant start = now();
    co_await put_job(world.jobs, mail("x"));
    {
      client one(world.jobs);
      one.use("mail");
      co_await pause_mail(world.jobs, 1min);
    }
    co_await sleep(10s);
    const instant when = co_await take_at(world.jobs);
    EXPECT_EQ(when, start + duration(1min));
  });
}

}  // namespace
}  // namespace foliot::jobs
