// goim's log lines and their order. The log is called without a lock.
#include <foliot/service/timer_log.hpp>

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

class TimerLog : public ::testing::Test {
 protected:
  service_options options() {
    service_options with_log = with_engine("goim");
    with_log.log = [this](const timer_log_entry& entry) { written.push_back(log_line(entry)); };
    return with_log;
  }
  /// The entries since the last call.
  lines took() { return std::exchange(written, {}); }

  lines written;
  virtual_clock clock{instant{}};
  timer_service timers{clock, options()};
};

TEST_F(TimerLog, OfAnAddASetADelAndAnExpiry) {
  timer a(timers, [this] { written.emplace_back("a fires"); });
  timer b(timers, [this] { written.emplace_back("b fires"); });
  a.name("a");
  b.name("b");
  EXPECT_EQ(took(), lines{});
  a.reset(5ms);
  EXPECT_EQ(took(), (lines{"timer: add reset delay 5 ms", "timer: push item key: a, expire: 5000000, index: 0"}));
  b.reset(9ms);
  EXPECT_EQ(took(), (lines{"timer: push item key: b, expire: 9000000, index: 1"}));
  b.reset(2ms);
  EXPECT_EQ(took(), (lines{"timer: remove item key: b, expire: 9000000, index: -1", "timer: add reset delay 2 ms",
                           "timer: push item key: b, expire: 2000000, index: 0"}));
  clock.advance(2ms);
  EXPECT_EQ(took(), (lines{"timer: remove item key: b, expire: 2000000, index: -1",
                           "timer key: b, expire: 2000000, index: -1 expired, call fn", "b fires",
                           "timer: expire reset delay 3 ms"}));
  static_cast<void>(b.stop());
  EXPECT_EQ(took(), (lines{"timer del key: b, expire: 2000000, index: -1"}));
  static_cast<void>(a.stop());
  EXPECT_EQ(took(), (lines{"timer: remove item key: a, expire: 5000000, index: -1"}));
  a.name("renamed");
  a.reset(1ms);
  EXPECT_EQ(took(), (lines{"timer: add reset delay 1 ms", "timer: push item key: renamed, expire: 3000000, index: 0"}));
  a = timer();
  EXPECT_EQ(took(), (lines{"timer: remove item key: renamed, expire: 3000000, index: -1"}));
}

TEST_F(TimerLog, SaysThatNothingIsLeft) {
  timer a(timers, 1ms, [] {});
  written.clear();
  clock.advance(1ms);
  ASSERT_EQ(written.size(), 4u);
  EXPECT_EQ(written[2], "timer: no other instance");
  EXPECT_TRUE(written[3].starts_with("timer: expire reset delay ")) << written[3];
}

TEST_F(TimerLog, OfATickerHasTheNextBeat) {
  ticker beat(timers, 10ms, [] {});
  beat.name("beat");
  written.clear();
  clock.advance(10ms);
  EXPECT_EQ(took(), (lines{"timer: remove item key: beat, expire: 10000000, index: -1",
                           "timer: push item key: beat, expire: 20000000, index: 0",
                           "timer key: beat, expire: 10000000, index: -1 expired, call fn",
                           "timer: expire reset delay 10 ms"}));
}

/// The log is called without a lock, so it may use the service whose entries it receives.
TEST_F(TimerLog, MayUseTheService) {
  timer other(timers, [] {});
  bool inside = false;
  std::size_t pending = 0;
  service_options options = with_engine("goim");
  timer_service* service = nullptr;
  options.log = [&](const timer_log_entry&) {
    if (service == nullptr || std::exchange(inside, true)) return;
    pending = service->counters().pending;
    {
      const timer own(*service, 1h, [] {});
    }
    inside = false;  // the entries of these calls have been written by now
  };
  virtual_clock time;
  timer_service logged(time, std::move(options));
  service = &logged;
  timer t(logged, 1ms, [] {});
  EXPECT_EQ(pending, 1u);
  time.advance(1ms);
  static_cast<void>(t.stop());
  service = nullptr;
}

TEST_F(TimerLog, WhatItThrowsIsReported) {
  int reported = 0;
  service_options options = with_engine("goim");
  options.log = [](const timer_log_entry&) { throw std::runtime_error("the disk is full"); };
  options.on_exception = [&](const std::exception_ptr&) { ++reported; };
  virtual_clock time;
  timer_service logged(time, std::move(options));
  int fired = 0;
  timer t(logged, 1ms, [&] { ++fired; });
  EXPECT_EQ(reported, 2);
  time.advance(1ms);
  EXPECT_EQ(fired, 1);
}

/// The entries of the service's own thread: the sequence of one timer, and then the alarm, before the thread sleeps.
TEST_F(TimerLog, OfAThreadIsInOrder) {
  std::latch slept(1);
  lines threads;
  service_options options = with_engine("goim");
  options.log = [&, here = std::this_thread::get_id()](const timer_log_entry& entry) {
    if (std::this_thread::get_id() == here) return;
    threads.push_back(log_line(entry));
    if (entry.what == timer_event::alarm_set && !slept.try_wait()) slept.count_down();
  };
  timer_service real(std::move(options));
  timer t(real, [] {});
  t.name("t");
  t.reset_at(instant::from_nanoseconds(1));
  slept.wait();
  real.shut_down();
  ASSERT_GE(threads.size(), 4u);
  EXPECT_EQ(threads[0], "timer: remove item key: t, expire: 1, index: -1");
  EXPECT_EQ(threads[1], "timer key: t, expire: 1, index: -1 expired, call fn");
  EXPECT_EQ(threads[2], "timer: no other instance");
  EXPECT_TRUE(threads[3].starts_with("timer: expire reset delay "));
}

TEST(TimerNames, AreToldOfSlowCallbacks) {
  std::string name = "no log";
  virtual_clock clock;
  service_options options;
  options.slow_callback = {.longer_than = 1ms, .tell = [&](const slow_callback& slow) { name = slow.name; }};
  timer_service timers(clock, std::move(options));
  timer t(timers, 1ms, [&clock] { clock.stall(5ms); });
  clock.advance(1ms);
  EXPECT_EQ(name, "");
  t.name("session 17");
  t.reset(1ms);
  clock.advance(1ms);
  EXPECT_EQ(name, "session 17");
}

TEST(TimerNames, AreStoredOnlyWhereTheyAreShown) {
  virtual_clock clock;
  timer_service timers(clock);
  timer t(timers, [] {});
  t.name("without a log");
  EXPECT_THROW(timer().name("nothing there"), std::logic_error);
}

TEST(TimerLogOption, IsRefusedWhereThereIsNone) {
  for (const std::string_view engine : timer_service::engines()) {
    service_options options = with_engine(std::string(engine));
    options.log = [](const timer_log_entry&) {};
    if (engine == "goim") {
      EXPECT_NO_THROW(timer_service{std::move(options)});
      continue;
    }
    try {
      timer_service refused(std::move(options));
      FAIL() << engine;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()), "foliot: the engine '" + std::string(engine) +
                                               "' keeps no log: choose the engine 'goim', or set no log");
    }
  }
}

/// The log may close the timer whose callback is called next. The callback is not called then.
TEST(TimerLogEnds, ATimerThatTheLogEndsDoesNotFire) {
  timer* ended = nullptr;
  stop_result answer = stop_result::stopped;
  service_options with_log = with_engine("goim");
  with_log.log = [&](const timer_log_entry& entry) {
    if (entry.what == timer_event::expired) answer = ended->stop_and_wait();
  };
  virtual_clock clock{instant{}};
  timer_service timers(clock, std::move(with_log));
  int fired = 0;
  timer one(timers, 1ms, [&fired] { ++fired; });
  ended = &one;
  clock.advance(1s);
  EXPECT_EQ(answer, stop_result::running);
  EXPECT_EQ(fired, 0);
  EXPECT_EQ(timers.counters().fired, 0u);
  EXPECT_EQ(one.reset(1ms), reset_result::closed);
}

/// The same if the executor runs a job at once.
TEST(TimerLogOrder, WhatLeavesTheHeapIsToldBeforeItFires) {
  lines written;
  service_options with_log = with_engine("goim");
  with_log.log = [&written](const timer_log_entry& entry) { written.push_back(log_line(entry)); };
  with_log.executor = callback_executor([](auto&& job) { job(); });
  virtual_clock clock{instant{}};
  timer_service timers(clock, std::move(with_log));
  timer one(timers, 1ms, [&written] { written.emplace_back("fires"); });
  written.clear();
  clock.advance(1ms);
  ASSERT_GE(written.size(), 3u);
  EXPECT_EQ(written[0], "timer: remove item key: , expire: 1000000, index: -1");
  EXPECT_EQ(written[1], "timer key: , expire: 1000000, index: -1 expired, call fn");
  EXPECT_EQ(written[2], "fires");
}

/// A handle that is destroyed calls the log, which exists until the call returns, although the service ends meanwhile.
TEST(TimerLogEnds, TheLogOutlivesTheCallsOfIt) {
  std::latch in_the_log(1);
  std::latch ended(1);
  auto told = std::make_shared<int>(0);
  service_options with_log = with_engine("goim");
  with_log.log = [&in_the_log, &ended, told](const timer_log_entry& entry) {
    if (entry.what != timer_event::removed) return;
    in_the_log.count_down();
    ended.wait();
    ++*told;  // a capture of the log
  };
  const std::weak_ptr<int> log_lives = told;
  auto timers = std::make_unique<timer_service>(std::move(with_log));
  timer one(*timers, 1h, [] {});
  std::thread ends([&] { one = timer(); });
  in_the_log.wait();
  timers.reset();
  EXPECT_EQ(log_lives.use_count(), 2) << "only the log and this test may have it";
  ended.count_down();
  ends.join();
  EXPECT_EQ(*told, 1);
  EXPECT_EQ(log_lives.use_count(), 1);
}

}  // namespace
}  // namespace foliot::test
