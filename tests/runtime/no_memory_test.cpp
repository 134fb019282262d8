// Allocations fail where no caller could handle the error: pending timers still fire, in order, and no loop is endless.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "support/allocations.hpp"
#include "timers_fixture.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using detail::at;
using detail::counted_timer;

/// One virtual world for each kind of timers, with as many processors.
template <class Main>
void for_each_kind(std::size_t processors, Main main, bool shuffles = false) {
  for (const std::string_view kind : test::kinds_of_timers) {
    SCOPED_TRACE(kind);
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.timers = kind;
    options.processors = processors;
    options.shuffles_ties = shuffles;
    run(main(), options);
  }
}

/// Timers in many slots; most of them are postponed.
class many_timers {
 public:
  static constexpr std::int64_t count = 5'000;

  explicit many_timers(detail::processor_timers& home) {
    order_.reserve(count);
    for (std::int64_t i = 0; i < count; ++i) {
      all_.push_back(std::make_unique<counted_timer>(&order_));
      dues_.emplace(all_.back().get(), due_at(i));
      all_.back()->reset(home, queued_at(i));
      if (i % 3 != 0) all_.back()->reset(home, due_at(i));
    }
  }
  static instant due_at(std::int64_t i) {
    return at(i % 3 != 0 ? 1'000'000 + i * 7'919 % count * 40'000 : i * 40'000 + 1);
  }

  /// Runs the due timers, from one instant to the next.
  void run_all(detail::processor_timers& home) {
    constexpr std::int64_t step = 4'000'000;
    for (std::int64_t now = 0; now <= 1'000'000 + count * 40'000 + step; now += step) {
      detail::ready_list ready;
      detail::call_list calls;
      while (home.run_due(at(now), ready, calls) && turns_ < too_many_turns) ++turns_;
      for (; checked_ < order_.size(); ++checked_) {
        if (due_of(*order_[checked_]) > at(now)) ++early_;
      }
    }
  }
  /// Must not be called while allocations fail, since a failed check allocates.
  void expect_all_fired() const {
    EXPECT_EQ(order_.size(), all_.size());
    EXPECT_EQ(early_, 0);
    EXPECT_LT(turns_, too_many_turns);
    EXPECT_TRUE(std::ranges::is_sorted(order_, {}, [this](counted_timer* each) { return due_of(*each); }));
  }

 private:
  static constexpr std::size_t too_many_turns = 10'000;

  static instant queued_at(std::int64_t i) { return at(i % 3 != 0 ? i + 1 : i * 40'000 + 1); }
  [[nodiscard]] instant due_of(const counted_timer& which) const { return dues_.at(&which); }

  std::vector<std::unique_ptr<counted_timer>> all_;
  std::unordered_map<const counted_timer*, instant> dues_;
  std::vector<counted_timer*> order_;
  std::size_t checked_ = 0;
  std::size_t turns_ = 0;
  int early_ = 0;
};

TEST(NoMemory, PendingTimersFireInOrderWhicheverAllocationFails) {
  for (const std::string_view kind : test::kinds_of_timers) {
    SCOPED_TRACE(kind);
    bool failed = true;
    for (std::size_t n = 0; failed && n < 40; ++n) {
      const auto home = detail::timers_of_kind(kind);
      many_timers timers(*home);
      {
        const test::failing_allocations failing(n);
        timers.run_all(*home);
        failed = failing.failed();
      }
      timers.expect_all_fired();
    }
  }
}

TEST(NoMemory, FoliotsTimersAreHandedOverAndResetWithoutAny) {
  const auto home = detail::timers_of_kind("foliot");
  const auto heir = detail::timers_of_kind("foliot", 1);
  many_timers timers(*home);
  counted_timer earlier;
  counted_timer stopped;
  earlier.reset(*home, at(3'000'000'000));
  stopped.reset(*home, at(4'000'000'000));
  std::size_t moved = 0;
  bool was_pending = false;
  instant first = instant::never();
  bool was_stopped = false;
  bool failed = false;
  {
    const test::failing_allocations failing;
    heir->take_all(*home);
    moved = heir->size();
    was_pending = earlier.reset(*home, at(5));
    first = heir->first();
    was_stopped = stopped.stop();
    timers.run_all(*heir);
    failed = failing.failed();
  }
  EXPECT_TRUE(failed);
  EXPECT_EQ(moved, static_cast<std::size_t>(many_timers::count) + 2);
  EXPECT_EQ(home->size(), 0U);
  EXPECT_TRUE(was_pending);
  EXPECT_EQ(earlier.lives_at(), heir.get());
  EXPECT_LE(first, at(5));
  EXPECT_TRUE(was_stopped);
  EXPECT_FALSE(stopped.stop());
  timers.expect_all_fired();
  EXPECT_EQ(earlier.fired(), 1);
  EXPECT_EQ(heir->size(), 0U);
}

TEST(NoMemory, TheEndForgetsTimersThatAreNotQueued) {
  const auto home = detail::timers_of_kind("foliot");
  const auto heir = detail::timers_of_kind("foliot", 1);
  counted_timer one;
  one.reset(*home, at(1'000'000'000));
  {
    const test::failing_allocations failing;
    heir->take_all(*home);
  }
  heir->forget_all();
  EXPECT_EQ(heir->size(), 0U);
  EXPECT_EQ(one.lives_at(), nullptr);
}

TEST(NoMemory, TimersOfOneInstantFireShuffledOnVirtualTime) {
  for_each_kind(
      2,
      []() -> task<> {
        constexpr int sleepers = 300;
        int woken = 0;
        const auto sleeps = [](int& count) -> task<> {
          co_await sleep(1h);
          ++count;
        };
        std::vector<join_handle<>> all;
        for (int i = 0; i < sleepers; ++i) all.push_back(spawn(sleeps(woken)));
        co_await sleep(1s);
        {
          const test::failing_allocations failing;  // of this thread, which is that of all processors
          co_await all.front().join();
        }
        co_await wait_idle();
        EXPECT_EQ(woken, sleepers);
      },
      true);
}

TEST(NoMemory, FunctionsOfAContextAreCalledWhenItIsCancelled) {
  for_each_kind(2, []() -> task<> {
    auto parent = with_cancel(background());
    int called = 0;
    std::vector<context_callback> all;
    for (int i = 0; i < 100; ++i) all.push_back(after_func(parent, [&called] { ++called; }));
    {
      const test::failing_allocations failing;
      parent.cancel();
    }
    co_await wait_idle();
    EXPECT_EQ(called, 100);
    auto late = after_func(parent, [&called] { ++called; });
    co_await wait_idle();
    EXPECT_EQ(called, 101);
  });
}

TEST(NoMemory, AContextFunctionThatCannotHaveItsTimerIsRefused) {
  for_each_kind(1, []() -> task<> {
    auto parent = with_cancel(background());
    int called = 0;
    bool failed = true;
    for (std::size_t n = 0; failed; ++n) {
      const test::failing_allocations failing(n);
      try {
        auto told = after_func(parent, [&called] { ++called; });
      } catch (const std::bad_alloc&) {
      }
      failed = failing.failed();
    }
    parent.cancel();
    co_await wait_idle();
    EXPECT_EQ(called, 0);
  });
}

TEST(NoMemory, ProcessorsThatCannotHandTheirTimersOverStay) {
  for_each_kind(3, []() -> task<> {
    constexpr int sleepers = 500;
    int woken = 0;
    const auto sleeps = [](int& count, int ms) -> task<> {
      co_await sleep(std::chrono::milliseconds(ms));
      ++count;
    };
    for (int i = 0; i < sleepers; ++i) spawn(sleeps(woken, 1 + i));
    co_await wait_idle();
    bool refused = false;
    {
      const test::failing_allocations failing;
      try {
        set_processors(1);
      } catch (const std::bad_alloc&) {
        refused = true;
      }
    }
    EXPECT_EQ(processors() > 1, refused);
    co_await sleep(200ms);
    set_processors(1);
    co_await sleep(1s);
    EXPECT_EQ(woken, sleepers);
  });
}

}  // namespace
}  // namespace foliot::runtime
