#include "text/nearest.hpp"

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

const std::vector<std::string> commands{"serve", "copy", "map", "replay", "sample", "bench", "top"};

TEST(Nearest, OneThatIsMistyped) {
  EXPECT_EQ(nearest("srve", commands), "serve") << "a character is missing";
  EXPECT_EQ(nearest("servee", commands), "serve") << "there is one too many";
  EXPECT_EQ(nearest("sarve", commands), "serve") << "there is another one";
  EXPECT_EQ(nearest("sevre", commands), "serve") << "two are swapped";
  EXPECT_EQ(nearest("tpo", commands), "top");
  EXPECT_EQ(nearest("samplle", {"sampler", "sample"}), "sample") << "one edit, not two";
  EXPECT_EQ(nearest("--max-job-zise", {"--max-jobs", "--max-job-size"}), "--max-job-size");
}

TEST(Nearest, NoneThatIsFar) {
  EXPECT_EQ(nearest("rewind", commands), std::nullopt);
  EXPECT_EQ(nearest("sale", commands), std::nullopt) << "half of it is wrong";
  EXPECT_EQ(nearest("x", {"a", ""}), std::nullopt) << "nothing of the word is left";
  EXPECT_EQ(nearest("", commands), std::nullopt);
  EXPECT_EQ(nearest("serve", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(65, 'a'), {std::string(64, 'a')}), std::nullopt) << "no word is so long";
}

TEST(Nearest, OfSeveralTheFirst) { EXPECT_EQ(nearest("tap", {"top", "map", "tip"}), "top"); }

}  // namespace
}  // namespace foliot::program
