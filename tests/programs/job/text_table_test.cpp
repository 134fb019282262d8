#include "job/text_table.hpp"

#include <string>

#include <gtest/gtest.h>

namespace foliot::program::terminal {
namespace {

TEST(TextTable, AlignsColumnsAndLeavesOutEmptyOnes) {
  text_table table({{"ID", true}, {"TUBE"}, {"KEY"}, {"STATE"}});
  EXPECT_TRUE(table.empty());
  table.add({"7", "mail", "", "ready"});
  table.add({"1234", "x", "", "delayed"});
  EXPECT_EQ(table.text(),
            "  ID  TUBE  STATE\n"
            "   7  mail  ready\n"
            "1234  x     delayed\n");
}

TEST(TextTable, WithoutRowsHasItsHeads) { EXPECT_EQ(text_table({{"ID", true}, {"TUBE"}}).text(), "ID  TUBE\n"); }

TEST(TextTable, NeutralisesWhatATerminalWouldObey) {
  text_table table({{"KEY"}, {"STATE"}});
  table.add({"\x1b[2J\x1b]0;owned\x07", "ready"});
  table.add({"a\r\nb\tc\x7f", "ready"});
  table.add(
      {"\xc2\x9b"
       "31m",
       "ready"});  // the C1 form of an escape sequence
  table.add(
      {"\xe2\x80\xae"
       "gpj.exe",
       "ready"});                    // right to left from here on
  table.add({"\xff\xc3", "ready"});  // no UTF-8
  const std::string text = table.text();
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << static_cast<int>(c);
  EXPECT_NE(text.find("\\x1b[2J\\x1b]0;owned\\x07"), std::string::npos);
  EXPECT_NE(text.find("a\\x0d\\x0ab\\x09c\\x7f"), std::string::npos);
  EXPECT_NE(text.find("\\xc2\\x9b31m"), std::string::npos);
  EXPECT_NE(text.find("\\xe2\\x80\\xaegpj.exe"), std::string::npos);
  EXPECT_NE(text.find("\\xff\\xc3"), std::string::npos);
}

TEST(TextTable, CutsWideCells) {
  text_table table({{"KEY", false, 5}, {"STATE"}});
  table.add({"abcdef", "ready"});
  table.add({"abcde", "ready"});
  EXPECT_EQ(table.text(), "KEY    STATE\nabcd…  ready\nabcde  ready\n");
}

TEST(Shortened, CutsAtWholeCharacters) {
  EXPECT_EQ(shortened("äöüß", 4), "äöüß");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
  EXPECT_EQ(shortened("漢字漢字", 5), "漢字…");
  EXPECT_EQ(shortened("漢字漢字", 4), "漢…");
  EXPECT_EQ(shortened("", 1), "");
  EXPECT_EQ(shortened(std::string(100'000, 'a'), 4), "aaa…");
  // Marks above one letter have no end.
  std::string marks = "a";
  for (int i = 0; i < 10'000; ++i) marks += "\xcc\x81";
  EXPECT_LT(shortened(marks, 4).size(), 200U);
}

TEST(ShownWidth, CountsColumns) {
  EXPECT_EQ(shown_width(""), 0U);
  EXPECT_EQ(shown_width("abc"), 3U);
  EXPECT_EQ(shown_width("äöü"), 3U);
  EXPECT_EQ(shown_width("漢字"), 4U);
  EXPECT_EQ(shown_width("e\xcc\x81"), 1U);
  EXPECT_EQ(shown_width("😀"), 2U);
}

}  // namespace
}  // namespace foliot::program::terminal
