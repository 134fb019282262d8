// Which addresses a network has, and which texts name one.
#include "server/core/named_proxies.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

runtime::address at(std::string_view text) { return runtime::address::parse(text).value(); }

TEST(Network, HasTheAddressesWithItsPrefix) {
  const auto has = [](std::string_view which, std::string_view one) {
    const auto parsed = network::parse(which);
    EXPECT_TRUE(parsed.has_value()) << which;
    return parsed && parsed->has(at(one));
  };
  EXPECT_TRUE(has("192.0.2.7", "192.0.2.7:1"));
  EXPECT_FALSE(has("192.0.2.7", "192.0.2.6:1"));
  EXPECT_TRUE(has("10.0.0.0/8", "10.255.0.1:1"));
  EXPECT_FALSE(has("10.0.0.0/8", "11.0.0.1:1"));
  EXPECT_TRUE(has("192.0.2.128/25", "192.0.2.255:1"));
  EXPECT_FALSE(has("192.0.2.128/25", "192.0.2.127:1"));
  EXPECT_TRUE(has("0.0.0.0/0", "203.0.113.9:1"));
  EXPECT_FALSE(has("0.0.0.0/0", "[2001:db8::1]:1"));
  EXPECT_TRUE(has("::1", "[::1]:1"));
  EXPECT_TRUE(has("[::1]", "[::1]:1"));
  EXPECT_TRUE(has("2001:db8::/33", "[2001:db8:7fff::1]:1"));
  EXPECT_FALSE(has("2001:db8::/33", "[2001:db8:8000::1]:1"));
  EXPECT_TRUE(has("192.0.2.0/24", "[::ffff:192.0.2.9]:1")) << "an IPv4 address within IPv6 is one of IPv4";
  EXPECT_TRUE(has("unix", "unix:/run/socket"));
  EXPECT_FALSE(has("unix", "127.0.0.1:1"));
  EXPECT_FALSE(has("0.0.0.0/0", "unix:/run/socket"));
}

TEST(Network, OtherTextsNameNone) {
  for (const std::string_view text : {"", "/", "unix:/run/socket", "localhost", "192.0.2.7:80", "[::1]:80", "192.0.2",
                                      "192.0.2.0/", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/24x", "192.0.2.0/ 24",
                                      "192.0.2.1/24", "2001:db8::/129", "2001:db8::1/64", "*", "[192.0.2.7]", "/24"}) {
    EXPECT_FALSE(network::parse(text).has_value()) << text;
  }
}

TEST(NamedProxies, AreThoseOfAllNetworks) {
  const named_proxies some({*network::parse("192.0.2.1"), *network::parse("10.0.0.0/8")});
  EXPECT_TRUE(some.have(at("192.0.2.1:4000")));
  EXPECT_TRUE(some.have(at("10.1.2.3:4000")));
  EXPECT_FALSE(some.have(at("192.0.2.2:4000")));
  EXPECT_FALSE(named_proxies().have(at("127.0.0.1:1")));
  EXPECT_FALSE(some.have(runtime::address()));
}

}  // namespace
}  // namespace foliot::program
