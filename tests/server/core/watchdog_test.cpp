// When the service manager hears that the server works. On virtual time, with a socket in the manager's place.
#include "server/core/watchdog.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "server/core/opened_stores.hpp"
#include "server/core/running_brokers.hpp"
#include "server/core/serve_options.hpp"
#include "server/core/server_log.hpp"
#include "server/core/service_manager.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

/// A variable of the environment, for the time of a test.
class variable {
 public:
  variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

/// What the server tells its service manager.
class manager_socket {
 public:
  manager_socket() : name_(fmt::format("@foliot-watchdog-{}", ::getpid())) {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name_.copy(at.sun_path, name_.size());
    at.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), size), 0);
  }
  manager_socket(const manager_socket&) = delete;
  manager_socket& operator=(const manager_socket&) = delete;
  ~manager_socket() { ::close(socket_); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// How often it has heard this since the last call.
  int heard(std::string_view state) {
    int count = 0;
    std::array<char, 100> text;
    for (;;) {
      const ssize_t size = ::recv(socket_, text.data(), text.size(), 0);
      if (size < 0) return count;
      if (std::string_view(text.data(), static_cast<std::size_t>(size)) == state) ++count;
    }
  }

 private:
  const std::string name_;
  int socket_ = -1;
};

serve_options in_memory() {
  serve_options options;
  options.folder.clear();
  return options;
}

struct parts {
  const server_log log{true};
  const serve_options options = in_memory();
  opened_stores stores{options, log};
  running_brokers brokers{stores.all(), {}};
  const service_manager manager;
  watchdog dog{manager, brokers, stores};
};

/// The tests themselves may run under a manager.
void forget_the_manager() {
  for (const char* each : {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"}) ::unsetenv(each);
}

TEST(Watchdog, HearsNothingWithoutAManager) {
  forget_the_manager();
  const parts all;
  EXPECT_FALSE(all.dog.exists());
  EXPECT_EQ(all.dog.round(), duration::forever());
}

TEST(Watchdog, HearsAsLongAsEachTaskGoesOn) {
  forget_the_manager();
  manager_socket manager;
  const variable socket("NOTIFY_SOCKET", manager.name());
  const variable time("WATCHDOG_USEC", "20000000");
  parts all;
  EXPECT_TRUE(all.dog.exists());
  EXPECT_EQ(all.dog.round(), duration(5s));
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  all.dog.expect([&first] { return first; });
  all.dog.expect([&second] { return second; });
  virtual_clock clock;
  test::on_virtual_time(clock, [&]() -> task<> {
    all.brokers.start();
    static_cast<void>(runtime::spawn(all.dog.feed(), "feeds the watchdog"));
    co_await runtime::sleep(1s);  // from here on, once in ten seconds in the middle between two looks
    for (int i = 0; i < 3; ++i) {
      ++first;
      ++second;
      co_await runtime::sleep(10s);
      EXPECT_EQ(manager.heard("WATCHDOG=1"), 1) << i;
    }
    ++first;
    co_await runtime::sleep(10s);
    EXPECT_EQ(manager.heard("WATCHDOG=1"), 0) << "the second task has stopped";
    ++second;
    co_await runtime::sleep(10s);
    EXPECT_EQ(manager.heard("WATCHDOG=1"), 0) << "the first one has stopped, the second one goes on";
    ++first;
    ++second;
    co_await runtime::sleep(10s);
    EXPECT_EQ(manager.heard("WATCHDOG=1"), 1) << "both go on again";
    static_cast<void>(co_await all.brokers.end());
  });
}

TEST(ReadinessNotice, IsToldAgainUntilTheManagerTakesIt) {
  std::string name;
  virtual_clock clock;
  {
    const manager_socket gone;
    name = gone.name();
  }
  const variable socket("NOTIFY_SOCKET", name);
  const service_manager to;
  test::on_virtual_time(clock, [&]() -> task<> {
    readiness_notice notice(to);
    notice.try_to_tell();
    EXPECT_NE(notice.next(), instant::never()) << "nobody is there";
    manager_socket manager;
    notice.try_to_tell();
    EXPECT_EQ(manager.heard("READY=1"), 0) << "not before its time";
    co_await runtime::sleep(100ms);
    notice.try_to_tell();
    EXPECT_EQ(notice.next(), instant::never());
    notice.try_to_tell();
    EXPECT_EQ(manager.heard("READY=1"), 1);
  });
}

}  // namespace
}  // namespace foliot::program
