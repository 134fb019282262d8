// A processor's timers in foliot's own queue: one lock, taken by the processor itself in the common case, when it
// costs little (mutex.hpp), and by whoever stops or resets from elsewhere.
//
// A reset to a later deadline is one compare-and-swap on the entry's word; the queue learns of it when the entry is
// due by the old one.
//
// Thread safety: as processor_timers.
//
// Invariants: a pending entry is in the queue, at its word's deadline or earlier, and this is its home.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/queue/foliot_queue.hpp>

#include "processor_timers.hpp"

namespace foliot::runtime::detail {

class foliot_timers final : public processor_timers {
 public:
  foliot_timers(std::uint32_t processor, instant now) : processor_timers(processor), queue_(now) {}
  /// Those that are due in the same instant fire in an order that the seed decides.
  foliot_timers(std::uint32_t processor, instant now, std::uint64_t seed)
      : processor_timers(processor), queue_(now), ties_(seed) {}

  at_home reset(timer_entry& entry, instant deadline) override {
    if (timer_entry_access::word(entry).put_off(deadline)) return at_home::yes;
    const lock held(lock_);
    if (is_home_of(entry) && successor_ != nullptr) {
      timer_entry_access::home(entry).store(successor_, seam::relaxed);  // it was pending nowhere
    }
    if (!is_home_of(entry)) return at_home::lives_on;
    bool was_pending = queue_.reset(entry, deadline);
    was_pending = take_homeless(entry) || was_pending;
    timer_entry_access::word(entry).arm(deadline);
    lower_first(deadline);
    return was_pending ? at_home::yes : at_home::no;
  }

  at_home stop(timer_entry& entry) noexcept override {
    const lock held(lock_);
    if (!is_home_of(entry)) return at_home::lives_on;
    bool was_pending = queue_.stop(entry);
    was_pending = take_homeless(entry) || was_pending;
    timer_entry_access::word(entry).disarm();
    return was_pending ? at_home::yes : at_home::no;
  }

  bool run_due(instant now, ready_list& ready, call_list& calls) noexcept override {
    const lock held(lock_);
    try {
      bring_home();
      if (ties_) return run_shuffled(now, ready, calls);
      const expiry turn = queue_.expire(now, most_at_once,
                                        [&](timer_node& node) { run(static_cast<timer_entry&>(node), ready, calls); });
      set_first(turn.more ? now : queue_.next_deadline());
      return turn.more;
    } catch (const std::bad_alloc&) {
      set_first(now);  // nothing is lost: the next round tries again
      return false;
    }
  }

  void refresh_first() noexcept override {
    const lock held(lock_);
    const instant first = queue_.next_deadline();
    set_first(homeless_ == nullptr ? first : std::min(first, homeless_deadline_));
  }

  void take_all(processor_timers& from) override;
  void begin_again() noexcept override {
    const lock held(lock_);
    successor_ = nullptr;
  }
  void forget_all() noexcept override;

  std::size_t size() const noexcept override {
    const lock held(lock_);
    return queue_.size() + (homeless_ != nullptr ? 1 : 0);
  }

 private:
  /// How many are run before the others who wait for the lock, and the tasks that have become ready, have their turn.
  static constexpr budget most_at_once = 256;

  [[nodiscard]] bool is_home_of(timer_entry& entry) const noexcept FOLIOT_REQUIRES(lock_) {
    return timer_entry_access::home(entry).load(seam::relaxed) == this;  // written under this lock
  }

  void run(timer_entry& entry, ready_list& ready, call_list& calls) {
    lock_.assert_held();
    if (const std::optional<instant> later = timer_entry_access::word(entry).claim(entry.deadline())) {
      homeless_ = &entry;
      homeless_deadline_ = *later;
      bring_home();
      return;
    }
    if (timer_entry_access::due(entry, ready) == timer_entry::then::call) calls.add(entry);
  }

  bool run_shuffled(instant now, ready_list& ready, call_list& calls) FOLIOT_REQUIRES(lock_);

  /// Files the timer that has been put off, and that there was no memory for.
  void bring_home() {
    lock_.assert_held();
    if (homeless_ == nullptr) return;
    queue_.start(*homeless_, homeless_deadline_);
    timer_entry_access::word(*std::exchange(homeless_, nullptr)).arm(homeless_deadline_);
  }
  void file_whatever_it_takes() noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool take_homeless(timer_entry& entry) noexcept FOLIOT_REQUIRES(lock_) {
    if (homeless_ != &entry) [[likely]]
      return false;
    homeless_ = nullptr;
    return true;
  }

  mutable mutex lock_{lock_rank::timers};
  foliot_queue queue_ FOLIOT_GUARDED_BY(lock_);
  timer_entry* homeless_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  instant homeless_deadline_ FOLIOT_GUARDED_BY(lock_);
  processor_timers* successor_ FOLIOT_GUARDED_BY(lock_) = nullptr;  // whose what was here is
  std::optional<random_stream> ties_ FOLIOT_GUARDED_BY(lock_);
  std::vector<timer_entry*> shuffled_ FOLIOT_GUARDED_BY(lock_);
};

inline bool foliot_timers::run_shuffled(instant now, ready_list& ready, call_list& calls) {
  shuffled_.clear();
  shuffled_.reserve(queue_.size());
  bool more = false;
  try {
    queue_.expire(now, unlimited, [this](timer_node& node) {
      lock_.assert_held();
      shuffled_.push_back(&static_cast<timer_entry&>(node));
    });
  } catch (const std::bad_alloc&) {
    more = true;  // what it has taken out is run all the same
  }
  for (std::size_t begin = 0, end = 0; begin < shuffled_.size(); begin = end) {
    while (end < shuffled_.size() && shuffled_[end]->deadline() == shuffled_[begin]->deadline()) ++end;
    for (std::size_t i = begin + 1; i < end; ++i) {
      std::swap(shuffled_[i], shuffled_[begin + ties_->below(i - begin + 1)]);
    }
  }
  for (timer_entry* const each : shuffled_) {
    try {
      run(*each, ready, calls);
    } catch (const std::bad_alloc&) {
      file_whatever_it_takes();  // the others must not be lost
    }
  }
  set_first(more ? now : queue_.next_deadline());
  return more;
}

inline void foliot_timers::file_whatever_it_takes() noexcept {
  for (;;) {
    try {
      return bring_home();
    } catch (const std::bad_alloc&) {
      seam::spin_pause();  // memory comes back, or nothing goes on anyway
    }
  }
}

inline void foliot_timers::take_all(processor_timers& from) FOLIOT_NO_ANALYSIS {
  auto& other = static_cast<foliot_timers&>(from);
  // One move at a time, and nobody else takes two of these locks.
  const lock held(other.lock_);
  lock_.lock_beside_others();
  try {
    bring_home();
    other.bring_home();
    other.successor_ = this;
    while (other.queue_.size() != 0) {
      homeless_ = static_cast<timer_entry*>(other.queue_.pop_any());
      const instant filed = homeless_->deadline();
      homeless_deadline_ = timer_entry_access::word(*homeless_).claim(filed).value_or(filed);
      timer_entry_access::home(*homeless_).store(this, seam::relaxed);
      lower_first(homeless_deadline_);
      bring_home();
    }
    other.set_first(instant::never());
  } catch (...) {
    lock_.unlock_beside_others();
    throw;
  }
  lock_.unlock_beside_others();
}

inline void foliot_timers::forget_all() noexcept {
  const auto forget = [](timer_entry& entry) {
    timer_entry_access::word(entry).disarm();
    timer_entry_access::home(entry).store(nullptr, seam::relaxed);
  };
  const lock held(lock_);
  if (homeless_ != nullptr) forget(*std::exchange(homeless_, nullptr));
  while (queue_.size() != 0) forget(static_cast<timer_entry&>(*queue_.pop_any()));
  set_first(instant::never());
}

}  // namespace foliot::runtime::detail
