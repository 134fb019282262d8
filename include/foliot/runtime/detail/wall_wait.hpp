// A task's wait for a time of the wall clock: an operation, see operation.hpp.
//
// The runtime keeps these waits by their wall-clock deadlines (src/runtime/wall_waits.hpp), not among the processors'
// timers, which go by the runtime's own clock: the distance between the two clocks changes when the wall clock is set,
// and while the machine is suspended.
//
// Thread safety: the waiting task's. Any thread of the runtime may claim the wait, under the lock of its wall waits,
// which end() takes as well.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>

#include <foliot/core/clock.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

class wall_wait;

/// What the wall clock of that runtime shows: the system's, or the one beside its virtual clock.
[[nodiscard]] FOLIOT_EXPORT instant wall_now(const scheduler& owner) noexcept;
/// Claims the wait once the wall clock shows its deadline. Throws std::bad_alloc, and std::system_error if the file
/// descriptor of the runtime's alarm cannot be made; then nothing was begun.
FOLIOT_EXPORT void begin_wall_wait(scheduler& owner, wall_wait& wait);
/// Afterwards the runtime does not touch the wait, be it claimed or not.
FOLIOT_EXPORT void end_wall_wait(scheduler& owner, wall_wait& wait) noexcept;

/// An operation, see operation.hpp: completes when the wall clock shows a time.
class wall_wait : public timer_node {
 public:
  wall_wait(scheduler& owner, instant deadline) noexcept : owner_(owner), deadline_(deadline) {}
  ~wall_wait() { end(); }
  wall_wait(const wall_wait&) = delete;
  wall_wait& operator=(const wall_wait&) = delete;

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::timer; }
  [[nodiscard]] bool try_complete() const noexcept { return is_due(deadline_, wall_now(owner_)); }
  void begin(wait_point& wait, wait_word::source by) {
    wait_ = &wait;
    by_ = by;
    begin_wall_wait(owner_, *this);
    begun_ = true;
  }
  void end() noexcept {
    if (begun_) end_wall_wait(owner_, *this);
    begun_ = false;
  }
  /// The time that the wait was for.
  [[nodiscard]] std::chrono::sys_time<std::chrono::nanoseconds> result() const noexcept {
    return wall_clock::to_sys(deadline_);
  }

  // For the runtime:

  [[nodiscard]] instant wall_deadline() const noexcept { return deadline_; }
  [[nodiscard]] wait_point& waiting() const noexcept { return *wait_; }
  [[nodiscard]] wait_word::source source() const noexcept { return by_; }

 private:
  scheduler& owner_;
  const instant deadline_;
  wait_point* wait_ = nullptr;
  wait_word::source by_ = 0;
  bool begun_ = false;
};

/// The same without a result.
class wall_sleep : public wall_wait {
 public:
  using wall_wait::wall_wait;
  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::sleep; }
  void result() const noexcept {}
};

}  // namespace foliot::runtime::detail
