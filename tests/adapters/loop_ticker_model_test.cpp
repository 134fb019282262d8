// Random operations on tickers and timers of one loop, inside and outside of callbacks, against a model that counts
// grids tick by tick.
#include <foliot/adapters/loop_ticker.hpp>

#include <gtest/gtest.h>

#include <foliot/adapters/loop_timer.hpp>
#include <foliot/core/seam/random.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "loop_fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class world {
 public:
  explicit world(std::uint64_t seed) : random_(seed) {}

  void step() {
    switch (random_.below(6)) {
      case 0: clock_.stall(length()); break;
      case 1: turn(random_.below(2) == 0 ? unlimited : random_.below(4)); break;
      case 2: turn(unlimited); break;
      default: act(random_.below(count)); break;
    }
    check();
  }

 private:
  static constexpr std::size_t count = 7;
  /// What is known of one ticker, or of a timer: a ticker without a period.
  struct expected {
    bool exists = false;
    bool pending = false;
    bool running = false;
    bool is_ticker = false;
    instant next;
    duration period;
    std::uint64_t order = 0;
    std::uint64_t skipped = 0;
  };

  duration length() {
    constexpr std::array<std::int64_t, 5> most{3, 100, 5'000, 2'000'000, 300'000'000};
    return duration::nanoseconds(
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most[random_.below(most.size())]))));
  }
  duration period() { return std::max(length(), duration(1ns)); }

  void started(expected& one, instant next) {
    one.pending = true;
    one.next = next;
    one.order = ++starts_;
  }
  reset_result reset_result_of(const expected& one) {
    return one.pending ? reset_result::superseded : one.running ? reset_result::running : reset_result::idle;
  }

  /// One operation on ticker or timer i.
  void act(std::size_t i) {
    expected& one = model_[i];
    if (!one.exists) return create(i);
    switch (random_.below(8)) {
      case 0: return destroy(i);
      case 1:
      case 2: {
        const stop_result before = one.pending   ? stop_result::stopped
                                   : one.running ? stop_result::running
                                                 : stop_result::idle;
        EXPECT_EQ(tickers_[i] ? tickers_[i]->stop() : timers_[i]->stop(), before);
        one.pending = false;
        return;
      }
      case 3:
        if (one.is_ticker) return reset_at(i);
        [[fallthrough]];
      default: return reset(i);
    }
  }
  void create(std::size_t i) {
    expected& one = model_[i] = {};
    one.exists = true;
    one.is_ticker = random_.below(3) != 0;
    if (!one.is_ticker) {
      timers_[i].emplace(all_, [this, i](const firing& due) { fired(i, due); });
      return;
    }
    one.period = period();
    tickers_[i].emplace(all_, one.period, [this, i](const firing& due) { fired(i, due); });
    started(one, clock_.now() + one.period);
  }
  void destroy(std::size_t i) {
    tickers_[i].reset();
    timers_[i].reset();
    model_[i] = {};
    ++generation_[i];
  }
  void reset(std::size_t i) {
    expected& one = model_[i];
    const reset_result before = reset_result_of(one);
    const duration in = one.is_ticker ? period() : length();
    EXPECT_EQ(one.is_ticker ? tickers_[i]->reset(in) : timers_[i]->reset(in), before);
    one.period = in;
    started(one, clock_.now() + in);
  }
  void reset_at(std::size_t i) {
    expected& one = model_[i];
    const reset_result before = reset_result_of(one);
    one.period = std::max(length(), duration(1us));
    instant first = clock_.now() + length();
    if (random_.below(2) == 0) first = clock_.now() - one.period * static_cast<std::int64_t>(random_.below(5));
    EXPECT_EQ(tickers_[i]->reset_at(first, one.period), before);
    while (first < clock_.now()) first += one.period;
    started(one, first);
  }

  void fired(std::size_t i, const firing& due) {
    expected& one = model_[i];
    ASSERT_TRUE(one.exists && one.pending && one.next <= turn_) << "number " << i;
    for (const expected& other : model_) {
      if (!other.pending || &other == &one) continue;
      EXPECT_LT(std::tie(one.next, one.order), std::tie(other.next, other.order)) << "out of order";
    }
    EXPECT_EQ(due.deadline, one.next);
    EXPECT_EQ(due.now, turn_);
    ++fired_;
    one.pending = false;
    std::uint64_t skipped = 0;
    if (one.is_ticker) {
      // The first instant of the grid after the turn's; long stalls of short periods are counted by division.
      instant next = one.next + one.period;
      if ((turn_ - next) / one.period > 1'000) {
        skipped = static_cast<std::uint64_t>((turn_ - next) / one.period);
        next += one.period * static_cast<std::int64_t>(skipped);
      }
      for (; next <= turn_; next += one.period) ++skipped;
      one.skipped += skipped;
      started(one, next);
    }
    EXPECT_EQ(due.skipped, skipped);
    one.running = true;
    const std::uint64_t generation = generation_[i];
    if (random_.below(4) == 0) clock_.stall(length());
    for (std::uint64_t left = random_.below(3); left > 0; --left) {
      act(random_.below(2) == 0 ? i : random_.below(count));
    }
    if (generation_[i] == generation) one.running = false;
  }

  void turn(budget limit) {
    turn_ = clock_.now();
    fired_ = 0;
    const expiry done = all_.expire(turn_, limit);
    EXPECT_EQ(done.fired, fired_);
    EXPECT_LE(done.fired, limit);
    const bool any_due =
        std::ranges::any_of(model_, [&](const expected& one) { return one.pending && one.next <= turn_; });
    if (!done.more) {
      EXPECT_FALSE(any_due) << "a turn without `more` has left a timer that is due";
    }
  }

  void check() {
    instant earliest = instant::never();
    std::size_t pending = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const expected& one = model_[i];
      if (!one.exists) continue;
      EXPECT_EQ(one.is_ticker ? tickers_[i]->pending() : timers_[i]->pending(), one.pending);
      if (one.is_ticker) {
        EXPECT_EQ(tickers_[i]->skipped(), one.skipped);
      }
      if (!one.pending) continue;
      ++pending;
      earliest = std::min(earliest, one.next);
      EXPECT_EQ(one.is_ticker ? tickers_[i]->deadline() : timers_[i]->deadline(), one.next);
    }
    EXPECT_EQ(all_.size(), pending);
    EXPECT_LE(all_.next_deadline(), earliest);
    EXPECT_LE(all_.alarm(), earliest) << "the loop would sleep past a tick";
    const check_result fine = all_.check();
    EXPECT_TRUE(fine) << (fine ? "" : fine.error());
  }

  random_stream random_;
  virtual_clock clock_;
  told_timers all_{clock_};
  std::array<expected, count> model_{};
  std::array<std::uint64_t, count> generation_{};
  std::array<std::optional<loop_ticker>, count> tickers_;
  std::array<std::optional<loop_timer>, count> timers_;
  std::uint64_t starts_ = 0;
  std::size_t fired_ = 0;
  instant turn_;
};

TEST(LoopTickerModel, RandomOperationsAgreeWithTheModel) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    world one(seed);
    for (int i = 0; i < 500 && !testing::Test::HasFailure(); ++i) one.step();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace foliot::test
