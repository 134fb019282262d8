// A page of another site is a stranger: rebinding, foreign forms, and the order in which Go's standard library decides.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/browser_rules.hpp"

namespace foliot::program::http {
namespace {

/// The status with which a request is refused; 0: it may come in.
int refused(std::string method, std::vector<field> fields) {
  const browser_rules rules({"timers.example"});
  request head;
  head.method = std::move(method);
  head.fields = std::move(fields);
  const std::optional<problem> wrong = rules.check(head);
  return wrong ? wrong->status : 0;
}

TEST(BrowserRules, KnowTheirHosts) {
  const browser_rules rules({"timers.example"});
  for (const std::string_view host :
       {"localhost", "localhost:11380", "LocalHost:1", "a.localhost", "127.0.0.1:11380", "127.1.2.3", "[::1]:11380",
        "[::1]", "192.168.0.7:80", "timers.example", "Timers.Example:443", "localhost:"}) {
    EXPECT_TRUE(rules.knows(host)) << host;
  }
  for (const std::string_view host :
       {"", "evil.example", "localhost.evil.example", "notlocalhost", "evillocalhost:80", "127.0.0.1.evil.example",
        "timers.example.evil", "x.timers.example", "localhost:x", "localhost:123456", "[::1", "[::1]x", "[evil]",
        "unix:/tmp/a", "127.0.0.1:80:80", "a@localhost", "localhost/", ".localhost.", "2130706433"}) {
    EXPECT_FALSE(rules.knows(host)) << host;
  }
}

TEST(BrowserRules, RefuseAHostThatComesByRebinding) {
  EXPECT_EQ(refused("GET", {{"host", "evil.example:11380"}}), 421);
  EXPECT_EQ(refused("POST", {{"host", "evil.example:11380"}, {"sec-fetch-site", "same-origin"}}), 421);
}

TEST(BrowserRules, ChangesComeFromTheSameOrigin) {
  const field host{"host", "127.0.0.1:11380"};
  for (const std::string method : {"POST", "PUT", "DELETE", "PATCH", "ANYTHING"}) {
    EXPECT_EQ(refused(method, {host}), 0) << "a program that is no browser";
    EXPECT_EQ(refused(method, {host, {"sec-fetch-site", "same-origin"}}), 0);
    EXPECT_EQ(refused(method, {host, {"sec-fetch-site", "none"}}), 0);
    for (const std::string site : {"cross-site", "same-site", "", "Same-Origin"}) {
      EXPECT_EQ(refused(method, {host, {"sec-fetch-site", site}}), 403) << site;
    }
    EXPECT_EQ(refused(method, {host, {"origin", "http://127.0.0.1:11380"}}), 0);
    for (const std::string origin : {"http://evil.example", "null", "", "http://127.0.0.1", "http://127.0.0.1:11381",
                                     "127.0.0.1:11380", "http://127.0.0.1:11380.evil.example"}) {
      EXPECT_EQ(refused(method, {host, {"origin", origin}}), 403) << origin;
    }
    EXPECT_EQ(refused(method, {host, {"origin", "http://127.0.0.1:11380"}, {"sec-fetch-site", "cross-site"}}), 403);
    EXPECT_EQ(refused(method, {{"origin", "http://evil.example"}}), 403) << "HTTP/1.0 without a host";
  }
}

TEST(BrowserRules, APlainHttpPageOfTheSameNameMayChange) {
  EXPECT_EQ(refused("POST", {{"host", "timers.example"}, {"origin", "http://timers.example"}}), 0)
      << "browsers send no Sec-Fetch-Site to a name over plain HTTP";
}

/// A proxy may write another `Host`, and says for which one it was asked.
TEST(BrowserRules, BehindANamedProxyTheHostThatWasAskedForCounts) {
  const browser_rules rules({"timers.example"});
  const auto refused_for = [&](const std::string& asked_for, std::vector<field> fields) {
    request head;
    head.method = "POST";
    head.fields = std::move(fields);
    const std::optional<problem> wrong = rules.check(head, asked_for);
    return wrong ? wrong->status : 0;
  };
  const field host{"host", "127.0.0.1:11380"};
  EXPECT_EQ(refused_for("timers.example", {host}), 0);
  EXPECT_EQ(refused_for("timers.example", {host, {"origin", "https://timers.example"}}), 0);
  EXPECT_EQ(refused_for("timers.example:8443", {host, {"origin", "https://timers.example:8443"}}), 0);
  EXPECT_EQ(refused_for("timers.example", {host, {"origin", "https://evil.example"}}), 403);
  EXPECT_EQ(refused_for("timers.example", {host, {"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(refused_for("evil.example", {host}), 421) << "a name of its own that points at the proxy";
  EXPECT_EQ(refused_for("timers.example", {{"host", "evil.example"}}), 421);
}

TEST(BrowserRules, LooksAreSafeFromEverywhere) {
  for (const std::string method : {"GET", "HEAD", "OPTIONS"}) {
    EXPECT_EQ(refused(method, {{"host", "localhost"}, {"sec-fetch-site", "cross-site"}}), 0) << method;
  }
}

}  // namespace
}  // namespace foliot::program::http
