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

std::expected<log_request, malformed> parse(std::string_view line) { return log_parser().parse(line); }

void expect_request(std::string_view line, std::string_view client = "h", std::int64_t second = august_1995) {
  const auto request = parse(line);
  ASSERT_TRUE(request) << line << ": " << to_text(request.error());
  EXPECT_EQ(request->client, client) << line;
  EXPECT_EQ(request->time.nanoseconds(), second * 1'000'000'000) << line;
}

void expect_malformed(std::string_view line, malformed reason) {
  const auto request = parse(line);
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
  for (const char* client :
       {"::1", "2001:db8::7", "fe80::1%eth0", "192.0.2.7,198.51.100.1", "h\"q\"", "\xc3\xa4.example"}) {
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
          ASSERT_TRUE(request && request->client == client) << byte;
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
  for (int i = 0; i <= static_cast<int>(malformed::no_quoted_field); ++i) {
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
