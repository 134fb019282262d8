// What is left of a service in the child of a fork: nothing that runs, and nothing that waits.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Fork : public threaded_suite {
 protected:
  /// Runs `body` in a child; its answer says whether all was as it should be.
  template <class Body>
  static void expect_in_child(Body body) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(250);  // a child that waits for what is not there ends by a signal
      _exit(body() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(, Fork, every_exact_engine(), engine_as_name);

TEST_P(Fork, InTheChildTheServiceHasEnded) {
  std::latch fired(1);
  timer once(timers, 0ns, [&] { fired.count_down(); });
  fired.wait();
  timer far(timers, 1h, [] {});
  expect_in_child([&] {
    bool fine = once.reset(0ns) == reset_result::closed;
    fine = fine && !far.pending() && far.reset(2h) == reset_result::closed && !far.pending();
    timer made(timers, [] {});
    fine = fine && made.reset(0ns) == reset_result::closed && !made.pending();
    far = timer();
    timers.shut_down();
    return fine;
  });
  EXPECT_TRUE(far.pending()) << "the parent goes on";
  std::latch again(1);
  timer next(timers, 0ns, [&] { again.count_down(); });
  again.wait();
}

TEST_P(Fork, WhatRanAtTheForkDoesNotRunInTheChildAndNobodyWaitsForIt) {
  std::latch inside(1);
  std::latch go_on(1);
  std::optional<timer> running(std::in_place, timers, 0ns, [&, kept = std::make_unique<int>(1)] {
    inside.count_down();
    go_on.wait();
    EXPECT_EQ(*kept, 1);
  });
  inside.wait();
  expect_in_child([&] {
    static_cast<void>(running->stop_and_wait());
    running.reset();
    timers.shut_down();
    return true;
  });
  go_on.count_down();
  EXPECT_NE(running->stop_and_wait(), stop_result::stopped);
}

/// Locks that other threads hold at the fork would be held for ever in the child.
TEST_P(Fork, WhileOtherThreadsUseTheService) {
  std::atomic<bool> done = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      timer t(timers, [] {});
      while (!done) {
        t.start(1h);
        t.stop();
        const timer new_one(timers, 1ms, [] {});
      }
    });
  }
  timer mine(timers, 1h, [] {});
  for (int i = 0; i < 20; ++i) {
    expect_in_child([&] {
      mine = timer();
      timers.shut_down();
      return true;
    });
  }
  done = true;
  for (std::thread& each : busy) each.join();
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow new threads there
TEST_P(Fork, InTheChildHandlesOfWhatWasPendingOrStoppedGo) {
  auto captured = std::make_shared<int>();
  timer pending(timers, 1h, [captured] {});
  timer stopped(timers, 1h, [captured] {});
  timer put_off(timers, 1h, [] {});
  EXPECT_EQ(stopped.stop(), stop_result::stopped);
  EXPECT_EQ(put_off.reset(2h), reset_result::superseded);
  expect_in_child([&] {
    bool fine = stopped.reset(2h) == reset_result::closed && stopped.stop() == stop_result::idle;
    fine = fine && put_off.reset(2h) == reset_result::closed && put_off.stop() == stop_result::idle;
    fine = fine && pending.stop() == stop_result::idle && !pending.pending();
    pending.detach();
    stopped.detach();
    fine = fine && captured.use_count() == 1;
    timers.shut_down();  // finds nothing of them
    return fine;
  });
  EXPECT_EQ(stopped.reset(2h), reset_result::idle) << "the parent goes on";
}

TEST_P(Fork, ANewServiceInTheChildWorks) {
  std::latch fired(1);
  timer once(timers, 0ns, [&] { fired.count_down(); });
  fired.wait();
  expect_in_child([&] {
    timer_service own(options());
    std::latch there(1);
    timer t(own, 1ms, [&] { there.count_down(); });
    there.wait();
    return true;
  });
}
#endif

}  // namespace
}  // namespace foliot::test
