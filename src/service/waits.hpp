// What a shard's thread sleeps on. A wait has
//
//   prepare(until)    by the thread, under the shard's lock: forgets an earlier wake-up
//   sleep()           by the thread, without it: sleeps until then by the shard's clock, or until it is woken
//   wake(), woken()   a wake-up since prepare() ends the sleep, also one that has not begun
//
// and, where `can_be_moved`, ends the sleep earlier without waking the thread now:
//
//   move(earlier)     under the lock, by the thread that starts the timer that is now the earliest
//
// Thread safety: wake() and woken() from any thread; the others as they say.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>

#include "shard_options.hpp"

namespace foliot::detail {

/// An alarm on any of the system's clocks. A start that becomes the earliest sets the alarm, and wakes no thread: so
/// does goim with its one timer of Go's.
class alarm_wait {
 public:
  static constexpr bool can_be_moved = true;

  explicit alarm_wait(const shard_options& options) : alarm_(options.time_id) {}

  void prepare(instant until) noexcept {
    key_.store(quiet, seam::relaxed);  // only the shard's thread clears it, and publishes that by the lock
    alarm_.set(until);
  }
  void move(instant earlier) noexcept { alarm_.set(earlier); }
  void sleep() noexcept {
    while (!woken() && alarm_.wait() == seam::wait_status::interrupted) {
    }
  }
  void wake() noexcept {
    // release: pairs with the acquire in woken(): the woken thread sees why. Before the alarm, which ends the wait.
    key_.store(called, seam::release);
    alarm_.set(instant::earliest());
  }
  [[nodiscard]] bool woken() const noexcept { return key_.load(seam::acquire) == called; }

 private:
  static constexpr std::uint32_t quiet = 0;
  static constexpr std::uint32_t called = 1;

  seam::alarm alarm_;
  seam::atomic<std::uint32_t> key_{quiet};
};

/// A note on the monotonic clock, the only one that a note can wait by; an alarm on the others.
class clock_wait {
 public:
  static constexpr bool can_be_moved = false;

  explicit clock_wait(const shard_options& options) {
    if (options.time_id != seam::clock_id::monotonic) alarm_.emplace(options);
  }

  void prepare(instant until) noexcept {
    until_ = until;
    alarm_ ? alarm_->prepare(until) : note_.clear();
  }
  void sleep() noexcept {
    if (alarm_) {
      alarm_->sleep();
    } else {
      note_.sleep_until(until_);
    }
  }
  void wake() noexcept { alarm_ ? alarm_->wake() : note_.wake(); }
  [[nodiscard]] bool woken() const noexcept { return alarm_ ? alarm_->woken() : note_.woken(); }

 private:
  note note_;
  std::optional<alarm_wait> alarm_;
  instant until_;  // the thread's alone
};

}  // namespace foliot::detail
