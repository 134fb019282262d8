// Readiness of descriptors that are not foliot's.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include <foliot/runtime/cancelled.hpp>

#include "peers.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;
using test::in_virtual_worlds;

/// A pipe of the system.
class pipe_pair {
 public:
  pipe_pair() { EXPECT_EQ(::pipe2(ends_.data(), O_NONBLOCK | O_CLOEXEC), 0); }
  ~pipe_pair() {
    for (const int each : ends_) ::close(each);
  }
  pipe_pair(const pipe_pair&) = delete;
  pipe_pair& operator=(const pipe_pair&) = delete;

  [[nodiscard]] int to_read() const noexcept { return ends_[0]; }
  [[nodiscard]] int to_write() const noexcept { return ends_[1]; }
  void put(std::size_t count = 1) const {
    const std::string text(count, 'x');
    EXPECT_EQ(::write(to_write(), text.data(), count), static_cast<ssize_t>(count));
  }
  void take(std::size_t count = 1) const {
    std::string text(count, ' ');
    EXPECT_EQ(::read(to_read(), text.data(), count), static_cast<ssize_t>(count));
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

task<std::error_code> wait_readable(watched_descriptor& of) {
  const auto ready = co_await of.readable();
  co_return ready ? std::error_code() : ready.error();
}

// Although the poller reports edges, the descriptor is ready as long as there is data, and not when there is none.
TEST(Watched, IsReadableWhileThereIsSomething) {
  everywhere([]() -> task<> {
    const pipe_pair pipe;
    auto watched = watched_descriptor::watch(pipe.to_read());
    EXPECT_TRUE(watched.has_value());
    for (int round = 0; round < 3; ++round) {
      auto waiting = spawn(wait_readable(*watched), "waits");
      co_await sleep(1ms);
      EXPECT_FALSE(waiting.done());
      pipe.put(2);
      const std::error_code none = co_await waiting.join();
      EXPECT_FALSE(none);
      for (int i = 0; i < 3; ++i) {
        const std::error_code still = co_await wait_readable(*watched);
        EXPECT_FALSE(still);
      }
      pipe.take(1);
      const std::error_code one_left = co_await wait_readable(*watched);
      EXPECT_FALSE(one_left);
      pipe.take(1);
    }
  });
}

TEST(Watched, IsWritableAgainWhenThereIsRoom) {
  everywhere([]() -> task<> {
    const pipe_pair pipe;
    auto watched = watched_descriptor::watch(pipe.to_write());
    const auto ready = co_await watched->writable();
    EXPECT_TRUE(ready.has_value());
    std::size_t filled = 0;
    const std::string page(4096, 'x');
    for (ssize_t sent = 0; (sent = ::write(pipe.to_write(), page.data(), page.size())) > 0;) {
      filled += static_cast<std::size_t>(sent);
    }
    watched->set_write_deadline(1ms);
    const auto full = co_await watched->writable();
    EXPECT_TRUE(!full && full.error() == io_errc::deadline_exceeded);
    watched->set_write_deadline(instant::never());
    pipe.take(filled);
    const auto again = co_await watched->writable();
    EXPECT_TRUE(again.has_value());
  });
}

TEST(Watched, ADeadlineAnUnwatchAndAStopEndTheWait) {
  in_virtual_worlds([]() -> task<> {
    const pipe_pair pipe;
    auto watched = watched_descriptor::watch(pipe.to_read());
    const instant begin = now();
    watched->set_read_deadline(1s);
    const std::error_code late = co_await wait_readable(*watched);
    EXPECT_EQ(late, io_errc::deadline_exceeded);
    EXPECT_EQ(now(), begin + 1s);
    watched->set_read_deadline(instant::never());

    auto stopped = spawn(wait_readable(*watched), "is stopped");
    co_await sleep(1ms);
    stopped.request_stop();
    bool was_stopped = false;
    try {
      static_cast<void>(co_await stopped.join());
    } catch (const cancelled&) {
      was_stopped = true;
    }
    EXPECT_TRUE(was_stopped);

    auto waiting = spawn(wait_readable(*watched), "waits");
    co_await sleep(1ms);
    watched->unwatch();
    const std::error_code ended = co_await waiting.join();
    EXPECT_EQ(ended, io_errc::closed);
    const std::error_code none = co_await wait_readable(*watched);
    EXPECT_EQ(none, io_errc::closed);
    pipe.put();  // it is still open
    auto again = watched_descriptor::watch(pipe.to_read());
    const std::error_code ready = co_await wait_readable(*again);
    EXPECT_FALSE(ready);
  });
}

TEST(Watched, WhatCannotBeWatchedIsRefused) {
  everywhere([]() -> task<> {
    const pipe_pair pipe;
    const auto first = watched_descriptor::watch(pipe.to_read());
    const auto second = watched_descriptor::watch(pipe.to_read());
    EXPECT_TRUE(!second && second.error() == std::errc::file_exists);
    const auto none = watched_descriptor::watch(-1);
    EXPECT_TRUE(!none && none.error() == std::errc::bad_file_descriptor);
    co_return;
  });
}

// A late report of the poller about a removed descriptor is not taken for one about the next descriptor in its slot.
TEST(Watched, NewsOfWhatIsGoneReachNobody) {
  in_virtual_worlds([]() -> task<> {
    for (int i = 0; i < 10; ++i) {
      const pipe_pair old;
      const pipe_pair fresh;
      {
        auto watched = watched_descriptor::watch(old.to_read());
        old.put();
      }
      auto watched = watched_descriptor::watch(fresh.to_read());
      watched->set_read_deadline(1s);
      const std::error_code none = co_await wait_readable(*watched);
      EXPECT_EQ(none, io_errc::deadline_exceeded);
    }
  });
}

// Virtual time: descriptors for which no task waits do not hide a deadlock.
TEST(Watched, ADeadlockIsFoundThoughSomethingIsWatched) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  EXPECT_THROW(run(
                   []() -> task<> {
                     const pipe_pair pipe;
                     auto watched = watched_descriptor::watch(pipe.to_read());
                     co_await sleep_until(instant::never());
                   }(),
                   options),
               deadlock);
}

// Tasks that always run do not keep workers from polling. (Go: TestTimerFairness, for descriptors.)
TEST(Watched, IsHeardThoughOthersAlwaysRun) {
  run_options options;
  options.processors = 1;
  run(
      []() -> task<> {
        const pipe_pair pipe;
        bool heard = false;
        auto hears = [](int fd, bool& done) -> task<> {
          auto watched = watched_descriptor::watch(fd);
          const std::error_code none = co_await wait_readable(*watched);
          EXPECT_FALSE(none);
          done = true;
        };
        auto hearing = spawn(hears(pipe.to_read(), heard), "hears");
        for (int i = 0; i < 10; ++i) co_await yield();
        pipe.put();
        while (!heard) co_await yield();
        co_await hearing.join();
      }(),
      options);
}

}  // namespace
}  // namespace foliot::runtime
