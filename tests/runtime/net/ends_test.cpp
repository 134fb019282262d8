// Every wait of a socket ends: it is closed, the task is asked to stop, or main has ended.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <foliot/runtime/cancelled.hpp>

#include "peers.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;
using test::local_pair;

class closes_it {
 public:
  explicit closes_it(int fd) noexcept : fd_(fd) {}
  ~closes_it() { ::close(fd_); }
  closes_it(const closes_it&) = delete;
  closes_it& operator=(const closes_it&) = delete;

 private:
  int fd_;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(each);
    ++count;
  }
  return count;
}

TEST(SocketWaits, ACloseEndsWhatWaitsInBothDirections) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    EXPECT_GT(test::fill(here), 0U);
    std::array<char, 10> buffer{};
    auto reading = spawn(here.read_some(std::span<char>(buffer)), "reads");
    auto writing = spawn(here.write_all(std::string_view("more")), "writes");
    co_await sleep(1ms);
    here.close();
    const auto got = co_await reading.join();
    EXPECT_TRUE(!got && got.error() == io_errc::closed);
    const auto sent = co_await writing.join();
    EXPECT_TRUE(!sent && sent.error() == io_errc::closed);
    const auto later = co_await here.read_some(std::span<char>(buffer));
    EXPECT_TRUE(!later && later.error() == io_errc::closed);
  });
}

TEST(SocketWaits, ACloseEndsAnAccept) {
  everywhere([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    auto accepting = spawn(gate->accept(), "accepts");
    co_await sleep(1ms);
    gate->close();
    const auto got = co_await accepting.join();
    EXPECT_TRUE(!got && got.error() == io_errc::closed);
  });
}

TEST(SocketWaits, AreCancelledInEveryWait) {
  everywhere([]() -> task<> {
    const address name = test::fresh_name();
    auto gate = listener::listen(name, 0);
    const auto in_the_way = co_await stream::connect(name);
    auto idle_gate = listener::listen(address::loopback(0));
    auto [here, there] = local_pair();
    EXPECT_GT(test::fill(here), 0U);
    std::array<char, 10> buffer{};
    auto connecting = spawn(stream::connect(name), "connects");
    auto accepting = spawn(idle_gate->accept(), "accepts");
    auto reading = spawn(here.read_some(std::span<char>(buffer)), "reads");
    auto writing = spawn(here.write_all(std::string_view("more")), "writes");
    co_await sleep(1ms);
    const auto stopped = [](auto& handle) -> task<bool> {
      handle.request_stop();
      try {
        static_cast<void>(co_await handle.join());
      } catch (const cancelled&) {
        co_return true;
      }
      co_return false;
    };
    const bool first = co_await stopped(connecting);
    const bool second = co_await stopped(accepting);
    const bool third = co_await stopped(reading);
    const bool fourth = co_await stopped(writing);
    EXPECT_TRUE(first && second && third && fourth);
    // The connection is as it was: nothing was read, nothing was written.
    const auto sent = co_await there.write_all(std::string_view("x"));
    EXPECT_TRUE(sent.has_value());
    const auto got = co_await here.read_some(std::span<char>(buffer));
    EXPECT_EQ(got.value_or(0), 1U);
  });
}

TEST(SocketWaits, WhatMainLeavesBehindIsClosed) {
  const std::size_t before = open_descriptors();
  everywhere([]() -> task<> {
    const auto waits = [](listener gate) -> task<> {
      const auto got = co_await gate.accept();
      ADD_FAILURE() << "accept returned without a connection or a close: " << got.has_value();
    };
    const auto reads = [](stream from, stream other_end) -> task<> {
      from.set_read_deadline(1h);
      std::array<char, 10> buffer{};
      const auto got = co_await from.read_all(std::span<char>(buffer));
      ADD_FAILURE() << "the wait ended although the run should destroy its task: " << got.has_value()
                    << other_end.native_handle();
    };
    const auto writes = [](stream to, stream other_end) -> task<> {
      EXPECT_GT(test::fill(to), 0U);
      const auto sent = co_await to.write_all(std::string_view("more"));
      ADD_FAILURE() << "the wait ended although the run should destroy its task: " << sent.has_value()
                    << other_end.native_handle();
    };
    const auto connects = [](address to) -> task<> {
      auto gate = listener::listen(to, 0);
      const auto first = co_await stream::connect(to);
      const auto second = co_await stream::connect(to);
      ADD_FAILURE() << "a write ended although there is no room: " << first.has_value() << second.has_value();
    };
    const auto watches = [](stream of, stream other_end) -> task<> {
      const int copy = ::dup(of.native_handle());
      const closes_it closes(copy);
      auto watched = watched_descriptor::watch(copy);
      const auto ready = co_await watched->readable();
      ADD_FAILURE() << "the wait ended although the run should destroy its task: " << ready.has_value()
                    << other_end.native_handle();
    };
    for (int i = 0; i < 10; ++i) {
      auto to_write = local_pair();
      spawn(writes(std::move(to_write.first), std::move(to_write.second)), "writes");
      spawn(connects(test::fresh_name()), "connects");
      auto to_watch = local_pair();
      spawn(watches(std::move(to_watch.first), std::move(to_watch.second)), "watches");
      spawn(waits(std::move(*listener::listen(address::loopback(0)))), "waits");
      auto both = local_pair();
      spawn(reads(std::move(both.first), std::move(both.second)), "reads");
    }
    co_await sleep(5ms);
  });
  EXPECT_EQ(open_descriptors(), before);
}

TEST(SocketWaits, OneThatOutlivesItsRuntimeIsClosedThen) {
  const std::size_t before = open_descriptors();
  std::optional<stream> kept;
  run([](std::optional<stream>& keep) -> task<> {
    auto both = local_pair();
    keep = std::move(both.first);
    co_return;
  }(kept));
  EXPECT_EQ(open_descriptors(), before + 1);
  const auto late = run([](stream& old) -> task<or_error<std::size_t>> {
    const auto sent = co_await old.write_some(std::string_view("x"));
    co_return sent;
  }(*kept));
  EXPECT_TRUE(!late && late.error() == io_errc::closed);
  kept->set_deadline(1h);
  kept.reset();
  EXPECT_EQ(open_descriptors(), before);
}

// The system must not reuse the number of a closed descriptor while a task is about to use it.
TEST(SocketWaits, TheDescriptorStaysOpenForWhoStillHasIt) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    const int number = here.native_handle();
    std::array<char, 10> buffer{};
    auto reading = spawn(here.read_some(std::span<char>(buffer)), "reads");
    co_await sleep(1ms);
    here.close();
    static_cast<void>(co_await reading.join());
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);  // though the stream is still there
    EXPECT_EQ(here.native_handle(), -1);
  });
}

// An operation on a stream that another task closes at any moment completes, or returns that it is closed.
TEST(SocketWaits, ACloseRacesWithEverything) {
  everywhere([]() -> task<> {
    for (int round = 0; round < 30; ++round) {
      auto [here, there] = local_pair();
      auto reads = [](stream& of) -> task<> {
        std::array<char, 10> buffer{};
        for (;;) {
          const auto got = co_await of.read_some(std::span<char>(buffer));
          if (!got) {
            EXPECT_EQ(got.error(), io_errc::closed);
            co_return;
          }
        }
      };
      auto writes = [](stream& of) -> task<> {
        for (;;) {
          const auto sent = co_await of.write_some(std::string_view("x"));
          if (!sent) {
            EXPECT_EQ(sent.error(), io_errc::closed);
            co_return;
          }
          co_await yield();
        }
      };
      auto asks = [](stream& of) -> task<> {
        for (;;) {
          of.set_deadline(1h);
          static_cast<void>(of.peer_address());
          if (of.set_no_delay(true) == io_errc::closed) co_return;
          co_await yield();
        }
      };
      std::vector<join_handle<>> all;
      all.push_back(spawn(reads(here), "reads"));
      all.push_back(spawn(writes(here), "writes"));
      all.push_back(spawn(asks(here), "asks"));
      for (int i = 0; i < round; ++i) co_await yield();
      here.close();
      for (auto& each : all) co_await each.join();
    }
  });
}

/// How much was transferred, unless it failed.
task<std::size_t> try_to_read(stream& from, std::atomic<int>& refused) {
  std::array<char, 10> buffer{};
  try {
    const auto got = co_await from.read_some(std::span<char>(buffer));
    co_return got.value_or(0);
  } catch (const std::logic_error&) {
    ++refused;
    co_return 0;
  }
}

TEST(SocketWaits, TwoTasksThatReadAreAnError) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    std::atomic<int> refused = 0;
    auto one = spawn(try_to_read(here, refused), "reads");
    auto other = spawn(try_to_read(here, refused), "reads too");
    while (!one.done() && !other.done()) co_await sleep(1ms);  // until one of the two has ended
    EXPECT_EQ(refused, 1);
    const auto sent = co_await there.write_all(std::string_view("x"));
    EXPECT_TRUE(sent.has_value());
    const std::size_t first = co_await one.join();
    const std::size_t second = co_await other.join();
    EXPECT_EQ(first + second, 1U);
  });
}

}  // namespace
}  // namespace foliot::runtime
