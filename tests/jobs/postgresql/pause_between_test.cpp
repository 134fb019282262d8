// The pauses between the turns of the rotation.
#include <gtest/gtest.h>

#include <chrono>

#include "jobs/postgresql/pause_between.hpp"

namespace foliot::jobs::detail {
namespace {

using namespace std::chrono_literals;

TEST(PauseBetween, DoublesWithEachFailureUpToTheLongest) {
  pause_between pause(1s, 30s);
  EXPECT_EQ(pause.length(), 1s);
  for (const duration expected : {2s, 4s, 8s, 16s, 30s, 30s}) {
    pause.failed();
    EXPECT_EQ(pause.length(), expected);
  }
}

TEST(PauseBetween, IsTheShortestAgainAfterOneSuccess) {
  pause_between pause(1s, 30s);
  for (int i = 0; i < 10; ++i) pause.failed();
  pause.succeeded();
  EXPECT_EQ(pause.length(), 1s);
  pause.succeeded();
  EXPECT_EQ(pause.length(), 1s);
  pause.failed();
  EXPECT_EQ(pause.length(), 2s);
}

}  // namespace
}  // namespace foliot::jobs::detail
