// The word that decides what ends a task's wait: of all that may end it, exactly one does.
//
// A task that is about to wait takes a ticket, hands it to everything that may end the wait (a timer, a channel,
// a descriptor), and commits. Whoever claims the ticket first has ended the wait, and has to make the task
// ready if it was parked; all others are too late, and so is a ticket of an earlier wait.
//
//     settled ──begin──► preparing ──commit──► waiting, or bound    begin, commit, leave: the task itself
//        ▲                   │                    │                 claim, interrupt: any thread
//        └── claim, leave ───┴── claim, interrupt ┘                 (who is bound heeds no interrupt)
//
// While it is preparing the task may be claimed, but is not parked: its own commit finds out. So sources can be
// told one by one, without a lock over all of them.
//
// An interrupt is sticky: it ends the wait that there is, or the next commit, until it is cleared.
//
// Invariants: a ticket is claimed once at most; the task runs, or is about to, whenever the word is settled.
#pragma once

#include <cstdint>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class wait_word {
 public:
  /// Names one wait of the task.
  using ticket = std::uint64_t;

  /// Which of the sources ended the wait: up to this many.
  using source = std::uint32_t;
  static constexpr source most_sources = 0xffe;
  static constexpr source interrupted = 0xfff;

  /// Whether an interrupt ends a wait, or stays for a later one.
  enum class interrupts : std::uint8_t { heeded, deferred };

  enum class claim_result : std::uint8_t {
    late,      ///< something else ended that wait: nothing was done
    noticed,   ///< claimed; the task will find out by itself
    to_resume  ///< claimed, and the caller has to make the task ready
  };

  /// A new wait begins.
  [[nodiscard]] ticket begin() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const std::uint64_t next = ((seen & ~below_generation) + one_generation) | (seen & interrupt_bit) | preparing;
      // relaxed: who is handed the ticket gets it through a lock.
      if (word_.compare_exchange_weak(seen, next, seam::relaxed, seam::relaxed)) return next & ~below_generation;
    }
  }

  enum class commit_result : std::uint8_t {
    parked,      ///< the task may be running elsewhere already: nothing of it may be touched
    over,        ///< a source has ended the wait
    interrupted  ///< nothing was done: leave() the wait, or clear the interrupt and commit again
  };

  /// All sources know. One that heeds no interrupt is ended by its sources alone.
  [[nodiscard]] commit_result commit(interrupts how = interrupts::heeded) noexcept {
    const std::uint64_t parked = how == interrupts::heeded ? waiting : bound;
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & phase_bits) == settled) return commit_result::over;  // winner() pairs with the claim
      if (how == interrupts::heeded && (seen & interrupt_bit) != 0) return commit_result::interrupted;
      // release: pairs with the acquire in claim() and interrupt(): who resumes the task sees it suspended.
      if (word_.compare_exchange_weak(seen, (seen & ~phase_bits) | parked, seam::release, seam::relaxed)) {
        return commit_result::parked;
      }
    }
  }
  /// Ends the wait, for an interrupt, unless a source has.
  void leave() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    while ((seen & phase_bits) != settled) {
      // relaxed: nobody but the task looks at what it has left.
      if (word_.compare_exchange_weak(seen, settle(seen, interrupted), seam::relaxed, seam::relaxed)) return;
    }
  }

  /// The task goes on: what ended its wait.
  // acquire: pairs with the release in claim(): what the source left for the task is seen.
  [[nodiscard]] source winner() const noexcept { return winner_of(word_.load(seam::acquire)); }

  /// Whether the wait is over, and that source has ended it.
  // acquire: as in winner().
  [[nodiscard]] bool settled_by(source by) const noexcept {
    const std::uint64_t seen = word_.load(seam::acquire);
    return (seen & phase_bits) == settled && winner_of(seen) == by;
  }

  [[nodiscard]] claim_result claim(ticket wait, source by) noexcept {
    FOLIOT_ASSERT(by <= most_sources, "a wait has at most 4,094 sources");
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & phase_bits) == settled || (seen & ~below_generation) != wait) return claim_result::late;
      // release: what the source left is seen by winner(). acquire: pairs with the release in commit().
      if (word_.compare_exchange_weak(seen, settle(seen, by), seam::acq_rel, seam::relaxed)) {
        return (seen & phase_bits) >= waiting ? claim_result::to_resume : claim_result::noticed;
      }
    }
  }

  /// Ends the wait that there is, or the next one. True: the caller has to make the task ready.
  [[nodiscard]] bool interrupt() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const bool parked = (seen & phase_bits) == waiting;
      const std::uint64_t next = (parked ? settle(seen, interrupted) : seen) | interrupt_bit;
      // acq_rel: as in claim(); and the reason of the interrupt is seen by who finds the bit.
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) return parked;
    }
  }
  /// Whether there is an interrupt.
  [[nodiscard]] bool has_interrupt() const noexcept { return (word_.load(seam::acquire) & interrupt_bit) != 0; }
  /// The task's: forgets it. Reasons that come later set it again.
  // acquire: a reason given before the bit that is cleared here is seen after it.
  void clear_interrupt() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    while (!word_.compare_exchange_weak(seen, seen & ~interrupt_bit, seam::acquire, seam::relaxed)) {
    }
  }

 private:
  // 48 bits of generation, 12 of source, 1 of interrupt, 2 of phase, from the top.
  static constexpr std::uint64_t settled = 0;
  static constexpr std::uint64_t preparing = 1;
  static constexpr std::uint64_t waiting = 2;
  static constexpr std::uint64_t bound = 3;
  static constexpr std::uint64_t phase_bits = 3;
  static constexpr std::uint64_t interrupt_bit = 4;
  static constexpr int source_shift = 4;
  static constexpr std::uint64_t source_bits = std::uint64_t{0xfff} << source_shift;
  static constexpr std::uint64_t one_generation = std::uint64_t{1} << 16;
  static constexpr std::uint64_t below_generation = one_generation - 1;

  static constexpr std::uint64_t settle(std::uint64_t word, source by) noexcept {
    return (word & ~(phase_bits | source_bits)) | settled | (std::uint64_t{by} << source_shift);
  }
  static constexpr source winner_of(std::uint64_t word) noexcept {
    return static_cast<source>((word & source_bits) >> source_shift);
  }

  // begin, commit, clear_interrupt: the task. claim, interrupt: anybody.
  seam::atomic<std::uint64_t> word_{settled};
};

}  // namespace foliot::runtime::detail
