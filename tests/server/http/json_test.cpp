// JSON in and out: limits, and what two programs might read differently.
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  if (it) return {json_text(it->root()), "", ""};
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

TEST(Json, SaysWhereATextIsNoJson) {
  const std::string no_json = "the body is not JSON: ";
  const std::vector<std::pair<std::string_view, std::string>> all = {
      {"", no_json + "it ends within a value, at byte 0"},
      {"{\"a\":[1,2", no_json + "it ends within a value, at byte 9"},
      {"[\n1,\n2", no_json + "it ends within a value, at byte 6 (line 3)"},
      {"\"abc", no_json + "it ends within a value, at byte 4"},
      {"[1,]", no_json + "`]` must not stand at byte 4"},
      {"{\"a\":1}x", no_json + "`x` must not stand at byte 8"},
      {"{\n  \"a\": soon\n}", no_json + "`s` must not stand at byte 10 (line 2)"},
      {"{\n  \"a\": nil\n}", no_json + "`i` must not stand at byte 11 (line 2)"},
      {"{'a':1}", no_json + "`'` must not stand at byte 2"},
      {"\"a\nb\"", no_json + "a byte 0x0a must not stand at byte 3"},
      {"[\"\xc3\xa4\",\"\xff\"]", no_json + "a byte 0xff must not stand at byte 8"},
      {"[\"a\0\"]"sv, no_json + "a byte 0x00 must not stand at byte 4"},
      {"\"\\x\"", no_json + "`x` must not stand at byte 3"},
      {"[1e999]", "the number that ends at byte 6 is too large: send it as a string"},
      {R"("\ud800")", no_json + "the escape at byte 2 is half of a surrogate pair"},
      {R"("\udc00")", no_json + "the escape at byte 2 is half of a surrogate pair"},
      {R"(["\ud83d\ude00\\ud800\ud800\ud800"])", no_json + "the escape at byte 22 is half of a surrogate pair"},
      {R"("\ud83d\ude00)"
       "\x01\"",
       no_json + "a byte 0x01 must not stand at byte 14"},
  };
  for (const auto& [text, sentence] : all) EXPECT_EQ(read(text).detail, sentence) << text;
  // The other parser is asked at once where a text is long.
  const std::string blanks(std::size_t{5} << 20, ' ');
  EXPECT_EQ(read(blanks + "[1,]").detail, no_json + "`]` must not stand at byte 5242884");
  EXPECT_EQ(read(R"({"a":[0,{"b":[}]})").pointer, "/a/1/b");
}

TEST(Json, RefusesMembersThatComeTwice) {
  const answer twice = read(R"({"a":{"b":1,"c":2,"b":1}})");
  EXPECT_EQ(twice.detail, "the member comes twice");
  EXPECT_EQ(twice.pointer, "/a/b");
  EXPECT_EQ(read(R"([0,{"x/y~":1,"\u0078/y~":2}])").pointer, "/1/x~1y~0");
}

TEST(Json, RefusesAMemberThatComesTwiceAmongMany) {
  for (int members = 1; members < 40; ++members) {
    std::string text = "{";
    for (int i = 0; i < members; ++i) text += "\"m" + std::to_string(i) + "\":{\"m0\":[{\"m1\":1}]},";
    EXPECT_EQ(read(text + "\"n\":0}").detail, "") << members;
    for (int twice = 0; twice < members; ++twice) {
      const std::string name = "m" + std::to_string(twice);
      const answer wrong = read(text + "\"" + name + "\":0}");
      EXPECT_EQ(wrong.detail, "the member comes twice") << members;
      EXPECT_EQ(wrong.pointer, "/" + name) << members;
    }
  }
}

TEST(Json, KeepsValuesWhereTheyAre) {
  auto read = parse_json(R"({"b":[1,-2,2.5,"\u00e9",true,null,[{}]],"a":{"x":"y"}})");
  ASSERT_TRUE(read.has_value());
  const json* const b = read->root().find("b");
  ASSERT_NE(b, nullptr);
  const json_document moved = std::move(*read);
  EXPECT_EQ(moved.root().find("b"), b);
  EXPECT_EQ(moved.root().size(), 2U);
  EXPECT_EQ(moved.root().begin()->name(), "b");
  std::vector<json::kind> kinds;
  for (const json& each : *b) kinds.push_back(each.what());
  using enum json::kind;
  EXPECT_EQ(kinds, (std::vector{number, negative, fraction, text, boolean, null, array}));
  EXPECT_EQ(b->begin()->number(), 1U);
  EXPECT_EQ(std::next(b->begin())->negative(), -2);
  EXPECT_EQ(std::next(b->begin(), 2)->fraction(), 2.5);
  EXPECT_EQ(std::next(b->begin(), 3)->text(), "é");
  EXPECT_TRUE(std::next(b->begin(), 4)->boolean());
  EXPECT_EQ(moved.root().find("a")->find("x")->text(), "y");
  EXPECT_EQ(moved.root().find("x"), nullptr);
  EXPECT_EQ(b->find("b"), nullptr);
  EXPECT_EQ(json_document().root().what(), null);
}

TEST(Json, ReadsLongTexts) {
  for (const std::size_t size : {1'000'000U, 5'000'000U}) {
    const std::string text = "[\"" + std::string(size, 'x') + "\\u00e9\",1.5]";
    const auto value = parse_json(text);
    ASSERT_TRUE(value.has_value());
    EXPECT_EQ(value->root().begin()->text(), std::string(size, 'x') + "é");
    EXPECT_EQ(json_text(value->root()), "[\"" + std::string(size, 'x') + "é\",1.5]");
  }
}

TEST(Json, WritesAValueInOneForm) {
  const auto value = parse_json(R"( {"b":[1e2,-0, -7,0.10 ,"a\"\\\n\u007f\/"], "a\t":{} ,"B":[]} )");
  ASSERT_TRUE(value.has_value());
  const std::string_view text = R"({"B":[],"a\t":{},"b":[100.0,0,-7,0.1,"a\"\\\n)"
                                "\x7f/\"]}";
  EXPECT_EQ(json_text(value->root()), text);
  EXPECT_EQ(json_text(ordered(value->root())), text);
}

/// Another parser reads them, into the same values and with the same limits.
TEST(Json, ReadsLongTextsAsShortOnes) {
  const std::string text(std::size_t{5} << 20, 'x');
  const auto with = [&text](std::string_view rest) { return "{\"t\":\"" + text + "\"," + std::string(rest) + "}"; };
  const answer right = read(with(R"("b":[1e2,-0,-7,"\u00e9\/"],"a":{"c":null})"));
  EXPECT_EQ(right.detail, "");
  EXPECT_EQ(right.text, R"({"a":{"c":null},"b":[100.0,0,-7,"é/"],"t":")" + text + "\"}");
  EXPECT_EQ(read(with(R"("a":{"b":1,"b":2})")).pointer, "/a/b");
  EXPECT_EQ(read(with(R"("n":9007199254740992)")).pointer, "/n");
  EXPECT_FALSE(read(with(R"("s":"\ud800")")).detail.empty());
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
