// The monitor: looks after processors that are stuck in a task. (Go's sysmon, as a backstop and no more.)
//
// It is a thread that waits for an alarm, which the kernel holds, so it costs no wake-up while it has nothing to do.
// The worker that makes the runtime busy sets the alarm: to the first timer that this worker may miss, or to the time
// by which a worker in the same task counts as stuck. The worker that makes the runtime idle unsets it. A running task
// that starts an earlier timer sets the alarm earlier, if an idle worker could run what that timer makes ready: no
// thread is woken for that.
//
// When the alarm rings, the monitor runs the due timers of processors that are in a task (or stuck in a callback), and
// wakes an idle worker for the tasks that are queued behind a stuck task, or to look into the poller if no worker has.
// While no worker is idle it rings seldom: nobody could run what the monitor finds.
// Then it reports the tasks that are stuck, if the program wants to know (stuck_task.hpp).
//
// Thread safety: guard(), wake_by() and rescues() from any thread; arm() and disarm() under the
// scheduler's lock; start() and end() by the thread that runs the runtime.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::runtime::detail {

class scheduler;

class monitor {
 public:
  explicit monitor(scheduler& scheduler) noexcept : scheduler_(scheduler) {}
  ~monitor() { end(); }

  /// Starts the thread. Throws std::system_error if there is no thread or no file descriptor to be had.
  void start();
  /// Ends the thread and waits for that.
  void end() noexcept;

  /// The runtime is busy from now on: sets the alarm. `first` is the busy processor's first deadline.
  void arm(instant first) noexcept;
  /// All processors are idle, so none can be stuck: unsets the alarm.
  void disarm() noexcept { set(instant::never()); }
  /// A processor that is in a task has a timer with this deadline. A load if the alarm rings earlier anyway.
  void guard(instant deadline) noexcept {
    // relaxed: the answer may be stale; wake_by() asks again under the lock.
    if (deadline.nanoseconds() < rings_at_.load(seam::relaxed)) wake_by(deadline);
  }
  /// Sets the alarm to `at`, unless it rings earlier.
  void wake_by(instant at) noexcept;

  /// How many turns have found something to do.
  [[nodiscard]] std::uint64_t rescues() const noexcept { return rescues_.load(seam::relaxed); }

 private:
  /// The number of processors that a runtime can have: processor_set::most.
  static constexpr std::size_t most_processors = 256;
  /// How long a task may run before the tasks behind it are given to other workers.
  static constexpr duration patience = duration::nanoseconds(10'000'000);
  /// The same for the poller: how long no worker may look into it while an idle one sleeps elsewhere.
  static constexpr duration poll_patience = duration::nanoseconds(200'000);
  static constexpr duration shortest_gap = duration::nanoseconds(20'000);

  void set(instant at) noexcept;
  void work() noexcept;
  /// Looks at all processors, and returns when to look again.
  [[nodiscard]] instant look() noexcept;

  scheduler& scheduler_;
  mutex lock_{lock_rank::monitor};
  std::optional<seam::alarm> alarm_;
  // Written under the lock; read by guard().
  seam::atomic<std::int64_t> rings_at_{INT64_MIN};
  seam::atomic<bool> ending_{false};
  // Whether the runtime has become busy since the last look. Set by arm(), cleared by the monitor's thread. relaxed: a
  // hint, and the ring of the alarm that arm() sets comes after it.
  seam::atomic<bool> is_newly_busy_{false};
  seam::atomic<std::uint64_t> rescues_{0};
  // Only the monitor's thread uses these: the gap between two looks at timers, and at the poller; when it last compared
  // the processors' rounds; the rounds at that time.
  duration gap_ = shortest_gap;
  duration poll_gap_ = poll_patience;
  instant looked_at_rounds_;
  std::array<std::uint64_t, most_processors> seen_rounds_{};
  seam::thread thread_;
};

}  // namespace foliot::runtime::detail
