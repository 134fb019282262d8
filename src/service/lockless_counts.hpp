// Counts of the calls that go without a shard's lock, for each thread in a cache line of its own; and the credit that
// bounds how many stopped timers stay queued.
//
// The sum of all credit is fixed. A stop takes one credit. The start that follows gives it back, or else the shard does
// when the timer leaves its queue. Threads take and give credit in batches, so that they seldom meet.
//
// Complexity: one load and one store each for the first 63 threads of a process that are alive. The threads beyond them
// may not stop without the lock, and their other counts cost an atomic instruction. Memory: 4 KiB.
// Thread safety: every member from any thread, except where the shard's lock is required. A sum is exact once all calls
// that it is to include are visible to its caller (lockless_path.hpp). Memory orders are relaxed except in sum() and
// add(): the counts publish nothing else.
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

  /// Before a stop. False: there is no credit, so the stop must take the lock.
  [[nodiscard]] bool take_credit() noexcept {
    line* const mine = my_line();
    if (mine == nullptr) return false;
    std::uint64_t left = mine->credit.load(seam::relaxed);
    if (left == 0) left = take_batch();
    if (left == 0) return false;
    mine->credit.store(left - 1, seam::relaxed);
    return true;
  }
  /// If the stop was refused. By the thread that took the credit.
  void undo_take_credit() noexcept {
    number& credit = my_line()->credit;
    credit.store(credit.load(seam::relaxed) + 1, seam::relaxed);
  }
  void add_stop() noexcept { add(&line::stops, 1); }

  /// Before a start of a stopped timer: a thread that stops the timer after that start sees this count, by the timer's
  /// word.
  void add_start() noexcept { add(&line::starts, 1); }
  /// If the start was refused.
  void undo_start() noexcept { add(&line::starts, ~std::uint64_t{0}); }
  /// After the start: gives a credit back.
  void return_credit() noexcept {
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

    /// How many of `queued` timers are stopped.
    [[nodiscard]] std::uint64_t stopped_but_queued(std::uint64_t queued) const noexcept {
      return stops > starts + dequeued ? std::min(stops - starts - dequeued, queued) : 0;
    }
  };
  /// A sum that includes the stop of a timer also includes the start before it, so it never finds too few timers
  /// pending. Under the shard's lock.
  [[nodiscard]] sums sum() const noexcept {
    sums total{.dequeued = dequeued_.load(seam::relaxed)};
    // acquire: pairs with the release in add(): the counts that are read below are at least as new as the stops.
    for (const line& each : lines_) total.stops += each.stops.load(seam::acquire);
    for (const line& each : lines_) {
      total.postponed += each.postponed.load(seam::relaxed);
      total.starts += each.starts.load(seam::relaxed);
    }
    return total;
  }

 private:
  static constexpr std::uint64_t batch = 16;

  // One for each thread number; only that thread writes it, except the last, which the other threads share.
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
  number credit_{most_stopped};  // the credit that no thread holds
  number dequeued_{0};           // written under the shard's lock
};

}  // namespace foliot::detail
