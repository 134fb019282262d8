// The real side of the system-call seam: Linux.
#include <foliot/core/seam/system.hpp>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include "perturb.hpp"

namespace foliot::inline core::seam {

namespace {

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

timespec to_timespec(instant t) noexcept {
  // The kernel refuses negative times. All of them have passed, as zero has.
  const std::int64_t nanoseconds = t.nanoseconds() < 0 ? 0 : t.nanoseconds();
  return {.tv_sec = nanoseconds / nanoseconds_per_second, .tv_nsec = nanoseconds % nanoseconds_per_second};
}

}  // namespace

std::uint32_t this_thread_id() noexcept { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

instant monotonic_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // cannot fail: the clock exists on every Linux
  return instant::from_nanoseconds(now.tv_sec * nanoseconds_per_second + now.tv_nsec);
}

std::size_t processors() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return static_cast<std::size_t>(CPU_COUNT(&allowed));
  return std::max(1U, std::thread::hardware_concurrency());  // the machine has more processors than fit a cpu_set_t
}

duration set_timer_slack(duration slack) noexcept {
  const int before = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(std::max<std::int64_t>(slack.count(), 1)), 0, 0, 0);
  return duration::nanoseconds(std::max(before, 1));
}

wait_status futex_wait(seam::atomic<std::uint32_t>& word, std::uint32_t expected, instant deadline) noexcept {
  const timespec until = to_timespec(deadline);
  // FUTEX_WAIT_BITSET takes an absolute time of the monotonic clock, so the time between the computation of the
  // deadline and the sleep is not added to the sleep.
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
  perturb(2);
}

namespace detail {

namespace {
bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }
}  // namespace

// Registered during initialisation, before any thread relies on it. The child of a fork inherits the registration.
std::atomic<bool> heavy_barrier_reaches_all{membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)};

namespace {

constexpr std::int64_t unknown = 0;
/// The monotonic time, in nanoseconds, from which every thread's light barrier is a full one. Unknown until membarrier
/// has failed; a time in the past if it was never registered.
std::atomic<std::int64_t> all_full_from{heavy_barrier_reaches_all.load(relaxed) ? unknown : 1};

/// membarrier has failed: makes all light barriers full ones, and returns when every thread's is.
void fall_back_to_full_barriers() noexcept {
  heavy_barrier_reaches_all.store(false, seq_cst);  // seq_cst: before the reading of the clock
  // By the end of that time the store of a thread that has just seen the old value is visible to all threads: a store
  // leaves its processor within microseconds, and a thread that the kernel preempts executes a full barrier.
  constexpr std::int64_t long_enough = 1'000'000;
  std::int64_t end = unknown;
  const std::int64_t from_now = monotonic_now().nanoseconds() + long_enough;
  // The first thread's time counts, which was read after the flag was cleared. acq_rel, acquire: a thread that finds
  // the time set sees the cleared flag, too.
  if (all_full_from.compare_exchange_strong(end, from_now, acq_rel, acquire)) end = from_now;
  const timespec until = to_timespec(instant::from_nanoseconds(end));
  while (monotonic_now().nanoseconds() < end) ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace

}  // namespace detail

// Calls membarrier even where the flag is cleared: a thread inside light_barrier() may have seen it set.
void heavy_barrier() noexcept {
  detail::full_barrier();
  if (!detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) [[unlikely]]
    detail::fall_back_to_full_barriers();
}

namespace detail {

signals_blocked::signals_blocked() noexcept {
  static_assert(sizeof(sigset_t) <= sizeof(saved_));
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  // Signals of the thread's own faults and of a profiler are not blocked: crash handlers and profilers see callbacks,
  // too.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) ::sigdelset(&all, own);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::memcpy(saved_, &before, sizeof(before));
}

signals_blocked::~signals_blocked() {
  sigset_t before;
  std::memcpy(&before, saved_, sizeof(before));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
  perturb(2);
}

void refuse_thread(const std::system_error& refusal, const char* name) {
  throw std::system_error(refusal.code(), std::string("foliot: cannot start the thread ") + name);
}

}  // namespace detail

}  // namespace foliot::inline core::seam
