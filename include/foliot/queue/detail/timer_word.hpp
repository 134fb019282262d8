// The word that decides, without a lock, whether a timer that is pending may be put off.
//
// A timer is filed in its shard's queue at some deadline. While its word is armed, any thread may put it
// off: the word says so, the queue does not know. When the timer is due by the queue, the shard claims
// it: the claim and the last put-off are decided by one compare-and-swap. Whoever comes second knows.
//
//     open ──arm──► armed(deadline) ──put_off──► armed(later)        put_off: any thread
//      ▲                │                            │               the others: under the shard's lock
//      └── disarm, or ──┴── claim, when due ─────────┘
//
// An open word decides nothing: the shard's lock does.
//
// Invariants: armed means that the timer is pending, filed at its deadline or earlier; the deadline only
// grows while it is armed.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::detail {

class timer_word {
 public:
  /// Lets the timer, just filed at this deadline, be put off; not if that is before the clock's origin,
  /// or never. Under the lock.
  // relaxed: what the starter did is published by the lock, under which the claim is made.
  void arm(instant deadline) noexcept { word_.store(encoded(deadline), seam::relaxed); }

  /// Under the lock, when the timer is taken out of the queue or filed anew. A put-off that slips in before
  /// it came first: it superseded what was there, and is itself taken back.
  // relaxed: as in arm.
  void disarm() noexcept { word_.store(open, seam::relaxed); }

  /// Whether it is armed, and so pending, just now. Any thread.
  // relaxed: who is told so learns nothing else from it.
  [[nodiscard]] bool armed() const noexcept { return word_.load(seam::relaxed) != open; }

  /// Puts an armed timer off to a deadline that is not earlier. False: nothing was done, ask the lock.
  /// Any thread.
  [[nodiscard]] bool put_off(instant deadline) noexcept {
    const std::uint64_t wanted = encoded(deadline);
    std::uint64_t seen = word_.load(seam::relaxed);
    while (seen != open && seen <= wanted) {
      // release: pairs with the acquire in claim(): the callback sees what was done before the put-off, and
      // before those that it follows, since each of them is a read-modify-write.
      if (word_.compare_exchange_weak(seen, wanted, seam::release, seam::relaxed)) return true;
    }
    return false;
  }

  /// The timer is due by the deadline it is filed at. Nothing: it fires, and the word is open. Else it has
  /// been put off till then, and stays armed. Under the lock.
  [[nodiscard]] std::optional<instant> claim(instant filed) noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    while (seen != open) {
      if (seen > encoded(filed)) return decoded(seen);
      // acquire: pairs with the release in put_off(). It fails when a put-off has just come first.
      if (word_.compare_exchange_weak(seen, open, seam::acquire, seam::relaxed)) break;
    }
    return std::nullopt;
  }

  /// The deadline of an armed word. Under the lock.
  [[nodiscard]] instant armed_for() const noexcept { return decoded(word_.load(seam::relaxed)); }

 private:
  static constexpr std::uint64_t open = 0;

  /// In the order of the deadlines; `open` for those that a word does not hold.
  static constexpr std::uint64_t encoded(instant deadline) noexcept {
    if (deadline < instant{} || deadline.is_never()) return open;
    return static_cast<std::uint64_t>(deadline.nanoseconds()) + 1;
  }
  static constexpr instant decoded(std::uint64_t word) noexcept {
    return instant::from_nanoseconds(static_cast<std::int64_t>(word - 1));
  }

  // Written by put_off from any thread, by the others under the shard's lock.
  seam::atomic<std::uint64_t> word_{open};
};

}  // namespace foliot::detail
