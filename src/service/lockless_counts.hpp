// What threads do to a shard's timers without its lock, counted, each thread in a cache line of its own; and the
// credit that bounds how many of those that were stopped this way stay queued.
//
// relaxed, but for what sum() says: numbers that publish nothing.
//
// There is a fixed sum of credit. A stop takes one, and whoever ends it gives one back: the start that follows it, or
// the shard when the timer leaves its queue. Threads take and give it in batches, so that they seldom meet.
//
// Complexity: a load and a store each for the first 63 threads of a process that are alive; those beyond them may not
// stop without the lock, and pay an atomic instruction for the others. Memory: 4 KiB.
// Thread safety: every member from any thread, but where the shard's lock is asked for. The sums are exact once those
// who add have been heard of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/seam/sync.hpp>

namespace foliot::detail {

class lockless_counts {
  using number = seam::atomic<std::uint64_t>;

 public:
  /// How many stopped timers may be queued at once.
  static constexpr std::uint64_t most_stopped = 1024;

  void add_postponed() noexcept { add(&line::postponed, 1); }

  /// Before a stop. False: there is no credit, go by the lock.
  [[nodiscard]] bool take_credit() noexcept {
    line* const mine = my_line();
    if (mine == nullptr) return false;
    std::uint64_t left = mine->credit.load(seam::relaxed);
    if (left == 0) left = take_batch();
    if (left == 0) return false;
    mine->credit.store(left - 1, seam::relaxed);
    return true;
  }
  /// Of the thread that took it, if the stop has come to nothing.
  void give_credit_back() noexcept {
    number& credit = my_line()->credit;
    credit.store(credit.load(seam::relaxed) + 1, seam::relaxed);
  }
  void add_stop() noexcept { add(&line::stops, 1); }

  /// Before a start of a timer that was stopped: who stops it then has seen this, by the timer's word.
  void add_start() noexcept { add(&line::starts, 1); }
  /// If it has come to nothing.
  void take_start_back() noexcept { add(&line::starts, ~std::uint64_t{0}); }
  /// After it.
  void reward_start() noexcept {
    line* const mine = my_line();
    if (mine == nullptr) return give(1);
    std::uint64_t left = mine->credit.load(seam::relaxed) + 1;
    if (left > batch) {
      give(batch);
      left -= batch;
    }
    mine->credit.store(left, seam::relaxed);
  }

  /// A stopped timer has left the queue. Under the shard's lock.
  void add_dequeued() noexcept {
    dequeued_.store(dequeued_.load(seam::relaxed) + 1, seam::relaxed);
    give(1);
  }

  struct sums {
    std::uint64_t postponed = 0;
    std::uint64_t stops = 0;
    std::uint64_t starts = 0;
    std::uint64_t dequeued = 0;

    /// How many of those that are queued are not pending.
    [[nodiscard]] std::uint64_t stopped_but_queued(std::uint64_t queued) const noexcept {
      return stops > starts + dequeued ? std::min(stops - starts - dequeued, queued) : 0;
    }
  };
  /// Whoever is seen to have stopped a timer is also seen to have started it, so that nobody counts too few pending.
  /// Under the shard's lock.
  [[nodiscard]] sums sum() const noexcept {
    sums total{.dequeued = dequeued_.load(seam::relaxed)};
    // acquire: pairs with the release in add(): what is read from here on is as new as the stops.
    for (const line& each : lines_) total.stops += each.stops.load(seam::acquire);
    for (const line& each : lines_) {
      total.postponed += each.postponed.load(seam::relaxed);
      total.starts += each.starts.load(seam::relaxed);
    }
    return total;
  }

 private:
  static constexpr std::uint64_t batch = 16;

  // Only its thread writes a line of its own.
  struct alignas(64) line {
    number postponed{0};
    number stops{0};
    number starts{0};
    number credit{0};
  };

  [[nodiscard]] line* my_line() noexcept {
    const std::size_t mine = seam::this_thread_number();
    return mine != seam::shared_thread_number ? &lines_[mine] : nullptr;
  }
  void add(number line::* which, std::uint64_t much) noexcept {
    // release: pairs with the acquire in sum().
    if (line* const mine = my_line(); mine != nullptr) [[likely]] {
      (mine->*which).store((mine->*which).load(seam::relaxed) + much, seam::release);
    } else {
      (lines_[seam::shared_thread_number].*which).fetch_add(much, seam::release);
    }
  }

  [[gnu::noinline]] std::uint64_t take_batch() noexcept {
    std::uint64_t left = credit_.load(seam::relaxed);
    while (left >= batch) {
      if (credit_.compare_exchange_weak(left, left - batch, seam::relaxed, seam::relaxed)) return batch;
    }
    return 0;
  }
  void give(std::uint64_t much) noexcept { credit_.fetch_add(much, seam::relaxed); }

  std::array<line, seam::thread_numbers> lines_;
  number credit_{most_stopped};  // what no thread has
  number dequeued_{0};           // written under the shard's lock
};

}  // namespace foliot::detail
