// Whose address counts for a request that a proxy has passed on.
#include "server/http/forwarded.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace foliot::program::http {
namespace {

using fields = std::vector<field>;

/// The client's address without its port, of a request that 10.0.0.1 has passed on; 10.0.0.0/8 are named proxies. Or
/// `unknown`.
std::string client(fields with, std::string_view peer = "10.0.0.1:4000") {
  static const named_proxies proxies(
      {*network::parse("10.0.0.0/8"), *network::parse("2001:db8:a::/48"), *network::parse("unix")});
  request head;
  head.fields = std::move(with);
  const std::optional<runtime::address> found = forwarded_client(head, runtime::address::parse(peer).value(), proxies);
  if (!found) return "unknown";
  const std::string text = found->to_string();
  return text.substr(0, text.rfind(':'));
}

std::string by_common(std::string value) { return client({{"x-forwarded-for", std::move(value)}}); }
std::string by_standard(std::string value) { return client({{"forwarded", std::move(value)}}); }

TEST(Forwarded, TheRightmostAddressThatIsNoProxysCounts) {
  EXPECT_EQ(client({}), "10.0.0.1") << "it says nothing: the proxy's own request";
  EXPECT_EQ(by_common("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(by_common("198.51.100.9, 192.0.2.1"), "192.0.2.1") << "the left one may be made up";
  EXPECT_EQ(by_common("198.51.100.9, 192.0.2.1, 10.0.0.2,10.0.0.3"), "192.0.2.1");
  EXPECT_EQ(by_common("10.9.9.9"), "10.9.9.9") << "all are proxies";
  EXPECT_EQ(client({{"x-forwarded-for", "198.51.100.9"}, {"x-forwarded-for", "192.0.2.1"}}), "192.0.2.1")
      << "a field of its own is the same";
  EXPECT_EQ(client({{"x-forwarded-for", "192.0.2.1"}}, "unix:/run/socket"), "192.0.2.1");
  EXPECT_EQ(by_standard("for=192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(by_standard("for=198.51.100.9;by=x, For=\"192.0.2.1:4711\";proto=https;host=\"a\\\"b\" , for=10.0.0.2"),
            "192.0.2.1");
}

TEST(Forwarded, EachFormOfAnAddressIsRead) {
  EXPECT_EQ(by_common("192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(by_common("2001:db8::1"), "[2001:db8::1]");
  EXPECT_EQ(by_common("[2001:db8::1]"), "[2001:db8::1]");
  EXPECT_EQ(by_common("[2001:db8::1]:4711"), "[2001:db8::1]");
  EXPECT_EQ(by_common("192.0.2.1, 2001:db8:a::7"), "192.0.2.1") << "that is a proxy";
  EXPECT_EQ(by_standard("for=\"[2001:db8::1]:4711\""), "[2001:db8::1]");
  EXPECT_EQ(by_standard("for=\"\\1\\9\\2.0.2.1\""), "192.0.2.1");
}

/// Else anybody behind a proxy could use up what the proxy may send by itself.
TEST(Forwarded, WhatIsNoAddressIsNotTheProxys) {
  for (const std::string value :
       {"unknown", "_hidden", "", " ", ",", "192.0.2.1,", "192.0.2.1, unknown", "192.0.2.999", "192.0.2.1 192.0.2.2",
        "localhost", "unix:/run/x", "192.0.2.1:99999", "\"192.0.2.1\"", "for=192.0.2.1", "\xff\xfe"}) {
    EXPECT_EQ(by_common(value), "unknown") << value;
  }
  EXPECT_EQ(by_common("192.0.2.1, unknown, 10.0.0.2"), "unknown");
  for (const std::string value :
       {"for=unknown", "for=_x", "for=", "for", "=", "for=\"192.0.2.1", "for=\"192.0.2.1\\", "for=192.0.2.1 x",
        "for=\"192.0.2.1\"x", "for=\", for=192.0.2.1", "by=192.0.2.1", "for=192.0.2.1,", "f or=192.0.2.1", ";;,", ""}) {
    EXPECT_EQ(by_standard(value), "unknown") << value;
  }
}

/// A proxy writes one of the two fields, and passes on what the client has made up in the other one.
TEST(Forwarded, TwoFieldsThatDisagreeAreNotBelieved) {
  EXPECT_EQ(client({{"forwarded", "for=192.0.2.1"}, {"x-forwarded-for", "192.0.2.1"}}), "192.0.2.1");
  EXPECT_EQ(client({{"forwarded", "for=198.51.100.9"}, {"x-forwarded-for", "192.0.2.1"}}), "unknown");
  EXPECT_EQ(client({{"forwarded", "for=unknown"}, {"x-forwarded-for", "192.0.2.1"}}), "unknown");
  EXPECT_EQ(client({{"forwarded", "for=192.0.2.1"}, {"x-forwarded-for", "unknown"}}), "unknown");
}

TEST(Forwarded, TheHostIsThatOfTheNearestProxy) {
  const auto host = [](fields with) {
    request head;
    head.fields = std::move(with);
    return forwarded_host(head).value_or("none");
  };
  EXPECT_EQ(host({}), "none");
  EXPECT_EQ(host({{"x-forwarded-host", "timers.example"}}), "timers.example");
  EXPECT_EQ(host({{"x-forwarded-host", "evil.example, timers.example:8443"}}), "timers.example:8443");
  EXPECT_EQ(host({{"forwarded", "for=192.0.2.1;host=timers.example"}}), "timers.example");
  EXPECT_EQ(host({{"forwarded", "host=evil.example, host=\"timers.example:8443\""}}), "timers.example:8443");
  EXPECT_EQ(host({{"forwarded", "host=evil.example, for=192.0.2.1"}}), "none");
  EXPECT_EQ(host({{"forwarded", "host=a.example"}, {"x-forwarded-host", "b.example"}}), "");
}

}  // namespace
}  // namespace foliot::program::http
