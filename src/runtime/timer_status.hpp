// The status of a timer in the heaps of Go 1.14 to 1.22: ten states in one word, which is also the timer's lock.
//
// A timer stands in the heap of some processor, and anybody may stop it or move it in time. Only who holds the lock of
// the heap may touch the array; all others leave a mark here, and whoever comes by the timer in the heap repairs it.
//
//   none              fired, or never started; in no heap
//   waiting           in a heap, where it belongs
//   running *         due, and its action is being called
//   deleted           stopped; still in a heap
//   removing *        being taken out of the heap
//   removed           stopped; in no heap
//   modifying *       somebody changes it, or puts it into a heap
//   modified_earlier  in a heap, at a deadline that is too late
//   modified_later    in a heap, at a deadline that is too early
//   moving *          being queued where it belongs
//
// Who has brought the word into one of those with a star owns the timer's fields, alone, until he leaves it: others
// wait for that, for some instructions, and hold nothing that it takes.
//
// Legal transitions:
//
//   from                                      to                    verb          who
//   waiting, modified_*, deleted              modifying             modify        anybody
//   none, removed                             modifying             modify        anybody, to add it
//   modifying                                 waiting               added         the same, in the heap's lock
//   modifying                                 modified_*            modified      the same
//   modifying                                 waiting               put_back      the same: to where it stands
//   modifying                                 what it was           give_back     the same
//   waiting, modified_*                       modifying             remove        anybody
//   modifying                                 deleted               marked        the same
//   waiting                                   running               run           in the heap's lock
//   running                                   none                  has_run       the same: it was to run once
//   running                                   waiting               repeats       the same: it has a period
//   deleted                                   removing              clean         in the heap's lock
//   removing                                  removed               cleaned       the same
//   waiting, modified_*                       moving                move          in the heap's lock
//   moving                                    waiting               moved         the same
//
// The record with the word in it has two holders: the heap, while it stands there, and the entry, while that lives.
// An entry that dies says so by one more bit, `abandoned`, beside deleted, removing, running, or those of no heap.
// Who comes last frees the record.
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

  /// What came of a verb that anybody may call.
  enum class outcome : std::uint8_t {
    taken,       ///< it is the caller's now
    not_needed,  ///< there is nothing to do: it is not pending
    busy,        ///< it is somebody else's just now: pause, and try again
  };
  struct claim {
    outcome what;
    state was;  ///< before that, when it is taken
  };

  /// Who has to free the record.
  enum class last_holder : std::uint8_t { caller, other };

  timer_status() noexcept = default;

  /// A timer was met in a state that it cannot have there: its memory was overwritten, or its entry was used after its
  /// end. Says so on standard error, with the state and what it `must_be`, and aborts: in every build, since the heap
  /// can not be trusted any more. (Go: badTimer, which throws.)
  [[noreturn, gnu::cold, gnu::noinline]] void bad_timer(const char* must_be, const char* file = __builtin_FILE(),
                                                        int line = __builtin_LINE()) const noexcept {
    bad_timer(word_.load(seam::relaxed), must_be, file, line);
  }
  [[nodiscard]] static const char* name(state which) noexcept;

  /// Just now. relaxed: who is told so asks a verb before he does anything.
  [[nodiscard]] state seen() const noexcept { return state_of(word_.load(seam::relaxed)); }

  /// To change it, or to add it: modifying. Precondition: the entry lives.
  [[nodiscard]] claim modify() noexcept {
    std::uint8_t seen = word_.load(seam::relaxed);
    if (is_transient(state_of(seen))) return {outcome::busy, state_of(seen)};
    require_living(seen);
    return {take(seen, state::modifying) ? outcome::taken : outcome::busy, state_of(seen)};
  }
  /// To stop it: modifying. Precondition: the entry lives.
  [[nodiscard]] claim remove() noexcept {
    // acquire: pairs with the release in has_run(): whoever hears that it has fired knows what its action did, and may
    // free what that used.
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
  void modified(bool earlier) noexcept {
    leave(state::modifying, earlier ? state::modified_earlier : state::modified_later);
  }
  void put_back() noexcept { leave(state::modifying, state::waiting); }
  void marked() noexcept { leave(state::modifying, state::deleted); }
  void give_back(state was) noexcept { leave(state::modifying, was); }

  // Under the lock of the heap that it stands in. False: somebody else was quicker; look at it again.

  [[nodiscard]] bool run() noexcept { return begin(state::waiting, state::running); }
  [[nodiscard]] last_holder has_run() noexcept { return end(state::running, state::none); }

  /// The timer stays in the heap. Precondition: the entry lives.
  void repeats() noexcept { leave(state::running, state::waiting); }

  [[nodiscard]] bool clean() noexcept { return begin(state::deleted, state::removing); }
  [[nodiscard]] last_holder cleaned() noexcept { return end(state::removing, state::removed); }

  /// From waiting or modified.
  [[nodiscard]] bool move(state from) noexcept {
    if (from != state::waiting && from != state::modified_earlier && from != state::modified_later) [[unlikely]]
      bad_timer("pending");
    return begin(from, state::moving);
  }
  void moved() noexcept { leave(state::moving, state::waiting); }

  /// The entry dies: it is not pending, and nobody calls any of the verbs for anybody any more.
  [[nodiscard]] last_holder abandon() noexcept {
    // acq_rel: all that was done by the entry comes before the record is freed, by whomever.
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
  /// One of the ten states, and the entry has not been abandoned.
  static void require_living(std::uint8_t seen) noexcept {
    if (seen > bits(state::moving)) [[unlikely]]
      bad_timer(seen, "that of an entry that lives");
  }

  // acquire: pairs with the release of whoever left the timer last: the fields are as he left them.
  [[nodiscard]] bool take(std::uint8_t& seen, state to) noexcept {
    return word_.compare_exchange_strong(seen, bits(to), seam::acquire, seam::relaxed);
  }
  [[nodiscard]] bool begin(state from, state to) noexcept {
    std::uint8_t seen = word_.load(seam::relaxed);
    while (state_of(seen) == from) {
      const auto wanted = static_cast<std::uint8_t>(bits(to) | (seen & abandoned));
      // acquire: as in take(). An entry that dies may come in between: then once more.
      if (word_.compare_exchange_weak(seen, wanted, seam::acquire, seam::relaxed)) return true;
    }
    return false;
  }
  /// The entry lives, so nobody else writes the word.
  void leave(state from, state to) noexcept {
    const std::uint8_t seen = word_.load(seam::relaxed);
    if (seen != bits(from)) [[unlikely]]
      bad_timer(seen, name(from));         // two threads have changed it at once
    word_.store(bits(to), seam::release);  // pairs with the acquire of whoever takes it next
  }
  /// The entry may die meanwhile.
  [[nodiscard]] last_holder end(state from, state to) noexcept {
    // release: pairs with remove() and abandon(): who may free the entry knows that it is used no more. acquire: what
    // the entry did comes before the record is freed here.
    const std::uint8_t before = word_.exchange(bits(to), seam::acq_rel);
    if (state_of(before) != from) [[unlikely]]
      bad_timer(before, name(from));
    return (before & abandoned) != 0 ? last_holder::caller : last_holder::other;
  }

  // Written by all verbs, by any thread; publishes the fields of the record, and what was done before a start.
  seam::atomic<std::uint8_t> word_{bits(state::none)};
};

}  // namespace foliot::runtime::detail
