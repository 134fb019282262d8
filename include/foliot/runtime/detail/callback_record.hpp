// The record of a timer with a callback: what a callback_timer holds, and what the timers run.
//
// Thread safety: reset, stop and close from any thread; destroy needs the record to oneself, as a handle's destructor
// does. Lifetime: the record outlives its handle for as long as a call of it is on its way.
//
// A reset that postpones a pending timer is one compare-and-swap (timer_word.hpp). All others take the record's lock,
// then that of the timers. Under the record's lock the number of the due that the latest start has become, or will
// become, is known: latest_. What has come due is taken back by that number (callback_word.hpp).
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/outcome.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/detail/callback_word.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

/// With room for three pointers of closure; larger ones have an allocation of their own.
using callback = callable<void()>;

class FOLIOT_EXPORT callback_record final : public timer_entry, public pooled {
 public:
  callback_record(scheduler& owner, callback what) noexcept
      : timer_entry(what_to_do), runtime_(reference_to(owner)), closure_(std::move(what)) {}

  /// Precondition: nobody has stopped or reset it, nor has it been started, and its runtime lives. Throws
  /// std::bad_alloc; it is then idle.
  void start(duration delay) FOLIOT_NO_ANALYSIS {
    scheduler& owner = *runtime_.living();
    latest_ = callback_word::after(latest_);
    try {
      start_timer(owner, *this, deadline_in(owner, delay), false);
    } catch (...) {
      latest_ = callback_word::before(latest_);
      throw;
    }
  }

  // `closed`: it was closed, or its runtime has ended.
  reset_result reset(duration delay) {
    const scheduler* const owner = runtime_.living();
    return owner == nullptr ? reset_result::closed : reset(deadline_in(*owner, delay));
  }
  reset_result reset(instant deadline) {
    // When a runtime ends the words of all its timers are disarmed, so this need not ask whether it has.
    if (timer_entry_access::word(*this).postpone(deadline)) return reset_result::superseded;
    return reset_slowly(deadline);
  }
  stop_result stop() noexcept;

  /// Somebody who waits until the callback, which another thread runs, has ended.
  class watcher {
   public:
    watcher() noexcept = default;
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

   private:
    friend class callback_record;
    wait_point* task_ = nullptr;
    note* thread_ = nullptr;
    watcher* next_ = nullptr;
  };
  enum class close_result : std::uint8_t { done, inside, waits };
  struct closing {
    stop_result result;
    close_result state;
  };
  /// Stops it for good. `waits`: the watcher is told at the end of the run, by a claim for 0, or by waking the note.
  [[nodiscard]] closing close(watcher& who, wait_point& task) noexcept { return close(who, &task, nullptr); }
  /// The wait is over, or given up: afterwards nobody touches the watcher.
  void end_watch(watcher& who) noexcept;

  /// As close(), waits on this thread, and frees the record; in the callback itself at its end.
  void destroy() noexcept;

 private:
  ~callback_record() = default;

  static then note_due(timer_entry& self, ready_list&) noexcept {
    return static_cast<callback_record&>(self).word_.note_due() ? then::call : then::nothing;
  }
  static void call(timer_entry& self) noexcept;
  static constexpr actions what_to_do{note_due, call};

  void run() noexcept;
  void leave() noexcept;
  [[nodiscard]] bool runs_on_caller() const noexcept;
  reset_result reset_slowly(instant deadline);
  stop_result stop_pending() noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] closing close(watcher& who, wait_point* task, note* thread) noexcept;

  const runtime_ref runtime_;
  callback_word word_;
  mutex lock_{lock_rank::object};
  callback_word::number latest_ FOLIOT_GUARDED_BY(lock_) = 0;
  watcher* watchers_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  callback closure_;  // whoever has set `running` in the word
};

}  // namespace foliot::runtime::detail
