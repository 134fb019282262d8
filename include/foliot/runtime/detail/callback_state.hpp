// A timer with a callback: what its starts, resets and stops do, wherever the closure and the memory are.
//
//   callback_record   the timer of a handle: it has memory of its own
//   pinned_callback   the timer that lies in the user's object
//
// A reset that postpones a pending timer is one compare-and-swap (timer_word.hpp). All other operations take the
// timer's lock, then that of the processor's timers. Under the timer's lock `latest_` is known: the number of the due
// that the latest start has become, or will become. A due is cancelled by that number (callback_word.hpp).
//
// Thread safety: start, reset, stop and end_wait from any thread; the derived classes say who calls the others.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/detail/callback_word.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/runtime_deadline.hpp>

namespace foliot::runtime::detail {

class FOLIOT_EXPORT callback_state : public timer_entry {
 public:
  /// Precondition: the timer was not started, stopped or reset before, and its runtime exists. Throws std::bad_alloc;
  /// the timer is then idle.
  void start(duration delay) {
    scheduler& owner = *runtime_.living();
    start_at(owner, deadline_in(owner, delay));
  }
  /// The same. Throws std::invalid_argument for a time point of another clock.
  void start(runtime_deadline deadline) {
    scheduler& owner = *runtime_.living();
    start_at(owner, instant_on(owner, deadline));
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
    friend class callback_state;
    wait_point* task_ = nullptr;
    note* thread_ = nullptr;
    list_links<waiter> links_;
    bool listed_ = false;  // under the timer's lock
  };
  enum class close_result : std::uint8_t {
    done,    ///< the closure is destroyed
    mine,    ///< no thread runs the callback: the caller must destroy the closure, then call leave()
    inside,  ///< the caller is the callback itself, whose closure is destroyed when it returns
    waits,   ///< another thread runs the callback: the waiter is notified when it has ended
  };
  struct closing {
    stop_result result;
    close_result state;
  };
  /// The wait has ended, or is given up. Afterwards no thread touches the waiter.
  void end_wait(waiter& who) noexcept;

 protected:
  callback_state(const actions& what, scheduler& owner) noexcept : timer_entry(what), runtime_(reference_to(owner)) {}
  ~callback_state() = default;

  /// Stops the timer for good. If this returns `waits`, the waiter's task is claimed for source 0, or its thread is
  /// woken, when the callback has ended, and the caller must call end_wait().
  [[nodiscard]] closing begin_to_close(waiter& who, wait_point* task, note* thread) noexcept;
  /// The closure is destroyed: wakes the tasks and threads that wait for that. Returns true if the timer's handle has
  /// left it to this thread to free the record. Otherwise the caller must not touch the timer any more.
  [[nodiscard]] bool leave() noexcept;

  /// The innermost call of this timer's callback that the caller is inside of; null if there is none.
  [[nodiscard]] const seam::callback_frame* frame_of_caller() const noexcept {
    const seam::callback_frame* frame = seam::this_thread().inside;
    while (frame != nullptr && frame->owner != this) frame = frame->outer;
    return frame;
  }

  stop_result stop_pending() noexcept FOLIOT_REQUIRES(lock_) {
    // A start that has come due is not pending, and only the latest start can come due.
    if (word_.dues() != latest_ && stop_timer(*this)) {
      latest_ = callback_word::before(latest_);
      return stop_result::stopped;
    }
    switch (word_.cancel(latest_)) {
      case callback_word::cancel_result::cancelled: return stop_result::stopped;
      case callback_word::cancel_result::running: return stop_result::running;
      case callback_word::cancel_result::idle: break;
    }
    return stop_result::idle;
  }

  const runtime_ref runtime_;
  callback_word word_;
  mutex lock_{lock_rank::object};

 private:
  void start_at(scheduler& owner, instant deadline) FOLIOT_NO_ANALYSIS {
    latest_ = callback_word::after(latest_);
    try {
      start_timer(owner, *this, deadline, starter::goes_on);
    } catch (...) {
      latest_ = callback_word::before(latest_);
      throw;
    }
  }
  reset_result reset_slowly(instant deadline);

  callback_word::number latest_ FOLIOT_GUARDED_BY(lock_) = 0;
  intrusive_list<waiter, &waiter::links_> waiters_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::runtime::detail
