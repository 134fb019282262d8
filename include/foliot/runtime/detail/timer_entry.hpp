// A timer as a processor's timers hold it. Intrusive: an awaiter in a coroutine's frame has one, and so has every
// handle, and every context with a deadline.
//
//   start   an idle entry, at the processor that the caller runs on, or at any
//   stop    from any thread: true if it was pending. Afterwards nobody touches the entry any more
//   reset   from any thread: true if it was pending
//
// What it does when it is due is a function, `due`, called under the lock of the timers: it may claim a wait
// and take no lock but those of the scheduler. Where it answers `call`, the entry's `call` follows without the lock;
// the entry has to be there still then, which is the business of whoever made it so.
//
// Thread safety: stop and reset from any thread; one start at a time.
#pragma once

#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/timer_word.hpp>

namespace foliot::runtime::detail {

class processor_timers;
class ready_list;
class scheduler;

/// The entry that has this record in the heaps of Go 1.14 dies. See timer_status.hpp.
FOLIOT_EXPORT void abandon_record(void* record) noexcept;

class timer_entry : public timer_node {
 public:
  enum class then : std::uint8_t { nothing, call };
  struct actions {
    /// It is due: under the lock. Tasks that it claims, and that were parked, go to the list.
    then (*due)(timer_entry& self, ready_list& ready) noexcept;
    /// What follows without the lock.
    void (*call)(timer_entry& self) noexcept;
  };

  explicit timer_entry(const actions& what) noexcept : what_(&what) {}
  ~timer_entry() {
    // relaxed: whoever used the entry is done with it, and the caller knows.
    if (void* const record = record_.load(seam::relaxed)) abandon_record(record);
  }

 private:
  friend struct timer_entry_access;

  const actions* const what_;
  // Whose timers it is, or was last, among: written under the lock of those, read by who will take it.
  seam::atomic<processor_timers*> home_{nullptr};
  // With foliot's queue: a postponement that the queue need not know of.
  foliot::detail::timer_word word_;
  // With the heaps of Go 1.14: its record, made by the first start. It may stay in a heap when the entry is gone. With
  // foliot's queue: the next of those that are pending, and for which the queue has no memory (unqueued_timers.hpp).
  seam::atomic<void*> record_{nullptr};
  timer_entry* next_call_ = nullptr;  // of who is about to call it
};

/// For processor_timers and those that implement them.
struct timer_entry_access {
  static timer_entry::then due(timer_entry& entry, ready_list& ready) noexcept {
    return entry.what_->due(entry, ready);
  }
  static void call(timer_entry& entry) noexcept { entry.what_->call(entry); }
  static seam::atomic<processor_timers*>& home(timer_entry& entry) noexcept { return entry.home_; }
  static foliot::detail::timer_word& word(timer_entry& entry) noexcept { return entry.word_; }
  static timer_entry*& next_call(timer_entry& entry) noexcept { return entry.next_call_; }
  static seam::atomic<void*>& record(timer_entry& entry) noexcept { return entry.record_; }
};

/// Starts an idle entry, at the processor of the caller or, from elsewhere, at one of the scheduler's. `parks`: the
/// caller is about to wait, and need not be watched. Throws std::bad_alloc; the entry is then idle.
FOLIOT_EXPORT void start_timer(scheduler& owner, timer_entry& entry, instant deadline, bool parks);
/// The same for an entry that comes again each `period` from `first` on, where its timers keep periods; else, and with
/// a period of zero, it comes once.
FOLIOT_EXPORT void start_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period, bool parks);
/// True if it was pending. Afterwards nobody touches the entry: a call of `due` that was on its way has come back, but
/// not its `call`.
FOLIOT_EXPORT bool stop_timer(timer_entry& entry) noexcept;
/// True if it was pending. Else it is started, as start_timer does. Throws std::bad_alloc; it is then as it was.
FOLIOT_EXPORT bool reset_timer(scheduler& owner, timer_entry& entry, instant deadline);
FOLIOT_EXPORT bool reset_timer_every(scheduler& owner, timer_entry& entry, instant first, duration period);
/// Whether an entry that was started with a period is pending again when it has come.
[[nodiscard]] FOLIOT_EXPORT bool keeps_period(timer_entry& entry) noexcept;

}  // namespace foliot::runtime::detail
