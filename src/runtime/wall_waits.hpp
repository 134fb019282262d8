// The tasks of a runtime that wait for a time of the wall clock, ordered by those times.
//
// Real time: one timerfd on CLOCK_REALTIME for all waits. The first wait makes it. It is set to the earliest deadline
// as an absolute time, so the kernel keeps it right when the clock is set or the machine is suspended. It is the bell
// of the runtime's poller: the worker, or the monitor, that notices its ring calls fire().
//
// Virtual time: no descriptor. The driver asks for the next deadline, and calls fire() in each round without work.
//
// Invariants, on real time: the alarm is set to the earliest deadline, or it has rung and the thread that notices will
// call fire(). The poller counts a waiting task for each entry from add() to remove(), and for nothing else: while no
// task waits for the wall clock, the alarm causes no look into the poller, and does not count as an event that may
// still happen. The waiting task itself calls remove(), so a task that was claimed counts until it runs.
//
// Thread safety: any thread. Complexity: O(log n) for add, for remove, and for each wait that fires.
#pragma once

#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/wall_wait.hpp>

#include "poll_table.hpp"

namespace foliot::runtime::detail {

/// The waits of one runtime for the wall clock.
class wall_waits {
 public:
  /// `virtual_time` is null on real time.
  wall_waits(poll_table& descriptors, const virtual_clock* virtual_time) noexcept
      : descriptors_(descriptors), virtual_time_(virtual_time) {}

  /// What the wall clock shows.
  [[nodiscard]] instant now() const noexcept;

  /// See begin_wall_wait(). An entry whose deadline is never is not stored.
  void add(wall_wait& entry);
  /// Removes an entry, be it claimed, or not stored.
  void remove(wall_wait& entry) noexcept;

  /// Claims the waits that are due, and appends their tasks to the list. Returns whether any was due. On real time the
  /// caller has noticed the alarm, which is set again.
  bool fire(ready_list& ready) noexcept;

  /// On virtual time: when the virtual clock will reach the first deadline, or never.
  [[nodiscard]] instant next_deadline() const noexcept;

 private:
  void set_alarm() noexcept FOLIOT_REQUIRES(lock_);
  void make_alarm() FOLIOT_REQUIRES(lock_);

  poll_table& descriptors_;
  const virtual_clock* const virtual_time_;
  mutable mutex lock_{lock_rank::timers};
  quad_heap pending_ FOLIOT_GUARDED_BY(lock_);
  std::optional<seam::alarm> alarm_ FOLIOT_GUARDED_BY(lock_);
  // The earliest deadline, in nanoseconds. Written under the lock. The driver of virtual time, which runs the tasks on
  // its own thread, reads it without the lock.
  seam::atomic<std::int64_t> first_{instant::never().nanoseconds()};
};

}  // namespace foliot::runtime::detail
