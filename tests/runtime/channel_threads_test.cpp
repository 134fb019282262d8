// Channels between tasks on several processors and foreign threads: no value is lost or received twice, and the values
// of one sender arrive in order. How often two sides meet at the same moment depends on the machine; the assertions do
// not.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/task_semaphore.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

struct item {
  std::size_t sender;
  int number;
};

/// The values received: each sender's numbers are complete, and those that one receiver got are in order.
class record {
 public:
  explicit record(std::size_t senders, int numbers)
      : seen_(senders, std::vector<int>(static_cast<std::size_t>(numbers))), last_(senders, -1) {}

  void add(const item& got) {
    EXPECT_GT(got.number, last_[got.sender]);
    last_[got.sender] = got.number;
    ++seen_[got.sender][static_cast<std::size_t>(got.number)];
  }
  void merge(const record& other) {
    for (std::size_t s = 0; s < seen_.size(); ++s) {
      for (std::size_t n = 0; n < seen_[s].size(); ++n) seen_[s][n] += other.seen_[s][n];
    }
  }
  void expect_each_once() const {
    for (const auto& numbers : seen_) {
      for (const int times : numbers) EXPECT_EQ(times, 1);
    }
  }

 private:
  std::vector<std::vector<int>> seen_;
  std::vector<int> last_;
};

constexpr std::size_t senders = 4;
constexpr int numbers = 2000;

task<> send_all(send_end<item> to, std::size_t me, wait_group::member) {
  for (int i = 0; i < numbers; ++i) co_await to.send(item(me, i));
}
task<record> receive_all(receive_end<item> from) {
  record mine(senders, numbers);
  while (auto got = co_await from.receive()) mine.add(*got);
  co_return mine;
}

TEST(ChannelThreads, LoseNothingAndGiveNothingTwice) {
  for (const std::size_t capacity : {0U, 1U, 16U}) {
    test::on_real_processors([capacity]() -> task<> {
      channel<item> c(capacity);
      wait_group sending;
      std::vector<join_handle<record>> receivers;
      for (int i = 0; i < 3; ++i) receivers.push_back(spawn(receive_all(c)));
      for (std::size_t i = 0; i < senders; ++i) spawn(send_all(c, i, sending.enter()));
      co_await sending.wait();
      c.close();
      record all(senders, numbers);
      for (auto& each : receivers) {
        const record one = co_await each.join();
        all.merge(one);
      }
      all.expect_each_once();
    });
  }
}

// Every wait is a select of a send and of receives, on channels that all tasks use: two selects that meet may lose each
// other to a third one, and begin again.

task<> send_in_selects(channel<item> a, channel<item> b, receive_end<item> never, std::size_t me, wait_group::member) {
  for (int i = 0; i < numbers; ++i) {
    auto chosen = co_await select(a.send(item(me, i)), never.receive(), b.send(item(me, i)));
    EXPECT_NE(chosen.index(), 1U);
  }
}
task<record> receive_in_selects(channel<item> a, channel<item> b, receive_end<item> stop) {
  record mine(senders, numbers);
  for (;;) {
    auto chosen = co_await select(b.receive(), stop.receive(), a.receive());
    if (chosen.index() == 1) co_return mine;
    const auto got = chosen.index() == 0 ? chosen.get<0>() : chosen.get<2>();
    mine.add(*got);
  }
}

TEST(ChannelThreads, SelectsThatMeetDoItOnce) {
  test::on_real_processors([]() -> task<> {
    channel<item> a;
    channel<item> b;
    channel<item> never;
    channel<item> stop;
    wait_group sending;
    std::vector<join_handle<record>> receivers;
    for (int i = 0; i < 3; ++i) receivers.push_back(spawn(receive_in_selects(a, b, stop)));
    for (std::size_t i = 0; i < senders; ++i) spawn(send_in_selects(a, b, never, i, sending.enter()));
    co_await sending.wait();
    stop.close();
    record all(senders, numbers);
    for (auto& each : receivers) {
      const record one = co_await each.join();
      all.merge(one);
    }
    all.expect_each_once();
  });
}

// Two tasks that both offer to send and to receive: in each round one of them sends, and the other one receives.
task<int> trade(channel<int> c, int rounds, int& balance) {
  int sent = 0;
  for (int i = 0; i < rounds; ++i) {
    auto chosen = co_await select(c.send(1), c.receive());
    if (chosen.index() == 0) {
      ++sent;
      ++balance;
    } else {
      --balance;
    }
  }
  co_return sent;
}

TEST(ChannelThreads, TradersTradeWithEachOther) {
  test::everywhere([]() -> task<> {
    channel<int> c;
    int first = 0;
    int second = 0;
    auto other = spawn(trade(c, 1000, first));
    const int mine = co_await trade(c, 1000, second);
    const int others = co_await other.join();
    EXPECT_EQ(mine + others, 1000);
    EXPECT_EQ(first + second, 0);
  });
}

TEST(ChannelThreads, ForeignThreadsFeedTasks) {
  for (const std::size_t capacity : {0U, 8U}) {
    channel<item> c(capacity);
    channel<int> answers(1);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < senders; ++t) {
      threads.emplace_back([c, t] {
        for (int i = 0; i < 500; ++i) {
          while (!c.try_send(item(t, i))) std::this_thread::yield();
        }
      });
    }
    std::thread closer([&threads, c, answers] {
      for (auto& each : threads) each.join();
      c.close();
      while (!answers.try_receive()) std::this_thread::yield();
    });
    run_options options;
    options.processors = 2;
    run(
        [](channel<item> from, channel<int> to) -> task<> {
          record all(senders, 500);
          while (auto got = co_await from.receive()) all.add(*got);
          all.expect_each_once();
          co_await to.send(1);
        }(c, answers),
        options);
    closer.join();
  }
}

TEST(ChannelThreads, ForeignThreadsSendWhileTheRunEnds) {
  const auto value = std::make_shared<int>();
  for (int round = 0; round < 100; ++round) {
    channel<std::shared_ptr<int>> c;
    channel<int> started(8);
    seam::atomic<bool> ended{false};
    std::thread sender([&] {
      while (!ended.load(seam::relaxed)) static_cast<void>(c.try_send(value));
    });
    run_options options;
    options.processors = 2;
    run(
        [](channel<std::shared_ptr<int>> from, channel<int> ready) -> task<> {
          const auto takes = [](channel<std::shared_ptr<int>> own, channel<int> begun) -> task<> {
            co_await begun.send(1);
            for (;;) static_cast<void>(co_await own.receive());
          };
          for (int i = 0; i < 4; ++i) spawn(takes(from, ready));
          for (int i = 0; i < 4; ++i) static_cast<void>(co_await ready.receive());
        }(c, started),
        options);
    ended.store(true, seam::relaxed);
    sender.join();
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(ChannelThreads, TasksThatAreStoppedLoseNothing) {
  test::on_real_processors([]() -> task<> {
    channel<int> c;
    seam::atomic<int> taken{0};
    seam::atomic<int> sent{0};
    const auto takes = [](channel<int> from, seam::atomic<int>& count) -> task<> {
      for (;;) {
        auto got = co_await from.receive();
        if (!got) co_return;
        count.fetch_add(1, seam::relaxed);
      }
    };
    const auto sends = [](channel<int> to, seam::atomic<int>& count) -> task<> {
      for (;;) {
        co_await to.send(1);
        count.fetch_add(1, seam::relaxed);
        co_await yield();
      }
    };
    for (int round = 0; round < 50; ++round) {
      auto taker = spawn(takes(c, taken));
      auto sender = spawn(sends(c, sent));
      auto another = spawn(sends(c, sent));
      for (int i = 0; i < 20; ++i) co_await yield();
      taker.request_stop();
      sender.request_stop();
      another.request_stop();
      for (auto* each : {&taker, &sender, &another}) {
        try {
          co_await each->join();
          ADD_FAILURE() << "the task was not cancelled";
        } catch (const cancelled&) {
        }
      }
    }
    EXPECT_EQ(sent.load(seam::relaxed), taken.load(seam::relaxed));
  });
}

TEST(ChannelThreads, AMutexGuardsWhatTasksOnSeveralProcessorsShare) {
  test::on_real_processors([]() -> task<> {
    task_mutex guard;
    long sum = 0;
    const auto adds = [](task_mutex& mutex, long& total) -> task<> {
      for (int i = 0; i < 2000; ++i) {
        auto held = co_await mutex.lock();
        ++total;
      }
    };
    std::vector<join_handle<>> all;
    for (int i = 0; i < 4; ++i) all.push_back(spawn(adds(guard, sum)));
    for (auto& each : all) co_await each.join();
    EXPECT_EQ(sum, 8000);
  });
}

TEST(ChannelThreads, WhatIsWaitedForMayGoAtOnce) {
  test::on_real_processors([]() -> task<> {
    const auto done = [](wait_group& group) -> task<> {
      group.done();
      co_return;
    };
    const auto released = [](task_semaphore& slots) -> task<> {
      slots.release();
      co_return;
    };
    const auto sent = [](channel<int>& to) -> task<> { co_await to.send(1); };
    for (int i = 0; i < 500; ++i) {
      auto group = std::make_unique<wait_group>();
      group->add();
      auto first = spawn(done(*group));
      co_await group->wait();
      group.reset();
      auto slots = std::make_unique<task_semaphore>(0);
      auto second = spawn(released(*slots));
      co_await slots->acquire();
      slots.reset();
      auto values = std::make_unique<channel<int>>();
      auto third = spawn(sent(*values));
      const auto got = co_await values->receive();
      EXPECT_EQ(got, 1);
      values.reset();
      co_await first.join();
      co_await second.join();
      co_await third.join();
    }
  });
}

}  // namespace
}  // namespace foliot::runtime
