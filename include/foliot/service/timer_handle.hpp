// What timers and tickers have in common: a move-only handle on one record of an engine.
//
// Thread safety: stop, stop_and_wait, name and pending from any thread, also at once, and from inside
// callbacks; moving, assigning and destroying a handle need it to oneself.
// Lifetime: destroying a handle waits for its callback as stop_and_wait does, so the thread that
// destroys it must not hold what that callback waits for, a lock for one.
#pragma once

#include <source_location>
#include <string_view>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/service/engine.hpp>

namespace foliot::inline service {

class FOLIOT_EXPORT timer_handle {
 public:
  /// Takes the start back, if it is pending, and says what became of it. Does not wait; a later reset
  /// arms the timer again. The answer speaks of the latest start: one that was made while the callback
  /// of an earlier one runs is `stopped`. Wakes nobody. The queue's cost; in `foliot` O(1), and as a rule no lock.
  stop_result stop() noexcept { return record_ == nullptr ? stop_result::idle : record_->owner().stop(*record_); }

  /// Stops it for good: on return the callback does not run and will not, and all that it captured has
  /// been destroyed. From inside the callback it returns at once, and the captures go when the callback
  /// returns. Deadlocks if the caller holds what the running callback waits for.
  stop_result stop_and_wait() noexcept {
    return record_ == nullptr ? stop_result::idle : record_->owner().stop_and_wait(*record_);
  }

  /// Whether it will fire.
  [[nodiscard]] bool pending() const noexcept { return record_ != nullptr && record_->owner().pending(*record_); }

  /// Gives it a name, for the log and for slow callbacks. Where the service has neither (service_options::log,
  /// slow_callback) no name is stored. Throws std::logic_error on an empty handle, std::bad_alloc.
  void name(std::string_view text) {
    timer_record& named = record();
    if (named.wants_place()) named.owner().name(named, text);
  }

 protected:
  // Protected, so that a timer is only ever moved to a timer, and a ticker to a ticker.
  timer_handle() noexcept = default;
  explicit timer_handle(timer_record* record) noexcept : record_(record) {}
  timer_handle(timer_handle&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  timer_handle& operator=(timer_handle&& other) noexcept {
    // The old record goes last: its destruction may run what looks at this handle.
    const timer_handle old(std::exchange(record_, std::exchange(other.record_, nullptr)));
    return *this;
  }
  /// stop_and_wait(), and the memory comes back.
  ~timer_handle() {
    if (record_ != nullptr) record_->owner().destroy(record_);
  }

  /// Throws std::logic_error if the handle is empty.
  [[nodiscard]] timer_record& record() const {
    if (record_ == nullptr) refuse_empty();
    return *record_;
  }
  /// The same, of a timer that is about to be armed there.
  [[nodiscard]] timer_record& armed(std::source_location here) const {
    timer_record& armed = record();
    if (armed.wants_place()) [[unlikely]]
      armed.owner().arms_at(armed, here);
    return armed;
  }

  timer_record* record_ = nullptr;

 private:
  [[noreturn]] static void refuse_empty();
};

}  // namespace foliot::inline service
