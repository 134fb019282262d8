// JSON in and out: limits, and what two programs might read differently.
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "server/http/json.hpp"

namespace foliot::program::http {
namespace {

using namespace std::literals;

struct answer {
  std::string text;     // of the value
  std::string detail;   // of what is wrong
  std::string pointer;  // to that
};

answer read(std::string_view text, const json_limits& limits = {}) {
  const auto it = parse_json(text, limits);
  if (it) return {it->dump(), "", ""};
  EXPECT_EQ(it.error().status, 400);
  EXPECT_EQ(it.error().place, where::body);
  return {"", it.error().detail, it.error().name};
}

TEST(Json, ReadsValues) {
  for (const std::string_view text :
       {R"({"a":[1,-2,3.5,true,false,null,"x"],"b":{}})", "[]", "7", "\"\"", R"(["é","😀"])"}) {
    EXPECT_EQ(read(text).text, text);
  }
  EXPECT_EQ(read(R"( { "a" : "\ud83d\ude00\u00e9" } )").text, R"({"a":"😀é"})");
  EXPECT_EQ(read("[9007199254740991,-9007199254740991,1e3]").text, "[9007199254740991,-9007199254740991,1000.0]");
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const std::string_view text :
       {""sv, "{"sv, "{\"a\":1}x"sv, "[1,]"sv, "{a:1}"sv, "'a'"sv, "01"sv, "+1"sv, "NaN"sv, "1e999"sv, "\"\x01\""sv,
        "\"\xff\""sv, "\"\xed\xa0\x80\""sv, "\"\xc0\x80\""sv, "[1] [2]"sv, "\"a\0b\""sv, "// a\n1"sv, "1\0"sv,
        "[1]\0[2]"sv}) {
    EXPECT_FALSE(read(text).detail.empty()) << text;
  }
}

TEST(Json, RefusesMembersThatComeTwice) {
  const answer twice = read(R"({"a":{"b":1,"c":2,"b":1}})");
  EXPECT_EQ(twice.detail, "the member comes twice");
  EXPECT_EQ(twice.pointer, "/a/b");
  EXPECT_EQ(read(R"([0,{"x/y~":1,"\u0078/y~":2}])").pointer, "/1/x~1y~0");
}

TEST(Json, RefusesLoneSurrogates) {
  for (const std::string_view text : {R"("\ud800")", R"("\udc00")", R"("\ud800a")", R"("\ud800\ud800")"}) {
    EXPECT_FALSE(read(text).detail.empty()) << text;
  }
}

TEST(Json, RefusesWholeNumbersThatJavaScriptRounds) {
  for (const std::string_view number : {"9007199254740992", "-9007199254740992", "18446744073709551615",
                                        "18446744073709551616", "100000000000000000000000000000"}) {
    const answer wrong = read("{\"n\":[0," + std::string(number) + "]}");
    EXPECT_TRUE(wrong.detail.contains("2^53")) << number << ": " << wrong.detail;
    EXPECT_EQ(wrong.pointer, "/n/1") << number;
  }
}

TEST(Json, KeepsItsLimits) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(read(nested(32)).detail, "");
  EXPECT_TRUE(read(nested(33)).detail.contains("32 deep"));
  EXPECT_TRUE(read(std::string(1'000'000, '[')).detail.contains("32 deep")) << "not even all of it is read";
  EXPECT_TRUE(read(R"({"a":{"b":[[]]}})", {.depth = 3}).pointer == "/a/b");
  EXPECT_EQ(read("[1,2,3]", {.values = 4}).detail, "");
  EXPECT_TRUE(read("[1,2,3]", {.values = 3}).detail.contains("over 3 values"));
}

TEST(Json, WritesOnlyUtf8) {
  EXPECT_EQ(json_text({{"b", 1}, {"a", "\xff\r\n"}}), "{\"b\":1,\"a\":\"\xef\xbf\xbd\\r\\n\"}");
}

TEST(Utf8, IsToldFromOtherBytes) {
  for (const std::string_view text : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                      "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const std::string_view text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5",
        "\xc2", "\xe2\x82", "\xf0\x9f\x98", "a\xff", "\xc2\xc2"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

TEST(Base64, IsReadAndWritten) {
  for (const auto& [plain, text] : {std::pair("", ""),
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64(plain), text);
    EXPECT_EQ(from_base64(text), plain);
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_base64(base64(all)), all);
  for (const std::string_view text :
       {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z===", "=", "Zm9v\n", "Zm-_", "Z g=", "Zg==Zg=="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace foliot::program::http
