// The tests of Go's testing/synctest that apply to a runtime on virtual time, under their names. docs/go-parity.md has
// the table.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

TEST(GoSynctest, TestNow) {
  virtual_clock clock(instant::from_nanoseconds(946'684'800'000'000'000));
  run_options options;
  options.clock = &clock;
  run(
      []() -> task<> {
        EXPECT_EQ(now(), instant::from_nanoseconds(946'684'800'000'000'000));
        auto other = spawn([]() -> task<> {
          co_await sleep(1s);
          EXPECT_EQ(now(), instant::from_nanoseconds(946'684'801'000'000'000));
        }());
        co_await other.join();
      }(),
      options);
}

TEST(GoSynctest, TestRunEmpty) {
  test::in_virtual_worlds([]() -> task<> { co_return; });
}
TEST(GoSynctest, TestSimpleWait) {
  test::in_virtual_worlds([]() -> task<> { co_await wait_idle(); });
}

TEST(GoSynctest, TestGoroutineWait) {
  test::in_virtual_worlds([]() -> task<> {
    auto waits = []() -> task<> { co_await wait_idle(); };
    auto other = spawn(waits());
    co_await other.join();
  });
}

task<> chain(int depth, int& reached) {
  if (depth == 0) {
    ++reached;
    co_return;
  }
  auto next = spawn(chain(depth - 1, reached));
  co_await yield();
  co_await next.join();
}
TEST(GoSynctest, TestWait) {
  test::in_virtual_worlds([]() -> task<> {
    int reached = 0;
    auto first = spawn(chain(100, reached));
    co_await wait_idle();
    EXPECT_EQ(reached, 1);
    co_await first.join();
  });
}

TEST(GoSynctest, TestTimerReadBeforeDeadline) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    timer t{5s};
    const instant when = co_await t;
    EXPECT_EQ(when, start + 5s);
    EXPECT_EQ(now(), start + 5s);
  });
}
TEST(GoSynctest, TestTimerReadAfterDeadline) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    timer t{1s};
    co_await sleep(2s);
    const instant when = co_await t;
    EXPECT_EQ(when, start + 1s);
  });
}
TEST(GoSynctest, TestTimerReset) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    timer t{1s};
    instant when = co_await t;
    EXPECT_EQ(when, start + 1s);
    t.reset(2s);
    when = co_await t;
    EXPECT_EQ(when, start + 3s);
    t.reset(3s);
    co_await sleep(1s);
    t.reset(3s);
    when = co_await t;
    EXPECT_EQ(when, start + 7s);
  });
}

TEST(GoSynctest, TestTimeAfter) {
  test::in_virtual_worlds([]() -> task<> {
    int i = 0;
    callback_timer second;
    auto first = after_func(1s, [&] {
      ++i;
      second = after_spawn(1s, [&i]() -> task<> {
        ++i;
        co_return;
      });
    });
    co_await sleep(3s);
    co_await wait_idle();
    EXPECT_EQ(i, 2);
  });
}

TEST(GoSynctest, TestTimerAfterBubbleExit) {
  int calls = 0;
  callback_timer kept;
  test::in_virtual_worlds([&]() -> task<> {
    kept = after_func(1s, [&calls] { ++calls; });
    co_return;
  });
  EXPECT_EQ(calls, 0);
}

/// Two timers are due at the same instant: over all seeds, either of them fires first.
template <class Two>
void both_orders(Two two) {
  bool first = false;
  bool second = false;
  for (std::uint64_t seed = 1; seed <= 100 && !(first && second); ++seed) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.seed = seed;
    options.shuffles_ties = true;
    options.processors = 1;
    int order = 0;
    run(two(order), options);
    (order == 1 ? first : second) = true;
  }
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}
TEST(GoSynctest, TestTimerNondeterminism) {
  both_orders([](int& order) -> task<> {
    auto one = after_func(1s, [&order] { order = order == 0 ? 1 : order; });
    auto two = after_func(1s, [&order] { order = order == 0 ? 2 : order; });
    co_await sleep(2s);
  });
}
TEST(GoSynctest, TestSleepNondeterminism) {
  both_orders([](int& order) -> task<> {
    auto sleeps = [](int& into, int number) -> task<> {
      co_await sleep(1s);
      if (into == 0) into = number;
    };
    auto one = spawn(sleeps(order, 1));
    auto two = spawn(sleeps(order, 2));
    co_await one.join();
    co_await two.join();
  });
}

TEST(GoSynctest, TestTimerRunsImmediately) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    timer t{0ns};
    EXPECT_EQ(t.try_receive(), start);  // without waiting
    co_return;
  });
}
TEST(GoSynctest, TestTimerRanInPast) {
  test::in_virtual_worlds([]() -> task<> {
    timer t{1s};
    co_await sleep(2s);
    EXPECT_NE(t.try_receive(), std::nullopt);
    EXPECT_EQ(t.stop(), stop_result::idle);
  });
}
TEST(GoSynctest, TestAfterFuncRunsImmediately) {
  test::in_virtual_worlds([]() -> task<> {
    const instant start = now();
    channel<int> done(1);
    auto t = after_func(0ns, [done]() mutable { static_cast<void>(done.try_send(0)); });
    co_await done.receive();
    EXPECT_EQ(now(), start);
  });
}

void expect_deadlock(task<> main) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  EXPECT_THROW(run(std::move(main), options), deadlock);
}
TEST(GoSynctest, TestDeadlockRoot) {
  expect_deadlock([]() -> task<> {
    channel<int> c;
    co_await c.receive();
  }());
}
TEST(GoSynctest, TestDeadlockChild) {
  expect_deadlock([]() -> task<> {
    auto child = spawn([]() -> task<> {
      channel<int> c;
      co_await c.receive();
    }());
    co_await child.join();
  }());
}
/// Time ends with the main task: a ticker that another task waits for does not keep the runtime, which destroys that
/// task.
TEST(GoSynctest, TestDeadlockTicker) {
  int beats = 0;
  test::in_virtual_worlds([&beats]() -> task<> {
    auto child = spawn([](int& count) -> task<> {
      ticker beat{1s};
      for (;;) {
        co_await beat;
        ++count;
      }
    }(beats));
    beats = 0;
    co_await sleep(2500ms);
    EXPECT_EQ(beats, 2);
  });
  EXPECT_EQ(beats, 2);
}

TEST(GoSynctest, TestHappensBefore) {
  test::in_virtual_worlds([]() -> task<> {
    int value = 0;
    auto other = spawn([](int& into) -> task<> {
      ++into;
      co_await sleep(1s);
      ++into;
    }(value));
    auto t = after_func(0ns, [&value] { ++value; });
    co_await wait_idle();
    EXPECT_EQ(value, 2);
    co_await advance(1s);
    co_await wait_idle();
    EXPECT_EQ(value, 3);
    co_await other.join();
  });
}

// ---- the examples of testing/synctest

TEST(GoSynctest, ExampleContextAfterFunc) {
  test::in_virtual_worlds([]() -> task<> {
    auto one = with_cancel(background());
    bool called = false;
    auto call = after_func(one, [&called] { called = true; });
    co_await wait_idle();
    EXPECT_FALSE(called);
    one.cancel();
    co_await wait_idle();
    EXPECT_TRUE(called);
  });
}
TEST(GoSynctest, ExampleContextWithTimeout) {
  test::in_virtual_worlds([]() -> task<> {
    auto one = with_timeout(background(), 5s);
    co_await sleep(5s - 1ns);
    co_await wait_idle();
    EXPECT_EQ(one.err(), context_end::none);
    co_await sleep(1ns);
    co_await wait_idle();
    EXPECT_EQ(one.err(), context_end::deadline_exceeded);
  });
}

}  // namespace
}  // namespace foliot::runtime
