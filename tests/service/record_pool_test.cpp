// goim's free list: the cells of a shard's records.
#include "record_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using detail::record_pool;

TEST(RecordPool, GivesEachCellOnceAndTheLastOneBackFirst) {
  record_pool pool(40);
  EXPECT_EQ(pool.capacity(), 0u);
  std::set<void*> out;
  std::vector<void*> order;
  for (std::size_t i = 0; i < 3 * record_pool::cells_in_block; ++i) {
    void* const cell = pool.get();
    EXPECT_TRUE(out.insert(cell).second);
    order.push_back(cell);
  }
  EXPECT_EQ(pool.capacity(), 3 * record_pool::cells_in_block);
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
    record_pool pool(40);
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
  record_pool pool(40);
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
