// The frames of a task that waits: how they are destroyed, and in which order.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/with_timeout.hpp>

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

template <class Main>
void in_a_virtual_world(Main main) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  options.processors = 2;
  run(main(), options);
}

task<> waits_below(int levels) {
  if (levels == 0) {
    co_await sleep(1h);
  } else {
    co_await waits_below(levels - 1);
  }
}

// Calls that would overflow a stack if each took a stack frame.
#if defined(FOLIOT_SANITIZED)
constexpr int overflows_a_stack = 200'000;  // larger frames, and slower
#else
constexpr int overflows_a_stack = 1'000'000;
#endif

TEST(Frames, AChainOfAMillionCallsIsDestroyedWhereItWaitsInConstantStack) {
  in_a_virtual_world([]() -> task<> {
    spawn(waits_below(overflows_a_stack));
    co_await sleep(1s);
  });
}

TEST(Frames, AChainOfAMillionCallsIsStoppedAndTimesOutInConstantStack) {
  in_a_virtual_world([]() -> task<> {
    auto stopped = spawn(waits_below(overflows_a_stack / 10));
    co_await sleep(1s);
    stopped.request_stop();
    bool was_cancelled = false;
    try {
      co_await stopped.join();
    } catch (const cancelled&) {
      was_cancelled = true;
    }
    EXPECT_TRUE(was_cancelled);
    const auto late = co_await with_timeout(waits_below(overflows_a_stack / 10), 1s);
    EXPECT_FALSE(late.has_value());
  });
}

class says_when_it_goes {
 public:
  says_when_it_goes(std::vector<std::string>& where, std::string what) noexcept
      : where_(&where), what_(std::move(what)) {}
  says_when_it_goes(says_when_it_goes&& other) noexcept
      : where_(std::exchange(other.where_, nullptr)), what_(std::move(other.what_)) {}
  says_when_it_goes& operator=(says_when_it_goes&&) = delete;
  ~says_when_it_goes() {
    if (where_ != nullptr) where_->push_back(what_);
  }

 private:
  std::vector<std::string>* where_;
  std::string what_;
};

task<> holds(std::vector<std::string>& gone, int levels) {
  const std::string number = std::to_string(levels);
  const says_when_it_goes first(gone, "first of " + number);
  const says_when_it_goes second(gone, "second of " + number);
  if (levels == 0) {
    co_await sleep(1h);
  } else {
    co_await holds(gone, levels - 1);
  }
}

TEST(Frames, WhatIsDestroyedWhereItWaitsGoesInTheOrderInWhichAnExceptionWouldLeaveIt) {
  const std::vector<std::string> inside_out = {"second of 0", "first of 0",  "second of 1",
                                               "first of 1",  "second of 2", "first of 2"};
  std::vector<std::string> abandoned;
  in_a_virtual_world([&abandoned]() -> task<> {
    spawn(holds(abandoned, 2));
    co_await sleep(1s);
  });
  EXPECT_EQ(abandoned, inside_out);
  std::vector<std::string> stopped;
  in_a_virtual_world([&stopped]() -> task<> {
    auto handle = spawn(holds(stopped, 2));
    co_await sleep(1s);
    handle.request_stop();
    try {
      co_await handle.join();
    } catch (const cancelled&) {
    }
  });
  EXPECT_EQ(stopped, inside_out);
}

TEST(Frames, ATaskThatIsMovedWhileItIsAwaitedIsDestroyedOnce) {
  std::vector<std::string> gone;
  in_a_virtual_world([&gone]() -> task<> {
    std::vector<task<>> all;
    all.push_back(holds(gone, 0));
    const auto awaits_the_first = [](std::vector<task<>>& of) -> task<> {
      task<>& first = of.front();
      co_await first;
    };
    spawn(awaits_the_first(all));
    co_await sleep(1s);
    for (int i = 0; i < 100; ++i) all.push_back(holds(gone, 1));  // they move, and have not begun
    co_await sleep(1s);
  });
  EXPECT_EQ(gone, (std::vector<std::string>{"second of 0", "first of 0"}));
}

}  // namespace
}  // namespace foliot::runtime
