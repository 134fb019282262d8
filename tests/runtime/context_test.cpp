#include <foliot/runtime/context.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

task<int> seven_after(duration length) {
  co_await sleep(length);
  co_return 7;
}

TEST(Context, RunInEndsTheWaitsOfItsTask) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    auto request = with_timeout(background(), 5s);
    EXPECT_EQ(request.deadline(), begin + 5s);
    const auto quick = co_await run_in(request, seven_after(1s));
    EXPECT_EQ(quick.value(), 7);
    const auto slow = co_await run_in(request, seven_after(1h));
    EXPECT_EQ(slow.error(), context_end::deadline_exceeded);
    EXPECT_EQ(now(), begin + 5s);
    const auto too_late = co_await run_in(request, seven_after(1h));
    EXPECT_EQ(too_late.error(), context_end::deadline_exceeded);
    EXPECT_EQ(now(), begin + 5s);
    const auto for_ever = co_await run_in(background(), seven_after(1h));
    EXPECT_EQ(for_ever.value(), 7);
    EXPECT_EQ(counters().timers, 0U);
  });
}

TEST(Context, NestedScopesEndInTheRightPlace) {
  test::in_virtual_worlds([]() -> task<> {
    auto outer = with_timeout(background(), 2s);
    auto inner = with_timeout(background(), 1s);
    auto body = [](context within) -> task<context_end> {
      const auto got = co_await run_in(within, seven_after(1h));
      co_return got.error();
    };
    const auto both = co_await run_in(outer, body(inner));
    EXPECT_EQ(both.value(), context_end::deadline_exceeded);
    EXPECT_EQ(outer.err(), context_end::none);
    auto longer = with_timeout(background(), 1h);
    const auto outermost = co_await run_in(outer, body(longer));
    EXPECT_FALSE(outermost.has_value());
    EXPECT_EQ(longer.err(), context_end::none);
  });
}

TEST(Context, DoneIsACaseOfASelect) {
  test::in_virtual_worlds([]() -> task<> {
    auto request = with_cancel(background());
    const auto first = co_await select(request.done(), after(1s));
    EXPECT_EQ(first.index(), 1U);
    auto cancels = [](cancel_context& which_one) -> task<> {
      co_await sleep(1s);
      which_one.cancel();
    };
    auto other = spawn(cancels(request));
    const auto second = co_await select(request.done(), after(1h));
    EXPECT_EQ(second.index(), 0U);
    co_await request.done();  // at once
    co_await other.join();
  });
}

TEST(Context, CancelsWhenItsOwnerGoes) {
  test::in_virtual_worlds([]() -> task<> {
    context seen;
    {
      auto request = with_cancel(background());
      seen = request;
      EXPECT_EQ(seen.err(), context_end::none);
    }
    EXPECT_EQ(seen.err(), context_end::cancelled);
    auto request = with_cancel(background());
    seen = request;
    request = with_cancel(background());
    EXPECT_EQ(seen.err(), context_end::cancelled);
    EXPECT_EQ(request.err(), context_end::none);
    co_return;
  });
}

TEST(Context, ManyTasksAndCancelsRace) {
  test::on_real_processors([]() -> task<> {
    for (int round = 0; round < 50; ++round) {
      auto root = with_cancel(background());
      std::atomic<int> calls{0};
      std::vector<cancel_context> parts;
      for (int i = 0; i < 8; ++i) {
        parts.push_back(
            with_timeout(i == 0 ? context(root) : context(parts.back()), std::chrono::microseconds(100 - 10 * i)));
      }
      std::vector<context_callback> callbacks;
      for (const auto& each : parts) callbacks.push_back(after_func(each, [&calls] { ++calls; }));
      auto waits = [](context within) -> task<> {
        const auto got = co_await run_in(within, seven_after(1h));
        EXPECT_FALSE(got.has_value());
      };
      std::vector<join_handle<>> all;
      for (const auto& each : parts) all.push_back(spawn(waits(each)));
      co_await sleep(std::chrono::microseconds(round % 60));
      root.cancel();
      for (const auto& each : parts) EXPECT_NE(each.err(), context_end::none);
      for (auto& each : all) co_await each.join();
      int stopped = 0;
      for (auto& each : callbacks) {
        if (each.stop() == stop_result::stopped) ++stopped;
      }
      callbacks.clear();
      EXPECT_EQ(calls + stopped, 8);
    }
  });
}

}  // namespace
}  // namespace foliot::runtime
