// The calls on a timer that go without its shard's lock: one compare-and-swap on the timer's word, and a count.
//
//   reset    postpones a pending timer, or starts a stopped one where it is still queued
//   stop     stops a pending timer, and leaves it queued
//
// Each of them may refuse: the caller then takes the lock, and does the same there. A stop also refuses when too many
// stopped timers are queued (lockless_counts.hpp), and all refuse once the shard is closing, that is, drains or has
// ended.
//
// A call that races with close() takes effect, as if it had come before. The draining thread may not have counted the
// timer of that call: so after a start or a stop the caller asks is_closing_after_call(), and notifies the draining
// thread if that returns true. Barriers make it certain that at least one of the two threads sees the other's write.
//
// Thread safety: every member from any thread, except where its comment requires the shard's lock.
#pragma once

#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/queue/detail/timer_word.hpp>

#include "lockless_counts.hpp"

namespace foliot::detail {

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
  template <class QueuedAt>
  [[nodiscard]] lockless_reset reset(timer_word& word, instant deadline, QueuedAt queued_at) noexcept {
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

  /// False: refused.
  [[nodiscard]] bool stop(timer_word& word) noexcept {
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
