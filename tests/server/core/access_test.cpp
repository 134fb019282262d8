// How many come in, and who leaves.
#include "server/core/access.hpp"

#include <optional>
#include <utility>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

TEST(Access, LetsInAtMostSoMany) {
  access door(2);
  std::optional<access::place> one(door.enter());
  const access::place two = door.enter();
  EXPECT_TRUE(*one);
  EXPECT_TRUE(two);
  EXPECT_FALSE(door.enter()) << "a third one";
  EXPECT_EQ(door.why_refused(), "refuse connections: there are 2, the limit of --max-connections");
  one.reset();
  const access::place next = door.enter();
  EXPECT_TRUE(next);
  EXPECT_FALSE(door.enter());
}

TEST(Access, APlaceThatMovesIsLeftOnce) {
  access door(1);
  {
    access::place mine = door.enter();
    const access::place moved(std::move(mine));
    EXPECT_TRUE(moved);
    EXPECT_FALSE(door.enter());
  }
  EXPECT_TRUE(door.enter());
  EXPECT_TRUE(door.enter()) << "the one before was left at once";
}

TEST(Access, WithoutPlaces) {
  access door(0);
  EXPECT_FALSE(door.enter());
}

}  // namespace
}  // namespace foliot::program
