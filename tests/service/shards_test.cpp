// Tests of services with several shards, and of resets without the lock.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <foliot/core/seam/system.hpp>

#include "fixture.hpp"
#include "support/allocations.hpp"
#include "watch_fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

service_options of(std::string engine, std::size_t shards) {
  service_options options = with_engine(std::move(engine));
  options.shards = shards;
  return options;
}

/// Each engine that can have several shards.
class ManyShards : public engine_suite {
 protected:
  [[nodiscard]] static service_options options(std::size_t shards) { return of(GetParam(), shards); }
};

INSTANTIATE_TEST_SUITE_P(, ManyShards, every_engine_of_shards(), engine_as_name);

TEST(Shards, AreAsManyAsTheEngineHasByItself) {
  EXPECT_EQ(timer_service().shards(), seam::processors());
  EXPECT_EQ(timer_service(with_engine("bucket-heaps")).shards(), 64u);
  for (const char* one : {"global-heap", "quad-heap-lazy", "goim", "goim-heap", "epoll-heap", "red-black-tree",
                          "hashed-wheel", "hierarchical-wheel", "linux-wheel", "erlang-wheel"}) {
    EXPECT_EQ(timer_service(with_engine(one)).shards(), 1u) << one;
  }
  virtual_clock clock;
  EXPECT_EQ(timer_service(clock).shards(), 1u);
}

TEST_P(ManyShards, AreAsManyAsAskedFor) {
  for (const std::size_t count : {1u, 2u, 7u, 1024u}) EXPECT_EQ(timer_service(options(count)).shards(), count);
}

TEST(Shards, OfAGlobalHeapThereIsOne) { EXPECT_EQ(timer_service(of("global-heap", 1)).shards(), 1u); }

TEST(Shards, ANumberThatCannotBeIsRefusedWithAReason) {
  const auto refused = [](auto make) -> std::string {
    try {
      make();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refused([] { timer_service service(of("foliot", 1025)); }),
            "foliot: the engine 'foliot' can have at most 1024 shards, not 1025");
  EXPECT_EQ(refused([] { timer_service service(of("global-heap", 2)); }),
            "foliot: the engine 'global-heap' can have one shard, not 2");
  virtual_clock clock;
  EXPECT_EQ(refused([&] { timer_service service(clock, of("foliot", 2)); }),
            "foliot: the engine 'foliot' can have one shard on virtual time, not 2");
}

/// The callbacks of a thread's timers run on the thread of its shard; threads get the shards in turn.
TEST_P(ManyShards, ThreadsGoToOneShardEach) {
  timer_service timers(options(4));
  std::array<std::thread::id, 8> ran_on;
  for (std::size_t i = 0; i < ran_on.size(); ++i) {
    std::thread([&] {
      std::latch done(3);
      std::array<std::thread::id, 3> ids;
      std::vector<timer> some;
      for (auto& id : ids) {
        some.emplace_back(timers, 1us, [&] {
          id = std::this_thread::get_id();
          done.count_down();
        });
      }
      done.wait();
      EXPECT_EQ(ids[0], ids[1]);
      EXPECT_EQ(ids[0], ids[2]);
      ran_on[i] = ids[0];
    }).join();
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ran_on[i], ran_on[i + 4]) << "threads must get the shards in turn";
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(ran_on[i], ran_on[j]);
  }
}

TEST_P(ManyShards, WhatACallbackStartsStaysOnItsShard) {
  timer_service timers(options(3));
  std::latch done(1);
  std::optional<timer> second;
  timer first(timers, 0ns, [&] {
    second.emplace(timers, 0ns, [&, here = std::this_thread::get_id()] {
      EXPECT_EQ(std::this_thread::get_id(), here);
      done.count_down();
    });
  });
  done.wait();
}

/// Callbacks of two shards end the service at once: neither waits for the other.
TEST_P(ManyShards, ShutDownFromCallbacksOfTwoShards) {
  for (int i = 0; i < 20; ++i) {
    timer_service timers(options(2));
    std::latch both(2);
    std::latch done(2);
    std::array<timer, 2> enders;
    for (timer& each : enders) {
      std::thread([&] {
        each = timer(timers, 0ns, [&] {
          both.arrive_and_wait();
          timers.shut_down();
          done.count_down();
        });
      }).join();
    }
    done.wait();
    for (timer& each : enders) EXPECT_EQ(each.reset(0ns), reset_result::closed);
  }
}

TEST_P(ManyShards, CountersAreSums) {
  timer_service timers(options(3));
  std::vector<timer> many;
  for (int i = 0; i < 6; ++i) {
    std::thread([&] {
      many.emplace_back(timers, 1h, [] {});
      many.back().reset(2h);
      many.back().reset(90min);
    }).join();
  }
  many[0].stop();
  const service_counters now = timers.counters();
  EXPECT_EQ(now.started, 6u);
  EXPECT_EQ(now.superseded, 12u);
  EXPECT_EQ(now.stopped, 1u);
  EXPECT_EQ(now.pending, 5u);
  EXPECT_EQ(timers.shut_down(), 5u);
}

/// Shards do not wait for each other's callbacks, and none is later than its engine allows.
TEST_P(ManyShards, FireBesideEachOther) {
  timer_service timers(options(2));
  std::latch both(2);  // each callback waits for the other
  std::array<timer, 2> each;
  for (timer& one : each) {
    std::thread([&] { one = timer(timers, 1ms, [&] { both.arrive_and_wait(); }); }).join();
  }
  both.wait();
  for (timer& one : each) one.stop_and_wait();
  EXPECT_EQ(timers.counters().fired, 2u);
}

TEST_P(ManyShards, ReserveInAllOrInNone) {
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    timer_service fresh(options(3));  // no timer, and so no thread that allocates
    const std::size_t before = live_bytes();
    const failing_allocations fail(n);
    try {
      fresh.reserve(2000);
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(live_bytes(), before) << "after " << n << " allocations";
    }
    any_failed = fail.failed();
    ASSERT_FALSE(HasFailure());
    if (n > 40) n += n / 8;  // there are many allocations of the same kind
  }
}

/// Timers of several threads, moved and stopped by all of them, end in one outcome each.
TEST_P(ManyShards, EveryStartHasOneOutcomeWhoeverMovesIt) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 50;
  std::vector<std::atomic<int>> fired(threads * each);
  timer_service timers(options(3));
  std::vector<timer> many(fired.size());
  std::latch made(threads);
  std::vector<std::thread> moving;
  for (std::size_t t = 0; t < threads; ++t) {
    moving.emplace_back([&, t] {
      for (std::size_t i = t * each; i < (t + 1) * each; ++i) {
        many[i] = timer(timers, 1h, [&fired, i] { ++fired[i]; });
      }
      made.arrive_and_wait();
      for (std::size_t i = t; i < many.size(); i += 3) many[i].reset(i % 2 == 0 ? duration(1ms) : duration(2h));
      for (std::size_t i = t; i < many.size(); i += 5) static_cast<void>(many[i].stop());
    });
  }
  for (std::thread& thread : moving) thread.join();
  for (timer& t : many) {
    while (t.stop() == stop_result::running) std::this_thread::yield();
  }
  const service_counters now = timers.counters();
  EXPECT_EQ(now.pending, 0u);
  EXPECT_EQ(now.started, now.stopped + now.fired);
}

TEST(EpollShards, AWatchIsOfTheShardOfTheThreadThatMakesIt) {
  timer_service loops(of("epoll-heap", 2));
  const std::array<connection, 2> connections;
  std::array<std::thread::id, 2> watched_on;
  std::array<std::thread::id, 2> timed_on;
  std::latch done(4);
  std::array<watch, 2> watches;
  std::array<timer, 2> timers;
  for (std::size_t i = 0; i < 2; ++i) {
    std::thread([&, i] {
      watches[i] = watch(loops, connections[i].here(), readiness::readable, [&, i] {
        if (!connections[i].read()) return;
        watched_on[i] = std::this_thread::get_id();
        done.count_down();
      });
      timers[i] = timer(loops, 0ns, [&, i] {
        timed_on[i] = std::this_thread::get_id();
        done.count_down();
      });
    }).join();
    connections[i].write();
  }
  done.wait();
  EXPECT_EQ(watched_on, timed_on);
  EXPECT_NE(watched_on[0], watched_on[1]);
  loops.shut_down();
  for (const watch& each : watches) EXPECT_FALSE(each.watching());
}

/// More threads than thread numbers, all alive: every postponement is counted.
TEST(PutOffs, AreCountedExactly) {
  constexpr std::size_t threads = 80;
  constexpr std::uint64_t each = 200;
  timer_service timers(of("foliot", 2));
  timer shared(timers, 1h, [] {});
  std::latch all(threads);
  std::vector<std::thread> pushing;
  for (std::size_t i = 0; i < threads; ++i) {
    pushing.emplace_back([&] {
      all.arrive_and_wait();
      for (std::uint64_t n = 0; n < each; ++n) EXPECT_EQ(shared.reset(2h), reset_result::superseded);
    });
  }
  for (std::thread& thread : pushing) thread.join();
  EXPECT_EQ(timers.counters().superseded, threads * each);
  EXPECT_EQ(timers.counters().started, 1u);
}

// In these tests a callback on the shard's own thread postpones the timers, so that nothing fires meanwhile, however
// slow the machine is.

TEST(PutOffs, AreHeardWhenTheOldDeadlineComes) {
  timer_service timers(of("foliot", 1));
  std::latch done(1);
  instant deadline;
  timer t(timers, [&](const firing& f) {
    EXPECT_EQ(f.deadline, deadline);
    EXPECT_GE(f.now, deadline);
    done.count_down();
  });
  timer starter(timers, 0ns, [&] {
    deadline = timers.now() + 10ms;
    t.reset(2ms);
    EXPECT_EQ(t.reset_at(deadline), reset_result::superseded);
  });
  done.wait();
  EXPECT_EQ(timers.counters().fired, 2u);
}

/// A postponed timer leaves the queue at its old deadline, and is requeued without memory. (Another timer of the same
/// slot gets the memory that both have left.) Meanwhile a timer that is due after it fires.
class WithoutMemory : public ::testing::Test {
 protected:
  void end_of_memory() {
    const instant old = timers.now() + 1ms;
    first.reset_at(old);
    t.reset_at(old);
    due.reset_at(old + 1ns);
    EXPECT_EQ(first.reset(5h), reset_result::superseded);
    EXPECT_EQ(t.reset(10min), reset_result::superseded);
    no_memory.emplace();
    const auto take_what_is_left = [&] {
      for (std::size_t i = 0; i < others.size(); ++i)
        others[i].reset(24h * (i + 1) * (i + 1));  // each in a slot of its own
    };
    EXPECT_THROW(take_what_is_left(), std::bad_alloc);
  }
  service_options options() {
    service_options one = of("foliot", 1);
    one.on_exception = [](const std::exception_ptr& failure) {
      EXPECT_THROW(std::rethrow_exception(failure), std::bad_alloc);
    };
    return one;
  }
  void SetUp() override {
    for (int i = 0; i < 200; ++i) others.emplace_back(timers, [] {});
    breaker.reset(0ns);
    ASSERT_TRUE(due_fired.try_acquire_for(120s)) << "a due timer waits for the memory of a postponed one";
    EXPECT_TRUE(first.pending());
    EXPECT_TRUE(t.pending());
  }

  std::optional<failing_allocations> no_memory;  // of the shard's thread, which has no memory from then on
  std::binary_semaphore due_fired{0};
  std::latch fired{1};
  timer_service timers{options()};
  std::vector<timer> others;
  timer first{timers, [] {}};
  timer due{timers, [this] { due_fired.release(); }};
  timer t{timers, [this] { fired.count_down(); }};
  timer breaker{timers, [this] { end_of_memory(); }};
};

TEST_F(WithoutMemory, APutOffTimerIsNotLost) {
  EXPECT_EQ(t.reset(0ns), reset_result::superseded);
  fired.wait();
  stop_result answer = t.stop();
  while (answer == stop_result::running) answer = t.stop();  // the callback is about to return
  EXPECT_EQ(answer, stop_result::idle);
}

TEST_F(WithoutMemory, APutOffTimerMayBePutOffAgain) {
  EXPECT_EQ(t.reset(20min), reset_result::superseded);
  EXPECT_TRUE(t.pending());
  EXPECT_EQ(t.stop(), stop_result::stopped);
}

TEST_F(WithoutMemory, APutOffTimerIsStopped) {
  EXPECT_EQ(t.stop(), stop_result::stopped);
  EXPECT_EQ(t.stop(), stop_result::idle);
  EXPECT_FALSE(t.pending());
}

TEST_F(WithoutMemory, APutOffTimerIsEnded) {
  EXPECT_EQ(t.stop_and_wait(), stop_result::stopped);
  EXPECT_FALSE(t.pending());
}

TEST_F(WithoutMemory, APutOffTimerIsDroppedWithTheService) {
  const std::size_t pending = timers.counters().pending;
  EXPECT_EQ(timers.shut_down(), pending);
  EXPECT_FALSE(t.pending());
}

TEST_F(WithoutMemory, APutOffTimerIsCounted) {
  const service_counters counters = timers.counters();
  EXPECT_EQ(counters.started, counters.stopped + counters.fired + counters.pending);
  t = timer();
  EXPECT_EQ(timers.counters().pending, counters.pending - 1);
}

/// The memory of one pending timer, with a closure of 16 bytes.
TEST(Memory, OfAPendingTimerIsAtMost128Bytes) {
  constexpr std::size_t count = 100'000;
  timer_service timers(of("foliot", 1));
  std::vector<timer> many;
  many.reserve(count);
  const std::size_t before = live_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    many.emplace_back(timers, 1ms * (3'600'000 + i * 36),
                      [a = &timers, b = i] { static_cast<void>(a == nullptr || b == 0); });
  }
  constexpr std::size_t allocators_own = 8;  // that malloc uses for each block
  EXPECT_LE((live_bytes() - before) / count + allocators_own + sizeof(timer), 128u);
}

/// The memory of a shard, apart from its thread's stack: the figures of docs/promises/cost.md, in whole KiB.
TEST(Memory, OfAShardIs44KiBAndAtMost50WithItsFirstTimer) {
  constexpr std::size_t shards = 8;
  std::vector<timer> one_of_each;
  one_of_each.reserve(shards);
  const std::size_t before = live_bytes();
  timer_service timers(of("foliot", shards));
  const auto whole_kib = [&] { return ((live_bytes() - before) / shards + 1023) / 1024; };
  EXPECT_EQ(whole_kib(), 44u);
  for (std::size_t i = 0; i < shards; ++i) {
    std::thread([&] { one_of_each.emplace_back(timers, 1h, [] {}); }).join();  // each thread has the next shard
  }
  EXPECT_LE(whole_kib(), 50u);  // less while a thread has not begun
}

}  // namespace
}  // namespace foliot::test
