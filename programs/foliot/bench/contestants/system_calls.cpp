// The bare system calls that a service could sleep with, in a thread of their own: with the slack that a thread has by
// default (some 50 us, by which the kernel may postpone a wake-up), and with a slack of 1 ns.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../roster.hpp"
#include "../workloads/sleep_log.hpp"

namespace foliot::program::bench {

namespace {

timespec to_timespec(std::int64_t nanoseconds) noexcept {
  return {.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
}

/// Each of these sleeps until a deadline of the monotonic clock, and returns 0 or an error of the system.
struct by_futex {
  int sleep(instant deadline) noexcept {
    while (seam::futex_wait(never_changes_, 0, deadline) != seam::wait_status::timed_out) {
    }
    return 0;
  }

 private:
  seam::atomic<std::uint32_t> never_changes_{0};  // no thread writes it
};

struct by_nanosleep {
  int sleep(instant deadline) noexcept {
    const timespec until = to_timespec(deadline.nanoseconds());
    int error = 0;
    do {
      error =
          ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);  // tidy: allow(seam-sleep) it is measured
    } while (error == EINTR);
    return error;
  }
};

/// Owns a descriptor.
class descriptor {
 public:
  explicit descriptor(int file) noexcept : file_(file), error_(file < 0 ? errno : 0) {}
  ~descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return file_; }
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  int file_;
  int error_;
};

/// The call takes a length instead of a deadline, so that the time which passes before it begins is slept twice.
struct by_epoll {
  int sleep(instant deadline) noexcept {
    if (poll_.error() != 0) return poll_.error();
    for (;;) {
      const duration left = deadline - monotonic_clock::instance().now();
      if (left.count() <= 0) return 0;
      const timespec timeout = to_timespec(left.count());
      epoll_event event{};
      const int ready =
          ::epoll_pwait2(poll_.get(), &event, 1, &timeout, nullptr);  // tidy: allow(seam-system) it is measured
      if (ready < 0 && errno != EINTR) return errno;
    }
  }

 private:
  descriptor poll_{::epoll_create1(EPOLL_CLOEXEC)};  // tidy: allow(seam-system) as above
};

struct by_timerfd {
  by_timerfd() noexcept {
    epoll_event interest{};
    interest.events = EPOLLIN;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, timer_.get(), &interest);  // tidy: allow(seam-system) it is measured
  }

  int sleep(instant deadline) noexcept {
    if (poll_.error() != 0 || timer_.error() != 0) return poll_.error() != 0 ? poll_.error() : timer_.error();
    const itimerspec once = {.it_interval = {}, .it_value = to_timespec(deadline.nanoseconds())};
    const int set =
        ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &once, nullptr);  // tidy: allow(seam-system) as above
    if (set != 0) return errno;
    epoll_event event{};
    while (::epoll_wait(poll_.get(), &event, 1, -1) < 0) {  // tidy: allow(seam-system) as above
      if (errno != EINTR) return errno;
    }
    std::uint64_t times = 0;
    return ::read(timer_.get(), &times, sizeof times) == sizeof times ? 0 : errno;
  }

 private:
  descriptor poll_{::epoll_create1(EPOLL_CLOEXEC)};  // tidy: allow(seam-system) as above
  descriptor timer_{
      ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};  // tidy: allow(seam-system) as above
};

enum class slack { by_default, one_nanosecond };

template <class Call>
samples sleep_with(slack allowed, const request& asked) {
  sleep_log sleeps(asked);
  seam::thread sleeper("bench", [&sleeps, allowed] {
    if (allowed == slack::one_nanosecond) ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    Call call;
    while (sleeps.more()) {
      if (const int error = call.sleep(sleeps.begin()); error != 0) return sleeps.fail(std::strerror(error));
      sleeps.end();
    }
  });
  sleeper.join();
  return sleeps.found();
}

template <class Call>
void add_call(roster& to, const std::string& name) {
  for (const slack allowed : {slack::by_default, slack::one_nanosecond}) {
    const bool least = allowed == slack::one_nanosecond;
    to.add(least ? name + "-slack1" : name,
           {.takes = all_sleeps,
            .remark = least ? "with a slack of 1 ns" : "with the slack that threads have by default",
            .may_be_left_out = true,  // an old kernel has no epoll_pwait2
            .run = [allowed](const request& asked) { return sleep_with<Call>(allowed, asked); }});
  }
}

}  // namespace

void add_system_calls(roster& to) {
  add_call<by_futex>(to, "futex");
  add_call<by_nanosleep>(to, "clock_nanosleep");
  add_call<by_epoll>(to, "epoll_pwait2");
  add_call<by_timerfd>(to, "timerfd");
}

}  // namespace foliot::program::bench
