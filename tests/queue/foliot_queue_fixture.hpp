// The fixture of the tests of foliot's own queue: a queue, its timers, and a record of the firings.
#pragma once

#include <foliot/queue/foliot_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace foliot::test {

#if defined(FOLIOT_SANITIZED)
inline constexpr std::size_t million = 100'000;
#else
inline constexpr std::size_t million = 1'000'000;
#endif

inline constexpr instant morning = instant::from_nanoseconds(1'000'000'000'000'000);

struct numbered : timer_node {
  std::size_t number = 0;
};

/// The failure that check() reports; empty if there is none.
inline std::string trouble(const foliot_queue& queue) {
  const check_result sound = queue.check();
  return sound ? "" : sound.error();
}

/// A queue, its timers, and the numbers of the timers that have fired, in order.
class foliot_queue_fixture : public ::testing::Test {
 protected:
  ~foliot_queue_fixture() override {
    while (queue.pop_any() != nullptr) {
    }
  }

  void make(std::size_t count) {
    timers = std::make_unique<numbered[]>(count);
    for (std::size_t i = 0; i < count; ++i) timers[i].number = i;
  }
  /// Expires until nothing is due any more, `limit` at a time; returns how many turns that took.
  std::size_t expire(instant now, budget limit = unlimited) {
    std::size_t turns = 0;
    for (expiry turn{0, true}; turn.more; ++turns) {
      turn = queue.expire(now, limit, [&](timer_node& due) {
        EXPECT_LE(due.deadline(), now);
        fired.push_back(static_cast<numbered&>(due).number);
      });
      EXPECT_LE(turn.fired, limit);
    }
    return turns;
  }
  void expect_sound() const { EXPECT_EQ(trouble(queue), ""); }
  [[nodiscard]] bool fired_in_order() const {
    return std::ranges::is_sorted(
        fired, [&](std::size_t a, std::size_t b) { return timers[a].deadline() < timers[b].deadline(); });
  }

  foliot_queue queue{morning};
  std::unique_ptr<numbered[]> timers;
  std::vector<std::size_t> fired;
};

}  // namespace foliot::test
