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
  EXPECT_EQ(door.enter().refused_by(), access_limit::all);
  EXPECT_EQ(door.refusals().by_all, 2U);
  EXPECT_EQ(door.why_refused(access_limit::all), "refuse connections: there are 2, the limit of --max-connections");
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

TEST(Access, LetsInAtMostSoManyOfAnAddress) {
  const runtime::address one = runtime::address::parse("10.0.0.1:1000").value();
  const runtime::address other = runtime::address::parse("10.0.0.2:1000").value();
  access door(access_limits{3, 1, 0});
  std::optional<access::place> first(door.enter(one));
  EXPECT_TRUE(*first);
  EXPECT_EQ(door.enter(one).refused_by(), access_limit::of_address);
  EXPECT_EQ(door.why_refused(access_limit::of_address, one),
            "refuse the connection from 10.0.0.1:1000: its address has 1, the limit of --max-connections-per-address");
  const access::place second = door.enter(other);
  EXPECT_TRUE(second);
  first.reset();
  const access::place again = door.enter(one);
  EXPECT_TRUE(again);
  const access::place local = door.enter(runtime::address::parse("unix:socket").value());
  EXPECT_TRUE(local) << "it has no address";
  EXPECT_EQ(door.enter(runtime::address::parse("10.0.0.3:1").value()).refused_by(), access_limit::all);
  EXPECT_EQ(door.refusals().by_address, 1U);
  EXPECT_EQ(door.refusals().by_all, 1U);
}

TEST(Access, APlaceOfAnAddressIsLeftWhereThereIsNoneForAll) {
  const runtime::address one = runtime::address::parse("10.0.0.1:1000").value();
  access door(access_limits{1, 1, 0});
  {
    const access::place mine = door.enter();
    EXPECT_EQ(door.enter(one).refused_by(), access_limit::all);
  }
  const access::place next = door.enter(one);
  EXPECT_TRUE(next) << "the refused one has left its place";
}

TEST(Access, LetsInAtMostSoManyOfAToken) {
  access door(access_limits{10, 0, 1});
  const keyed_places::place mine = door.enter_as("4f7k2m9q");
  EXPECT_TRUE(mine);
  EXPECT_FALSE(door.enter_as("4f7k2m9q"));
  const keyed_places::place other = door.enter_as("cellar");
  EXPECT_TRUE(other);
  EXPECT_EQ(door.refusals().by_token, 1U);
  EXPECT_EQ(door.why_refused(access_limit::of_token, runtime::address::parse("10.0.0.1:1000").value(), "4f7k2m9q"),
            "refuse the connection from 10.0.0.1:1000: the access token 4f7k2m9q has 1, the limit of "
            "--max-connections-per-token");
}

TEST(Access, WithoutPlaces) {
  access door(0);
  EXPECT_FALSE(door.enter());
}

}  // namespace
}  // namespace foliot::program
