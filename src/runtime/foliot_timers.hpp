// A processor's timers in foliot's own queue, under one lock. The processor's worker mostly takes the lock uncontended,
// which costs little (mutex.hpp); threads that stop or reset a timer from elsewhere take it as well.
//
// A reset to a later deadline is one compare-and-swap on the entry's word. The entry stays queued at its old deadline;
// when that has come, it is requeued at the later one.
//
// If the queue has no memory, a start is refused; every other operation succeeds without memory. Pending entries that
// the queue has no memory for go to an intrusive list (unqueued_timers.hpp) until there is memory.
//
// Thread safety: as processor_timers.
// Invariants: a pending entry has this object as its home. Either the queue holds it, at its word's deadline or
// earlier, or the unqueued list does, and its word is open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/queue/foliot_queue.hpp>

#include "processor_timers.hpp"
#include "unqueued_timers.hpp"

namespace foliot::runtime::detail {

class foliot_timers final : public processor_timers {
 public:
  foliot_timers(std::uint32_t processor, instant now) : processor_timers(processor), queue_(now) {}
  /// Timers that are due at the same instant fire in an order that the seed decides.
  foliot_timers(std::uint32_t processor, instant now, std::uint64_t seed)
      : processor_timers(processor), queue_(now), ties_(seed) {}

  /// Ignores the period: an entry runs once.
  home_answer reset_every(timer_entry& entry, instant deadline, duration) override {
    if (timer_entry_access::word(entry).postpone(deadline)) return home_answer::was_pending;
    const lock held(lock_);
    if (is_home_of(entry) && successor_ != nullptr) {
      timer_entry_access::home(entry).store(successor_, seam::relaxed);  // the entry was not pending
    }
    if (!is_home_of(entry)) return home_answer::moved;
    const bool was_unqueued = !unqueued_.empty() && unqueued_.remove(entry);
    bool was_pending = was_unqueued;
    try {
      was_pending = queue_.reset(entry, deadline) || was_unqueued;
      timer_entry_access::word(entry).arm(deadline);
    } catch (const std::bad_alloc&) {
      if (!was_unqueued && !queue_.stop(entry)) throw;  // the entry was not pending, and is not now
      was_pending = true;
      timer_entry_access::word(entry).disarm();
      unqueued_.add(entry, deadline);
    }
    lower_first(deadline);
    return was_pending ? home_answer::was_pending : home_answer::was_idle;
  }

  home_answer stop(timer_entry& entry) noexcept override {
    const lock held(lock_);
    if (!is_home_of(entry)) return home_answer::moved;
    bool was_pending = queue_.stop(entry);
    if (!unqueued_.empty() && unqueued_.remove(entry)) was_pending = true;
    timer_entry_access::word(entry).disarm();
    return was_pending ? home_answer::was_pending : home_answer::was_idle;
  }

  bool run_due(instant now, ready_list& ready, call_list& calls) noexcept override {
    const lock held(lock_);
    if (!unqueued_.empty()) [[unlikely]]
      queue_some();
    const bool more = ties_ ? run_shuffled(now, ready, calls) : run_in_order(now, ready, calls);
    set_first(more ? now : next_deadline());
    return more;
  }

  void refresh_first() noexcept override {
    const lock held(lock_);
    if (!unqueued_.empty()) [[unlikely]]
      queue_some();
    set_first(next_deadline());
  }

  void take_all(processor_timers& from) noexcept override;
  void reopen() noexcept override {
    const lock held(lock_);
    successor_ = nullptr;
  }
  void forget_all() noexcept override;

  std::size_t size() const noexcept override {
    const lock held(lock_);
    return queue_.size() + unqueued_.size();
  }

 private:
  /// How many timers run before threads that wait for the lock, and tasks that have become ready, have their turn.
  static constexpr budget most_at_once = 256;

  [[nodiscard]] bool is_home_of(timer_entry& entry) const noexcept FOLIOT_REQUIRES(lock_) {
    return timer_entry_access::home(entry).load(seam::relaxed) == this;  // written under this lock
  }

  [[nodiscard]] instant next_deadline() noexcept FOLIOT_REQUIRES(lock_) {
    // A queue that found no memory may still have slots to open that are empty by now.
    if (queue_.size() == 0) return unqueued_.first_deadline();
    return std::min(queue_.next_deadline(), unqueued_.first_deadline());
  }

  void run(timer_entry& entry, instant now, ready_list& ready, call_list& calls) noexcept {
    lock_.assert_held();
    if (const std::optional<instant> later = timer_entry_access::word(entry).take_due(entry.deadline())) {
      if (!requeue(entry, *later)) unqueued_.add(entry, *later);
      return;
    }
    count_fired(entry.deadline(), now);
    act(entry, ready, calls);
  }

  bool run_in_order(instant now, ready_list& ready, call_list& calls) noexcept FOLIOT_REQUIRES(lock_);
  bool run_shuffled(instant now, ready_list& ready, call_list& calls) noexcept FOLIOT_REQUIRES(lock_);

  /// Returns false if the queue has no memory for the entry.
  [[nodiscard]] bool requeue(timer_entry& entry, instant deadline) noexcept FOLIOT_REQUIRES(lock_) {
    try {
      queue_.start(entry, deadline);
    } catch (const std::bad_alloc&) {
      return false;
    }
    timer_entry_access::word(entry).arm(deadline);
    return true;
  }
  /// Queues entries of the unqueued list, the earliest first, until the queue has no memory. After a turn that found no
  /// memory it queues only a few at a time: otherwise all entries would move to the queue and back in each turn.
  void queue_some() noexcept FOLIOT_REQUIRES(lock_) {
    for (std::size_t i = 0; i < queued_at_once_ && !unqueued_.empty(); ++i) {
      timer_entry& entry = unqueued_.pop_first();
      const instant deadline = entry.deadline();
      if (requeue(entry, deadline)) continue;
      unqueued_.push_front(entry, deadline);
      queued_at_once_ = 1;
      return;
    }
    queued_at_once_ = unqueued_.empty() ? unlimited : std::min(queued_at_once_, unlimited / 2) * 2;
  }
  /// Moves all entries from the queue to the list.
  void unqueue_all() noexcept FOLIOT_REQUIRES(lock_) {
    while (queue_.size() != 0) {
      auto& entry = static_cast<timer_entry&>(*queue_.pop_any());
      const instant queued = entry.deadline();
      unqueued_.push_front(entry, timer_entry_access::word(entry).take_due(queued).value_or(queued));
    }
    unqueued_.sort();
  }
  /// The queue has no memory to go on. The list needs none.
  void give_up_queue() noexcept FOLIOT_REQUIRES(lock_) {
    unqueue_all();
    queued_at_once_ = 1;
  }

  mutable mutex lock_{lock_rank::timers};
  foliot_queue queue_ FOLIOT_GUARDED_BY(lock_);
  unqueued_timers unqueued_ FOLIOT_GUARDED_BY(lock_);
  std::size_t queued_at_once_ FOLIOT_GUARDED_BY(lock_) = unlimited;
  // Where the timers that were here are now; null: they are here.
  processor_timers* successor_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  std::optional<random_stream> ties_ FOLIOT_GUARDED_BY(lock_);
};

/// Runs the due entries of the queue and of the unqueued list, in the order of their deadlines.
inline bool foliot_timers::run_in_order(instant now, ready_list& ready, call_list& calls) noexcept {
  budget left = most_at_once;
  for (;;) {
    const instant unqueued = unqueued_.first_deadline();
    const bool unqueued_is_due = is_due(unqueued, now);
    if (unqueued_.empty() || queue_.size() != 0) {
      try {
        const expiry turn = queue_.expire(unqueued_is_due ? unqueued : now, left, [&](timer_node& node) {
          lock_.assert_held();
          --left;
          run(static_cast<timer_entry&>(node), now, ready, calls);
        });
        if (turn.more) return true;
      } catch (const std::bad_alloc&) {
        give_up_queue();
        if (unqueued_.empty()) return false;
        continue;
      }
    }
    if (!unqueued_is_due) return false;
    if (left == 0) return true;
    --left;
    run(unqueued_.pop_first(), now, ready, calls);
  }
}

/// Runs all due entries. Entries of equal deadlines run in an order that the seed decides: each gets a random number.
inline bool foliot_timers::run_shuffled(instant now, ready_list& ready, call_list& calls) noexcept {
  unqueued_timers due;
  const auto take = [&](timer_entry& entry) {
    lock_.assert_held();
    timer_node_access::sequence(entry) = ties_->next();
    due.push_front(entry, entry.deadline());
  };
  try {
    queue_.expire(now, unlimited, [&](timer_node& node) { take(static_cast<timer_entry&>(node)); });
  } catch (const std::bad_alloc&) {
    give_up_queue();
  }
  while (is_due(unqueued_.first_deadline(), now)) take(unqueued_.pop_first());
  due.sort();
  while (!due.empty()) run(due.pop_first(), now, ready, calls);
  return false;
}

inline void foliot_timers::take_all(processor_timers& from) noexcept FOLIOT_NO_ANALYSIS {
  auto& other = static_cast<foliot_timers&>(from);
  // One move runs at a time, and no other code takes two of these locks.
  const lock held(other.lock_);
  lock_.lock_beside_others();
  other.successor_ = this;
  other.unqueue_all();
  while (!other.unqueued_.empty()) {
    timer_entry& entry = other.unqueued_.pop_first();
    const instant deadline = entry.deadline();
    timer_entry_access::home(entry).store(this, seam::relaxed);
    lower_first(deadline);
    if (!requeue(entry, deadline)) unqueued_.push_front(entry, deadline);
  }
  unqueued_.sort();
  other.set_first(instant::never());
  lock_.unlock_beside_others();
}

inline void foliot_timers::forget_all() noexcept {
  const auto forget = [](timer_entry& entry) {
    timer_entry_access::word(entry).disarm();
    timer_entry_access::home(entry).store(nullptr, seam::relaxed);
  };
  const lock held(lock_);
  while (!unqueued_.empty()) forget(unqueued_.pop_first());
  while (queue_.size() != 0) forget(static_cast<timer_entry&>(*queue_.pop_any()));
  set_first(instant::never());
}

}  // namespace foliot::runtime::detail
