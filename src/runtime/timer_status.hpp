// The status of a timer in the heaps of Go 1.14 to 1.22: ten states in one word, which is also the timer's lock.
//
// A timer is in the heap of some processor, and any thread may stop or reset it. Only the thread that holds the heap's
// lock may touch the array; every other thread marks the timer here, and the next thread that meets the timer in the
// heap repairs it.
//
//   none              fired, or never started; in no heap
//   waiting           in a heap, at its deadline
//   running *         due, and its action is being called
//   deleted           stopped; still in a heap
//   removing *        being taken out of the heap
//   removed           stopped; in no heap
//   modifying *       a thread changes it, or puts it into a heap
//   modified_earlier  in a heap, at a deadline that is too late
//   modified_later    in a heap, at a deadline that is too early
//   moving *          being queued at its deadline
//
// A thread that has brought the word into a state with a star owns the timer's fields alone, until it leaves that
// state, some instructions later. Other threads wait for that, and hold nothing that the owner needs.
//
// Legal transitions:
//
//   from                                      to                    verb          thread
//   waiting, modified_*, deleted              modifying             modify        any
//   none, removed                             modifying             modify        any, to add it
//   modifying                                 waiting               added         the same, in the heap's lock
//   modifying                                 modified_*            modified      the same
//   modifying                                 waiting               put_back      the same: with its old deadline
//   modifying                                 its state before      give_back     the same
//   waiting, modified_*                       modifying             remove        any
//   modifying                                 deleted               marked        the same
//   waiting                                   running               run           in the heap's lock
//   running                                   none                  has_run       the same: it runs once
//   running                                   waiting               repeats       the same: it has a period
//   deleted                                   removing              clean         in the heap's lock
//   removing                                  removed               cleaned       the same
//   waiting, modified_*                       moving                move          in the heap's lock
//   moving                                    waiting               moved         the same
//
// The record with the word in it has two holders: the heap, while the timer is in it, and the entry, while it exists.
// An entry that is destroyed sets one more bit, `abandoned`, beside deleted, removing, running, or a state of no heap.
// The last holder frees the record.
//
// Thread safety: as in the table.
#pragma once

#include <cstdint>

#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class timer_status {
 public:
  /// In Go: timerNoStatus, timerWaiting, …
  enum class state : std::uint8_t {
    none,
    waiting,
    running,
    deleted,
    removing,
    removed,
    modifying,
    modified_earlier,
    modified_later,
    moving,
  };

  /// The result of a verb that any thread may call.
  enum class outcome : std::uint8_t {
    taken,       ///< the caller owns the timer now
    not_needed,  ///< the timer is not pending: there is nothing to do
    busy,        ///< another thread owns it at this moment: pause, and try again
  };
  struct claim {
    outcome what;
    state was;  ///< if taken: the state before
  };

  /// Which holder must free the record.
  enum class last_holder : std::uint8_t { caller, other };

  timer_status() noexcept = default;

  /// A timer is in a state that it cannot have there: its memory was overwritten, or its entry was used after its end.
  /// Prints the state and what it `must_be` on standard error, and aborts: in every build, since the heap cannot be
  /// trusted any more. (Go: badTimer, which throws.)
  [[noreturn, gnu::cold, gnu::noinline]] void bad_timer(const char* must_be, const char* file = __builtin_FILE(),
                                                        int line = __builtin_LINE()) const noexcept {
    bad_timer(word_.load(seam::relaxed), must_be, file, line);
  }
  [[nodiscard]] static const char* name(state which) noexcept;

  /// The state; may be stale. relaxed: the caller calls a verb before it does anything with the timer.
  [[nodiscard]] state seen() const noexcept { return state_of(word_.load(seam::relaxed)); }

  /// Takes a timer in order to change or add it: modifying. Precondition: the entry exists.
  [[nodiscard]] claim modify() noexcept {
    std::uint8_t seen = word_.load(seam::relaxed);
    if (is_transient(state_of(seen))) return {outcome::busy, state_of(seen)};
    require_living(seen);
    return {take(seen, state::modifying) ? outcome::taken : outcome::busy, state_of(seen)};
  }
  /// Takes a timer in order to stop it: modifying. Precondition: the entry exists.
  [[nodiscard]] claim remove() noexcept {
    // acquire: pairs with the release in has_run(): a caller that learns that the timer has fired sees the effects of
    // its action, and may free what the action used.
    std::uint8_t seen = word_.load(seam::acquire);
    require_living(seen);
    switch (state_of(seen)) {
      case state::waiting:
      case state::modified_earlier:
      case state::modified_later:
        return {take(seen, state::modifying) ? outcome::taken : outcome::busy, state_of(seen)};
      case state::running:
      case state::modifying:
      case state::moving: return {outcome::busy, state_of(seen)};
      case state::none:
      case state::deleted:
      case state::removing:
      case state::removed: break;
    }
    return {outcome::not_needed, state_of(seen)};
  }

  // After either: the same thread, and every timer that was taken.

  void added() noexcept { leave(state::modifying, state::waiting); }
  /// Precondition: `to` is modified_earlier or modified_later.
  void modified(state to) noexcept { leave(state::modifying, to); }
  void put_back() noexcept { leave(state::modifying, state::waiting); }
  void marked() noexcept { leave(state::modifying, state::deleted); }
  void give_back(state was) noexcept { leave(state::modifying, was); }

  // Under the lock of the heap that the timer is in. They return false if another thread was quicker: look again.

  [[nodiscard]] bool run() noexcept { return begin(state::waiting, state::running); }
  [[nodiscard]] last_holder has_run() noexcept { return end(state::running, state::none); }

  /// The timer stays in the heap. Precondition: the entry exists.
  void repeats() noexcept { leave(state::running, state::waiting); }

  [[nodiscard]] bool clean() noexcept { return begin(state::deleted, state::removing); }
  [[nodiscard]] last_holder cleaned() noexcept { return end(state::removing, state::removed); }

  /// Precondition: `from` is waiting, modified_earlier or modified_later.
  [[nodiscard]] bool move(state from) noexcept {
    if (from != state::waiting && from != state::modified_earlier && from != state::modified_later) [[unlikely]]
      bad_timer("pending");
    return begin(from, state::moving);
  }
  void moved() noexcept { leave(state::moving, state::waiting); }

  /// The entry is destroyed. Precondition: it is not pending, and no thread calls a verb on its behalf any more.
  [[nodiscard]] last_holder abandon() noexcept {
    // acq_rel: everything done with the entry comes before the record is freed, by either holder.
    const std::uint8_t before = word_.fetch_or(abandoned, seam::acq_rel);
    switch (state_of(before)) {
      case state::none:
      case state::removed: return last_holder::caller;
      case state::deleted:
      case state::removing:
      case state::running: break;
      default: bad_timer(before, "stopped before it is destroyed");
    }
    return last_holder::other;
  }

  [[nodiscard]] static constexpr bool is_transient(state which) noexcept {
    return which == state::running || which == state::removing || which == state::modifying || which == state::moving;
  }

 private:
  static constexpr std::uint8_t abandoned = 0x80;

  static constexpr state state_of(std::uint8_t word) noexcept {
    return static_cast<state>(word & static_cast<std::uint8_t>(~abandoned));
  }
  static constexpr std::uint8_t bits(state which) noexcept { return static_cast<std::uint8_t>(which); }

  [[noreturn, gnu::cold, gnu::noinline]] static void bad_timer(std::uint8_t seen, const char* must_be,
                                                               const char* file = __builtin_FILE(),
                                                               int line = __builtin_LINE()) noexcept;
  /// Aborts unless the word is one of the ten states, without `abandoned`.
  static void require_living(std::uint8_t seen) noexcept {
    if (seen > bits(state::moving)) [[unlikely]]
      bad_timer(seen, "that of an entry that lives");
  }

  // acquire: pairs with the release of the thread that owned the timer last: sees its fields as that thread left them.
  [[nodiscard]] bool take(std::uint8_t& seen, state to) noexcept {
    return word_.compare_exchange_strong(seen, bits(to), seam::acquire, seam::relaxed);
  }
  [[nodiscard]] bool begin(state from, state to) noexcept {
    std::uint8_t seen = word_.load(seam::relaxed);
    while (state_of(seen) == from) {
      const auto wanted = static_cast<std::uint8_t>(bits(to) | (seen & abandoned));
      // acquire: as in take(). If the entry is destroyed in between, this tries again.
      if (word_.compare_exchange_weak(seen, wanted, seam::acquire, seam::relaxed)) return true;
    }
    return false;
  }
  /// The entry exists, so no other thread writes the word.
  void leave(state from, state to) noexcept {
    const std::uint8_t seen = word_.load(seam::relaxed);
    if (seen != bits(from)) [[unlikely]]
      bad_timer(seen, name(from));         // two threads have changed it at once
    word_.store(bits(to), seam::release);  // pairs with the acquire in take() and begin()
  }
  /// The entry may be destroyed meanwhile.
  [[nodiscard]] last_holder end(state from, state to) noexcept {
    // release: pairs with remove() and abandon(): a thread that may free the entry knows that it is not used any more.
    // acquire: everything done with the entry comes before the record is freed here.
    const std::uint8_t before = word_.exchange(bits(to), seam::acq_rel);
    if (state_of(before) != from) [[unlikely]]
      bad_timer(before, name(from));
    return (before & abandoned) != 0 ? last_holder::caller : last_holder::other;
  }

  // Written by all verbs, by any thread; publishes the fields of the record, and what was done before a start.
  seam::atomic<std::uint8_t> word_{bits(state::none)};
};

}  // namespace foliot::runtime::detail
