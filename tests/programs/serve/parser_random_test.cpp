// The parser over random bytes: it finds the events that the model finds however they are split, and commands that it
// has found are found again in their own text.
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "client_bytes.hpp"
#include "framing.hpp"

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
  EXPECT_EQ(seen.size(), 36u) << "each kind of event has come";
}

}  // namespace
}  // namespace foliot::program::beanstalk
