// The common part of timers and tickers: a move-only handle on one timer of a service.
//
// Thread safety: stop, stop_and_wait, name and pending from any thread, also at once, and from inside callbacks. No
// other thread may use the handle while it is moved, assigned or destroyed.
// Lifetime: destroying a handle waits for its callback as stop_and_wait does, so the thread that destroys it must not
// hold a lock that the callback waits for. Handles may outlive their service.
#pragma once

#include <source_location>
#include <string_view>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/service/detail/engine.hpp>

namespace foliot::inline service {

/// The operations that a timer and a ticker share.
class FOLIOT_EXPORT timer_handle {
 public:
  /// Takes the latest start back if it is pending, and returns what became of it: a start that was made while the
  /// callback of an earlier one runs is `stopped`. Does not wait, and wakes no thread; a later reset arms the timer
  /// again. Any thread. Costs what a stop costs in the engine's queue; O(1) in `foliot`, and mostly without a lock. An
  /// empty handle is `idle`.
  stop_result stop() noexcept { return record_ == nullptr ? stop_result::idle : record_->owner().stop(*record_); }

  /// Closes the timer: on return its callback does not run and will not run again, and everything that it captured has
  /// been destroyed. From inside the callback itself it returns at once, and the captures are destroyed when the
  /// callback returns. Any thread. Deadlocks if the caller holds a lock that the running callback waits for.
  stop_result stop_and_wait() noexcept {
    return record_ == nullptr ? stop_result::idle : record_->owner().stop_and_wait(*record_);
  }

  /// Whether the timer will fire. Any thread.
  [[nodiscard]] bool pending() const noexcept { return record_ != nullptr && record_->owner().pending(*record_); }

  /// Tells the processor that a start, a reset or a stop of this timer comes soon: it fetches the timer's cache lines
  /// meanwhile. Worth it some 100 ns ahead, where there are more timers than the cache has room for. Changes nothing.
  /// Any thread.
  void prefetch() const noexcept {
    if (record_ != nullptr) record_->prefetch();
  }

  /// Names the timer, for the log and for the reports of callbacks. A service stores names if it has
  /// service_options::log, slow_callback or stalls, or an on_exception that takes a callback_failure. Any thread.
  /// Throws std::logic_error on an empty handle, std::bad_alloc.
  void name(std::string_view text) {
    detail::timer_record& named = record();
    if (named.has_location()) named.owner().set_name(named, text);
  }

 protected:
  // Protected, so that timers are only moved to timers, and tickers to tickers.
  timer_handle() noexcept = default;
  explicit timer_handle(detail::timer_record* record) noexcept : record_(record) {}
  timer_handle(timer_handle&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  timer_handle& operator=(timer_handle&& other) noexcept {
    // The old record is destroyed last: the destructors of its captures may use this handle.
    const timer_handle old(std::exchange(record_, std::exchange(other.record_, nullptr)));
    return *this;
  }
  /// As stop_and_wait, and frees the timer.
  ~timer_handle() {
    if (record_ != nullptr) record_->owner().destroy(record_);
  }

  /// The timer's record. Throws std::logic_error if the handle is empty.
  [[nodiscard]] detail::timer_record& record() const {
    if (record_ == nullptr) refuse_empty();
    return *record_;
  }
  /// The same, for a call at `here` that arms the timer.
  [[nodiscard]] detail::timer_record& armed(std::source_location here) const {
    detail::timer_record& armed = record();
    if (armed.has_location()) [[unlikely]]
      armed.owner().set_location(armed, here);
    return armed;
  }

  detail::timer_record* record_ = nullptr;

 private:
  [[noreturn]] static void refuse_empty();
};

}  // namespace foliot::inline service
