// The real side of the poller seam: Linux.
#include <foliot/core/seam/poller.hpp>

#include <linux/time_types.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <string>
#include <system_error>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::inline core::seam {

namespace {

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
constexpr std::int64_t nanoseconds_per_millisecond = 1'000'000;

// The tokens of the poller's own two descriptors.
constexpr std::uint64_t token_of_wake_ups = poller::token_end;
constexpr std::uint64_t token_of_bell = poller::token_end + 1;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), "foliot: " + what);
}

struct pair {
  readiness ours;
  std::uint32_t systems;
};
constexpr std::array pairs{
    pair{readiness::readable, EPOLLIN},        //
    pair{readiness::writable, EPOLLOUT},       //
    pair{readiness::peer_closed, EPOLLRDHUP},  //
    pair{readiness::hung_up, EPOLLHUP},        //
    pair{readiness::failed, EPOLLERR},         //
};

epoll_event to_event(interest what, std::uint64_t token) noexcept {
  epoll_event event{};
  event.events = what.told() == trigger::edge ? static_cast<std::uint32_t>(EPOLLET) : 0;
  for (const pair& each : pairs) {
    if (has(what.in(), each.ours)) event.events |= each.systems;
  }
  event.data.u64 = token;
  return event;
}

readiness from_event(const epoll_event& event) noexcept {
  readiness ready = readiness::none;
  for (const pair& each : pairs) {
    if ((event.events & each.systems) != 0) ready = ready | each.ours;
  }
  return ready;
}

void control(int epoll, int operation, int fd, interest what, std::uint64_t token) {
  epoll_event event = to_event(what, token);
  if (::epoll_ctl(epoll, operation, fd, &event) != 0) fail(errno, "cannot watch descriptor " + std::to_string(fd));
}

/// Whether the system has epoll_pwait2, which waits to the nanosecond. Cleared by the first call that fails with
/// ENOSYS, or with EPERM: old system-call filters deny calls that they do not know.
// relaxed: a thread that sees the old value tries once more.
seam::atomic<bool> has_exact_wait{true};

int wait_exactly(int epoll, std::span<epoll_event> into, const duration* left) noexcept {
  __kernel_timespec timeout{};
  if (left != nullptr) {
    timeout.tv_sec = left->count() / nanoseconds_per_second;
    timeout.tv_nsec = left->count() % nanoseconds_per_second;
  }
  return static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, into.data(), static_cast<int>(into.size()),
                                    left != nullptr ? &timeout : nullptr, nullptr, std::size_t{0}));
}

/// Waits in whole milliseconds, rounded up so that no wait ends early.
int wait_roughly(int epoll, std::span<epoll_event> into, const duration* left) noexcept {
  int timeout = -1;
  if (left != nullptr) {
    const std::int64_t whole = left->count() / nanoseconds_per_millisecond;
    const std::int64_t rounded_up = whole + (left->count() % nanoseconds_per_millisecond != 0 ? 1 : 0);
    timeout = static_cast<int>(std::min<std::int64_t>(rounded_up, std::numeric_limits<int>::max()));
  }
  return ::epoll_wait(epoll, into.data(), static_cast<int>(into.size()), timeout);
}

int wait_for_events(int epoll, std::span<epoll_event> into, instant deadline) noexcept {
  duration left{};
  if (!deadline.is_never()) left = std::max(duration::zero(), deadline - monotonic_now());
  const duration* const limit = deadline.is_never() ? nullptr : &left;
  if (has_exact_wait.load(seam::relaxed)) {
    const int found = wait_exactly(epoll, into, limit);
    if (found >= 0 || (errno != ENOSYS && errno != EPERM)) return found;
    has_exact_wait.store(false, seam::relaxed);
  }
  return wait_roughly(epoll, into, limit);
}

}  // namespace

poller::poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_ups_(-1) {
  if (epoll_ < 0) fail(errno, "cannot make an epoll instance");
  wake_ups_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int error = wake_ups_ < 0 ? errno : 0;
  const char* failed = "cannot make an eventfd";
  if (error == 0) {
    // Edge-triggered: each write is reported once, so the eventfd need not be read.
    epoll_event event = to_event({readiness::readable, trigger::edge}, token_of_wake_ups);
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_ups_, &event) == 0) return;
    error = errno;
    failed = "cannot watch an eventfd";
    ::close(wake_ups_);
  }
  ::close(epoll_);
  fail(error, failed);
}

poller::~poller() {
  ::close(wake_ups_);
  ::close(epoll_);
}

void poller::add(int fd, interest what, std::uint64_t token) {
  FOLIOT_ASSERT(token < token_end, "a token must be less than poller::token_end");
  control(epoll_, EPOLL_CTL_ADD, fd, what, token);
}

void poller::modify(int fd, interest what, std::uint64_t token) {
  FOLIOT_ASSERT(token < token_end, "a token must be less than poller::token_end");
  control(epoll_, EPOLL_CTL_MOD, fd, what, token);
}

void poller::remove(int fd) noexcept { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

// Edge-triggered: a ring is reported once although the descriptor is not read, and not at all if the alarm was set
// again before the wait.
void poller::listen_to(const alarm& bell) {
  control(epoll_, EPOLL_CTL_ADD, bell.descriptor(), {readiness::readable, trigger::edge}, token_of_bell);
}

polled poller::wait_in_system(instant deadline, std::span<poll_event> into) noexcept {
  FOLIOT_ASSERT(!into.empty(), "poller::wait must be given room for at least one event");
  std::array<epoll_event, most_events> found;
  const int count = wait_for_events(epoll_, std::span(found).first(std::min(into.size(), found.size())), deadline);
  polled result;
  if (count < 0) {
    result.interrupted = true;
    return result;
  }
  for (const epoll_event& each : std::span(found).first(static_cast<std::size_t>(count))) {
    if (each.data.u64 == token_of_wake_ups) {
      result.woken = true;
    } else if (each.data.u64 == token_of_bell) {
      result.rung = true;
    } else {
      into[result.events++] = {each.data.u64, from_event(each)};
    }
  }
  return result;
}

void poller::ring() noexcept {
  const std::uint64_t one = 1;
  // It can fail only after 2^64 - 2 wake-ups.
  static_cast<void>(::write(wake_ups_, &one, sizeof(one)) == sizeof(one));
}

}  // namespace foliot::inline core::seam
