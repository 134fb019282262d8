#include "sample/identity.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

std::string address(std::uint32_t number, client_kind kind) {
  std::string text;
  append_address(text, {.number = number, .kind = kind});
  return text;
}

bool is_set_aside(const std::string& text) {
  for (const char* range : {"192.0.2.", "198.51.100.", "203.0.113.", "10.", "2001:db8:"}) {
    if (text.starts_with(range)) return true;
  }
  return false;
}

TEST(Identity, EachClientHasAnAddressOfItsOwnThatNobodyHas) {
  std::set<std::string> all;
  constexpr std::uint32_t services = 1'000;  // more than their networks hold
  for (std::uint32_t number = 0; number < 200'000; ++number) {
    const std::string text = address(number, number < services ? client_kind::crawler : client_kind::visitor);
    ASSERT_TRUE(is_set_aside(text)) << text;
    ASSERT_TRUE(all.insert(text).second) << text;
  }
}

TEST(Identity, TheLastClientsHaveAddressesToo) {
  EXPECT_TRUE(is_set_aside(address(most_clients - 1, client_kind::visitor)));
  EXPECT_TRUE(is_set_aside(address(most_clients - 2, client_kind::visitor)));
  EXPECT_NE(address(most_clients - 2, client_kind::visitor), address(most_clients - 3, client_kind::visitor));
}

TEST(Identity, SomeVisitorsHaveNames) {
  random_stream random(12);
  int named = 0;
  int with_space = 0;
  for (std::uint32_t number = 0; number < 10'000; ++number) {
    std::string user;
    append_user(user, make_identity(number, client_kind::visitor, random));
    ASSERT_FALSE(user.empty());
    named += user != "-" ? 1 : 0;
    with_space += user.contains(' ') ? 1 : 0;
  }
  EXPECT_NEAR(named, 250, 60);
  EXPECT_GT(with_space, 0);
}

}  // namespace
}  // namespace foliot::program
