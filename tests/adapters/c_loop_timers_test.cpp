// Timers in a real loop of a library in C: libevent, libev, GLib or sd-event, each in a program of its own.
#include "c_loops.hpp"

#include <foliot/adapters/loop_ticker.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/fork.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class CLoopTimers : public testing::Test {
 protected:
  CLoopTimers() { loop.make(timers); }

  tested_loop loop;
  std::optional<tested_loop::timers_type> timers;
};

/// A pipe with a byte in it.
struct readable_pipe {
  readable_pipe() {
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  }
  readable_pipe(const readable_pipe&) = delete;
  readable_pipe& operator=(const readable_pipe&) = delete;
  ~readable_pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2];
};

TEST_F(CLoopTimers, FireInOrderAndNeverEarly) {
  std::vector<int> order;
  const instant start = timers->now();
  loop_timer late(*timers, [&] {
    EXPECT_GE(timers->now(), start + 2ms);
    order.push_back(2);
  });
  loop_timer soon(*timers, [&] {
    EXPECT_GE(timers->now(), start + 300us);
    order.push_back(1);
  });
  late.reset_at(start + 2ms);
  soon.reset_at(start + 300us);
  loop.run(*timers);
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST_F(CLoopTimers, ALoopThatEndsByItselfRunsAsLongAsATimerIsPending) {
  if (!tested_loop::ends_by_itself) GTEST_SKIP() << "this loop runs until it is told to end";
  loop.run(*timers);  // returns: nothing is pending
  loop_timer stopped(*timers, [] { FAIL(); });
  stopped.reset(1h);
  stopped.stop();
  loop.run(*timers);
  int fired = 0;
  loop_timer each(*timers, [&] {
    if (++fired < 5) each.reset(100us);
  });
  each.reset(100us);
  loop.run(*timers);
  EXPECT_EQ(fired, 5);
}

TEST_F(CLoopTimers, AStartAfterAStopOfTheEarliestFires) {
  bool fired = false;
  loop_timer first(*timers, [] { FAIL(); });
  loop_timer second(*timers, [&] { fired = true; });
  first.reset(500us);
  first.stop();
  second.reset(1ms);
  loop.run(*timers);
  EXPECT_TRUE(fired);
}

TEST_F(CLoopTimers, ACallbackMayStartStopAndDestroy) {
  int beats = 0;
  auto other = std::make_unique<loop_timer>(*timers, [] { FAIL(); });
  std::unique_ptr<loop_timer> beat;
  beat = std::make_unique<loop_timer>(*timers, [&] {
    other->reset(1h);
    if (++beats < 10) {
      beat->reset(100us);
    } else {
      other.reset();
      beat.reset();
    }
  });
  beat->reset(0s);
  loop.run(*timers);
  EXPECT_EQ(beats, 10);
}

TEST_F(CLoopTimers, ATickerRunsUntilItIsStopped) {
  int ticks = 0;
  std::optional<loop_ticker> beat;
  beat.emplace(*timers, 100us, [&](const firing& tick) {
    EXPECT_GE(tick.now, tick.deadline) << "early";
    if (++ticks == 10) beat->stop();
  });
  loop.run(*timers);
  EXPECT_EQ(ticks, 10);
}

TEST_F(CLoopTimers, ABudgetLetsOtherDescriptorsBeServed) {
  loop.make(timers, 1);
  const readable_pipe pipe;
  int fired = 0;
  int seen = 0;
  int most_between = 0;
  loop.watch(pipe.ends[0], [&] {
    most_between = std::max(most_between, fired - seen);
    seen = fired;
  });
  std::vector<std::unique_ptr<loop_timer>> many;
  const instant due = timers->now();
  for (int i = 0; i < 20; ++i) {
    many.push_back(std::make_unique<loop_timer>(*timers, [&] { ++fired; }));
    many.back()->reset_at(due);
  }
  loop.run(*timers);
  EXPECT_EQ(fired, 20);
  loop.turn(*timers);  // the descriptor once more
  EXPECT_EQ(seen, 20);
  EXPECT_LE(most_between, 2);  // one in each turn, before or behind the descriptor
}

TEST_F(CLoopTimers, AnExceptionComesOutOfRunAndNothingIsLost) {
  int fired = 0;
  loop_timer bad(*timers, [] { throw std::runtime_error("once"); });
  loop_timer good(*timers, [&] { ++fired; });
  const instant due = timers->now();
  bad.reset_at(due);
  good.reset_at(due);
  EXPECT_THROW(loop.run(*timers), std::runtime_error);
  EXPECT_EQ(fired, 0);
  loop.run(*timers);
  EXPECT_EQ(fired, 1);
  EXPECT_NO_THROW(timers->rethrow());
}

TEST_F(CLoopTimers, TheyMayEndWithTimersPending) {
  auto left = std::make_unique<loop_timer>(*timers, [] { FAIL(); });
  left->reset(1h);
  loop.make(timers);
  EXPECT_FALSE(left->pending());
  loop.run(*timers);
}

TEST_F(CLoopTimers, BesideTimersOfTheLoop) {
  int fired = 0;
  int theirs = 0;
  loop_timer ours(*timers, [&] {
    ++fired;
    if (theirs == 0) ours.reset(1ms);
  });
  loop.after(1, [&] { ++theirs; });
  ours.reset(1ms);
  loop.run(*timers);
  EXPECT_GE(fired, 1);
  EXPECT_EQ(theirs, 1);
}

TEST_F(CLoopTimers, InTheChildOfAForkTheyGoOnAndTheParentDoesNotNotice) {
  int fired = 0;
  loop_timer one(*timers, [&] { ++fired; });
  loop.turn(*timers);  // some loops give a new descriptor to their epoll instance only now
  one.reset(1ms);
  expect_in_child([&] {
    if (!tested_loop::goes_on_in_child) {
      timers.reset();
      return true;
    }
    if (!loop.renew_in_child()) return false;
    loop.run(*timers);  // the one that its parent has started
    if (fired != 1) return false;
    one.reset(1ms);
    loop.run(*timers);
    return fired == 2;
  });
  loop.run(*timers);
  EXPECT_EQ(fired, 1) << "the child has silenced its parent's timer";
}

#if !defined(FOLIOT_SANITIZED)  // UBSan checks a vtable through a pipe, for which no descriptor is left here
TEST_F(CLoopTimers, AChildWithoutADescriptorIsToldAndItsParentGoesOn) {
  int fired = 0;
  loop_timer one(*timers, [&] { ++fired; });
  one.reset(1h);
  loop.turn(*timers);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  expect_in_child([&] {
    setrlimit(RLIMIT_NOFILE, &before);
    try {
      timers->rethrow();
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).contains("no file descriptor");
    }
    return false;
  });
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  one.reset(1ms);
  loop.run(*timers);
  EXPECT_EQ(fired, 1) << "the child has silenced its parent's timer";
}
#endif

#if defined(FOLIOT_TEST_EV)
TEST_F(CLoopTimers, UnrefedTheyDoNotKeepTheLoop) {
  loop_timer hour(*timers, [] { FAIL(); });
  timers->unref();
  hour.reset(1h);
  EXPECT_FALSE(timers->run());
  timers->ref();
  EXPECT_TRUE(timers->run(EVRUN_NOWAIT));
  timers->unref();
  EXPECT_FALSE(timers->run());
  hour.stop();
  timers->ref();
  EXPECT_FALSE(timers->run()) << "the loop has work although no timer is pending";
}
#endif

#if defined(FOLIOT_TEST_GLIB)
TEST_F(CLoopTimers, AnExceptionLetsTheMainLoopQuit) {
  GMainLoop* const main_loop = g_main_loop_new(loop.context(), FALSE);
  loop_timer bad(*timers, [] { throw std::runtime_error("once"); });
  loop_timer last(*timers, [&] { g_main_loop_quit(main_loop); });
  bad.reset(0s);
  EXPECT_THROW(timers->run(main_loop), std::runtime_error);
  last.reset(100us);
  timers->run(main_loop);
  EXPECT_FALSE(last.pending());
  g_main_loop_unref(main_loop);
}

TEST_F(CLoopTimers, OfTheThreadsDefaultContext) {
  g_main_context_push_thread_default(loop.context());
  std::optional<glib_timers> of_thread;
  of_thread.emplace();
  g_main_context_pop_thread_default(loop.context());
  bool fired = false;
  loop_timer one(*of_thread, [&] { fired = true; });
  one.reset(100us);
  loop.run(*of_thread);
  EXPECT_TRUE(fired);
}
#endif

#if defined(FOLIOT_TEST_SD_EVENT)
TEST_F(CLoopTimers, TheLoopReturnsTheCodeOfItsExit) {
  loop_timer bad(*timers, [] { throw std::runtime_error("once"); });
  loop_timer last(*timers, [&] { sd_event_exit(loop.event(), 7); });
  bad.reset(0s);
  last.reset(1ms);
  EXPECT_THROW(timers->loop(), std::runtime_error);
  EXPECT_EQ(timers->loop(), 7);
  EXPECT_EQ(timers->loop(), 7);
}
#endif

}  // namespace
}  // namespace foliot::test
