// Policies of tubes through a broker: clients that wait are served when there is a slot, when the rate allows it, and
// behind jobs that must not be handed out.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "support/virtual_time.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using runtime::now;
using runtime::sleep;
using runtime::spawn;
using runtime::task;
using runtime::wait_idle;

struct brokered_policies {
  brokered_policies(const virtual_clock& time, const policy_table& policies)
      : wall(time), memory({&wall, &time}), store(memory, {&wall, &time}), jobs(with(store, policies)) {}

  static policy_store& with(policy_store& it, const policy_table& policies) {
    it.set_policies(std::make_shared<const policy_table>(policies));
    return it;
  }

  virtual_wall_clock wall;
  memory_store memory;
  policy_store store;
  broker jobs;
};

template <class Body>
task<> with_broker(brokered_policies& world, Body& body) {
  auto running = spawn(world.jobs.run(), "broker");
  co_await wait_idle();
  co_await body(world);
  world.jobs.close();
  co_await running.join();
}

template <class Body>
void in_worlds(const policy_table& policies, Body body) {
  for (const std::size_t processors : {1U, 2U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE("processors " + std::to_string(processors) + ", seed " + std::to_string(seed));
      virtual_clock clock;
      brokered_policies world(clock, policies);
      foliot::test::on_virtual_time(clock, with_broker(world, body), {.processors = processors, .seed = seed});
      const check_result right = world.store.check();
      EXPECT_TRUE(right) << right.error();
    }
  }
}

task<job_id> put_mail(broker& into, job_fields history = {}) {
  put what{.tube = "mail", .body = "b", .ttr = 1h};
  what.history = std::move(history);
  auto putting = into.execute(std::move(what));
  const put_answer done = co_await putting;
  co_return done.id;
}

/// Works for so long on each of so many jobs; tells when each came.
task<std::vector<instant>> work(broker& from, int jobs, duration each) {
  client worker(from);
  worker.watch("mail");
  std::vector<instant> came;
  for (int i = 0; i < jobs; ++i) {
    auto reserving = worker.reserve(duration(1h));
    const reserve_answer got = co_await reserving;
    EXPECT_EQ(got.what, reserve_answer::kind::reserved);
    if (!got.job) break;
    came.push_back(now());
    if (each > duration::zero()) co_await sleep(each);
    auto finishing = worker.finish(got.job->token.id);
    const holder_answer done = co_await finishing;
    EXPECT_EQ(done.what, holder_answer::kind::done);
  }
  co_return came;
}

TEST(PolicyBroker, WaitingClientsAreServedWhenASlotIsFree) {
  in_worlds({{"mail", {.most_reserved = 2}}}, [](brokered_policies& world) -> task<> {
    for (int i = 0; i < 6; ++i) {
      auto putting = put_mail(world.jobs);
      co_await putting;
    }
    const instant begin = now();
    auto first = spawn(work(world.jobs, 2, 1s));
    auto second = spawn(work(world.jobs, 2, 1s));
    auto third = spawn(work(world.jobs, 2, 1s));
    std::vector<instant> came = co_await first.join();
    const std::vector<instant> more = co_await second.join();
    const std::vector<instant> others = co_await third.join();
    came.insert(came.end(), more.begin(), more.end());
    came.insert(came.end(), others.begin(), others.end());
    std::ranges::sort(came);
    const std::vector<instant> expected{begin, begin, begin + 1s, begin + 1s, begin + 2s, begin + 2s};
    EXPECT_EQ(came, expected);
  });
}

TEST(PolicyBroker, AWaitingClientIsServedWhenTheRateAllowsIt) {
  in_worlds({{"mail", {.most_per_second = 2}}}, [](brokered_policies& world) -> task<> {
    for (int i = 0; i < 4; ++i) {
      auto putting = put_mail(world.jobs);
      co_await putting;
    }
    const instant begin = now();
    auto working = work(world.jobs, 4, duration::zero());
    const std::vector<instant> came = co_await working;
    const std::vector<instant> expected{begin, begin + 500ms, begin + 1s, begin + 1500ms};
    EXPECT_EQ(came, expected);
  });
}

TEST(PolicyBroker, AJobThatHasFailedTooOftenDoesNotStarveTheOthers) {
  in_worlds({{"mail", {.tries = 1, .dead_letters = "dead"}}}, [](brokered_policies& world) -> task<> {
    job_fields spent;
    EXPECT_TRUE((job_tries{.failed = 1}.write(spent)));
    for (int i = 0; i < 5; ++i) {
      auto putting = put_mail(world.jobs, spent);
      co_await putting;
    }
    auto putting = put_mail(world.jobs);
    co_await putting;
    const instant begin = now();
    auto working = work(world.jobs, 1, duration::zero());
    const std::vector<instant> came = co_await working;
    EXPECT_EQ(came, std::vector<instant>{begin});
    auto counting = world.jobs.execute(count_tube{"dead"});
    const count_answer dead = co_await counting;
    EXPECT_EQ(dead.counts.ready, 5U);
    EXPECT_EQ(world.store.counters().dead_letters, 5U);
  });
}

TEST(PolicyBroker, AReleasedJobComesAgainAfterItsDelay) {
  in_worlds({{"mail", {.tries = 3, .delay = {.first = 10s, .factor = 3}}}}, [](brokered_policies& world) -> task<> {
    auto putting = put_mail(world.jobs);
    co_await putting;
    const instant begin = now();
    std::vector<instant> came;
    {
      client worker(world.jobs);
      worker.watch("mail");
      for (int i = 0; i < 3; ++i) {
        auto reserving = worker.reserve(duration(1h));
        const reserve_answer got = co_await reserving;
        if (!got.job) break;
        came.push_back(now());
        auto releasing = worker.release(got.job->token.id);
        co_await releasing;
      }
      auto last = worker.reserve(duration(1h));
      const reserve_answer none = co_await last;
      EXPECT_EQ(none.what, reserve_answer::kind::timed_out);
    }
    const std::vector<instant> expected{begin, begin + 10s, begin + 40s};
    EXPECT_EQ(came, expected);
  });
}

TEST(PolicyBroker, AClientThatGoesHasNotFailed) {
  in_worlds({{"mail", {.tries = 1, .most_reserved = 1}}}, [](brokered_policies& world) -> task<> {
    auto putting = put_mail(world.jobs);
    co_await putting;
    for (int i = 0; i < 3; ++i) {
      client worker(world.jobs);
      worker.watch("mail");
      auto reserving = worker.reserve(duration(10s));
      const reserve_answer got = co_await reserving;
      EXPECT_EQ(got.what, reserve_answer::kind::reserved);
    }
  });
}

TEST(PolicyBroker, AGroupsJobsComeOneAfterTheOther) {
  in_worlds({{"mail", {.most_reserved_of_group = 1}}}, [](brokered_policies& world) -> task<> {
    for (int i = 0; i < 4; ++i) {
      put what{.tube = "mail", .body = "b", .ttr = 1h};
      EXPECT_TRUE(what.fields.set(tag_of_group, "a"));
      auto putting = world.jobs.execute(std::move(what));
      co_await putting;
    }
    const instant begin = now();
    auto first = spawn(work(world.jobs, 2, 1s));
    auto second = spawn(work(world.jobs, 2, 1s));
    std::vector<instant> came = co_await first.join();
    const std::vector<instant> more = co_await second.join();
    came.insert(came.end(), more.begin(), more.end());
    std::ranges::sort(came);
    const std::vector<instant> expected{begin, begin + 1s, begin + 2s, begin + 3s};
    EXPECT_EQ(came, expected);
  });
}

}  // namespace
}  // namespace foliot::jobs
