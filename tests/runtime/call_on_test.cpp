// Functions that tasks post back to an executor outside of the runtime.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/call_on.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

/// An event loop: calls jobs in its own thread, in their order. Its end destroys those that it has not called.
class loop {
 public:
  loop() : thread_([this] { work(); }) {}
  ~loop() {
    {
      const std::lock_guard held(lock_);
      ends_ = true;
    }
    come_.notify_one();
    thread_.join();
  }
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  void post(posted_call job) {
    const std::lock_guard held(lock_);
    jobs_.push_back(std::move(job));
    come_.notify_one();
  }
  [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }

 private:
  void work() {
    std::unique_lock held(lock_);
    for (;;) {
      come_.wait(held, [this] { return ends_ || !jobs_.empty(); });
      if (ends_) return;
      posted_call job = std::move(jobs_.front());
      jobs_.pop_front();
      held.unlock();
      job();
      held.lock();
    }
  }

  std::mutex lock_;
  std::condition_variable come_;
  std::deque<posted_call> jobs_;
  bool ends_ = false;
  std::thread thread_;
};

/// Keeps the jobs until the test calls them.
struct shelf {
  std::mutex lock;
  std::vector<posted_call> jobs;
  note come;

  auto executor() {
    return [this](posted_call job) {
      const std::lock_guard held(lock);
      jobs.push_back(std::move(job));
      come.wake();
    };
  }
  /// In another thread than the task's.
  posted_call take() {
    come.sleep_until(instant::never());
    const std::lock_guard held(lock);
    posted_call job = std::move(jobs.back());
    jobs.pop_back();
    return job;
  }
};

TEST(CallOn, TheFunctionRunsInTheExecutorsThread) {
  loop other;
  test::everywhere([&other]() -> task<> {
    const auto executor = [&other](posted_call job) { other.post(std::move(job)); };
    for (int i = 0; i < 20; ++i) {
      const auto which = [] { return std::this_thread::get_id(); };
      const auto id = co_await call_on(executor, which);
      EXPECT_EQ(id, other.id());
    }
    const auto nothing = [] {};
    co_await call_on(executor, nothing);
    auto moves = [value = std::make_unique<int>(5)]() mutable { return std::move(value); };
    const auto moved = co_await call_on(executor, std::move(moves));
    EXPECT_EQ(*moved, 5);
  });
}

TEST(CallOn, WhatTheFunctionThrowsReachesTheTask) {
  loop other;
  test::everywhere([&other]() -> task<> {
    const auto executor = [&other](posted_call job) { other.post(std::move(job)); };
    const auto fails = []() -> int { throw std::out_of_range("far"); };
    bool caught = false;
    try {
      co_await call_on(executor, fails);
    } catch (const std::out_of_range&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
    co_await yield();
  });
}

TEST(CallOn, AnExecutorMayCallAtOnce) {
  test::everywhere([]() -> task<> {
    const auto executor = [](posted_call job) {
      job();
      job();  // a second call does nothing
    };
    int sum = 0;
    for (int i = 0; i < 300; ++i) {  // more than a turn
      const auto one = [] { return 1; };
      sum += co_await call_on(executor, one);
    }
    EXPECT_EQ(sum, 300);
  });
}

TEST(CallOn, AJobThatIsDestroyedEndsTheWait) {
  test::everywhere([]() -> task<> {
    const auto executor = [](const posted_call&) {};
    int called = 0;
    const auto counts = [&called] { ++called; };
    bool dropped = false;
    try {
      co_await call_on(executor, counts);
    } catch (const call_dropped&) {
      dropped = true;
    }
    EXPECT_TRUE(dropped);
    EXPECT_EQ(called, 0);
    co_await yield();
  });
}

TEST(CallOn, TheEndOfTheLoopEndsTheWaits) {
  background_runtime background;
  std::atomic<int> dropped = 0;
  {
    std::optional<loop> other(std::in_place);
    note in_the_loop;
    note go_on;
    std::atomic<int> posted = 0;
    for (int i = 0; i < 5; ++i) {
      background.handle().spawn([&]() -> task<> {
        const auto executor = [&](posted_call job) {
          other->post(std::move(job));
          ++posted;
        };
        const auto blocks = [&] {
          in_the_loop.wake();
          go_on.sleep_until(instant::never());
        };
        try {
          co_await call_on(executor, blocks);
        } catch (const call_dropped&) {
          ++dropped;
        }
      });
    }
    in_the_loop.sleep_until(instant::never());
    while (posted < 5) std::this_thread::yield();
    std::thread ends([&other] { other.reset(); });
    go_on.wake();
    ends.join();
  }
  while (background.handle().call([] { return counters().tasks; }) > 2) std::this_thread::yield();
  EXPECT_LE(dropped, 4);
}

TEST(CallOn, WhatTheExecutorThrowsReachesTheTask) {
  test::everywhere([]() -> task<> {
    std::optional<posted_call> kept;
    const auto drops = [](posted_call) { throw std::length_error("full"); };
    const auto keeps = [&kept](posted_call job) {
      kept.emplace(std::move(job));
      throw std::length_error("full");
    };
    int called = 0;
    const auto counts = [&called] { ++called; };
    int caught = 0;
    try {
      co_await call_on(drops, counts);
    } catch (const std::length_error&) {
      ++caught;
    }
    try {
      co_await call_on(keeps, counts);
    } catch (const std::length_error&) {
      ++caught;
    }
    EXPECT_EQ(caught, 2);
    (*kept)();  // too late
    EXPECT_EQ(called, 0);
  });
}

TEST(CallOn, WhatTheExecutorThrowsReachesTheTaskAlsoIfItHasCalledTheJob) {
  test::everywhere([]() -> task<> {
    const auto executor = [](posted_call job) {
      job();
      throw std::length_error("full");
    };
    int called = 0;
    const auto seven = [&called] {
      ++called;
      return 7;
    };
    const auto fails = [&called]() -> int {
      ++called;
      throw std::out_of_range("far");
    };
    int caught = 0;
    try {
      static_cast<void>(co_await call_on(executor, seven));
    } catch (const std::length_error&) {
      ++caught;
    }
    try {
      static_cast<void>(co_await call_on(executor, fails));
    } catch (const std::length_error&) {
      ++caught;
    }
    EXPECT_EQ(called, 2);
    EXPECT_EQ(caught, 2);
  });
}

TEST(CallOn, AStopAndATimeoutEndTheNextWait) {
  background_runtime background;
  const runtime_handle handle = background.handle();
  shelf kept;
  std::atomic<bool> went_on = false;
  std::atomic<bool> was_cancelled = false;
  auto stopped = handle.spawn([&]() -> task<> {
    const auto executor = kept.executor();
    const auto nothing = [] {};
    co_await call_on(executor, nothing);
    went_on = true;
    try {
      co_await sleep(duration::forever());
    } catch (const cancelled&) {
      was_cancelled = true;
      throw;
    }
  });
  posted_call job = kept.take();
  stopped.request_stop();
  for (int i = 0; i < 3; ++i) handle.call([]() -> task<> { co_await yield(); });
  EXPECT_FALSE(went_on);
  job();
  while (!stopped.done()) std::this_thread::yield();
  EXPECT_TRUE(went_on);
  EXPECT_TRUE(was_cancelled);
}

TEST(CallOn, AfterTheRunAJobDoesNothing) {
  for (const bool calls : {false, true}) {
    std::optional<posted_call> kept;
    std::atomic<bool> posted = false;  // publishes `kept`
    int called = 0;
    std::weak_ptr<int> captured;
    test::everywhere([&]() -> task<> {
      if (kept && calls) (*kept)();  // of the run before
      kept.reset();
      posted = false;
      spawn([&]() -> task<> {
        const auto executor = [&kept, &posted](posted_call job) {
          kept.emplace(std::move(job));
          posted = true;
        };
        const auto shared = std::make_shared<int>(1);
        captured = shared;
        const auto counts = [&called, shared] { ++called; };
        co_await call_on(executor, counts);
      });
      while (!posted) co_await yield();
    });
    EXPECT_TRUE(captured.expired()) << "the function is destroyed with its task";
    if (calls) (*kept)();
    kept.reset();
    EXPECT_EQ(called, 0);
  }
}

TEST(CallOn, TheEndWaitsForAFunctionThatHasBegun) {
  for (const bool is_virtual : {false, true}) {
    loop other;
    virtual_clock clock;
    run_options options;
    if (is_virtual) options.clock = &clock;
    std::optional<background_runtime> background(std::in_place, options);
    note begun;
    note go_on;
    std::atomic<bool> returned = false;
    background->handle().spawn([&]() -> task<> {
      const auto executor = [&other](posted_call job) { other.post(std::move(job)); };
      const auto waits = [&] {
        begun.wake();
        go_on.sleep_until(instant::never());
        returned = true;
      };
      co_await call_on(executor, waits);
    });
    begun.sleep_until(instant::never());
    background->request_stop();
    while (!background->handle().ended()) std::this_thread::yield();
    go_on.wake();
    background.reset();
    EXPECT_TRUE(returned);
  }
}

TEST(CallOn, OnVirtualTimeTheNextDeadlineComesFirstAndThereIsNoDeadlock) {
  test::in_virtual_worlds([]() -> task<> {
    loop other;
    note go_on;
    const instant start = now();
    spawn([](note& then) -> task<> {
      co_await sleep(1h);
      then.wake();
    }(go_on));
    const auto executor = [&other](posted_call job) { other.post(std::move(job)); };
    const auto waits = [&go_on] { go_on.sleep_until(instant::never()); };
    co_await call_on(executor, waits);
    EXPECT_EQ(now(), start + duration(1h));
  });
}

// Jobs are called, destroyed, or left, while the runtime ends.
TEST(CallOn, AJobThatRacesWithTheEnd) {
  for (int round = 0; round < 150; ++round) {
    std::optional<loop> other(std::in_place);
    run_options options;
    options.processors = 1 + static_cast<std::size_t>(round % 3);
    std::optional<background_runtime> background(std::in_place, options);
    std::atomic<int> called = 0;
    for (int i = 0; i < 4; ++i) {
      background->handle().spawn([&]() -> task<> {
        const auto executor = [&other](posted_call job) { other->post(std::move(job)); };
        const auto counts = [&called] { return ++called; };
        for (;;) {
          const int count = co_await call_on(executor, counts);
          if (count < 0) break;
        }
      });
    }
    while (called < round % 7 * 5) std::this_thread::yield();
    background.reset();
    const int before = called;
    other.reset();
    EXPECT_EQ(called, before);
  }
}

}  // namespace
}  // namespace foliot::runtime
