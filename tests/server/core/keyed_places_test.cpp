// How many come in of each key, and what counts as one client's address.
#include "server/core/keyed_places.hpp"

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/runtime/net/address.hpp>

#include "server/core/client_source.hpp"

namespace foliot::program {
namespace {

TEST(KeyedPlaces, EachKeyHasItsOwn) {
  keyed_places all(2);
  std::optional<keyed_places::place> one(all.enter("a"));
  const keyed_places::place two = all.enter("a");
  EXPECT_TRUE(*one);
  EXPECT_TRUE(two);
  EXPECT_FALSE(all.enter("a")) << "a third one";
  const keyed_places::place other = all.enter("b");
  EXPECT_TRUE(other);
  one.reset();
  const keyed_places::place next = all.enter("a");
  EXPECT_TRUE(next);
  EXPECT_FALSE(all.enter("a"));
}

TEST(KeyedPlaces, APlaceThatMovesIsLeftOnce) {
  keyed_places all(1);
  {
    keyed_places::place mine = all.enter("a");
    const keyed_places::place moved(std::move(mine));
    EXPECT_TRUE(moved);
    EXPECT_FALSE(all.enter("a"));
  }
  const keyed_places::place again = all.enter("a");
  EXPECT_TRUE(again);
  EXPECT_FALSE(all.enter("a"));
}

TEST(KeyedPlaces, WithoutALimit) {
  keyed_places all(0);
  const keyed_places::place one = all.enter("a");
  const keyed_places::place two = all.enter("a");
  EXPECT_TRUE(one);
  EXPECT_TRUE(two);
}

std::string source(const std::string& text) { return source_of(runtime::address::parse(text).value()); }

TEST(ClientSource, WhatCountsTogether) {
  EXPECT_EQ(source("10.1.2.3:4"), source("10.1.2.3:5"));
  EXPECT_NE(source("10.1.2.3:4"), source("10.1.2.4:4"));
  EXPECT_EQ(source("[::ffff:10.1.2.3]:4"), source("10.1.2.3:4"));
  EXPECT_EQ(source("[2001:db8:0:1::1]:4"), source("[2001:db8:0:1:ffff::2]:5")) << "one network of 64 bits";
  EXPECT_NE(source("[2001:db8:0:1::1]:4"), source("[2001:db8:0:2::1]:4"));
  EXPECT_EQ(source("unix:socket"), "");
  EXPECT_EQ(source_of(runtime::address()), "");
  EXPECT_EQ(shown_address(runtime::address::parse("10.1.2.3:4").value()), "10.1.2.3:4");
  EXPECT_EQ(shown_address(runtime::address::parse("unix:socket").value()), "a local socket");
}

}  // namespace
}  // namespace foliot::program
