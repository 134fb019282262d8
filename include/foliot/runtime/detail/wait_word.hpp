// The word that decides what ends a wait of a task: of all that may end it, exactly one does.
//
// A task that is about to wait takes a ticket, hands it to everything that may end the wait (a timer, a channel, a
// descriptor), and commits. The first claim of the ticket ends the wait, and its caller must make the task ready if the
// task was parked. All other claims come too late, and so does a claim with the ticket of an earlier wait.
//
//     settled ──begin──► preparing ──commit──► waiting, or bound    begin, commit, leave: the task itself
//        ▲                   │                    │                 claim, interrupt: any thread
//        └── claim, leave ───┴── claim, interrupt ┘                 (a bound task defers interrupts)
//
// A task that is preparing may be claimed, but is not parked: its own commit notices the claim. So the task can
// register at its sources one by one, without a lock over all of them.
//
// An interrupt is sticky: it ends the current wait, or else the next commit, until it is cleared.
//
// Invariants: a ticket is claimed at most once; the task runs, or is about to, whenever the word is settled.
#pragma once

#include <cstdint>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

/// The state of the current wait of one task.
class wait_word {
 public:
  /// Names one wait of the task.
  using ticket = std::uint64_t;

  /// Names what ended the wait: a number up to most_sources, given to claim(), or `interrupted`.
  using source = std::uint32_t;
  static constexpr source most_sources = 0xffe;
  static constexpr source interrupted = 0xfff;

  /// Whether an interrupt ends a wait, or stays for a later one.
  enum class interrupts : std::uint8_t { heeded, deferred };

  /// What a claim has done.
  enum class claim_result : std::uint8_t {
    late,      ///< something else has ended that wait; nothing was done
    noticed,   ///< claimed; the task is not parked, and will notice by itself
    to_resume  ///< claimed; the caller must make the task ready
  };

  /// Begins a new wait.
  [[nodiscard]] ticket begin() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const std::uint64_t next = ((seen & ~below_generation) + one_generation) | (seen & interrupt_bit) | preparing;
      // relaxed: the ticket reaches each source through a lock.
      if (word_.compare_exchange_weak(seen, next, seam::relaxed, seam::relaxed)) return next & ~below_generation;
    }
  }

  /// What a commit has done.
  enum class commit_result : std::uint8_t {
    parked,      ///< another thread may run the task already: it must not be touched
    over,        ///< a source has ended the wait
    interrupted  ///< nothing was done: the caller must leave(), or clear the interrupt and commit again
  };

  /// Parks the task, after all sources have the ticket. A wait that defers interrupts is ended only by its sources.
  [[nodiscard]] commit_result commit(interrupts how = interrupts::heeded) noexcept {
    const std::uint64_t parked = how == interrupts::heeded ? waiting : bound;
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & phase_bits) == settled) return commit_result::over;  // winner() pairs with the claim
      if (how == interrupts::heeded && (seen & interrupt_bit) != 0) return commit_result::interrupted;
      // release: pairs with the acquire in claim() and interrupt(): the resuming thread sees the task suspended.
      if (word_.compare_exchange_weak(seen, (seen & ~phase_bits) | parked, seam::release, seam::relaxed)) {
        return commit_result::parked;
      }
    }
  }
  /// Ends the wait for an interrupt, unless a source has ended it.
  void leave() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    while ((seen & phase_bits) != settled) {
      // relaxed: publishes nothing; only the task reads it.
      if (word_.compare_exchange_weak(seen, settle(seen, interrupted), seam::relaxed, seam::relaxed)) return;
    }
  }

  /// After the wait: what ended it.
  // acquire: pairs with the release in claim(): the task sees what the source left for it.
  [[nodiscard]] source winner() const noexcept { return winner_of(word_.load(seam::acquire)); }

  /// Whether the wait is over, and that source has ended it.
  // acquire: as in winner().
  [[nodiscard]] bool settled_by(source by) const noexcept {
    const std::uint64_t seen = word_.load(seam::acquire);
    return (seen & phase_bits) == settled && winner_of(seen) == by;
  }

  /// Ends the wait of that ticket for that source, unless something else has ended it.
  [[nodiscard]] claim_result claim(ticket wait, source by) noexcept {
    FOLIOT_ASSERT(by <= most_sources, "a wait has at most 4,094 sources");
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      if ((seen & phase_bits) == settled || (seen & ~below_generation) != wait) return claim_result::late;
      // release: winner() sees what the source left. acquire: pairs with the release in commit().
      if (word_.compare_exchange_weak(seen, settle(seen, by), seam::acq_rel, seam::relaxed)) {
        return (seen & phase_bits) >= waiting ? claim_result::to_resume : claim_result::noticed;
      }
    }
  }

  /// Ends the current wait, or else the next one. Returns true if the caller must make the task ready.
  [[nodiscard]] bool interrupt() noexcept {
    std::uint64_t seen = word_.load(seam::relaxed);
    for (;;) {
      const bool parked = (seen & phase_bits) == waiting;
      const std::uint64_t next = (parked ? settle(seen, interrupted) : seen) | interrupt_bit;
      // acq_rel: as in claim(); a task that finds the bit sees the reason of the interrupt.
      if (word_.compare_exchange_weak(seen, next, seam::acq_rel, seam::relaxed)) return parked;
    }
  }
  /// Whether the task is parked: for reports. Any thread; the answer may be outdated at once.
  [[nodiscard]] bool is_parked() const noexcept { return (word_.load(seam::relaxed) & phase_bits) >= waiting; }
  /// Whether an interrupt is pending.
  [[nodiscard]] bool has_interrupt() const noexcept { return (word_.load(seam::acquire) & interrupt_bit) != 0; }
  /// Clears the interrupt. For the task; later reasons set it again.
  // acquire: a reason that was given before the bit that is cleared here is seen after it.
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

  // Written by the task (begin, commit, leave, clear_interrupt) and by any thread (claim, interrupt).
  seam::atomic<std::uint64_t> word_{settled};
};

}  // namespace foliot::runtime::detail
