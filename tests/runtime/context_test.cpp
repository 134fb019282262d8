#include <foliot/runtime/context.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
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

// A context whose owner was released: only its deadline, and its ancestors, end it.
TEST(Context, WithoutAnOwnerGoesWithThoseWhoKnowIt) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    context request = with_timeout(background(), 5s);
    EXPECT_EQ(request.err(), context_end::none);
    auto part = with_cancel(request);
    request = background();
    EXPECT_EQ(counters().timers, 1U);  // `part` ends with it still
    co_await part.done();
    EXPECT_EQ(now(), begin + 5s);
    EXPECT_EQ(part.err(), context_end::deadline_exceeded);

    auto above = with_cancel(background());
    context first = with_timeout(above, 1h);
    context second = with_cancel(above);
    context third = with_timeout(second, 1h);
    EXPECT_EQ(counters().timers, 2U);
    first = background();
    second = background();
    EXPECT_EQ(counters().timers, 1U);
    above.cancel();
    EXPECT_EQ(third.err(), context_end::cancelled);
    EXPECT_EQ(counters().timers, 0U);
  });
}

TEST(Context, NeedsNoTimerForADeadlineThatNeverComes) {
  test::in_virtual_worlds([]() -> task<> {
    const auto forever = with_timeout(background(), duration::forever());
    const auto never = with_deadline(forever, instant::never());
    EXPECT_EQ(never.deadline(), instant::never());
    EXPECT_EQ(counters().timers, 0U);
    co_return;
  });
}

TEST(Context, BelowOneThatIsDoneIsDone) {
  test::in_virtual_worlds([]() -> task<> {
    auto above = with_timeout(background(), 1h);
    above.cancel(std::make_exception_ptr(std::runtime_error("why")));
    for (const auto& below : {context(with_cancel(above)), context(with_timeout(above, 1s)),
                              context(with_timeout(above, -1s)), context(with_timeout(above, 2h))}) {
      EXPECT_EQ(below.err(), context_end::cancelled);
      EXPECT_NE(below.cause(), nullptr);
      EXPECT_EQ(below.cause(), above.cause());
      co_await below.done();
    }
    EXPECT_EQ(counters().timers, 0U);
  });
}

TEST(Context, BelowOneWhoseDeadlineHasPassedHasNoLaterDeadline) {
  test::in_virtual_worlds([]() -> task<> {
    const auto past = with_timeout(background(), -1s);
    const auto passes = with_timeout(background(), 1s);
    co_await passes.done();
    for (const context& above : {context(past), context(passes)}) {
      const auto below = with_timeout(above, 1h);
      EXPECT_EQ(below.err(), context_end::deadline_exceeded);
      EXPECT_EQ(below.deadline(), above.deadline());
    }
  });
}

TEST(Context, OutlivesItsRuntime) {
  std::vector<cancel_context> made;
  run([](std::vector<cancel_context>& into) -> task<> {
    into.push_back(with_timeout(background(), 1h));
    into.push_back(with_timeout(into.back(), 1min));
    into.push_back(with_cancel(into.back()));
    into.push_back(with_timeout(background(), 1h));
    co_return;
  }(made));
  for (const context& each : made) EXPECT_EQ(each.err(), context_end::none);
  std::thread elsewhere([known = context(made.back())] { EXPECT_EQ(known.err(), context_end::none); });
  made.push_back(with_cancel(made.front()));
  made.front().cancel();
  EXPECT_EQ(made[1].err(), context_end::cancelled);
  EXPECT_EQ(made[2].err(), context_end::cancelled);
  EXPECT_EQ(made[3].err(), context_end::none);
  EXPECT_EQ(made[4].err(), context_end::cancelled);
  elsewhere.join();
}

// The context must not rely on an earlier deadline of its ancestor that no runtime keeps any more.
TEST(Context, BelowOneWhoseRuntimeHasEndedKeepsItsOwnDeadline) {
  for (const std::string_view timers : test::kinds_of_timers) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.timers = timers;
    std::optional<cancel_context> old;
    std::optional<cancel_context> below;
    const auto make = [&]() -> task<> {
      old = with_timeout(background(), 1s);
      below = with_cancel(*old);
      EXPECT_EQ(below->deadline(), now() + 1s);
      co_return;
    };
    run(make, options);
    EXPECT_EQ(old->deadline(), instant::never());
    EXPECT_EQ(below->deadline(), instant::never());
    const auto use = [&]() -> task<> {
      const instant begin = now();
      const auto later = with_timeout(*below, 5s);
      const auto earlier = with_timeout(later, 3s);
      const auto follows = with_timeout(earlier, 4s);
      const auto plain = with_cancel(*below);
      EXPECT_EQ(counters().timers, 2U)
          << "the third context has no timer: this runtime keeps the earlier deadline of its ancestor";
      EXPECT_EQ(later.deadline(), begin + 5s);
      EXPECT_EQ(earlier.deadline(), begin + 3s);
      EXPECT_EQ(follows.deadline(), begin + 3s);
      EXPECT_EQ(plain.deadline(), instant::never());
      co_await follows.done();
      EXPECT_EQ(now(), begin + 3s);
      EXPECT_EQ(earlier.err(), context_end::deadline_exceeded);
      EXPECT_EQ(later.err(), context_end::none);
      co_await later.done();
      EXPECT_EQ(now(), begin + 5s);
      EXPECT_EQ(later.err(), context_end::deadline_exceeded);
      EXPECT_EQ(plain.err(), context_end::none);
      EXPECT_EQ(old->err(), context_end::none);
      const auto past = with_timeout(*below, -1s);
      EXPECT_EQ(past.err(), context_end::deadline_exceeded);
      EXPECT_EQ(below->err(), context_end::none);
      const auto told = with_timeout(*below, 1h);
      old->cancel();
      EXPECT_EQ(told.err(), context_end::cancelled);
      EXPECT_EQ(plain.err(), context_end::cancelled);
    };
    run(use, options);
  }
}

// The runtime of the ancestor may end before the deadline comes.
TEST(Context, BelowOneOfAnotherRuntimeKeepsTheDeadlineOfThatItself) {
  run([]() -> task<> {
    const auto outer = with_timeout(background(), 1h);
    const auto use = [&outer] {
      run(
          [](const context& above) -> task<> {
            const auto inner = with_timeout(above, 2h);
            EXPECT_EQ(inner.deadline(), above.deadline());
            EXPECT_EQ(counters().timers, 1U);
            co_return;
          }(outer),
          [] {
            run_options one;
            one.processors = 1;
            return one;
          }());
    };
    co_await blocking(use);
    EXPECT_EQ(outer.err(), context_end::none);
  }());
}

// The destruction of a long chain must not recurse.
TEST(Context, ALongChainGoesWithoutRecursion) {
  constexpr std::size_t length = 300'000;
  const auto chain = [](const context& root) {
    std::vector<cancel_context> all;
    all.reserve(length);
    for (std::size_t i = 0; i < length; ++i) all.push_back(with_cancel(i == 0 ? root : all.back()));
    return all;
  };
  auto root = with_cancel(background());
  auto cancelled = chain(root);
  root.cancel();
  EXPECT_EQ(cancelled.back().err(), context_end::cancelled);
  cancelled.clear();
  context last = background();
  for (std::size_t i = 0; i < length; ++i) last = with_cancel(last);
  EXPECT_EQ(last.err(), context_end::none);
}

// A deadline comes while the last references to the context are dropped, and while an ancestor is cancelled.
TEST(Context, DeadlinesAndLettingGoRace) {
  test::on_real_processors([]() -> task<> {
    for (int round = 0; round < 200; ++round) {
      auto root = with_cancel(background());
      std::vector<join_handle<>> all;
      for (int i = 0; i < 8; ++i) {
        auto knows = [](context which, duration length) -> task<> {
          co_await sleep(length);
          const bool done = which.err() != context_end::none;
          EXPECT_TRUE(!done || which.cause() != nullptr);
        };
        const auto length = std::chrono::microseconds(20 + 5 * i);
        auto one = with_timeout(root, length);
        all.push_back(spawn(knows(one, length)));
        all.push_back(spawn(knows(with_timeout(one, 1h), length)));  // without an owner
        context third = with_timeout(background(), length);
        all.push_back(spawn(knows(std::move(third), length)));
        if (i % 2 == 0) co_await sleep(length);
      }
      root.cancel();
      for (auto& each : all) co_await each.join();
    }
    EXPECT_EQ(counters().timers, 0U);
  });
}

}  // namespace
}  // namespace foliot::runtime
