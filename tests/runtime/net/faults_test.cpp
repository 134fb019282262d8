// Faults: the system's calls behind the socket seam fail one by one, and so do allocations and descriptors.
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "peers.hpp"
#include "support/allocations.hpp"

namespace {

/// Which of the calls from now on fail, and how. The test and the runtime that it runs are one thread.
struct fault {
  int error = 0;
  std::uint64_t every = 0;  // each so-many-th; 0: none
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;

  bool comes() noexcept {
    if (every == 0 || ++calls % every != 0) return false;
    ++failed;
    errno = error;
    return true;
  }
};
fault& injected() {
  static fault one;
  return one;
}

}  // namespace

// The linker replaces the system's functions by these (--wrap).
extern "C" {
int __real_accept4(int socket, sockaddr* address, socklen_t* size, int flags);
int __wrap_accept4(int socket, sockaddr* address, socklen_t* size, int flags);
ssize_t __real_recv(int socket, void* into, std::size_t size, int flags);
ssize_t __wrap_recv(int socket, void* into, std::size_t size, int flags);
ssize_t __real_send(int socket, const void* from, std::size_t size, int flags);
ssize_t __wrap_send(int socket, const void* from, std::size_t size, int flags);
int __real_connect(int socket, const sockaddr* address, socklen_t size);
int __wrap_connect(int socket, const sockaddr* address, socklen_t size);

int __wrap_accept4(int socket, sockaddr* address, socklen_t* size, int flags) {
  return injected().comes() ? -1 : __real_accept4(socket, address, size, flags);
}
ssize_t __wrap_recv(int socket, void* into, std::size_t size, int flags) {
  return injected().comes() ? -1 : __real_recv(socket, into, size, flags);
}
ssize_t __wrap_send(int socket, const void* from, std::size_t size, int flags) {
  // Short transfers as well: half of the data, without a signal or a full buffer.
  const std::size_t half = injected().every != 0 && size > 1 ? size / 2 : size;
  return injected().comes() ? -1 : __real_send(socket, from, half, flags);
}
int __wrap_connect(int socket, const sockaddr* address, socklen_t size) {
  if (!injected().comes()) return __real_connect(socket, address, size);
  if (errno == EINTR) {
    static_cast<void>(__real_connect(socket, address, size));  // goes on in the background
    errno = EINTR;
  }
  return -1;
}
}

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

class with_faults {
 public:
  with_faults(int error, std::uint64_t every) { injected() = {error, every, 0, 0}; }
  ~with_faults() { injected() = {}; }
  with_faults(const with_faults&) = delete;
  with_faults& operator=(const with_faults&) = delete;
};

task<> send_and_end(address to, std::string text) {
  auto peer = co_await stream::connect(to);
  EXPECT_TRUE(peer.has_value());
  if (!peer) co_return;
  const auto sent = co_await peer->write_all(text);
  EXPECT_EQ(sent.value_or(0), text.size());
}

/// Sends a text through a connection. Returns the text that arrived.
task<std::string> passed_through(address at, std::string text) {
  auto gate = listener::listen(at);
  auto sending = spawn(send_and_end(gate->local_address().value(), text), "sends");
  auto peer = co_await gate->accept();
  EXPECT_TRUE(peer.has_value());
  std::string got(text.size() + 1, ' ');
  const auto length = co_await peer->read_all(std::span<char>(got));
  EXPECT_TRUE(length.has_value());
  got.resize(length.value_or(0));
  co_await sending.join();
  co_return got;
}

// A signal interrupts any call, and a call that would block is tried again after the next report. For connect EINTR
// means that the connect goes on in the background.
TEST(SocketFaults, EINTRAndAbortedConnectionsAreNoErrors) {
  for (const std::uint64_t every : {2U, 3U, 5U}) {
    test::in_virtual_worlds([every]() -> task<> {
      const std::string text(300'000, 'x');
      const with_faults faults(EINTR, every);
      const std::string got = co_await passed_through(test::fresh_name(), text);
      EXPECT_TRUE(got == text);
      EXPECT_GT(injected().failed, 0U);
    });
  }
  test::in_virtual_worlds([]() -> task<> {
    auto gate = listener::listen(test::fresh_name());
    const auto peer = co_await stream::connect(gate->local_address().value());
    const with_faults faults(ECONNABORTED, 2);
    injected().calls = 1;  // the next
    const auto accepted = co_await gate->accept();
    EXPECT_TRUE(accepted.has_value());
    EXPECT_EQ(injected().failed, 1U);
  });
}

TEST(SocketFaults, OtherErrorsAreTold) {
  test::in_virtual_worlds([]() -> task<> {
    auto [here, there] = test::local_pair();
    std::array<char, 10> buffer{};
    const with_faults faults(ENOMEM, 1);
    const auto got = co_await here.read_some(std::span<char>(buffer));
    EXPECT_TRUE(!got && got.error() == std::errc::not_enough_memory);
    const auto sent = co_await here.write_some(std::string_view("xx"));
    EXPECT_TRUE(!sent && sent.error() == std::errc::not_enough_memory);
    const auto peer = co_await stream::connect(test::fresh_name());
    EXPECT_TRUE(!peer && peer.error() == std::errc::not_enough_memory);
  });
}

TEST(SocketFaults, AnAcceptWithoutDescriptorsWaitsAndDoesNotSpin) {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    test::in_virtual_worlds([error]() -> task<> {
      auto gate = listener::listen(test::fresh_name());
      const auto peer = co_await stream::connect(gate->local_address().value());
      const instant begin = now();
      {
        const with_faults faults(error, 1);
        for (int i = 1; i <= 10; ++i) {  // a loop that takes no notice
          const auto refused = co_await gate->accept();
          EXPECT_TRUE(!refused && refused.error().value() == error);
          EXPECT_EQ(now(), begin + i * 10ms);
        }
        EXPECT_EQ(injected().failed, 20U);
      }
      const auto accepted = co_await gate->accept();
      EXPECT_TRUE(accepted.has_value());
      EXPECT_EQ(now(), begin + 100ms);
    });
  }
}

TEST(SocketFaults, AnAcceptThatPausesIsEndedByADeadlineAndByAClose) {
  test::in_virtual_worlds([]() -> task<> {
    auto gate = listener::listen(test::fresh_name());
    const auto peer = co_await stream::connect(gate->local_address().value());
    const with_faults faults(EMFILE, 1);
    const instant begin = now();
    gate->set_read_deadline(3ms);
    const auto late = co_await gate->accept();
    EXPECT_TRUE(!late && late.error() == io_errc::deadline_exceeded);
    EXPECT_EQ(now(), begin + 3ms);
    gate->set_read_deadline(instant::never());
    auto accepting = spawn(gate->accept(), "accepts");
    co_await sleep(4ms);
    gate->close();
    const auto closed = co_await accepting.join();
    EXPECT_TRUE(!closed && closed.error() == io_errc::closed);
    EXPECT_EQ(now(), begin + 7ms);
  });
}

// Without simulation: the process has no descriptor left, and then has one.
TEST(SocketFaults, DescriptorsRunOutAndComeBack) {
#if defined(FOLIOT_SANITIZED)
  GTEST_SKIP() << "the sanitizer looks at memory through a pipe, for which there is no descriptor then";
#endif
  test::in_virtual_worlds([]() -> task<> {
    rlimit before{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    auto gate = listener::listen(test::fresh_name());
    const address at = gate->local_address().value();
    auto peer = co_await stream::connect(at);
    rlimit none = before;
    none.rlim_cur = 3;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto refused = co_await gate->accept();
    EXPECT_TRUE(!refused && refused.error() == std::errc::too_many_files_open);
    const auto no_pair = stream::pair();
    EXPECT_TRUE(!no_pair && no_pair.error() == std::errc::too_many_files_open);
    const auto no_peer = co_await stream::connect(at);
    EXPECT_TRUE(!no_peer && no_peer.error() == std::errc::too_many_files_open);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    const auto accepted = co_await gate->accept();
    EXPECT_TRUE(accepted.has_value());
  });
}

task<or_error<std::size_t>> read_by(stream& from, duration timeout, std::span<char> into) {
  from.set_read_deadline(timeout);
  const auto got = co_await from.read_some(into);
  co_return got;
}

// The n-th allocation fails, for n = 0, 1, 2, … until none does: nothing leaks, and nothing hangs.
TEST(SocketFaults, AllocationsFailOneByOne) {
  bool passed = false;
  for (std::uint64_t n = 0; !passed && n < 10'000; ++n) {
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.processors = 1;
    run(
        [](std::uint64_t which, bool& done) -> task<> {
          const auto writes_later = [](stream& to) -> task<> {
            for (int i = 0; i < 3; ++i) co_await yield();
            const int sent = static_cast<int>(::send(to.native_handle(), "xx", 2, 0));
            EXPECT_EQ(sent, 2);
          };
          auto [here, there] = test::local_pair();
          auto writing = spawn(writes_later(there), "writes");
          std::array<char, 10> buffer{};
          try {
            const test::failing_allocations failing(which);
            // The read waits, with a timer; and a new connection is made.
            const auto got = co_await read_by(here, 1h, buffer);
            EXPECT_EQ(got.value_or(0), 2U);
            const auto gate = listener::listen(test::fresh_name());
            if (gate) {
              const auto peer = co_await stream::connect(gate->local_address().value());
              if (peer) {
                const auto accepted = co_await gate->accept();
                done = accepted.has_value();
              }
            }
          } catch (const std::bad_alloc&) {
          }
          co_await writing.join();
          // The earlier connection goes on.
          const auto sent = co_await there.write_all(std::string_view("x"));
          const auto got = co_await here.read_some(std::span<char>(buffer));
          EXPECT_TRUE(sent && got);
        }(n, passed),
        options);
  }
  EXPECT_TRUE(passed);
}

TEST(SocketFaults, AListenThatFindsNoMemoryLeavesNeitherItsFileNorADescriptor) {
  run([]() -> task<> {
    const std::string path = ::testing::TempDir() + "foliot-memory-" + std::to_string(::getpid());
    const address at = address::parse("unix:" + path).value();
    const auto lowest_free = [] {
      const int fd = ::dup(0);
      ::close(fd);
      return fd;
    };
    const int free_before = lowest_free();
    bool listens = false;
    for (std::size_t n = 0; !listens && n < 100; ++n) {
      std::optional<or_error<listener>> gate;
      try {
        const test::failing_allocations failing(n);
        gate.emplace(listener::listen(at));
      } catch (const std::bad_alloc&) {
      }
      listens = gate && gate->has_value();
      EXPECT_EQ(::access(path.c_str(), F_OK) == 0, listens) << n;
      gate.reset();
      EXPECT_EQ(lowest_free(), free_before) << n;
    }
    EXPECT_TRUE(listens);
    co_return;
  }());
}

}  // namespace
}  // namespace foliot::runtime
