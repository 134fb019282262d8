// Mutex, condition, wait group and semaphore for tasks.
#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_condition.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/task_semaphore.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;

task<> join_stopped(join_handle<>& handle, bool& stopped) {
  handle.request_stop();
  try {
    co_await handle.join();
  } catch (const cancelled&) {
    stopped = true;
  }
}

TEST(TaskMutex, OneAtATimeHasIt) {
  everywhere([]() -> task<> {
    task_mutex guard;
    int inside = 0;
    int sum = 0;
    auto adds = [](task_mutex& mutex, int& in, int& total) -> task<> {
      for (int i = 0; i < 100; ++i) {
        auto held = co_await mutex.lock();
        EXPECT_EQ(++in, 1);
        const int before = total;
        if (i % 10 == 0) co_await yield();
        total = before + 1;
        --in;
      }
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 5; ++i) all.push_back(spawn(adds(guard, inside, sum)));
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(sum, 500);
    EXPECT_TRUE(guard.try_lock());
  });
}

TEST(TaskMutex, IsHandedToWhoWaitsLongest) {
  test::in_virtual_worlds([]() -> task<> {
    task_mutex guard;
    std::vector<int> order;
    auto take = [](task_mutex& mutex, int me, std::vector<int>& got) -> task<> {
      auto held = co_await mutex.lock();
      got.push_back(me);
      co_await sleep(10ms);
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 5; ++i) {
      all.push_back(spawn(take(guard, i, order)));
      co_await sleep(1ms);
      EXPECT_FALSE(guard.try_lock());
    }
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  });
}

TEST(TaskMutex, WhoIsStoppedDoesNotGetIt) {
  everywhere([]() -> task<> {
    task_mutex guard;
    auto held = guard.try_lock();
    EXPECT_TRUE(held);
    EXPECT_TRUE(held.holds(guard));
    auto takes = [](task_mutex& mutex) -> task<> { auto mine = co_await mutex.lock(); };
    auto waiting = spawn(takes(guard));
    co_await sleep(1ms);
    bool stopped = false;
    co_await join_stopped(waiting, stopped);
    EXPECT_TRUE(stopped);
    held.unlock();
    EXPECT_FALSE(held);
    EXPECT_TRUE(guard.try_lock());
  });
}

TEST(TaskMutex, IsACaseOfASelect) {
  everywhere([]() -> task<> {
    task_mutex guard;
    channel<int> c(1);
    {
      auto chosen = co_await select(guard.lock(), c.receive());
      EXPECT_EQ(chosen.index(), 0U);
      auto held = chosen.get<0>();
      EXPECT_TRUE(held);
      EXPECT_TRUE(c.try_send(1));
      auto other = co_await select(guard.lock(), c.receive());
      EXPECT_EQ(other.index(), 1U);
      auto none = co_await select(guard.lock(), otherwise());
      EXPECT_EQ(none.index(), 1U);
    }
    EXPECT_TRUE(guard.try_lock());
  });
}

struct box {
  task_mutex guard;
  task_condition changed{guard};
  std::deque<int> values;
  int taken = 0;
};

TEST(TaskCondition, WakesWhoWaitsForWhatHasChanged) {
  everywhere([]() -> task<> {
    box shared;
    auto consume = [](box& from) -> task<> {
      for (int i = 0; i < 50; ++i) {
        auto held = co_await from.guard.lock();
        while (from.values.empty()) co_await from.changed.wait(held);
        EXPECT_TRUE(held.holds(from.guard));
        from.values.pop_front();
        ++from.taken;
      }
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 4; ++i) all.push_back(spawn(consume(shared)));
    for (int i = 0; i < 200; ++i) {
      auto held = co_await shared.guard.lock();
      shared.values.push_back(i);
      if (i % 2 == 0) held.unlock();
      shared.changed.notify_one();
    }
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(shared.taken, 200);
  });
}

TEST(TaskCondition, NotifiesInOrderOneOrAll) {
  test::in_virtual_worlds([]() -> task<> {
    box shared;
    std::vector<int> order;
    auto waits = [](box& in, int me, std::vector<int>& woken) -> task<> {
      auto held = co_await in.guard.lock();
      co_await in.changed.wait(held);
      woken.push_back(me);
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 5; ++i) {
      all.push_back(spawn(waits(shared, i, order)));
      co_await sleep(1ms);
    }
    shared.changed.notify_one();
    co_await sleep(1ms);
    EXPECT_EQ(order, std::vector<int>{0});
    {
      auto held = co_await shared.guard.lock();
      shared.changed.notify_all();
      co_await sleep(1ms);
      EXPECT_EQ(order.size(), 1U);  // they wait for the mutex
    }
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
    shared.changed.notify_all();
    EXPECT_TRUE(shared.guard.try_lock());
  });
}

TEST(TaskCondition, WhoIsStoppedHasTheMutexAgainAndPassesItsNotificationOn) {
  test::in_virtual_worlds([]() -> task<> {
    box shared;
    std::string told;
    auto waits = [](box& in, std::string& tell, char me) -> task<> {
      auto held = co_await in.guard.lock();
      try {
        co_await in.changed.wait(held);
        tell += me;
      } catch (const cancelled&) {
        tell += held.holds(in.guard) ? '!' : '?';
        throw;
      }
    };
    auto first = spawn(waits(shared, told, 'a'));
    co_await sleep(1ms);
    auto second = spawn(waits(shared, told, 'b'));
    co_await sleep(1ms);
    {
      auto held = co_await shared.guard.lock();
      shared.changed.notify_one();  // the first, which cannot go on yet, and then is stopped
      first.request_stop();
      co_await sleep(1ms);
      EXPECT_FALSE(first.done());  // it must get the mutex first
    }
    co_await second.join();
    bool stopped = false;
    co_await join_stopped(first, stopped);
    EXPECT_TRUE(stopped);
    EXPECT_EQ(told, "!b");
    EXPECT_TRUE(shared.guard.try_lock());
  });
}

TEST(TaskCondition, ADeadlockNamesTheLineOfItsWait) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  int line = 0;
  try {
    run(
        [](int& where) -> task<> {
          box shared;
          auto held = co_await shared.guard.lock();
          where = __LINE__ + 1;
          co_await shared.changed.wait(held);
        }(line),
        options);
    ADD_FAILURE() << "the run did not throw deadlock";
  } catch (const deadlock& found) {
    const std::string expected = "\n  main waits for a condition at task_sync_test.cpp:" + std::to_string(line);
    EXPECT_NE(std::string(found.what()).find(expected), std::string::npos) << found.what();
  }
}

TEST(WaitGroup, WaitsUntilAllAreDone) {
  everywhere([]() -> task<> {
    wait_group group;
    co_await group.wait();
    seam::atomic<int> finished{0};
    auto works = [](wait_group::member, seam::atomic<int>& count) -> task<> {
      co_await sleep(1ms);
      count.fetch_add(1, seam::relaxed);
    };
    for (int round = 1; round <= 2; ++round) {
      std::vector<join_handle<>> all;
      for (int i = 0; i < 10; ++i) all.push_back(spawn(works(group.enter(), finished)));
      co_await group.wait();
      EXPECT_EQ(finished.load(seam::relaxed), 10 * round);
      for (auto& each : all) co_await each.join();
    }
    group.add(2);
    group.done();
    EXPECT_EQ(group.count(), 1U);
    auto none = co_await select(group.wait(), otherwise());
    EXPECT_EQ(none.index(), 1U);
    group.done();
    auto now_it_is = co_await select(group.wait(), otherwise());
    EXPECT_EQ(now_it_is.index(), 0U);
  });
}

TEST(WaitGroup, ATaskThatFailsIsDoneToo) {
  everywhere([]() -> task<> {
    wait_group group;
    auto fails = [](wait_group::member) -> task<> {
      co_await yield();
      throw cancelled();
    };
    auto failing = spawn(fails(group.enter()));
    co_await group.wait();
    bool thrown = false;
    try {
      co_await failing.join();
    } catch (const cancelled&) {
      thrown = true;
    }
    EXPECT_TRUE(thrown);
  });
}

TEST(WaitGroup, WhoIsStoppedWaitsNoMore) {
  everywhere([]() -> task<> {
    wait_group group;
    group.add();
    auto waits = [](wait_group& what) -> task<> { co_await what.wait(); };
    auto waiting = spawn(waits(group));
    co_await sleep(1ms);
    bool stopped = false;
    co_await join_stopped(waiting, stopped);
    EXPECT_TRUE(stopped);
    group.done();
  });
}

#if FOLIOT_ASSERTIONS
TEST(WaitGroupDeathTest, MoreDoneThanAddedIsAMistake) {
  EXPECT_DEATH(
      {
        wait_group group;
        group.done();
      },
      "done\\(\\) must not be called more often than was added");
}
#endif

TEST(TaskSemaphore, LetsSoManyInAndNoMore) {
  everywhere([]() -> task<> {
    task_semaphore slots(3);
    seam::atomic<int> inside{0};
    seam::atomic<int> most{0};
    auto works = [](task_semaphore& slot, seam::atomic<int>& in, seam::atomic<int>& top) -> task<> {
      for (int i = 0; i < 20; ++i) {
        co_await slot.acquire();
        const int now_in = in.fetch_add(1, seam::relaxed) + 1;
        if (now_in > top.load(seam::relaxed)) top.store(now_in, seam::relaxed);
        EXPECT_LE(now_in, 3);
        co_await yield();
        in.fetch_sub(1, seam::relaxed);
        slot.release();
      }
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 8; ++i) all.push_back(spawn(works(slots, inside, most)));
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(slots.available(), 3U);
    EXPECT_GE(most.load(seam::relaxed), 1);
    EXPECT_TRUE(slots.try_acquire());
    slots.release(2);
    EXPECT_EQ(slots.available(), 4U);
  });
}

TEST(TaskSemaphore, WhoIsStoppedHasAcquiredNothing) {
  everywhere([]() -> task<> {
    task_semaphore slots(0);
    EXPECT_FALSE(slots.try_acquire());
    auto takes = [](task_semaphore& slot) -> task<> { co_await slot.acquire(); };
    auto waiting = spawn(takes(slots));
    co_await sleep(1ms);
    bool stopped = false;
    co_await join_stopped(waiting, stopped);
    EXPECT_TRUE(stopped);
    slots.release();
    EXPECT_EQ(slots.available(), 1U);
    co_await slots.acquire();
  });
}

TEST(TaskSemaphore, APermitReleasesWhateverHappens) {
  everywhere([]() -> task<> {
    task_semaphore slots(1);
    const auto holds = [&slots](bool fails) -> task<> {
      co_await slots.acquire();
      const task_permit held(slots);
      if (fails) throw std::runtime_error("no");
      co_await sleep(duration::forever());
    };
    auto failing = spawn(holds(true));
    EXPECT_THROW(co_await failing.join(), std::runtime_error);
    auto waiting = spawn(holds(false));
    while (slots.available() != 0) co_await yield();
    waiting.request_stop();
    EXPECT_THROW(co_await waiting.join(), join_cancelled);
    EXPECT_EQ(slots.available(), 1u);
    {
      co_await slots.acquire();
      task_permit first(slots);
      task_permit second(std::move(first));  // which has nothing then
      EXPECT_EQ(slots.available(), 0u);
      slots.release();
      EXPECT_TRUE(slots.try_acquire());
      task_permit third(slots);
      slots.release();
      second = std::move(third);
      EXPECT_EQ(slots.available(), 2u) << "what it had";
    }
    EXPECT_EQ(slots.available(), 3u);
  });
}

TEST(TaskSync, TasksThatWaitAtTheEndOfTheRunAreDestroyed) {
  const auto value = std::make_shared<int>();
  test::in_virtual_worlds([&value]() -> task<> {
    // The objects are destroyed before the tasks that wait for them.
    box shared;
    wait_group group;
    task_semaphore slots(0);
    auto locks = [](box& in, std::shared_ptr<int>) -> task<> { auto held = co_await in.guard.lock(); };
    auto waits = [](box& in, std::shared_ptr<int>) -> task<> {
      auto held = co_await in.guard.lock();
      co_await in.changed.wait(held);
    };
    auto joins = [](wait_group& what, std::shared_ptr<int>) -> task<> { co_await what.wait(); };
    auto acquires = [](task_semaphore& what, std::shared_ptr<int>) -> task<> { co_await what.acquire(); };
    group.add();
    spawn(waits(shared, value));
    co_await sleep(1ms);
    auto held = co_await shared.guard.lock();
    spawn(locks(shared, value));
    spawn(joins(group, value));
    spawn(acquires(slots, value));
    co_await sleep(1ms);
    held = task_lock();
    held = co_await shared.guard.lock();
    co_await sleep(1ms);
  });
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace foliot::runtime
