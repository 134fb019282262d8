// The parser over random bytes: it finds the events that the model finds however they are split, and commands that it
// has found are found again in their own text. In what an HTTP client sends it finds none.
#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "client_bytes.hpp"
#include "framing.hpp"
#include "http_bytes.hpp"

namespace foliot::program::beanstalk {
namespace {

constexpr std::uint32_t max_body = 9;

TEST(BeanstalkParserAtRandom, FindsWhatTheModelFinds) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    client_bytes client(seed);
    const std::string input = client.commands();
    const auto next_piece = [&](std::size_t left) { return client.piece(left); };
    ASSERT_EQ(events_in_pieces(input, max_body, next_piece), events_by_model(input, max_body)) << "seed " << seed;
  }
}

TEST(BeanstalkParserAtRandom, CommandsAreFoundInTheirOwnText) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    for (const std::string& text : events_by_model(client_bytes(seed).commands(), max_body)) {
      seen.insert(text.substr(0, text.find_first_of(" ,")));
      if (std::isupper(static_cast<unsigned char>(text[0])) || text.find("put") != std::string::npos) continue;
      ASSERT_EQ(events_by_model(text + "\r\n", max_body), texts{text}) << "seed " << seed;
    }
  }
  EXPECT_EQ(seen.size(), 38u) << "each kind of event has come";
}

/// Whether an event ends the connection, and none before it is a command.
bool do_nothing_and_end(const texts& found) {
  const auto is_error = [](const std::string& each) {
    return each == "UNKNOWN_COMMAND" || each.starts_with("BAD_FORMAT");
  };
  const auto end = std::ranges::find_if_not(found, is_error);
  return end != found.end() && (*end == "HTTP" || *end == "quit");
}

TEST(BeanstalkParserAtRandom, NoRequestOfAnHttpClientRunsACommand) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    http_bytes client(seed);
    const std::string input = client.request();
    const auto next_piece = [&](std::size_t left) { return client.piece(left); };
    const texts found = events_in_pieces(input, max_body, next_piece);
    ASSERT_TRUE(do_nothing_and_end(found)) << "seed " << seed << ": " << testing::PrintToString(found) << "\n" << input;
    ASSERT_EQ(found, events_by_model(input, max_body)) << "seed " << seed << ": " << input;
  }
}

TEST(BeanstalkParserAtRandom, NoRequestLineOfAnyLengthRunsACommand) {
  for (const std::string_view method : {"FOO", "put", "x-put", "use"}) {
    for (std::size_t more = 0; more <= 700; ++more) {
      const std::string line = std::string(method) + " /" + std::string(more, 'a') + " HTTP/1.1\r\n";
      const std::string input = line + "Host: 127.0.0.1\r\n\r\nput 0 0 1 1\r\na\r\nuse b\r\n";
      client_bytes pieces(more + 1);
      const auto all = [](std::size_t left) { return left; };
      const auto one = [](std::size_t) { return std::size_t{1}; };
      const auto some = [&](std::size_t left) { return pieces.piece(left); };
      const auto first_line = [&](std::size_t left) { return left == input.size() ? line.size() - 1 : left; };
      EXPECT_EQ(events_in_pieces(input, max_body, all), texts{"HTTP"}) << line;
      EXPECT_EQ(events_in_pieces(input, max_body, one), texts{"HTTP"}) << "byte by byte: " << line;
      EXPECT_EQ(events_in_pieces(input, max_body, some), texts{"HTTP"}) << "in pieces: " << line;
      EXPECT_EQ(events_in_pieces(input, max_body, first_line), texts{"HTTP"}) << "its LF in another read: " << line;
    }
  }
}

}  // namespace
}  // namespace foliot::program::beanstalk
