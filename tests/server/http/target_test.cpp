// Targets of requests: what is decoded, and what is refused.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/routes.hpp"
#include "server/http/target.hpp"

namespace foliot::program::http {
namespace {

using words = std::vector<std::string>;

target target_of(std::string_view text) {
  const auto it = parse_target(text);
  EXPECT_TRUE(it.has_value()) << text;
  return it.value_or(target());
}

std::string fault_in(std::string_view text) {
  const auto it = parse_target(text);
  return it ? "" : it.error().detail;
}

TEST(Target, SplitsThePathBeforeItDecodes) {
  EXPECT_EQ(target_of("/").path, words{});
  EXPECT_EQ(target_of("/v1/jobs").path, (words{"v1", "jobs"}));
  EXPECT_EQ(target_of("/v1/tubes/a%2Fb/jobs/c%20d+e").path, (words{"v1", "tubes", "a/b", "jobs", "c d+e"}));
  EXPECT_EQ(target_of("//a/").path, (words{"", "a", ""}));
  EXPECT_EQ(target_of("*").path, words{});
}

TEST(Target, ReadsTheQuery) {
  const target it = target_of("/?a=1&b=x+y%2Bz&c&d=&&e=f=g");
  EXPECT_EQ(it.query, (std::vector<parameter>{{"a", "1"}, {"b", "x y+z"}, {"c", ""}, {"d", ""}, {"e", "f=g"}}));
  EXPECT_EQ(target_of("/?tube=a/b").query, (std::vector<parameter>{{"tube", "a/b"}}));
}

TEST(Target, RefusesWhatProxiesMayReadDifferently) {
  for (const std::string_view text : {"/a/../b", "/a/%2e%2e/b", "/./a", "/a/%2E", "/..", "/a/.%2e"}) {
    EXPECT_TRUE(fault_in(text).contains("`..`")) << text;
  }
  for (const std::string_view text : {"/%", "/%1", "/%zz", "/%00", "/?a=%", "/?%0=1", "/a?b=%00", "/%+1"}) {
    EXPECT_TRUE(fault_in(text).contains("percent")) << text;
  }
  EXPECT_TRUE(fault_in("/?a=1&a=2").contains("twice"));
  EXPECT_TRUE(fault_in("/?a=1&%61=2").contains("twice"));
  EXPECT_TRUE(fault_in("/a#b").contains("fragment"));
  for (const auto& [text, part] : {std::pair("/a/../b", ".."), {"/a/%2E", "%2E"}, {"/v1/%zz/c%", "%zz"}}) {
    const auto read = parse_target(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().place, where::path) << text;
    EXPECT_EQ(read.error().name, part) << text;
  }
  EXPECT_EQ(fault_in("/a...b/..."), "") << "these are names";
}

TEST(Routes, AreFoundByMethodAndPattern) {
  static constexpr std::array<route<int>, 4> routes = {{{"GET", "/v1/jobs/{id}", 1},
                                                        {"DELETE", "/v1/jobs/{id}", 2},
                                                        {"POST", "/v1/jobs", 3},
                                                        {"PUT", "/v1/tubes/{tube}/jobs/{key}", 4}}};
  const auto find = [](std::string_view method, const words& path) {
    return find_route(std::span(routes), method, std::span(path));
  };
  const auto found = find("PUT", {"v1", "tubes", "a/b", "jobs", "c"});
  ASSERT_NE(found.which, nullptr);
  EXPECT_EQ(found.which->handler, 4);
  EXPECT_EQ(found.names, (std::vector<parameter>{{"tube", "a/b"}, {"key", "c"}}));
  EXPECT_EQ(find("HEAD", {"v1", "jobs", "7"}).which->handler, 1);
  EXPECT_EQ(find("PATCH", {"v1", "jobs", "7"}).which, nullptr);
  EXPECT_EQ(find("PATCH", {"v1", "jobs", "7"}).allowed, "GET, HEAD, DELETE");
  EXPECT_EQ(find("GET", {"v1", "jobs", ""}).allowed, "") << "a name is never empty";
  EXPECT_EQ(find("GET", {"v1"}).allowed, "");
  EXPECT_EQ(find("POST", {"v1", "jobs", ""}).which, nullptr);
  EXPECT_EQ(find("GET", {}).which, nullptr);
}

}  // namespace
}  // namespace foliot::program::http
