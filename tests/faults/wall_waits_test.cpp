// The runtime's first wait for the wall clock needs a file descriptor, a place in the poller, and memory. If one
// of these is refused, the waiting task gets an exception with the name of the call, nothing is left half done, and the
// next wait tries again.
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "failing_calls.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

task<> first_waits_are_refused(call which, int error, const char* name) {
  const auto far = rt::wall_now() + 1000h;
  const std::size_t descriptors = open_descriptors();
  for (const bool in_a_select : {false, true}) {
    bool refused = false;
    try {
      const failing_calls fail(which, error);
      if (in_a_select) {
        rt::timer other(1h);
        auto chosen = co_await rt::select(other.c(), rt::at(far));
        EXPECT_EQ(chosen.index(), 2U) << "the wait was not refused";
      } else {
        co_await rt::sleep_until(far);
      }
    } catch (const std::system_error& refusal) {
      refused = true;
      EXPECT_EQ(refusal.code(), std::error_code(error, std::generic_category()));
      EXPECT_NE(std::string(refusal.what()).find(name), std::string::npos) << refusal.what();
      EXPECT_NE(std::string(refusal.what()).find("foliot"), std::string::npos) << refusal.what();
    }
    EXPECT_TRUE(refused);
    EXPECT_EQ(open_descriptors(), descriptors);
  }
  // An instant that has passed needs no descriptor.
  {
    const failing_calls fail(which, error);
    co_await rt::sleep_until(rt::wall_now());
    EXPECT_FALSE(fail.failed());
  }
  for (int i = 0; i < 3; ++i) {
    const auto soon = rt::wall_now() + 1ms;
    co_await rt::sleep_until(soon);
    EXPECT_GE(rt::wall_now(), soon);
  }
  EXPECT_LE(open_descriptors(), descriptors + 1) << "all waits must share one descriptor";
}

TEST(WallWaits, ADescriptorThatIsRefused) {
  const std::size_t before = open_descriptors();
  for (const int error : {EMFILE, ENFILE, ENOMEM}) {
    run(first_waits_are_refused(call::timerfd_create, error, "cannot make a timerfd"));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(WallWaits, APollerThatRefusesIt) {
  const std::size_t before = open_descriptors();
  for (const int error : {ENOSPC, ENOMEM}) {
    run(first_waits_are_refused(call::epoll_ctl, error, "cannot watch descriptor"));
  }
  EXPECT_EQ(open_descriptors(), before);
}

/// On virtual time a wait makes no system call, so none can be refused.
TEST(WallWaits, VirtualTimeNeedsNoDescriptor) {
  virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  run(
      []() -> task<> {
        const failing_calls fail(call::timerfd_create, EMFILE);
        const auto when = rt::wall_now() + 1000h;
        co_await rt::sleep_until(when);
        EXPECT_EQ(rt::wall_now(), when);
        EXPECT_FALSE(fail.failed());
      }(),
      options);
}

}  // namespace
}  // namespace foliot::test
