// Awaiters of other libraries: which thread resumes the task, when, and which promises of the runtime hold meanwhile.
#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/virtual_time.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "worlds.hpp"

namespace foliot::test {

// In a namespace of its own, so that operator co_await is found by its argument.
struct freely_awaited {
  int value = 0;
};
class gives_at_once {
 public:
  explicit gives_at_once(int value) noexcept : value_(value) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const noexcept { return value_; }

 private:
  int value_;
};
inline gives_at_once operator co_await(const freely_awaited& of) noexcept { return gives_at_once(of.value); }

}  // namespace foliot::test

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

/// Continues when another thread resumes it.
class on_another_thread {
 public:
  explicit on_another_thread(std::thread& out) noexcept : out_(&out) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> who) {
    *out_ = std::thread([this, who] {
      value_ = 7;
      who.resume();
    });
  }
  int await_resume() const noexcept { return value_; }

 private:
  std::thread* out_;
  int value_ = 0;
};

TEST(ForeignAwaiters, ATaskGoesOnThatAnotherThreadResumes) {
  test::everywhere([]() -> task<> {
    for (int i = 0; i < 20; ++i) {
      std::thread other;
      const int got = co_await on_another_thread(other);
      EXPECT_EQ(got, 7);
      co_await yield();  // it is a task as before, on a worker
      other.join();
    }
  });
}

TEST(ForeignAwaiters, SeveralTasksWaitAtOnce) {
  test::everywhere([]() -> task<> {
    const auto waits = []() -> task<int> {
      std::thread other;
      const int got = co_await on_another_thread(other);
      other.join();
      co_return got;
    };
    std::vector<join_handle<int>> all;
    for (int i = 0; i < 8; ++i) all.push_back(spawn(waits()));
    int sum = 0;
    for (auto& each : all) {
      const int got = co_await each.join();
      sum += got;
    }
    EXPECT_EQ(sum, 8 * 7);
  });
}

class awaited_by_member {
 public:
  on_another_thread operator co_await() noexcept { return on_another_thread(other); }
  std::thread other;
};

TEST(ForeignAwaiters, OperatorCoAwaitMayBeAMemberOrAFreeFunction) {
  test::everywhere([]() -> task<> {
    const int free = co_await test::freely_awaited{3};
    EXPECT_EQ(free, 3);
    awaited_by_member by_member;
    const int got = co_await by_member;
    EXPECT_EQ(got, 7);
    by_member.other.join();
  });
}

/// Keeps the handle that it gets, and returns the value that the test has set.
template <class Answer>
class keeps_handle {
 public:
  explicit keeps_handle(Answer answer, bool resumes_inside = false) noexcept
      : answer_(answer), resumes_inside_(resumes_inside) {}
  bool await_ready() const noexcept { return false; }
  Answer await_suspend(std::coroutine_handle<> who) const noexcept {
    if (resumes_inside_) who.resume();
    return answer_;
  }
  void await_resume() const noexcept {}

 private:
  Answer answer_;
  bool resumes_inside_;
};

class transfers_to_itself {
 public:
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> who) const noexcept { return who; }
  void await_resume() const noexcept {}
};

TEST(ForeignAwaiters, WhatAwaitSuspendReturnsDecidesWhoGoesOn) {
  test::everywhere([]() -> task<> {
    for (int i = 0; i < 300; ++i) {  // more than a turn
      co_await keeps_handle<bool>(false);
      co_await keeps_handle<bool>(true, true);
      co_await keeps_handle<std::coroutine_handle<>>(std::noop_coroutine(), true);
      co_await transfers_to_itself();
      co_await std::suspend_never();
    }
  });
}

/// A coroutine of another library.
class fire_and_forget {
 public:
  class promise_type {
   public:
    fire_and_forget get_return_object() noexcept {
      return fire_and_forget(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  explicit fire_and_forget(std::coroutine_handle<> made) noexcept : coroutine(made) {}
  std::coroutine_handle<> coroutine;
};
fire_and_forget resumes(std::coroutine_handle<>& waiting, bool& ran) {
  ran = true;
  waiting.resume();
  co_return;
}

class transfers_to_another {
 public:
  explicit transfers_to_another(bool& ran) noexcept : ran_(&ran) {}
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> who) {
    who_ = who;
    return resumes(who_, *ran_).coroutine;
  }
  void await_resume() const noexcept {}

 private:
  bool* ran_;
  std::coroutine_handle<> who_;
};

TEST(ForeignAwaiters, TheCoroutineThatAwaitSuspendTransfersToIsRun) {
  test::everywhere([]() -> task<> {
    bool ran = false;
    co_await transfers_to_another(ran);
    EXPECT_TRUE(ran);
  });
}

class fails_to_suspend {
 public:
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error("no"); }
  void await_resume() const noexcept {}
};

TEST(ForeignAwaiters, WhatAwaitSuspendThrowsReachesTheTask) {
  test::everywhere([]() -> task<> {
    bool caught = false;
    try {
      co_await fails_to_suspend();
    } catch (const std::runtime_error&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
    co_await yield();
  });
}

/// Waits until the test resumes it.
class held_back {
 public:
  explicit held_back(std::atomic<void*>& out) noexcept : out_(&out) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> who) const noexcept { out_->store(who.address()); }
  void await_resume() const noexcept {}

 private:
  std::atomic<void*>* out_;
};
void resume(std::atomic<void*>& which) { std::coroutine_handle<>::from_address(which.exchange(nullptr)).resume(); }

TEST(ForeignAwaiters, AStopAndATimeoutEndTheNextWait) {
  test::everywhere([]() -> task<> {
    std::atomic<void*> resumed_by{nullptr};
    bool went_on = false;
    const auto waits = [&]() -> task<> {
      co_await held_back(resumed_by);
      went_on = true;
      co_await sleep(1h);
    };
    auto stopped = spawn(waits());
    while (resumed_by.load() == nullptr) co_await yield();
    stopped.request_stop();
    for (int i = 0; i < 3; ++i) co_await yield();
    EXPECT_FALSE(went_on);
    resume(resumed_by);
    bool was_cancelled = false;
    try {
      co_await stopped.join();
    } catch (const cancelled&) {
      was_cancelled = true;
    }
    EXPECT_TRUE(went_on);
    EXPECT_TRUE(was_cancelled);

    went_on = false;
    auto late = spawn([](task<> body) -> task<bool> {
      const auto result = co_await with_timeout(std::move(body), 1ms);
      co_return result.has_value();
    }(waits()));
    while (resumed_by.load() == nullptr) co_await yield();
    co_await sleep(2ms);
    EXPECT_FALSE(went_on);
    resume(resumed_by);
    const bool in_time = co_await late.join();
    EXPECT_FALSE(in_time);
    EXPECT_TRUE(went_on);
  });
}

TEST(ForeignAwaiters, AResumeAfterTheRunHasEndedDoesNothing) {
  std::atomic<void*> resumed_by{nullptr};
  bool went_on = false;
  int ended = 0;
  test::everywhere([&]() -> task<> {
    ++ended;
    if (resumed_by.load() != nullptr) resume(resumed_by);  // of the run before
    spawn([](std::atomic<void*>& out, bool& reached) -> task<> {
      co_await held_back(out);
      reached = true;
    }(resumed_by, went_on));
    while (resumed_by.load() == nullptr) co_await yield();
  });
  resume(resumed_by);
  EXPECT_FALSE(went_on);
  EXPECT_GT(ended, 1);
}

TEST(ForeignAwaiters, AResumeWhileTheRunEndsIsHarmless) {
  for (int i = 0; i < 300; ++i) {
    std::atomic<void*> resumed_by{nullptr};
    std::thread other([&resumed_by, i] {
      while (resumed_by.load() == nullptr) std::this_thread::yield();
      for (int wait = 0; wait < i % 30 * 20; ++wait) std::atomic_signal_fence(std::memory_order_seq_cst);
      resume(resumed_by);
    });
    run_options options;
    options.processors = 1 + static_cast<std::size_t>(i % 2);
    run(
        [](std::atomic<void*>& out) -> task<> {
          spawn([](std::atomic<void*>& to) -> task<> { co_await held_back(to); }(out));
          while (out.load() == nullptr && counters().tasks == 2) co_await yield();
        }(resumed_by),
        options);
    other.join();
  }
}

TEST(ForeignAwaiters, OnVirtualTimeTheNextDeadlineComesFirstAndThereIsNoDeadlock) {
  test::in_virtual_worlds([]() -> task<> {
    std::thread other;
    note go_on;
    const instant start = now();
    std::atomic<void*> resumed_by{nullptr};
    auto sleeps = spawn([](note& then) -> task<> {
      co_await sleep(1h);
      then.wake();
    }(go_on));
    other = std::thread([&] {
      go_on.sleep_until(instant::never());
      resume(resumed_by);
    });
    co_await held_back(resumed_by);  // for longer than there is anything else to do
    EXPECT_EQ(now(), start + duration(1h));
    other.join();
    co_await sleeps.join();
  });
}

}  // namespace
}  // namespace foliot::runtime
