#include "text/printable.hpp"

#include <string>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text :
       {"", "access.log", "a b\\c '\"", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ShowsControlCharactersInsteadOfObeyingThem) {
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a\\x0ab\\x09c\\x0dd\\x7f");
  EXPECT_EQ(printable("\0"s), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "U+009B begins a sequence as ESC [ does";
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gol.exe"),
            "\\xe2\\x80\\xaegol.exe")
      << "U+202E turns the direction";
}

TEST(Printable, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut short";
  EXPECT_EQ(printable("\xe2\x82x"), "\\xe2\\x82x");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "longer than it has to be";
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(Printable, NoPairOfBytesIsObeyed) {
  for (int i = 0; i < 65'536; ++i) {
    const std::string shown = printable(std::string{static_cast<char>(i >> 8), static_cast<char>(i)});
    for (const char c : shown) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != '\x7f') << i;
    ASSERT_EQ(printable(shown), shown) << i;
  }
}

}  // namespace
}  // namespace foliot::program
