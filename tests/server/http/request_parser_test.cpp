// The parser of requests: the published cases of request smuggling one by one, and the same events however the bytes
// are split.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "framing.hpp"

namespace foliot::program::http {
namespace {

using namespace std::literals;

texts all_at_once(std::string_view input, const request_limits& limits = {}) {
  return events_in_pieces(input, limits, [](std::size_t left) { return left; });
}

/// The events, which must be the same for all splits into two pieces, byte by byte, and by the model.
texts events_of(std::string_view input, const request_limits& limits = {}) {
  const texts whole = all_at_once(input, limits);
  EXPECT_EQ(whole, events_by_model(input, limits)) << "the model of " << testing::PrintToString(input);
  EXPECT_EQ(whole, events_in_pieces(input, limits, [](std::size_t) { return std::size_t{1}; })) << "byte by byte";
  for (std::size_t cut = 1; cut < input.size(); ++cut) {
    const auto first = [&](std::size_t left) { return left == input.size() ? cut : left; };
    EXPECT_EQ(whole, events_in_pieces(input, limits, first)) << "cut at " << cut;
  }
  return whole;
}

std::string with(std::string_view fields, std::string_view rest = "") {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(rest);
}

TEST(RequestParser, FindsRequestsThatFollowEachOther) {
  const texts found = events_of(
      "GET /a?b=c HTTP/1.1\r\nHost: a\r\nX-One:  two \t\r\n\r\n"
      "POST / HTTP/1.1\r\nhost: a\r\nContent-Length: 5\r\n\r\nhello"
      "PUT /x HTTP/1.1\r\nHOST: a\r\nTransfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\n"
      "Dropped: yes\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(found, (texts{"HEAD GET /a?b=c 1.1|host=a|x-one=two", "DONE ", "HEAD POST / 1.1|host=a|content-length=5",
                          "DONE hello", "HEAD PUT /x 1.1|host=a|transfer-encoding=Chunked", "DONE abc0123456789",
                          "HEAD GET / 1.0", "DONE "}));
}

TEST(RequestParser, FieldsWithTheSameNameFollowEachOther) {
  EXPECT_EQ(events_of("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\na: 3\r\nC: 4\r\nA: 5\r\n\r\n").front(),
            "HEAD GET / 1.0|a=1|a=3|a=5|b=2|c=4");
}

TEST(RequestParser, TellsWhatTheClientWants) {
  const auto read = [](std::string_view input) {
    request_parser parser;
    EXPECT_EQ(parser.parse(input).what, request_parser::event::head) << input;
    return parser.current();
  };
  EXPECT_TRUE(read(with("")).keeps_connection);
  EXPECT_FALSE(read(with("Connection: x, close\r\n")).keeps_connection);
  EXPECT_FALSE(read("GET / HTTP/1.0\r\n\r\n").keeps_connection);
  EXPECT_TRUE(read("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keeps_connection);
  EXPECT_TRUE(read(with("Expect: 100-Continue\r\nContent-Length: 1\r\n")).expects_continue);
  EXPECT_FALSE(read(with("")).expects_continue);
}

// The published ways in which one program takes a request for two. Each ends the connection before any request behind
// it is seen.
TEST(RequestSmuggling, BothLengths) {
  EXPECT_EQ(events_of(with("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG")), texts{"REFUSED 400"});
  EXPECT_EQ(events_of(with("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n", "0\r\n\r\nG")), texts{"REFUSED 400"});
  EXPECT_EQ(events_of(with("Content-Length: 6\r\nContent-Length: 6\r\n", "0\r\n\r\nG")), texts{"REFUSED 400"});
  EXPECT_EQ(events_of(with("Content-Length: 6\r\ncontent-length: 5\r\n", "0\r\n\r\nG")), texts{"REFUSED 400"});
}

TEST(RequestSmuggling, LengthsThatAreNoNumbers) {
  for (const char* const length : {"+5", "-1", "5, 5", "0x5", "5 5", "", "5\v", "\"5\"", "5.0", "1e1"}) {
    EXPECT_EQ(events_of(with("Content-Length: "s + length + "\r\n", "hello")), texts{"REFUSED 400"}) << length;
  }
  EXPECT_EQ(events_of(with("Content-Length: 18446744073709551621\r\n", "hello")), texts{"REFUSED 413"});
}

TEST(RequestSmuggling, TransferEncodingTwice) {
  EXPECT_EQ(events_of(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
            texts{"REFUSED 400"});
  EXPECT_EQ(events_of(with("Transfer-Encoding: chunked\r\nTransfer-encoding: identity\r\n", "0\r\n\r\n")),
            texts{"REFUSED 400"});
}

TEST(RequestSmuggling, TransferEncodingThatIsNotExactlyChunked) {
  for (const char* const coding : {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "xchunked", "identity",
                                   "", "chunked;q=1", "\"chunked\"", ", chunked", "chun ked"}) {
    EXPECT_EQ(events_of(with("Transfer-Encoding: "s + coding + "\r\n", "0\r\n\r\n")), texts{"REFUSED 501"}) << coding;
  }
  EXPECT_EQ(events_of(with("Transfer-Encoding: \vchunked\r\n", "0\r\n\r\n")), texts{"REFUSED 400"});
}

TEST(RequestSmuggling, TransferEncodingBeforeAContentLengthThatBeastTakes) {
  EXPECT_EQ(events_of(with("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", "hello")), texts{"REFUSED 501"});
}

TEST(RequestSmuggling, ChunkedInHttp10) {
  EXPECT_EQ(events_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), texts{"REFUSED 400"});
}

TEST(RequestSmuggling, BareCrAndLf) {
  for (const char* const head :
       {"GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\rx HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    EXPECT_EQ(events_of(head), texts{"REFUSED 400"}) << head;
  }
}

TEST(RequestSmuggling, ContinuedLines) {
  EXPECT_EQ(events_of(with("X: a\r\n b\r\n")), texts{"REFUSED 400"});
  EXPECT_EQ(events_of(with("Transfer-Encoding:\r\n\tchunked\r\n", "0\r\n\r\n")), texts{"REFUSED 501"});
  EXPECT_EQ(events_of("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), texts{"REFUSED 400"});
}

TEST(RequestSmuggling, NamesThatAreNoTokens) {
  for (const char* const line : {"Content-Length : 5", "Content-Length\t: 5", ": 5", "Content Length: 5", "no colon",
                                 "X\x01: 5", "X\x80: 5", "Transfer-Encoding\v: chunked"}) {
    EXPECT_EQ(events_of(with(line + "\r\n"s)), texts{"REFUSED 400"}) << line;
  }
  EXPECT_EQ(events_of(with("X: a\0b\r\n"sv)), texts{"REFUSED 400"});
}

TEST(RequestSmuggling, ConnectionsThatAreNoNames) {
  for (const char* const value : {"close keep-alive", "cl\x80se", "close;", "\"close\"", "a, b c", "="}) {
    EXPECT_EQ(events_of(with("Connection: "s + value + "\r\n")), texts{"REFUSED 400"}) << value;
    EXPECT_EQ(events_of(with("Proxy-Connection: "s + value + "\r\n")), texts{"REFUSED 400"}) << value;
  }
  for (const char* const value : {"", ",", "close", "a , b,,\tclose ,"}) {
    EXPECT_EQ(events_of(with("Connection: "s + value + "\r\n")).size(), 2u) << value;
  }
}

TEST(RequestSmuggling, Hosts) {
  EXPECT_EQ(events_of("GET / HTTP/1.1\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("CONNECT b:80 HTTP/1.1\r\nHost: a\r\n\r\n"), texts{"REFUSED 400"});
}

TEST(RequestSmuggling, Chunks) {
  const auto chunked = [](std::string_view body) {
    texts found = events_of(with("Transfer-Encoding: chunked\r\n", body));
    if (!found.empty()) found.erase(found.begin());  // the head
    return found;
  };
  EXPECT_EQ(chunked("5;a\nX\r\nhello\r\n0\r\n\r\n"), texts{"REFUSED 400"}) << "a lone LF in an extension";
  EXPECT_EQ(chunked("5;a\rX\r\nhello\r\n0\r\n\r\n"), texts{"REFUSED 400"}) << "a lone CR in an extension";
  EXPECT_EQ(chunked("5\nhello\r\n0\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(chunked("5\r\nhelloXX0\r\n\r\n"), texts{"REFUSED 400"}) << "unchecked bytes behind a chunk";
  EXPECT_EQ(chunked("5\r\nhello\n0\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(chunked("5\r\nhello\r\n0\r\nXX"), texts{}) << "a trailer that is not complete";
  EXPECT_EQ(chunked("5\r\nhello\r\n0\r\nXX\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(chunked("5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n"), texts{"DONE hello"}) << "a trailer is dropped";
  EXPECT_EQ(chunked("5\r\nhello\r\n0\r\nA: b\r\n c\r\n\r\n"), texts{"REFUSED 400"});
  for (const char* const size : {"", "-1", "+5", "0x5", " 5", "5 x", "g", "10000000000000005", ";a"}) {
    EXPECT_EQ(chunked(size + "\r\nhello\r\n0\r\n\r\n"s), texts{"REFUSED 400"}) << size;
  }
  EXPECT_EQ(chunked("FFFFFFFFFFFFFFFF\r\nhello"), texts{"REFUSED 413"});
  EXPECT_EQ(chunked("5 ;a=\"b\"\r\nhello\r\n0\r\n\r\n"), texts{"DONE hello"});
}

TEST(RequestParser, KeepsItsLimits) {
  const auto small = [](std::string_view input) { return events_of(input, small_limits); };
  EXPECT_EQ(small("GET /" + std::string(44, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n").size(), 2u);
  EXPECT_EQ(small("GET /" + std::string(45, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), texts{"REFUSED 414"});
  EXPECT_EQ(small(std::string(60, 'a')), texts{"REFUSED 414"}) << "a line without an end";
  EXPECT_EQ(small("GET / HTTP/1.1\r\nHost: " + std::string(300, 'a')), texts{"REFUSED 431"});
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 7; ++i) many += "a: b\r\n";
  EXPECT_EQ(small(many + "\r\n").size(), 2u);
  EXPECT_EQ(small(many + "a: b\r\n\r\n"), texts{"REFUSED 431"});
  EXPECT_EQ(small(with("Content-Length: 41\r\n")), texts{"REFUSED 413"});
  EXPECT_EQ(small(with("Content-Length: 40\r\n", std::string(40, 'x'))).back(), "DONE " + std::string(40, 'x'));
  const std::string chunked = with("Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(small(chunked + "1\r\nx\r\n28\r\n").back(), "REFUSED 413");
  EXPECT_EQ(small(chunked + "1;0123456789\r\nx\r\n1;01234567\r\nx\r\n").size(), 1u);
  EXPECT_EQ(small(chunked + "1;0123456789\r\nx\r\n1;012345678\r\nx\r\n").back(), "REFUSED 400");
  EXPECT_EQ(small(chunked + "0\r\nA: " + std::string(300, 'b')).back(), "REFUSED 431");
}

TEST(RequestParser, RefusesOtherProtocols) {
  EXPECT_EQ(events_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), texts{"REFUSED 505"});
  EXPECT_EQ(events_of("put 0 0 60 2\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("GET /\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("GET / http/1.1\r\nHost: a\r\n\r\n"), texts{"REFUSED 400"});
  EXPECT_EQ(events_of("GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n"), texts{"REFUSED 400"});
}

TEST(RequestParser, TakesMemoryAsTheBodyComes) {
  request_parser parser(request_limits{.body = 1'000'000});
  ASSERT_EQ(parser.parse(with("Content-Length: 1000000\r\n")).what, request_parser::event::head);
  const std::string piece(1000, 'x');
  for (std::size_t sent = 0; sent < 999'000; sent += piece.size()) {
    const std::size_t before = parser.memory();
    const std::size_t wanted = parser.wanted_memory(piece.size());
    ASSERT_FALSE(parser.parse(piece).what.has_value());
    ASSERT_LE(parser.memory(), std::max<std::size_t>(2 * (sent + piece.size()), 4096) + 1000);
    ASSERT_LE(parser.memory(), before + wanted);
  }
}

/// Requests that are mostly right, and damaged ones.
class client_bytes {
 public:
  explicit client_bytes(std::uint64_t seed) : random_(seed) {}

  std::string requests() {
    std::string all;
    for (std::size_t i = below(3) + 1; i > 0; --i) all += request();
    for (std::size_t i = below(3); i > 0; --i) damage(all);
    return all;
  }
  std::size_t piece(std::size_t left) { return std::min(left, below(12) + 1); }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  std::string any(const std::vector<std::string>& of) { return of[below(of.size())]; }
  std::string request() {
    std::string made = any({"GET", "POST", "PUT"}) + " " + any({"/", "/a?b", "*", "/%2F", "x"}) + " HTTP/1." +
                       any({"1", "1", "1", "0", "2"}) + "\r\n";
    made += any({"Host: a\r\n", "Host: a\r\n", "host:b\r\n", ""});
    for (std::size_t i = below(3); i > 0; --i) {
      made += any({"A: b\r\n", "Connection: close\r\n", "X:\r\n", "Expect: 100-continue\r\n", "Host: c\r\n",
                   "Content-Length: 1\r\n", "Transfer-Encoding: gzip\r\n", " b\r\n"});
    }
    switch (below(3)) {
      case 0: return made + "\r\n";
      case 1: {
        const std::string body(below(50), 'x');
        return made + fmt::format("Content-Length: {}\r\n\r\n", body.size()) + body;
      }
      default: break;
    }
    made += "Transfer-Encoding: chunked\r\n\r\n";
    for (std::size_t i = below(4); i > 0; --i) {
      const std::string chunk(below(20) + 1, 'y');
      made += fmt::format("{:x}{}\r\n", chunk.size(), any({"", "", ";a=b", " ;c"})) + chunk + "\r\n";
    }
    return made + "0\r\n" + any({"", "A: b\r\n"}) + "\r\n";
  }
  void damage(std::string& all) {
    const std::size_t at = below(all.size());
    const std::string byte = any({"\r", "\n", "\r\n", " ", ":", "0", std::string(1, '\0'), "\t", "\x80"});
    switch (below(4)) {
      case 0: all.erase(at, 1); break;
      case 1: all.insert(at, byte); break;
      case 2: all.replace(at, 1, byte); break;
      default: all.resize(at + 1); break;
    }
  }

  std::mt19937_64 random_;
};

TEST(RequestParserAtRandom, FindsWhatTheModelFinds) {
  std::size_t refused = 0;
  std::size_t complete = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    client_bytes client(seed);
    const std::string input = client.requests();
    const texts expected = events_by_model(input, small_limits);
    ASSERT_EQ(all_at_once(input, small_limits), expected) << "seed " << seed << ": " << input;
    const auto next_piece = [&](std::size_t left) { return client.piece(left); };
    ASSERT_EQ(events_in_pieces(input, small_limits, next_piece), expected) << "seed " << seed << ": " << input;
    for (const std::string& each : expected) {
      refused += each.starts_with("REFUSED");
      complete += each.starts_with("DONE");
    }
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(complete, 500u);
}

TEST(RequestParserAtRandom, FindsInAnyBytesWhatTheModelFinds) {
  constexpr std::string_view bytes = "\r\n\r\n\r\n  ::\t0125aAfF;,/GETHTTP/1.1\0\x7f\x80\xff"sv;
  const std::vector<std::string_view> beginnings = {"", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n",
                                                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                                                    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"};
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    std::mt19937_64 random(seed);
    std::string input(beginnings[random() % beginnings.size()]);
    for (std::uint64_t left = random() % 60; left > 0; --left) input += bytes[random() % bytes.size()];
    const texts expected = events_by_model(input, small_limits);
    ASSERT_EQ(all_at_once(input, small_limits), expected) << "seed " << seed << ": " << testing::PrintToString(input);
    const auto next_piece = [&](std::size_t left) {
      return std::min(left, 1 + static_cast<std::size_t>(random() % 5));
    };
    ASSERT_EQ(events_in_pieces(input, small_limits, next_piece), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace foliot::program::http
