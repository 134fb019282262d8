#include <string>

#include <gtest/gtest.h>

#include <foliot/runtime/net/address.hpp>

namespace foliot::runtime {
namespace {

TEST(Address, IsWhatItsTextSays) {
  for (const std::string text : {"127.0.0.1:80", "0.0.0.0:0", "[::1]:65535", "[2001:db8::1]:443", "[fe80::1%7]:1",
                                 "unix:/run/x.sock", "unix:relative", "unix:@name"}) {
    const auto parsed = address::parse(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->to_string(), text);
    EXPECT_EQ(*parsed, address::parse(text).value());
  }
  EXPECT_EQ(address::loopback(80), address::parse("127.0.0.1:80").value());
  EXPECT_EQ(address::loopback6(80), address::parse("[::1]:80").value());
  EXPECT_EQ(address::loopback(80).port(), 80);
  EXPECT_NE(address::loopback(80), address::loopback(81));
  EXPECT_EQ(address().to_string(), "");
}

TEST(Address, RefusesEverythingElse) {
  for (const std::string text :
       {"", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:8 0", "1.2.3:80",
        "::1:80", "[::1]", "[127.0.0.1]:80", "[::1%]:80", "[::1%no-such-interface]:80", "[]:80", "unix:", "unix:@"}) {
    const auto parsed = address::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error(), std::errc::invalid_argument);
  }
  EXPECT_TRUE(address::parse("unix:" + std::string(107, 'x')).has_value());
  EXPECT_FALSE(address::parse("unix:" + std::string(108, 'x')).has_value());
  EXPECT_FALSE(address::parse(std::string("unix:a\0b", 8)).has_value());
}

}  // namespace
}  // namespace foliot::runtime
