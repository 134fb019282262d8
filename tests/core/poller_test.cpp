// The real side of the poller seam: epoll, pipes, and calls that the system refuses.
#include <foliot/core/seam/poller.hpp>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/core/seam/system.hpp>

namespace foliot::seam {
namespace {

using namespace std::chrono_literals;

constexpr instant at_once = instant::earliest();

class Poller : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()), 0); }
  void TearDown() override {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }

  [[nodiscard]] int here() const { return ends_[0]; }
  [[nodiscard]] int there() const { return ends_[1]; }
  void write() const { ASSERT_EQ(::write(there(), "x", 1), 1); }
  void read() const {
    char byte = 0;
    ASSERT_EQ(::read(here(), &byte, 1), 1);
  }
  void close_there() { ::close(std::exchange(ends_[1], -1)); }

  polled wait(instant deadline) { return poller_.wait(deadline, events_); }
  /// The readiness that a wait of no length reports for `here`; none if it reports nothing.
  readiness look() {
    const polled found = wait(at_once);
    EXPECT_LE(found.events, 1u);
    EXPECT_FALSE(found.woken);
    if (found.events == 0) return readiness::none;
    EXPECT_EQ(events_[0].token, 7u);
    return events_[0].ready;
  }

  poller poller_;
  std::array<poll_event, 4> events_{};

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST_F(Poller, TellsOfALevelWhileItIsSo) {
  poller_.add(here(), readiness::readable, 7);
  EXPECT_EQ(look(), readiness::none);
  write();
  EXPECT_EQ(look(), readiness::readable);
  EXPECT_EQ(look(), readiness::readable);
  read();
  EXPECT_EQ(look(), readiness::none);
}

TEST_F(Poller, TellsOfAnEdgeOnce) {
  write();
  poller_.add(here(), {readiness::readable, trigger::edge}, 7);
  EXPECT_EQ(look(), readiness::readable) << "add() must report readiness from before it";
  EXPECT_EQ(look(), readiness::none);
  write();
  EXPECT_EQ(look(), readiness::readable);
  poller_.modify(here(), {readiness::readable, trigger::edge}, 7);
  EXPECT_EQ(look(), readiness::readable) << "modify() must report the edge again";
}

TEST_F(Poller, TellsWhatItIsReadyFor) {
  poller_.add(here(), readiness::readable | readiness::writable | readiness::peer_closed, 7);
  EXPECT_EQ(look(), readiness::writable);
  ASSERT_EQ(::shutdown(there(), SHUT_WR), 0);
  EXPECT_EQ(look(), readiness::readable | readiness::writable | readiness::peer_closed);
  close_there();
  EXPECT_TRUE(has(look(), readiness::hung_up));
  poller_.modify(here(), readiness::writable, 7);
  EXPECT_TRUE(has(look(), readiness::hung_up)) << "hung_up must be reported for every interest";
  poller_.remove(here());
  EXPECT_EQ(look(), readiness::none);
  poller_.remove(here());
}

TEST_F(Poller, ManyTakeTurns) {
  std::vector<int> copies;
  for (std::uint64_t i = 0; i < 10; ++i) {
    copies.push_back(::dup(here()));
    ASSERT_GE(copies.back(), 0);
    poller_.add(copies.back(), readiness::writable, i);
  }
  std::vector<int> told(copies.size());
  for (int i = 0; i < 10; ++i) {
    const polled found = wait(instant::never());
    ASSERT_EQ(found.events, events_.size());
    for (const poll_event& each : events_) ++told[each.token];
  }
  for (const int each : told) EXPECT_EQ(each, 4);
  for (const int each : copies) {
    poller_.remove(each);
    ::close(each);
  }
}

TEST_F(Poller, AWakeUpSticksAndManyAreOne) {
  for (int i = 0; i < 3; ++i) {
    poller_.wake();
    poller_.wake();
    EXPECT_TRUE(wait(instant::never()).woken);
    EXPECT_FALSE(wait(at_once).woken);
  }
}

TEST_F(Poller, AWakeUpEndsAWaitFromAnyThread) {
  for (int i = 0; i < 1000; ++i) {
    int message = 0;  // plain: ThreadSanitizer reports a race
    std::thread waker([&] {
      message = i;
      poller_.wake();
    });
    while (!wait(instant::never()).woken) {
    }
    EXPECT_EQ(message, i);
    waker.join();
  }
}

/// Whether the wait ended by its deadline. No test here sends a signal, so a wait without a result ends by its
/// deadline.
void expect_never_early(poller& waits) {
  std::array<poll_event, 1> events{};
  for (const duration length : {1ns, 999ns, 1'000ns, 100'000ns, 999'999ns, 1'000'000ns, 1'000'001ns, 2'500'000ns}) {
    const instant deadline = monotonic_now() + length;
    const polled found = waits.wait(deadline, events);
    EXPECT_TRUE(found.interrupted || monotonic_now() >= deadline) << length.count();
    EXPECT_FALSE(found.woken);
    EXPECT_EQ(found.events, 0u);
  }
}

TEST_F(Poller, IsNeverEarly) { expect_never_early(poller_); }

/// Whether waits never end early in a child process in which the system refuses epoll_pwait2 in this way. Nothing if
/// this system cannot be made to refuse the call.
bool is_never_early_where_refused(int error, bool& possible) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::array<sock_filter, 4> code{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{.len = code.size(), .filter = const_cast<sock_filter*>(code.data())};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      ::_exit(77);
    }
    ::alarm(250);  // a signal ends a wait that would not end
    poller waits;
    expect_never_early(waits);
    std::array<poll_event, 1> events{};
    waits.wake();
    const bool woken = waits.wait(instant::never(), events).woken && !waits.wait(at_once, events).woken;
    ::_exit(woken && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  possible = !WIFEXITED(status) || WEXITSTATUS(status) != 77;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(Poller, IsNeverEarlyWhereTheSystemKnowsMillisecondsOnly) {
  for (const int error : {ENOSYS, EPERM}) {
    bool possible = true;
    const bool fine = is_never_early_where_refused(error, possible);
    if (!possible) GTEST_SKIP() << "this system has no filters of system calls";
    EXPECT_TRUE(fine) << error;
  }
}

TEST_F(Poller, ASignalInterrupts) {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> interrupted = false;
  std::thread waiter([&] {
    while (!interrupted) interrupted = wait(instant::never()).interrupted;
  });
  while (!interrupted) {
    ::pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiter.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(Poller, ABellEndsAWait) {
  alarm bell(clock_id::boottime);
  poller_.listen_to(bell);
  for (int i = 0; i < 3; ++i) {
    const instant at = now(clock_id::boottime) + 1ms;
    bell.set(at);
    const polled found = wait(instant::never());
    EXPECT_TRUE(found.interrupted || now(clock_id::boottime) >= at);
    EXPECT_TRUE(found.interrupted || found.rung);
    EXPECT_EQ(found.events, 0u);
    EXPECT_FALSE(found.woken);
    if (found.interrupted) continue;
    EXPECT_FALSE(wait(instant::earliest()).rung) << "one ring is reported once";
  }
  bell.set(instant::earliest());
  bell.set(instant::never());
  EXPECT_FALSE(wait(instant::earliest()).rung) << "an alarm that was set again has not rung";
}

template <class Function>
void expect_refusal(int error, const std::string& named, Function function) {
  try {
    function();
    ADD_FAILURE() << "the call was not refused";
  } catch (const std::system_error& refusal) {
    EXPECT_EQ(refusal.code().value(), error);
    EXPECT_NE(std::string(refusal.what()).find(named), std::string::npos) << refusal.what();
  }
}

TEST_F(Poller, WhatTheSystemRefusesIsNamed) {
  expect_refusal(EBADF, "descriptor -1", [&] { poller_.add(-1, readiness::readable, 7); });
  poller_.add(here(), readiness::readable, 7);
  expect_refusal(EEXIST, "descriptor " + std::to_string(here()), [&] { poller_.add(here(), readiness::readable, 8); });
  expect_refusal(ENOENT, "descriptor", [&] { poller_.modify(there(), readiness::readable, 8); });
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  expect_refusal(EPERM, "descriptor", [&] { poller_.add(::fileno(file.get()), readiness::readable, 8); });
  write();
  EXPECT_EQ(look(), readiness::readable) << "a refused call must change nothing";
}

TEST_F(Poller, WithoutDescriptorsItSaysWhichCallFailed) {
  const int first_free = ::dup(here());
  ASSERT_GE(first_free, 0);
  ::close(first_free);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The process may have inherited descriptors above the first free one, so the second call may be refused often.
  std::vector<std::exception_ptr> refusals;
  for (int made = 0; made == 0;) {
    const rlimit few{static_cast<rlim_t>(first_free) + refusals.size(), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    try {
      const poller one;
      ++made;
    } catch (...) {
      refusals.push_back(std::current_exception());
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);  // sanitizers open descriptors, too, to look at an exception
  }
  ASSERT_GE(refusals.size(), 2u);
  expect_refusal(EMFILE, "cannot make an epoll instance", [&] { std::rethrow_exception(refusals[0]); });
  for (std::size_t i = 1; i < refusals.size(); ++i) {
    expect_refusal(EMFILE, "eventfd", [&] { std::rethrow_exception(refusals[i]); });
  }
  const int still_free = ::dup(here());
  EXPECT_EQ(still_free, first_free) << "a descriptor was left open";
  ::close(still_free);
}

}  // namespace
}  // namespace foliot::seam
