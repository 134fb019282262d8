// The descriptor in a real epoll: readable when a timer is due, and otherwise not.
#include <foliot/adapters/epoll_timers.hpp>
#include <foliot/adapters/loop_ticker.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "support/fork.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class EpollTimers : public testing::Test {
 protected:
  EpollTimers() {
    epoll_event event{};
    event.events = EPOLLIN;
    EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, timers.fd(), &event), 0);
  }
  ~EpollTimers() override { close(epoll); }

  [[nodiscard]] bool readable(int milliseconds) const {
    epoll_event event{};
    return epoll_wait(epoll, &event, 1, milliseconds) == 1;
  }
  /// Whether the timerfd is set, to any time.
  [[nodiscard]] bool armed() const {
    itimerspec left{};
    EXPECT_EQ(timerfd_gettime(timers.fd(), &left), 0);
    return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
  }

  int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_timers timers;
  static constexpr int long_enough = 60'000;
};

TEST_F(EpollTimers, TheDescriptorIsReadableWhenTheEarliestIsDue) {
  int fired = 0;
  loop_timer late(timers, [&] { fired += 100; });
  loop_timer soon(timers, [&] { ++fired; });
  late.reset(1h);
  const instant before = timers.now();
  soon.reset(2ms);
  EXPECT_TRUE(readable(long_enough));
  EXPECT_GE(timers.now(), before + 2ms) << "a timer fired early";
  EXPECT_EQ(timers.dispatch(), (expiry{1, false}));
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(readable(0)) << "readable although no timer is due any more";
  EXPECT_TRUE(armed()) << "the timerfd is not set for the other timer";
}

TEST_F(EpollTimers, WhatABudgetLeavesKeepsItReadable) {
  std::vector<std::unique_ptr<loop_timer>> many;
  int fired = 0;
  for (int i = 0; i < 10; ++i) {
    many.push_back(std::make_unique<loop_timer>(timers, [&] { ++fired; }));
    many.back()->reset(100us * i);
  }
  EXPECT_TRUE(readable(long_enough));
  while (timers.now() < many.back()->deadline()) {
  }
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_TRUE(readable(0)) << turn;
    EXPECT_EQ(timers.dispatch(2), (expiry{2, turn < 4}));
  }
  EXPECT_EQ(fired, 10);
  EXPECT_FALSE(readable(0));
  EXPECT_FALSE(armed());
}

TEST_F(EpollTimers, AnExceptionKeepsItReadable) {
  loop_timer bad(timers, [] { throw 1; });
  loop_timer good(timers, [] {});
  bad.reset(0s);
  good.reset(0s);
  EXPECT_TRUE(readable(long_enough));
  EXPECT_THROW(timers.dispatch(), int);
  EXPECT_TRUE(readable(long_enough));
  EXPECT_EQ(timers.dispatch(), (expiry{1, false}));
}

TEST_F(EpollTimers, AStopLeavesTheDescriptorAlone) {
  int fired = 0;
  loop_timer one(timers, [&] { ++fired; });
  one.reset(1ms);
  EXPECT_EQ(one.stop(), stop_result::stopped);
  EXPECT_TRUE(readable(long_enough)) << "the loop wakes once for the stopped timer";
  EXPECT_EQ(timers.dispatch(), expiry{});
  EXPECT_EQ(fired, 0);
  EXPECT_FALSE(readable(0));
  EXPECT_FALSE(armed()) << "the timerfd is set although no timer is pending";
}

TEST_F(EpollTimers, ALoopOfHeartbeats) {
  int beats = 0;
  loop_timer idle(timers, [] { FAIL() << "the timer fired although it was reset before each deadline"; });
  std::unique_ptr<loop_timer> beat;
  beat = std::make_unique<loop_timer>(timers, [&] {
    idle.reset(1h);
    if (++beats < 20) beat->reset(200us);
  });
  idle.reset(1h);
  beat->reset(0s);
  while (beats < 20) {
    if (readable(long_enough)) timers.dispatch();
  }
}

TEST_F(EpollTimers, ALoopThatServesDescriptorsFirstResetsATimerBeforeItFires) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = ends[0];
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &wanted), 0);
  loop_timer idle(timers, [] { FAIL() << "a message had come before the deadline was looked at"; });
  idle.reset(0s);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  while (timers.now() <= idle.deadline()) {
  }
  epoll_event ready[2];
  ASSERT_EQ(epoll_wait(epoll, ready, 2, long_enough), 2) << "both are ready, in an order that epoll decides";
  idle.reset(1h);  // for the descriptor
  EXPECT_EQ(timers.dispatch(), expiry{}) << "the timer is looked at when dispatch is called";
  EXPECT_FALSE(idle.deadline() <= timers.now());
  idle.stop();
  close(ends[0]);
  close(ends[1]);
}

TEST_F(EpollTimers, ADispatchFiresWhatIsDueWhenItBeginsNotWhatCallbacksStartForNow) {
  int fired = 0;
  std::unique_ptr<loop_timer> again;
  again = std::make_unique<loop_timer>(timers, [&] {
    const instant turn = timers.now_of_turn();
    while (timers.now() == turn) {
    }
    if (++fired < 5) again->reset(0s);  // later than the beginning of the turn
  });
  again->reset(0s);
  for (int turn = 1; turn <= 5; ++turn) {
    ASSERT_TRUE(readable(long_enough));
    EXPECT_EQ(timers.dispatch(), (expiry{1, false}));
    EXPECT_EQ(fired, turn);
  }
  EXPECT_FALSE(readable(0));
}

TEST_F(EpollTimers, ATickerMakesItReadableForEachTick) {
  const instant start = timers.now();
  std::vector<instant> ticks;
  loop_ticker beat(timers, 100us, [&](const firing& tick) {
    EXPECT_GE(tick.now, tick.deadline) << "early";
    ticks.push_back(tick.deadline);
  });
  const instant first = beat.deadline();
  EXPECT_GE(first, start + 100us);
  while (ticks.size() < 20) {
    ASSERT_TRUE(readable(long_enough));
    timers.dispatch();
  }
  for (const instant tick : ticks) EXPECT_EQ((tick - first).count() % 100'000, 0) << "not on the grid";
  EXPECT_EQ(beat.skipped() + ticks.size() - 1,
            static_cast<std::uint64_t>((beat.deadline() - 100us - first) / duration(100us)));
  beat.stop();
  timers.dispatch();
  EXPECT_FALSE(armed());
}

TEST_F(EpollTimers, WhatTheChildOfAForkDoesIsNotSeenInTheParent) {
  std::optional<loop_timer> hour;
  hour.emplace(timers, [] { FAIL(); });
  hour->reset(1h);
  expect_in_child([&] {
    hour->stop();
    timers.dispatch();
    const bool off = !armed();
    epoll_ctl(epoll, EPOLL_CTL_DEL, timers.fd(), nullptr);  // from the parent's epoll instance
    return off;
  });
  EXPECT_TRUE(armed()) << "the child has switched off the parent's alarm";
  expect_in_child([&] {
    hour.reset();
    return true;
  });
  EXPECT_TRUE(armed());
  bool fired = false;
  loop_timer soon(timers, [&] { fired = true; });
  soon.reset(0s);
  EXPECT_TRUE(readable(long_enough)) << "the child has removed the descriptor from the parent's epoll instance";
  timers.dispatch();
  EXPECT_TRUE(fired);
}

TEST_F(EpollTimers, InTheChildOfAForkTheTimersGoOn) {
  bool fired = false;
  loop_timer one(timers, [&] { fired = true; });
  one.reset(1ms);
  const int number = timers.fd();
  expect_in_child([&] {
    // The child's child, whose parent is this one, ends what is pending: that must not be seen here.
    expect_in_child([&] {
      one.stop();
      timers.dispatch();
      return true;
    });
    pollfd ready{.fd = timers.fd(), .events = POLLIN, .revents = 0};
    if (timers.fd() != number || poll(&ready, 1, long_enough) != 1) return false;
    timers.dispatch();
    if (!fired || armed()) return false;
    fired = false;
    one.reset(1ms);
    if (poll(&ready, 1, long_enough) != 1) return false;
    timers.dispatch();
    return fired && !HasFailure();
  });
  EXPECT_TRUE(readable(long_enough));
  timers.dispatch();
  EXPECT_TRUE(fired);
}

TEST_F(EpollTimers, ACallbackMayFork) {
  loop_timer hour(timers, [] { FAIL(); });
  hour.reset(1h);
  loop_timer forks(timers, [&] {
    expect_in_child([&] {
      hour.stop();
      return true;
    });
  });
  const pid_t parent = getpid();
  forks.reset(0s);
  ASSERT_TRUE(readable(long_enough));
  timers.dispatch();
  ASSERT_EQ(getpid(), parent);
  EXPECT_TRUE(armed());
}

#if !defined(FOLIOT_SANITIZED)  // UBSan checks a vtable through a pipe, for which no descriptor is left here
TEST(EpollTimersLimits, WithoutADescriptorThereIsAnError) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(epoll_timers(), std::system_error);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(EpollTimersLimits, TheChildOfAForkNeedsNoFurtherDescriptor) {
  epoll_timers timers;
  loop_timer hour(timers, [] { FAIL(); });
  hour.reset(1h);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(timers.fd() + 8);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> all;
  for (int one = dup(0); one >= 0; one = dup(0)) all.push_back(one);
  const auto armed = [&] {
    itimerspec left{};
    return timerfd_gettime(timers.fd(), &left) == 0 && left.it_value.tv_sec > 0;
  };
  const int number = timers.fd();
  expect_in_child([&] {
    const bool as_before = timers.fd() == number && armed();
    hour.stop();
    timers.dispatch();
    return as_before && !armed();
  });
  EXPECT_TRUE(armed());
  for (const int one : all) close(one);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(EpollTimersLimits, AChildWithoutADescriptorLeavesThatOfItsParentAlone) {
  epoll_timers timers;
  bool fired = false;
  loop_timer hour(timers, [&] { fired = true; });
  hour.reset(1h);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  expect_in_child([&] {
    hour.reset(0s);
    while (timers.dispatch().fired == 0) {
    }
    return timers.fd() == -1 && fired;
  });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  itimerspec left{};
  EXPECT_EQ(timerfd_gettime(timers.fd(), &left), 0);
  EXPECT_GT(left.it_value.tv_sec, 0);
}

// The limit is lowered below the number of the descriptor, while a smaller number is free.
TEST(EpollTimersLimits, AChildWhoseLimitIsBelowTheNumberHasNoDescriptorOfItsParent) {
  const int smaller = dup(STDERR_FILENO);
  const epoll_timers timers;
  ASSERT_GT(timers.fd(), smaller);
  close(smaller);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = static_cast<rlim_t>(timers.fd());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  const int number = timers.fd();
  expect_in_child([&] { return timers.fd() == -1 && fcntl(number, F_GETFD) == -1 && fcntl(smaller, F_GETFD) == -1; });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}
#endif

}  // namespace
}  // namespace foliot::test
