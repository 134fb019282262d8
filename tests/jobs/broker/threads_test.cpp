// Producers and workers of a broker on real processors.
#include <chrono>
#include <cstddef>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::size_t producers = 4;
constexpr std::size_t workers = 6;
constexpr std::size_t jobs_of_producer = 200;

/// The jobs that have been finished.
struct finished {
  mutex guard{lock_rank::object};
  std::set<job_id> ids;
  runtime::wait_group left;
};

std::string tube_name(std::size_t number) { return number % 2 == 0 ? "even" : "odd"; }

task<> produce(broker& into, std::size_t number) {
  for (std::size_t i = 0; i < jobs_of_producer; i += 4) {
    std::deque<in_flight<put>> puts;
    for (std::size_t j = 0; j < 4; ++j) {
      put what;
      what.tube = tube_name(number + j);
      what.due = milliseconds(j == 3 ? 1 : 0);
      what.ttr = 10min;
      puts.emplace_back(into, std::move(what));
    }
    for (auto& each : puts) {
      const put_answer done = co_await each;
      EXPECT_EQ(done.what, put_answer::kind::inserted);
    }
  }
}

task<> work(broker& from, std::size_t number, finished& all) {
  client worker(from);
  worker.watch(tube_name(number));
  if (number % 3 == 0) worker.watch(tube_name(number + 1));
  for (;;) {
    const reserve_answer got = co_await worker.reserve();
    const job_id id = got.job->token.id;
    if (id % 7 == 0 && got.job->job.counters.releases == 0) {
      co_await worker.release(id);
      continue;
    }
    const holder_answer done = co_await worker.finish(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
    {
      const lock held(all.guard);
      EXPECT_TRUE(all.ids.insert(id).second) << "job " << id << " was finished twice";
    }
    all.left.done();
  }
}

/// Stops workers at any point, and begins new ones.
task<> replace(broker& from, std::vector<runtime::join_handle<>>& working, finished& all) {
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t j = 0; j < 20; ++j) co_await runtime::yield();
    auto& one = working[i % workers];
    one.request_stop();
    try {
      co_await one.join();
    } catch (const runtime::cancelled&) {
    }
    one = spawn(work(from, i % workers, all), "worker");
  }
}

/// Parameter: whether other nodes share the store, so that batches are executed on another thread.
class BrokerThreads : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Alone, BrokerThreads, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Shared, BrokerThreads, testing::Values(true));

TEST_P(BrokerThreads, EachJobIsFinishedOnce) {
  for (const std::size_t processors : {1U, 2U, 4U}) {
    broker_world world({}, shared{GetParam()});
    runtime::run_options options;
    options.processors = processors;
    finished all;
    all.left.add(producers * jobs_of_producer);
    runtime::run(
        [&]() -> task<> {
          auto running = spawn(world.jobs.run(), "broker");
          std::vector<runtime::join_handle<>> working;
          for (std::size_t i = 0; i < workers; ++i) working.push_back(spawn(work(world.jobs, i, all), "worker"));
          std::vector<runtime::join_handle<>> producing;
          for (std::size_t i = 0; i < producers; ++i) producing.push_back(spawn(produce(world.jobs, i), "producer"));
          co_await replace(world.jobs, working, all);
          for (auto& each : producing) co_await each.join();
          co_await all.left.wait();
          world.jobs.close();
          for (auto& each : working) EXPECT_THROW(co_await each.join(), broker_closed);
          co_await running.join();
        },
        options);
    EXPECT_EQ(all.ids.size(), producers * jobs_of_producer);
    const check_result broker = world.jobs.check();
    EXPECT_TRUE(broker) << broker.error();
    operation count = count_all{};
    const execution left = world.memory.execute(std::span(&count, 1));
    EXPECT_EQ(std::get<count_answer>(left.answers.front()).counts.all(), 0U);
  }
}

}  // namespace
}  // namespace foliot::jobs
