// Signals that a test sends to its own process.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <thread>

#include <gtest/gtest.h>

namespace foliot::test {

/// The threads of foliot block all signals, so the main thread gets it: before this returns if that is the caller, as
/// on virtual time, and otherwise at some time.
inline void send(int signal) { EXPECT_EQ(::kill(::getpid(), signal), 0); }

/// A thread that takes all signals of the process. ThreadSanitizer has a handler wait until its thread calls a function
/// that the sanitizer knows, so that a worker asleep in a futex runs none; poll() it knows.
class signal_taker {
 public:
  signal_taker() {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    takes_ = std::thread([this] {
      pollfd end{.fd = ends_[0], .events = POLLIN, .revents = 0};
      while (::poll(&end, 1, -1) < 0) {  // a signal
      }
    });
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  signal_taker(const signal_taker&) = delete;
  signal_taker& operator=(const signal_taker&) = delete;
  ~signal_taker() {
    EXPECT_EQ(::write(ends_[1], "x", 1), 1);
    takes_.join();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    for (const int each : ends_) ::close(each);
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  sigset_t before_{};
  std::thread takes_;
};

inline struct sigaction disposition_of(int signal) {
  struct sigaction now{};
  EXPECT_EQ(::sigaction(signal, nullptr, &now), 0);
  return now;
}
inline bool is_default(int signal) { return disposition_of(signal).sa_handler == SIG_DFL; }

}  // namespace foliot::test
