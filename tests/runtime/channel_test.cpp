#include <foliot/runtime/channel.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;

static_assert(!std::is_default_constructible_v<send_end<int>>);
static_assert(std::is_nothrow_copy_constructible_v<channel<std::unique_ptr<int>>>);

task<> send_all(send_end<int> to, int from, int until) {
  for (int i = from; i < until; ++i) co_await to.send(i);
}
task<> send_and_close(send_end<int> to, int count) {
  co_await send_all(to, 0, count);
  to.close();
}

TEST(Channel, GivesWhatWasSentInOrderUntilItIsClosed) {
  for (const std::size_t capacity : {0U, 1U, 3U, 100U}) {
    everywhere([capacity]() -> task<> {
      channel<int> numbers(capacity);
      EXPECT_EQ(numbers.capacity(), capacity);
      spawn(send_and_close(numbers, 50));
      int expected = 0;
      while (auto n = co_await numbers.receive()) EXPECT_EQ(*n, expected++);
      EXPECT_EQ(expected, 50);
      EXPECT_TRUE(numbers.drained());
      const auto more = co_await numbers.receive();
      EXPECT_FALSE(more.has_value());
    });
  }
}

TEST(Channel, UnbufferedSendsWaitUntilTheValueIsTaken) {
  test::in_virtual_worlds([]() -> task<> {
    channel<int> c;
    auto sender = spawn(send_all(c, 0, 1));
    co_await sleep(1s);
    EXPECT_FALSE(sender.done());
    EXPECT_EQ(c.size(), 0U);
    const auto got = c.try_receive();
    EXPECT_EQ(got, 0);
    co_await sleep(1s);
    EXPECT_TRUE(sender.done());
  });
}

TEST(Channel, ABufferTakesAsManyAsItHasRoomFor) {
  test::in_virtual_worlds([]() -> task<> {
    channel<int> c(2);
    auto sender = spawn(send_all(c, 0, 3));
    co_await sleep(1s);
    auto another = spawn(send_all(c, 3, 4));
    co_await sleep(1s);
    EXPECT_FALSE(sender.done());
    EXPECT_EQ(c.size(), 2U);
    EXPECT_FALSE(c.try_send(9));
    EXPECT_EQ(c.try_receive(), 0);
    EXPECT_EQ(c.size(), 2U);  // a waiting sender has filled the room at once
    EXPECT_EQ(c.try_receive(), 1);
    EXPECT_EQ(c.try_receive(), 2);
    EXPECT_TRUE(c.try_send(4));
    EXPECT_EQ(c.try_receive(), 3);
    EXPECT_EQ(c.try_receive(), 4);
    EXPECT_EQ(c.try_receive(), std::nullopt);
    co_await sender.join();
    co_await another.join();
  });
}

TEST(Channel, WhoWaitsIsServedInOrder) {
  test::in_virtual_worlds([]() -> task<> {
    channel<int> values;
    std::vector<int> order;
    auto receive_one = [](receive_end<int> from, int me, std::vector<int>& got) -> task<> {
      const auto value = co_await from.receive();
      EXPECT_EQ(value, me);
      got.push_back(me);
    };
    for (int i = 0; i < 5; ++i) {
      spawn(receive_one(values, i, order));
      co_await sleep(1ms);
    }
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(values.try_send(i));
    EXPECT_FALSE(values.try_send(5));
    co_await sleep(1ms);
    EXPECT_EQ(order.size(), 5U);
    for (int i = 0; i < 5; ++i) {
      spawn(send_all(values, i, i + 1));
      co_await sleep(1ms);
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(values.try_receive(), i);
  });
}

template <class Body>
bool is_refused(Body body) {
  try {
    body();
  } catch (const channel_closed&) {
    return true;
  }
  return false;
}

TEST(Channel, ClosedItTakesNothingAndGivesWhatItHas) {
  everywhere([]() -> task<> {
    channel<int> c(2);
    EXPECT_FALSE(c.closed());
    EXPECT_TRUE(c.try_send(1));
    c.close();
    EXPECT_TRUE(c.closed());
    EXPECT_FALSE(c.drained());
    EXPECT_TRUE(is_refused([&] { c.close(); }));
    EXPECT_TRUE(is_refused([&] { static_cast<void>(c.try_send(2)); }));
    bool refused = false;
    try {
      co_await c.send(2);
    } catch (const channel_closed& error) {
      refused = true;
      EXPECT_STREQ(error.what(), "foliot: send on a closed channel: send all values before close()");
    }
    EXPECT_TRUE(refused);
    const auto one = co_await c.receive();
    EXPECT_EQ(one, 1);
    EXPECT_TRUE(c.drained());
    EXPECT_EQ(c.try_receive(), std::nullopt);
    const auto none = co_await c.receive();
    EXPECT_EQ(none, std::nullopt);
  });
}

TEST(Channel, CloseEndsTheWaitsOfAll) {
  test::in_virtual_worlds([]() -> task<> {
    channel<int> idle;
    channel<int> full(1);
    EXPECT_TRUE(full.try_send(0));
    int ended = 0;
    auto receiver = [](receive_end<int> from, int& count) -> task<> {
      const auto got = co_await from.receive();
      EXPECT_EQ(got, std::nullopt);
      ++count;
    };
    auto sender = [](send_end<int> to, int& count) -> task<> {
      try {
        co_await to.send(1);
      } catch (const channel_closed&) {
        ++count;
      }
    };
    for (int i = 0; i < 3; ++i) spawn(receiver(idle, ended));
    for (int i = 0; i < 3; ++i) spawn(sender(full, ended));
    co_await sleep(1s);
    EXPECT_EQ(ended, 0);
    idle.close();
    full.close();
    co_await sleep(1s);
    EXPECT_EQ(ended, 6);
    EXPECT_EQ(full.try_receive(), 0);  // the value in the channel, and none of the waiting senders
    EXPECT_TRUE(full.drained());
  });
}

TEST(Channel, WhoIsStoppedHasNeitherSentNorTaken) {
  everywhere([]() -> task<> {
    channel<int> empty;
    channel<int> full(1);
    EXPECT_TRUE(full.try_send(0));
    auto receives = [](receive_end<int> from) -> task<> { static_cast<void>(co_await from.receive()); };
    auto receiver = spawn(receives(empty));
    auto sender = spawn(send_all(full, 1, 2));
    co_await sleep(1ms);
    receiver.request_stop();
    sender.request_stop();
    int stopped = 0;
    try {
      co_await receiver.join();
    } catch (const cancelled&) {
      ++stopped;
    }
    try {
      co_await sender.join();
    } catch (const cancelled&) {
      ++stopped;
    }
    EXPECT_EQ(stopped, 2);
    EXPECT_FALSE(empty.try_send(5));
    EXPECT_EQ(full.try_receive(), 0);
    EXPECT_EQ(full.try_receive(), std::nullopt);
  });
}

TEST(Channel, CarriesWhatOnlyMoves) {
  everywhere([]() -> task<> {
    channel<std::unique_ptr<int>> c;
    auto send_one = [](send_end<std::unique_ptr<int>> to) -> task<> {
      auto value = std::make_unique<int>(7);
      co_await to.send(std::move(value));
    };
    auto sender = spawn(send_one(c));
    auto got = co_await c.receive();
    EXPECT_EQ(**got, 7);
    co_await sender.join();
    auto kept = std::make_unique<int>(8);
    EXPECT_FALSE(c.try_send(std::move(kept)));
    EXPECT_NE(kept, nullptr);  // NOLINT(bugprone-use-after-move): that is the promise
  });
}

/// Throws in its n-th move from now on.
struct fragile {
  explicit fragile(int v) : value(v) {}
  fragile(fragile&& other) : value(other.value) { count(); }
  fragile& operator=(fragile&& other) {
    value = other.value;
    count();
    return *this;
  }
  static void count() {
    if (moves_left > 0 && --moves_left == 0) throw std::runtime_error("dropped");
  }
  int value;
  static inline int moves_left = 0;
};

TEST(Channel, AMoveThatThrowsHarmsNobodyElse) {
  test::in_virtual_worlds([]() -> task<> {
    channel<fragile> c(2);
    fragile::moves_left = 1;
    EXPECT_THROW(static_cast<void>(c.try_send(fragile(1))), std::runtime_error);
    EXPECT_EQ(c.size(), 0U);
    EXPECT_TRUE(c.try_send(fragile(2)));
    EXPECT_TRUE(c.try_send(fragile(3)));
    fragile spare(4);
    EXPECT_FALSE(c.try_send(std::move(spare)));
    EXPECT_EQ(spare.value, 4);  // NOLINT(bugprone-use-after-move): that is the promise
    fragile::moves_left = 1;
    EXPECT_THROW(static_cast<void>(c.try_receive()), std::runtime_error);
    fragile::moves_left = 0;
    const auto left = c.try_receive();
    EXPECT_EQ(left->value, 3);
    // Between the tasks no move happens that could throw.
    auto sends = [](send_end<fragile> to) -> task<> {
      fragile one(5);
      co_await to.send(std::move(one));
    };
    auto receives = [](receive_end<fragile> from) -> task<> {
      const auto got = co_await from.receive();
      EXPECT_EQ(got->value, 5);
    };
    auto receiver = spawn(receives(c));
    co_await sleep(1ms);
    co_await sends(c);
    co_await receiver.join();
  });
}

TEST(Channel, ValuesThatNobodyTookAreDestroyedWithIt) {
  const auto value = std::make_shared<int>();
  everywhere([&]() -> task<> {
    channel<std::shared_ptr<int>> c(3);
    EXPECT_TRUE(c.try_send(value));
    EXPECT_TRUE(c.try_send(value));
    co_return;
  });
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Channel, TasksThatWaitAtTheEndOfTheRunAreDestroyed) {
  const auto value = std::make_shared<int>();
  test::in_virtual_worlds([&value]() -> task<> {
    // By reference: the channel is destroyed before the waiting tasks are.
    channel<std::shared_ptr<int>> c;
    channel<std::shared_ptr<int>> other;
    auto sender = [](channel<std::shared_ptr<int>>& to, std::shared_ptr<int> what) -> task<> {
      co_await to.send(what);
    };
    auto receiver = [](channel<std::shared_ptr<int>>& from, std::shared_ptr<int> keep) -> task<> {
      static_cast<void>(co_await from.receive());
      static_cast<void>(keep);
    };
    for (int i = 0; i < 3; ++i) {
      spawn(sender(c, value));
      spawn(receiver(other, value));
    }
    co_await sleep(1ms);
  });
  EXPECT_EQ(value.use_count(), 1);
}

/// An aggregate, which g++ 12 destroys twice where it is made with braces in a co_await.
struct job {
  int id;
  std::string text;
  std::shared_ptr<int> shared;
};

TEST(Channel, EmplaceMakesTheValueInTheSend) {
  everywhere([]() -> task<> {
    const auto counted = std::make_shared<int>(0);
    {
      channel<job> jobs(1);
      send_end<job> to = jobs;
      co_await jobs.emplace(1, "a text that is too long for the object itself", counted);
      auto waits = spawn([](send_end<job> into, std::shared_ptr<int> what) -> task<> {
        co_await into.emplace(2, "another text that is too long for it", std::move(what));
      }(to, counted));
      const auto first = co_await jobs.receive();
      EXPECT_EQ(first->id, 1);
      EXPECT_EQ(first->text, "a text that is too long for the object itself");
      const auto second = co_await jobs.receive();
      EXPECT_EQ(second->id, 2);
      EXPECT_EQ(second->text, "another text that is too long for it");
      EXPECT_EQ(counted.use_count(), 3);
      co_await waits.join();
      co_await to.emplace(3, "nobody takes it", counted);
    }
    EXPECT_EQ(counted.use_count(), 1);
  });
}

TEST(Channel, AStructWithANameIsCopiedOrMoved) {
  everywhere([]() -> task<> {
    const auto counted = std::make_shared<int>(0);
    {
      channel<job> jobs(2);
      const send_end<job> to = jobs;
      job named{1, "a text that is too long for the object itself", counted};
      co_await jobs.send(named);
      EXPECT_EQ(named.text, "a text that is too long for the object itself");
      co_await to.emplace(std::move(named));
      EXPECT_EQ(counted.use_count(), 3);
      for (int i = 0; i < 2; ++i) {
        const auto got = co_await jobs.receive();
        EXPECT_EQ(got->text, "a text that is too long for the object itself");
        EXPECT_EQ(got->shared, counted);
      }
      EXPECT_EQ(counted.use_count(), 1);
    }
    EXPECT_EQ(counted.use_count(), 1);
  });
}

TEST(Channel, EmplaceOfNothingAndOfWhatDoesNotMoveWell) {
  everywhere([]() -> task<> {
    channel<int> numbers(1);
    co_await numbers.emplace();
    EXPECT_EQ(numbers.try_receive(), 0);
    // Its moves may throw, so it has a place of its own.
    struct clumsy {
      explicit clumsy(int from) : value(from) {
        if (from < 0) throw std::runtime_error("negative");
      }
      clumsy(clumsy&& other) noexcept(false) : value(other.value) {}
      int value;
    };
    channel<clumsy> clumsy_ones(1);
    co_await clumsy_ones.emplace(7);
    EXPECT_EQ(clumsy_ones.try_receive()->value, 7);
    bool threw = false;
    try {
      co_await clumsy_ones.emplace(-1);
    } catch (const std::runtime_error&) {
      threw = true;
    }
    EXPECT_TRUE(threw);
    EXPECT_EQ(clumsy_ones.size(), 0U);
  });
}

TEST(Channel, HandlesAreTheSameChannel) {
  channel<int> c(1);
  const channel<int> same = c;
  const send_end<int> in = c;
  const receive_end<int> out = same;
  EXPECT_TRUE(in.try_send(3));
  EXPECT_EQ(out.try_receive(), 3);
  EXPECT_TRUE(c == same);
  EXPECT_FALSE(c == channel<int>());
  const channel<int> moved = std::move(c);
  EXPECT_FALSE(c);  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_TRUE(moved);
}

TEST(Channel, ADeadlockNamesTheLinesThatWait) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  int line = 0;
  try {
    run(
        [](int& where) -> task<> {
          channel<int> c;
          where = __LINE__ + 1;
          static_cast<void>(co_await c.receive());
        }(line),
        options);
    ADD_FAILURE() << "the run did not throw deadlock";
  } catch (const deadlock& found) {
    const std::string expected = "\n  main waits to receive at channel_test.cpp:" + std::to_string(line);
    EXPECT_NE(std::string(found.what()).find(expected), std::string::npos) << found.what();
  }
}

}  // namespace
}  // namespace foliot::runtime
