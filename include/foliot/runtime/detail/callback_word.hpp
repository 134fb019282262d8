// The word of a timer with a callback: how many starts have come due, how many of these dues were run or cancelled, and
// whether the callback runs.
//
// The thread that runs the timers notes under their lock that a start has come due. After the first note it calls the
// callback, without the lock; until that call has begun, a stop or a reset can still cancel the due. So a thread that
// stops or resets the timer knows for certain whether the callback runs for the latest start, or will not.
//
//     quiet ──due──► listed ──begin──► running ──end──► quiet        due, begin, end: the thread that runs the timers
//                      │                 ▲  │ due: runs again        cancel, close: the holder of the handle
//                      └─cancel─► listed ┘  └─ closed: the thread that runs the callback destroys the closure
//                                 (the call then does nothing)
// A pinned callback that is destroyed while it is listed is unlisted: it leaves the list of calls.
//
// Dues are counted, so that each start has its number; `taken` counts the dues that have been run, or cancelled.
// Thread safety: the sections below name the threads.
// Invariants: at most one thread runs the callback; `taken` is never ahead of `dues`, and behind by two at most; a
// closed word counts no more; only the thread that has set `running` touches the closure.
#pragma once

#include <cstdint>

#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class callback_word {
 public:
  /// The number of a due; it wraps around.
  using number = std::uint32_t;
  static constexpr number after(number it) noexcept { return (it + 1) & number_mask; }
  static constexpr number before(number it) noexcept { return (it - 1) & number_mask; }

  /// A start has come due. Returns whether a call must follow.
  // release: the thread that runs the callback sees what the starter did, which the lock of the timers has published.
  [[nodiscard]] bool note_due() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const bool must_call = (seen & (listed | running)) == 0;
      const std::uint64_t next = with_dues(seen, after(dues_of(seen))) | (must_call ? listed : 0);
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) return must_call;
    }
  }

  enum class begin_result : std::uint8_t {
    nothing,  ///< the due was cancelled: the caller must not touch the record any more
    last,     ///< the same, and there is no handle any more: the caller must free the record
    run,      ///< the caller must run the callback
  };
  /// Begins the call that a due has asked for.
  [[nodiscard]] begin_result begin() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const bool runs = taken_of(seen) != dues_of(seen);
      std::uint64_t next = seen & ~listed;
      if (runs) next = with_taken(next, after(taken_of(seen))) | running;
      // acquire: pairs with note_due(), and with the end of the run before. release: pairs with close().
      if (!word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) continue;
      if (runs) return begin_result::run;
      return (seen & orphaned) != 0 && (seen & running) == 0 ? begin_result::last : begin_result::nothing;
    }
  }

  enum class end_result : std::uint8_t {
    quiet,   ///< the caller must not touch the record any more
    again,   ///< another start has come due meanwhile: the caller must run the callback again
    closed,  ///< the caller must destroy the closure, then call leave()
  };
  /// The callback has returned.
  [[nodiscard]] end_result end() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & closed) != 0) return end_result::closed;
      const bool more = taken_of(seen) != dues_of(seen);
      const std::uint64_t next = more ? with_taken(seen, after(taken_of(seen))) : seen & ~running;
      // release: a thread that finds the callback ended, or runs it next, sees what it did. acquire: as in begin().
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) {
        return more ? end_result::again : end_result::quiet;
      }
    }
  }

  enum class leave_result : std::uint8_t {
    left,     ///< the caller must not touch the record any more
    last,     ///< the caller must free the record
    awaited,  ///< a task or thread waits for this: the caller must call leave_awaited() under the record's lock
  };
  /// The callback was closed, and the thread that ran it has destroyed the closure.
  [[nodiscard]] leave_result leave() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & awaited) != 0) return leave_result::awaited;
      // acq_rel: the destruction of the closure comes before that of the record, by any thread.
      if (word_.compare_exchange_weak(seen, seen & ~running, seam::acq_rel, seam::relaxed)) {
        return (seen & orphaned) != 0 && (seen & listed) == 0 ? leave_result::last : leave_result::left;
      }
    }
  }
  void leave_awaited() noexcept { word_.fetch_and(~(running | awaited), seam::acq_rel); }

  // For threads that stop and reset the timer, one at a time: under the record's lock, or with the only handle.

  enum class cancel_result : std::uint8_t { cancelled, running, idle };
  /// Cancels the latest due, whose number is `latest`, unless it was run or cancelled before.
  [[nodiscard]] cancel_result cancel(number latest) noexcept {
    std::uint64_t seen =
        word_.load(seam::acquire);  // pairs with end(): a caller that gets idle sees what the callback did
    for (;;) {
      if (taken_of(seen) == latest) {
        return (seen & running) != 0 ? cancel_result::running : cancel_result::idle;
      }
      // A later due runs, or has run; or this one never came, and the runtime has ended.
      if (taken_of(seen) != before(latest) || dues_of(seen) == taken_of(seen)) return cancel_result::idle;
      // acquire also on failure: the next round may return idle.
      if (word_.compare_exchange_weak(seen, with_taken(seen, latest), seam::acquire, seam::acquire)) {
        return cancel_result::cancelled;
      }
    }
  }

  enum class close_result : std::uint8_t {
    mine,    ///< no thread ran the callback: the caller must destroy the closure, then call leave()
    theirs,  ///< a thread runs the callback, and will destroy the closure
    over,    ///< the timer was closed before, and the closure is destroyed
  };
  /// Whether the caller of close() waits for a callback that runs.
  enum class while_running : std::uint8_t { wait, return_at_once };
  /// Closes the word: no start is pending, and none will be.
  [[nodiscard]] close_result close(while_running caller) noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const bool runs = (seen & running) != 0;
      if (!runs && (seen & closed) != 0) {
        // acquire: pairs with leave(): the closure is destroyed.
        if (word_.compare_exchange_weak(seen, seen, seam::acquire, seam::relaxed)) return close_result::over;
        continue;
      }
      const std::uint64_t for_waiter = caller == while_running::wait ? awaited : 0;
      const std::uint64_t next = seen | closed | (runs ? for_waiter : running);
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) {
        return runs ? close_result::theirs : close_result::mine;
      }
    }
  }
  /// The handle is destroyed. Returns true if no thread uses the record: the caller must free it.
  [[nodiscard]] bool orphan() noexcept {
    return (word_.fetch_or(orphaned | closed, seam::acq_rel) & (listed | running)) == 0;
  }

  /// Whether a call is to follow that has not begun. The caller has stopped the timer, so no other one will.
  [[nodiscard]] bool is_listed() const noexcept { return (word_.load(seam::relaxed) & listed) != 0; }
  /// That call will not follow: the caller has taken it out of its list, under the lock by which calls begin.
  // relaxed: the caller owns the timer, as the lock has published it.
  void unlist() noexcept { word_.fetch_and(~listed, seam::relaxed); }

  /// The number of the latest due.
  [[nodiscard]] number dues() const noexcept { return dues_of(word_.load(seam::relaxed)); }
  /// Whether no thread runs the callback, or is about to; the caller then sees what it did. The caller has stopped the
  /// timer, and keeps other threads from starting it.
  [[nodiscard]] bool at_rest() const noexcept { return (word_.load(seam::acquire) & (listed | running)) == 0; }
  [[nodiscard]] bool is_closed() const noexcept { return (word_.load(seam::relaxed) & closed) != 0; }

 private:
  static constexpr std::uint64_t listed = 1;     // a call will follow
  static constexpr std::uint64_t running = 2;    // a thread owns the closure
  static constexpr std::uint64_t closed = 4;     // the timer will never be due any more
  static constexpr std::uint64_t awaited = 8;    // a task or thread waits for the end of the callback
  static constexpr std::uint64_t orphaned = 16;  // there is no handle
  static constexpr int dues_shift = 8;
  static constexpr int taken_shift = 32;
  static constexpr number number_mask = 0xff'ffff;

  static constexpr number dues_of(std::uint64_t word) noexcept {
    return static_cast<number>(word >> dues_shift) & number_mask;
  }
  static constexpr number taken_of(std::uint64_t word) noexcept {
    return static_cast<number>(word >> taken_shift) & number_mask;
  }
  static constexpr std::uint64_t with_dues(std::uint64_t word, number dues) noexcept {
    return (word & ~(std::uint64_t{number_mask} << dues_shift)) | (std::uint64_t{dues} << dues_shift);
  }
  static constexpr std::uint64_t with_taken(std::uint64_t word, number taken) noexcept {
    return (word & ~(std::uint64_t{number_mask} << taken_shift)) | (std::uint64_t{taken} << taken_shift);
  }

  // Written by note_due() under the lock of the timers; by begin(), end() and leave() on the thread that runs the
  // callback; by the others under the record's lock, or by the thread with the only handle.
  seam::atomic<std::uint64_t> word_{0};
};

}  // namespace foliot::runtime::detail
