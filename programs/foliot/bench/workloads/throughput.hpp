// The workloads that are timed as a whole, W1 to W4, over any set of timers.
//
// Every contestant gets the same draws from the same seed, so that exact queues do exactly the same: the tests compare
// what they fire. A timer that fires starts itself again, except in W3.
//
//   W1  start one and stop a random one, of N+1; the stopped one is the next to be started. Time moves by 1 us a pair,
//       and what is due fires after each 64 pairs.
//   W2  reset a random one to 30 s from now. Time moves by 10 s / N, so that each is reset about once in 10 s; 5 % of
//       the gaps are longer than 30 s and fire. What is due fires after each 64 resets. The timers begin as if this had
//       gone on for ever.
//   W3  N timers due over 1 s, at random; time moves by 1 ms, 1,001 times. Starting them is not timed.
//   W4  of 100 operations, 90 reset a random one to 30 s from now, 9 stop a random one and start it again, 1 makes a
//       random one due and moves time by 1 ms.
//
// A set that reads the system's clock cannot be moved in time: it refreshes its clock each 64 operations; in W3 all of
// its timers are overdue and fire in one go; in W4 a turn of its loop fires the timer that is due.
//
// All functions throw failure where the set does not do what was asked of it.
// Thread safety: none, one thread.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "../../failure.hpp"
#include "quick_random.hpp"
#include "timer_set.hpp"

namespace foliot::program::bench {

/// How many operations pass between two refreshes of the time.
inline constexpr int operations_per_turn = 64;
inline constexpr duration heartbeat = std::chrono::seconds(30);
inline constexpr duration mean_between_heartbeats = std::chrono::seconds(10);

/// A timeout from 1 ms to 1 h, from the lower half of a draw.
[[nodiscard]] constexpr duration uniform_timeout(std::uint64_t draw) noexcept {
  constexpr std::int64_t least = 1'000'000;
  constexpr std::uint64_t span = 3'600'000'000'000 - least;
  return duration::nanoseconds(least + static_cast<std::int64_t>(lower_below(draw, span)));
}

/// What a stretch of a workload did.
struct tally {
  std::uint64_t operations = 0;  ///< as benchmark::operation counts them
  std::uint64_t fired = 0;
  duration time{};

  tally& operator+=(const tally& other) {
    operations += other.operations;
    fired += other.fired;
    time += other.time;
    return *this;
  }
};

template <timer_set Set>
class throughput {
 public:
  using timer = typename Set::timer;

  /// N timers and one to spare.
  throughput(std::size_t count, std::uint64_t seed)
      : count_(count),
        set_(count + 1),
        random_(seed),
        beat_(mean_between_heartbeats / static_cast<std::int64_t>(count)) {}

  void start_uniform() {
    for (std::size_t i = 0; i < count_; ++i) set_.start(set_[i], now_, uniform_timeout(random_.next()));
    free_ = count_;
  }

  /// Starts them as far from their deadlines as timers are that have been reset for ever. The last reset of each is on
  /// average 10 s ago; where that would be more than 30 s, the timer has fired and started again.
  void start_heartbeats() {
    for (std::size_t i = 0; i < count_; ++i) {
      const double unit = static_cast<double>(random_.next() >> 11) * 0x1p-53;
      const double age = -std::log1p(-unit) * static_cast<double>(mean_between_heartbeats.count());
      const bool alive = age < static_cast<double>(heartbeat.count());
      set_.start(
          set_[i], now_,
          alive ? heartbeat - duration::nanoseconds(static_cast<std::int64_t>(age)) : uniform_timeout(random_.next()));
    }
  }

  template <bool Prefetch>
  tally pairs(std::uint64_t operations) {
    std::uint64_t idle = 0;
    const tally result = timed_turns(operations, operations_per_turn * duration(std::chrono::microseconds(1)), [&] {
      const std::uint64_t draw = random_.next();
      set_.start(set_[free_], now_, uniform_timeout(draw));
      free_ = victim<Prefetch>(draw, count_ + 1);
      if (!set_.stop(set_[free_])) ++idle;
    });
    if (idle > 0) throw failure(fmt::format("{} of {} stops found no pending timer", idle, result.operations));
    return result;
  }

  template <bool Prefetch>
  tally resets(std::uint64_t operations) {
    return timed_turns(operations, operations_per_turn * beat_,
                       [&] { set_.reset(set_[victim<Prefetch>(random_.next(), count_)], now_, heartbeat); });
  }

  tally mixture(std::uint64_t operations) {
    std::uint64_t idle = 0;
    std::uint64_t made_due = 0;
    const tally result = timed_turns(operations, duration::zero(), [&] {
      const std::uint64_t draw = random_.next();
      timer& chosen = set_[upper_below(draw, count_)];
      const std::uint64_t dice = lower_below(draw, 100);
      if (dice < 90) {
        set_.reset(chosen, now_, heartbeat);
      } else if (dice < 99) {
        if (!set_.stop(chosen)) ++idle;
        set_.start(chosen, now_, uniform_timeout(random_.next()));
      } else {
        ++made_due;
        set_.reset(chosen, now_, duration::zero());
        fire_one();
      }
    });
    if (idle > 0) throw failure(fmt::format("{} stops found no pending timer", idle));
    if (Set::time != time_kind::no_time && result.fired < made_due) {
      throw failure(fmt::format("{} timers fired, and {} were due", result.fired, made_due));
    }
    return result;
  }

  tally fire_all() {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto within = duration::nanoseconds(static_cast<std::int64_t>(lower_below(random_.next(), 1'000'000'000)));
      if constexpr (overdue_timer_set<Set>) {
        set_.start_overdue(set_[i], within);
      } else {
        set_.start(set_[i], now_, within);
      }
    }
    fired_ = 0;
    const instant begin = clock_.now();
    drain();
    const tally result{.operations = count_, .fired = fired_, .time = clock_.now() - begin};
    if (fired_ != count_) throw failure(fmt::format("{} of {} timers fired", fired_, count_));
    return result;
  }

 protected:
  static constexpr duration millisecond = std::chrono::milliseconds(1);

  /// Fires what is due. A queue may stop short of the limit and report that there is more.
  template <class Sink>
  void expire_all(Sink&& sink) {
    while (set_.expire(now_, unlimited, sink).more) {
    }
  }

  [[nodiscard]] auto start_again() noexcept {
    return [this](timer& due) {
      ++due.payload;
      ++fired_;
      set_.start(due, now_, uniform_timeout(random_.next()));
    };
  }

  [[nodiscard]] auto count_only() noexcept {
    return [this](timer& due) {
      ++due.payload;
      ++fired_;
    };
  }

  const std::size_t count_;
  Set set_;
  quick_random random_;
  const monotonic_clock& clock_ = monotonic_clock::instance();
  instant now_ = instant::from_nanoseconds(1'000'000'000);
  std::uint64_t fired_ = 0;

 private:
  /// A loop may need more than one turn to see that time has passed.
  static constexpr int most_turns = 100'000;
  static constexpr std::size_t prefetched = 16;

  template <class Operation>
  tally timed_turns(std::uint64_t operations, duration step, Operation&& operation) {
    tally result;
    fired_ = 0;
    const instant begin = clock_.now();
    while (result.operations < operations) {
      for (int i = 0; i < operations_per_turn; ++i) operation();
      result.operations += operations_per_turn;
      now_ = plain_sum(now_, step);
      set_.refresh(now_, start_again());
    }
    result.time = clock_.now() - begin;
    result.fired = fired_;
    return result;
  }

  /// The index of the next timer, by the upper half of the draw; with prefetching, by the draw of 16 operations ago.
  template <bool Prefetch>
  std::size_t victim(std::uint64_t draw, std::size_t bound) {
    const std::size_t drawn = upper_below(draw, bound);
    if constexpr (!Prefetch) return drawn;
    set_.prefetch(set_[drawn]);
    std::size_t& oldest = ahead_[turn_++ % prefetched];
    const std::size_t due = oldest;
    oldest = drawn;
    return due;
  }

  void fire_one() {
    now_ = plain_sum(now_, millisecond);
    if constexpr (Set::time == time_kind::real_time) {
      const std::uint64_t before = fired_;
      for (int turn = 0; turn < most_turns && fired_ == before; ++turn) set_.expire(now_, unlimited, start_again());
    } else {
      expire_all(start_again());
    }
  }

  void drain() {
    if constexpr (Set::time == time_kind::real_time) {
      for (int turn = 0; turn < most_turns && fired_ < count_; ++turn) set_.expire(now_, unlimited, count_only());
    } else {
      // Queues that count in ticks may be a little late.
      for (int step = 0; step < 1001 || (step < 2000 && fired_ < count_); ++step) {
        now_ = plain_sum(now_, millisecond);
        expire_all(count_only());
      }
    }
  }

  const duration beat_;
  std::size_t free_ = 0;  // the timer to spare: the one that is not pending
  std::array<std::size_t, prefetched> ahead_{};
  std::size_t turn_ = 0;
};

}  // namespace foliot::program::bench
