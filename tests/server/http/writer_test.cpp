// Responses as bytes: what they have, and what no value can bring into them.
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/http/front_check.hpp"
#include "server/http/problem.hpp"
#include "server/http/writer.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;
using namespace std::literals;

constexpr std::chrono::sys_seconds now{1'764'394'800s};

std::string written(const response& what, const response_form& form = {}) {
  std::string all;
  append_head(all, what, form, now);
  if (has_body(what, form)) all += what.body;
  return all;
}

TEST(HttpWriter, WritesAWholeResponse) {
  EXPECT_EQ(
      written({.status = 200, .content_type = "text/plain", .body = "hi", .fields = {{"Allow", "GET"}}}),
      "HTTP/1.1 200 OK\r\nDate: Sat, 29 Nov 2025 05:40:00 GMT\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nAllow: GET\r\n\r\nhi");
}

TEST(HttpWriter, WritesTheEndOfTheConnection) {
  EXPECT_NE(written({}, {.closes = true}).find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_NE(written({}, {.is_http_1_0 = true}).find("\r\nConnection: keep-alive\r\n"), std::string::npos);
  EXPECT_EQ(written({}).find("Connection"), std::string::npos);
}

TEST(HttpWriter, LeavesBodiesOut) {
  const std::string of_head = written({.content_type = "text/plain", .body = "hi"}, {.is_head = true});
  EXPECT_TRUE(of_head.contains("Content-Length: 2\r\n")) << of_head;
  EXPECT_TRUE(of_head.ends_with("\r\n\r\n")) << of_head;
  EXPECT_FALSE(written({.status = 204}).contains("Content-Length"));
}

TEST(HttpWriter, NoValueBringsALineEnd) {
  std::string all;
  for (const std::string_view value : {"a\rb"sv, "a\nb"sv, "a\r\nSet-Cookie: b"sv, "a\0b"sv, "a\x7f"sv, "\x1b[2J"sv}) {
    EXPECT_FALSE(append_field(all, "X", value));
    EXPECT_FALSE(append_field(all, value, "x"));
    const std::string whole = written({.content_type = std::string(value), .fields = {{"X", std::string(value)}}});
    EXPECT_EQ(whole, written({})) << "the fields are left out";
  }
  EXPECT_FALSE(append_field(all, "", "x"));
  EXPECT_FALSE(append_field(all, "a b", "x"));
  EXPECT_TRUE(all.empty());
  EXPECT_TRUE(append_field(all, "X", "caf\xc3\xa9 \t1"));
  EXPECT_EQ(all, "X: caf\xc3\xa9 \t1\r\n");
}

TEST(HttpProblem, NamesWhatWasWrong) {
  const response made = respond({400, "wrong", where::body, "/due"});
  EXPECT_EQ(made.status, 400);
  EXPECT_EQ(made.content_type, "application/problem+json");
  const auto body = nlohmann::json::parse(made.body);
  EXPECT_EQ(body, nlohmann::json::parse(R"({"type": "about:blank", "title": "Bad Request", "status": 400,
      "detail": "wrong", "errors": [{"detail": "wrong", "pointer": "#/due"}]})"));
  EXPECT_FALSE(nlohmann::json::parse(respond({404, "gone"}).body).contains("errors"));
  EXPECT_EQ(nlohmann::json::parse(respond({400, "a", where::header, "expect"}).body)["errors"][0]["header"], "expect");
}

TEST(HttpProblem, BytesThatAreNotUtf8AreReplaced) {
  const response made = respond({400, "wrong: \xff\r\n", where::query, "\xc3"});
  EXPECT_EQ(nlohmann::json::parse(made.body)["detail"], "wrong: \xef\xbf\xbd\r\n");
}

TEST(HttpProblem, EachStatusHasAPhrase) {
  for (const int status : {100, 200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 412,
                           413, 414, 415, 417, 421, 422, 431, 500, 501, 503, 505, 507}) {
    EXPECT_NE(phrase_of(status), "Unknown") << status;
  }
}

TEST(HttpWriter, EachControlCharacterIsFoundWhereverItStands) {
  for (std::size_t size = 1; size <= 25; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int c = 0; c < 256; ++c) {
        for (const char other : {' ', '\t', '~', '\x80', '\xff'}) {
          std::string value(size, other);
          value[at] = static_cast<char>(c);
          const bool is_control = (c < 0x20 && c != '\t') || c == 0x7f;
          ASSERT_EQ(is_field_value(value), !is_control) << size << " bytes, " << c << " at " << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace foliot::program::http
