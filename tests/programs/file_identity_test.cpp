#include "output_file.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "temporary_directory.hpp"

namespace foliot::program {
namespace {

bool same_outputs(const std::string& a, const std::string& b) {
  const bool same = same_file(file_identity::of_output(a), file_identity::of_output(b));
  EXPECT_EQ(same, same_file(file_identity::of_output(b), file_identity::of_output(a))) << "in any order";
  return same;
}

TEST(FileIdentity, KnowsAFileByEachOfItsNames) {
  const temporary_directory here;
  put_contents(here / "file", "x");
  put_contents(here / "other", "x");
  std::filesystem::create_hard_link(here / "file", here / "hard");
  std::filesystem::create_symlink("file", here / "soft");
  std::filesystem::create_symlink("soft", here / "softer");
  for (const char* name : {"file", "./file", "hard", "soft", "softer"}) {
    EXPECT_TRUE(same_outputs(here / "file", here / name)) << name;
    EXPECT_FALSE(same_outputs(here / "other", here / name)) << name;
    EXPECT_FALSE(same_outputs(here / "not there", here / name)) << name;
    EXPECT_TRUE(same_file(file_identity::of_input(here / "file"), file_identity::of_output(here / name))) << name;
  }
}

TEST(FileIdentity, KnowsAFileThatDoesNotExistByThePathThatItWillHave) {
  const temporary_directory here;
  std::filesystem::create_directories(here / "folder/inner");
  std::filesystem::create_symlink("folder", here / "link");
  std::filesystem::create_symlink("folder/inner", here / "inner link");
  EXPECT_TRUE(same_outputs(here / "new", here / "./new"));
  EXPECT_TRUE(same_outputs(here / "new", here / "folder/../new"));
  EXPECT_TRUE(same_outputs(here / "folder/new", here / "link/new"));
  EXPECT_TRUE(same_outputs(here / "folder/new", here / "inner link/../new")) << "the folder above where the link leads";
  EXPECT_FALSE(same_outputs(here / "new", here / "inner link/../new"));
  std::filesystem::create_symlink("folder/new", here / "dangling");
  EXPECT_TRUE(same_outputs(here / "folder/new", here / "dangling"));
  EXPECT_FALSE(same_outputs(here / "new", here / "dangling"));
  EXPECT_FALSE(same_outputs(here / "new", here / "New"));
  EXPECT_FALSE(same_outputs(here / "new", here / "folder/new"));
  EXPECT_FALSE(same_outputs(here / "no folder/new", here / "new"));
}

TEST(FileIdentity, AFileThatIsNamedAsADashIsNotStandardOutput) {
  EXPECT_TRUE(same_outputs("-", "/dev/stdout"));
  EXPECT_FALSE(same_outputs("-", "./-"));
}

TEST(FileIdentity, APathThatCannotBeToldIsNoFile) {
  EXPECT_FALSE(same_outputs("", std::string(10'000, 'x')));
  EXPECT_FALSE(same_outputs("", "a"));
}

TEST(FileIdentity, KnowsDevicesAndPipesByTheirNames) {
  EXPECT_TRUE(same_outputs("/dev/null", "/dev/null"));
  const temporary_directory here;
  const std::string pipe = here / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(same_outputs(pipe, here / "./pipe"));
}

}  // namespace
}  // namespace foliot::program
