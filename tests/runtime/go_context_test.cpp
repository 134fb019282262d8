// The tests of Go's context package, under their names. docs/go-parity.md has the table.
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

std::string what(const std::exception_ptr& error) {
  if (error == nullptr) return "none";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

/// Checks that the context is done at that instant and not before.
task<> ends_at(context which, instant when) {
  co_await which.done();
  EXPECT_EQ(now(), when);
  EXPECT_EQ(which.err(), context_end::deadline_exceeded);
}

TEST(GoContext, TestDeadline) {
  test::in_virtual_worlds([]() -> task<> {
    auto plain = with_deadline(background(), now() + 50ms);
    EXPECT_EQ(plain.deadline(), now() + 50ms);
    co_await ends_at(plain, now() + 50ms);
    auto outer = with_deadline(background(), now() + 50ms);
    auto wrapped = with_cancel(outer);
    EXPECT_EQ(wrapped.deadline(), outer.deadline());
    co_await ends_at(wrapped, now() + 50ms);
    auto near = with_deadline(background(), now() + 50ms);
    auto far = with_deadline(near, now() + 4s);
    EXPECT_EQ(far.deadline(), near.deadline());
    EXPECT_EQ(counters().timers, 1U);  // the farther one needs none
    co_await ends_at(far, now() + 50ms);
    auto past = with_deadline(background(), now() - 1ns);
    co_await ends_at(past, now());
    auto at_once = with_deadline(background(), now());
    co_await ends_at(at_once, now());
    EXPECT_EQ(counters().timers, 0U);
  });
}

TEST(GoContext, TestTimeout) {
  test::in_virtual_worlds([]() -> task<> {
    auto plain = with_timeout(background(), 50ms);
    co_await ends_at(plain, now() + 50ms);
    auto outer = with_timeout(background(), 50ms);
    auto wrapped = with_cancel(outer);
    co_await ends_at(wrapped, now() + 50ms);
    auto near = with_timeout(background(), 50ms);
    auto in_between = with_cancel(near);
    auto far = with_timeout(in_between, 1s);
    co_await ends_at(far, now() + 50ms);
  });
}

TEST(GoContext, TestCanceledTimeout) {
  test::in_virtual_worlds([]() -> task<> {
    auto outer = with_timeout(background(), 1s);
    auto inner = with_cancel(outer);
    outer.cancel();
    EXPECT_EQ(inner.err(), context_end::cancelled);  // on return, not soon after
    EXPECT_EQ(counters().timers, 0U);
    co_await inner.done();
  });
}

task<> layers(bool times_out, std::uint64_t seed) {
  random_stream random(seed);
  std::vector<cancel_context> all;
  all.push_back(with_cancel(background()));
  for (int i = 0; i < 30; ++i) {
    const context above = all.back();
    if (random.below(2) == 0) {
      all.push_back(with_cancel(above));
    } else {
      all.push_back(with_timeout(above, 200ms + duration::nanoseconds(static_cast<std::int64_t>(random.below(1000)))));
    }
  }
  all.push_back(with_timeout(all.back(), 300ms));
  EXPECT_FALSE(all.back().deadline().is_never());
  const instant last = all.back().deadline();
  if (!times_out) all.front().cancel();
  co_await all.back().done();
  EXPECT_EQ(all.back().err(), times_out ? context_end::deadline_exceeded : context_end::cancelled);
  if (times_out) {
    EXPECT_EQ(now(), last);
  } else {
    EXPECT_EQ(counters().timers, 0U);
  }
}

TEST(GoContext, TestLayersCancel) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    test::in_virtual_worlds([seed] { return layers(false, seed); });
  }
}
TEST(GoContext, TestLayersTimeout) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    test::in_virtual_worlds([seed] { return layers(true, seed); });
  }
}

TEST(GoContext, TestSimultaneousCancels) {
  test::on_real_processors([]() -> task<> {
    auto root = with_cancel(background());
    std::vector<cancel_context> tree;
    for (std::size_t i = 0; i < 10; ++i) {
      tree.push_back(with_cancel(i == 0 ? context(root) : context(tree[i - 1])));
      tree.push_back(with_cancel(context(tree.back())));
    }
    auto cancels = [](cancel_context& which) -> task<> {
      which.cancel();
      co_return;
    };
    std::vector<join_handle<>> all;
    for (auto& each : tree) all.push_back(spawn(cancels(each)));
    for (auto& each : tree) {
      co_await each.done();
      EXPECT_EQ(each.err(), context_end::cancelled);
    }
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(root.err(), context_end::none);
  });
}

TEST(GoContext, TestInterlockedCancels) {
  test::everywhere([]() -> task<> {
    auto parent = with_cancel(background());
    auto child = with_cancel(parent);
    auto follows = [](context first, cancel_context& second) -> task<> {
      co_await first.done();
      second.cancel();
    };
    auto other = spawn(follows(parent, child));
    parent.cancel();
    co_await child.done();
    EXPECT_EQ(child.err(), context_end::cancelled);
    co_await other.join();
  });
}

TEST(GoContext, TestParentFinishesChild) {
  test::in_virtual_worlds([]() -> task<> {
    auto parent = with_cancel(background());
    auto child = with_cancel(parent);
    auto timed = with_timeout(parent, 10h);
    parent.cancel();
    for (const context& each : {context(parent), context(child), context(timed)}) {
      co_await each.done();
      EXPECT_EQ(each.err(), context_end::cancelled);
    }
    auto late = with_cancel(parent);  // of one that is done: done
    EXPECT_EQ(late.err(), context_end::cancelled);
    EXPECT_EQ(counters().timers, 0U);
  });
}

TEST(GoContext, TestChildFinishesFirst) {
  test::in_virtual_worlds([]() -> task<> {
    auto parent = with_cancel(background());
    for (const context& above : {background(), context(parent)}) {
      auto child = with_cancel(above);
      child.cancel();
      co_await child.done();
      EXPECT_EQ(child.err(), context_end::cancelled);
      EXPECT_EQ(above.err(), context_end::none);
    }
  });
}

TEST(GoContext, TestCancelRemoves) {
  test::in_virtual_worlds([]() -> task<> {
    auto parent = with_timeout(background(), 1h);
    const auto captured = std::make_shared<int>(0);
    {
      auto child = with_timeout(parent, 1min);
      EXPECT_EQ(counters().timers, 2U);
      auto call = after_func(child, [captured] {});
      EXPECT_EQ(captured.use_count(), 2);
      EXPECT_EQ(call.stop(), stop_result::stopped);
    }
    EXPECT_EQ(counters().timers, 1U);
    EXPECT_EQ(captured.use_count(), 1);
    parent.cancel();
    EXPECT_EQ(counters().timers, 0U);
    co_return;
  });
}

TEST(GoContext, TestCause) {
  test::in_virtual_worlds([]() -> task<> {
    const auto own = std::make_exception_ptr(std::runtime_error("own"));
    const auto other = std::make_exception_ptr(std::runtime_error("other"));
    EXPECT_EQ(what(background().cause()), "none");
    auto parent = with_cancel(background());
    auto child = with_cancel(parent);
    EXPECT_EQ(what(child.cause()), "none");
    child.cancel(own);
    child.cancel(other);  // too late
    EXPECT_EQ(what(child.cause()), "own");
    EXPECT_EQ(what(parent.cause()), "none");
    auto second = with_cancel(parent);
    parent.cancel(other);
    EXPECT_EQ(what(second.cause()), "other");
    EXPECT_EQ(what(child.cause()), "own");
    auto plain = with_cancel(background());
    plain.cancel();
    EXPECT_EQ(what(plain.cause()), "foliot: the context was cancelled");
    auto timed = with_timeout(background(), 1ms, own);
    auto silent = with_timeout(background(), 1ms);
    auto stopped = with_timeout(background(), 1ms, own);
    stopped.cancel();
    co_await sleep(2ms);
    EXPECT_EQ(what(timed.cause()), "own");
    EXPECT_EQ(timed.err(), context_end::deadline_exceeded);
    EXPECT_EQ(what(silent.cause()), "foliot: the context's deadline has passed");
    EXPECT_EQ(what(stopped.cause()), "foliot: the context was cancelled");
    auto past = with_deadline(background(), now() - 1ms, other);
    EXPECT_EQ(what(past.cause()), "other");
  });
}

TEST(GoContext, TestCauseRace) {
  test::on_real_processors([]() -> task<> {
    auto one = with_cancel(background());
    auto cancels = [](cancel_context& which) -> task<> {
      which.cancel(std::make_exception_ptr(std::runtime_error("why")));
      co_return;
    };
    auto other = spawn(cancels(one));
    while (one.err() == context_end::none) co_await yield();
    EXPECT_EQ(what(one.cause()), "why");
    co_await other.join();
  });
}

// ---- AfterFunc

TEST(GoContext, TestAfterFuncCalledAfterCancel) {
  test::in_virtual_worlds([]() -> task<> {
    auto one = with_cancel(background());
    int calls = 0;
    auto call = after_func(one, [&calls] { ++calls; });
    co_await sleep(1s);
    EXPECT_EQ(calls, 0);
    one.cancel();
    co_await sleep(1s);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(call.stop(), stop_result::idle);
  });
}

TEST(GoContext, TestAfterFuncCalledAfterTimeout) {
  test::in_virtual_worlds([]() -> task<> {
    auto one = with_timeout(background(), 10ms);
    const instant start = now();
    std::optional<instant> called;
    auto call = after_func(one, [&called] { called = now(); });
    co_await sleep(1s);
    EXPECT_EQ(called, start + 10ms);
  });
}

TEST(GoContext, TestAfterFuncCalledImmediately) {
  test::in_virtual_worlds([]() -> task<> {
    auto one = with_cancel(background());
    one.cancel();
    int calls = 0;
    auto call = after_func(one, [&calls] { ++calls; });
    co_await sleep(1ns);
    EXPECT_EQ(calls, 1);
  });
}

TEST(GoContext, TestAfterFuncNotCalledAfterStop) {
  test::in_virtual_worlds([]() -> task<> {
    auto one = with_cancel(background());
    int calls = 0;
    auto call = after_func(one, [&calls] { ++calls; });
    EXPECT_EQ(call.stop(), stop_result::stopped);
    one.cancel();
    co_await sleep(1s);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(call.stop(), stop_result::idle);
    auto of_none = after_func(background(), [&calls] { ++calls; });
    EXPECT_EQ(of_none.stop(), stop_result::stopped);
    EXPECT_EQ(of_none.stop(), stop_result::idle);
  });
}

// This test checks that a cancel does not wait for the function.
TEST(GoContext, TestAfterFuncCalledAsynchronously) {
  test::in_virtual_worlds([]() -> task<> {
    auto one = with_cancel(background());
    int calls = 0;
    auto call = after_func(one, [&calls] { ++calls; });
    one.cancel();
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(call.stop(), stop_result::stopped);  // nor is it too late to take it back
    co_await sleep(1s);
    EXPECT_EQ(calls, 0);
  });
}

}  // namespace
}  // namespace foliot::runtime
