// What a shard keeps of one timer: the part that every engine has, the queue's node, the word by
// which it is postponed and stopped, if the engine has that, and which shard has it, if timers move.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>
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

/// In engines where a timer stays in the shard that has made it.
struct fixed_home {
  explicit fixed_home(engine&) noexcept {}
};

/// In engines where a start moves a timer to the shard of the calling thread: the shard that has the timer now.
class moving_home {
 public:
  explicit moving_home(engine& maker) noexcept : home_(&maker) {}
  /// Without a lock another shard may have the timer a moment later: look again under the lock of the one that it
  /// names.
  [[nodiscard]] engine* home() const noexcept { return home_.load(seam::relaxed); }
  /// Under the locks of both shards, the old and the new one.
  void move_to(engine& home) noexcept { home_.store(&home, seam::relaxed); }

 private:
  // Written by the thread that moves the timer, under the locks of both shards; read by any thread that uses the timer.
  // Relaxed: it publishes nothing, since a reader goes by it only once it has the lock of the shard that it names.
  seam::atomic<engine*> home_;
};

/// In this order: what a start, a stop and a reset touch comes first, in 48 bytes.
template <timer_queue Queue, class Word, class Home>
struct shard_record : timer_record, Word, Queue::node_type, Home {
  shard_record(engine& owner, timer_callback callback, bool ticks, bool wants_place = false) noexcept
      : timer_record(owner, ticks, wants_place), Home(owner), callback_(std::move(callback)) {}
  using timer_record::closed_;
  using timer_record::orphaned_;
  using timer_record::running_;
  using timer_record::sleeps_;
  using timer_record::ticks_;

  Word& word() noexcept { return *this; }
  const Word& word() const noexcept { return *this; }

  /// The thread that uses the closure with the shard's lock released, running or destroying it; null if
  /// none does. Under the lock.
  const void* user_ = nullptr;
  timer_callback callback_;
};

/// A ticker's, which is one with ticks_.
template <timer_queue Queue, class Word, class Home>
struct ticking_record : shard_record<Queue, Word, Home> {
  ticking_record(engine& owner, timer_callback callback, duration period, bool wants_place = false) noexcept
      : shard_record<Queue, Word, Home>(owner, std::move(callback), period > duration::zero(), wants_place),
        period_(period) {}

  // The engine's, under its lock.
  duration period_;
  std::uint64_t skipped_ = 0;
};

/// Any timer's, where an executor runs the callbacks.
template <timer_queue Queue, class Word, class Home>
struct posting_record : ticking_record<Queue, Word, Home> {
  posting_record(engine& owner, timer_callback callback, duration period, bool wants_place = false) noexcept
      : ticking_record<Queue, Word, Home>(owner, std::move(callback), period, wants_place) {}

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
template <timer_queue Queue, class Word, class Home>
struct placed_record : posting_record<Queue, Word, Home> {
  placed_record(engine& owner, timer_callback callback, duration period, bool wants_place = true) noexcept
      : posting_record<Queue, Word, Home>(owner, std::move(callback), period, wants_place) {}

  // Written by whoever arms the timer, read by whoever runs it.
  seam::atomic<std::source_location> armed_at_{std::source_location{}};
  /// The engine's, under its lock. Null: none.
  std::shared_ptr<const std::string> name_;
};

/// What a sleeping thread shares with its timer. On the thread's stack.
struct one_sleep {
  note woken;
  bool whole = false;  // written by the timer's callback, before the wake-up
};

/// The timer of a thread that sleeps. Any kind of record, since it is not one of many: see shard_sleeps.hpp.
template <timer_queue Queue, class Word, class Home>
struct sleeping_record final : placed_record<Queue, Word, Home> {
  sleeping_record(engine& owner, one_sleep& sleep, bool wants_place) noexcept
      : placed_record<Queue, Word, Home>(owner,
                                         timer_callback([&sleep](const firing&) noexcept { sleep.whole = true; }),
                                         duration::zero(), wants_place),
        sleep_(&sleep) {
    this->sleeps_ = true;
    this->armed_at_.store(std::source_location::current(), seam::relaxed);
  }

  // The engine's, under its lock.
  /// Null once the thread has been woken.
  one_sleep* sleep_;
  /// Its neighbours in the shard's list of sleeps, or of spare records.
  sleeping_record* previous_asleep_ = nullptr;
  sleeping_record* next_asleep_ = nullptr;
};

}  // namespace foliot::detail
