// What a pinned_callback_timer can beyond what callback_timer_test.cpp shows of both: it lies in the user's object, and
// may be destroyed anywhere.
#include <foliot/runtime/pinned_callback_timer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "support/allocations.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using any_function = std::function<void()>;

static_assert(!std::is_copy_constructible_v<pinned_callback_timer<any_function>>);
static_assert(!std::is_move_constructible_v<pinned_callback_timer<any_function>>);
static_assert(!pinned_callback_function<void()> && !pinned_callback_function<int>);
static_assert(sizeof(pinned_callback_timer<void (*)()>) <= 168);

/// A place for one timer after the other, at the same address. What was there is overwritten: the next use of a timer
/// that is gone finds nothing.
template <class Timer>
class place_for {
 public:
  place_for() = default;
  place_for(const place_for&) = delete;
  place_for& operator=(const place_for&) = delete;
  ~place_for() {
    if (there_) clear();
  }

  template <class... Arguments>
  void make(Arguments&&... arguments) {
    new (room_.data()) Timer(std::forward<Arguments>(arguments)...);
    there_ = true;
  }
  void clear() {
    there_ = false;
    std::destroy_at(&timer());
    room_.fill(std::byte{0xdd});
  }
  [[nodiscard]] bool is_there() const { return there_; }
  Timer& timer() { return *std::launder(reinterpret_cast<Timer*>(room_.data())); }

 private:
  alignas(Timer) std::array<std::byte, sizeof(Timer)> room_{};
  bool there_ = false;
};
using pinned_place = place_for<pinned_callback_timer<any_function>>;

TEST(PinnedCallbackTimer, TakesEachKindOfFunction) {
  test::in_virtual_worlds([]() -> task<> {
    static int called;
    called = 0;
    int aligned = 0;
    struct alignas(64) wide {
      int* aligned;
      void operator()() const { *aligned += reinterpret_cast<std::uintptr_t>(this) % 64 == 0 ? 1 : 0; }
    };
    pinned_callback_timer function(1ms, static_cast<void (*)()>([] { ++called; }));
    pinned_callback_timer owns(1ms, [one = std::make_unique<int>(1)] { called += *one; });
    pinned_callback_timer large(now() + 1ms, [bytes = std::array<char, 1000>{1}] { called += bytes[0]; });
    // Not in the coroutine's frame, which aligns nothing so strictly.
    const auto on_its_line = std::make_unique<pinned_callback_timer<wide>>(1ms, wide{&aligned});
    co_await sleep(2ms);
    EXPECT_EQ(called, 3);
    EXPECT_EQ(aligned, 1);
    EXPECT_EQ(owns.reset(1ms), reset_result::idle) << "the closure is back in the object";
    EXPECT_EQ(large.reset(1ms), reset_result::idle);
    co_await sleep(2ms);
    EXPECT_EQ(called, 5);
  });
}

TEST(PinnedCallbackTimer, NeedsARuntimeAndAFunction) {
  EXPECT_THROW(static_cast<void>(pinned_callback_timer(1s, [] {})), std::logic_error);
  test::in_virtual_worlds([]() -> task<> {
    void (*null)() = nullptr;
    EXPECT_THROW(static_cast<void>(pinned_callback_timer(1s, null)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(pinned_callback_timer(any_function())), std::invalid_argument);
    EXPECT_EQ(counters().timers, 0U);
    co_return;
  });
}

TEST(PinnedCallbackTimer, RefusesATimePointOfAnotherClockAndThenThereIsNoTimer) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  run(
      []() -> task<> {
        const auto captured = std::make_shared<int>(0);
        const auto make = [&captured] {
          static_cast<void>(pinned_callback_timer(std::chrono::steady_clock::time_point(), [captured] {}));
        };
        EXPECT_THROW(make(), std::invalid_argument);
        EXPECT_EQ(captured.use_count(), 1);
        EXPECT_EQ(counters().timers, 0U);
        co_return;
      }(),
      options);
}

#if !defined(FOLIOT_SANITIZED)
TEST(PinnedCallbackTimer, AllocatesNothingOfItsOwn) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  run(
      []() -> task<> {
        const pinned_callback_timer first(1ms, [] {});  // the queue has room from here on
        const test::allocation_count allocations;
        pinned_callback_timer t([bytes = std::array<char, 200>{}] { static_cast<void>(bytes); });
        EXPECT_EQ(t.reset(2ms), reset_result::idle);
        EXPECT_EQ(t.reset(1ms), reset_result::superseded);
        EXPECT_EQ(t.stop(), stop_result::stopped);
        EXPECT_EQ(allocations.so_far(), 0U);
        co_return;
      }(),
      options);
}
#endif

// ---------------------------------------------------------------- destroyed in a callback

TEST(PinnedCallbackTimer, IsDestroyedInItsOwnCallback) {
  test::everywhere([]() -> task<> {
    const auto captured = std::make_shared<int>(0);
    for (int round = 0; round < 20; ++round) {
      pinned_place place;
      std::atomic<bool> over{false};
      std::atomic<bool> may_run{false};
      place.make([&place, &over, &may_run, captured] {
        while (!may_run) {  // the constructor, or the reset, has returned
        }
        place.clear();
        EXPECT_EQ(captured.use_count(), 2) << "the captures are there until the function returns";
        ++*captured;
        over = true;
      });
      place.timer().reset(round % 2 == 0 ? 0us : 1us);
      may_run = true;
      while (!over || captured.use_count() != 1) co_await sleep(10us);
    }
    EXPECT_EQ(*captured, 20);
  });
}

// The new timer must not take the call that goes on for its own: it waits for its callback, as from any other.
TEST(PinnedCallbackTimer, AnotherOneTakesItsAddressInItsOwnCallback) {
  test::in_virtual_worlds([]() -> task<> {
    std::vector<int> calls;
    pinned_place place;
    place.make(1ms, [&] {
      place.clear();
      place.make(1ms, [&calls] { calls.push_back(2); });
      EXPECT_EQ(place.timer().reset(2ms), reset_result::superseded);
      EXPECT_EQ(place.timer().stop(), stop_result::stopped) << "it does not run";
      EXPECT_EQ(place.timer().reset(2ms), reset_result::idle);
      calls.push_back(1);
    });
    co_await sleep(10ms);
    EXPECT_EQ(calls, (std::vector{1, 2}));
  });
}

TEST(PinnedCallbackTimer, ResetsItselfInItsOwnCallback) {
  test::everywhere([]() -> task<> {
    std::atomic<int> calls{0};
    std::optional<pinned_callback_timer<any_function>> t;
    t.emplace([&] {
      if (++calls < 5) {
        EXPECT_EQ(t->reset(0ns), reset_result::running);
        EXPECT_EQ(t->stop(), stop_result::stopped);
        EXPECT_EQ(t->reset(0ns), reset_result::running);
      }
    });
    EXPECT_EQ(t->reset(0ns), reset_result::idle);
    while (calls < 5) co_await sleep(10us);
    co_await t->stop_and_wait();
    EXPECT_EQ(calls, 5);
  });
}

// The start that is due while the callback runs goes with the object.
TEST(PinnedCallbackTimer, ResetsAndThenDestroysItselfInItsOwnCallback) {
  test::in_virtual_worlds([]() -> task<> {
    int calls = 0;
    pinned_place place;
    place.make(1ms, [&] {
      ++calls;
      place.timer().reset(0ns);
      place.clear();
    });
    co_await sleep(10ms);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(counters().timers, 0U);
  });
}

/// Timers of both kinds that are due at once. Each destroys some others when it is called; the rest of the list must be
/// called, in its order.
class due_at_once {
 public:
  due_at_once(std::uint64_t seed, std::size_t count) : random_(seed), pinned_(count), handles_(count) {}

  void start() {
    for (std::size_t i = 0; i < pinned_.size(); ++i) {
      if (random_.below(3) == 0) {
        handles_[i] = after_func(1ms, [this, i] { call(i); });
      } else {
        pinned_[i].make(1ms, [this, i] { call(i); });
      }
    }
  }
  void expect_all_over() const { EXPECT_EQ(order_.size() + gone_before_, pinned_.size()) << "each has one end"; }
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

 private:
  [[nodiscard]] bool is_gone(std::size_t i) const { return !pinned_[i].is_there() && !handles_[i]; }
  void call(std::size_t i) {
    EXPECT_FALSE(is_gone(i)) << "called after its end";
    EXPECT_FALSE(called_[i]);
    called_[i] = true;
    order_.push_back(i);
    for (std::uint64_t left = random_.below(4); left > 0; --left) destroy(random_.below(pinned_.size()));
    if (random_.below(4) == 0) destroy(i);
  }
  void destroy(std::size_t i) {
    if (is_gone(i)) return;
    if (!called_[i]) ++gone_before_;
    if (pinned_[i].is_there()) pinned_[i].clear();
    handles_[i] = callback_timer();
  }

  random_stream random_;
  std::vector<pinned_place> pinned_;
  std::vector<callback_timer> handles_;
  std::vector<bool> called_ = std::vector<bool>(pinned_.size());
  std::size_t gone_before_ = 0;
  std::vector<std::size_t> order_;
};

TEST(PinnedCallbackTimer, IsDestroyedByAnEarlierCallbackOfTheSameList) {
  std::uint64_t seed = 0;
  test::in_virtual_worlds([&seed]() -> task<> {
    for (const std::size_t count : {2U, 3U, 10U, 300U}) {  // 256 are due in one turn
      SCOPED_TRACE("seed " + std::to_string(++seed));
      due_at_once all(seed, count);
      all.start();
      co_await sleep(2ms);
      all.expect_all_over();
    }
  });
}

TEST(PinnedCallbackTimer, AListIsCalledInTheOrderOfItsDeadlines) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.shuffles_ties = false;
    run(
        [](std::uint64_t with) -> task<> {
          due_at_once all(with, 50);
          all.start();
          co_await sleep(2ms);
          EXPECT_TRUE(std::ranges::is_sorted(all.order()));
          all.expect_all_over();
        }(seed),
        options);
  }
}

/// It owns itself by its closure: the timer ends inside the destructor of a capture.
struct owns_itself {
  explicit owns_itself(std::atomic<int>& ends) : ended(ends) {}
  owns_itself(const owns_itself&) = delete;
  owns_itself& operator=(const owns_itself&) = delete;
  ~owns_itself() { ++ended; }

  std::atomic<int>& ended;
  std::optional<pinned_callback_timer<any_function>> timer;
};

TEST(PinnedCallbackTimer, IsDestroyedInTheDestructorOfACapture) {
  test::everywhere([]() -> task<> {
    std::atomic<int> ended{0};
    {
      auto object = std::make_shared<owns_itself>(ended);
      auto& timer = object->timer;
      timer.emplace([object] {});
      object.reset();
      EXPECT_EQ(ended, 0);
      auto end = timer->stop_and_wait();
      EXPECT_EQ(co_await end, stop_result::idle);
      EXPECT_EQ(ended, 1);
    }
  });
}

// ---------------------------------------------------------------- other threads

TEST(PinnedCallbackTimer, IsStoppedByAnotherThreadWhileItRuns) {
  test::on_real_processors([]() -> task<> {
    std::atomic<bool> runs{false};
    std::atomic<bool> goes_on{false};
    std::atomic<bool> returned{false};
    std::optional<pinned_callback_timer<any_function>> t;
    t.emplace([&] {
      runs = true;
      while (!goes_on) std::this_thread::yield();
      returned = true;
    });
    t->reset(0ns);
    std::thread other([&] {
      while (!runs) std::this_thread::yield();
      EXPECT_EQ(t->stop(), stop_result::running);
      std::thread releases([&goes_on] { goes_on = true; });
      t.reset();
      EXPECT_TRUE(returned) << "the destructor waits for the callback";
      releases.join();
    });
    while (!returned) co_await sleep(10us);
    other.join();
  });
}

TEST(PinnedCallbackTimer, IsDestroyedByAnotherThreadAtTheMomentOfItsCall) {
  test::on_real_processors([]() -> task<> {
    std::atomic<int> calls{0};
    for (int round = 0; round < 100; ++round) {
      std::vector<std::unique_ptr<pinned_place>> all;
      for (int i = 0; i < 20; ++i) {
        all.push_back(std::make_unique<pinned_place>());
        all.back()->make(std::chrono::microseconds(i % 4), [&calls] { ++calls; });
      }
      if (round % 2 == 0) co_await yield();
      for (std::size_t i = 0; i < all.size(); ++i) all[(i * 7) % all.size()]->clear();
    }
    EXPECT_LE(calls, 2000);
  });
}

/// A table of one object, as servers have them: the thread that takes the object out under the lock destroys it after
/// that.
class table_of_one {
 public:
  table_of_one(std::atomic<int>& calls, std::atomic<int>& returned) : calls_(calls), returned_(returned) {}
  void arm(duration delay) {
    const std::lock_guard held(lock_);
    timer_ = std::make_unique<pinned_callback_timer<any_function>>([this] { call(); });
    timer_->reset(delay);
  }
  void end() {
    std::unique_ptr<pinned_callback_timer<any_function>> taken;  // destroyed after the lock
    const std::lock_guard held(lock_);
    taken = std::move(timer_);
  }

 private:
  void call() {
    ++calls_;
    std::atomic<int>& returned = returned_;
    end();
    ++returned;
  }

  std::atomic<int>& calls_;
  std::atomic<int>& returned_;
  std::mutex lock_;
  std::unique_ptr<pinned_callback_timer<any_function>> timer_;
};

TEST(PinnedCallbackTimer, IsDestroyedByItsCallbackOrByAnotherThread) {
  test::on_real_processors([]() -> task<> {
    std::atomic<int> calls{0};
    std::atomic<int> returned{0};
    std::vector<std::unique_ptr<table_of_one>> all;
    for (int round = 0; round < 100; ++round) {
      all.push_back(std::make_unique<table_of_one>(calls, returned));
      all.back()->arm(std::chrono::microseconds(round % 3));
      if (round % 2 == 0) co_await yield();
      std::thread outside([&all] { all.back()->end(); });
      all.back()->end();
      outside.join();
    }
    // A callback that has destroyed its own timer may still be in its last lines.
    while (returned != calls) co_await sleep(10us);
    EXPECT_LE(calls, 100);
  });
}

// ---------------------------------------------------------------- the end of the runtime

TEST(PinnedCallbackTimer, TheRuntimeEndsWhileItIsPendingOrDue) {
  for (const std::string_view kind : test::kinds_of_timers) {
    for (const std::size_t processors : {1U, 3U}) {
      for (int round = 0; round < 30; ++round) {
        const auto captured = std::make_shared<int>(0);
        std::vector<pinned_place> places(20);
        run_options options;
        options.processors = processors;
        options.timers = kind;
        run(
            [](std::vector<pinned_place>& all, std::shared_ptr<int> what) -> task<> {
              for (std::size_t i = 0; i < all.size(); ++i) {
                all[i].make(i % 2 == 0 ? duration(std::chrono::microseconds(i)) : duration(1h), [what] {});
              }
              co_return;
            }(places, captured),
            options);
        for (pinned_place& each : places) {
          EXPECT_EQ(each.timer().stop(), stop_result::idle);
          EXPECT_EQ(each.timer().reset(0ns), reset_result::closed);
          each.clear();
        }
        EXPECT_EQ(captured.use_count(), 1);
      }
    }
  }
}

// ---------------------------------------------------------------- exceptions

TEST(PinnedCallbackTimer, WhatItThrowsIsReportedAndTheReportMayDestroyIt) {
  pinned_place place;
  std::vector<std::string> failures;
  const auto captured = std::make_shared<int>(0);
  run_options options;
  options.on_failure = [&](std::string_view name, const std::exception_ptr&) {
    failures.emplace_back(name);
    if (failures.size() == 2) place.clear();
  };
  test::in_virtual_worlds(
      [&]() -> task<> {
        failures.clear();
        place.make(1ms, [captured] { throw std::runtime_error("no"); });
        co_await sleep(2ms);
        EXPECT_EQ(place.timer().reset(1ms), reset_result::idle) << "the closure is back in the object";
        co_await sleep(2ms);
        EXPECT_EQ(failures, (std::vector<std::string>(2, "pinned_callback_timer")));
        EXPECT_FALSE(place.is_there());
        EXPECT_EQ(captured.use_count(), 1);
      },
      options);
}

TEST(PinnedCallbackTimer, WhatItThrowsIsReportedAfterItsObjectIsGone) {
  int failures = 0;
  run_options options;
  options.on_failure = [&failures](std::string_view, const std::exception_ptr&) { ++failures; };
  test::in_virtual_worlds(
      [&failures]() -> task<> {
        failures = 0;
        pinned_place place;
        place.make(1ms, [&place] {
          place.clear();
          throw std::runtime_error("no");
        });
        co_await sleep(2ms);
        EXPECT_EQ(failures, 1);
      },
      options);
}

}  // namespace
}  // namespace foliot::runtime
