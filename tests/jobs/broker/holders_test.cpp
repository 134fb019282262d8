// Who has reserved a job, as the broker tells it.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/sleep.hpp>

#include "jobs/broker/parted_jobs.hpp"
#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// A client with a name, which watches the tube `mail`.
client named(broker& of, std::string_view name) {
  client made(of);
  made.set_name(name);
  made.watch("mail");
  return made;
}

/// Reserves a job that is ready.
task<reservation> reserve_one(client& by) {
  const reserve_answer reserved = co_await by.reserve(0s);
  co_return got(reserved).token;
}

TEST(BrokerHolders, AClientIsToldWhileItHoldsTheJob) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id id = co_await put_job(world.jobs, mail("a"));
    EXPECT_EQ(world.jobs.holder_of(id, 0), "") << "nobody has it";
    client worker = named(world.jobs, "worker");
    co_await reserve_one(worker);
    EXPECT_EQ(world.jobs.holder_of(id, 1), "worker");
    EXPECT_EQ(world.jobs.holder_of(id, 2), "") << "of this reservation nothing is known";
    EXPECT_EQ(world.jobs.holder_of(id + 1, 1), "");
    co_await worker.touch(id);
    EXPECT_EQ(world.jobs.holder_of(id, 1), "worker");
    co_await worker.release(id);
    EXPECT_EQ(world.jobs.holder_of(id, 1), "");
    {
      client without_name(world.jobs);
      auto reserving = without_name.reserve_job(id);
      co_await reserving;
      EXPECT_EQ(world.jobs.holder_of(id, 2), "");
    }
    co_await wait_idle();
    client other = named(world.jobs, "other");
    co_await reserve_one(other);
    EXPECT_EQ(world.jobs.holder_of(id, 3), "other");
    EXPECT_EQ(world.jobs.holder_of(id, 1), "");
  });
}

TEST(BrokerHolders, AClientIsToldWhenItHasPartedWithTheReservation) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id id = co_await put_job(world.jobs, mail("a"));
    reservation token;
    {
      client worker = named(world.jobs, "first");
      token = co_await reserve_one(worker);
      worker.set_name("second");
      EXPECT_EQ(world.jobs.holder_of(id, 1), "second");
      worker.part_with(token);
      worker.set_name("third");
    }
    co_await wait_idle();
    EXPECT_EQ(world.jobs.holder_of(id, 1), "second");
    co_await sleep(59s);
    auto touching = world.jobs.execute(touch{token});
    co_await touching;
    co_await sleep(59s);
    EXPECT_EQ(world.jobs.holder_of(id, 1), "second") << "the touch has made it last";
    auto finishing = world.jobs.execute(finish{token});
    co_await finishing;
    EXPECT_EQ(world.jobs.holder_of(id, 1), "");
  });
}

TEST(BrokerHolders, NobodyIsToldWhenTheTtrHasEnded) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id id = co_await put_job(world.jobs, mail("a"));
    client worker = named(world.jobs, "worker");
    const reservation token = co_await reserve_one(worker);
    worker.part_with(token);
    co_await sleep(61s);
    EXPECT_EQ(world.jobs.holder_of(id, 1), "");
    co_await reserve_one(worker);
    EXPECT_EQ(world.jobs.holder_of(id, 2), "worker");
    auto finishing = world.jobs.execute(finish{token});
    const holder_answer late = co_await finishing;
    EXPECT_EQ(late.what, holder_answer::kind::not_held);
    EXPECT_EQ(world.jobs.holder_of(id, 2), "worker") << "what has ended was the one before";
  });
}

/// A put by which the holder of the job "k" replaces it.
put by_holder(const reservation& token) {
  put what = mail("new", 1h);
  what.key = "k";
  what.existing = on_existing::replace;
  what.holder = token;
  return what;
}

TEST(BrokerHolders, AJobThatItsHolderReplacesIsHeldNoMore) {
  in_broker_worlds([](broker_world& world) -> task<> {
    for (const bool is_among_several : {false, true}) {
      put what = mail("old");
      what.key = "k";
      what.existing = on_existing::replace;
      const job_id id = co_await put_job(world.jobs, what);
      client worker = named(world.jobs, "worker");
      const reservation token = co_await reserve_one(worker);
      EXPECT_EQ(worker.reservations(), 1U);
      put_answer done;
      if (is_among_several) {
        put_all several;
        several.puts = {mail("first", 1h), by_holder(token), mail("last", 1h)};
        const put_all_answer all = co_await world.jobs.execute(std::move(several));
        EXPECT_EQ(all.what, put_all_answer::kind::done);
        done = all.puts.at(1);
      } else {
        done = co_await world.jobs.execute(by_holder(token));
      }
      EXPECT_EQ(done.what, put_answer::kind::replaced);
      EXPECT_EQ(worker.reservations(), 0U);
      EXPECT_EQ(worker.next_deadline(), instant::never());
      EXPECT_FALSE(worker.held(id));
      EXPECT_EQ(world.jobs.holder_of(id, 1), "");
      EXPECT_EQ(world.jobs.counters().reservations, 0U);
      auto finishing = world.jobs.execute(finish{token});
      const holder_answer late = co_await finishing;
      EXPECT_EQ(late.what, holder_answer::kind::not_held);
    }
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.put, 6U);
    EXPECT_EQ(seen.reserved, 2U);
    EXPECT_EQ(seen.finished, 0U) << "replaced, as any job may be";
    EXPECT_EQ(seen.expired, 0U);
    EXPECT_EQ(seen.work.all(), 0U);
  });
}

TEST(BrokerHolders, AReservationByItsTokenAloneEndsWithTheReplacedJob) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put what = mail("old");
    what.key = "k";
    const job_id id = co_await put_job(world.jobs, what);
    reservation token;
    {
      client worker = named(world.jobs, "worker");
      token = co_await reserve_one(worker);
      worker.part_with(token);
    }
    EXPECT_EQ(world.jobs.holder_of(id, 1), "worker");
    const put_answer done = co_await world.jobs.execute(by_holder(token));
    EXPECT_EQ(done.what, put_answer::kind::replaced);
    EXPECT_EQ(world.jobs.holder_of(id, 1), "");
  });
}

TEST(BrokerHolders, ARefusedPutOfAHolderLeavesTheJobsThatAreHeld) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put what = mail("old");
    what.key = "k";
    const job_id id = co_await put_job(world.jobs, what);
    client worker = named(world.jobs, "worker");
    const reservation token = co_await reserve_one(worker);
    const job_id other = co_await put_job(world.jobs, mail("other"));
    const reservation of_other = co_await reserve_one(worker);
    const put_answer refused = co_await world.jobs.execute(by_holder(of_other));
    EXPECT_EQ(refused, (put_answer{put_answer::kind::reserved, id}));
    put_all several;
    several.puts = {by_holder(token), by_holder(of_other)};
    several.puts[1].key = "no such job";
    const put_all_answer all = co_await world.jobs.execute(std::move(several));
    EXPECT_EQ(all.why, (put_answer{put_answer::kind::other_version, 0, 0}));
    EXPECT_EQ(worker.held(id), token);
    EXPECT_EQ(worker.held(other), of_other);

    reservation old = token;
    const holder_answer released = co_await worker.release(id);
    EXPECT_EQ(released.what, holder_answer::kind::done);
    const put_answer late = co_await world.jobs.execute(by_holder(old));
    EXPECT_EQ(late.what, put_answer::kind::other_version);
    EXPECT_EQ(late.id, id);
    const reservation again = co_await reserve_one(worker);
    EXPECT_EQ(again.id, id);
    const put_answer stale = co_await world.jobs.execute(by_holder(old));
    EXPECT_EQ(stale, (put_answer{put_answer::kind::reserved, id}));
    EXPECT_EQ(worker.held(id), again) << "what has ended was the one before";
    EXPECT_EQ(worker.reservations(), 2U);
  });
}

instant second(std::int64_t which) { return instant::from_nanoseconds(which * 1'000'000'000); }

/// A reservation of a client, as it parts with it.
detail::holding parted(detail::client_state& by, job_id id, std::uint32_t reserves, instant expires) {
  detail::holding made;
  made.token = {.id = id, .opening = 1, .attempt = reserves};
  made.reserves = reserves;
  made.client = &by;
  made.expires = expires;
  return made;
}

TEST(PartedJobs, AreThoseThatEndLast) {
  detail::client_state client;
  client.name = "worker";
  detail::parted_jobs all;
  const auto end_of = [](job_id id) { return second(1'000 + static_cast<std::int64_t>(id)); };
  for (job_id id = 1; id <= detail::parted_jobs::most; ++id) all.add(parted(client, id, 1, end_of(id)), second(1));
  EXPECT_EQ(all.holder_of(1, 1), "worker");
  all.extend({.id = 1, .opening = 1, .attempt = 1}, end_of(detail::parted_jobs::most + 1));
  const job_id next = detail::parted_jobs::most + 1;
  all.add(parted(client, next, 1, end_of(next)), second(1));
  EXPECT_EQ(all.holder_of(next, 1), "worker");
  EXPECT_EQ(all.holder_of(1, 1), "worker");
  EXPECT_EQ(all.holder_of(2, 1), "") << "this one would have ended first";
  EXPECT_EQ(all.holder_of(3, 1), "worker");
  all.add(parted(client, next + 1, 1, second(2)), second(1));
  EXPECT_EQ(all.holder_of(next + 1, 1), "");
  EXPECT_TRUE(all.check());
}

TEST(PartedJobs, EndBehindTheirTtrWhereNobodyTellsOfTheirEnd) {
  detail::client_state client;
  client.name = "worker";
  detail::parted_jobs all;
  all.add(parted(client, 1, 1, second(10)), second(1));
  all.add(parted(client, 2, 1, second(20)), second(1));
  all.add(parted(client, 3, 1, second(30)), second(10));
  EXPECT_EQ(all.holder_of(1, 1), "worker") << "at its last instant it lives";
  all.add(parted(client, 4, 1, second(40)), second(11));
  EXPECT_EQ(all.holder_of(1, 1), "");
  EXPECT_EQ(all.holder_of(2, 1), "worker");
  all.end({.id = 2, .opening = 2, .attempt = 1});
  EXPECT_EQ(all.holder_of(2, 1), "worker") << "this was another opening";
  all.add(parted(client, 2, 2, second(50)), second(12));
  EXPECT_EQ(all.holder_of(2, 1), "");
  EXPECT_EQ(all.holder_of(2, 2), "worker");
  all.end({.id = 2, .opening = 1, .attempt = 2});
  EXPECT_EQ(all.holder_of(2, 2), "");
  client.name.clear();
  all.add(parted(client, 5, 1, second(60)), second(12));
  EXPECT_TRUE(all.check());
}

}  // namespace
}  // namespace foliot::jobs
