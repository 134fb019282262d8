// Reports of callbacks that do not end: each callback here waits for the report of itself.
#include <foliot/service/stall.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "stall_default.hpp"
#include "support/death_tests.hpp"
#include "support/fork.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

std::uint32_t line_here(std::source_location here = std::source_location::current()) { return here.line(); }

/// Reports, as their copies, and waits for them.
class Told {
 public:
  void add(const stall& one) {
    const std::lock_guard held(mutex_);
    all_.push_back({one, std::string(one.name), std::this_thread::get_id()});
    more_.notify_all();
  }
  struct each {
    stall what;
    std::string name;
    std::thread::id by;
  };
  /// The first report of this kind, when it is there.
  each await(stall_kind kind, std::size_t number = 0) {
    std::unique_lock held(mutex_);
    for (;;) {
      std::size_t seen = 0;
      for (const each& one : all_) {
        if (one.what.kind == kind && seen++ == number) return one;
      }
      more_.wait(held);
    }
  }
  std::size_t count(stall_kind kind) {
    const std::lock_guard held(mutex_);
    return static_cast<std::size_t>(std::ranges::count(all_, kind, [](const each& one) { return one.what.kind; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<each> all_;
};

class Stalls : public engine_suite {
 protected:
  service_options watching(duration limit = 1ms) {
    service_options options = Stalls::options();
    options.stalls = {.longer_than = limit, .tell = [this](const stall& one) { told.add(one); }};
    return options;
  }

  Told told;
};

INSTANTIATE_TEST_SUITE_P(, Stalls, every_exact_engine(), engine_as_name);

TEST_P(Stalls, ACallbackThatRunsIsReportedAgainEachTimeThatItsTimeHasDoubled) {
  timer_service timers(watching());
  std::atomic<std::uint32_t> thread = 0;
  timer t(timers, [&] {
    thread = seam::this_thread_id();
    told.await(stall_kind::callback_runs, 2);
  });
  t.name("endless");
  t.reset(0ns);
  const std::uint32_t line = line_here() - 1;
  const auto first = told.await(stall_kind::callback_runs);
  EXPECT_EQ(first.name, "endless");
  EXPECT_EQ(first.what.armed_at.line(), line);
  EXPECT_TRUE(std::string(first.what.armed_at.file_name()).ends_with("stall_test.cpp"));
  EXPECT_EQ(first.what.thread, thread);
  EXPECT_GE(first.what.running, duration(1ms));
  EXPECT_EQ(first.what.waited, duration::zero());
  const auto second = told.await(stall_kind::callback_runs, 1);
  EXPECT_GE(second.what.running, first.what.running + first.what.running);
  const auto third = told.await(stall_kind::callback_runs, 2);
  EXPECT_GE(third.what.running, second.what.running + second.what.running);
}

TEST_P(Stalls, TheLineIsThatOfTheStartThatFired) {
  timer_service timers(watching());
  timer* mine = nullptr;
  timer t(timers, [&] {
    mine->reset(1h);
    told.await(stall_kind::callback_runs);
  });
  mine = &t;
  t.reset(0ns);
  const std::uint32_t line = line_here() - 1;
  EXPECT_EQ(told.await(stall_kind::callback_runs).what.armed_at.line(), line);
}

TEST_P(Stalls, AnEndThatWaitsIsReportedByTheThreadThatWaits) {
  timer_service timers(watching());
  std::optional<timer> t;
  std::atomic<bool> begun = false;
  t.emplace(timers, [&] {
    begun = true;
    begun.notify_all();
    told.await(stall_kind::end_waits);
  });
  t->name("waited for");
  t->reset(0ns);
  begun.wait(false);
  t.reset();
  const auto report = told.await(stall_kind::end_waits);
  EXPECT_EQ(report.name, "waited for");
  EXPECT_EQ(report.by, std::this_thread::get_id());
  EXPECT_GE(report.what.running, duration(1ms));
  EXPECT_GE(report.what.waited, duration(1ms));
}

TEST_P(Stalls, ADrainThatWaitsIsReported) {
  timer_service timers(watching());
  timer t(timers, 0ns, [&] { told.await(stall_kind::service_waits); });
  timers.drain(1h);
  const auto report = told.await(stall_kind::service_waits);
  EXPECT_EQ(report.by, std::this_thread::get_id());
  EXPECT_GE(report.what.waited, duration(1ms));
}

TEST_P(Stalls, AShutDownThatWaitsIsReported) {
  std::atomic<bool> begun = false;
  std::optional<timer_service> timers(std::in_place, watching());
  timer t(*timers, 0ns, [&] {
    begun = true;
    begun.notify_all();
    told.await(stall_kind::service_waits);
  });
  begun.wait(false);
  timers.reset();
  EXPECT_EQ(told.await(stall_kind::service_waits).by, std::this_thread::get_id());
}

TEST_P(Stalls, OnVirtualTimeWhatOtherThreadsWaitForIsReported) {
  virtual_clock clock;
  timer_service timers(clock, watching());
  std::atomic<bool> begun = false;
  timer t(timers, 1s, [&] {
    begun = true;
    begun.notify_all();
    told.await(stall_kind::end_waits);
  });
  std::thread ends([&] {
    begun.wait(false);
    t.stop_and_wait();
  });
  clock.advance(1s);
  ends.join();
  EXPECT_EQ(told.count(stall_kind::callback_runs), 0u);
}

TEST_P(Stalls, OnAnExecutorAreReportedToo) {
  std::vector<std::thread> threads;
  {
    service_options options = watching();
    options.executor = [&](posted_callback job) { threads.emplace_back(std::move(job)); };
    timer_service timers(std::move(options));
    timer t(timers, 0ns, [&] { told.await(stall_kind::callback_runs); });
    const std::uint32_t line = line_here() - 1;
    EXPECT_EQ(told.await(stall_kind::callback_runs).what.armed_at.line(), line);
  }
  for (std::thread& each : threads) each.join();
}

TEST_P(Stalls, NothingIsReportedBeforeTheLimit) {
  timer_service timers(watching(1h));
  std::atomic<int> fired = 0;
  std::vector<timer> many;
  for (int i = 0; i < 100; ++i) many.emplace_back(timers, 0ns, [&] { ++fired; });
  timers.drain(1h);
  EXPECT_EQ(fired, 100);
  for (const stall_kind each : {stall_kind::callback_runs, stall_kind::end_waits, stall_kind::service_waits}) {
    EXPECT_EQ(told.count(each), 0u);
  }
}

TEST_P(Stalls, WhatTellThrowsGoesToTheExceptionHandler) {
  service_options options = Stalls::options();
  std::atomic<int> reported = 0;
  options.on_exception = [&](const callback_failure& failure) {
    EXPECT_EQ(failure.armed_at.line(), 0u) << "it is no timer's callback";
    ++reported;
    reported.notify_all();
  };
  options.stalls = {.longer_than = 1ms, .tell = [](const stall&) { throw std::runtime_error("full"); }};
  timer_service timers(std::move(options));
  timer t(timers, 0ns, [&] { reported.wait(0); });
  timers.drain(1h);
  EXPECT_GE(reported, 1);
}

TEST_P(Stalls, AReportMayForkAndTheChildWaitsForNothing) {
  service_options options = Stalls::options();
  std::atomic<bool> begun = false;
  std::atomic<bool> over = false;
  bool in_child = false;
  options.stalls = {.longer_than = 1ms, .tell = [&](const stall& one) {
                      if (one.kind != stall_kind::end_waits || over) return;
                      const pid_t child = fork();
                      if (child == 0) {
                        alarm(250);  // ends a child that waits for a thread of the parent
                        in_child = true;
                        return;
                      }
                      int status = 0;
                      EXPECT_EQ(waitpid(child, &status, 0), child);
                      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
                      over = true;
                      over.notify_all();
                    }};
  std::optional<timer_service> timers(std::in_place, std::move(options));
  std::optional<timer> t;
  t.emplace(*timers, 0ns, [&] {
    begun = true;
    begun.notify_all();
    over.wait(false);
  });
  begun.wait(false);
  t.reset();
  if (in_child) {
    timers.reset();
    _exit(0);
  }
  EXPECT_TRUE(over);
}

TEST_P(Stalls, InTheChildOfAForkTheServiceEnds) {
  std::optional<timer_service> timers(std::in_place, watching());
  std::atomic<bool> begun = false;
  std::atomic<bool> over = false;
  timer t(*timers, 0ns, [&] {
    begun = true;
    begun.notify_all();
    over.wait(false);
  });
  begun.wait(false);
  expect_in_child([&] {
    t = timer();
    timers.reset();
    return true;
  });
  over = true;
  over.notify_all();
}

TEST(StallReport, NeedsSomebodyToTellAndALimit) {
  const auto nothing = [](const stall&) {};
  EXPECT_THROW(timer_service({.stalls = {.longer_than = 1ms}}), std::invalid_argument);
  EXPECT_THROW(timer_service({.stalls = {.longer_than = 0ns, .tell = nothing}}), std::invalid_argument);
  EXPECT_THROW(timer_service({.stalls = {.longer_than = -1ns, .tell = nothing}}), std::invalid_argument);
}

TEST(StallReport, AsText) {
  stall one{.kind = stall_kind::callback_runs,
            .running = 1500ms,
            .waited = duration::zero(),
            .thread = 4711,
            .armed_at = {},
            .fired = {}};
  EXPECT_EQ(to_string(one), "the callback of the timer has been running for 1.5s on thread 4711");
  one.armed_at = std::source_location::current();
  const std::string place = std::string(one.armed_at.file_name()) + ":" + std::to_string(one.armed_at.line());
  one.name = "idle";
  EXPECT_EQ(to_string(one),
            "the callback of the timer 'idle' armed at " + place + " has been running for 1.5s on thread 4711");
  one.kind = stall_kind::end_waits;
  one.waited = 1s;
  EXPECT_EQ(to_string(one),
            "the end of a timer has waited 1s for its callback; the callback of the timer 'idle' armed at " + place +
                " has been running for 1.5s on thread 4711");
  one.kind = stall_kind::service_waits;
  EXPECT_EQ(to_string(one),
            "a drain or the end of a service has waited 1s for the callback of the timer 'idle' armed at " + place +
                " has been running for 1.5s on thread 4711");
}

/// std::map::try_emplace calls the constructor, so the place is in the standard library.
TEST(StallReport, SaysThatTheLineIsUnknownWhereTheStandardLibraryArmedTheTimer) {
  struct armed {
    explicit armed(int, std::source_location here = std::source_location::current()) : at(here) {}
    std::source_location at;
  };
  std::map<int, armed> made;
  stall one{.kind = stall_kind::callback_runs,
            .running = 1500ms,
            .waited = duration::zero(),
            .thread = 4711,
            .armed_at = made.try_emplace(1, 1).first->second.at,
            .fired = {},
            .name = "idle"};
  const std::string place = std::string(one.armed_at.file_name()) + ":" + std::to_string(one.armed_at.line());
  EXPECT_EQ(to_string(one), "the callback of the timer 'idle' armed at a line that is not known, by " + place +
                                " has been running for 1.5s on thread 4711");
  testing::internal::CaptureStderr();
  exception_handler()({std::make_exception_ptr(std::runtime_error("broken")), one.armed_at, one.name});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "foliot: a timer's callback threw: broken (timer 'idle' armed at "
            "a line that is not known, by " +
                place + ")\n");
}

/// Standard error is a pipe during its life, with the report of libraries built for Debug.
class DefaultReport {
 public:
  DefaultReport() : saved_(dup(2)) {
    EXPECT_EQ(pipe(ends_.data()), 0);
    dup2(ends_[1], 2);
    detail::default_stall_limit = 1ms;
  }
  ~DefaultReport() {
    detail::default_stall_limit = before_;
    dup2(saved_, 2);
    for (const int each : {saved_, ends_[0], ends_[1]}) close(each);
  }
  DefaultReport(const DefaultReport&) = delete;
  DefaultReport& operator=(const DefaultReport&) = delete;

  std::string line() const {
    std::string read_so_far;
    for (char c = 0; c != '\n' && read(ends_[0], &c, 1) == 1;) read_so_far += c;
    return read_so_far;
  }

 private:
  const duration before_ = detail::default_stall_limit;
  const int saved_;
  std::array<int, 2> ends_{};
};

TEST(StallReport, OfLibrariesBuiltForDebugIsPrinted) {
  const DefaultReport report;
  timer_service timers;
  std::atomic<bool> begun = false;
  std::string seen;
  timer t(timers, 0ns, [&] {
    begun = true;
    begun.notify_all();
    seen = report.line();
  });
  begun.wait(false);
  t.stop_and_wait();
  EXPECT_TRUE(seen.starts_with("foliot: the end of a timer has waited ")) << seen;
  EXPECT_NE(seen.find("stall_test.cpp:"), std::string::npos) << seen;
}

// The failures of callbacks.

class CallbackFailures : public engine_suite {
 protected:
  virtual_clock clock;
};

INSTANTIATE_TEST_SUITE_P(, CallbackFailures, every_exact_engine(), engine_as_name);

TEST_P(CallbackFailures, SayWhichTimerAndTheLineOfTheStartThatFired) {
  service_options options = CallbackFailures::options();
  std::vector<std::pair<std::string, std::uint32_t>> seen;
  options.on_exception = [&](const callback_failure& failure) {
    EXPECT_THROW(std::rethrow_exception(failure.error), std::runtime_error);
    seen.emplace_back(failure.name, failure.armed_at.line());
  };
  timer_service timers(clock, std::move(options));
  timer t(timers, [&] {
    t.reset(1h);
    throw std::runtime_error("broken");
  });
  t.name("fragile");
  t.reset(1s);
  const std::uint32_t line = line_here() - 1;
  clock.advance(1s);
  const timer unnamed(timers, 1s, [] { throw std::runtime_error("broken"); });
  const std::uint32_t second = line_here() - 1;
  clock.advance(1s);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::uint32_t>>{{"fragile", line}, {"", second}}));
}

TEST_P(CallbackFailures, AHandlerMayTakeTheExceptionAlone) {
  service_options options = CallbackFailures::options();
  int seen = 0;
  options.on_exception = [&](std::exception_ptr error) {
    EXPECT_THROW(std::rethrow_exception(error), std::runtime_error);
    ++seen;
  };
  const exception_handler copy = options.on_exception;
  EXPECT_FALSE(copy.wants_location());
  timer_service timers(clock, std::move(options));
  const timer t(timers, 1s, [] { throw std::runtime_error("broken"); });
  clock.advance(1s);
  EXPECT_EQ(seen, 1);
  copy(std::make_exception_ptr(std::runtime_error("again")));
  EXPECT_EQ(seen, 2);
}

TEST_P(CallbackFailures, ArePrintedWithTheirTimerWhereItIsStored) {
  const auto printed = [&](service_options options) {
    timer_service timers(clock, std::move(options));
    timer t(timers, 1s, [] { throw std::runtime_error("broken"); });
    t.name("fragile");
    testing::internal::CaptureStderr();
    clock.advance(1s);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed(options()), "foliot: a timer's callback threw: broken\n");
  service_options stored = options();
  stored.stalls = {.longer_than = 1h, .tell = [](const stall&) {}};
  const std::string text = printed(std::move(stored));
  EXPECT_TRUE(text.starts_with("foliot: a timer's callback threw: broken (timer 'fragile' armed at ")) << text;
  EXPECT_NE(text.find("stall_test.cpp:"), std::string::npos) << text;
}

/// A program that gives up when a callback hangs. The service is static: exit() destroys it, inside the report.
[[noreturn]] void end_by_exit_in_a_report() {
  alarm(250);  // ends a process that hangs
  service_options options;
  options.shards = 1;
  options.stalls = {.longer_than = 1ms, .tell = [](const stall&) {
                      static std::atomic_flag told;  // the destructor of the service would tell what it waits for
                      if (!told.test_and_set()) std::exit(5);
                    }};
  static timer_service timers(std::move(options));
  auto* const hangs = new timer(timers, 0ns, [] {
    for (;;) pause();
  });
  for (;;) {
    static_cast<void>(hangs->pending());
    pause();
  }
}

TEST(StallReportDeathTest, AReportMayCallExit) {
  test::run_death_tests_in_new_processes();
  EXPECT_EXIT(end_by_exit_in_a_report(), testing::ExitedWithCode(5), "");
}

/// The thread of the reports ends when the report has returned.
TEST(StallReport, AReportOnTheirThreadMayDestroyTheService) {
  std::latch told(1);
  std::latch over(1);
  const auto timers = std::make_shared<std::optional<timer_service>>();  // a report may come after the test
  service_options options;
  options.shards = 1;
  options.stalls = {.longer_than = 1ms, .tell = [timers, &told](const stall& one) {
                      if (one.kind != stall_kind::callback_runs || !*timers) return;
                      timers->reset();
                      told.count_down();
                    }};
  timers->emplace(std::move(options));
  timer hangs(**timers, [&] { over.wait(); });
  hangs.reset(0ns);
  told.wait();
  over.count_down();
  hangs.stop_and_wait();
  EXPECT_FALSE(hangs.pending());
}

/// What a report may use can have been destroyed with the service.
TEST(StallReport, NothingIsToldAfterAReportThatHasDestroyedTheService) {
  std::latch told(1);
  std::latch over(1);
  std::atomic<int> afterwards{0};
  auto timers = std::make_shared<std::optional<timer_service>>();
  const std::weak_ptr<std::optional<timer_service>> left = timers;
  service_options options;
  options.shards = 2;
  options.stalls = {.longer_than = 20ms, .tell = [timers, &told, &afterwards](const stall& one) {
                      if (one.kind != stall_kind::callback_runs) return;
                      if (!*timers) {
                        ++afterwards;
                        return;
                      }
                      timers->reset();
                      told.count_down();
                    }};
  timers->emplace(std::move(options));
  {
    const auto hang = [&] { over.wait(); };
    timer first(**timers, hang);
    std::optional<timer> second;
    std::thread([&] { second.emplace(**timers, hang); }).join();  // which has another shard
    first.reset(0ns);
    second->reset(0ns);
    told.wait();
    timers.reset();
    over.count_down();
    first.stop_and_wait();
    second->stop_and_wait();
  }
  while (!left.expired()) std::this_thread::yield();  // until the thread of the reports has ended
  EXPECT_EQ(afterwards, 0);
}

TEST(ExceptionHandler, RefusesNullFunctions) {
  void (*none)(std::exception_ptr) = nullptr;
  EXPECT_THROW(exception_handler{none}, std::invalid_argument);
  void (*no_failure)(const callback_failure&) = nullptr;
  EXPECT_THROW(exception_handler{no_failure}, std::invalid_argument);
}

}  // namespace
}  // namespace foliot::test
