// A processor (Go's P): what a worker thread needs to run tasks. Each has a worker of its own.
//
// Thread safety: what it says at each field. "The worker's" is the thread that runs its tasks.
#pragma once

#include <cstdint>
#include <memory>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/task_state.hpp>

#include "parker.hpp"
#include "processor_timers.hpp"
#include "run_queue.hpp"

namespace foliot::runtime::detail {

class processor : public execution {
 public:
  processor(scheduler& of, std::uint32_t number, std::unique_ptr<processor_timers> own_timers, std::uint64_t seed)
      : owner(of), id(number), timers(std::move(own_timers)), random(mixed(seed) | 1) {}

  scheduler& owner;
  const std::uint32_t id;

  /// Runnable tasks, the oldest first. See run_queue.hpp.
  run_queue queue;
  // What is run before the queue: a task that the running one made ready. Put there by the worker, taken by it or by
  // a thief; publishes the task.
  seam::atomic<task_state*> next_task{nullptr};
  /// See processor_timers.hpp.
  const std::unique_ptr<processor_timers> timers;
  parker park;

  // Until when the worker sleeps, in nanoseconds; `awake` while it does not. Written by the worker before its last
  // look at its timers; read, after a barrier, by who has started an earlier one.
  static constexpr std::int64_t awake = INT64_MIN;
  seam::atomic<std::int64_t> sleeps_until{awake};

  // Whether it has a worker. Written by that, and by who starts it; a hint to the monitor.
  seam::atomic<bool> has_worker{false};

  // Counts the worker's rounds. Written by the worker alone; the monitor sees by it that a task has gone on.
  seam::atomic<std::uint64_t> rounds{0};

  // The monitor has seen it in one task for too long: what it has is anybody's, its next_task too. Set by the monitor,
  // cleared by the worker in its next round.
  seam::atomic<bool> stuck{false};

  // The worker is in a task, or about to run one. Set by the worker before it sets the monitor's alarm for what may be
  // due meanwhile (H8), cleared at the beginning of its next round; a hint to thieves and to the monitor.
  seam::atomic<bool> in_task{false};
  /// Whether the worker goes round, and so will look at its timers itself: they are left to it. Who takes one also
  /// takes what its callback starts, and all of that goes from cache to cache. A moment's answer: who is wrong by it
  /// goes to sleep, which sets the alarm, or is the monitor, which soon looks again.
  [[nodiscard]] bool sees_to_timers() const noexcept {
    return has_worker.load(seam::relaxed) && sleeps_until.load(seam::relaxed) == awake &&
           !in_task.load(seam::relaxed) && !stuck.load(seam::relaxed);
  }

  // Tasks run on here for long after they have made another one ready, which should not wait until then. Written by
  // the worker; a hint to others.
  seam::atomic<bool> runs_on{false};
  [[nodiscard]] bool has_slow_next() const noexcept {
    return runs_on.load(seam::relaxed) && next_task.load(seam::relaxed) != nullptr;
  }

  // The worker is to leave: set_processors made the processor go away, or the runtime ends.
  seam::atomic<bool> retires{false};

  // Only the worker uses it. True: the processor should go away, but there was no memory to hand its timers over. The
  // worker goes on, and tries again later.
  bool keeps_timers = false;
  [[nodiscard]] bool is_to_leave() const noexcept { return retires.load(seam::relaxed) && !keeps_timers; }

  // The worker's.
  /// splitmix64's: seeds that differ little make streams that differ much.
  static constexpr std::uint64_t mixed(std::uint64_t seed) noexcept {
    seed += 0x9e3779b97f4a7c15;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
    return seed ^ (seed >> 31);
  }
  /// Where it begins to steal: xorshift, one step for each draw.
  std::uint64_t random;
  [[nodiscard]] std::size_t draw_below(std::size_t bound) noexcept {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return static_cast<std::size_t>((random >> 32) * bound >> 32);
  }
  bool spinning = false;          // counted in scheduler::spinning_; passed on by who wakes the worker
  std::uint32_t in_a_row = 0;     // tasks taken from next_task one after the other
  std::uint64_t seen_rounds = 0;  // the monitor's

  // How long what is put into next_task stays there, measured now and then: scheduler::should_wake_for_next().
  std::uint32_t handovers = 0;
  instant measured_since = instant::never();  // never: none is
  duration stayed{};

  /// In whose run-next slot it has seen a task, and in which round of that one.
  struct sight {
    const processor* of = nullptr;
    std::uint64_t round = 0;
  };
  sight seen;
  void sees_next_of(const processor& other) noexcept {
    seen = {.of = &other, .round = other.rounds.load(seam::relaxed)};
  }
  /// Whether there is one still, be it another, and the same task runs there: a hint.
  [[nodiscard]] bool has_seen_overdue() const noexcept {
    return seen.of != nullptr && seen.of->rounds.load(seam::relaxed) == seen.round &&
           seen.of->next_task.load(seam::relaxed) != nullptr;
  }

  // Under the scheduler's lock.
  bool idle = false;
  bool left = false;     // the worker runs no tasks any more
  bool present = false;  // there is a worker, which has not handed over its tasks

  // Of who changes the number of processors, and at the end the scheduler's.
  seam::thread worker;
};

}  // namespace foliot::runtime::detail
