// The monitor: looks after processors that are stuck in a task. (Go's sysmon, as a backstop and no more.)
//
// It waits for an alarm, which the kernel holds, so it costs no wake-up until it has something to do. Whoever makes the
// runtime busy sets it: to the first timer that the busy processor may miss, or to when it has been long enough in one
// task; whoever makes it idle unsets it. A running task that starts an earlier timer moves it, if another processor
// would be free to go on with what that timer makes ready: no thread is woken for that.
//
// When it rings: timers that are due on a processor that is in a task (or stuck in a callback) are run here; what is
// queued behind that task is given to an idle processor, whom the monitor wakes; and the poller is looked into, if
// nobody has had the time to.
//
// Thread safety: guard() from any thread; begin() and rest() under the scheduler's lock.
#pragma once

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

  /// Throws std::system_error where there is no thread or no file descriptor.
  void start();
  void end() noexcept;

  /// The runtime is busy from now on; `first` is the busy processor's first deadline.
  void begin(instant first) noexcept;
  /// All processors are idle: nobody can be stuck.
  void rest() noexcept { set(instant::never()); }
  /// A processor that is in a task has a timer then.
  void guard(instant deadline) noexcept {
    // relaxed: a moment's answer; set_earlier() asks again under the lock.
    if (deadline.nanoseconds() < rings_at_.load(seam::relaxed)) set_earlier(deadline);
  }

  [[nodiscard]] std::uint64_t rescues() const noexcept { return rescues_.load(seam::relaxed); }

 private:
  /// How long a task may run before what waits behind it is given to others.
  static constexpr duration patience = duration::nanoseconds(10'000'000);
  /// The same for the poller: when nobody polls because its last worker runs a task.
  static constexpr duration poll_patience = duration::nanoseconds(200'000);
  static constexpr duration shortest_gap = duration::nanoseconds(20'000);

  void set(instant at) noexcept;
  void set_earlier(instant at) noexcept;
  void work() noexcept;
  /// When to look again.
  [[nodiscard]] instant look() noexcept;

  scheduler& scheduler_;
  mutex lock_{lock_rank::monitor};
  std::optional<seam::alarm> alarm_;
  // Written under the lock; read by guard().
  seam::atomic<std::int64_t> rings_at_{INT64_MIN};
  seam::atomic<bool> ending_{false};
  seam::atomic<std::uint64_t> rescues_{0};
  duration gap_ = shortest_gap;  // between looks, the monitor's
  instant looked_at_rounds_;     // when rounds were last compared, the monitor's
  std::uint64_t seen_looks_ = 0;
  seam::thread thread_;
};

}  // namespace foliot::runtime::detail
