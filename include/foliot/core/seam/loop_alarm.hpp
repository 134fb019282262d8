// The alarm of an event loop's timers: a file descriptor that is readable from an instant of the monotonic clock on.
//
// The child of a fork gets an alarm of its own, which has the same number as its parent's and is set to the same
// instant. Nothing that the child does with it is seen in the parent, and the other way round.
//
// Thread safety: none, except that any thread may fork and may wait for the descriptor.
// Real side: a timerfd (src/core/seam/loop_alarm.cpp). The simulated worlds have no event loops.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core::seam {

/// An alarm for event loops. Not set at first.
class FOLIOT_EXPORT loop_alarm final : private fork_witness {
 public:
  /// Throws std::system_error when the process has no file descriptor left or the system no memory.
  loop_alarm();
  ~loop_alarm() override;

  /// Makes the descriptor readable from `at` on: at once if that has passed, not at all for never. Replaces the earlier
  /// setting, and ends a ring.
  void set(instant at) noexcept;

  /// The descriptor. -1 in the child of a fork, if the system had none for the child.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  void before_fork() noexcept override {}
  void after_fork_in_parent() noexcept override {}
  void after_fork_in_child() noexcept override;

  int descriptor_;  // written in the child of a fork, while there is one thread
  /// Nanoseconds of the instant that the alarm is set to. Written by the loop's thread; read in the child of a fork,
  /// where the thread that forked may be another one. Relaxed: nothing else is published.
  atomic<std::int64_t> at_{instant::never().nanoseconds()};
};

}  // namespace foliot::inline core::seam
