// The word of a timer with a callback: what has come due, what of that has been taken, and who runs the callback.
//
// The timers note under their lock that a start of the timer has come due. The first note asks for a call, which
// follows without the lock; until it has begun, a stop or a reset can still take that due back. So whoever stops or
// resets knows for certain whether the callback runs for the latest start, or will not.
//
//     quiet ──due──► listed ──begin──► running ──end──► quiet        due, begin, end: who runs the timers
//                      │                 ▲  │ due: runs again        cancel, close: who holds the handle
//                      └─cancel─► listed ┘  └─ closed: the closure is destroyed, by whoever runs it
//                                 (the call will find nothing)
//
// Dues are counted, so that each start has its number: `taken` are those that have been run, or taken back.
// Invariants: at most one runs; `taken` is never ahead of `dues`, and behind by two at most; a closed word counts no
// more; the closure is touched by whoever has set `running` alone.
#pragma once

#include <cstdint>

#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class callback_word {
 public:
  /// A due's, counted round.
  using number = std::uint32_t;
  static constexpr number after(number it) noexcept { return (it + 1) & number_mask; }
  static constexpr number before(number it) noexcept { return (it - 1) & number_mask; }

  /// A start has come due. True: a call has to follow.
  // release: what the starter did, which the lock of the timers has published, is seen by who runs.
  [[nodiscard]] bool note_due() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const bool must_call = (seen & (listed | running)) == 0;
      const std::uint64_t next = with_dues(seen, after(dues_of(seen))) | (must_call ? listed : 0);
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) return must_call;
    }
  }

  enum class begin_result : std::uint8_t {
    nothing,  ///< it was taken back: the record may not be touched any more
    last,     ///< the same, and nobody has the record any more: it is the caller's to free
    run,      ///< the callback is the caller's to run
  };
  /// The call that a due has asked for.
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
    quiet,   ///< the record may not be touched any more
    again,   ///< another start has come due meanwhile: run it
    closed,  ///< destroy the closure, then leave()
  };
  /// The callback has returned.
  [[nodiscard]] end_result end() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & closed) != 0) return end_result::closed;
      const bool more = taken_of(seen) != dues_of(seen);
      const std::uint64_t next = more ? with_taken(seen, after(taken_of(seen))) : seen & ~running;
      // release: what the callback did is seen by who finds it ended, or runs it next. acquire: as in begin().
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) {
        return more ? end_result::again : end_result::quiet;
      }
    }
  }

  enum class leave_result : std::uint8_t {
    left,     ///< the record may not be touched any more
    last,     ///< it is the caller's to free
    watched,  ///< somebody waits for this: leave_watched(), under the record's lock
  };
  /// Whoever ran a callback that is closed has destroyed the closure.
  [[nodiscard]] leave_result leave() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & watched) != 0) return leave_result::watched;
      // acq_rel: the closure's end comes before that of the record, whoever frees it.
      if (word_.compare_exchange_weak(seen, seen & ~running, seam::acq_rel, seam::relaxed)) {
        return (seen & orphaned) != 0 && (seen & listed) == 0 ? leave_result::last : leave_result::left;
      }
    }
  }
  void leave_watched() noexcept { word_.fetch_and(~(running | watched), seam::acq_rel); }

  // What follows is done by who stops and resets, one at a time.

  enum class cancel_result : std::uint8_t { cancelled, running, idle };
  /// Takes back the latest due, which has this number, unless it has been taken.
  [[nodiscard]] cancel_result cancel(number latest) noexcept {
    std::uint64_t seen = word_.load(seam::acquire);  // pairs with end(): who is told idle sees what was done
    for (;;) {
      if (taken_of(seen) == latest) {
        return (seen & running) != 0 ? cancel_result::running : cancel_result::idle;
      }
      // A later one runs, or has run; or it never came due, and the runtime has ended.
      if (taken_of(seen) != before(latest) || dues_of(seen) == taken_of(seen)) return cancel_result::idle;
      // It never was: the order is for a failure.
      if (word_.compare_exchange_weak(seen, with_taken(seen, latest), seam::acquire, seam::acquire)) {
        return cancel_result::cancelled;
      }
    }
  }

  enum class close_result : std::uint8_t {
    mine,    ///< nobody ran it: the caller destroys the closure, then leave()
    theirs,  ///< somebody runs it, who will destroy the closure
    over,    ///< it was closed before, and the closure is gone
  };
  /// Nothing is pending, and nothing will be. `watches`: if somebody runs it, the caller waits for that.
  [[nodiscard]] close_result close(bool watches) noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const bool runs = (seen & running) != 0;
      if (!runs && (seen & closed) != 0) {
        // acquire: pairs with leave(): the closure is gone.
        if (word_.compare_exchange_weak(seen, seen, seam::acquire, seam::relaxed)) return close_result::over;
        continue;
      }
      const std::uint64_t next = seen | closed | (runs ? (watches ? watched : 0) : running);
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) {
        return runs ? close_result::theirs : close_result::mine;
      }
    }
  }
  /// The handle goes. True: nobody else has the record, which is the caller's to free.
  [[nodiscard]] bool orphan() noexcept {
    return (word_.fetch_or(orphaned | closed, seam::acq_rel) & (listed | running)) == 0;
  }

  /// How many dues there have been.
  [[nodiscard]] number dues() const noexcept { return dues_of(word_.load(seam::relaxed)); }
  /// Whether nobody runs it, or is about to: what was done then is seen. For who has stopped it, and keeps others
  /// from starting it.
  [[nodiscard]] bool at_rest() const noexcept { return (word_.load(seam::acquire) & (listed | running)) == 0; }
  [[nodiscard]] bool is_closed() const noexcept { return (word_.load(seam::relaxed) & closed) != 0; }

 private:
  static constexpr std::uint64_t listed = 1;     // a call will come
  static constexpr std::uint64_t running = 2;    // somebody has the closure
  static constexpr std::uint64_t closed = 4;     // it will never be due any more
  static constexpr std::uint64_t watched = 8;    // somebody waits for the end of the run
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

  // note_due: under the lock of the timers; begin, end, leave: who runs the callback; the others: under the record's
  // lock, or whoever has the only handle.
  seam::atomic<std::uint64_t> word_{0};
};

}  // namespace foliot::runtime::detail
