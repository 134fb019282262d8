// The record of a timer with a callback: a callback_timer holds it, and the processor's timers run it.
//
// A reset that postpones a pending timer is one compare-and-swap (timer_word.hpp). All other operations take the
// record's lock, then that of the timers. Under the record's lock `latest_` is known: the number of the due that the
// latest start has become, or will become. A due is cancelled by that number (callback_word.hpp).
//
// Thread safety: reset, stop and close from any thread; destroy() needs the record for itself, as the destructor of a
// handle does. Lifetime: the record outlives its handle while a call of its callback is to follow.
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/detail/callback_word.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/runtime_deadline.hpp>

namespace foliot::runtime::detail {

/// Has room for a closure of three pointers; larger ones are allocated.
using callback = callable<void()>;

class FOLIOT_EXPORT callback_record final : public timer_entry, public pooled {
 public:
  callback_record(scheduler& owner, callback what) noexcept
      : timer_entry(what_to_do), runtime_(reference_to(owner)), closure_(std::move(what)) {}

  /// Precondition: the timer was not started, stopped or reset before, and its runtime exists. Throws std::bad_alloc;
  /// the timer is then idle.
  void start(duration delay) FOLIOT_NO_ANALYSIS {
    scheduler& owner = *runtime_.living();
    latest_ = callback_word::after(latest_);
    try {
      start_timer(owner, *this, deadline_in(owner, delay), starter::goes_on);
    } catch (...) {
      latest_ = callback_word::before(latest_);
      throw;
    }
  }

  /// Returns `closed` if the timer was closed, or its runtime has ended.
  reset_result reset(duration delay) {
    const scheduler* const owner = runtime_.living();
    return owner == nullptr ? reset_result::closed : reset(deadline_in(*owner, delay));
  }
  reset_result reset(runtime_deadline deadline) {
    return reset(deadline.on([this]() -> const clock& {
      const scheduler* const owner = runtime_.living();
      return owner == nullptr ? monotonic_clock::instance() : clock_of(*owner);
    }));
  }
  reset_result reset(instant deadline) {
    // At the end of a runtime the words of all its timers are disarmed, so this need not ask whether it has ended.
    if (timer_entry_access::word(*this).postpone(deadline)) return reset_result::superseded;
    return reset_slowly(deadline);
  }
  stop_result stop() noexcept;

  /// A task or a thread that waits until the callback, which another thread runs, has ended.
  class waiter {
   public:
    waiter() noexcept = default;
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

   private:
    friend class callback_record;
    wait_point* task_ = nullptr;
    note* thread_ = nullptr;
    list_links<waiter> links_;
    bool listed_ = false;  // under the record's lock
  };
  enum class close_result : std::uint8_t {
    done,    ///< the closure is destroyed
    inside,  ///< the caller is the callback itself, whose closure is destroyed when it returns
    waits,   ///< another thread runs the callback: the waiter is notified when it has ended
  };
  struct closing {
    stop_result result;
    close_result state;
  };
  /// Stops the timer for good. If this returns `waits`, `task` is claimed for source 0 when the callback has ended, and
  /// the caller must call end_wait().
  [[nodiscard]] closing close(waiter& who, wait_point& task) noexcept { return close(who, &task, nullptr); }
  /// The wait has ended, or is given up. Afterwards no thread touches the waiter.
  void end_wait(waiter& who) noexcept;

  /// As close(), waits on the calling thread, and frees the record. Called from the callback itself it does not wait,
  /// and the record is freed when the callback has ended.
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
  [[nodiscard]] closing close(waiter& who, wait_point* task, note* thread) noexcept;

  const runtime_ref runtime_;
  callback_word word_;
  mutex lock_{lock_rank::object};
  callback_word::number latest_ FOLIOT_GUARDED_BY(lock_) = 0;
  intrusive_list<waiter, &waiter::links_> waiters_ FOLIOT_GUARDED_BY(lock_);
  callback closure_;  // owned by the thread that has set `running` in the word
};

}  // namespace foliot::runtime::detail
