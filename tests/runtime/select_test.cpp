#include <foliot/runtime/select.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;

task<> send_after(duration delay, send_end<int> to, int value) {
  co_await sleep(delay);
  co_await to.send(value);
}

TEST(Select, TakesWhatIsReady) {
  everywhere([]() -> task<> {
    channel<int> numbers(1);
    channel<std::string> words(1);
    EXPECT_TRUE(words.try_send("word"));
    auto chosen = co_await select(numbers.receive(), words.receive());
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_EQ(chosen.get<1>(), "word");
    auto next = co_await select(numbers.send(3), words.receive());
    EXPECT_EQ(next.index(), 0U);
    EXPECT_EQ(numbers.try_receive(), 3);
  });
}

TEST(Select, WaitsForTheFirst) {
  everywhere([]() -> task<> {
    channel<int> first;
    channel<int> second;
    auto sender = spawn(send_after(1ms, second, 2));
    auto chosen = co_await select(first.receive(), second.receive());
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_EQ(chosen.get<1>(), 2);
    co_await sender.join();
    EXPECT_FALSE(first.try_send(1));  // no task waits there any more
    EXPECT_FALSE(second.try_send(1));
  });
}

TEST(Select, SendsWhereSomebodyTakesIt) {
  everywhere([]() -> task<> {
    channel<std::unique_ptr<int>> wanted;
    channel<int> unwanted;
    auto takes = [](receive_end<std::unique_ptr<int>> from) -> task<int> {
      co_await sleep(1ms);
      auto got = co_await from.receive();
      co_return **got;
    };
    auto taker = spawn(takes(wanted));
    auto chosen = co_await select(unwanted.send(1), wanted.send(std::make_unique<int>(7)));
    EXPECT_EQ(chosen.index(), 1U);
    const int seven = co_await taker.join();
    EXPECT_EQ(seven, 7);
    EXPECT_EQ(unwanted.try_receive(), std::nullopt);
  });
}

TEST(Select, OtherwiseIsForWhenNothingIsReady) {
  everywhere([]() -> task<> {
    channel<int> c(1);
    auto nothing = co_await select(c.receive(), otherwise());
    EXPECT_EQ(nothing.index(), 1U);
    EXPECT_TRUE(c.try_send(1));
    auto one = co_await select(otherwise(), c.receive());
    EXPECT_EQ(one.index(), 1U);
    EXPECT_EQ(one.get<1>(), 1);
    auto alone = co_await select(otherwise());
    EXPECT_EQ(alone.index(), 0U);
  });
}

TEST(Select, MatchCallsTheHandlerOfTheCase) {
  everywhere([]() -> task<> {
    channel<int> c(1);
    std::string told;
    for (int i = 0; i < 2; ++i) {
      auto chosen = co_await select(c.receive(), c.send(5));
      const int result = chosen.match(
          [&](std::optional<int> n) {
            told += "took " + std::to_string(*n);
            return 1;
          },
          [&] {
            told += "sent, ";
            return 0;
          });
      EXPECT_EQ(result, i);
    }
    EXPECT_EQ(told, "sent, took 5");
  });
}

TEST(Select, CasesMayHaveNamesAndBeUsedAgain) {
  everywhere([]() -> task<> {
    channel<int> c(1);
    auto numbers = c.receive();
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(c.try_send(i));
      auto chosen = co_await select(numbers, otherwise());
      EXPECT_EQ(chosen.get<0>(), i);
      EXPECT_TRUE(c.try_send(i));
      const auto alone = co_await numbers;
      EXPECT_EQ(alone, i);
    }
  });
}

TEST(Select, ACaseWhoseConditionDoesNotHoldTakesNoPart) {
  everywhere([]() -> task<> {
    channel<int> c(1);
    channel<int> other;
    EXPECT_TRUE(c.try_send(1));
    auto sender = spawn(send_after(1ms, other, 2));
    auto chosen = co_await select(when(false, c.receive()), when(true, other.receive()));
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_EQ(chosen.get<1>(), 2);
    EXPECT_EQ(c.size(), 1U);
    co_await sender.join();
  });
}

TEST(Select, DoesNotMeetItself) {
  test::in_virtual_worlds([]() -> task<> {
    channel<int> c;
    auto both = [](channel<int> own) -> task<> {
      auto chosen = co_await select(own.send(1), own.receive());
      chosen.match([] {}, [](std::optional<int> got) { EXPECT_EQ(got, 2); });
    };
    auto one = spawn(both(c));
    co_await sleep(1s);
    EXPECT_FALSE(one.done());
    EXPECT_EQ(c.try_receive(), 1);
    co_await one.join();
    auto another = spawn(both(c));
    co_await sleep(1s);
    EXPECT_TRUE(c.try_send(2));
    co_await another.join();
    EXPECT_EQ(c.try_receive(), std::nullopt);
  });
}

TEST(Select, TwoOfThemMeet) {
  everywhere([]() -> task<> {
    channel<int> c;
    channel<int> d;
    auto sends = [](channel<int> to, channel<int> unused) -> task<> {
      for (int i = 0; i < 200; ++i) {
        auto chosen = co_await select(to.send(i), unused.receive());
        EXPECT_EQ(chosen.index(), 0U);
      }
    };
    auto sender = spawn(sends(c, d));
    for (int i = 0; i < 200; ++i) {
      auto chosen = co_await select(d.receive(), c.receive());
      EXPECT_EQ(chosen.index(), 1U);
      EXPECT_EQ(chosen.get<1>(), i);
    }
    co_await sender.join();
  });
}

TEST(Select, IsFairAmongTheReady) {
  test::in_virtual_worlds([]() -> task<> {
    channel<int> a(1);
    channel<int> b(1);
    channel<int> c(1);
    channel<int> empty;
    std::array<int, 5> times{};
    for (int i = 0; i < 3000; ++i) {
      static_cast<void>(a.try_send(1));
      static_cast<void>(b.try_send(1));
      static_cast<void>(c.try_receive());
      auto chosen = co_await select(a.receive(), empty.receive(), b.receive(), c.send(1), otherwise());
      ++times[chosen.index()];
    }
    EXPECT_EQ(times[1] + times[4], 0);
    // 1000 expected, with a deviation of 26: six of them.
    EXPECT_NEAR(times[0], 1000, 156);
    EXPECT_NEAR(times[2], 1000, 156);
    EXPECT_NEAR(times[3], 1000, 156);
  });
}

TEST(Select, ASendOnAClosedChannelThrowsWhenItIsChosen) {
  everywhere([]() -> task<> {
    channel<int> c;
    channel<int> open;
    auto closes = [](channel<int> what) -> task<> {
      co_await sleep(1ms);
      what.close();
    };
    auto closer = spawn(closes(c));
    for (int i = 0; i < 2; ++i) {  // it waits, and it does not
      bool thrown = false;
      try {
        static_cast<void>(co_await select(open.receive(), c.send(1)));
      } catch (const channel_closed&) {
        thrown = true;
      }
      EXPECT_TRUE(thrown);
    }
    auto chosen = co_await select(open.receive(), c.receive());
    EXPECT_EQ(chosen.index(), 1U);
    EXPECT_EQ(chosen.get<1>(), std::nullopt);
    co_await closer.join();
  });
}

TEST(Select, EndsWithTheTask) {
  everywhere([]() -> task<> {
    channel<int> c;
    channel<int> d;
    auto waits = [](channel<int> from, channel<int> to) -> task<> {
      static_cast<void>(co_await select(from.receive(), to.send(1)));
    };
    auto forever = []() -> task<> { co_await select(); };
    std::vector<join_handle<>> tasks;
    tasks.push_back(spawn(waits(c, d)));
    tasks.push_back(spawn(forever()));
    co_await sleep(1ms);
    for (auto& each : tasks) {
      EXPECT_FALSE(each.done());
      each.request_stop();
      bool stopped = false;
      try {
        co_await each.join();
      } catch (const cancelled&) {
        stopped = true;
      }
      EXPECT_TRUE(stopped);
    }
    EXPECT_FALSE(c.try_send(1));
    EXPECT_EQ(d.try_receive(), std::nullopt);
  });
}

TEST(Select, TasksThatWaitAtTheEndOfTheRunAreDestroyed) {
  const auto value = std::make_shared<int>();
  everywhere([&value]() -> task<> {
    channel<std::shared_ptr<int>> c;
    channel<std::shared_ptr<int>> d;
    auto waits = [](channel<std::shared_ptr<int>> from, channel<std::shared_ptr<int>> to,
                    std::shared_ptr<int> what) -> task<> {
      static_cast<void>(co_await select(from.receive(), to.send(what)));
    };
    for (int i = 0; i < 3; ++i) spawn(waits(c, d, value));
    co_await sleep(1ms);
  });
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Select, WithoutCasesIsADeadlock) {
  virtual_clock clock;
  run_options options;
  options.clock = &clock;
  EXPECT_THROW(run([]() -> task<> { co_await select(); }(), options), deadlock);
}

/// A case whose try_complete() always fails, as if the other side had left between the try and begin().
class untried {
 public:
  explicit untried(receiving<int> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] bool try_complete() const { return false; }
  [[nodiscard]] bool begin(detail::wait_point& wait, detail::wait_word::source by) {
    const bool of_use = inner_.get_operation().begin(wait, by);
    if (!of_use) ++in_vain;
    return of_use;
  }
  void end() noexcept { inner_.get_operation().end(); }
  std::optional<int> result() { return inner_.get_operation().result(); }

  static inline int in_vain = 0;

 private:
  receiving<int> inner_;
};

TEST(Select, BeginsAnewWhenTheOtherSideHasGone) {
  untried::in_vain = 0;
  int worlds = 0;
  test::in_virtual_worlds([&worlds]() -> task<> {
    ++worlds;
    channel<int> c;
    channel<int> other;
    for (const bool alone : {true, false}) {
      auto gone = spawn(send_after(0ms, c, 1));
      co_await sleep(1ms);
      auto comes = spawn(send_after(1ms, c, 2));
      gone.request_stop();  // its wait is over, but it has not run yet, and is still in the queue
      untried receive(c.receive());
      if (alone) {
        detail::operation_awaiter<untried> awaiter(c.receive());
        const auto got = co_await awaiter;
        EXPECT_EQ(got, 2);
      } else {
        auto chosen = co_await select(other.receive(), receive);
        EXPECT_EQ(chosen.index(), 1U);
        EXPECT_EQ(chosen.get<1>(), 2);
      }
      co_await comes.join();
    }
  });
  EXPECT_EQ(untried::in_vain, 2 * worlds);
}

TEST(SelectAny, TakesFromWhicheverHasSomething) {
  everywhere([]() -> task<> {
    std::vector<channel<int>> channels(20);
    std::vector<receiving<int>> receives;
    for (const auto& c : channels) receives.push_back(c.receive());
    std::vector<join_handle<>> senders;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      senders.push_back(spawn(send_after(1ms * static_cast<int>(i), channels[i], static_cast<int>(i))));
    }
    std::vector<bool> seen(channels.size());
    for (std::size_t n = 0; n < channels.size(); ++n) {
      auto got = co_await select_any(receives);
      EXPECT_EQ(got.value, static_cast<int>(got.index));
      EXPECT_FALSE(seen[got.index]);
      seen[got.index] = true;
    }
    for (auto& each : senders) co_await each.join();
    for (const auto& c : channels) EXPECT_FALSE(c.try_send(1));
    // A select_any is a case of a select as well.
    channel<int> more(1);
    EXPECT_TRUE(more.try_send(5));
    auto chosen = co_await select(select_any(receives), more.receive());
    EXPECT_EQ(chosen.get<1>(), 5);
    auto late = spawn(send_after(1ms, channels[7], 8));
    auto next = co_await select(select_any(receives), more.receive());
    auto found = next.get<0>();
    EXPECT_EQ(found.index, 7U);
    EXPECT_EQ(found.value, 8);
    co_await late.join();
  });
}

TEST(SelectAny, OfNoneWaitsAndOfTooManyRefuses) {
  test::in_virtual_worlds([]() -> task<> {
    std::vector<receiving<int>> none;
    channel<int> c;
    auto sender = spawn(send_after(1s, c, 1));
    auto chosen = co_await select(select_any(none), c.receive());
    EXPECT_EQ(chosen.index(), 1U);
    co_await sender.join();
    std::vector<receiving<int>> many;
    for (int i = 0; i < 4095; ++i) many.push_back(c.receive());
    EXPECT_THROW(static_cast<void>(select_any(many)), std::length_error);
  });
}

}  // namespace
}  // namespace foliot::runtime
