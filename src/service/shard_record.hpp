// The record of a timer: what a shard stores for it.
//
//   shard_record       every timer: its flags, the queue's node, the timer word if the design has one; then either
//   closure_record     the timer of a handle: its closure before that; or
//   pinned_record      a timer in the user's object: before that only the slot by which its closure is used
//   extended_record    a closure_record and an extension: what tickers, executors, reports of callbacks and logs need
//   sleeping_record    an extended_record that a sleeping thread waits for
//
// A shard allocates the handles' records, and with an executor those of sleeps; kind_, is_sleep_ and is_extended() say
// which a record is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/service/detail/engine.hpp>

#include <foliot/queue/detail/timer_word.hpp>

#include "shared_name.hpp"

namespace foliot::detail {

/// The word of designs where every reset and every stop takes the lock.
struct no_word {
  struct state {
    static constexpr bool armed() noexcept { return false; }
    static constexpr bool stopped() noexcept { return false; }
  };
  static state take() noexcept { return {}; }
  static state load() noexcept { return {}; }
  static void restore(state) noexcept {}
};

/// The home of designs where a timer stays in the shard that made it.
struct fixed_home {
  explicit fixed_home(engine&) noexcept {}
};

template <timer_queue Queue, class Word, class Home>
struct extended_record;

/// The order of the bases keeps the members that a start, a stop and a reset use together: flags, owner, word and node
/// are 48 bytes, after the closure's user.
template <timer_queue Queue, class Word, class Home>
struct shard_record : timer_record, Word, Queue::node_type, Home {
  shard_record(engine& owner, timer_record::kind is, timer_record::location where,
               pinned_distance closure = {}) noexcept
      : timer_record(owner, is, where, closure), Home(owner) {}

  using timer_record::closure_at_;
  using timer_record::has_location_;
  using timer_record::is_sleep_;
  using timer_record::kind;
  using timer_record::kind_;
  using timer_record::location;
  using timer_record::running_;

  [[nodiscard]] bool is_ticker() const noexcept { return kind_ == timer_record::kind::ticker; }
  [[nodiscard]] bool is_pinned() const noexcept { return kind_ == timer_record::kind::pinned; }
  closure_use& life() noexcept { return *this; }
  const closure_use& life() const noexcept { return *this; }
  Word& word() noexcept { return *this; }
  const Word& word() const noexcept { return *this; }

  /// Where the timer was made or armed last; line 0 where that is not stored. By any thread.
  std::source_location armed_at() const noexcept {
    return has_location_ ? extension().armed_at_.load(seam::relaxed) : std::source_location();
  }
  /// Under the shard's lock.
  shared_name name() const noexcept { return has_location_ ? extension().name_ : nullptr; }

 private:
  const extended_record<Queue, Word, Home>& extension() const noexcept {
    return static_cast<const extended_record<Queue, Word, Home>&>(*this);
  }
};

/// The closure of a handle's timer. By its user.
struct record_closure {
  timer_callback callback_;
};

/// The record of a handle's timer.
template <timer_queue Queue, class Word, class Home>
struct closure_record : record_closure, shard_record<Queue, Word, Home> {
  using base = shard_record<Queue, Word, Home>;

  closure_record(engine& owner, timer_callback&& callback, typename base::kind is = base::kind::one_shot,
                 typename base::location where = base::location::none) noexcept
      : record_closure{std::move(callback)}, base(owner, is, where) {}
};

/// How a pinned timer's closure is used: by these operations, or by the use that is under way.
union pinned_slot {
  const pinned_operations* operations_;  // null: there is no closure
  pinned_use* use_;                      // while in_use()
};

struct slot_of_pinned {
  pinned_slot slot_;
};

/// The record of a timer in the user's object: pinned_layout.hpp.
template <timer_queue Queue, class Word, class Home>
struct pinned_record final : slot_of_pinned, shard_record<Queue, Word, Home> {
  using base = shard_record<Queue, Word, Home>;

  pinned_record(engine& owner, const pinned_operations& closure, pinned_distance distance) noexcept
      : slot_of_pinned{.slot_ = {.operations_ = &closure}},
        base(owner, base::kind::pinned, base::location::none, distance) {}

  void* closure() noexcept { return reinterpret_cast<std::byte*>(this) + this->closure_at_.bytes(); }

  /// Whether it fits in the user's object, so that the shard may make it there.
  static constexpr bool fits() noexcept {
    return sizeof(pinned_record) <= pinned_layout::record_room && alignof(pinned_record) <= pinned_layout::slot;
  }
};

/// A record with its extension. The shard's, under its lock, except armed_at_.
template <timer_queue Queue, class Word, class Home>
struct extended_record : closure_record<Queue, Word, Home> {
  using base = closure_record<Queue, Word, Home>;

  /// A positive period makes it a ticker's.
  extended_record(engine& owner, timer_callback&& callback, duration period, typename base::location where) noexcept
      : base(owner, std::move(callback), period > duration::zero() ? base::kind::ticker : base::kind::one_shot, where),
        period_(period) {}

  /// A ticker's next tick is one `period` from now.
  void begin_grid(duration period) noexcept {
    period_ = period;
    skipped_while_running_ = 0;
  }

  // A ticker's.
  duration period_;
  std::uint64_t skipped_ = 0;

  // With an executor: see shard.hpp.
  firing posted_firing_{};
  /// How many ticks came while the callback ran: the next firing counts them as skipped.
  std::uint64_t skipped_while_running_ = 0;
  /// The timer was due, and its callback has not begun: a stop or a reset still cancels this firing.
  bool posted_ = false;
  /// The executor has the timer's job, and has neither run it to its end nor destroyed it.
  bool job_is_out_ = false;
  /// The executor is being called, and may have run or destroyed the job already.
  bool being_posted_ = false;
  /// Its links in the shard's list of posted timers, while posted_.
  list_links<extended_record> posted_links_;

  // With location::stored.
  // Written by the thread that arms the timer, read by the thread that runs it. Relaxed, both: a source location is
  // constant, and publishes nothing.
  seam::atomic<std::source_location> armed_at_{std::source_location{}};
  /// Null: the timer has no name.
  shared_name name_;
};

/// What a sleeping thread and its timer share. On the thread's stack.
struct one_sleep {
  note woken;
  bool fired = false;  // written by the timer's callback, before the wake-up
};

/// The timer of a sleeping thread: see shard.hpp.
template <timer_queue Queue, class Word, class Home>
struct sleeping_record final : extended_record<Queue, Word, Home> {
  using base = extended_record<Queue, Word, Home>;

  sleeping_record(engine& owner, one_sleep& sleep, typename base::location where, std::source_location here) noexcept
      : base(owner, timer_callback([&sleep](const firing&) noexcept { sleep.fired = true; }), duration::zero(), where),
        sleep_(&sleep) {
    this->is_sleep_ = true;
    this->armed_at_.store(here, seam::relaxed);
  }

  // The shard's, under its lock.
  /// Null once the thread has been woken.
  one_sleep* sleep_;
  /// Its links in the shard's list of sleeps or in that of spare records: it is in one of them at most.
  list_links<sleeping_record> sleep_links_;
};

}  // namespace foliot::detail
