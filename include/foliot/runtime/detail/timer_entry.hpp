// A timer as a processor's timers hold it. Intrusive: it is a part of an awaiter in a coroutine's frame, of a handle's
// record, or of a context with a deadline.
//
//   start   makes an idle entry pending, at the processor that the caller runs on, or at any
//   stop    from any thread: returns whether the entry was pending. Afterwards no thread touches the entry
//   reset   from any thread: returns whether the entry was pending
//
// A due entry's action is the function `due`, called under the lock of the timers: it may claim a wait, and may take
// only locks of the scheduler. If it returns `call`, the entry's `call` follows without the lock. The owner of the
// entry must keep it alive until then. A pinned_callback returns `call_pinned`, and may be destroyed before its call.
//
// Thread safety: stop and reset from any thread; one start at a time.
#pragma once

#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/timer_word.hpp>

namespace foliot::runtime::detail {

class processor_timers;
class ready_list;
class scheduler;

/// The entry that has this record in the heaps of Go 1.14 is destroyed. See timer_status.hpp.
FOLIOT_EXPORT void abandon_record(void* record) noexcept;

class timer_entry : public timer_node {
 public:
  enum class then : std::uint8_t { nothing, call, call_pinned };
  struct actions {
    /// The entry is due. Called under the lock. Parked tasks that it claims go to the list.
    then (*due)(timer_entry& self, ready_list& ready) noexcept;
    /// Called afterwards without the lock, if `due` has returned `call` or `call_pinned`.
    void (*call)(timer_entry& self) noexcept;
  };

  explicit timer_entry(const actions& what) noexcept : what_(&what) {}
  ~timer_entry() {
    // relaxed: the caller knows that all threads that used the entry are done with it.
    if (void* const record = record_.load(seam::relaxed)) abandon_record(record);
  }

 private:
  friend struct timer_entry_access;

  const actions* const what_;
  // The timers that it is, or was last, among: written under their lock, read by threads that then take the lock.
  seam::atomic<processor_timers*> home_{nullptr};
  // With foliot's queue: a postponement that the queue does not know of yet.
  foliot::detail::timer_word word_;
  // With the heaps of Go 1.14: its record, made by the first start. It may stay in a heap longer than the entry exists.
  // With foliot's queue: the next pending entry that the queue has no memory for (unqueued_timers.hpp).
  seam::atomic<void*> record_{nullptr};
  timer_entry* next_call_ = nullptr;  // in the call_list of the thread that is about to call it
};

/// For processor_timers and the classes that implement it.
struct timer_entry_access {
  using calls = intrusive_queue<timer_entry, &timer_entry::next_call_>;

  static timer_entry::then due(timer_entry& entry, ready_list& ready) noexcept {
    return entry.what_->due(entry, ready);
  }
  static void call(timer_entry& entry) noexcept { entry.what_->call(entry); }
  static const timer_entry::actions& what(const timer_entry& entry) noexcept { return *entry.what_; }
  static seam::atomic<processor_timers*>& home(timer_entry& entry) noexcept { return entry.home_; }
  static foliot::detail::timer_word& word(timer_entry& entry) noexcept { return entry.word_; }
  static seam::atomic<void*>& record(timer_entry& entry) noexcept { return entry.record_; }
};

/// What the task that starts a timer does next. If it waits, its worker looks at its timers, and the monitor need not
/// guard the deadline.
enum class starter : std::uint8_t { goes_on, waits };

/// Starts an idle entry, at the processor of the caller or, from elsewhere, at one of the scheduler's. It is due at
/// `first` and then each `period`, where its timers keep periods; else, and with a period of zero, it is due once.
/// Throws std::bad_alloc; the entry is then idle.
FOLIOT_EXPORT void start_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period,
                                     starter next);
inline void start_timer(scheduler& owner, timer_entry& entry, instant deadline, starter next) {
  start_timer_every(owner, entry, deadline, duration::zero(), next);
}
/// Returns whether the entry was pending. Afterwards no thread touches the entry: a `due` that was running has
/// returned, but its `call` may still follow.
FOLIOT_EXPORT bool stop_timer(timer_entry& entry) noexcept;
/// Returns whether the entry was pending; else it starts the entry, as start_timer_every does. Throws std::bad_alloc,
/// with nothing changed.
FOLIOT_EXPORT bool reset_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period);
inline bool reset_timer(scheduler& owner, timer_entry& entry, instant deadline) {
  return reset_timer_every(owner, entry, deadline, duration::zero());
}
/// Whether an entry that was started with a period is pending again after it was due.
[[nodiscard]] FOLIOT_EXPORT bool keeps_period(timer_entry& entry) noexcept;

}  // namespace foliot::runtime::detail
