// The workloads of one thread, over any set of timers, and the offer of them:
//
//   add_timers<multimap_timers>(to.add("multimap"), "a reset allocates nothing");
//
// Every contestant gets the same draws from the same seed, so that exact queues do exactly the same: the tests compare
// what they fire. A timer that fires starts itself again, except in W3 and worst-one-slot.
//
//   W1  start one and stop a random one, of N+1; the stopped one is the next to be started. Time moves by 1 us a pair,
//       and due timers fire after each 64 pairs.
//   W2  reset a random one to 30 s from now. Time moves by 10 s / N, so that each is reset about once in 10 s; 5 % of
//       the gaps are longer than 30 s and fire. Due timers fire after each 64 resets. The timers begin as if this had
//       gone on for ever.
//   W3  N timers due over 1 s, at random; time moves by 1 ms, 1,001 times. Starting them is not timed.
//   W4  of 100 operations, 90 reset a random one to 30 s from now, 9 stop a random one and start it again, 1 makes a
//       random one due, moves time by 1 ms, and fires it.
//
// These are timed as a whole. They warm up until each timer has been touched about once, in W2 three times, or for
// 0.3 s: only after 30 s of W2's time, which is 3 resets a timer, does a queue do the work that resets have postponed.
// The others time each call by itself: each figure includes one reading of the clock, some 22 ns.
//
//   worst-uniform   N timers, timeouts uniform from 1 ms to 1 h. Each step moves time by 1 ms, expires with a budget of
//                   100 until nothing is due, and stops, starts and resets a random one.
//   worst-one-slot  N timers due within one window of 262,144 ns, some 1 s ahead. Up to there each step moves time by
//                   1 ms, expires, and stops, starts and resets 16 of them within the window. Then all fire, 100 a
//                   call.
//
// A set that reads the system's clock cannot be moved in time: it refreshes its clock each 64 operations; in W3 all of
// its timers are overdue and fire in one go; in W4 a turn of its loop fires the timer that is due. Most such sets know
// no budget: one turn fires all that is due.
//
// A set of timers, which a contestant provides, has N timers in one array, and the calls of the queue or the library
// that keeps them. The workload passes the time (`now`). A set whose `time` is real_time reads a clock of its own and
// uses only the delays. The sink of `refresh` and `expire` receives each timer that fires, and may start it again.
//
// All functions throw failure if the set does not do the workload.
// Thread safety: none, one thread, which should stay on one core (cores.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>

#include "bench/resident_memory.hpp"
#include "bench/roster.hpp"
#include "quick_random.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

/// `now` + `delay` without the saturation of operator+, whose instructions would be in the figures. Precondition: the
/// sum is far from instant::never().
[[nodiscard]] constexpr instant plain_sum(instant now, duration delay) noexcept {
  return instant::from_nanoseconds(now.nanoseconds() + delay.count());
}

/// Stands for any sink where the concept is checked.
template <class Timer>
struct any_timer_sink {
  void operator()(Timer&) const;
};

template <class Set>
concept timer_set = std::constructible_from<Set, std::size_t> &&
                    requires(Set set, std::size_t index, typename Set::timer& timer, instant now, duration delay,
                             budget limit, any_timer_sink<typename Set::timer> sink) {
                      { Set::time } -> std::convertible_to<time_kind>;
                      { set[index] } -> std::same_as<typename Set::timer&>;
                      { timer.payload } -> std::same_as<std::uint64_t&>;  // 8 bytes of the user's own
                      set.start(timer, now, delay);                       // Precondition: it is not pending
                      { set.stop(timer) } -> std::same_as<bool>;          // whether it was pending
                      set.reset(timer, now, delay);
                      set.prefetch(timer);
                      set.refresh(now, sink);  // time has moved on a little
                      { set.expire(now, limit, sink) } -> std::same_as<expiry>;
                    };

/// A set that can start a timer which has been due since `ago`, so that a measurement of firing need not wait for the
/// system's clock.
template <class Set>
concept overdue_timer_set =
    timer_set<Set> && requires(Set set, typename Set::timer& timer, duration ago) { set.start_overdue(timer, ago); };

/// The array of a set.
template <class Timer>
class timer_array {
 public:
  using timer = Timer;

  explicit timer_array(std::size_t count) : timers_(std::make_unique<timer[]>(count)), count_(count) {}

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }
  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }

 protected:
  [[nodiscard]] timer* begin() const noexcept { return timers_.get(); }
  [[nodiscard]] timer* end() const noexcept { return timers_.get() + count_; }

 private:
  std::unique_ptr<timer[]> timers_;
  std::size_t count_;
};

/// A timeout from 1 ms to 1 h, from the lower half of a draw.
[[nodiscard]] constexpr duration uniform_timeout(std::uint64_t draw) noexcept {
  constexpr std::int64_t least = 1'000'000;
  constexpr std::uint64_t span = 3'600'000'000'000 - least;
  return duration::nanoseconds(least + static_cast<std::int64_t>(lower_below(draw, span)));
}

/// A stretch of a workload, in numbers.
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
class one_thread {
 public:
  using timer = typename Set::timer;

  /// N timers and one to spare, started as the workload has them in the beginning.
  one_thread(workload what, std::size_t count, std::uint64_t seed)
      : what_(what),
        count_(count),
        set_(count + 1),
        random_(seed),
        beat_(mean_between_heartbeats / static_cast<std::int64_t>(count)) {
    switch (what) {
      case workload::w2:
      case workload::w2p: start_heartbeats(); break;
      case workload::w3:
      case workload::worst_one_slot: break;  // they start their timers themselves
      default: start_uniform();
    }
  }

  /// At least so many operations of W1 to W4; of W3 always all.
  tally run(std::uint64_t operations) {
    switch (what_) {
      case workload::w1: return pairs<false>(operations);
      case workload::w1p: return pairs<true>(operations);
      case workload::w2: return heartbeats<false>(operations);
      case workload::w2p: return heartbeats<true>(operations);
      case workload::w3: return fire_all();
      case workload::w4: return mixture(operations);
      default: throw failure("it does not take part");
    }
  }

  /// Single calls, a sample for each kind: so many steps of 1 ms of worst-uniform; worst-one-slot goes on until all
  /// timers have fired.
  samples time_calls(std::uint64_t steps) { return what_ == workload::worst_uniform ? uniform(steps) : one_slot(); }

 private:
  enum call_kind : std::size_t { starts, stops, resets, expires };
  static constexpr int operations_per_turn = 64;  // between two refreshes of the time
  static constexpr std::size_t prefetched = 16;
  static constexpr int most_turns = 100'000;  // a loop may need more than one turn to see that time has passed
  static constexpr int changes_per_step = 16;
  static constexpr budget timed_budget = 100;
  static constexpr std::int64_t slot_window = 262'144;  // ns
  static constexpr duration heartbeat = std::chrono::seconds(30);
  static constexpr duration mean_between_heartbeats = std::chrono::seconds(10);
  static constexpr duration microsecond = std::chrono::microseconds(1);
  static constexpr duration millisecond = std::chrono::milliseconds(1);

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

  // ---------------------------------------------------------------- timed as a whole

  template <bool Prefetch>
  tally pairs(std::uint64_t operations) {
    std::uint64_t idle = 0;
    const tally result = timed_turns(operations, operations_per_turn * microsecond, [&] {
      const std::uint64_t draw = random_.next();
      set_.start(set_[free_], now_, uniform_timeout(draw));
      free_ = victim<Prefetch>(draw, count_ + 1);
      if (!set_.stop(set_[free_])) ++idle;
    });
    if (idle > 0) throw failure(fmt::format("{} of {} stops found no pending timer", idle, result.operations));
    return result;
  }

  template <bool Prefetch>
  tally heartbeats(std::uint64_t operations) {
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

  // ---------------------------------------------------------------- each call timed by itself

  samples uniform(std::uint64_t steps) {
    samples times = room_for(steps, steps + steps / 2);
    fired_ = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
      now_ += millisecond;
      expire_step(times, start_again());
      const std::uint64_t draw = random_.next();
      timer& stopped = set_[upper_below(draw, count_)];
      timer& moved = set_[lower_below(draw, count_)];
      const std::uint64_t delays = random_.next();
      change(times, stopped, moved, uniform_timeout(delays), uniform_timeout(delays >> 32));
    }
    return times;
  }

  samples one_slot() {
    constexpr int steps = 1'000;
    samples times = room_for(std::size_t{steps} * changes_per_step, steps + 4 * count_ / timed_budget);
    fired_ = 0;
    const std::int64_t about = (now_ + steps * millisecond).nanoseconds();
    const instant opens = instant::from_nanoseconds((about + slot_window) / slot_window * slot_window);
    for (std::size_t i = 0; i < count_; ++i) {
      set_.start(set_[i], now_, opens - now_ + within_slot(random_.next()));
    }
    for (; now_ + millisecond < opens; now_ += millisecond) {
      if constexpr (Set::time == time_kind::virtual_time) expire_step(times, count_only());
      for (int i = 0; i < changes_per_step; ++i) {
        const std::uint64_t draw = random_.next();
        const duration delay = opens - now_ + within_slot(random_.next());
        change(times, set_[upper_below(draw, count_)], set_[lower_below(draw, count_)], delay, delay);
      }
    }
    now_ = opens + duration::nanoseconds(slot_window);
    fire_slot(times);
    if (fired_ != count_) throw failure(fmt::format("{} of {} timers fired", fired_, count_));
    times[expires].per_fired = static_cast<double>(expire_time_.count()) / static_cast<double>(fired_);
    return times;
  }

  static duration within_slot(std::uint64_t draw) noexcept {
    return duration::nanoseconds(static_cast<std::int64_t>(lower_below(draw, slot_window)));
  }

  /// Samples without a call yet, in the order of call_kind.
  static samples room_for(std::uint64_t changes, std::uint64_t expires) {
    samples times{{.call = "start"}, {.call = "stop"}, {.call = "reset"}, {.call = "expire"}};
    for (sample& one : times) one.each.reserve(one.call == "expire" ? expires : changes);
    return times;
  }

  /// Calls of 4.29 s or longer count as that.
  template <class Call>
  duration timed(sample& times, Call&& call) {
    const instant begin = clock_.now();
    call();
    const duration took = clock_.now() - begin;
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    times.each.push_back(static_cast<std::uint32_t>(std::min(took.count(), most)));
    return took;
  }

  void change(samples& times, timer& stopped, timer& moved, duration start_delay, duration reset_delay) {
    bool was_pending = false;
    timed(times[stops], [&] { was_pending = set_.stop(stopped); });
    if (!was_pending) throw failure("a stop found no pending timer");
    timed(times[starts], [&] { set_.start(stopped, now_, start_delay); });
    timed(times[resets], [&] { set_.reset(moved, now_, reset_delay); });
  }

  /// A set that reads the clock itself has one turn, because the workload does not know which timers are due there.
  template <class Sink>
  void expire_step(samples& times, Sink&& sink) {
    bool more = true;
    while (more) {
      expire_time_ += timed(times[expires], [&] { more = set_.expire(now_, timed_budget, sink).more; });
      if (Set::time == time_kind::real_time) more = false;
    }
  }

  void fire_slot(samples& times) {
    if constexpr (overdue_timer_set<Set>) {
      for (std::size_t i = 0; i < count_; ++i) {
        set_.stop(set_[i]);
        set_.start_overdue(set_[i], within_slot(random_.next()));
      }
    }
    for (int turn = 0; turn < most_turns && fired_ < count_; ++turn) {
      expire_step(times, count_only());
      // Queues that count in ticks may be a little late.
      if (Set::time == time_kind::virtual_time) now_ += millisecond;
    }
  }

  // ---------------------------------------------------------------- firing

  /// Fires all timers that are due. A queue may stop before the limit and report that there are more.
  template <class Sink>
  void expire_all(Sink&& sink) {
    while (set_.expire(now_, unlimited, sink).more) {
    }
  }

  auto start_again() noexcept {
    return [this](timer& due) {
      ++due.payload;
      ++fired_;
      set_.start(due, now_, uniform_timeout(random_.next()));
    };
  }

  auto count_only() noexcept {
    return [this](timer& due) {
      ++due.payload;
      ++fired_;
    };
  }

  const workload what_;
  const std::size_t count_;
  Set set_;
  quick_random random_;
  const monotonic_clock& clock_ = monotonic_clock::instance();
  instant now_ = instant::from_nanoseconds(1'000'000'000);
  std::uint64_t fired_ = 0;
  duration expire_time_{};  // of all timed calls of expire together
  const duration beat_;
  std::size_t free_ = 0;  // the timer to spare: the one that is not pending
  std::array<std::size_t, prefetched> ahead_{};
  std::size_t turn_ = 0;
};

/// Until it has lasted that long, or done so many operations.
template <timer_set Set>
tally run_for(one_thread<Set>& work, duration time, std::uint64_t operations) {
  constexpr std::uint64_t operations_between_looks = 8192;
  tally total;
  do {
    total += work.run(std::min(operations - total.operations, operations_between_looks));
  } while (total.time < time && total.operations < operations);
  return total;
}

template <timer_set Set>
samples measure_cost(const request& asked) {
  constexpr duration longest_warm_up = std::chrono::milliseconds(300);
  const bool heartbeats = asked.what == workload::w2 || asked.what == workload::w2p;
  const std::uint64_t fewest = asked.quick ? 64 : 10'000;
  one_thread<Set> work(asked.what, asked.timers, asked.seed);
  run_for(work, longest_warm_up, std::max<std::uint64_t>(fewest, (heartbeats ? 3 : 1) * asked.timers));
  const tally total = run_for(work, asked.time, UINT64_MAX);
  return {{.figure = static_cast<double>(total.time.count()) / static_cast<double>(total.operations)}};
}

template <timer_set Set>
samples measure_calls(const request& asked) {
  // 300 s of virtual time: long enough that the coarse slots of wheels open too.
  return one_thread<Set>(asked.what, asked.timers, asked.seed).time_calls(asked.quick ? 1'000 : 300'000);
}

/// Adds what such a set can do in one thread: everything, or what needs no timer that fires.
template <timer_set Set>
void add_timers(contestant& to, std::string remark = {}) {
  offer made{.time = Set::time, .remark = std::move(remark), .run = [](const request& asked) {
               return kind_of(asked.what) == figure_kind::calls ? measure_calls<Set>(asked) : measure_cost<Set>(asked);
             }};
  for (const workload each : all_workloads) {
    if (in_one_thread(each) && (Set::time != time_kind::no_time || !about(each).timers_fire))
      made.takes.push_back(each);
  }
  to.offers.push_back(std::move(made));
  to.bytes_per_timer = [](std::size_t timers) {
    return bytes_each(timers, [](std::size_t n) { return std::make_unique<one_thread<Set>>(workload::w1, n, 1); });
  };
}

}  // namespace foliot::program::bench
