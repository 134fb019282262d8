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
//
//   const finding found = crew(set, asked).run();   // in K threads that it makes
//
// A contestant that has threads of its own, such as a runtime, calls the three steps of each member there instead:
//
//   if (all.begin(index)) {
//     while (all.go_on(index)) { … let others have the thread … }
//   }
//   … and when all members have ended: all.result()
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <utility>
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

  /// Each member in a thread that ends with it.
  finding run() {
    std::vector<seam::thread> threads;
    try {
      for (int i = 0; i < asked_.threads; ++i) {
        threads.emplace_back("bench", [this, i] {
          if (!begin(i)) return;
          while (go_on(i)) {
          }
        });
      }
    } catch (const std::exception& error) {
      give_up(error.what());
    }
    for (seam::thread& each : threads) each.join();
    return result();
  }

  /// Makes and starts the timers of member `index`, counted from 0, and returns when all members have done so. All
  /// members need a thread at the same time, and keep it: where there are enough cores, it stays on one from here on.
  /// False: a member has failed or will never begin, and there is nothing to do.
  [[nodiscard]] bool begin(int index) {
    member& me = members_[static_cast<std::size_t>(index)];
    try {
      prepare(me);
    } catch (const std::exception& error) {
      me.wrong = error.what();
      failed_.store(true, seam::relaxed);  // a flag; its reason is read after the thread has been joined
    }
    gather(1);
    if (failed_.load(seam::relaxed)) return false;
    // Only now: a thread that the service has started for itself stays free to move.
    stay_on_one_core(me.index, asked_.threads);
    me.began = clock_.now();
    me.time = longest_warm_up;
    me.enough = asked_.quick ? 64 : std::max<std::uint64_t>(fewest_warm_operations, each_);
    return true;
  }

  /// Does the next 1,024 operations of this member. When its warm-up has ended it waits for that of the others.
  /// False: its time is up.
  [[nodiscard]] bool go_on(int index) {
    member& me = members_[static_cast<std::size_t>(index)];
    try {
      work(me);
    } catch (const std::exception& error) {
      me.wrong = error.what();
      failed_.store(true, seam::relaxed);  // a flag: nobody waits for this member
      return false;
    }
    me.nanoseconds = (clock_.now() - me.began).count();
    if (me.nanoseconds < me.time && me.done() < me.enough) return true;
    if (me.measured) {
      judge(me);
      return false;
    }
    gather(2);
    me.measured = true;
    me.halves = 0;
    me.idle = 0;
    me.began = common_begin();
    me.time = asked_.nanoseconds;
    me.enough = UINT64_MAX;
    return true;
  }

  /// A member will never begin, for this reason: the others need not wait for it. Called by the thread that asks for
  /// the result.
  void give_up(std::string why) {
    wrong_ = std::move(why);
    failed_.store(true, seam::relaxed);  // a flag
  }

  /// What came out, after all members have ended.
  [[nodiscard]] finding result() const {
    if (!wrong_.empty()) return {.wrong = wrong_};
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
    std::uint64_t idle = 0;        // stops that found nothing to stop
    bool measured = false;         // what it does now; before that it warms up
    instant began{};               // either of them
    std::int64_t time = 0;         // ns: how long it may last
    std::uint64_t enough = 0;      // operations that end it earlier
    std::int64_t nanoseconds = 0;  // that it has lasted
    std::string wrong{};
  };

  void work(member& me) {
    for (int i = 0; i < refreshes_per_look; ++i) {
      switch (asked_.what) {
        case workload::w5w2: resets(me); break;
        case workload::w5w1_remote: stops_of_another(me); break;
        default: pairs(me); break;
      }
      set_.refresh(me.hand);
    }
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

  /// Until all threads are here, for the so-many-th time, or one has failed.
  void gather(int time) noexcept {
    arrived_.fetch_add(1, seam::acq_rel);  // publishes what this thread did, to all that leave below
    while (arrived_.load(seam::acquire) < time * asked_.threads && !failed_.load(seam::relaxed)) give_way();
  }

  /// When the first thread began: one that had to wait for a core has waited within its time.
  instant common_begin() noexcept {
    std::int64_t begin = 0;
    const std::int64_t now = clock_.now().nanoseconds();
    // relaxed: a number, which publishes nothing.
    return instant::from_nanoseconds(begin_.compare_exchange_strong(begin, now, seam::relaxed) ? now : begin);
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
  seam::atomic<bool> failed_{false};     // written by any thread, read by all; publishes nothing
  std::string wrong_{};                  // why a member did not begin; of the thread that asks for the result
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
