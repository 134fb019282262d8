// The pauses between the turns of the rotation.
#include <gtest/gtest.h>

#include <chrono>

#include "jobs/postgresql/backoff.hpp"

namespace foliot::jobs::detail {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesWithEachFailureUpToTheLongest) {
  backoff rotations(1s, 30s);
  EXPECT_EQ(rotations.pause(), 1s);
  for (const duration expected : {2s, 4s, 8s, 16s, 30s, 30s}) {
    rotations.note_failure();
    EXPECT_EQ(rotations.pause(), expected);
  }
}

TEST(Backoff, IsTheShortestAgainAfterOneSuccess) {
  backoff rotations(1s, 30s);
  for (int i = 0; i < 10; ++i) rotations.note_failure();
  rotations.note_success();
  EXPECT_EQ(rotations.pause(), 1s);
  rotations.note_success();
  EXPECT_EQ(rotations.pause(), 1s);
  rotations.note_failure();
  EXPECT_EQ(rotations.pause(), 2s);
}

}  // namespace
}  // namespace foliot::jobs::detail
