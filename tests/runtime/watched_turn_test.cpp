// The turn that the monitor watches, at times that the test gives.
#include "watched_turn.hpp"

#include <chrono>
#include <source_location>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::runtime::detail {
namespace {

using namespace std::chrono_literals;

constexpr instant begin = instant::from_nanoseconds(1'000'000);

TEST(WatchedTurn, IsReportedBehindItsLimitAndThenWhenItHasTakenTwiceAsLong) {
  watched_turn watched;
  EXPECT_FALSE(watched.overdue(instant::never() - 1ns)) << "there is no turn";
  const auto here = std::source_location::current();
  watched.begin(begin, task_name_copy("name"), here, 10ms);
  EXPECT_FALSE(watched.overdue(begin + 10ms));
  const auto first = watched.overdue(begin + 10ms + 1ns);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->running, 10ms + 1ns);
  EXPECT_STREQ(first->name.get(), "name");
  EXPECT_EQ(first->resumed_at.line(), here.line());
  EXPECT_EQ(first->thread, seam::this_thread_id());
  EXPECT_FALSE(watched.overdue(begin + 10ms + 1ns));
  EXPECT_FALSE(watched.overdue(begin + 20ms + 2ns));
  const auto second = watched.overdue(begin + 35ms);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->running, 35ms);
  EXPECT_FALSE(watched.overdue(begin + 70ms));
  EXPECT_TRUE(watched.overdue(begin + 70ms + 1ns));
}

TEST(WatchedTurn, ThatHasEndedIsNotReported) {
  watched_turn watched;
  watched.begin(begin, task_name_copy("first"), {}, 10ms);
  watched.end();
  EXPECT_FALSE(watched.overdue(begin + 1h));
  watched.begin(begin + 1h, task_name_copy("second"), {}, 10ms);
  EXPECT_FALSE(watched.overdue(begin + 1h + 10ms));
  const auto report = watched.overdue(begin + 2h);
  ASSERT_TRUE(report);
  EXPECT_STREQ(report->name.get(), "second");
  EXPECT_EQ(report->running, 1h);
}

TEST(WatchedTurn, ALongNameIsCut) {
  const std::string name(100, 'x');
  EXPECT_EQ(std::string_view(task_name_copy(name).get()), std::string(63, 'x'));
  EXPECT_STREQ(task_name_copy().get(), "");
}

}  // namespace
}  // namespace foliot::runtime::detail
