// Threads that work on the timers of one service, for W5:
//
//   W5W1         each thread starts the one of its timers that is idle, and stops a random one, which is the next to be
//                started. Timeouts uniform from 100 ms to 1 h, so that next to nothing fires.
//   W5W2         each thread resets a random one of its own to 30 s from now.
//   W5W1-remote  each thread stops random timers of the next thread, and hands them over to it; it starts those of its
//                own that were handed to it. A start and a stop are one operation.
//
// A set that can fetch a timer's memory ahead is told of each timer 16 operations before its turn; one that takes many
// timers in one call gets 64 at once, so each thread has 64 timers that are idle.
//
// Each of K threads owns N / K timers, and one that is idle. They begin together, and each stops when its time is up;
// the figure is the time of one operation of all together, 1 / the sum of their rates. Where there is a core for each
// thread, each stays on one.
//
//   const samples found = crew(set, asked).run();   // in K threads that it makes
//
// A contestant that has threads of its own, such as a runtime, calls the three steps of each member there instead:
//
//   if (all.begin(index)) {
//     while (all.go_on(index)) { … let others have the thread … }
//   }
//   … and when all members have ended: all.result()
//
// run() and result() throw failure if the set throws, or does not do the workload.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>

#include "bench/roster.hpp"
#include "cores.hpp"
#include "quick_random.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

/// A contestant provides N timers, by their index, and the calls of the service or the library that keeps them, on the
/// real clock. Each thread has a `hand` with its own data, such as the time when it last read the clock. The thread
/// that owns a timer makes it; after that any thread may call, but no two threads call on one timer at the same time,
/// and a timer is idle when it is started.
template <class Set>
concept shared_timers = requires(Set set, typename Set::hand hand, std::size_t index, duration delay) {
  requires std::default_initializable<typename Set::hand>;
  set.make(index);
  set.start(hand, index, delay);
  { set.stop(hand, index) } -> std::same_as<bool>;
  set.reset(hand, index, delay);
  set.refresh(hand);  // after each 64 operations of this thread
};

/// The most timers in one call.
inline constexpr std::size_t most_of_batch = 64;

/// A set that is told which timer is next, a while before.
template <class Set>
concept timers_fetched_ahead = shared_timers<Set> && requires(Set set, std::size_t index) { set.prefetch(index); };

/// A set that takes up to most_of_batch timers in one call. A timer may be named twice.
template <class Set>
concept timers_in_batches =
    shared_timers<Set> && requires(Set set, typename Set::hand hand, std::span<const std::size_t> indices,
                                   std::span<const duration> delays, duration delay) {
      set.start_all(hand, indices, delays);
      { set.stop_all(hand, indices) } -> std::same_as<std::size_t>;  // how many were pending
      set.reset_all(hand, indices, delay);
    };

/// A timeout from 100 ms to 1 h, from the lower half of a draw: next to nothing fires.
[[nodiscard]] constexpr duration timeout_without_fires(std::uint64_t draw) noexcept {
  constexpr std::int64_t least = 100'000'000;
  constexpr std::int64_t most = 3'600'000'000'000;
  return duration::nanoseconds(least + static_cast<std::int64_t>(lower_below(draw, most - least)));
}

/// How many timers each thread owns, with those that are `idle`, and how many a set must hold.
[[nodiscard]] inline std::size_t timers_of_each(const request& asked, std::size_t idle = 1) noexcept {
  return std::max<std::size_t>(asked.timers / static_cast<std::size_t>(asked.threads), 1) + idle;
}
[[nodiscard]] inline std::size_t timers_of_all(const request& asked, std::size_t idle = 1) noexcept {
  return timers_of_each(asked, idle) * static_cast<std::size_t>(asked.threads);
}

/// A ring through which one thread hands numbers to one other, in order. Thread safety: one thread gives, one takes;
/// both are wait-free.
class hand_over {
 public:
  /// Holds at least so many numbers. Precondition: room is positive.
  explicit hand_over(std::size_t room) : ring_(std::bit_ceil(room)) {}

  /// False, and nothing done, if the ring is full.
  bool give(std::uint32_t number) noexcept {
    const std::size_t end = given_.load(seam::relaxed);  // only this thread writes it
    // acquire: pairs with the release in take(), after which the slot has been read.
    if (end - taken_.load(seam::acquire) == ring_.size()) return false;
    ring_[end % ring_.size()] = number;
    given_.store(end + 1, seam::release);  // publishes the slot, to take()
    return true;
  }

  /// False, and nothing done, if the ring is empty.
  bool take(std::uint32_t& number) noexcept {
    const std::size_t begin = taken_.load(seam::relaxed);   // only this thread writes it
    if (begin == given_.load(seam::acquire)) return false;  // pairs with the release in give()
    number = ring_[begin % ring_.size()];
    taken_.store(begin + 1, seam::release);  // gives the slot back, to give()
    return true;
  }

  /// Whether give() would fail. Only the thread that gives may ask.
  [[nodiscard]] bool full() const noexcept {
    return given_.load(seam::relaxed) - taken_.load(seam::acquire) == ring_.size();
  }

 private:
  static constexpr std::size_t line = 64;

  std::vector<std::uint32_t> ring_;
  alignas(line) seam::atomic<std::size_t> given_{0};  // written by the giver, read by both
  alignas(line) seam::atomic<std::size_t> taken_{0};  // written by the taker, read by both
};

template <shared_timers Set>
class crew {
 public:
  /// How many timers of each thread are idle.
  static constexpr std::size_t idle_of_each = timers_in_batches<Set> ? most_of_batch : 1;

  /// The set must hold timers_of_all(asked, idle_of_each).
  crew(Set& set, const request& asked) : set_(set), asked_(asked), each_(timers_of_each(asked, idle_of_each)) {
    for (int i = 0; i < asked.threads; ++i) members_.emplace_back(i, each_, asked.seed);
  }

  /// Each member in a thread that ends with it.
  samples run() {
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
  /// members need a thread at the same time, and must keep it: where there are enough cores, it stays on one from here
  /// on. False: a member has failed or will never begin, and there is nothing to do.
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
      failed_.store(true, seam::relaxed);  // a flag: no member waits for this one any more
      return false;
    }
    me.lasted = clock_.now() - me.began;
    if (me.lasted < me.time && me.done() < me.enough) return true;
    if (me.measured) {
      judge(me);
      return false;
    }
    gather(2);
    me.measured = true;
    me.halves = 0;
    me.idle = 0;
    me.began = common_begin();
    me.time = asked_.time;
    me.enough = UINT64_MAX;
    return true;
  }

  /// Declares that a member will never begin, for this reason, so that the others do not wait for it. The thread that
  /// calls result() must make the call.
  void give_up(std::string why) {
    wrong_ = std::move(why);
    failed_.store(true, seam::relaxed);  // a flag
  }

  /// The figure. Precondition: all members have ended.
  [[nodiscard]] samples result() const {
    if (!wrong_.empty()) throw failure(wrong_);
    double operations_a_nanosecond = 0;
    for (const member& each : members_) {
      if (!each.wrong.empty()) throw failure(each.wrong);
      operations_a_nanosecond += static_cast<double>(each.halves) / 2 / static_cast<double>(each.lasted.count());
    }
    // One thread may find all its work done by others, so that only the sum must be positive.
    if (operations_a_nanosecond <= 0) throw failure("it did nothing in all its time");
    return {{.figure = 1 / operations_a_nanosecond}};
  }

 private:
  static constexpr int operations_per_refresh = static_cast<int>(most_of_batch);
  static constexpr std::size_t fetched_ahead = 16;
  static constexpr int refreshes_per_look = 16;
  static constexpr duration heartbeat = std::chrono::seconds(30);
  static constexpr duration longest_warm_up = std::chrono::milliseconds(300);
  static constexpr std::uint64_t fewest_warm_operations = 10'000;

  struct drawn_timer {
    std::uint64_t draw = 0;
    std::size_t index = 0;
  };

  struct member {
    member(int which, std::size_t count, std::uint64_t seed)
        : index(which),
          first(static_cast<std::size_t>(which) * count),
          random(seed * 1'000'003 + static_cast<std::uint64_t>(which)),
          spare(first + count - 1),
          given_back(std::max<std::size_t>(count / 8, 1)) {
      for (std::size_t i = 0; i < spares.size(); ++i) spares[i] = spare - i;
      ahead.fill({0, first});
    }

    /// A start without its stop, or the other way round, is half of one.
    [[nodiscard]] std::uint64_t done() const noexcept { return halves / 2; }

    const int index;
    const std::size_t first;  // of its timers
    quick_random random;
    typename Set::hand hand{};
    std::size_t spare;                               // the timer that is idle
    std::array<std::size_t, idle_of_each> spares{};  // those that are, where timers are started together
    std::array<drawn_timer, fetched_ahead> ahead{};  // of the next operations, where their timers are fetched
    std::size_t turn = 0;                            // of that ring
    hand_over given_back;                            // its timers that another thread has stopped
    std::uint64_t halves = 0;
    std::uint64_t idle = 0;    // stops that found nothing to stop
    bool measured = false;     // false while it warms up
    instant began{};           // the warm-up, or the measurement
    duration time{};           // how long that may last
    std::uint64_t enough = 0;  // operations that end it earlier
    duration lasted{};
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
      if (i < each_ - idle_of_each) {
        set_.start(me.hand, me.first + i,
                   asked_.what == workload::w5w2 ? heartbeat : timeout_without_fires(me.random.next()));
      }
    }
  }

  /// Returns when all threads have called it for the `time`-th time, or one has failed.
  void gather(int time) noexcept {
    arrived_.fetch_add(1, seam::acq_rel);  // publishes what this thread did, to all that leave below
    while (arrived_.load(seam::acquire) < time * asked_.threads && !failed_.load(seam::relaxed)) give_way();
  }

  /// When the first thread began, so that a thread which had to wait for a core has waited within its time.
  instant common_begin() noexcept {
    std::int64_t begin = 0;
    const std::int64_t now = clock_.now().nanoseconds();
    // relaxed: a number, which publishes nothing.
    return instant::from_nanoseconds(begin_.compare_exchange_strong(begin, now, seam::relaxed) ? now : begin);
  }

  /// One of the first `count` timers of this thread.
  drawn_timer draw_of(member& me, std::size_t count) {
    const std::uint64_t draw = me.random.next();
    const drawn_timer drawn{draw, me.first + upper_below(draw, count)};
    if constexpr (timers_fetched_ahead<Set>) {
      set_.prefetch(drawn.index);
      return std::exchange(me.ahead[me.turn++ % fetched_ahead], drawn);
    } else {
      return drawn;
    }
  }

  void pairs(member& me) {
    if constexpr (timers_in_batches<Set>) return pairs_in_a_batch(me);
    for (int i = 0; i < operations_per_refresh; ++i) {
      const drawn_timer drawn = draw_of(me, each_);
      set_.start(me.hand, me.spare, timeout_without_fires(drawn.draw));
      me.spare = drawn.index;
      if (!set_.stop(me.hand, me.spare)) ++me.idle;
    }
    me.halves += 2 * operations_per_refresh;
  }

  void resets(member& me) {
    if constexpr (timers_in_batches<Set>) return resets_in_a_batch(me);
    for (int i = 0; i < operations_per_refresh; ++i) {
      set_.reset(me.hand, draw_of(me, each_ - 1).index, heartbeat);
    }
    me.halves += 2 * operations_per_refresh;
  }

  void pairs_in_a_batch(member& me)
    requires timers_in_batches<Set>
  {
    // One victim from each 64th of the timers, so that none is named twice, in an order of their own.
    const std::size_t stripe = each_ / most_of_batch;
    std::array<duration, most_of_batch> delays;
    std::array<std::size_t, most_of_batch> victims;
    for (std::size_t i = 0; i < most_of_batch; ++i) {
      const drawn_timer drawn = draw_of(me, stripe);
      delays[i] = timeout_without_fires(drawn.draw);
      victims[i] = drawn.index + stripe * (29 * i % most_of_batch);
    }
    set_.start_all(me.hand, me.spares, delays);
    me.idle += most_of_batch - set_.stop_all(me.hand, victims);
    me.spares = victims;
    me.halves += 2 * operations_per_refresh;
  }

  void resets_in_a_batch(member& me)
    requires timers_in_batches<Set>
  {
    std::array<std::size_t, most_of_batch> chosen;
    for (std::size_t& each : chosen) each = draw_of(me, each_ - most_of_batch).index;
    set_.reset_all(me.hand, chosen, heartbeat);
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
  const request& asked_;
  const std::size_t each_;
  std::deque<member> members_;  // they do not move
  const monotonic_clock& clock_ = monotonic_clock::instance();
  seam::atomic<std::int64_t> begin_{0};  // ns, written once, by the first thread that begins; 0 before that
  seam::atomic<int> arrived_{0};         // counts all threads, once for each gather(); publishes what came before
  seam::atomic<bool> failed_{false};     // written by any thread, read by all; publishes nothing
  std::string wrong_{};                  // why a member did not begin; of the thread that calls result()
};

inline const std::vector<workload> all_shared = {workload::w5w1, workload::w5w1_remote, workload::w5w2};
/// For sets whose timers are fetched ahead, or taken together.
inline const std::vector<workload> shared_by_owners = {workload::w5w1, workload::w5w2};

/// The offer of any set for W5: `make(asked)` returns a pointer to a set of timers_of_all(asked).
template <class Make>
[[nodiscard]] offer shared_by_threads(Make make, std::string remark = {}, std::vector<workload> takes = all_shared) {
  return {
      .takes = std::move(takes), .remark = std::move(remark), .run = [make = std::move(make)](const request& asked) {
        const auto set = make(asked);
        return crew(*set, asked).run();
      }};
}

}  // namespace foliot::program::bench
