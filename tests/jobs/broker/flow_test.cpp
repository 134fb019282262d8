// What a broker counts of jobs: how many there were, how late they came to their workers, and how long these had them.
#include <chrono>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/sleep.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::uint64_t one_second = 1'000'000;  // in microseconds

TEST(BrokerFlow, CountsWhatBecomesOfJobs) {
  in_broker_worlds([](broker_world& world) -> task<> {
    for (int i = 0; i < 4; ++i) static_cast<void>(co_await put_job(world.jobs, mail("a")));
    put_all several;
    several.puts = {mail("b"), mail("c")};
    static_cast<void>(co_await world.jobs.execute(std::move(several)));
    put same = mail("d");
    same.key = "k";
    static_cast<void>(co_await put_job(world.jobs, same));
    static_cast<void>(co_await put_job(world.jobs, same));  // keeps the first one
    same.existing = on_existing::replace;
    static_cast<void>(co_await put_job(world.jobs, same));
    {
      client worker(world.jobs);
      worker.watch("mail");
      const claimed_job first = got(co_await worker.reserve());
      co_await worker.finish(first.token.id);
      const claimed_job other_one = got(co_await worker.reserve());
      co_await worker.release(other_one.token.id);
      const claimed_job again = got(co_await worker.reserve());
      co_await worker.bury(again.token.id);
      const change_answer ended = co_await worker.remove(again.token.id);
      EXPECT_EQ(ended.what, change_answer::kind::done) << "cancelled, and not finished";
    }
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.put, 8U);
    EXPECT_EQ(seen.reserved, 3U);
    EXPECT_EQ(seen.finished, 1U);
    EXPECT_EQ(seen.released, 1U);
    EXPECT_EQ(seen.buried, 1U);
    EXPECT_EQ(seen.expired, 0U);
  });
}

put of_program(std::string body, std::string key = {}) {
  put made = mail(std::move(body));
  made.tube = "-own.records";
  made.key = std::move(key);
  return made;
}

/// Whatever becomes of them.
TEST(BrokerFlow, LeavesOutTheJobsOfTheProgram) {
  const auto body = [](broker_world& world) -> task<> {
    static_cast<void>(co_await put_job(world.jobs, of_program("a", "k")));
    static_cast<void>(co_await put_job(world.jobs, of_program("b")));
    put_all several;
    several.puts = {of_program("c"), mail("counted"), of_program("d"), of_program("e")};
    static_cast<void>(co_await world.jobs.execute(std::move(several)));
    co_await sleep(1s);
    {
      client worker(world.jobs);
      worker.set_name("worker");
      worker.watch("-own.records");
      const claimed_job first = got(co_await worker.reserve());
      put next = of_program("a again", "k");
      next.existing = on_existing::replace;
      next.holder = first.token;
      next.due = 1h;
      static_cast<void>(co_await put_job(world.jobs, next));
      const claimed_job second = got(co_await worker.reserve());
      co_await worker.finish(second.token.id);
      const claimed_job third = got(co_await worker.reserve());
      co_await worker.release(third.token.id, std::nullopt, 1h);
      const claimed_job fourth = got(co_await worker.reserve());
      co_await worker.bury(fourth.token.id);
      const claimed_job fifth = got(co_await worker.reserve());
      EXPECT_TRUE(worker.part_with(fifth.token));
      auto finishing = world.jobs.execute(finish{fifth.token});
      const holder_answer done = co_await finishing;
      EXPECT_EQ(done.what, holder_answer::kind::done);
      auto asking = worker.reserve_job(third.token.id);
      const claim_answer sixth = co_await asking;
      EXPECT_EQ(sixth.jobs.size(), 1U);
      co_await sleep(61s);  // its TTR ends
    }
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.put, 1U);
    EXPECT_EQ(seen.reserved + seen.finished + seen.released + seen.buried + seen.expired, 0U);
    EXPECT_EQ(seen.lateness.all() + seen.work.all(), 0U);
    static_cast<void>(co_await take_one(world.jobs, "mail"));
    EXPECT_EQ(world.jobs.flow().finished, 1U);
    EXPECT_EQ(world.jobs.flow().lateness.all(), 1U);
  };
  broker_limits limits;
  limits.uncounted = "-own.";
  in_broker_worlds(body, limits);
}

TEST(BrokerFlow, TheJobsOfTheProgramHaveLimitsOfTheirOwn) {
  const auto body = [](broker_world& world) -> task<> {
    const auto refused = [&world](auto what) {
      try {
        static_cast<void>(world.jobs.execute(std::move(what)));
        return false;
      } catch (const std::invalid_argument&) {
        return true;
      }
    };
    const auto together = [](std::vector<put> puts) {
      put_all all;
      all.puts = std::move(puts);
      return all;
    };
    const std::string fits(10, 'x');
    const std::string longer(20, 'x');
    const std::string longest(21, 'x');
    EXPECT_TRUE(refused(mail(longer)));
    EXPECT_TRUE(refused(of_program(longest)));
    EXPECT_TRUE(refused(together({mail(longer)})));
    EXPECT_TRUE(refused(together({of_program("a"), mail(longest)})));
    static_cast<void>(co_await put_job(world.jobs, mail(fits)));
    static_cast<void>(co_await put_job(world.jobs, of_program(longer)));
    auto putting = world.jobs.execute(together({of_program(longer), mail(longer)}));
    const put_all_answer done = co_await putting;
    EXPECT_EQ(done.what, put_all_answer::kind::done);
  };
  broker_limits limits;
  limits.uncounted = "-own.";
  limits.job.max_body = 10;
  limits.uncounted_job = job_limits{20};
  in_broker_worlds(body, limits);
}

TEST(BrokerFlow, LeavesOutTheJobsOfTheProgramWithWhichAClientWithoutANameHasParted) {
  const auto body = [](broker_world& world) -> task<> {
    for (int i = 0; i < 2; ++i) static_cast<void>(co_await put_job(world.jobs, of_program("record")));
    static_cast<void>(co_await put_job(world.jobs, mail("counted")));
    {
      client worker(world.jobs);
      worker.watch("-own.records");
      worker.watch("mail");
      const claimed_job first = got(co_await worker.reserve());
      const claimed_job second = got(co_await worker.reserve());
      const claimed_job third = got(co_await worker.reserve());
      EXPECT_TRUE(worker.part_with(first.token));
      EXPECT_TRUE(worker.part_with(second.token));
      EXPECT_TRUE(worker.part_with(third.token));
      auto finishing = world.jobs.execute(finish{first.token});
      const holder_answer done = co_await finishing;
      EXPECT_EQ(done.what, holder_answer::kind::done);
    }
    co_await sleep(61s);  // the TTR of the others ends
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.finished, 0U);
    EXPECT_EQ(seen.work.all(), 0U);
    EXPECT_EQ(seen.expired, 1U) << "of the mail";
  };
  broker_limits limits;
  limits.uncounted = "-own.";
  in_broker_worlds(body, limits);
}

TEST(BrokerFlow, AJobIsLateFromItsDueTimeOn) {
  in_broker_worlds([](broker_world& world) -> task<> {
    static_cast<void>(co_await put_job(world.jobs, mail("a", 10s)));
    co_await sleep(13s);  // 3 s late
    {
      client worker(world.jobs);
      worker.watch("mail");
      const claimed_job mine = got(co_await worker.reserve());
      co_await sleep(5s);
      co_await worker.finish(mine.token.id);
    }
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.lateness.all(), 1U);
    EXPECT_EQ(seen.lateness.sum_us, 3 * one_second);
    EXPECT_EQ(seen.work.all(), 1U);
    EXPECT_EQ(seen.work.sum_us, 5 * one_second);
  });
}

TEST(BrokerFlow, AJobThatComesBackWithoutANewDueTimeIsNotLateAgain) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put what = mail("a");
    what.ttr = 10s;
    static_cast<void>(co_await put_job(world.jobs, what));
    {
      client gone(world.jobs);
      gone.watch("mail");
      static_cast<void>(got(co_await gone.reserve()));
    }
    co_await sleep(20s);
    client worker(world.jobs);
    worker.watch("mail");
    static_cast<void>(got(co_await worker.reserve()));
    co_await sleep(20s);  // its TTR ends
    const claimed_job third = got(co_await worker.reserve());
    EXPECT_EQ(third.job.counters.reserves, 3U);
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.reserved, 3U);
    EXPECT_EQ(seen.expired, 1U);
    EXPECT_EQ(seen.lateness.all(), 1U);
    EXPECT_EQ(seen.lateness.sum_us, 0U);
    co_await worker.release(third.token.id, std::nullopt, milliseconds(2000));
    co_await sleep(6s);
  });
}

TEST(BrokerFlow, AReleaseSetsANewDueTime) {
  in_broker_worlds([](broker_world& world) -> task<> {
    static_cast<void>(co_await put_job(world.jobs, mail("a")));
    client worker(world.jobs);
    worker.watch("mail");
    const claimed_job first = got(co_await worker.reserve());
    co_await worker.release(first.token.id, std::nullopt, milliseconds(10'000));
    co_await sleep(14s);
    static_cast<void>(got(co_await worker.reserve()));
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.lateness.all(), 2U);
    EXPECT_EQ(seen.lateness.sum_us, 4 * one_second);
  });
}

TEST(BrokerFlow, AJobThatWasDueBeforeItsPutWaitsSinceItsPut) {
  in_broker_worlds([](broker_world& world) -> task<> {
    put old = mail("a");
    old.due = utc_time(milliseconds(0));  // in 1970
    static_cast<void>(co_await put_job(world.jobs, old));
    co_await sleep(3s);
    client worker(world.jobs);
    worker.watch("mail");
    static_cast<void>(got(co_await worker.reserve()));
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.lateness.all(), 1U);
    EXPECT_EQ(seen.lateness.sum_us, 3 * one_second);
  });
}

TEST(BrokerFlow, AReservationWithWhichAClientHasPartedIsKnown) {
  in_broker_worlds([](broker_world& world) -> task<> {
    static_cast<void>(co_await put_job(world.jobs, mail("a")));
    reservation token;
    {
      client worker(world.jobs);
      worker.set_name("worker");
      worker.watch("mail");
      token = got(co_await worker.reserve()).token;
      EXPECT_TRUE(worker.part_with(token));
    }
    co_await sleep(7s);
    const holder_answer done = co_await world.jobs.execute(finish{token});
    EXPECT_EQ(done.what, holder_answer::kind::done);
    const job_flow seen = world.jobs.flow();
    EXPECT_EQ(seen.finished, 1U);
    EXPECT_EQ(seen.work.sum_us, 7 * one_second);
  });
}

}  // namespace
}  // namespace foliot::jobs
