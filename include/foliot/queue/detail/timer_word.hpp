// The word that decides, without a lock, whether a timer that is pending is postponed or stopped, and whether one that
// was stopped this way is pending again.
//
// A timer is queued in its shard's queue at some deadline. While its word is armed, any thread may put it off or stop
// it: the word says so, the queue does not know. What was stopped stays queued for a while, and may be started again
// where it lies, unless its new deadline is before the one it is queued at. When the timer is due by the queue, or
// somebody has the shard's lock, the word is taken: that and the last call without the lock are decided by one atomic
// instruction. Whoever comes second knows.
//
//     open ──arm──► armed(deadline) ──postpone──► armed(later)        postpone, stop, start: any thread
//      ▲              │        ▲ start                               the others: under the shard's lock
//      │              ▼ stop   │
//      │            stopped(deadline)
//      └── take ──────┴── from whatever it is
//
// An open word decides nothing: the shard's lock does.
//
// Invariants: armed means that the timer is pending, and queued at the word's deadline or earlier; or somebody's
// start() was told that it is queued_late, and has yet to put that right. Stopped means that it is not pending, and
// queued. What a timer is queued at changes only while its word is open.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::detail {

class timer_word {
  static constexpr std::uint64_t open = 0;
  static constexpr std::uint64_t stopped_bit = std::uint64_t{1} << 63;  // the rest is a deadline: see encoded()

 public:
  /// What a word was.
  class state {
   public:
    [[nodiscard]] bool armed() const noexcept { return word_ != open && !stopped(); }
    [[nodiscard]] bool stopped() const noexcept { return (word_ & stopped_bit) != 0; }
    /// Of one that is armed.
    [[nodiscard]] instant deadline() const noexcept { return decoded(word_); }

   private:
    friend timer_word;
    explicit state(std::uint64_t word) noexcept : word_(word) {}
    std::uint64_t word_;
  };

  /// Lets the timer, just queued at this deadline, be postponed and stopped; not if that is before the clock's origin,
  /// or never. Under the lock, and the word is open.
  // release: pairs with the acquire in start(), which looks at what the timer is queued at.
  void arm(instant deadline) noexcept { word_.store(encoded(deadline), seam::release); }

  /// Opens the word, and says what it was; a call without the lock has come before, or does nothing. Under the lock.
  // acquire: pairs with the release in postpone() and start(): the callback sees what was done before them, and before
  // those that they follow, since each of them is a read-modify-write.
  [[nodiscard]] state take() noexcept { return state(word_.exchange(open, seam::acquire)); }

  /// Takes back a take(). Under the lock.
  // release: as in arm.
  void restore(state was) noexcept { word_.store(was.word_, seam::release); }

  /// Opens the word, whatever it was. Under the lock.
  // relaxed: nobody asks what came before.
  void disarm() noexcept { word_.store(open, seam::relaxed); }

  /// Whether it is armed, and so pending, just now. Any thread.
  // relaxed: who is told so learns nothing else from it.
  [[nodiscard]] bool armed() const noexcept { return now().armed(); }
  /// What it is just now. Any thread.
  [[nodiscard]] state now() const noexcept { return state(word_.load(seam::relaxed)); }

  /// Puts an armed timer off to a deadline that is not earlier. False: nothing was done, ask the lock.
  /// Any thread.
  [[nodiscard]] bool postpone(instant deadline) noexcept {
    const std::uint64_t wanted = encoded(deadline);
    std::uint64_t seen = word_.load(seam::relaxed);
    while (seen != open && seen <= wanted) {  // a stopped one is larger than any deadline
      // release: pairs with the acquire in take().
      if (word_.compare_exchange_weak(seen, wanted, seam::release, seam::relaxed)) return true;
    }
    return false;
  }

  /// Stops an armed timer, and leaves it queued. False: nothing was done, ask the lock. Any thread.
  [[nodiscard]] bool stop() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    while (state(seen).armed()) {
      // acquire: pairs with the release in arm(), postpone() and start(): who stops a timer sees what those saw who
      // started it, such as what its last callback did. release: pairs with the acquire in take() and start(): who
      // starts it again knows what was done before the stop.
      if (word_.compare_exchange_weak(seen, seen | stopped_bit, seam::acq_rel, seam::relaxed)) return true;
    }
    return false;
  }

  enum class started : std::uint8_t {
    no,           // nothing was done, ask the lock
    yes,          // it is armed, and queued at its deadline or earlier
    queued_late,  // it is armed, and queued later: it was taken, queued and stopped again while this looked. Put it
                  // right
  };
  /// Arms a stopped timer where it lies. `queued_at` says what deadline it is queued at, whoever may be changing that.
  /// Any thread.
  template <class QueuedAt>
  [[nodiscard]] started start(instant deadline, QueuedAt queued_at) noexcept {
    const std::uint64_t wanted = encoded(deadline);
    if (wanted == open) return started::no;
    std::uint64_t seen = word_.load(seam::relaxed);
    while (state(seen).stopped()) {
      if (queued_at() > deadline) break;
      // acquire: pairs with the release in arm(): what the timer was queued at then is seen below. release: pairs
      // with the acquire in take().
      if (word_.compare_exchange_weak(seen, wanted, seam::acq_rel, seam::relaxed)) {
        return queued_at() <= deadline ? started::yes : started::queued_late;
      }
    }
    return started::no;
  }

  /// The timer is due by the deadline it is queued at: takes the word. Nothing: it fires. Else it has been postponed
  /// till then. For those who never stop() it. Under the lock.
  [[nodiscard]] std::optional<instant> claim(instant queued_at) noexcept {
    const state was = take();
    if (was.armed() && was.deadline() > queued_at) return was.deadline();
    return std::nullopt;
  }

 private:
  /// In the order of the deadlines, and below the stopped bit; `open` for those that a word does not hold.
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
