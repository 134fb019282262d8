// The calls on a timer that go without its shard's lock: one compare-and-swap on the timer's word, and a count.
//
//   reset    postpones a pending timer, or starts a stopped one where it is still queued
//   stop     stops a pending timer, and leaves it queued
//
// Each of them may refuse: the caller then takes the lock, and does the same there. A stop also refuses when too many
// stopped timers are queued, and all refuse once the shard is closing, that is, drains or has ended.
//
// A call that races with close() takes effect, as if it had come before. The draining thread may not have counted the
// timer of that call: so after a start or a stop the caller asks is_closing_after_call(), and notifies the draining
// thread if that returns true. Barriers make it certain that at least one of the two threads sees the other's write.
//
// Thread safety: every member from any thread, except where its comment requires the shard's lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/queue/detail/timer_word.hpp>

namespace foliot::detail {

/// Counts of the calls that go without the lock, for each thread in a cache line of its own; and the credit that bounds
/// how many stopped timers stay queued.
///
/// The sum of all credit is fixed. A stop takes one credit. The start that follows gives it back, or else the shard
/// does when the timer leaves its queue. Threads take and give credit in batches, so that they seldom meet.
///
/// Complexity: one load and one store each for the first 63 threads of a process that are alive. The threads beyond
/// them may not stop without the lock, and their other counts cost an atomic instruction. Memory: 4 KiB. A sum is exact
/// once all calls that it is to include are visible to its caller. Memory orders are relaxed except in sum() and add():
/// the counts publish nothing else.
class lockless_counts {
  using number = seam::atomic<std::uint64_t>;

 public:
  /// How many stopped timers may be queued at once.
  static constexpr std::uint64_t most_stopped = 1024;

  void add_postponed(std::uint64_t much = 1) noexcept { add(&line::postponed, much); }

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
  [[gnu::always_inline]] void add(number line::* which, std::uint64_t much) noexcept {
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

/// What became of a reset without the lock.
enum class lockless_reset : std::uint8_t {
  refused,       ///< nothing: take the lock
  postponed,     ///< the timer was pending, and has the new deadline
  started,       ///< the timer was stopped, and is pending
  started_late,  ///< the same, but it is queued for a later deadline: requeue it under the lock
};

/// For designs whose records have a timer_word.
class lockless_path {
 public:
  /// How many entries of the queue may be those of stopped timers.
  static constexpr std::uint64_t most_stopped = lockless_counts::most_stopped;

  /// `queued_at` returns the deadline that the timer is queued at, which another thread may be changing.
  // Inlined, as stop(): single calls and batches both have it in their own code.
  template <class QueuedAt>
  [[nodiscard, gnu::always_inline]] lockless_reset reset(timer_word& word, instant deadline,
                                                         QueuedAt queued_at) noexcept {
    // Before the word is changed: in a service that has ended, and in the child of a fork, timers that are still to be
    // dropped have armed words.
    if (is_closing()) [[unlikely]]
      return lockless_reset::refused;
    if (word.postpone(deadline)) {
      counts_.add_postponed();
      return lockless_reset::postponed;
    }
    if (!word.load().stopped()) return lockless_reset::refused;
    counts_.add_start();
    const auto started = word.start(deadline, queued_at);
    if (started == timer_word::started::no) {
      counts_.undo_start();
      return lockless_reset::refused;
    }
    counts_.return_credit();
    return started == timer_word::started::queued_late ? lockless_reset::started_late : lockless_reset::started;
  }

  /// The first part of reset(), for a batch, which counts all of its timers at once: whether the timer was pending and
  /// has the new deadline.
  [[nodiscard]] bool postpone_uncounted(timer_word& word, instant deadline) noexcept {
    return !is_closing() && word.postpone(deadline);
  }
  void count_postponed(std::uint64_t timers) noexcept {
    if (timers != 0) counts_.add_postponed(timers);
  }

  /// False: refused.
  [[nodiscard, gnu::always_inline]] bool stop(timer_word& word) noexcept {
    if (!word.armed() || is_closing() || !counts_.take_credit()) return false;
    if (!word.stop()) {
      counts_.undo_take_credit();
      return false;
    }
    counts_.add_stop();
    return true;
  }

  /// After a start or a stop: whether the shard is closing, so that the caller must notify the thread that drains it.
  [[nodiscard]] bool is_closing_after_call() const noexcept {
    seam::light_barrier();  // pairs with the heavy one in close()
    return is_closing();
  }

  [[nodiscard]] bool is_closing() const noexcept { return closing_.load(seam::relaxed); }

  /// From now on all calls refuse, except for those that are under way. A start or a stop among them is counted by the
  /// caller's next sum(), or sees that the shard is closing (is_closing_after_call). Under the lock.
  void close() noexcept {
    closing_.store(true, seam::relaxed);
    seam::heavy_barrier();  // pairs with the light one in is_closing_after_call()
  }
  /// The same in the child of a fork, which has one thread.
  void close_in_child() noexcept { closing_.store(true, seam::relaxed); }

  /// A timer that was stopped without the lock has left the queue. Under the lock.
  void count_dequeued() noexcept { counts_.add_dequeued(); }
  /// Under the lock.
  [[nodiscard]] lockless_counts::sums sum() const noexcept { return counts_.sum(); }

 private:
  // Written under the lock, read without it. On a cache line that is otherwise constant: on the lock's line, each lock
  // would take the line away from the threads that read this.
  seam::atomic<bool> closing_{false};
  lockless_counts counts_;  // begins on the next cache line
};

/// For designs without a timer_word: every call takes the lock.
class no_lockless_path {
 public:
  static constexpr std::uint64_t most_stopped = 0;

  template <class Word, class QueuedAt>
  static constexpr lockless_reset reset(Word&, instant, QueuedAt) noexcept {
    return lockless_reset::refused;
  }
  template <class Word>
  static constexpr bool stop(Word&) noexcept {
    return false;
  }
  static constexpr bool is_closing_after_call() noexcept { return false; }
  static constexpr bool is_closing() noexcept { return false; }
  static void close() noexcept {}
  static void close_in_child() noexcept {}
  static void count_dequeued() noexcept {}
  static constexpr lockless_counts::sums sum() noexcept { return {}; }
};

}  // namespace foliot::detail
