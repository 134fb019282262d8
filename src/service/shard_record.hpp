// What a shard keeps of one timer: the part that every engine has, the queue's node, and the word by
// which it is put off and stopped, if the engine has that.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/service/engine.hpp>

#include <foliot/queue/detail/timer_word.hpp>

namespace foliot::detail {

/// In engines where every reset and every stop takes the lock.
struct no_word {
  struct state {
    static constexpr bool armed() noexcept { return false; }
    static constexpr bool stopped() noexcept { return false; }
  };
  static state take() noexcept { return {}; }
  static state now() noexcept { return {}; }
  static void restore(state) noexcept {}
};

/// In this order: what a start, a stop and a reset touch comes first, in 48 bytes.
template <timer_queue Queue, class Word>
struct shard_record : timer_record, Word, Queue::node_type {
  shard_record(engine& owner, timer_callback callback, bool ticks, bool wants_place = false) noexcept
      : timer_record(owner, ticks, wants_place), callback_(std::move(callback)) {}
  using timer_record::closed_;
  using timer_record::orphaned_;
  using timer_record::running_;
  using timer_record::ticks_;

  Word& word() noexcept { return *this; }
  const Word& word() const noexcept { return *this; }

  /// The thread that uses the closure with the shard's lock released, running or destroying it; null if
  /// none does. Under the lock.
  const void* user_ = nullptr;
  timer_callback callback_;
};

/// A ticker's, which is one with ticks_.
template <timer_queue Queue, class Word>
struct ticking_record : shard_record<Queue, Word> {
  ticking_record(engine& owner, timer_callback callback, duration period, bool wants_place = false) noexcept
      : shard_record<Queue, Word>(owner, std::move(callback), period > duration::zero(), wants_place),
        period_(period) {}

  // The engine's, under its lock.
  duration period_;
  std::uint64_t skipped_ = 0;
};

/// Any timer's, where an executor runs the callbacks.
template <timer_queue Queue, class Word>
struct posting_record : ticking_record<Queue, Word> {
  posting_record(engine& owner, timer_callback callback, duration period, bool wants_place = false) noexcept
      : ticking_record<Queue, Word>(owner, std::move(callback), period, wants_place) {}

  // The engine's, under its lock.
  firing posted_firing_{};
  /// It was due, and its callback has not begun: it can still be taken back.
  bool posted_ = false;
  /// The executor has its job, and has neither run it to its end nor destroyed it.
  bool job_is_out_ = false;
  /// The executor is being called, and may have run or destroyed the job already.
  bool being_posted_ = false;
  /// Its neighbours in the shard's list of posted timers, while posted_.
  posting_record* previous_posted_ = nullptr;
  posting_record* next_posted_ = nullptr;
};

/// Any timer's, where slow callbacks are told by the place that armed them, or a log tells of timers by their names.
/// One with wants_place().
template <timer_queue Queue, class Word>
struct placed_record final : posting_record<Queue, Word> {
  placed_record(engine& owner, timer_callback callback, duration period) noexcept
      : posting_record<Queue, Word>(owner, std::move(callback), period, true) {}

  // Written by whoever arms the timer, read by whoever runs it.
  seam::atomic<std::source_location> armed_at_{std::source_location{}};
  /// The engine's, under its lock. Null: none.
  std::shared_ptr<const std::string> name_;
};

}  // namespace foliot::detail
