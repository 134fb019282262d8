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

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/task_state.hpp>

#include "handover_meter.hpp"
#include "idle_workers.hpp"
#include "processor_timers.hpp"
#include "run_queue.hpp"
#include "this_thread.hpp"
#include "turn_meter.hpp"
#include "worker_status.hpp"
#include "worker_tenure.hpp"

namespace foliot::runtime::detail {

/// The run-next slot of a processor: the task that its worker runs before those in its queue, as the task that made it
/// ready is likely to wait for it. (Go: runnext; Tokio: the LIFO slot)
///
/// Thread safety: put() by the worker; take() and is_empty() from any thread.
class run_next_slot {
 public:
  /// Puts the task here, and returns the task that was here before, or null.
  // release: publishes the task to the thread that takes it. acquire: pairs with a put() by the same worker.
  [[nodiscard]] task_state* put(task_state& task) noexcept { return task_.exchange(&task, seam::acq_rel); }
  /// Takes the task; null: there is none.
  // acquire: pairs with the release in put().
  [[nodiscard]] task_state* take() noexcept { return task_.exchange(nullptr, seam::acq_rel); }
  /// May be stale.
  [[nodiscard]] bool is_empty() const noexcept { return task_.load(seam::relaxed) == nullptr; }

 private:
  seam::atomic<task_state*> task_{nullptr};
};

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

/// The processors of a runtime. Each is made once and stays until the end; those with numbers from count() on are
/// retired, and are used again when the number grows.
///
/// Thread safety: all() and count() from any thread; add() by the thread that changes the number of processors;
/// set_count() by that thread, under the scheduler's lock where workers run (on real time).
class processor_set {
 public:
  static constexpr std::size_t most = 256;

  /// All processors that were ever made, by number.
  // acquire: pairs with the release in add().
  [[nodiscard]] std::span<const std::unique_ptr<processor>> all() const noexcept {
    return {processors_.data(), made_.load(seam::acquire)};
  }
  [[nodiscard]] std::size_t made() const noexcept { return made_.load(seam::acquire); }
  /// Whether only one was ever made: then no other worker exists.
  // relaxed: the count alone is used.
  [[nodiscard]] bool is_single() const noexcept { return made_.load(seam::relaxed) == 1; }
  /// Precondition: it was made.
  [[nodiscard]] processor& operator[](std::size_t number) const noexcept { return *processors_[number]; }

  processor& add(std::unique_ptr<processor> one) noexcept {
    const std::size_t number = made_.load(seam::relaxed);
    processors_[number] = std::move(one);
    made_.store(number + 1, seam::release);  // pairs with the acquire in all()
    return *processors_[number];
  }

  /// How many processors there are now: those from 0 to count() - 1.
  // relaxed: read under the lock, or as a hint.
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(seam::relaxed); }
  void set_count(std::size_t count) noexcept { count_.store(count, seam::relaxed); }

 private:
  std::array<std::unique_ptr<processor>, most> processors_;
  seam::atomic<std::size_t> made_{0};
  seam::atomic<std::size_t> count_{0};
};

}  // namespace foliot::runtime::detail
