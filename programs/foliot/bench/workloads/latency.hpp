// The workloads that time each call by itself, over any set of timers.
//
//   uniform   N timers, timeouts uniform from 1 ms to 1 h. Each step moves time by 1 ms, expires with a budget of 100
//             until nothing is due, and stops, starts and resets a random one.
//   one slot  N timers due within one window of 262,144 ns, some 1 s ahead. Up to there each step moves time by 1 ms,
//             expires, and stops, starts and resets 16 of them within the window. Then all fire, 100 a call.
//
// Nothing is subtracted: each figure holds a reading of the clock, some 22 ns. Sets that read the system's clock stay
// where they are in time, and most know no budget: one turn fires all that is due.
//
// All functions throw failure where the set does not do what was asked of it.
// Thread safety: none, one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "throughput.hpp"

namespace foliot::program::bench {

inline constexpr budget timed_budget = 100;

/// How long each single call took, in ns. Calls that took 4.29 s or longer count as that.
struct call_times {
  std::vector<std::uint32_t> start{};
  std::vector<std::uint32_t> stop{};
  std::vector<std::uint32_t> reset{};
  std::vector<std::uint32_t> expire{};
  std::uint64_t fired = 0;
  duration expire_time{};  ///< of all calls of expire together
};

template <timer_set Set>
class latency : public throughput<Set> {
 public:
  using timer = typename throughput<Set>::timer;
  using throughput<Set>::throughput;

  call_times uniform(std::uint64_t steps) {
    call_times times;
    reserve(times, steps, steps + steps / 2);
    this->fired_ = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
      this->now_ += this->millisecond;
      expire_step(times, this->start_again());
      const std::uint64_t draw = this->random_.next();
      timer& stopped = this->set_[upper_below(draw, this->count_)];
      timer& moved = this->set_[lower_below(draw, this->count_)];
      const std::uint64_t delays = this->random_.next();
      change(times, stopped, moved, uniform_timeout(delays), uniform_timeout(delays >> 32));
    }
    times.fired = this->fired_;
    return times;
  }

  call_times one_slot() {
    constexpr int steps = 1'000;
    call_times times;
    reserve(times, std::size_t{steps} * changes_per_step, steps + 4 * this->count_ / timed_budget);
    this->fired_ = 0;
    const std::int64_t about = (this->now_ + steps * this->millisecond).nanoseconds();
    const instant opens = instant::from_nanoseconds((about + slot_window) / slot_window * slot_window);
    for (std::size_t i = 0; i < this->count_; ++i) {
      this->set_.start(this->set_[i], this->now_, opens - this->now_ + within_slot(this->random_.next()));
    }
    for (; this->now_ + this->millisecond < opens; this->now_ += this->millisecond) {
      if constexpr (Set::time == time_kind::virtual_time) expire_step(times, this->count_only());
      for (int i = 0; i < changes_per_step; ++i) {
        const std::uint64_t draw = this->random_.next();
        const duration delay = opens - this->now_ + within_slot(this->random_.next());
        change(times, this->set_[upper_below(draw, this->count_)], this->set_[lower_below(draw, this->count_)], delay,
               delay);
      }
    }
    this->now_ = opens + duration::nanoseconds(slot_window);
    fire_slot(times);
    times.fired = this->fired_;
    if (times.fired != this->count_) throw failure(fmt::format("{} of {} timers fired", times.fired, this->count_));
    return times;
  }

 private:
  static constexpr std::int64_t slot_window = 262'144;  // ns
  static constexpr int changes_per_step = 16;
  static constexpr int most_turns = 100'000;

  static duration within_slot(std::uint64_t draw) noexcept {
    return duration::nanoseconds(static_cast<std::int64_t>(lower_below(draw, slot_window)));
  }

  static void reserve(call_times& times, std::uint64_t changes, std::uint64_t expires) {
    for (auto* each : {&times.start, &times.stop, &times.reset}) each->reserve(changes);
    times.expire.reserve(expires);
  }

  template <class Call>
  duration timed(std::vector<std::uint32_t>& times, Call&& call) {
    const instant begin = this->clock_.now();
    call();
    const duration took = this->clock_.now() - begin;
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    times.push_back(static_cast<std::uint32_t>(std::min(took.count(), most)));
    return took;
  }

  void change(call_times& times, timer& stopped, timer& moved, duration start_delay, duration reset_delay) {
    bool was_pending = false;
    timed(times.stop, [&] { was_pending = this->set_.stop(stopped); });
    if (!was_pending) throw failure("a stop found no pending timer");
    timed(times.start, [&] { this->set_.start(stopped, this->now_, start_delay); });
    timed(times.reset, [&] { this->set_.reset(moved, this->now_, reset_delay); });
  }

  /// A set that reads the clock itself has one turn: the workload does not know what is due there.
  template <class Sink>
  void expire_step(call_times& times, Sink&& sink) {
    bool more = true;
    while (more) {
      times.expire_time += timed(times.expire, [&] { more = this->set_.expire(this->now_, timed_budget, sink).more; });
      if (Set::time == time_kind::real_time) more = false;
    }
  }

  void fire_slot(call_times& times) {
    if constexpr (overdue_timer_set<Set>) {
      for (std::size_t i = 0; i < this->count_; ++i) {
        this->set_.stop(this->set_[i]);
        this->set_.start_overdue(this->set_[i], within_slot(this->random_.next()));
      }
    }
    for (int turn = 0; turn < most_turns && this->fired_ < this->count_; ++turn) {
      expire_step(times, this->count_only());
      // Queues that count in ticks may be a little late.
      if (Set::time == time_kind::virtual_time) this->now_ += this->millisecond;
    }
  }
};

}  // namespace foliot::program::bench
