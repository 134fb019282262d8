#include <foliot/core/callable.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "support/allocations.hpp"

namespace foliot {
namespace {

/// Counts how many of its kind are alive.
struct counted {
  explicit counted(int& alive) : alive_(&alive) { ++*alive_; }
  counted(counted&& other) noexcept : alive_(other.alive_) { ++*alive_; }
  ~counted() { --*alive_; }
  int* alive_;
};

callable<void()> kept;  // out of the function, so that the compiler cannot leave the allocation out

int twice(int x) { return 2 * x; }

TEST(Callable, CallsFunctionsClosuresAndMembers) {
  callable<int(int)> function = twice;
  EXPECT_EQ(function(21), 42);
  callable<int(int)> closure = [offset = 40](int x) { return x + offset; };
  EXPECT_EQ(closure(2), 42);
  struct point {
    int x;
  };
  callable<int(const point&)> member = &point::x;
  EXPECT_EQ(member(point{42}), 42);
}

TEST(Callable, ClosuresMayChangeTheirState) {
  callable<int()> counter = [n = 0]() mutable { return ++n; };
  counter();
  EXPECT_EQ(counter(), 2);
}

TEST(Callable, PassesMoveOnlyArgumentsAndResults) {
  callable<std::unique_ptr<int>(std::unique_ptr<int>)> pass = [](std::unique_ptr<int> p) { return p; };
  EXPECT_EQ(*pass(std::make_unique<int>(7)), 7);
}

TEST(Callable, IsMoveOnlyAndEmptyAfterAMove) {
  static_assert(!std::is_copy_constructible_v<callable<void()>>);
  static_assert(std::is_nothrow_move_constructible_v<callable<void()>>);
  callable<int()> first = [p = std::make_unique<int>(5)] { return *p; };
  callable<int()> second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_EQ(second(), 5);
  callable<int()>& alias = second;
  second = std::move(alias);
  EXPECT_EQ(second(), 5) << "self-assignment changes nothing";
}

TEST(Callable, SmallClosuresDoNotAllocate) {
  const test::allocation_count allocations;
  std::array<void*, 3> three{};
  callable<void*()> small = [three] { return three[1]; };
  callable<void*()> moved = std::move(small);
  EXPECT_EQ(moved(), nullptr);
  EXPECT_EQ(allocations.so_far(), 0u);
}

TEST(Callable, LargeAndOverAlignedClosuresWorkToo) {
  const test::allocation_count allocations;
  std::array<int, 100> numbers{};
  numbers[99] = 42;
  callable<int()> large = [numbers] { return numbers[99]; };
  callable<int()> moved = std::move(large);
  EXPECT_EQ(moved(), 42);
  EXPECT_EQ(allocations.so_far(), 1u);
  struct alignas(64) wide {
    int value = 7;
  };
  callable<bool()> aligned = [w = wide{}] { return reinterpret_cast<std::uintptr_t>(&w) % 64 == 0; };
  EXPECT_TRUE(aligned());
}

TEST(Callable, DestroysWhatItHoldsOnceAndOnTime) {
  int alive = 0;
  {
    callable<void()> inside = [c = counted(alive)] {};
    EXPECT_EQ(alive, 1);
    callable<void()> moved = std::move(inside);
    EXPECT_EQ(alive, 1);
    moved.reset();
    EXPECT_EQ(alive, 0);
    moved.reset();
    moved = [c = counted(alive), padding = std::array<char, 200>{}] { static_cast<void>(padding); };
    EXPECT_EQ(alive, 1);
    moved = [] {};
    EXPECT_EQ(alive, 0);
    inside = [c = counted(alive)] {};
  }
  EXPECT_EQ(alive, 0);
}

TEST(Callable, RefusesNull) {
  void (*null)() = nullptr;
  EXPECT_THROW(callable<void()>{null}, std::invalid_argument);
  EXPECT_THROW(callable<void()>{std::function<void()>()}, std::invalid_argument);
  static_assert(!std::is_constructible_v<callable<void()>, std::nullptr_t>);
}

TEST(Callable, AFailedAllocationLeavesNothingBehind) {
  int alive = 0;
  counted original(alive);
  const test::failing_allocations fail;
  const auto make = [&] {
    return callable<void()>([c = counted(alive), padding = std::array<char, 200>{}] { static_cast<void>(padding); });
  };
  EXPECT_THROW(kept = make(), std::bad_alloc);
  EXPECT_FALSE(kept);
  EXPECT_EQ(alive, 1);
}

}  // namespace
}  // namespace foliot
