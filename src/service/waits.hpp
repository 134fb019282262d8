// What a shard's thread sleeps on. A wait has
//
//   prepare(until)    the thread's, under the shard's lock: forgets an earlier wake-up
//   sleep()           the thread's, without it: until then by the shard's clock, or until it is woken
//   wake(), woken()   a wake-up since prepare() ends the sleep, also one that has not begun
//
// and, where `can_be_moved`, rings earlier without waking anybody:
//
//   move(earlier)     under the lock, by whoever starts what becomes the earliest
//
// Thread safety: wake() from any thread; the others as they say.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>

#include "shard_options.hpp"

namespace foliot::detail {

/// A bell on any of the system's clocks. A start that becomes the earliest sets it anew, and wakes nobody: what
/// goim does with the one timer that it asks of Go.
class alarm_wait {
 public:
  static constexpr bool can_be_moved = true;

  explicit alarm_wait(const shard_options& options) : alarm_(options.time_id) {}

  void prepare(instant until) noexcept {
    key_.store(quiet, seam::relaxed);  // only the sleeper clears, and publishes that through the lock
    alarm_.set(until);
  }
  void move(instant earlier) noexcept { alarm_.set(earlier); }
  void sleep() noexcept {
    while (!woken() && alarm_.wait() == seam::wait_status::interrupted) {
    }
  }
  void wake() noexcept {
    // release: pairs with the acquire in woken(): the sleeper sees why it was woken. The bell rings after it.
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

/// A note on the monotonic clock, which is what a note knows; a bell on the others.
class clock_wait {
 public:
  static constexpr bool can_be_moved = false;

  explicit clock_wait(const shard_options& options) {
    if (options.time_id != seam::clock_id::monotonic) bell_.emplace(options);
  }

  void prepare(instant until) noexcept {
    until_ = until;
    bell_ ? bell_->prepare(until) : note_.clear();
  }
  void sleep() noexcept {
    if (bell_) {
      bell_->sleep();
    } else {
      note_.sleep_until(until_);
    }
  }
  void wake() noexcept { bell_ ? bell_->wake() : note_.wake(); }
  [[nodiscard]] bool woken() const noexcept { return bell_ ? bell_->woken() : note_.woken(); }

 private:
  note note_;
  std::optional<alarm_wait> bell_;
  instant until_;  // the thread's
};

}  // namespace foliot::detail
