// The real side of the system-call seam: Linux.
#include <foliot/core/seam/system.hpp>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace foliot::inline core::seam {

namespace {

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

timespec to_timespec(instant t) noexcept {
  // The kernel refuses negative times; every one of them has passed, as has the origin.
  const std::int64_t nanoseconds = t.nanoseconds() < 0 ? 0 : t.nanoseconds();
  return {.tv_sec = nanoseconds / nanoseconds_per_second, .tv_nsec = nanoseconds % nanoseconds_per_second};
}

}  // namespace

instant monotonic_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // cannot fail: the clock exists on every Linux
  return instant::from_nanoseconds(now.tv_sec * nanoseconds_per_second + now.tv_nsec);
}

wait_status futex_wait(seam::atomic<std::uint32_t>& word, std::uint32_t expected, instant deadline) noexcept {
  const timespec until = to_timespec(deadline);
  // The BITSET variant is the one that takes an absolute time of the monotonic clock: the time that
  // passes between computing a deadline and sleeping is not slept twice.
  const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                                deadline.is_never() ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  if (result == 0) return wait_status::woken;
  switch (errno) {
    case ETIMEDOUT: return wait_status::timed_out;
    case EAGAIN: return wait_status::changed;
    default: return wait_status::interrupted;
  }
}

void futex_wake(seam::atomic<std::uint32_t>& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

namespace detail {

signals_blocked::signals_blocked() noexcept {
  static_assert(sizeof(sigset_t) <= sizeof(saved_));
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  // Those that a thread causes itself, and a profiler's, still reach it: crash handlers see callbacks too.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) ::sigdelset(&all, own);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::memcpy(saved_, &before, sizeof(before));
}

signals_blocked::~signals_blocked() {
  sigset_t before;
  std::memcpy(&before, saved_, sizeof(before));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void name_this_thread(const char* name) noexcept { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace detail

}  // namespace foliot::inline core::seam
