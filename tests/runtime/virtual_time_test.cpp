#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

TEST(VirtualTime, JumpsToTheNextDeadlineAndNoFurther) {
  test::in_virtual_worlds([]() -> task<> {
    const instant begin = now();
    co_await sleep(24h);
    EXPECT_EQ(now(), begin + 24h);
    auto other = spawn([]() -> task<> { co_await sleep(3s); }());
    co_await sleep(1s);
    EXPECT_EQ(now(), begin + 24h + 1s);
    co_await other.join();
    EXPECT_EQ(now(), begin + 24h + 3s);
  });
}

TEST(VirtualTime, ADeadlockNamesEachTaskAndWhereItWaits) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  try {
    run(
        []() -> task<> {
          auto stuck = spawn([]() -> task<> { co_await sleep_until(instant::never()); }(), "stuck");
          co_await stuck.join();
        }(),
        options);
    ADD_FAILURE() << "that is a deadlock";
  } catch (const deadlock& found) {
    const std::string text = found.what();
    EXPECT_NE(text.find("nothing will ever happen"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  main waits at virtual_time_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  stuck waits at virtual_time_test.cpp:"), std::string::npos) << text;
  }
}

std::vector<int> order_of(std::uint64_t seed, std::size_t processors) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  options.seed = seed;
  options.processors = processors;
  std::vector<int> order;
  auto one = [](std::vector<int>& all, int i) -> task<> {
    for (int n = 0; n < 3; ++n) {
      co_await sleep(std::chrono::milliseconds(i % 4));
      co_await yield();
      all.push_back(i);
    }
  };
  run(
      [](auto& make, std::vector<int>& all) -> task<> {
        std::vector<join_handle<>> handles;
        for (int i = 0; i < 20; ++i) handles.push_back(spawn(make(all, i)));
        for (auto& each : handles) co_await each.join();
      }(one, order),
      options);
  return order;
}

TEST(VirtualTime, ASeedRepeatsARunAndAnotherOneIsAnother) {
  for (const std::size_t processors : {1U, 2U, 4U}) {
    EXPECT_EQ(order_of(7, processors), order_of(7, processors));
  }
  EXPECT_NE(order_of(1, 4), order_of(2, 4));
}

}  // namespace
}  // namespace foliot::runtime
