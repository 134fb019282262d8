// Who gets room in the memory of all connections, who waits for it, and who is closed. On virtual time.
#include "serve/held_memory.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t megabyte = std::size_t{1} << 20;

/// A connection, as its session sees it.
struct connection {
  explicit connection(held_memory& all) : ends(runtime::stream::pair().value()), memory(all, ends.first) {}

  std::pair<runtime::stream, runtime::stream> ends;  // of the server, and of the client
  memory_holder memory;
};

task<room> wait_for(connection& one, std::size_t bytes) {
  const room got = co_await one.memory.wait(bytes);
  co_return got;
}

/// As a session does: it ends when it is closed.
task<room> hold_until_closed(connection& one) {
  char byte = 0;
  static_cast<void>(co_await one.ends.first.read_some(std::span(&byte, 1)));
  const room how = one.memory.is_closed() ? room::closed : room::left;
  one.memory.hide();
  one.memory.holds(0);
  co_return how;
}

template <class Body>
void on_virtual_time(Body body) {
  virtual_clock clock;
  runtime::run_options options;
  options.processors = 1;
  options.clock = &clock;
  runtime::run(body, options);
}

std::shared_ptr<const shared_text> text_of(held_memory& in, std::size_t size) {
  std::vector<shared_piece> pieces;
  pieces.push_back(std::make_shared<const counted_text>(in, std::string(size, 'x')));
  return std::make_shared<const shared_text>(in, std::move(pieces), 1);
}

TEST(HeldMemory, CountsWhatIsAboveTheAllowance) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    {
      connection one(all);
      EXPECT_TRUE(one.memory.take(held_memory::allowance));
      EXPECT_EQ(all.bytes(), 0U);
      EXPECT_TRUE(one.memory.take(100'000));
      EXPECT_GE(all.bytes(), 100'000U);
      EXPECT_LT(all.bytes(), 110'000U);
      one.memory.holds(50'000);
      EXPECT_LT(all.bytes(), 50'000U);
    }
    EXPECT_EQ(all.bytes(), 0U);
    co_return;
  });
}

TEST(HeldMemory, ThereIsRoomUpToTheBoundAndForOneThatIsLargerAlone) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection first(all);
    connection second(all);
    connection third(all);
    EXPECT_TRUE(first.memory.take(megabyte / 4));
    EXPECT_TRUE(second.memory.take(10 * megabyte));  // the others hold little
    EXPECT_FALSE(third.memory.take(megabyte / 4));
    EXPECT_FALSE(third.memory.take(20 * megabyte));
    EXPECT_TRUE(third.memory.take(100));
    second.memory.holds(0);
    EXPECT_TRUE(third.memory.take(20 * megabyte));
    co_return;
  });
}

TEST(HeldMemory, NothingOverflowsWithoutABound) {
  on_virtual_time([]() -> task<> {
    held_memory all(std::numeric_limits<std::size_t>::max());
    connection one(all);
    EXPECT_TRUE(one.memory.take(std::size_t{1} << 40));
    EXPECT_TRUE(one.memory.take(std::size_t{1} << 40));
    co_return;
  });
}

TEST(HeldMemory, ALargeWishIsNotOvertakenBySmallOnes) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection holds(all);
    connection large(all);
    connection small(all);
    EXPECT_TRUE(holds.memory.take(megabyte * 3 / 4));
    holds.memory.waits_for_client(false);  // it waits for the store
    auto first = runtime::spawn(wait_for(large, megabyte * 7 / 8), "large");
    co_await runtime::sleep(1ms);
    EXPECT_FALSE(small.memory.take(20'000));  // although there is room for it
    auto second = runtime::spawn(wait_for(small, 20'000), "small");
    co_await runtime::sleep(20s);
    EXPECT_EQ(all.waiting(), 2U);
    EXPECT_EQ(all.closed(), 0U);
    holds.memory.holds(0);
    const room got_first = co_await first.join();
    const room got_second = co_await second.join();
    EXPECT_EQ(got_first, room::taken);
    EXPECT_EQ(got_second, room::taken);
    EXPECT_EQ(all.waiting(), 0U);
    EXPECT_EQ(large.memory.held(), megabyte * 7 / 8);
  });
}

TEST(HeldMemory, ThoseThatHoldMostAndDoNotMoveAreClosed) {
  on_virtual_time([]() -> task<> {
    std::vector<std::string> warnings;
    held_memory all(megabyte, [&warnings](const std::string& sentence) { warnings.push_back(sentence); });
    connection little(all);
    connection much(all);
    connection moves(all);
    connection waits(all);
    EXPECT_TRUE(little.memory.take(megabyte / 8));
    EXPECT_TRUE(much.memory.take(megabyte / 4));
    EXPECT_TRUE(moves.memory.take(megabyte / 2));
    auto first = runtime::spawn(hold_until_closed(little), "holds little");
    auto second = runtime::spawn(hold_until_closed(much), "holds much");
    auto waiting = runtime::spawn(wait_for(waits, megabyte / 4), "waits");
    while (!waiting.done()) {
      moves.memory.moved(held_memory::least_progress);
      co_await runtime::sleep(100ms);
    }
    const room got = co_await waiting.join();
    EXPECT_EQ(got, room::taken);
    const room how = co_await second.join();
    EXPECT_EQ(how, room::closed);
    EXPECT_FALSE(little.memory.is_closed());
    EXPECT_FALSE(moves.memory.is_closed());
    EXPECT_EQ(all.closed(), 1U);
    EXPECT_EQ(warnings.size(), 1U);
    if (!warnings.empty()) {
      EXPECT_EQ(warnings.front().find("close 1 connection that holds most"), 0U) << warnings.front();
    }
    static_cast<void>(little.ends.second.close_write());
    const room left = co_await first.join();
    EXPECT_EQ(left, room::left);
  });
}

TEST(HeldMemory, OneThatMovesTooLittleOfMuchIsClosed) {
  on_virtual_time([]() -> task<> {
    held_memory all(64 * megabyte);
    connection slow(all);
    connection waits(all);
    EXPECT_TRUE(slow.memory.take(200 * megabyte));
    auto holding = runtime::spawn(hold_until_closed(slow), "holds");
    auto waiting = runtime::spawn(wait_for(waits, megabyte), "waits");
    while (!waiting.done()) {
      slow.memory.moved(held_memory::least_progress);
      co_await runtime::sleep(1s);
    }
    EXPECT_TRUE(slow.memory.is_closed());
    static_cast<void>(co_await holding.join());
    static_cast<void>(co_await waiting.join());
  });
}

// A look of long ago is none at what the client holds now.
TEST(HeldMemory, OneThatHasJustBegunIsNotClosedForWhatItHeldLongAgo) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection reads(all);
    connection waits(all);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(reads.memory.take(megabyte * 3 / 4));
      auto waiting = runtime::spawn(wait_for(waits, megabyte / 2), "waits");
      co_await runtime::sleep(1ms);
      EXPECT_EQ(all.waiting(), 1U);
      EXPECT_FALSE(reads.memory.is_closed());
      reads.memory.holds(0);
      const room got = co_await waiting.join();
      EXPECT_EQ(got, room::taken);
      waits.memory.holds(0);
      co_await runtime::sleep(60s);
    }
    EXPECT_EQ(all.closed(), 0U);
  });
}

TEST(HeldMemory, IfAllWaitTheLargestIsClosedAndTold) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection large(all);
    connection middle(all);
    connection small(all);
    EXPECT_TRUE(large.memory.take(megabyte * 7 / 16));
    EXPECT_TRUE(middle.memory.take(megabyte * 5 / 16));
    EXPECT_TRUE(small.memory.take(megabyte / 4));
    auto first = runtime::spawn(wait_for(large, megabyte / 2), "large");
    co_await runtime::sleep(1ms);
    auto second = runtime::spawn(wait_for(middle, megabyte / 2), "middle");
    auto third = runtime::spawn(wait_for(small, megabyte / 2), "small");
    const room of_large = co_await first.join();
    EXPECT_EQ(of_large, room::closed);
    EXPECT_FALSE(third.done());  // until the memory is there
    large.memory.holds(0);
    const room of_small = co_await third.join();
    EXPECT_EQ(of_small, room::taken);
    EXPECT_FALSE(second.done());
    small.memory.holds(0);
    const room of_middle = co_await second.join();
    EXPECT_EQ(of_middle, room::taken);
    const room again = co_await large.memory.wait(megabyte);
    EXPECT_EQ(again, room::closed);
    EXPECT_EQ(all.closed(), 1U);
  });
}

TEST(HeldMemory, TheOneForWhichAllOthersWaitGetsRoomBeforeThem) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection large(all);
    connection waits(all);
    EXPECT_TRUE(large.memory.take(megabyte * 3 / 4));
    auto waiting = runtime::spawn(wait_for(waits, megabyte / 2), "waits");
    co_await runtime::sleep(1ms);
    const room got = co_await large.memory.wait(4 * megabyte);
    EXPECT_EQ(got, room::taken);
    large.memory.holds(0);
    const room of_other = co_await waiting.join();
    EXPECT_EQ(of_other, room::taken);
    EXPECT_EQ(all.closed(), 0U);
  });
}

TEST(HeldMemory, ConnectionsThatHoldLeastGetRoomFirst) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection holds(all);
    connection some(all);
    connection nothing(all);
    EXPECT_TRUE(holds.memory.take(megabyte * 5 / 8));
    holds.memory.waits_for_client(false);
    EXPECT_TRUE(some.memory.take(megabyte / 8));
    auto first = runtime::spawn(wait_for(some, megabyte / 2), "some");
    co_await runtime::sleep(1ms);
    auto second = runtime::spawn(wait_for(nothing, megabyte * 3 / 8), "nothing");
    co_await runtime::sleep(1ms);
    holds.memory.holds(megabyte / 4);
    co_await runtime::sleep(1ms);
    EXPECT_TRUE(second.done());
    EXPECT_FALSE(first.done());
    holds.memory.holds(0);
    const room got = co_await first.join();
    EXPECT_EQ(got, room::taken);
    const room before = co_await second.join();
    EXPECT_EQ(before, room::taken);
  });
}

TEST(HeldMemory, AClientThatGoesEndsTheWait) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection holds(all);
    connection waits(all);
    connection behind(all);
    EXPECT_TRUE(holds.memory.take(megabyte * 3 / 4));
    holds.memory.waits_for_client(false);
    auto waiting = runtime::spawn(wait_for(waits, megabyte), "waits");
    co_await runtime::sleep(1ms);
    auto next = runtime::spawn(wait_for(behind, 20'000), "waits behind it");
    co_await runtime::sleep(1ms);
    EXPECT_FALSE(next.done());
    static_cast<void>(waits.ends.second.close_write());
    const room got = co_await waiting.join();
    EXPECT_EQ(got, room::left);
    const room got_next = co_await next.join();
    EXPECT_EQ(got_next, room::taken);
    EXPECT_EQ(all.waiting(), 0U);
  });
}

TEST(HeldMemory, AWaitCanBeStoppedAlsoBeforeItBegins) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection holds(all);
    connection waits(all);
    EXPECT_TRUE(holds.memory.take(megabyte));
    holds.memory.waits_for_client(false);
    auto waiting = runtime::spawn(wait_for(waits, megabyte), "waits");
    co_await runtime::sleep(1ms);
    waits.memory.stop_waiting();
    const room got = co_await waiting.join();
    EXPECT_EQ(got, room::stopped);
    const room again = co_await waits.memory.wait(megabyte);
    EXPECT_EQ(again, room::stopped);
    waits.memory.allow_waiting();
    auto third = runtime::spawn(wait_for(waits, megabyte), "waits again");
    holds.memory.holds(0);
    const room got_third = co_await third.join();
    EXPECT_EQ(got_third, room::taken);
  });
}

TEST(HeldMemory, ACancelledWaitLeavesNothing) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection holds(all);
    connection waits(all);
    EXPECT_TRUE(holds.memory.take(megabyte));
    holds.memory.waits_for_client(false);
    auto waiting = runtime::spawn(wait_for(waits, megabyte), "waits");
    co_await runtime::sleep(1ms);
    waiting.request_stop();
    bool is_cancelled = false;
    try {
      static_cast<void>(co_await waiting.join_without_cancellation());
    } catch (...) {
      is_cancelled = true;
    }
    EXPECT_TRUE(is_cancelled);
    EXPECT_EQ(all.waiting(), 0U);
  });
}

TEST(HeldMemory, SaysWhenLittleIsHeldAfterMuchWas) {
  on_virtual_time([]() -> task<> {
    int falls = 0;
    held_memory all(1024 * megabyte, nullptr, [&falls] { ++falls; });
    connection one(all);
    EXPECT_TRUE(one.memory.take(held_memory::much - megabyte));
    one.memory.holds(0);
    EXPECT_EQ(falls, 0);
    EXPECT_TRUE(one.memory.take(2 * held_memory::much));
    one.memory.holds(held_memory::much);
    EXPECT_EQ(falls, 0);
    one.memory.holds(held_memory::much / 4);
    EXPECT_EQ(falls, 1);
    one.memory.holds(0);
    EXPECT_EQ(falls, 1);
    {
      connection reader(all);
      reader.memory.show(text_of(all, held_memory::much));
      EXPECT_EQ(falls, 1);
    }
    EXPECT_EQ(falls, 2);
    co_return;
  });
}

TEST(HeldMemory, ATextCountsOnceAndItsReadersAreClosedTogether) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    std::vector<std::unique_ptr<connection>> readers;
    std::vector<runtime::join_handle<room>> reading;
    std::shared_ptr<const shared_text> text = text_of(all, 2 * megabyte);
    for (int i = 0; i < 50; ++i) {
      readers.push_back(std::make_unique<connection>(all));
      readers.back()->memory.show(text);
      reading.push_back(runtime::spawn(hold_until_closed(*readers.back()), "reads"));
    }
    EXPECT_LT(all.bytes(), 3 * megabyte);
    text.reset();
    connection waits(all);
    EXPECT_FALSE(waits.memory.take(megabyte / 4));
    const room got = co_await waits.memory.wait(megabyte / 4);
    EXPECT_EQ(got, room::taken);
    for (auto& each : reading) {
      const room how = co_await each.join();
      EXPECT_EQ(how, room::closed);
    }
    EXPECT_EQ(all.closed(), 50U);
  });
}

}  // namespace
}  // namespace foliot::program
