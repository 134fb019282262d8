#include <foliot/core/shared_callable.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace foliot {
namespace {

TEST(SharedCallable, CopiesCallTheSameClosure) {
  const shared_callable<int()> counter = [n = 0]() mutable { return ++n; };
  const shared_callable<int()> same = counter;
  EXPECT_EQ(counter(), 1);
  EXPECT_EQ(same(), 2);
}

TEST(SharedCallable, TakesClosuresThatOnlyMoveAndDestroysThemOnce) {
  auto watched = std::make_shared<int>(7);
  const std::weak_ptr<int> alive = watched;
  shared_callable<int(int)> first = [only = std::make_unique<std::shared_ptr<int>>(std::move(watched))](int more) {
    return **only + more;
  };
  {
    shared_callable<int(int)> second = first;
    EXPECT_EQ(second(1), 8);
    first = shared_callable<int(int)>();
    EXPECT_FALSE(first);
    EXPECT_FALSE(alive.expired());
    EXPECT_EQ(second(2), 9);
  }
  EXPECT_TRUE(alive.expired());
}

TEST(SharedCallable, PassesArgumentsThatOnlyMove) {
  const shared_callable<int(std::unique_ptr<int>)> take = [](std::unique_ptr<int> given) { return *given; };
  EXPECT_EQ(take(std::make_unique<int>(5)), 5);
}

TEST(SharedCallable, RefusesNull) {
  static_assert(!std::is_constructible_v<shared_callable<void()>, std::nullptr_t>);
  void (*none)() = nullptr;
  EXPECT_THROW(shared_callable<void()>{none}, std::invalid_argument);
  EXPECT_THROW(shared_callable<void()>{std::function<void()>()}, std::invalid_argument);
  EXPECT_THROW(callable<void()>{shared_callable<void()>()}, std::invalid_argument);
  static_assert(!std::is_constructible_v<shared_callable<void()>, int>);
}

}  // namespace
}  // namespace foliot
