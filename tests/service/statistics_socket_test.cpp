#include <foliot/service/statistics_socket.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/core/text_socket.hpp>
#include <foliot/service/statistics_text.hpp>

#include "fixture.hpp"
#include "own_threads.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

namespace fs = std::filesystem;

int connect_to(const std::string& path) {
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return made;
  ::close(made);
  return -1;
}

/// The whole answer of the socket at `path`; nothing if no process listens there.
std::optional<std::string> ask(const std::string& path) {
  const int connection = connect_to(path);
  if (connection < 0) return std::nullopt;
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(connection, piece, sizeof(piece))) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  ::close(connection);
  return text;
}

class StatisticsSocket : public ::testing::Test {
 protected:
  StatisticsSocket() {
    char name[] = "/tmp/foliot-XXXXXX";
    folder = ::mkdtemp(name);
    path = folder + "/timers";
  }
  ~StatisticsSocket() override { fs::remove_all(folder); }

  std::string sentence_for(const std::string& where) {
    try {
      const statistics_socket refused(timers, where);
      return "nothing was thrown";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  std::string folder;
  std::string path;
  virtual_clock clock;
  timer_service timers{clock, [] {
                         service_options options;
                         options.measure = true;
                         return options;
                       }()};
};

TEST_F(StatisticsSocket, AnswersEachWhoAsksWithWhatIsNow) {
  const statistics_socket shown(timers, path);
  EXPECT_EQ(shown.path(), path);
  EXPECT_EQ(ask(path), statistics_text({.statistics = timers.statistics()}));
  const timer t(timers, 1ms, [] {});
  clock.advance(1ms);
  EXPECT_EQ(ask(path), statistics_text({.statistics = timers.statistics()}));
  EXPECT_EQ(parse_statistics(*ask(path))->statistics.counters.fired, 1u);
}

TEST_F(StatisticsSocket, AnswersManyAtOnce) {
  const statistics_socket shown(timers, path);
  std::vector<std::thread> all;
  for (int i = 0; i < 8; ++i) {
    all.emplace_back([&] {
      for (int j = 0; j < 50; ++j) EXPECT_TRUE(parse_statistics(ask(path).value_or("")));
    });
  }
  for (std::thread& each : all) each.join();
}

TEST_F(StatisticsSocket, DoesNotWaitForThoseWhoAskAndDoNotRead) {
  const statistics_socket shown(timers, path);
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(path));
  EXPECT_TRUE(parse_statistics(ask(path).value_or("")));
  for (const int each : silent) ::close(each);
  EXPECT_TRUE(parse_statistics(ask(path).value_or("")));
}

TEST_F(StatisticsSocket, TheThreadAndTheFileGoWithIt) {
  {
    const statistics_socket shown(timers, path);
    while (threads_named("foliot-stats").empty()) std::this_thread::yield();  // the thread sets its own name
    EXPECT_EQ(threads_named("foliot-stats").size(), 1u);
    EXPECT_TRUE(fs::is_socket(path));
  }
  while (!threads_named("foliot-stats").empty())
    std::this_thread::yield();  // the kernel shows a thread for a moment after its end
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(ask(path), std::nullopt);
}

TEST_F(StatisticsSocket, AtItsEndTheFileGoesBeforeAnyoneIsRefused) {
  const auto& time = monotonic_clock::instance();
  bool has_gone = false;
  int connection = -1;
  note asked;
  {
    const text_socket shown(path, "test", [&] {
      asked.wake();
      for (const instant until = time.now() + 10s; !has_gone && time.now() < until; has_gone = !fs::exists(path)) {
        note nobody_wakes;
        nobody_wakes.sleep_until(time.now() + 1ms);
      }
      return std::string("last");
    });
    connection = connect_to(path);
    asked.sleep_until(time.now() + 10s);
  }
  ::close(connection);
  EXPECT_TRUE(has_gone) << "the end waits for the thread, and a client that connects meanwhile must not be refused";
}

TEST_F(StatisticsSocket, APathWhereSomebodyAnswersIsRefused) {
  const statistics_socket shown(timers, path);
  EXPECT_NE(sentence_for(path).find("'" + path + "': another socket listens there"), std::string::npos)
      << sentence_for(path);
  EXPECT_TRUE(ask(path)) << "the first owner of the path must go on answering";
}

// A connect that may block would wait for the owner for ever.
TEST_F(StatisticsSocket, APathWhoseOwnerHangsWithAFullBacklogIsRefusedAtOnce) {
  const int owner = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(owner, at, sizeof(address)), 0);
  ASSERT_EQ(::listen(owner, 0), 0);
  std::vector<int> waiting;
  do {
    waiting.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  } while (::connect(waiting.back(), at, sizeof(address)) == 0);
  ASSERT_EQ(errno, EAGAIN) << "the backlog must be full";
  EXPECT_NE(sentence_for(path).find("'" + path + "': another socket listens there"), std::string::npos);
  EXPECT_TRUE(fs::is_socket(path));
  for (const int each : waiting) ::close(each);
  ::close(owner);
}

TEST_F(StatisticsSocket, WhatAProcessLeftBehindIsTakenOver) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    try {
      new seam::local_listener(path);
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);  // without destroying the socket
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::is_socket(path));
  ASSERT_EQ(ask(path), std::nullopt);
  const statistics_socket shown(timers, path);
  EXPECT_TRUE(ask(path));
}

TEST_F(StatisticsSocket, WhatIsNoSocketIsLeftAlone) {
  std::ofstream(path) << "precious";
  EXPECT_NE(sentence_for(path).find("the file there is not a socket"), std::string::npos) << sentence_for(path);
  std::string kept;
  std::ifstream(path) >> kept;
  EXPECT_EQ(kept, "precious");
}

TEST_F(StatisticsSocket, AFileThatHasTakenItsPlaceIsLeftAlone) {
  {
    const statistics_socket shown(timers, path);
    fs::remove(path);
    std::ofstream(path) << "mine";
  }
  EXPECT_TRUE(fs::is_regular_file(path));
}

/// The process is in another folder as long as this lives.
class in_folder {
 public:
  explicit in_folder(const std::string& where) : before_(fs::current_path()) { fs::current_path(where); }
  ~in_folder() { fs::current_path(before_); }
  in_folder(const in_folder&) = delete;
  in_folder& operator=(const in_folder&) = delete;

 private:
  const fs::path before_;
};

TEST_F(StatisticsSocket, TheFileOfARelativePathGoesAlsoAfterAChdir) {
  fs::create_directory(folder + "/other");
  const in_folder at_first(folder);
  std::optional<statistics_socket> shown(std::in_place, timers, "timers");
  const in_folder later(folder + "/other");
  std::ofstream("timers") << "precious";
  shown.reset();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::is_regular_file(folder + "/other/timers"));
}

TEST_F(StatisticsSocket, APathThatCannotBeIsRefused) {
  EXPECT_THROW(statistics_socket(timers, ""), std::invalid_argument);
  EXPECT_THROW(statistics_socket(timers, std::string(108, 'x')), std::invalid_argument);
  EXPECT_THROW(statistics_socket(timers, std::string("a\0b", 3)), std::invalid_argument);
  EXPECT_THROW(statistics_socket(timers, folder + "/none/timers"), std::system_error);
  EXPECT_NE(sentence_for(folder + "/none/timers").find("cannot listen at"), std::string::npos);
  const std::string longest = folder + "/" + std::string(107 - folder.size() - 1, 'x');
  const statistics_socket shown(timers, longest);
  EXPECT_TRUE(ask(longest));
}

TEST_F(StatisticsSocket, InTheChildOfAForkItMayBeDestroyedAndTheParentGoesOn) {
  auto shown = std::make_unique<statistics_socket>(timers, path);
  const ::pid_t child = ::fork();
  if (child == 0) {
    shown.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(ask(path));
}

}  // namespace
}  // namespace foliot::test
