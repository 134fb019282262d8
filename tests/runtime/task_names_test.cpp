// The names of tasks: literals, and texts that are gone when the task is reported.
#include <chrono>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_report.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

task<> fails_at_once() {
  co_await sleep(duration::zero());
  throw std::runtime_error("as intended");
}

TEST(TaskNames, ANameMayBeATextThatIsGone) {
  std::vector<std::string> reported;
  run_options options;
  options.on_failure = [&](std::string_view name, const std::exception_ptr&) { reported.emplace_back(name); };
  test::in_virtual_worlds(
      [&]() -> task<> {
        reported.clear();
        const std::string long_part = " of a name that does not fit into a small string";
        auto kept = spawn(fails_at_once(), "first" + long_part);
        const std::stop_source source;
        const auto function = []() -> task<> { co_await sleep(duration::forever()); };
        auto waits = spawn(function, source.get_token(), std::string_view("second" + long_part).substr(0, 20));
        co_await sleep(1ms);
        bool seen = false;
        for (const task_report& each : tasks()) seen = seen || each.name == "second of a name tha";
        EXPECT_TRUE(seen);
        waits.request_stop();
        kept = join_handle<>();  // reported when nobody can join it any more
        EXPECT_EQ(reported, std::vector<std::string>{"first" + long_part});
      },
      options);
}

TEST(TaskNames, ALiteralIsNotCopied) {
  const char* const literal = "one";
  EXPECT_EQ(task_name(literal).c_str(), literal);
  EXPECT_EQ(task_name(literal).own(), nullptr);
  EXPECT_NE(task_name(std::string(literal)).own(), nullptr);
  EXPECT_EQ(std::string(task_name(std::string()).c_str()), "");
}

}  // namespace
}  // namespace foliot::runtime
