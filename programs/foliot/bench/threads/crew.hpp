// Threads that work on the timers of one service, as W5 wants it:
//
//   W5W1         each thread starts the one of its timers that is idle, stops a random one; the one that
//                was stopped is the next to be started. Timeouts uniform from 100 ms to 1 h, so that
//                next to nothing fires.
//   W5W2         each thread resets a random one of its own to 30 s from now.
//   W5W1-remote  each thread stops random timers of the next thread, and hands them over to it; it starts
//                those of its own that were handed to it. A start and a stop are one operation.
//
// Each of K threads owns N / K timers (and one that is idle). They begin together, and each stops when its
// time is up; the figure is the time of one operation of all together, 1 / the sum of their rates. Where
// there is a core for each, each thread stays on one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>

#include "../quick_random.hpp"
#include "../trials/trial.hpp"
#include "hand_over.hpp"
#include "one_core_each.hpp"
#include "shared_timers.hpp"

namespace foliot::program::bench {

/// A timeout from 100 ms to 1 h, from the lower half of a draw.
[[nodiscard]] constexpr std::int64_t timeout_without_fires(std::uint64_t draw) noexcept {
  constexpr std::int64_t least = 100'000'000;
  constexpr std::int64_t most = 3'600'000'000'000;
  return least + static_cast<std::int64_t>(lower_below(draw, most - least));
}

/// How many timers a set for this trial must hold.
[[nodiscard]] inline std::size_t timers_of_each(const trial& asked) noexcept {
  return std::max<std::size_t>(asked.timers / static_cast<std::size_t>(asked.threads), 1) + 1;
}
[[nodiscard]] inline std::size_t timers_of_all(const trial& asked) noexcept {
  return timers_of_each(asked) * static_cast<std::size_t>(asked.threads);
}

template <shared_timers Set>
class crew {
 public:
  /// The set holds timers_of_all(asked).
  crew(Set& set, const trial& asked) : set_(set), asked_(asked), each_(timers_of_each(asked)) {
    for (int i = 0; i < asked.threads; ++i) members_.emplace_back(i, each_, asked.seed);
  }

  finding run() {
    std::vector<seam::thread> threads;
    for (member& each : members_) threads.emplace_back("bench", [this, &each] { work(each); });
    for (seam::thread& each : threads) each.join();
    double operations_a_nanosecond = 0;
    for (const member& each : members_) {
      if (!each.wrong.empty()) return {.wrong = each.wrong};
      operations_a_nanosecond += static_cast<double>(each.halves) / 2 / static_cast<double>(each.nanoseconds);
    }
    // One thread alone may find all its work done: that of the others is counted.
    if (operations_a_nanosecond <= 0) return {.wrong = "it did nothing in all its time"};
    return {.figure = 1 / operations_a_nanosecond};
  }

 private:
  static constexpr int operations_per_refresh = 64;
  static constexpr int refreshes_per_look = 16;
  static constexpr std::int64_t heartbeat = 30'000'000'000;
  static constexpr std::int64_t longest_warm_up = 300'000'000;
  static constexpr std::uint64_t fewest_warm_operations = 10'000;

  struct member {
    member(int which, std::size_t count, std::uint64_t seed)
        : index(which),
          first(static_cast<std::size_t>(which) * count),
          random(seed * 1'000'003 + static_cast<std::uint64_t>(which)),
          spare(first + count - 1),
          given_back(std::max<std::size_t>(count / 8, 1)) {}

    /// A start without its stop, or the other way round, is half of one.
    [[nodiscard]] std::uint64_t done() const noexcept { return halves / 2; }

    const int index;
    const std::size_t first;  // of its timers
    quick_random random;
    typename Set::hand hand{};
    std::size_t spare;     // the timer that is idle
    hand_over given_back;  // its timers that another thread has stopped
    std::uint64_t halves = 0;
    std::uint64_t idle = 0;  // stops that found nothing to stop
    std::int64_t nanoseconds = 0;
    std::string wrong{};
  };

  void work(member& me) {
    try {
      prepare(me);
    } catch (const std::exception& error) {
      me.wrong = error.what();
      failed_.store(true, seam::relaxed);  // seen by all after gather()
    }
    gather(1);
    if (failed_.load(seam::relaxed)) return;
    // Only now: a thread that the service has started for itself stays free to move.
    stay_on_one_core(me.index, asked_.threads);
    const std::uint64_t warm = asked_.quick ? 64 : std::max<std::uint64_t>(fewest_warm_operations, each_);
    run_for(me, clock_.now(), longest_warm_up, warm);
    gather(2);
    me.halves = 0;
    me.idle = 0;
    me.nanoseconds = run_for(me, common_begin(), asked_.nanoseconds, UINT64_MAX);
    judge(me);
  }

  void prepare(member& me) {
    set_.refresh(me.hand);
    for (std::size_t i = 0; i < each_; ++i) {
      set_.make(me.first + i);
      if (me.first + i != me.spare) {
        set_.start(me.hand, me.first + i,
                   asked_.what == workload::w5w2 ? heartbeat : timeout_without_fires(me.random.next()));
      }
    }
  }

  /// Until all threads are here, for the so-many-th time.
  void gather(int time) noexcept {
    arrived_.fetch_add(1, seam::acq_rel);  // publishes what this thread did, to all that leave below
    while (arrived_.load(seam::acquire) < time * asked_.threads) give_way();
  }

  /// When the first thread began: one that had to wait for a core has waited within its time.
  instant common_begin() noexcept {
    std::int64_t begin = 0;
    const std::int64_t now = clock_.now().nanoseconds();
    // relaxed: a number, which publishes nothing.
    return instant::from_nanoseconds(begin_.compare_exchange_strong(begin, now, seam::relaxed) ? now : begin);
  }

  std::int64_t run_for(member& me, instant begin, std::int64_t nanoseconds, std::uint64_t operations) {
    std::int64_t passed = 0;
    do {
      for (int i = 0; i < refreshes_per_look; ++i) {
        switch (asked_.what) {
          case workload::w5w2: resets(me); break;
          case workload::w5w1_remote: stops_of_another(me); break;
          default: pairs(me); break;
        }
        set_.refresh(me.hand);
      }
      passed = (clock_.now() - begin).count();
    } while (passed < nanoseconds && me.done() < operations);
    return passed;
  }

  void pairs(member& me) {
    for (int i = 0; i < operations_per_refresh; ++i) {
      const std::uint64_t draw = me.random.next();
      set_.start(me.hand, me.spare, timeout_without_fires(draw));
      me.spare = me.first + upper_below(draw, each_);
      if (!set_.stop(me.hand, me.spare)) ++me.idle;
    }
    me.halves += 2 * operations_per_refresh;
  }

  void resets(member& me) {
    for (int i = 0; i < operations_per_refresh; ++i) {
      set_.reset(me.hand, me.first + upper_below(me.random.next(), each_ - 1), heartbeat);
    }
    me.halves += 2 * operations_per_refresh;
  }

  void stops_of_another(member& me) {
    member& other = members_[static_cast<std::size_t>(me.index + 1) % members_.size()];
    std::uint64_t halves = 0;
    for (int i = 0; i < operations_per_refresh; ++i) {
      const std::uint64_t draw = me.random.next();
      if (!other.given_back.full()) {
        const std::size_t victim = upper_below(draw, each_);
        if (set_.stop(me.hand, other.first + victim)) {
          other.given_back.give(static_cast<std::uint32_t>(victim));
          ++halves;
        } else {
          ++me.idle;  // it is on its way to its owner
        }
      }
      if (std::uint32_t mine = 0; me.given_back.take(mine)) {
        set_.start(me.hand, me.first + mine, timeout_without_fires(draw));
        ++halves;
      }
    }
    me.halves += halves;
    if (halves == 0) give_way();  // the other threads are behind
  }

  void judge(member& me) {
    if (asked_.what == workload::w5w1 && me.idle > me.done() / 10) {
      me.wrong = fmt::format("{} of {} stops found no pending timer", me.idle, me.done());
    }
  }

  Set& set_;
  const trial& asked_;
  const std::size_t each_;
  std::deque<member> members_;  // they do not move
  const monotonic_clock& clock_ = monotonic_clock::instance();
  seam::atomic<std::int64_t> begin_{0};  // ns, written once; 0: nobody has begun
  seam::atomic<int> arrived_{0};         // counts all threads, once for each gather(); publishes what came before
  seam::atomic<bool> failed_{false};     // read after a gather(), which publishes it
};

/// A contestant of any set that is made for a trial: `make(asked)` gives a set of timers_of_all(asked).
template <class Make>
[[nodiscard]] trial_contestant shared_contestant(std::string name, Make make) {
  return {.name = std::move(name),
          .takes = {workload::w5w1, workload::w5w1_remote, workload::w5w2},
          .run = [make = std::move(make)](const trial& asked) {
            const auto set = make(asked);
            return crew(*set, asked).run();
          }};
}

}  // namespace foliot::program::bench
