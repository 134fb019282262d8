// Tests of bucket-heaps alone: a start moves the timer to the shard of the calling thread.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

service_options buckets(std::size_t count) {
  service_options options = with_engine("bucket-heaps");
  options.shards = count;
  return options;
}

class Buckets : public ::testing::Test {
 protected:
  static constexpr std::size_t count = 4;

  void SetUp() override {
    std::array<std::thread::id, count> shards;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i].run([&] {
        std::latch done(1);
        const timer probe(timers, 0ns, [&] {
          shards[i] = std::this_thread::get_id();
          done.count_down();
        });
        done.wait();
      });
    }
    for (std::size_t i = 0; i < count; ++i) threads[i].shard = shards[i];
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j)
        ASSERT_NE(shards[i], shards[j]) << "threads must get the shards one after the other";
    }
  }

  /// A thread that calls the functions given to it, one after the other.
  class caller {
   public:
    template <class Call>
    void run(Call call) {
      std::latch done(1);
      next_ = [&] {
        call();
        done.count_down();
      };
      there_is_more_.release();
      done.wait();
    }
    ~caller() {
      next_ = nullptr;
      there_is_more_.release();
      thread_.join();
    }
    std::thread::id shard;

   private:
    std::binary_semaphore there_is_more_{0};
    std::function<void()> next_;
    std::thread thread_{[this] {
      for (there_is_more_.acquire(); next_; there_is_more_.acquire()) next_();
    }};
  };

  /// The thread that ran the callback of a timer or ticker: the callback stores it in `ran`, and the test waits for
  /// that.
  std::thread::id where_it_ran() {
    ran.acquire();
    return ran_on;
  }
  auto tells_where() {
    return [this] {
      ran_on = std::this_thread::get_id();
      ran.release();
    };
  }

  std::binary_semaphore ran{0};
  std::thread::id ran_on;
  timer_service timers{buckets(count)};
  std::array<caller, count> threads;
};

TEST_F(Buckets, ATimerFiresWhereItWasLastStarted) {
  timer t;
  threads[0].run([&] { t = timer(timers, tells_where()); });
  for (const std::size_t i : {0U, 2U, 1U, 3U, 0U}) {
    while (t.stop() == stop_result::running)
      std::this_thread::yield();  // the timer does not move while its callback runs
    threads[i].run([&] { EXPECT_EQ(t.reset(0ns), reset_result::idle); });
    EXPECT_EQ(where_it_ran(), threads[i].shard) << i;
  }
}

TEST_F(Buckets, APendingTimerMoves) {
  const service_counters before = timers.counters();
  timer t;
  threads[3].run([&] { t = timer(timers, 1h, tells_where()); });
  threads[1].run([&] { EXPECT_EQ(t.reset(2h), reset_result::superseded); });
  EXPECT_TRUE(t.pending());
  threads[2].run([&] { EXPECT_EQ(t.reset(0ns), reset_result::superseded); });
  EXPECT_EQ(where_it_ran(), threads[2].shard);
  EXPECT_NE(t.stop_and_wait(), stop_result::stopped);
  const service_counters now = timers.counters();
  EXPECT_EQ(now.started - before.started, 1u);
  EXPECT_EQ(now.superseded - before.superseded, 2u);
  EXPECT_EQ(now.fired - before.fired, 1u);
  EXPECT_EQ(now.stopped, before.stopped);
  EXPECT_EQ(now.pending, 0u);
}

TEST_F(Buckets, AStoppedTimerMoves) {
  timer t;
  threads[0].run([&] { t = timer(timers, 1h, tells_where()); });
  threads[1].run([&] { EXPECT_EQ(t.stop(), stop_result::stopped); });
  threads[2].run([&] { EXPECT_EQ(t.reset(1h), reset_result::idle); });
  threads[3].run([&] { EXPECT_EQ(t.stop(), stop_result::stopped); });
  threads[3].run([&] { EXPECT_EQ(t.reset(0ns), reset_result::idle); });
  EXPECT_EQ(where_it_ran(), threads[3].shard);
}

TEST_F(Buckets, ItsOwnCallbackLeavesItWhereItIs) {
  timer t;
  int runs = 0;
  threads[2].run([&] {
    t = timer(timers, [&] {
      if (++runs == 1) {
        t.reset(0ns);
        EXPECT_EQ(std::this_thread::get_id(), threads[2].shard);
      } else {
        tells_where()();
      }
    });
    t.reset(0ns);
  });
  EXPECT_EQ(where_it_ran(), threads[2].shard);
}

/// A reset from the callback of another timer moves the timer to the shard whose thread runs that callback.
TEST_F(Buckets, ACallbackTakesItToItsOwnShard) {
  timer moved;
  timer moves;
  threads[1].run([&] { moved = timer(timers, 1h, tells_where()); });
  threads[3].run([&] { moves = timer(timers, 0ns, [&] { moved.reset(0ns); }); });
  EXPECT_EQ(where_it_ran(), threads[3].shard);
}

/// Callbacks of one timer never overlap: while one runs, the timer stays with the thread that runs it.
TEST_F(Buckets, WhileItsCallbackRunsItStays) {
  std::latch inside(1);
  std::latch go_on(1);
  std::atomic<int> runs = 0;
  std::atomic<bool> running = false;
  timer t;
  threads[0].run([&] {
    t = timer(timers, 0ns, [&] {
      EXPECT_FALSE(running.exchange(true));
      if (++runs == 1) {
        inside.count_down();
        go_on.wait();
      } else {
        tells_where()();
      }
      running = false;
    });
  });
  inside.wait();
  threads[1].run([&] { EXPECT_EQ(t.reset(0ns), reset_result::running); });
  go_on.count_down();
  EXPECT_EQ(where_it_ran(), threads[0].shard);
}

TEST_F(Buckets, ATickerBeatsWhereItWasLastReset) {
  std::atomic<std::thread::id> beats_on;
  ticker beat;
  threads[0].run([&] { beat = ticker(timers, 1ms, [&] { beats_on = std::this_thread::get_id(); }); });
  for (const std::size_t i : {0U, 3U, 1U}) {
    // It does not move while its callback runs, so it is reset once more afterwards.
    do {
      threads[i].run([&] { beat.reset(50us); });
      beats_on = std::thread::id();
      while (beats_on.load() == std::thread::id()) std::this_thread::yield();
    } while (beats_on.load() != threads[i].shard);
    for (int beats = 0; beats < 3; ++beats) {
      beats_on = std::thread::id();
      while (beats_on.load() == std::thread::id()) std::this_thread::yield();
      EXPECT_EQ(beats_on.load(), threads[i].shard) << "a ticker's own ticks must not move it";
    }
  }
}

/// If the new shard has no memory for the timer, the timer stays in the old one, unchanged.
TEST_F(Buckets, WithoutMemoryItStays) {
  std::vector<timer> many;
  threads[0].run([&] {
    for (int i = 0; i < 2000; ++i) many.emplace_back(timers, instant::from_nanoseconds(i) + 1'000'000h, [] {});
  });
  const service_counters before = timers.counters();
  std::size_t refused = 0;
  threads[1].run([&] {
    const failing_allocations fail;
    for (timer& t : many) {
      try {
        EXPECT_EQ(t.reset(2'000'000h), reset_result::superseded);
      } catch (const std::bad_alloc&) {
        EXPECT_TRUE(t.pending());
        ++refused;
      }
    }
  });
  EXPECT_GT(refused, 0u);
  const service_counters now = timers.counters();
  EXPECT_EQ(now.pending, 2000u);
  EXPECT_EQ(now.superseded - before.superseded, 2000 - refused);
  EXPECT_EQ(now.started, before.started);
  for (timer& t : many) EXPECT_EQ(t.stop(), stop_result::stopped);
}

TEST_F(Buckets, AfterAReserveAMoveAllocatesNothing) {
  timers.reserve(100);
  std::vector<timer> many;
  threads[0].run([&] {
    for (int i = 0; i < 100; ++i) many.emplace_back(timers, 1h, [] {});
  });
  for (const std::size_t i : {1U, 2U, 3U}) {
    threads[i].run([&] {
      const allocation_count allocated;
      for (timer& t : many) t.reset(1h);
      EXPECT_EQ(allocated.so_far(), 0u);
    });
  }
}

/// The executor still has the job of one start when the timer moves: the job runs the firing that is due by then.
TEST(BucketsWithAnExecutor, ATimerMovesAwayFromItsJob) {
  std::mutex jobs_lock;
  std::vector<posted_callback> jobs;
  const auto next_job = [&]() -> std::optional<posted_callback> {
    const std::lock_guard held(jobs_lock);
    if (jobs.empty()) return std::nullopt;
    posted_callback job = std::move(jobs.back());
    jobs.pop_back();
    return job;
  };
  const auto wait_for_job = [&] {
    for (;;) {
      if (auto job = next_job()) return std::move(*job);
      std::this_thread::yield();
    }
  };
  service_options options = buckets(4);
  options.executor = [&](posted_callback job) {
    const std::lock_guard held(jobs_lock);
    jobs.push_back(std::move(job));
  };
  timer_service timers(std::move(options));
  std::atomic<int> fired = 0;
  timer t(timers, 0ns, [&] { ++fired; });
  posted_callback first = wait_for_job();
  const auto moves = [&t](duration delay) {
    reset_result answer{};
    std::thread([&] { answer = t.reset(delay); }).join();
    return answer;
  };
  EXPECT_EQ(moves(1h), reset_result::superseded) << "the reset cancels the posted firing";
  first();
  EXPECT_EQ(fired, 0) << "the job has no firing to run";
  EXPECT_EQ(moves(0ns), reset_result::superseded);
  posted_callback second = wait_for_job();
  EXPECT_EQ(moves(2h), reset_result::superseded);
  EXPECT_EQ(moves(0ns), reset_result::superseded);
  second();  // if the timer is not due yet, its firing gets a job of its own
  while (fired == 0) {
    if (auto job = next_job()) (*job)();
  }
  EXPECT_FALSE(t.pending());
  EXPECT_EQ(timers.counters().started, 1u);
  EXPECT_EQ(timers.counters().fired, 1u);
}

/// While the executor is being called, the timer stays, since the shard's thread uses it after that call.
TEST(BucketsWithAnExecutor, WhileItIsBeingPostedItStays) {
  std::atomic<int> calls = 0;
  std::array<std::thread::id, 2> called_by;
  std::latch inside(1);
  std::latch go_on(1);
  std::latch twice(2);
  service_options options = buckets(4);
  options.executor = [&](posted_callback job) {
    const int call = calls++;
    called_by.at(static_cast<std::size_t>(call)) = std::this_thread::get_id();
    job();
    if (call == 0) {
      inside.count_down();
      go_on.wait();
    }
    twice.count_down();
  };
  timer_service timers(std::move(options));
  timer t(timers, 0ns, [] {});
  inside.wait();
  std::thread([&] { EXPECT_EQ(t.reset(0ns), reset_result::idle); }).join();
  go_on.count_down();
  twice.wait();
  EXPECT_EQ(called_by[0], called_by[1]);
}

/// The handle has the last reference to the shards of the service, and its timer is in another shard than the one that
/// made it.
TEST(BucketsLifetime, AMovedTimerOutlivesItsService) {
  auto captured = std::make_shared<int>(0);
  std::optional<timer_service> timers(std::in_place, buckets(4));
  timer t(*timers, 1h, [captured] {});
  std::thread([&] { EXPECT_EQ(t.reset(2h), reset_result::superseded); }).join();
  EXPECT_EQ(timers->shut_down(), 1u);
  EXPECT_EQ(captured.use_count(), 1);
  timers.reset();
  EXPECT_EQ(t.reset(0ns), reset_result::closed);
  EXPECT_EQ(t.stop(), stop_result::idle);
  EXPECT_FALSE(t.pending());
}

/// After moves all memory is freed, as in a service that never moves a timer.
TEST(BucketsLifetime, NothingIsLeftOfServicesWhoseTimersMoved) {
  const auto one_life = [] {
    timer_service timers(buckets(3));
    std::vector<timer> many;
    for (int i = 0; i < 20; ++i) many.emplace_back(timers, 1h, [] {});
    const auto move_all = [&many] {
      for (timer& t : many) t.reset(2h);
    };
    std::thread(move_all).join();
    std::thread(move_all).join();
    many[3].detach();
  };
  one_life();
  const std::size_t before = live_bytes();
  for (int i = 0; i < 5; ++i) one_life();
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace foliot::test
