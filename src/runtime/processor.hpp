// A processor (Go's P): the run queue, the timers and the state that a worker thread needs to run tasks. Each processor
// has one worker.
//
// Every field has an owner, and a class of its own says which thread may call what:
//   own()               the worker alone
//   queue, run_next     filled by the worker, emptied by any thread
//   timers              any thread
//   status              written by the worker, `stuck` also by the monitor; hints, but for a sleep's deadline (H1)
//   handovers           written by the worker, a hint to other threads
//   counts, meter       written by the worker, read by any thread
//   tenure, idle_worker under the scheduler's lock, except for functions that say otherwise
//   thread              the thread that changes the number of processors, and at the end the one that joins all
//   execution           the worker, and the task that it runs
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/task_state.hpp>

#include "handover_meter.hpp"
#include "idle_workers.hpp"
#include "processor_timers.hpp"
#include "run_next_slot.hpp"
#include "run_queue.hpp"
#include "this_thread.hpp"
#include "turn_meter.hpp"
#include "worker_counts.hpp"
#include "worker_status.hpp"
#include "worker_tenure.hpp"

namespace foliot::runtime::detail {

/// xorshift, one step for each number: it decides where a worker begins to steal, and which ready case a select takes.
class worker_random {
 public:
  explicit worker_random(std::uint64_t seed) noexcept : state_(mixed(seed) | 1) {}

  /// Uniform in [0, bound). Precondition: bound is at most 2^32.
  [[nodiscard]] std::size_t below(std::size_t bound) noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::size_t>((state_ >> 32) * bound >> 32);
  }

 private:
  /// splitmix64's: seeds that differ little make streams that differ much.
  static constexpr std::uint64_t mixed(std::uint64_t seed) noexcept {
    seed += 0x9e3779b97f4a7c15;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
    return seed ^ (seed >> 31);
  }

  std::uint64_t state_;
};

class processor;

/// A task that a worker has seen in the run-next slot of another processor.
class run_next_sighting {
 public:
  void note(const processor& other) noexcept;
  /// Whether that slot still has a task, perhaps another one, and its processor still runs the same task: a hint.
  [[nodiscard]] bool is_overdue() const noexcept;
  [[nodiscard]] bool is_at(const processor& other) const noexcept { return at_ == &other; }

 private:
  const processor* at_ = nullptr;
  std::uint64_t round_ = 0;
};

/// What only the worker uses.
struct worker_state {
  worker_random random;
  /// How many tasks it has taken from the run-next slot one after the other.
  std::uint32_t in_a_row = 0;
  run_next_sighting seen{};
  /// The processor should go away, but there was no memory to hand its timers over. The worker goes on, and tries again
  /// in a later round.
  bool hand_over_failed = false;
};

class processor : public execution, public idle_worker {
 public:
  processor(scheduler& of, std::uint32_t number, std::unique_ptr<processor_timers> own_timers,
            std::unique_ptr<turn_meter> own_meter, std::uint64_t seed)
      : owner(of),
        id(number),
        timers(std::move(own_timers)),
        meter(std::move(own_meter)),
        own_{.random = worker_random(seed)} {}

  scheduler& owner;
  const std::uint32_t id;

  /// Runnable tasks, the oldest first.
  run_queue queue;
  run_next_slot run_next;
  const std::unique_ptr<processor_timers> timers;
  worker_status status;
  handover_meter handovers;
  worker_counts counts;
  const std::unique_ptr<turn_meter> meter;  // null: nothing is measured
  worker_tenure tenure;
  seam::thread thread;

  /// Called by the worker; on virtual time by the driver, when it is this processor's turn.
  [[nodiscard]] worker_state& own() noexcept {
    FOLIOT_ASSERT(this_worker() == this, "only a processor's own worker may use its own()");
    return own_;
  }
  /// Whether the worker must try to leave in this round. Called by the worker.
  [[nodiscard]] bool must_leave_now() noexcept { return tenure.is_to_leave() && !own().hand_over_failed; }

  /// Whether a task waits in the run-next slot, and is likely to wait there for long: a hint, from any thread.
  [[nodiscard]] bool has_slow_run_next() const noexcept { return handovers.is_slow() && !run_next.is_empty(); }

 private:
  worker_state own_;
};

inline void run_next_sighting::note(const processor& other) noexcept {
  at_ = &other;
  round_ = other.status.rounds();
}
inline bool run_next_sighting::is_overdue() const noexcept {
  return at_ != nullptr && at_->status.rounds() == round_ && !at_->run_next.is_empty();
}

}  // namespace foliot::runtime::detail
