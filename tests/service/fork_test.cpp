// A service in the child of a fork: no callback runs, and no call waits.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <foliot/core/seam/fork.hpp>

#include "fixture.hpp"
#include "support/fork.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Fork : public threaded_suite {};

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
  EXPECT_TRUE(far.pending()) << "the service must go on in the parent";
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
        t.reset(1h);
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

/// A start that moves a timer takes the locks of two shards, in the same order as a fork.
TEST_P(Fork, WhileOtherThreadsResetEachOthersTimers) {
  std::atomic<bool> done = false;
  std::vector<timer> shared;
  for (int i = 0; i < 4; ++i) shared.emplace_back(timers, 1h, [] {});
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!done) {
        for (timer& t : shared) t.reset(1h);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    expect_in_child([&] {
      shared.clear();
      timers.shut_down();
      return true;
    });
  }
  done = true;
  for (std::thread& each : busy) each.join();
  EXPECT_EQ(timers.counters().pending, shared.size());
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not support new threads in the child
TEST_P(Fork, InTheChildHandlesOfWhatWasPendingOrStoppedGo) {
  auto captured = std::make_shared<int>();
  timer pending(timers, 1h, [captured] {});
  timer stopped(timers, 1h, [captured] {});
  timer postpone(timers, 1h, [] {});
  EXPECT_EQ(stopped.stop(), stop_result::stopped);
  EXPECT_EQ(postpone.reset(2h), reset_result::superseded);
  expect_in_child([&] {
    bool fine = stopped.reset(2h) == reset_result::closed && stopped.stop() == stop_result::idle;
    fine = fine && postpone.reset(2h) == reset_result::closed && postpone.stop() == stop_result::idle;
    fine = fine && pending.stop() == stop_result::idle && !pending.pending();
    pending.detach();
    stopped.detach();
    fine = fine && captured.use_count() == 1;
    timers.shut_down();  // has none of them to drop
    return fine;
  });
  EXPECT_EQ(stopped.reset(2h), reset_result::idle) << "the service must go on in the parent";
}

/// A closure whose user is the thread that forked is in use in the child, too, unlike those of the other threads.
TEST_P(Fork, InTheChildAThreadWaitsForAnotherOneThatDestroysTheCallback) {
  const pid_t parent = getpid();
  std::atomic<bool> begun = false;
  std::atomic<bool> asked = false;
  std::atomic<bool> destroyed = false;
  timer t(timers, 1h, [captured = std::shared_ptr<int>(new int, [&, parent](int* value) {
                         delete value;
                         if (getpid() == parent) return;
                         begun = true;
                         while (!asked) std::this_thread::yield();
                         for (int i = 0; i < 1000; ++i) std::this_thread::yield();
                         destroyed = true;
                       })] {});
  expect_in_child([&] {
    std::thread first([&t] { static_cast<void>(t.stop_and_wait()); });
    while (!begun) std::this_thread::yield();
    asked = true;
    static_cast<void>(t.stop_and_wait());
    const bool fine = destroyed;
    first.join();
    return fine;
  });
}

/// The callback's thread exists in the child, too, if it has forked.
TEST_P(Fork, InTheChildAThreadWaitsForTheCallbackThatForked) {
  std::optional<timer> t;
  std::atomic<bool> over = false;
  std::latch done(1);
  int status = -1;
  t.emplace(timers, [&, kept = std::make_shared<int>(1)] {
    if (const pid_t child = fork(); child != 0) {
      EXPECT_EQ(waitpid(child, &status, 0), child);
      return done.count_down();
    }
    alarm(250);
    std::thread([&] {
      t.reset();
      _exit(over ? 0 : 1);
    }).detach();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    over = *kept == 1;
  });
  t->reset(0ns);
  done.wait();
  EXPECT_EQ(status, 0);
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

class ForkOnVirtualTime : public engine_suite {};
INSTANTIATE_TEST_SUITE_P(, ForkOnVirtualTime, every_engine(), engine_as_name);

TEST_P(ForkOnVirtualTime, InTheChildNobodyWaitsForACallbackOfTheParent) {
  virtual_clock clock;
  timer_service timers(clock, options());
  std::latch inside(1);
  std::latch go_on(1);
  std::optional<timer> running(std::in_place, timers, 1ms, [&, kept = std::make_unique<int>(1)] {
    inside.count_down();
    go_on.wait();
    EXPECT_EQ(*kept, 1);
  });
  std::thread advances([&clock] { clock.advance(1h); });
  inside.wait();
  expect_in_child([&] {
    static_cast<void>(running->stop_and_wait());
    running.reset();
    timers.shut_down();
    return true;
  });
  go_on.count_down();
  advances.join();
  EXPECT_EQ(timers.counters().fired, 1u) << "the service must go on in the parent";
}

/// In the child a sleeping thread does not exist, and its stack may become that of a new thread. The timer of the sleep
/// lies on that stack, and must not be touched any more. Here the stack is unmapped.
class ForkOfSleepers : public engine_suite {
 protected:
  static constexpr std::size_t stack_size = 1 << 20;
  struct sleeper {
    timer_service& timers;
    bool whole = true;
  };
  static void* sleeps(void* told) {
    sleeper& self = *static_cast<sleeper*>(told);
    self.whole = sleep_for(self.timers, 1h);
    return nullptr;
  }
  /// `use` runs in the child, with the service.
  template <class Use>
  static void fork_while_one_sleeps(timer_service& timers, Use use) {
    void* const stack =
        ::mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    ASSERT_NE(stack, MAP_FAILED);
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_attr_init(&attributes), 0);
    ASSERT_EQ(::pthread_attr_setstack(&attributes, stack, stack_size), 0);
    sleeper asleep{timers};
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(&thread, &attributes, sleeps, &asleep), 0);
    ::pthread_attr_destroy(&attributes);
    while (timers.counters().pending == 0) std::this_thread::yield();
    std::vector<timer> others;  // around it in the queue
    for (int i = 0; i < 8; ++i) others.emplace_back(timers, 30min + i * 15min, [] {});
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(250);
      ::mprotect(stack, stack_size, PROT_NONE);
      use(others);
      others.clear();
      _exit(timers.counters().pending == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "the child was ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    others.clear();
    EXPECT_EQ(timers.shut_down(), 1u) << "the service must go on in the parent";
    ::pthread_join(thread, nullptr);
    EXPECT_FALSE(asleep.whole);
    ::munmap(stack, stack_size);
  }
};
INSTANTIATE_TEST_SUITE_P(, ForkOfSleepers, every_engine(), engine_as_name);

TEST_P(ForkOfSleepers, InTheChildNobodyTouchesThem) {
  timer_service timers(options());
  fork_while_one_sleeps(timers, [&](std::vector<timer>& others) {
    others[3].stop();
    others.erase(others.begin(), others.begin() + 2);
    timers.shut_down();
  });
}

TEST_P(ForkOfSleepers, InTheChildNobodyTouchesThemOnVirtualTime) {
  virtual_clock clock;
  timer_service timers(clock, options());
  fork_while_one_sleeps(timers, [&](std::vector<timer>& others) {
    others[3].reset(5h);
    clock.advance(6h);
  });
}

/// The executor has the job of the sleep's timer, in the child too.
TEST_P(ForkOfSleepers, InTheChildTheirJobsFindNothing) {
  std::optional<posted_callback> kept;
  std::atomic<bool> there = false;
  service_options posting = options();
  posting.executor = [&](posted_callback job) {
    kept.emplace(std::move(job));
    there = true;
  };
  virtual_clock clock;
  timer_service timers(clock, std::move(posting));
  fork_while_one_sleeps(timers, [&](std::vector<timer>& others) {
    others.clear();
    clock.advance(2h);
    (*kept)();
  });
}

/// What threads have begun to use, in several processes one after the other. Here they are all one process, and each
/// thread that "forks" tells so.
TEST(ForkHistory, KnowsWhoseUsesGoOnInTheChild) {
  const auto by_another_thread = [](auto act) { std::thread(act).join(); };
  detail::fork_history forks;
  detail::closure_use mine;
  detail::closure_use others;
  mine.begin_use(forks);
  EXPECT_TRUE(forks.empty());
  EXPECT_FALSE(mine.used_in_parent(forks));
  by_another_thread([&] {
    others.begin_use(forks);
    EXPECT_FALSE(others.used_in_parent(forks));
  });
  forks.add();
  EXPECT_FALSE(forks.empty());
  EXPECT_FALSE(mine.used_in_parent(forks));
  EXPECT_TRUE(others.used_in_parent(forks));
  detail::closure_use in_child;
  by_another_thread([&] { in_child.begin_use(forks); });
  EXPECT_FALSE(in_child.used_in_parent(forks));
  by_another_thread([&] { EXPECT_FALSE(mine.used_in_parent(forks)) << "it asks for the thread that forked"; });
  forks.add();
  EXPECT_FALSE(mine.used_in_parent(forks)) << "the same thread forked twice";
  EXPECT_TRUE(in_child.used_in_parent(forks));
}

TEST(ForkHistory, ANewThreadAtTheAddressOfALostOneHasNoneOfItsUses) {
  detail::fork_history forks;
  detail::closure_use lost;
  lost.begin_use(forks);
  std::thread([&] { forks.add(); }).join();
  EXPECT_TRUE(lost.used_in_parent(forks)) << "also where the caller has the address of the user";
  detail::closure_use own;
  own.begin_use(forks);
  forks.add();  // and if that new thread forks
  EXPECT_TRUE(lost.used_in_parent(forks));
  EXPECT_FALSE(own.used_in_parent(forks));
}

/// Threads that take several of the witnesses' locks rely on that order.
TEST(ForkWitnesses, AreAskedInTheReverseOrderOfTheirMaking) {
  class witness : private core::seam::fork_witness {
   public:
    witness(std::vector<int>& asked, int number) : asked_(asked), number_(number) { witness_forks(); }
    ~witness() override { forget_forks(); }
    void before_fork() noexcept override { asked_.push_back(number_); }
    void after_fork_in_parent() noexcept override {}
    void after_fork_in_child() noexcept override {}

   private:
    std::vector<int>& asked_;
    const int number_;
  };
  std::vector<int> asked;
  asked.reserve(8);
  const witness first(asked, 1);
  std::optional<witness> second(std::in_place, asked, 2);
  const witness third(asked, 3);
  second.reset();
  const witness fourth(asked, 4);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(asked, (std::vector{4, 3, 1}));
}

}  // namespace
}  // namespace foliot::test
