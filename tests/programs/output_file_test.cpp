#include "output_file.hpp"

#include <csignal>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temporary_directory.hpp"
#include "text/failure.hpp"

namespace foliot::program {
namespace {

using names = std::set<std::string>;

std::string failure_of(const auto& action) {
  try {
    action();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), exit_code::error);
    return error.what();
  }
  return "nothing failed";
}

TEST(OutputFile, AppearsWhenItIsPublished) {
  const temporary_directory here;
  {
    output_file out(here / "a.csv");
    out.write("one\n");
    out.write("two\n");
    EXPECT_FALSE(std::filesystem::exists(here / "a.csv"));
    out.finish();
    EXPECT_FALSE(std::filesystem::exists(here / "a.csv"));
    out.publish();
    EXPECT_EQ(contents(here / "a.csv"), "one\ntwo\n");
  }
  EXPECT_EQ(here.names(), names{"a.csv"});
  EXPECT_EQ(contents(here / "a.csv"), "one\ntwo\n");
}

TEST(OutputFile, UnpublishedLeavesNothingAndTheOldFileAsItWas) {
  const temporary_directory here;
  put_contents(here / "a.csv", "old");
  {
    output_file out(here / "a.csv");
    out.write(std::string(200'000, 'x'));
    EXPECT_EQ(here.names().size(), 2U);
  }
  EXPECT_EQ(here.names(), names{"a.csv"});
  EXPECT_EQ(contents(here / "a.csv"), "old");
}

TEST(OutputFile, ReplacesAnOldFileAndKeepsItsPermissions) {
  const temporary_directory here;
  put_contents(here / "a.csv", "old");
  std::filesystem::permissions(here / "a.csv", std::filesystem::perms(0640));
  output_file out(here / "a.csv");
  out.write("new");
  out.publish();
  EXPECT_EQ(contents(here / "a.csv"), "new");
  EXPECT_EQ(std::filesystem::status(here / "a.csv").permissions(), std::filesystem::perms(0640));
}

TEST(OutputFile, WritesMoreThanItsBufferInOrder) {
  const temporary_directory here;
  std::string all;
  output_file out(here / "a");
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<std::size_t>(i * i), static_cast<char>('a' + i % 26));
    all += piece;
    out.write(piece);
  }
  out.publish();
  EXPECT_EQ(contents(here / "a"), all);
}

TEST(OutputFile, FollowsASymbolicLink) {
  const temporary_directory here;
  put_contents(here / "real", "old");
  std::filesystem::create_symlink("real", here / "link");
  output_file out(here / "link");
  out.write("new");
  out.publish();
  EXPECT_TRUE(std::filesystem::is_symlink(here / "link"));
  EXPECT_EQ(contents(here / "real"), "new");
}

TEST(OutputFile, MakesWhatASymbolicLinkPointsTo) {
  const temporary_directory here;
  std::filesystem::create_directory(here / "folder");
  std::filesystem::create_symlink("folder/real", here / "link");
  std::filesystem::create_symlink("link", here / "link to it");
  output_file out(here / "link to it");
  out.write("new");
  out.publish();
  EXPECT_TRUE(std::filesystem::is_symlink(here / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(here / "link to it"));
  EXPECT_EQ(contents(here / "folder/real"), "new");
}

TEST(OutputFile, ALinkToItselfIsAFailure) {
  const temporary_directory here;
  std::filesystem::create_symlink("link", here / "link");
  EXPECT_EQ(failure_of([&] { output_file out(here / "link"); }),
            fmt::format("cannot write '{}': Too many levels of symbolic links", here / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(here / "link"));
}

TEST(OutputFile, AShorterFileInDevShmLeavesNothingOfTheOldOne) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "there is no /dev/shm here";
  const std::string name = fmt::format("/dev/shm/foliot-test-{}", ::getpid());
  put_contents(name, "an old file, longer than the new one");
  {
    output_file out(name);
    out.write("new");
    out.publish();
  }
  EXPECT_EQ(contents(name), "new");
  std::filesystem::remove(name);
}

TEST(OutputFile, WritesToAnOpenDescriptorAsItIs) {
  const temporary_directory here;
  put_contents(here / "open", "");
  struct stat before{};
  struct stat after{};
  const int descriptor = ::open((here / "open").c_str(), O_RDWR | O_CLOEXEC);
  ::fstat(descriptor, &before);
  output_file out(fmt::format("/dev/fd/{}", descriptor));
  out.write("through");
  out.publish();
  ::close(descriptor);
  EXPECT_EQ(contents(here / "open"), "through");
  ::stat((here / "open").c_str(), &after);
  EXPECT_EQ(after.st_ino, before.st_ino) << "it was not replaced";
}

TEST(OutputFile, ADirectoryThatIsRemovedMeanwhileIsAFailure) {
  const temporary_directory here;
  std::filesystem::create_directory(here / "folder");
  EXPECT_EQ(failure_of([&] {
              output_file out(here / "folder/a");
              out.write("a");
              std::filesystem::remove_all(here / "folder");
              out.publish();
            }),
            fmt::format("cannot write '{}': No such file or directory", here / "folder/a"));
  EXPECT_EQ(here.names(), names{});
}

TEST(OutputFile, SaysWhatCannotBeWritten) {
  const temporary_directory here;
  EXPECT_EQ(failure_of([&] { output_file out(here / "no/such"); }),
            fmt::format("cannot write '{}': No such file or directory", here / "no/such"));
  std::filesystem::create_directory(here / "directory");
  EXPECT_EQ(failure_of([&] { output_file out(here / "directory"); }),
            fmt::format("cannot write '{}': Is a directory", here / "directory"));
  EXPECT_EQ(here.names(), names{"directory"});
}

TEST(OutputFile, AFullDiskIsAFailure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_EQ(failure_of([] {
              output_file out("/dev/full");
              out.write("a");
              out.finish();
            }),
            "cannot write '/dev/full': No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(OutputFile, WritesToAPipeAsItIs) {
  const temporary_directory here;
  const std::string pipe = here / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  {
    output_file out(pipe);
    out.write("through");
    out.publish();
  }
  char text[16];
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  ::close(reader);
  EXPECT_EQ(here.names(), names{"pipe"});
}

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};

/// A shell starts programs in the background with some signals ignored, and output_file leaves those alone. Done before
/// any test makes an output_file.
[[maybe_unused]] const bool no_signal_is_ignored = [] {
  for (const int each : ending_signals) {
    struct sigaction now{};
    if (::sigaction(each, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) std::signal(each, SIG_DFL);
  }
  return true;
}();

/// What a child process leaves in `here` when `signal_number` ends it while two files are being written.
int died_of(const temporary_directory& here, int signal_number) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    output_file one(here / "one");
    output_file two(here / "two");
    one.write(std::string(100'000, 'x'));
    ::raise(signal_number);
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

TEST(OutputFile, ASignalThatEndsTheProcessLeavesNothing) {
  for (const int signal_number : ending_signals) {
    const temporary_directory here;
    EXPECT_EQ(died_of(here, signal_number), signal_number);
    EXPECT_EQ(here.names(), names{});
  }
}

TEST(OutputFile, ASignalThatEndsAChildLeavesTheFilesOfItsParent) {
  const temporary_directory here;
  output_file out(here / "a");
  out.write("whole");
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGTERM);
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  out.publish();
  EXPECT_EQ(contents(here / "a"), "whole");
}

TEST(OutputFile, ASignalThatIsIgnoredStaysIgnored) {
  const temporary_directory here;
  const ::pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGHUP, SIG_IGN);
    output_file out(here / "a");
    ::raise(SIGHUP);
    out.write("still here");
    out.publish();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(contents(here / "a"), "still here");
}

}  // namespace
}  // namespace foliot::program
