// The atomic word of a timer by which threads postpone it, stop it, and start it again without the lock.
//
// A timer is queued in its shard's queue at some deadline. While its word is armed, any thread may postpone or stop the
// timer by changing the word only; the queue is not told. A timer that was stopped in this way stays queued for a
// while. It can be started again where it is queued, unless its new deadline is before the deadline that it is queued
// at. When the timer is due by the queue, or a thread that holds the shard's lock needs its state, that thread takes
// the word. take() is an atomic exchange, the linearization point: a call without the lock has either happened before
// it, and take() returns its result, or fails and falls back to the lock.
//
//     open ──arm──► armed(deadline) ──postpone──► armed(later)        postpone, stop, start: any thread
//      ▲              │        ▲ start                               the others: under the shard's lock
//      │              ▼ stop   │
//      │            stopped(deadline)
//      └── take ──────┴── from every state
//
// While the word is open, the state under the shard's lock decides.
//
// Invariants:
//   1. Armed: the timer is pending and is queued at the word's deadline or earlier. Exception: a start() has returned
//      queued_late, and its caller has not requeued the timer yet.
//   2. Stopped: the timer is not pending, but queued.
//   3. The deadline that a timer is queued at changes only while its word is open.
//
// Thread safety: stated at each member. Every member is O(1), but for retries under contention.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::detail {

/// The word of one timer; open at first.
class timer_word {
  static constexpr std::uint64_t open = 0;
  static constexpr std::uint64_t stopped_bit = std::uint64_t{1} << 63;  // the other bits are a deadline: see encoded()

 public:
  /// A value of the word.
  class state {
   public:
    [[nodiscard]] bool armed() const noexcept { return word_ != open && !stopped(); }
    [[nodiscard]] bool stopped() const noexcept { return (word_ & stopped_bit) != 0; }
    /// Precondition: armed.
    [[nodiscard]] instant deadline() const noexcept { return decoded(word_); }

   private:
    friend timer_word;
    explicit state(std::uint64_t word) noexcept : word_(word) {}
    std::uint64_t word_;
  };

  /// Arms the word of a timer that was just queued at `deadline`; leaves it open if `deadline` is before the clock's
  /// origin, or never. Under the lock. Precondition: the word is open.
  // release: pairs with the acquire in start(), which reads the deadline that the timer is queued at.
  void arm(instant deadline) noexcept { word_.store(encoded(deadline), seam::release); }

  /// Opens the word and returns its value before. Calls without the lock after this fail. Under the lock.
  // acquire: pairs with the release in postpone() and start(): the callback sees what was done before each such
  // call, not only before the last one, since each is a read-modify-write, which continues the release sequence.
  [[nodiscard]] state take() noexcept { return state(word_.exchange(open, seam::acquire)); }

  /// Undoes a take(). Under the lock.
  // release: as in arm().
  void restore(state was) noexcept { word_.store(was.word_, seam::release); }

  /// Opens the word and discards its value. Under the lock.
  // relaxed: the caller uses nothing that earlier calls have published.
  void disarm() noexcept { word_.store(open, seam::relaxed); }

  /// Whether the word is armed at this moment, so that the timer is pending. Any thread.
  // relaxed: the answer publishes nothing else.
  [[nodiscard]] bool armed() const noexcept { return load().armed(); }
  /// The value at this moment. Any thread.
  [[nodiscard]] state load() const noexcept { return state(word_.load(seam::relaxed)); }

  /// Postpones an armed timer to a deadline that is not earlier. Returns false, with nothing changed, if the word is
  /// not armed or the deadline is earlier: the caller must use the lock. Any thread.
  [[nodiscard]] bool postpone(instant deadline) noexcept {
    const std::uint64_t wanted = encoded(deadline);
    std::uint64_t seen = word_.load(seam::relaxed);
    while (seen != open && seen <= wanted) {  // a stopped word is greater than any deadline
      // release: pairs with the acquire in take().
      if (word_.compare_exchange_weak(seen, wanted, seam::release, seam::relaxed)) return true;
    }
    return false;
  }

  /// Stops an armed timer and leaves it queued. Returns false, with nothing changed, if the word is not armed: the
  /// caller must use the lock. Any thread.
  [[nodiscard]] bool stop() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    while (state(seen).armed()) {
      // acquire: pairs with the release in arm(), postpone() and start(): what happened before the timer was started,
      // such as its last callback, happened before this stop returns. release: pairs with the acquire in take() and
      // start(): what happened before this stop happened before a later start of the timer returns.
      if (word_.compare_exchange_weak(seen, seen | stopped_bit, seam::acq_rel, seam::relaxed)) return true;
    }
    return false;
  }

  enum class started : std::uint8_t {
    no,           ///< nothing was changed: the caller must use the lock
    yes,          ///< the timer is armed, and queued at its deadline or earlier
    queued_late,  ///< the timer is armed, but queued after its deadline, because other threads took the word, requeued
                  ///< the timer and stopped it again during this call: the caller must requeue it under the lock
  };
  /// Arms a stopped timer where it is queued. `queued_at()` returns the deadline that the timer is queued at, which a
  /// thread with the lock may be changing at the same time. Any thread.
  template <class QueuedAt>
  [[nodiscard]] started start(instant deadline, QueuedAt queued_at) noexcept {
    const std::uint64_t wanted = encoded(deadline);
    if (wanted == open) return started::no;
    std::uint64_t seen = word_.load(seam::relaxed);
    while (state(seen).stopped()) {
      if (queued_at() > deadline) break;
      // acquire: pairs with the release in arm(), so that queued_at() below returns the deadline of that arm() or a
      // later one. release: pairs with the acquire in take().
      if (word_.compare_exchange_weak(seen, wanted, seam::acq_rel, seam::relaxed)) {
        return queued_at() <= deadline ? started::yes : started::queued_late;
      }
    }
    return started::no;
  }

  /// Takes the word of a timer that is queued at a deadline that has come. Returns std::nullopt if the timer must fire
  /// now, else the deadline to which it was postponed. For timers on which stop() is never called. Under the lock.
  [[nodiscard]] std::optional<instant> take_due(instant queued_at) noexcept {
    const state was = take();
    if (was.armed() && was.deadline() > queued_at) return was.deadline();
    return std::nullopt;
  }

 private:
  /// A value below stopped_bit that grows with the deadline; `open` for deadlines that a word cannot represent.
  static constexpr std::uint64_t encoded(instant deadline) noexcept {
    if (deadline < instant{} || deadline.is_never()) return open;
    return static_cast<std::uint64_t>(deadline.nanoseconds()) + 1;
  }
  static constexpr instant decoded(std::uint64_t word) noexcept {
    return instant::from_nanoseconds(static_cast<std::int64_t>((word & ~stopped_bit) - 1));
  }

  // Written by postpone, stop and start from any thread, by the others under the shard's lock.
  seam::atomic<std::uint64_t> word_{open};
};

}  // namespace foliot::detail
