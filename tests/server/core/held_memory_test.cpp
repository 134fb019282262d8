// Who gets room in the memory of all connections, who waits for it, and who is closed. On virtual time.
#include "server/core/held_memory.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "server/core/stream_over.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using test::on_virtual_time;

constexpr std::size_t megabyte = std::size_t{1} << 20;

/// A connection, as its session sees it.
struct connection {
  explicit connection(held_memory& all) : connection(all, runtime::stream::pair().value()) {}
  connection(held_memory& all, std::pair<runtime::stream, runtime::stream> ends)
      : server(std::move(ends.first)), client(std::move(ends.second)), memory(all, server) {}

  stream_over<runtime::stream> server;
  runtime::stream client;
  memory_holder memory;
};

task<room> wait_for(connection& one, std::size_t bytes) {
  const room got = co_await one.memory.wait(bytes);
  co_return got;
}

/// How the wait of one connection has ended, while the client of another one sends or takes so many bytes each time. If
/// the wait does not end, its client leaves after a minute.
task<room> wait_beside(connection& waits, std::size_t bytes, connection& other, std::size_t moved, duration each_time) {
  auto waiting = runtime::spawn(wait_for(waits, bytes), "waits");
  const instant until = runtime::now() + 60s;
  while (!waiting.done() && runtime::now() < until) {
    other.memory.moved(moved);
    co_await runtime::sleep(each_time);
  }
  static_cast<void>(waits.client.close_write());
  const room got = co_await waiting.join();
  co_return got;
}

/// As a session does: it ends when it is closed.
task<room> hold_until_closed(connection& one) {
  char byte = 0;
  static_cast<void>(co_await one.server.read_some(std::span(&byte, 1)));
  const room how = one.memory.is_closed() ? room::closed : room::left;
  one.memory.hide();
  one.memory.holds(0);
  co_return how;
}

/// The wait ends, and so. A failure tells the line of the call.
task<> expect(runtime::join_handle<room>& wait, room how,
              std::source_location caller = std::source_location::current()) {
  const room got = co_await wait.join();
  const testing::ScopedTrace trace(caller.file_name(), static_cast<int>(caller.line()), "of this expect()");
  EXPECT_EQ(got, how);
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
    EXPECT_FALSE(all.is_full());                     // beside the large one
    EXPECT_FALSE(third.memory.take(megabyte / 2));
    EXPECT_FALSE(third.memory.take(20 * megabyte));
    EXPECT_TRUE(third.memory.take(100));
    second.memory.holds(0);
    EXPECT_TRUE(third.memory.take(20 * megabyte));
    co_return;
  });
}

TEST(HeldMemory, BesideALargeOneTheOthersHaveHalfOfTheBound) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection large(all);
    EXPECT_TRUE(large.memory.take(10 * megabyte));
    std::vector<std::unique_ptr<connection>> others;
    for (int i = 0; i < 100; ++i) {
      others.push_back(std::make_unique<connection>(all));
      if (!others.back()->memory.take(40'000)) break;
    }
    EXPECT_EQ(others.size(), megabyte / 2 / 32'768 + 1);
    EXPECT_LE(all.bytes(), 10 * megabyte + megabyte / 2);
    EXPECT_FALSE(all.is_full());
    others.front()->memory.holds(60'000);
    EXPECT_TRUE(all.is_full());
    others.front()->memory.holds(40'000);
    large.memory.holds(megabyte / 2);  // that is not large any more
    EXPECT_FALSE(all.is_full());
    EXPECT_FALSE(others.back()->memory.take(40'000));
    large.memory.holds(0);
    EXPECT_TRUE(others.back()->memory.take(40'000));
    co_return;
  });
}

TEST(HeldMemory, BesideALargeTextTheOthersHaveHalfOfTheBound) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection reads(all);
    connection other(all);
    reads.memory.show(text_of(all, 4 * megabyte));
    EXPECT_FALSE(all.is_full());
    EXPECT_TRUE(other.memory.take(megabyte / 4));
    EXPECT_FALSE(other.memory.take(megabyte / 2));
    reads.memory.hide();
    EXPECT_LT(all.bytes(), megabyte / 4);
    EXPECT_TRUE(other.memory.take(megabyte / 2));
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
    const room got = co_await wait_beside(waits, megabyte / 4, moves, held_memory::least_progress, 100ms);
    EXPECT_EQ(got, room::taken);
    EXPECT_TRUE(much.memory.is_closed());
    EXPECT_FALSE(little.memory.is_closed());
    EXPECT_FALSE(moves.memory.is_closed());
    EXPECT_EQ(all.closed(), 1U);
    EXPECT_EQ(warnings.size(), 1U);
    if (!warnings.empty()) {
      EXPECT_EQ(warnings.front().find("close 1 connection that holds most"), 0U) << warnings.front();
    }
    static_cast<void>(little.client.close_write());
    static_cast<void>(much.client.close_write());
    co_await expect(first, room::left);
    co_await expect(second, room::closed);
  });
}

TEST(HeldMemory, OneThatMovesTooLittleOfMuchIsClosed) {
  on_virtual_time([]() -> task<> {
    held_memory all(64 * megabyte);
    connection slow(all);
    connection waits(all);
    EXPECT_TRUE(slow.memory.take(200 * megabyte));
    auto holding = runtime::spawn(hold_until_closed(slow), "holds");
    const room got = co_await wait_beside(waits, 40 * megabyte, slow, held_memory::least_progress, 1s);
    EXPECT_EQ(got, room::taken);
    EXPECT_TRUE(slow.memory.is_closed());
    static_cast<void>(slow.client.close_write());
    static_cast<void>(co_await holding.join());
  });
}

/// Connections that hold so many bytes each and end when they are closed, as sessions do.
struct holding_connections {
  holding_connections(held_memory& all, std::size_t count, std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      each.push_back(std::make_unique<connection>(all));
      EXPECT_TRUE(each.back()->memory.take(bytes));
      tasks.push_back(runtime::spawn(hold_until_closed(*each.back()), "holds"));
    }
  }
  task<> end() {
    for (const auto& one : each) static_cast<void>(one->client.close_write());
    for (auto& one : tasks) static_cast<void>(co_await one.join());
  }

  std::vector<std::unique_ptr<connection>> each;
  std::vector<runtime::join_handle<room>> tasks;
};

// One for each look would let the last one wait for three quarters of a minute.
TEST(HeldMemory, ThoseThatDoNotMoveAreClosedForAllThatHaveWaited) {
  on_virtual_time([]() -> task<> {
    held_memory all(8 * megabyte);
    holding_connections silent(all, 200, 48'000);
    std::vector<std::unique_ptr<connection>> others;
    std::vector<runtime::join_handle<room>> waiting;
    for (int i = 0; i < 180; ++i) {
      others.push_back(std::make_unique<connection>(all));
      others.back()->memory.waits_for_client(false);  // what they do with the room takes long
      waiting.push_back(runtime::spawn(wait_for(*others.back(), 48'000), "waits"));
    }
    co_await runtime::sleep(5s);
    for (auto& each : waiting) EXPECT_TRUE(each.done());
    EXPECT_GE(all.closed(), 170U);
    EXPECT_LE(all.closed(), 180U);  // and not more than are needed
    for (const auto& each : others) static_cast<void>(each->client.close_write());
    for (auto& each : waiting) {
      co_await expect(each, room::taken);
    }
    co_await silent.end();
  });
}

/// Takes room, uses it for a moment and gives it back, until it must not.
task<> come_and_go(connection& one, std::size_t bytes, const bool& goes_on) {
  while (goes_on) {
    const room got = co_await one.memory.wait(bytes);
    EXPECT_EQ(got, room::taken);
    co_await runtime::sleep(100ms);
    one.memory.holds(0);
  }
}

TEST(HeldMemory, OneThatHoldsSomethingIsNotOvertakenForEver) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection stays(all);
    connection some(all);
    connection first(all);
    connection second(all);
    EXPECT_TRUE(stays.memory.take(megabyte * 3 / 8));
    EXPECT_TRUE(some.memory.take(megabyte / 4));
    for (connection* each : {&stays, &some, &first, &second}) each->memory.waits_for_client(false);
    bool goes_on = true;
    auto one = runtime::spawn(come_and_go(first, megabyte / 4, goes_on), "comes and goes");
    auto other = runtime::spawn(come_and_go(second, megabyte / 4, goes_on), "comes and goes, too");
    co_await runtime::sleep(1ms);
    auto waiting = runtime::spawn(wait_for(some, megabyte * 3 / 8), "holds something");
    co_await runtime::sleep(4s);
    EXPECT_FALSE(waiting.done());  // those that hold less go first
    co_await runtime::sleep(2s);
    EXPECT_TRUE(waiting.done());
    goes_on = false;
    some.memory.holds(0);
    static_cast<void>(some.client.close_write());
    co_await expect(waiting, room::taken);
    co_await one.join();
    co_await other.join();
    EXPECT_EQ(all.closed(), 0U);
  });
}

// Where all that is held belongs to those that wait, one of them is closed for the first one at each look; and for more
// of them when those that got room do nothing with it.
TEST(HeldMemory, ThoseThatAllWaitAndDoNothingWithTheRoomAreClosedFasterAndFaster) {
  on_virtual_time([]() -> task<> {
    held_memory all(std::size_t{150} * 16'384);
    std::vector<std::unique_ptr<connection>> silent;
    std::vector<runtime::join_handle<room>> tasks;
    const auto wait_and_hold = [](connection& one) -> task<room> {
      const room got = co_await one.memory.wait(60'000);
      if (got == room::taken) static_cast<void>(co_await hold_until_closed(one));
      one.memory.holds(0);
      co_return got;
    };
    for (int i = 0; i < 150; ++i) {
      silent.push_back(std::make_unique<connection>(all));
      EXPECT_TRUE(silent.back()->memory.take(24'000));
      tasks.push_back(runtime::spawn(wait_and_hold(*silent.back()), "waits and holds"));
    }
    for (int i = 0; i < 280; ++i) {
      silent.push_back(std::make_unique<connection>(all));
      tasks.push_back(runtime::spawn(wait_and_hold(*silent.back()), "comes later"));
    }
    co_await runtime::sleep(1ms);
    EXPECT_EQ(all.waiting(), 430U);
    connection honest(all);
    const instant began = runtime::now();
    const room got = co_await honest.memory.wait(20'000);
    EXPECT_EQ(got, room::taken);
    EXPECT_LT(runtime::now() - began, duration(40s));
    for (const auto& each : silent) static_cast<void>(each->client.close_write());
    for (auto& each : tasks) static_cast<void>(co_await each.join());
  });
}

TEST(HeldMemory, NobodyIsClosedForOneThatCannotBeHelped) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection busy(all);
    connection waits(all);
    EXPECT_TRUE(busy.memory.take(megabyte * 5 / 8));
    busy.memory.waits_for_client(false);  // it waits for the store
    holding_connections silent(all, 3, 50'000);
    auto waiting = runtime::spawn(wait_for(waits, megabyte), "waits");
    co_await runtime::sleep(20s);
    EXPECT_FALSE(waiting.done());
    EXPECT_EQ(all.closed(), 0U);
    busy.memory.holds(megabyte / 2);  // the others would hold at most half of the bound
    co_await expect(waiting, room::taken);
    EXPECT_EQ(all.closed(), 3U);
    co_await silent.end();
  });
}

TEST(HeldMemory, WhatIsKeptCountsHasALimitAndIsNoReasonToCloseAConnection) {
  on_virtual_time([]() -> task<> {
    held_memory all(4 * megabyte);
    std::vector<std::unique_ptr<connection>> keepers;
    std::vector<runtime::join_handle<room>> tasks;
    for (int i = 0; i < 20; ++i) {
      keepers.push_back(std::make_unique<connection>(all));
      memory_holder& memory = keepers.back()->memory;
      const bool is_kept = memory.keep(100'000);
      EXPECT_EQ(is_kept, i < 10) << i;
      EXPECT_TRUE(memory.keep(held_memory::kept_allowance));  // whatever others keep
      EXPECT_EQ(memory.keep(100'000), i < 10) << i;
      memory.holds(held_memory::allowance / 2);
      tasks.push_back(runtime::spawn(hold_until_closed(*keepers.back()), "keeps"));
    }
    EXPECT_GT(all.bytes(), 900'000U);
    EXPECT_LE(all.bytes(), megabyte + 10 * held_memory::allowance);
    holding_connections silent(all, 60, 50'000);
    connection waits(all);
    const room got = co_await waits.memory.wait(3 * megabyte);
    EXPECT_EQ(got, room::taken);
    EXPECT_GE(all.closed(), 30U);
    for (const auto& each : keepers) EXPECT_FALSE(each->memory.is_closed());
    co_await silent.end();
    for (const auto& each : keepers) static_cast<void>(each->client.close_write());
    for (auto& each : tasks) static_cast<void>(co_await each.join());
    keepers.clear();
    waits.memory.holds(0);
    EXPECT_EQ(all.bytes(), 0U);
    EXPECT_TRUE(waits.memory.keep(megabyte));
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
      auto waiting = runtime::spawn(wait_for(waits, megabyte * 5 / 8), "waits");
      co_await runtime::sleep(1ms);
      EXPECT_EQ(all.waiting(), 1U);
      EXPECT_FALSE(reads.memory.is_closed());
      reads.memory.holds(0);
      co_await expect(waiting, room::taken);
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
    co_await expect(first, room::closed);
    EXPECT_FALSE(third.done());  // until the memory is there
    large.memory.holds(0);
    co_await expect(third, room::taken);
    EXPECT_FALSE(second.done());
    small.memory.holds(0);
    co_await expect(second, room::taken);
    const room again = co_await large.memory.wait(megabyte);
    EXPECT_EQ(again, room::closed);
    EXPECT_EQ(all.closed(), 1U);
  });
}

/// Waits for room, and gives all back at once: also when it is closed.
task<room> wait_and_end(connection& one, std::size_t bytes) {
  const room got = co_await one.memory.wait(bytes);
  one.memory.holds(0);
  co_return got;
}

/// One that holds 4 MB waits first, for `wanted`. The others, which hold so many megabytes each and all of the rest,
/// make progress for 6 s, and then wait, too. Returns how many of the others are closed. All waits must end.
task<std::size_t> closed_behind_the_first(held_memory& all, std::size_t wanted, const std::vector<std::size_t>& sizes) {
  connection first(all);
  EXPECT_TRUE(first.memory.take(4 * megabyte));
  std::vector<std::unique_ptr<connection>> others;
  for (const std::size_t each : sizes) {
    others.push_back(std::make_unique<connection>(all));
    EXPECT_TRUE(others.back()->memory.take(each * megabyte));
  }
  std::vector<runtime::join_handle<room>> waiting;
  waiting.push_back(runtime::spawn(wait_and_end(first, wanted), "waits first"));
  for (int i = 0; i < 12; ++i) {
    for (const auto& each : others) each->memory.moved(megabyte);
    co_await runtime::sleep(500ms);
  }
  EXPECT_FALSE(waiting.front().done());
  EXPECT_EQ(all.closed(), 0U);
  for (const auto& each : others) {
    waiting.push_back(runtime::spawn(wait_and_end(*each, 4 * megabyte), "waits behind it"));
    co_await runtime::sleep(1ms);
  }
  co_await runtime::sleep(60s);
  EXPECT_EQ(all.waiting(), 0U);
  static_cast<void>(first.client.close_write());  // so that the test ends in any case
  for (const auto& each : others) static_cast<void>(each->client.close_write());
  std::size_t closed = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const room got = co_await waiting[i].join();
    EXPECT_NE(got, room::left) << i;
    if (got == room::closed) ++closed;
  }
  EXPECT_FALSE(first.memory.is_closed());
  EXPECT_EQ(all.closed(), closed);
  co_return closed;
}

// It would be the first one to be closed, and is not closed for itself.
TEST(HeldMemory, TheLargestThatWaitsFirstGetsTheRoomOfOthersThatWait) {
  on_virtual_time([]() -> task<> {
    held_memory all(32 * megabyte);
    const std::size_t closed = co_await closed_behind_the_first(all, 4 * megabyte, std::vector<std::size_t>(14, 2));
    EXPECT_EQ(closed, 2U);
  });
}

TEST(HeldMemory, OneThatWaitsFirstGetsTheRoomOfThoseThatHoldMoreAndOfThoseThatHoldLess) {
  on_virtual_time([]() -> task<> {
    held_memory all(32 * megabyte);
    std::vector<std::size_t> sizes(12, 2);
    sizes[5] = 6;
    const std::size_t closed = co_await closed_behind_the_first(all, 10 * megabyte, sizes);
    EXPECT_EQ(closed, 3U);
  });
}

TEST(HeldMemory, TheOneForWhichAllOthersWaitGetsRoomBeforeThem) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection large(all);
    connection waits(all);
    EXPECT_TRUE(large.memory.take(megabyte * 3 / 4));
    auto waiting = runtime::spawn(wait_for(waits, megabyte * 5 / 8), "waits");
    co_await runtime::sleep(1ms);
    const room got = co_await large.memory.wait(4 * megabyte);
    EXPECT_EQ(got, room::taken);
    large.memory.holds(0);
    co_await expect(waiting, room::taken);
    EXPECT_EQ(all.closed(), 0U);
  });
}

TEST(HeldMemory, TheOneForWhichAllOthersWaitGetsRoomWhereverItStands) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection large(all);
    connection other(all);
    connection before(all);
    connection behind(all);
    for (connection* each : {&large, &other}) each->memory.waits_for_client(false);
    EXPECT_TRUE(large.memory.take(megabyte * 3 / 4));
    other.memory.holds(megabyte * 5 / 8);  // replies grow without a wait
    auto waits_before = runtime::spawn(wait_and_end(before, megabyte * 3 / 4), "stands before it");
    co_await runtime::sleep(1ms);
    auto waiting = runtime::spawn(wait_and_end(large, megabyte), "is waited for");
    co_await runtime::sleep(6s);
    auto waits_behind = runtime::spawn(wait_and_end(behind, megabyte / 4), "stands behind it");
    co_await runtime::sleep(1ms);
    EXPECT_EQ(all.waiting(), 3U);
    EXPECT_EQ(all.closed(), 0U);
    other.memory.holds(megabyte / 2);  // room for the large one, and for neither of the others
    EXPECT_EQ(all.waiting(), 2U);
    for (auto* each : {&waiting, &waits_before, &waits_behind}) {
      co_await expect(*each, room::taken);
    }
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
    co_await expect(first, room::taken);
    co_await expect(second, room::taken);
  });
}

// While it waits the server reads nothing from its client, so it makes no progress.
TEST(HeldMemory, OneThatHasWaitedIsNotClosedForThat) {
  on_virtual_time([]() -> task<> {
    held_memory all(megabyte);
    connection stays(all);
    connection shrinks(all);
    connection waits(all);
    connection behind(all);
    for (connection* each : {&stays, &shrinks, &behind}) each->memory.waits_for_client(false);
    EXPECT_TRUE(stays.memory.take(megabyte * 5 / 16));
    EXPECT_TRUE(shrinks.memory.take(megabyte * 5 / 16));
    EXPECT_TRUE(waits.memory.take(megabyte / 8));
    EXPECT_TRUE(behind.memory.take(megabyte * 3 / 16));
    auto waiting = runtime::spawn(wait_for(waits, megabyte / 4), "waits");
    co_await runtime::sleep(1ms);
    auto next = runtime::spawn(wait_for(behind, megabyte * 3 / 4), "waits behind it");
    co_await runtime::sleep(3s);
    EXPECT_EQ(all.waiting(), 2U);
    EXPECT_EQ(all.closed(), 0U);
    shrinks.memory.holds(megabyte / 16);
    EXPECT_EQ(all.waiting(), 1U);
    co_await expect(waiting, room::taken);
    for (int i = 0; i < 15; ++i) {  // its client goes on when the server reads again
      co_await runtime::sleep(200ms);
      waits.memory.moved(held_memory::least_progress / 4);
    }
    EXPECT_FALSE(waits.memory.is_closed());
    EXPECT_EQ(all.closed(), 0U);
    for (connection* each : {&stays, &shrinks, &waits}) each->memory.holds(0);
    co_await expect(next, room::taken);
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
    static_cast<void>(waits.client.close_write());
    co_await expect(waiting, room::left);
    co_await expect(next, room::taken);
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
    co_await expect(waiting, room::stopped);
    const room again = co_await waits.memory.wait(megabyte);
    EXPECT_EQ(again, room::stopped);
    waits.memory.allow_waiting();
    auto third = runtime::spawn(wait_for(waits, megabyte), "waits again");
    holds.memory.holds(0);
    co_await expect(third, room::taken);
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
    EXPECT_FALSE(waits.memory.take(megabyte * 5 / 8));
    const room got = co_await waits.memory.wait(megabyte * 5 / 8);
    EXPECT_EQ(got, room::taken);
    for (auto& each : reading) {
      co_await expect(each, room::closed);
    }
    EXPECT_EQ(all.closed(), 50U);
  });
}

}  // namespace
}  // namespace foliot::program
