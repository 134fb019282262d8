// Watches in races between real threads, in the child of a fork, and where a system call or an allocation fails.
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <exception>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "support/allocations.hpp"
#include "watch_fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

#if defined(FOLIOT_SANITIZED)
constexpr int rounds = 300;
#else
constexpr int rounds = 1000;
#endif

class WatchRaces : public watching_suite {
 protected:
  /// Runs both functions at once.
  template <class Here, class There>
  static void race(Here here, There there) {
    std::barrier start(2);
    std::thread other([&] {
      start.arrive_and_wait();
      there();
    });
    start.arrive_and_wait();
    here();
    other.join();
  }

  const connection pipe;
};

TEST_F(WatchRaces, DestroyAgainstAnEvent) {
  for (int i = 0; i < rounds; ++i) {
    auto target = std::make_unique<int>(0);  // the sanitizers report a use after it is freed
    watch input(timers, pipe.here(), {readiness::readable, trigger::edge}, [raw = target.get()] { ++*raw; });
    race(
        [&] {
          input = watch();
          target.reset();
        },
        [&] { pipe.write(); });
    EXPECT_TRUE(pipe.read());
  }
}

TEST_F(WatchRaces, StopAndWaitFromTwoThreadsAgainstAnEvent) {
  for (int i = 0; i < rounds; ++i) {
    const auto captured = std::make_shared<int>(0);
    watch input(timers, pipe.here(), {readiness::readable, trigger::edge}, [captured] { ++*captured; });
    pipe.write();
    const auto end = [&] {
      input.stop_and_wait();
      EXPECT_EQ(captured.use_count(), 1) << "the captures must be destroyed";
    };
    race(end, end);
    EXPECT_TRUE(pipe.read());
  }
}

TEST_F(WatchRaces, ModifyAgainstModifyAndAnEvent) {
  std::atomic<std::uint64_t> reported = 0;
  watch input(timers, pipe.here(), readiness::none, [&] {
    ++reported;
    EXPECT_TRUE(input.modify(readiness::none));
  });
  pipe.write();
  for (int i = 0; i < rounds; ++i) {
    race([&] { EXPECT_TRUE(input.modify(readiness::readable)); }, [&] { EXPECT_TRUE(input.modify(readiness::none)); });
  }
  const auto settle = [&] {  // timers fire on the same thread, so a call that was under way has ended then
    EXPECT_TRUE(input.modify(readiness::none));
    std::latch turn(1);
    const timer next(timers, 0ns, [&] { turn.count_down(); });
    turn.wait();
  };
  settle();
  const std::uint64_t before = reported;
  EXPECT_TRUE(input.modify(readiness::readable));
  while (reported == before) std::this_thread::yield();
  settle();
}

TEST_F(WatchRaces, ShutDownAgainstAll) {
  for (int i = 0; i < rounds / 10; ++i) {
    std::optional<timer_service> short_lived(std::in_place, reactor());
    const connection other_pipe;
    std::atomic<bool> ended = false;
    const auto check = [&] { EXPECT_FALSE(ended) << "no callback may run after shut_down has returned"; };
    watch input(*short_lived, pipe.here(), {readiness::writable, trigger::edge}, check);
    watch other(*short_lived, other_pipe.here(), {readiness::writable, trigger::edge}, check);
    race(
        [&] {
          short_lived->shut_down();
          ended = true;
        },
        [&] {
          static_cast<void>(input.modify({readiness::writable, trigger::edge}));
          other = watch();
          const watch late(*short_lived, other_pipe.here(), {readiness::writable, trigger::edge}, check);
        });
    short_lived.reset();
  }
}

TEST_F(WatchRaces, StopAndWaitWaitsForTheCallback) {
  std::latch running(1);
  std::latch go_on(1);
  std::atomic<bool> ended = false;
  watch input(timers, pipe.here(), {readiness::writable, trigger::edge}, [&] {
    running.count_down();
    go_on.wait();
    ended = true;
  });
  running.wait();
  std::thread releases([&] { go_on.count_down(); });
  input.stop_and_wait();
  EXPECT_TRUE(ended);
  releases.join();
}

// In the child of a fork.

class WatchInAFork : public WatchRaces {
 protected:
  template <class Body>
  static void expect_in_child(Body body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(250);  // a signal ends a child that waits for a thread of the parent
      ::_exit(body() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
};

/// The parent and the child share the poller: a descriptor that the child removes there would be removed for the
/// parent.
TEST_F(WatchInAFork, TheChildsEndIsNotTheParents) {
  std::latch reported(1);
  std::optional<watch> input(std::in_place, timers, pipe.here(), readiness::readable, [&] {
    if (pipe.read()) reported.count_down();
  });
  expect_in_child([&] {
    const bool closed = !input->watching() && !input->modify(readiness::none);
    input.reset();
    timers.shut_down();
    return closed;
  });
  pipe.write();
  reported.wait();
}

TEST_F(WatchInAFork, WhatRanAtTheForkDoesNotRunInTheChildAndNobodyWaitsForIt) {
  std::latch inside(1);
  std::latch go_on(1);
  std::optional<watch> running(std::in_place, timers, pipe.here(), interest(readiness::writable, trigger::edge),
                               [&, kept = std::make_unique<int>(1)] {
                                 inside.count_down();
                                 go_on.wait();
                                 EXPECT_EQ(*kept, 1);
                               });
  inside.wait();
  expect_in_child([&] {
    running->stop_and_wait();
    running.reset();
    timers.shut_down();
    return true;
  });
  go_on.count_down();
}

/// Locks that other threads hold at the fork would be held for ever in the child.
TEST_F(WatchInAFork, WhileOtherThreadsWatch) {
  std::atomic<bool> done = false;
  const connection other_pipe;
  std::thread busy([&] {
    while (!done) {
      watch made(timers, other_pipe.here(), readiness::writable, [] {});
      made.modify(readiness::none);
    }
  });
  watch mine(timers, pipe.here(), readiness::readable, [] {});
  for (int i = 0; i < 20; ++i) {
    expect_in_child([&] {
      mine = watch();
      timers.shut_down();
      return true;
    });
  }
  done = true;
  busy.join();
}

// Faults.

TEST_F(WatchRaces, TheNthAllocationOfAWatchFails) {
  std::array<char, 100> large{};  // a closure that needs an allocation of its own
  bool any_failed = true;
  std::size_t n = 0;
  for (; any_failed; ++n) {
    std::latch reported(1);
    timer_service fresh(reactor());
    std::optional<watch> input;
    {
      const failing_allocations fail(n);
      try {
        input.emplace(fresh, pipe.here(), interest(readiness::writable, trigger::edge),
                      [&reported, large] { reported.count_down(1 + large[0]); });
      } catch (const std::bad_alloc&) {
        EXPECT_TRUE(fail.failed());
      }
      any_failed = fail.failed();
    }
    // A failed watch leaves nothing behind: else the descriptor would be watched already.
    if (any_failed)
      input.emplace(fresh, pipe.here(), readiness::writable, [&] {
        if (!reported.try_wait()) reported.count_down();
      });
    reported.wait();
  }
  EXPECT_GT(n, 2u);
}

/// The number that the next descriptor will have.
int next_descriptor() {
  const int next = ::dup(0);
  EXPECT_GE(next, 0);
  ::close(next);
  return next;
}

/// The exception that `body` throws if there are no descriptors from `end` on; null if it throws nothing.
template <class Body>
std::exception_ptr refusal_with_descriptors_below(int end, Body body) {
  rlimit before{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{static_cast<rlim_t>(end), before.rlim_max};
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::exception_ptr refusal;
  try {
    body();
  } catch (...) {
    refusal = std::current_exception();
  }
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  return refusal;
}

/// The service's thread needs two descriptors, and on another clock a third one, for the alarm.
TEST_F(WatchRaces, WithoutDescriptorsTheFirstTimerOrWatchSaysSoAndTheNextWorks) {
  for (const service_clock clock : {service_clock::monotonic, service_clock::wall}) {
    const int needed = clock == service_clock::monotonic ? 2 : 3;
    for (int more = 0; more < needed; ++more) {
      service_options options = reactor();
      options.clock = clock;
      timer_service poor(std::move(options));
      std::latch both(2);
      timer t(poor, [&] { both.count_down(); });
      const int end = next_descriptor() + more;
      // The exception is examined afterwards, since sanitizers open descriptors for that.
      const std::exception_ptr of_timer = refusal_with_descriptors_below(end, [&] { t.reset(0ns); });
      EXPECT_FALSE(t.pending());
      const std::exception_ptr of_watch = refusal_with_descriptors_below(
          end, [&] { const watch never(poor, pipe.here(), readiness::writable, [] {}); });
      for (const std::exception_ptr& each : {of_timer, of_watch}) {
        ASSERT_NE(each, nullptr) << "the call must be refused without a descriptor";
        try {
          std::rethrow_exception(each);
        } catch (const std::system_error& error) {
          EXPECT_EQ(error.code().value(), EMFILE) << error.what();
        }
      }
      t.reset(0ns);
      const watch input(poor, pipe.here(), {readiness::writable, trigger::edge}, [&] { both.count_down(); });
      both.wait();
    }
  }
}

}  // namespace
}  // namespace foliot::test
