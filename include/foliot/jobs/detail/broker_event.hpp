// A flag of the broker, and the one task that waits until the flag is set.
//
// Thread safety: the lock of the broker guards the flag; event_wait takes that lock itself.
#pragma once

#include <foliot/core/language.hpp>

#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::jobs::detail {

/// The flag. The caller of every function must hold the broker's lock.
class broker_event {
 public:
  broker_event() noexcept = default;
  broker_event(const broker_event&) = delete;
  broker_event& operator=(const broker_event&) = delete;

  [[nodiscard]] bool is_set() const noexcept { return set_; }
  /// Sets the flag and makes the waiting task ready. The task lives at least until the caller unlocks the broker: when
  /// it is resumed, it takes the lock first.
  void set() noexcept {
    set_ = true;
    if (auto* const waiting = std::exchange(wait_, nullptr)) waiting->claim(by_);
  }
  void clear() noexcept { set_ = false; }

  /// From now on set() claims this wait for the source `by`. If the flag is set already, claims it at once.
  void begin(runtime::detail::wait_point& wait, runtime::detail::wait_word::source by) noexcept {
    FOLIOT_ASSERT(wait_ == nullptr, "one task at a time may wait for an event of the broker");
    if (set_) {
      wait.claim(by);
    } else {
      wait_ = &wait;
      by_ = by;
    }
  }
  /// From now on set() does not touch this wait.
  void end(const runtime::detail::wait_point& wait) noexcept {
    if (wait_ == &wait) wait_ = nullptr;
  }

 private:
  bool set_ = false;
  runtime::detail::wait_point* wait_ = nullptr;
  runtime::detail::wait_word::source by_ = 0;
};

/// An operation (runtime/detail/operation.hpp) that completes when the flag is set. Of the task that waits.
class event_wait {
 public:
  event_wait(mutex& guard, broker_event& event) noexcept : guard_(&guard), event_(&event) {}
  ~event_wait() { end(); }
  event_wait(const event_wait&) = delete;
  event_wait& operator=(const event_wait&) = delete;

  [[nodiscard]] static constexpr runtime::wait_kind kind() noexcept { return runtime::wait_kind::condition; }
  [[nodiscard]] bool try_complete() const noexcept {
    const lock held(*guard_);
    return event_->is_set();
  }
  void begin(runtime::detail::wait_point& wait, runtime::detail::wait_word::source by) noexcept {
    const lock held(*guard_);
    event_->begin(wait, by);
    wait_ = &wait;
  }
  void end() noexcept {
    if (wait_ == nullptr) return;
    const lock held(*guard_);
    event_->end(*std::exchange(wait_, nullptr));
  }
  void result() const noexcept {}

 private:
  mutex* guard_;
  broker_event* event_;
  runtime::detail::wait_point* wait_ = nullptr;
};

}  // namespace foliot::jobs::detail
