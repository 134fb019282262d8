#include "replay/line_reader.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pieces.hpp"
#include "replay/log_line.hpp"

namespace foliot::program {
namespace {

using lines = std::vector<std::string>;

/// All lines; one that is too long as "<long>".
lines read_all(const std::string& text, std::size_t piece, std::size_t longest, std::uint64_t seed = 1) {
  pieces source(text, piece, seed);
  line_reader reader(source, longest);
  lines all;
  while (const auto line = reader.next()) all.push_back(line->too_long ? "<long>" : std::string(line->text));
  EXPECT_FALSE(reader.next());
  return all;
}

/// The same lines, split in the simplest way.
lines split(const std::string& text, std::size_t longest) {
  lines all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    all.push_back(end - begin > longest ? "<long>" : text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

TEST(LineReader, SplitsAtNewlinesAndNeedsNoneAtTheEnd) {
  EXPECT_EQ(read_all("", 100, 10), lines{});
  EXPECT_EQ(read_all("\n", 100, 10), lines{""});
  EXPECT_EQ(read_all("a\nb", 100, 10), (lines{"a", "b"}));
  EXPECT_EQ(read_all("a\nb\n", 100, 10), (lines{"a", "b"}));
  EXPECT_EQ(read_all("a\n\n\nb\n\n", 100, 10), (lines{"a", "", "", "b", ""}));
  EXPECT_EQ(read_all("a\r\nb\r\n", 100, 10), (lines{"a\r", "b\r"}));
}

TEST(LineReader, MarksLinesPastTheLimitAndGoesOn) {
  EXPECT_EQ(read_all("1234567890\n12345678901\nok\n", 100, 10), (lines{"1234567890", "<long>", "ok"}));
  EXPECT_EQ(read_all("12345678901", 100, 10), lines{"<long>"});
  EXPECT_EQ(read_all("1234567890", 100, 10), lines{"1234567890"});
}

TEST(LineReader, DoesNotDependOnWhereThePiecesEnd) {
  random_stream random(5);
  for (std::uint64_t round = 0; round < 300; ++round) {
    const std::size_t longest = 1 + random.below(20);
    std::string text;
    while (text.size() < 400) text += random.below(8) == 0 ? '\n' : static_cast<char>('a' + random.below(26));
    ASSERT_EQ(read_all(text, 1 + random.below(30), longest, round), split(text, longest)) << round;
  }
}

TEST(LineReader, TheReasonNamesTheLimit) {
  EXPECT_NE(to_text(malformed::too_long).find(std::to_string(line_reader::longest_line)), std::string_view::npos);
}

TEST(LineReader, KeepsALongLineTogetherAcrossItsBuffer) {
  std::string text;
  for (std::size_t size : {65'535U, 65'536U, 65'537U, 300'000U, 1'000'000U, 5U, 65'536U, 65'537U}) {
    text += std::string(size, 'x') + "\n";
  }
  text += std::string(65'537, 'y');
  for (const std::size_t piece : {1'000U, 65'536U, 262'144U, 10'000'000U}) {
    EXPECT_EQ(read_all(text, piece, line_reader::longest_line), split(text, line_reader::longest_line)) << piece;
  }
}

}  // namespace
}  // namespace foliot::program
