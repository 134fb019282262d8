#include "replay/log_line.hpp"

#include <chrono>
#include <string>

#include <foliot/core/seam/random.hpp>
#include <gtest/gtest.h>
#include <regex.h>

namespace foliot::program {
namespace {

using namespace std::string_literals;

constexpr std::int64_t august_1995 = 807256800;  // 01/Aug/1995:02:00:00 -0400

std::expected<log_request, malformed> parse(std::string_view line, log_format format = log_format::any) {
  return log_parser(format).parse(line);
}

void expect_request(std::string_view line, std::string_view client = "h", std::int64_t second = august_1995,
                    log_format format = log_format::any) {
  const auto request = parse(line, format);
  ASSERT_TRUE(request) << line << ": " << to_text(request.error());
  EXPECT_EQ(request->client, client) << line;
  EXPECT_EQ(request->time.nanoseconds(), second * 1'000'000'000) << line;
}

void expect_malformed(std::string_view line, malformed reason, log_format format = log_format::any) {
  const auto request = parse(line, format);
  ASSERT_FALSE(request) << line;
  EXPECT_EQ(to_text(request.error()), to_text(reason)) << line;
}

#define TIME "[01/Aug/1995:02:00:00 -0400]"

TEST(LogLine, ReadsCommonLogFormat) {
  expect_request("h - - " TIME " \"GET / HTTP/1.0\" 200 1713");
  expect_request("host.example.net - - " TIME " \"GET / HTTP/1.0\" 200 1713", "host.example.net");
  expect_request("h - - " TIME " \"GET /a\" 304 -");
  expect_request("h - - " TIME " \"GET /a\" - -");
  expect_request("h - - " TIME " \"\" 400 0");
  expect_request("h - - " TIME " \"-\" 408 -");
  expect_request("h ident user " TIME " \"GET /\" 200 5");
}

TEST(LogLine, ReadsCombinedLogFormat) {
  expect_request("h - - " TIME " \"GET / HTTP/1.1\" 200 5 \"-\" \"Browser/1.0 (a; b)\"");
  expect_request("h - - " TIME " \"GET / HTTP/1.1\" 200 5 \"\" \"\"");
  expect_request("h - - " TIME " \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" 0.003 \"more\" x");
  expect_request("h - - " TIME " \"GET / HTTP/1.1\" 200 5 \"only a referer\"");
}

TEST(LogLine, ReadsAnyKindOfClient) {
  for (const char* client : {"::1", "2001:db8::7", "fe80::1%eth0", "192.0.2.7:4711", "h\"q\"", "\xc3\xa4.example"}) {
    expect_request(client + " - - "s + TIME " \"GET /\" 200 5", client);
  }
}

TEST(LogLine, TheClientEndsAtTheFirstSpaceAndHasNoControlCharacter) {
  const std::string rest = " - - " TIME " \"GET /\" 200 5";
  for (std::size_t size = 1; size < 40; ++size) {
    expect_request(std::string(size, 'h') + rest, std::string(size, 'h'));
    expect_request(std::string(size, '\xff') + rest, std::string(size, '\xff'));
    for (std::size_t place = 0; place < size; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string client(size, byte % 2 == 0 ? '!' : '\x80');
        client[place] = static_cast<char>(byte);
        const std::string line = client + rest;
        const auto request = parse(line);
        if (byte > ' ') {
          // A comma separates the addresses of a list, none of which is empty.
          const std::string leftmost = client.substr(0, client.find(','));
          const bool whole = byte != ',' || (place > 0 && place + 1 < size);
          ASSERT_EQ(request.has_value(), whole) << byte;
          ASSERT_TRUE(!whole || request->client == leftmost) << byte;
        } else if (byte == ' ' && place > 0) {
          ASSERT_TRUE(!request || request->client == client.substr(0, place)) << place;
        } else {
          ASSERT_FALSE(request) << byte;
          ASSERT_EQ(request.error(), byte == ' ' ? malformed::no_client : malformed::control_character) << byte;
        }
      }
    }
  }
}

TEST(LogLine, CountsTheLeftmostForwardedAddress) {
  const std::string rest = " - - " TIME " \"GET /\" 200 5";
  for (const char* const list : {"192.0.2.7,10.0.0.1", "192.0.2.7, 10.0.0.1", "192.0.2.7, 10.0.0.1,10.0.0.2",
                                 "192.0.2.7, 10.0.0.1, ::1", "192.0.2.7, unknown", "192.0.2.7, -"}) {
    expect_request(list + rest, "192.0.2.7");
    expect_request("example.org:80 "s + list + rest, "192.0.2.7");
    expect_request(list + rest, "192.0.2.7", august_1995, log_format::common);
  }
  for (const char* const list : {",10.0.0.1", ", 10.0.0.1", "192.0.2.7,,10.0.0.1", "192.0.2.7, ,10.0.0.1", ","}) {
    expect_malformed(list + rest, malformed::empty_address);
  }
  expect_malformed("192.0.2.7,  10.0.0.1" + rest, malformed::empty_address);
  expect_malformed("192.0.2.7," + rest, malformed::no_user);
  expect_malformed("192.0.2.7, 10.0.0.1", malformed::no_ident);
  expect_malformed("192.0.2.7, 10.0.0.1\t" + rest, malformed::control_character);
}

TEST(LogLine, SkipsAVirtualHost) {
  const std::string rest = " - - " TIME " \"GET /\" 200 5 \"-\" \"c\"";
  for (const char* const host : {"example.org:443", "192.0.2.1:80", "[::1]:8080", "x:0"}) {
    expect_request(host + " 198.51.100.1"s + rest, "198.51.100.1");
    expect_request(host + " ::1"s + rest, "::1");
    expect_request(host + " h - anna maria "s + TIME " \"GET /\" 200 5", "h");
    expect_malformed(host + " -"s + rest, malformed::no_client);
    expect_malformed(host + " 198.51.100.1 203.0.113.5"s + rest, malformed::other_fields);
    // Three fields alone are a client with its port, if the second one can be no client.
    expect_request(host + rest, host);
    for (const char* const name : {" h -", " h anna", " h.example.org -"}) {
      const std::string line = std::string(host) + name + " " + TIME " \"GET /\" 200 5";
      expect_malformed(line, malformed::no_user);
      expect_malformed(line, malformed::other_fields, log_format::common);
    }
  }
  for (const char* const name : {"example.org", "::1", "a:b", "example.org:", ":80", "x:123456", "[::1]"}) {
    expect_malformed(name + " 198.51.100.1"s + rest, malformed::other_fields);
  }
}

TEST(LogLine, OtherFieldsInFrontOfTheTimeAreMalformed) {
  const std::string rest = " " TIME " \"GET /\" 200 5";
  for (const char* const fields :
       {"192.0.2.7 203.0.113.5 - -", "192.0.2.7 203.0.113.5 - anna", "example.org 192.0.2.7 -", "example.org ::1 anna",
        "192.0.2.7 - - -", "192.0.2.7 - - anna", "192.0.2.7 - anna -", "203.0.113.5 192.0.2.7, 10.0.0.1 - -",
        "example.org 192.0.2.7, 10.0.0.1", "192.0.2.7 ident anna maria"}) {
    expect_malformed(fields + rest, malformed::other_fields);
  }
}

TEST(LogLine, ANamedFormatTakesNoOther) {
  const std::string common = "h - - " TIME " \"GET /\" 200 5";
  const std::string combined = common + " \"-\" \"c\"";
  for (const std::string& tail : {common, combined}) {
    expect_request(tail);
    expect_request("v:80 " + tail);
    expect_request("v:80 " + tail, "h", august_1995, log_format::vhost_combined);
    expect_request("v " + tail, "h", august_1995, log_format::vhost_combined);
    expect_malformed(tail, malformed::no_client, log_format::vhost_combined);
    expect_malformed(" " + tail, malformed::no_host, log_format::vhost_combined);
    expect_malformed("a, " + tail, malformed::no_host, log_format::vhost_combined);
    expect_malformed("v:80 " + tail, malformed::other_fields, log_format::common);
    expect_malformed("v:80 " + tail, malformed::other_fields, log_format::combined);
  }
  expect_request(common, "h", august_1995, log_format::common);
  expect_malformed(combined, malformed::after_the_size, log_format::common);
  expect_request(combined, "h", august_1995, log_format::combined);
  expect_malformed(common, malformed::no_quoted_field, log_format::combined);
  EXPECT_EQ(log_format_named("vhost_combined"), log_format::vhost_combined);
  EXPECT_EQ(log_format_named("any"), log_format::any);
  EXPECT_EQ(log_format_named("json"), std::nullopt);
}

TEST(LogLine, SkipsAByteOrderMark) {
  expect_request("\xef\xbb\xbfh - - " TIME " \"GET /\" 200 5");
  expect_request("\xef\xbb\xbfv:80 h - - " TIME " \"GET /\" 200 5");
  expect_malformed("\xef\xbb\xbf", malformed::empty);
  expect_request("\xef\xbbh - - " TIME " \"GET /\" 200 5", "\xef\xbbh");
}

TEST(LogLine, AUserMayHaveSpacesAndBrackets) {
  expect_request("h - anna maria k " TIME " \"GET /\" 200 5");
  expect_request("h - a [b] c " TIME " \"GET /\" 200 5");
  expect_request("h - [ " TIME " \"GET /\" 200 5");
  expect_request("h - x [99/Aug/1995:02:00:00 -0400] " TIME " \"GET /\" 200 5");
  expect_request("h -   " TIME " \"GET /\" 200 5");  // a user of one space
}

TEST(LogLine, QuotesInsideFieldsAreNoHarm) {
  expect_request("h - - " TIME " \"GET /\"quoted\" HTTP/1.0\" 200 5");
  expect_request("h - - " TIME " \"GET /\\\"escaped\\\" HTTP/1.0\" 200 5");
  expect_request("h - - " TIME " \"GET /a\\\\\" 200 5");
  expect_request("h - - " TIME " \"GET /a\\\" 404 -");  // a backslash that escapes nothing
  expect_request("h - - " TIME " \"GET /\" 200 x\" 200 5");
  expect_request("h - - " TIME " \"GET /\" 200 5 x\" 200 5");
  expect_request("h - - " TIME " \"GET /\" 200 5 \"x\" 200 5");
  expect_request("h - - " TIME " \"GET /\" 200 5 \"a \"b\" c\" \"d \"e\" f\"");
}

TEST(LogLine, WhiteSpaceAtTheEndDoesNotCount) {
  expect_request("h - - " TIME " \"GET /\" 200 5\r");
  expect_request("h - - " TIME " \"GET /\" 200 5 \t \r");
  expect_request("h - - " TIME " \"GET /\" 200 5 \"-\" \"-\" ");
}

TEST(LogLine, RemembersTheRightTime) {
  log_parser parser;
  const auto second = [&](const char* time) {
    return parser.parse("h - - ["s + time + "] \"GET /\" 200 5").value().time.nanoseconds() / 1'000'000'000;
  };
  EXPECT_EQ(second("01/Jan/1970:00:00:00 +0000"), 0);
  EXPECT_EQ(second("01/Jan/1970:00:00:07 +0000"), 7);
  EXPECT_EQ(second("01/Jan/1970:00:00:07 +0000"), 7);
  EXPECT_EQ(second("01/Jan/1970:00:00:07 -0001"), 67);
  EXPECT_FALSE(parser.parse("h - - [01/Jan/1970:00:00:99 +0000] \"GET /\" 200 5"));
  EXPECT_EQ(second("01/Jan/1970:00:00:07 -0001"), 67);
}

TEST(LogLine, SaysWhatIsMalformed) {
  expect_malformed("", malformed::empty);
  expect_malformed(" \t\r", malformed::empty);
  expect_malformed(" h - - " TIME " \"GET /\" 200 5", malformed::no_client);
  expect_malformed("h\t- - " TIME " \"GET /\" 200 5", malformed::control_character);
  expect_malformed("h\x01 - - " TIME " \"GET /\" 200 5", malformed::control_character);
  expect_malformed("h", malformed::no_ident);
  expect_malformed("h  - " TIME " \"GET /\" 200 5", malformed::no_ident);
  expect_malformed("h -", malformed::no_ident);
  expect_malformed("h - " TIME " \"GET /\" 200 5", malformed::no_user);
  expect_malformed("h -  " TIME " \"GET /\" 200 5", malformed::no_user);
  expect_malformed("h - -", malformed::no_time);
  expect_malformed("h - - 01/Aug/1995:02:00:00 -0400 \"GET /\" 200 5", malformed::no_time);
  expect_malformed("h - - [31/Feb/1995:02:00:00 -0400] \"GET /\" 200 5", malformed::impossible_time);
  expect_malformed("h - - [01/Aug/1995:02:00:00 -0400 \"GET /\" 200 5", malformed::impossible_time);
  expect_malformed("h - - [01/Aug/1995:02:00:00 -04", malformed::impossible_time);
  expect_malformed("h - - [807256800] \"GET /\" 200 5", malformed::impossible_time);
  expect_malformed("h - - " TIME, malformed::no_request);
  expect_malformed("h - - " TIME "\"GET /\" 200 5", malformed::no_request);
  expect_malformed("h - - " TIME " GET / 200 5", malformed::no_request);
  expect_malformed("h - - " TIME " \"GET / 200 5", malformed::no_status);
  expect_malformed("h - - " TIME " \"", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\"", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\" 200", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\" 20 5", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\" 2000 5", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\" 200 5x", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\" 200 -5", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\"200 5", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\" 200  5", malformed::no_status);
  expect_malformed("h - - " TIME " \"GET /\" 200 5 more", malformed::no_quoted_field);
  expect_malformed("h - - " TIME " \"GET /\" 200 5 more \"-\" \"-\"", malformed::no_quoted_field);
  expect_malformed("h - - " TIME " \"GET /\" 200 5  \"-\" \"-\"", malformed::no_quoted_field);
}

TEST(LogLine, EveryReasonHasWords) {
  for (int i = 0; i <= static_cast<int>(malformed::after_the_size); ++i) {
    EXPECT_NE(to_text(static_cast<malformed>(i)), "not in the format");
  }
}

/// Cut off after each of its bytes, a line is accepted if and only if it has its size, or a part of that.
void expect_accepted_from_the_size_on(const std::string& line, std::size_t size) {
  for (const char* const ending : {"", "\r", " \t"}) {
    for (std::size_t end = 0; end <= line.size(); ++end) {
      const std::string cut = line.substr(0, end) + ending;
      const auto request = parse(cut);
      ASSERT_EQ(request.has_value(), end > size) << cut;
      if (!request) continue;
      EXPECT_EQ(request->client, "h");
      EXPECT_EQ(request->time.nanoseconds(), august_1995 * 1'000'000'000);
    }
  }
}

TEST(LogLine, CutOffBehindItsSizeItCountsAndCutOffBeforeItIsMalformed) {
  const std::string common = "h - - " TIME " \"GET / HTTP/1.1\" 200 ";
  for (const char* const fields : {"51", "51 \"http://a/\" \"B/1 (c; d)\"", "- \"-\" \"-\" 0.003 \"more\" x",
                                   "51 \"a \"b\" c\" \"d \\\"e\" f\"", "51 \"\" \"\" \xff"}) {
    expect_accepted_from_the_size_on(common + fields, common.size());
  }
}

TEST(LogLine, CutOffAnywhereARequestWithQuotesIsNeverTakenForAnotherOne) {
  // A request that looks like the end of one: the line counts from there on, with the same client and time.
  const std::string line = "h - - " TIME " \"GET /\" 404 - HTTP/1.1\" 200 51 \"-\" \"-\"";
  for (std::size_t end = 0; end <= line.size(); ++end) {
    const auto request = parse(std::string_view(line).substr(0, end));
    if (!request) continue;
    EXPECT_EQ(request->client, "h") << end;
    EXPECT_EQ(request->time.nanoseconds(), august_1995 * 1'000'000'000) << end;
  }
  EXPECT_TRUE(parse(line));
}

TEST(LogLine, RubbishIsMalformedAndNothingWorse) {
  random_stream random(6);
  const std::string alphabet = "h -[]\"\\/:0123 Aug\t\r\xff"s + '\0' + '\x7f';
  for (int round = 0; round < 20'000; ++round) {
    std::string line;
    for (std::uint64_t size = random.below(120); size > 0; --size) line += alphabet[random.below(alphabet.size())];
    if (round % 2 == 0) line.insert(0, "h - - " TIME " ");
    static_cast<void>(parse(line));
  }
  EXPECT_FALSE(parse(std::string(100, '\0')));
  EXPECT_FALSE(parse("h - - ["s + std::string(26, '\0') + "] \"GET /\" 200 5"));
}

/// The same grammar as a regular expression of the C library.
bool matches(const std::string& line) {
  static const ::regex_t form = [] {
    ::regex_t compiled{};
    const int failed =
        ::regcomp(&compiled, "^[^ ]+ [^ ]+ .+ \\[[^]]{26}\\] \".*\" ([0-9]{3}|-) ([0-9]+|-)( \".*)?[ \t\r]*$",
                  REG_EXTENDED | REG_NOSUB);
    EXPECT_EQ(failed, 0);
    return compiled;
  }();
  return ::regexec(&form, line.c_str(), 0, nullptr, 0) == 0;
}

TEST(LogLine, AgreesWithTheGrammarOnLinesAlmostRight) {
  random_stream random(7);
  const std::string alphabet = "\" 05-x\\";
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string tail = random.below(2) == 0 ? "\"GET /\" 200 5" : "\"GET /\" 200 5 \"r\" \"a\"";
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t place = random.below(tail.size());
      switch (random.below(3)) {
        case 0: tail[place] = alphabet[random.below(alphabet.size())]; break;
        case 1: tail.erase(place, 1); break;
        default: tail.insert(place, 1, alphabet[random.below(alphabet.size())]);
      }
    }
    const std::string line = "h - - " TIME " " + tail;
    ASSERT_EQ(parse(line).has_value(), matches(line)) << line;
    accepted += matches(line) ? 1 : 0;
  }
  EXPECT_GT(accepted, 2'000);
}

TEST(LogLine, TakesLinearTimeForTheWorstLine) {
  // The request might end at each of these quotes.
  for (const char* const almost : {"\" 200 5x", "\" 200 5 x", "\""}) {
    std::string line = "h - - " TIME " \"";
    while (line.size() < 60'000) line += almost;
    for (int round = 0; round < 50; ++round) EXPECT_FALSE(parse(line + "x"));
  }
}

}  // namespace
}  // namespace foliot::program
