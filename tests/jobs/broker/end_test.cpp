// The end of a broker: it is closed, or its store fails.
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

enum class ended : std::uint8_t { reserved, closed, failed };

task<ended> reserve_until_the_end(broker& from) {
  client worker(from);
  worker.watch("mail");
  try {
    co_await worker.reserve();
  } catch (const broker_closed&) {
    co_return ended::closed;
  } catch (const store_failure&) {
    co_return ended::failed;
  }
  co_return ended::reserved;
}

TEST(BrokerEnd, CloseEndsWaitsAndRefusesNewcomers) {
  in_broker_worlds([](broker_world& world) -> task<> {
    auto waiting = spawn(reserve_until_the_end(world.jobs));
    co_await wait_idle();
    in_flight<put> queued(world.jobs, mail("x"));
    world.jobs.close();
    const put_answer done = co_await queued;
    EXPECT_EQ(done.what, put_answer::kind::inserted);
    const ended how = co_await waiting.join();
    EXPECT_EQ(how, ended::closed);
    EXPECT_THROW(static_cast<void>(world.jobs.execute(count_all{})), broker_closed);
    EXPECT_THROW(client(world.jobs), broker_closed);
  });
}

TEST(BrokerEnd, RunReturnsWhenTheLastClientHasGone) {
  virtual_clock clock;
  broker_world world(clock);
  on_virtual_time(clock, [&]() -> task<> {
    auto running = spawn(world.jobs.run(), "broker");
    {
      client worker(world.jobs);
      client idle(world.jobs);
      worker.watch("mail");
      const job_id first = co_await put_job(world.jobs, mail("x"));
      co_await put_job(world.jobs, mail("y"));
      got(co_await worker.reserve());
      got(co_await worker.reserve());
      world.jobs.close();
      co_await sleep(1s);
      EXPECT_FALSE(running.done());
      const holder_answer done = co_await worker.finish(first);
      EXPECT_EQ(done.what, holder_answer::kind::done);
    }
    co_await running.join();
  });
  operation all = count_all{};
  const execution counted = world.memory.execute(std::span(&all, 1));
  EXPECT_EQ(std::get<count_answer>(counted.answers.front()).counts.ready, 1U);
  EXPECT_EQ(std::get<count_answer>(counted.answers.front()).counts.reserved, 0U);
}

/// What helps, by the failure that the task ends with; nothing if it ends without one.
template <class Task>
task<std::optional<store_failure::remedies>> remedy_after(Task fails) {
  try {
    co_await fails;
  } catch (const store_failure& failure) {
    co_return failure.remedy();
  }
  co_return std::nullopt;
}

task<> execute_a_count(broker& in) { co_await in.execute(count_all{}); }

TEST(BrokerEnd, AFailureKeepsWhatHelps) {
  using remedies = store_failure::remedies;
  for (const remedies helps : {remedies::open_again, remedies::restore_backup}) {
    virtual_clock clock;
    broker_world world(clock);
    world.store.before = [helps](std::span<operation>) { throw store_failure("a block is damaged", helps); };
    on_virtual_time(clock, [&]() -> task<> {
      auto running = spawn(remedy_after(world.jobs.run()), "broker");
      auto first = remedy_after(execute_a_count(world.jobs));
      const auto of_first = co_await first;
      EXPECT_EQ(of_first, helps) << "that of the batch";
      auto next = remedy_after(execute_a_count(world.jobs));
      const auto of_next = co_await next;
      EXPECT_EQ(of_next, helps) << "that of a broker that has failed";
      const auto of_run = co_await running.join();
      EXPECT_EQ(of_run, helps);
    });
  }
}

TEST(BrokerEnd, AFailureOfTheStoreEndsEverything) {
  for (std::size_t batches = 0; batches < 8; ++batches) {
    SCOPED_TRACE(batches);
    virtual_clock clock;
    broker_world world(clock);
    world.store.fails_from = batches;
    std::size_t acknowledged = 0;
    on_virtual_time(clock,
                    [&]() -> task<> {
                      auto running = spawn(world.jobs.run(), "broker");
                      auto waiting = spawn(reserve_until_the_end(world.jobs));
                      co_await wait_idle();
                      auto putting = [](broker& into, std::size_t& done) -> task<bool> {
                        try {
                          for (int i = 0; i < 10; ++i) {
                            co_await into.execute(mail("x", 1h));
                            ++done;
                            co_await sleep(1ms);
                          }
                        } catch (const store_failure& failure) {
                          EXPECT_STREQ(failure.what(), "the disk is gone");
                          co_return true;
                        }
                        co_return false;
                      };
                      std::vector<runtime::join_handle<bool>> all;
                      for (int i = 0; i < 5; ++i) all.push_back(spawn(putting(world.jobs, acknowledged)));
                      for (auto& each : all) {
                        const bool failed = co_await each.join();
                        EXPECT_TRUE(failed);
                      }
                      const ended how = co_await waiting.join();
                      EXPECT_EQ(how, ended::failed);
                      co_await world.jobs.failed();
                      EXPECT_EQ(world.jobs.failure(), "the disk is gone");
                      EXPECT_THROW(co_await world.jobs.execute(count_all{}), store_failure);
                      EXPECT_THROW(client(world.jobs), store_failure);
                      EXPECT_THROW(co_await running.join(), store_failure);
                    },
                    {.seed = batches});
    operation all = count_all{};
    const execution counted = world.memory.execute(std::span(&all, 1));
    EXPECT_EQ(std::get<count_answer>(counted.answers.front()).counts.all(), acknowledged);
  }
}

TEST(BrokerEnd, TheOwnerMayWaitForAFailureInASelect) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const auto chosen = co_await runtime::select(world.jobs.failed(), runtime::after(1s));
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_EQ(world.jobs.failure(), "");
  });
}

TEST(BrokerEnd, RunRunsOnce) {
  in_broker_worlds([](broker_world& world) -> task<> { EXPECT_THROW(co_await world.jobs.run(), std::logic_error); });
}

}  // namespace
}  // namespace foliot::jobs
