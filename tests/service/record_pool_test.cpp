// goim's free list: the cells of a shard's records.
#include "lineage/record_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using detail::record_pool;

constexpr std::size_t block = 1024;

TEST(RecordPool, GivesEachCellOnceAndTheLastOneBackFirst) {
  record_pool pool(40, block);
  EXPECT_EQ(pool.capacity(), 0u);
  std::set<void*> out;
  std::vector<void*> order;
  for (std::size_t i = 0; i < 3 * block; ++i) {
    void* const cell = pool.get();
    EXPECT_TRUE(out.insert(cell).second);
    order.push_back(cell);
  }
  EXPECT_EQ(pool.capacity(), 3 * block);
  pool.put(order[5]);
  pool.put(order[7]);
  EXPECT_EQ(pool.get(), order[7]);
  EXPECT_EQ(pool.get(), order[5]);
  EXPECT_EQ(pool.in_use(), out.size());
  for (void* cell : order) pool.put(cell);
  const allocation_count allocations;
  for (void*& cell : order) cell = pool.get();
  EXPECT_EQ(allocations.so_far(), 0u);
  for (void* cell : order) pool.put(cell);
}

TEST(RecordPool, AGrowthWithoutMemoryChangesNothing) {
  for (const std::size_t succeeding : {0u, 1u}) {
    record_pool pool(40, block);
    {
      const failing_allocations fail(succeeding);
      EXPECT_THROW(static_cast<void>(pool.get()), std::bad_alloc);
    }
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.in_use(), 0u);
    pool.put(pool.get());
  }
}

TEST(RecordPool, AReserveCountsWhatCameMeanwhile) {
  record_pool pool(40, block);
  auto room = pool.room_for(2000);
  std::vector<void*> out;
  for (int i = 0; i < 3000; ++i) out.push_back(pool.get());
  pool.take(std::move(room));
  EXPECT_GE(pool.capacity(), 3000u);
  for (void* cell : out) pool.put(cell);
  pool.take(pool.room_for(10'000));
  EXPECT_GE(pool.capacity(), 10'000u);
  const allocation_count allocations;
  out.clear();
  out.reserve(10'000);
  const std::size_t own = allocations.so_far();
  for (int i = 0; i < 10'000; ++i) out.push_back(pool.get());
  EXPECT_EQ(allocations.so_far(), own);
  for (void* cell : out) pool.put(cell);
}

/// Only goim has the free list. The records of its timers come from the list, whether they are extended or not; those
/// of tickers only if all records are extended, since the cells have the size of a timer's record.
TEST(RecordPool, IsWhatGoimsTimersComeFrom) {
  for (const bool posts : {false, true}) {
    for (const bool locates : {false, true}) {
      service_options options = with_engine("goim");
      if (posts) options.executor = callback_executor([](auto&& job) { job(); });
      if (locates) options.slow_callback = {.longer_than = 1h, .tell = [](const slow_callback&) {}};
      virtual_clock clock;
      timer_service timers(clock, std::move(options));
      timers.reserve(2000);
      std::vector<timer> many(1000);
      std::vector<ticker> beats(500);
      const allocation_count allocations;
      int fired = 0;
      for (int round = 0; round < 3; ++round) {
        for (timer& each : many) each = timer(timers, 1ms, [&fired] { ++fired; });
        for (ticker& each : beats) each = ticker(timers, 1h, [] {});
        for (timer& each : many) each = timer();
        for (ticker& each : beats) each = ticker();
      }
      EXPECT_EQ(allocations.so_far(), posts || locates ? 0u : 3 * beats.size()) << posts << locates;
      EXPECT_EQ(fired, 0);
      many[0] = timer(timers, 1ms, [&fired] { ++fired; });
      clock.advance(1ms);
      EXPECT_EQ(fired, 1);
    }
  }
}

/// goim's `num`, the size of a block; goim's `init` makes the first block, and a heap of that capacity.
TEST(RecordPool, ItsBlocksAreAsLargeAsAskedForAndTheFirstIsMadeWithTheService) {
  constexpr std::size_t num = 8;
  for (const bool asked : {false, true}) {
    service_options options = with_engine("goim");
    if (asked) options.free_list = num;
    virtual_clock clock;
    timer_service timers(clock, std::move(options));
    std::vector<timer> many(num + 1);
    const allocation_count allocations;
    for (std::size_t i = 0; i < num; ++i) {
      many[i] = timer(timers, 1h, [] {});
      EXPECT_EQ(allocations.so_far() == 0, asked) << i;
    }
    const std::size_t before = allocations.so_far();
    many[num] = timer(timers, [] {});
    EXPECT_EQ(allocations.so_far() > before, asked) << "the second block, where blocks have eight";
    many.clear();
  }
}

TEST(RecordPool, IsOfAPossibleSizeAndOnlyGoims) {
  const auto refused = [](const char* engine, std::size_t size) -> std::string {
    service_options options = with_engine(engine);
    options.free_list = size;
    try {
      const timer_service service(std::move(options));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refused("goim", 1), "accepted");
  EXPECT_EQ(refused("goim", 1'048'576), "accepted");
  EXPECT_EQ(refused("goim", 0), "foliot: a block of a free list has room for 1 to 1048576 timers, got 0");
  EXPECT_EQ(refused("goim", 1'048'577), "foliot: a block of a free list has room for 1 to 1048576 timers, got 1048577");
  for (const char* other : {"foliot", "goim-heap"}) {
    EXPECT_EQ(refused(other, 8), "foliot: the engine '" + std::string(other) +
                                     "' has no free list: choose the engine 'goim', or set none");
  }
}

TEST(RecordPool, AServiceWithoutMemoryForItsFirstBlockIsNotMade) {
  const std::size_t before = live_bytes();
  std::size_t refused = 0;
  for (std::size_t succeeding = 0;; ++succeeding) {
    ASSERT_LT(succeeding, 1000u);
    service_options options = with_engine("goim");
    options.free_list = 8;
    virtual_clock clock;
    const failing_allocations fail(succeeding);
    try {
      const timer_service timers(clock, std::move(options));
      break;
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2u);
  EXPECT_EQ(live_bytes(), before);
}

TEST(RecordPool, StaysWithTheShardUntilItsEnd) {
  const std::size_t before = live_bytes();
  {
    virtual_clock clock;
    timer_service timers(clock, with_engine("goim"));
    const std::size_t fresh = live_bytes();
    {
      std::vector<timer> many;
      for (int i = 0; i < 5000; ++i) many.emplace_back(timers, 1h, [] {});
    }
    EXPECT_GE(live_bytes(), fresh + 4000 * sizeof(timer_node)) << "as in goim, blocks must not be freed";
  }
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace foliot::test
