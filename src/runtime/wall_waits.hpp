// The tasks of a runtime that wait for a time of the wall clock, by those times.
//
// Real time: one timerfd on CLOCK_REALTIME for all, made by the first wait, set to the earliest deadline as an absolute
// time. The kernel keeps it right when somebody sets the clock or the machine is suspended, so nobody has to be told of
// that. It is the bell of the runtime's poller: whichever worker, or the monitor, hears it ring calls fire().
//
// Virtual time: no descriptor; the driver asks for the next deadline, and calls fire() in each round without work.
//
// Invariants, on real time: the alarm is set to the earliest deadline, or it has rung and who hears it will call
// fire(). The poller counts a waiting task for each entry from add() to remove(), and for nothing else: while no task
// waits for the wall clock the alarm is no reason to look into the poller, or to think that something may still happen.
// The waiting task itself calls remove(), so a task that was claimed counts until it runs.
//
// Thread safety: from any thread. Complexity: O(log n) to add, to remove, and for each that fires.
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

class wall_waits {
 public:
  /// `virtual_time` is null on real time.
  wall_waits(poll_table& descriptors, const virtual_clock* virtual_time) noexcept
      : descriptors_(descriptors), virtual_time_(virtual_time) {}

  /// What the wall clock shows.
  [[nodiscard]] instant now() const noexcept;

  /// See begin_wall_wait(): an entry with the deadline never is not kept.
  void add(wall_wait& entry);
  /// Also of one that has been claimed, or was not kept.
  void remove(wall_wait& entry) noexcept;

  /// Claims the waits that are due, and puts their tasks to the list. Whether any was. On real time the caller has
  /// heard the alarm, which is set anew.
  bool fire(ready_list& ready) noexcept;

  /// On virtual time: when the virtual clock will bring the first deadline, or never.
  [[nodiscard]] instant next_deadline() const noexcept;

 private:
  void set_alarm() noexcept FOLIOT_REQUIRES(lock_);
  void make_alarm() FOLIOT_REQUIRES(lock_);

  poll_table& descriptors_;
  const virtual_clock* const virtual_time_;
  mutable mutex lock_{lock_rank::timers};
  quad_heap pending_ FOLIOT_GUARDED_BY(lock_);
  std::optional<seam::alarm> alarm_ FOLIOT_GUARDED_BY(lock_);
  // The earliest deadline, in nanoseconds. Written under the lock; the driver of virtual time, whose tasks run on its
  // own thread, reads it without.
  seam::atomic<std::int64_t> first_{instant::never().nanoseconds()};
};

}  // namespace foliot::runtime::detail
