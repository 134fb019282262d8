// What a processor's worker is doing, as other threads see it. Everything is a hint, except the deadline until which
// the worker sleeps (H1).
//
// Thread safety: each group of functions names its threads. Every field is written with relaxed order, since a hint
// publishes nothing; where an order matters, the threads pass full barriers, as the functions say.
#pragma once

#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class worker_status {
 public:
  // For the worker.

  void begin_work() noexcept { has_worker_.store(true, seam::relaxed); }
  void end_work() noexcept { has_worker_.store(false, seam::relaxed); }

  /// The worker is between two tasks. Returns the number of the round.
  std::uint64_t begin_round() noexcept {
    const std::uint64_t round = rounds() + 1;
    rounds_.store(round, seam::relaxed);
    in_task_.store(false, seam::relaxed);
    if (is_stuck()) [[unlikely]]
      stuck_.store(false, seam::relaxed);
    return round;
  }
  /// The worker is about to run a task. It then sets the monitor's alarm for timers that may be due meanwhile (H8), and
  /// the monitor reads this when the alarm rings.
  void begin_task() noexcept { in_task_.store(true, seam::relaxed); }

  /// The worker is about to sleep until `deadline`. It then passes a full barrier, and looks at its timers once more.
  void begin_sleep(instant deadline) noexcept { sleeps_until_.store(deadline.nanoseconds(), seam::relaxed); }
  void end_sleep() noexcept { sleeps_until_.store(awake, seam::relaxed); }

  // For the monitor.

  /// The worker has been in one task for too long: thieves may take the task in its run-next slot. The worker's next
  /// round clears that.
  void mark_stuck() noexcept { stuck_.store(true, seam::relaxed); }

  // For any thread. Each answer may be stale.

  [[nodiscard]] bool has_worker() const noexcept { return has_worker_.load(seam::relaxed); }
  /// How many rounds the worker has begun: a worker that stays in the same round stays in the same task.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(seam::relaxed); }
  [[nodiscard]] bool is_stuck() const noexcept { return stuck_.load(seam::relaxed); }
  [[nodiscard]] bool is_awake() const noexcept { return sleeps_until_.load(seam::relaxed) == awake; }

  /// Whether the worker sleeps, and past `deadline`. A thread that has started an earlier timer asks this after a full
  /// barrier (H1).
  enum class sleep : std::uint8_t { none, short_enough, too_long };
  [[nodiscard]] sleep sleeps_past(instant deadline) const noexcept {
    const std::int64_t until = sleeps_until_.load(seam::relaxed);
    if (until == awake) return sleep::none;
    return deadline.nanoseconds() < until ? sleep::too_long : sleep::short_enough;
  }

  /// Whether the worker is between two tasks, and so will look at its timers itself: other threads leave them to it. A
  /// thief that took one would also take the tasks that its callback starts, and move their data from cache to cache. A
  /// stale answer does no harm: a worker that it misleads sets the alarm when it goes to sleep, and the monitor soon
  /// looks again.
  [[nodiscard]] bool will_check_timers() const noexcept {
    return has_worker() && is_awake() && !in_task_.load(seam::relaxed) && !is_stuck();
  }

 private:
  static constexpr std::int64_t awake = INT64_MIN;

  // Until when the worker sleeps, in nanoseconds, or `awake`. Written by the worker; read after a full barrier by a
  // thread that has started an earlier timer.
  seam::atomic<std::int64_t> sleeps_until_{awake};
  seam::atomic<bool> has_worker_{false};
  seam::atomic<std::uint64_t> rounds_{0};
  // Set by the monitor, cleared by the worker.
  seam::atomic<bool> stuck_{false};
  // Whether the worker is in a task, or about to run one.
  seam::atomic<bool> in_task_{false};
};

}  // namespace foliot::runtime::detail
