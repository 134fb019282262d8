// Which names of tubes clients can use.
#include "server/core/tube_name.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

TEST(TubeName, HasTheCharactersOfBeanstalkd) {
  std::string all;
  for (int c = 0; c < 128; ++c) {
    if (is_tube_character(static_cast<char>(c))) all += static_cast<char>(c);
  }
  EXPECT_EQ(all, "$()+-./0123456789;ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz");
  EXPECT_TRUE(is_tube_name(all));
  for (const std::string_view name : {"a", "$", "a-", "mail.out", "0"}) EXPECT_TRUE(is_tube_name(name)) << name;
  for (const std::string_view name : {"", "-", "-a", "a b", "a\n", "a:", "\xc3\xa4", "a*"}) {
    EXPECT_FALSE(is_tube_name(name)) << name;
  }
  EXPECT_TRUE(is_tube_name(std::string(200, 'x')));
  EXPECT_FALSE(is_tube_name(std::string(201, 'x')));
}

}  // namespace
}  // namespace foliot::program
