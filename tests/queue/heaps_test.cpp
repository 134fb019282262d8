// Tests of all queues that are one array: how they allocate and free memory.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <foliot/core/seam/random.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "conformance/all_queues.hpp"
#include "support/allocations.hpp"

namespace foliot {
namespace {

template <class Heap>
class Heaps : public ::testing::Test {
 protected:
  using node = typename Heap::node_type;

  ~Heaps() override {
    while (queue.pop_any() != nullptr) {
    }
  }

  static instant at(std::uint64_t nanoseconds) {
    return instant::from_nanoseconds(static_cast<std::int64_t>(nanoseconds));
  }
  void make(std::size_t count) { all = std::make_unique<node[]>(count); }
  void start_many(std::size_t count) {
    make(count);
    for (std::size_t i = 0; i < count; ++i) queue.start(all[i], at((i * 7919) % count));
  }

  std::unique_ptr<node[]> all;  // outlives the queue
  Heap queue;
};

using heaps = ::testing::Types<quad_heap, quad_heap_lazy, goim_heap>;
TYPED_TEST_SUITE(Heaps, heaps, conformance::queue_name);

TYPED_TEST(Heaps, StartsWithinWhatIsReservedDoNotAllocate) {
  this->queue.reserve(1000);
  this->make(1000);
  random_stream random(2);
  const test::allocation_count allocations;
  for (std::size_t round = 0; round < 20'000; ++round) {
    auto& some = this->all[random.below(1000)];
    if (random.below(10) < 3) {
      this->queue.stop(some);
    } else {
      this->queue.reset(some, this->at(random.below(100'000)));
    }
  }
  for (std::size_t i = 0; i < 1000; ++i) this->queue.reset(this->all[i], this->at(i));
  EXPECT_EQ(allocations.so_far(), 0u);
}

TYPED_TEST(Heaps, AFailedAllocationIsReportedAndLosesNothing) {
  constexpr std::size_t more = 2048;
  this->start_many(1024);  // the array is full now, or will be after the next starts
  const auto late = std::make_unique<typename TypeParam::node_type[]>(more);
  std::size_t refused = 0;
  {
    const test::failing_allocations fail;
    for (std::size_t i = 0; i < more; ++i) {
      try {
        if (i % 2 == 0) {
          this->queue.start(late[i], instant{});
        } else {
          this->queue.reset(late[i], instant{});
        }
      } catch (const std::bad_alloc&) {
        ++refused;
        EXPECT_FALSE(late[i].pending());
      }
    }
    EXPECT_TRUE(this->queue.reset(this->all[0], this->at(5000)));  // the reset of a pending timer needs no memory
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(this->queue.size(), 1024 + more - refused);
  EXPECT_TRUE(this->queue.check());
  while (this->queue.pop_any() != nullptr) {
  }
}

TYPED_TEST(Heaps, GivesMemoryBackAfterAPeak) {
  constexpr std::size_t count = 1'000'000;
  for (const bool by_stops : {false, true}) {
    const std::size_t before = test::live_bytes();
    this->start_many(count);
    if (by_stops) {
      for (std::size_t i = 0; i < count; ++i) this->queue.stop(this->all[i]);
    } else {
      while (this->queue.pop_any() != nullptr) {
      }
    }
    this->all.reset();
    EXPECT_LE(test::live_bytes() - before, 64u * 1024);  // a small array stays
  }
}

TYPED_TEST(Heaps, StayWholeWhenTheArrayCannotBeMadeSmaller) {
  this->start_many(10'000);
  const test::failing_allocations fail;
  for (std::size_t i = 0; i < 10'000; ++i) EXPECT_TRUE(this->queue.stop(this->all[i]));
  EXPECT_EQ(this->queue.size(), 0u);
}

}  // namespace
}  // namespace foliot
