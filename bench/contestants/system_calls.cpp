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

#include "bench/owners.hpp"
#include "bench/roster.hpp"
#include "bench/workloads/sleep_log.hpp"

namespace foliot::program::bench {

namespace {

timespec to_timespec(std::int64_t nanoseconds) noexcept {
  return {.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
}

/// The result of a system call. Throws failure, with the system's words, unless it succeeded or was interrupted.
int checked(int result) {
  if (result < 0 && errno != EINTR) throw failure(std::strerror(errno));
  return result;
}

// Each of these sleeps until a deadline of the monotonic clock. Throws failure.

struct by_futex {
  void sleep(instant deadline) noexcept {
    while (seam::futex_wait(never_changes_, 0, deadline) != seam::wait_status::timed_out) {
    }
  }

 private:
  seam::atomic<std::uint32_t> never_changes_{0};  // no thread writes it
};

struct by_nanosleep {
  void sleep(instant deadline) {
    const timespec until = to_timespec(deadline.nanoseconds());
    int error = 0;
    do {
      error =
          ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);  // tidy: allow(seam-sleep) it is measured
    } while (error == EINTR);
    if (error != 0) throw failure(std::strerror(error));
  }
};

/// The call takes a length instead of a deadline, so the sleep ends later by the time that passes before the call.
struct by_epoll {
  void sleep(instant deadline) {
    for (;;) {
      const duration left = deadline - monotonic_clock::instance().now();
      if (left.count() <= 0) return;
      const timespec timeout = to_timespec(left.count());
      epoll_event event{};
      checked(::epoll_pwait2(poll_.get(), &event, 1, &timeout, nullptr));  // tidy: allow(seam-system) it is measured
    }
  }

 private:
  owned_descriptor poll_{checked(::epoll_create1(EPOLL_CLOEXEC))};  // tidy: allow(seam-system) as above
};

struct by_timerfd {
  by_timerfd() {
    epoll_event interest{};
    interest.events = EPOLLIN;
    checked(::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, timer_.get(), &interest));  // tidy: allow(seam-system) as above
  }

  void sleep(instant deadline) {
    const itimerspec once = {.it_interval = {}, .it_value = to_timespec(deadline.nanoseconds())};
    checked(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &once, nullptr));  // tidy: allow(seam-system) as above
    epoll_event event{};
    while (checked(::epoll_wait(poll_.get(), &event, 1, -1)) < 0) {  // tidy: allow(seam-system) as above
    }
    std::uint64_t times = 0;
    if (::read(timer_.get(), &times, sizeof times) != sizeof times) throw failure(std::strerror(errno));
  }

 private:
  owned_descriptor poll_{checked(::epoll_create1(EPOLL_CLOEXEC))};  // tidy: allow(seam-system) as above
  owned_descriptor timer_{
      checked(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))};  // tidy: allow(seam-system) as above
};

template <class Call>
samples sleep_with(bool least_slack, const request& asked) {
  sleep_log sleeps(asked);
  seam::thread sleeper("bench", [&sleeps, least_slack] {
    if (least_slack) ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    try {
      Call call;
      while (sleeps.more()) {
        call.sleep(sleeps.begin());
        sleeps.end();
      }
    } catch (const failure& error) {
      sleeps.fail(error.what());
    }
  });
  sleeper.join();
  return sleeps.found();
}

template <class Call>
void add_call(roster& to, const std::string& name) {
  for (const bool least : {false, true}) {
    to.add(least ? name + "-slack1" : name,
           {.takes = all_sleeps,
            .remark = least ? "with a slack of 1 ns" : "with the slack that threads have by default",
            .may_be_left_out = true,  // an old kernel has no epoll_pwait2
            .run = [least](const request& asked) { return sleep_with<Call>(least, asked); }});
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
