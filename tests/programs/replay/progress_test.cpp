#include "progress.hpp"

#include <chrono>
#include <string>

#include <foliot/core/virtual_clock.hpp>
#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

TEST(Progress, SaysNothingInTheFirstSecond) {
  virtual_clock clock;
  std::string terminal;
  {
    progress bar(clock, 1000, [&](std::string_view text) { terminal += text; });
    clock.advance(999ms);
    bar.update(500, 10);
  }
  EXPECT_EQ(terminal, "");
}

TEST(Progress, ShowsHowFarItIsAndWipesItself) {
  virtual_clock clock;
  std::string terminal;
  {
    progress bar(clock, 1000, [&](std::string_view text) { terminal += text; });
    clock.advance(2s);
    bar.update(500, 2'000'000);
    EXPECT_EQ(terminal, "\r\033[K 50% [##########..........]  2,000,000 lines, 1,000,000 a second");
    terminal.clear();
  }
  EXPECT_EQ(terminal, "\r\033[K");
}

TEST(Progress, ChangesAtMostTenTimesASecond) {
  virtual_clock clock;
  int changes = 0;
  progress bar(clock, 0, [&](std::string_view) { ++changes; });
  for (int i = 0; i < 3'000; ++i) {
    clock.advance(1ms);
    bar.update(0, 1);
  }
  EXPECT_EQ(changes, 21);
}

TEST(Progress, IsLoggedEachTenSeconds) {
  virtual_clock clock;
  std::string log;
  logged_progress lines(clock, [&](std::string_view line) { log.append(line).append("\n"); }, "moved", "jobs");
  for (std::uint64_t i = 0; i < 250; ++i) {
    lines.update(1'000 * i);
    clock.advance(100ms);
  }
  EXPECT_EQ(log, "moved 100,000 jobs so far, 10,000 a second\nmoved 200,000 jobs so far, 10,000 a second\n");
}

TEST(Progress, HasNoBarWithoutASize) {
  virtual_clock clock;
  std::string terminal;
  progress bar(clock, 0, [&](std::string_view text) { terminal += text; });
  clock.advance(1s);
  bar.update(500, 1'234);
  EXPECT_EQ(terminal, "\r\033[K1,234 lines, 1,234 a second");
}

TEST(Progress, StaysWithinItsBarWhenAFileGrows) {
  virtual_clock clock;
  std::string terminal;
  progress bar(clock, 10, [&](std::string_view text) { terminal += text; });
  clock.advance(1s);
  bar.update(500, 1);
  EXPECT_NE(terminal.find("100% [####################]"), std::string::npos);
}

}  // namespace
}  // namespace foliot::program
