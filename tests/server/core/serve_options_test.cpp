// Who may listen where, and how long clients may take.
#include "server/core/serve_options.hpp"

#include <string>

#include <gtest/gtest.h>

#include "text/failure.hpp"

namespace foliot::program {
namespace {

constexpr locks with(bool tls, bool tokens, bool insecure) {
  locks has;
  has.tls = tls;
  has.tokens = tokens;
  has.insecure = insecure;
  return has;
}

/// Why a server with these locks may not listen there; empty if it may.
std::string refusal(const std::string& text, const locks& has) {
  try {
    const auto at = listen_address("--beanstalk", text, has);
    EXPECT_EQ(at.has_value(), text != "off");
    return {};
  } catch (const failure& error) {
    return error.what();
  }
}

TEST(ListenAddress, LoopbackAndPathsNeedNoLock) {
  for (const char* const text :
       {"127.0.0.1:11300", "127.255.0.1:1", "11300", "[::1]:11300", "unix:sock", "unix:@name", "off"}) {
    EXPECT_EQ(refusal(text, with(false, false, false)), "") << text;
  }
}

TEST(ListenAddress, OthersNeedBothLocksOrTheUsersWord) {
  for (const char* const text : {"0.0.0.0:11300", "192.0.2.1:1", "[::]:11300", "[2001:db8::1]:1", "128.0.0.1:1"}) {
    const auto refused = [text](const std::string& danger) {
      return "--beanstalk " + std::string(text) + " can be reached from other machines, and " + danger +
             "; or name a loopback address or a path; or do without by --insecure";
    };
    EXPECT_EQ(refusal(text, with(true, true, false)), "");
    EXPECT_EQ(refusal(text, with(false, false, false)),
              refused("it has neither TLS nor access tokens: add --tls-certificate FILE, and --tokens FILE, which "
                      "'foliot token make' writes"));
    EXPECT_EQ(refusal(text, with(true, false, false)),
              refused("TLS alone lets every client that reaches it read and delete all jobs: add --tokens FILE, which "
                      "'foliot token make' writes"));
    EXPECT_EQ(refusal(text, with(false, true, false)),
              refused("without TLS everybody on the way can read its jobs and the access tokens: add "
                      "--tls-certificate FILE"));
    for (const bool tls : {false, true}) {
      for (const bool tokens : {false, true}) EXPECT_EQ(refusal(text, with(tls, tokens, true)), "");
    }
  }
}

TEST(HttpAddresses, AreAsManyAsAreNamed) {
  const locks none;
  EXPECT_TRUE(http_addresses({"off"}, none).empty());
  const auto two = http_addresses({"127.0.0.1:1", "unix:/run/http"}, none);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two.front().to_string(), "127.0.0.1:1");
  EXPECT_TRUE(two.back().is_local());
  EXPECT_THROW(static_cast<void>(http_addresses({"127.0.0.1:1", "off"}, none)), failure);
  EXPECT_THROW(static_cast<void>(http_addresses({"127.0.0.1:1", "192.0.2.1:1"}, none)), failure) << "each needs locks";
}

TEST(ProxyNetwork, IsAnAddressOrANetwork) {
  EXPECT_TRUE(proxy_network("10.0.0.0/8").has(runtime::address::parse("10.1.1.1:1").value()));
  for (const char* const text :
       {"", "localhost", "10.0.0.1/8", "10.0.0.1:80", "unix:/run/http", "0.0.0.0/0", "0.0.0.0/00", "::/0"}) {
    EXPECT_THROW(static_cast<void>(proxy_network(text)), failure) << text;
  }
}

TEST(HostName, IsANameAlone) {
  for (const char* const name : {"timers", "timers.example", "a-b_c.example", "192.0.2.1"}) {
    EXPECT_EQ(host_name(name), name);
  }
  for (const char* const text : {"", "http://timers.example", "timers.example:80", "timers.example/", ".example",
                                 "timers.", "a b", "a\r\nb", "*", "*.example", "[::1]"}) {
    EXPECT_THROW(static_cast<void>(host_name(text)), failure) << text;
  }
}

std::string why_no_timeout(const std::string& text) {
  try {
    static_cast<void>(client_timeout(text));
    return {};
  } catch (const failure& error) {
    return error.what();
  }
}

TEST(ClientTimeout, ADurationOrNone) {
  EXPECT_EQ(client_timeout("10m"), duration::nanoseconds(600'000'000'000));
  EXPECT_EQ(client_timeout("1s"), least_client_timeout);
  EXPECT_TRUE(client_timeout("off").is_forever());
  EXPECT_EQ(why_no_timeout("999ms"), "--client-timeout 999ms is too short: the least is 1s");
  for (const char* const text : {"", "0", "10", "-1s", "never"}) {
    EXPECT_TRUE(why_no_timeout(text).starts_with("--client-timeout: ")) << text;
    EXPECT_TRUE(why_no_timeout(text).ends_with("; or write 'off'")) << text;
  }
}

}  // namespace
}  // namespace foliot::program
