#include "server/beanstalk/parser.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "framing.hpp"

namespace foliot::program::beanstalk {
namespace {

/// The events of a client's bytes. Checks that no split of them makes a difference: all of those into two pieces, and
/// byte by byte.
texts events(std::string_view input, std::uint32_t max_body = 65'535) {
  texts expected = events_by_model(input, max_body);
  for (std::size_t at = 1; at <= input.size(); ++at) {
    const auto split = [&](std::size_t left) { return left == input.size() ? at : left; };
    EXPECT_EQ(events_in_pieces(input, max_body, split), expected) << "split at " << at << ": " << input;
  }
  const auto one_byte = [](std::size_t) { return std::size_t{1}; };
  EXPECT_EQ(events_in_pieces(input, max_body, one_byte), expected) << "byte by byte: " << input;
  return expected;
}

const std::string crlf = "\r\n";

TEST(BeanstalkParser, ReadsPipelinedCommandsOneAtATime) {
  EXPECT_EQ(events("use a\r\nput 1 0 5 3\r\nabc\r\nreserve\r\nquit\r\n"),
            (texts{"use a", "put-line 3", "put 1 0 5000 [abc]", "reserve", "quit"}));

  parser commands;
  const std::string_view two = "reserve\r\ndelete 1\r\n";
  const auto first = commands.parse(two);
  EXPECT_EQ(first.used, 9u) << "a session that waits here leaves the rest unread";
  EXPECT_TRUE(std::holds_alternative<reserve>(*first.what));
}

TEST(BeanstalkParser, BodiesHaveAnyBytes) {
  EXPECT_EQ(events("put 1 0 5 0\r\n\r\n"), (texts{"put-line 0", "put 1 0 5000 []"}));
  EXPECT_EQ(events("put 1 0 5 6\r\n\r\n\r\n\r\n\r\n"), (texts{"put-line 6", "put 1 0 5000 [\r\n\r\n\r\n]"}));
  EXPECT_EQ(events("put 1 0 5 4\r\nuse \r\nuse a\r\n"), (texts{"put-line 4", "put 1 0 5000 [use ]", "use a"}));
  const std::string zeros(3, '\0');
  EXPECT_EQ(events("put 1 0 5 3\r\n" + zeros + crlf), (texts{"put-line 3", "put 1 0 5000 [" + zeros + "]"}));
}

/// What counts the memory of jobs counts their bytes.
TEST(BeanstalkParser, ABodyKeepsNoMemoryOfItsFields) {
  jobs::job_fields fields;
  EXPECT_TRUE(fields.set(1, std::string(8'000, 'f')));
  std::string input = "x-put keep - 1 0 5 10 8004 0\r\n0123456789";
  input += fields.bytes();
  input += crlf;
  parser under_test;
  std::string_view left = input;
  left.remove_prefix(under_test.parse(left).used);
  const auto got = under_test.parse(left);
  ASSERT_TRUE(got.what && std::holds_alternative<put>(*got.what));
  EXPECT_LT(std::get<put>(*got.what).job.body.capacity(), 100U);
}

TEST(BeanstalkParser, FieldsAndAHistoryFollowTheBody) {
  using namespace std::string_literals;
  const std::string fields = "\0\1\0\2\r\n"s;
  const std::string history = "\1\0\0\0"s;
  const std::string line = "x-put keep k 1 5 7 4 ";
  const std::string shown = "put 1 5 7 keep k [\r\nab]";
  EXPECT_EQ(events(line + "6 4\r\n\r\nab" + fields + history + "\r\nuse q\r\n"),
            (texts{"x-put-line 14, with 6 4", shown + " fields [" + fields + "] history [" + history + "]", "use q"}));
  EXPECT_EQ(events(line + "0 4\r\n\r\nab" + history + "\r\nuse q\r\n"),
            (texts{"x-put-line 8, with 0 4", shown + " history [" + history + "]", "use q"}));
  EXPECT_EQ(events(line + "0 0\r\n\r\nab\r\nuse q\r\n"), (texts{"x-put-line 4", shown, "use q"}));
  EXPECT_EQ(events(line + "6 4\r\n\r\nab" + fields + history + "xxuse q\r\n"),
            (texts{"x-put-line 14, with 6 4", "EXPECTED_CRLF", "use q"}));
  EXPECT_EQ(events(line + "6 4\r\n\r\nab" + fields + history + "\r\nuse q\r\n", 3),
            (texts{"x-put-line 14, too big, with 6 4", "JOB_TOO_BIG", "use q"}));
}

TEST(BeanstalkParser, WhatIsNoFieldsIsBadFormatBehindItsEnd) {
  using namespace std::string_literals;
  const std::string line = "x-put keep k 1 5 7 1 ";
  const auto expect_bad = [&](const std::string& sizes, const std::string& behind) {
    EXPECT_EQ(events(line + sizes + "\r\na" + behind + "\r\nuse q\r\n").back(), "use q") << sizes;
    EXPECT_EQ(events(line + sizes + "\r\na" + behind + "\r\nuse q\r\n").at(1), "BAD_FORMAT") << sizes;
  };
  expect_bad("4 0", "\0\0\0\0"s);
  expect_bad("0 4", "\0\0\0\0"s);
  expect_bad("3 0", "\0\1\0"s);
  expect_bad("4 4", "\0\1\0\1\0\1\0\0"s);
  expect_bad("8 0", "\0\2\0\0\0\1\0\0"s);
}

TEST(BeanstalkParser, ABodyOfTheWrongLengthEndsBehindTheTwoBytesThatShouldEndIt) {
  EXPECT_EQ(events("put 0 0 1 1\r\nabc\r\n"), (texts{"put-line 1", "EXPECTED_CRLF", "UNKNOWN_COMMAND"}));
  EXPECT_EQ(events("put 0 0 1 1\r\nabcuse x\r\n"), (texts{"put-line 1", "EXPECTED_CRLF", "use x"}));
  EXPECT_EQ(events("put 0 0 1 3\r\na\r\nstats\r\n"), (texts{"put-line 3", "EXPECTED_CRLF", "UNKNOWN_COMMAND"}));
  EXPECT_EQ(events("put 0 0 1 1\r\na\rxuse x\r\n"), (texts{"put-line 1", "EXPECTED_CRLF", "use x"}));
  EXPECT_EQ(events("put 0 0 1 1\r\na\n\ruse x\r\n"), (texts{"put-line 1", "EXPECTED_CRLF", "use x"}));
  EXPECT_EQ(events("put 0 0 1 1\r\nax\nuse x\r\n"), (texts{"put-line 1", "EXPECTED_CRLF", "use x"}));
  EXPECT_EQ(events("put 0 0 1 1\r\naxxput 0 0 1 1\r\na\r\n"),
            (texts{"put-line 1", "EXPECTED_CRLF", "put-line 1", "put 0 0 1000 [a]"}));
}

TEST(BeanstalkParser, TheBodyOfAWrongPutIsParsedAsCommands) {
  EXPECT_EQ(events("put 1 0 1 1 \r\nuse a\r\n"), (texts{"BAD_FORMAT, counted", "use a"}));
  EXPECT_EQ(events("put 1 0 1\r\na\r\n"), (texts{"BAD_FORMAT", "UNKNOWN_COMMAND"}));
}

TEST(BeanstalkParser, ABodyThatIsTooBigIsDiscardedWithTwoBytesMore) {
  EXPECT_EQ(events("put 0 0 1 5\r\nabcde\r\nuse q\r\n", 4), (texts{"put-line 5, too big", "JOB_TOO_BIG", "use q"}));
  EXPECT_EQ(events("put 0 0 1 5\r\nabcdexxuse q\r\n", 4), (texts{"put-line 5, too big", "JOB_TOO_BIG", "use q"}));
  EXPECT_EQ(events("put 0 0 1 4\r\nabcd\r\nuse q\r\n", 4), (texts{"put-line 4", "put 0 0 1000 [abcd]", "use q"}));
  EXPECT_EQ(events("put 0 0 1 5x\r\nabcde\r\nuse q\r\n", 4), (texts{"put-line 5, too big", "JOB_TOO_BIG", "use q"}));
}

TEST(BeanstalkParser, ABodyOfFourGigabytesIsDiscardedToItsEnd) {
  parser commands;
  const std::string_view line = "put 0 0 1 4294967295\r\n";
  ASSERT_EQ(commands.parse(line).used, line.size());
  const std::string block(1 << 20, 'x');
  for (std::uint64_t left = 4'294'967'297; left > 0;) {
    const auto piece =
        std::string_view(block).substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, block.size())));
    const auto [used, what] = commands.parse(piece);
    ASSERT_EQ(used, piece.size());
    left -= used;
    ASSERT_EQ(what ? event_text::of(*what) : "", left == 0 ? "JOB_TOO_BIG" : "");
  }
  EXPECT_TRUE(commands.between_commands());
}

TEST(BeanstalkParser, LinesOf224BytesAreTheLongest) {
  EXPECT_EQ(events("use " + std::string(218, 'a') + crlf), texts{"BAD_FORMAT"});
  EXPECT_EQ(events("foo " + std::string(218, 'a') + crlf), texts{"UNKNOWN_COMMAND"});
  EXPECT_EQ(events("foo " + std::string(220, 'a') + crlf + "use b\r\n"), (texts{"BAD_FORMAT", "use b"}));
  EXPECT_EQ(events("foo " + std::string(900, 'a') + crlf + "use b\r\n"), (texts{"BAD_FORMAT", "use b"}));
}

/// As beanstalkd does: the CR is lost with the full buffer, so that the next line ends this one.
TEST(BeanstalkParser, ALineOf225BytesEndsWithTheNext) {
  const std::string line = "foo " + std::string(219, 'a') + crlf;
  ASSERT_EQ(line.size(), 225u);
  EXPECT_EQ(events(line), texts{});
  EXPECT_EQ(events(line + "use a\r\nuse b\r\n"), (texts{"BAD_FORMAT", "use b"}));
  const std::string twice = "foo " + std::string(219 + 224, 'a') + crlf;
  EXPECT_EQ(events(twice + "use a\r\nuse b\r\n"), (texts{"BAD_FORMAT", "use b"}));
}

TEST(BeanstalkParser, OnlyTheFirstCrOfABufferCanEndALine) {
  EXPECT_EQ(events("use a\rb\r\nuse b\r\n"), texts{});
  EXPECT_EQ(events("use a\r\r\n"), texts{});
  // The rest of the first buffer is lost; the line ends in the second.
  const std::string full = "use a\rb" + std::string(224 - 7, 'x');
  EXPECT_EQ(events(full + "yz\r\nuse b\r\n"), (texts{"BAD_FORMAT", "use b"}));
  EXPECT_EQ(events(full + "y\rz\r\n" + std::string(224 - 5, 'x') + "\r\nuse b\r\n"), (texts{"BAD_FORMAT", "use b"}));
}

TEST(BeanstalkParser, ALineFeedAloneEndsNothing) {
  EXPECT_EQ(events("use a\nuse b\r\n"), texts{"BAD_FORMAT"});
  EXPECT_EQ(events("use a\n"), texts{});
  EXPECT_EQ(events("\nuse a\r\n"), texts{"UNKNOWN_COMMAND"});
}

TEST(BeanstalkParser, EmptyLines) { EXPECT_EQ(events("\r\n\r\n"), (texts{"UNKNOWN_COMMAND", "UNKNOWN_COMMAND"})); }

TEST(BeanstalkParser, ZerosAreBadFormat) {
  using namespace std::string_literals;
  EXPECT_EQ(events("use a\0b\r\nuse c\r\n"s), (texts{"BAD_FORMAT", "use c"}));
}

TEST(BeanstalkParser, TheSessionMayDiscardABody) {
  parser commands;
  const std::string_view input = "put 0 0 1 3\r\nabc\r\nuse a\r\n";
  const auto line = commands.parse(input);
  ASSERT_TRUE(std::holds_alternative<put_line>(*line.what));
  commands.discard_body();
  const auto body = commands.parse(input.substr(line.used));
  EXPECT_EQ(event_text::of(*body.what), "OUT_OF_MEMORY");
  EXPECT_EQ(line.used + body.used, 18u);
}

TEST(BeanstalkParser, AskedTwiceABodyStaysTooBig) {
  parser commands(2);
  const std::string_view input = "put 0 0 1 3\r\nabc\r\n";
  const auto line = commands.parse(input);
  commands.discard_body();
  EXPECT_EQ(event_text::of(*commands.parse(input.substr(line.used)).what), "JOB_TOO_BIG");
}

TEST(BeanstalkParser, TheLimitOfBodiesMayChange) {
  parser commands(2);
  commands.set_max_body(3);
  EXPECT_EQ(event_text::of(*commands.parse("put 0 0 1 3\r\n").what), "put-line 3");
  commands.set_max_body(2);
  EXPECT_EQ(event_text::of(*commands.parse("abc\r\n").what), "put 0 0 1000 [abc]");
  EXPECT_EQ(event_text::of(*commands.parse("put 0 0 1 3\r\n").what), "put-line 3, too big");
}

/// A page in a browser has it send such requests to ports of its own machine, with commands in the body.
TEST(BeanstalkParser, NoCommandIsFoundBehindAnHttpRequest) {
  const std::string body = "Host: 127.0.0.1:11300\r\n\r\nput 0 0 1 1\r\na\r\n";
  for (const std::string_view method : {"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"})
    EXPECT_EQ(events(std::string(method) + " / HTTP/1.1\r\n" + body), texts{"HTTP"}) << method;
  EXPECT_EQ(events("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + body), texts{"HTTP"});
  EXPECT_EQ(events("use a\r\nGET / HTTP/1.0\r\n" + body), (texts{"use a", "HTTP"}));
  EXPECT_EQ(events("GET http://127.0.0.1:11300/ HTTP/1.1\r\n" + body), texts{"HTTP"});
  EXPECT_EQ(events("POST /" + std::string(300, 'a') + " HTTP/1.1\r\n" + body), texts{"HTTP"}) << "a long line";
  EXPECT_EQ(events("GET /\n\n" + body), texts{"HTTP"}) << "of HTTP/0.9";
  EXPECT_EQ(events("GET /"), texts{"HTTP"}) << "the line is not complete";
  for (const std::string_view line : {"PROPFIND /a HTTP/1.1", "get / HTTP/1.1", "put / HTTP/1.1", "x / HTTP/3.0",
                                      "x / HTTP/10.1", "x / HTTP/2", "x / HTTP/1.1 ", "x\t/\tHTTP/1.1",
                                      "x http://127.0.0.1/ HTTP/1.1", "x rtsp://127.0.0.1/ RTSP/1.0", "x a SIP/2.0"})
    EXPECT_EQ(events(std::string(line) + "\r\n" + body), texts{"HTTP"}) << line;
}

TEST(BeanstalkParser, NoCommandIsFoundBehindALongHttpRequestLine) {
  const std::string body = "Host: 127.0.0.1:11300\r\n\r\nput 0 0 1 1\r\na\r\n";
  // The last one of 224 bytes, the one whose CR is lost with its buffer, and some beyond.
  for (const std::size_t more : {206u, 207u, 208u, 216u, 300u, 431u, 432u, 433u, 900u}) {
    const std::string line = "x /" + std::string(more, 'a') + " HTTP/1.1";
    EXPECT_EQ(events(line + crlf + body), texts{"HTTP"}) << line.size();
  }
  EXPECT_EQ(events("x /a\rb HTTP/1.1\r\n" + body), texts{"HTTP"}) << "a CR inside";
  EXPECT_EQ(events("x / HTTP/1.1\n" + body), texts{"HTTP"}) << "LF ends its lines";
  EXPECT_EQ(events("x /" + std::string(300, 'a') + " HTTP/1.1\rHost: a\r\r" + body), texts{"HTTP"}) << "CR does";
}

/// A ticket of TLS may have any bytes, among them lines.
TEST(BeanstalkParser, NoCommandIsFoundBehindTheBeginningOfTls) {
  EXPECT_EQ(events("\x16\x03\x01\r\nput 0 0 1 1\r\na\r\n"), texts{"TLS"});
  EXPECT_EQ(events("\x16\r\nuse b\r\n"), texts{"TLS"});
  EXPECT_EQ(events("use a\r\n\x16\r\nuse b\r\n"), (texts{"use a", "UNKNOWN_COMMAND", "use b"}))
      << "no connection by TLS begins so";
}

TEST(BeanstalkParser, WhatIsNearAnHttpRequestIsParsed) {
  EXPECT_EQ(events("GET\r\nGETS /\r\nPUT 1 1 1 1\r\nDELETE 1\r\nGE"), texts(4, "UNKNOWN_COMMAND"));
  for (const std::string_view line : {"x/ HTTP/1.", "HTTP/1.1", "xHTTP/1.1", "x HTTP/1.1x", "x HTTP/1.1.1", "x HTTP/",
                                      "x HTTP/1.1 x", "x http/1.1", "x FTP/1.1", "x XHTTP/1.1", "x images/2"})
    EXPECT_EQ(events(std::string(line) + crlf), texts{"UNKNOWN_COMMAND"}) << line;
  EXPECT_EQ(events("use  images/2\r\nuse HTTP/1.1\r\nput 0 0 1 1 HTTP\r\n"),
            (texts{"BAD_FORMAT", "use HTTP/1.1", "BAD_FORMAT, counted"}));
  EXPECT_EQ(events("put 0 0 1 14\r\nGET / HTTP/1.1\r\nuse a\r\n"),
            (texts{"put-line 14", "put 0 0 1000 [GET / HTTP/1.1]", "use a"}))
      << "the body of a job";
  EXPECT_EQ(events("kick 5 HTTP/1.1\r\nreserve-with-timeout 5 HTTP/1.1\r\nquit HTTP/1.1\r\n"),
            (texts{"kick 5", "reserve-with-timeout 5", "quit"}))
      << "as beanstalkd takes them";
  EXPECT_EQ(events(std::string(300, 'a') + "/HTTP/1.1\r\nuse a\r\n"), (texts{"BAD_FORMAT", "use a"}));
  EXPECT_EQ(events("PROXY TCP4 192.0.2.1 192.0.2.2 56324 11300\r\nuse a\r\n"), (texts{"UNKNOWN_COMMAND", "use a"}))
      << "of a proxy in front";
}

TEST(BeanstalkParser, KnowsWhetherACommandIsComplete) {
  const std::string input =
      "use a\r\nput 0 0 1 3\r\nabc\r\nfoo " + std::string(300, 'a') + "\r\nput 0 0 1 9\r\n123456789\r\n";
  parser commands(8);
  std::string complete;
  for (const char byte : input) {
    static_cast<void>(commands.parse({&byte, 1}));
    complete += commands.between_commands() ? '|' : byte == '\r' || byte == '\n' ? '_' : byte;
  }
  EXPECT_EQ(complete, "use a_|put 0 0 1 3__abc_|foo " + std::string(300, 'a') + "_|put 0 0 1 9__123456789_|");
}

TEST(BeanstalkParser, ABodyCostsWhatHasComeOfIt) {
  constexpr std::size_t size = 1'000'000;
  parser commands(size);
  const std::string line = "put 0 0 1 " + std::to_string(size) + crlf;
  ASSERT_TRUE(commands.parse(line).what);
  EXPECT_LE(commands.body_memory(), 64u);
  for (std::size_t sent = 1; sent <= size; ++sent) {
    ASSERT_FALSE(commands.parse("x").what);
    ASSERT_LE(commands.body_memory(), std::max<std::size_t>(4096, 2 * sent)) << "after " << sent;
  }
  const auto end = commands.parse(crlf);
  EXPECT_EQ(std::get<put>(*end.what).job.body.size(), size);
  EXPECT_LE(commands.body_memory(), 64u) << "the memory has gone with the put";
}

TEST(BeanstalkParser, ABodyThatComesAtOnceGetsItsMemoryAtOnce) {
  const std::string input = "put 0 0 1 60000\r\n" + std::string(60'000, 'x') + crlf;
  parser commands;
  const auto line = commands.parse(input);
  const auto end = commands.parse(std::string_view(input).substr(line.used));
  EXPECT_EQ(std::get<put>(*end.what).job.body.capacity(), 60'000u);
}

}  // namespace
}  // namespace foliot::program::beanstalk
