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

std::size_t processors() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return static_cast<std::size_t>(CPU_COUNT(&allowed));
  return std::max(1U, std::thread::hardware_concurrency());  // more processors than a cpu_set_t knows
}

duration set_timer_slack(duration slack) noexcept {
  const int before = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(std::max<std::int64_t>(slack.count(), 1)), 0, 0, 0);
  return duration::nanoseconds(std::max(before, 1));
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

namespace {
bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }
}  // namespace

// Registered before anybody can rely on it; a child of fork inherits that.
std::atomic<bool> heavy_barrier_reaches_all{membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)};

namespace {

constexpr std::int64_t unknown = 0;
/// When the last of the light barriers that relied on a heavy one has been passed. Unknown until one has failed;
/// in the past where none was ever relied on.
std::atomic<std::int64_t> light_ones_end{heavy_barrier_reaches_all.load(relaxed) ? unknown : 1};

/// The heavy barrier does not reach the others any more. Returns when all of theirs are full ones.
void go_without() noexcept {
  heavy_barrier_reaches_all.store(false, seq_cst);  // seq_cst: before the reading of the clock
  // Who has just seen the old value has passed its barrier by then: a store leaves its processor within
  // microseconds, and a thread that is taken off its processor passes a full barrier there.
  constexpr std::int64_t long_enough = 1'000'000;
  std::int64_t end = unknown;
  const std::int64_t from_now = monotonic_now().nanoseconds() + long_enough;
  // The first one's counts; it came after the flag had been cleared. acq_rel: and whoever finds it knows that.
  if (light_ones_end.compare_exchange_strong(end, from_now, acq_rel, acquire)) end = from_now;
  const timespec until = to_timespec(instant::from_nanoseconds(end));
  while (monotonic_now().nanoseconds() < end) ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace

}  // namespace detail

// It asks the system whatever the flag says: a light one that relies on it may have seen the flag already.
void heavy_barrier() noexcept {
  detail::full_barrier();
  if (!detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) [[unlikely]]
    detail::go_without();
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

void refuse_thread(const std::system_error& refusal, const char* name) {
  throw std::system_error(refusal.code(), std::string("foliot: no thread for ") + name);
}

}  // namespace detail

}  // namespace foliot::inline core::seam
