#include <foliot/service/executor.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

/// An executor that keeps its jobs until the test runs or drops them.
class Executor : public engine_suite {
 protected:
  service_options keeping() {
    service_options chosen = options();
    chosen.executor.emplace([this](posted_callback job) { jobs.push_back(std::move(job)); });
    chosen.on_exception = [this](const std::exception_ptr&) { ++reported; };
    return chosen;
  }
  void run_jobs() {
    while (!jobs.empty()) {
      posted_callback job = std::move(jobs.front());
      jobs.pop_front();
      job();
    }
  }
  [[nodiscard]] bool adds_up() const {
    const service_counters now = timers->counters();
    return now.started == now.stopped + now.fired + now.pending + now.dropped;
  }

  virtual_clock clock;
  std::deque<posted_callback> jobs;
  int reported = 0;
  int fired = 0;
  std::optional<timer_service> timers{std::in_place, clock, keeping()};
  timer t{*timers, [this] { ++fired; }};
};

INSTANTIATE_TEST_SUITE_P(, Executor, every_exact_engine(), engine_as_name);

TEST_P(Executor, RunsWhatIsDue) {
  t.reset(1ms);
  clock.advance(1ms);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(fired, 0);
  EXPECT_TRUE(t.pending()) << "a posted timer is pending";
  run_jobs();
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(t.pending());
  EXPECT_EQ(t.stop(), stop_result::idle);
  EXPECT_TRUE(adds_up());
}

TEST_P(Executor, UntilTheJobBeginsAStopTakesItBack) {
  t.reset(1ms);
  clock.advance(1ms);
  EXPECT_EQ(t.stop(), stop_result::stopped);
  EXPECT_EQ(t.stop(), stop_result::idle);
  run_jobs();
  EXPECT_EQ(fired, 0);
  EXPECT_TRUE(adds_up());
}

TEST_P(Executor, UntilTheJobBeginsAResetTakesItBack) {
  t.reset(1ms);
  clock.advance(1ms);
  EXPECT_EQ(t.reset(1ms), reset_result::superseded);
  run_jobs();
  EXPECT_EQ(fired, 0) << "a cancelled firing must not run";
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(fired, 1);
  EXPECT_TRUE(adds_up());
}

TEST_P(Executor, ATimerThatIsDueAgainLeavesItToTheJobThatIsOut) {
  t.reset(1ms);
  clock.advance(1ms);
  t.reset(1ms);
  clock.advance(1ms);
  EXPECT_EQ(jobs.size(), 1u);
  run_jobs();
  EXPECT_EQ(fired, 1);
  EXPECT_TRUE(adds_up());
}

TEST_P(Executor, AJobRunsWhatBecomesDueWhileItRuns) {
  t = timer(*timers, [&] {
    if (++fired > 1) return;
    EXPECT_EQ(t.reset(0ns), reset_result::running);
    clock.advance(0ns);  // the executor gets the job
    EXPECT_TRUE(jobs.empty());
  });
  t.reset(1ms);
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(fired, 2);
  EXPECT_TRUE(adds_up());
}

TEST_P(Executor, AJobThatIsDestroyedDropsItsStart) {
  t.reset(1ms);
  clock.advance(1ms);
  jobs.clear();
  EXPECT_EQ(fired, 0);
  EXPECT_FALSE(t.pending());
  EXPECT_EQ(timers->counters().dropped, 1u);
  EXPECT_TRUE(adds_up());
  t.reset(1ms);
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(fired, 1) << "the timer must work as before";
}

TEST_P(Executor, AJobMayBeCalledOnceAlone) {
  t.reset(1ms);
  clock.advance(1ms);
  jobs.front()();
  jobs.front()();
  EXPECT_EQ(fired, 1);
}

TEST_P(Executor, BeatsThatComeTooSoonAreSkipped) {
  ticker beat(*timers, 1ms, [this] { ++fired; });
  clock.advance(5ms);
  EXPECT_EQ(jobs.size(), 1u);
  run_jobs();
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(beat.skipped(), 4u);
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(fired, 2);
}

/// `now` and `skipped` are those of the instant at which the job begins, not at which the executor got it.
TEST_P(Executor, AFiringTellsOfTheInstantAtWhichItsJobBegins) {
  std::vector<firing> seen;
  const instant start = timers->now();
  ticker beat(*timers, 1ms, [&seen](const firing& current) { seen.push_back(current); });
  clock.advance(5ms);
  run_jobs();
  clock.advance(1ms);
  run_jobs();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].deadline, start + 1ms);
  EXPECT_EQ(seen[0].now, start + 5ms);
  EXPECT_EQ(seen[0].lateness(), duration(4ms));
  EXPECT_EQ(seen[0].skipped, 4u);
  EXPECT_EQ(seen[1].deadline, start + 6ms);
  EXPECT_EQ(seen[1].now, start + 6ms);
  EXPECT_EQ(seen[1].skipped, 0u);
}

/// Ticks that come while the callback runs are told by the next one: together they are what ticker::skipped() counts.
TEST_P(Executor, TicksDuringACallbackAreToldByTheNext) {
  std::vector<std::uint64_t> skipped;
  ticker beat(*timers, 1ms, [&](const firing& current) {
    skipped.push_back(current.skipped);
    if (skipped.size() == 1) clock.advance(3ms);
  });
  clock.advance(1ms);
  run_jobs();
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(skipped, (std::vector<std::uint64_t>{0, 3}));
  EXPECT_EQ(beat.skipped(), 3u);
  beat.reset(1ms);  // a new grid
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(skipped.back(), 0u);
}

TEST_P(Executor, WhatACallbackThrowsGoesToTheHandler) {
  timer thrower(*timers, 1ms, [] { throw std::runtime_error("from a job"); });
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(reported, 1);
}

TEST_P(Executor, TheCapturesGoWithTheHandleWhereverTheJobIs) {
  auto captured = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = captured;
  timer owner(*timers, 1ms, [captured] { ++*captured; });
  captured.reset();
  clock.advance(1ms);
  owner = timer();
  EXPECT_TRUE(watch.expired());
  run_jobs();
}

TEST_P(Executor, JobsMayOutliveHandlesAndService) {
  t.reset(1ms);
  timer release(*timers, 1ms, [this] { ++fired; });
  release.detach();
  clock.advance(1ms);
  EXPECT_EQ(timers->shut_down(), 2u) << "shut_down drops the callbacks that have not begun";
  EXPECT_EQ(timers->counters().dropped, 2u);
  EXPECT_EQ(timers->counters().pending, 0u);
  EXPECT_FALSE(t.pending());
  t = timer();
  timers.reset();
  run_jobs();
  EXPECT_EQ(fired, 0);
}

TEST_P(Executor, TheEndOfTheServiceDestroysTheCapturesOfWhatIsPosted) {
  std::vector<std::weak_ptr<int>> captured;
  const auto capturing = [&] {
    auto made = std::make_shared<int>(0);
    captured.emplace_back(made);
    return [this, made] { ++fired; };
  };
  timer posted(*timers, 1ms, capturing());
  timer pending(*timers, 1h, capturing());
  timer(*timers, 1ms, capturing()).detach();
  ticker beat(*timers, 1ms, capturing());
  timer taken_back(*timers, 1ms, capturing());
  clock.advance(1ms);
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(taken_back.stop(), stop_result::stopped);
  EXPECT_EQ(timers->shut_down(), 5u) << "the ticker has two starts: the posted tick and the next one";
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(captured[i].expired()) << "the closure is not destroyed: timer " << i;
  EXPECT_FALSE(captured[4].expired()) << "an idle timer must keep its callback";
  EXPECT_EQ(timers->counters().dropped, 5u);
  EXPECT_EQ(timers->counters().stopped, 1u);
  EXPECT_EQ(posted.reset(1ms), reset_result::closed);
  EXPECT_EQ(posted.stop(), stop_result::idle);
  run_jobs();
  EXPECT_EQ(fired, 0);
  EXPECT_EQ(timers->counters().dropped, 5u);
}

/// A timer is posted, stopped and started again before the executor runs its job.
TEST_P(Executor, ABeatIsNotLostToAJobThatFindsNothingToDo) {
  ticker beat(*timers, 1ms, [this] { ++fired; });
  clock.advance(1ms);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(beat.stop(), stop_result::stopped);
  beat.reset(1ms);
  clock.advance(1ms);
  EXPECT_EQ(jobs.size(), 1u) << "the job that is out runs the new firing";
  EXPECT_EQ(beat.skipped(), 0u);
  run_jobs();
  EXPECT_EQ(fired, 1);
}

TEST_P(Executor, ACallbackMayEndItsOwnTimer) {
  t = timer(*timers, [&] {
    ++fired;
    t = timer();
  });
  t.reset(1ms);
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(fired, 1);
  EXPECT_TRUE(adds_up());
}

TEST_P(Executor, ACallbackMayEndTheService) {
  t = timer(*timers, [&] {
    ++fired;
    timers.reset();
  });
  t.reset(1ms);
  clock.advance(1ms);
  run_jobs();
  EXPECT_EQ(fired, 1);
}

class FailingExecutor : public Executor {};

INSTANTIATE_TEST_SUITE_P(, FailingExecutor, every_exact_engine(), engine_as_name);

TEST_P(FailingExecutor, IsReportedAndTheCallbackRunsOnTheShardsThread) {
  service_options failing = options();
  failing.executor.emplace([](const posted_callback&) { throw std::runtime_error("the pool is full"); });
  failing.on_exception = [this](const std::exception_ptr&) { ++reported; };
  timer_service own(clock, std::move(failing));
  timer u(own, 1ms, [this] { ++fired; });
  clock.advance(1ms);
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(u.pending());
}

TEST_P(FailingExecutor, ThatTakesNothingDropsWhatItIsGiven) {
  service_options refusing = options();
  refusing.executor.emplace([](const posted_callback&) {});
  timer_service own(clock, std::move(refusing));
  timer u(own, 1ms, [this] { ++fired; });
  timer(own, 1ms, [this] { ++fired; }).detach();
  clock.advance(1ms);
  EXPECT_EQ(fired, 0);
  EXPECT_EQ(own.counters().dropped, 2u);
  EXPECT_FALSE(u.pending());
}

TEST_P(FailingExecutor, MayRunTheJobAtOnce) {
  service_options direct = options();
  direct.executor.emplace([](posted_callback job) { job(); });
  timer_service own(clock, std::move(direct));
  timer u(own, 1ms, [this] { ++fired; });
  timer(own, 1ms, [this] { ++fired; }).detach();
  clock.advance(1ms);
  EXPECT_EQ(fired, 2);
}

/// A few threads that take jobs from one list.
class pool {
 public:
  explicit pool(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) threads_.emplace_back([this] { work(); });
  }
  ~pool() {
    {
      const std::lock_guard held(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) each.join();
  }
  void post(posted_callback job) {
    {
      const std::lock_guard held(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock held(mutex_);
    for (;;) {
      changed_.wait(held, [this] { return done_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      posted_callback job = std::move(jobs_.front());
      jobs_.pop_front();
      held.unlock();
      job();
      held.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<posted_callback> jobs_;
  bool done_ = false;
  std::vector<std::thread> threads_;
};

class ExecutorPool : public engine_suite {
 protected:
  pool workers{3};
  service_options on_pool() {
    service_options chosen = options();
    chosen.executor.emplace([this](posted_callback job) { workers.post(std::move(job)); });
    return chosen;
  }
  timer_service timers{on_pool()};
};

INSTANTIATE_TEST_SUITE_P(, ExecutorPool, every_exact_engine(), engine_as_name);

TEST_P(ExecutorPool, ATimersCallbacksNeverOverlapAndEachStartHasOneOutcome) {
  std::array<std::atomic<int>, 4> inside{};
  std::atomic<std::uint64_t> fired = 0;
  std::array<timer, 4> shared;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    shared[i] = timer(timers, [&, i] {
      EXPECT_EQ(++inside[i], 1);
      ++fired;
      --inside[i];
    });
  }
  std::atomic<std::uint64_t> started = 0;
  std::atomic<std::uint64_t> taken_back = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&, seed] {
      random_stream random(seed);
      for (int i = 0; i < 3000; ++i) {
        timer& t = shared[random.below(shared.size())];
        if (random.below(3) == 0) {
          taken_back += t.stop() == stop_result::stopped;
        } else {
          ++started;
          taken_back += t.reset(std::chrono::microseconds(random.below(60))) == reset_result::superseded;
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(timers.drain(1h), 0u);
  EXPECT_EQ(started, fired + taken_back);
  EXPECT_EQ(timers.counters().fired, fired);
}

TEST_P(ExecutorPool, HandlesMayGoWhileTheirCallbacksRun) {
  for (int i = 0; i < 500; ++i) {
    const auto captured = std::make_shared<int>(0);
    timer t(timers, std::chrono::microseconds(i % 40), [captured] { ++*captured; });
    const instant until = timers.now() + std::chrono::microseconds(i % 60);
    while (timers.now() < until) {
    }
    t = timer();
    EXPECT_EQ(captured.use_count(), 1);
  }
}

TEST_P(ExecutorPool, ACallbackThereMustNotWaitForTheService) {
  std::latch done(1);
  timer t(timers, 0ns, [&] {
    EXPECT_THROW(sleep_for(timers, 1h), std::logic_error);
    EXPECT_THROW(timers.drain(1h), std::logic_error);
    timers.shut_down();
    done.count_down();
  });
  done.wait();
}

}  // namespace
}  // namespace foliot::test
